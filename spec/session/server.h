/*
 * server.h - a session, and a server that answers all that it asks: it has one node of a lock's,
 * the session's own, and says of every other path what a node there would be like.
 */
#ifndef SERVER_H
#define SERVER_H

#include "../../src/session/session.h"
#include "check.h"

static zkl_session *session;
static zkl_time now;

enum { ID = 7, OPS = 8, NODES = 100, NODE_SIZE = 128, ROUNDS = 40 };
static const zkl_time TIMEOUT = 12 * ZKL_SECOND;
static const zkl_time MOMENT = ZKL_SECOND / 4; /* less than to a tick that nothing asks for */

static char nodes[NODES][NODE_SIZE]; /* of the locks; "": none */
static int made;
static int64_t czxid;         /* of every node, by a get; 0: of the last that was made */
static bool has_parents;      /* of members */
static int32_t version;       /* of every node's data */
static const char *node_text; /* these data; NULL: none */

static struct zkl_stats served; /* requests that were answered, by kind */

static inline const char *create_node(const char *path) {
    int at = 0;
    while (at < NODES - 1 && *nodes[at]) at++;
    snprintf(nodes[at], NODE_SIZE, "%s%010d", path, made);
    return nodes[at];
}

static inline void delete_node(const char *path) {
    for (int i = 0; i < NODES; i++)
        if (strcmp(nodes[i], path) == 0) nodes[i][0] = '\0';
    zkl_session_event(session, ZKL_NODE_DELETED, path);
}

static inline bool is_of_member(const char *path) {
    return strcmp(path, "/folder/me") == 0;
}

static inline struct zkl_result carry_out(const struct zkl_op *op) {
    struct zkl_result result = {.created = op->path};
    made += op->kind == ZKL_OP_CREATE;
    if (op->mode == ZKL_SEQUENTIAL) result.created = create_node(op->path);
    if (is_of_member(op->path) && !has_parents) result.error = ZKL_ERROR_NO_NODE;
    if (op->mode == ZKL_CONTAINER) has_parents = true;
    result.stat.czxid = (int64_t)made + 10;
    return result;
}

static inline void write_all(uint64_t id, const struct zkl_rpc *rpc) {
    struct zkl_result results[OPS];
    struct zkl_op gone = {.kind = ZKL_OP_CHECK};
    char path[NODE_SIZE] = "";
    for (size_t i = 0; i < rpc->count; i++) {
        results[i] = carry_out(&rpc->ops[i]);
        if (rpc->ops[i].kind == ZKL_OP_DELETE) gone = rpc->ops[i];
    }
    if (gone.kind == ZKL_OP_DELETE) snprintf(path, sizeof path, "%s", gone.path);
    struct zkl_answer answer = {.error = results[0].error, .results = results};
    zkl_session_answer(session, id, &answer);
    if (*path) delete_node(path);
}

/* A path of locks has its nodes, every other one two that nobody knows. */
static inline void list_nodes(uint64_t id, const char *path) {
    const char *const strangers[] = {"lock-0000000002", "lock-0000000001"};
    const char *names[NODES];
    size_t length = strlen(path);
    int count = 0;
    for (int i = 0; i < NODES; i++)
        if (strncmp(nodes[i], path, length) == 0 && nodes[i][length] == '/')
            names[count++] = nodes[i] + length + 1;
    bool of_lock = strncmp(path, "/lock", 5) == 0;
    struct zkl_answer answer = {.names = of_lock ? names : strangers, .count = of_lock ? count : 2};
    zkl_session_answer(session, id, &answer);
}

static inline void count_served(const struct zkl_rpc *rpc) {
    served.lists += rpc->kind == ZKL_RPC_LIST;
    served.syncs += rpc->kind == ZKL_RPC_SYNC;
    served.gets += rpc->kind == ZKL_RPC_GET;
    served.exists += rpc->kind == ZKL_RPC_EXISTS;
    served.watch_removals += rpc->kind == ZKL_RPC_UNWATCH || rpc->kind == ZKL_RPC_UNWATCH_CHILDREN;
    for (size_t i = 0; i < rpc->count; i++) {
        served.sets += rpc->ops[i].kind == ZKL_OP_SET;
        served.creates += rpc->ops[i].kind == ZKL_OP_CREATE;
        served.deletes += rpc->ops[i].kind == ZKL_OP_DELETE;
    }
}

static inline void answer(uint64_t id, const struct zkl_rpc *rpc) {
    count_served(rpc);
    const struct zkl_stat stat = {
        .czxid = czxid ? czxid : (int64_t)made + 10, .version = version, .owner = ID};
    struct zkl_answer good = {
        .stat = &stat, .data = node_text, .size = node_text ? (int)strlen(node_text) : -1};
    if (is_of_member(rpc->path) && !has_parents) good.error = ZKL_ERROR_NO_NODE;
    if (rpc->kind == ZKL_RPC_WRITE || rpc->kind == ZKL_RPC_MULTI) write_all(id, rpc);
    else if (rpc->kind == ZKL_RPC_LIST) list_nodes(id, rpc->path);
    else zkl_session_answer(session, id, &good);
}

static inline void serve_requests(void) {
    struct zkl_rpc rpc;
    uint64_t id;
    while (zkl_session_next_rpc(session, &id, &rpc)) answer(id, &rpc);
}

/*
 * Answers all requests until one of this kind, which is `asked`, to be answered by the caller;
 * `op`: the kind of its first operation, if it has any. False: there is none.
 */
static struct zkl_rpc asked;
static uint64_t asked_id;

static inline bool comes(enum zkl_rpc_kind kind, enum zkl_op_kind op) {
    while (zkl_session_next_rpc(session, &asked_id, &asked)) {
        if (asked.kind == kind && (!asked.ops || asked.ops->kind == op)) return true;
        answer(asked_id, &asked);
    }
    return false;
}

/* Whether anything is asked at once: it is `asked`. */
static inline bool asks(void) {
    return zkl_session_next_rpc(session, &asked_id, &asked);
}

static inline void fail_asked(int error) {
    zkl_session_answer(session, asked_id, &(struct zkl_answer){.error = error});
}

static inline void go_on(void) {
    zkl_session_at(session, now += ZKL_SECOND / 4);
    zkl_session_tick(session);
}

static inline void pass(zkl_time time) {
    zkl_session_at(session, now += time);
    zkl_session_tick(session);
}

/* As a shell does: comes back when the session is due. How long that took. */
static inline zkl_time come_back(void) {
    pass(0);
    zkl_time due = zkl_session_due(session), pause = due > now ? due - now : 0;
    pass(pause);
    return pause;
}

/* Until nothing is asked any more, and each pause is over. */
static inline void serve(void) {
    struct zkl_event event;
    for (int i = 0; i < ROUNDS; i++) {
        serve_requests();
        while (zkl_session_next_event(session, &event)) continue;
        go_on();
    }
}

static inline struct zkl_acquire_options options_of(const char *path, enum zkl_kind kind) {
    return (struct zkl_acquire_options){
        .path = path, .kind = kind, .owner = "me", .timeout = ZKL_NEVER};
}

/* Each path of the session counts for so many bytes more. */
static inline void open_with(size_t overhead) {
    const struct zkl_settings settings = {.identity = "here:1",
                                          .patience = TIMEOUT / 12,
                                          .margin = 0.33,
                                          .overhead = overhead,
                                          .containers = true,
                                          .reopen = true,
                                          .steps = true};
    session = zkl_session_new(&settings);
    if (!session) return;
    memset(nodes, 0, sizeof nodes);
    memset(&served, 0, sizeof served);
    made = 0;
    czxid = 0;
    has_parents = false;
    version = 0;
    node_text = "text";
    zkl_session_at(session, now = 1000 * ZKL_SECOND);
    zkl_session_connected(session, ID, TIMEOUT);
}

static inline void open_session(void) {
    open_with(0);
}

static inline void close_session(void) {
    zkl_session_close(session);
    serve();
    zkl_session_closed(session);
    zkl_session_free(session);
}

#endif
