/* watches_test.c - what claims watch, and what is kept while nobody else comes. */
#include "../../src/session/internal.h"
#include "server.h"

static struct zkl_acquire_options keeping(void) {
    struct zkl_acquire_options options = options_of("/lock", ZKL_MUTEX);
    options.keep = 1000 * ZKL_SECOND;
    return options;
}

/* The lock is had and given up, and what is kept of it. */
static bool is_kept(zkl_lease *lease) {
    zkl_lease_drop(lease);
    serve();
    return zkl_session_has_claims(session);
}

static void keeps(void) {
    TEST("a queue says that its node is kept") {
        size_t count;
        open_session();
        const struct zkl_acquire_options options = keeping();
        zkl_lease *lease = taken(zkl_acquire(session, &options));
        for (int kept = 0; kept < 2; kept++) {
            if (kept) CHECK(is_kept(lease));
            zkl_request *request = zkl_queue(session, "/lock", ZKL_MUTEX, ZKL_NEVER);
            serve_requests();
            const struct zkl_queued *queue = zkl_request_queue(request, &count);
            CHECK(count == 1 && queue->ours && queue->kept == kept);
            zkl_request_drop(request);
        }
        close_session();
    }
    TEST("a lock that went to others and is soon wanted again is not kept") {
        open_session();
        const struct zkl_acquire_options options = keeping();
        CHECK(is_kept(taken(zkl_acquire(session, &options))));
        strcpy(nodes[1], "/lock/lock-0000000099");
        zkl_session_event(session, ZKL_NODE_CHILDREN, "/lock");
        serve_requests();
        CHECK(!zkl_session_has_claims(session));
        delete_node("/lock/lock-0000000099");
        go_on();
        CHECK(!is_kept(taken(zkl_acquire(session, &options))));
        close_session();
    }
}

/* Answers all requests until the list that sets a watch. */
static bool comes_watch_of_children(void) {
    while (comes(ZKL_RPC_LIST, ZKL_OP_SET)) {
        if (asked.watch) return true;
        answer(asked_id, &asked);
    }
    return false;
}

static void children(void) {
    TEST("a list with a watch that was refused is not asked for again, and nothing is kept") {
        open_session();
        const struct zkl_acquire_options options = keeping();
        zkl_request *request = zkl_acquire(session, &options);
        CHECK(comes_watch_of_children());
        fail_asked(ZKL_ERROR_NO_AUTH);
        zkl_lease *lease = zkl_request_lease(request);
        zkl_request_drop(request);
        CHECK(comes(ZKL_RPC_WRITE, ZKL_OP_SET)); /* that it is held */
        answer(asked_id, &asked);
        zkl_lease_drop(lease);
        CHECK(asks() && asked.kind == ZKL_RPC_WRITE && asked.ops->kind == ZKL_OP_DELETE);
        answer(asked_id, &asked);
        close_session();
    }
    TEST("what the session had no room to watch when it was granted is not kept") {
        enum zkl_code why;
        open_with(ZKL_WATCHES_MAX - 10);
        zkl_watcher *watcher = zkl_watch(session, "/w", &why);
        CHECK(watcher != NULL);
        const struct zkl_acquire_options options = keeping();
        zkl_lease *lease = taken(zkl_acquire(session, &options));
        zkl_watcher_drop(watcher);
        serve_requests();
        zkl_lease_drop(lease);
        CHECK(asks() && asked.kind == ZKL_RPC_WRITE && asked.ops->kind == ZKL_OP_DELETE);
        answer(asked_id, &asked);
        close_session();
    }
    TEST(
        "a holder without room to watch children says at once that it holds, or when it gave way") {
        enum zkl_code why;
        for (int gives_way = 0; gives_way < 2; gives_way++) {
            CHECK_CASE("%d", gives_way);
            open_with(ZKL_WATCHES_MAX - 10);
            zkl_watcher *watcher = gives_way ? NULL : zkl_watch(session, "/w", &why);
            const struct zkl_acquire_options options = keeping();
            zkl_request *request = zkl_acquire(session, &options);
            if (gives_way) serve_requests();
            if (gives_way) watcher = zkl_watch(session, "/w", &why);
            CHECK(watcher && comes(ZKL_RPC_WRITE, ZKL_OP_SET));
            CHECK(asked.ops->size > 5 && strstr(asked.ops->data, "held"));
            answer(asked_id, &asked);
            CHECK(!is_kept(taken(request)));
            zkl_watcher_drop(watcher);
            close_session();
        }
    }
    TEST("room to watch children that comes after the grant serves the next one") {
        enum zkl_code why;
        open_with(ZKL_WATCHES_MAX / 2);
        zkl_watcher *watcher = zkl_watch(session, "/w", &why);
        struct zkl_acquire_options options = keeping();
        zkl_lease *lease = taken(zkl_acquire(session, &options));
        options.owner = "other";
        zkl_request *request = zkl_acquire(session, &options);
        zkl_watcher_drop(watcher);
        serve_requests();
        zkl_lease_drop(lease);
        CHECK(asks() && asked.kind == ZKL_RPC_WRITE && asked.ops->kind == ZKL_OP_DELETE);
        answer(asked_id, &asked);
        CHECK(comes_watch_of_children());
        answer(asked_id, &asked);
        CHECK(is_kept(taken(request)));
        close_session();
    }
    TEST("a watch of children gives way to a claim that has to wait") {
        enum zkl_code why;
        open_with(ZKL_WATCHES_MAX / 3);
        zkl_watcher *watcher = zkl_watch(session, "/w", &why);
        const struct zkl_acquire_options options = keeping(),
                                         other = options_of("/lock2", ZKL_MUTEX);
        zkl_lease *lease = taken(zkl_acquire(session, &options));
        strcpy(nodes[1], "/lock2/lock-0000000000");
        zkl_request *request = zkl_acquire(session, &other);
        CHECK(comes(ZKL_RPC_UNWATCH_CHILDREN, ZKL_OP_SET));
        CHECK_TEXT(asked.path, "/lock");
        answer(asked_id, &asked);
        serve();
        CHECK(!zkl_request_done(request));
        delete_node("/lock2/lock-0000000000");
        zkl_lease_drop(taken(request));
        CHECK(!is_kept(lease));
        zkl_watcher_drop(watcher);
        close_session();
    }
}

/* The server keeps the event back, and has no watch any more; libzookeeper has it. */
static void watch_in_vain(const char *path) {
    enum zkl_code why;
    zkl_watcher *watcher = zkl_watch(session, path, &why);
    serve_requests();
    zkl_watcher_drop(watcher);
    CHECK(comes(ZKL_RPC_UNWATCH, ZKL_OP_SET));
    fail_asked(ZKL_ERROR_NO_WATCHER);
}

static void removals(void) {
    TEST("a heartbeat asks for the watches that are wanted before it removes others") {
        const char *const holders[] = {"/lock/permit-1-of-2-0000000001",
                                       "/lock/permit-1-of-2-0000000002"};
        bool is_own_asked = false, is_other_removed = false;
        open_session();
        for (int i = 0; i < 2; i++) strcpy(nodes[i], holders[i]);
        made = 10;
        struct zkl_acquire_options options = options_of("/lock", ZKL_PERMIT);
        options.permits = 1;
        options.limit = 2;
        zkl_request *request = zkl_acquire(session, &options);
        serve_requests();
        delete_node(holders[0]);
        serve_requests();
        options = options_of("/lock2", ZKL_MUTEX);
        zkl_request *other = zkl_acquire(session, &options);
        serve_requests();
        for (int i = 0; i < ROUNDS && !is_other_removed; i++) {
            while (!is_other_removed && asks()) {
                is_own_asked |= asked.kind == ZKL_RPC_GET && strncmp(asked.path, "/lock2/", 7) == 0;
                is_other_removed = asked.kind == ZKL_RPC_UNWATCH;
                answer(asked_id, &asked);
            }
            go_on();
        }
        CHECK(is_other_removed && is_own_asked);
        zkl_lease_drop(taken(request));
        zkl_lease_drop(taken(other));
        close_session();
    }
    TEST("a watch whose event was kept back counts on, and is not removed again (ZOOKEEPER-4799)") {
        struct zkl_stats stats;
        open_session();
        watch_in_vain("/w");
        go_on();
        while (asks()) {
            CHECK(asked.kind != ZKL_RPC_UNWATCH);
            answer(asked_id, &asked);
        }
        zkl_session_stats(session, &stats);
        CHECK_IS(stats.watches, 1);
        zkl_session_event(session, ZKL_NODE_CREATED, "/w");
        zkl_session_stats(session, &stats);
        CHECK_IS(stats.watches, 0);
        close_session();
    }
    TEST("a folder whose watch was kept back is watched anew") {
        enum zkl_code why;
        open_session();
        watch_in_vain("/f");
        zkl_roster *roster = zkl_members(session, "/f", &why);
        CHECK(comes(ZKL_RPC_LIST, ZKL_OP_SET));
        fail_asked(ZKL_ERROR_NO_NODE);
        CHECK(comes(ZKL_RPC_EXISTS, ZKL_OP_SET));
        CHECK(asked.watch);
        answer(asked_id, &asked);
        zkl_roster_drop(roster);
        close_session();
    }
}

static unsigned followers_of(const char *path) {
    for (size_t i = 0; i < WATCH_BUCKETS; i++)
        for (const struct watch *each = session->watches.buckets[i]; each; each = each->next)
            if (strcmp(each->path, path) == 0) return each->followers;
    return 0;
}

static void others(void) {
    static const char *const stranger = "/lock/lock-0000000000";
    TEST("a claim wants a watch once, however often it asks for it") {
        open_session();
        strcpy(nodes[1], stranger);
        const struct zkl_acquire_options options = options_of("/lock", ZKL_MUTEX);
        zkl_request *request = zkl_acquire(session, &options);
        for (int i = 0; i < 2; i++) {
            do CHECK(comes_in_time(ZKL_RPC_GET, ZKL_OP_SET));
            while (strcmp(asked.path, stranger) != 0 && (answer(asked_id, &asked), true));
            fail_asked(ZKL_ERROR_CONNECTION_LOSS);
        }
        serve();
        CHECK_IS(followers_of(stranger), 1);
        delete_node(stranger);
        zkl_lease_drop(taken(request));
        close_session();
    }
    TEST("a claim looks ahead by a watch that another claim has, and does not ask for it") {
        open_session();
        strcpy(nodes[1], stranger);
        struct zkl_acquire_options options = options_of("/lock", ZKL_MUTEX);
        zkl_request *first = zkl_acquire(session, &options);
        serve_requests();
        options.owner = "other";
        zkl_request *second = zkl_acquire(session, &options);
        while (asks()) {
            CHECK(strcmp(asked.path, stranger) != 0);
            answer(asked_id, &asked);
        }
        CHECK_IS(followers_of(stranger), 2);
        delete_node(stranger);
        zkl_lease_drop(taken(first));
        zkl_lease_drop(taken(second));
        close_session();
    }
}

static void paths(void) {
    TEST("the path of an acquire that was refused is forgotten") {
        open_session();
        const struct zkl_acquire_options options = options_of("/lock", ZKL_MUTEX);
        zkl_request *drain = zkl_session_drain(session, false, ZKL_NEVER);
        zkl_request *request = zkl_acquire(session, &options);
        CHECK_IS(zkl_request_code(request), ZKL_CLOSED);
        go_on();
        CHECK(!zkl_path_find(session, "/lock", strlen("/lock")));
        zkl_request_drop(request);
        zkl_request_drop(drain);
        close_session();
    }
}

int main(void) {
    keeps();
    children();
    removals();
    others();
    paths();
    return check_report();
}
