/* follow_test.c - watchers, members and rosters, whose server answers what each test says. */
#include <stdlib.h>

#include "server.h"

/* Answers the next request, which is of this kind. */
static void reply(enum zkl_rpc_kind kind, struct zkl_answer answer) {
    struct zkl_rpc rpc;
    uint64_t id;
    bool any = zkl_session_next_rpc(session, &id, &rpc);
    CHECK(any);
    if (!any) return;
    CHECK_IS(rpc.kind, kind);
    zkl_session_answer(session, id, &answer);
}

static void fail(enum zkl_rpc_kind kind, enum zkl_error error) {
    reply(kind, (struct zkl_answer){.error = error});
}

static void show(enum zkl_rpc_kind kind, struct zkl_stat stat, const char *data) {
    reply(kind, (struct zkl_answer){.stat = &stat, .data = data, .size = (int)strlen(data)});
}

static void write_done(enum zkl_error error) {
    const struct zkl_result result = {.error = error};
    reply(ZKL_RPC_WRITE, (struct zkl_answer){.error = error, .results = &result});
}

static void pass(zkl_time time) {
    zkl_session_at(session, now += time);
    zkl_session_tick(session);
}

/* --- watchers ------------------------------------------------------------------------------- */

static zkl_watcher *watcher;
static struct zkl_sight sight;

static void watch(void) {
    enum zkl_code why;
    open_session();
    watcher = zkl_watch(session, "/w", &why);
    CHECK(watcher != NULL);
}

/* The node is read once more, after an event. */
static void look(struct zkl_stat stat, const char *data) {
    zkl_session_event(session, ZKL_NODE_CHANGED, "/w");
    show(ZKL_RPC_EXISTS, stat, "");
    show(ZKL_RPC_GET, stat, data);
}

static bool tells(void) {
    bool any = zkl_watcher_look(watcher, &sight);
    if (any) zkl_watcher_told(watcher);
    return any;
}

static void end_watch(void) {
    zkl_watcher_drop(watcher);
    close_session();
}

static void watchers(void) {
    static const struct zkl_stat first = {.czxid = 5, .mzxid = 6};
    TEST("a watcher is told each node that differs, by its stat or its data") {
        static const struct {
            struct zkl_stat stat;
            const char *data;
            bool differs;
        } rows[] = {
            {{.czxid = 5, .mzxid = 6}, "a", false},
            {{.czxid = 4, .mzxid = 6}, "a", true},
            {{.czxid = 5, .mzxid = 7}, "a", true},
            {{.czxid = 5, .mzxid = 6, .version = 1}, "a", true},
            {{.czxid = 5, .mzxid = 6, .aversion = 1}, "a", false},
            {{.czxid = 5, .mzxid = 6}, "b", true},
            {{.czxid = 5, .mzxid = 6}, "ab", true},
            {{.czxid = 5, .mzxid = 6}, "", true},
        };
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            CHECK_CASE("row %zu", i);
            watch();
            show(ZKL_RPC_EXISTS, first, "");
            show(ZKL_RPC_GET, first, "a");
            CHECK(tells());
            look(rows[i].stat, rows[i].data);
            CHECK_IS(tells(), rows[i].differs);
            end_watch();
        }
    }
    TEST("an empty node that is as it was is not told again") {
        watch();
        show(ZKL_RPC_EXISTS, first, "");
        show(ZKL_RPC_GET, first, "");
        CHECK(tells());
        look(first, "");
        CHECK(!tells());
        end_watch();
    }
    TEST("a watcher is told why a node may not be read") {
        watch();
        fail(ZKL_RPC_EXISTS, ZKL_ERROR_NO_AUTH);
        fail(ZKL_RPC_GET, ZKL_ERROR_NO_AUTH);
        CHECK(tells() && sight.code == ZKL_AUTH);
        end_watch();
    }
    TEST("two refusals with one code and other words are two") {
        watch();
        show(ZKL_RPC_EXISTS, first, "");
        fail(ZKL_RPC_GET, ZKL_ERROR_NO_AUTH);
        CHECK(tells());
        zkl_session_event(session, ZKL_NODE_CHANGED, "/w");
        show(ZKL_RPC_EXISTS, first, "");
        fail(ZKL_RPC_GET, ZKL_ERROR_AUTH_FAILED);
        CHECK(tells() && sight.code == ZKL_AUTH);
        end_watch();
    }
    TEST("a check that shows another ACL has the node read again") {
        watch();
        show(ZKL_RPC_EXISTS, first, "");
        show(ZKL_RPC_GET, first, "a");
        CHECK(tells());
        pass(TIMEOUT + 1);
        show(ZKL_RPC_EXISTS, (struct zkl_stat){.czxid = 5, .mzxid = 6, .aversion = 1}, "");
        show(ZKL_RPC_EXISTS, first, "");
        show(ZKL_RPC_GET, first, "a");
        CHECK(!tells());
        end_watch();
    }
    TEST("a watch whose removal is refused stays, and is not removed again") {
        watch();
        show(ZKL_RPC_EXISTS, first, "");
        show(ZKL_RPC_GET, first, "a");
        zkl_watcher_drop(watcher);
        fail(ZKL_RPC_UNWATCH, ZKL_ERROR_NO_AUTH);
        zkl_session_suspended(session);
        zkl_session_connected(session, ID, TIMEOUT);
        CHECK(!asks());
        close_session();
    }
    TEST("a watcher of a session that closed tells nothing") {
        watch();
        show(ZKL_RPC_EXISTS, first, "");
        show(ZKL_RPC_GET, first, "a");
        zkl_session_close(session);
        CHECK(!tells());
        end_watch();
    }
}

/* --- rosters -------------------------------------------------------------------------------- */

static zkl_roster *roster;

static void list(const char *one, const char *other) {
    const char *const names[] = {one, other};
    reply(ZKL_RPC_LIST, (struct zkl_answer){.names = names, .count = 1 + (other != NULL)});
}

static size_t told(void) {
    struct zkl_roll *roll;
    CHECK(zkl_roster_look(roster, &roll) && roll);
    size_t count = roll ? roll->count : 0;
    free(roll);
    zkl_roster_told(roster);
    return count;
}

static bool has_more(void) {
    struct zkl_roll *roll;
    bool any = zkl_roster_look(roster, &roll);
    free(roll);
    return any;
}

static void follow(void) {
    enum zkl_code why;
    open_session();
    roster = zkl_members(session, "/f", &why);
    CHECK(roster != NULL);
}

static void end_roster(void) {
    zkl_roster_drop(roster);
    close_session();
}

static const struct zkl_stat one = {.czxid = 5, .mzxid = 6, .owner = ID};

/* It has one member. */
static void follow_one(void) {
    follow();
    list("a", NULL);
    show(ZKL_RPC_GET, one, "x");
    CHECK_IS(told(), 1);
    CHECK(!has_more());
}

static void rosters(void) {
    TEST("a name that a list has twice is one member's") {
        follow();
        list("a", "a");
        show(ZKL_RPC_GET, one, "x");
        CHECK_IS(told(), 1);
        end_roster();
    }
    TEST("a roster that is not complete tells nothing, and one whose session closed") {
        follow();
        list("a", "b");
        show(ZKL_RPC_GET, one, "x");
        CHECK(!has_more());
        show(ZKL_RPC_GET, one, "x");
        zkl_session_close(session);
        CHECK(!has_more());
        end_roster();
    }
    TEST("what was looked at and not told is told again") {
        follow();
        list("a", NULL);
        show(ZKL_RPC_GET, one, "x");
        CHECK(has_more());
        CHECK(has_more());
        CHECK_IS(told(), 1);
        end_roster();
    }
    TEST("a member of another owner, or with other data, is a change") {
        static const struct zkl_stat other = {.czxid = 5, .mzxid = 6, .owner = ID + 1};
        follow_one();
        zkl_session_event(session, ZKL_NODE_CHANGED, "/f/a");
        show(ZKL_RPC_GET, other, "x");
        CHECK_IS(told(), 1);
        zkl_session_event(session, ZKL_NODE_CHANGED, "/f/a");
        show(ZKL_RPC_GET, other, "y");
        CHECK_IS(told(), 1);
        zkl_session_event(session, ZKL_NODE_CHANGED, "/f/a");
        show(ZKL_RPC_GET, other, "y");
        CHECK(!has_more());
        end_roster();
    }
    TEST("events of other nodes and of a member's children ask for nothing") {
        follow_one();
        zkl_session_event(session, ZKL_NODE_CHANGED, "/other");
        zkl_session_event(session, ZKL_NODE_CHANGED, "/fa");
        zkl_session_event(session, ZKL_NODE_CHILDREN, "/f/a");
        CHECK(!asks());
        end_roster();
    }
    TEST("a folder that goes takes its members along, and is awaited") {
        follow_one();
        zkl_session_event(session, ZKL_NODE_CHILDREN, "/f");
        fail(ZKL_RPC_LIST, ZKL_ERROR_NO_NODE);
        reply(ZKL_RPC_UNWATCH, (struct zkl_answer){0});
        fail(ZKL_RPC_EXISTS, ZKL_ERROR_NO_NODE);
        CHECK_IS(told(), 0);
        pass(TIMEOUT + 1);
        fail(ZKL_RPC_LIST, ZKL_ERROR_NO_NODE);
        CHECK(!has_more());
        end_roster();
    }
    TEST("a folder that was made since it was listed is listed again") {
        follow();
        fail(ZKL_RPC_LIST, ZKL_ERROR_NO_NODE);
        show(ZKL_RPC_EXISTS, one, "");
        list("a", NULL);
        show(ZKL_RPC_GET, one, "x");
        CHECK_IS(told(), 1);
        end_roster();
    }
    TEST("another reason for which there is no list is told") {
        follow();
        fail(ZKL_RPC_LIST, ZKL_ERROR_NO_AUTH);
        CHECK_IS(told(), 0);
        pass(TIMEOUT + 1);
        fail(ZKL_RPC_LIST, ZKL_ERROR_NO_AUTH);
        CHECK(!has_more());
        pass(TIMEOUT + 1);
        fail(ZKL_RPC_LIST, ZKL_ERROR_AUTH_FAILED);
        CHECK_IS(told(), 0);
        end_roster();
    }
    TEST("an answer about a member that has gone since is left alone") {
        follow();
        list("a", "b");
        show(ZKL_RPC_GET, one, "x");
        fail(ZKL_RPC_GET, ZKL_ERROR_NO_NODE);
        CHECK_IS(told(), 1);
        end_roster();
    }
}

/* --- members -------------------------------------------------------------------------------- */

static zkl_request *request;

static void join(void) {
    open_session();
    request = zkl_join(session, "/f/g/me", "x", ZKL_NEVER);
}

static void end_join(enum zkl_code code) {
    CHECK_IS(zkl_request_code(request), code);
    zkl_request_drop(request);
    close_session();
}

static void members(void) {
    static const struct zkl_stat ours = {.czxid = 5, .mzxid = 6, .owner = ID};
    TEST("missing parents are made, and their refusal is the member's") {
        join();
        write_done(ZKL_ERROR_NO_NODE);
        fail(ZKL_RPC_GET, ZKL_ERROR_NO_NODE);
        write_done(ZKL_ERROR_NO_AUTH);
        write_done(ZKL_ERROR_NO_NODE);
        write_done(ZKL_ERROR_NO_NODE);
        fail(ZKL_RPC_GET, ZKL_ERROR_NO_NODE);
        end_join(ZKL_AUTH);
    }
    TEST("a server without containers makes persistent parents") {
        join();
        write_done(ZKL_ERROR_NO_NODE);
        fail(ZKL_RPC_GET, ZKL_ERROR_NO_NODE);
        write_done(ZKL_ERROR_UNIMPLEMENTED);
        write_done(ZKL_ERROR_NODE_EXISTS);
        write_done(ZKL_ERROR_NO_NODE);
        fail(ZKL_RPC_GET, ZKL_ERROR_NO_NODE);
        pass(ZKL_SECOND);
        write_done(ZKL_ERROR_UNIMPLEMENTED);
        write_done(ZKL_ERROR_NONE);
        write_done(ZKL_ERROR_NONE);
        show(ZKL_RPC_GET, ours, "x");
        end_join(ZKL_OK);
    }
    TEST("there is no chroot to make parents in") {
        join();
        write_done(ZKL_ERROR_NO_NODE);
        fail(ZKL_RPC_GET, ZKL_ERROR_NO_NODE);
        write_done(ZKL_ERROR_NO_NODE);
        write_done(ZKL_ERROR_NO_NODE);
        write_done(ZKL_ERROR_NO_NODE);
        fail(ZKL_RPC_GET, ZKL_ERROR_NO_NODE);
        end_join(ZKL_NO_NODE);
    }
    TEST("a node that may not be read is looked at, and made when it is gone") {
        join();
        write_done(ZKL_ERROR_NODE_EXISTS);
        fail(ZKL_RPC_GET, ZKL_ERROR_NO_AUTH);
        fail(ZKL_RPC_EXISTS, ZKL_ERROR_NO_NODE);
        pass(ZKL_SECOND);
        write_done(ZKL_ERROR_NONE);
        show(ZKL_RPC_GET, ours, "x");
        end_join(ZKL_OK);
    }
    TEST("a write that is answered when its member is there already changes nothing") {
        join();
        write_done(ZKL_ERROR_NODE_EXISTS);
        show(ZKL_RPC_GET, ours, "another's");
        write_done(ZKL_ERROR_NONE);
        CHECK(zkl_request_done(request));
        show(ZKL_RPC_GET, ours, "x");
        end_join(ZKL_OK);
    }
    TEST("a member that leaves while its write is out is removed") {
        join();
        write_done(ZKL_ERROR_NODE_EXISTS);
        show(ZKL_RPC_GET, ours, "another's");
        zkl_request_cancel(request, ZKL_TIMEOUT);
        zkl_request_drop(request);
        write_done(ZKL_ERROR_NONE);
        write_done(ZKL_ERROR_NONE);
        reply(ZKL_RPC_UNWATCH, (struct zkl_answer){0});
        CHECK(!asks());
        close_session();
    }
    TEST("a member that leaves looks for a create that may have landed after its last look") {
        join();
        fail(ZKL_RPC_WRITE, ZKL_ERROR_CONNECTION_LOSS);
        CHECK(asks());
        zkl_request_cancel(request, ZKL_TIMEOUT);
        zkl_request_drop(request);
        pass(TIMEOUT);
        fail_asked(ZKL_ERROR_NO_NODE);
        CHECK(comes(ZKL_RPC_GET, ZKL_OP_CHECK));
        const struct zkl_answer landed = {.stat = &ours, .data = "x", .size = 1};
        zkl_session_answer(session, asked_id, &landed);
        CHECK(comes(ZKL_RPC_WRITE, ZKL_OP_DELETE));
        close_session();
    }
    TEST("a member whose news nobody took leaves without them") {
        join();
        write_done(ZKL_ERROR_NONE);
        show(ZKL_RPC_GET, ours, "x");
        zkl_member *member = zkl_request_member(request);
        zkl_request_drop(request);
        zkl_session_event(session, ZKL_NODE_DELETED, "/f/g/me");
        write_done(ZKL_ERROR_NONE);
        show(ZKL_RPC_GET, ours, "x");
        zkl_member_drop(member);
        write_done(ZKL_ERROR_NONE);
        struct zkl_event event;
        while (zkl_session_next_event(session, &event)) CHECK(event.kind != ZKL_EVENT_MEMBER);
        close_session();
    }
}

static void limits(void) {
    TEST("a session that has no room for a node has none for a member") {
        char path[1000];
        zkl_request *last = NULL;
        open_session();
        memset(path, 'x', sizeof path);
        path[0] = '/';
        path[sizeof path - 1] = '\0';
        for (unsigned i = 0; !last && i < ZKL_PATHS_MAX / sizeof path; i++) {
            snprintf(path, 10, "/%08u", i);
            path[9] = 'x';
            const struct zkl_acquire_options options = {
                .path = path, .owner = "me", .timeout = ZKL_NEVER};
            request = zkl_acquire(session, &options);
            if (zkl_request_done(request)) last = request;
            else zkl_request_unref(request);
        }
        CHECK(last && zkl_request_code(last) == ZKL_TOO_MANY);
        if (last) zkl_request_drop(last);
        path[1] = 'y';
        request = zkl_join(session, path, "x", ZKL_NEVER);
        end_join(ZKL_TOO_MANY);
    }
}

int main(void) {
    limits();
    watchers();
    rosters();
    members();
    return check_report();
}
