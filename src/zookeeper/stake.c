/*
 * stake.c - claims with their users: carries out what the claim machine asks
 * for, feeds it what happened, and hands grants to whoever waits for them.
 */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* --- life ------------------------------------------------------------------------------ */

void zkl_stake_hold(struct stake *stake) {
    stake->references++;
}

void zkl_stake_unhold(struct stake *stake) {
    if (--stake->references > 0) return;
    free(stake->data);
    free(stake->owner);
    free(stake);
}

/* Room for a name as it usually is; the longest, of many permits, has 19 bytes more. */
enum { USUAL_NAME = 64 };

/* What a node costs in the server's list of the session's ephemerals. */
size_t zkl_stake_cost(const struct zkl_session *session, size_t path_length) {
    return session->watches.overhead + path_length + 1 + USUAL_NAME;
}

/* The node's data: who, and on a line of its own what for. */
static char *node_data(const char *identity, const char *data) {
    size_t size = strlen(identity) + (data ? 1 + strlen(data) : 0) + 1;
    char *text = malloc(size);
    if (!text) return NULL;
    strcpy(text, identity);
    return data ? strcat(strcat(text, "\n"), data) : text;
}

/* The first stake after a pause: heartbeats are due from now on. */
static void busy_again(struct zkl_session *session) {
    session->busy_since = zkl_now();
    zkl_time due = session->busy_since + session->party.clock.timeout / 6;
    if (due < session->keeper_due) zkl_keeper_wake(session, due);
}

/* The session's list holds the only reference. */
struct stake *zkl_stake_new(struct zkl_session *session, struct path *path,
                            const struct zkl_wish *wish, zkl_time deadline) {
    struct stake *stake = calloc(1, sizeof *stake);
    if (!stake) return NULL;
    stake->references = 1;
    stake->owner = strdup(wish->owner);
    stake->data = node_data(session->identity, wish->data);
    if (!stake->owner || !stake->data) {
        zkl_stake_unhold(stake);
        return NULL;
    }
    zkl_claim_init(&stake->claim, &session->party, &path->line, wish->kind, deadline, wish->trying);
    zkl_claim_want(&stake->claim, wish->permits, wish->limit);
    stake->session = session;
    stake->path = path;
    stake->jitter = wish->jitter;
    path->fixed = path->fixed || zkl_kind_is_fixed(wish->kind);
    stake->id = ++session->last_id;
    if (!session->stakes) busy_again(session);
    stake->link = session->stakes_end;
    *session->stakes_end = stake;
    session->stakes_end = &stake->next;
    session->stats.claims++;
    session->node_bytes += zkl_stake_cost(session, path->length);
    path->stakes++;
    return stake;
}

/* The server's word: its reason belongs to it. */
static bool is_refusal(enum zkl_code code) {
    return code == ZKL_AUTH || code == ZKL_CONFLICT || code == ZKL_NO_NODE ||
           code == ZKL_UNSUPPORTED;
}

/* Whoever waits for the grant to be a reader's, if anybody does. */
static void finish_sharing(struct stake *stake, enum zkl_code code) {
    struct zkl_request *request = stake->sharing;
    if (!request) return;
    stake->sharing = NULL;
    zkl_request_finish(request, code, is_refusal(code) ? stake->error : 0);
    zkl_request_unhold(request);
}

void zkl_stake_await_end(struct zkl_request *request) {
    for (size_t i = 0; i < request->stakes.count; i++) {
        struct stake *stake = zkl_stakes_at(&request->stakes, i);
        if (stake->handles > 0 || stake->claim.state == ZKL_GONE) continue;
        zkl_request_hold(request);
        request->next_leaving = stake->leaving;
        stake->leaving = request;
        return;
    }
    zkl_request_finish(request, ZKL_OK, 0);
}

/* GONE: the line and the session forget it; handles may still ask for its state. */
static void forget(struct stake *stake) {
    struct zkl_session *session = stake->session;
    while (stake->leaving) {
        struct zkl_request *request = stake->leaving;
        stake->leaving = request->next_leaving;
        zkl_stake_await_end(request);
        zkl_request_unhold(request);
    }
    finish_sharing(stake, ZKL_RELEASED);
    zkl_claim_detach(&stake->claim);
    if (session->fed == stake) session->fed = stake->next;
    *stake->link = stake->next;
    if (stake->next) stake->next->link = stake->link;
    else session->stakes_end = stake->link;
    session->stats.claims--;
    session->node_bytes -= zkl_stake_cost(session, stake->path->length);
    if (--stake->path->stakes == 0) zkl_path_idle(session, stake->path);
    stake->path = NULL;
    zkl_stake_unhold(stake);
}

/* --- what the user is told --------------------------------------------------------------- */

void zkl_stake_finish(struct stake *stake, enum zkl_code code, int error) {
    struct zkl_request *request = stake->request;
    if (!request) return;
    stake->request = NULL;
    zkl_request_finish(request, code, error);
    zkl_request_unhold(request);
}

void zkl_stake_refuse(struct stake *stake, enum zkl_code code) {
    zkl_stake_finish(stake, code, is_refusal(code) ? stake->error : 0);
}

static void post_notice(struct stake *stake) {
    if (stake->handles == 0 || stake->notice.posted) return;
    zkl_stake_hold(stake);
    zkl_inbox_post(stake->session, &stake->notice, ZKL_EVENT_LEASE);
}

/* Not granted: claim->code. */
static void failed(struct stake *stake) {
    const struct zkl_claim *claim = &stake->claim;
    struct zkl_request *request = stake->request;
    zkl_condition_failed(stake);
    if (request && claim->found)
        zkl_request_conflict(request, "it is used as", claim->found_kind, claim->found_limit);
    zkl_stake_refuse(stake, claim->code);
    post_notice(stake); /* it may be lost, for those who had it before */
    zkl_multi_failed(stake);
}

static void granted(struct stake *stake) {
    stake->session->stats.grants++;
    if (zkl_condition_granted(stake)) {
        post_notice(stake); /* callbacks that were told before may be told again */
        return;
    }
    stake->request->lease = true;
    stake->request->lease_kind = stake->claim.kind;
    zkl_multi_grant(stake);
}

static void queued(struct stake *stake) {
    struct zkl_request *request = stake->request;
    stake->session->stats.waits++;
    if (!request || request->position) return;
    request->position = zkl_kind_is_fixed(stake->claim.kind)
                            ? 2 /* whoever is quickest is next */
                            : zkl_line_count_ahead(stake->claim.line, &stake->claim) + 1;
    zkl_request_hold(request);
    zkl_inbox_post(stake->session, &request->queued_news, ZKL_EVENT_QUEUED);
}

static void notice(struct stake *stake, enum zkl_phase phase) {
    if (stake->phase == phase) return;
    stake->phase = phase;
    post_notice(stake);
}

static void lost(struct stake *stake) {
    stake->session->stats.losses++;
    finish_sharing(stake, ZKL_LOST);
    zkl_multi_lost(stake);
    zkl_inquiry_lost(stake);
    notice(stake, ZKL_PHASE_LOST);
}

/* A lease that the clock ended is lost, whether or not anybody was told yet. */
bool zkl_stake_lost(struct stake *stake, zkl_time now) {
    struct zkl_claim *claim = &stake->claim;
    if (zkl_claim_holds(claim)) zkl_stake_perform(stake, zkl_claim_tick(claim, now));
    return claim->code == ZKL_LOST;
}

enum zkl_code zkl_stake_ended(struct stake *stake) {
    if (stake->handles == 0) return ZKL_RELEASED;
    if (zkl_stake_lost(stake, zkl_now())) return ZKL_LOST;
    return zkl_claim_holds(&stake->claim) ? ZKL_OK : ZKL_RELEASED; /* away, or it did not return */
}

/* The own node's data, each time that it is seen; the mark stays, whatever is written later. */
static void own_data(struct stake *stake, const struct answer *answer) {
    static const char mark[] = ZKL_REVOKE_DATA;
    bool fixed = zkl_kind_is_fixed(stake->claim.kind); /* it may be another's by this name */
    if (answer->reply != ZKL_DONE || (fixed && answer->stat->czxid != stake->claim.czxid)) return;
    stake->version = answer->stat->version;
    if (stake->revoked || answer->size != (int)strlen(mark)) return;
    stake->revoked = memcmp(answer->text, mark, strlen(mark)) == 0;
    if (stake->revoked) post_notice(stake);
}

/* --- requests ------------------------------------------------------------------------------ */

void zkl_stake_never_sent(struct stake *stake, enum verb verb, struct zkl_contender *contender) {
    struct flight never = {.verb = verb, .stake = stake, .contender = contender};
    zkl_stake_answer(&never, &(struct answer){.reply = ZKL_UNKNOWN, .now = zkl_now()});
}

/* NULL: never sent. */
static struct flight *flight_for(struct stake *stake, enum verb verb,
                                 struct zkl_contender *contender) {
    struct flight *flight = zkl_flight_new(stake->session, verb, stake, NULL);
    if (!flight) zkl_stake_never_sent(stake, verb, contender);
    else if (contender) flight->contender = zkl_contender_hold(contender);
    return flight;
}

static void create_one(struct stake *stake) {
    bool fixed = zkl_kind_is_fixed(stake->claim.kind);
    struct flight *flight = flight_for(stake, VERB_CREATE, NULL);
    if (flight)
        zkl_flight_create(flight, stake->path->text, stake->claim.name, stake->data,
                          fixed ? ZOO_EPHEMERAL : ZOO_EPHEMERAL_SEQUENTIAL);
}

static void create_node(struct stake *stake) {
    stake->version = 0;
    stake->revoked = false;
    if (stake->claim.waits) zkl_condition_create(stake);
    else if (zkl_multi_is_part(stake)) zkl_multi_create(stake);
    else create_one(stake);
}

static void create_parent(struct stake *stake, const char *node) {
    int mode = stake->session->containers ? ZOO_CONTAINER : ZOO_PERSISTENT;
    struct flight *flight = flight_for(stake, VERB_PARENT, NULL);
    if (flight) zkl_flight_create(flight, node, NULL, "", mode);
}

/* Every parent from the top down; one that exists refuses, which is as good. */
static void create_parents(struct stake *stake) {
    char *node = strdup(stake->path->text), *slash = node;
    if (!node) return; /* the create fails again, and comes here again */
    while ((slash = strchr(slash + 1, '/'))) {
        *slash = '\0';
        create_parent(stake, node);
        *slash = '/';
    }
    create_parent(stake, node);
    free(node);
}

static void remove_node(struct stake *stake) {
    struct flight *flight = flight_for(stake, VERB_REMOVE, NULL);
    int32_t version = stake->claim.waits && !stake->claim.settled ? 0 : -1;
    if (flight) zkl_flight_delete(flight, stake->path->text, stake->claim.name, version);
}

static void share_node(struct stake *stake) {
    char name[ZKL_NAME_SIZE];
    zkl_name_downgrade(name, stake->claim.name);
    char *writer = zkl_path_join(stake->path->text, stake->claim.name);
    char *reader = zkl_path_join(stake->path->text, name);
    struct zkl_op ops[] = {
        {ZKL_OP_CREATE, ZKL_EPHEMERAL, 0, reader, stake->data, strlen(stake->data)},
        {ZKL_OP_DELETE, 0, stake->version, writer, NULL, 0},
    };
    struct flight *flight = NULL;
    if (writer && reader) flight = flight_for(stake, VERB_SHARE, NULL);
    else zkl_stake_never_sent(stake, VERB_SHARE, NULL);
    if (flight) zkl_flight_transact(flight, ops, 2);
    free(writer);
    free(reader);
}

/* Somebody wrote into the own node: what it was, and once more. */
static void revise(struct stake *stake) {
    struct flight *flight = flight_for(stake, VERB_REVISE, NULL);
    if (flight) zkl_flight_get(flight, stake->path->text, stake->claim.name);
}

static void mark_node(struct stake *stake) {
    struct flight *flight = flight_for(stake, VERB_MARK, NULL);
    const char *data = stake->revoked ? ZKL_REVOKE_DATA : stake->data;
    if (flight) zkl_flight_set(flight, stake->path->text, stake->claim.name, data, stake->version);
}

static void list(struct stake *stake) {
    struct flight *flight = flight_for(stake, VERB_LIST, NULL);
    if (flight) zkl_flight_list(flight, stake->path->text);
}

static void sync_path(struct stake *stake) {
    struct flight *flight = flight_for(stake, VERB_SYNC, NULL);
    if (flight) zkl_flight_sync(flight, stake->path->text);
}

static void rank(struct stake *stake) {
    struct zkl_contender *contender = NULL;
    while ((contender = zkl_line_unranked(stake->claim.line, &stake->claim, contender))) {
        stake->claim.ranks++;
        struct flight *flight = flight_for(stake, VERB_RANK, contender);
        if (flight) zkl_flight_get(flight, stake->path->text, contender->name);
    }
}

/* False: one path more would be too many to watch; see ZKL_PATHS_MAX. */
static bool may_watch(const struct stake *stake, const char *name) {
    char *node = zkl_path_join(stake->path->text, name);
    bool may = node && zkl_watches_may(&stake->session->watches, node);
    free(node);
    return may;
}

/* Whose the node of a fixed name is: what nobody waits for needs no watch. */
static void get_own(struct stake *stake) {
    struct flight *flight = flight_for(stake, VERB_GET_OWN, NULL);
    if (flight) zkl_flight_get(flight, stake->path->text, stake->claim.name);
}

/* A holder that may not is asked again at the next beat. */
static zkl_actions watch_own(struct stake *stake) {
    struct zkl_claim *claim = &stake->claim;
    if (!may_watch(stake, claim->name)) {
        claim->own_watched = false;
        zkl_actions failed = zkl_claim_cancel(claim, ZKL_TOO_MANY);
        if (claim->state == ZKL_LOOK) get_own(stake);
        return failed;
    }
    struct flight *flight = flight_for(stake, VERB_GET_OWN, NULL);
    if (flight) zkl_flight_watch(flight, stake->path->text, claim->name);
    return 0;
}

static zkl_actions watch_ahead(struct stake *stake) {
    struct zkl_claim *claim = &stake->claim;
    if (!claim->ahead) return 0; /* its own watch was too many */
    if (!may_watch(stake, claim->ahead->name)) return zkl_claim_cancel(claim, ZKL_TOO_MANY);
    struct flight *flight = flight_for(stake, VERB_GET_AHEAD, claim->ahead);
    if (flight) zkl_flight_watch(flight, stake->path->text, claim->ahead->name);
    return 0;
}

/* Who heads watches each that is ahead. */
static zkl_actions watch_holders(struct stake *stake) {
    struct zkl_claim *claim = &stake->claim;
    const struct zkl_line *line = claim->line;
    for (size_t i = 0; i < line->count && claim->state == ZKL_WAIT; i++) {
        struct zkl_contender *holder = line->contenders[i];
        if (!zkl_line_precedes(line, holder, claim)) continue;
        if (!may_watch(stake, holder->name)) return zkl_claim_cancel(claim, ZKL_TOO_MANY);
        struct flight *flight = flight_for(stake, VERB_GET_AHEAD, holder);
        if (flight) zkl_flight_watch(flight, stake->path->text, holder->name);
    }
    return 0;
}

static void look_later(struct zkl_session *session, struct path *path) {
    path->look_at = zkl_now() + session->party.clock.timeout;
    if (path->look_at < session->keeper_due) zkl_keeper_wake(session, path->look_at);
}

/* In order of arrival; the first of them may have to go alone again. */
static void resume_followers(struct stake *stake) {
    struct zkl_claim *claim = stake->claim.line->claims, *next;
    zkl_time now = zkl_now();
    for (; claim; claim = next) {
        next = claim->next;
        if (claim->state == ZKL_NEW)
            zkl_stake_perform((struct stake *)claim, zkl_claim_resume(claim, now));
    }
}

/* splitmix64. https://prng.di.unimi.it/splitmix64.c */
static uint64_t next_random(struct zkl_session *session) {
    uint64_t x = session->random += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* What all who wait would do at once is spread over time. */
static zkl_actions pause_claim(struct stake *stake) {
    struct zkl_session *session = stake->session;
    if (stake->jitter == 0) return zkl_claim_wake(&stake->claim);
    zkl_time length = (zkl_time)(next_random(session) % (uint64_t)stake->jitter);
    stake->wake_at = zkl_due(length);
    if (stake->wake_at < session->keeper_due) zkl_keeper_wake(session, stake->wake_at);
    return 0;
}

static zkl_actions perform_one(struct stake *stake, zkl_actions action) {
    switch (action) {
    case ZKL_DO_PARENTS: create_parents(stake); break;
    case ZKL_DO_CREATE: create_node(stake); break;
    case ZKL_DO_SYNC: sync_path(stake); break;
    case ZKL_DO_LIST: list(stake); break;
    case ZKL_DO_RANK: rank(stake); break;
    case ZKL_DO_WATCH_OWN: return watch_own(stake);
    case ZKL_DO_WATCH_AHEAD: return watch_ahead(stake);
    case ZKL_DO_REMOVE: remove_node(stake); break;
    case ZKL_DO_SHARE: share_node(stake); break;
    case ZKL_DO_DOUBT: look_later(stake->session, stake->path); break;
    case ZKL_DO_FOLLOW: resume_followers(stake); break;
    case ZKL_DO_QUEUED: queued(stake); break;
    case ZKL_DO_GRANT: granted(stake); break;
    case ZKL_DO_FAIL: failed(stake); break;
    case ZKL_DO_LOSE: lost(stake); break;
    case ZKL_DO_SHARED: finish_sharing(stake, stake->claim.refusal); break;
    case ZKL_DO_STAYED: zkl_stake_refuse(stake, stake->claim.refusal); break;
    case ZKL_DO_PASS: zkl_condition_pass(stake); break;
    case ZKL_DO_TURN: zkl_condition_turn(stake); break;
    case ZKL_DO_FORGET: forget(stake); break;
    case ZKL_DO_PAUSE: return pause_claim(stake);
    case ZKL_DO_HOLDERS: return watch_holders(stake);
    case ZKL_DO_MARK: mark_node(stake); break;
    default: break;
    }
    return 0;
}

void zkl_stake_perform(struct stake *stake, zkl_actions actions) {
    while (actions) {
        zkl_actions lowest = actions & -actions;
        actions &= ~lowest;
        actions |= perform_one(stake, lowest);
    }
}

/* --- replies --------------------------------------------------------------------------------- */

void zkl_stake_look_for_orphans(struct path *path, struct zkl_session *session) {
    static const struct zkl_wish nobodys = {.owner = ""};
    struct zkl_contender *orphan;
    while ((orphan = zkl_line_orphan(&path->line, session->party.session))) {
        struct stake *stake = zkl_stake_new(session, path, &nobodys, ZKL_NEVER);
        if (!stake) {
            look_later(session, path); /* the next list shows it again */
            return;
        }
        session->stats.orphans++;
        zkl_stake_perform(stake, zkl_claim_adopt(&stake->claim, orphan));
    }
}

void zkl_stake_look_for_stray(struct path *path, struct zkl_session *session,
                              const struct Stat *stat) {
    static const struct zkl_wish nobodys = {.owner = "", .kind = ZKL_UNFAIR};
    enum zkl_stray stray = zkl_line_stray(&path->line, session->party.session,
                                          (uint64_t)stat->ephemeralOwner, stat->czxid);
    if (stray == ZKL_ANSWERED) return;
    struct stake *stake =
        stray == ZKL_STRAY ? zkl_stake_new(session, path, &nobodys, ZKL_NEVER) : NULL;
    if (!stake) {
        look_later(session, path);
        return;
    }
    session->stats.orphans++;
    zkl_stake_perform(stake, zkl_claim_adopt_stray(&stake->claim, stat->czxid));
}

/* The create or sync that was sent ahead of a list is not answered yet. */
static bool is_early(const struct zkl_claim *claim) {
    return claim->state == ZKL_ENTER || (claim->state == ZKL_LOOK && !claim->stalled);
}

static zkl_actions answer_list(struct stake *stake, const struct answer *answer) {
    struct path *path = stake->path;
    enum zkl_reply reply = answer->reply;
    if (reply == ZKL_UNKNOWN && is_early(&stake->claim)) {
        stake->unlisted = true;
        return 0;
    }
    if (reply == ZKL_DONE &&
        !zkl_line_replace(&path->line, (const char *const *)answer->names->data,
                          (size_t)answer->names->count))
        reply = ZKL_UNKNOWN;
    if (reply == ZKL_DONE) zkl_stake_look_for_orphans(path, stake->session);
    return zkl_claim_listed(&stake->claim, reply, answer->why, answer->now);
}

/*
 * After a create or sync: the list behind it that could not be sent (out of memory). The
 * machine takes replies in the order of the requests.
 */
static zkl_actions answer_unlisted(struct stake *stake, zkl_actions actions, zkl_time now) {
    bool awaited = stake->claim.state == ZKL_LIST || stake->claim.state == ZKL_SEEK;
    bool unlisted = stake->unlisted;
    stake->unlisted = false;
    if (!unlisted || !awaited) return actions;
    return actions | zkl_claim_listed(&stake->claim, ZKL_UNKNOWN, ZKL_OK, now);
}

/* Below the topmost, absent only says that the create above it got lost. */
static void answer_parent(const struct flight *flight, const struct answer *answer) {
    struct stake *stake = flight->stake;
    bool topmost = flight->node && strrchr(flight->node, '/') == flight->node;
    if (answer->rc == ZNODEEXISTS || (answer->reply == ZKL_ABSENT && !topmost)) return;
    if (answer->rc == ZUNIMPLEMENTED && stake->session->containers) {
        stake->session->containers = false; /* a server before 3.5.3 */
        return;
    }
    zkl_claim_parents(&stake->claim, answer->reply, answer->why);
}

static const char *last_segment(const char *node) {
    const char *slash = node ? strrchr(node, '/') : NULL;
    return slash ? slash + 1 : "";
}

static zkl_actions answer_share(struct stake *stake, const struct answer *answer) {
    enum zkl_reply reply = answer->rc == ZNODEEXISTS ? ZKL_DONE : answer->reply;
    if (answer->rc != ZBADVERSION) return zkl_claim_shared(&stake->claim, reply, answer->why);
    revise(stake);
    return 0;
}

static zkl_actions answer_mark(struct stake *stake, const struct answer *answer) {
    if (answer->stat) stake->version = answer->stat->version;
    if (answer->rc != ZBADVERSION) return zkl_claim_marked(&stake->claim, answer->reply);
    revise(stake);
    return 0;
}

static zkl_actions answer_revise(struct stake *stake, const struct answer *answer) {
    bool shares = stake->claim.state == ZKL_SHARE;
    own_data(stake, answer);
    if (answer->reply != ZKL_DONE)
        return shares ? zkl_claim_shared(&stake->claim, answer->reply, answer->why)
                      : zkl_claim_marked(&stake->claim, answer->reply);
    if (shares) share_node(stake);
    else mark_node(stake);
    return 0;
}

static zkl_actions answer_create(struct stake *stake, const struct answer *answer) {
    struct zkl_claim *claim = &stake->claim;
    int64_t czxid = answer->stat ? answer->stat->czxid : 0;
    if (zkl_kind_is_fixed(claim->kind)) {
        if (answer->reply == ZKL_DONE) return zkl_claim_placed(claim, czxid, answer->now);
        if (answer->rc == ZNODEEXISTS) return zkl_claim_taken(claim);
    }
    zkl_actions did =
        zkl_claim_created(claim, answer->reply, answer->why, last_segment(answer->text), czxid);
    return answer_unlisted(stake, did, answer->now);
}

static zkl_actions answer_own(struct stake *stake, const struct answer *answer) {
    const struct Stat *stat = answer->stat;
    own_data(stake, answer);
    zkl_actions did =
        zkl_claim_got_own(&stake->claim, answer->reply, answer->why, stat ? stat->czxid : 0,
                          stat ? (uint64_t)stat->ephemeralOwner : 0, answer->now);
    if (stat && zkl_kind_is_fixed(stake->claim.kind))
        zkl_stake_look_for_stray(stake->path, stake->session, stat);
    if (stat && stat->version > 0) did |= zkl_claim_called(&stake->claim);
    return did;
}

/* A get of whom it waits for; of a semaphore, the mark may have come before it. */
static zkl_actions answer_ahead(const struct flight *flight, const struct answer *answer) {
    struct zkl_claim *claim = &flight->stake->claim;
    const struct Stat *stat = answer->stat;
    bool marked = answer->reply == ZKL_DONE && stat->version > 0;
    zkl_actions did =
        zkl_claim_got_ahead(claim, flight->contender, answer->reply, answer->why, answer->now);
    if (marked && flight->contender->kind == ZKL_PERMIT && claim->kind == ZKL_PERMIT)
        did |= zkl_claim_ahead_marked(claim, flight->contender, stat->mzxid);
    return did;
}

static zkl_actions answer_stake(struct flight *flight, const struct answer *answer) {
    struct zkl_claim *claim = &flight->stake->claim;
    const struct Stat *stat = answer->stat;
    zkl_actions did;
    switch (flight->verb) {
    case VERB_PARENT: answer_parent(flight, answer); return 0;
    case VERB_CREATE: return answer_create(flight->stake, answer);
    case VERB_LIST: return answer_list(flight->stake, answer);
    case VERB_SYNC:
        did = zkl_claim_synced(claim, answer->reply, answer->now);
        return answer_unlisted(flight->stake, did, answer->now);
    case VERB_GET_OWN: return answer_own(flight->stake, answer);
    case VERB_GET_AHEAD: return answer_ahead(flight, answer);
    case VERB_RANK:
        return zkl_claim_ranked(claim, flight->contender, answer->reply, stat ? stat->czxid : 0,
                                answer->now);
    case VERB_SHARE: return answer_share(flight->stake, answer);
    case VERB_WAIT: return zkl_condition_waited(flight, answer);
    case VERB_PASS: return zkl_condition_passed(flight, answer);
    case VERB_REVISE: return answer_revise(flight->stake, answer);
    case VERB_MARK: return answer_mark(flight->stake, answer);
    case VERB_REMOVE: return zkl_claim_removed(claim, answer->reply);
    default: return 0; /* not a stake's */
    }
}

void zkl_stake_answer(struct flight *flight, const struct answer *answer) {
    if (flight->stake->claim.state == ZKL_GONE) return;
    if (answer->reply == ZKL_REFUSED && answer->rc != ZNODEEXISTS)
        flight->stake->error = answer->rc;
    zkl_stake_perform(flight->stake, answer_stake(flight, answer));
}

/* --- events ----------------------------------------------------------------------------------- */

static zkl_actions own_event(struct stake *stake, int type) {
    if (type == ZOO_DELETED_EVENT) return zkl_claim_own_deleted(&stake->claim);
    return zkl_claim_own_changed(&stake->claim);
}

static zkl_actions ahead_event(struct stake *stake, struct zkl_contender *ahead, int type,
                               zkl_time now) {
    if (type == ZOO_DELETED_EVENT) return zkl_claim_ahead_deleted(&stake->claim, ahead, now);
    return zkl_claim_ahead_changed(&stake->claim, ahead);
}

bool zkl_stake_absent(struct stake *stake, const char *node) {
    struct zkl_claim *claim = &stake->claim;
    if (claim->state == ZKL_SHARE || strcmp(last_segment(node), claim->name) != 0) return false;
    zkl_stake_perform(stake, zkl_claim_own_deleted(claim));
    return true;
}

static bool waits_for(const struct zkl_claim *claim, const char *name) {
    return claim->ahead && strcmp(claim->ahead->name, name) == 0;
}

/* Feeds the event to the claims on the path whose own node or predecessor it is about. */
void zkl_stake_event(struct zkl_session *session, int type, const char *node) {
    const char *name = last_segment(node);
    if (*name == '\0') return;
    struct path *path = zkl_path_find(session, node, (size_t)(name - 1 - node));
    zkl_time now = zkl_now();
    if (!path) return;
    struct zkl_contender *about = zkl_line_find(&path->line, name);
    if (about) zkl_contender_hold(about);
    for (struct zkl_claim *claim = path->line.claims, *next; claim; claim = next) {
        struct stake *stake = (struct stake *)claim;
        next = claim->next;
        if (strcmp(claim->name, name) == 0) zkl_stake_perform(stake, own_event(stake, type));
        else if (waits_for(claim, name))
            zkl_stake_perform(stake, ahead_event(stake, claim->ahead, type, now));
        else if (claim->state == ZKL_WAIT && claim->heading)
            zkl_stake_perform(stake, ahead_event(stake, about, type, now));
    }
    zkl_contender_drop(about);
}

/* Feeds an event to every claim; it may be gone after that, and with it others (multi.c). */
static void feed_all(struct zkl_session *session,
                     zkl_actions (*feed)(struct zkl_claim *claim, zkl_time now), zkl_time now) {
    for (struct stake *stake = session->stakes; stake; stake = session->fed) {
        session->fed = stake->next;
        zkl_stake_perform(stake, feed(&stake->claim, now));
    }
}

static zkl_actions suspend(struct zkl_claim *claim, zkl_time now) {
    (void)now;
    return zkl_claim_suspend(claim);
}

static zkl_actions expire(struct zkl_claim *claim, zkl_time now) {
    (void)now;
    return zkl_claim_expire(claim);
}

/* The session closes: holders give up, waiters are told. */
static zkl_actions end(struct zkl_claim *claim, zkl_time now) {
    (void)now;
    if (!zkl_claim_holds(claim)) return zkl_claim_cancel(claim, ZKL_CLOSED);
    ((struct stake *)claim)->handles = 0;
    return zkl_claim_release(claim);
}

static zkl_actions wake(struct zkl_claim *claim, zkl_time now) {
    bool over = claim->pausing && now >= ((struct stake *)claim)->wake_at;
    return over ? zkl_claim_wake(claim) : 0;
}

static zkl_actions take_notice(struct zkl_claim *claim, zkl_time now) {
    if (zkl_claim_holds(claim))
        notice((struct stake *)claim, zkl_clock_phase(&claim->party->clock, claim->epoch, now));
    return 0;
}

void zkl_stake_resume_all(struct zkl_session *session, zkl_time now) {
    feed_all(session, zkl_claim_resume, now);
}

void zkl_stake_suspend_all(struct zkl_session *session) {
    feed_all(session, suspend, 0);
}

void zkl_stake_expire_all(struct zkl_session *session) {
    feed_all(session, expire, 0);
}

void zkl_stake_close_all(struct zkl_session *session) {
    feed_all(session, end, 0);
}

void zkl_stake_tick_all(struct zkl_session *session, zkl_time now) {
    feed_all(session, zkl_claim_tick, now);
}

void zkl_stake_beat_all(struct zkl_session *session, zkl_time now) {
    feed_all(session, zkl_claim_beat, now);
}

void zkl_stake_wake_all(struct zkl_session *session, zkl_time now) {
    feed_all(session, wake, now);
}

zkl_time zkl_stake_wake_due(const struct zkl_session *session) {
    zkl_time due = ZKL_NEVER;
    for (const struct stake *stake = session->stakes; stake; stake = stake->next) {
        if (stake->claim.pausing && stake->wake_at < due) due = stake->wake_at;
    }
    return due;
}

void zkl_stake_notice_all(struct zkl_session *session, zkl_time now) {
    feed_all(session, take_notice, now);
}
