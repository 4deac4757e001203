/*
 * client.c - a process: what owns the claims, as src/zookeeper does (stake.c,
 * keeper.c, session.c), with the network of the simulator under it. It carries out
 * what the claims ask for, and feeds them what happened.
 */
#include <string.h>

#include "choice.h"
#include "coverage.h"
#include "rules.h"
#include "story.h"
#include "world.h"

/* --- wishes ------------------------------------------------------------------------------------
 */

static int index_of_wish(const struct client *client, const struct wish *wish) {
    return wish ? (int)(wish - client->wishes) : NOBODY;
}

/* Some room is left for orphans, which need a claim, too. */
bool client_may_wish(const struct client *client) {
    unsigned used = 0;
    EACH_WISH(client, wish) used++;
    if (world.setting.plain) used = client->wished;
    return client->life == RUNS && used < world.setting.wishes && !nodes_full();
}

static struct wish *new_wish(struct client *client, int line, enum zkl_kind kind, zkl_time deadline,
                             bool trying) {
    for (struct wish *wish = client->wishes; wish < client->wishes + ROOM; wish++) {
        if (wish->used) continue;
        *wish = (struct wish){.used = true};
        zkl_claim_init(&wish->claim, &client->party, &client->lines[line], kind, deadline, trying);
        return wish;
    }
    return NULL;
}

static void forget(struct wish *wish) {
    rules_on_forget(wish);
    zkl_claim_detach(&wish->claim);
    wish->gone = true;
    if (wish->out == 0) wish->used = false;
}

/* --- actions -------------------------------------------------------------------------------------
 */

static void answer(struct client *client, struct item *item);
static void perform(struct client *client, struct wish *wish, zkl_actions actions);

static void ask_on(struct client *client, int line, struct wish *wish, enum what what,
                   const char *name, struct zkl_contender *contender) {
    bool fixed = name && is_fixed(name); /* whose node it is, its server will know */
    bool creates = what == CREATE || what == CREATE_ALL || what == WAIT;
    struct node *node = creates || !name || fixed ? NULL : node_find(name);
    struct item item = {.what = what,
                        .wish = index_of_wish(client, wish),
                        .line = line,
                        .node = node ? (int)(node - world.nodes) : NOBODY,
                        .issued = clock_of(client),
                        .look = client->look,
                        .czxid = wish ? wish->claim.czxid : 0,
                        .contender = contender ? zkl_contender_hold(contender) : NULL};
    if (creates || what == SHARE || fixed) strcpy(item.name, name);
    if (what == CREATE_ALL) strcpy(item.other, other_part(wish)->claim.name);
    if (what == WAIT) strcpy(item.other, wish->claim.partner->name);
    if (what == PASS) strcpy(item.other, wish->claim.ahead->name);
    if (what == REMOVE) item.unchanged = wish->claim.waits && !wish->claim.settled;
    if (wish) wish->out++;
    if (wish && what == LIST) client->lists[line]++;
    if (client->party.clock.connected && !client->expiring) {
        client->sent = world.now;
        session_heard(client); /* a server reads at once; what it then does may take its time */
        queue_push(&client->up, &item); /* perhaps for the next connection */
        return;
    }
    item.reply = ZKL_UNKNOWN;
    item.arrived = true;
    answer(client, &item);
}

static void ask(struct client *client, struct wish *wish, enum what what, const char *name,
                struct zkl_contender *contender) {
    ask_on(client, wish ? line_of(client, &wish->claim) : 0, wish, what, name, contender);
}

/* One list of a path serves all that are in LIST. */
static void list(struct client *client, struct wish *wish) {
    bool is_out = client->lists[line_of(client, &wish->claim)] > 0;
    if (wish->claim.state != ZKL_LIST || !is_out) ask(client, wish, LIST, NULL, NULL);
}

static void watch_ahead(struct client *client, struct wish *wish) {
    struct zkl_contender *ahead = wish->claim.ahead;
    if (!wish->claim.heading) rules_on_watch(wish, node_find(ahead->name));
    ask(client, wish, AHEAD, ahead->name, ahead);
}

static void rank(struct client *client, struct wish *wish) {
    struct zkl_contender *contender = NULL;
    while ((contender = zkl_line_unranked(wish->claim.line, &wish->claim, contender))) {
        wish->claim.ranks++;
        ask(client, wish, RANK, contender->name, contender);
    }
}

static void watch_holders(struct client *client, struct wish *wish) {
    const struct zkl_line *line = wish->claim.line;
    for (size_t i = 0; i < line->count; i++) {
        struct zkl_contender *holder = line->contenders[i];
        if (zkl_line_precedes(line, holder, &wish->claim))
            ask(client, wish, AHEAD, holder->name, holder);
    }
}

/*
 * In order of arrival; what is done with one claim may end it, but no other of its line (of a
 * multi-lock, others of the other).
 */
#define EACH_CLAIM(client, claim)                                                                  \
    EACH_LINE(client, line_)                                                                       \
    for (struct zkl_claim *claim = line_->claims, *next_ = claim ? claim->next : NULL; claim;      \
         claim = still_there(next_), next_ = claim ? claim->next : NULL)

static struct zkl_claim *still_there(struct zkl_claim *claim) {
    require(!claim || !((struct wish *)claim)->gone, "a claim ends no other claim");
    return claim;
}

static void resume(struct client *client, struct zkl_claim *claim) {
    cover(claim->state, EVENT_RESUME);
    perform(client, (struct wish *)claim, zkl_claim_resume(claim, clock_of(client)));
}

static void resume_followers(struct client *client, const struct wish *wish) {
    EACH_CLAIM(client, claim) {
        bool follows = claim->line == wish->claim.line && zkl_claim_follows(claim);
        if (follows) resume(client, claim);
    }
}

static void wake(struct client *client, struct zkl_claim *claim) {
    cover(claim->state, EVENT_WAKE);
    perform(client, (struct wish *)claim, zkl_claim_wake(claim));
}

/* Of any length, or none. */
static void pause(struct client *client, struct wish *wish) {
    zkl_time length = world.setting.plain ? 0 : choose(4) * (TIMEOUT / 16);
    wish->wake = clock_of(client) + length;
    if (!length) wake(client, &wish->claim);
}

/* --- a multi-lock's two parts ---------------------------------------------------------- */

static void grant(struct client *client, struct wish *wish) {
    struct wish *other = other_part(wish), *waiter = partner_of(wish);
    rules_on_grant(client, wish);
    if (other) rules_on_grant(client, other);
    if (!waiter) return;
    waiter->taken = true;
    cover(waiter->claim.state, EVENT_RELEASE);
    perform(client, waiter, zkl_claim_release(&waiter->claim));
}

/* What became of the waiter matters to its lock's claim. */
static void turn(struct client *client, struct wish *waiter) {
    struct wish *wish = partner_of(waiter);
    if (!wish || wish->claim.state == ZKL_GONE) return;
    cover(wish->claim.state, EVENT_TURN);
    zkl_actions did = zkl_claim_turn(&wish->claim);
    if (did & ZKL_DO_CREATE) rules_on_return(&waiter->claim);
    perform(client, wish, did);
}

/* The other need not wait. */
static void fail(struct client *client, struct wish *wish) {
    struct wish *other = other_part(wish), *waiter = partner_of(wish);
    rules_on_fail(client, wish);
    if (waiter && waiter->claim.wanted) {
        cover(waiter->claim.state, EVENT_CANCEL);
        perform(client, waiter, zkl_claim_cancel(&waiter->claim, wish->claim.code));
    }
    if (!other || !other->claim.wanted) return;
    other->cancelled = wish->claim.code;
    cover(other->claim.state, EVENT_CANCEL);
    perform(client, other, zkl_claim_cancel(&other->claim, wish->claim.code));
}

/* The other is given up. */
static void lose(struct client *client, struct wish *wish) {
    struct wish *other = other_part(wish);
    rules_on_loss(client, wish);
    if (!other || !zkl_claim_holds(&other->claim)) return;
    other->given_up = true;
    cover(other->claim.state, EVENT_RELEASE);
    perform(client, other, zkl_claim_release(&other->claim));
}

static void perform_one(struct client *client, struct wish *wish, zkl_actions action) {
    struct zkl_claim *claim = &wish->claim;
    switch (action) {
    case ZKL_DO_PARENTS: ask(client, wish, PARENTS, NULL, NULL); break;
    case ZKL_DO_CREATE:
        ask(client, wish,
            claim->waits  ? WAIT
            : wish->joint ? CREATE_ALL
                          : CREATE,
            claim->name, NULL);
        break;
    case ZKL_DO_SYNC: ask(client, wish, SYNC, NULL, NULL); break;
    case ZKL_DO_LIST: list(client, wish); break;
    case ZKL_DO_RANK: rank(client, wish); break;
    case ZKL_DO_WATCH_OWN: ask(client, wish, OWN, claim->name, NULL); break;
    case ZKL_DO_WATCH_AHEAD: watch_ahead(client, wish); break;
    case ZKL_DO_REMOVE: ask(client, wish, REMOVE, claim->name, NULL); break;
    case ZKL_DO_SHARE: ask(client, wish, SHARE, claim->name, NULL); break;
    case ZKL_DO_PASS: ask(client, wish, PASS, claim->name, NULL); break;
    case ZKL_DO_DOUBT: client->look = clock_of(client) + client->party.clock.timeout; break;
    case ZKL_DO_FOLLOW: resume_followers(client, wish); break;
    case ZKL_DO_QUEUED: break;
    case ZKL_DO_GRANT: grant(client, wish); break;
    case ZKL_DO_FAIL: fail(client, wish); break;
    case ZKL_DO_LOSE: lose(client, wish); break;
    case ZKL_DO_SHARED: rules_on_shared(wish); break;
    case ZKL_DO_STAYED: rules_on_stay(wish); break;
    case ZKL_DO_TURN: turn(client, wish); break;
    case ZKL_DO_FORGET: forget(wish); break;
    case ZKL_DO_PAUSE: pause(client, wish); break;
    case ZKL_DO_HOLDERS: watch_holders(client, wish); break;
    case ZKL_DO_MARK: ask(client, wish, MARK, claim->name, NULL); break;
    default: require(false, "an action is one of the known"); break;
    }
}

/* Lowest bit first; a request that cannot be sent is answered before the next. */
static void perform(struct client *client, struct wish *wish, zkl_actions actions) {
    if (actions) tell("  %s: %s", story_state(wish->claim.state), story_actions(actions));
    while (actions) {
        zkl_actions lowest = actions & -actions;
        actions &= ~lowest;
        perform_one(client, wish, lowest);
    }
}

/* --- replies ------------------------------------------------------------------------ */

static void adopt_orphans(struct client *client, int line) {
    struct zkl_contender *orphan;
    while ((orphan = zkl_line_orphan(&client->lines[line], client->party.session))) {
        struct wish *wish = new_wish(client, line, ZKL_MUTEX, ZKL_NEVER, false);
        if (!wish) return;
        tell("  an orphan is found: %s", orphan->name);
        cover(ZKL_NEW, EVENT_ADOPT);
        perform(client, wish, zkl_claim_adopt(&wish->claim, orphan));
    }
}

static void take_list(struct client *client, int line, zxid view) {
    const char *names[NODES];
    size_t count = 0;
    EACH_NODE(node) {
        if (node->line == line && alive_at(node, view)) names[count++] = node->name;
    }
    client->shown[line] = view;
    require(zkl_line_replace(&client->lines[line], names, count), "(out of memory)");
    adopt_orphans(client, line);
}

/* A create of a fixed name that landed late is known by its owner only. */
static void adopt_stray(struct client *client, const struct item *item) {
    const struct node *node = item->node == NOBODY ? NULL : &world.nodes[item->node];
    uint64_t session = client->party.session;
    if (item->reply != ZKL_DONE || !node || !is_fixed(node->name)) return;
    uint64_t owner = node->session == NOBODY ? 0 : world.sessions[node->session].id;
    enum zkl_stray stray = zkl_line_stray(&client->lines[0], session, owner, node->born);
    if (stray == ZKL_PERHAPS) /* another doubt: the look that this is of does not end it */
        client->look = clock_of(client) + client->party.clock.timeout + 1;
    if (stray != ZKL_STRAY) return;
    struct wish *wish = new_wish(client, 0, ZKL_UNFAIR, ZKL_NEVER, false);
    if (!wish) return;
    tell("a stray is found");
    cover(ZKL_NEW, EVENT_ADOPT);
    perform(client, wish, zkl_claim_adopt_stray(&wish->claim, node->born));
}

/* The sync or the get ahead of a late look's list is lost: that list does not end the doubt. */
static void doubt_again(struct client *client, const struct item *item) {
    bool lost = item->reply == ZKL_UNKNOWN || item->reply == ZKL_REFUSED;
    if (lost && client->look == item->look && client->look != ZKL_NEVER) client->look++;
}

/* Of those that are used in this run. */
static int last_line(void) {
    bool both = world.setting.mix == MIX_MULTI || world.setting.mix == MIX_CONDITION;
    return both ? LINES - 1 : 0;
}

/* The late look, without a wish, is repeated if there is no answer. */
static void answer_look(struct client *client, const struct item *item) {
    if (item->what == OWN) adopt_stray(client, item);
    if (item->what != LIST) doubt_again(client, item);
    if (item->what != LIST) return;
    bool answered = item->reply == ZKL_DONE || item->reply == ZKL_ABSENT;
    if (item->reply == ZKL_DONE) take_list(client, item->line, item->view);
    if (client->look != item->look) return; /* another doubt since */
    if (item->line < last_line()) client->look += answered ? 0 : 1;
    else if (answered) client->look = ZKL_NEVER;
}

/* The mark may have come before the watch. */
static zkl_actions answer_ahead(struct wish *wish, const struct item *item, zkl_time now) {
    struct zkl_claim *claim = &wish->claim;
    if (item->reply == ZKL_ABSENT) rules_on_end_ahead(wish, item->contender, item->view);
    zkl_actions did = zkl_claim_got_ahead(claim, item->contender, item->reply, ZKL_AUTH, now);
    bool permits = claim->kind == ZKL_PERMIT && item->contender->kind == ZKL_PERMIT;
    if (item->reply != ZKL_DONE || !item->changed || !permits) return did;
    cover(claim->state, EVENT_AHEAD_MARKED);
    return did | zkl_claim_ahead_marked(claim, item->contender, item->changed);
}

/* The signal may have come before the watch. */
static zkl_actions answer_own(struct zkl_claim *claim, const struct item *item,
                              const struct node *node, zkl_time now) {
    uint64_t owner = node && node->session != NOBODY ? world.sessions[node->session].id : 0;
    zkl_actions did =
        zkl_claim_got_own(claim, item->reply, ZKL_AUTH, node ? node->born : 0, owner, now);
    if (item->reply != ZKL_DONE || !item->changed || !claim->waits) return did;
    cover(claim->state, EVENT_CALLED);
    return did | zkl_claim_called(claim);
}

static zkl_actions answer_wait(struct zkl_claim *claim, const struct item *item,
                               const struct node *node) {
    if (item->reply == ZKL_ABSENT && item->second) return zkl_claim_left_nothing(claim);
    return zkl_claim_created(claim, item->reply, ZKL_AUTH, node ? node->name : NULL, 0);
}

static zkl_actions answer_wish(struct client *client, struct wish *wish, const struct item *item) {
    struct zkl_claim *claim = &wish->claim;
    const struct node *node = item->node == NOBODY ? NULL : &world.nodes[item->node];
    enum zkl_reply reply = item->reply;
    zkl_time now = clock_of(client);
    if (reply != ZKL_DONE) node = NULL;
    cover_answer(claim->state, item);
    switch (item->what) {
    case PARENTS: zkl_claim_parents(claim, reply, ZKL_AUTH); return 0;
    case CREATE:
        if (item->taken && reply == ZKL_REFUSED) return zkl_claim_taken(claim);
        if (node && is_fixed(node->name)) return zkl_claim_placed(claim, node->born, now);
        return zkl_claim_created(claim, reply, ZKL_AUTH, node ? node->name : NULL,
                                 node ? node->born : 0);
    case LIST: return zkl_claim_listed(claim, reply, ZKL_AUTH, now);
    case SYNC: return zkl_claim_synced(claim, reply, now);
    case OWN: return answer_own(claim, item, node, now);
    case AHEAD: return answer_ahead(wish, item, now);
    case RANK: return zkl_claim_ranked(claim, item->contender, reply, node ? node->born : 0, now);
    case REMOVE: return zkl_claim_removed(claim, reply);
    case SHARE: return zkl_claim_shared(claim, reply, ZKL_AUTH);
    case MARK: return zkl_claim_marked(claim, reply);
    case WAIT: return answer_wait(claim, item, node);
    case PASS: return zkl_claim_passed(claim, reply, item->second);
    case SIGNAL:     /* whoever waits hears of it */
    case CREATE_ALL: /* answer_all() */
    case DELETED:
    case CHANGED:
    case CUT:
    case BACK:
    case EXPIRED: break;
    }
    return 0;
}

static const char *name_begun(const char *prefix) {
    EACH_NODE(node) {
        if (strncmp(node->name, prefix, strlen(prefix)) == 0) return node->name;
    }
    return NULL;
}

/* What is done with one part may end both. */
static void answer_all(struct client *client, struct wish *wish, const struct item *item) {
    struct wish *parts[LINES] = {wish, other_part(wish)};
    for (int i = 0; i < LINES; i++) {
        struct zkl_claim *claim = &parts[i]->claim;
        const char *name = item->reply == ZKL_DONE ? name_begun(claim->name) : NULL;
        if (parts[i]->gone) continue;
        cover_reply(claim->state, CREATE, item->reply);
        perform(client, parts[i], zkl_claim_created(claim, item->reply, ZKL_AUTH, name, 0));
    }
}

/* A write or a sync that was carried out shows that the session lived when it was issued. */
static bool is_proof(const struct item *item) {
    return item->reply == ZKL_DONE &&
           (item->what == CREATE || item->what == CREATE_ALL || item->what == SYNC ||
            item->what == REMOVE || item->what == SHARE || item->what == MARK ||
            item->what == WAIT || item->what == PASS || item->what == SIGNAL);
}

/* For the claim that asked, and for each that would have. */
static void answer_list(struct client *client, const struct wish *wish, const struct item *item) {
    client->lists[item->line]--;
    if (item->reply == ZKL_DONE) take_list(client, item->line, item->view);
    EACH_CLAIM(client, claim) {
        if (claim->line != &client->lines[item->line]) continue;
        if (claim != &wish->claim && claim->state != ZKL_LIST) continue;
        struct wish *each = (struct wish *)claim;
        perform(client, each, answer_wish(client, each, item));
    }
}

static void answer(struct client *client, struct item *item) {
    struct wish *wish = item->wish == NOBODY ? NULL : &client->wishes[item->wish];
    if (is_proof(item)) {
        rules_on_proof(client, item->issued);
        zkl_clock_prove(&client->party.clock, item->issued, clock_of(client));
    }
    if (wish && --wish->out == 0 && wish->gone) wish->used = false;
    if (wish && item->what == LIST) answer_list(client, wish, item);
    else if (wish && !wish->gone && item->what == CREATE_ALL) answer_all(client, wish, item);
    else if (wish && !wish->gone) perform(client, wish, answer_wish(client, wish, item));
    if (wish && item->what == OWN) adopt_stray(client, item);
    if (!wish) answer_look(client, item);
    zkl_contender_drop(item->contender);
}

/* --- watch events ------------------------------------------------------------------- */

static zkl_actions own_event(struct zkl_claim *claim, enum what what) {
    cover(claim->state, what == DELETED ? EVENT_OWN_DELETED : EVENT_OWN_CHANGED);
    return what == DELETED ? zkl_claim_own_deleted(claim) : zkl_claim_own_changed(claim);
}

static zkl_actions ahead_event(struct zkl_claim *claim, struct zkl_contender *ahead, enum what what,
                               zkl_time now) {
    cover(claim->state, what == DELETED ? EVENT_AHEAD_DELETED : EVENT_AHEAD_CHANGED);
    if (what == DELETED) return zkl_claim_ahead_deleted(claim, ahead, now);
    return zkl_claim_ahead_changed(claim, ahead);
}

static void watched(struct client *client, const struct item *item) {
    const char *name = world.nodes[item->node].name;
    struct zkl_contender *about = zkl_line_find(&client->lines[world.nodes[item->node].line], name);
    zkl_time now = clock_of(client);
    if (about) zkl_contender_hold(about);
    EACH_CLAIM(client, claim) {
        struct wish *wish = (struct wish *)claim;
        if (strcmp(claim->name, name) == 0) perform(client, wish, own_event(claim, item->what));
        else if (claim->ahead && strcmp(claim->ahead->name, name) == 0) {
            if (item->what == DELETED)
                rules_on_end_ahead(wish, claim->ahead, world.nodes[item->node].died);
            perform(client, wish, ahead_event(claim, claim->ahead, item->what, now));
        } else if (claim->state == ZKL_WAIT && claim->heading)
            perform(client, wish, ahead_event(claim, about, item->what, now));
    }
    zkl_contender_drop(about);
}

/* --- the connection ----------------------------------------------------------------- */

static void suspend_all(struct client *client) {
    client->party.clock.connected = false;
    EACH_CLAIM(client, claim) {
        cover(claim->state, EVENT_SUSPEND);
        perform(client, (struct wish *)claim, zkl_claim_suspend(claim));
    }
}

static enum event tick_event(const struct client *client, const struct zkl_claim *claim,
                             zkl_time now) {
    if (!zkl_claim_holds(claim))
        return claim->wanted && now >= claim->deadline ? EVENT_DEADLINE : EVENT_TICK;
    enum zkl_phase phase = zkl_clock_phase(&client->party.clock, claim->epoch, now);
    return phase == ZKL_PHASE_LOST ? EVENT_RUN_OUT : EVENT_TICK;
}

static void tick(struct client *client, struct zkl_claim *claim, zkl_time now) {
    cover(claim->state, tick_event(client, claim, now));
    perform(client, (struct wish *)claim, zkl_claim_tick(claim, now));
}

static void resume_all(struct client *client, const struct item *back) {
    struct zkl_clock *clock = &client->party.clock;
    const struct session *session = &world.sessions[back->session];
    EACH_CLAIM(client, claim) tick(client, claim, clock_of(client));
    if (client->party.session == session->id)
        zkl_clock_retime(clock, session->timeout, 0.5, clock_of(client));
    else zkl_clock_start(clock, session->timeout, 0.5, back->issued);
    if (client->party.session != session->id) client->proved = back->issued - session->timeout;
    client->party.session = session->id;
    clock->connected = true;
    client->beat = 0;
    EACH_CLAIM(client, claim) resume(client, claim);
}

/* Expired, or closed: the session and all that belonged to it is gone. */
static void retire(struct client *client) {
    zkl_clock_stop(&client->party.clock);
    for (int i = 0; i < LINES; i++) zkl_line_clear(&client->lines[i]);
    client->party.session = 0;
    client->expiring = false;
    client->last = 0;
    client->look = ZKL_NEVER;
    EACH_CLAIM(client, claim) {
        cover(claim->state, EVENT_EXPIRE);
        perform(client, (struct wish *)claim, zkl_claim_expire(claim));
    }
}

bool client_deliver(struct client *client) {
    struct item item;
    if (client->life != RUNS || !queue_pull(&client->down, &item)) return false;
    tell("%s hears of %s: %s", story_client(client), story_what(&item), story_reply(item.reply));
    network_arrive(client, &item);
    switch (item.what) {
    case DELETED:
    case CHANGED: watched(client, &item); break;
    case CUT: suspend_all(client); break;
    case BACK: resume_all(client, &item); break;
    case EXPIRED: retire(client); break;
    case PARENTS:
    case CREATE:
    case SYNC:
    case LIST:
    case RANK:
    case OWN:
    case AHEAD:
    case REMOVE:
    case SHARE:
    case MARK:
    case PASS:
    case CREATE_ALL:
    case WAIT:
    case SIGNAL: answer(client, &item); break;
    }
    return true;
}

/* --- time ------------------------------------------------------------------------------- */

/* Its keeper comes round all the time, even if what it then does is a move of its own. */
void client_run(struct client *client, zkl_time until) {
    zkl_time now = world.now;
    if (client->life != RUNS) return;
    for (; world.now < until; world.now += TIMEOUT / 24 * 1000 / client->rate)
        zkl_clock_attend(&client->party.clock, clock_of(client));
    world.now = until;
    zkl_clock_attend(&client->party.clock, clock_of(client));
    world.now = now;
}

static bool is_busy(const struct client *client) {
    EACH_LINE(client, line) {
        if (line->claims) return true;
    }
    return false;
}

static zkl_time beat_due(const struct client *client) {
    if (!is_busy(client) || !client->party.clock.connected) return ZKL_NEVER;
    return client->beat + client->party.clock.timeout / 6;
}

static zkl_time claim_due(const struct client *client, const struct zkl_claim *claim,
                          zkl_time now) {
    const struct zkl_clock *clock = &client->party.clock;
    if (!claim->wanted) return ZKL_NEVER;
    zkl_time wake_at = claim->pausing ? ((const struct wish *)claim)->wake : ZKL_NEVER;
    if (!zkl_claim_holds(claim)) return wake_at < claim->deadline ? wake_at : claim->deadline;
    bool over = zkl_clock_phase(clock, claim->epoch, now) == ZKL_PHASE_LOST;
    return over ? now : zkl_clock_next(clock, now);
}

static zkl_time next_due(const struct client *client, zkl_time now) {
    zkl_time due = beat_due(client);
    if (client->party.clock.connected && client->look < due) due = client->look;
    EACH_OWN(client, claim) {
        zkl_time each = claim_due(client, claim, now);
        if (each < due) due = each;
    }
    return due;
}

bool client_is_due(const struct client *client) {
    return client->life == RUNS && next_due(client, clock_of(client)) <= clock_of(client);
}

zkl_time client_next_due(const struct client *client) {
    zkl_time due = next_due(client, clock_of(client));
    if (due == ZKL_NEVER) return ZKL_NEVER;
    zkl_time at = (due - client->offset) / client->rate * 1000 + 1000;
    return at > world.now ? at : world.now + 1;
}

static void tick_all(struct client *client, zkl_time now) {
    EACH_CLAIM(client, claim) tick(client, claim, now);
    rules_on_tick(client, now);
    EACH_CLAIM(client, claim) {
        if (claim->pausing && now >= ((struct wish *)claim)->wake) wake(client, claim);
    }
}

static void beat(struct client *client, zkl_time now) {
    client->beat = now;
    ask(client, NULL, SYNC, NULL, NULL);
    EACH_CLAIM(client, claim) {
        cover(claim->state, EVENT_BEAT);
        perform(client, (struct wish *)claim, zkl_claim_beat(claim, now));
    }
}

void client_keep(struct client *client) {
    zkl_time now = clock_of(client);
    tell("%s's keeper: %s%s", story_client(client), beat_due(client) <= now ? "a heartbeat " : "",
         client->look <= now ? "a late look" : "");
    tick_all(client, now);
    if (now >= beat_due(client)) beat(client, now);
    if (client->party.clock.connected && now >= client->look) {
        client->look = now + client->party.clock.timeout; /* if there is no answer */
        ask(client, NULL, SYNC, NULL, NULL);
        if (world.setting.mix == MIX_UNFAIR) ask(client, NULL, OWN, ZKL_NAME_FIXED, NULL);
        for (int i = 0; i <= last_line(); i++) ask_on(client, i, NULL, LIST, NULL, NULL);
    }
}

/* --- what users do ------------------------------------------------------------------ */

static void begin(struct client *client, struct wish *wish) {
    wish->asked = true;
    cover(ZKL_NEW, EVENT_START);
    perform(client, wish, zkl_claim_start(&wish->claim));
}

void client_wish(struct client *client, int line, struct desire desire, zkl_time deadline,
                 bool trying) {
    struct wish *wish = new_wish(client, line, desire.kind, deadline, trying);
    if (!wish) return;
    zkl_claim_want(&wish->claim, desire.permits, desire.limit);
    if (desire.batch) zkl_claim_batch(&wish->claim, desire.batch);
    tell("%s wants %s%s", story_client(client), story_desire(&desire),
         trying ? ", now or never" : "");
    client->wished++;
    begin(client, wish);
}

void client_wish_all(struct client *client, const struct desire desires[LINES], zkl_time deadline,
                     bool trying) {
    struct wish *parts[LINES];
    for (int i = 0; i < LINES; i++) {
        parts[i] = new_wish(client, i, desires[i].kind, deadline, trying);
        require(parts[i], "(the simulator is out of wishes)");
        if (!parts[i]) return;
        parts[i]->joint = true;
    }
    zkl_claim_join(&parts[1]->claim, &parts[0]->claim);
    tell("%s wants both: %s, and %s%s", story_client(client), story_desire(&desires[0]),
         story_desire(&desires[1]), trying ? ", now or never" : "");
    client->wished++;
    for (int i = 0; i < LINES; i++)
        if (parts[i]->claim.wanted) begin(client, parts[i]);
}

void client_cancel(struct client *client, struct wish *wish, enum zkl_code why) {
    tell("%s gives up its wish", story_client(client));
    wish->cancelled = why;
    cover(wish->claim.state, EVENT_CANCEL);
    perform(client, wish, zkl_claim_cancel(&wish->claim, why));
}

/* A lease that the clock ended is lost first. */
void client_release(struct client *client, struct wish *wish) {
    struct wish *other = other_part(wish);
    tell("%s releases", story_client(client));
    tick(client, &wish->claim, clock_of(client));
    wish->given_up = true;
    if (wish->gone) return;
    cover(wish->claim.state, EVENT_RELEASE);
    perform(client, wish, zkl_claim_release(&wish->claim));
    if (!other || !zkl_claim_holds(&other->claim)) return;
    other->given_up = true;
    cover(other->claim.state, EVENT_RELEASE);
    perform(client, other, zkl_claim_release(&other->claim));
}

/* As for a release. */
void client_share(struct client *client, struct wish *wish) {
    tell("%s wants to write no more, only to read", story_client(client));
    tick(client, &wish->claim, clock_of(client));
    if (wish->gone) return;
    cover(wish->claim.state, EVENT_SHARE);
    perform(client, wish, zkl_claim_share(&wish->claim));
}

void client_yield(struct client *client, struct wish *wish) {
    tell("%s hears that somebody wants the lock", story_client(client));
    cover(wish->claim.state, EVENT_YIELD);
    perform(client, wish, zkl_claim_yield(&wish->claim));
}

bool client_may_wait(const struct client *client) {
    unsigned used = 0;
    EACH_WISH(client, wish) used++;
    return used < ROOM - 2 && !nodes_full() && !(world.setting.plain && client->waited);
}

void client_wait(struct client *client, struct wish *wish, zkl_time deadline) {
    tell("%s waits in the condition", story_client(client));
    tick(client, &wish->claim, clock_of(client));
    struct wish *waiter = wish->gone || wish->claim.state != ZKL_HELD
                              ? NULL
                              : new_wish(client, CONDITION, ZKL_MUTEX, ZKL_NEVER, false);
    if (!waiter) return;
    client->waited++;
    wish->away = true;
    cover(wish->claim.state, EVENT_AWAIT);
    perform(client, waiter, zkl_claim_await(&waiter->claim, &wish->claim, deadline));
}

/* Sent once: whether it gets there is the network's matter. */
void client_signal(struct client *client, struct wish *wish) {
    tell("%s signals", story_client(client));
    client->signals++;
    ask(client, wish, SIGNAL, wish->claim.name, NULL);
}

/* The session is closed when nothing is under way, or at once: then what is left is unknown. */
void client_close(struct client *client) {
    tell("%s closes its session", story_client(client));
    EACH_CLAIM(client, claim) { /* nobody is to come after those that go */
        if (claim->batch && claim->state == ZKL_NEW)
            client_cancel(client, (struct wish *)claim, ZKL_CLOSED);
    }
    EACH_CLAIM(client, claim) {
        struct wish *wish = (struct wish *)claim;
        if (zkl_claim_holds(claim)) client_release(client, wish);
        else client_cancel(client, wish, ZKL_CLOSED);
    }
    if (client->session != NOBODY && client->server != NOBODY) session_end(client->session);
    network_sever(client);
    network_forget(client);
    client->session = NOBODY;
    client->expiring = true;
    while (client_deliver(client)) continue;
    retire(client);
}
