/*
 * clock.h - the lease clock, which knows without a request how long a session's leases are certain.
 *
 * It is pure, and time is an argument. A line's zkl_common owns it; the owner serialises the calls.
 *
 *     zkl_clock_start(&clock, timeout, 0.5, now);      a session begins
 *     zkl_clock_prove(&clock, issued, now);            at each acknowledged sync or write
 *     zkl_clock_phase(&clock, epoch, now);             HELD, SUSPECT or LOST
 *
 * The *proof* is the time at which the last acknowledged sync or write was ISSUED, because its
 * answer may have waited in a socket. Reads, pings and events prove nothing, because a follower
 * that was cut off from its leader goes on answering them. The server ends the session when it has
 * not heard of it for the session timeout T.
 *
 *      proof            proof + certain          proof + T
 *        |------ held ------|------ suspect ------|------ lost, for good ...
 *
 * `held` also needs a live connection. `certain` is margin x T, and less until proofs have come
 * steadily for a while. A follower tells the leader every half tick which sessions it heard, and T
 * is at least two ticks. So the leader may not know yet of any packet of the last T/4 before the
 * proof. Its last touch is the packet before those, a gap earlier.
 *   gap <= T/5 (heartbeats, every T/6):               T - T/4 - T/5 = 0.550 T  >= 1/2 T
 *   gap <= T/3 + T/12 (libzookeeper's ping; a stop):  T - T/4 - T/3 - T/12
 *                                                                   = 0.333 T  >= 5/16 T
 * with 5 % left for a clock that runs slow. The first line holds once a chain of proofs, none more
 * than T/5 apart, reaches back T/4 (`steady_since`; 4/15 T, for a clock that runs fast). The second
 * holds once the process has run for as long without a stop of more than T/12 (`awake_since`).
 * Until then a proof makes nothing certain. A process begins before its session, so it begins
 * awake.
 *
 * A sync is no quorum operation. A leader that was stopped, and deposed meanwhile, still
 * acknowledges the syncs that waited for it, while the new leader grants every session T from a
 * moment after the stop. So only proofs issued more than T/2 after the stop claim too much, and
 * ahead of them others had waited for longer than T/4. Therefore the chain begins anew at the
 * answer of a proof that was answered that late. libzookeeper gives a silent server up after 2/3 T,
 * and 2/3 T + 5/16 T < T. Source: ZooKeeper's SessionTrackerImpl, ExpiryQueue, Learner.ping,
 * Leader.processSync and zookeeper_interest.
 *
 * A clock that ran out revives no earlier grant, because it raises its `epoch`.
 */
#ifndef ZKL_CLOCK_H
#define ZKL_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Nanoseconds since a fixed point, such as the machine's boot. Never goes backwards; counts
 * suspend. A time that was seen is above 0; where a field says so, 0 is no time.
 */
typedef int64_t zkl_time;

#define ZKL_NEVER INT64_MAX
#define ZKL_SECOND INT64_C(1000000000)

static inline zkl_time zkl_earlier(zkl_time a, zkl_time b) {
    return a < b ? a : b;
}

enum zkl_phase { ZKL_PHASE_HELD, ZKL_PHASE_SUSPECT, ZKL_PHASE_LOST };

struct zkl_clock {
    zkl_time timeout;       /* session timeout; 0: no session */
    zkl_time margin;        /* how long a proof counts as certain */
    zkl_time certain_until; /* the session lives at least until then, by all proofs so far */
    zkl_time proof;         /* issue time of the last acknowledged sync or write */
    zkl_time steady_since;  /* begin of the chain of proofs, T/5 apart at most */
    zkl_time attended;      /* last time that the process was seen to run; 0: never */
    zkl_time awake_since;   /* end of its last stop; 0: none */
    zkl_time attend_within; /* longest time between calls of zkl_clock_attend() without a stop */
    bool connected;
    uint32_t epoch; /* raised whenever all earlier grants are lost */
    uint64_t stops; /* number of stops */
};

/* A session began at `issued`, which is no proof. `margin` is a part of the timeout in (0, 0.5]. */
void zkl_clock_start(struct zkl_clock *clock, zkl_time timeout, double margin, zkl_time issued);

/*
 * The server negotiated another timeout for the same session. If the clock has run out by the old
 * timeout, all grants are lost, and nothing is certain before the next proof.
 */
void zkl_clock_retime(struct zkl_clock *clock, zkl_time timeout, double margin, zkl_time now);

/* The session is over, and all its grants are lost. */
void zkl_clock_end(struct zkl_clock *clock);

/* The process runs. Called every T/24, from the moment a connection is sought. */
void zkl_clock_attend(struct zkl_clock *clock, zkl_time now);

/* A sync or write issued at `issued` was acknowledged at `now`. */
void zkl_clock_prove(struct zkl_clock *clock, zkl_time issued, zkl_time now);

/* The phase at `now` of a lease granted in `epoch`. */
enum zkl_phase zkl_clock_phase(const struct zkl_clock *clock, uint32_t epoch, zkl_time now);

/* How long the phase stays HELD without further contact; 0: it is not. */
zkl_time zkl_clock_remaining(const struct zkl_clock *clock, uint32_t epoch, zkl_time now);

/*
 * A claim that is first could be granted, by an earlier proof or by a sync sent now, at the time of
 * the last zkl_clock_attend().
 */
bool zkl_clock_may_grant(const struct zkl_clock *clock);

/* When proofs count again after the last stop; 0: no stop. */
zkl_time zkl_clock_grants_from(const struct zkl_clock *clock);

/* When time alone next changes the phase of a current lease. */
zkl_time zkl_clock_next(const struct zkl_clock *clock, zkl_time now);

#endif
