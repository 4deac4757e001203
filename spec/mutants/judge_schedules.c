/* judge_schedules.c - judges by SCHEDULES schedules of the simulator, from seed 1 on. */
#include <inttypes.h>
#include <stdio.h>

#include "judge.h"
#include "schedule.h"

const char *judge(void) {
    static char why[300];
    for (uint64_t seed = 1; seed <= SCHEDULES; seed++) {
        judge_renew_time();
        choose_by_seed(seed);
        const char *broken = schedule_run(NULL);
        if (!broken) continue;
        snprintf(why, sizeof why, "seed %" PRIu64 ": %s", seed, broken);
        return why;
    }
    return NULL;
}
