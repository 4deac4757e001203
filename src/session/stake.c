/* stake.c - creates stakes, frees them, and tells their users of grants, losses and failures. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "../core/permits.h"
#include "children.h"
#include "condition.h"
#include "internal.h"
#include "meter.h"
#include "multi.h"
#include "request.h"
#include "room.h"
#include "stake.h"
#include "stake_actions.h"
#include "steps.h"

/* --- life ------------------------------------------------------------------------------ */

/* The usual length of a node's name. A name with large permit numbers is up to 19 bytes longer. */
enum { USUAL_NAME = 64 };

size_t zkl_stake_cost(const struct zkl_session *session, size_t path_length) {
    return session->watches.overhead + path_length + 1 + USUAL_NAME;
}

/*
 * Each claim is charged for the node that it has or will make. Claims that take turns share a node,
 * so only two of them are charged, as the old node may still exist while the next is made. The
 * first uncharged claim is charged when it inherits or makes a node.
 */
enum { NODES_IN_TURNS = 2 };

void zkl_stake_count_node(struct stake *stake) {
    if (stake->node != NODE_UNCOUNTED) return;
    stake->node = NODE_COUNTED;
    stake->path->counted_stakes++;
    stake->session->node_bytes += zkl_stake_cost(stake->session, stake->path->length);
}

static bool waits_uncounted(const struct stake *stake) {
    const struct zkl_claim *claim = &stake->claim;
    return claim->batch != 0 && !claim->trying && stake->path->counted_stakes >= NODES_IN_TURNS;
}

size_t zkl_stake_bytes(const struct zkl_session *session) {
    return session->node_bytes - session->leaving_bytes;
}

/*
 * Counts the next stake in place of a stake that is gone. Uncounted stakes follow the counted, in
 * order.
 */
static void count_next(const struct path *path) {
    struct stake *next = (struct stake *)path->line.claims;
    if (path->counted_stakes == path->stake_count) return;
    while (next->node != NODE_UNCOUNTED) next = (struct stake *)next->claim.next;
    if (next->claim.state != ZKL_NEW || !waits_uncounted(next)) zkl_stake_count_node(next);
}

static void uncount_node(struct stake *stake) {
    size_t cost = zkl_stake_cost(stake->session, stake->path->length);
    if (stake->node == NODE_UNCOUNTED) return;
    stake->path->counted_stakes--;
    stake->session->node_bytes -= cost;
    if (stake->node == NODE_GIVES_WAY) stake->session->leaving_bytes -= cost;
    count_next(stake->path);
}

bool zkl_stake_lacks_room(const struct stake *stake) {
    size_t cost = zkl_stake_cost(stake->session, stake->path->length);
    bool waits = stake->node == NODE_UNCOUNTED && stake->claim.state == ZKL_NEW;
    return waits && !zkl_room_make_for_nodes(stake->session, cost);
}

/*
 * The session's identity, and on a second line the lock's data. Without data it is
 * session->identity itself, which destroy() does not free.
 */
static char *node_data(char *identity, const char *data) {
    if (!data) return identity;
    char *text = malloc(strlen(identity) + 1 + strlen(data) + 1);
    if (!text) return NULL;
    return strcat(strcat(strcpy(text, identity), "\n"), data);
}

/* Begins heartbeats again, at the first stake after a time without stakes. */
static void busy_again(struct zkl_session *session) {
    session->busy_since = session->now;
    zkl_session_tick_by(session, session->now + session->common.clock.timeout / 6);
}

static void destroy(struct asker *asker) {
    struct stake *stake = zkl_asker_stake(asker);
    if (stake->data != stake->session->identity) free(stake->data);
    free(stake->marked_data);
    free(stake->owner);
    free(stake);
}

struct stake *zkl_stake_new(struct zkl_session *session, struct path *path,
                            const struct zkl_acquire_options *options, zkl_time deadline) {
    struct stake *stake = calloc(1, sizeof *stake);
    if (!stake) return NULL;
    stake->asker = (struct asker){.destroy = destroy, .references = 1};
    stake->session = session;
    stake->owner = strdup(options->owner);
    stake->data = node_data(session->identity, options->data);
    if (!stake->owner || !stake->data) {
        zkl_stake_unref(stake);
        return NULL;
    }
    zkl_claim_init(&stake->claim, &path->line, options->kind, deadline, options->trying);
    zkl_claim_set_permits(&stake->claim, options->permits, options->limit);
    if (options->batch) zkl_claim_set_batch(&stake->claim, options->batch);
    if (options->counting) zkl_claim_count_grants(&stake->claim);
    if (options->keep) zkl_claim_set_keep(&stake->claim, options->keep, session->now);
    stake->claim.max_waiters = options->max_waiters;
    stake->path = path;
    stake->jitter = options->jitter;
    stake->meter = zkl_meter_of(session, options->meter);
    if (!path->fixed_node && zkl_kind_is_fixed(options->kind)) path->fixed_node = FIXED_UNSEEN;
    stake->asker.id = ++session->last_id;
    if (!session->stakes) busy_again(session);
    stake->link = session->stakes_end;
    *session->stakes_end = stake;
    session->stakes_end = &stake->next;
    session->stats.claims++;
    path->stake_count++;
    if (!waits_uncounted(stake)) zkl_stake_count_node(stake);
    return stake;
}

struct call *zkl_stake_call_new(struct stake *stake, enum stake_call kind) {
    struct zkl_session *session = stake->session;
    return zkl_call_new(session, &session->stake_calls[kind], &stake->asker);
}

static void enlist_grant(struct stake *stake) {
    struct stake **first = &stake->path->granted;
    if (stake->granted_link) return;
    stake->granted_link = first;
    stake->next_granted = *first;
    if (*first) (*first)->granted_link = &stake->next_granted;
    *first = stake;
}

static void delist_grant(struct stake *stake) {
    if (!stake->granted_link) return;
    *stake->granted_link = stake->next_granted;
    if (stake->next_granted) stake->next_granted->granted_link = stake->granted_link;
}

static bool is_refusal(enum zkl_code code) {
    return code == ZKL_AUTH || code == ZKL_CONFLICT || code == ZKL_NO_NODE ||
           code == ZKL_UNSUPPORTED;
}

static void finish(const struct stake *stake, struct zkl_request **waiting, enum zkl_code code) {
    struct zkl_request *request = *waiting;
    if (!request) return;
    *waiting = NULL;
    zkl_request_finish(request, code, is_refusal(code) ? stake->error : 0);
    zkl_request_unref(request);
}

void zkl_stake_finish(struct stake *stake, enum zkl_code code) {
    finish(stake, &stake->request, code);
}

void zkl_stake_finish_downgrade(struct stake *stake, enum zkl_code code) {
    finish(stake, &stake->downgrade, code);
}

void zkl_stake_await_end(struct zkl_request *request) {
    for (size_t i = 0; i < request->parts.count; i++) {
        struct stake *stake = zkl_parts_at(&request->parts, i);
        if (stake->handles > 0 || stake->claim.state == ZKL_GONE) continue;
        if (zkl_claim_is_kept_for_later(&stake->claim))
            continue; /* a kept node stays, so no release waits for it */
        zkl_request_ref(request);
        request->next_release = stake->releases;
        stake->releases = request;
        return;
    }
    zkl_request_finish(request, ZKL_OK, 0);
}

void zkl_stake_end_drain(struct zkl_session *session) {
    const struct stake *stake = session->stakes;
    while (stake && !stake->claim.wanted) stake = stake->next;
    if (session->service == SERVICE_OPEN || stake) return;
    for (struct zkl_request *request = session->requests, *next; request; request = next) {
        next = request->next;
        if (request->kind == REQUEST_DRAIN) zkl_request_finish(request, ZKL_OK, 0);
    }
}

void zkl_stake_forget(struct stake *stake) {
    struct zkl_session *session = stake->session;
    assert(stake->claim.state == ZKL_GONE && stake->granted_at == 0);
    while (stake->releases) {
        struct zkl_request *request = stake->releases;
        stake->releases = request->next_release;
        zkl_stake_await_end(request);
        zkl_request_unref(request);
    }
    zkl_stake_finish_downgrade(stake, ZKL_RELEASED);
    zkl_watches_leave(stake);
    delist_grant(stake);
    zkl_claim_detach(&stake->claim);
    if (session->next_to_feed == stake) session->next_to_feed = stake->next;
    if (stake->path->last_told_stake == stake) stake->path->last_told_stake = NULL;
    *stake->link = stake->next;
    if (stake->next) stake->next->link = stake->link;
    else session->stakes_end = stake->link;
    session->stats.claims--;
    stake->path->stake_count--;
    uncount_node(stake);
    if (stake->path->stake_count == 0) {
        zkl_path_unwatch_children(session, stake->path);
        zkl_path_mark_idle(session, stake->path);
    }
    zkl_stake_resume_postponed(session, stake->path);
    stake->path = NULL;
    zkl_stake_unref(stake);
    zkl_stake_end_drain(session);
}

/* --- news for the user ---------------------------------------------------------------------- */

static void describe_phase(const struct asker *asker, struct zkl_event *event) {
    event->phase = zkl_asker_stake(asker)->phase;
}

static const struct notice_kind phase_notice = {
    ZKL_EVENT_LEASE, ZKL_NOTICE_OFFSET(struct stake, phase_notice), describe_phase};

static void post_phase(struct stake *stake) {
    if (stake->handles > 0) zkl_events_post(stake->session, &stake->phase_notice, &phase_notice);
}

static struct zkl_conflict conflict_with(const struct zkl_contender *stranger) {
    return (struct zkl_conflict){.use = zkl_use_of(stranger->kind), .limit = stranger->limit};
}

void zkl_stake_tell_failure(struct stake *stake) {
    const struct zkl_claim *claim = &stake->claim;
    struct zkl_request *request = stake->request;
    zkl_stake_end_hold(stake, ZKL_STEP_RELEASED); /* if it comes back from a condition */
    zkl_condition_cancel_waiter(stake);
    const struct zkl_contender *stranger =
        claim->code == ZKL_CONFLICT ? zkl_permits_stranger(claim->line, claim) : NULL;
    if (request && !zkl_request_done(request) && stranger)
        zkl_request_finish_conflict(request, conflict_with(stranger));
    zkl_stake_finish(stake, claim->code);
    post_phase(stake); /* handles of a failed wait in a condition lose their lock */
    zkl_multi_cancel_others(stake);
}

/* A revoked node goes to other sessions. */
static void end_turn_if_revoked(struct stake *stake) {
    if (zkl_stake_is_revoked(stake)) zkl_stake_perform(stake, zkl_claim_yield(&stake->claim));
}

void zkl_stake_begin_hold(struct stake *stake) {
    const struct zkl_session *session = stake->session;
    zkl_time begun = stake->request ? stake->request->begun_at : session->now;
    stake->granted_at = session->now;
    stake->queued_at = stake->ahead_gone_at = 0; /* the wait is over */
    zkl_step_tell(stake, ZKL_STEP_GRANTED, session->now - begun);
    if (zkl_stake_is_revoked(stake)) zkl_step_tell(stake, ZKL_STEP_REVOKED, 0);
}

void zkl_stake_end_hold(struct stake *stake, enum zkl_step_kind how) {
    zkl_time held = stake->session->now - stake->granted_at;
    if (stake->granted_at == 0) return;
    stake->granted_at = 0;
    stake->path->hold_ended_at = stake->session->now;
    if (stake->measured) zkl_meter_add_hold(stake, held);
    zkl_step_tell(stake, how, held);
}

void zkl_stake_give_handle(struct stake *stake) {
    enlist_grant(stake);
    stake->handles = 1;
    stake->writers = stake->claim.kind == ZKL_WRITE;
    stake->token = zkl_claim_token(&stake->claim);
    zkl_stake_begin_hold(stake);
    zkl_stake_finish(stake, ZKL_OK);
}

void zkl_stake_tell_grant(struct stake *stake) {
    stake->session->stats.grants++;
    stake->measured = true;
    zkl_meter_add_hand_over(stake);
    if (stake->handles > 0) {
        zkl_condition_hold_again(stake);
        post_phase(stake); /* it is held again */
        return;
    }
    stake->request->handle = REQUEST_HANDLE;
    stake->request->lease_kind = stake->claim.kind;
    zkl_hold_begin(zkl_parts_at(&stake->request->parts, 0), &stake->request->hold);
    if (stake->part) zkl_multi_grant(stake);
    else zkl_stake_give_handle(stake);
    end_turn_if_revoked(stake); /* it may have been revoked while it waited */
}

static bool is_leaving(const struct zkl_claim *claim) {
    return claim->state == ZKL_GONE || claim->state == ZKL_LEAVE || claim->state == ZKL_KEPT;
}

/*
 * The position of a claim that waits for its turn, among the session's claims. Two usual cases need
 * no count of the waiting claims: it is last, or it follows the claim whose position was told last.
 */
static size_t position_in_turns(const struct stake *stake) {
    const struct path *path = stake->path;
    const struct zkl_claim *claim = &stake->claim, *each = path->line.claims;
    const struct stake *told = path->last_told_stake;
    size_t seen = 0, position = 1;
    for (; each != claim && !zkl_claims_wait_from(each); each = each->next, seen++)
        if (!is_leaving(each)) position++;
    if (position == 1) position = 2; /* behind leaving claims only, it is next, not first */
    if (each == claim) return position;
    if (!claim->next) return position + path->stake_count - seen - 1;
    if (told && claim->link == &told->claim.next && path->last_told_at == stake->session->now)
        return path->last_told_position + 1;
    for (; each != claim; each = each->next) position++;
    return position;
}

/* The position in line, as far as it is known. */
static size_t position(const struct stake *stake) {
    const struct zkl_claim *claim = &stake->claim;
    if (zkl_kind_is_fixed(claim->kind)) return 2; /* the quickest claim is next */
    if (claim->state != ZKL_NEW) return zkl_line_count_ahead(claim->line, claim) + 1;
    size_t position = position_in_turns(stake);
    stake->path->last_told_stake = stake;
    stake->path->last_told_at = stake->session->now;
    stake->path->last_told_position = position;
    return position;
}

void zkl_stake_tell_queued(struct stake *stake) {
    struct zkl_request *request = stake->request;
    assert(!stake->queued_at);
    struct zkl_step *step = zkl_step_tell(stake, ZKL_STEP_QUEUED, 0);
    bool asked = request && !request->quiet && !request->position;
    size_t place = step || asked ? position(stake) : 0; /* counted once, as it may take long */
    stake->session->stats.waits++;
    stake->queued_at = stake->session->now;
    if (step) step->position = place;
    if (asked) zkl_request_post_position(request, place);
}

void zkl_stake_tell_phase(struct stake *stake, enum zkl_phase phase) {
    if (stake->phase == phase) return;
    stake->phase = phase;
    if (phase == ZKL_PHASE_SUSPECT) zkl_step_tell(stake, ZKL_STEP_SUSPECT, 0);
    if (phase == ZKL_PHASE_HELD) zkl_step_tell(stake, ZKL_STEP_HELD, 0);
    post_phase(stake);
}

/* Ends requests that need this lease and have no call out. */
static void end_lease_requests(struct stake *stake) {
    for (struct zkl_request *request = stake->session->requests, *next; request; request = next) {
        next = request->next;
        bool needs_it =
            zkl_request_ends_with_lease(request->kind) && zkl_parts_include(&request->parts, stake);
        if (needs_it && !request->asker.calls) zkl_request_finish(request, ZKL_LOST, 0);
    }
}

void zkl_stake_tell_loss(struct stake *stake) {
    stake->session->stats.losses++;
    zkl_stake_end_hold(stake, ZKL_STEP_LOST);
    zkl_stake_finish_downgrade(stake, ZKL_LOST);
    zkl_multi_release_others(stake);
    end_lease_requests(stake);
    zkl_stake_tell_phase(stake, ZKL_PHASE_LOST);
}

bool zkl_stake_check_loss(struct stake *stake, zkl_time now) {
    struct zkl_claim *claim = &stake->claim;
    if (zkl_claim_holds(claim)) zkl_stake_perform(stake, zkl_claim_tick(claim, now));
    return claim->code == ZKL_LOST;
}

static enum zkl_code end_code(struct stake *stake) {
    if (stake->handles == 0) return ZKL_RELEASED;
    if (zkl_stake_check_loss(stake, stake->session->now)) return ZKL_LOST;
    return zkl_claim_holds(&stake->claim) ? ZKL_OK : ZKL_RELEASED; /* it waits in a condition */
}

/* `revoked_nonce` stays, even if other data follow. */
void zkl_stake_take_data(struct stake *stake, const struct answer *answer) {
    bool fixed = zkl_kind_is_fixed(stake->claim.kind); /* another node may have its name */
    if (answer->reply != ZKL_DONE || (fixed && answer->stat->czxid != stake->claim.node.czxid))
        return;
    stake->version = answer->stat->version;
    if (zkl_stake_is_revoked(stake) || answer->size <= 0) return;
    if (!zkl_data_asks_to_give_way(answer->text, (size_t)answer->size)) return;
    stake->revoked_nonce = stake->claim.node.nonce;
    if (stake->granted_at) zkl_step_tell(stake, ZKL_STEP_REVOKED, 0);
    post_phase(stake);
    end_turn_if_revoked(stake);
}

/* --- handles ------------------------------------------------------------------------------ */

/* A lost part outweighs parts that were released because of it. */
enum zkl_code zkl_parts_end_code(const struct parts *parts) {
    enum zkl_code ended = ZKL_OK;
    for (size_t i = 0; i < parts->count; i++) {
        enum zkl_code code = end_code(zkl_parts_at(parts, i));
        if (code == ZKL_LOST) return code;
        if (code != ZKL_OK) ended = code;
    }
    return ended;
}

/* The readers' node keeps the place, and lets other readers in. */
void zkl_stake_downgrade_without_writers(struct stake *stake) {
    const struct zkl_claim *claim = &stake->claim;
    if (stake->writers == 0 && claim->state == ZKL_HELD && zkl_claim_may_downgrade(claim))
        zkl_stake_perform(stake, zkl_claim_downgrade(&stake->claim));
}

void zkl_stake_release_without_handles(struct stake *stake) {
    if (stake->claim.state == ZKL_KEPT) return; /* it was released before */
    zkl_stake_end_hold(stake, ZKL_STEP_RELEASED);
    if (zkl_claim_holds(&stake->claim))
        zkl_stake_perform(stake, zkl_claim_release(&stake->claim, stake->session->now));
    else
        zkl_stake_perform(stake,
                          zkl_claim_cancel(&stake->claim, ZKL_RELEASED)); /* in a condition */
}

void zkl_stake_release_handle(struct stake *stake, enum zkl_kind kind) {
    if (stake->handles == 0) return;
    stake->handles--;
    if (kind == ZKL_WRITE) stake->writers--;
    if (stake->handles > 0) zkl_stake_downgrade_without_writers(stake);
    else zkl_stake_release_without_handles(stake);
}

/* --- all of a session ----------------------------------------------------------------------- */

void zkl_stake_feed_all(struct zkl_session *session,
                        zkl_actions (*feed)(struct zkl_claim *claim, zkl_time now)) {
    for (struct stake *stake = session->stakes; stake; stake = session->next_to_feed) {
        session->next_to_feed = stake->next;
        zkl_stake_perform(stake, feed(&stake->claim, session->now));
    }
}
