/* call.h - requests queued or sent, and not yet answered. */
#ifndef ZKL_SESSION_CALL_H
#define ZKL_SESSION_CALL_H

#include "../core/line.h"
#include "asker.h"
#include "reply.h"
#include "session.h"

struct call;

/*
 * A kind of calls. Each file that asks for something has its own kinds, as constants, and is handed
 * their answers.
 */
struct call_kind {
    void (*answer)(const struct call *call, const struct answer *answer); /* NULL: of no interest */
    zkl_answer_form *is_sound; /* an answer without an error has this form; NULL: any */
    void (*unsent)(const struct call *call); /* it will not be sent; NULL: the answer says so */
    bool makes_parent;
};

struct stake;
struct watch;

struct call {
    struct call *next, **link; /* in session->calls, in the order of the requests */
    struct zkl_session *session;
    const struct call_kind *kind;
    struct asker *asker; /* counted; NULL: the session itself */
    struct zkl_rpc rpc;  /* the part of it that a server hears */
    struct zkl_op op;    /* a WRITE has it */
    struct zkl_op *ops;  /* a MULTI may own them, with their paths; else NULL */
    zkl_time issued;
    char *node;          /* the node that is asked about; NULL: out of memory */
    struct watch *watch; /* it is set, if the answer comes; or NULL */
    /* NONE: a server answers. Else it is not sent: this answers it, after those before it. */
    enum zkl_error unsent;
    struct zkl_contender *contender; /* a stake's question is about it: counted, or NULL */
    union {                          /* more of the question, as its kind says */
        struct path *listed;
        size_t index;
        zkl_time look_at;
    };
};

/* NULL: out of memory. */
struct call *zkl_call_new(struct zkl_session *session, const struct call_kind *kind,
                          struct asker *asker);
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
 * A transaction carries out all ops or none. The call is about the node of the first op. The ops
 * stay as they are until the answer.
 */
void zkl_call_transact(struct call *call, const struct zkl_op *ops, size_t count);
/* The same with a copy of the ops, whose paths are the call's own from now on. */
void zkl_call_transact_own(struct call *call, const struct zkl_op *ops, size_t count);
void zkl_call_list(struct call *call, const char *parent);
void zkl_call_sync(struct call *call, const char *node);
void zkl_call_get(struct call *call, const char *parent, const char *name);
/* A get of the stake's own node, or of another one in its path, with a watch. */
void zkl_call_watch(struct call *call, struct stake *stake, const char *name, bool own);
/* A LIST, GET or EXISTS that sets a watch which is pinned. */
void zkl_call_set_watch(struct call *call, enum zkl_rpc_kind kind, struct watch *watch);
void zkl_call_unwatch(struct call *call, const char *node);
void zkl_call_mark_unsent(struct call *call, enum zkl_error error); /* it will not be sent */
void zkl_call_unlink(struct call *call);                            /* out of the queue */
void zkl_call_free(struct call *call);
/* The number of the operation that the server refused, from 0; if it does not say, their count. */
size_t zkl_call_refused(const struct call *call, const struct answer *answer);
/* The answer is a parent's. False: the node is there, or another create of it will follow. */
bool zkl_call_parent_matters(const struct call *call, const struct answer *answer);

#endif
