/* claim_test.c - claims to which the server, or somebody else, does what is rare. */
#include "../../src/core/claim.h"
#include "server.h"

static void end(zkl_lease *lease) {
    zkl_lease_drop(lease);
    close_session();
}

/* --- writes to the own node ----------------------------------------------------------------- */

static bool comes_mark(void) {
    if (!comes(ZKL_RPC_WRITE, ZKL_OP_SET)) return false;
    bool says_held = zkl_data_says_held(asked.ops->data, asked.ops->size);
    answer(asked_id, &asked);
    return says_held;
}

static void writes(void) {
    TEST("a write that meets another one each time waits for a heartbeat in the end") {
        int times = 0;
        open_session();
        struct zkl_acquire_options options = options_of("/lock", ZKL_WRITE);
        zkl_lease *lease = taken(zkl_acquire(session, &options));
        zkl_request *request = zkl_downgrade(lease, ZKL_NEVER);
        while (times <= 2 * ZKL_ROUNDS && comes(ZKL_RPC_MULTI, ZKL_OP_CREATE)) {
            times++;
            fail_asked(ZKL_ERROR_BAD_VERSION);
        }
        CHECK_IS(times, ZKL_ROUNDS + 1);
        CHECK(!zkl_request_done(request));
        serve();
        CHECK_IS(zkl_request_code(request), ZKL_OK);
        zkl_request_drop(request);
        end(lease);
    }
    TEST("a node that somebody has emptied says again that it is held") {
        open_session();
        struct zkl_acquire_options options = options_of("/lock", ZKL_MUTEX);
        options.keep = TIMEOUT;
        zkl_lease *lease = taken(zkl_acquire(session, &options));
        strcpy(nodes[1], "/lock/lock-0000000099");
        zkl_session_event(session, ZKL_NODE_CHILDREN, "/lock");
        CHECK(comes_mark());
        node_text = NULL;
        zkl_session_event(session, ZKL_NODE_CHANGED, nodes[0]);
        CHECK(comes_mark());
        end(lease);
    }
}

static void others_writes(void) {
    TEST("a node that is written to while its mark is out is marked once") {
        open_session();
        struct zkl_acquire_options options = options_of("/lock", ZKL_MUTEX);
        options.keep = TIMEOUT;
        zkl_lease *lease = taken(zkl_acquire(session, &options));
        serve_requests();
        strcpy(nodes[1], "/lock/lock-0000000099");
        zkl_session_event(session, ZKL_NODE_CHANGED, nodes[0]);
        zkl_session_event(session, ZKL_NODE_CHILDREN, "/lock");
        uint64_t before = served.sets;
        node_text = NULL;
        serve_requests();
        CHECK_IS(served.sets, before + 1);
        end(lease);
    }
    TEST("a permit's node is marked by its own data") {
        open_session();
        strcpy(nodes[0], "/lock/permit-1-of-2-0000000001");
        strcpy(nodes[1], "/lock/permit-1-of-2-0000000002");
        made = 10;
        struct zkl_acquire_options options = options_of("/lock", ZKL_PERMIT);
        options.permits = 1;
        options.limit = 2;
        zkl_request *request = zkl_acquire(session, &options);
        serve_requests();
        delete_node("/lock/permit-1-of-2-0000000001");
        CHECK(comes(ZKL_RPC_WRITE, ZKL_OP_SET));
        CHECK(asked.ops->size == 6 && memcmp(asked.ops->data, "here:1", 6) == 0);
        answer(asked_id, &asked);
        end(taken(request));
    }
    TEST("a wish for the lock that a node had when it was handed on is for whoever has it now") {
        open_session();
        struct zkl_acquire_options options = options_of("/lock", ZKL_MUTEX), others = options;
        options.batch = others.batch = 4;
        others.owner = "another";
        zkl_request *first = zkl_acquire(session, &options),
                    *second = zkl_acquire(session, &others);
        serve_requests();
        CHECK(comes_in_time(ZKL_RPC_SYNC, 0)); /* a heartbeat, and behind it the get */
        zkl_lease *lease = zkl_request_lease(first);
        zkl_lease_drop(lease);
        lease = zkl_request_lease(second);
        CHECK(lease);
        node_text = ZKL_REVOKE_DATA;
        answer(asked_id, &asked);
        CHECK(asks());
        CHECK_IS(asked.kind, ZKL_RPC_GET);
        answer(asked_id, &asked);
        if (lease) CHECK(zkl_lease_revoked(lease));
        node_text = "text";
        zkl_request_drop(first);
        zkl_request_drop(second);
        if (lease) end(lease);
    }
}

/* --- the way to the front ------------------------------------------------------------------- */

/* The process is stopped for so long, and then runs for less than makes it awake again. */
static void burst(zkl_time stop) {
    pass(stop);
    serve_requests();
    for (int i = 0; i < 5; i++) {
        pass(TIMEOUT / 24);
        serve_requests();
    }
}

/* A try, until it is done. */
static zkl_request *try_in_bursts(zkl_time stop) {
    struct zkl_acquire_options options = options_of("/lock", ZKL_MUTEX);
    options.trying = true;
    options.timeout = 2 * TIMEOUT;
    zkl_request *request = zkl_acquire(session, &options);
    for (int i = 0; i < 10 && !zkl_request_done(request); i++) burst(stop);
    return request;
}

static void ways(void) {
    TEST("the end of a node that no list has shown lets no claim of permits in") {
        struct zkl_totals totals = {0};
        const char *const holders[] = {"/lock/permit-1-of-2-0000000001",
                                       "/lock/permit-1-of-2-0000000002"};
        open_session();
        for (int i = 0; i < 2; i++) strcpy(nodes[i], holders[i]);
        made = 10;
        struct zkl_acquire_options options = options_of("/lock", ZKL_PERMIT);
        options.permits = options.limit = 2;
        zkl_request *request = zkl_acquire(session, &options);
        serve_requests();
        zkl_session_event(session, ZKL_NODE_DELETED, "/lock/permit-1-of-2-0000000003");
        CHECK(!asks() && !zkl_request_done(request));
        delete_node(holders[0]);
        CHECK(!asks() && !zkl_request_done(request));
        delete_node(holders[1]);
        zkl_lease *lease = taken(request);
        zkl_totals_add(&totals, session);
        CHECK_IS(totals.meter.hand_over.count, 1);
        zkl_totals_clear(&totals);
        end(lease);
    }
    TEST("where the numbers are exhausted, the others are asked for, and not the own node") {
        const struct zkl_acquire_options options = options_of("/lock", ZKL_MUTEX);
        char prefix[ZKL_NAME_SIZE];
        open_session();
        zkl_name_prefix(prefix, ZKL_MUTEX, 99, 1);
        snprintf(nodes[0], NODE_SIZE, "/lock/%s2147483647", prefix);
        zkl_request *request = zkl_acquire(session, &options);
        CHECK(comes(ZKL_RPC_LIST, ZKL_OP_CREATE));
        answer(asked_id, &asked);
        CHECK(asks() && asked.kind == ZKL_RPC_GET);
        CHECK_TEXT(asked.path, nodes[0]);
        answer(asked_id, &asked);
        CHECK(!asks());
        nodes[0][0] = '\0';
        zkl_request_drop(request);
        close_session();
    }
    TEST("a try of a process that is stopped again and again is granted a free lock") {
        open_session();
        burst(TIMEOUT / 8);
        zkl_request *request = try_in_bursts(TIMEOUT / 8);
        CHECK_IS(zkl_request_code(request), ZKL_OK);
        CHECK(zkl_request_stops(request) > 1);
        end(taken(request));
    }
    TEST("a try ends by its deadline if the stops are too long, and knows how many there were") {
        open_session();
        burst(TIMEOUT / 4);
        zkl_request *request = try_in_bursts(TIMEOUT / 4);
        CHECK_IS(zkl_request_code(request), ZKL_TIMEOUT);
        CHECK_IS((int64_t)zkl_request_stops(request), 5); /* the one before it, too */
        zkl_request_drop(request);
        close_session();
    }
    TEST("a stop that was over long ago is none of a request's") {
        open_session();
        burst(TIMEOUT);
        for (int i = 0; i < 8; i++) pass(TIMEOUT / 24);
        zkl_request *request = zkl_pause(session, TIMEOUT);
        CHECK_IS((int64_t)zkl_request_stops(request), 0);
        zkl_request_drop(request);
        close_session();
    }
    TEST("a multi-lock that gave its places up makes no node before both are gone") {
        open_session();
        struct zkl_acquire_options both[] = {options_of("/lock", ZKL_MUTEX),
                                             options_of("/lock2", ZKL_MUTEX)};
        zkl_request *request = zkl_acquire_all(session, both, 2);
        CHECK(comes(ZKL_RPC_MULTI, ZKL_OP_CREATE));
        answer(asked_id, &asked);
        int before = made;
        node_text = ZKL_REVOKE_DATA;
        zkl_session_at(session, now += TIMEOUT / 2); /* the process was stopped */
        zkl_session_tick(session);
        CHECK(comes(ZKL_RPC_WRITE, ZKL_OP_DELETE));
        answer(asked_id, &asked);
        CHECK(comes(ZKL_RPC_WRITE, ZKL_OP_DELETE));
        fail_asked(ZKL_ERROR_THROTTLED);
        CHECK(comes_in_time(ZKL_RPC_WRITE, ZKL_OP_DELETE));
        CHECK_IS(made, before);
        answer(asked_id, &asked);
        node_text = "text"; /* nobody has asked for the new nodes */
        zkl_lease *lease = taken(request);
        CHECK_IS(made, before + 2);
        CHECK(!zkl_lease_revoked(lease));
        end(lease);
    }
}

int main(void) {
    writes();
    others_writes();
    ways();
    return check_report();
}
