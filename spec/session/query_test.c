/* query_test.c - questions, and the writes that may be made again. */
#include "server.h"

static void lost(void) {
    TEST("a question whose answer was lost is asked again in a moment") {
        open_session();
        zkl_request *request = zkl_get(session, "/a", ZKL_NEVER);
        fail(ZKL_RPC_GET, ZKL_ERROR_CONNECTION_LOSS);
        CHECK(!asks() && come_back() <= MOMENT);
        show(ZKL_RPC_GET, (struct zkl_stat){0}, "x");
        CHECK_IS(zkl_request_code(request), ZKL_OK);
        zkl_request_drop(request);
        close_session();
    }
    TEST("a check whose answers are lost with its lease ends with that") {
        open_session();
        struct zkl_acquire_options options = options_of("/lock", ZKL_MUTEX);
        zkl_lease *lease = taken(zkl_acquire(session, &options));
        serve_requests(); /* the heartbeat */
        zkl_request *request = zkl_check(lease, ZKL_NEVER);
        zkl_session_at(session, now += 2 * TIMEOUT);
        CHECK_IS(zkl_lease_state(lease), ZKL_LEASE_LOST);
        fail(ZKL_RPC_SYNC, ZKL_ERROR_CONNECTION_LOSS);
        fail(ZKL_RPC_GET, ZKL_ERROR_CONNECTION_LOSS);
        CHECK_IS(zkl_request_code(request), ZKL_LOST);
        CHECK(!zkl_request_detail(request));
        zkl_request_drop(request);
        zkl_lease_drop(lease);
        close_session();
    }
}

static void writes(void) {
    TEST("a node is removed by its version, and asked to give way whatever its version is") {
        open_session();
        zkl_request *removal = zkl_break(session, "/a/lock-0000000001", 3, ZKL_NEVER);
        CHECK(asks() && asked.ops->kind == ZKL_OP_DELETE);
        CHECK_IS(asked.ops->version, 3);
        answer(asked_id, &asked);
        zkl_request *wish = zkl_revoke(session, "/a/lock-0000000001", ZKL_NEVER);
        CHECK(asks() && asked.ops->kind == ZKL_OP_SET);
        CHECK_IS(asked.ops->version, -1);
        answer(asked_id, &asked);
        zkl_request_drop(removal);
        zkl_request_drop(wish);
        close_session();
    }
}

int main(void) {
    lost();
    writes();
    return check_report();
}
