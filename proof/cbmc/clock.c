/*
 * clock.c - the lease clock. `held` needs a connection, and ends a margin after the newest proof's
 * issue. A lost epoch is never held again, and no epoch comes back.
 *
 * Any operation leads from a sound state, by is_sound(), to a sound state. The new clock, all zero,
 * is sound.
 *
 * Bounds:
 *   time       from 0 to INT64_MAX - 4 * LONGEST, 292 years since the machine began
 *   timeout    to LONGEST, because libzookeeper has an int of milliseconds
 *   epoch      before its end, 2^32 sessions or lost leases
 *   margin     PART of the timeout at start and retime, where a product of doubles is too hard
 *              for CBMC; elsewhere up to half of the timeout. With a PART of 0.3 start and
 *              retime take 16 s.
 *
 * cbmc: --unsigned-overflow-check --pointer-overflow-check -DPART=0.5
 */
#include "../../src/core/clock.c"

#include "any.h"

#define LEAST INT64_C(1000000)
#define LONGEST (INT32_MAX * INT64_C(1000000))
#define LATEST (INT64_MAX - 4 * LONGEST)

/* The events so far. */
struct history {
    zkl_time now;    /* the last operation's */
    double part;     /* margin / timeout */
    bool proven;     /* this session has a proof ... */
    zkl_time newest; /* ... and its newest was issued then */
};

static zkl_time later_of(zkl_time a, zkl_time b) {
    return a > b ? a : b;
}

static bool is_within(zkl_time least, zkl_time time, zkl_time most) {
    return least <= time && time <= most;
}

static bool is_sound(const struct zkl_clock *clock, const struct history *history) {
    zkl_time now = history->now;
    if (!is_within(0, clock->timeout, LONGEST)) return false;
    if (!is_within(0, clock->margin, LONGEST / 2)) return false;
    if (!is_within(0, clock->attend_within, LONGEST)) return false;
    if (!is_within(0, clock->attended, now)) return false;
    if (!is_within(0, clock->awake_since, now)) return false;
    if (!is_within(-LONGEST, clock->proof, now)) return false;
    if (!is_within(-LONGEST, clock->steady_since, now)) return false;
    if (!is_within(-LONGEST, clock->certain_until, LATEST + LONGEST)) return false;
    if (clock->timeout == 0) return !clock->connected;
    if (clock->timeout < LEAST) return false;
    if (clock->margin > clock->timeout / 2) return false;
    if (!is_within(clock->proof, clock->certain_until, clock->proof + clock->margin)) return false;
    if (history->proven) return clock->proof == history->newest;
    return clock->certain_until <= now && clock->proof + clock->timeout <= now;
}

static zkl_time any_time(zkl_time least, zkl_time most) {
    zkl_time time = nondet_int64();
    ASSUME(is_within(least, time, most));
    return time;
}

/*
 * Assumes that a product of doubles and its conversion to an integer are monotonic (IEEE 754), so
 * with the same part a longer timeout has no shorter margin.
 */
static void assume_monotonic(const struct zkl_clock *before, const struct zkl_clock *after) {
    if (after->timeout >= before->timeout) ASSUME(after->margin >= before->margin);
}

static void prove(struct zkl_clock *clock, struct history *history) {
    zkl_time issued = any_time(-LONGEST, history->now);
    struct zkl_clock before = *clock;
    zkl_clock_prove(clock, issued, history->now);
    if (clock->timeout == 0) return;
    bool newer = issued > before.proof;
    SHOW(newer || clock->certain_until == before.certain_until,
         "an old proof makes nothing certain");
    SHOW(clock->certain_until >= before.certain_until, "a proof takes no certainty away");
    if (!newer) return;
    if (!history->proven || issued > history->newest) history->newest = issued;
    history->proven = true;
}

static void start(struct zkl_clock *clock, struct history *history) {
    zkl_clock_start(clock, any_time(LEAST, LONGEST), history->part, history->now);
    history->proven = false;
}

static void retime(struct zkl_clock *clock, struct history *history) {
    struct zkl_clock before = *clock;
    ASSUME(clock->timeout > 0);
    if (before.proof + before.timeout <= history->now) history->proven = false;
    zkl_clock_retime(clock, any_time(LEAST, LONGEST), history->part, history->now);
    assume_monotonic(&before, clock);
}

static void attend(struct zkl_clock *clock, struct history *history) {
    struct zkl_clock before = *clock;
    zkl_clock_attend(clock, history->now);
    bool stopped = before.attended > 0 && before.attend_within > 0 &&
                   history->now - before.attended > before.attend_within;
    SHOW(!stopped || clock->awake_since == history->now, "a stop is noted");
}

static void operate(struct zkl_clock *clock, struct history *history) {
    switch (nondet_int()) {
    case 0: start(clock, history); break;
    case 1: retime(clock, history); break;
    case 2: zkl_clock_end(clock); break;
    case 3: attend(clock, history); break;
    case 4: prove(clock, history); break;
    case 5: clock->connected = clock->timeout > 0 && nondet_bool(); break;
    default: break;
    }
}

static void show_belief(const struct zkl_clock *clock, const struct history *history) {
    zkl_time now = any_time(history->now, LATEST);
    uint32_t epoch = nondet_uint32();
    bool held = zkl_clock_phase(clock, epoch, now) == ZKL_PHASE_HELD;
    zkl_time remaining = zkl_clock_remaining(clock, epoch, now);
    SHOW(!held || clock->connected, "held needs a connection");
    SHOW(!held || history->proven, "held needs a proof");
    SHOW(!held || now < history->newest + clock->margin, "held is over a margin after the proof");
    SHOW(!held || clock->margin <= clock->timeout / 2, "a margin is half a timeout at most");
    SHOW(held == (remaining > 0), "held has a time that remains");
    SHOW(!held || remaining <= history->newest + clock->margin - now,
         "the remaining time ends in time");
    zkl_clock_may_grant(clock);

    zkl_time next = zkl_clock_next(clock, now);
    zkl_time later = any_time(now, LATEST);
    SHOW(next > now, "the next change is to come");
    SHOW(later >= next ||
             zkl_clock_phase(clock, epoch, later) == zkl_clock_phase(clock, epoch, now),
         "until the next change the phase stays");
}

int main(void) {
    struct zkl_clock clock = {0};
    struct history history = {.now = any_time(0, LATEST), .part = PART};
    ASSUME(history.part > 0 && history.part <= 0.5);
    SHOW(is_sound(&clock, &history), "the new clock is sound");

    clock = (struct zkl_clock){nondet_int64(), nondet_int64(),  nondet_int64(), nondet_int64(),
                               nondet_int64(), nondet_int64(),  nondet_int64(), nondet_int64(),
                               nondet_bool(),  nondet_uint32(), nondet_uint64()};
    history.proven = nondet_bool();
    history.newest = nondet_int64();
    ASSUME(is_sound(&clock, &history));
    ASSUME(clock.epoch < UINT32_MAX - 2 && clock.stops < UINT64_MAX);
    uint32_t granted = nondet_uint32(), epoch = clock.epoch;
    ASSUME(granted <= epoch);
    bool lost = zkl_clock_phase(&clock, granted, history.now) == ZKL_PHASE_LOST;

    history.now = any_time(history.now, LATEST);
    lost = lost || zkl_clock_phase(&clock, granted, history.now) == ZKL_PHASE_LOST;
    operate(&clock, &history);
    SHOW(is_sound(&clock, &history), "the clock stays sound");
    SHOW(clock.epoch >= epoch, "no epoch comes back");
    zkl_time later = any_time(history.now, LATEST);
    SHOW(!lost || zkl_clock_phase(&clock, granted, later) == ZKL_PHASE_LOST,
         "a lost epoch stays lost");
    show_belief(&clock, &history);
    return 0;
}
