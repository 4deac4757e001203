/* condition.h - waiting in a condition. */
#ifndef ZKL_SESSION_CONDITION_H
#define ZKL_SESSION_CONDITION_H

#include "call.h"
#include "stake.h"

void zkl_condition_create(struct stake *waiter);
void zkl_condition_forward(struct stake *waiter);
void zkl_condition_tell_partner(struct stake *waiter); /* it matters to the lock's stake */
void zkl_condition_failed(struct stake *stake);        /* its waiter, if any, need not go on */
void zkl_condition_stayed(struct stake *stake);        /* the wait did not begin */
void zkl_condition_granted(struct stake *stake);       /* it is back */
zkl_actions zkl_condition_waited(const struct call *call, const struct answer *answer);
zkl_actions zkl_condition_forwarded(const struct call *call, const struct answer *answer);

#endif
