/*
 * turn.c - decides which claim of a session is next on a path, and when a turn ends.
 *
 * In turns the claims of a session share one node. The first claim goes to the front for all. Later
 * claims wait in NEW, in order of arrival. The next claim gets the place or the node of the claim
 * before it (keep.c).
 *
 * A turn that has had its batch, or its quantum of time, ends when another session waits. It then
 * ends at the first hand-over at which the line has a contender of another session, or has changed
 * since its list. A watch on the path's children tells of such a contender. The turn always ends
 * after ZKL_BATCH_MAX grants, because its node has no more tokens. If a grant is known to be the
 * turn's last, the next claim makes its own node at once.
 */
#include <assert.h>

#include "claim_steps.h"

void zkl_claim_set_batch(struct zkl_claim *claim, int32_t batch) {
    assert(batch >= ZKL_BATCH_BY_TIME && batch != 0 && batch <= ZKL_BATCH_MAX);
    assert(claim->kind == ZKL_MUTEX && !is_part(claim) && !claim->as_waiter);
    claim->batch = batch;
    zkl_claim_count_grants(claim);
}

void zkl_claim_count_grants(struct zkl_claim *claim) {
    assert(claim->kind == ZKL_MUTEX);
    if (claim->reuse == ZKL_ONE_GRANT) claim->reuse = ZKL_MANY_GRANTS;
}

/* --- the next claim -------------------------------------------------------------------------- */

static bool will_hand_over(const struct zkl_claim *claim) {
    return claim->state == ZKL_KEPT || (claim->state == ZKL_HELD && !claim->last_of_turn);
}

static bool waits_for_turn(const struct zkl_claim *claim) {
    return claim->state == ZKL_NEW && claim->batch != 0 && !claim->trying;
}

static bool may_share_node(const struct zkl_claim *claim, const struct zkl_claim *other) {
    return claim->reuse != ZKL_ONE_GRANT && !is_part(claim) && !claim->batch == !other->batch;
}

/* A try inherits only a node that needs neither the end of a hold nor a list. */
bool zkl_claim_inherits(const struct zkl_claim *claim, const struct zkl_claim *other) {
    if (claim->state != ZKL_NEW || !may_share_node(claim, other)) return false;
    return zkl_claim_is_kept_for_later(other) || waits_for_turn(claim);
}

static bool is_behind(const struct zkl_claim *claim) {
    const struct zkl_claim *each = claim->line->claims;
    while (each != claim && !waits_for_turn(each)) each = each->next;
    return each != claim;
}

/* Claims after `claim` only wait, except for tries. */
static bool is_others_turn(const struct zkl_claim *claim) {
    const struct zkl_line *line = claim->line;
    const struct zkl_claim *end = line->tries == 0 ? claim : NULL;
    for (const struct zkl_claim *each = line->claims; each != end; each = each->next) {
        if (each->batch != 0 && (is_under_way(each) || will_hand_over(each))) return true;
    }
    return false;
}

/* An unfair claim asks for all claims of its session. But a create may follow a delete at once. */
static bool stands_for_all(const struct zkl_claim *claim) {
    if (claim->state == ZKL_NEW) return zkl_claim_is_pausing(claim);
    return claim->state != ZKL_LEAVE || claim->stalled;
}

static bool is_stood_for(const struct zkl_claim *claim) {
    for (const struct zkl_claim *each = claim->line->claims; each; each = each->next) {
        if (!is_other_unfair(claim, each)) continue;
        if (is_unsure_of_node(each)) return true;
        if (!claim->trying && stands_for_all(each)) return true;
    }
    return false;
}

/*
 * An earlier claim's create may find no parents and be repeated, behind ours. So the first claim on
 * a path goes alone until the path exists.
 */
static bool is_path_being_opened(const struct zkl_claim *claim) {
    const struct zkl_claim *each = claim->line->claims;
    while (each != claim && each->state != ZKL_CREATE) each = each->next;
    return each != claim;
}

enum zkl_awaits zkl_claim_awaits(const struct zkl_claim *claim) {
    const struct zkl_line *line = claim->line;
    if (zkl_kind_is_fixed(claim->kind))
        return is_stood_for(claim) ? ZKL_AWAITS_TURN : ZKL_AWAITS_NOTHING;
    bool behind = claim->batch != 0 && is_behind(claim);
    bool kept = line->keeper && zkl_claim_is_kept_for_later(line->keeper);
    if (kept && !behind && zkl_claim_inherits(claim, line->keeper)) return ZKL_AWAITS_NODE;
    bool waits = behind || (claim->batch != 0 && is_others_turn(claim));
    if (waits && !claim->trying) return ZKL_AWAITS_TURN;
    return !line->path_exists && is_path_being_opened(claim) ? ZKL_AWAITS_PATH : ZKL_AWAITS_NOTHING;
}

static bool is_follower(const struct zkl_claim *claim) {
    enum zkl_claim_state state = claim->state;
    bool inherited = claim->stalled && (state == ZKL_FIRST || state == ZKL_LIST);
    return claim->wanted && (state == ZKL_NEW || inherited);
}

/* Resuming this claim, or any later claim, has no effect, as each was told that it waits. */
static bool would_stay_in_new(const struct zkl_claim *claim) {
    if (claim->state != ZKL_NEW || claim->line->tries > 0) return false;
    if (!is_connected(claim)) return true;
    return claim->announced && zkl_claim_awaits(claim) == ZKL_AWAITS_TURN;
}

struct zkl_claim *zkl_claim_follower(struct zkl_claim *from) {
    while (from && !is_follower(from)) from = from->next;
    return from && would_stay_in_new(from) ? NULL : from;
}

/*
 * In turns, a claim on its way hands its place over. A holder hands its node over if it is listed.
 */
struct zkl_claim *zkl_turn_successor(const struct zkl_claim *claim) {
    bool has_place = is_held_or_kept(claim) ? zkl_line_own(claim) != NULL : claim->batch != 0;
    struct zkl_claim *each = has_place ? claim->line->claims : NULL;
    for (; each; each = each->next) {
        if (zkl_claim_inherits(each, claim)) return each;
        if (may_share_node(each, claim) && is_under_way(each)) return NULL;
    }
    return NULL;
}

/* --- the end of a turn ---------------------------------------------------------------------- */

static bool others_wait(const struct zkl_claim *claim) {
    if (claim->batch == 0) return !is_alone(claim);
    return zkl_line_may_have_others(claim->line);
}

bool zkl_turn_is_due(const struct zkl_claim *claim, zkl_time now) {
    if (claim->batch == 0 || claim->state == ZKL_KEPT) return true;
    if (claim->batch > 0) return claim->node.grants + 1 >= claim->batch;
    return now - claim->node.turn_began >= ZKL_QUANTUM;
}

static bool has_no_token_left(const struct zkl_node *node) {
    return node->grants + 1 >= ZKL_BATCH_MAX;
}

/*
 * When a node waited behind another session's node, the line is as of that time, and the other
 * session has mostly queued again since. A list would cost each turn a round trip, so the claim
 * assumes that the other session waits. If it does not, this session's next node is first at once.
 * At a node's first grant nothing is assumed, because the other session is still on its way, and a
 * new node of this session may get ahead of it.
 */
static bool others_may_wait(const struct zkl_claim *claim) {
    bool is_watched = claim->line->children == ZKL_WATCHED;
    bool assumes =
        claim->batch > 0 && claim->node.contended && claim->node.grants > 0 && !is_watched;
    return assumes || others_wait(claim);
}

bool zkl_turn_is_over(const struct zkl_claim *claim, zkl_time now) {
    return claim->last_of_turn || has_no_token_left(&claim->node) ||
           (zkl_turn_is_due(claim, now) && others_may_wait(claim));
}

/* The line's list came after the node, so it shows all earlier changes. */
static void begin_turn(struct zkl_claim *claim, zkl_time now) {
    if (claim->line->changed) claim->node.list_time = 0; /* others may have come */
    claim->line->changed = false;
    claim->node.turn_began = now;
}

void zkl_turn_granted(struct zkl_claim *claim, zkl_time now) {
    if (claim->node.grants == 0) begin_turn(claim, now);
    claim->last_of_turn = zkl_turn_is_over(claim, now);
}

zkl_actions zkl_turn_watch(const struct zkl_claim *holder, zkl_time now) {
    return zkl_turn_is_due(holder, now) && !others_wait(holder) ? watch_children(holder->line) : 0;
}

/* In turns by time a claim asks for the watch when it gives the lock up. */
zkl_actions zkl_turn_awaited(const struct zkl_line *line) {
    zkl_actions actions = 0;
    for (const struct zkl_claim *each = line->claims; each && !actions; each = each->next) {
        if (zkl_claims_wait_from(each)) break;
        if (each->batch > 0 && will_hand_over(each)) actions = zkl_turn_watch(each, 0);
    }
    return actions;
}
