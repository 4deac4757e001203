/* connection.c - the connection of a session, its heartbeats, its ticks and its end. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "answers.h"
#include "cancel.h"
#include "children.h"
#include "internal.h"
#include "kept.h"
#include "member.h"
#include "orphans.h"
#include "query.h"
#include "room.h"
#include "stake_feed.h"
#include "steps.h"

/* --- life ------------------------------------------------------------------------------ */

zkl_session *zkl_session_new(const struct zkl_settings *settings) {
    struct zkl_session *session = calloc(1, sizeof *session);
    if (!session) return NULL;
    session->identity = strdup(settings->identity);
    if (!session->identity) {
        free(session);
        return NULL;
    }
    session->margin = settings->margin;
    session->parents = settings->parents;
    session->after_expiry = settings->reopen ? ZKL_OK : ZKL_EXPIRED;
    session->tells_steps = settings->steps;
    session->steps_end = &session->steps;
    session->random = settings->seed;
    session->watches.overhead = settings->overhead;
    session->yielding = &zkl_yielding;
    session->stake_calls = zkl_stake_calls;
    session->common.clock.attend_within = settings->patience;
    session->due_since_tick = ZKL_NEVER;
    session->stakes_end = &session->stakes;
    session->calls_end = &session->calls;
    session->inbox_end = &session->inbox;
    return session;
}

/* Unread events hold references. */
void zkl_session_free(zkl_session *session) {
    struct zkl_event unread;
    assert(!session->calls && !session->stakes && !session->requests);
    for (int kind = 0; kind < FOLLOWER_KINDS; kind++) assert(!session->followers[kind]);
    while (zkl_session_next_event(session, &unread)) continue;
    zkl_watches_clear(&session->watches);
    zkl_path_free_unused(session);
    zkl_totals_clear(&session->totals);
    free(session->identity);
    free(session->request_numbers.free);
    free(session);
}

bool zkl_session_makes_containers(const zkl_session *session) {
    return session->parents == ZKL_CONTAINER;
}

/* --- time ------------------------------------------------------------------------------ */

void zkl_session_at(zkl_session *session, zkl_time now) {
    assert(now > 0 && now >= session->now);
    session->now = now;
    zkl_path_free_unused(session);
}

/* --- feeds of claims ------------------------------------------------------------------------ */

/* Events are missed meanwhile, so these times are not known. */
static zkl_actions suspend(struct zkl_claim *claim, zkl_time now) {
    struct stake *stake = (struct stake *)claim;
    (void)now;
    stake->ahead_gone_at = stake->path->hold_ended_at = 0;
    return zkl_claim_suspend(claim);
}

static enum zkl_code expiry_code(const struct zkl_session *session) {
    return session->after_expiry == ZKL_AUTH ? ZKL_AUTH : ZKL_EXPIRED;
}

static zkl_actions expire(struct zkl_claim *claim, zkl_time now) {
    (void)now;
    return zkl_claim_expire(claim, expiry_code(((struct stake *)claim)->session));
}

/* Claims in NEW end first, so that they inherit no node. */
static zkl_actions end_heirs(struct zkl_claim *claim, zkl_time now) {
    (void)now;
    if (claim->state != ZKL_NEW || claim->reuse == ZKL_ONE_GRANT) return 0;
    return zkl_claim_cancel(claim, ZKL_CLOSED);
}

static zkl_actions end_claim(struct zkl_claim *claim, zkl_time now) {
    struct stake *stake = (struct stake *)claim;
    if (!zkl_claim_holds(claim)) return zkl_claim_cancel(claim, ZKL_CLOSED);
    stake->handles = 0;
    zkl_stake_end_hold(stake, ZKL_STEP_RELEASED);
    zkl_claim_yield(claim);
    return zkl_claim_release(claim, now);
}

static zkl_actions stop_keeping(struct zkl_claim *claim, zkl_time now) {
    (void)now;
    return zkl_claim_stop_keeping(claim);
}

static zkl_actions cancel_waiter(struct zkl_claim *claim, zkl_time now) {
    (void)now;
    return zkl_claim_holds(claim) ? 0 : zkl_claim_cancel(claim, ZKL_CLOSED);
}

static zkl_actions wake(struct zkl_claim *claim, zkl_time now) {
    bool over = zkl_claim_is_pausing(claim) && now >= ((struct stake *)claim)->wake_at;
    return over ? zkl_claim_wake(claim) : 0;
}

static zkl_actions resume(struct zkl_claim *claim, zkl_time now) {
    return zkl_stake_lacks_room((struct stake *)claim) ? 0 : zkl_claim_resume(claim, now);
}

static zkl_actions beat_claim(struct zkl_claim *claim, zkl_time now) {
    if (zkl_claim_holds_or_is_kept(claim)) zkl_watches_drop_others((struct stake *)claim);
    return zkl_stake_lacks_room((struct stake *)claim) ? 0 : zkl_claim_beat(claim, now);
}

static zkl_actions tell_phase(struct zkl_claim *claim, zkl_time now) {
    enum zkl_phase phase = zkl_clock_phase(&claim->line->common->clock, claim->epoch, now);
    if (zkl_claim_holds(claim)) zkl_stake_tell_phase((struct stake *)claim, phase);
    return 0;
}

/* --- states ------------------------------------------------------------------------------ */

static void change_state(struct zkl_session *session, enum zkl_session_state state) {
    session->state = state;
    zkl_events_post_state(session, state);
}

static void start_due(struct zkl_session *session) {
    zkl_query_start_due(session);
    for (int kind = 0; kind < FOLLOWER_KINDS; kind++)
        for (struct follower *each = session->followers[kind]; each; each = each->next)
            each->class->start(each);
}

void zkl_session_connected(zkl_session *session, uint64_t id, zkl_time timeout) {
    zkl_time now = session->now;
    assert(id != 0 && timeout > 0);
    if (session->common.session == id) {
        session->stats.reconnects++;
        zkl_step_tell_session(session, ZKL_STEP_RECONNECTED);
        zkl_stake_feed_all(session, zkl_claim_tick); /* some may be lost by the old timeout */
        zkl_clock_retime(&session->common.clock, timeout, session->margin, now);
    } else {
        zkl_clock_start(&session->common.clock, timeout, session->margin, now);
    }
    session->common.session = id;
    session->common.clock.connected = true;
    change_state(session, ZKL_SESSION_CONNECTED);
    zkl_watches_remove_unwanted(session); /* ahead of new requests for watches */
    zkl_stake_feed_all(session, resume);
    start_due(session);
    session->last_beat_at = 0; /* to prove suspect leases at once */
    zkl_session_tick_by(session, 0);
}

void zkl_session_ready_from(zkl_session *session, zkl_time due) {
    session->ready_from = due;
    zkl_session_tick_by(session, due);
    zkl_query_start_due(session);
}

void zkl_session_suspended(zkl_session *session) {
    if (session->state != ZKL_SESSION_CONNECTED) return;
    session->common.clock.connected = false;
    change_state(session, ZKL_SESSION_SUSPENDED);
    zkl_stake_feed_all(session, suspend);
    zkl_stake_feed_all(session, tell_phase);
    zkl_member_suspend_all(session);
    zkl_session_tick_by(session, 0);
}

static void expire_followers(struct zkl_session *session) {
    enum zkl_code refusal = zkl_session_refusal(session);
    for (int kind = 0; kind < FOLLOWER_KINDS; kind++) {
        for (struct follower *each = session->followers[kind], *next; each; each = next) {
            next = each->next;
            each->class->expire(each, refusal);
        }
    }
}

static void forget_all(struct zkl_session *session, enum zkl_session_state state) {
    zkl_clock_end(&session->common.clock);
    if (session->common.session)
        session->earlier_sessions[session->earlier_count++ % EARLIER_SESSIONS] =
            session->common.session;
    session->common.session = 0;
    session->newest_czxid = 0;
    for (struct path *path = NULL; (path = zkl_path_next(session, path));) {
        zkl_line_clear(&path->line);
        path->orphan_look_at = 0;
        zkl_path_mark_idle(session, path);
    }
    change_state(session, state);
    zkl_stake_feed_all(session, expire);
    zkl_call_answer_all(session);
    zkl_watches_clear(&session->watches);
    expire_followers(session);
}

static bool is_over(const struct zkl_session *session) {
    return session->state == ZKL_SESSION_EXPIRED || session->state == ZKL_SESSION_CLOSED;
}

void zkl_session_expired(zkl_session *session) {
    if (is_over(session)) return;
    session->stats.expiries++;
    zkl_step_tell_session(session, ZKL_STEP_EXPIRED);
    forget_all(session, ZKL_SESSION_EXPIRED);
    zkl_request_fail_all(session, expiry_code(session));
    zkl_session_tick_by(session, 0);
}

void zkl_session_refused(zkl_session *session) {
    session->after_expiry = ZKL_AUTH; /* the credentials would be refused again */
    zkl_session_expired(session);
}

void zkl_session_reopening(zkl_session *session) {
    if (session->state == ZKL_SESSION_EXPIRED) change_state(session, ZKL_SESSION_CONNECTING);
}

zkl_request *zkl_session_drain(zkl_session *session, bool serve_waiters, zkl_time timeout) {
    struct zkl_request *request = zkl_request_new(session, REQUEST_DRAIN, timeout);
    if (!request) return NULL;
    enum service service = serve_waiters ? SERVICE_DRAINING : SERVICE_TO_HOLDERS;
    if (session->service < service) session->service = service;
    zkl_stake_feed_all(session, stop_keeping);
    if (!serve_waiters) zkl_stake_feed_all(session, end_heirs);
    if (!serve_waiters) zkl_stake_feed_all(session, cancel_waiter);
    zkl_stake_end_drain(session);
    return request;
}

void zkl_session_close(zkl_session *session) {
    session->service = SERVICE_CLOSING;
    zkl_stake_feed_all(session, end_heirs);
    zkl_stake_feed_all(session, end_claim);
    zkl_request_fail_all(session, ZKL_CLOSED);
    for (int kind = 0; kind < FOLLOWER_KINDS; kind++)
        for (struct follower *first; (first = session->followers[kind]);) first->class->end(first);
    zkl_session_tick_by(session, 0);
}

void zkl_session_closed(zkl_session *session) {
    if (session->state == ZKL_SESSION_CLOSED) return;
    forget_all(session, ZKL_SESSION_CLOSED);
    zkl_path_free_unused(session);
}

/* --- watch events ------------------------------------------------------------------------ */

void zkl_session_event(zkl_session *session, enum zkl_node_event event, const char *node) {
    assert(node && *node == '/');
    session->stats.events++;
    zkl_kept_event(session, event, node);
    if (event != ZKL_NODE_CHILDREN) {
        zkl_watches_note_fired(&session->watches, node);
        zkl_stake_event(session, event, node);
        /* Most events are of locks, which have no follower. */
        if (!zkl_watches_is_pinned(&session->watches, node)) return;
    }
    for (int kind = 0; kind < FOLLOWER_KINDS; kind++) {
        for (struct follower *each = session->followers[kind], *next; each; each = next) {
            next = each->next;
            each->class->event(each, event, node);
        }
    }
}

/* --- heartbeats -------------------------------------------------------------------------- */

/*
 * After a stop of the process another may come soon. T is the session timeout. With T/24 between
 * heartbeats the chain of proofs (clock.h) lasts through a stop of up to 0.15 T.
 */
static zkl_time beat_due(const struct zkl_session *session) {
    bool busy =
        session->stakes || (session->watches.unwanted_count && session->service != SERVICE_CLOSING);
    if (!busy || session->state != ZKL_SESSION_CONNECTED) return ZKL_NEVER;
    zkl_time since =
        session->last_beat_at > session->busy_since ? session->last_beat_at : session->busy_since;
    const struct zkl_clock *clock = &session->common.clock;
    zkl_time grants_from = zkl_clock_grants_from(clock);
    if (grants_from <= since) return since + clock->timeout / 6;
    return zkl_earlier(since + clock->attend_within / 2, grants_from);
}

static const struct call_kind heartbeat; /* its answer proves the session */

static void beat(struct zkl_session *session) {
    if (session->now < beat_due(session)) return;
    session->last_beat_at = session->now;
    struct call *call = zkl_call_new(session, &heartbeat, NULL);
    if (call) zkl_call_sync(call, "/");
    zkl_stake_feed_all(session, beat_claim);
    zkl_watches_remove_unwanted(session);
}

/* --- ticks --------------------------------------------------------------------------------- */

void zkl_session_tick(zkl_session *session) {
    session->due_since_tick = ZKL_NEVER;
    zkl_clock_attend(&session->common.clock, session->now);
    zkl_request_end_overdue(session);
    zkl_stake_feed_all(session, zkl_claim_tick);
    zkl_stake_feed_all(session, wake);
    zkl_stake_feed_all(session, tell_phase);
    beat(session);
    zkl_orphans_look(session);
    start_due(session);
    zkl_stake_end_drain(session);
}

static zkl_time stake_due(const struct zkl_session *session) {
    zkl_time due = ZKL_NEVER;
    for (const struct stake *stake = session->stakes; stake; stake = stake->next) {
        const struct zkl_claim *claim = &stake->claim;
        if (zkl_claim_is_pausing(claim)) due = zkl_earlier(due, stake->wake_at);
        if (zkl_claim_holds(claim)) due = zkl_earlier(due, claim->deadline);
    }
    return due;
}

static zkl_time follower_due(const struct zkl_session *session) {
    zkl_time due = ZKL_NEVER;
    for (int kind = 0; kind < FOLLOWER_KINDS; kind++) {
        const struct follower *each = session->followers[kind];
        for (; each; each = each->next)
            if (zkl_follower_may_ask(each)) due = zkl_earlier(due, each->class->due(each));
    }
    return due;
}

zkl_time zkl_session_next_end(const zkl_session *session) {
    zkl_time due = zkl_earlier(stake_due(session), zkl_kept_due(session));
    return zkl_earlier(due, zkl_request_due(session));
}

zkl_time zkl_session_due(zkl_session *session) {
    const struct zkl_clock *clock = &session->common.clock;
    zkl_time due = zkl_earlier(beat_due(session), zkl_orphans_due(session));
    if (session->stakes) due = zkl_earlier(due, zkl_clock_next(clock, session->now));
    due = zkl_earlier(due, zkl_session_next_end(session));
    due = zkl_earlier(due, follower_due(session));
    if (session->ready_from > session->now) due = zkl_earlier(due, session->ready_from);
    bool reopens = session->state == ZKL_SESSION_EXPIRED && session->after_expiry == ZKL_OK;
    if (!is_over(session) || reopens)
        due = zkl_earlier(due, clock->attended + clock->attend_within / 2);
    return due;
}

zkl_time zkl_session_due_since_tick(const zkl_session *session) {
    return session->due_since_tick;
}

enum zkl_session_state zkl_session_connection_state(const zkl_session *session) {
    return session->state;
}

bool zkl_session_is_idle(const zkl_session *session) {
    return !session->calls;
}

bool zkl_session_has_claims(const zkl_session *session) {
    return session->stakes != NULL;
}

/* --- answers at once ------------------------------------------------------------------------ */

/*
 * True: a lease's clock ran out. After a stop of the process the shell may not know yet that the
 * connection is lost.
 */
static bool end_outdated_leases(struct zkl_session *session) {
    const struct zkl_clock *clock = &session->common.clock;
    if (zkl_clock_phase(clock, clock->epoch, session->now) != ZKL_PHASE_LOST) return false;
    zkl_stake_feed_all(session, zkl_claim_tick);
    const struct stake *stake = session->stakes;
    while (stake && stake->claim.code != ZKL_LOST) stake = stake->next;
    return stake != NULL;
}

enum zkl_session_state zkl_session_state(zkl_session *session) {
    if (session->service == SERVICE_CLOSING) return ZKL_SESSION_CLOSED;
    bool outdated = session->state == ZKL_SESSION_CONNECTED && end_outdated_leases(session);
    return outdated ? ZKL_SESSION_SUSPENDED : session->state;
}

uint64_t zkl_session_id(const zkl_session *session) {
    return session->common.session;
}

zkl_time zkl_session_timeout(const zkl_session *session) {
    return session->common.clock.timeout;
}

zkl_time zkl_session_leases_end(const zkl_session *session) {
    return session->common.clock.proof + session->common.clock.timeout;
}

void zkl_session_stats(const zkl_session *session, struct zkl_stats *stats) {
    *stats = session->stats;
    stats->watches = session->watches.count;
    stats->watch_bytes = session->watches.bytes;
    stats->path_bytes = session->node_bytes;
}
