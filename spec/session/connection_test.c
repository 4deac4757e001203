/* connection_test.c - what a session does when its connection comes, and before it ends. */
#include "server.h"

static void begins(void) {
    TEST("what waits for a connection goes on with it, and not with the next heartbeat") {
        open_session();
        zkl_session_suspended(session);
        const struct zkl_acquire_options options = options_of("/lock", ZKL_MUTEX);
        zkl_request *request = zkl_acquire(session, &options);
        CHECK(!asks());
        zkl_session_connected(session, ID, TIMEOUT);
        pass(0);
        CHECK(comes(ZKL_RPC_WRITE, ZKL_OP_CREATE));
        answer(asked_id, &asked);
        zkl_lease_drop(taken(request));
        close_session();
    }
    TEST("the first question is asked at once when the shell says so") {
        open_session();
        zkl_session_ask_from(session, ZKL_NEVER);
        zkl_request *request = zkl_session_ready(session, ZKL_NEVER);
        CHECK(!asks());
        zkl_session_ask_from(session, now);
        show(ZKL_RPC_GET, (struct zkl_stat){0}, "");
        CHECK_IS(zkl_request_code(request), ZKL_OK);
        zkl_request_drop(request);
        close_session();
    }
    TEST("each event of a watch counts") {
        struct zkl_stats stats;
        open_session();
        zkl_session_event(session, ZKL_NODE_CHANGED, "/a");
        zkl_session_event(session, ZKL_NODE_CHILDREN, "/a");
        zkl_session_stats(session, &stats);
        CHECK_IS(stats.events, 2);
        close_session();
    }
}

static void ends(void) {
    TEST("a session that drains keeps no node") {
        open_session();
        struct zkl_acquire_options options = options_of("/lock", ZKL_MUTEX);
        options.keep = 1000 * ZKL_SECOND;
        zkl_lease *lease = taken(zkl_acquire(session, &options));
        zkl_request *drain = zkl_session_drain(session, true, ZKL_NEVER);
        CHECK(!zkl_request_done(drain));
        zkl_lease_drop(lease);
        serve();
        CHECK_IS(zkl_request_code(drain), ZKL_OK);
        CHECK(!zkl_session_has_claims(session));
        zkl_request_drop(drain);
        close_session();
    }
    TEST("a session that closes is closed for its users, though its nodes are still there") {
        open_session();
        const struct zkl_acquire_options options = options_of("/lock", ZKL_MUTEX);
        zkl_lease *lease = taken(zkl_acquire(session, &options));
        zkl_session_close(session);
        CHECK_IS(zkl_session_state(session), ZKL_SESSION_CLOSED);
        CHECK_IS(zkl_session_connection(session), ZKL_SESSION_CONNECTED);
        CHECK_IS(zkl_lease_state(lease), ZKL_LEASE_RELEASED);
        CHECK(comes(ZKL_RPC_WRITE, ZKL_OP_DELETE));
        answer(asked_id, &asked);
        zkl_lease_drop(lease);
        close_session();
    }
}

static void looks(void) {
    TEST("what a lost create may have left is looked for a session timeout later, to the moment") {
        open_session();
        const struct zkl_acquire_options options = options_of("/lock", ZKL_MUTEX);
        zkl_request *request = zkl_acquire(session, &options);
        CHECK(comes(ZKL_RPC_WRITE, ZKL_OP_CREATE));
        zkl_time lost = now += ZKL_SECOND / 3;
        zkl_session_at(session, now);
        fail_asked(ZKL_ERROR_CONNECTION_LOSS);
        zkl_request_drop(request);
        while (zkl_session_has_claims(session)) {
            serve_requests();
            come_back();
        }
        while (!asks()) come_back();
        CHECK_IS(now, lost + TIMEOUT);
        fail_asked(ZKL_ERROR_CONNECTION_LOSS);
        serve();
        close_session();
    }
}

static void steps(void) {
    TEST("a step that nothing else tells is news, too") {
        struct zkl_event event;
        open_session();
        const struct zkl_acquire_options options = options_of("/lock", ZKL_MUTEX);
        zkl_lease *lease = taken(zkl_acquire(session, &options));
        while (zkl_session_has_news(session)) continue;
        zkl_lease_drop(lease);
        CHECK(zkl_session_has_news(session));
        CHECK(zkl_session_next_event(session, &event) && event.kind == ZKL_EVENT_STEP);
        CHECK_IS(event.step->kind, ZKL_STEP_RELEASED);
        CHECK_TEXT(event.step->path, "/lock");
        CHECK_TEXT(event.step->owner, "me");
        close_session();
    }
}

int main(void) {
    begins();
    ends();
    looks();
    steps();
    return check_report();
}
