/*
 * server.h - a session, its server in memory, and `others`, another session. A request is carried
 * out when it is answered, and its events come before the answer.
 */
#ifndef SERVER_H
#define SERVER_H

#include "../../src/memory/tree.h"
#include "../../src/session/session.h"
#include "check.h"

static zkl_session *session;
static struct zkl_tree *tree;
static uint64_t ours, others; /* the tree's sessions */
static zkl_time now;

enum { ID = 7, OPS = 8, NODE_SIZE = 128, ROUNDS = 40 };
static const zkl_time TIMEOUT = 12 * ZKL_SECOND;
static const zkl_time MOMENT = ZKL_SECOND / 4; /* shorter than the pause before an idle tick */

static bool in_tree; /* the tree runs, in which no allocation fails */

static inline void ask_tree(uint64_t client, const struct zkl_rpc *rpc, struct zkl_answer *given) {
    in_tree = true;
    zkl_tree_ask(tree, client, rpc, now, given);
    in_tree = false;
}

static inline void tell_events(void) {
    struct zkl_tree_event event;
    while (zkl_tree_next_event(tree, &event))
        if (event.session == ours && event.path) zkl_session_event(session, event.kind, event.path);
}

/* Opens a session for `ours`, with at least this id. */
static inline void join_tree(uint64_t id) {
    in_tree = true;
    do ours = zkl_tree_open(tree, ZKL_NEVER, now);
    while (ours < id);
    in_tree = false;
}

/* Names of a node's children in the tree, and their number; -1: no such node. */
static inline int children_of(const char *path, const char *const **names) {
    const struct zkl_rpc rpc = {.kind = ZKL_RPC_LIST, .path = path};
    struct zkl_answer given;
    ask_tree(0, &rpc, &given);
    *names = given.names;
    return given.error ? -1 : given.count;
}

static inline const char *folder_of(const char *path) {
    static char folder[NODE_SIZE];
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path), path);
    return folder;
}

static inline int write_by(uint64_t client, const struct zkl_op *op) {
    const struct zkl_rpc rpc = {.kind = ZKL_RPC_WRITE, .path = op->path, .ops = op, .count = 1};
    struct zkl_answer given;
    ask_tree(client, &rpc, &given);
    tell_events();
    return given.error;
}

/* Makes a folder with sequential nodes from 1. */
static inline void make_folder(const char *path) {
    write_by(others, &(struct zkl_op){.kind = ZKL_OP_CREATE, .path = path});
    zkl_tree_set_counter(tree, path, 1);
}

/* Makes a node of that client, and its folder. */
static inline void make_node(uint64_t client, const char *path) {
    const struct zkl_op op = {ZKL_OP_CREATE, ZKL_EPHEMERAL, -1, path, "text", 4};
    const char *const *names;
    if (children_of(folder_of(path), &names) < 0) make_folder(folder_of(path));
    write_by(client, &op);
}

static inline void answer(const struct zkl_rpc *rpc) {
    struct zkl_answer given;
    ask_tree(ours, rpc, &given);
    tell_events();
    zkl_session_answer(session, rpc->id, &given);
}

static inline void serve_requests(void) {
    const struct zkl_rpc *rpc;
    while ((rpc = zkl_session_next_rpc(session))) answer(rpc);
}

/*
 * Answers requests until a request of this kind, with `op` as its first operation if it has any,
 * which becomes `asked`. False: there is none.
 */
static const struct zkl_rpc *asked;

static inline bool answer_until(enum zkl_rpc_kind kind, enum zkl_op_kind op) {
    while ((asked = zkl_session_next_rpc(session))) {
        if (asked->kind == kind && (!asked->ops || asked->ops->kind == op)) return true;
        answer(asked);
    }
    return false;
}

/* Sets `asked` to the next request. False: there is none. */
static inline bool take_asked(void) {
    return (asked = zkl_session_next_rpc(session));
}

static inline void fail_asked(int error) {
    zkl_session_answer(session, asked->id, &(struct zkl_answer){.error = error});
}

static inline void pass(zkl_time time) {
    zkl_session_at(session, now += time);
    zkl_session_tick(session);
}

/* Ticks when the session is due, as a shell does. Returns the pause before. */
static inline zkl_time tick_when_due(void) {
    pass(0);
    zkl_time due = zkl_session_due(session), pause = due > now ? due - now : 0;
    pass(pause);
    return pause;
}

/* Answers all requests for ROUNDS quarters of a second. */
static inline void serve(void) {
    struct zkl_event event;
    for (int i = 0; i < ROUNDS; i++) {
        serve_requests();
        while (zkl_session_next_event(session, &event)) continue;
        pass(ZKL_SECOND / 4);
    }
}

static inline struct zkl_acquire_options options_of(const char *path, enum zkl_kind kind) {
    return (struct zkl_acquire_options){
        .path = path, .kind = kind, .owner = "me", .timeout = ZKL_NEVER};
}

static inline void open_tree(void) {
    in_tree = true;
    tree = zkl_tree_new(ZKL_NEVER);
    others = zkl_tree_open(tree, ZKL_NEVER, now);
    join_tree(ID);
    make_folder("/lock");
    make_folder("/lock2");
    make_folder("/lockw");
}

/* `overhead`: bytes that each path of the session takes beside its text. */
static inline void open_with(size_t overhead) {
    const struct zkl_settings settings = {.identity = "here:1",
                                          .patience = TIMEOUT / 12,
                                          .margin = 0.33,
                                          .overhead = overhead,
                                          .parents = ZKL_CONTAINER,
                                          .reopen = true,
                                          .steps = true};
    session = zkl_session_new(&settings);
    if (!session) return;
    zkl_session_at(session, now = 1000 * ZKL_SECOND);
    open_tree();
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
    zkl_tree_free(tree);
}

#endif
