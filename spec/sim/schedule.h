/*
 * schedule.h - a run has a setting, moves, and at last a calm without choices, in which connections
 * return, time passes, wishes end, and the system comes to rest.
 */
#ifndef SCHEDULE_H
#define SCHEDULE_H

#include "choice.h"
#include "world.h"

/*
 * Runs the chosen schedule, to a broken rule or NULL. `seen`, if any, is asked after each move of
 * an exhaustive run; true ends it.
 */
const char *schedule_run(bool (*seen)(void));

#endif
