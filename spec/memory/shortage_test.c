/*
 * shortage_test.c - each allocation of each request to a tree fails once. The request answers
 * ZKL_ERROR_SYSTEM without effect, and can be repeated. AddressSanitizer fails on leaks.
 */
#include <stdlib.h>

#include "scene.h"

/* Only the linker knows these names. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void __real_free(void *old);

static int countdown; /* allocations up to the failing one; 0: none fails */
static int unfreed;   /* allocations */

static bool next_fails(void) {
    return countdown > 0 && --countdown == 0;
}

static void *count_block(void *block) {
    unfreed += block != NULL;
    return block;
}

void *__wrap_malloc(size_t size) {
    return next_fails() ? NULL : count_block(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size) {
    return next_fails() ? NULL : count_block(__real_calloc(count, size));
}

void *__wrap_realloc(void *old, size_t size) {
    if (next_fails()) return NULL;
    return old ? __real_realloc(old, size) : count_block(__real_realloc(old, size));
}

void __wrap_free(void *old) {
    unfreed -= old != NULL;
    __real_free(old);
}

/* --- requests, and a tree's contents -------------------------------------------------------- */

static const struct zkl_op create_op = {
    .kind = ZKL_OP_CREATE, .mode = ZKL_SEQUENTIAL, .path = "/q/n-", .data = "new", .size = 3};
static const struct zkl_op set_op = {
    .kind = ZKL_OP_SET, .version = -1, .path = "/q", .data = "set", .size = 3};
static const struct zkl_op ops[] = {
    {.kind = ZKL_OP_DELETE, .version = -1, .path = "/q/b"},
    {.kind = ZKL_OP_SET, .version = -1, .path = "/q", .data = "set", .size = 3},
    {.kind = ZKL_OP_CREATE, .mode = ZKL_EPHEMERAL, .path = "/q/c", .data = "new", .size = 3},
    {.kind = ZKL_OP_DELETE, .version = -1, .path = "/q/a"},
    {.kind = ZKL_OP_CREATE, .mode = ZKL_SEQUENTIAL, .path = "/q/n-", .data = "new", .size = 3},
};

static const struct {
    const char *what;
    struct zkl_rpc rpc;
    int allocations;
} table[] = {
    {"create", {.kind = ZKL_RPC_WRITE, .ops = &create_op, .count = 1}, 3},
    {"set", {.kind = ZKL_RPC_WRITE, .ops = &set_op, .count = 1}, 2},
    {"transaction", {.kind = ZKL_RPC_MULTI, .ops = ops, .count = COUNT(ops)}, 7},
    {"list", {.kind = ZKL_RPC_LIST, .path = "/q", .watch = true}, 2},
    {"get", {.kind = ZKL_RPC_GET, .path = "/q", .watch = true}, 1},
    {"exists", {.kind = ZKL_RPC_EXISTS, .path = "/q/none", .watch = true}, 1},
};

static void open_scene(void) {
    scene_open();
    create(s.one, ZKL_PERSISTENT, "/q");
    create(s.one, ZKL_EPHEMERAL, "/q/a");
    create(s.one, ZKL_EPHEMERAL, "/q/b");
    watch(s.two, ZKL_RPC_GET, "/q/a");
    watch(s.two, ZKL_RPC_EXISTS, "/q/c");
}

static void check_unchanged(void) {
    ask_kind(0, ZKL_RPC_GET, "/q");
    CHECK_IS(s.answer.size, -1);
    CHECK_IS(s.answer.stat->version, 0);
    CHECK_IS(s.answer.stat->mzxid, s.answer.stat->czxid);
    ask_kind(0, ZKL_RPC_LIST, "/q");
    CHECK_IS(s.answer.count, 2);
    CHECK_TEXT(s.answer.names[0], "a");
    CHECK_TEXT(s.answer.names[1], "b");
    CHECK_TEXT(next_event(), "");
}

/* Asks the request once for each of its allocations, which then fails. Returns their number. */
static int fail_each(const struct zkl_rpc *rpc) {
    for (int failures = 0;; failures++) {
        open_scene();
        countdown = failures + 1;
        int error = ask(s.one, rpc);
        bool reached = countdown == 0;
        countdown = 0;
        if (reached) {
            CHECK_IS(error, ZKL_ERROR_SYSTEM);
            check_unchanged();
            error = ask(s.one, rpc);
        }
        CHECK(error == ZKL_ERROR_NONE || rpc->kind == ZKL_RPC_EXISTS);
        if (rpc->kind == ZKL_RPC_MULTI) CHECK_TEXT(s.answer.results[4].created, "/q/n-0000000003");
        scene_close();
        if (!reached) return failures;
    }
}

int main(void) {
    TEST("a request without memory changes nothing, and can be repeated") {
        for (size_t i = 0; i < COUNT(table); i++) {
            CHECK_CASE("%s", table[i].what);
            int failures = fail_each(&table[i].rpc);
            CHECK_IS(failures, table[i].allocations);
        }
    }
    TEST("a tree that cannot be made leaks nothing") {
        int failures = 0;
        for (;; failures++) {
            countdown = failures + 1;
            struct zkl_tree *tree = zkl_tree_new(MEMORY_CONTAINER_CHECK);
            bool reached = countdown == 0;
            countdown = 0;
            CHECK_IS(tree == NULL, reached);
            zkl_tree_free(tree);
            if (!reached) break;
        }
        CHECK_IS(failures, 6);
    }
    TEST("a session that cannot be opened uses no id") {
        scene_open();
        for (countdown = 1; countdown < 3; countdown++) {
            int failing = countdown;
            CHECK_IS(zkl_tree_open(s.tree, MEMORY_TIMEOUT, s.now), 0);
            CHECK_IS(countdown, 0);
            countdown = failing;
        }
        countdown = 0;
        CHECK_IS(zkl_tree_open(s.tree, MEMORY_TIMEOUT, s.now), s.two + 1);
        scene_close();
    }
    TEST("a session can end without memory, and its events come") {
        open_scene();
        countdown = 1;
        zkl_tree_expire(s.tree, s.one);
        CHECK_TEXT(next_event(), "one expired");
        CHECK_TEXT(next_event(), "two deleted /q/a");
        CHECK_IS(countdown, 1);
        countdown = 0;
        scene_close();
    }
    TEST("tables that cannot grow lose nothing") {
        char path[32];
        int found = 0, failed = 0;
        scene_open();
        create(s.one, ZKL_EPHEMERAL, "/");
        for (int i = 0; i < 1000; i++) {
            snprintf(path, sizeof path, "/%d", i);
            countdown = 3; /* the third allocation, after steps and node, is the table's */
            create(s.one, ZKL_EPHEMERAL, path);
            failed += countdown == 0;
            countdown = 0;
        }
        CHECK_IS(failed, 1000 - 63);
        for (int i = 0; i < 1000; i++) {
            snprintf(path, sizeof path, "/%d", i);
            found += node_exists(path);
        }
        CHECK_IS(found, 1000);
        scene_close();
    }
    TEST("a deleted node is kept for one answer, and a freed tree leaks nothing") {
        int before = unfreed, full = 0;
        scene_open();
        for (int i = 0; i < 100; i++) {
            create(s.one, ZKL_EPHEMERAL, "/a");
            watch(s.two, ZKL_RPC_GET, "/a");
            set(s.one, "/a", "data", -1);
            erase(s.one, "/a", -1);
            CHECK_TEXT(next_event(), "two changed /a");
            CHECK_TEXT(next_event(), "");
            if (i == 0) full = unfreed;
        }
        CHECK_IS(unfreed, full);
        scene_close();
        CHECK_IS(unfreed, before);
    }
    return check_report();
}
