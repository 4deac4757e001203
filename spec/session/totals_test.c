/* totals_test.c - the counts of sessions are added up, each number. */
#include "../../src/session/session.h"
#include "check.h"

int main(void) {
    TEST("counts of two sessions are added up, each number") {
        enum { NUMBERS = sizeof(struct zkl_stats) / sizeof(uint64_t) };
        uint64_t sums[NUMBERS];
        static struct zkl_totals to, from;
        for (size_t i = 0; i < NUMBERS; i++) {
            memcpy((uint64_t *)&to.stats + i, &(uint64_t){100}, sizeof(uint64_t));
            memcpy((uint64_t *)&from.stats + i, &(uint64_t){i + 1}, sizeof(uint64_t));
        }
        for (size_t i = 0; i < ZKL_OUTCOMES; i++) from.meter.outcomes[i] = i + 1;
        for (size_t i = 0; i <= ZKL_SESSION_CLOSED; i++) from.sessions[i] = i + 1;
        from.meter.reentries = 7;
        zkl_totals_merge(&to, &from);
        zkl_totals_merge(&to, &from);
        memcpy(sums, &to.stats, sizeof sums);
        for (size_t i = 0; i < NUMBERS; i++) CHECK_IS(sums[i], 100 + 2 * (i + 1));
        for (size_t i = 0; i < ZKL_OUTCOMES; i++) CHECK_IS(to.meter.outcomes[i], 2 * (i + 1));
        for (size_t i = 0; i <= ZKL_SESSION_CLOSED; i++) CHECK_IS(to.sessions[i], 2 * (i + 1));
        CHECK_IS(to.meter.reentries, 14);
    }
    return check_report();
}
