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

/* Counts an outcome, even without a change. */
void transitions_note(const struct zkl_claim *claim, struct before before, enum event event,
                      zkl_actions did);

/* As form, state, event, "wanted" or "not wanted", result, count. */
void transitions_print(void);

#endif
