/*
 * differential.c - random requests of three sessions to the tree of src/memory and to a real
 * ZooKeeper. Their answers must agree.
 *
 *   spec/memory/against build/memory/differential SEED REQUESTS
 *
 * The run compares errors, data, names (in any order), created paths, versions, the sessions of
 * owners, the order of zxids, and each session's events, in order where a server orders them. An
 * event of a session's own request must precede the answer. After each request the run waits for
 * the removal of containers. The first difference ends it.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "server.h"
#include "tree.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))
#define MARKER "/closing"
#define WORN "/worn" /* near the end of its counter, see spec/memory/against */

enum { SESSIONS = 3, OPS = 5, PATH_SIZE = 128, RECENT = 24, ERRORS = 128 };

/* Few paths, so that all that matters happens often. */
static const char *const PATHS[] = {
    "/",    "/m",     "/m/a", "/m/b",   "/m/a/x", "/m/a/y",   "/m/b/x",
    "/m/c", "/m/c/x", "/m/k", "/m/k/l", "/m/q",   "/m/k/l/x", WORN "/x",
};
static const char *const HOT[] = {"/m", "/m/a", "/m/a/x", "/m/c", "/m/c/x", "/m/k/l"};
static const char *const PREFIXES[] = {"/m/a/n-", "/m/q/n-", "/m/q/", "/m/c/n-", WORN "/n-"};
static const char *const WORN_PREFIXES[] = {WORN "/n-", WORN "/o-", WORN "/p-", WORN "/q-"};
static const char *const INVALID[] = {"/m/",    "//m",   "m",      "/m//a",   "/m/../a",
                                      "/m/./a", "/m/..", "/m/a/.", "/m/\x01", ""};
static const char *const INVALID_TO_MAKE[] = {"/\x1f", "/\x7f", "/\xf0\x9f\x94\x92",
                                              "/\xef\xbf\xb0", "/\xc2\x85"};

/* A session at the tree and the server. */
struct pair {
    struct server_session *server;
    uint64_t id, server_id;
};

static struct {
    uint64_t seed, random;
    const char *hosts;
    struct zkl_tree *tree;
    zkl_time now;
    struct pair sessions[SESSIONS];
    struct pair *pairs; /* closed ones included */
    size_t pair_count;
    struct server_session *observer;
    int64_t *zxids; /* the server's zxids, indexed by the tree's; 0: unseen */
    int64_t zxid_count;
    char recent[RECENT][PATH_SIZE];
    char request[1024];
    size_t number, requests, events, removed;
    size_t errors[ERRORS]; /* operations and answers, by negated error */
} world;

/* --- complaints ---------------------------------------------------------------------------- */

__attribute__((noreturn, format(printf, 1, 2))) static void report_difference(const char *format,
                                                                              ...) {
    va_list arguments;
    va_start(arguments, format);
    printf("request %zu: %s\n", world.number, world.request);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\nseed %" PRIu64 "\n0 passed, 1 failed\n", world.seed);
    exit(1);
}

static void expect_same(const char *what, int64_t tree, int64_t server) {
    if (tree != server)
        report_difference("%s: the tree says %" PRId64 ", the server %" PRId64, what, tree, server);
}

static void expect_same_text(const char *what, const char *tree, const char *server) {
    if ((!tree != !server) || (tree && strcmp(tree, server) != 0))
        report_difference("%s: the tree says %s, the server %s", what, tree ? tree : "nothing",
                          server ? server : "nothing");
}

/* --- chance -------------------------------------------------------------------------------- */

static uint64_t next_random(void) {
    uint64_t z = world.random += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static size_t choose(size_t count) {
    return (size_t)(next_random() % count);
}

static bool chance(size_t percent) {
    return choose(100) < percent;
}

#define CHOOSE(list) ((list)[choose(COUNT(list))])

/* --- answers ------------------------------------------------------------------------------- */

/* Checks that zxids of tree and server have the same order. */
static void expect_zxid_order(const char *what, int64_t tree, int64_t server) {
    if (tree == 0 || server == 0) {
        expect_same(what, tree, server);
        return;
    }
    if (tree >= world.zxid_count) report_difference("%s: zxid %" PRId64 " of the tree", what, tree);
    int64_t *known = &world.zxids[tree], *before = known - 1, *after = known + 1;
    if (*known) expect_same(what, *known, server);
    *known = server;
    while (before > world.zxids && !*before) before--;
    while (after < world.zxids + world.zxid_count && !*after) after++;
    bool ordered = *before < server && (after == world.zxids + world.zxid_count || server < *after);
    if (!ordered) report_difference("%s: %" PRId64 " of the server is out of order", what, server);
}

static void expect_same_owner(uint64_t tree, uint64_t server) {
    for (size_t i = 0; i < world.pair_count; i++) {
        if ((world.pairs[i].id == tree) != (world.pairs[i].server_id == server))
            report_difference("owner: the tree says %" PRIx64 ", the server %" PRIx64, tree,
                              server);
        if (world.pairs[i].id == tree) return;
    }
    expect_same("owner", (int64_t)tree, (int64_t)server);
}

static void expect_same_stat(const struct zkl_stat *tree, const struct zkl_stat *server) {
    expect_zxid_order("czxid", tree->czxid, server->czxid);
    expect_zxid_order("mzxid", tree->mzxid, server->mzxid);
    expect_same("version", tree->version, server->version);
    expect_same("aversion", tree->aversion, server->aversion);
    expect_same_owner(tree->owner, server->owner);
}

static int compare_names(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Sorts the names, without /zookeeper. */
static size_t sort_names(const char **sorted, const struct zkl_answer *answer) {
    size_t count = 0;
    for (int i = 0; i < answer->count; i++) {
        if (strcmp(answer->names[i], "zookeeper") != 0) sorted[count++] = answer->names[i];
    }
    qsort(sorted, count, sizeof *sorted, compare_names);
    return count;
}

static void expect_same_names(const struct zkl_answer *tree, const struct zkl_answer *server) {
    const char **of_tree = calloc((size_t)tree->count + 1, sizeof *of_tree);
    const char **of_server = calloc((size_t)server->count + 1, sizeof *of_server);
    size_t count = sort_names(of_tree, tree);
    expect_same("count of names", (int64_t)count, (int64_t)sort_names(of_server, server));
    for (size_t i = 0; i < count; i++) expect_same_text("name", of_tree[i], of_server[i]);
    free(of_tree);
    free(of_server);
}

static void expect_same_results(const struct zkl_rpc *rpc, const struct zkl_answer *tree,
                                const struct zkl_answer *server) {
    for (size_t i = 0; i < rpc->count; i++) {
        expect_same("error of an operation", tree->results[i].error, server->results[i].error);
        expect_same_text("created", tree->results[i].created, server->results[i].created);
        expect_same_stat(&tree->results[i].stat, &server->results[i].stat);
    }
}

static void expect_same_answer(const struct zkl_rpc *rpc, const struct zkl_answer *tree,
                               const struct zkl_answer *server) {
    expect_same("error", tree->error, server->error);
    expect_same("size", tree->size, server->size);
    if (tree->size > 0 && memcmp(tree->data, server->data, (size_t)tree->size) != 0)
        report_difference("data: not the same");
    bool reads = rpc->kind == ZKL_RPC_GET || rpc->kind == ZKL_RPC_EXISTS;
    if (reads) expect_same("stat", tree->stat != NULL, server->stat != NULL);
    if (reads && tree->stat) expect_same_stat(tree->stat, server->stat);
    expect_same_names(tree, server);
    if (rpc->count > 0) expect_same_results(rpc, tree, server);
}

/* --- events -------------------------------------------------------------------------------- */

enum { EXPECTED = 1024 };

static struct {
    size_t count;
    struct {
        uint64_t session;
        struct server_event event;
    } list[EXPECTED];
} expected;

static void collect_expected(void) {
    struct zkl_tree_event event;
    while (zkl_tree_next_event(world.tree, &event)) {
        if (!event.path || expected.count == EXPECTED)
            report_difference("an event of the tree's own");
        expected.list[expected.count].session = event.session;
        expected.list[expected.count].event.kind = event.kind;
        snprintf(expected.list[expected.count].event.path, PATH_SIZE, "%s", event.path);
        expected.count++;
    }
}

static size_t take_expected(uint64_t session, struct server_event *events) {
    size_t count = 0;
    for (size_t i = 0; i < expected.count; i++)
        if (expected.list[i].session == session) events[count++] = expected.list[i].event;
    return count;
}

static int compare_events(const void *a, const void *b) {
    const struct server_event *left = a, *right = b;
    int order = strcmp(left->path, right->path);
    return order ? order : (int)left->kind - (int)right->kind;
}

static void expect_same_events(struct pair *pair, bool ordered) {
    static struct server_event of_tree[EXPECTED], of_server[EXPECTED];
    server_catch_up(pair->server);
    size_t came = server_event_count(pair->server), count = take_expected(pair->id, of_tree);
    memcpy(of_server, server_take_events(pair->server), came * sizeof *of_server);
    expect_same("count of events", (int64_t)count, (int64_t)came);
    if (!ordered) qsort(of_tree, count, sizeof *of_tree, compare_events);
    if (!ordered) qsort(of_server, count, sizeof *of_server, compare_events);
    for (size_t i = 0; i < count; i++) {
        expect_same_text("path of an event", of_tree[i].path, of_server[i].path);
        expect_same("kind of an event", of_tree[i].kind, of_server[i].kind);
    }
    world.events += count;
}

/* --- containers ---------------------------------------------------------------------------- */

static bool node_exists(const char *path) {
    struct zkl_answer answer;
    zkl_tree_ask(world.tree, 0, &(struct zkl_rpc){.kind = ZKL_RPC_EXISTS, .path = path}, world.now,
                 &answer);
    return answer.error == ZKL_ERROR_NONE;
}

static void await_removal(const char *path) {
    const struct zkl_rpc rpc = {.kind = ZKL_RPC_EXISTS, .path = path};
    struct zkl_answer answer;
    for (int i = 0; i < 6000; i++) {
        server_ask(world.observer, &rpc, &answer);
        if (answer.error == ZKL_ERROR_NO_NODE) return;
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    report_difference("%s: the server does not remove it", path);
}

/* Waits for all due removals of containers. True: there were removals. */
static bool remove_containers(void) {
    bool removed = false;
    while (zkl_tree_due(world.tree) != ZKL_NEVER) { /* sessions do not expire */
        bool existed[COUNT(PATHS)];
        for (size_t i = 0; i < COUNT(PATHS); i++) existed[i] = node_exists(PATHS[i]);
        world.now = zkl_tree_due(world.tree);
        zkl_tree_tick(world.tree, world.now);
        for (size_t i = 0; i < COUNT(PATHS); i++) {
            if (!existed[i] || node_exists(PATHS[i])) continue;
            await_removal(PATHS[i]);
            world.removed++;
        }
        removed = true;
    }
    collect_expected();
    return removed;
}

/* --- sessions ------------------------------------------------------------------------------ */

static void open_pair(struct pair *pair) {
    pair->server = server_open(world.hosts);
    pair->server_id = server_session_id(pair->server);
    pair->id = zkl_tree_open(world.tree, ZKL_NEVER, world.now);
    world.pairs = realloc(world.pairs, (world.pair_count + 1) * sizeof *world.pairs);
    world.pairs[world.pair_count++] = *pair;
}

static void count_errors(const struct zkl_rpc *rpc, const struct zkl_answer *answer) {
    if (rpc->count == 0) world.errors[-answer->error]++;
    for (size_t i = 0; i < rpc->count; i++) world.errors[-answer->results[i].error]++;
}

static void remember_created(const struct zkl_rpc *rpc, const struct zkl_answer *answer) {
    for (size_t i = 0; i < rpc->count; i++) {
        if (rpc->ops[i].mode == ZKL_SEQUENTIAL && answer->results[i].created)
            snprintf(CHOOSE(world.recent), PATH_SIZE, "%s", answer->results[i].created);
    }
}

/* Asks the tree and the server. Events of the pair must precede the answer. */
static void ask_both(struct pair *pair, const struct zkl_rpc *rpc) {
    struct zkl_answer of_tree, of_server;
    static struct server_event own[EXPECTED];
    zkl_tree_ask(world.tree, pair->id, rpc, world.now, &of_tree);
    server_ask(pair->server, rpc, &of_server);
    size_t came = server_event_count(pair->server);
    expect_same_answer(rpc, &of_tree, &of_server);
    count_errors(rpc, &of_tree);
    remember_created(rpc, &of_tree);
    collect_expected();
    if (came < take_expected(pair->id, own))
        report_difference("the server tells it after the answer");
}

static void settle(bool ordered) {
    if (remove_containers()) ordered = false;
    for (size_t i = 0; i < SESSIONS; i++)
        if (world.sessions[i].server) expect_same_events(&world.sessions[i], ordered);
    expected.count = 0;
}

/* The removal of an ephemeral marker shows that the server has closed the session. */
static void reopen(struct pair *pair) {
    const struct zkl_op marker = {
        .kind = ZKL_OP_CREATE, .mode = ZKL_EPHEMERAL, .path = MARKER, .data = "", .size = 0};
    snprintf(world.request, sizeof world.request, "session %" PRIu64 " closes", pair->id);
    ask_both(pair,
             &(struct zkl_rpc){.kind = ZKL_RPC_WRITE, .path = MARKER, .ops = &marker, .count = 1});
    settle(true);
    server_close(pair->server);
    pair->server = NULL;
    await_removal(MARKER);
    zkl_tree_close(world.tree, pair->id);
    collect_expected();
    settle(false);
    open_pair(pair);
}

/* --- requests ------------------------------------------------------------------------------ */

static const char *choose_path(void) {
    if (chance(15)) {
        const char *recent = CHOOSE(world.recent);
        if (recent[0]) return recent;
    }
    return chance(60) ? CHOOSE(HOT) : CHOOSE(PATHS);
}

static struct zkl_op choose_create(void) {
    struct zkl_op op = {.kind = ZKL_OP_CREATE, .path = choose_path(), .version = -1};
    op.mode = chance(40) ? ZKL_PERSISTENT : chance(60) ? ZKL_EPHEMERAL : ZKL_SEQUENTIAL;
    if (strcmp(op.path, "/m/c") == 0 || strcmp(op.path, "/m/k") == 0 ||
        strcmp(op.path, "/m/k/l") == 0)
        op.mode = chance(95) ? ZKL_CONTAINER : op.mode;
    if (op.mode == ZKL_SEQUENTIAL && chance(80)) op.path = CHOOSE(PREFIXES);
    if (chance(1)) op.path = CHOOSE(INVALID_TO_MAKE);
    return op;
}

static struct zkl_op choose_op(void) {
    static const char *const data[] = {NULL, "", "x", "yes\0no", "__SIGNAL__"};
    static const size_t sizes[] = {0, 0, 1, 6, 10};
    size_t kind = choose(100), what = choose(COUNT(data));
    struct zkl_op op = {.kind = kind < 55 ? ZKL_OP_SET : kind < 85 ? ZKL_OP_DELETE : ZKL_OP_CHECK};
    if (chance(45)) op = choose_create();
    else op.path = choose_path();
    if (op.kind == ZKL_OP_DELETE && strcmp(op.path, "/m") == 0) op.kind = ZKL_OP_SET;
    if (op.kind != ZKL_OP_CREATE) op.version = chance(85) ? -1 : (int32_t)choose(4) - 1;
    if (op.kind == ZKL_OP_CREATE || op.kind == ZKL_OP_SET) {
        op.data = data[what];
        op.size = sizes[what];
    }
    return op;
}

/* Creates that take sequential numbers in one transaction, at the counter's end. */
static void choose_worn_creates(struct zkl_op *ops, size_t count) {
    for (size_t i = 0; i < count; i++)
        ops[i] = (struct zkl_op){
            .kind = ZKL_OP_CREATE, .mode = ZKL_SEQUENTIAL, .path = CHOOSE(WORN_PREFIXES)};
}

static void describe_op(const struct zkl_op *op) {
    static const char *const kinds[] = {"set", "create", "delete", "check"};
    static const char *const modes[] = {"persistent", "ephemeral", "sequential", "container"};
    size_t length = strlen(world.request);
    snprintf(world.request + length, sizeof world.request - length, " %s %s (%s)", kinds[op->kind],
             op->path, op->kind == ZKL_OP_CREATE ? modes[op->mode] : "any mode");
    length = strlen(world.request);
    if (op->version != -1)
        snprintf(world.request + length, sizeof world.request - length, " version %" PRId32,
                 op->version);
}

static void describe(const struct pair *pair, const struct zkl_rpc *rpc) {
    static const char *const kinds[] = {"write", "multi",  "list",    "sync",
                                        "get",   "exists", "unwatch", "unwatch children"};
    snprintf(world.request, sizeof world.request, "session %" PRIu64 ": %s %s%s", pair->id,
             kinds[rpc->kind], rpc->path, rpc->watch ? " watch" : "");
    for (size_t i = 0; i < rpc->count; i++) describe_op(&rpc->ops[i]);
}

/*
 * Avoids two defects of libzookeeper. After a path that zoo_amulti() refuses, it sends half a
 * request or frees unset memory. It cannot read a transaction's answer to a container's create.
 */
static void make_request(void) {
    static const enum zkl_rpc_kind kinds[] = {
        ZKL_RPC_LIST,   ZKL_RPC_LIST,   ZKL_RPC_GET,    ZKL_RPC_GET,     ZKL_RPC_GET,
        ZKL_RPC_EXISTS, ZKL_RPC_EXISTS, ZKL_RPC_EXISTS, ZKL_RPC_UNWATCH, ZKL_RPC_UNWATCH_CHILDREN,
        ZKL_RPC_SYNC};
    struct pair *pair = &CHOOSE(world.sessions);
    struct zkl_op ops[OPS];
    struct zkl_rpc rpc = {.ops = ops, .count = 0};
    if (chance(1)) {
        reopen(pair);
        return;
    }
    if (chance(60)) {
        rpc.kind = chance(20) ? ZKL_RPC_MULTI : ZKL_RPC_WRITE;
        rpc.count = rpc.kind == ZKL_RPC_MULTI ? 1 + choose(chance(50) ? 2 : OPS) : 1;
        for (size_t i = 0; i < rpc.count; i++) ops[i] = choose_op();
        if (rpc.kind == ZKL_RPC_MULTI && chance(10)) choose_worn_creates(ops, rpc.count);
        for (size_t i = 0; rpc.kind == ZKL_RPC_MULTI && i < rpc.count; i++)
            if (ops[i].mode == ZKL_CONTAINER) ops[i].mode = ZKL_PERSISTENT;
        if (rpc.kind == ZKL_RPC_WRITE && ops[0].kind != ZKL_OP_CHECK && chance(3))
            ops[0].path = CHOOSE(INVALID);
        rpc.path = ops[0].path;
    } else {
        rpc.kind = CHOOSE(kinds);
        rpc.path = chance(3) ? CHOOSE(INVALID) : choose_path();
        bool reads =
            rpc.kind == ZKL_RPC_LIST || rpc.kind == ZKL_RPC_GET || rpc.kind == ZKL_RPC_EXISTS;
        rpc.watch = reads && chance(70);
    }
    describe(pair, &rpc);
    ask_both(pair, &rpc);
    settle(true);
}

/* --- the run ------------------------------------------------------------------------------- */

/* Sets the tree's counter, as spec/memory/against did on the server. */
static void make_worn(int32_t number) {
    uint64_t session = zkl_tree_open(world.tree, ZKL_NEVER, world.now);
    const struct zkl_op op = {.kind = ZKL_OP_CREATE, .path = WORN, .data = "", .size = 0};
    struct zkl_answer answer;
    zkl_tree_ask(world.tree, session,
                 &(struct zkl_rpc){.kind = ZKL_RPC_WRITE, .ops = &op, .count = 1}, world.now,
                 &answer);
    zkl_tree_set_counter(world.tree, WORN, number);
    zkl_tree_close(world.tree, session);
}

static void make_top(void) {
    const struct zkl_op op = {.kind = ZKL_OP_CREATE, .path = "/m", .data = "", .size = 0};
    ask_both(&world.sessions[0],
             &(struct zkl_rpc){.kind = ZKL_RPC_WRITE, .path = op.path, .ops = &op, .count = 1});
}

int main(int count, char **arguments) {
    world.hosts = getenv("ZK_HOSTS");
    if (count != 4 || !world.hosts) {
        fprintf(stderr, "usage: ZK_HOSTS=... differential SEED REQUESTS COUNTER\n");
        return 2;
    }
    world.seed = world.random = strtoull(arguments[1], NULL, 10);
    world.requests = strtoull(arguments[2], NULL, 10);
    world.zxid_count = (int64_t)world.requests * 4 + 100;
    world.zxids = calloc((size_t)world.zxid_count, sizeof *world.zxids);
    world.tree = zkl_tree_new(1);
    world.observer = server_open(world.hosts);
    make_worn((int32_t)strtol(arguments[3], NULL, 10));
    for (size_t i = 0; i < SESSIONS; i++) open_pair(&world.sessions[i]);
    make_top();
    for (; world.number < world.requests; world.number++) make_request();
    for (size_t i = 0; i < SESSIONS; i++) server_close(world.sessions[i].server);
    server_close(world.observer);
    zkl_tree_free(world.tree);
    printf("%zu requests, %zu events, %zu sessions, %zu containers removed; seed %" PRIu64 "\n",
           world.requests, world.events, world.pair_count, world.removed, world.seed);
    for (int i = 0; i < ERRORS; i++)
        if (world.errors[i]) printf("%zu times error %d\n", world.errors[i], -i);
    printf("1 passed, 0 failed\n");
    free(world.zxids);
    free(world.pairs);
    return 0;
}
