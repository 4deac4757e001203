#include "histogram.h"

#include <assert.h>
#include <stddef.h>

#define STEPS ((size_t)ZKL_HISTOGRAM_STEPS)
#define STEPS_LOG2 4
#define LAST ((size_t)ZKL_HISTOGRAM_BUCKETS - 1)

_Static_assert(ZKL_HISTOGRAM_STEPS == 1 << STEPS_LOG2, "a doubling has so many buckets");

static unsigned log2_of(uint64_t value) {
    return 63 - (unsigned)__builtin_clzll(value);
}

static size_t bucket_of(zkl_time duration) {
    uint64_t units = (uint64_t)duration * (STEPS / 8) / 125; /* duration * STEPS could overflow */
    if (units < STEPS) return (size_t)units;
    unsigned doublings = log2_of(units) - STEPS_LOG2;
    size_t bucket = doublings * STEPS + (size_t)(units >> doublings);
    return bucket < LAST ? bucket : LAST;
}

static zkl_time middle_of(size_t bucket) {
    size_t doublings = bucket < STEPS ? 0 : bucket / STEPS - 1;
    uint64_t units = (uint64_t)(bucket - doublings * STEPS) << doublings;
    uint64_t width = UINT64_C(1) << doublings;
    return (zkl_time)((2 * units + width) * 1000 / (2 * STEPS));
}

void zkl_histogram_add(struct zkl_histogram *histogram, zkl_time duration) {
    assert(duration >= 0);
    histogram->count++;
    histogram->sum += (uint64_t)duration;
    if (duration > histogram->max) histogram->max = duration;
    histogram->buckets[bucket_of(duration)]++;
}

void zkl_histogram_merge(struct zkl_histogram *to, const struct zkl_histogram *from) {
    to->count += from->count;
    to->sum += from->sum;
    if (from->max > to->max) to->max = from->max;
    for (size_t i = 0; i <= LAST; i++) to->buckets[i] += from->buckets[i];
}

zkl_time zkl_histogram_quantile(const struct zkl_histogram *histogram, unsigned per_mille) {
    uint64_t rank = (histogram->count * per_mille + 999) / 1000, seen = 0;
    assert(per_mille > 0 && per_mille <= 1000);
    if (histogram->count == 0) return 0;
    size_t i = 0;
    while ((seen += histogram->buckets[i]) < rank) i++;
    if (i == LAST || middle_of(i) > histogram->max) return histogram->max;
    return middle_of(i);
}

uint64_t zkl_histogram_below(const struct zkl_histogram *histogram, unsigned doublings) {
    uint64_t below = 0;
    assert(doublings < ZKL_HISTOGRAM_DOUBLINGS); /* the last bucket has longer durations, too */
    for (size_t i = 0; i < STEPS * (1 + doublings); i++) below += histogram->buckets[i];
    return below;
}
