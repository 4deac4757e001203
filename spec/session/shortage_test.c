/*
 * shortage_test.c - each allocation of a session fails once. Still all requests end, and nothing is
 * left. The linker replaces malloc() and the like.
 */
#include <stdlib.h>

#include "../../src/core/route.h"
#include "../../src/session/internal.h"
#include "server.h"

/* Only the linker knows these names. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

static unsigned failing_in; /* allocations up to the failing one; 0: none fails */

static bool is_to_fail(void) {
    return !in_tree && failing_in > 0 && --failing_in == 0;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
char *__real_strdup(const char *text);

void *__wrap_malloc(size_t size) {
    return is_to_fail() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
    return is_to_fail() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size) {
    return is_to_fail() ? NULL : __real_realloc(memory, size);
}

char *__wrap_strdup(const char *text) {
    return is_to_fail() ? NULL : __real_strdup(text);
}

/* --- a life --------------------------------------------------------------------------------- */

static void await(zkl_request *request) {
    if (!request) return;
    serve();
    CHECK(zkl_request_done(request));
    zkl_request_drop(request);
}

static void ask(void) {
    await(zkl_session_ready(session, ZKL_NEVER));
    await(zkl_get(session, "/a", ZKL_NEVER));
    await(zkl_children(session, "/a", ZKL_NEVER));
    await(zkl_break(session, "/a/lock-0000000001", 0, ZKL_NEVER));
    await(zkl_revoke(session, "/a/lock-0000000001", ZKL_NEVER));
    await(zkl_queue(session, "/a", ZKL_MUTEX, ZKL_NEVER));
    await(zkl_queue(session, "/a", ZKL_UNFAIR, ZKL_NEVER));
    zkl_request *pause = zkl_pause(session, ZKL_NEVER);
    if (pause) zkl_request_drop(pause);
}

static void follow(void) {
    enum zkl_code why;
    zkl_watcher *watcher = zkl_watch(session, "/w", &why);
    zkl_roster *roster = zkl_members(session, "/folder", &why);
    zkl_request *join = zkl_join(session, "/fresh/me", "other", ZKL_NEVER);
    serve();
    if (watcher) {
        struct zkl_sight sight;
        zkl_watcher_look(watcher, &sight);
        zkl_session_event(session, ZKL_NODE_CHANGED, "/w");
    }
    if (roster) {
        struct zkl_roll *roll;
        if (zkl_roster_look(roster, &roll)) free(roll);
        zkl_session_event(session, ZKL_NODE_CHILDREN, "/folder");
    }
    await(join);
    if (watcher) zkl_watcher_drop(watcher);
    if (roster) zkl_roster_drop(roster);
    serve();
}

static void use(zkl_lease *lease) {
    const struct zkl_op op = {
        .kind = ZKL_OP_SET, .version = -1, .path = "/g", .data = "x", .size = 1};
    await(zkl_check(lease, ZKL_NEVER));
    await(zkl_guard(lease, &op, 1, ZKL_NEVER));
    await(zkl_signal(lease, "/waiters", true, ZKL_NEVER));
    await(zkl_release_and_confirm(lease, ZKL_NEVER));
    zkl_lease_drop(lease);
}

/* NULL: out of memory. */
static zkl_lease *await_lease(zkl_request *request) {
    if (!request) return NULL;
    serve();
    CHECK(zkl_request_done(request));
    zkl_lease *lease = zkl_request_lease(request);
    zkl_request_drop(request);
    return lease;
}

static void hold(void) {
    const struct zkl_acquire_options options = {.path = "/lock",
                                                .kind = ZKL_MUTEX,
                                                .owner = "me",
                                                .data = "mine",
                                                .timeout = ZKL_NEVER,
                                                .meter = zkl_session_name_meter(session, "name")};
    zkl_lease *lease = await_lease(zkl_acquire(session, &options));
    if (lease) use(lease);
    serve();
}

static void hold_both(void) {
    struct zkl_acquire_options both[] = {options_of("/lock", ZKL_MUTEX),
                                         options_of("/lock2", ZKL_MUTEX)};
    zkl_lease *lease = await_lease(zkl_acquire_all(session, both, 2));
    if (lease) zkl_lease_drop(lease);
    serve();
}

static void sum_up(void) {
    struct zkl_totals totals = {0};
    zkl_totals_add(&totals, session);
    zkl_totals_clear(&totals);
}

static void live(void) {
    static const char *const paths[] = {
        "/a/lock-0000000001",      "/w", "/folder/other", "/g", "/waiters/lock-0000000001",
        "/waiters/lock-0000000002"};
    open_session();
    if (!session) return;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) make_node(others, paths[i]);
    ask();
    follow();
    hold();
    hold_both();
    sum_up();
    CHECK(!zkl_session_has_claims(session));
    close_session();
}

/* --- failures at a place --------------------------------------------------------------------- */

/* Runs `step` with a failure of the n-th allocation. False: there were fewer. */
static bool run_failing(unsigned n, void (*step)(void)) {
    failing_in = n;
    step();
    bool failed = failing_in == 0;
    failing_in = 0;
    return failed;
}

/* Each allocation of the step fails once. */
static void fail_each(bool (*run)(unsigned n)) {
    for (unsigned n = 1; run(n); n++) CHECK_CASE("the allocation %u", n + 1);
}

static void answer_only(void) {
    answer(asked);
}

static zkl_request *acquire_as(enum zkl_kind kind, zkl_time keep) {
    struct zkl_acquire_options options = options_of("/lock", kind);
    options.keep = keep;
    return zkl_acquire(session, &options);
}

static void look(void) {
    zkl_session_at(session, now += TIMEOUT / 6);
    zkl_session_tick(session);
    zkl_session_at(session, now += ZKL_SECOND / 100); /* answers take time */
    serve_requests();
}

/* A lost create of the fixed name lands late. The look for its node fails. */
static bool fail_late_look(unsigned n) {
    struct zkl_stats stats;
    open_session();
    zkl_request *request = acquire_as(ZKL_UNFAIR, 0);
    CHECK(answer_until(ZKL_RPC_WRITE, ZKL_OP_CREATE));
    fail_asked(ZKL_ERROR_CONNECTION_LOSS);
    zkl_request_drop(request);
    serve();
    CHECK(!zkl_session_has_claims(session));
    make_node(ours, "/lock/lock");
    bool failed = run_failing(n, look);
    serve();
    serve();
    zkl_session_stats(session, &stats);
    CHECK(stats.orphans > 0);
    CHECK_IS(stats.in_flight, 0);
    close_session();
    return failed;
}

/* The list with an orphan ahead fails. An earlier watch reports the orphan's end. */
static bool fail_list(unsigned n) {
    char name[ZKL_NAME_SIZE], orphan[NODE_SIZE];
    const struct zkl_rpc watch = {.kind = ZKL_RPC_GET, .path = orphan, .watch = true};
    const char *const *names;
    struct zkl_answer given;
    open_session();
    zkl_name_prefix(name, ZKL_MUTEX, ID, 99);
    snprintf(orphan, sizeof orphan, "/lock/%s0000000000", name);
    make_node(ours, orphan);
    ask_tree(ours, &watch, &given);
    zkl_request *request = acquire_as(ZKL_MUTEX, 0);
    CHECK(answer_until(ZKL_RPC_WRITE, ZKL_OP_CREATE));
    answer(asked);
    bool failed = run_failing(n, serve_requests);
    serve();
    serve();
    CHECK(children_of(orphan, &names) < 0);
    CHECK_IS(zkl_request_code(request), ZKL_OK);
    zkl_request_drop(request);
    close_session();
    return failed;
}

static void answer_asked(void) {
    answer(asked);
    serve_requests();
}

static void make_waiter(void) {
    make_node(others, "/lock/lock-0000000099");
}

/* The node says that it is held, and is removed after the release. */
static void check_not_kept(zkl_request *request) {
    const char *const *names;
    struct zkl_stats stats;
    serve();
    zkl_session_stats(session, &stats);
    CHECK(stats.sets > 0);
    zkl_lease *lease = zkl_request_lease(request);
    zkl_request_drop(request);
    zkl_lease_drop(lease);
    serve();
    CHECK_IS(children_of("/lock", &names), 1);
    close_session();
}

/* The list that shows a waiter of another session to a holder with a kept node fails. */
static bool fail_waiter_list(unsigned n) {
    open_session();
    zkl_request *request = acquire_as(ZKL_MUTEX, ZKL_NEVER);
    while (take_asked() && !(asked->kind == ZKL_RPC_LIST && asked->watch)) answer(asked);
    CHECK(asked);
    make_waiter();
    bool failed = run_failing(n, answer_asked);
    check_not_kept(request);
    return failed;
}

/* The watch that tells a holder with a kept node of a waiter fails. */
static bool fail_waiter_watch(unsigned n) {
    open_session();
    zkl_request *request = acquire_as(ZKL_MUTEX, ZKL_NEVER);
    serve();
    bool failed = run_failing(n, make_waiter);
    check_not_kept(request);
    return failed;
}

/* The grant of a lock with `keep` fails to watch the children. */
static bool fail_grant(unsigned n) {
    struct zkl_stats stats;
    open_session();
    zkl_request *request = acquire_as(ZKL_MUTEX, ZKL_NEVER);
    CHECK(answer_until(ZKL_RPC_LIST, 0));
    bool failed = run_failing(n, answer_only);
    serve();
    zkl_session_stats(session, &stats);
    CHECK(stats.lists > 1);
    zkl_request_drop(request);
    close_session();
    return failed;
}

/* The list that shows a contender ahead fails. */
static bool fail_to_wait(unsigned n) {
    open_session();
    make_node(others, "/lock/lock-0000000000");
    zkl_request *request = acquire_as(ZKL_MUTEX, 0);
    CHECK(answer_until(ZKL_RPC_LIST, 0));
    bool failed = run_failing(n, answer_only);
    for (int i = 0; i < ROUNDS; i++) {
        while (take_asked()) {
            CHECK(!asked->watch || zkl_watches_need(&session->watches, asked->path) == 0);
            answer(asked);
        }
        pass(ZKL_SECOND / 4);
    }
    zkl_request_drop(request);
    close_session();
    return failed;
}

/* A guard fails to be made or sent, and is refused later. */
static bool fail_guard(unsigned n) {
    const struct zkl_op op = {.kind = ZKL_OP_SET, .version = -1, .path = "/nowhere", .data = ""};
    open_session();
    zkl_lease *lease = await_lease(acquire_as(ZKL_MUTEX, 0));
    failing_in = n;
    zkl_request *request = zkl_guard(lease, &op, 1, ZKL_NEVER);
    bool failed = failing_in == 0;
    failing_in = 0;
    serve();
    enum zkl_code code = request ? zkl_request_code(request) : ZKL_NO_MEMORY;
    CHECK(code == ZKL_NO_NODE || (failed && code == ZKL_NO_MEMORY));
    if (request) zkl_request_drop(request);
    zkl_lease_drop(lease);
    close_session();
    return failed;
}

/* The request ends, or is soon repeated. */
static bool fail_queue(unsigned n) {
    open_session();
    pass(0);
    failing_in = n;
    zkl_request *request = zkl_queue(session, "/a", ZKL_UNFAIR, ZKL_NEVER);
    bool failed = failing_in == 0;
    failing_in = 0;
    if (request && !zkl_request_done(request) && !take_asked())
        CHECK(tick_when_due() <= MOMENT && take_asked());
    if (request) zkl_request_drop(request);
    close_session();
    return failed;
}

static void looks(void) {
    TEST("an orphan that a look without memory missed is found by the next look") {
        fail_each(fail_late_look);
    }
    TEST("an orphan is removed even if the list that shows it lacks memory") {
        fail_each(fail_list);
    }
    TEST("a holder that lacks memory when a waiter comes says that it holds, and keeps no node") {
        fail_each(fail_waiter_list);
        fail_each(fail_waiter_watch);
    }
    TEST("a holder that lacked memory to watch the children asks for that later") {
        fail_each(fail_grant);
    }
    TEST("no watch is asked for that is not counted for lack of memory") {
        fail_each(fail_to_wait);
    }
}

static void queries(void) {
    TEST("a query without memory ends, or is repeated in a moment") {
        fail_each(fail_queue);
    }
    TEST("a query ends with no_memory if its answer lacks memory") {
        open_session();
        make_node(others, "/a");
        zkl_request *request = zkl_get(session, "/a", ZKL_NEVER);
        CHECK(take_asked());
        CHECK(run_failing(1, answer_only));
        CHECK_IS(zkl_request_code(request), ZKL_NO_MEMORY);
        zkl_request_drop(request);
        close_session();
    }
    TEST("a list of members without memory for its answer is repeated in a moment") {
        enum zkl_code why;
        open_session();
        make_node(others, "/f/1");
        zkl_roster *roster = zkl_members(session, "/f", &why);
        CHECK(take_asked());
        CHECK(run_failing(1, answer_only));
        CHECK(!take_asked() && tick_when_due() <= MOMENT);
        CHECK(take_asked() && asked->kind == ZKL_RPC_LIST);
        answer(asked);
        serve();
        zkl_roster_drop(roster);
        close_session();
    }
    TEST("a roster that lacks memory waits a moment, and asks again") {
        enum zkl_code why;
        open_session();
        make_node(others, "/f/1");
        zkl_roster *roster = zkl_members(session, "/f", &why);
        serve_requests();
        zkl_session_at(session, now += TIMEOUT);
        failing_in = 1;
        zkl_session_tick(session);
        CHECK_IS(failing_in, 0);
        zkl_time pause = tick_when_due();
        CHECK(pause > 0 && pause <= MOMENT);
        CHECK(take_asked() && asked->kind == ZKL_RPC_LIST);
        fail_asked(ZKL_ERROR_NO_NODE);
        zkl_roster_drop(roster);
        close_session();
    }
}

static void refuse(void) {
    fail_asked(ZKL_ERROR_BAD_VERSION);
}

static void writes(void) {
    TEST("a guard without memory ends, or is sent later and tells its refusal") {
        fail_each(fail_guard);
    }
    TEST("a downgrade that met another write is repeated, although the get between lacks memory") {
        open_session();
        zkl_lease *lease = await_lease(acquire_as(ZKL_WRITE, 0));
        zkl_request *downgrade = zkl_downgrade(lease, ZKL_NEVER);
        CHECK(answer_until(ZKL_RPC_MULTI, ZKL_OP_CREATE));
        CHECK(run_failing(1, refuse));
        serve();
        CHECK_IS(zkl_request_code(downgrade), ZKL_OK);
        zkl_request_drop(downgrade);
        zkl_lease_drop(lease);
        close_session();
    }
}

static void parents(void) {
    TEST("no parent is made if there is no memory for the parents above it") {
        const struct zkl_acquire_options options = options_of("/lock/deep", ZKL_MUTEX);
        open_session();
        make_folder("/lock/deep");
        zkl_request *request = zkl_acquire(session, &options);
        CHECK(answer_until(ZKL_RPC_WRITE, ZKL_OP_CREATE));
        failing_in = 1;
        fail_asked(ZKL_ERROR_NO_NODE);
        CHECK_IS(failing_in, 0);
        while (take_asked()) {
            CHECK(asked->kind != ZKL_RPC_WRITE || asked->ops->mode == ZKL_SEQUENTIAL);
            answer(asked);
        }
        serve();
        CHECK_IS(zkl_request_code(request), ZKL_OK);
        zkl_request_drop(request);
        close_session();
    }
}

static void routes(void) {
    TEST("a route without memory for the servers of a name keeps its old servers") {
        struct zkl_route route;
        zkl_route_init(&route, 7, now);
        for (uint64_t key = 1; key <= 2; key++) {
            failing_in = key == 2;
            zkl_route_resolved(&route, &key, 1, TIMEOUT, now);
            CHECK_IS(failing_in, 0);
        }
        CHECK(route.count == 1 && route.servers->key == 1);
        zkl_route_clear(&route);
    }
}

int main(void) {
    parents();
    looks();
    queries();
    writes();
    routes();
    TEST("each allocation of a session fails once") {
        unsigned n = 0;
        do {
            failing_in = ++n;
            CHECK_CASE("the allocation %u", n);
            live();
        } while (failing_in == 0);
        failing_in = 0;
        CHECK(n > 100);
    }
    return check_report();
}
