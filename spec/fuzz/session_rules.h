/*
 * session_rules.h - the world of session_fuzz.c, and its rules after every event:
 *
 *   - each request is done and reported once, by its deadline; the end of a lease is reported to
 *     each of its users, and is final;
 *   - a delete names a node with a counter, a create no node of an earlier attempt; for a fixed
 *     name, a delete has a czxid and spares another claim's node, and one create is pending at a
 *     time;
 *   - a grant has a token and a certain clock, and no contender ahead excludes it; permits fit,
 *     and no other use is ahead;
 *   - a writer becomes a reader only by the answer to its downgrade, holds meanwhile, and keeps its
 *     token and number;
 *   - a node belongs to one claim at a time, even when handed on, and its tokens grow;
 *   - each held lock has a user, and its clock has not run out;
 *   - no claim sleeps without an alarm: a waiting claim has a pending request, a set watch, or is
 *     stalled until the next heartbeat; a pause ends with the next tick; questions and watchers
 *     are pending or will be repeated;
 *   - a due tick makes the next one due later;
 *   - at the end, when all is given up and the server answers, no claim, request, watch or memory
 *     (the leak checker) is left.
 */
#ifndef SESSION_RULES_H
#define SESSION_RULES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../sim/asked.h"
#include "core/permits.h"
#include "session/call.h" /* read only */
#include "session/internal.h"
#include "session/lease.h"
#include "session/member.h"
#include "session/roster.h"
#include "session/watcher.h"

enum { USERS = 6, WATCHERS = 2, LOCKS = 2, SENT = 1024, PATH = 256 };

#define TIMEOUT (12 * ZKL_SECOND)

#define require(holds) ((holds) ? (void)0 : broken(__LINE__, #holds))

static void broken(int line, const char *rule) {
    fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, line, rule);
    abort();
}

/* --- the world ------------------------------------------------------------------------------ */

enum doing { ASKS, ACQUIRES, DOWNGRADES, WAITS, RELEASES };

struct user {
    enum doing doing;
    struct zkl_request *request;
    struct zkl_lease *lease;
    int64_t token;  /* token of the lease */
    bool told;      /* knows of the lease's end */
    bool announced; /* knows that it waits in line */
};

/* An unanswered request. */
struct sent {
    struct zkl_rpc rpc;
    bool cut; /* its connection was lost */
};

static struct {
    const uint8_t *data;
    size_t size;
    zkl_time now;
    int64_t zxid;
    uint64_t sessions;
    uint8_t uses; /* the kinds of locks of both paths */
    struct zkl_session *session;
    struct user users[USERS];
    struct zkl_watcher *watchers[WATCHERS];
    struct zkl_request *joins[WATCHERS]; /* until done; then a member */
    struct zkl_member *members[WATCHERS];
    struct zkl_roster *rosters[WATCHERS];
    struct sent sent[SENT]; /* a ring */
    unsigned first, count;
    bool coming; /* it will connect when all requests are answered */
    struct {
        uint64_t nonce;
        int64_t token;
    } turns[LOCKS]; /* latest grant; servers may repeat czxids, we repeat no nonce */
} w;

#define EACH_USER(each) for (struct user *each = w.users; each < w.users + USERS; each++)
#define EACH_STAKE(each) for (struct stake *each = w.session->stakes; each; each = each->next)
#define EACH_FOLLOWER(each, kind)                                                                  \
    for (struct follower *each = w.session->followers[kind]; each; each = each->next)
#define EACH_CALL(each) for (struct call *each = w.session->calls; each; each = each->next)

static uint8_t byte(void) {
    if (w.size == 0) return 0;
    w.size--;
    return *w.data++;
}

static bool is_connected(void) {
    return zkl_session_connection_state(w.session) == ZKL_SESSION_CONNECTED;
}

static bool is_fixed(const struct zkl_claim *claim) {
    return zkl_kind_is_fixed(claim->kind);
}

static bool is_complete_name(const char *text) {
    struct zkl_name name;
    return zkl_name_parse(text, &name);
}

static const char *name_in(const char *path) {
    return strrchr(path, '/') + 1;
}

/* Counts the pending calls of a kind. `stake`: whose; NULL: all. */
static unsigned count_out(const struct stake *stake, enum stake_call kind) {
    unsigned count = 0;
    EACH_CALL(call) count += stake_call_of(call) == kind && (!stake || asking_stake(call) == stake);
    return count;
}

static bool is_out(const struct stake *stake, enum stake_call kind) {
    return count_out(stake, kind) > 0;
}

/* --- allowed requests ----------------------------------------------------------------------- */

/* A removed node must not be that of another claim, which holds. */
static void check_removed(const struct stake *stake) {
    require(stake->claim.state == ZKL_LEAVE || stake->claim.state == ZKL_RETREAT);
    if (!is_fixed(&stake->claim)) {
        require(is_complete_name(stake->claim.node.name));
        return;
    }
    require(stake->claim.node.czxid != 0 && strcmp(stake->claim.node.name, ZKL_NAME_FIXED) == 0);
    EACH_STAKE(other) {
        bool holds = is_fixed(&other->claim) && zkl_claim_holds(&other->claim);
        if (other != stake && other->path == stake->path && holds)
            require(other->claim.node.czxid != stake->claim.node.czxid);
    }
}

/* Only one create of a fixed name is pending, or their nodes could not be told apart. */
static void check_created(const struct stake *stake, const char *path) {
    const struct zkl_claim *claim = &stake->claim;
    require(claim->state == ZKL_CREATE && claim->node.czxid == 0);
    require(strcmp(name_in(path), claim->node.name) == 0 && !is_complete_name(claim->node.name));
    if (!is_fixed(claim)) return;
    EACH_CALL(call) {
        const struct stake *other = asking_stake(call);
        bool create = stake_call_of(call) == STAKE_CREATE && is_fixed(&other->claim);
        if (create && other != stake) require(other->path != stake->path);
    }
}

static void check_stakes_rpc(const struct call *call, const struct zkl_rpc *rpc) {
    const struct stake *stake = zkl_call_stake(call);
    const struct zkl_claim *claim = &stake->claim;
    if (claim->state == ZKL_GONE) return; /* it asked in the step in which it handed its node on */
    switch (stake_call_of(call)) {
    case STAKE_CREATE:
    case STAKE_CREATE_ALL:
    case STAKE_WAIT: check_created(stake, rpc->path); break;
    case STAKE_REMOVE: check_removed(stake); break;
    case STAKE_GET_OWN: require(is_fixed(claim) || is_complete_name(claim->node.name)); break;
    case STAKE_LIST: require(!is_fixed(claim)); break;
    case STAKE_GET_AHEAD:
    case STAKE_RANK: require(call->contender && !is_fixed(claim)); break;
    case STAKE_DOWNGRADE:
        require(claim->state == ZKL_DOWNGRADE && zkl_claim_may_downgrade(claim));
        break;
    case STAKE_FORWARD:
        require(claim->state == ZKL_FORWARD && claim->as_waiter && claim->ahead);
        break;
    case STAKE_MARK:
        /*
         * Perhaps released in the step of its grant, before its requests were sent. Or its user
         * waits in a condition since, and holds again if that is refused.
         */
        require(claim->state == ZKL_HELD || claim->state == ZKL_LEAVE ||
                claim->state == ZKL_IN_CONDITION);
        require(claim->kind == ZKL_PERMIT || claim->node.says_held);
        break;
    default: break;
    }
}

/* --- grants --------------------------------------------------------------------------------- */

/* True if the contender is ahead and in the way, by line.h's order as far as known. */
static bool is_ahead(const struct zkl_claim *claim, const struct zkl_contender *contender) {
    if (!zkl_kinds_exclude(claim->kind, contender->kind)) return false;
    if (claim->line->exhausted) return contender->czxid && contender->czxid < claim->node.czxid;
    return contender->sequence < claim->node.sequence;
}

/* Checks the place of the user's own node. A part may have been first for a while. */
static void check_first(const struct zkl_claim *claim) {
    const struct zkl_line *line = claim->line;
    if (is_fixed(claim) || claim->node.grants || claim->next_part != claim) return;
    require(!line->incomplete && zkl_line_find(line, claim->node.name));
    if (claim->kind == ZKL_PERMIT) {
        require(!zkl_permits_stranger(line, claim) && zkl_permits_fit(line, claim));
        return;
    }
    for (size_t i = 0; i < line->count; i++) require(!is_ahead(claim, line->contenders[i]));
}

/* Checks that the tokens of a node grow in turns. */
static void check_turn(const struct stake *stake) {
    int i = stake->path->text[1] - 'a';
    if (stake->claim.reuse && w.turns[i].nonce == stake->claim.node.nonce)
        require(stake->token > w.turns[i].token);
    w.turns[i].nonce = stake->claim.node.nonce;
    w.turns[i].token = stake->token;
}

/* `again`: a re-entry. */
static void check_grant(struct user *user, bool again) {
    const struct parts *parts = &user->lease->parts;
    const struct zkl_clock *clock = &w.session->common.clock;
    for (size_t i = 0; i < parts->count; i++) {
        const struct stake *stake = zkl_parts_at(parts, i);
        require(stake->token > 0 && zkl_claim_holds(&stake->claim));
        if (again) continue;
        require(zkl_clock_phase(clock, stake->claim.epoch, w.now) == ZKL_PHASE_HELD);
        check_first(&stake->claim);
        check_turn(stake);
    }
    user->token = zkl_lease_token(user->lease);
    user->told = false;
}

/* --- at any time ---------------------------------------------------------------------------- */

static bool holds_lock(const struct user *user) {
    enum zkl_lease_state state = zkl_lease_state(user->lease);
    return state == ZKL_LEASE_HELD || state == ZKL_LEASE_SUSPECT;
}

/* True if the lease has ended, and is not only in a condition. */
static bool has_ended(const struct zkl_lease *lease) {
    for (size_t i = 0; i < lease->parts.count; i++)
        if (!zkl_parts_at(&lease->parts, i)->claim.wanted) return true;
    return false;
}

static const struct watch *watch_at(const char *parent, const char *name) {
    char path[PATH];
    snprintf(path, sizeof path, "%s/%s", parent, name);
    for (int i = 0; i < WATCH_BUCKETS; i++) {
        const struct watch *watch = w.session->watches.buckets[i];
        while (watch && strcmp(watch->path, path) != 0) watch = watch->next;
        if (watch) return watch;
    }
    return NULL;
}

static bool will_tell(const struct watch *watch) {
    return watch && (watch->state != WATCH_UNSET || watch->requests_out);
}

static bool is_watching_own(const struct stake *stake) {
    return is_out(stake, STAKE_GET_OWN) || will_tell(stake->own_watch);
}

/* True also if it has asked to, perhaps without a connection. */
static bool is_watching(const struct stake *stake, const struct zkl_contender *contender) {
    EACH_CALL(call) {
        bool asks = asking_stake(call) == stake && stake_call_of(call) == STAKE_GET_AHEAD;
        if (asks && call->contender == contender) return true;
    }
    return will_tell(watch_at(stake->path->text, contender->name));
}

/* A claim that heads has to watch some holder; a later list may have another order. */
static bool is_watching_ahead(const struct stake *stake) {
    if (!stake->claim.holders_list) return is_watching(stake, stake->claim.ahead);
    const struct want *want = stake->wants;
    while (want && !will_tell(want->watch)) want = want->next;
    return want || is_out(stake, STAKE_GET_AHEAD);
}

static bool another_part_enters(const struct stake *stake) {
    const struct zkl_claim *claim = &stake->claim;
    for (const struct zkl_claim *part = claim->next_part; part != claim; part = part->next_part)
        if (!zkl_claim_awaits_parts(part) || part->stalled) return true;
    return false;
}

static bool is_creating(const struct stake *stake) {
    const struct zkl_claim *claim = &stake->claim;
    if (zkl_claim_awaits_parts(claim)) return another_part_enters(stake);
    return is_out(stake, claim->as_waiter ? STAKE_WAIT : STAKE_CREATE) ||
           is_out(NULL, STAKE_CREATE_ALL);
}

/* True if something keeps the claim going. The next heartbeat resumes stalled claims. */
static bool has_alarm(const struct stake *stake) {
    const struct zkl_claim *claim = &stake->claim;
    if (claim->stalled) return !is_connected() || zkl_session_due(w.session) < w.now + TIMEOUT / 3;
    switch (claim->state) {
    case ZKL_NEW:
        return zkl_claim_is_pausing(claim) && zkl_session_due(w.session) <= stake->wake_at;
    case ZKL_RECOVER_LIST: return is_out(stake, is_fixed(claim) ? STAKE_GET_OWN : STAKE_LIST);
    case ZKL_TRY: return is_out(stake, STAKE_LIST);
    case ZKL_LIST: return stake->path->lists_out > 0;
    case ZKL_CREATE: return is_creating(stake);
    case ZKL_RECOVER_SYNC:
    case ZKL_PROVE: return is_out(stake, STAKE_SYNC);
    case ZKL_RECOVER_STAT: return is_out(stake, STAKE_GET_OWN);
    case ZKL_RANK: return claim->rank_gets > 0 && count_out(stake, STAKE_RANK) == claim->rank_gets;
    case ZKL_WAIT:
        return is_watching_own(stake) &&
               (is_fixed(claim) || claim->as_waiter || is_watching_ahead(stake));
    case ZKL_FIRST: return claim->next_part->state != ZKL_FIRST && is_watching_own(stake);
    case ZKL_HELD: return true; /* up to its user, see check_holder() */
    case ZKL_DOWNGRADE: return is_out(stake, STAKE_DOWNGRADE) || is_out(stake, STAKE_REREAD);
    case ZKL_IN_CONDITION:
    case ZKL_SIGNALLED: return claim->partner != NULL;
    case ZKL_FORWARD: return is_out(stake, STAKE_LIST) || is_out(stake, STAKE_FORWARD);
    case ZKL_KEPT:
        return claim->awaits_list ? stake->path->lists_out > 0
                                  : zkl_session_due(w.session) <= claim->deadline;
    case ZKL_RETREAT:
    case ZKL_LEAVE: return is_out(stake, STAKE_REMOVE);
    case ZKL_GONE: break;
    }
    return false;
}

static bool has_holder(const struct stake *stake) {
    EACH_USER(user) {
        bool has = user->lease && user->lease->end_code == ZKL_OK;
        if (has && zkl_parts_include(&user->lease->parts, stake)) return true;
    }
    return false;
}

static void check_stake(const struct stake *stake) {
    const struct zkl_claim *claim = &stake->claim;
    require(has_alarm(stake));
    require(!zkl_claim_holds(claim) || has_holder(stake));
    require(claim->ahead == NULL || claim->state == ZKL_WAIT || claim->state == ZKL_FORWARD);
    require(!claim->lookahead || (claim->ahead && is_watching(stake, claim->lookahead)));
    require(!claim->looking_ahead || (claim->ahead && !claim->lookahead));
    EACH_STAKE(other) {
        bool apart = other == stake || other->path != stake->path || is_fixed(claim);
        require(apart || !*claim->node.name ||
                strcmp(claim->node.name, other->claim.node.name) != 0);
    }
}

static bool will_end(const struct zkl_request *request) {
    const struct stake *stake = zkl_parts_at(&request->parts, 0);
    switch (request->kind) {
    case REQUEST_ACQUIRE:
    case REQUEST_WAIT: return stake->request == request;
    case REQUEST_DOWNGRADE: return stake->downgrade == request;
    case REQUEST_RELEASE: return true; /* by the claim's own alarm */
    case REQUEST_JOIN:
    case REQUEST_SET: return true;   /* up to its member */
    case REQUEST_PAUSE: return true; /* by the caller */
    case REQUEST_DRAIN: return true; /* by the last claim or the caller */
    case REQUEST_READY:
    case REQUEST_CHECK:
    case REQUEST_QUEUE:
    case REQUEST_GUARD:
    case REQUEST_SIGNAL:
    case REQUEST_REVOKE:
    case REQUEST_BREAK:
    case REQUEST_GET:
    case REQUEST_CHILDREN: break;
    }
    return request->asker.calls > 0 || request->ask_at || !is_connected();
}

static void check_user(const struct user *user) {
    if (user->request) require(!zkl_request_done(user->request) && will_end(user->request));
    if (!user->lease || user->lease->end_code != ZKL_OK || user->doing == WAITS) return;
    require(zkl_lease_token(user->lease) == user->token || !holds_lock(user));
    if (has_ended(user->lease)) require(user->told && !holds_lock(user));
}

static void check_watcher(const struct zkl_watcher *watcher) {
    require(!is_connected() || watcher->base.asker.calls || watcher->watch->state != WATCH_UNSET ||
            watcher->look_at);
}

static void check_member(const struct zkl_member *member) {
    require(!is_connected() || member->base.asker.calls || member->act_at != ZKL_NEVER);
    require((member->state == ZKL_MEMBER_ENDED) == !member->watch);
}

static void check_roster(const struct zkl_roster *roster) {
    require(!is_connected() || roster->base.asker.calls || roster->check_at != ZKL_NEVER);
    for (size_t i = 1; i < roster->count; i++)
        require(strcmp(roster->seen[i - 1].name, roster->seen[i].name) < 0);
}

static void check_all(void) {
    EACH_STAKE(stake) check_stake(stake);
    EACH_USER(user) check_user(user);
    for (int i = 0; i < WATCHERS; i++)
        if (w.watchers[i] && w.watchers[i]->base.link) check_watcher(w.watchers[i]);
    EACH_FOLLOWER(each, FOLLOWER_MEMBER) check_member((struct zkl_member *)each);
    EACH_FOLLOWER(each, FOLLOWER_ROSTER) check_roster((struct zkl_roster *)each);
}

#endif
