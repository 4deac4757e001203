/* session_test.c - a session whose server answers what each test says, one request at a time. */
#include <stdlib.h>

#include "../../src/session/session.h"
#include "check.h"

static zkl_session *session;
static zkl_time now;

static const zkl_time TIMEOUT = 12 * ZKL_SECOND;
enum { ID = 7 };

static void at(zkl_time time) {
    now = time;
    zkl_session_at(session, now);
}

static void open_session(void) {
    const struct zkl_settings settings = {
        .identity = "here:1", .patience = TIMEOUT / 12, .margin = 0.33, .steps = true};
    session = zkl_session_new(&settings);
    at(1000 * ZKL_SECOND);
    zkl_session_connected(session, ID, TIMEOUT);
}

static void close_session(void) {
    zkl_session_close(session);
    zkl_session_closed(session);
    zkl_session_free(session);
}

/* Answers the next request. */
static struct zkl_rpc answer(struct zkl_answer answer) {
    struct zkl_rpc rpc = {.path = NULL};
    uint64_t id;
    CHECK(zkl_session_next_rpc(session, &id, &rpc));
    if (rpc.path) zkl_session_answer(session, id, &answer);
    return rpc;
}

static bool asks(void) {
    struct zkl_rpc rpc;
    uint64_t id;
    bool any = zkl_session_next_rpc(session, &id, &rpc);
    if (any) zkl_session_unsent(session, id);
    return any;
}

static void take_events(void) {
    struct zkl_event event;
    while (zkl_session_next_event(session, &event)) continue;
}

/* --- errors --------------------------------------------------------------------------------- */

static const struct {
    int error;
    enum zkl_code code; /* ZKL_OK: the request is made again */
    const char *words;
} errors[] = {
    {ZKL_ERROR_SYSTEM, ZKL_OK, "system error"},
    {ZKL_ERROR_RUNTIME_INCONSISTENCY, ZKL_OK, "run time inconsistency"},
    {ZKL_ERROR_CONNECTION_LOSS, ZKL_OK, "connection loss"},
    {ZKL_ERROR_MARSHALLING, ZKL_OK, "marshalling error"},
    {ZKL_ERROR_UNIMPLEMENTED, ZKL_UNSUPPORTED,
     "the server does not know the request: zklock needs ZooKeeper 3.5 or later, with create2 and "
     "multi (-6)"},
    {ZKL_ERROR_OPERATION_TIMEOUT, ZKL_OK, "operation timeout"},
    {ZKL_ERROR_BAD_ARGUMENTS, ZKL_UNSUPPORTED, "bad arguments"},
    {ZKL_ERROR_INVALID_STATE, ZKL_OK, "invalid zhandle state"},
    {ZKL_ERROR_NO_NODE, ZKL_NO_NODE, "no node"},
    {ZKL_ERROR_NO_AUTH, ZKL_AUTH, "not authenticated"},
    {ZKL_ERROR_BAD_VERSION, ZKL_CONFLICT, "bad version"},
    {ZKL_ERROR_NO_CHILDREN_FOR_EPHEMERALS, ZKL_CONFLICT, "no children for ephemerals"},
    {ZKL_ERROR_NODE_EXISTS, ZKL_CONFLICT, "node exists"},
    {ZKL_ERROR_NOT_EMPTY, ZKL_CONFLICT, "not empty"},
    {ZKL_ERROR_INVALID_ACL, ZKL_AUTH, "invalid acl"},
    {ZKL_ERROR_AUTH_FAILED, ZKL_AUTH, "authentication failed"},
    {ZKL_ERROR_CLOSING, ZKL_OK, "zookeeper is closing"},
    {ZKL_ERROR_SESSION_MOVED, ZKL_OK, "session moved to another server, so operation is ignored"},
    {ZKL_ERROR_NO_WATCHER, ZKL_UNSUPPORTED, "the watcher couldn't be found"},
    {ZKL_ERROR_REQUEST_TIMEOUT, ZKL_OK, "unknown error"},
    {ZKL_ERROR_QUOTA_EXCEEDED, ZKL_UNSUPPORTED,
     "the server refuses: a hard quota of the path is exceeded (-125)"},
    {ZKL_ERROR_THROTTLED, ZKL_OK, "Operation was throttled due to high load"},
    {-999, ZKL_UNSUPPORTED, "unknown error"},
};

static void check_error(int error, enum zkl_code code, const char *words) {
    CHECK_CASE("%d", error);
    zkl_request *request = zkl_get(session, "/a", ZKL_NEVER);
    answer((struct zkl_answer){.error = error});
    CHECK_TEXT(zkl_error_words(error), words);
    CHECK_IS(zkl_request_done(request), code != ZKL_OK);
    if (code != ZKL_OK) {
        CHECK_IS(zkl_request_code(request), code);
        CHECK_TEXT(zkl_request_detail(request), words);
    } else {
        at(now + ZKL_SECOND / 2);
        zkl_session_tick(session);
        answer((struct zkl_answer){.stat = &(struct zkl_stat){0}});
        CHECK_IS(zkl_request_code(request), ZKL_OK);
    }
    zkl_request_drop(request);
}

static void answers(void) {
    TEST("each error of a server has a code and words, or the request is made again") {
        open_session();
        for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
            check_error(errors[i].error, errors[i].code, errors[i].words);
        CHECK_TEXT(zkl_error_words(ZKL_ERROR_SESSION_EXPIRED), "session expired");
        close_session();
    }
    TEST("an answer may say that the session has ended, once") {
        static const int ends[] = {ZKL_ERROR_SESSION_EXPIRED, ZKL_ERROR_UNKNOWN_SESSION};
        for (size_t i = 0; i < 2; i++) {
            struct zkl_stats stats;
            open_session();
            zkl_request *request = zkl_get(session, "/a", ZKL_NEVER);
            answer((struct zkl_answer){.error = ends[i]});
            CHECK_IS(zkl_request_code(request), ZKL_EXPIRED);
            zkl_session_expired(session);
            CHECK_IS(zkl_session_connection(session), ZKL_SESSION_EXPIRED);
            zkl_session_stats(session, &stats);
            CHECK_IS(stats.expiries, 1);
            zkl_request_drop(request);
            close_session();
        }
    }
    TEST("an operation that the servers do not know is answered so, after those before it") {
        uint64_t ids[2];
        struct zkl_rpc rpc;
        open_session();
        zkl_request *first = zkl_get(session, "/a", ZKL_NEVER),
                    *second = zkl_get(session, "/b", ZKL_NEVER);
        for (int i = 0; i < 2; i++) CHECK(zkl_session_next_rpc(session, &ids[i], &rpc));
        zkl_session_unknown(session, 999);
        zkl_session_unknown(session, ids[1]);
        CHECK(!zkl_request_done(second));
        zkl_session_answer(session, ids[0], &(struct zkl_answer){.error = ZKL_ERROR_NO_AUTH});
        CHECK_IS(zkl_request_code(first), ZKL_AUTH);
        CHECK_IS(zkl_request_code(second), ZKL_UNSUPPORTED);
        zkl_request_drop(first);
        zkl_request_drop(second);
        close_session();
    }
    TEST("an answer to no request is left alone") {
        open_session();
        zkl_session_answer(session, 999, &(struct zkl_answer){0});
        zkl_session_unsent(session, 999);
        zkl_request *request = zkl_get(session, "/a", ZKL_NEVER);
        zkl_session_answer(session, 999, &(struct zkl_answer){0});
        zkl_session_unsent(session, 999);
        CHECK(asks() && !zkl_request_done(request));
        zkl_request_drop(request);
        close_session();
    }
}

/* --- questions ------------------------------------------------------------------------------- */

static void questions(void) {
    TEST("the children of a node are their names, each with its NUL") {
        const char *const names[] = {"a", "bc"};
        size_t size;
        int32_t version;
        open_session();
        zkl_request *request = zkl_children(session, "/a", ZKL_NEVER);
        answer((struct zkl_answer){.names = names, .count = 2});
        const char *data = zkl_request_data(request, &size, &version);
        CHECK(size == 5 && memcmp(data, "a\0bc", 5) == 0);
        CHECK(!zkl_request_detail(request));
        zkl_request_drop(request);
        request = zkl_children(session, "/a", ZKL_NEVER);
        answer((struct zkl_answer){.error = ZKL_ERROR_NO_NODE});
        CHECK_IS(zkl_request_code(request), ZKL_NO_NODE);
        CHECK(!zkl_request_queue(request, &size) && size == 0);
        zkl_request_drop(request);
        close_session();
    }
    TEST("a node is removed by its version, and one that is gone is removed") {
        static const int ends[] = {ZKL_ERROR_NONE, ZKL_ERROR_NO_NODE};
        open_session();
        for (size_t i = 0; i < 2; i++) {
            const struct zkl_result result = {.error = ends[i]};
            zkl_request *request = zkl_break(session, "/a/lock-0000000001", 3, ZKL_NEVER);
            struct zkl_rpc rpc = answer((struct zkl_answer){.error = ends[i], .results = &result});
            CHECK_IS(rpc.kind, ZKL_RPC_WRITE);
            CHECK_IS(zkl_request_code(request), ZKL_OK);
            CHECK(!zkl_request_lease(request) && zkl_request_signalled(request) == 0);
            CHECK(!zkl_request_data(request, &(size_t){0}, &(int32_t){0}));
            CHECK_IS(zkl_request_conflict(request).use, ZKL_USE_UNKNOWN);
            CHECK_IS(zkl_request_version(request, 1), 0);
            zkl_request_drop(request);
        }
        close_session();
    }
    TEST("the first question is asked when it may be") {
        open_session();
        zkl_session_tick(session);
        zkl_session_ask_from(session, now + ZKL_SECOND / 2);
        zkl_request *request = zkl_session_ready(session, ZKL_NEVER);
        CHECK(!asks());
        CHECK_IS(zkl_session_due(session), now + ZKL_SECOND / 2);
        at(now + ZKL_SECOND / 2);
        zkl_session_tick(session);
        answer((struct zkl_answer){.stat = &(struct zkl_stat){0}});
        CHECK_IS(zkl_request_code(request), ZKL_OK);
        zkl_request_drop(request);
        close_session();
    }
    TEST("who is told of a list that says a name twice is told once") {
        const char *const names[] = {"lock-0000000002", "lock-0000000001", "lock-0000000002"};
        const struct zkl_stat stat = {.czxid = 5};
        size_t count;
        open_session();
        zkl_request *request = zkl_queue(session, "/a", ZKL_MUTEX, ZKL_NEVER);
        answer((struct zkl_answer){.names = names, .count = 3});
        answer((struct zkl_answer){.stat = &stat});
        answer((struct zkl_answer){.stat = &stat});
        CHECK(!asks());
        const struct zkl_queued *queue = zkl_request_queue(request, &count);
        CHECK_IS(count, 2);
        CHECK(queue && queue[0].sequence == 1 && queue[1].sequence == 2);
        CHECK(!zkl_request_detail(request));
        zkl_request_drop(request);
        close_session();
    }
    TEST("a czxid that is too large for tokens that count has none") {
        const char *const names[] = {"_c_00000000-0000-0007-2000-000000000001-lock-0000000001"};
        const struct zkl_stat stat = {.czxid = INT64_MAX};
        size_t count;
        open_session();
        zkl_request *request = zkl_queue(session, "/a", ZKL_MUTEX, ZKL_NEVER);
        answer((struct zkl_answer){.names = names, .count = 1});
        answer((struct zkl_answer){.stat = &stat});
        const struct zkl_queued *queue = zkl_request_queue(request, &count);
        CHECK(count == 1 && queue->counts && queue->token == 0);
        zkl_request_drop(request);
        close_session();
    }
    TEST("of a reader and a writer with one number the reader is first") {
        const char *const names[][2] = {{"x__READ__0000000002", "y__WRIT__0000000002"},
                                        {"x__WRIT__0000000002", "y__READ__0000000002"}};
        const struct zkl_stat stat = {.czxid = 5};
        size_t count;
        open_session();
        for (int i = 0; i < 2; i++) {
            zkl_request *request = zkl_queue(session, "/a", ZKL_READ, ZKL_NEVER);
            answer((struct zkl_answer){.names = names[i], .count = 2});
            answer((struct zkl_answer){.stat = &stat});
            answer((struct zkl_answer){.stat = &stat});
            const struct zkl_queued *queue = zkl_request_queue(request, &count);
            CHECK(count == 2 && queue[0].kind == ZKL_READ && queue[1].kind == ZKL_WRITE);
            zkl_request_drop(request);
        }
        close_session();
    }
    TEST("a request that was cancelled is asked no more") {
        open_session();
        zkl_request *request = zkl_session_ready(session, ZKL_NEVER);
        zkl_request_cancel(request, ZKL_TIMEOUT);
        answer((struct zkl_answer){.error = ZKL_ERROR_CONNECTION_LOSS});
        at(now + ZKL_SECOND);
        zkl_session_tick(session);
        CHECK(!asks());
        CHECK_IS(zkl_request_code(request), ZKL_TIMEOUT);
        zkl_request_drop(request);
        close_session();
    }
    TEST("of a request that was dropped nothing is told") {
        struct zkl_event event;
        open_session();
        zkl_request *request = zkl_get(session, "/a", ZKL_NEVER);
        answer((struct zkl_answer){.stat = &(struct zkl_stat){0}});
        CHECK(zkl_request_done(request));
        zkl_request_drop(request);
        while (zkl_session_next_event(session, &event)) CHECK(event.kind != ZKL_EVENT_REQUEST);
        close_session();
    }
    TEST("a pause goes on after an expiry, until the session closes") {
        open_session();
        zkl_request *request = zkl_pause(session, ZKL_NEVER);
        CHECK(!zkl_request_done(request));
        zkl_session_expired(session);
        CHECK(!zkl_request_done(request));
        zkl_session_close(session);
        CHECK_IS(zkl_request_code(request), ZKL_CLOSED);
        zkl_request_drop(request);
        close_session();
    }
    TEST("a call that times out is counted, and a pause that is over is not") {
        struct zkl_stats stats;
        open_session();
        zkl_request *pause = zkl_pause(session, ZKL_SECOND);
        zkl_request *request = zkl_get(session, "/a", ZKL_SECOND);
        at(now + ZKL_SECOND);
        zkl_session_tick(session);
        CHECK_IS(zkl_request_code(pause), ZKL_TIMEOUT);
        CHECK_IS(zkl_request_code(request), ZKL_TIMEOUT);
        zkl_session_stats(session, &stats);
        CHECK_IS(stats.timeouts, 1);
        zkl_request_drop(pause);
        zkl_request_drop(request);
        close_session();
    }
    TEST("a session that is closed makes no pause") {
        open_session();
        zkl_session_close(session);
        zkl_request *request = zkl_pause(session, ZKL_NEVER);
        CHECK_IS(zkl_request_code(request), ZKL_CLOSED);
        zkl_request_drop(request);
        close_session();
    }
}

static zkl_request *acquire(void) {
    const struct zkl_acquire_options options = {
        .path = "/lock", .kind = ZKL_MUTEX, .owner = "me", .timeout = ZKL_NEVER};
    return zkl_acquire(session, &options);
}

static void refusals(void) {
    TEST("an acquire that the server refuses is told the server's reason") {
        static const struct zkl_result result = {.error = ZKL_ERROR_UNIMPLEMENTED};
        open_session();
        zkl_request *request = acquire();
        answer((struct zkl_answer){.error = result.error, .results = &result});
        CHECK_IS(zkl_request_code(request), ZKL_UNSUPPORTED);
        CHECK_TEXT(zkl_request_detail(request), zkl_error_words(ZKL_ERROR_UNIMPLEMENTED));
        zkl_request_drop(request);
        close_session();
    }
    TEST("an acquire to which no list is shown is told the server's reason") {
        static const struct zkl_result made = {
            .created = "/lock/_c_00000000-0000-0007-0000-000000000001-lock-0000000001",
            .stat = {.czxid = 5}};
        open_session();
        zkl_request *request = acquire();
        struct zkl_rpc rpc;
        uint64_t id;
        char created[200];
        CHECK(zkl_session_next_rpc(session, &id, &rpc));
        snprintf(created, sizeof created, "%s0000000001", rpc.path);
        struct zkl_result result = made;
        result.created = created;
        zkl_session_answer(session, id, &(struct zkl_answer){.results = &result});
        answer((struct zkl_answer){.error = ZKL_ERROR_NO_AUTH});
        CHECK_IS(zkl_request_code(request), ZKL_AUTH);
        CHECK_TEXT(zkl_request_detail(request), zkl_error_words(ZKL_ERROR_NO_AUTH));
        zkl_request_drop(request);
        close_session();
    }
    TEST("the reason of an earlier refusal is not that of a timeout") {
        open_session();
        zkl_request *request = acquire();
        for (int i = 0; i < 2; i++) answer((struct zkl_answer){.error = ZKL_ERROR_NO_NODE});
        answer((struct zkl_answer){.error = ZKL_ERROR_NO_AUTH}); /* a parent */
        zkl_request_cancel(request, ZKL_TIMEOUT);
        CHECK_IS(zkl_request_code(request), ZKL_TIMEOUT);
        CHECK(!zkl_request_detail(request));
        zkl_request_drop(request);
        close_session();
    }
    TEST("after its end a session that does not reopen takes no acquire") {
        open_session();
        zkl_session_expired(session);
        zkl_request *request = acquire();
        CHECK(zkl_request_done(request));
        if (zkl_request_done(request)) CHECK_IS(zkl_request_code(request), ZKL_EXPIRED);
        zkl_request_drop(request);
        close_session();
    }
    TEST("with its first claim a session has heartbeats, from a sixth of the timeout on") {
        open_session();
        zkl_session_tick(session);
        CHECK_IS(zkl_session_due_anew(session), ZKL_NEVER);
        at(now + TIMEOUT);
        zkl_session_tick(session);
        zkl_request *first = acquire();
        CHECK_IS(zkl_session_due_anew(session), now + TIMEOUT / 6);
        at(now + ZKL_SECOND);
        zkl_session_tick(session);
        zkl_request *second = acquire();
        CHECK_IS(zkl_session_due_anew(session), ZKL_NEVER);
        zkl_request_drop(first);
        zkl_request_drop(second);
        close_session();
    }
    TEST("an acquire without a chroot is told that there is no node") {
        open_session();
        zkl_request *request = acquire();
        for (int i = 0; !zkl_request_done(request) && i < 6; i++)
            answer((struct zkl_answer){.error = ZKL_ERROR_NO_NODE});
        CHECK_IS(zkl_request_code(request), ZKL_NO_NODE);
        zkl_request_drop(request);
        close_session();
    }
}

/* --- the session ----------------------------------------------------------------------------- */

static void states(void) {
    TEST("credentials that are refused are the reason of each request from then on") {
        open_session();
        zkl_request *before = zkl_get(session, "/a", ZKL_NEVER), *claim = acquire();
        zkl_session_refused(session);
        CHECK_IS(zkl_request_code(claim), ZKL_AUTH);
        zkl_request_drop(claim);
        zkl_request *after = zkl_get(session, "/a", ZKL_NEVER);
        CHECK_IS(zkl_request_code(before), ZKL_AUTH);
        CHECK_IS(zkl_request_code(after), ZKL_AUTH);
        CHECK_IS(zkl_session_connection(session), ZKL_SESSION_EXPIRED);
        zkl_request_drop(before);
        zkl_request_drop(after);
        close_session();
    }
    TEST("a connection is lost once") {
        open_session();
        zkl_session_suspended(session);
        take_events();
        zkl_session_suspended(session);
        CHECK(!zkl_session_has_events(session));
        close_session();
    }
    TEST("news is told once") {
        open_session();
        CHECK(zkl_session_has_news(session));
        CHECK(!zkl_session_has_news(session));
        close_session();
    }
    TEST("of the changes that nobody reads the newest are kept") {
        enum { TIMES = 5000 };
        struct zkl_event event;
        struct zkl_stats stats;
        size_t changes = 0, steps = 0;
        enum zkl_session_state last = ZKL_SESSION_CONNECTING;
        open_session();
        for (int i = 0; i < TIMES; i++) {
            zkl_session_suspended(session);
            zkl_session_connected(session, ID, TIMEOUT);
        }
        while (zkl_session_next_event(session, &event)) {
            if (event.kind == ZKL_EVENT_STATE) {
                changes++;
                last = event.state;
            } else {
                steps++;
            }
        }
        CHECK_IS(changes, 16);
        CHECK_IS(last, ZKL_SESSION_CONNECTED);
        CHECK_IS(steps, ZKL_STEPS_MAX);
        zkl_session_stats(session, &stats);
        CHECK_IS(stats.untold, TIMES - ZKL_STEPS_MAX);
        close_session();
    }
    TEST("a name has one meter, and there are so many names") {
        char name[24];
        open_session();
        for (size_t i = 1; i <= ZKL_METERS_MAX; i++) {
            snprintf(name, sizeof name, "%zu", i);
            CHECK_IS(zkl_session_name_meter(session, name), i);
        }
        CHECK_IS(zkl_session_name_meter(session, "7"), 7);
        CHECK_IS(zkl_session_name_meter(session, "one more"), 0);
        struct zkl_totals all = {0}, of_another = {0};
        zkl_totals_add(&all, session);
        close_session();
        open_session();
        CHECK_IS(zkl_session_name_meter(session, "one more"), 1);
        zkl_totals_add(&of_another, session);
        zkl_totals_merge(&all, &of_another);
        CHECK_IS(all.named_count, ZKL_METERS_MAX);
        zkl_totals_clear(&all);
        zkl_totals_clear(&of_another);
        close_session();
    }
}

int main(void) {
    answers();
    questions();
    refusals();
    states();
    return check_report();
}
