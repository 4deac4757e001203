/*
 * scene.h - a tree with two sessions, and short ways to ask it. A new scene `s` frees the last one.
 */
#ifndef MEMORY_SCENE_H
#define MEMORY_SCENE_H

#include "check.h"
#include "tree.h"

#define MEMORY_TIMEOUT (10 * ZKL_SECOND)
#define MEMORY_CONTAINER_CHECK (60 * ZKL_SECOND)
#define COUNT(list) (sizeof(list) / sizeof *(list))

static struct scene {
    struct zkl_tree *tree;
    uint64_t one, two; /* sessions */
    zkl_time now;
    struct zkl_answer answer;
    struct zkl_tree_event event;
} s;

static inline void scene_close(void) {
    zkl_tree_free(s.tree);
    s.tree = NULL;
}

static inline void scene_open(void) {
    scene_close();
    s = (struct scene){.tree = zkl_tree_new(MEMORY_CONTAINER_CHECK), .now = ZKL_SECOND};
    if (!s.tree) return;
    s.one = zkl_tree_open(s.tree, MEMORY_TIMEOUT, s.now);
    s.two = zkl_tree_open(s.tree, MEMORY_TIMEOUT, s.now);
}

static inline int ask(uint64_t session, const struct zkl_rpc *rpc) {
    zkl_tree_ask(s.tree, session, rpc, s.now, &s.answer);
    return s.answer.error;
}

static inline int write_one(uint64_t session, struct zkl_op op) {
    return ask(session, &(struct zkl_rpc){.kind = ZKL_RPC_WRITE, .ops = &op, .count = 1});
}

static inline int create(uint64_t session, enum zkl_node_mode mode, const char *path) {
    return write_one(session, (struct zkl_op){.kind = ZKL_OP_CREATE, .mode = mode, .path = path});
}

/* Creates a node, and returns its path, or NULL. */
static inline const char *create_path(uint64_t session, enum zkl_node_mode mode, const char *path) {
    return create(session, mode, path) ? NULL : s.answer.results[0].created;
}

static inline int set(uint64_t session, const char *path, const char *data, int32_t version) {
    return write_one(session, (struct zkl_op){.kind = ZKL_OP_SET,
                                              .version = version,
                                              .path = path,
                                              .data = data,
                                              .size = data ? strlen(data) : 0});
}

static inline int erase(uint64_t session, const char *path, int32_t version) {
    return write_one(session,
                     (struct zkl_op){.kind = ZKL_OP_DELETE, .version = version, .path = path});
}

static inline int ask_kind(uint64_t session, enum zkl_rpc_kind kind, const char *path) {
    return ask(session, &(struct zkl_rpc){.kind = kind, .path = path});
}

static inline int watch(uint64_t session, enum zkl_rpc_kind kind, const char *path) {
    return ask(session, &(struct zkl_rpc){.kind = kind, .path = path, .watch = true});
}

static inline int multi(uint64_t session, const struct zkl_op *ops, size_t count) {
    return ask(session, &(struct zkl_rpc){.kind = ZKL_RPC_MULTI, .ops = ops, .count = count});
}

#define MULTI(session, ...)                                                                        \
    multi(session, (const struct zkl_op[]){__VA_ARGS__},                                           \
          COUNT(((const struct zkl_op[]){__VA_ARGS__})))

static inline int count_children(const char *path) {
    return ask_kind(0, ZKL_RPC_LIST, path) ? -1 : s.answer.count;
}

static inline bool node_exists(const char *path) {
    return ask_kind(0, ZKL_RPC_EXISTS, path) == ZKL_ERROR_NONE;
}

/* The next event, as "one deleted /path" or "two expired"; "": none. */
static inline const char *next_event(void) {
    static const char *const kinds[] = {"created", "deleted", "changed", "children"};
    static char text[200];
    if (!zkl_tree_next_event(s.tree, &s.event)) return "";
    const char *session = s.event.session == s.one   ? "one"
                          : s.event.session == s.two ? "two"
                                                     : "another";
    if (!s.event.path) snprintf(text, sizeof text, "%s expired", session);
    else snprintf(text, sizeof text, "%s %s %s", session, kinds[s.event.kind], s.event.path);
    return text;
}

#endif
