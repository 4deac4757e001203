/*
 * histogram.h - a histogram of durations, of fixed size, with quantiles within 5 %. Pure; the owner
 * serialises calls.
 *
 *     zkl_histogram_add(&histogram, duration);
 *     median = zkl_histogram_quantile(&histogram, 500);
 *
 * Up to a microsecond each bucket is 1/16 of a microsecond wide. Above, each doubling has 16
 * buckets of equal width. The last bucket has all durations above 18.5 hours. A zeroed struct is
 * empty.
 */
#ifndef ZKL_HISTOGRAM_H
#define ZKL_HISTOGRAM_H

#include "clock.h"

enum {
    ZKL_HISTOGRAM_STEPS = 16, /* buckets of each doubling, and of the first microsecond */
    ZKL_HISTOGRAM_DOUBLINGS = 36,
    ZKL_HISTOGRAM_BUCKETS = ZKL_HISTOGRAM_STEPS * (1 + ZKL_HISTOGRAM_DOUBLINGS)
};

struct zkl_histogram {
    uint64_t count;
    uint64_t sum; /* nanoseconds */
    zkl_time max;
    uint64_t buckets[ZKL_HISTOGRAM_BUCKETS];
};

void zkl_histogram_add(struct zkl_histogram *histogram, zkl_time duration);
void zkl_histogram_merge(struct zkl_histogram *to, const struct zkl_histogram *from);

/* The duration that `per_mille` in a thousand (1 to 1000) do not exceed; 0: there are none. */
zkl_time zkl_histogram_quantile(const struct zkl_histogram *histogram, unsigned per_mille);

/* Number of durations below 2^doublings microseconds; doublings < ZKL_HISTOGRAM_DOUBLINGS. */
uint64_t zkl_histogram_below(const struct zkl_histogram *histogram, unsigned doublings);

#endif
