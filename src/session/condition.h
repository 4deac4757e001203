/*
 * condition.h - the two stakes of a wait in a condition, the lock's and the waiter's.
 */
#ifndef ZKL_SESSION_CONDITION_H
#define ZKL_SESSION_CONDITION_H

#include "call.h"
#include "stake.h"

void zkl_condition_create(struct stake *waiter);
void zkl_condition_forward(struct stake *waiter);
void zkl_condition_tell_partner(struct stake *waiter); /* the waiter's state changed */
void zkl_condition_cancel_waiter(struct stake *stake);
void zkl_condition_hold_on(struct stake *stake);    /* the wait did not begin */
void zkl_condition_hold_again(struct stake *stake); /* after the wait */
zkl_actions zkl_condition_answer_wait(const struct call *call, const struct answer *answer);
zkl_actions zkl_condition_answer_forward(const struct call *call, const struct answer *answer);

#endif
