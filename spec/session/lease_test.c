/* lease_test.c - what holders ask of a session that has no server's answer, or an odd one. */
#include <stdlib.h>

#include "server.h"

static struct zkl_acquire_options reentrant(const char *path, enum zkl_kind kind) {
    struct zkl_acquire_options options = options_of(path, kind);
    options.reentrant = true;
    return options;
}

static zkl_lease *take(enum zkl_kind kind) {
    struct zkl_acquire_options options = reentrant("/lock", kind);
    return taken(zkl_acquire(session, &options));
}

static void check_code(zkl_request *request, enum zkl_code code) {
    serve();
    CHECK_IS(zkl_request_code(request), code);
    zkl_request_drop(request);
}

static void waits(void) {
    TEST("a reader's handle of a writer's grant waits in no condition") {
        open_session();
        zkl_lease *writer = take(ZKL_WRITE), *reader = take(ZKL_READ);
        check_code(zkl_wait(reader, "/waiters", ZKL_NEVER), ZKL_UNSUPPORTED);
        zkl_lease_drop(reader);
        zkl_lease_drop(writer);
        close_session();
    }
    TEST("a reader waits in no condition") {
        open_session();
        zkl_lease *lease = take(ZKL_READ);
        check_code(zkl_wait(lease, "/waiters", ZKL_NEVER), ZKL_UNSUPPORTED);
        zkl_lease_drop(lease);
        close_session();
    }
    TEST("the holder of several locks waits in no condition, and none of them is kept") {
        open_session();
        struct zkl_acquire_options both[] = {reentrant("/lock", ZKL_MUTEX),
                                             reentrant("/lock2", ZKL_MUTEX)};
        both[0].keep = both[1].keep = TIMEOUT;
        zkl_lease *lease = taken(zkl_acquire_all(session, both, 2));
        check_code(zkl_wait(lease, "/waiters", ZKL_NEVER), ZKL_UNSUPPORTED);
        zkl_lease_release(lease);
        serve();
        CHECK(!zkl_session_has_claims(session));
        zkl_lease_drop(lease);
        close_session();
    }
    TEST("in turns nobody waits in a condition") {
        open_session();
        struct zkl_acquire_options options = reentrant("/lock", ZKL_MUTEX);
        options.batch = 4;
        zkl_lease *lease = taken(zkl_acquire(session, &options));
        check_code(zkl_wait(lease, "/waiters", ZKL_NEVER), ZKL_UNSUPPORTED);
        zkl_lease_drop(lease);
        close_session();
    }
}

static void fixed_names(void) {
    TEST("a node of a fixed name guards no write and no signal") {
        const struct zkl_op op = {.kind = ZKL_OP_SET, .path = "/g", .data = "", .version = -1};
        open_session();
        zkl_lease *lease = take(ZKL_UNFAIR);
        check_code(zkl_signal(lease, "/waiters", false, ZKL_NEVER), ZKL_UNSUPPORTED);
        check_code(zkl_guard(lease, &op, 1, ZKL_NEVER), ZKL_UNSUPPORTED);
        zkl_lease_drop(lease);
        close_session();
    }
    TEST("a node of a fixed name that is another one by now is no lease") {
        open_session();
        zkl_lease *lease = take(ZKL_UNFAIR);
        czxid = 99;
        check_code(zkl_check(lease, ZKL_NEVER), ZKL_LOST);
        zkl_lease_drop(lease);
        close_session();
    }
}

/* Several locks, and a handle more on the first of them. */
static zkl_lease *all_locks, *one_lock;

static void take_both(void) {
    struct zkl_acquire_options options[] = {reentrant("/lock", ZKL_MUTEX),
                                            reentrant("/lock2", ZKL_MUTEX)};
    open_session();
    all_locks = taken(zkl_acquire_all(session, options, 2));
    one_lock = take(ZKL_MUTEX);
    serve_requests();
}

static const char *node_in(const char *folder) {
    for (int i = 0; i < NODES; i++)
        if (strncmp(nodes[i], folder, strlen(folder)) == 0) return nodes[i];
    return "";
}

static void handles(void) {
    TEST("a handle on one of several locks outlives that on all of them") {
        take_both();
        zkl_lease_drop(all_locks);
        serve();
        CHECK_IS(zkl_lease_state(one_lock), ZKL_LEASE_HELD);
        CHECK_TEXT(node_in("/lock2/"), "");
        zkl_lease_drop(one_lock);
        close_session();
    }
    TEST("two handles on the parts of several locks that were given up are lost one by one") {
        take_both();
        struct zkl_acquire_options options = reentrant("/lock2", ZKL_MUTEX);
        zkl_lease *other = taken(zkl_acquire(session, &options));
        zkl_lease_drop(all_locks);
        serve();
        char node[NODE_SIZE];
        strcpy(node, node_in("/lock/"));
        delete_node(node);
        serve();
        CHECK_IS(zkl_lease_state(one_lock), ZKL_LEASE_LOST);
        CHECK_IS(zkl_lease_state(other), ZKL_LEASE_HELD);
        zkl_lease_drop(one_lock);
        zkl_lease_drop(other);
        close_session();
    }
    TEST("all that wait for the end of one node are told of it") {
        take_both();
        zkl_request *all = zkl_release_wait(all_locks, ZKL_NEVER);
        CHECK(comes(ZKL_RPC_WRITE, ZKL_OP_DELETE));
        zkl_request *rest = zkl_release_wait(one_lock, ZKL_NEVER);
        answer(asked_id, &asked);
        CHECK(!zkl_request_done(all) && !zkl_request_done(rest));
        serve_requests();
        check_code(all, ZKL_OK);
        check_code(rest, ZKL_OK);
        zkl_lease_drop(all_locks);
        zkl_lease_drop(one_lock);
        close_session();
    }
    TEST("the last handle that writes waits for the server, those before it do not") {
        open_session();
        zkl_lease *first = take(ZKL_WRITE), *second = take(ZKL_WRITE);
        serve_requests();
        zkl_request *quick = zkl_downgrade(first, ZKL_NEVER);
        CHECK(zkl_request_done(quick));
        check_code(quick, ZKL_OK);
        serve_requests();
        zkl_request *slow = zkl_downgrade(second, ZKL_NEVER);
        CHECK(!zkl_request_done(slow));
        check_code(slow, ZKL_OK);
        zkl_lease_drop(first);
        zkl_lease_drop(second);
        close_session();
    }
    TEST("a downgrade of a lease that is lost ends with that") {
        open_session();
        zkl_lease *lease = take(ZKL_WRITE);
        zkl_request *request = zkl_downgrade(lease, ZKL_NEVER);
        zkl_session_at(session, now += 2 * TIMEOUT);
        zkl_session_tick(session);
        CHECK(zkl_request_done(request));
        check_code(request, ZKL_LOST);
        zkl_lease_drop(lease);
        close_session();
    }
    TEST("a lease tells what it is worth, and for how long") {
        open_session();
        struct zkl_acquire_options options = reentrant("/lock", ZKL_MUTEX);
        options.max_hold = ZKL_SECOND;
        zkl_request *request = zkl_acquire(session, &options);
        serve_requests();
        zkl_lease *lease = zkl_request_lease(request);
        CHECK_IS(zkl_lease_state(lease), ZKL_LEASE_HELD);
        CHECK_IS(zkl_lease_remaining(lease), ZKL_SECOND);
        zkl_session_suspended(session);
        CHECK_IS(zkl_lease_state(lease), ZKL_LEASE_SUSPECT);
        zkl_request_drop(request);
        zkl_lease_drop(lease);
        close_session();
    }
}

static void ends(void) {
    TEST("a lease whose clock ran out unseen is lost, and its session suspended") {
        open_session();
        zkl_lease *lease = take(ZKL_MUTEX);
        CHECK_IS(zkl_session_state(session), ZKL_SESSION_CONNECTED);
        zkl_session_at(session, now += 2 * TIMEOUT);
        CHECK_IS(zkl_session_state(session), ZKL_SESSION_SUSPENDED);
        CHECK_IS(zkl_lease_state(lease), ZKL_LEASE_LOST);
        check_code(zkl_release_wait(lease, ZKL_NEVER), ZKL_LOST);
        check_code(zkl_release_wait(lease, ZKL_NEVER), ZKL_RELEASED);
        zkl_lease_drop(lease);
        close_session();
    }
    TEST("a session without leases is not suspended by its clock") {
        open_session();
        zkl_request *request = zkl_pause(session, ZKL_NEVER);
        zkl_session_at(session, now += 2 * TIMEOUT);
        CHECK_IS(zkl_session_state(session), ZKL_SESSION_CONNECTED);
        zkl_request_drop(request);
        close_session();
    }
    TEST("a claim that was given up is no lease whose clock ran out") {
        open_session();
        zkl_lease *lease = take(ZKL_MUTEX);
        zkl_lease_release(lease);
        zkl_session_at(session, now += 2 * TIMEOUT);
        CHECK_IS(zkl_session_state(session), ZKL_SESSION_CONNECTED);
        zkl_lease_drop(lease);
        close_session();
    }
    TEST("who listens without a connection hears of a revocation with the next one") {
        open_session();
        zkl_lease *lease = take(ZKL_MUTEX);
        zkl_session_suspended(session);
        zkl_lease_listen(lease);
        struct zkl_rpc rpc;
        uint64_t id;
        CHECK(!zkl_session_next_rpc(session, &id, &rpc));
        zkl_lease_drop(lease);
        close_session();
    }
}

static void listens(void) {
    TEST("who listens asks for the lease's node at once") {
        open_session();
        struct zkl_acquire_options options = options_of("/lock", ZKL_MUTEX);
        zkl_request *request = zkl_acquire(session, &options);
        serve_requests();
        zkl_lease *lease = zkl_request_lease(request);
        CHECK(lease && !asks());
        zkl_lease_listen(lease);
        CHECK(asks() && asked.kind == ZKL_RPC_GET);
        CHECK_TEXT(asked.path, nodes[0]);
        answer(asked_id, &asked);
        zkl_request_drop(request);
        zkl_lease_drop(lease);
        close_session();
    }
}

/* Answers the next transaction with an error, and with what came of each operation. */
static void refuse(enum zkl_error error, const struct zkl_result *results) {
    struct zkl_rpc rpc;
    uint64_t id;
    while (zkl_session_next_rpc(session, &id, &rpc) && rpc.kind != ZKL_RPC_MULTI) answer(id, &rpc);
    CHECK_IS(rpc.kind, ZKL_RPC_MULTI);
    zkl_session_answer(session, id, &(struct zkl_answer){.error = error, .results = results});
}

static void guards(void) {
    static const struct zkl_op op = {.kind = ZKL_OP_SET, .path = "/g", .data = "", .version = 3};
    TEST("a guard is told which write was refused, if the server says so") {
        static const struct zkl_result results[] = {{.error = ZKL_UNANSWERED},
                                                    {.error = ZKL_ERROR_BAD_VERSION}};
        for (int says = 0; says < 2; says++) {
            open_session();
            zkl_lease *lease = take(ZKL_MUTEX);
            zkl_request *request = zkl_guard(lease, &op, 1, ZKL_NEVER);
            refuse(ZKL_ERROR_BAD_VERSION, says ? results : NULL);
            CHECK_IS(zkl_request_code(request), ZKL_CONFLICT);
            CHECK_IS(zkl_request_refused(request), says);
            CHECK_IS(zkl_request_version(request, 2), 0);
            zkl_request_drop(request);
            zkl_lease_drop(lease);
            close_session();
        }
    }
    TEST("a guard that was carried out tells the version of each node that it set") {
        static const struct zkl_result results[] = {{.error = ZKL_ERROR_NONE},
                                                    {.stat = {.version = 4}}};
        open_session();
        zkl_lease *lease = take(ZKL_MUTEX);
        zkl_request *request = zkl_guard(lease, &op, 1, ZKL_NEVER);
        refuse(ZKL_ERROR_NONE, results);
        CHECK_IS(zkl_request_code(request), ZKL_OK);
        CHECK_IS(zkl_request_version(request, 1), 4);
        CHECK_IS(zkl_request_version(request, 2), 0);
        zkl_request_drop(request);
        zkl_lease_drop(lease);
        close_session();
    }
    TEST("a guard, and a downgrade in doubt, that the servers do not know are not sent again") {
        open_session();
        zkl_lease *lease = take(ZKL_WRITE);
        zkl_request *downgrade = zkl_downgrade(lease, ZKL_NEVER);
        CHECK(comes(ZKL_RPC_MULTI, ZKL_OP_CREATE));
        fail_asked(ZKL_ERROR_CONNECTION_LOSS);
        CHECK(comes_in_time(ZKL_RPC_MULTI, ZKL_OP_CREATE));
        zkl_session_unknown(session, asked_id);
        CHECK_IS(zkl_request_code(downgrade), ZKL_UNSUPPORTED);
        zkl_request_drop(downgrade);
        zkl_request *guard = zkl_guard(lease, &op, 1, ZKL_NEVER);
        CHECK(comes(ZKL_RPC_MULTI, ZKL_OP_CHECK));
        zkl_session_unknown(session, asked_id);
        check_code(guard, ZKL_UNSUPPORTED);
        zkl_lease_drop(lease);
        close_session();
    }
    TEST("a guard that could not be sent is sent later, and has written nothing before") {
        for (int late = 0; late < 2; late++) {
            open_session();
            zkl_lease *lease = take(ZKL_MUTEX);
            zkl_request *request = zkl_guard(lease, &op, 1, ZKL_SECOND);
            CHECK(comes(ZKL_RPC_MULTI, ZKL_OP_CHECK));
            zkl_session_unsent(session, asked_id);
            CHECK(!zkl_request_done(request));
            CHECK(zkl_session_due_anew(session) <= now + ZKL_SECOND / 10);
            if (late) zkl_session_at(session, now += ZKL_SECOND);
            if (late) zkl_session_tick(session);
            check_code(request, late ? ZKL_TIMEOUT : ZKL_OK);
            zkl_lease_drop(lease);
            close_session();
        }
    }
    TEST("a guard that met the change of its node's name is sent by the new name") {
        static const struct zkl_result results[] = {{.error = ZKL_ERROR_NO_NODE},
                                                    {.error = ZKL_UNANSWERED}};
        open_session();
        zkl_lease *lease = take(ZKL_WRITE);
        serve_requests();
        zkl_request *downgrade = zkl_downgrade(lease, ZKL_NEVER);
        zkl_request *request = zkl_guard(lease, &op, 1, ZKL_NEVER);
        CHECK(comes(ZKL_RPC_MULTI, ZKL_OP_CREATE));
        answer(asked_id, &asked);
        refuse(ZKL_ERROR_NO_NODE, results);
        CHECK(!zkl_request_done(request));
        check_code(request, ZKL_OK);
        check_code(downgrade, ZKL_OK);
        CHECK_IS(zkl_lease_state(lease), ZKL_LEASE_HELD);
        zkl_lease_drop(lease);
        close_session();
    }
    TEST("a signal that is refused as a whole ends") {
        open_session();
        zkl_lease *lease = take(ZKL_MUTEX);
        zkl_request *request = zkl_signal(lease, "/waiters", false, ZKL_NEVER);
        refuse(ZKL_ERROR_BAD_VERSION, NULL);
        CHECK_IS(zkl_request_code(request), ZKL_CONFLICT);
        zkl_request_drop(request);
        zkl_lease_drop(lease);
        close_session();
    }
}

static void news(void) {
    TEST("what nobody takes is told once, as it is now") {
        struct zkl_event event;
        int leases = 0;
        open_session();
        zkl_lease *lease = take(ZKL_MUTEX);
        zkl_session_suspended(session);
        zkl_session_connected(session, ID, TIMEOUT);
        serve_requests();
        zkl_session_expired(session);
        while (zkl_session_next_event(session, &event)) {
            leases += event.kind == ZKL_EVENT_LEASE;
            if (event.kind == ZKL_EVENT_LEASE) CHECK_IS(event.phase, ZKL_PHASE_LOST);
        }
        CHECK_IS(leases, 1);
        zkl_lease_drop(lease);
        close_session();
    }
    TEST("a node without data is nobody's wish for the lock") {
        open_session();
        node_text = NULL;
        zkl_lease *lease = take(ZKL_MUTEX);
        serve();
        CHECK(!zkl_lease_revoked(lease));
        zkl_lease_drop(lease);
        close_session();
    }
    TEST("a hand-over is counted for the name of its lock") {
        struct zkl_totals totals = {0};
        open_session();
        size_t number = zkl_session_name_meter(session, "name");
        struct zkl_acquire_options first = reentrant("/lock", ZKL_MUTEX), second = first;
        second.owner = "another";
        first.meter = second.meter = number;
        zkl_lease *lease = taken(zkl_acquire(session, &first));
        zkl_request *request = zkl_acquire(session, &second);
        serve();
        CHECK(!zkl_request_done(request));
        zkl_lease_drop(lease);
        zkl_lease_drop(taken(request));
        zkl_totals_add(&totals, session);
        CHECK_IS(totals.meter.hand_over.count, 1);
        CHECK_IS(totals.named[0]->meter.hand_over.count, 1);
        zkl_totals_clear(&totals);
        close_session();
    }
}

/* So many claims that the session has no room for more. */
static void fill_up(void) {
    char path[1000];
    bool full = false;
    memset(path, 'x', sizeof path);
    path[sizeof path - 1] = '\0';
    for (unsigned i = 0; !full && i < ZKL_PATHS_MAX / sizeof path; i++) {
        snprintf(path, 10, "/%08u", i);
        path[9] = 'x';
        struct zkl_acquire_options options = reentrant(path, ZKL_MUTEX);
        zkl_request *request = zkl_acquire(session, &options);
        full = zkl_request_done(request);
        if (full) CHECK_IS(zkl_request_code(request), ZKL_TOO_MANY);
        zkl_request_unref(request);
    }
    CHECK(full);
}

static zkl_request *wait_for_turn(const char *owner) {
    struct zkl_acquire_options options = reentrant("/lock", ZKL_MUTEX);
    options.owner = owner;
    options.batch = 1;
    zkl_request *request = zkl_acquire(session, &options);
    serve_requests();
    return request;
}

/* The delete is carried out, and its answer lost, once more. */
static void lose_delete(void) {
    char node[NODE_SIZE];
    CHECK(comes_in_time(ZKL_RPC_WRITE, ZKL_OP_DELETE));
    snprintf(node, sizeof node, "%s", asked.path);
    fail_asked(ZKL_ERROR_CONNECTION_LOSS);
    delete_node(node);
    serve_requests();
}

static void check_room(int created) {
    struct zkl_stats stats;
    zkl_session_stats(session, &stats);
    CHECK(stats.paths <= ZKL_PATHS_MAX);
    CHECK_IS(made, created);
}

static void room(void) {
    TEST("a claim that waits for its turn makes no node for which there is no room") {
        open_with(ZKL_PATHS_MAX / 5); /* for four nodes */
        strcpy(nodes[NODES - 1], "/lock/lock-0000009999");
        zkl_request *first = wait_for_turn("1"), *second = wait_for_turn("2"),
                    *third = wait_for_turn("3");
        struct zkl_acquire_options others[] = {reentrant("/lock2", ZKL_MUTEX),
                                               reentrant("/lock3", ZKL_MUTEX)};
        zkl_lease *other = taken(zkl_acquire_all(session, others, 2));
        int before = made;
        zkl_lease_drop(taken(first));
        CHECK_CASE("its turn");
        lose_delete();
        check_room(before);
        CHECK_CASE("a heartbeat");
        lose_delete();
        check_room(before);
        CHECK_CASE("a reconnect");
        zkl_session_suspended(session);
        zkl_session_connected(session, ID, TIMEOUT);
        lose_delete();
        check_room(before);
        CHECK_CASE("room");
        zkl_lease *lease = taken(second);
        check_room(before + 1);
        zkl_lease_drop(lease);
        zkl_lease_drop(taken(third));
        zkl_lease_drop(other);
        close_session();
    }
    TEST("the node that has been kept for longest makes room first") {
        struct zkl_rpc rpc;
        uint64_t id;
        const char *gone[2] = {"", ""};
        size_t count = 0;
        open_session();
        struct zkl_acquire_options one = reentrant("/lock", ZKL_MUTEX), other = one;
        other.path = "/lock2";
        one.keep = other.keep = 1000 * ZKL_SECOND;
        zkl_lease *lease = taken(zkl_acquire(session, &one));
        zkl_lease_drop(taken(zkl_acquire(session, &other)));
        serve();
        zkl_lease_drop(lease);
        serve();
        fill_up();
        while (zkl_session_next_rpc(session, &id, &rpc)) {
            bool deletes = rpc.kind == ZKL_RPC_WRITE && rpc.ops->kind == ZKL_OP_DELETE;
            if (deletes && count < 2) gone[count++] = rpc.path;
        }
        CHECK_IS(count, 2);
        CHECK(strncmp(gone[0], "/lock2/", 7) == 0 && strncmp(gone[1], "/lock/", 6) == 0);
        zkl_session_close(session);
        zkl_session_closed(session);
        zkl_session_free(session);
    }
}

static void kinds(void) {
    TEST("a writer with one of the last numbers does not become a reader") {
        open_session();
        made = INT32_MAX - 100;
        zkl_lease *lease = take(ZKL_WRITE);
        check_code(zkl_downgrade(lease, ZKL_NEVER), ZKL_UNSUPPORTED);
        zkl_lease_drop(lease);
        close_session();
    }
    TEST("a request that is answered is answered once") {
        open_session();
        zkl_lease *lease = take(ZKL_MUTEX);
        zkl_lease_release(lease);
        check_code(zkl_check(lease, ZKL_NEVER), ZKL_RELEASED);
        check_code(zkl_wait(lease, "/waiters", ZKL_NEVER), ZKL_RELEASED);
        zkl_lease_drop(lease);
        close_session();
    }
}

int main(void) {
    waits();
    fixed_names();
    handles();
    ends();
    listens();
    guards();
    news();
    room();
    kinds();
    return check_report();
}
