/*
 * clock_test.c - the lease clock., PIT-09 (a holder that was paused or cut off), PIT-17
 * (clocks).
 */
#include "clock.h"

#include "check.h"
#include "code.h"

#define T (8000 * INT64_C(1000000)) /* divisible by all divisors below */

static zkl_time start; /* 1 ns after the machine's boot, or later */
static struct zkl_clock clock;
static zkl_time proof;

/* A connected session that asked for its handle at `start`, without a proof. */
static void begin(double margin) {
    clock = (struct zkl_clock){0};
    zkl_clock_start(&clock, T, margin, start);
    clock.connected = true;
}

/* Lets the process run, without a stop. */
static void run(zkl_time until) {
    zkl_time now = clock.attended ? clock.attended : until;
    for (; now < until; now += T / 24) zkl_clock_attend(&clock, now);
    zkl_clock_attend(&clock, until);
}

/* Runs until `issued`, and proves without delay. */
static void prove(zkl_time issued) {
    run(issued);
    zkl_clock_prove(&clock, issued, issued);
}

/* Beats every T/6 from `start` on. Returns the last beat's time. */
static zkl_time beat(int beats) {
    for (int i = 0; i <= beats; i++) prove(start + i * (T / 6));
    return start + beats * (T / 6);
}

/* Makes the proofs steady. Returns the last proof's time. */
static zkl_time steady(void) {
    begin(0.5);
    return beat(6);
}

static void begin_steady(void) {
    proof = steady();
}

static void begin_fresh(void) {
    begin(0.5);
}

static int phase(zkl_time now) {
    return zkl_clock_phase(&clock, clock.epoch, now);
}

static zkl_time remaining(zkl_time now) {
    return zkl_clock_remaining(&clock, clock.epoch, now);
}

static void beginnings(void) {
    TEST("every lease is lost before and after its session") {
        clock = (struct zkl_clock){0};
        CHECK_IS(phase(start), ZKL_PHASE_LOST);
        CHECK_IS(zkl_clock_next(&clock, start), ZKL_NEVER);
        CHECK_IS(zkl_clock_remaining(&clock, 0, start), 0);
        prove(start);
        CHECK_IS(phase(start), ZKL_PHASE_LOST);
        begin(0.5);
        beat(6);
        uint32_t epoch = clock.epoch;
        zkl_clock_end(&clock);
        CHECK(clock.epoch != epoch && !clock.connected);
        CHECK_IS(zkl_clock_phase(&clock, epoch, start + T), ZKL_PHASE_LOST);
        CHECK_IS(phase(start + T), ZKL_PHASE_LOST);
    }
    TEST("a proof of one session says nothing about the next") {
        proof = steady();
        zkl_clock_end(&clock);
        zkl_clock_start(&clock, T, 0.5, proof + 1);
        clock.connected = true;
        CHECK_IS(phase(proof + 1), ZKL_PHASE_LOST);
        prove(proof + 2);
        CHECK_IS(remaining(proof + 2), T * 5 / 16);
    }
    TEST("an epoch never comes back, however sessions end and clocks run out") {
        clock = (struct zkl_clock){0};
        uint32_t last = 0;
        zkl_time now = start;
        for (int i = 0; i < 12; i++) {
            if (i % 4 == 0) zkl_clock_start(&clock, T, 0.5, now);
            else if (i % 4 == 3) zkl_clock_end(&clock);
            else prove(now += 2 * T);
            CHECK(clock.epoch > last);
            last = clock.epoch;
        }
    }
}

static void phases(void) {
    TEST("held, suspect and lost follow one another at the instants of clock.h") {
        CHECK_IS(phase(proof), ZKL_PHASE_HELD);
        CHECK_IS(phase(proof + T / 2 - 1), ZKL_PHASE_HELD);
        CHECK_IS(phase(proof + T / 2), ZKL_PHASE_SUSPECT);
        CHECK_IS(phase(proof + T - 1), ZKL_PHASE_SUSPECT);
        CHECK_IS(phase(proof + T), ZKL_PHASE_LOST);
        CHECK_IS(phase(proof + 1000 * T), ZKL_PHASE_LOST);
    }
    TEST("the remaining time counts down to the end of held, and is 0 afterwards") {
        CHECK_IS(remaining(proof), T / 2);
        CHECK_IS(remaining(proof + T / 2 - 1), 1);
        CHECK_IS(remaining(proof + T / 2), 0);
        CHECK_IS(zkl_clock_remaining(&clock, clock.epoch + 1, proof), 0);
        clock.connected = false;
        CHECK_IS(remaining(proof), 0);
    }
    TEST("the next instant is when time alone changes the phase") {
        CHECK_IS(zkl_clock_next(&clock, proof), proof + T / 2);
        CHECK_IS(zkl_clock_next(&clock, proof + T / 2 - 1), proof + T / 2);
        CHECK_IS(zkl_clock_next(&clock, proof + T / 2), proof + T);
        CHECK_IS(zkl_clock_next(&clock, proof + T), ZKL_NEVER);
        clock.connected = false;
        CHECK_IS(zkl_clock_next(&clock, proof), proof + T);
    }
    TEST("a lease is suspect without a connection, and held again with it") {
        clock.connected = false;
        CHECK_IS(phase(proof), ZKL_PHASE_SUSPECT);
        CHECK_IS(phase(proof + T), ZKL_PHASE_LOST);
        clock.connected = true;
        CHECK_IS(phase(proof + 1), ZKL_PHASE_HELD);
    }
    TEST("a suspect lease is held again after a proof in the same session") {
        uint32_t epoch = clock.epoch;
        prove(proof + T * 7 / 10);
        CHECK_IS(zkl_clock_phase(&clock, epoch, proof + T * 7 / 10), ZKL_PHASE_HELD);
    }
    TEST("a proof is certain for the requested margin if that is less than 5/16 T") {
        begin(0.25);
        prove(start);
        CHECK_IS(remaining(start), T / 4);
        proof = beat(6);
        CHECK_IS(remaining(proof), T / 4);
    }
}

static void proofs(void) {
    TEST("a proof counts from its request, not from its answer (Q-03)") {
        run(proof + T / 6 + T / 24);
        zkl_clock_prove(&clock, proof + T / 6, proof + T / 6 + T / 24);
        CHECK_IS(clock.proof, proof + T / 6);
        CHECK_IS(remaining(proof + T / 2), T / 6);
    }
    TEST("an older proof that is answered late changes nothing") {
        struct zkl_clock before = clock;
        zkl_clock_prove(&clock, proof, proof + 1);
        zkl_clock_prove(&clock, proof - 1, proof + 1);
        CHECK(clock.proof == before.proof);
        CHECK_IS(remaining(proof + 1), zkl_clock_remaining(&before, before.epoch, proof + 1));
        CHECK(clock.epoch == before.epoch);
    }
    TEST("a proof after the clock ran out revives no earlier grant (Q-01, PIT-09)") {
        uint32_t epoch = clock.epoch;
        prove(proof + T);
        CHECK(clock.epoch != epoch);
        CHECK_IS(zkl_clock_phase(&clock, epoch, proof + T), ZKL_PHASE_LOST);
        CHECK_IS(phase(proof + T), ZKL_PHASE_HELD);
        prove(proof + T + 1);
        CHECK_IS(zkl_clock_phase(&clock, epoch, proof + T + 1), ZKL_PHASE_LOST);
    }
    TEST("a proof issued in time but answered after the clock ran out revives no lease") {
        uint32_t epoch = clock.epoch;
        run(proof + T);
        zkl_clock_prove(&clock, proof + T - 1, proof + T);
        CHECK_IS(zkl_clock_phase(&clock, epoch, proof + T), ZKL_PHASE_LOST);
        CHECK_IS(phase(proof + T), ZKL_PHASE_HELD);
    }
    TEST("a proof saves a lease up to a nanosecond before the clock runs out") {
        uint32_t epoch = clock.epoch;
        prove(proof + T - 1);
        CHECK_IS(zkl_clock_phase(&clock, epoch, proof + T), ZKL_PHASE_HELD);
    }
    TEST("a shorter timeout, negotiated at a reconnect, counts at once") {
        zkl_clock_retime(&clock, T / 10, 0.5, proof);
        CHECK_IS(phase(proof + T / 20 - 1), ZKL_PHASE_HELD);
        CHECK_IS(phase(proof + T / 20), ZKL_PHASE_SUSPECT);
        CHECK_IS(phase(proof + T / 10), ZKL_PHASE_LOST);
    }
    TEST("a lease that ran out by the old timeout stays lost with a new one") {
        uint32_t epoch = clock.epoch;
        zkl_clock_retime(&clock, 2 * T, 0.5, proof + T - 1);
        CHECK_IS(zkl_clock_phase(&clock, epoch, proof + T - 1), ZKL_PHASE_SUSPECT);
        proof = steady();
        epoch = clock.epoch;
        zkl_clock_retime(&clock, 2 * T, 0.5, proof + T);
        CHECK_IS(zkl_clock_phase(&clock, epoch, proof + T), ZKL_PHASE_LOST);
        prove(proof + T);
        CHECK_IS(zkl_clock_phase(&clock, epoch, proof + T), ZKL_PHASE_LOST);
    }
    TEST("a longer timeout makes nothing certain before the first proof") {
        begin(0.5);
        zkl_clock_retime(&clock, 10 * T, 0.5, start + 1);
        CHECK_IS(phase(start + 1), ZKL_PHASE_LOST);
        proof = steady();
        zkl_clock_retime(&clock, 10 * T, 0.5, proof + T);
        CHECK_IS(phase(proof + T), ZKL_PHASE_LOST);
    }
    TEST("a longer timeout begins the chain anew; the same timeout goes on with it") {
        zkl_clock_retime(&clock, T, 0.5, proof);
        CHECK_IS(remaining(proof), T / 2);
        zkl_clock_retime(&clock, 2 * T, 0.5, proof);
        CHECK_IS(remaining(proof), 2 * T * 5 / 16);
    }
    TEST("the same timeout, negotiated again, changes nothing") {
        zkl_clock_retime(&clock, T, 0.5, proof);
        prove(proof + T / 6);
        CHECK_IS(remaining(proof + T / 6), T / 2);
        begin(0.5);
        prove(start);
        zkl_clock_prove(&clock, start + T / 8, start + T / 8); /* after a stop */
        zkl_clock_retime(&clock, T, 0.5, start + T / 8);
        CHECK_IS(remaining(start + T / 8), T * 5 / 16 - T / 8);
    }
    TEST("the new timeout counts also after the old one ran out") {
        zkl_clock_retime(&clock, 2 * T, 0.5, proof + T);
        prove(proof + T);
        CHECK_IS(phase(proof + 3 * T - 1), ZKL_PHASE_SUSPECT);
        CHECK_IS(phase(proof + 3 * T), ZKL_PHASE_LOST);
    }
    TEST("an answer after the session's end proves nothing") {
        zkl_clock_end(&clock);
        uint32_t epoch = clock.epoch;
        zkl_clock_prove(&clock, proof + 1, proof + 1);
        CHECK(clock.epoch == epoch);
        CHECK_IS(clock.proof, proof);
        CHECK_IS(phase(proof + 1), ZKL_PHASE_LOST);
    }
    TEST("the second of two proofs that were issued at once changes nothing") {
        zkl_time since = clock.steady_since;
        zkl_clock_prove(&clock, proof, proof + T / 3);
        CHECK_IS(clock.steady_since, since);
    }
}

/*
 * As in clock.h, the server may count T from the newest packet that is T/4 older than the proof,
 * and a client's clock may be 5 % slow. `packets` are issue times, oldest first, of pings and then
 * of `proof_count` proofs.
 */
static void never_too_long(const zkl_time *packets, int count, int proof_count) {
    begin(0.5);
    proof = packets[count - 1];
    zkl_time touch = packets[0];
    for (int i = count - proof_count; i < count; i++) prove(packets[i]);
    for (int i = 0; i < count; i++)
        if (packets[i] <= proof - T / 4) touch = packets[i];
    zkl_time certain = remaining(proof);
    CHECK(certain > 0);
    if (proof + certain * 105 / 100 > touch + T)
        check_complain(__FILE__, __LINE__,
                       "certain for %d/1000 T, the server may expire at %d/1000 T",
                       (int)(certain * 1000 / T), (int)((touch + T - proof) * 1000 / T));
}

static void drift(void) {
    const zkl_time ping = start + T, idle = ping + T / 3, late = idle + T / 12;
    TEST("a lone proof after an idle ping is certain for 5/16 T at most") {
        prove(idle);
        CHECK(remaining(idle) <= T * 5 / 16);
        never_too_long((zkl_time[]){ping, idle}, 2, 1);
        never_too_long((zkl_time[]){ping - T / 3, ping, idle}, 3, 1);
        never_too_long((zkl_time[]){ping, idle, idle + T / 4 - 1}, 3, 1);
        /* the process stopped for T/12, which does not count, when a ping was due */
        never_too_long((zkl_time[]){ping, late}, 2, 1);
        never_too_long((zkl_time[]){ping, late, late + T / 4 - 1}, 3, 1);
    }
    TEST("two proofs after an idle time are no chain that reaches back T/4") {
        never_too_long((zkl_time[]){ping, idle, idle + T / 4 - 1, idle + T / 4 - 1 + T / 1000}, 4,
                       2);
        never_too_long((zkl_time[]){ping, idle, idle + T / 4 - 2, idle + T / 4 - 1}, 4, 2);
        never_too_long((zkl_time[]){ping, idle, idle + T / 6}, 3, 2);
        never_too_long((zkl_time[]){ping, idle, idle + T / 5}, 3, 2);
    }
    TEST("steady heartbeats are certain for the whole margin") {
        proof = beat(3);
        CHECK_IS(remaining(proof), T / 2);
        never_too_long((zkl_time[]){idle, idle + T / 5, idle + T / 5 * 2, idle + T / 5 * 3}, 4, 4);
        never_too_long((zkl_time[]){idle, idle + T / 6, idle + T / 6 * 2, idle + T / 6 * 3}, 4, 4);
    }
    TEST("a proof that is more than T/5 after the last proof stands alone") {
        proof = beat(6);
        prove(proof + T / 5 + 1);
        CHECK_IS(remaining(proof + T / 5 + 1), T * 5 / 16);
    }
    TEST("proofs that are T/5 apart are a chain, and 4/15 T of it is enough") {
        prove(start);
        prove(start + T / 5);
        CHECK_IS(remaining(start + T / 5), T * 5 / 16);
        prove(start + T / 15 * 4 - 1);
        CHECK_IS(remaining(start + T / 15 * 4 - 1), T * 5 / 16);
        prove(start + T / 15 * 4);
        CHECK_IS(remaining(start + T / 15 * 4), T / 2);
    }
    TEST("a weaker proof does not take back the certainty of an earlier one") {
        zkl_time woke = start + T / 8;
        prove(start);
        zkl_clock_prove(&clock, woke - 1, woke); /* too soon after a stop */
        CHECK_IS(clock.awake_since, woke);
        CHECK_IS(remaining(woke), T * 5 / 16 - T / 8);
    }
    TEST("a proof soon after a stop makes nothing certain, unless proofs were steady") {
        zkl_time woke = start + T;
        zkl_clock_attend(&clock, start);
        zkl_clock_prove(&clock, woke, woke);
        CHECK_IS(phase(woke), ZKL_PHASE_SUSPECT);
        run(woke + T / 4);
        CHECK_IS(phase(woke + T / 4), ZKL_PHASE_SUSPECT);
        prove(woke + T / 15 * 4 - 1);
        CHECK_IS(phase(woke + T / 15 * 4 - 1), ZKL_PHASE_SUSPECT);
        prove(woke + T / 15 * 4);
        CHECK_IS(remaining(woke + T / 15 * 4), T * 5 / 16);
    }
    TEST("a deposed leader's late answers carry no chain of proofs") {
        proof = steady();
        zkl_time stopped = proof + T / 6, answered = proof + T / 3 * 2;
        run(answered);
        for (int i = 0; i < 3; i++) zkl_clock_prove(&clock, stopped + i * (T / 6), answered);
        CHECK_IS(remaining(stopped + T / 3), T * 5 / 16);
        CHECK_IS(phase(answered), ZKL_PHASE_HELD);
        CHECK(remaining(answered) + answered < proof + T);
    }
    TEST("the chain of proofs begins anew with a late answer") {
        proof = steady();
        zkl_time issued = proof + T / 6, answered = issued + T / 4 + 1;
        run(answered);
        zkl_clock_prove(&clock, issued, answered);
        zkl_clock_prove(&clock, answered - 1,
                        answered); /* issued late, but behind the late answer */
        CHECK_IS(clock.steady_since, answered);
        prove(answered + T / 6);
        CHECK_IS(remaining(answered + T / 6), T * 5 / 16);
        prove(answered + T / 3);
        CHECK_IS(remaining(answered + T / 3), T / 2);
    }
    TEST("an answer within a quarter of the timeout is in time") {
        proof = steady();
        zkl_time issued = proof + T / 6;
        run(issued + T / 4);
        zkl_clock_prove(&clock, issued, issued + T / 4);
        CHECK_IS(remaining(issued + T / 4), T / 4);
    }
    TEST("a late answer shows by itself that the process was stopped") {
        zkl_clock_attend(&clock, start);
        zkl_clock_prove(&clock, start + 1, start + T / 2);
        CHECK_IS(clock.awake_since, start + T / 2);
        CHECK_IS(phase(start + T / 2), ZKL_PHASE_SUSPECT);
    }
    TEST("T/12 between two calls of zkl_clock_attend() is no stop, a little more is a stop") {
        zkl_clock_attend(&clock, start);
        zkl_clock_attend(&clock, start + T / 12);
        CHECK_IS(clock.awake_since, 0);
        zkl_clock_attend(&clock, start + T / 12 + T / 12 + 1);
        CHECK_IS(clock.awake_since, start + T / 12 + T / 12 + 1);
    }
    TEST("a stop before the first session counts, by the timeout that was asked for") {
        clock = (struct zkl_clock){.attend_within = T / 12};
        zkl_clock_attend(&clock, start);
        zkl_clock_attend(&clock, start + T / 12 + 1);
        CHECK_IS(clock.awake_since, start + T / 12 + 1);
        CHECK_IS((int64_t)clock.stops, 1);
        zkl_clock_attend(&clock, start + T / 4);
        CHECK_IS((int64_t)clock.stops, 2);
    }
}

static bool may_grant_after_stop(zkl_time now) {
    zkl_clock_attend(&clock, now);
    CHECK_IS(clock.awake_since, now);
    return zkl_clock_may_grant(&clock);
}

static void grants(void) {
    TEST("a session that has just begun may grant") {
        CHECK(zkl_clock_may_grant(&clock));
        zkl_clock_attend(&clock, start);
        CHECK(zkl_clock_may_grant(&clock));
        prove(start);
        CHECK_IS(phase(start), ZKL_PHASE_HELD);
    }
    TEST("a session may grant after a stop while an earlier proof is certain") {
        prove(start);
        CHECK(may_grant_after_stop(start + T / 8));
        CHECK(!may_grant_after_stop(start + T * 5 / 16));
    }
    TEST("a session may grant after a stop while steady proofs go on, even uncertain ones") {
        begin(0.1);
        proof = beat(6);
        CHECK(may_grant_after_stop(proof + T / 5));
        begin(0.1);
        proof = beat(6);
        CHECK(!may_grant_after_stop(proof + T / 5 + 1));
    }
    TEST("proofs are steady from 4/15 T on") {
        begin(0.05);
        proof = beat(1);
        CHECK(!may_grant_after_stop(start + T / 15 * 4 - 1));
        begin(0.05);
        proof = beat(1);
        CHECK(may_grant_after_stop(start + T / 15 * 4));
    }
}

static void codes(void) {
    TEST("every code has a name of its own") {
        static const char *const names[] = {
            "ok",         "timeout", "unknown",     "lost",      "released",       "expired",
            "connection", "closed",  "interrupted", "not_owner", "would_deadlock", "conflict",
            "auth",       "no_node", "too_many",    "busy",      "no_memory",      "unsupported",
            "context",    "forked"};
        for (int code = ZKL_OK; code <= ZKL_FORKED; code++)
            CHECK_TEXT(zkl_code_name((enum zkl_code)code), names[code]);
        CHECK_TEXT(zkl_code_name((enum zkl_code)(ZKL_FORKED + 1)), "no code");
    }
}

static void lease_clock(zkl_time first) {
    start = first;
    check_before(NULL);
    beginnings();
    check_before(begin_steady);
    phases();
    proofs();
    check_before(begin_fresh);
    drift();
    grants();
}

int main(void) {
    lease_clock(1000 * ZKL_SECOND);
    lease_clock(1);
    codes();
    return check_report();
}
