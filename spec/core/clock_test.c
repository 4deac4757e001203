/*
 * clock_test.c - runs spec/core/clock.txt, scripts (script.h) of the lease clock, once on a machine
 * that has just booted.
 *
 * Times are in seconds, and T, the session timeout, is 24. In `fresh` the session asked for its
 * handle at 0, without a proof. In `steady` it also beat every 4 seconds up to 0. The margin is 0.5
 * unless a number follows. A grant is of the present epoch, or of the epoch at `grant`.
 */
#include "clock.h"

#include "code.h"
#include "script.h"

#define T (24 * ZKL_SECOND)
#define HEARTBEAT (T / 6)

static zkl_time origin; /* the script's 0 */
static struct zkl_clock clock;
static uint32_t granted; /* epoch of the grant; 0: the present epoch */

static zkl_time time_at(size_t i) {
    return origin + seconds(i, 0);
}

static double in_seconds(zkl_time time) {
    return (double)time / (double)ZKL_SECOND;
}

/* Lets the process run, without a stop. */
static void run_until(zkl_time until) {
    zkl_time now = clock.attended ? clock.attended : until;
    for (; now < until; now += T / 24) zkl_clock_attend(&clock, now);
    zkl_clock_attend(&clock, until);
}

/* Runs up to `issued`, and proves without delay. */
static void prove_at(zkl_time issued) {
    run_until(issued);
    zkl_clock_prove(&clock, issued, issued);
}

static void start_at(zkl_time time, double margin) {
    zkl_clock_start(&clock, T, margin, time);
    clock.connected = true;
}

static void begin_at(zkl_time time, double margin) {
    script_begin();
    start_at(time, margin);
}

/* --- steps ------------------------------------------------------------------------------------ */

/* fresh [<margin>]; steady [<margin>] */
static void begins(void) {
    zkl_time first = is(0, "steady") ? origin - T : origin;
    begin_at(first, words > 1 ? strtod(word[1], NULL) : 0.5);
    for (zkl_time at = first; is(0, "steady") && at <= origin; at += HEARTBEAT) prove_at(at);
}

/* wanted <timeout>, no session yet; start <time>, another session; retime <time> <timeout>; end */
static void negotiates(void) {
    if (is(0, "wanted")) clock.attend_within = seconds(1, 0) / 12;
    else if (is(0, "start")) start_at(time_at(1), 0.5);
    else if (is(0, "retime")) zkl_clock_retime(&clock, seconds(2, 0), 0.5, time_at(1));
    else zkl_clock_end(&clock);
}

/*
 * attend <time>...: the process is seen to run, and not between; run <time>: it runs up to then;
 * prove <time>...: it runs, and proves without delay
 */
static void passes(void) {
    for (size_t i = 1; i < words; i++) {
        if (is(0, "attend")) zkl_clock_attend(&clock, time_at(i));
        else if (is(0, "run")) run_until(time_at(i));
        else prove_at(time_at(i));
    }
}

/* answer <time> <issued>: a proof's answer comes late */
static void answers(void) {
    zkl_clock_prove(&clock, time_at(2), time_at(1));
}

static void connects(void) {
    clock.connected = is(0, "online");
}

static void grants(void) {
    granted = clock.epoch;
}

/* at <time>...: says the grant's phase, and how long it stays held */
static void tells_phases(void) {
    static const char *const phases[] = {"held", "suspect", "lost"};
    uint32_t epoch = granted ? granted : clock.epoch;
    script_separate();
    for (size_t i = 1; i < words; i++) {
        zkl_time left = zkl_clock_remaining(&clock, epoch, time_at(i));
        script_say("%s%s", i > 1 ? ", " : "", phases[zkl_clock_phase(&clock, epoch, time_at(i))]);
        if (left) script_say(" %.12g", in_seconds(left));
    }
}

static void say_time(const char *name, zkl_time time) {
    if (time == ZKL_NEVER) script_say("%s never", name);
    else script_say("%s %.12g", name, in_seconds(time - origin));
}

/* next <time>...: when time alone changes the phase */
static void tells_next(void) {
    script_separate();
    for (size_t i = 1; i < words; i++)
        say_time(i > 1 ? ", next" : "next", zkl_clock_next(&clock, time_at(i)));
}

/* may-grant [<time>], at which a stop ends */
static void may_grant(void) {
    if (words > 1) zkl_clock_attend(&clock, time_at(1));
    script_separate();
    script_say("%s", zkl_clock_may_grant(&clock) ? "yes" : "no");
}

/* show <field>... */
static void show(void) {
    script_separate();
    for (size_t i = 1; i < words; i++) {
        if (i > 1) script_say(", ");
        if (is(i, "proof")) say_time("proof", clock.proof);
        else if (is(i, "steady")) say_time("steady since", clock.steady_since);
        else if (is(i, "stops") && !clock.stops) script_say("no stop");
        else if (is(i, "stops"))
            script_say("stops %" PRIu64 " to %.12g", clock.stops,
                       in_seconds(clock.awake_since - origin));
        else script_say("epoch %" PRIu32 "%s", clock.epoch, clock.connected ? "" : " offline");
    }
}

/*
 * packets <time>... | <time>...: pings, then proofs. As in clock.h, the server may count T from the
 * newest packet that is T/4 older than the last proof, and a client's clock may be 5 % slow. Says
 * how long the last proof is certain, and when the server may end the session, both from that proof
 * on.
 */
static void packets(void) {
    zkl_time proof = time_at(words - 1), touch = time_at(1);
    bool proves = false;
    begin_at(origin, 0.5);
    for (size_t i = 1; i < words; i++) {
        if (is(i, "|")) proves = true;
        else if (proves) prove_at(time_at(i));
        if (!is(i, "|") && time_at(i) <= proof - T / 4) touch = time_at(i);
    }
    zkl_time certain = zkl_clock_remaining(&clock, clock.epoch, proof), ends = touch + T - proof;
    if (certain <= 0 || certain * 105 / 100 > ends) wrong = "it is certain for too long";
    script_separate();
    script_say("certain %.12g of %.12g", in_seconds(certain), in_seconds(ends));
}

static const struct {
    const char *names; /* between spaces */
    void (*play)(void);
} steps[] = {
    {" answer ", answers},
    {" at ", tells_phases},
    {" attend prove run ", passes},
    {" end retime start wanted ", negotiates},
    {" fresh steady ", begins},
    {" grant ", grants},
    {" may-grant ", may_grant},
    {" next ", tells_next},
    {" offline online ", connects},
    {" packets ", packets},
    {" show ", show},
};

static void script_play(const char *who) {
    char wanted[SCRIPT_LINE];
    (void)who;
    snprintf(wanted, sizeof wanted, " %s ", word[0]);
    wrong = "there is no such step";
    EACH(steps, i) {
        if (!strstr(steps[i].names, wanted)) continue;
        wrong = NULL;
        steps[i].play();
    }
}

static void script_begin(void) {
    clock = (struct zkl_clock){0};
    granted = 0;
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

int main(int argc, char **argv) {
    codes();
    origin = 1;
    script_files(argc, argv, "spec/core/clock.txt");
    origin = 1000 * ZKL_SECOND;
    return script_main(argc, argv, "spec/core/clock.txt");
}
