/* request.h - what users ask for and wait for: how it begins, and how it ends. */
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
    REQUEST_WAIT,
    REQUEST_RELEASE,
    REQUEST_QUEUE,
    REQUEST_GUARD,
    REQUEST_SIGNAL,
    REQUEST_REVOKE,
    REQUEST_BREAK,
    REQUEST_GET,
    REQUEST_CHILDREN,
    REQUEST_JOIN,
    REQUEST_SET, /* of a member's data */
    REQUEST_PAUSE,
    REQUEST_DRAIN
};

/* The request asks something of a lease that stands: the lease's loss ends it. */
static inline bool zkl_request_needs_lease(enum request_kind kind) {
    return kind == REQUEST_CHECK || kind == REQUEST_GUARD || kind == REQUEST_SIGNAL;
}

/* The handle on its grant that an acquire or a wait has for its user. */
enum request_handle {
    REQUEST_NO_HANDLE, /* no grant, or its user has taken it */
    REQUEST_HANDLE,
    REQUEST_HANDLE_AGAIN /* on a grant that its owner had already */
};

struct zkl_request {
    struct asker asker; /* first; counted by the caller, the list, stakes and calls */
    struct zkl_session *session;
    struct zkl_request *next, **link; /* in session->requests; link NULL: done */
    struct notice done_notice;
    zkl_time begun, deadline;
    uint64_t stops; /* of the process, that were over when it began */
    enum request_kind kind;
    enum zkl_code code;
    int error;           /* the server's error code behind `code` */
    zkl_time ask_at;     /* a part of its answer was lost: when to ask again; query.c */
    struct parts parts;  /* ACQUIRE, CHECK, DOWNGRADE, WAIT, RELEASE, GUARD, SIGNAL */
    char *path;          /* QUEUE, REVOKE, BREAK, GET, CHILDREN, SIGNAL */
    struct guard *guard; /* GUARD; SIGNAL: the writes, after the queue */
    unsigned effects;    /* GUARD, SIGNAL: transactions sent that may have had an effect */
    union {
        struct { /* ACQUIRE, WAIT: zkl_request_contends() */
            struct notice queued_notice;
            size_t position;
            struct hold hold;             /* of the handle, until the handle is taken */
            struct zkl_meter *meter;      /* of the lock's name, or NULL */
            struct zkl_conflict conflict; /* ZKL_CONFLICT */
            enum request_handle handle;
            enum zkl_kind lease_kind; /* the handle's */
            bool quiet;               /* its user does not ask for its place */
        };
        struct { /* QUEUE, SIGNAL: zkl_request_has_queue() */
            struct zkl_queued *queue;
            size_t queued;
            enum zkl_kind asked; /* the kind of the lock that asks */
            bool all;            /* SIGNAL: not only the first */
            size_t listed;       /* SIGNAL: entries of the queue that were visited */
            size_t signalled;    /* SIGNAL: waiters that it has signalled */
        };
        struct {        /* GET, CHILDREN, BREAK */
            char *data; /* of the node, with `size` bytes; CHILDREN: the names */
            size_t size;
            int32_t version; /* of the data; BREAK: the one expected */
        };
        struct zkl_request *next_leaving; /* RELEASE: in stake->leaving */
        struct zkl_member *member;        /* JOIN: counted, until it is taken */
        struct {                          /* SET */
            struct zkl_request *next_set; /* in member->sets */
            uint64_t number;              /* of its data */
        };
    };
};

/* The request ends by what becomes of its claim. */
static inline bool zkl_request_contends(const struct zkl_request *request) {
    return request->kind == REQUEST_ACQUIRE || request->kind == REQUEST_WAIT;
}

static inline bool zkl_request_has_queue(const struct zkl_request *request) {
    return request->kind == REQUEST_QUEUE || request->kind == REQUEST_SIGNAL;
}

/* What a guard writes, if its lease's nodes are there. */
struct guard {
    size_t checks, count; /* of the ops; the first `checks` of them check the own nodes */
    size_t refused;       /* which write was refused, from 1; 0: none */
    struct zkl_op ops[];
};

struct zkl_request *zkl_request_new(struct zkl_session *session, enum request_kind kind,
                                    zkl_time timeout);
/* The queue that it has, to be set anew or freed with the request. */
void zkl_request_forget_queue(struct zkl_request *request);
void zkl_request_finish(struct zkl_request *request, enum zkl_code code, int error);
void zkl_request_queued(struct zkl_request *request, size_t position); /* tells its place */
void zkl_request_end_by(struct zkl_request *request, struct zkl_conflict conflict);
enum zkl_use zkl_use_of(enum zkl_kind kind); /* of a claim whose tokens do not count */

void zkl_guard_free(struct guard *guard);
void zkl_op_forget(const struct zkl_op *op); /* its path and data */

#endif
