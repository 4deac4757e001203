/*
 * explore.h - many schedules: at random, by seeds, over several processes; or every
 * schedule of a small case. A schedule that breaks a rule is shrunk.
 */
#ifndef EXPLORE_H
#define EXPLORE_H

#include "choice.h"
#include "coverage.h"
#include "moves.h"

struct explored {
    uint64_t schedules, states; /* states: different ones, of a small case */
    uint64_t grants;
    uint64_t moves[MOVES];
    uint64_t coverage[EVENTS][STATES];
    bool complete; /* of a small case: none was left out */
    const char *broken;
    uint64_t seed;    /* of the schedule that broke it */
    struct tape tape; /* the same, as a tape */
};

/* Seeds first ... first + count - 1, by `jobs` processes; each stops at its first finding. */
void explore_seeds(uint64_t first, uint64_t count, unsigned jobs, struct explored *result);

/*
 * Every schedule of a small case, at most `limit`. A state that was seen before,
 * with as many faults left, is not entered again: what follows from it is known.
 */
void explore_small(const struct tape *pinned, uint64_t limit, struct explored *result);

/* The shortest tape found that breaks the same rule. */
void explore_shrink(struct tape *tape, const char *broken);

#endif
