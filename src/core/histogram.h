/*
 * histogram.h - how long something took, counted: of fixed size, for quantiles within 5 %.
 *
 * Up to a microsecond a bucket is 1/16 of it wide. Above, each doubling has 16 buckets of equal
 * width: the middle of a bucket is within 1/32 of all that is in it. The last one has all that
 * took longer than 18 hours and a half. Integers only; all zero is an empty one.
 */
#ifndef ZKL_HISTOGRAM_H
#define ZKL_HISTOGRAM_H

#include "clock.h"

enum {
    ZKL_HISTOGRAM_STEPS = 16, /* buckets of a doubling, and of the first microsecond */
    ZKL_HISTOGRAM_DOUBLINGS = 36,
    ZKL_HISTOGRAM_BUCKETS = ZKL_HISTOGRAM_STEPS * (1 + ZKL_HISTOGRAM_DOUBLINGS)
};

struct zkl_histogram {
    uint64_t count;
    uint64_t sum; /* nanoseconds */
    zkl_time max;
    uint64_t buckets[ZKL_HISTOGRAM_BUCKETS];
};

void zkl_histogram_add(struct zkl_histogram *histogram, zkl_time time);
void zkl_histogram_merge(struct zkl_histogram *to, const struct zkl_histogram *from);

/* The time that `per_mille` in a thousand, 1 to 1000, do not exceed; 0: the histogram is empty. */
zkl_time zkl_histogram_quantile(const struct zkl_histogram *histogram, unsigned per_mille);

/* How many took less than 2^doublings microseconds; less than ZKL_HISTOGRAM_DOUBLINGS of them. */
uint64_t zkl_histogram_below(const struct zkl_histogram *histogram, unsigned doublings);

#endif
