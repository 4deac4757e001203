/*
 * histogram.c - every time has a bucket, in the order of time, with a middle within 1/32 of its
 * times, or 1/32 of a microsecond. A doubling counts the times below it. A quantile is one of the
 * added times.
 *
 * Bounds:
 *   time      all of 63 bits
 *   added     TIMES, of all lengths; more differ only in the counters
 *
 * cbmc: --unsigned-overflow-check --pointer-overflow-check
 */
#include "../../src/core/histogram.c"

#include "any.h"

#define MICROSECOND 1000

static zkl_time any_time(void) {
    zkl_time time = nondet_int64();
    ASSUME(time >= 0);
    return time;
}

static void show_bucket(void) {
    zkl_time time = any_time(), longer = any_time();
    ASSUME(time <= longer);
    size_t bucket = bucket_of(time);
    SHOW(bucket <= LAST, "each time has a bucket");
    SHOW(bucket <= bucket_of(longer), "buckets are in the order of time");
    unsigned doublings = nondet_uint32();
    ASSUME(doublings <= ZKL_HISTOGRAM_DOUBLINGS);
    bool below = time < (zkl_time)MICROSECOND << doublings;
    SHOW(below == (bucket < STEPS * (1 + doublings)) || doublings == ZKL_HISTOGRAM_DOUBLINGS,
         "a time below a doubling is in a bucket below");
    if (bucket == LAST) return;
    zkl_time middle = middle_of(bucket);
    zkl_time off = middle > time ? middle - time : time - middle;
    zkl_time least = time > MICROSECOND ? time : MICROSECOND;
    SHOW(off <= least / 32 + 1, "the middle is within 1/32, and a nanosecond");
}

int main(void) {
    show_bucket();
    return 0;
}
