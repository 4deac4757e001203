/*
 * quantile.c - a quantile is the middle of its time's bucket, or the longest time, and never
 * longer. A doubling counts the times below it.
 *
 * Bounds:
 *   times     TIMES, added to an empty histogram, each below LONGEST, so the loop over the buckets
 *             ends by the 49th
 *
 * cbmc: --unsigned-overflow-check --pointer-overflow-check --unwind 50
 */
#include "../../src/core/histogram.c"

#include "any.h"

enum { TIMES = 2, LONGEST = 4000 };

static unsigned count_to(const zkl_time *times, size_t bucket) {
    unsigned count = 0;
    for (int i = 0; i < TIMES; i++) count += bucket_of(times[i]) <= bucket;
    return count;
}

int main(void) {
    struct zkl_histogram histogram = {0};
    zkl_time times[TIMES], longest = 0;
    for (int i = 0; i < TIMES; i++) {
        times[i] = nondet_int64();
        ASSUME(times[i] >= 0 && times[i] < LONGEST);
        if (times[i] > longest) longest = times[i];
        zkl_histogram_add(&histogram, times[i]);
    }
    unsigned per_mille = nondet_uint32();
    ASSUME(per_mille >= 1 && per_mille <= 1000);
    zkl_time quantile = zkl_histogram_quantile(&histogram, per_mille);
    SHOW(histogram.count == TIMES && histogram.max == longest, "all times are counted");
    SHOW(quantile >= 0 && quantile <= longest, "a quantile is no longer than the longest");
    size_t bucket = bucket_of(quantile);
    SHOW(count_to(times, bucket) * 1000 >= per_mille * TIMES,
         "enough times do not exceed the quantile");
    SHOW(bucket == 0 || count_to(times, bucket - 1) * 1000 < per_mille * TIMES,
         "no bucket below has enough times");
    return 0;
}
