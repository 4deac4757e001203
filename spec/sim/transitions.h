/*
 * transitions.h - what each event made of a claim: from which state to which, and with which
 * actions. docs/design/states.md says what may come of it; spec/sim/states.lua compares the two.
 */
#ifndef TRANSITIONS_H
#define TRANSITIONS_H

#include "coverage.h"

/* What a claim was before an event. */
struct before {
    enum zkl_claim_state state;
    bool wanted, stalled;
};

static inline struct before before_of(const struct zkl_claim *claim) {
    return (struct before){claim->state, claim->wanted, claim->stalled};
}

/* Also when it changed nothing. */
void transitions_note(const struct zkl_claim *claim, struct before before, enum event event,
                      zkl_actions did);

/* Each kind that was met: form, state, event, "wanted" or "not wanted", outcome, how often. */
void transitions_print(void);

#endif
