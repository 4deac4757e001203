/*
 * claim_steps.h - the steps that claims of every kind are made of: the ways out of a state. For
 * claim.c, claim_way.c and claim_replies.c, which have the machine; for unfair.c and condition.c,
 * which have what is different in a claim of ZKL_UNFAIR, and in a waiter; for turn.c and keep.c,
 * which say who is next, and how long a node stays; for lookahead.c and max_waiters.c.
 */
#ifndef ZKL_CLAIM_STEPS_H
#define ZKL_CLAIM_STEPS_H

#include <string.h>

#include "claim.h"

static inline bool connected(const struct zkl_claim *claim) {
    return claim->line->common->clock.connected;
}

static inline void drop_ahead(struct zkl_claim *claim) {
    zkl_contender_unref(claim->ahead);
    claim->ahead = NULL;
    zkl_claim_overlook(claim);
    claim->looking = false;
}

/* The claim has no node any more, or makes another one. */
static inline void forget_node(struct zkl_claim *claim) {
    claim->node = (struct zkl_node){.doubted = claim->node.doubted};
}

/* The own node is gone for certain: the line forgets it before the next list. */
static inline void forget_own(struct zkl_claim *claim) {
    struct zkl_contender *own = zkl_line_own(claim);
    if (own) zkl_line_forget(claim->line, own);
}

/* Claims of the session that have not begun, and waited for this one, go on. */
static inline zkl_actions make_way(const struct zkl_claim *claim) {
    for (const struct zkl_claim *each = claim->line->claims; each; each = each->next) {
        if (each != claim && each->state == ZKL_NEW) return ZKL_DO_FOLLOW;
    }
    return 0;
}

/* The node's name says that it may be kept, even if the claim inherited it and has no `keep`
 * itself. */
static inline bool has_keeping_node(const struct zkl_claim *claim) {
    return claim->node.nonce & ZKL_NONCE_KEEPS;
}

/* The claim may pass its node on to another claim of the session. */
static inline bool may_pass_on(const struct zkl_claim *claim) {
    return claim->batch != 0 || claim->keep > 0 || has_keeping_node(claim);
}

static inline void keep_no_more(struct zkl_claim *claim) {
    if (claim->line->kept == claim) claim->line->kept = NULL;
}

static inline zkl_actions gone(struct zkl_claim *claim) {
    drop_ahead(claim);
    forget_own(claim);
    keep_no_more(claim);
    claim->state = ZKL_GONE;
    claim->wanted = false;
    if (claim->waiting) return ZKL_DO_FORGET | ZKL_DO_TELL_PARTNER;
    bool followed = zkl_kind_is_fixed(claim->kind) || may_pass_on(claim);
    return followed ? ZKL_DO_FORGET | make_way(claim) : ZKL_DO_FORGET;
}

/* The session's next claim need not wait for this one. */
static inline zkl_actions make_way_in_batch(const struct zkl_claim *claim) {
    return may_pass_on(claim) ? make_way(claim) : 0;
}

/* The node exists and nobody wants it. */
static inline zkl_actions leave(struct zkl_claim *claim) {
    drop_ahead(claim);
    keep_no_more(claim);
    claim->state = ZKL_LEAVE;
    claim->wanted = false;
    claim->stalled = !connected(claim);
    return claim->stalled ? 0 : ZKL_DO_REMOVE | make_way_in_batch(claim);
}

/*
 * Tells the user, or of a waiter the lock's claim, why there is no grant. The caller decides what
 * becomes of the node.
 */
static inline zkl_actions fail(struct zkl_claim *claim, enum zkl_code why) {
    claim->code = why;
    claim->wanted = false;
    if (claim->waiting) return ZKL_DO_TELL_PARTNER;
    return ZKL_DO_FAIL | make_way_in_batch(claim);
}

/* Tells the user that it waits, once. */
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

/* The lease clock is certain that the session lives. */
static inline bool certain(const struct zkl_claim *claim, zkl_time now) {
    const struct zkl_clock *clock = &claim->line->common->clock;
    return zkl_clock_phase(clock, clock->epoch, now) == ZKL_PHASE_HELD;
}

/*
 * A grant could be used, so the claim may take a place in line. A waiter's node is no place in the
 * lock's line.
 */
static inline bool may_enter(const struct zkl_claim *claim) {
    return claim->waiting || zkl_clock_may_grant(&claim->line->common->clock);
}

/* Its node is there, and the claim has not been granted yet. */
static inline bool is_in_line(const struct zkl_claim *claim) {
    enum zkl_claim_state state = claim->state;
    return state == ZKL_RECOVER_STAT || state == ZKL_LIST || state == ZKL_RANK ||
           state == ZKL_WAIT || state == ZKL_PROVE || state == ZKL_FIRST;
}

/* Its node is being made, or looked for. */
static inline bool is_entering(const struct zkl_claim *claim) {
    return claim->state == ZKL_CREATE || claim->state == ZKL_RECOVER_SYNC ||
           claim->state == ZKL_RECOVER_LIST;
}

/* On its way to the front. */
static inline bool is_under_way(const struct zkl_claim *claim) {
    bool moves = is_entering(claim) || is_in_line(claim) || claim->state == ZKL_RETREAT;
    return claim->wanted && moves;
}

/* It holds, or held until now. */
static inline bool has_held(const struct zkl_claim *claim) {
    return claim->state == ZKL_HELD || claim->state == ZKL_KEPT;
}

/* No other contender is in its line, as far as is known. */
static inline bool is_alone(const struct zkl_claim *claim) {
    const struct zkl_line *line = claim->line;
    return !line->changed && line->count == 1 && zkl_line_own(claim);
}

/* Asks for the watch that tells when others come, unless it is set or asked for. */
static inline zkl_actions watch_children(struct zkl_line *line) {
    if (line->children != ZKL_UNWATCHED) return 0;
    line->children = ZKL_WATCH_ASKED;
    return ZKL_DO_WATCH_CHILDREN;
}

/* A claim in NEW does not come after another one of its session. */
static inline bool needs_node(const struct zkl_claim *claim) {
    return zkl_claim_awaits(claim) == ZKL_AWAITS_NOTHING;
}

/* Another claim of ZKL_UNFAIR. */
static inline bool is_other_fixed(const struct zkl_claim *claim, const struct zkl_claim *each) {
    return each != claim && zkl_kind_is_fixed(each->kind) && each->state != ZKL_GONE;
}

/* A claim of ZKL_UNFAIR may have a node whose czxid it does not know. */
static inline bool is_unsure_of_node(const struct zkl_claim *claim) {
    bool looks = claim->state == ZKL_RECOVER_SYNC || claim->state == ZKL_RECOVER_LIST;
    return claim->state == ZKL_CREATE || (looks && claim->node.czxid == 0);
}

static inline bool is_part(const struct zkl_claim *claim) {
    return claim->next_part != claim;
}

/* Every part is wanted, and in this state; in CREATE: with its create not sent. */
static inline bool all_are(const struct zkl_claim *claim, enum zkl_claim_state state) {
    const struct zkl_claim *part = claim;
    do {
        if (!part->wanted || part->state != state) return false;
        if (state == ZKL_CREATE && !zkl_claim_awaits_parts(part)) return false;
        part = part->next_part;
    } while (part != claim);
    return true;
}

/*
 * Each part's node is in its line, as far as the lists have shown: a part that is first in its line
 * needs no further list.
 */
static inline bool all_have_nodes(const struct zkl_claim *claim) {
    const struct zkl_claim *part = claim;
    do {
        if (!zkl_line_own(part)) return false;
        part = part->next_part;
    } while (part != claim);
    return true;
}

/* Without this watch the claim would not hear of its node's end before it holds. */
static inline zkl_actions watch_own(struct zkl_claim *claim) {
    if (claim->node.watched) return 0;
    claim->node.watched = true;
    return ZKL_DO_WATCH_OWN;
}

/* The claim holds from now on, and with it all parts of its multi-lock. */
static inline void hold(struct zkl_claim *claim) {
    struct zkl_claim *part = claim;
    do {
        part->state = ZKL_HELD;
        part->epoch = claim->line->common->clock.epoch;
        part->deadline = ZKL_NEVER;
        part->max_waiters = 0; /* it contends again after a condition, however many wait */
        part = part->next_part;
    } while (part != claim);
}

zkl_actions zkl_keep_granted(struct zkl_claim *claim, zkl_time now); /* it may_pass_on() its node */

/* Another part is still to find out whether it has a node, and which. */
static inline bool others_seek(const struct zkl_claim *claim) {
    const struct zkl_claim *part = claim->next_part;
    while (part != claim && !is_entering(part)) part = part->next_part;
    return part != claim;
}

/*
 * The claim gives its place up; the other parts of a multi-lock do so when they are resumed. While
 * a part does not know its node yet, this claim waits in PROVE, and tries again later.
 */
static inline zkl_actions retreat(struct zkl_claim *claim) {
    if (others_seek(claim)) {
        claim->state = ZKL_PROVE;
        return stall(claim);
    }
    struct zkl_claim *part = claim;
    do {
        drop_ahead(part);
        part->state = ZKL_RETREAT;
        part->stalled = part != claim || !connected(claim);
        part = part->next_part;
    } while (part != claim);
    return claim->stalled ? 0 : ZKL_DO_REMOVE;
}

/* The claim is first in line, and the lease clock is not certain. */
static inline zkl_actions prove(struct zkl_claim *claim) {
    if (!may_enter(claim)) return retreat(claim);
    claim->state = ZKL_PROVE;
    return ZKL_DO_SYNC;
}

/* First in line; nobody ahead is watched any more. */
static inline zkl_actions admit(struct zkl_claim *claim, zkl_time now) {
    if (!certain(claim, now)) return prove(claim);
    claim->state = ZKL_FIRST;
    if (is_part(claim) && !all_are(claim, ZKL_FIRST)) return watch_own(claim);
    if (is_part(claim) && !all_have_nodes(claim)) return fail(claim, ZKL_LOST) | leave(claim);
    hold(claim);
    return ZKL_DO_GRANT | (may_pass_on(claim) ? zkl_keep_granted(claim, now) : 0);
}

static inline zkl_actions lose(struct zkl_claim *claim) {
    claim->code = ZKL_LOST;
    return ZKL_DO_LOSE;
}

zkl_actions zkl_keep_release(struct zkl_claim *claim, zkl_time now); /* the same */

/* The claim gives up its node; `now` matters to a holder. */
static inline zkl_actions give_up_node(struct zkl_claim *claim, zkl_time now) {
    return may_pass_on(claim) ? zkl_keep_release(claim, now) : leave(claim);
}

/* --- claim_way.c: the way of a claim in a line ---------------------------------------------- */

zkl_actions zkl_claim_enter(struct zkl_claim *claim);   /* a new attempt, with its own nonce */
zkl_actions zkl_claim_rest(struct zkl_claim *claim);    /* not now: as if it had not begun */
zkl_actions zkl_claim_requeue(struct zkl_claim *claim); /* the own node is gone: never a grant */
zkl_actions zkl_claim_list_again(struct zkl_claim *claim);
/* Of a claim that is to recheck those ahead: a list does it. False: gets do, if any are needed. */
bool zkl_claim_rechecks_by_list(struct zkl_claim *claim);
/*
 * Finds the claim's place in line, as far as that is known. A lookahead that is its predecessor now
 * is watched already.
 */
zkl_actions zkl_claim_advance(struct zkl_claim *claim, zkl_time now);

/* --- lookahead.c: transitions of a claim in WAIT ----------------------------------------- */

zkl_actions zkl_lookahead_watch(struct zkl_claim *claim); /* it knows its predecessor */
zkl_actions zkl_lookahead_again(struct zkl_claim *claim); /* if it is not watched */
zkl_actions zkl_lookahead_gone(struct zkl_claim *claim);
/* The requests about the others ahead are answered. */
zkl_actions zkl_lookahead_looked(struct zkl_claim *claim, enum zkl_reply reply);
/* The predecessor went, too, while requests are out: their replies tell what to do next. */
void zkl_lookahead_await(struct zkl_claim *claim);

/* --- turn.c: who is next, and when a turn ends ---------------------------------------------- */

/* The claim to which this one hands its node, or its place on the way; NULL: none waits for it. */
struct zkl_claim *zkl_turn_successor(const struct zkl_claim *claim);
void zkl_turn_granted(struct zkl_claim *claim, zkl_time now); /* its first grant begins the turn */
/* The turn may end with this grant: its batch, or its time, is used. */
bool zkl_turn_is_due(const struct zkl_claim *claim, zkl_time now);
bool zkl_turn_is_over(const struct zkl_claim *claim, zkl_time now); /* with the end of this hold */
/* If the turn is due and nobody waits, asks for the watch that tells when others come. */
zkl_actions zkl_turn_watch(const struct zkl_claim *holder, zkl_time now);
/* A claim waits for its turn now, so the turn that goes on is to hear of other sessions. */
zkl_actions zkl_turn_awaited(const struct zkl_line *line);

/* --- keep.c: how long a node stays ------------------------------------------------------------ */

/* In HELD with a node that may be kept: it hears of others, or tells them that it holds. */
zkl_actions zkl_keep_held(struct zkl_claim *claim);
/* KEPT or HELD: a list of the path is answered; the claim asks anew. KEPT: time passed; it ends. */
zkl_actions zkl_keep_listed(struct zkl_claim *claim, enum zkl_reply reply, zkl_time now);
zkl_actions zkl_keep_ask(struct zkl_claim *claim);
zkl_actions zkl_keep_tick(struct zkl_claim *claim, zkl_time now);
zkl_actions zkl_keep_end(struct zkl_claim *claim);

/* --- condition.c: transitions of a waiter ------------------------------------------------- */

zkl_actions zkl_waiter_began(struct zkl_claim *claim);   /* its transaction was carried out */
zkl_actions zkl_waiter_take(struct zkl_claim *claim);    /* the lock's claim was granted */
zkl_actions zkl_waiter_forward(struct zkl_claim *claim); /* a signal that nobody takes */
zkl_actions zkl_waiter_listed(struct zkl_claim *claim, enum zkl_reply reply);

/* --- unfair.c: transitions of a claim of ZKL_UNFAIR; claim.h says what each event is --- */

zkl_actions zkl_unfair_start(struct zkl_claim *claim);
zkl_actions zkl_unfair_got_own(struct zkl_claim *claim, enum zkl_reply reply, enum zkl_code why,
                               int64_t czxid, uint64_t owner, zkl_time now);
zkl_actions zkl_unfair_own_gone(struct zkl_claim *claim);
zkl_actions zkl_unfair_resume(struct zkl_claim *claim);

#endif
