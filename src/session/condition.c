/*
 * condition.c - requests of the two stakes of a wait, and news between them (core/condition.c).
 */
#include <string.h>

#include "condition.h"
#include "internal.h"
#include "stake_actions.h"

static struct stake *partner_of(const struct stake *stake) {
    return (struct stake *)stake->claim.partner;
}

/* --- the transactions -------------------------------------------------------------------- */

void zkl_condition_create(struct stake *waiter) {
    const struct stake *lock = partner_of(waiter);
    const struct zkl_op ops[] = {
        {.kind = ZKL_OP_CREATE,
         .mode = ZKL_SEQUENTIAL,
         .path = zkl_path_join(waiter->path->text, waiter->claim.node.name),
         .data = waiter->data,
         .size = strlen(waiter->data)},
        {.kind = ZKL_OP_DELETE,
         .version = -1,
         .path = zkl_path_join(lock->path->text, lock->claim.node.name)}};
    zkl_stake_transact(waiter, STAKE_WAIT, ops, 2);
}

void zkl_condition_forward(struct stake *waiter) {
    const struct zkl_claim *claim = &waiter->claim;
    const struct zkl_op ops[] = {{.kind = ZKL_OP_DELETE,
                                  .version = -1,
                                  .path = zkl_path_join(waiter->path->text, claim->node.name)},
                                 {.kind = ZKL_OP_SET,
                                  .path = zkl_path_join(waiter->path->text, claim->ahead->name),
                                  .data = ZKL_SIGNAL_DATA,
                                  .size = strlen(ZKL_SIGNAL_DATA)}};
    zkl_stake_transact(waiter, STAKE_FORWARD, ops, 2);
}

zkl_actions zkl_condition_answer_wait(const struct call *call, const struct answer *answer) {
    struct zkl_claim *claim = &zkl_call_stake(call)->claim;
    const char *node = answer->reply == ZKL_DONE ? answer->results[0].created : NULL;
    bool left = answer->reply == ZKL_ABSENT && zkl_call_refused_op(call, answer) == 1;
    if (left) return zkl_claim_lock_node_gone(claim);
    struct stake *lock = partner_of(zkl_call_stake(call));
    if (node && lock) zkl_stake_end_hold(lock, ZKL_STEP_RELEASED);
    return zkl_claim_created(claim, answer->reply, answer->why, node ? strrchr(node, '/') + 1 : "",
                             0);
}

zkl_actions zkl_condition_answer_forward(const struct call *call, const struct answer *answer) {
    return zkl_claim_forwarded(&zkl_call_stake(call)->claim, answer->reply,
                               zkl_call_refused_op(call, answer) == 1);
}

/* --- news between the two ------------------------------------------------------------------- */

void zkl_condition_tell_partner(struct stake *waiter) {
    struct stake *lock = partner_of(waiter);
    if (!lock) return;
    if (lock->claim.state == ZKL_IN_CONDITION) lock->error = waiter->error;
    zkl_stake_perform(lock, zkl_claim_partner_changed(&lock->claim));
}

void zkl_condition_cancel_waiter(struct stake *stake) {
    struct stake *waiter = partner_of(stake);
    if (waiter) zkl_stake_perform(waiter, zkl_claim_cancel(&waiter->claim, stake->claim.code));
}

void zkl_condition_hold_on(struct stake *stake) {
    zkl_hold_apply(stake);
    zkl_stake_finish(stake, stake->claim.refusal);
    zkl_stake_downgrade_without_writers(stake); /* as in zkl_condition_hold_again() */
}

void zkl_condition_hold_again(struct stake *stake) {
    struct stake *waiter = partner_of(stake);
    stake->phase = ZKL_PHASE_HELD;
    stake->token = zkl_claim_token(&stake->claim);
    zkl_stake_end_hold(stake, ZKL_STEP_RELEASED); /* if the reply to the wait was lost */
    zkl_stake_begin_hold(stake);
    zkl_hold_again(stake);
    zkl_stake_finish(stake, ZKL_OK);
    if (waiter) zkl_stake_perform(waiter, zkl_claim_release(&waiter->claim, waiter->session->now));
    zkl_stake_downgrade_without_writers(
        stake); /* handles that write may have been released meanwhile */
}
