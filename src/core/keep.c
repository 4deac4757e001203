/*
 * keep.c - decides how long a node stays after a release.
 *
 * A claim that gives up the lock, or its place in line before a grant, hands its node to the
 * session's next claim, is KEPT, or removes the node, by the table of keep.h. A claim that must
 * know of other sessions first is KEPT until a list tells. A KEPT claim decides again with each
 * news.
 */
#include "keep.h"

#include <assert.h>

#include "claim_steps.h"

/* --- how often a lock may be kept ------------------------------------------------------------- */

/* Bounds as in Lustre, and in the delegations of Linux's NFS server. */
enum { SOON = 2, SHORTEST = 2, LONGEST = 30 }; /* seconds */

static void note_giving_back(const struct zkl_claim *claim, zkl_time now) {
    bool asked_for = claim->keep > 0 && is_connected(claim) && !is_alone(claim);
    if (asked_for) claim->line->backoff.gave_back = now;
}

/* For a new claim. Begins a pause from keeping if the lock went to others a short time ago. */
static void update_backoff(struct zkl_backoff *backoff, zkl_time now) {
    if (!backoff->gave_back) return;
    bool soon = now - backoff->gave_back < SOON * ZKL_SECOND;
    zkl_time length = backoff->length ? 2 * backoff->length : SHORTEST * ZKL_SECOND;
    if (length > LONGEST * ZKL_SECOND) length = LONGEST * ZKL_SECOND;
    backoff->length = soon ? length : 0;
    backoff->until = now + backoff->length;
    backoff->gave_back = 0;
}

void zkl_claim_set_keep(struct zkl_claim *claim, zkl_time keep, zkl_time now) {
    assert(keep > 0 && !is_part(claim) && !claim->as_waiter);
    update_backoff(&claim->line->backoff, now);
    bool keeps = now >= claim->line->backoff.until;
    claim->reuse = keeps ? ZKL_MAY_BE_KEPT : ZKL_MANY_GRANTS;
    claim->keep = keeps ? keep : 0;
}

/* --- while it holds --------------------------------------------------------------------------- */

/* A try of another session may wait for this word. The watch tells if a client overwrites it. */
static zkl_actions write_held_word(struct zkl_claim *claim) {
    if (!has_keepable_node(claim) || claim->node.says_held || is_alone(claim)) return 0;
    claim->node.says_held = true;
    claim->awaits_list = claim->stalled = false;
    return ZKL_DO_MARK | watch_own(claim);
}

zkl_actions zkl_keep_held(struct zkl_claim *claim) {
    if (!has_keepable_node(claim)) return 0;
    claim->line->keeper = claim;
    return is_alone(claim) ? watch_children(claim->line) : write_held_word(claim);
}

zkl_actions zkl_keep_granted(struct zkl_claim *claim, zkl_time now) {
    zkl_turn_granted(claim, now);
    if (has_keepable_node(claim)) claim->line->keeper = claim;
    if (claim->last_of_turn) return make_way(claim) | write_held_word(claim);
    if (has_keepable_node(claim)) return zkl_keep_held(claim);
    return another_is_new(claim) ? zkl_turn_watch(claim, now) : 0;
}

/* --- the node after a release ---------------------------------------------------------------- */

const enum zkl_release zkl_releases[ZKL_PURPOSES][ZKL_TURNS] = {
    /*                goes on            unsure                over */
    [ZKL_FOR_NONE] = {ZKL_NODE_REMOVED, ZKL_NODE_REMOVED, ZKL_NODE_REMOVED},
    [ZKL_FOR_LATER] = {ZKL_NODE_KEPT, ZKL_NODE_KEPT, ZKL_NODE_REMOVED},
    [ZKL_FOR_NEXT] = {ZKL_NODE_HANDED_ON, ZKL_NODE_AWAITS_LIST, ZKL_NODE_REMOVED},
};

static bool can_be_kept(const struct zkl_claim *claim) {
    if (!is_held_or_kept(claim) || claim->keep == 0 || !has_keepable_node(claim)) return false;
    if (!is_connected(claim) || !is_alone(claim) || claim->node.says_held) return false;
    const struct zkl_claim *each = claim->line->claims;
    while (each && !is_under_way(each)) each = each->next;
    return !each;
}

static enum zkl_purpose purpose_of(const struct zkl_claim *claim, const struct zkl_claim *next) {
    if (next) return ZKL_FOR_NEXT;
    return can_be_kept(claim) ? ZKL_FOR_LATER : ZKL_FOR_NONE;
}

/*
 * A recent list showed the node alone, so the claim need not wait for the list that sets the watch.
 * The list that sets it will show contenders that came since, and no later grant overtakes them.
 */
static bool trusts_its_list(const struct zkl_claim *claim, zkl_time now) {
    const struct zkl_clock *clock = &claim->line->common->clock;
    bool recent = claim->node.list_time && now - claim->node.list_time <= clock->attend_within;
    bool asked = claim->line->children == ZKL_WATCH_ASKED;
    return claim->keep > 0 && claim->batch == 0 && asked && recent && is_alone(claim);
}

static bool needs_list(const struct zkl_claim *claim, zkl_time now) {
    if (trusts_its_list(claim, now)) return false;
    bool may_end = zkl_turn_is_due(claim, now) && is_connected(claim);
    return may_end && claim->line->children != ZKL_WATCHED;
}

/* A place in line goes to the next claim even if others wait, because its turn has not begun. */
static enum zkl_turn turn_of(const struct zkl_claim *claim, zkl_time now) {
    if (!is_held_or_kept(claim)) return ZKL_TURN_GOES_ON;
    if (zkl_turn_is_over(claim, now)) return ZKL_TURN_OVER;
    return needs_list(claim, now) ? ZKL_TURN_UNSURE : ZKL_TURN_GOES_ON;
}

/* The successor inherits neither requests that are out nor watches. */
static void hand_over(const struct zkl_claim *claim, struct zkl_claim *next) {
    bool held = is_held_or_kept(claim);
    next->node = claim->node;
    next->node.grants += held;
    next->node.watched = false;
    next->state = held && is_connected(claim) ? ZKL_FIRST : ZKL_LIST;
    next->stalled = true;
}

static zkl_actions pass_node_on(struct zkl_claim *claim, struct zkl_claim *next) {
    hand_over(claim, next);
    drop_ahead(claim);
    clear_keeper(claim);
    claim->state = ZKL_GONE;
    claim->wanted = false;
    return is_connected(claim) ? ZKL_DO_FORGET | ZKL_DO_FOLLOW : ZKL_DO_FORGET;
}

zkl_actions zkl_keep_ask_for_list(struct zkl_claim *claim) {
    claim->awaits_list = true;
    return claim->line->children == ZKL_WATCHED ? ZKL_DO_LIST : watch_children(claim->line);
}

static zkl_actions become_kept(struct zkl_claim *claim, zkl_time now) {
    bool for_long = claim->keep > 0;
    claim->state = ZKL_KEPT;
    claim->wanted = claim->stalled = false; /* a lost request of HELD is not repeated */
    claim->line->keeper = claim;
    claim->deadline = for_long && claim->keep < ZKL_NEVER - now ? now + claim->keep : ZKL_NEVER;
    zkl_actions actions = claim->line->children == ZKL_WATCHED ? 0 : zkl_keep_ask_for_list(claim);
    return for_long ? actions | ZKL_DO_KEEP : actions;
}

zkl_actions zkl_keep_end(struct zkl_claim *claim) {
    /* A create of unknown outcome may have landed since, so look. */
    bool may_have_orphan = claim->state == ZKL_KEPT && claim->node.doubted;
    zkl_actions actions = leave(claim);
    return may_have_orphan && actions & ZKL_DO_REMOVE ? actions | ZKL_DO_LIST : actions;
}

zkl_actions zkl_keep_release(struct zkl_claim *claim, zkl_time now) {
    struct zkl_claim *next = zkl_turn_successor(claim);
    switch (zkl_releases[purpose_of(claim, next)][turn_of(claim, now)]) {
    case ZKL_NODE_HANDED_ON: return pass_node_on(claim, next);
    case ZKL_NODE_KEPT:
    case ZKL_NODE_AWAITS_LIST: return claim->state == ZKL_KEPT ? 0 : become_kept(claim, now);
    case ZKL_NODE_REMOVED: break;
    }
    if (is_held_or_kept(claim)) note_giving_back(claim, now);
    return zkl_keep_end(claim);
}

/* --- replies and events in HELD and KEPT ------------------------------------------------------ */

/*
 * A try of another session may wait for ZKL_HELD_WORD, and only the watch tells of the try. Without
 * the watch the line counts as changed, and the claim writes the word at once. While the list that
 * sets the watch is to be asked for again, another list may come, which sets none.
 */
static zkl_actions held_listed(struct zkl_claim *claim, enum zkl_reply reply) {
    bool is_unwatched = has_keepable_node(claim) && claim->line->children == ZKL_UNWATCHED;
    bool lost = reply == ZKL_UNKNOWN;
    if (reply != ZKL_DONE) claim->node.list_time = 0;
    bool sets_none = lost || (reply == ZKL_DONE && claim->awaits_list);
    claim->awaits_list = sets_none && is_unwatched && !claim->node.says_held;
    if (claim->awaits_list) stall(claim);
    bool unsure = reply == ZKL_ABSENT || (lost && claim->awaits_list);
    return unsure ? 0 : write_held_word(claim);
}

/* Without an answer, or without a watch, the claim assumes that other sessions wait. */
zkl_actions zkl_keep_listed(struct zkl_claim *claim, enum zkl_reply reply, zkl_time now) {
    struct zkl_line *line = claim->line;
    if (claim->state == ZKL_HELD) return held_listed(claim, reply);
    if (!claim->awaits_list || claim->stalled) return 0;
    if (reply != ZKL_DONE || line->children == ZKL_UNWATCHED) line->changed = true;
    claim->awaits_list = line->children == ZKL_WATCH_ASKED;
    return zkl_keep_release(claim, now);
}

zkl_actions zkl_claim_offer_kept(struct zkl_claim *kept, zkl_time now) {
    bool known = kept->state == ZKL_KEPT && (!kept->awaits_list || trusts_its_list(kept, now));
    return known ? zkl_keep_release(kept, now) : 0;
}

zkl_actions zkl_claim_contended(struct zkl_claim *keeper, zkl_time now) {
    if (keeper->state == ZKL_HELD) return write_held_word(keeper);
    return keeper->state == ZKL_KEPT ? zkl_keep_release(keeper, now) : 0;
}

zkl_actions zkl_keep_tick(struct zkl_claim *claim, zkl_time now) {
    const struct zkl_clock *clock = &claim->line->common->clock;
    bool lost = zkl_clock_phase(clock, claim->epoch, now) == ZKL_PHASE_LOST;
    return lost || now >= claim->deadline ? zkl_keep_end(claim) : 0;
}

zkl_actions zkl_claim_stop_keeping(struct zkl_claim *claim) {
    claim->keep = 0;
    if (claim->reuse == ZKL_MAY_BE_KEPT) claim->reuse = ZKL_MANY_GRANTS;
    return claim->state == ZKL_KEPT ? zkl_keep_end(claim) : 0;
}

zkl_actions zkl_claim_yield(struct zkl_claim *claim) {
    if (claim->state == ZKL_KEPT) return zkl_keep_end(claim);
    if (claim->state != ZKL_HELD || !may_pass_on(claim)) return 0;
    claim->last_of_turn = true;
    return make_way(claim);
}
