/*
 * call.h - a call, which is one request to ZooKeeper from the queue until its answer. The queue
 * owns it.
 *
 *     call = zkl_call_new(session, &kind, &asker);
 *     if (call) zkl_call_get(call, parent, name);           its answer goes to kind.answer
 */
#ifndef ZKL_SESSION_CALL_H
#define ZKL_SESSION_CALL_H

#include "../core/line.h"
#include "asker.h"
#include "reply.h"
#include "session.h"

struct call;

/* A kind of calls. Each file that asks defines its kinds, and gets their answers. */
struct call_kind {
    void (*answer)(const struct call *call, const struct answer *answer); /* or NULL */
    zkl_answer_form *is_sound; /* checks an answer without an error; NULL: any is sound */
    void (*unsent)(const struct call *call); /* called if it will not be sent, or NULL */
    bool makes_parent;
};

struct stake;
struct watch;

struct call {
    struct call *next, **link;
    struct zkl_session *session;
    const struct call_kind *kind;
    struct asker *asker; /* a reference; NULL: the session */
    struct zkl_rpc rpc;  /* as it is sent */
    struct zkl_op op;
    struct zkl_op *ops; /* the ops that it owns, with their paths; or NULL */
    zkl_time issued_at;
    char *node;          /* NULL: out of memory */
    struct watch *watch; /* set once the server has answered, or NULL */
    /* NONE, or it is not sent, and answered with this error. */
    enum zkl_error unsent_error;
    struct zkl_contender *contender; /* about which a stake asks; a reference, or NULL */
    union {                          /* by its kind */
        struct path *listed;
        size_t index;
        zkl_time orphan_look_at;
    };
};

/* NULL: out of memory. */
struct call *zkl_call_new(struct zkl_session *session, const struct call_kind *kind,
                          struct asker *asker);
/* These functions queue the call. It is about `parent`/`name`, or without a name about `parent`. */
void zkl_call_create(struct call *call, const char *parent, const char *name, const char *data,
                     enum zkl_node_mode mode);
/* A container, if the server knows containers. */
void zkl_call_create_parent(struct call *call, const char *node);
void zkl_call_delete(struct call *call, const char *parent, const char *name,
                     int32_t version); /* -1: any */
void zkl_call_set(struct call *call, const char *parent, const char *name, const char *data,
                  int32_t version); /* -1: any */
/*
 * Carries out all ops or none. The call is about the node of the first. The ops stay valid until
 * the answer.
 */
void zkl_call_transact(struct call *call, const struct zkl_op *ops, size_t count);
/* Likewise, with a copy of the ops that owns their paths. */
void zkl_call_transact_own(struct call *call, const struct zkl_op *ops, size_t count);
void zkl_call_list(struct call *call, const char *parent);
void zkl_call_sync(struct call *call, const char *node);
void zkl_call_get(struct call *call, const char *parent, const char *name);
/* Gets the stake's own node, or another in its path, with a watch. */
void zkl_call_watch_lock_node(struct call *call, struct stake *stake, const char *name, bool own);
/* A LIST, GET or EXISTS that sets a pinned watch. */
void zkl_call_set_pinned_watch(struct call *call, enum zkl_rpc_kind kind, struct watch *watch);
void zkl_call_unwatch(struct call *call, const char *node);
void zkl_call_mark_unsent(struct call *call, enum zkl_error error);
void zkl_call_unlink(struct call *call);
void zkl_call_free(struct call *call);
/* Index of the op that the server refused; if it does not say, their count. */
size_t zkl_call_refused_op(const struct call *call, const struct answer *answer);
/*
 * May learn from the answer of a parent's create that the server has no containers. False: the
 * parent exists, or another create of it follows.
 */
bool zkl_call_take_parent_answer(const struct call *call, const struct answer *answer);

#endif
