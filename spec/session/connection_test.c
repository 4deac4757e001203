/* connection_test.c - what a session does with its connection, with time, and before it ends. */
#include "server.h"

static void begins(void) {
    TEST("what waits for a connection goes on with it, and not with the next heartbeat") {
        open_session();
        zkl_session_suspended(session);
        const struct zkl_acquire_options options = options_of("/lock", ZKL_MUTEX);
        zkl_request *request = zkl_acquire(session, &options);
        pass(0);
        CHECK(!asks());
        zkl_session_connected(session, ID, TIMEOUT);
        CHECK(zkl_session_due_anew(session) <= now);
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

/* --- what holders hear ------------------------------------------------------------------------ */

/* The phase that the next event of a lease tells; -1: none does. */
static int next_phase(void) {
    struct zkl_event event;
    while (zkl_session_next_event(session, &event))
        if (event.kind == ZKL_EVENT_LEASE) return event.phase;
    return -1;
}

static void tells(void) {
    const struct zkl_acquire_options options = options_of("/lock", ZKL_MUTEX);
    TEST("a holder hears at once that the connection is lost") {
        open_session();
        zkl_lease *lease = taken(zkl_acquire(session, &options));
        zkl_session_suspended(session);
        CHECK_IS(next_phase(), ZKL_PHASE_SUSPECT);
        zkl_lease_drop(lease);
        close_session();
    }
    TEST("a holder hears that its lease became suspect when the server did not answer") {
        int phase = -1;
        open_session();
        zkl_lease *lease = taken(zkl_acquire(session, &options));
        for (int i = 0; i < ROUNDS && phase < 0; i++) {
            come_back();
            phase = next_phase();
        }
        CHECK_IS(phase, ZKL_PHASE_SUSPECT);
        CHECK_IS(zkl_lease_state(lease), ZKL_LEASE_SUSPECT);
        zkl_lease_drop(lease);
        close_session();
    }
    TEST("a hold of limited length ends then, and not with the next look at the clock") {
        open_session();
        zkl_lease *lease = taken(zkl_acquire(session, &options));
        zkl_time end = now + MOMENT / 3;
        CHECK_IS(zkl_lease_expire(lease, MOMENT / 3), ZKL_OK);
        while (now < end) come_back();
        CHECK_IS(now, end);
        CHECK_IS(next_phase(), ZKL_PHASE_LOST);
        zkl_lease_drop(lease);
        close_session();
    }
}

/* --- the end --------------------------------------------------------------------------------- */

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

/* --- when to come back ------------------------------------------------------------------------ */

/* Whether anything is asked before ROUNDS ticks: it is `asked`. */
static bool asks_in_time(void) {
    for (int i = 0; i < ROUNDS; i++) {
        if (asks()) return true;
        come_back();
    }
    return false;
}

static zkl_time lost; /* when the create was */

/* No claim is left, and perhaps a node is. */
static void lose_create(void) {
    const struct zkl_acquire_options options = options_of("/lock", ZKL_MUTEX);
    open_session();
    zkl_request *request = zkl_acquire(session, &options);
    CHECK(comes(ZKL_RPC_WRITE, ZKL_OP_CREATE));
    lost = now += ZKL_SECOND / 3;
    zkl_session_at(session, now);
    fail_asked(ZKL_ERROR_CONNECTION_LOSS);
    zkl_request_drop(request);
    while (zkl_session_has_claims(session)) {
        serve_requests();
        come_back();
    }
}

static void looks(void) {
    TEST("what a lost create may have left is looked for once, a session timeout later") {
        lose_create();
        CHECK(asks_in_time() && asked.kind == ZKL_RPC_SYNC);
        CHECK_IS(now, lost + TIMEOUT);
        answer(asked_id, &asked);
        reply(ZKL_RPC_LIST, (struct zkl_answer){0});
        CHECK(!asks_in_time());
        close_session();
    }
    TEST("a list whose sync was lost does not end the look: both are asked for again") {
        lose_create();
        CHECK(asks_in_time() && asked.kind == ZKL_RPC_SYNC);
        fail_asked(ZKL_ERROR_CONNECTION_LOSS);
        reply(ZKL_RPC_LIST, (struct zkl_answer){0});
        CHECK(asks_in_time() && asked.kind == ZKL_RPC_SYNC);
        CHECK(now >= lost + 2 * TIMEOUT);
        answer(asked_id, &asked);
        reply(ZKL_RPC_LIST, (struct zkl_answer){0});
        CHECK(!asks_in_time());
        close_session();
    }
}

static void pauses(void) {
    TEST("a claim that pauses goes on when its pause is over") {
        static const struct zkl_stat others = {.czxid = 5, .owner = ID + 1};
        open_session();
        struct zkl_acquire_options options = options_of("/lock", ZKL_UNFAIR);
        options.jitter = MOMENT;
        zkl_request *request = zkl_acquire(session, &options);
        write_done(ZKL_ERROR_NODE_EXISTS);
        show(ZKL_RPC_GET, others, "");
        zkl_session_event(session, ZKL_NODE_DELETED, "/lock/" ZKL_NAME_FIXED);
        CHECK(!asks());
        CHECK(come_back() <= MOMENT && asks());
        CHECK_IS(asked.kind, ZKL_RPC_WRITE);
        answer(asked_id, &asked);
        zkl_lease_drop(taken(request));
        close_session();
    }
}

/* --- what is told ----------------------------------------------------------------------------- */

static void states(void) {
    TEST("of the changes that nobody reads the newest are told, in their order") {
        enum { CYCLES = 7, ALL = 4 * CYCLES, TOLD = 16 };
        enum zkl_session_state were[ALL];
        struct zkl_event event;
        int at = 0, told = ALL - TOLD;
        open_session();
        for (int i = 1; i <= CYCLES; i++) {
            zkl_session_suspended(session);
            were[at++] = zkl_session_connection(session);
            zkl_session_expired(session);
            were[at++] = zkl_session_connection(session);
            zkl_session_reopening(session);
            were[at++] = zkl_session_connection(session);
            zkl_session_connected(session, ID + (uint64_t)i, TIMEOUT);
            were[at++] = zkl_session_connection(session);
        }
        while (zkl_session_next_event(session, &event))
            if (event.kind == ZKL_EVENT_STATE && told < ALL) CHECK_IS(event.state, were[told++]);
        CHECK_IS(told, ALL);
        close_session();
    }
    TEST("a session is closed once, and one whose credentials are refused awaits nothing") {
        struct zkl_event event;
        open_session();
        zkl_session_refused(session);
        pass(0);
        CHECK_IS(zkl_session_due(session), ZKL_NEVER);
        zkl_session_close(session);
        zkl_session_closed(session);
        while (zkl_session_next_event(session, &event)) continue;
        zkl_session_closed(session);
        CHECK(!zkl_session_has_events(session));
        close_session();
    }
}

static void steps(void) {
    TEST("a step stays as it was for its keeper, and who waits in line has no token yet") {
        struct zkl_event event = {0};
        open_session();
        struct zkl_acquire_options options = options_of("/lock", ZKL_MUTEX);
        zkl_lease *lease = taken(zkl_acquire(session, &options));
        options.owner = "other";
        zkl_request *request = zkl_acquire(session, &options);
        serve_requests();
        CHECK(zkl_session_next_event(session, &event) && event.kind == ZKL_EVENT_STEP);
        const struct zkl_step *step = event.step;
        zkl_session_keep_step(session);
        while (zkl_session_next_event(session, &event)) continue;
        CHECK_IS(step->kind, ZKL_STEP_QUEUED);
        CHECK_TEXT(step->owner, "other");
        CHECK_IS(step->token, 0);
        CHECK_IS(step->position, 2);
        zkl_step_free(step);
        zkl_lease_drop(lease);
        zkl_lease_drop(taken(request));
        close_session();
    }
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
    tells();
    ends();
    looks();
    pauses();
    states();
    steps();
    return check_report();
}
