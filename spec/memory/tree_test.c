/*
 * tree_test.c - the promises of tree.h about sessions, time, containers and many nodes, and some
 * about requests. differential.c has all about requests, which a real server answers like the tree.
 */
#include <stdlib.h>

#include "path.h"
#include "scene.h"

static void nodes(void) {
    TEST("a new tree has only the root, which cannot be deleted") {
        CHECK_IS(count_children("/"), 0);
        CHECK_IS(ask_kind(s.one, ZKL_RPC_GET, "/"), 0);
        CHECK_IS(s.answer.size, 0);
        CHECK_IS(erase(s.one, "/", -1), ZKL_ERROR_BAD_ARGUMENTS);
        CHECK_IS(create(s.one, ZKL_PERSISTENT, "/"), ZKL_ERROR_NODE_EXISTS);
    }
    TEST("session 0 may read, but not watch, write or sync") {
        CHECK_IS(ask_kind(0, ZKL_RPC_LIST, "/"), 0);
        CHECK_IS(watch(0, ZKL_RPC_EXISTS, "/a"), ZKL_ERROR_NO_NODE);
        CHECK_IS(create(0, ZKL_PERSISTENT, "/a"), ZKL_ERROR_SESSION_EXPIRED);
        CHECK_IS(ask_kind(0, ZKL_RPC_SYNC, "/"), ZKL_ERROR_SESSION_EXPIRED);
        create(s.one, ZKL_PERSISTENT, "/a");
        CHECK_TEXT(next_event(), "");
    }
}

static void paths(void) {
    static const struct {
        const char *path;
        bool plain, sequential;
    } table[] = {
        {"", false, false},
        {"a", false, false},
        {"/", true, true},
        {"/a", true, true},
        {"/a/b.c/...", true, true},
        {"/.a/..b", true, true},
        {"/a/", false, true},
        {"/a//", false, false},
        {"//a", false, false},
        {"/a//b", false, false},
        {"/.", false, true},
        {"/a/..", false, true},
        {"/a/./b", false, false},
        {"/a/../b", false, false},
        {"/a b~", true, true},
        {"/a\x1f", false, false},
        {"/a\x7f", false, false},
        {"/a\xc2\x9f", false, false},
        {"/a\xc2\xa0", true, true},
        {"/\xe4\xb8\xad\xe6\x96\x87", true, true},
        {"/\xed\x9f\xbf", true, true},
        {"/\xed\xa0\x80", false, false},     /* a surrogate */
        {"/\xef\xa3\xbf", false, false},     /* private use */
        {"/\xef\xa4\x80", true, true},       /* the first after these */
        {"/\xef\xbf\xaf", true, true},       /* U+FFEF */
        {"/\xef\xbf\xb0", false, false},     /* U+FFF0 */
        {"/\xf0\x9f\x94\x92", false, false}, /* two of Java's chars */
        {"/\xe0\x9f\xbf", false, false},     /* overlong */
        {"/\xc1\xbf", false, false},
        {"/\xc2", false, false},
        {"/\xe4\xb8", false, false},
        {"/\x80", false, false},
    };
    TEST("a path is valid if a server accepts it") {
        for (size_t i = 0; i < COUNT(table); i++) {
            CHECK_CASE("%zu: %s", i, table[i].path);
            CHECK_IS(zkl_node_path_is_valid(table[i].path, false), table[i].plain);
            CHECK_IS(zkl_node_path_is_valid(table[i].path, true), table[i].sequential);
        }
    }
}

static void numbers(void) {
    TEST("the number of a sequential node counts all creates in its parent, and no delete") {
        create(s.one, ZKL_PERSISTENT, "/q");
        CHECK_TEXT(create_path(s.one, ZKL_SEQUENTIAL, "/q/n-"), "/q/n-0000000000");
        create(s.one, ZKL_PERSISTENT, "/q/other");
        erase(s.one, "/q/other", -1);
        CHECK_TEXT(create_path(s.two, ZKL_SEQUENTIAL, "/q/"), "/q/0000000002");
        create(s.two, ZKL_SEQUENTIAL, "/none/n-");
        CHECK_IS(s.answer.error, ZKL_ERROR_NO_NODE);
        CHECK_TEXT(create_path(s.two, ZKL_SEQUENTIAL, "/q/n-"), "/q/n-0000000003");
    }
    TEST("the counter stays at INT32_MAX, and wraps only inside a transaction (Q-02)") {
        create(s.one, ZKL_PERSISTENT, "/q");
        CHECK(zkl_tree_set_counter(s.tree, "/q", INT32_MAX - 1));
        CHECK(!zkl_tree_set_counter(s.tree, "/none", 1));
        CHECK_TEXT(create_path(s.one, ZKL_SEQUENTIAL, "/q/n-"), "/q/n-2147483646");
        struct zkl_op op = {.kind = ZKL_OP_CREATE, .mode = ZKL_SEQUENTIAL, .path = "/q/m-"};
        CHECK_IS(MULTI(s.one, op, op, op), 0);
        CHECK_TEXT(s.answer.results[0].created, "/q/m-2147483647");
        CHECK_TEXT(s.answer.results[1].created, "/q/m--2147483648");
        CHECK_TEXT(s.answer.results[2].created, "/q/m--2147483647");
        CHECK_TEXT(create_path(s.one, ZKL_SEQUENTIAL, "/q/n-"), "/q/n-2147483647");
        CHECK_IS(create(s.one, ZKL_SEQUENTIAL, "/q/n-"), ZKL_ERROR_NODE_EXISTS);
    }
}

#define CREATE(path_) ((struct zkl_op){.kind = ZKL_OP_CREATE, .path = (path_)})
#define SET(path_, version_)                                                                       \
    ((struct zkl_op){                                                                              \
        .kind = ZKL_OP_SET, .version = (version_), .path = (path_), .data = "set", .size = 3})
#define DELETE(path_) ((struct zkl_op){.kind = ZKL_OP_DELETE, .version = -1, .path = (path_)})

static void transactions(void) {
    TEST("a failed transaction changes nothing; errors are 0 before the failure, -2 after it") {
        create(s.one, ZKL_PERSISTENT, "/a");
        set(s.one, "/a", "older", -1);
        int64_t zxid = s.answer.results[0].stat.mzxid;
        create(s.one, ZKL_EPHEMERAL, "/a/b");
        create(s.one, ZKL_EPHEMERAL, "/a/c");
        watch(s.two, ZKL_RPC_GET, "/a/b");
        CHECK_IS(MULTI(s.one, SET("/a", 1), DELETE("/a/b"), DELETE("/a/c"), CREATE("/a/b"),
                       SET("/a", 1), DELETE("/a")),
                 ZKL_ERROR_BAD_VERSION);
        CHECK_IS(s.answer.results[0].error, 0);
        CHECK_IS(s.answer.results[0].stat.version, 0);
        CHECK_IS(s.answer.results[3].error, 0);
        CHECK(!s.answer.results[3].created);
        CHECK_IS(s.answer.results[4].error, ZKL_ERROR_BAD_VERSION);
        CHECK_IS(s.answer.results[5].error, ZKL_ERROR_RUNTIME_INCONSISTENCY);
        ask_kind(s.one, ZKL_RPC_GET, "/a");
        CHECK_IS(s.answer.stat->version, 1);
        CHECK_IS(s.answer.stat->mzxid, zxid);
        CHECK_IS(s.answer.size, 5);
        CHECK(memcmp(s.answer.data, "older", 5) == 0);
        CHECK_IS(count_children("/a"), 2);
        CHECK_TEXT(s.answer.names[0], "b");
        CHECK_TEXT(s.answer.names[1], "c");
        CHECK_TEXT(next_event(), "");
        CHECK_TEXT(create_path(s.one, ZKL_SEQUENTIAL, "/a/n-"), "/a/n-0000000002");
        zkl_tree_close(s.tree, s.one);
        CHECK_TEXT(next_event(), "two deleted /a/b");
    }
}

static void watches(void) {
    TEST("a watch of a node fires at the next change, once") {
        create(s.one, ZKL_PERSISTENT, "/a");
        CHECK_IS(watch(s.one, ZKL_RPC_GET, "/a"), 0);
        CHECK_IS(watch(s.one, ZKL_RPC_EXISTS, "/a"), 0);
        CHECK_IS(watch(s.two, ZKL_RPC_EXISTS, "/a"), 0);
        create(s.one, ZKL_PERSISTENT, "/a/child");
        CHECK_IS(set(s.one, "/a", "x", 7), ZKL_ERROR_BAD_VERSION);
        CHECK_TEXT(next_event(), "");
        set(s.two, "/a", "x", -1);
        const char *first = next_event();
        bool one_first = strcmp(first, "one changed /a") == 0;
        CHECK(one_first || strcmp(first, "two changed /a") == 0);
        CHECK_TEXT(next_event(), one_first ? "two changed /a" : "one changed /a");
        set(s.two, "/a", "y", -1);
        CHECK_TEXT(next_event(), "");
    }
    TEST("a watch of children fires when the next child comes or goes, once") {
        create(s.one, ZKL_PERSISTENT, "/a");
        CHECK_IS(watch(s.one, ZKL_RPC_LIST, "/a"), 0);
        CHECK_IS(s.answer.count, 0);
        watch(s.one, ZKL_RPC_LIST, "/a");
        create(s.two, ZKL_PERSISTENT, "/ab");
        set(s.two, "/a", "x", -1);
        CHECK_TEXT(next_event(), "");
        create(s.two, ZKL_PERSISTENT, "/a/b");
        CHECK_TEXT(next_event(), "one children /a");
        watch(s.two, ZKL_RPC_LIST, "/a");
        create(s.two, ZKL_PERSISTENT, "/a/b/c");
        erase(s.two, "/a/b/c", -1);
        set(s.two, "/a/b", "x", -1);
        CHECK_TEXT(next_event(), "");
        erase(s.one, "/a/b", -1);
        CHECK_TEXT(next_event(), "two children /a");
        CHECK_TEXT(next_event(), "");
    }
    TEST("a session that watches a node's children hears once of the node's end") {
        create(s.one, ZKL_PERSISTENT, "/a");
        watch(s.two, ZKL_RPC_LIST, "/");
        watch(s.two, ZKL_RPC_LIST, "/a");
        watch(s.two, ZKL_RPC_GET, "/a");
        watch(s.one, ZKL_RPC_LIST, "/a");
        erase(s.one, "/a", -1);
        CHECK_TEXT(next_event(), "two deleted /a");
        CHECK_TEXT(next_event(), "one deleted /a");
        CHECK_TEXT(next_event(), "two children /");
        CHECK_TEXT(next_event(), "");
        create(s.one, ZKL_PERSISTENT, "/a");
        erase(s.one, "/a", -1);
        CHECK_TEXT(next_event(), "");
    }
}

static void sessions(void) {
    TEST("a session's end removes its ephemerals, in one transaction, and its watches") {
        create(s.one, ZKL_PERSISTENT, "/a");
        create(s.one, ZKL_EPHEMERAL, "/a/x");
        create(s.two, ZKL_EPHEMERAL, "/a/y");
        create(s.one, ZKL_SEQUENTIAL, "/a/z-");
        int64_t zxid = s.answer.results[0].stat.czxid;
        watch(s.two, ZKL_RPC_GET, "/a/x");
        watch(s.two, ZKL_RPC_GET, "/a/z-0000000002");
        watch(s.one, ZKL_RPC_GET, "/a/x");
        watch(s.one, ZKL_RPC_GET, "/a");
        zkl_tree_close(s.tree, s.one);
        CHECK_TEXT(next_event(), "two deleted /a/x");
        CHECK_TEXT(next_event(), "two deleted /a/z-0000000002");
        set(s.two, "/a", "x", -1);
        CHECK_IS(s.answer.results[0].stat.mzxid, zxid + 2);
        CHECK_TEXT(next_event(), "");
        CHECK_IS(count_children("/a"), 1);
        CHECK(!zkl_tree_session_lives(s.tree, s.one) && zkl_tree_session_lives(s.tree, s.two));
        zkl_tree_close(s.tree, s.one);
    }
    TEST("an ended session gets ZKL_ERROR_SESSION_EXPIRED, whatever it asks") {
        zkl_tree_expire(s.tree, s.one);
        CHECK_TEXT(next_event(), "one expired");
        CHECK_IS(create(s.one, ZKL_PERSISTENT, "/a"), ZKL_ERROR_SESSION_EXPIRED);
        CHECK(!s.answer.results);
        CHECK_IS(ask_kind(s.one, ZKL_RPC_SYNC, "/"), ZKL_ERROR_SESSION_EXPIRED);
        CHECK(!zkl_tree_retime(s.tree, s.one, MEMORY_TIMEOUT, s.now));
        CHECK(!node_exists("/a"));
    }
    TEST("a session expires when nothing was heard of it for its timeout") {
        create(s.one, ZKL_EPHEMERAL, "/a");
        watch(s.two, ZKL_RPC_GET, "/a");
        CHECK_IS(zkl_tree_due(s.tree), s.now + MEMORY_TIMEOUT);
        s.now += MEMORY_TIMEOUT - 1;
        CHECK(zkl_tree_retime(s.tree, s.two, MEMORY_TIMEOUT, s.now));
        zkl_tree_tick(s.tree, s.now);
        CHECK(zkl_tree_session_lives(s.tree, s.one));
        s.now++;
        CHECK_IS(ask_kind(s.one, ZKL_RPC_SYNC, "/"), ZKL_ERROR_SESSION_EXPIRED);
        CHECK_TEXT(next_event(), "one expired");
        CHECK_TEXT(next_event(), "two deleted /a");
        CHECK_IS(zkl_tree_due(s.tree), s.now - 1 + MEMORY_TIMEOUT);
    }
    TEST("any request keeps its session alive, also a failing one") {
        for (int i = 0; i < 5; i++) {
            s.now += MEMORY_TIMEOUT - 1;
            CHECK_IS(ask_kind(s.one, ZKL_RPC_GET, "/none"), ZKL_ERROR_NO_NODE);
        }
        CHECK_TEXT(next_event(), "two expired");
        CHECK_TEXT(next_event(), "");
    }
    TEST("a session's id is greater than all earlier ids") {
        CHECK(s.one > 0 && s.two > s.one);
        zkl_tree_close(s.tree, s.two);
        uint64_t three = zkl_tree_open(s.tree, ZKL_NEVER, s.now);
        CHECK(three > s.two);
        zkl_tree_close(s.tree, s.one);
        zkl_tree_tick(s.tree, s.now + MEMORY_TIMEOUT);
        CHECK_IS(zkl_tree_due(s.tree), ZKL_NEVER);
        zkl_tree_tick(s.tree, ZKL_NEVER - 1);
        CHECK(zkl_tree_session_lives(s.tree, three));
    }
    TEST("a reset leaves only a new root and no session; zxids go on") {
        create(s.one, ZKL_CONTAINER, "/a");
        create(s.one, ZKL_PERSISTENT, "/a/b");
        create(s.two, ZKL_EPHEMERAL, "/a/b/c");
        create(s.one, ZKL_CONTAINER, "/e");
        create(s.one, ZKL_PERSISTENT, "/e/f");
        erase(s.one, "/e/f", -1);
        set(s.one, "/", "root", -1);
        int64_t zxid = s.answer.results[0].stat.mzxid;
        watch(s.one, ZKL_RPC_EXISTS, "/a/b/c");
        zkl_tree_reset(s.tree);
        CHECK_TEXT(next_event(), "one expired");
        CHECK_TEXT(next_event(), "two expired");
        CHECK_TEXT(next_event(), "");
        CHECK_IS(zkl_tree_due(s.tree), ZKL_NEVER);
        uint64_t three = zkl_tree_open(s.tree, MEMORY_TIMEOUT, s.now);
        CHECK(three > s.two);
        ask_kind(three, ZKL_RPC_GET, "/");
        CHECK_IS(s.answer.stat->version, 0);
        CHECK_IS(s.answer.size, 0);
        CHECK_IS(count_children("/"), 0);
        create(three, ZKL_SEQUENTIAL, "/n-");
        CHECK_TEXT(s.answer.results[0].created, "/n-0000000000");
        CHECK(s.answer.results[0].stat.czxid > zxid);
    }
}

static void containers(void) {
    TEST("a container that lost its last child is removed by the next check") {
        uint64_t keeper = zkl_tree_open(s.tree, ZKL_NEVER, s.now);
        create(s.one, ZKL_CONTAINER, "/c");
        create(s.one, ZKL_CONTAINER, "/new");
        create(s.one, ZKL_EPHEMERAL, "/c/x");
        watch(keeper, ZKL_RPC_GET, "/c");
        s.now += MEMORY_TIMEOUT; /* the sessions expire */
        zkl_tree_tick(s.tree, s.now);
        CHECK(node_exists("/c"));
        CHECK_IS(zkl_tree_due(s.tree), s.now + MEMORY_CONTAINER_CHECK);
        s.now += MEMORY_CONTAINER_CHECK;
        CHECK_IS(create(keeper, ZKL_PERSISTENT, "/c/y"), ZKL_ERROR_NO_NODE);
        CHECK_TEXT(next_event(), "one expired");
        CHECK_TEXT(next_event(), "two expired");
        CHECK_TEXT(next_event(), "another deleted /c");
        CHECK(node_exists("/new"));
        CHECK_IS(zkl_tree_due(s.tree), ZKL_NEVER);
    }
    TEST("a container that got a child in time stays") {
        uint64_t keeper = zkl_tree_open(s.tree, ZKL_NEVER, s.now);
        create(keeper, ZKL_CONTAINER, "/c");
        create(keeper, ZKL_PERSISTENT, "/c/x");
        erase(keeper, "/c/x", -1);
        create(keeper, ZKL_PERSISTENT, "/c/y");
        zkl_tree_tick(s.tree, s.now + 2 * MEMORY_CONTAINER_CHECK);
        CHECK(node_exists("/c"));
        CHECK_IS(zkl_tree_due(s.tree), ZKL_NEVER);
    }
    TEST("a container made in the place of a deleted one is not removed") {
        uint64_t keeper = zkl_tree_open(s.tree, ZKL_NEVER, s.now);
        create(keeper, ZKL_CONTAINER, "/c");
        CHECK_IS(MULTI(keeper, CREATE("/c/x"), DELETE("/c/x"), DELETE("/c")), 0);
        create(keeper, ZKL_CONTAINER, "/c");
        zkl_tree_tick(s.tree, s.now + 2 * MEMORY_CONTAINER_CHECK);
        CHECK(node_exists("/c"));
    }
    TEST("an inner container is removed first, the outer one by a later check") {
        uint64_t keeper = zkl_tree_open(s.tree, ZKL_NEVER, s.now);
        create(keeper, ZKL_CONTAINER, "/c");
        create(keeper, ZKL_CONTAINER, "/c/d");
        create(keeper, ZKL_PERSISTENT, "/c/d/x");
        erase(keeper, "/c/d/x", -1);
        s.now += MEMORY_CONTAINER_CHECK;
        zkl_tree_tick(s.tree, s.now);
        CHECK(!node_exists("/c/d") && node_exists("/c"));
        s.now += MEMORY_CONTAINER_CHECK;
        zkl_tree_tick(s.tree, s.now);
        CHECK(!node_exists("/c"));
    }
}

static const char *numbered(const char *format, int number) {
    static char path[64];
    snprintf(path, sizeof path, format, number);
    return path;
}

static void crowds(void) {
    TEST("a hundred thousand nodes are made, listed, found and removed") {
        enum { NODES = 100000 };
        scene_open();
        create(s.one, ZKL_PERSISTENT, "/q");
        for (int i = 0; i < NODES; i++) create(s.two, ZKL_SEQUENTIAL, "/q/lock-");
        CHECK_TEXT(s.answer.results[0].created, "/q/lock-0000099999");
        CHECK_IS(count_children("/q"), NODES);
        CHECK_TEXT(s.answer.names[NODES - 1], "lock-0000099999");
        int found = 0;
        for (int i = 0; i < NODES; i++) found += node_exists(numbered("/q/lock-%010d", i));
        CHECK_IS(found, NODES);
        zkl_tree_close(s.tree, s.two);
        CHECK_IS(count_children("/q"), 0);
    }
    TEST("a thousand waiters in line get one event each, for the node ahead") {
        enum { WAITERS = 1000 };
        static uint64_t waiters[WAITERS];
        scene_open();
        create(s.one, ZKL_PERSISTENT, "/q");
        for (int i = 0; i < WAITERS; i++) {
            waiters[i] = zkl_tree_open(s.tree, MEMORY_TIMEOUT, s.now);
            create(waiters[i], ZKL_SEQUENTIAL, "/q/lock-");
            if (i > 0) watch(waiters[i], ZKL_RPC_GET, numbered("/q/lock-%010d", i - 1));
        }
        for (int i = 0; i < WAITERS; i++) {
            zkl_tree_close(s.tree, waiters[i]);
            bool told = zkl_tree_next_event(s.tree, &s.event);
            CHECK_IS(told, i < WAITERS - 1);
            if (!told) break;
            CHECK_IS(s.event.session, waiters[i + 1]);
            CHECK_TEXT(s.event.path, numbered("/q/lock-%010d", i));
            CHECK(!zkl_tree_next_event(s.tree, &s.event));
        }
    }
}

int main(void) {
    check_before(scene_open);
    nodes();
    paths();
    numbers();
    transactions();
    watches();
    sessions();
    containers();
    crowds();
    return check_report();
}
