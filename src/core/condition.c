/*
 * condition.c - how the holder of a lock waits in a condition. A second claim, the waiter, has a
 * node in the condition's line. A transaction makes that node and deletes the lock's node.
 *
 * The signal is a write of a holder of the lock to the waiter's node. It is not lost while that
 * node exists, and the node goes only
 *   - when the lock's claim is granted again, which takes the signal;
 *   - at version 0, without a signal;
 *   - in one transaction with a write to another waiter's node, which passes the signal on;
 *   - when no other waiter can have the signal;
 *   - with its session, because the signalled waiter is dead.
 *
 * On one connection no reply is older than an earlier reply. So a list asked for after the signal
 * was seen shows all waiters of that time, without a sync.
 */
#include <assert.h>

#include "claim_steps.h"

/* --- the lock's claim --------------------------------------------------------------------- */

zkl_actions zkl_claim_enter_condition(struct zkl_claim *waiter, struct zkl_claim *lock,
                                      zkl_time deadline) {
    assert(lock->state == ZKL_HELD && !is_part(lock) && !lock->batch && !lock->partner);
    assert(waiter->state == ZKL_NEW && waiter->kind == ZKL_MUTEX && waiter->line != lock->line);
    lock->state = ZKL_IN_CONDITION;
    lock->deadline = deadline;
    lock->line->tries -= lock->trying;
    lock->trying = lock->stalled = lock->awaits_list = false;
    clear_keeper(lock);
    lock->partner = waiter;
    waiter->partner = lock;
    waiter->as_waiter = ZKL_WAITER_CAME;
    waiter->line->is_condition = true;
    return zkl_claim_start(waiter);
}

static zkl_actions remain_holder(struct zkl_claim *lock, enum zkl_code why) {
    lock->state = ZKL_HELD;
    lock->deadline = ZKL_NEVER;
    lock->refusal = why;
    /* The node's event may have been taken for the transaction's. */
    zkl_actions again = lock->node.watched ? ZKL_DO_WATCH_OWN : 0;
    return ZKL_DO_STAYED | again | zkl_keep_held(lock);
}

/* No attempt had any effect. */
static bool was_refused(const struct zkl_claim *waiter) {
    return waiter->refusal != ZKL_OK && waiter->as_waiter == ZKL_WAITER_CAME &&
           !waiter->node.doubted;
}

static bool seeks_outcome(const struct zkl_claim *waiter) {
    return waiter->state == ZKL_CREATE || waiter->state == ZKL_RECOVER_SYNC ||
           waiter->state == ZKL_RECOVER_LIST;
}

zkl_actions zkl_claim_partner_changed(struct zkl_claim *lock) {
    const struct zkl_claim *waiter = lock->partner;
    assert(waiter);
    if (lock->state != ZKL_IN_CONDITION) return 0;
    if (lock->wanted && waiter->state == ZKL_SIGNALLED) return zkl_claim_enter(lock);
    if (waiter->wanted) return 0; /* it goes on */
    if (lock->wanted && was_refused(waiter)) return remain_holder(lock, waiter->refusal);
    zkl_actions actions = lock->wanted ? fail(lock, waiter->code) : 0;
    if (seeks_outcome(waiter)) return actions;
    return actions | (waiter->as_waiter == ZKL_WAITER_CAME ? leave(lock) : become_gone(lock));
}

/* --- the waiter ----------------------------------------------------------------------------- */

zkl_actions zkl_waiter_began(struct zkl_claim *claim) {
    claim->as_waiter = ZKL_WAITER_BEGAN;
    if (!claim->wanted) return leave(claim) | ZKL_DO_TELL_PARTNER;
    claim->state = ZKL_WAIT;
    return watch_own(claim);
}

zkl_actions zkl_claim_lock_node_gone(struct zkl_claim *claim) {
    if (claim->state != ZKL_CREATE) return 0;
    claim->as_waiter = ZKL_WAITER_BEGAN;
    return (claim->wanted ? fail(claim, ZKL_LOST) : 0) | become_gone(claim);
}

zkl_actions zkl_claim_signalled(struct zkl_claim *claim) {
    if (!claim->as_waiter || claim->state != ZKL_WAIT) return 0;
    claim->state = ZKL_SIGNALLED;
    claim->stalled = false;
    return ZKL_DO_TELL_PARTNER;
}

zkl_actions zkl_waiter_take(struct zkl_claim *claim) {
    if (claim->partner) claim->partner->partner = NULL; /* the lock's claim may wait again */
    claim->partner = NULL;
    claim->as_waiter = ZKL_WAITER_SETTLED;
    return leave(claim);
}

/* --- a signal that is not taken --------------------------------------------------------------- */

zkl_actions zkl_waiter_forward(struct zkl_claim *claim) {
    claim->state = ZKL_FORWARD;
    claim->stalled = !is_connected(claim);
    return claim->stalled ? 0 : ZKL_DO_LIST;
}

/* Waiters before `own` have their signals. An exhausted line does not show which these are. */
static size_t first_behind(const struct zkl_line *line, const struct zkl_contender *own) {
    if (line->exhausted) return 0;
    for (size_t i = 0; i < line->count; i++)
        if (line->contenders[i] == own) return i + 1;
    return 0;
}

/* The waiter that may get the signal after claim->ahead refused it. */
static struct zkl_contender *next_waiter(const struct zkl_claim *claim,
                                         const struct zkl_contender *own) {
    const struct zkl_line *line = claim->line;
    bool tried = claim->ahead && claim->ahead->listed;
    for (size_t i = first_behind(line, own); i < line->count; i++) {
        struct zkl_contender *each = line->contenders[i];
        if (each == claim->ahead) tried = false;
        else if (!tried && each != own) return each;
    }
    return NULL;
}

static zkl_actions pass_signal(struct zkl_claim *claim) {
    const struct zkl_contender *own = zkl_line_own(claim);
    if (!own) return become_gone(claim);
    struct zkl_contender *next = next_waiter(claim, own);
    if (next) zkl_contender_ref(next);
    drop_ahead(claim);
    claim->ahead = next;
    if (next) return ZKL_DO_FORWARD;
    claim->as_waiter = ZKL_WAITER_SETTLED;
    return leave(claim);
}

zkl_actions zkl_waiter_listed(struct zkl_claim *claim, enum zkl_reply reply) {
    switch (reply) {
    case ZKL_DONE: return pass_signal(claim);
    case ZKL_ABSENT: return become_gone(claim);
    case ZKL_REFUSED: claim->as_waiter = ZKL_WAITER_SETTLED; return leave(claim);
    case ZKL_UNKNOWN: break;
    }
    return stall(claim);
}

/* After a lost reply a list decides, because the own node exists until the signal is passed on. */
zkl_actions zkl_claim_forwarded(struct zkl_claim *claim, enum zkl_reply reply, bool write_failed) {
    if (claim->state != ZKL_FORWARD) return 0;
    if (reply == ZKL_DONE || (reply == ZKL_ABSENT && !write_failed)) return become_gone(claim);
    if (reply != ZKL_UNKNOWN && write_failed) return pass_signal(claim);
    drop_ahead(claim); /* the same waiter may still get the signal */
    return stall(claim);
}
