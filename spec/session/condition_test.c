/* condition_test.c - waits in a condition, and signals, to which the server says what is rare. */
#include "server.h"

#define FOLDER "/lock-waiters"

static zkl_lease *take(const char *owner, enum zkl_kind kind) {
    struct zkl_acquire_options options = options_of("/lock", kind);
    options.owner = owner;
    return taken(zkl_acquire(session, &options));
}

static void check_code(zkl_request *request, enum zkl_code code) {
    CHECK(zkl_request_done(request));
    if (zkl_request_done(request)) CHECK_IS(zkl_request_code(request), code);
    zkl_request_drop(request);
}

static zkl_request *wait_in_line(zkl_lease *lease) {
    zkl_request *request = zkl_wait(lease, FOLDER, ZKL_NEVER);
    serve();
    CHECK(!zkl_request_done(request));
    return request;
}

static uint64_t holds(void) {
    struct zkl_totals totals = {0};
    zkl_totals_add(&totals, session);
    uint64_t count = totals.meter.hold.count;
    zkl_totals_clear(&totals);
    return count;
}

/* The node of the n-th waiter. */
static const char *waiter(size_t n) {
    for (int i = 0; i < NODES; i++)
        if (strncmp(nodes[i], FOLDER "/", strlen(FOLDER "/")) == 0 && n-- == 0) return nodes[i];
    return "";
}

/* The signal that was written to the waiter's node is seen. */
static void arrive(const char *node) {
    version = 1;
    zkl_session_event(session, ZKL_NODE_CHANGED, node);
    serve_requests();
    version = 0;
}

static void end(zkl_lease *lease) {
    zkl_lease_drop(lease);
    serve();
    close_session();
}

static int lease_events(const zkl_lease *lease) {
    struct zkl_event event;
    int count = 0;
    while (zkl_session_next_event(session, &event))
        count += event.kind == ZKL_EVENT_LEASE && event.id == zkl_lease_id(lease);
    return count;
}

/* --- waits ------------------------------------------------------------------------------------ */

static void check_wait(enum zkl_kind kind) {
    open_session();
    zkl_lease *lease = take("me", kind);
    int64_t token = zkl_lease_token(lease);
    zkl_request *wait = wait_in_line(lease);
    CHECK_IS(zkl_lease_state(lease), ZKL_LEASE_RELEASED);
    CHECK_IS(holds(), 1);
    zkl_lease *other = take("you", kind);
    zkl_request *signal = zkl_signal(other, FOLDER, false, ZKL_NEVER);
    serve();
    CHECK_IS(zkl_request_signalled(signal), 1);
    check_code(signal, ZKL_OK);
    arrive(waiter(0));
    CHECK(!zkl_request_done(wait));
    zkl_lease_drop(other);
    serve();
    check_code(wait, ZKL_OK);
    CHECK_IS(zkl_lease_state(lease), ZKL_LEASE_HELD);
    CHECK(zkl_lease_token(lease) > token);
    CHECK_TEXT(waiter(0), "");
    CHECK_IS(holds(), 2);
    zkl_lease_release(lease);
    CHECK_IS(holds(), 3);
    end(lease);
}

static const struct zkl_result no_folder[] = {{.error = ZKL_ERROR_NO_NODE},
                                              {.error = ZKL_UNANSWERED}},
                               no_lock[] = {{.error = ZKL_UNANSWERED},
                                            {.error = ZKL_ERROR_NO_NODE}},
                               not_allowed[] = {{.error = ZKL_UNANSWERED},
                                                {.error = ZKL_ERROR_NO_AUTH}};

static void refuse(enum zkl_error error, const struct zkl_result *results) {
    zkl_session_answer(session, asked_id, &(struct zkl_answer){.error = error, .results = results});
}

static void waits(void) {
    TEST("a waiter that has its signal has the lock again, by another token") {
        CHECK_CASE("a mutex");
        check_wait(ZKL_MUTEX);
        CHECK_CASE("a writer");
        check_wait(ZKL_WRITE);
    }
    TEST("a node that is new after a wait has no version of the one before") {
        open_session();
        zkl_lease *lease = take("me", ZKL_WRITE);
        version = 3;
        zkl_session_event(session, ZKL_NODE_CHANGED, nodes[0]);
        serve_requests();
        version = 0;
        zkl_request *wait = wait_in_line(lease);
        version = 1;
        zkl_session_event(session, ZKL_NODE_CHANGED, waiter(0));
        for (int i = 0; i < 20 && !zkl_request_done(wait) && asks(); i++) {
            if (asked.kind == ZKL_RPC_WRITE) version = 0; /* of the lock's node */
            answer(asked_id, &asked);
        }
        check_code(wait, ZKL_OK);
        zkl_request *downgrade = zkl_downgrade(lease, ZKL_NEVER);
        CHECK(comes(ZKL_RPC_MULTI, ZKL_OP_CREATE));
        CHECK(asked.ops[1].kind == ZKL_OP_DELETE && asked.ops[1].version == 0);
        answer(asked_id, &asked);
        check_code(downgrade, ZKL_OK);
        end(lease);
    }
    TEST("a holder without room for the waiter's node holds on") {
        open_with(ZKL_PATHS_MAX / 2); /* for one node */
        zkl_lease *lease = take("me", ZKL_MUTEX);
        serve_requests();
        check_code(zkl_wait(lease, FOLDER, ZKL_NEVER), ZKL_TOO_MANY);
        CHECK(!asks());
        CHECK_IS(zkl_lease_state(lease), ZKL_LEASE_HELD);
        end(lease);
    }
    TEST("a missing folder is made, and the wait begins") {
        open_session();
        zkl_lease *lease = take("me", ZKL_MUTEX);
        zkl_request *wait = zkl_wait(lease, FOLDER, ZKL_NEVER);
        CHECK(comes(ZKL_RPC_MULTI, ZKL_OP_CREATE));
        refuse(ZKL_ERROR_NO_NODE, no_folder);
        CHECK(comes(ZKL_RPC_WRITE, ZKL_OP_CREATE));
        CHECK_TEXT(asked.path, FOLDER);
        answer(asked_id, &asked);
        serve();
        CHECK(!zkl_request_done(wait) && *waiter(0));
        zkl_request_drop(wait);
        end(lease);
    }
    TEST("a holder whose node is gone waits no more: it has lost the lock") {
        open_session();
        zkl_lease *lease = take("me", ZKL_MUTEX);
        zkl_request *wait = zkl_wait(lease, FOLDER, ZKL_NEVER);
        CHECK(comes(ZKL_RPC_MULTI, ZKL_OP_CREATE));
        refuse(ZKL_ERROR_NO_NODE, no_lock);
        check_code(wait, ZKL_LOST);
        CHECK_TEXT(waiter(0), "");
        CHECK_IS(lease_events(lease), 1);
        end(lease);
    }
    TEST("a holder that may not wait holds on, and is told the server's reason") {
        open_session();
        zkl_lease *lease = take("me", ZKL_MUTEX);
        zkl_request *wait = zkl_wait(lease, FOLDER, ZKL_NEVER);
        CHECK(comes(ZKL_RPC_MULTI, ZKL_OP_CREATE));
        refuse(ZKL_ERROR_NO_AUTH, not_allowed);
        CHECK_TEXT(zkl_request_detail(wait), zkl_error_words(ZKL_ERROR_NO_AUTH));
        check_code(wait, ZKL_AUTH);
        CHECK_IS(zkl_lease_state(lease), ZKL_LEASE_HELD);
        CHECK_IS(holds(), 0);
        end(lease);
    }
    TEST("a hold ends when its node is known to be gone, not when an answer is lost") {
        open_session();
        zkl_lease *lease = take("me", ZKL_MUTEX);
        zkl_request *wait = zkl_wait(lease, FOLDER, ZKL_NEVER);
        CHECK(comes(ZKL_RPC_MULTI, ZKL_OP_CREATE));
        fail_asked(ZKL_ERROR_CONNECTION_LOSS);
        CHECK_IS(holds(), 0);
        serve();
        CHECK_IS(holds(), 1);
        CHECK(!zkl_request_done(wait) && *waiter(0));
        zkl_request_drop(wait);
        end(lease);
    }
}

/* --- signals ---------------------------------------------------------------------------------- */

/* Two wait, and the third holds the lock. */
static zkl_lease *first, *second, *third;
static zkl_request *waiting[2];
static char names[2][NODE_SIZE];

static void let_two_wait(void) {
    open_session();
    first = take("1", ZKL_MUTEX);
    waiting[0] = wait_in_line(first);
    second = take("2", ZKL_MUTEX);
    waiting[1] = wait_in_line(second);
    third = take("3", ZKL_MUTEX);
    for (size_t i = 0; i < 2; i++) snprintf(names[i], NODE_SIZE, "%s", waiter(i));
}

static void let_all_go(void) {
    for (size_t i = 0; i < 2; i++)
        if (waiting[i]) zkl_request_drop(waiting[i]);
    zkl_lease_drop(first);
    zkl_lease_drop(second);
    end(third);
}

static void signalled(zkl_request *signal, enum zkl_code code, size_t count) {
    serve();
    CHECK_IS(zkl_request_signalled(signal), count);
    check_code(signal, code);
}

/* The next transaction writes to these waiters, if the holder's node is there. */
static void check_writes(size_t from, size_t count) {
    CHECK(comes_in_time(ZKL_RPC_MULTI, ZKL_OP_CHECK));
    CHECK_IS(asked.count, count + 1);
    CHECK(strncmp(asked.path, "/lock/", 6) == 0 && asked.ops->version == -1);
    for (size_t i = 0; i < count && i + 1 < asked.count; i++) {
        const struct zkl_op *op = &asked.ops[i + 1];
        CHECK(op->kind == ZKL_OP_SET && op->version == 0);
        CHECK_TEXT(op->path, names[from + i]);
        CHECK(op->size == strlen(ZKL_SIGNAL_DATA) &&
              memcmp(op->data, ZKL_SIGNAL_DATA, op->size) == 0);
    }
}

static void signals(void) {
    TEST("a signal is for the first waiter, a broadcast for all") {
        let_two_wait();
        zkl_request *signal = zkl_signal(third, FOLDER, false, ZKL_NEVER);
        check_writes(0, 1);
        answer(asked_id, &asked);
        signalled(signal, ZKL_OK, 1);
        signal = zkl_signal(third, FOLDER, true, ZKL_NEVER);
        check_writes(0, 2);
        answer(asked_id, &asked);
        signalled(signal, ZKL_OK, 2);
        let_all_go();
    }
    TEST("waiters that have a signal already get no other one of a broadcast") {
        let_two_wait();
        node_text = ZKL_SIGNAL_DATA;
        zkl_request *signal = zkl_signal(third, FOLDER, true, ZKL_NEVER);
        CHECK(!comes(ZKL_RPC_MULTI, ZKL_OP_CHECK));
        signalled(signal, ZKL_OK, 0);
        let_all_go();
    }
    TEST("a waiter that has a signal, or is gone, is passed over") {
        static const struct zkl_result refused[] = {
            {.error = ZKL_UNANSWERED}, {.error = ZKL_ERROR_BAD_VERSION}, {.error = ZKL_UNANSWERED}};
        let_two_wait();
        zkl_request *signal = zkl_signal(third, FOLDER, false, ZKL_NEVER);
        check_writes(0, 1);
        refuse(ZKL_ERROR_BAD_VERSION, refused);
        check_writes(1, 1);
        refuse(ZKL_ERROR_NO_NODE, no_lock);
        signalled(signal, ZKL_OK, 0);
        signal = zkl_signal(third, FOLDER, true, ZKL_NEVER);
        check_writes(0, 2);
        refuse(ZKL_ERROR_BAD_VERSION, refused);
        check_writes(1, 1);
        answer(asked_id, &asked);
        signalled(signal, ZKL_OK, 1);
        let_all_go();
    }
    TEST("a signal whose answer is lost is given again, to those that a new list shows") {
        let_two_wait();
        zkl_request *signal = zkl_signal(third, FOLDER, true, ZKL_NEVER);
        check_writes(0, 2);
        fail_asked(ZKL_ERROR_CONNECTION_LOSS);
        CHECK(comes_in_time(ZKL_RPC_LIST, 0));
        answer(asked_id, &asked);
        check_writes(0, 2);
        answer(asked_id, &asked);
        signalled(signal, ZKL_OK, 2);
        let_all_go();
    }
    TEST("a signal of a holder whose node is gone reaches nobody") {
        static const struct zkl_result gone[] = {{.error = ZKL_ERROR_NO_NODE},
                                                 {.error = ZKL_UNANSWERED}};
        let_two_wait();
        zkl_request *signal = zkl_signal(third, FOLDER, false, ZKL_NEVER);
        check_writes(0, 1);
        refuse(ZKL_ERROR_NO_NODE, gone);
        CHECK_IS(zkl_lease_state(third), ZKL_LEASE_LOST);
        signalled(signal, ZKL_LOST, 0);
        let_all_go();
    }
    TEST("a waiter that gives up hands its signal on, unless the next one has a signal") {
        static const struct zkl_result refused[] = {{.error = ZKL_UNANSWERED},
                                                    {.error = ZKL_ERROR_BAD_VERSION}};
        for (int has = 0; has < 2; has++) {
            CHECK_CASE("%d", has);
            let_two_wait();
            arrive(names[0]);
            zkl_request_drop(waiting[0]);
            waiting[0] = NULL;
            CHECK(comes(ZKL_RPC_MULTI, ZKL_OP_DELETE));
            CHECK_IS(asked.count, 2);
            CHECK_TEXT(asked.path, names[0]);
            CHECK_TEXT(asked.ops[1].path, names[1]);
            if (has) refuse(ZKL_ERROR_BAD_VERSION, refused);
            else answer(asked_id, &asked);
            CHECK(comes(ZKL_RPC_WRITE, ZKL_OP_DELETE) == has);
            if (has) CHECK_TEXT(asked.path, names[0]);
            if (has) answer(asked_id, &asked);
            let_all_go();
        }
    }
}

int main(void) {
    waits();
    signals();
    return check_report();
}
