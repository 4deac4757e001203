/* acquire_test.c - what an acquire is told at once: by its path's use, its owner's, its session's.
 */
#include <stdlib.h>

#include "server.h"

static struct zkl_acquire_options of_owner(const char *owner, struct zkl_acquire_options options) {
    options.path = "/lock";
    options.owner = owner;
    options.timeout = ZKL_NEVER;
    return options;
}

static zkl_request *acquire(struct zkl_acquire_options options) {
    return zkl_acquire(session, &options);
}

static zkl_request *acquire_both(struct zkl_acquire_options options) {
    struct zkl_acquire_options both[] = {options, options};
    both[0].path = "/lock2";
    return zkl_acquire_all(session, both, 2);
}

/* At once, for a reason of the session's: the server has given none. */
static void ended(zkl_request *request, enum zkl_code code) {
    CHECK(zkl_request_done(request));
    if (zkl_request_done(request)) CHECK_IS(zkl_request_code(request), code);
    CHECK(!zkl_request_detail(request));
    zkl_request_drop(request);
}

static void goes_on(zkl_request *request) {
    CHECK(!zkl_request_done(request));
    zkl_request_drop(request);
    serve();
}

/* --- one use ---------------------------------------------------------------------------------- */

static const struct {
    enum zkl_use use;
    struct zkl_acquire_options options;
} uses[] = {
    {ZKL_USE_FIFO, {.kind = ZKL_MUTEX}},
    {ZKL_USE_COUNTING, {.kind = ZKL_MUTEX, .counting = true}},
    {ZKL_USE_TURNS, {.kind = ZKL_MUTEX, .batch = 2}},
    {ZKL_USE_UNFAIR, {.kind = ZKL_UNFAIR}},
    {ZKL_USE_READ_WRITE, {.kind = ZKL_WRITE}},
    {ZKL_USE_SEMAPHORE, {.kind = ZKL_PERMIT, .permits = 1, .limit = 2}},
    {ZKL_USE_SEMAPHORE, {.kind = ZKL_PERMIT, .permits = 1, .limit = 3}},
};
enum { USES = sizeof uses / sizeof *uses };

static void check_use(size_t is, zkl_request *request) {
    CHECK(zkl_request_done(request));
    if (!zkl_request_done(request)) return;
    CHECK_IS(zkl_request_code(request), ZKL_CONFLICT);
    struct zkl_conflict conflict = zkl_request_conflict(request);
    CHECK_IS(conflict.use, uses[is].use);
    CHECK_IS(conflict.limit, uses[is].options.limit);
    CHECK(conflict.ours);
}

static void one_use(void) {
    TEST("a path that has one use is refused to every other, and told which it has") {
        open_session();
        for (size_t is = 0; is < USES; is++) {
            zkl_lease *lease = taken(acquire(of_owner("me", uses[is].options)));
            for (size_t wanted = 0; wanted < USES; wanted++) {
                CHECK_CASE("%zu is wanted, of %zu", wanted, is);
                zkl_request *request = acquire(of_owner("you", uses[wanted].options));
                serve();
                if (wanted != is) check_use(is, request);
                else if (zkl_request_done(request))
                    CHECK_IS(zkl_request_code(request), ZKL_OK); /* a permit was left */
                zkl_request_drop(request);
            }
            zkl_lease_drop(lease);
            serve();
        }
        close_session();
    }
    TEST("a lock that is kept is one whose tokens count") {
        open_session();
        struct zkl_acquire_options keeping = {.kind = ZKL_MUTEX, .keep = TIMEOUT};
        zkl_lease *lease = taken(acquire(of_owner("me", uses[1].options)));
        goes_on(acquire(of_owner("you", keeping)));
        zkl_lease_drop(lease);
        close_session();
    }
}

/* --- one owner -------------------------------------------------------------------------------- */

static const struct zkl_acquire_options mutex = {.kind = ZKL_MUTEX},
                                        writer = {.kind = ZKL_WRITE, .reentrant = true},
                                        reader = {.kind = ZKL_READ, .reentrant = true};

static void one_owner(void) {
    TEST("a writer may write and read again, until it becomes a reader") {
        open_session();
        zkl_lease *lease = taken(acquire(of_owner("me", writer)));
        zkl_lease_drop(taken(acquire(of_owner("me", writer))));
        zkl_lease_drop(taken(acquire(of_owner("me", reader))));
        zkl_request *downgrade = zkl_downgrade(lease, ZKL_NEVER);
        ended(acquire(of_owner("me", writer)), ZKL_WOULD_DEADLOCK);
        zkl_lease_drop(taken(acquire(of_owner("me", reader))));
        ended(acquire(of_owner("me", writer)), ZKL_WOULD_DEADLOCK);
        zkl_request_drop(downgrade);
        zkl_lease_drop(lease);
        close_session();
    }
    TEST("an owner that wants more permits than there are would wait for itself") {
        struct zkl_acquire_options options = {.kind = ZKL_PERMIT, .permits = 2, .limit = 3};
        open_session();
        zkl_lease *lease = taken(acquire(of_owner("me", options)));
        ended(acquire(of_owner("me", options)), ZKL_WOULD_DEADLOCK);
        goes_on(acquire(of_owner("you", options)));
        options.permits = 1;
        zkl_lease_drop(taken(acquire(of_owner("me", options))));
        zkl_lease_drop(lease);
        close_session();
    }
    TEST("an owner acquires no several locks of which it holds one") {
        open_session();
        zkl_lease *lease = taken(acquire(of_owner("me", mutex)));
        goes_on(acquire_both(of_owner("you", mutex)));
        ended(acquire_both(of_owner("me", mutex)), ZKL_WOULD_DEADLOCK);
        zkl_lease_drop(lease);
        zkl_lease_drop(taken(acquire_both(of_owner("me", mutex))));
        close_session();
    }
}

/* --- callers ---------------------------------------------------------------------------------- */

static const char *const callers[] = {"me", "mine", NULL};

/* An acquire by "you", for whom "me" and "mine" wait. */
static struct zkl_acquire_options called(struct zkl_acquire_options options) {
    options = of_owner("you", options);
    options.callers = callers;
    return options;
}

static void of_callers(void) {
    TEST("an acquire that would wait for a caller is refused, of one lock and of several") {
        open_session();
        zkl_lease *lease = taken(acquire(of_owner("mine", mutex)));
        ended(acquire(called(mutex)), ZKL_WOULD_DEADLOCK);
        ended(acquire_both(called(mutex)), ZKL_WOULD_DEADLOCK);
        zkl_lease_drop(lease);
        zkl_lease_drop(taken(acquire(called(mutex))));
        zkl_lease_drop(taken(acquire_both(called(mutex))));
        close_session();
    }
    TEST("an owner enters again, whatever its callers hold") {
        open_session();
        zkl_lease *lease = taken(acquire(of_owner("you", reader))),
                  *other = taken(acquire(of_owner("me", reader)));
        zkl_lease_drop(taken(acquire(called(reader))));
        zkl_lease_drop(other);
        zkl_lease_drop(lease);
        close_session();
    }
    TEST("a reader is not refused beside a caller that reads, a writer is, and beside a writer") {
        open_session();
        zkl_lease *lease = taken(acquire(of_owner("me", reader)));
        zkl_lease_drop(taken(acquire(called(reader))));
        ended(acquire(called(writer)), ZKL_WOULD_DEADLOCK);
        zkl_lease_drop(lease);
        serve();
        lease = taken(acquire(of_owner("me", writer)));
        ended(acquire(called(reader)), ZKL_WOULD_DEADLOCK);
        zkl_request *downgrade = zkl_downgrade(lease, ZKL_NEVER);
        goes_on(acquire(called(reader)));
        zkl_request_drop(downgrade);
        zkl_lease_drop(lease);
        close_session();
    }
    TEST("permits of all callers count") {
        struct zkl_acquire_options options = {.kind = ZKL_PERMIT, .permits = 1, .limit = 3};
        open_session();
        zkl_lease *one = taken(acquire(of_owner("me", options))),
                  *other = taken(acquire(of_owner("mine", options)));
        zkl_lease_drop(taken(acquire(called(options))));
        options.permits = 2;
        ended(acquire(called(options)), ZKL_WOULD_DEADLOCK);
        zkl_lease_drop(one);
        goes_on(acquire(called(options)));
        zkl_lease_drop(other);
        close_session();
    }
    TEST("a caller's hold that ends before the acquire does refuses nothing") {
        struct zkl_acquire_options limited = of_owner("me", mutex), waiting = called(mutex);
        limited.max_hold = 1000 * ZKL_SECOND;
        open_session();
        zkl_lease *lease = taken(acquire(limited));
        waiting.timeout = 500 * ZKL_SECOND;
        ended(acquire(waiting), ZKL_WOULD_DEADLOCK);
        waiting.timeout = 2000 * ZKL_SECOND;
        goes_on(acquire(waiting));
        zkl_lease_drop(lease);
        close_session();
    }
}

static void holders(void) {
    TEST("a session names the holders of a lock whose names begin so") {
        int count = 1;
        open_session();
        CHECK(!zkl_session_holders(session, "/lock", "", &count));
        CHECK_IS(count, 0);
        zkl_lease *lease = taken(acquire(of_owner("me", reader))),
                  *other = taken(acquire(of_owner("mine", reader))),
                  *third = taken(acquire(of_owner("you", reader)));
        zkl_request *waiting = acquire(of_owner("many", writer));
        char *texts = zkl_session_holders(session, "/lock", "m", &count);
        CHECK_IS(count, 2);
        CHECK(texts && memcmp(texts, "mine\0me", sizeof "mine\0me") == 0);
        free(texts);
        CHECK(!zkl_session_holders(session, "/lock", "men", &count));
        CHECK_IS(count, 0);
        zkl_request_drop(waiting);
        zkl_lease_drop(third);
        zkl_lease_drop(other);
        zkl_lease_drop(lease);
        close_session();
    }
}

/* --- the session ------------------------------------------------------------------------------ */

static size_t queued_events(zkl_request *request) {
    struct zkl_event event;
    size_t count = 0;
    serve_requests();
    while (zkl_session_next_event(session, &event))
        count += event.kind == ZKL_EVENT_QUEUED && event.id == zkl_request_id(request);
    return count;
}

static void session_says(void) {
    TEST("a try without a connection ends at once, any other acquire waits for one") {
        struct zkl_acquire_options try = {.kind = ZKL_MUTEX, .trying = true};
        open_session();
        goes_on(acquire(of_owner("me", try)));
        zkl_session_suspended(session);
        ended(acquire(of_owner("me", try)), ZKL_TIMEOUT);
        ended(acquire_both(of_owner("me", try)), ZKL_TIMEOUT);
        goes_on(acquire(of_owner("me", mutex)));
        close_session();
    }
    TEST("a session that drains takes no acquire") {
        open_session();
        zkl_lease *lease = taken(acquire(of_owner("you", mutex)));
        zkl_request *drain = zkl_session_drain(session, true, ZKL_NEVER);
        ended(acquire(of_owner("me", mutex)), ZKL_CLOSED);
        ended(acquire_both(of_owner("me", mutex)), ZKL_CLOSED);
        CHECK(!zkl_request_done(drain));
        zkl_lease_drop(lease);
        serve();
        CHECK(zkl_request_done(drain));
        zkl_request_drop(drain);
        close_session();
    }
    TEST("whoever asks for it is told its place, once") {
        open_session();
        zkl_lease *lease = taken(acquire(of_owner("me", mutex)));
        struct zkl_acquire_options quiet = mutex;
        quiet.quiet = true;
        zkl_request *silent = acquire(of_owner("1", quiet)),
                    *both = acquire_both(of_owner("2", quiet));
        CHECK_IS(queued_events(silent), 0);
        CHECK_IS(queued_events(both), 0);
        zkl_request *told = acquire(of_owner("3", mutex));
        CHECK_IS(queued_events(told), 1);
        CHECK_IS(queued_events(told), 0);
        zkl_request_drop(silent);
        zkl_request_drop(both);
        zkl_request_drop(told);
        zkl_lease_drop(lease);
        close_session();
    }
    TEST("several locks are held for so long, and no longer") {
        struct zkl_acquire_options options = of_owner("me", mutex);
        options.max_hold = 1000 * ZKL_SECOND;
        open_session();
        zkl_lease *lease = taken(acquire_both(options));
        CHECK_IS(zkl_lease_state(lease), ZKL_LEASE_HELD);
        zkl_time until = now + options.max_hold;
        while (now < until) serve();
        CHECK_IS(zkl_lease_state(lease), ZKL_LEASE_LOST);
        zkl_lease_drop(lease);
        close_session();
    }
}

/* --- kept nodes ------------------------------------------------------------------------------- */

static struct zkl_acquire_options keeping(void) {
    return of_owner("me",
                    (struct zkl_acquire_options){.kind = ZKL_MUTEX, .keep = 9000 * ZKL_SECOND});
}

static void keep_lock(void) {
    open_session();
    zkl_lease_drop(taken(acquire(keeping())));
    serve();
    serve_requests();
    CHECK_IS(made, 1);
    CHECK(zkl_session_has_claims(session));
}

static void kept_nodes(void) {
    TEST("a lock that is kept is granted again before anything is asked") {
        keep_lock();
        zkl_request *request = acquire(keeping());
        CHECK(zkl_request_done(request));
        zkl_lease_drop(taken(request));
        CHECK_IS(made, 1);
        close_session();
    }
    TEST("a lock that is kept is granted again as one of one") {
        keep_lock();
        struct zkl_acquire_options options[2] = {keeping(), keeping()};
        options[1].max_hold = ZKL_SECOND; /* nobody asks for this one */
        zkl_request *request = zkl_acquire_all(session, options, 1);
        CHECK(zkl_request_done(request));
        zkl_lease *lease = taken(request);
        CHECK(zkl_lease_token(lease) > 0);
        CHECK_IS(zkl_lease_state(lease), ZKL_LEASE_HELD);
        zkl_lease_drop(lease);
        CHECK_IS(made, 1);
        close_session();
    }
    TEST("a kept node is removed before several locks are acquired, for they make their own") {
        keep_lock();
        zkl_request *request = acquire_both(keeping());
        CHECK(asks());
        CHECK(asked.kind == ZKL_RPC_WRITE && asked.ops->kind == ZKL_OP_DELETE);
        answer(asked_id, &asked);
        zkl_lease_drop(taken(request));
        CHECK_IS(made, 3);
        close_session();
    }
}

int main(void) {
    one_use();
    one_owner();
    of_callers();
    holders();
    session_says();
    kept_nodes();
    return check_report();
}
