/*
 * clock.h - the lease clock, which knows without a request how long a session's leases are certain.
 *
 * It is pure, and time is an argument. zkl_common (line.h) owns it, and its owner serialises the
 * calls.
 *
 *     zkl_clock_start(&clock, timeout, 0.5, now);      a session begins
 *     zkl_clock_prove(&clock, issued, now);            at each acknowledged sync or write
 *     zkl_clock_phase(&clock, epoch, now);             HELD, SUSPECT or LOST
 *
 * The *proof* is the time at which the last acknowledged sync or write was ISSUED, because its
 * answer may have waited in a socket. Reads, pings and events prove nothing, because a follower
 * that was cut off from its leader goes on answering them. The server ends a session from which
 * it has heard nothing for the session timeout T.
 *
 *      proof            proof + certain          proof + T
 *        |------ held ------|------ suspect ------|------ lost, for good ...
 *
 * `held` also needs a live connection. `certain` is margin x T, and less until proofs have come
 * steadily for a while. A follower tells the leader every half tick from which sessions it heard,
 * and T is at least two ticks. So the leader may not know yet of the packets of the T/4 before the
 * proof. In the worst case it counts T from a packet older than these by one gap between packets:
 *   gap <= T/5, as heartbeats come every T/6:  T - T/4 - T/5        = 0.550 T  >= 1/2 T
 *   gap <= T/3 + T/12:                         T - T/4 - T/3 - T/12 = 0.333 T  >= 5/16 T
 * The second gap is from libzookeeper's ping, every T/3, and a pause too short to be a stop. A stop
 * is a time of more than T/12 in which the process did not run. This leaves 5 % for a clock that
 * runs slow.
 *
 * The first line holds once a chain of proofs, none more than T/5 apart, reaches back 4/15 T
 * (`steady_since`), which is T/4 on a clock that runs fast. The second line holds for a proof
 * issued at least 4/15 T after the end of the last stop (`awake_since`). A lone proof issued sooner
 * makes nothing certain. A process that has not stopped need not wait, because it ran when its
 * session's packets were due.
 *
 * A sync is no quorum operation. A leader that stopped, and was deposed meanwhile, still
 * acknowledges the syncs that waited for it, while the new leader counts T for every session from a
 * moment after that stop. As `certain` is at most T/2, a proof does harm only if issued more than
 * T/2 after the leader stopped. Then an earlier proof of the same chain took more than T/4 to be
 * answered. So a proof that takes that long begins the chain anew, at its answer. A lone proof is
 * certain for 5/16 T, and libzookeeper gives a silent server up after 2/3 T, together less than T.
 * Source: ZooKeeper's SessionTrackerImpl, ExpiryQueue, Learner.ping, Leader.processSync and
 * zookeeper_interest.
 *
 * A proof after the clock ran out raises the `epoch`, so it revives no earlier grant.
 */
#ifndef ZKL_CLOCK_H
#define ZKL_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Nanoseconds since a fixed point, such as the machine's boot. Never goes backwards; counts
 * suspend. The present is always above 0; where a field says so, 0 is no time.
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
    zkl_time margin;        /* the margin times the timeout; the longest `certain` */
    zkl_time certain_until; /* by all proofs so far, the session lives at least until then */
    zkl_time proof;         /* issue time of the last acknowledged sync or write */
    zkl_time steady_since;  /* begin of the present chain of proofs, T/5 apart at most */
    zkl_time attended;      /* last time that the process was seen to run; 0: never */
    zkl_time awake_since;   /* end of the process's last stop; 0: it never stopped */
    zkl_time attend_within; /* a longer time between calls of zkl_clock_attend() is a stop */
    bool connected;
    uint32_t epoch; /* raised whenever all earlier grants are lost */
    uint64_t stops; /* number of stops of the process */
};

/* A session was asked for at `issued`, which is no proof. `margin` is a part of the timeout in (0,
 * 0.5]. */
void zkl_clock_start(struct zkl_clock *clock, zkl_time timeout, double margin, zkl_time issued);

/*
 * The server negotiated another timeout for the same session. If the clock has run out by the old
 * timeout, all grants are lost, and nothing is certain before the next proof.
 */
void zkl_clock_retime(struct zkl_clock *clock, zkl_time timeout, double margin, zkl_time now);

/* The session is over, and all its grants are lost. */
void zkl_clock_end(struct zkl_clock *clock);

/* The process runs. The owner calls this every T/24 from its first attempt to connect on. */
void zkl_clock_attend(struct zkl_clock *clock, zkl_time now);

/* A sync or write issued at `issued` was acknowledged at `now`. */
void zkl_clock_prove(struct zkl_clock *clock, zkl_time issued, zkl_time now);

enum zkl_phase zkl_clock_phase(const struct zkl_clock *clock, uint32_t epoch, zkl_time now);

/* How long the phase stays HELD without further contact; 0: it is not HELD. */
zkl_time zkl_clock_remaining(const struct zkl_clock *clock, uint32_t epoch, zkl_time now);

/*
 * True if an earlier proof, or a sync sent at the last zkl_clock_attend(), could grant a claim that
 * is first.
 */
bool zkl_clock_may_grant(const struct zkl_clock *clock);

/* When a lone proof counts again after the last stop; 0: no stop. */
zkl_time zkl_clock_grants_from(const struct zkl_clock *clock);

/* When time alone next changes the phase of a lease of the present epoch. */
zkl_time zkl_clock_next(const struct zkl_clock *clock, zkl_time now);

#endif
