/*
 * explore.h - runs many schedules, by random seeds in several processes, or all of a small case,
 * and shrinks a schedule that breaks a rule.
 */
#ifndef EXPLORE_H
#define EXPLORE_H

#include "choice.h"
#include "coverage.h"
#include "moves.h"

struct explored {
    uint64_t schedules, states; /* `states` are distinct, for a small case */
    uint64_t grants;
    uint64_t moves[MOVES];
    uint64_t coverage[EVENTS][STATES];
    bool complete; /* a whole small case */
    const char *broken;
    uint64_t seed;    /* seed of the schedule that broke the rule */
    struct tape tape; /* the same schedule as a tape */
};

/* Runs seeds from `first` on, in `jobs` processes, each up to its first finding. */
void explore_seeds(uint64_t first, uint64_t count, unsigned jobs, struct explored *result);

/* Runs at most `limit` schedules. A run ends at a state known with as many faults left. */
void explore_small(const struct tape *pinned, uint64_t limit, struct explored *result);

/* Shortens a tape that breaks the rule. */
void explore_shrink(struct tape *tape, const char *broken);

#endif
