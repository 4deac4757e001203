/*
 * transitions.h - outcomes of events, with state and actions. spec/sim/states.lua compares them
 * with docs/design/states.md.
 */
#ifndef TRANSITIONS_H
#define TRANSITIONS_H

#include "coverage.h"

struct before {
    enum zkl_claim_state state;
    bool wanted, stalled;
};

static inline struct before before_of(const struct zkl_claim *claim) {
    return (struct before){claim->state, claim->wanted, claim->stalled};
}

/* Counts the outcome of an event. */
void transitions_note(const struct zkl_claim *claim, struct before before, enum event event,
                      zkl_actions did);

/* Prints a line for each outcome: form, state, event, "wanted" or not, result, count. */
void transitions_print(void);

#endif
