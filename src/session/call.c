/* call.c - the queue of calls. */
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "internal.h"
#include "stake.h"
#include "steps.h"

struct call *zkl_call_new(struct zkl_session *session, const struct call_kind *kind,
                          struct asker *asker) {
    struct call *call = calloc(1, sizeof *call);
    if (!call) return NULL;
    call->session = session;
    call->rpc.id = ++session->last_id;
    call->kind = kind;
    call->asker = asker;
    if (!asker) return call;
    zkl_asker_ref(asker);
    asker->calls++;
    return call;
}

static void free_ops(struct zkl_op *ops, size_t count) {
    for (size_t i = 0; ops && i < count; i++) free((char *)ops[i].path);
    free(ops);
}

void zkl_call_free(struct call *call) {
    if (call->asker) zkl_asker_unref(call->asker);
    zkl_contender_unref(call->contender);
    free_ops(call->ops, call->rpc.count);
    free(call->node);
    free(call);
}

/* --- the queue --------------------------------------------------------------------------- */

static bool is_connected(const struct zkl_session *session) {
    return session->state == ZKL_SESSION_CONNECTED;
}

/* `node` NULL: out of memory. */
static void enqueue(struct call *call, enum zkl_rpc_kind kind, char *node) {
    struct zkl_session *session = call->session;
    call->node = node;
    call->rpc.kind = kind;
    call->rpc.path = node;
    if (!node) call->unsent_error = ZKL_ERROR_CONNECTION_LOSS;
    call->link = session->calls_end;
    *session->calls_end = call;
    session->calls_end = &call->next;
    if (!session->to_send) session->to_send = call;
    session->stats.in_flight++;
}

static char *node_of(const char *parent, const char *name) {
    return name ? zkl_path_join(parent, name) : strdup(parent);
}

static void write_one(struct call *call, struct zkl_op op, const char *parent, const char *name) {
    char *node = node_of(parent, name);
    call->op = op;
    call->op.path = node;
    call->rpc.ops = &call->op;
    call->rpc.count = 1;
    enqueue(call, ZKL_RPC_WRITE, node);
}

void zkl_call_create(struct call *call, const char *parent, const char *name, const char *data,
                     enum zkl_node_mode mode) {
    call->session->stats.creates++;
    write_one(
        call,
        (struct zkl_op){.kind = ZKL_OP_CREATE, .mode = mode, .data = data, .size = strlen(data)},
        parent, name);
}

void zkl_call_create_parent(struct call *call, const char *node) {
    zkl_call_create(call, node, NULL, "", call->session->parents);
}

void zkl_call_delete(struct call *call, const char *parent, const char *name, int32_t version) {
    call->session->stats.deletes++;
    write_one(call, (struct zkl_op){.kind = ZKL_OP_DELETE, .version = version}, parent, name);
}

void zkl_call_set(struct call *call, const char *parent, const char *name, const char *data,
                  int32_t version) {
    struct zkl_op op = {.kind = ZKL_OP_SET, .version = version, .data = data, .size = strlen(data)};
    call->session->stats.sets++;
    write_one(call, op, parent, name);
}

static void count_op(struct zkl_stats *stats, enum zkl_op_kind kind) {
    switch (kind) {
    case ZKL_OP_SET: stats->sets++; break;
    case ZKL_OP_CREATE: stats->creates++; break;
    case ZKL_OP_DELETE: stats->deletes++; break;
    case ZKL_OP_CHECK: break;
    }
}

void zkl_call_transact(struct call *call, const struct zkl_op *ops, size_t count) {
    for (size_t i = 0; i < count; i++) count_op(&call->session->stats, ops[i].kind);
    call->rpc.ops = ops;
    call->rpc.count = count;
    enqueue(call, ZKL_RPC_MULTI, strdup(ops[0].path));
}

void zkl_call_transact_own(struct call *call, const struct zkl_op *ops, size_t count) {
    call->ops = malloc(count * sizeof *ops);
    if (call->ops) memcpy(call->ops, ops, count * sizeof *ops);
    else call->unsent_error = ZKL_ERROR_CONNECTION_LOSS;
    zkl_call_transact(call, call->ops ? call->ops : ops, count);
    if (call->ops) return;
    for (size_t i = 0; i < count; i++) free((char *)ops[i].path);
    call->rpc.count = 0;
}

void zkl_call_list(struct call *call, const char *parent) {
    call->session->stats.lists++;
    enqueue(call, ZKL_RPC_LIST, strdup(parent));
}

void zkl_call_sync(struct call *call, const char *node) {
    call->session->stats.syncs++;
    enqueue(call, ZKL_RPC_SYNC, strdup(node));
}

void zkl_call_get(struct call *call, const char *parent, const char *name) {
    call->session->stats.gets++;
    enqueue(call, ZKL_RPC_GET, node_of(parent, name));
}

void zkl_call_watch_lock_node(struct call *call, struct stake *stake, const char *name, bool own) {
    char *node = zkl_path_join(stake->path->text, name);
    call->session->stats.gets++;
    call->rpc.watch = true;
    if (node && is_connected(call->session)) call->watch = zkl_watches_want(stake, node, own);
    if (!call->watch) call->unsent_error = ZKL_ERROR_CONNECTION_LOSS;
    enqueue(call, ZKL_RPC_GET, node);
}

static void count_read(struct zkl_stats *stats, enum zkl_rpc_kind kind) {
    if (kind == ZKL_RPC_LIST) stats->lists++;
    else if (kind == ZKL_RPC_GET) stats->gets++;
    else stats->exists++;
}

void zkl_call_set_pinned_watch(struct call *call, enum zkl_rpc_kind kind, struct watch *watch) {
    char *node = strdup(watch->path);
    count_read(&call->session->stats, kind);
    call->rpc.watch = true;
    if (node && is_connected(call->session)) call->watch = watch;
    if (call->watch) zkl_watches_ask_pinned(&call->session->watches, watch);
    enqueue(call, kind, node);
    if (node && kind == ZKL_RPC_LIST) call->rpc.path = node + 1;
}

void zkl_call_unwatch(struct call *call, const char *node) {
    char *copy = strdup(node);
    call->session->stats.watch_removals++;
    if (copy) zkl_watches_note_removal(&call->session->watches, copy);
    bool of_children = copy && copy[1] == '/';
    enqueue(call, of_children ? ZKL_RPC_UNWATCH_CHILDREN : ZKL_RPC_UNWATCH, copy);
    if (of_children) call->rpc.path = copy + 1;
}

void zkl_call_mark_unsent(struct call *call, enum zkl_error error) {
    if (call->unsent_error) return;
    if (call->kind->unsent) call->kind->unsent(call);
    call->unsent_error = error;
}

void zkl_call_unlink(struct call *call) {
    struct zkl_session *session = call->session;
    if (session->to_send == call) session->to_send = call->next;
    *call->link = call->next;
    if (call->next) call->next->link = call->link;
    else session->calls_end = call->link;
    session->stats.in_flight--;
    if (call->asker) call->asker->calls--;
}

size_t zkl_call_refused_op(const struct call *call, const struct answer *answer) {
    const struct zkl_result *results = answer->results;
    size_t i = 0, count = call->rpc.count;
    if (!results) return count;
    while (i < count && (results[i].error == ZKL_ERROR_NONE || results[i].error == ZKL_UNANSWERED))
        i++;
    return i;
}

/* Below the topmost parent, an absent parent shows only that the create above it got lost. */
bool zkl_call_take_parent_answer(const struct call *call, const struct answer *answer) {
    bool topmost = call->node && strrchr(call->node, '/') == call->node;
    if (answer->rc == ZKL_ERROR_NODE_EXISTS || (answer->reply == ZKL_ABSENT && !topmost))
        return false;
    if (answer->rc != ZKL_ERROR_UNIMPLEMENTED || call->op.mode != ZKL_CONTAINER) return true;
    if (call->session->parents == ZKL_CONTAINER)
        zkl_step_tell_session(call->session, ZKL_STEP_NO_CONTAINERS);
    call->session->parents = ZKL_PERSISTENT; /* a server before 3.5.1, or ClickHouse Keeper */
    return false;
}
