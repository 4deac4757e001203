/* call.h - requests queued or sent, and not yet answered. */
#ifndef ZKL_SESSION_CALL_H
#define ZKL_SESSION_CALL_H

#include "../core/line.h"
#include "reply.h"
#include "session.h"

enum call_kind {
    CALL_PARENT, /* create of a missing parent */
    CALL_CREATE,
    CALL_CREATE_ALL, /* create of the nodes of all parts of a multi-lock; one part asks */
    CALL_LIST,
    CALL_SYNC,
    CALL_GET_OWN,
    CALL_GET_AHEAD,
    CALL_RANK,
    CALL_DOWNGRADE,
    CALL_WAIT,    /* create of a waiter's node, and delete of the lock's */
    CALL_FORWARD, /* delete of a waiter's node, and the signal to the next one */
    CALL_REVISE,  /* get of the own node, whose data is not what DOWNGRADE or MARK took it to be */
    CALL_MARK,
    CALL_REMOVE,
    CALL_BEAT,       /* heartbeat */
    CALL_LOOK_SYNC,  /* sync before the list for orphans */
    CALL_LOOK_FIXED, /* get of the node of the fixed name, before that list */
    CALL_LOOK,       /* list for orphans */
    CALL_READY,      /* get of the chroot */
    CALL_CHECK_SYNC, /* zkl_check: the sync, and the get behind it */
    CALL_CHECK_GET,
    CALL_QUEUE_LIST,
    CALL_QUEUE_GET,
    CALL_GET,
    CALL_CHILDREN,
    CALL_REVOKE,
    CALL_BREAK,
    CALL_GUARD,
    CALL_WATCHER_EXISTS, /* a check, or a look: sets the watch, also if there is no node */
    CALL_WATCHER_GET,    /* a look: reads the node */
    CALL_MEMBER_PARENT,  /* create of a missing parent */
    CALL_MEMBER_CREATE,
    CALL_MEMBER_GET,    /* whose node it is */
    CALL_MEMBER_EXISTS, /* the same of one that may not be read */
    CALL_MEMBER_SET,
    CALL_MEMBER_REMOVE,
    CALL_ROSTER_LIST,
    CALL_ROSTER_EXISTS, /* there is no folder: hears that it is made */
    CALL_ROSTER_GET,    /* reads a member */
    CALL_UNWATCH        /* a watch that nobody wants any more is removed */
};

struct watch;

struct call {
    struct call *next, **link; /* in session->calls, in the order of the requests */
    struct zkl_session *session;
    uint64_t id;
    enum call_kind kind;
    struct zkl_rpc rpc;
    struct zkl_op op;   /* of a WRITE */
    struct zkl_op *ops; /* of a MULTI, with their paths, if it owns them; else NULL */
    zkl_time issued;
    char *node;    /* what the request is about; NULL: out of memory */
    bool watching; /* a watch on it is set, if the answer comes */
    bool unsent;   /* it is answered as not sent when those before it are answered */
    bool unknown;  /* unsent, and answered as by a server that does not know the operation */
    union {        /* what asked for it, counted, and what the question is about */
        struct {   /* PARENT to REMOVE */
            struct stake *stake;
            struct zkl_contender *contender; /* counted, or NULL */
            struct path *listed;             /* LIST: counted in its `lists`; NULL: never sent */
        };
        struct { /* READY to GUARD */
            struct zkl_request *request;
            size_t index; /* QUEUE_GET: which entry; CHECK_GET: which stake */
        };
        struct zkl_watcher *watcher; /* WATCHER_EXISTS, WATCHER_GET */
        struct zkl_member *member;   /* MEMBER_PARENT to MEMBER_REMOVE */
        struct zkl_roster *roster;   /* ROSTER_LIST to ROSTER_GET */
        zkl_time look_at;            /* LOOK_SYNC to LOOK: what path->look_at was set to with it */
    };
};

/* The stake that asked for the call; NULL: something else did. */
static inline struct stake *zkl_call_stake(const struct call *call) {
    return call->kind <= CALL_REMOVE ? call->stake : NULL;
}

static inline struct zkl_request *zkl_call_request(const struct call *call) {
    return call->kind >= CALL_READY && call->kind <= CALL_GUARD ? call->request : NULL;
}

static inline struct zkl_watcher *zkl_call_watcher(const struct call *call) {
    bool its = call->kind == CALL_WATCHER_EXISTS || call->kind == CALL_WATCHER_GET;
    return its ? call->watcher : NULL;
}

static inline struct zkl_member *zkl_call_member(const struct call *call) {
    bool its = call->kind >= CALL_MEMBER_PARENT && call->kind <= CALL_MEMBER_REMOVE;
    return its ? call->member : NULL;
}

static inline struct zkl_roster *zkl_call_roster(const struct call *call) {
    bool its = call->kind >= CALL_ROSTER_LIST && call->kind <= CALL_ROSTER_GET;
    return its ? call->roster : NULL;
}

struct call *zkl_call_new(struct zkl_session *session, enum call_kind kind, struct stake *stake,
                          struct zkl_request *request); /* NULL: out of memory */
/* These put the call into the queue. It is about the node parent, or parent/name. */
void zkl_call_create(struct call *call, const char *parent, const char *name, const char *data,
                     enum zkl_node_mode mode);
/* A container, if the server has any. */
void zkl_call_create_parent(struct call *call, const char *node);
void zkl_call_delete(struct call *call, const char *parent, const char *name,
                     int32_t version); /* -1: whatever it is */
void zkl_call_set(struct call *call, const char *parent, const char *name, const char *data,
                  int32_t version); /* -1: whatever it is */
/*
 * One transaction: all ops or none. The call is about the node of the first op. The ops stay as
 * they are until the answer.
 */
void zkl_call_transact(struct call *call, const struct zkl_op *ops, size_t count);
/* The same with a copy of the ops, whose paths are the call's own from now on. */
void zkl_call_transact_own(struct call *call, const struct zkl_op *ops, size_t count);
void zkl_call_list(struct call *call, const char *parent);
void zkl_call_sync(struct call *call, const char *node);
void zkl_call_get(struct call *call, const char *parent, const char *name);
/* A get with a watch: of CALL_GET_OWN the own node's, else another's. */
void zkl_call_watch(struct call *call, const char *parent, const char *name);
/* A LIST, GET or EXISTS that sets a watch which is pinned. */
void zkl_call_set_watch(struct call *call, enum zkl_rpc_kind kind, struct watch *watch);
void zkl_call_unwatch(struct call *call, const char *node);
void zkl_call_mark_unsent(struct call *call); /* it will not be sent */
void zkl_call_unlink(struct call *call);      /* out of the queue */
void zkl_call_free(struct call *call);
/* Which operation the server refused, from 0; the number of operations: the server does not say. */
size_t zkl_call_refused(const struct call *call, const struct answer *answer);
/* Of a parent's create. False: the node is there, or another create of it will follow. */
bool zkl_call_parent_matters(const struct call *call, const struct answer *answer);

#endif
