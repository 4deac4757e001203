#include <assert.h>

#include "clock.h"

/* Longest time until the leader knows of a packet that a follower received. */
static zkl_time report_delay(const struct zkl_clock *clock) {
    return clock->timeout / 15 * 4;
}

static zkl_time certain_for(const struct zkl_clock *clock) {
    zkl_time lone_margin = clock->timeout / 16 * 5;
    if (clock->proof - clock->steady_since >= report_delay(clock)) return clock->margin;
    if (clock->proof < zkl_clock_grants_from(clock)) return 0;
    return clock->margin < lone_margin ? clock->margin : lone_margin;
}

/* Never moves `certain_until` back, as an earlier proof may reach further than the newest. */
static void extend_certainty(struct zkl_clock *clock) {
    zkl_time certain = clock->proof + certain_for(clock);
    if (certain > clock->certain_until) clock->certain_until = certain;
}

static bool ran_out(const struct zkl_clock *clock, zkl_time now) {
    return clock->timeout == 0 || now >= clock->proof + clock->timeout;
}

static void set_timeout(struct zkl_clock *clock, zkl_time timeout, double margin) {
    if (timeout > clock->timeout)
        clock->steady_since = clock->proof; /* a longer timeout needs a longer chain */
    if (timeout < clock->timeout) clock->certain_until = clock->proof;
    clock->timeout = timeout;
    clock->attend_within = timeout / 12;
    clock->margin = (zkl_time)((double)timeout * margin);
    extend_certainty(clock);
}

void zkl_clock_start(struct zkl_clock *clock, zkl_time timeout, double margin, zkl_time issued) {
    assert(timeout > 0 && margin > 0 && margin <= 0.5);
    set_timeout(clock, timeout, margin);
    clock->proof = clock->steady_since = clock->certain_until = issued - timeout;
    clock->epoch++;
}

void zkl_clock_retime(struct zkl_clock *clock, zkl_time timeout, double margin, zkl_time now) {
    assert(timeout > 0 && margin > 0 && margin <= 0.5);
    if (ran_out(clock, now)) zkl_clock_start(clock, timeout, margin, now);
    else set_timeout(clock, timeout, margin);
}

void zkl_clock_end(struct zkl_clock *clock) {
    clock->timeout = 0;
    clock->connected = false;
    clock->epoch++;
}

void zkl_clock_attend(struct zkl_clock *clock, zkl_time now) {
    bool stopped =
        clock->attended && clock->attend_within && now - clock->attended > clock->attend_within;
    if (stopped) clock->awake_since = now;
    clock->stops += stopped;
    clock->attended = now;
}

void zkl_clock_prove(struct zkl_clock *clock, zkl_time issued, zkl_time now) {
    assert(issued <= now);
    zkl_clock_attend(clock, now);
    if (clock->timeout == 0) return;
    if (ran_out(clock, now)) clock->epoch++;
    if (issued <= clock->proof) return;
    zkl_time steady_since = clock->steady_since;
    if (issued - clock->proof > clock->timeout / 5) steady_since = issued;
    if (now - issued > clock->timeout / 4) steady_since = now;
    if (steady_since > clock->steady_since) clock->steady_since = steady_since;
    clock->proof = issued;
    extend_certainty(clock);
}

enum zkl_phase zkl_clock_phase(const struct zkl_clock *clock, uint32_t epoch, zkl_time now) {
    if (epoch != clock->epoch || ran_out(clock, now)) return ZKL_PHASE_LOST;
    if (clock->connected && now < clock->certain_until) return ZKL_PHASE_HELD;
    return ZKL_PHASE_SUSPECT;
}

zkl_time zkl_clock_remaining(const struct zkl_clock *clock, uint32_t epoch, zkl_time now) {
    if (zkl_clock_phase(clock, epoch, now) != ZKL_PHASE_HELD) return 0;
    return clock->certain_until - now;
}

zkl_time zkl_clock_grants_from(const struct zkl_clock *clock) {
    return clock->awake_since ? clock->awake_since + report_delay(clock) : 0;
}

bool zkl_clock_may_grant(const struct zkl_clock *clock) {
    zkl_time now = clock->attended;
    bool chain_goes_on = now - clock->proof <= clock->timeout / 5;
    if (now < clock->certain_until) return true;
    if (chain_goes_on && now - clock->steady_since >= report_delay(clock)) return true;
    return now >= zkl_clock_grants_from(clock);
}

zkl_time zkl_clock_next(const struct zkl_clock *clock, zkl_time now) {
    if (ran_out(clock, now)) return ZKL_NEVER;
    if (clock->connected && now < clock->certain_until) return clock->certain_until;
    return clock->proof + clock->timeout;
}
