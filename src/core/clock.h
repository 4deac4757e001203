/*
 * clock.h - the lease clock: what a session may believe about its leases
 * without asking anybody.
 *
 * The server ends a session when it has not heard of it for the session
 * timeout T. The client cannot see that; it can only know that at some moment
 * the session was alive for certain. That moment is the *proof*: the time at
 * which the last acknowledged sync or write was ISSUED (not answered: the
 * answer may have waited in a socket). Reads, pings and events prove nothing:
 * a follower that was cut off from its leader goes on answering them.
 *
 *      proof            proof + certain          proof + T
 *        |------ held ------|------ suspect ------|------ lost, for good ...
 *
 * `held` also needs a live connection. `certain` is margin x T, and less until
 * proofs have come steadily for a while. Why: a follower tells the leader every
 * half tick which sessions it heard, and T is at least two ticks. So the leader
 * may not yet know of any packet of the last T/4 before the proof; its last touch
 * is the packet before those, a gap earlier.
 *   gap <= T/5 (heartbeats, every T/6):               T - T/4 - T/5 = 0.550 T  >= 1/2 T
 *   gap <= T/3 + T/12 (libzookeeper's ping; a stop):  T - T/4 - T/3 - T/12
 *                                                                   = 0.333 T  >= 5/16 T
 * with 5 % left for a clock that runs slow. The first line holds once a chain of
 * proofs, none more than T/5 apart, reaches back T/4 (4/15 T, for a clock that
 * runs fast): `steady_since`. The second holds once the process has run for as
 * long without a stop of more than T/12: `awake_since`; the owner of the clock
 * shows that by zkl_clock_attend(). Until then a proof makes nothing certain. A
 * process begins before its session, so without a stop it counts as awake.
 *
 * A sync is no quorum operation: a leader that was stopped, and deposed meanwhile, still
 * acknowledges those that waited for it. The new leader grants every session T from a moment after
 * the stop. So of the proofs that waited, only those issued more than T/2 after the stop claim too
 * much; and ahead of them others had waited for longer than T/4. Therefore, when a proof was
 * answered that late, the chain begins anew with the answer. libzookeeper gives a silent server up
 * after 2/3 T: 2/3 T + 5/16 T < T.
 * Source: ZooKeeper's SessionTrackerImpl, ExpiryQueue, Learner.ping,
 * Leader.processSync and zookeeper_interest.
 *
 * A clock that ran out never revives what was granted before: its `epoch` is
 * raised, and a lease of an older epoch is lost for good.
 *
 * Pure: time is an argument. The owner of the clock serialises the calls.
 */
#ifndef ZKL_CLOCK_H
#define ZKL_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Nanoseconds since any fixed point, such as the machine's boot. Never goes backwards; counts
 * suspend. A time that was seen is more than 0; where a field says so, 0 is no time.
 */
typedef int64_t zkl_time;

#define ZKL_NEVER INT64_MAX
#define ZKL_SECOND INT64_C(1000000000)

static inline zkl_time zkl_earlier(zkl_time a, zkl_time b) {
    return a < b ? a : b;
}

enum zkl_phase { ZKL_PHASE_HELD, ZKL_PHASE_SUSPECT, ZKL_PHASE_LOST };

struct zkl_clock {
    zkl_time timeout;      /* session timeout; 0: there is no session */
    zkl_time margin;       /* how long a proof counts as certain, at most timeout/2 */
    zkl_time certain;      /* until then the session lives, by all proofs so far */
    zkl_time proof;        /* issue time of the last acknowledged sync or write */
    zkl_time steady_since; /* the first of the chain of proofs, T/5 apart at most */
    zkl_time attended;     /* the last time that the process was seen to run; 0: never yet */
    zkl_time awake_since;  /* the end of its last stop; 0: there was none */
    zkl_time patience;     /* more than this between two calls of zkl_clock_attend() is a
                              stop; 0: not known yet */
    bool connected;
    uint32_t epoch; /* raised whenever everything granted before is lost */
    uint64_t stops; /* how many there were */
};

/*
 * A session began, at `issued`: that is no proof, and nothing is certain before the first one.
 * `margin` is a part of the timeout in (0, 0.5].
 */
void zkl_clock_start(struct zkl_clock *clock, zkl_time timeout, double margin, zkl_time issued);

/*
 * The server negotiated another timeout for the same session, at a reconnect. What ran out
 * by the old one is lost, and then nothing is certain before the next proof.
 */
void zkl_clock_retime(struct zkl_clock *clock, zkl_time timeout, double margin, zkl_time now);

/* The session ended: expired or closed. Everything granted in it is lost. */
void zkl_clock_stop(struct zkl_clock *clock);

/* The process runs: to be called every T/24, from the moment a connection is sought. */
void zkl_clock_attend(struct zkl_clock *clock, zkl_time now);

/* A sync or write that was issued at `issued` was acknowledged at `now`. */
void zkl_clock_prove(struct zkl_clock *clock, zkl_time issued, zkl_time now);

/* What a lease granted in `epoch` is worth at `now`. */
enum zkl_phase zkl_clock_phase(const struct zkl_clock *clock, uint32_t epoch, zkl_time now);

/* For how long "held" is certain without further contact; 0 if it is not. */
zkl_time zkl_clock_remaining(const struct zkl_clock *clock, uint32_t epoch, zkl_time now);

/*
 * A claim that is first could be granted: an earlier proof still counts, or one that is sent now
 * will. After a stop no proof counts for a while. Judged by the time of the last
 * zkl_clock_attend().
 */
bool zkl_clock_may_grant(const struct zkl_clock *clock);

/* From when proofs count again, after the last stop; 0: there was none. */
zkl_time zkl_clock_grants_from(const struct zkl_clock *clock);

/* When the phase of a current lease changes next by time alone. */
zkl_time zkl_clock_next(const struct zkl_clock *clock, zkl_time now);

#endif
