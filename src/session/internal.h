/* internal.h - the session itself, for all parts of it. */
#ifndef ZKL_SESSION_INTERNAL_H
#define ZKL_SESSION_INTERNAL_H

#include "../core/claim.h"
#include "follower.h"
#include "path.h"
#include "watches.h"

/* Numbers from 1 to `count`, each of a request or free. */
struct numbers {
    uint64_t count, *free; /* `free_count` of them, with room for `room` */
    size_t free_count, room;
};

/* The part of its service that users may still ask for. */
enum service {
    SERVICE_FULL,
    SERVICE_DRAINS, /* no new acquire, after zkl_session_drain() */
    SERVICE_CLOSES  /* nothing, after zkl_session_close() */
};

#define STATE_NEWS 16 /* state changes that wait for a reader */

#define EARLIER 16

struct zkl_session {
    char *identity;
    double margin;
    zkl_time now; /* as the shell said last */
    zkl_time due; /* for what came in since the last tick; ZKL_NEVER: nothing */

    enum zkl_session_state state;
    struct zkl_common common;
    enum service service;
    enum zkl_node_mode parents; /* containers, until a server does not know them */
    /* OK: after an expiry a new session follows; else why not: EXPIRED, or AUTH: refused. */
    enum zkl_code after_expiry;
    zkl_time first_question_at; /* ZKL_NEVER: not before the shell says so */
    zkl_time busy_since;        /* since when there are stakes */
    zkl_time last_beat;

    struct path *paths[PATH_BUCKETS], *idle_paths;
    struct remembered remembered[REMEMBERED];
    struct stake *stakes, **stakes_end;  /* in order of arrival */
    bool starving;                       /* one of them has `starved` set */
    const struct call_kind *stake_calls; /* by enum stake_call */
    struct stake *fed;                   /* the stake that is fed the event next */
    struct call *calls, **calls_end;     /* in order; behind those that are out ... */
    struct call *to_send;                /* ... the first that is not sent */
    struct zkl_request *requests;
    struct follower *followers[FOLLOWER_KINDS];
    uint64_t earlier[EARLIER]; /* ids of its ZooKeeper sessions before this one; 0: none */
    size_t expired;            /* how many there were; the next one's place, modulo EARLIER */
    struct watches watches;
    const struct zkl_yielding *yielding;
    size_t node_bytes;    /* of the paths of nodes that stakes have, or may make; see stake.c */
    size_t leaving_bytes; /* of those, of kept nodes that go to make room */
    uint64_t last_id;
    struct numbers numbers; /* of requests */
    uint64_t random;        /* of pauses */
    int64_t created;        /* czxid of the newest create of this ZooKeeper session */
    struct zkl_stats stats;
    struct zkl_totals totals; /* but for what `stats` and `state` tell */
    bool tells_steps;
    struct step *steps, **steps_end; /* not taken yet, `step_count` of them */
    struct step *step_told;          /* the one that was taken last, or NULL */
    size_t step_count;

    struct notice *inbox, **inbox_end;
    enum zkl_session_state changes[STATE_NEWS];
    size_t change_first, change_count;
    bool news; /* events were added, and the shell was not told */
};

/* The session has something to do by then. */
static inline void zkl_session_wake(struct zkl_session *session, zkl_time due) {
    if (due < session->due) session->due = due;
}

/* The time that long from now; ZKL_NEVER stays ZKL_NEVER. */
static inline zkl_time zkl_session_after(const struct zkl_session *session, zkl_time timeout) {
    return timeout >= ZKL_NEVER - session->now ? ZKL_NEVER : session->now + timeout;
}

#endif
