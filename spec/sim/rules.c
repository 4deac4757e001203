#include "rules.h"
#include "data.h"

#include <string.h>

#include "story.h"
#include "verdict.h"

uint64_t rules_grants;

void require(bool holds, const char *rule) {
    if (holds || world.broken) return;
    world.broken = rule;
    tell("BROKEN: %s", rule);
}

struct node *node_of(const struct zkl_claim *claim) {
    char name[ZKL_NAME_SIZE];
    if (zkl_kind_is_fixed(claim->kind))
        return claim->node.czxid ? node_born(claim->node.czxid) : NULL;
    struct node *node = claim->node.czxid == 0 ? NULL : node_find(claim->node.name);
    if (!node || alive(node) || claim->kind != ZKL_WRITE) return node;
    zkl_name_downgrade(name, node->name);
    struct node *reader = node_find(name);
    return reader ? reader : node;
}

/* --- reports to users --------------------------------------------------------------- */

/*
 * Readers may be granted in any order, but none after a later contender that excludes it, because
 * that contender waited for its node.
 */
static void note_token(const struct node *node, int32_t served) {
    int64_t *token = &world.token[node->line], *read_token = &world.read_token[node->line];
    int64_t rank = node->place * ZKL_BATCH_MAX + served;
    require(rank > *token, "tokens of grants only grow");
    if (node->kind == ZKL_READ || node->kind == ZKL_PERMIT) {
        if (rank > *read_token) *read_token = rank;
        return;
    }
    require(rank > *read_token, "a writer's token is larger than all before it");
    *token = rank;
}

/* All tokens share one order, so a store refuses no valid one. */
static void note_counted(const struct zkl_claim *claim, const struct node *node) {
    int64_t *latest = &world.counted[node->line], token = zkl_claim_token(claim);
    if (claim->reuse == ZKL_ONE_GRANT) return;
    require(token > *latest, "tokens that count grants are in one order with those of turns");
    *latest = token;
}

static bool waits_for_its_turn(const struct zkl_claim *claim) {
    return claim->batch && claim->wanted && claim->state == ZKL_NEW && !claim->trying;
}

static void check_turn(const struct zkl_claim *claim, const struct node *node) {
    require(claim->node.grants < ZKL_BATCH_MAX, "no grant of a node has the token of another node");
    require(claim->node.grants == node->grants, "the grants of a node are counted");
    require(!node->yields, "a turn that was revoked is not handed on");
    for (const struct zkl_claim *each = claim->line->claims; each != claim; each = each->next)
        require(!waits_for_its_turn(each) || claim->trying,
                "in a client the wish that came first is first");
}

/* True for another session's contender in the same line. */
static bool is_rival(const struct node *node, const struct node *own) {
    return node->contender && node->line == own->line && node->session != own->session;
}

/*
 * True if the client's newest list or a later event showed a rival. `gone_too`: rivals of the list
 * count even if they went since.
 */
static bool knows_of_rivals(const struct client *client, const struct node *own, bool gone_too) {
    EACH_NODE(node) {
        bool listed = is_rival(node, own) && alive_at(node, client->shown[own->line]);
        if (listed && (gone_too || alive(node))) return true;
    }
    return client->children_changed[own->line];
}

static bool may_hold(const struct node *node) {
    if (node->kind != ZKL_PERMIT) return !node_before(node, node->kind);
    return node_permits_ahead(node) + node->permits <= node->limit;
}

/* The holder's node, or NULL if a stranger removed it. */
static const struct node *check_holder(const struct client *client, const struct zkl_claim *claim) {
    const struct node *node = node_of(claim);
    require(client->zk->common.clock.connected, "nothing is certain without a connection");
    if (node && node->robbed) return NULL;
    require(node && alive(node), "a claim that holds for certain has its node");
    if (!node) return NULL;
    require(may_hold(node), "a claim that holds for certain is the first, or has its permits");
    require(node->kind == claim->kind || claim->state == ZKL_DOWNGRADE,
            "a holder's node is of its kind");
    require(id_of(node->session) == zkl_session_id(client->zk),
            "a claim that holds for certain has a node of its own session");
    return node;
}

static void check_part_of_grant(const struct client *client, const struct zkl_claim *claim) {
    struct node *node = node_of(claim);
    require(node && node->born == claim->node.czxid, "the token is the czxid of the own node");
    if (!zkl_kind_is_fixed(claim->kind)) /* no list for a fixed name */
        require(node && node->died > client->shown[node->line],
                "a list that lacks the own node grants nothing");
    if (!node || node->robbed || (world.setting.wild && !alive(node))) return;
    check_holder(client, claim);
    require(!node->late || claim->node.doubted,
            "a node that landed late is granted only if its claim doubted it");
    if (claim->reuse != ZKL_ONE_GRANT) check_turn(claim, node);
    if (knows_of_rivals(client, node, true)) node->rivals_known = true;
    node->grants++;
    note_token(node, claim->node.grants);
    note_counted(claim, node);
}

void rules_on_grant(const struct client *client, struct wish *wish) {
    wish->ended = wish->outlasted = false;
    rules_grants++;
    require(wish->lease, "a user that is told of a grant has a lease");
    if (!wish->lease) return;
    rules_on_hold(client, wish);
    const struct parts *parts = &wish->lease->parts;
    int64_t token = zkl_lease_token(wish->lease);
    tell("%s HOLDS, token %lld", story_client(client), (long long)token);
    require(token == zkl_claim_token(&zkl_parts_at(parts, 0)->claim),
            "the token is that of the grant");
    EACH_PART(parts, part) {
        require((part->claim.reuse != ZKL_ONE_GRANT) == wish->counting,
                "a grant has the token that was asked for");
        check_part_of_grant(client, &part->claim);
    }
}

void rules_on_untaken(const struct wish *wish) {
    EACH_PART(parts_of_wish(wish), part) {
        struct node *node = node_of(&part->claim);
        if (node) node->grants++;
    }
}

/* A re-entry is of the same grant; rules_at_any_time() compares the leases. */
void rules_on_entry(const struct client *client, const struct wish *wish) {
    const struct stake *stake = wish->lease ? stake_of(wish) : NULL;
    const struct wish *fellow = stake ? verdict_fellow(client, wish, stake) : NULL;
    tell("%s HAS it once more", story_client(client));
    require(fellow, "an owner that enters again gets a lease of the grant that it holds");
    if (!fellow) return;
    require(zkl_lease_id(wish->lease) == zkl_lease_id(fellow->lease) &&
                zkl_lease_token(wish->lease) == zkl_claim_token(&stake->claim),
            "an owner that enters again has the grant's token");
}

/* A revoked turn's node has no further grant. */
void rules_on_revoked(const struct client *client, const struct wish *wish) {
    bool asked = false;
    tell("%s hears that somebody wants it", story_client(client));
    EACH_PART(&wish->lease->parts, part) {
        struct node *node = node_of(&part->claim);
        asked = asked || (node && node_is_asked(node));
        if (node && (wish->batch || wish->keeps)) node->yields = true;
    }
    require(asked, "a holder that is told to give way was asked to");
}

static bool ran_out(const struct client *client) {
    return clock_of(client) >= client->proved + zkl_session_timeout(client->zk);
}

/* The path has another use, or had, because a follower's list may be old. */
static bool was_in_conflict(const struct wish *wish) {
    EACH_NODE(node) {
        bool other = node->kind != ZKL_PERMIT || node->limit != wish->limit;
        if (node->contender && other) return true;
    }
    return false;
}

/* True if a part's node is gone, or was never made. */
static bool lost_its_place(const struct wish *wish) {
    EACH_PART(parts_of_wish(wish), part) {
        const struct node *own = node_of(&part->claim);
        if (!own || !alive(own)) return true;
    }
    return false;
}

/* After a wait, LOST may mean the lock's node or the waiter's. */
static bool is_right_code(const struct client *client, const struct wish *wish,
                          enum zkl_code code) {
    if (wish->verdict != ZKL_OK) return code == wish->verdict;
    switch (code) {
    case ZKL_TIMEOUT: return wish->trying || clock_of(client) >= wish->deadline;
    case ZKL_EXPIRED: return zkl_session_id(client->zk) == 0;
    case ZKL_AUTH: return world.setting.refusals;
    case ZKL_NO_MEMORY: return world.shortages > 0;
    case ZKL_LOST: return (wish->joint || wish->doing == WAITS) && lost_its_place(wish);
    case ZKL_CONFLICT: return wish->kind == ZKL_PERMIT && was_in_conflict(wish);
    case ZKL_TOO_MANY: return world.setting.room > 0;
    case ZKL_BUSY:
        return wish->max_waiters > 0 || wish->trying; /* see rules_on_busy(), rules_on_try() */
    case ZKL_RELEASED: return wish->given_up;
    default: return code == wish->cancelled && wish->cancelled != ZKL_OK;
    }
}

void rules_on_fail(const struct client *client, const struct wish *wish, enum zkl_code code) {
    tell("%s is told: %s", story_client(client), zkl_code_name(code));
    require(is_right_code(client, wish, code), "a wish fails for the reason that is given");
}

void rules_on_loss(const struct client *client, const struct wish *wish) {
    bool over = zkl_session_id(client->zk) == 0 || ran_out(client) || wish->ended;
    rules_note_ends(client); /* while the grant has all its users */
    over = over || wish->ended;
    tell("%s LOST it", story_client(client));
    require(over || lost_its_place(wish), "a lock that is lost is gone, or may be");
    EACH_PART(parts_of_wish(wish), part) {
        require(!zkl_claim_holds(&part->claim) || verdict_fellow(client, wish, part),
                "a multi-lock is lost with any of its parts");
    }
}

bool rules_has_run_out(const struct client *client, const struct wish *wish) {
    EACH_PART(parts_of_wish(wish), part) {
        if (!verdict_still_holds(client, &part->claim)) return true;
    }
    return false;
}

void rules_on_release(const struct wish *wish, enum zkl_code code, bool lost) {
    enum zkl_lease_state state = zkl_lease_state(wish->lease);
    enum zkl_code right = lost ? ZKL_LOST : has_lease(wish) ? ZKL_OK : ZKL_RELEASED;
    require(code == right, "the release of a lost lock, or by a user that is away, says so");
    require(state == (lost ? ZKL_LEASE_LOST : ZKL_LEASE_RELEASED),
            "a handle that was given up is released, or stays lost");
    require(zkl_lease_release(wish->lease) == ZKL_RELEASED, "a handle is given up once");
}

/* A living node was handed on, or is kept, or another handle holds it. */
void rules_on_left(const struct client *client, const struct wish *wish) {
    EACH_PART(parts_of_wish(wish), part) {
        const struct node *node = node_of(&part->claim);
        require(wish->batch || part->claim.keep || !node || !alive(node) ||
                    verdict_fellow(client, wish, part),
                "a user that waited for the end hears when the node is gone");
    }
}

void rules_on_step(struct client *client, const struct zkl_step *step) {
    bool ends = step->kind == ZKL_STEP_LOST || step->kind == ZKL_STEP_RELEASED;
    if (step->kind == ZKL_STEP_GRANTED) client->open_grants++;
    require(!ends || client->open_grants > 0 || client->zk->stats.untold,
            "a step tells the end of a grant that was told");
    if (ends && client->open_grants > 0) client->open_grants--;
    require(step->kind >= ZKL_STEP_EXPIRED || (step->path && step->owner),
            "a step of a lock says whose it is");
}

/* Only a signal, which changes the waiter's node, lets its lock enter again. */
void rules_on_return(const struct zkl_claim *waiter) {
    const struct node *node = waiter ? node_find(waiter->node.name) : NULL;
    require(node && node->change_count, "a user that returns was signalled");
}

/*
 * The signaller had seen the waiters' nodes, because it held the lock that they gave up before. A
 * broadcast reaches all of them. A signal that reached none left no waiter unsignalled.
 */
void rules_on_signalled(const struct wish *wish) {
    if (!wish->all && zkl_request_signal_count(wish->doing_request)) return;
    EACH_NODE(node) {
        bool waited = node->line == CONDITION && node->contender && node->born <= wish->saw;
        require(!waited || !alive(node) || node->change_count, "a signal is given to a waiter");
    }
}

void rules_on_signal_given(const struct item *item) {
    struct signalling *signal = &world.signals[item->signal];
    require(!signal->denied, "no waiter gets a signal that was reported as not given");
    signal->carried = true;
}

void rules_on_signal_end(const struct wish *wish, enum zkl_code code) {
    struct signalling *signal = &world.signals[wish->signal];
    if (!wish->signal || code == ZKL_OK) return;
    if (code == ZKL_IN_DOUBT) require(signal->open, "a signal that may have been given was sent");
    else require(!signal->carried, "no waiter gets a signal that was reported as not given");
    signal->denied = code != ZKL_IN_DOUBT;
}

void rules_on_stay(const struct wish *wish, enum zkl_code code) {
    require(wish->doing == WAITS, "only a user that is away stays");
    bool refused = code == ZKL_AUTH && world.setting.refusals;
    bool short_of = code == ZKL_NO_MEMORY && world.shortages;
    require(refused || short_of || (code == ZKL_TOO_MANY && world.setting.room),
            "a wait that did not begin was refused");
}

/*
 * A signal is taken or passed on. A signalled node is removed without passing it on only if no
 * unsignalled waiter from before the signal is left. ACLs may keep a waiter from getting it.
 */
void rules_on_remove(const struct node *own, bool taken) {
    if (world.setting.mix != MIX_CONDITION || own->line != CONDITION || !own->change_count) return;
    if (taken || world.setting.refusals) return;
    EACH_NODE(node) {
        bool waits = alive(node) && node->contender && node->line == CONDITION;
        if (node->place < own->place) continue; /* only strangers pass over it */
        require(!waits || node->change_count || node->born > own->changes[0].at,
                "a signal is not swallowed");
    }
}

static bool has_writer(const struct client *client, const struct stake *stake) {
    EACH_WISH(client, wish) {
        bool writes = has_lease(wish) && (wish->kind == ZKL_WRITE || wish->joint);
        if (writes && zkl_parts_include(&wish->lease->parts, stake)) return true;
    }
    return false;
}

void rules_on_downgraded(const struct client *client, const struct wish *wish, enum zkl_code code) {
    const struct stake *stake = stake_of(wish);
    const struct zkl_claim *claim = &stake->claim;
    const struct node *node = node_of(claim);
    require(zkl_claim_holds(claim), "only a holder becomes a reader");
    if (has_writer(client, stake)) {
        require(code == ZKL_OK, "beside another writing handle a downgrade is done at once");
        return;
    }
    require(code == ZKL_OK || (code == ZKL_AUTH && world.setting.refusals),
            "a downgrade fails only if an ACL refuses it");
    require((claim->kind == ZKL_READ) == (code == ZKL_OK),
            "a writer that was not refused is a reader");
    require(node && node->kind == claim->kind, "a holder's node is of the kind that it was told");
}

/* --- a claim's actions ----------------------------------------------------------------- */

void rules_on_end_ahead(const struct client *client, const struct zkl_claim *claim,
                        const struct zkl_contender *ahead, zxid at) {
    struct shadow *shadow = shadow_of(client, claim);
    bool waits = claim->state == ZKL_WAIT && claim->ahead == ahead && !claim->holders_list;
    if (shadow && waits) shadow->told = at;
}

/*
 * A claim whose predecessor is gone looks at all contenders ahead together. It does not ask for one
 * dead predecessor after the other, so the cost of a hand-over does not grow with their number.
 */
void rules_on_watch(const struct client *client, const struct zkl_claim *claim) {
    struct shadow *shadow = shadow_of(client, claim);
    const struct node *ahead = node_find(claim->ahead->name);
    uint32_t list = claim->line->serial;
    if (!shadow) return;
    bool stale = ahead && ahead->died <= shadow->told;
    bool again = ahead && ahead->born == shadow->walked; /* after a lost reply */
    bool newly = list != shadow->walked_in;              /* a new list */
    require(!stale || !shadow->walked || again || newly,
            "a claim does not walk along nodes that were gone before");
    shadow->walked = stale ? ahead->born : 0;
    shadow->walked_in = list;
}

/* True if a claim waits for its turn, and no claim has a node of its own. */
static bool has_follower(const struct zkl_claim *claim) {
    bool follower = false;
    for (const struct zkl_claim *each = claim->line->claims; each; each = each->next) {
        bool under_way = each->wanted && each->state > ZKL_NEW && each->state < ZKL_HELD;
        if (under_way) return false;
        follower = follower || waits_for_its_turn(each);
    }
    return follower;
}

/* A turn may end without rivals, too. A node that has waited assumes waiters until a list. */
static bool may_end_alone(const struct zkl_claim *claim) {
    const struct stake *stake = (const struct stake *)claim;
    bool assumed =
        claim->last_of_turn && claim->batch > 0 && claim->node.contended && claim->node.grants > 0;
    return assumed || zkl_stake_is_revoked(stake) || claim->node.grants + 1 == ZKL_BATCH_MAX ||
           world.shortages || world.setting.room || world.setting.refusals ||
           !zkl_line_find(claim->line, claim->node.name);
}

/* The batch is over, by grants or by time. */
static bool is_served(const struct client *client, const struct zkl_claim *claim) {
    if (claim->batch == 0) return true;
    if (claim->batch > 0) return claim->node.grants + 1 >= claim->batch;
    return clock_of(client) - claim->node.turn_began >= ZKL_QUANTUM;
}

/* The client will be told, by the watch of the children after a recent list. */
static bool will_be_told(const struct client *client, const struct zkl_claim *claim,
                         const struct node *own) {
    const struct zkl_clock *clock = &client->zk->common.clock;
    bool recent = client->shown_at[own->line] >= clock_of(client) - clock->attend_within;
    bool asked = claim->line->children == ZKL_WATCH_ASKED;
    return claim->batch == 0 && asked && recent;
}

void rules_on_turn(const struct client *client, const struct zkl_claim *claim, bool kept) {
    const struct node *own = node_of(claim);
    bool served = kept || is_served(client, claim);
    if (!own || !alive(own) || !client->zk->common.clock.connected) return;
    if (claim->state == ZKL_GONE)
        require(!served || claim->line->children == ZKL_WATCHED || own->robbed ||
                    will_be_told(client, claim, own),
                "a session that hands on more than its batch is told when others come");
    if (claim->state == ZKL_GONE)
        require(!served || !knows_of_rivals(client, own, false),
                "a session that knows that others wait hands on no more than its batch");
    else if (has_follower(claim))
        require((served && (own->rivals_known || knows_of_rivals(client, own, true))) ||
                    may_end_alone(claim),
                "a turn ends for others that wait");
}

static bool is_connected(const struct client *client) {
    return zkl_session_connection_state(client->zk) == ZKL_SESSION_CONNECTED;
}

static void check_kept_gone(const struct client *client) {
    EACH_STAKE(client, stake)
    require(stake->claim.state != ZKL_KEPT || stake->claim.keep == 0,
            "a kept node gives way if there is no room");
}

void rules_on_no_room_to_watch(const struct client *client) {
    struct path *path = NULL;
    if (!is_connected(client)) return;
    check_kept_gone(client);
    EACH_STAKE(client, stake)
    require(!stake->claim.lookahead, "the watch of a lookahead gives way to a needed watch");
    while ((path = zkl_path_next(client->zk, path)))
        require(path->line.children != ZKL_WATCHED,
                "the watch of a turn gives way to a needed watch");
}

/* A closing session removes no more watches. */
void rules_on_no_room(const struct client *client) {
    if (!is_connected(client) || client->zk->service == SERVICE_CLOSING) return;
    rules_on_no_room_to_watch(client);
    const struct follower *roster = client->zk->followers[FOLLOWER_ROSTER];
    for (; roster; roster = roster->next)
        require(!((const struct zkl_roster *)roster)->children_watch,
                "no lock is refused because of a roster's watches");
    const struct follower *watcher = client->zk->followers[FOLLOWER_WATCHER];
    for (; watcher; watcher = watcher->next)
        require(!((const struct zkl_watcher *)watcher)->watch,
                "no lock is refused because of a watcher's watch");
    const struct watches *watches = &client->zk->watches;
    require((watches->leaving_count == 0 && watches->unwanted_count == 0) || world.shortages,
            "no lock is refused because of a watch that nobody wants");
}

/* A member is refused for lack of room, for its node or its watch. */
void rules_on_no_room_to_join(const struct client *client) {
    size_t node = zkl_stake_bytes(client->zk) + client->zk->watches.overhead;
    if (node > ZKL_PATHS_MAX - 2 * ZKL_NAME_SIZE) check_kept_gone(client);
    else if (client->zk->watches.leaving_count == 0) rules_on_no_room(client);
}

/* rules_at_any_time() checks the report to its user. */
void rules_on_forget(const struct shadow *shadow, const struct zkl_claim *claim) {
    require(shadow, "a claim is forgotten once");
    require(claim->state == ZKL_GONE, "a claim is forgotten when it is gone");
}

/* Counts the watches for the next connection; with `others`, without own nodes. */
static unsigned count_watches(const struct client *client, bool others) {
    unsigned count = 0;
    EACH_NODE(node) {
        bool other = node->session != client->session && !is_fixed(node->name);
        count += node->kept & bit_of(client) && (other || !others);
    }
    for (int line = 0; line <= FOLDER; line++)
        count += (world.children[line].kept & bit_of(client)) != 0;
    EACH_DATUM(datum) count += ((datum->kept | datum->awaited) & bit_of(client)) != 0;
    return count;
}

/* Watches whose removal is under way. If its answer is lost, the watch stays. */
static unsigned count_removals(const struct client *client) {
    unsigned count = 0;
    for (size_t i = 0; i < WATCH_BUCKETS; i++) {
        const struct watch *watch = client->zk->watches.buckets[i];
        for (; watch; watch = watch->next) count += watch->removing;
    }
    return count;
}

/* A server ends a session that sets too many watches again. Own nodes' watches do not count. */
void rules_on_set_watches(const struct client *client) {
    unsigned room = world.setting.room + count_removals(client);
    require(!world.setting.room || count_watches(client, true) <= room,
            "a session has no more watches than it may set again");
}

/* --- time --------------------------------------------------------------------------------- */

void rules_note_holds(const struct client *client) {
    EACH_WISH(client, wish) {
        if (has_lease(wish) && rules_hold_is_over(client, wish))
            wish->ended = wish->outlasted = true;
    }
}

/* Grants that the client's clock has ended stay ended. */
void rules_note_ends(const struct client *client) {
    EACH_WISH(client, wish) {
        if (has_lease(wish) && ran_out(client)) wish->ended = true;
    }
    rules_note_holds(client);
}

void rules_on_proof(struct client *client, zkl_time issued) {
    rules_note_ends(client);
    if (issued > client->proved) client->proved = issued;
}

/* A wish whose lease contains the stake, or NULL. */
static const struct wish *holder_of(const struct client *client, const struct stake *stake) {
    EACH_WISH(client, wish) {
        if (has_lease(wish) && zkl_parts_include(&wish->lease->parts, stake)) return wish;
    }
    return NULL;
}

void rules_on_tick(const struct client *client, zkl_time now) {
    bool wanted = false;
    EACH_STAKE(client, stake) {
        const struct zkl_claim *claim = &stake->claim;
        bool held = zkl_claim_holds(claim);
        wanted = wanted || claim->wanted;
        bool waits = claim->wanted && !held;
        require(!waits || now < claim->deadline, "no wait outlives its deadline");
        require(!waits || !client->sends_away, "a session that sends all away has no wait");
        require(claim->state != ZKL_KEPT || now < claim->deadline,
                "no node is kept for longer than was asked for");
        require(!held || !ran_out(client), "a holder is told when its clock runs out");
        const struct wish *holder = held ? holder_of(client, stake) : NULL;
        bool over = holder && (holder->outlasted || rules_hold_is_over(client, holder));
        require(!over, "no hold outlives its end");
    }
    EACH_DEED(client, deed) rules_on_open_deed(client, deed, now);
    if (client->drain)
        require(zkl_request_done(client->drain) == !wanted,
                "a session has drained when nobody holds or waits");
}

/* --- any time ----------------------------------------------------------------------------- */

/* Counts of the nodes of a line that are held for certain now. */
struct tally {
    unsigned exclusive, readers, sharers; /* sharers hold permits */
    int64_t permits;
    int32_t limit;
};

static void count_holder(struct tally *tally, const struct node *node) {
    if (node->kind == ZKL_READ) tally->readers++;
    else if (node->kind != ZKL_PERMIT) tally->exclusive++;
    if (node->kind != ZKL_PERMIT) return;
    tally->sharers++;
    require(tally->limit == 0 || tally->limit == node->limit,
            "all that hold permits have one limit");
    tally->limit = node->limit;
    tally->permits += node->permits;
}

static void check_tally(const struct tally *tally) {
    unsigned kinds = tally->exclusive + (tally->readers > 0) + (tally->sharers > 0);
    require(kinds <= 1, "no two hold for certain that exclude one another");
    require(tally->permits <= tally->limit, "no more permits are held than there are");
}

static bool writes(const struct wish *wish) {
    return wish->kind == ZKL_WRITE && !wish->joint;
}

static void check_lease(const struct client *client, const struct wish *wish,
                        struct tally tallies[LINES]) {
    const struct zkl_clock *clock = &client->zk->common.clock;
    EACH_PART(&wish->lease->parts, part) {
        const struct zkl_claim *claim = &part->claim;
        require(zkl_claim_holds(claim), "a grant is not taken back");
        if (zkl_clock_phase(clock, claim->epoch, clock_of(client)) != ZKL_PHASE_HELD) continue;
        if (wish->outlasted || rules_hold_is_over(client, wish)) continue;
        require(!wish->ended, "a grant that the clock ended never comes back");
        require(!writes(wish) || (claim->kind == ZKL_WRITE && claim->state == ZKL_HELD),
                "a claim that may write has a writer's node");
        const struct node *node = check_holder(client, claim);
        /* A grant with several handles counts once: */
        bool counted = world.setting.owners && holder_of(client, part) != wish;
        if (node && !counted) count_holder(&tallies[node->line], node);
    }
}

static bool has_live_claim(const struct parts *parts) {
    EACH_PART(parts, part) {
        if (part->claim.state != ZKL_GONE) return true;
    }
    return false;
}

/* A user that only reads keeps a writer's node after a refusal, or with the last numbers. */
static void check_hold(const struct client *client, const struct stake *stake) {
    const struct zkl_claim *claim = &stake->claim;
    if (!zkl_claim_holds(claim)) return;
    require(holder_of(client, stake), "a held claim has a user that knows of its grant");
    if (claim->state != ZKL_HELD || !zkl_claim_may_downgrade(claim) || world.setting.refusals)
        return;
    require(has_writer(client, stake), "a claim that only reads is a reader");
}

/* The session's lists and orders of claims. */
static void check_order(const struct stake *stake) {
    const struct zkl_claim *claim = &stake->claim;
    if (zkl_claim_holds(claim))
        require(stake->granted_link, "a held claim is in its path's list of grants");
    require(stake->node != NODE_UNCOUNTED || waits_for_its_turn(claim),
            "a stake that has or makes a node counts");
    if (!waits_for_its_turn(claim)) return;
    for (const struct zkl_claim *each = claim->next; each; each = each->next)
        require(!each->batch || each->trying || each->state == ZKL_NEW,
                "claims that wait for their turn come last");
}

static void check_awake(struct client *client) {
    zkl_time awake = client->zk->common.clock.awake_since;
    if (awake == client->awake) return;
    require(client->stopped, "a process that was not stopped is not taken for one that was");
    client->awake = awake;
    client->stopped = false;
}

static bool has_users(const struct client *client) {
    if (client->zk->stakes) return true;
    EACH_WISH(client, wish) return true;
    return false;
}

static void check_users(const struct client *client, struct tally tallies[LINES]) {
    if (!has_users(client)) return;
    rules_note_ends(client);
    EACH_WISH(client, wish) {
        if (has_lease(wish)) check_lease(client, wish, tallies);
        else require(has_live_claim(parts_of_wish(wish)), "every wish is answered");
    }
    EACH_STAKE(client, stake) {
        check_hold(client, stake);
        check_order(stake);
    }
}

void rules_at_any_time(void) {
    struct tally tallies[LINES] = {0};
    if (world.setting.wild) return;
    EACH_RUNNING(c) { /* users of a stopped process cannot ask */
        check_awake(c);
        check_users(c, tallies);
    }
    for (int i = 0; i < LINES; i++) check_tally(&tallies[i]);
}

/* --- in calm, and at rest ----------------------------------------------------------- */

/*
 * A claim that fits does not wait. The first that does not fit watches each holder, all later
 * claims their predecessor. Where ACLs refuse writes there are no marks.
 */
static void check_permits(const struct client *client, const struct zkl_claim *claim,
                          const struct node *own) {
    int64_t taken = node_permits_ahead(own);
    const struct node *nearest = node_before(own, ZKL_PERMIT);
    if (!world.setting.refusals)
        require(taken + own->permits > own->limit, "a claim that has its permits does not wait");
    require(nearest != NULL, "a claim that waits is behind another node");
    if (!nearest) return;
    require(nearest->watched & bit_of(client), "a claim that waits watches the nearest");
    if (taken > own->limit || world.setting.refusals) return;
    require(claim->holders_list, "the first claim that does not fit knows it");
    EACH_NODE(node) {
        if (node_is_before(node, own))
            require(node->watched & bit_of(client), "a claim that heads watches each holder");
    }
}

/*
 * A mutex's claim also watches its predecessor's predecessor, if it may and has room. Exceptions
 * are the counter's end, an incomplete line, and a reader there, perhaps after a downgrade.
 */
static void check_lookahead(const struct client *client, const struct zkl_claim *claim,
                            const struct node *ahead) {
    const struct node *before = node_before(ahead, ahead->kind);
    const struct node *seen = claim->lookahead ? node_find(claim->lookahead->name) : NULL;
    if (claim->kind != ZKL_MUTEX || ahead->kind != ZKL_MUTEX || world.counter > 1000) return;
    if (world.setting.refusals || world.setting.room || world.shortages) return;
    if (claim->line->incomplete || (before && before->kind == ZKL_READ)) return;
    require(seen == before, "a waiting claim looks ahead to the nearest before its predecessor");
    require(!before || before->watched & bit_of(client), "a claim watches its lookahead");
}

bool rules_may_lack_watch(const struct client *client, const struct zkl_claim *claim) {
    const struct node *own = node_of(claim);
    if (!own || (claim->kind != ZKL_MUTEX && claim->kind != ZKL_WRITE)) return false;
    EACH_STAKE(client, stake) {
        const struct zkl_claim *each = &stake->claim;
        const struct node *node = each->line == claim->line ? node_of(each) : NULL;
        if (node && alive(node) && node->place < own->place) return true;
    }
    return false;
}

/* The predecessor lives, is the nearest that excludes the claim, and is watched. */
static void check_waiter(const struct client *client, const struct zkl_claim *claim,
                         const struct node *own) {
    const struct node *ahead = node_find(claim->ahead->name);
    if (own->kind == ZKL_PERMIT) {
        check_permits(client, claim, own);
        return;
    }
    if (claim->stalled) return; /* the calm allows claims without a watch */
    require(ahead && alive(ahead), "a claim that waits is behind another node");
    require(ahead && ahead->watched & bit_of(client),
            "a claim that waits watches the node that it waits for");
    if (!ahead) return;
    require(node_before(own, own->kind) == ahead, "a claim that waits watches the nearest");
    check_lookahead(client, claim, ahead);
}

static void check_unfair_waiter(const struct client *client) {
    const struct node *node = node_at(ZKL_NAME_FIXED, world.zxid);
    require(node, "a claim that waits waits for a node");
    require(node && node->watched & bit_of(client),
            "a claim that waits watches the node that it waits for");
}

static const struct zkl_claim *claim_of(const struct node *node) {
    EACH_RUNNING(c) {
        EACH_STAKE(c, stake) {
            if (strcmp(stake->claim.node.name, node->name) == 0) return &stake->claim;
        }
    }
    return NULL;
}

/* The node that a claim waits for. In FIRST another part waits for it. */
static const struct node *waited_for(const struct zkl_claim *claim) {
    if (claim->state == ZKL_FIRST) claim = claim->next_part;
    const struct node *own = claim->state == ZKL_WAIT ? node_of(claim) : NULL;
    return own ? node_before(own, own->kind) : NULL;
}

/* True if no ring of claims waits. */
static bool leads_to_holder(const struct zkl_claim *claim) {
    for (int i = 0; i < NODES; i++) {
        const struct node *ahead = waited_for(claim);
        claim = ahead ? claim_of(ahead) : NULL;
        if (!claim) return true;
    }
    return false;
}

/* True if an earlier claim of its client waits or holds, so it will inherit that claim's node. */
static bool will_inherit(const struct zkl_claim *claim) {
    for (const struct zkl_claim *each = claim->line->claims; each; each = each->next) {
        bool holds = each->state == ZKL_HELD && !each->last_of_turn;
        if (each->batch && (each->state == ZKL_WAIT || holds)) return true;
    }
    return false;
}

static void check_end_of_turn(const struct client *client, const struct zkl_claim *claim,
                              const struct node *own) {
    bool known = zkl_line_may_have_others(claim->line), others = false;
    if (claim->batch <= 0 || claim->node.grants + 1 < claim->batch || !has_follower(claim)) return;
    if (world.shortages) return;
    EACH_NODE(node) {
        others = others || (is_rival(node, own) && alive(node));
    }
    require(known || !others, "in a calm a holder knows that others wait for its turn to end");
    require(known || claim->last_of_turn || world.children[own->line].watched & bit_of(client),
            "a holder is told when others come that wait for its turn to end");
}

/* A kept node blocks nobody, and its session will hear of a contender. */
static void check_kept(const struct client *client, const struct zkl_claim *claim) {
    const struct node *own = node_of(claim);
    require(own && alive(own), "a kept node exists");
    if (!own) return;
    for (int i = 0; i < own->change_count; i++) {
        enum content content = own->changes[i].content;
        require(content != HOLDS && content != ASKED_HOLDS,
                "a node that says that it is held is not kept");
    }
    EACH_NODE(node) {
        bool waits = node != own && node->contender && node->line == own->line;
        require(!waits || !alive(node), "a kept node is given back when others wait");
    }
    require(world.children[own->line].watched & bit_of(client),
            "a session that keeps a node is told when others come");
}

/*
 * For WAIT and FIRST. No try waits, unless an ACL forbade its answer; then it waits for its
 * deadline. A part in FIRST waits for another part.
 */
static void check_place(const struct client *client, const struct zkl_claim *claim) {
    const struct node *own = claim->as_waiter ? node_find(claim->node.name) : node_of(claim);
    if (claim->trying && claim->state == ZKL_WAIT)
        require(world.setting.refusals, "in a calm no try waits");
    if (zkl_kind_is_fixed(claim->kind)) {
        check_unfair_waiter(client);
        return;
    }
    require(own && alive(own), "a claim that waits has its node");
    require(own && own->watched & bit_of(client), "a claim that waits watches its own node");
    if (!own) return;
    if (claim->as_waiter) {
        require(!own->change_count, "a waiter that was signalled does not wait");
        require(claim->partner && claim->partner->state == ZKL_IN_CONDITION,
                "a waiter in the condition does not have its lock");
    } else if (claim->state == ZKL_WAIT) check_waiter(client, claim, own);
    else {
        require(!node_before(own, own->kind),
                "a claim in FIRST is behind no node that excludes it");
        require(claim->next_part->state == ZKL_WAIT,
                "a multi-lock whose parts are first is granted");
    }
}

static void check_claim_in_calm(const struct client *client, const struct zkl_claim *claim) {
    if (claim->state == ZKL_KEPT) check_kept(client, claim);
    if (claim->state == ZKL_WAIT || claim->state == ZKL_FIRST) check_place(client, claim);
    bool told = claim->announced || claim->trying || !claim->wanted || claim->state != ZKL_NEW;
    for (const struct zkl_claim *each = claim->line->claims; each != claim; each = each->next)
        require(told || !waits_for_its_turn(each) || !each->announced,
                "in a calm a claim behind one that was told to wait was told to wait, too");
    if (waits_for_its_turn(claim))
        require(will_inherit(claim),
                "a claim that waits for its turn is behind another wish of its client");
    require(leads_to_holder(claim), "nobody waits for itself, by way of others");
    if (claim->state != ZKL_HELD) return;
    const struct node *own = node_of(claim);
    require(own && (own->watched & bit_of(client) || world.setting.refusals),
            "a holder watches its own node, if it may");
    bool in_the_way = own && alive(own); /* false: an ACL hides its end */
    if (in_the_way) check_end_of_turn(client, claim, own);
    check_holder(client, claim);
}

/* A user hears of a revocation, if the session may read its node. */
static void check_told(const struct wish *wish) {
    if (!has_lease(wish)) return;
    EACH_PART(parts_of_wish(wish), part) {
        const struct node *own = node_of(&part->claim);
        bool untold = own && alive(own) && node_is_urged(own) && !wish->revoked;
        require(!untold || world.setting.refusals,
                "in a calm a holder that was asked to give way knows it");
    }
}

void rules_after_a_beat(void) {
    if (world.setting.wild) return;
    EACH_RUNNING(c) {
        EACH_STAKE(c, stake)
        require(stake->claim.state != ZKL_PROVE && stake->claim.state != ZKL_RETREAT,
                "in a calm no claim keeps others waiting for the sake of its own clock");
    }
}

void rules_in_calm(void) {
    if (world.setting.wild) return;
    EACH_RUNNING(c) {
        EACH_WISH(c, wish) check_told(wish);
        EACH_STAKE(c, stake) check_claim_in_calm(c, &stake->claim);
    }
    EACH_NODE(node) {
        if (!alive(node) || node->session == NOBODY) continue;
        bool answered_for = false;
        EACH_CLIENT(c) {
            EACH_STAKE(c, stake) {
                const struct zkl_claim *claim = &stake->claim;
                if (is_fixed(node->name) ? claim->node.czxid == node->born
                                         : strcmp(claim->node.name, node->name) == 0)
                    answered_for = true;
            }
        }
        require(answered_for, "in a calm every node is waiting, held or kept");
    }
}

/* Claims that are gone leave no watches and count in no limit. */
static void check_accounts(const struct client *client) {
    struct zkl_stats stats;
    zkl_session_stats(client->zk, &stats);
    require(stats.claims == 0 && stats.in_flight == 0,
            "claims and requests that ended are not counted");
    require(stats.path_bytes == 0, "no bytes of paths are left");
    unsigned watches = count_watches(client, false);
    require(watches == 0 || world.setting.refusals,
            "a watch is left only if its event was kept back");
    require(stats.watches == watches && !stats.watch_bytes == !watches,
            "each watch left is counted");
    const struct zkl_meter *meter = &client->zk->totals.meter;
    require(meter->wait.count == stats.grants || world.setting.mix == MIX_CONDITION,
            "each grant's wait is counted, once");
    require(meter->hold.count == stats.grants, "each grant's hold is counted, once");
    require(client->open_grants == 0 || stats.untold, "the end of each grant is told as a step");
    for (size_t i = 0; i < WATCH_BUCKETS; i++) {
        for (const struct watch *watch = client->zk->watches.buckets[i]; watch; watch = watch->next)
            require(watches-- > 0, "each watch that the session remembers is set");
    }
}

void rules_at_rest(void) {
    EACH_NODE(node) {
        bool left = alive(node) && node->session != NOBODY;
        require(!left || world.setting.wild, "no node is left");
    }
    EACH_DATUM(datum) require(!fact_now(datum)->session, "no member's node is left");
    EACH_RUNNING(c) {
        require(!c->zk->stakes, "no claim is left");
        require(zkl_session_is_idle(c->zk) && !c->zk->requests, "no request is left unanswered");
        EACH_WISH(c, wish) require(false, "no user is left");
        check_accounts(c);
    }
}
