/* internal.h - the struct of a session, for src/session alone. */
#ifndef ZKL_SESSION_INTERNAL_H
#define ZKL_SESSION_INTERNAL_H

#include "../core/claim.h"
#include "follower.h"
#include "path.h"
#include "watches.h"

/* Ids of requests, from 1 to `count`. Each is in use or free. */
struct request_numbers {
    uint64_t count, *free; /* `free_count` of them, in space for `capacity` */
    size_t free_count, capacity;
};

enum service {
    SERVICE_OPEN,
    SERVICE_DRAINING,   /* no new acquire, after zkl_session_drain() */
    SERVICE_TO_HOLDERS, /* nor a wait in a condition, after a drain that serves no waiters */
    SERVICE_CLOSING     /* nothing, after zkl_session_close() */
};

enum { STATE_NEWS = 16, EARLIER_SESSIONS = 16 };

struct zkl_session {
    char *identity;
    double margin;
    zkl_time now;            /* by the last zkl_session_at() */
    zkl_time due_since_tick; /* set by input */

    enum zkl_session_state state;
    struct zkl_common common;
    enum service service;
    enum zkl_node_mode parents; /* containers, until a server does not know them */
    /* OK: after an expiry a new session follows. Else requests get this code, EXPIRED or AUTH. */
    enum zkl_code after_expiry;
    zkl_time ready_from; /* when zkl_session_ready() may ask; ZKL_NEVER: not yet */
    zkl_time busy_since; /* since when stakes exist */
    zkl_time last_beat_at;

    struct path *paths[PATH_BUCKETS], *idle_paths;
    struct old_backoff old_backoffs[OLD_BACKOFFS];
    struct stake *stakes, **stakes_end;  /* by arrival */
    bool has_unallocated;                /* a stake has unallocated calls */
    const struct call_kind *stake_calls; /* by enum stake_call */
    struct stake *next_to_feed;          /* an event */
    struct call *calls, **calls_end;     /* in order, first the calls that are out, */
    struct call *to_send;                /* then from here the calls to send */
    struct zkl_request *requests;
    struct follower *followers[FOLLOWER_KINDS];
    uint64_t earlier_sessions[EARLIER_SESSIONS]; /* a ring of the last ids; 0: none */
    size_t earlier_count;                        /* not only those in the ring */
    struct watches watches;
    const struct zkl_yielding *yielding;
    size_t node_bytes;    /* paths of nodes that stakes and members own or may make */
    size_t leaving_bytes; /* among them, of kept nodes given up for room */
    uint64_t last_id;
    struct request_numbers request_numbers;
    uint64_t random;
    int64_t newest_czxid; /* czxid of the newest create of this ZooKeeper session */
    struct zkl_stats stats;
    struct zkl_totals totals; /* without `stats` and `sessions` */
    bool tells_steps;
    struct step *steps, **steps_end; /* not taken yet, `step_count` of them */
    struct step *taken_step;         /* until the next is taken; or NULL */
    size_t step_count;

    struct notice *inbox, **inbox_end;
    enum zkl_session_state changes[STATE_NEWS]; /* a ring of unread state changes */
    size_t change_first, change_count;
    bool news; /* since zkl_session_take_news() */
};

static inline void zkl_session_tick_by(struct zkl_session *session, zkl_time due) {
    if (due < session->due_since_tick) session->due_since_tick = due;
}

/* ZKL_NEVER stays ZKL_NEVER. */
static inline zkl_time zkl_session_after(const struct zkl_session *session, zkl_time timeout) {
    return timeout >= ZKL_NEVER - session->now ? ZKL_NEVER : session->now + timeout;
}

#endif
