/*
 * request.h - a request, for which a user waits. The user and, until it is done, the session's list
 * hold references.
 *
 *     request = zkl_request_new(session, REQUEST_CHECK, timeout);
 *     zkl_request_finish(request, ZKL_OK, 0);                 posts its event
 */
#ifndef ZKL_SESSION_REQUEST_H
#define ZKL_SESSION_REQUEST_H

#include "events.h"
#include "hold.h"
#include "parts.h"

enum request_kind {
    REQUEST_READY,
    REQUEST_ACQUIRE,
    REQUEST_CHECK,
    REQUEST_DOWNGRADE,
    REQUEST_WAIT, /* in a condition */
    REQUEST_RELEASE,
    REQUEST_QUEUE,
    REQUEST_GUARD,
    REQUEST_SIGNAL,
    REQUEST_REVOKE,
    REQUEST_BREAK,
    REQUEST_GET,
    REQUEST_CHILDREN,
    REQUEST_JOIN,
    REQUEST_SET, /* a member's data */
    REQUEST_PAUSE,
    REQUEST_DRAIN
};

static inline bool zkl_request_ends_with_lease(enum request_kind kind) {
    return kind == REQUEST_CHECK || kind == REQUEST_GUARD || kind == REQUEST_SIGNAL;
}

/* The handle that a done acquire holds until its user takes it. */
enum request_handle {
    REQUEST_NO_HANDLE, /* not granted, or taken */
    REQUEST_HANDLE,
    REQUEST_HANDLE_AGAIN /* by re-entry */
};

struct zkl_request {
    struct asker asker; /* first */
    struct zkl_session *session;
    struct zkl_request *next, **link; /* in session->requests; link NULL: done */
    struct notice done_notice;
    zkl_time begun_at, deadline;
    uint64_t stops; /* the clock's count of stops at its begin (stops_over) */
    enum request_kind kind;
    enum zkl_code code;
    int error;           /* the server's error code for `code` */
    zkl_time ask_at;     /* when to ask again; 0: no answer was lost (query.c) */
    struct parts parts;  /* ACQUIRE, CHECK, DOWNGRADE, WAIT, RELEASE, GUARD, SIGNAL */
    char *path;          /* QUEUE, REVOKE, BREAK, GET, CHILDREN, SIGNAL */
    struct guard *guard; /* GUARD; SIGNAL: once it has the queue */
    unsigned effects;    /* GUARD, SIGNAL: sent transactions that may have an effect */
    union {
        struct { /* ACQUIRE, WAIT: zkl_request_ends_with_claim() */
            struct notice queued_notice;
            size_t position;
            struct hold hold;             /* until the handle is taken */
            struct zkl_meter *meter;      /* by the lock's name, or NULL */
            struct zkl_conflict conflict; /* with ZKL_CONFLICT */
            enum request_handle handle;
            enum zkl_kind lease_kind;
            bool quiet; /* no event tells its place */
        };
        struct { /* QUEUE, SIGNAL: zkl_request_has_queue() */
            struct zkl_queued *queue;
            size_t queue_length;
            enum zkl_kind lock_kind; /* kind of the lock */
            bool signal_all;         /* SIGNAL: all waiters */
            size_t visited;          /* SIGNAL: entries of the queue visited so far */
            size_t signal_count;     /* SIGNAL: waiters signalled so far */
        };
        struct {        /* GET, CHILDREN, BREAK */
            char *data; /* `size` bytes of the node; CHILDREN: the names */
            size_t size;
            int32_t version; /* version of `data`; BREAK: the expected version */
        };
        struct zkl_request *next_release; /* RELEASE: in stake->releases */
        struct zkl_member *member;        /* JOIN: a reference, until it is taken */
        struct {                          /* SET */
            struct zkl_request *next_set; /* in member->sets */
            uint64_t data_number;
        };
    };
};

static inline bool zkl_request_ends_with_claim(const struct zkl_request *request) {
    return request->kind == REQUEST_ACQUIRE || request->kind == REQUEST_WAIT;
}

static inline bool zkl_request_has_queue(const struct zkl_request *request) {
    return request->kind == REQUEST_QUEUE || request->kind == REQUEST_SIGNAL;
}

/* Writes that need the lease's nodes. */
struct guard {
    size_t checks, count; /* numbers of checks of own nodes, which come first, and of all ops */
    size_t refused_op;    /* index of the refused write, from 1; 0: none */
    struct zkl_op ops[];
};

struct zkl_request *zkl_request_new(struct zkl_session *session, enum request_kind kind,
                                    zkl_time timeout);
void zkl_request_free_queue(struct zkl_request *request);
void zkl_request_finish(struct zkl_request *request, enum zkl_code code, int error);
void zkl_request_post_position(struct zkl_request *request, size_t position);
void zkl_request_finish_conflict(struct zkl_request *request, struct zkl_conflict conflict);
enum zkl_use zkl_use_of(enum zkl_kind kind); /* for claims whose tokens do not count */

void zkl_guard_free(struct guard *guard);
void zkl_op_free(const struct zkl_op *op); /* frees its path and data */

#endif
