/*
 * rpc.c - sends the session's requests by libzookeeper, and returns the answers.
 *
 * Completions and watch events run on libzookeeper's completion thread, in the server's order.
 * libzookeeper loses completions when a handle is closed (ZOOKEEPER-3868), so the session does
 * without them, and a list owns their memory.
 */
#include <stdlib.h>
#include <string.h>

#include "trial.h"

struct transaction {
    size_t count;
    zoo_op_t *ops;
    zoo_op_result_t *results; /* ZKL_UNANSWERED until answered */
    struct Stat *stats;       /* answered SETs only */
    char **created;           /* SEQUENTIAL, room for the path; else NULL */
    struct zkl_result *for_session;
};

struct rpc {
    struct rpc *next, **slot; /* list link->rpcs */
    struct zkl_link *owner;
    uint64_t id;
    enum zkl_operation operation;
    struct transaction *transaction; /* MULTI, else NULL */
};

/* --- life ------------------------------------------------------------------------------ */

static struct rpc *new_rpc(struct zkl_link *link, uint64_t id, enum zkl_operation operation) {
    struct rpc *rpc = calloc(1, sizeof *rpc);
    if (!rpc) return NULL;
    rpc->owner = link;
    rpc->id = id;
    rpc->operation = operation;
    rpc->slot = &link->rpcs;
    rpc->next = link->rpcs;
    if (rpc->next) rpc->next->slot = &rpc->next;
    link->rpcs = rpc;
    return rpc;
}

static void free_rpc(struct rpc *rpc) {
    *rpc->slot = rpc->next;
    if (rpc->next) rpc->next->slot = rpc->slot;
    for (size_t i = 0; rpc->transaction && i < rpc->transaction->count; i++)
        free(rpc->transaction->created[i]);
    free(rpc->transaction);
    free(rpc);
}

void zkl_rpc_forget_all(struct zkl_link *link) {
    zkl_lock(link->client);
    while (link->rpcs) free_rpc(link->rpcs);
    zkl_unlock(link->client);
}

/* --- answers --------------------------------------------------------------------------------- */

static void complete(const void *data, struct zkl_answer answer) {
    struct rpc *rpc = (struct rpc *)data;
    struct zkl_link *link = rpc->owner;
    zkl_session *session = zkl_client_enter(link->client);
    zkl_trials_heed(link, rpc->operation, answer.error);
    zkl_session_answer(session, rpc->id, &answer);
    free_rpc(rpc);
    zkl_client_leave(link->client);
}

static struct zkl_stat to_stat(const struct Stat *stat) {
    return (struct zkl_stat){.czxid = stat->czxid,
                             .mzxid = stat->mzxid,
                             .version = stat->version,
                             .aversion = stat->aversion,
                             .owner = (uint64_t)stat->ephemeralOwner,
                             .ctime = stat->ctime};
}

static void complete_write(const void *data, int rc, const char *created, const struct Stat *stat) {
    struct zkl_result result = {.error = rc, .created = created};
    if (stat) result.stat = to_stat(stat);
    complete(data, (struct zkl_answer){.error = rc, .results = &result});
}

static void on_created(int rc, const char *path, const struct Stat *stat, const void *data) {
    complete_write(data, rc, path, stat);
}

static void on_set(int rc, const struct Stat *stat, const void *data) {
    complete_write(data, rc, NULL, stat);
}

static void on_deleted(int rc, const void *data) {
    complete_write(data, rc, NULL, NULL);
}

static void on_void(int rc, const void *data) {
    complete(data, (struct zkl_answer){.error = rc});
}

static void on_string(int rc, const char *text, const void *data) {
    (void)text;
    on_void(rc, data);
}

static void on_names(int rc, const struct String_vector *names, const void *data) {
    struct zkl_answer answer = {.error = rc, .count = -1};
    if (names) answer.names = (const char *const *)names->data;
    if (names) answer.count = names->count;
    complete(data, answer);
}

static void on_data(int rc, const char *text, int size, const struct Stat *stat, const void *data) {
    struct zkl_stat session_stat = stat ? to_stat(stat) : (struct zkl_stat){0};
    struct zkl_answer answer = {
        .error = rc, .data = text, .size = size, .stat = stat ? &session_stat : NULL};
    complete(data, answer);
}

static void on_exists(int rc, const struct Stat *stat, const void *data) {
    on_data(rc, NULL, 0, stat, data);
}

static void on_multi(int rc, const void *data) {
    const struct transaction *transaction = ((const struct rpc *)data)->transaction;
    for (size_t i = 0; i < transaction->count; i++)
        transaction->for_session[i] = (struct zkl_result){.error = transaction->results[i].err,
                                                          .created = transaction->created[i],
                                                          .stat = to_stat(&transaction->stats[i])};
    complete(data, (struct zkl_answer){.error = rc, .results = transaction->for_session});
}

static enum zkl_node_event event_of(int type) {
    if (type == ZOO_DELETED_EVENT) return ZKL_NODE_DELETED;
    if (type == ZOO_CHILD_EVENT) return ZKL_NODE_CHILDREN;
    return type == ZOO_CREATED_EVENT ? ZKL_NODE_CREATED : ZKL_NODE_CHANGED;
}

/* The only watcher, as n watchers of several functions or contexts would cost O(n^2). */
static void on_watch(zhandle_t *handle, int type, int state, const char *node, void *context) {
    struct zkl_link *link = context;
    (void)handle;
    (void)state;
    if (type == ZOO_SESSION_EVENT) return; /* see handle.c */
    zkl_session_event(zkl_client_enter(link->client), event_of(type), node);
    zkl_client_leave(link->client);
}

/* --- writes ---------------------------------------------------------------------------------- */

/* ZOO_PERM_ALL and ZOO_PERM_READ are variables. */
#define PERM_ALL 0x1f
#define PERM_READ 0x01

static const struct ACL_vector *acl_of(const struct zkl_link *link) {
    static struct ACL shared_acl[] = {{PERM_ALL, {(char *)"auth", (char *)""}},
                                      {PERM_READ, {(char *)"world", (char *)"anyone"}}};
    static const struct ACL_vector shared = {2, shared_acl};
    switch (link->acl) {
    case ZKL_ACL_OPEN: break;
    case ZKL_ACL_CREATOR: return &ZOO_CREATOR_ALL_ACL;
    case ZKL_ACL_READ: return &shared;
    }
    return &ZOO_OPEN_ACL_UNSAFE;
}

static int mode_of(enum zkl_node_mode mode) {
    switch (mode) {
    case ZKL_PERSISTENT: break;
    case ZKL_EPHEMERAL: return ZOO_EPHEMERAL;
    case ZKL_SEQUENTIAL: return ZOO_EPHEMERAL_SEQUENTIAL;
    case ZKL_CONTAINER: return ZOO_CONTAINER;
    }
    return ZOO_PERSISTENT;
}

static int send_write(zhandle_t *handle, struct rpc *rpc, const struct zkl_op *op) {
    const struct ACL_vector *acl = acl_of(rpc->owner);
    int size = (int)op->size;
    switch (op->kind) {
    case ZKL_OP_CREATE:
        return zoo_acreate2(handle, op->path, op->data, size, acl, mode_of(op->mode), on_created,
                            rpc);
    case ZKL_OP_SET: return zoo_aset(handle, op->path, op->data, size, op->version, on_set, rpc);
    case ZKL_OP_DELETE: return zoo_adelete(handle, op->path, op->version, on_deleted, rpc);
    case ZKL_OP_CHECK: break; /* only in transactions */
    }
    return ZBADARGUMENTS;
}

static struct transaction *new_transaction(size_t count) {
    struct transaction *transaction = NULL;
    size_t each = sizeof *transaction->ops + sizeof *transaction->results +
                  sizeof *transaction->stats + sizeof *transaction->created +
                  sizeof *transaction->for_session;
    transaction = calloc(1, sizeof *transaction + count * each);
    if (!transaction) return NULL;
    transaction->count = count;
    transaction->ops = (zoo_op_t *)(transaction + 1);
    transaction->results = (zoo_op_result_t *)(transaction->ops + count);
    transaction->stats = (struct Stat *)(transaction->results + count);
    transaction->for_session = (struct zkl_result *)(transaction->stats + count);
    transaction->created = (char **)(transaction->for_session + count);
    for (size_t i = 0; i < count; i++) transaction->results[i].err = ZKL_UNANSWERED;
    return transaction;
}

static bool init_create(struct transaction *transaction, size_t i, const struct zkl_op *op,
                        const struct zkl_link *link) {
    size_t size = 0;
    if (op->mode == ZKL_SEQUENTIAL) {
        size = strlen(link->chroot) + strlen(op->path) + sizeof "-2147483648";
        transaction->created[i] = calloc(1, size);
        if (!transaction->created[i]) return false;
    }
    zoo_create_op_init(&transaction->ops[i], op->path, op->data, (int)op->size, acl_of(link),
                       mode_of(op->mode), transaction->created[i], (int)size);
    return true;
}

static bool init_op(struct transaction *transaction, size_t i, const struct zkl_op *op,
                    const struct zkl_link *link) {
    switch (op->kind) {
    case ZKL_OP_SET:
        zoo_set_op_init(&transaction->ops[i], op->path, op->data, (int)op->size, op->version,
                        &transaction->stats[i]);
        break;
    case ZKL_OP_CREATE: return init_create(transaction, i, op, link);
    case ZKL_OP_DELETE: zoo_delete_op_init(&transaction->ops[i], op->path, op->version); break;
    case ZKL_OP_CHECK: zoo_check_op_init(&transaction->ops[i], op->path, op->version); break;
    }
    return true;
}

/*
 * On a handle that accepts no more requests zoo_amulti() fails at the first operation, and frees
 * unallocated memory for the second, so the handle's state is checked first. It could change
 * meanwhile only by a reconnection and a refusal.
 */
static int send_multi(zhandle_t *handle, struct rpc *rpc, const struct zkl_op *ops, size_t count) {
    struct transaction *transaction = rpc->transaction = new_transaction(count);
    if (!transaction) return ZSYSTEMERROR;
    if (zoo_state(handle) != ZOO_CONNECTED_STATE) return ZINVALIDSTATE;
    for (size_t i = 0; i < count; i++)
        if (!init_op(transaction, i, &ops[i], rpc->owner)) return ZSYSTEMERROR;
    return zoo_amulti(handle, (int)count, transaction->ops, transaction->results, on_multi, rpc);
}

/* --- requests -------------------------------------------------------------------------------- */

/* libzookeeper declares a pointer to the completion, and takes the completion. */
static int send_unwatch(zhandle_t *handle, struct rpc *rpc, const char *node, ZooWatcherType type) {
    const union {
        void_completion_t taken;
        void_completion_t *declared;
    } completion = {.taken = on_void};
    return zoo_aremove_all_watches(handle, node, type, 0, completion.declared, rpc);
}

static int send_by(zhandle_t *handle, struct rpc *rpc, const struct zkl_rpc *request) {
    const char *node = request->path;
    watcher_fn watcher = request->watch ? on_watch : NULL;
    switch (request->kind) {
    case ZKL_RPC_WRITE: return send_write(handle, rpc, request->ops);
    case ZKL_RPC_MULTI: return send_multi(handle, rpc, request->ops, request->count);
    case ZKL_RPC_LIST: return zoo_awget_children(handle, node, watcher, rpc->owner, on_names, rpc);
    case ZKL_RPC_SYNC: return zoo_async(handle, node, on_string, rpc);
    case ZKL_RPC_GET: return zoo_awget(handle, node, watcher, rpc->owner, on_data, rpc);
    case ZKL_RPC_EXISTS: return zoo_awexists(handle, node, watcher, rpc->owner, on_exists, rpc);
    case ZKL_RPC_UNWATCH: return send_unwatch(handle, rpc, node, ZWATCHTYPE_DATA);
    case ZKL_RPC_UNWATCH_CHILDREN: return send_unwatch(handle, rpc, node, ZWATCHTYPE_CHILD);
    }
    return ZBADARGUMENTS;
}

bool zkl_rpc_send(struct zkl_link *link, const struct zkl_rpc *request) {
    enum zkl_operation operation = zkl_operation_of(request);
    if (zkl_trials_lack(link, operation)) {
        zkl_session_unimplemented(link->session, request->id);
        return true;
    }
    struct rpc *rpc = link->handle ? new_rpc(link, request->id, operation) : NULL;
    if (!rpc) return false;
    int error = send_by(link->handle, rpc, request);
    /* for lack of memory, and perhaps after libzookeeper took the completion; the list frees it */
    if (error != ZOK && error != ZMARSHALLINGERROR) free_rpc(rpc);
    return error == ZOK;
}
