/*
 * session_test.c - counts a session's steps for one of many waiters. Compiled with
 * -fsanitize-coverage=trace-pc, the session calls __sanitizer_cov_trace_pc() in each basic block.
 * The number of blocks does not depend on the machine. A server with a few nodes answers at once.
 */
#include <stdio.h>
#include <stdlib.h>

#include "../../src/session/session.h"
#include "check.h"

/* --- counting ---------------------------------------------------------------------------- */

static uint64_t blocks;

void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void) {
    blocks++;
}

/* --- the server -------------------------------------------------------------------------- */

static zkl_session *session;

enum { NODES = 8, PATH_SIZE = 128, ID = 1 };

static struct {
    char nodes[NODES][PATH_SIZE];
    struct zkl_stat stats[NODES];
    bool watched[NODES], children_watched;
    int made;
    int64_t zxid;
} server;

static int find_node(const char *path) {
    int at = 0;
    while (at < NODES && strcmp(server.nodes[at], path) != 0) at++;
    return at;
}

/* Tells watchers of the children that a child came or went. */
static void tell_of_children(const char *child) {
    char parent[PATH_SIZE];
    if (!server.children_watched) return;
    server.children_watched = false;
    snprintf(parent, sizeof parent, "%.*s", (int)(strrchr(child, '/') - child), child);
    zkl_session_event(session, ZKL_NODE_CHILDREN, parent);
}

static void create_node(const struct zkl_op *op, struct zkl_result *result) {
    bool numbered = op->mode == ZKL_SEQUENTIAL;
    int at = find_node(numbered ? "" : op->path);
    if (at < NODES && !numbered) result->error = ZKL_ERROR_NODE_EXISTS;
    if (result->error) return;
    if (!numbered) at = find_node("");
    if (numbered) snprintf(server.nodes[at], PATH_SIZE, "%s%010d", op->path, server.made++);
    else snprintf(server.nodes[at], PATH_SIZE, "%s", op->path);
    server.watched[at] = false;
    server.zxid++;
    server.stats[at] = (struct zkl_stat){.czxid = server.zxid, .mzxid = server.zxid, .owner = ID};
    result->created = server.nodes[at];
    result->stat = server.stats[at];
    tell_of_children(op->path);
}

static void delete_node(const char *path) {
    char node[PATH_SIZE];
    int at = find_node(path);
    bool watched = server.watched[at];
    snprintf(node, sizeof node, "%s", path);
    server.nodes[at][0] = '\0';
    server.zxid++;
    if (watched) zkl_session_event(session, ZKL_NODE_DELETED, node);
    tell_of_children(node);
}

static void list_nodes(const struct zkl_rpc *rpc) {
    const char *names[NODES];
    int count = 0;
    for (int i = 0; i < NODES; i++)
        if (*server.nodes[i]) names[count++] = strrchr(server.nodes[i], '/') + 1;
    const struct zkl_answer answer = {.names = names, .count = count};
    if (rpc->watch) server.children_watched = true;
    zkl_session_answer(session, rpc->id, &answer);
}

static void get_node(const struct zkl_rpc *rpc) {
    int at = find_node(rpc->path);
    struct zkl_answer answer = {.error = ZKL_ERROR_NO_NODE};
    if (at < NODES) answer = (struct zkl_answer){.stat = &server.stats[at], .data = ""};
    if (at < NODES && rpc->watch) server.watched[at] = true;
    zkl_session_answer(session, rpc->id, &answer);
}

static void write_node(const struct zkl_rpc *rpc) {
    const struct zkl_op *op = rpc->ops;
    struct zkl_result result = {0};
    if (op->kind == ZKL_OP_DELETE) delete_node(op->path);
    else create_node(op, &result);
    const struct zkl_answer answer = {.error = result.error, .results = &result};
    zkl_session_answer(session, rpc->id, &answer);
}

static void serve(void) {
    const struct zkl_answer done = {0};
    const struct zkl_rpc *rpc;
    while ((rpc = zkl_session_next_rpc(session))) {
        switch (rpc->kind) {
        case ZKL_RPC_WRITE: write_node(rpc); break;
        case ZKL_RPC_LIST: list_nodes(rpc); break;
        case ZKL_RPC_GET: get_node(rpc); break;
        default: zkl_session_answer(session, rpc->id, &done); break;
        }
    }
}

/* --- a session and its waiters ----------------------------------------------------------- */

enum { BATCH = 16, TURNS = 4, HAND_OVERS = TURNS * BATCH, MOST = 100000 };

static const zkl_time TIMEOUT = 10 * ZKL_SECOND;

static zkl_request *requests[MOST];
static zkl_time now;
static size_t first; /* the request that waits the longest, or holds */

static void set_time(zkl_time time) {
    now = time;
    zkl_session_at(session, now);
}

static void take_events(void) {
    struct zkl_event event;
    while (zkl_session_next_event(session, &event)) continue;
}

static zkl_request *acquire(enum zkl_kind kind, size_t number, zkl_time timeout) {
    char owner[24];
    snprintf(owner, sizeof owner, "%zu", number);
    const struct zkl_acquire_options options = {.path = "/hot",
                                                .kind = kind,
                                                .owner = owner,
                                                .timeout = timeout,
                                                .batch = kind == ZKL_MUTEX ? BATCH : 0};
    return zkl_acquire(session, &options);
}

static void open_session(void) {
    const struct zkl_settings settings = {.identity = "here:1",
                                          .patience = TIMEOUT / 12,
                                          .margin = 0.33,
                                          .overhead = 4,
                                          .reopen = true};
    memset(&server, 0, sizeof server);
    session = zkl_session_new(&settings);
    set_time(1000 * ZKL_SECOND);
    zkl_session_connected(session, ID, TIMEOUT);
    zkl_session_tick(session);
    serve();
    first = 0;
}

/* Makes `count` requests. The first one is granted. */
static void queue(enum zkl_kind kind, size_t count, zkl_time timeout) {
    for (size_t i = 0; i < count; i++) {
        set_time(now + 1);
        requests[i] = acquire(kind, i, i == 0 ? ZKL_NEVER : timeout);
        serve();
    }
    take_events();
    CHECK(zkl_request_done(requests[0]));
}

static void close_session(size_t count) {
    zkl_session_close(session);
    serve();
    zkl_session_closed(session);
    for (size_t i = 0; i < count; i++) zkl_request_drop(requests[i]);
    zkl_session_free(session);
}

/* --- steps ------------------------------------------------------------------------------- */

static char other[PATH_SIZE]; /* node of another session in the line */

static void other_comes(void) {
    const struct zkl_op op = {.path = "/hot/_c_00000000-0000-0002-0000-000000000000-lock-",
                              .mode = ZKL_SEQUENTIAL};
    struct zkl_result result = {0};
    create_node(&op, &result);
    snprintf(other, sizeof other, "%s", result.created);
}

/* The other session releases, and queues again. */
static void other_takes_its_turn(void) {
    char gone[PATH_SIZE];
    snprintf(gone, sizeof gone, "%s", other);
    other_comes();
    delete_node(gone);
    serve();
    take_events();
}

/* Hands the lock from the first request to the next. The first queues again. */
static void hand_over(size_t count) {
    zkl_request *mine = requests[first];
    zkl_lease *lease = zkl_request_lease(mine);
    CHECK(lease != NULL);
    if (!lease) return;
    zkl_lease_release(lease);
    serve();
    zkl_lease_drop(lease);
    zkl_request_drop(mine);
    set_time(now + 1);
    requests[first] = acquire(ZKL_MUTEX, first, ZKL_NEVER);
    serve();
    take_events();
    first = (first + 1) % count;
    if (!zkl_request_done(requests[first])) other_takes_its_turn();
    CHECK(zkl_request_done(requests[first]) && zkl_request_code(requests[first]) == ZKL_OK);
}

/* --- counted steps ------------------------------------------------------------------------ */

static void queue_up(size_t count) {
    queue(ZKL_MUTEX, count, ZKL_NEVER);
}

static void queue_up_before_other(size_t count) {
    queue_up(count);
    other_comes();
}

static void queue_up_for_a_second(size_t count) {
    queue(ZKL_MUTEX, count, ZKL_SECOND);
    set_time(now + ZKL_SECOND);
}

static void queue_up_unfair_for_a_second(size_t count) {
    queue(ZKL_UNFAIR, count, ZKL_SECOND);
    set_time(now + ZKL_SECOND);
}

static void queue_up_without_a_connection(size_t count) {
    zkl_session_suspended(session);
    for (size_t i = 0; i < count; i++) requests[i] = acquire(ZKL_MUTEX, i, ZKL_NEVER);
}

static void hand_over_all(size_t count) {
    for (int i = 0; i < HAND_OVERS; i++) hand_over(count);
}

/* Each turn ends, and the next has a new node. */
static void hand_over_in_turns(size_t count) {
    int made = server.made;
    hand_over_all(count);
    uint64_t handed_over = blocks;
    CHECK(server.made - made >= 2 * (TURNS - 1));
    delete_node(other);
    blocks = handed_over;
}

/* Tells the session of writes to the node that all waiters watch. */
static void tell_of_writes(size_t count) {
    int node = 0;
    (void)count;
    while (node + 1 < NODES && !server.nodes[node][0]) node++;
    for (int i = 0; i < HAND_OVERS; i++) {
        zkl_session_event(session, ZKL_NODE_CHANGED, server.nodes[node]);
        serve();
    }
}

static void time_out(size_t count) {
    zkl_session_tick(session);
    uint64_t ticked = blocks;
    for (size_t i = 1; i < count; i++) CHECK(zkl_request_code(requests[i]) == ZKL_TIMEOUT);
    blocks = ticked; /* the checks do not count */
}

static void connect(size_t count) {
    (void)count;
    zkl_session_connected(session, ID, TIMEOUT);
    serve();
}

static void expire(size_t count) {
    (void)count;
    zkl_session_expired(session);
}

static const struct step {
    const char *name;
    void (*prepare)(size_t count);
    void (*run)(size_t count);
    size_t times; /* 0: once for each waiter */
} hand_overs = {"hand-over", queue_up, hand_over_all, HAND_OVERS},
  turns = {"turns", queue_up_before_other, hand_over_in_turns, HAND_OVERS},
  events = {"event", queue_up, tell_of_writes, HAND_OVERS},
  queueing = {"acquire", NULL, queue_up, 0},
  timeouts = {"timeout", queue_up_for_a_second, time_out, 0},
  unfair_timeouts = {"timeout, unfair", queue_up_unfair_for_a_second, time_out, 0},
  expiry = {"expiry", queue_up, expire, 0}, closing = {"close", queue_up, close_session, 0},
  reconnecting = {"reconnect", queue_up_without_a_connection, connect, 0};

/* --- few and many ------------------------------------------------------------------------ */

static uint64_t count_blocks(const struct step *step, size_t count) {
    open_session();
    if (step->prepare) step->prepare(count);
    blocks = 0;
    step->run(count);
    uint64_t each = blocks / (step->times ? step->times : count);
    if (step->run != close_session) close_session(count);
    printf("%-16s %6zu  %5" PRIu64 " blocks each\n", step->name, count, each);
    return each;
}

/* With more waiters a tenth more steps are allowed. Stops at a failure, to save time. */
static void check_cost(const struct step *step, size_t few, size_t most) {
    static bool too_much;
    uint64_t of_few = too_much ? 0 : count_blocks(step, few);
    for (size_t count = 100 * few; count <= most && !too_much; count *= 100) {
        too_much = count_blocks(step, count) > of_few + of_few / 10;
        CHECK_CASE("%s of %zu", step->name, count);
        CHECK(!too_much);
    }
}

int main(void) {
    TEST("a hand-over takes as much with 100 000 waiters as with ten") {
        check_cost(&hand_overs, 10, MOST);
    }
    TEST("a hand-over that ends a turn takes as much with 100 000 waiters as with ten") {
        check_cost(&turns, 10, MOST);
    }
    TEST("an event of the shared node takes as much with 100 000 waiters as with ten") {
        check_cost(&events, 10, MOST);
    }
    TEST("a new waiter takes as much behind 100 000 waiters as behind ten") {
        check_cost(&queueing, 10, MOST);
    }
    TEST("the end of a wait takes as much with 100 000 waiters as with ten") {
        check_cost(&timeouts, 10, MOST);
        check_cost(&unfair_timeouts, 50, 5000);
        check_cost(&expiry, 10, MOST);
        check_cost(&closing, 10, MOST);
    }
    TEST("a new connection takes as much a waiter with 100 000 waiters as with ten") {
        check_cost(&reconnecting, 10, MOST);
    }
    return check_report();
}
