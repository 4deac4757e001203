/*
 * session_test.c - counts a session's steps for one of many waiters. Compiled with
 * -fsanitize-coverage=trace-pc, the session calls __sanitizer_cov_trace_pc() in each basic block.
 * The number of blocks does not depend on the machine, and the server's blocks do not count. The
 * session tells its steps, as with on_event.
 */
#include <stdlib.h>

#include "../session/server.h"

static uint64_t blocks;

void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void) {
    blocks += !in_tree;
}

/* --- a session and its waiters ----------------------------------------------------------- */

enum { BATCH = 16, TURNS = 4, HAND_OVERS = TURNS * BATCH, MOST = 100000 };

static zkl_request *requests[MOST];
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

static void begin_session(void) {
    open_session();
    pass(0);
    serve_requests();
    first = 0;
}

/* Makes `count` requests. The first one is granted. */
static void queue(enum zkl_kind kind, size_t count, zkl_time timeout) {
    for (size_t i = 0; i < count; i++) {
        set_time(now + 1);
        requests[i] = acquire(kind, i, i == 0 ? ZKL_NEVER : timeout);
        serve_requests();
    }
    take_events();
    CHECK(zkl_request_done(requests[0]));
}

static void end_session(size_t count) {
    zkl_session_close(session);
    serve_requests();
    zkl_session_closed(session);
    for (size_t i = 0; i < count; i++) zkl_request_drop(requests[i]);
    zkl_session_free(session);
    in_tree = true;
    zkl_tree_free(tree);
    in_tree = false;
}

/* --- steps ------------------------------------------------------------------------------- */

static char other[NODE_SIZE]; /* node of another session in the line */

/* Names of the line's nodes, the oldest first. Returns their number. */
static int line(const char *const **names) {
    int count = children_of("/hot", names);
    CHECK(count > 0);
    return count;
}

static void other_comes(void) {
    const char *const *names;
    write_by(others,
             &(struct zkl_op){.kind = ZKL_OP_CREATE,
                              .mode = ZKL_SEQUENTIAL,
                              .path = "/hot/_c_00000000-0000-0002-0000-000000000000-lock-"});
    int count = line(&names);
    snprintf(other, sizeof other, "/hot/%s", names[count - 1]);
}

static void other_goes(const char *node) {
    write_by(others, &(struct zkl_op){.kind = ZKL_OP_DELETE, .version = -1, .path = node});
}

/* The other session releases, and queues again. */
static void other_takes_its_turn(void) {
    char gone[NODE_SIZE];
    snprintf(gone, sizeof gone, "%s", other);
    other_comes();
    other_goes(gone);
    serve_requests();
    take_events();
}

/* Hands the lock from the first request to the next. The first queues again. */
static void hand_over(size_t count) {
    zkl_request *mine = requests[first];
    zkl_lease *lease = zkl_request_lease(mine);
    CHECK(lease != NULL);
    if (!lease) return;
    zkl_lease_release(lease);
    serve_requests();
    zkl_lease_drop(lease);
    zkl_request_drop(mine);
    set_time(now + 1);
    requests[first] = acquire(ZKL_MUTEX, first, ZKL_NEVER);
    serve_requests();
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

/* The number of the newest node in the line. */
static int newest_number(void) {
    const char *const *names;
    int count = line(&names);
    return atoi(strrchr(names[count - 1], '-') + 1);
}

/* Each turn ends, and the next has a new node. */
static void hand_over_in_turns(size_t count) {
    int newest = newest_number();
    hand_over_all(count);
    uint64_t handed_over = blocks;
    CHECK(newest_number() - newest >= 2 * (TURNS - 1));
    other_goes(other);
    blocks = handed_over;
}

/* Tells the session of writes to the node that all waiters watch. */
static void tell_of_writes(size_t count) {
    char node[NODE_SIZE];
    const char *const *names;
    (void)count;
    line(&names);
    snprintf(node, sizeof node, "/hot/%s", names[0]);
    for (int i = 0; i < HAND_OVERS; i++) {
        zkl_session_event(session, ZKL_NODE_CHANGED, node);
        serve_requests();
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
    serve_requests();
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
  expiry = {"expiry", queue_up, expire, 0}, closing = {"close", queue_up, end_session, 0},
  reconnecting = {"reconnect", queue_up_without_a_connection, connect, 0};

/* --- few and many ------------------------------------------------------------------------ */

static uint64_t count_blocks(const struct step *step, size_t count) {
    begin_session();
    if (step->prepare) step->prepare(count);
    blocks = 0;
    step->run(count);
    uint64_t each = blocks / (step->times ? step->times : count);
    if (step->run != end_session) end_session(count);
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
