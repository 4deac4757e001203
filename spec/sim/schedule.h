/*
 * schedule.h - one run: a setting, a row of moves, then a calm in which the
 * system has to come to rest.
 *
 * The calm takes no choices: connections come back, time passes, every wish is
 * answered, what is granted is released, what is left is given up.
 */
#ifndef SCHEDULE_H
#define SCHEDULE_H

#include "choice.h"
#include "world.h"

/*
 * Runs the schedule that the choices make. `seen` (may be NULL) is asked after
 * each move of an exhaustive run: true ends it there, without a calm. The rule
 * that did not hold, or NULL.
 */
const char *schedule_run(bool (*seen)(void));

#endif
