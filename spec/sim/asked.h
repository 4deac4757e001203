/* asked.h - kind and asker of a call, for tests that look into a session. */
#ifndef ASKED_H
#define ASKED_H

#include "../../src/session/stake_feed.h"

/* The kind of a stake's call; STAKE_CALLS: another call. */
static inline enum stake_call stake_call_of(const struct call *call) {
    int kind = 0;
    while (kind < STAKE_CALLS && call->kind != &zkl_stake_calls[kind]) kind++;
    return (enum stake_call)kind;
}

/* The stake that asked; NULL: another call. */
static inline struct stake *asking_stake(const struct call *call) {
    return stake_call_of(call) == STAKE_CALLS ? NULL : zkl_call_stake(call);
}

#endif
