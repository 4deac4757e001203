/* limits_test.c - many claims of a session, and watches for which there is hardly room. */
#include <stdlib.h>
#include <sys/resource.h>

#include "server.h"

static struct zkl_acquire_options of_owner(const char *owner, const char *path) {
    struct zkl_acquire_options options = options_of(path, ZKL_MUTEX);
    options.owner = owner;
    return options;
}

static zkl_request *acquire(const char *owner, const char *path) {
    struct zkl_acquire_options options = of_owner(owner, path);
    return zkl_acquire(session, &options);
}

static size_t watches(void) {
    struct zkl_stats stats;
    zkl_session_stats(session, &stats);
    return stats.watches;
}

/* --- many claims ------------------------------------------------------------------------------ */

enum { MANY = 90 };
static zkl_request *requests[MANY];

static void acquire_many(size_t from, size_t to) {
    char owner[24];
    for (size_t i = from; i < to; i++) {
        snprintf(owner, sizeof owner, "%zu", i);
        requests[i] = acquire(owner, "/lock");
    }
}

static void many(void) {
    TEST("few claims that enter have a list each, many have less") {
        enum { FEW = 9, MORE = 50 };
        open_session();
        acquire_many(0, 1); /* the path is known to exist from now on */
        serve_requests();
        uint64_t before = served.lists;
        acquire_many(1, FEW);
        serve_requests();
        CHECK_IS(served.lists - before, FEW - 1);
        before = served.lists;
        acquire_many(FEW, MORE);
        serve_requests();
        CHECK(served.lists - before < (MORE - FEW) / 2);
        for (size_t i = 0; i < MORE; i++) zkl_request_drop(requests[i]);
        close_session();
    }
    TEST("of many claims those far from the front watch nobody, and each has its turn") {
        enum { NEAR = 64 };
        open_session();
        acquire_many(0, MANY);
        serve_requests();
        CHECK(served.gets < MANY + 2 * NEAR); /* the own node, and up to two ahead of it */
        uint64_t before = served.gets;
        for (size_t i = 0; i < MANY; i++) {
            CHECK_CASE("%zu", i);
            CHECK(zkl_request_done(requests[i]));
            zkl_lease *lease = zkl_request_lease(requests[i]);
            zkl_request_drop(requests[i]);
            if (lease) zkl_lease_drop(lease);
            serve_requests();                                  /* no time passes */
            if (i == 4) CHECK_IS(served.gets - before, i + 1); /* so many have come near */
        }
        close_session();
    }
    TEST("claims that look ahead at once have one list for all") {
        open_session();
        for (int i = 0; i < 4; i++) snprintf(nodes[i], NODE_SIZE, "/lock/lock-%010d", i);
        made = 10;
        zkl_request *first = acquire("1", "/lock");
        serve_requests();
        zkl_request *second = acquire("2", "/lock");
        serve_requests();
        uint64_t before = served.lists;
        delete_node("/lock/lock-0000000002");
        delete_node("/lock/lock-0000000003");
        serve_requests();
        CHECK_IS(served.lists - before, 1);
        zkl_request_drop(first);
        zkl_request_drop(second);
        close_session();
    }
}

/* --- room for watches ---------------------------------------------------------------------------
 */

/* For so many watches of other nodes than a claim's own. */
static void open_narrow(size_t count) {
    open_with(ZKL_WATCHES_MAX / count - 200);
}

static void stranger(int at, const char *folder, int number) {
    snprintf(nodes[at], NODE_SIZE, "%s/lock-%010d", folder, number);
    if (made <= number) made = number + 1;
}

static void room(void) {
    TEST("a lookahead gives way to a watch that is needed, and no more than one does") {
        static const char *const paths[] = {"/lock", "/lock2", "/lock3", "/lock4"};
        zkl_request *waiters[4];
        open_narrow(5);
        for (int i = 0; i < 4; i++) {
            if (i < 2) stranger(10 * i, paths[i], 20 * i); /* these claims look ahead */
            stranger(10 * i + 1, paths[i], 20 * i + 1);
            waiters[i] = acquire("me", paths[i]);
            serve_requests();
            CHECK(!zkl_request_done(waiters[i])); /* else there was no room for it */
        }
        CHECK_IS(watches(), 5 + 4); /* and the own nodes */
        for (int i = 0; i < 4; i++) zkl_request_drop(waiters[i]);
        serve();
        close_session();
    }
    TEST("the lock kept for longest gives way to a watch that is needed, the next one stays") {
        open_narrow(3);
        for (int i = 0; i < 2; i++) {
            struct zkl_acquire_options options = of_owner("me", i ? "/lock2" : "/lock");
            options.keep = 1000 * ZKL_SECOND;
            zkl_lease_drop(taken(zkl_acquire(session, &options)));
            serve();
        }
        serve_requests();
        CHECK(nodes[0][0] && nodes[1][0]);
        stranger(4, "/lock3", 20);
        zkl_request *first = acquire("1", "/lock3");
        serve_requests();
        CHECK(nodes[0][0] && nodes[1][0]);
        stranger(6, "/lock4", 30);
        zkl_request *second = acquire("2", "/lock4");
        serve_requests();
        CHECK(!zkl_request_done(second));
        CHECK(!nodes[0][0] && nodes[1][0]);
        zkl_request_drop(first);
        zkl_request_drop(second);
        serve();
        close_session();
    }
    TEST("a turn gives way to a watch that is needed: nobody tells it of others") {
        open_narrow(3);
        struct zkl_acquire_options options = of_owner("1", "/lock");
        options.batch = 1;
        zkl_lease *lease = taken(zkl_acquire(session, &options));
        options.owner = "2";
        zkl_request *follower = zkl_acquire(session, &options);
        serve();
        zkl_request *waiters[3];
        static const char *const paths[] = {"/lock2", "/lock3", "/lock4"};
        for (int i = 0; i < 3; i++) {
            CHECK_CASE("%d", i);
            stranger(10 + 2 * i, paths[i], 20 + 10 * i);
            waiters[i] = acquire("3", paths[i]);
            serve_requests();
            CHECK(!zkl_request_done(waiters[i]));
        }
        for (int i = 0; i < 3; i++) zkl_request_drop(waiters[i]);
        zkl_request_drop(follower);
        zkl_lease_drop(lease);
        serve();
        close_session();
    }
    TEST("a permit whose holders are too many to watch is refused") {
        open_narrow(3);
        for (int i = 0; i < 4; i++) snprintf(nodes[i], NODE_SIZE, "/lock/permit-1-of-4-%010d", i);
        made = 10;
        struct zkl_acquire_options options = of_owner("me", "/lock");
        options.kind = ZKL_PERMIT;
        options.permits = 1;
        options.limit = 4;
        zkl_request *request = zkl_acquire(session, &options);
        serve_requests();
        CHECK(zkl_request_done(request));
        if (zkl_request_done(request)) CHECK_IS(zkl_request_code(request), ZKL_TOO_MANY);
        zkl_request_drop(request);
        serve();
        close_session();
    }
}

/* --- claims that are crowded out together --------------------------------------------------------
 */

/* Until the path is known to exist all wait for the first. Claims that take turns wait for it after
 * that.
 */
static void acquire_crowd(zkl_request **crowd, size_t count) {
    char owner[24];
    for (size_t i = 0; i < count; i++) {
        snprintf(owner, sizeof owner, "%zu", i);
        struct zkl_acquire_options options = of_owner(owner, "/lock");
        options.batch = 8;
        options.trying = i == 1; /* while a try asks, a claim that waits is asked again, too */
        options.max_waiters = i > 1;
        crowd[i] = zkl_acquire(session, &options);
    }
}

static void crowds(void) {
    TEST("five thousand claims are crowded out together in a quarter of a megabyte of stack") {
        enum { CROWD = 5000 };
        static zkl_request *crowd[CROWD];
        struct rlimit all, little;
        getrlimit(RLIMIT_STACK, &all);
        little = (struct rlimit){.rlim_cur = 1 << 18, .rlim_max = all.rlim_max};
        open_session();
        acquire_crowd(crowd, CROWD);
        setrlimit(RLIMIT_STACK, &little);
        serve_requests();
        setrlimit(RLIMIT_STACK, &all);
        for (size_t i = 3; i < CROWD; i++)
            CHECK(zkl_request_done(crowd[i]) && zkl_request_code(crowd[i]) == ZKL_BUSY);
        for (size_t i = 0; i < CROWD; i++) zkl_request_drop(crowd[i]);
        serve();
        close_session();
    }
}

/* --- watches of users ------------------------------------------------------------------------- */

static enum zkl_code told(zkl_watcher *watcher) {
    struct zkl_sight sight;
    bool any = zkl_watcher_look(watcher, &sight);
    if (any) zkl_watcher_told(watcher);
    return any ? sight.code : ZKL_INTERRUPTED;
}

static enum zkl_code listed(zkl_roster *roster, size_t *count) {
    struct zkl_roll *roll = NULL;
    bool any = zkl_roster_look(roster, &roll);
    enum zkl_code code = any && roll ? roll->code : ZKL_INTERRUPTED;
    *count = any && roll ? roll->count : 0;
    free(roll);
    zkl_roster_told(roster);
    return code;
}

/* A claim that has to wait, for a stranger holds the lock. */
static zkl_request *wait_at(const char *path, int at) {
    stranger(at, path, 10 * at);
    zkl_request *request = acquire("me", path);
    serve_requests();
    return request;
}

static void users_watches(void) {
    enum zkl_code why;
    size_t count;
    TEST("watchers give way to a claim that has to wait, the newest first, and come back") {
        zkl_watcher *old, *young;
        open_narrow(2);
        old = zkl_watch(session, "/w1", &why);
        young = zkl_watch(session, "/w2", &why);
        serve_requests();
        CHECK(told(old) == ZKL_OK && told(young) == ZKL_OK);
        zkl_request *waiter = wait_at("/lock", 1);
        CHECK(!zkl_request_done(waiter));
        CHECK(told(young) == ZKL_TOO_MANY && told(old) == ZKL_INTERRUPTED);
        pass(TIMEOUT);
        serve_requests();
        CHECK(told(young) == ZKL_INTERRUPTED); /* no room yet, which it was told */
        zkl_request_drop(waiter);
        serve_requests();
        pass(TIMEOUT);
        serve_requests();
        CHECK(told(young) == ZKL_OK);
        zkl_watcher_drop(old);
        zkl_watcher_drop(young);
        close_session();
    }
    TEST("a roster gives way before a watcher does, with all that it watches") {
        open_narrow(5);
        zkl_watcher *watcher = zkl_watch(session, "/w", &why);
        zkl_roster *roster = zkl_members(session, "/f", &why);
        serve_requests();
        CHECK(listed(roster, &count) == ZKL_OK && count == 2);
        CHECK_IS(watches(), 5);
        zkl_request *waiter = wait_at("/lock", 1);
        CHECK(!zkl_request_done(waiter));
        CHECK(listed(roster, &count) == ZKL_TOO_MANY && told(watcher) == ZKL_OK);
        CHECK_IS(watches(), 1 + 2); /* and the claim's own node */
        zkl_request_drop(waiter);
        serve_requests();
        pass(TIMEOUT);
        serve();
        CHECK(listed(roster, &count) == ZKL_OK && count == 2);
        zkl_roster_drop(roster);
        zkl_watcher_drop(watcher);
        close_session();
    }
    TEST("a claim waits for room that a roster gave and is still asked for") {
        enum { OUT = 4 }; /* a create and a list of the claim, two gets of the roster */
        struct zkl_rpc out[OUT];
        uint64_t ids[OUT];
        open_narrow(4);
        zkl_roster *roster = zkl_members(session, "/f", &why);
        stranger(1, "/lock", 10);
        zkl_request *waiter = acquire("me", "/lock");
        CHECK(asks() && asked.kind == ZKL_RPC_LIST);
        answer(asked_id, &asked);
        for (int i = 0; i < OUT; i++) CHECK(zkl_session_next_rpc(session, &ids[i], &out[i]));
        for (int i = 0; i < OUT; i++) {
            CHECK_CASE("%d", i);
            CHECK_IS(out[i].kind == ZKL_RPC_GET, i > 1);
            answer(ids[i], &out[i]);
            CHECK(!zkl_request_done(waiter));
        }
        serve();
        CHECK(listed(roster, &count) == ZKL_TOO_MANY);
        delete_node("/lock/lock-0000000010");
        zkl_lease_drop(taken(waiter));
        zkl_roster_drop(roster);
        close_session();
    }
    TEST("a folder with more members than fit is told so, takes no room, and nothing gives way") {
        open_narrow(4);
        struct zkl_acquire_options options = of_owner("me", "/lock");
        options.keep = 1000 * ZKL_SECOND;
        zkl_lease_drop(taken(zkl_acquire(session, &options)));
        CHECK_IS(watches(), 1 + 1);
        zkl_roster *roster = zkl_members(session, "/f", &why);
        static const char *const names[] = {"1", "2", "3", "4", "5", "6"};
        CHECK(comes(ZKL_RPC_LIST, ZKL_OP_SET));
        const struct zkl_answer many = {.names = names, .count = 6};
        zkl_session_answer(session, asked_id, &many);
        serve_requests();
        CHECK(listed(roster, &count) == ZKL_TOO_MANY);
        CHECK_IS(watches(), 1 + 1);
        CHECK(nodes[0][0]);
        zkl_roster_drop(roster);
        close_session();
    }
    TEST("kept nodes give way to a member, a watcher and a roster") {
        for (int who = 0; who < 3; who++) {
            CHECK_CASE("%d", who);
            open_narrow(2);
            for (int i = 0; i < 2; i++) {
                struct zkl_acquire_options options = of_owner("me", i ? "/lock2" : "/lock");
                options.keep = 1000 * ZKL_SECOND;
                zkl_lease_drop(taken(zkl_acquire(session, &options)));
            }
            zkl_request *join = who == 0 ? zkl_join(session, "/folder/me", "", ZKL_NEVER) : NULL;
            zkl_watcher *watcher = who == 1 ? zkl_watch(session, "/w", &why) : NULL;
            zkl_roster *roster = who == 2 ? zkl_members(session, "/f", &why) : NULL;
            CHECK(watcher || roster || (join && !zkl_request_done(join)));
            serve_requests();
            CHECK(!nodes[0][0] && !nodes[1][0] == (who == 2));
            if (join) zkl_request_drop(join);
            if (watcher) zkl_watcher_drop(watcher);
            if (roster) zkl_roster_drop(roster);
            close_session();
        }
    }
    TEST("without a connection no watch gives way, for it would be set again") {
        open_narrow(1);
        struct zkl_acquire_options options = of_owner("me", "/lock");
        options.keep = 1000 * ZKL_SECOND;
        zkl_lease_drop(taken(zkl_acquire(session, &options)));
        zkl_session_suspended(session);
        CHECK(!zkl_watch(session, "/w", &why) && why == ZKL_TOO_MANY);
        CHECK(zkl_session_has_claims(session));
        close_session();
    }
}

/* --- pauses ------------------------------------------------------------------------------------
 */

static void pauses(void) {
    TEST("the pauses of a session are those of splitmix64, by its seed") {
        static const uint64_t of_seed_0[] = {UINT64_C(0xe220a8397b1dcdaf),
                                             UINT64_C(0x6e789e6aa1b965f4)};
        struct zkl_acquire_options options = of_owner("me", "/lock");
        options.kind = ZKL_UNFAIR;
        options.jitter = 1000 * ZKL_SECOND;
        const struct zkl_stat anothers = {.czxid = 5, .owner = 99};
        open_session();
        for (size_t i = 0; i < 2; i++) {
            zkl_request *request = zkl_acquire(session, &options);
            CHECK(comes(ZKL_RPC_WRITE, ZKL_OP_CREATE));
            fail_asked(ZKL_ERROR_NODE_EXISTS);
            CHECK(comes(ZKL_RPC_GET, 0));
            zkl_session_answer(session, asked_id, &(struct zkl_answer){.stat = &anothers});
            serve_requests();
            zkl_session_tick(session);
            zkl_session_event(session, ZKL_NODE_DELETED, "/lock/lock");
            CHECK_IS(zkl_session_due_anew(session),
                     now + (zkl_time)(of_seed_0[i] % (uint64_t)options.jitter));
            zkl_request_drop(request);
            serve();
        }
        close_session();
    }
}

int main(void) {
    many();
    room();
    crowds();
    users_watches();
    pauses();
    return check_report();
}
