/* histogram_test.c - counts and quantiles of durations. */
#include "histogram.h"

#include "check.h"

#define MICROSECOND INT64_C(1000)
#define HOUR (3600 * ZKL_SECOND)

static struct zkl_histogram histogram;

static void begin(void) {
    histogram = (struct zkl_histogram){0};
}

static bool is_near(zkl_time told, zkl_time true_time) {
    zkl_time error = told > true_time ? told - true_time : true_time - told;
    return error * 20 <= true_time;
}

/* The median of three equal and two long durations, which keep the maximum away from it. */
static zkl_time median_of(zkl_time time) {
    begin();
    for (int i = 0; i < 3; i++) zkl_histogram_add(&histogram, time);
    zkl_histogram_add(&histogram, 100 * HOUR);
    zkl_histogram_add(&histogram, 100 * HOUR);
    return zkl_histogram_quantile(&histogram, 500);
}

static void quantiles(void) {
    TEST("any duration from a microsecond to 18 hours is told within 5 %") {
        for (zkl_time time = MICROSECOND; time < 18 * HOUR; time += time / 97 + 1) {
            CHECK_CASE("%" PRId64 " ns", time);
            CHECK(is_near(median_of(time), time));
        }
    }
    TEST("a duration below a microsecond is told within 1/16 microsecond") {
        for (zkl_time time = 0; time < MICROSECOND; time++) {
            zkl_time error = median_of(time) - time;
            CHECK_CASE("%" PRId64 " ns", time);
            CHECK(error < 63 && error > -63);
        }
    }
    TEST("each quantile of a thousand durations is that of the sorted list") {
        static const unsigned per_mille[] = {1, 10, 500, 900, 990, 999, 1000};
        for (zkl_time i = 1000; i >= 1; i--) zkl_histogram_add(&histogram, i * ZKL_SECOND / 1000);
        EACH(per_mille, i) {
            zkl_time told = zkl_histogram_quantile(&histogram, per_mille[i]);
            CHECK_CASE("%u", per_mille[i]);
            CHECK(is_near(told, per_mille[i] * ZKL_SECOND / 1000));
        }
    }
    TEST("a quantile of a few durations is one of them, and 0 without any") {
        CHECK_IS(zkl_histogram_quantile(&histogram, 990), 0);
        zkl_histogram_add(&histogram, ZKL_SECOND);
        CHECK(is_near(zkl_histogram_quantile(&histogram, 1), ZKL_SECOND));
        zkl_histogram_add(&histogram, HOUR);
        CHECK(is_near(zkl_histogram_quantile(&histogram, 500), ZKL_SECOND));
        CHECK(is_near(zkl_histogram_quantile(&histogram, 501), HOUR));
    }
    TEST("a quantile never exceeds the longest duration, even in the last bucket") {
        zkl_histogram_add(&histogram, 1024 * MICROSECOND);
        CHECK_IS(zkl_histogram_quantile(&histogram, 1000), 1024 * MICROSECOND);
        zkl_histogram_add(&histogram, 1000 * HOUR);
        CHECK_IS(zkl_histogram_quantile(&histogram, 1000), 1000 * HOUR);
    }
    TEST("the longest possible duration is in the last bucket") {
        zkl_histogram_add(&histogram, INT64_MAX);
        CHECK_IS(histogram.buckets[ZKL_HISTOGRAM_BUCKETS - 1], 1);
    }
}

static void counts(void) {
    TEST("durations below each power of two of microseconds are counted exactly") {
        zkl_time bound = MICROSECOND;
        for (unsigned doublings = 0; doublings < ZKL_HISTOGRAM_DOUBLINGS; doublings++, bound *= 2) {
            CHECK_CASE("2^%u us", doublings);
            begin();
            zkl_histogram_add(&histogram, bound - 1);
            zkl_histogram_add(&histogram, bound);
            CHECK_IS(zkl_histogram_below(&histogram, doublings), 1);
            CHECK_IS(histogram.buckets[ZKL_HISTOGRAM_STEPS * (doublings + 1) - 1], 1);
        }
    }
    TEST("count, sum and maximum are exact") {
        for (zkl_time i = 1; i <= 100; i++) zkl_histogram_add(&histogram, i);
        CHECK_IS(histogram.count, 100);
        CHECK_IS(histogram.sum, 5050);
        CHECK_IS(histogram.max, 100);
    }
    TEST("a merged histogram equals a histogram of all durations") {
        struct zkl_histogram one = {0}, other = {0};
        for (zkl_time i = 0; i < 500; i++) {
            zkl_histogram_add(i % 3 ? &one : &other, i * i * 1000);
            zkl_histogram_add(&histogram, i * i * 1000);
        }
        zkl_histogram_merge(&one, &other);
        CHECK(memcmp(&one, &histogram, sizeof one) == 0);
        zkl_histogram_merge(&other, &histogram);
        CHECK_IS(other.max, histogram.max);
    }
}

int main(void) {
    check_before(begin);
    quantiles();
    counts();
    return check_report();
}
