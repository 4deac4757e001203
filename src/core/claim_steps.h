/*
 * claim_steps.h - the steps that claims of every kind share, and the calls between the files of the
 * claim machine. For these files alone, under the rules of claim.h.
 */
#ifndef ZKL_CLAIM_STEPS_H
#define ZKL_CLAIM_STEPS_H

#include <string.h>

#include "claim.h"

static inline bool is_connected(const struct zkl_claim *claim) {
    return claim->line->common->clock.connected;
}

static inline void drop_ahead(struct zkl_claim *claim) {
    zkl_contender_unref(claim->ahead);
    claim->ahead = NULL;
    zkl_claim_drop_lookahead(claim);
    claim->looking_ahead = false;
}

static inline void forget_node(struct zkl_claim *claim) {
    claim->node = (struct zkl_node){.doubted = claim->node.doubted};
}

/* For an own node that is gone. */
static inline void forget_own(struct zkl_claim *claim) {
    struct zkl_contender *own = zkl_line_own(claim);
    if (own) zkl_line_forget(claim->line, own);
}

static inline bool another_is_new(const struct zkl_claim *claim) {
    for (const struct zkl_claim *each = claim->line->claims; each; each = each->next) {
        if (each != claim && each->state == ZKL_NEW) return true;
    }
    return false;
}

/* Resumes claims in NEW, which may have waited for this claim. */
static inline zkl_actions make_way(const struct zkl_claim *claim) {
    return another_is_new(claim) ? ZKL_DO_FOLLOW : 0;
}

/* The claim may have inherited such a node, without a `keep`. */
static inline bool has_keepable_node(const struct zkl_claim *claim) {
    return claim->node.nonce & ZKL_NONCE_KEEPS;
}

/* The node may serve more than one claim. */
static inline bool may_pass_on(const struct zkl_claim *claim) {
    return claim->batch != 0 || claim->keep > 0 || has_keepable_node(claim);
}

static inline void clear_keeper(struct zkl_claim *claim) {
    if (claim->line->keeper == claim) claim->line->keeper = NULL;
}

static inline zkl_actions become_gone(struct zkl_claim *claim) {
    drop_ahead(claim);
    forget_own(claim);
    clear_keeper(claim);
    claim->state = ZKL_GONE;
    claim->wanted = false;
    if (claim->as_waiter) return ZKL_DO_FORGET | ZKL_DO_TELL_PARTNER;
    bool may_be_awaited = zkl_kind_is_fixed(claim->kind) || may_pass_on(claim);
    return may_be_awaited ? ZKL_DO_FORGET | make_way(claim) : ZKL_DO_FORGET;
}

static inline zkl_actions make_way_if_shared(const struct zkl_claim *claim) {
    return may_pass_on(claim) ? make_way(claim) : 0;
}

static inline zkl_actions leave(struct zkl_claim *claim) {
    drop_ahead(claim);
    clear_keeper(claim);
    claim->state = ZKL_LEAVE;
    claim->wanted = false;
    claim->stalled = !is_connected(claim);
    return claim->stalled ? 0 : ZKL_DO_REMOVE | make_way_if_shared(claim);
}

/* The caller decides what becomes of the node. */
static inline zkl_actions fail(struct zkl_claim *claim, enum zkl_code why) {
    claim->code = why;
    claim->wanted = false;
    if (claim->as_waiter) return ZKL_DO_TELL_PARTNER;
    return ZKL_DO_FAIL | make_way_if_shared(claim);
}

static inline zkl_actions announce(struct zkl_claim *claim) {
    if (claim->announced) return 0;
    claim->announced = true;
    claim->max_waiters = 0;
    return ZKL_DO_QUEUED;
}

static inline zkl_actions stall(struct zkl_claim *claim) {
    claim->stalled = true;
    return 0;
}

static inline bool is_certain(const struct zkl_claim *claim, zkl_time now) {
    const struct zkl_clock *clock = &claim->line->common->clock;
    return zkl_clock_phase(clock, clock->epoch, now) == ZKL_PHASE_HELD;
}

/* A grant could be used. A waiter may always enter, because it is never granted. */
static inline bool may_enter(const struct zkl_claim *claim) {
    return claim->as_waiter || zkl_clock_may_grant(&claim->line->common->clock);
}

static inline bool is_in_line(const struct zkl_claim *claim) {
    enum zkl_claim_state state = claim->state;
    return state == ZKL_RECOVER_STAT || state == ZKL_LIST || state == ZKL_RANK ||
           state == ZKL_WAIT || state == ZKL_PROVE || state == ZKL_FIRST;
}

static inline bool is_entering(const struct zkl_claim *claim) {
    return claim->state == ZKL_CREATE || claim->state == ZKL_RECOVER_SYNC ||
           claim->state == ZKL_RECOVER_LIST;
}

static inline bool is_under_way(const struct zkl_claim *claim) {
    bool is_on_its_way = is_entering(claim) || is_in_line(claim) || claim->state == ZKL_RETREAT;
    return claim->wanted && is_on_its_way;
}

static inline bool is_held_or_kept(const struct zkl_claim *claim) {
    return claim->state == ZKL_HELD || claim->state == ZKL_KEPT;
}

static inline bool is_alone(const struct zkl_claim *claim) {
    const struct zkl_line *line = claim->line;
    return !line->changed && line->count == 1 && zkl_line_own(claim);
}

static inline zkl_actions watch_children(struct zkl_line *line) {
    if (line->children != ZKL_UNWATCHED) return 0;
    line->children = ZKL_WATCH_ASKED;
    return ZKL_DO_WATCH_CHILDREN;
}

static inline bool awaits_nothing(const struct zkl_claim *claim) {
    return zkl_claim_awaits(claim) == ZKL_AWAITS_NOTHING;
}

static inline bool is_other_unfair(const struct zkl_claim *claim, const struct zkl_claim *each) {
    return each != claim && zkl_kind_is_fixed(each->kind) && each->state != ZKL_GONE;
}

/* An unfair claim may have a node of unknown czxid. */
static inline bool is_unsure_of_node(const struct zkl_claim *claim) {
    bool recovers = claim->state == ZKL_RECOVER_SYNC || claim->state == ZKL_RECOVER_LIST;
    return claim->state == ZKL_CREATE || (recovers && claim->node.czxid == 0);
}

static inline bool is_part(const struct zkl_claim *claim) {
    return claim->next_part != claim;
}

static inline bool all_parts_are(const struct zkl_claim *claim, enum zkl_claim_state state) {
    const struct zkl_claim *part = claim;
    do {
        if (!part->wanted || part->state != state) return false;
        if (state == ZKL_CREATE && !zkl_claim_awaits_parts(part)) return false;
        part = part->next_part;
    } while (part != claim);
    return true;
}

/* Each part is in its line, by the lists so far. A part that is first needs no newer list. */
static inline bool all_parts_have_nodes(const struct zkl_claim *claim) {
    const struct zkl_claim *part = claim;
    do {
        if (!zkl_line_own(part)) return false;
        part = part->next_part;
    } while (part != claim);
    return true;
}

/* Only this watch tells a waiting claim of its node's end. */
static inline zkl_actions watch_own(struct zkl_claim *claim) {
    if (claim->node.watched) return 0;
    claim->node.watched = true;
    return ZKL_DO_WATCH_OWN;
}

static inline void hold_all_parts(struct zkl_claim *claim) {
    struct zkl_claim *part = claim;
    do {
        part->state = ZKL_HELD;
        part->epoch = claim->line->common->clock.epoch;
        part->deadline = ZKL_NEVER;
        part->max_waiters = 0; /* no limit when it contends again after a condition */
        part = part->next_part;
    } while (part != claim);
}

zkl_actions zkl_keep_granted(struct zkl_claim *claim, zkl_time now); /* if may_pass_on() */

/* Another part does not know yet whether it has a node, or which. */
static inline bool other_part_seeks_node(const struct zkl_claim *claim) {
    const struct zkl_claim *part = claim->next_part;
    while (part != claim && !is_entering(part)) part = part->next_part;
    return part != claim;
}

/*
 * Other parts retreat when they are resumed. While a part does not know its node, this claim tries
 * again later, from PROVE.
 */
static inline zkl_actions retreat(struct zkl_claim *claim) {
    if (other_part_seeks_node(claim)) {
        claim->state = ZKL_PROVE;
        return stall(claim);
    }
    struct zkl_claim *part = claim;
    do {
        drop_ahead(part);
        part->state = ZKL_RETREAT;
        part->stalled = part != claim || !is_connected(claim);
        part = part->next_part;
    } while (part != claim);
    return claim->stalled ? 0 : ZKL_DO_REMOVE;
}

static inline zkl_actions prove(struct zkl_claim *claim) {
    if (!may_enter(claim)) return retreat(claim);
    claim->state = ZKL_PROVE;
    return ZKL_DO_SYNC;
}

static inline zkl_actions admit(struct zkl_claim *claim, zkl_time now) {
    if (!is_certain(claim, now)) return prove(claim);
    claim->state = ZKL_FIRST;
    if (is_part(claim) && !all_parts_are(claim, ZKL_FIRST)) return watch_own(claim);
    if (is_part(claim) && !all_parts_have_nodes(claim)) return fail(claim, ZKL_LOST) | leave(claim);
    hold_all_parts(claim);
    return ZKL_DO_GRANT | (may_pass_on(claim) ? zkl_keep_granted(claim, now) : 0);
}

static inline zkl_actions lose(struct zkl_claim *claim) {
    claim->code = ZKL_LOST;
    return ZKL_DO_LOSE;
}

zkl_actions zkl_keep_release(struct zkl_claim *claim, zkl_time now); /* if may_pass_on() */

static inline zkl_actions give_up_node(struct zkl_claim *claim, zkl_time now) {
    return may_pass_on(claim) ? zkl_keep_release(claim, now) : leave(claim);
}

/* --- claim_way.c: the way of a claim in a line ---------------------------------------------- */

zkl_actions zkl_claim_enter(struct zkl_claim *claim); /* a new attempt, with its own nonce */
zkl_actions zkl_claim_return_to_new(struct zkl_claim *claim); /* stalled */
zkl_actions zkl_claim_requeue(struct zkl_claim *claim);       /* its node is gone */
zkl_actions zkl_claim_list_again(struct zkl_claim *claim);
/*
 * Chooses how a claim with `recheck` asks about the contenders ahead. True: by a list. False: by
 * gets or, if this clears `recheck`, not at all.
 */
bool zkl_claim_choose_recheck(struct zkl_claim *claim);
zkl_actions zkl_claim_advance(struct zkl_claim *claim, zkl_time now);

/* --- lookahead.c: transitions of a claim in WAIT ----------------------------------------- */

zkl_actions zkl_lookahead_watch(struct zkl_claim *claim);
zkl_actions zkl_lookahead_again(struct zkl_claim *claim); /* unless it is watched */
zkl_actions zkl_lookahead_gone(struct zkl_claim *claim);
/* The requests of a claim `looking_ahead` are answered. */
zkl_actions zkl_lookahead_answered(struct zkl_claim *claim, enum zkl_reply reply);
/* The predecessor went while these requests are out, so their replies decide. */
void zkl_lookahead_await_replies(struct zkl_claim *claim);

/* --- turn.c: who is next, and when a turn ends ---------------------------------------------- */

/* The claim that gets this claim's node, with its place in line, or NULL. */
struct zkl_claim *zkl_turn_successor(const struct zkl_claim *claim);
void zkl_turn_granted(struct zkl_claim *claim, zkl_time now); /* the first grant begins the turn */
bool zkl_turn_is_due(const struct zkl_claim *claim, zkl_time now);  /* may end with this grant */
bool zkl_turn_is_over(const struct zkl_claim *claim, zkl_time now); /* ends with this hold */
/* If the turn is due and nobody waits, asks for the watch of new contenders. */
zkl_actions zkl_turn_watch(const struct zkl_claim *holder, zkl_time now);
/* A claim waits for its turn now, so the current turn is to hear of other sessions. */
zkl_actions zkl_turn_awaited(const struct zkl_line *line);

/* --- keep.c: how long a node stays ------------------------------------------------------------ */

/* A holder whose node may be kept asks to hear of others, or tells them that it holds. */
zkl_actions zkl_keep_held(struct zkl_claim *claim);
/* In KEPT, the first two also in HELD. */
zkl_actions zkl_keep_listed(struct zkl_claim *claim, enum zkl_reply reply, zkl_time now);
zkl_actions zkl_keep_ask_for_list(struct zkl_claim *claim);
zkl_actions zkl_keep_tick(struct zkl_claim *claim, zkl_time now);
zkl_actions zkl_keep_end(struct zkl_claim *claim);

/* --- condition.c: transitions of a waiter ------------------------------------------------- */

zkl_actions zkl_waiter_began(struct zkl_claim *claim);   /* its transaction was carried out */
zkl_actions zkl_waiter_take(struct zkl_claim *claim);    /* the lock's claim was granted */
zkl_actions zkl_waiter_forward(struct zkl_claim *claim); /* nobody takes its signal */
zkl_actions zkl_waiter_listed(struct zkl_claim *claim, enum zkl_reply reply);

/* --- unfair.c: transitions of a claim of ZKL_UNFAIR; claim.h says what each event is --- */

zkl_actions zkl_unfair_start(struct zkl_claim *claim);
zkl_actions zkl_unfair_got_own(struct zkl_claim *claim, enum zkl_reply reply, enum zkl_code why,
                               int64_t czxid, uint64_t owner, zkl_time now);
zkl_actions zkl_unfair_own_gone(struct zkl_claim *claim);
zkl_actions zkl_unfair_resume(struct zkl_claim *claim);

#endif
