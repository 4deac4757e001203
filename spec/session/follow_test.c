/* follow_test.c - watchers and rosters, whose server answers what each test says. */
#include <stdlib.h>

#include "server.h"

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
    TEST("a node that may not be read is looked at again once a session timeout") {
        watch();
        fail(ZKL_RPC_EXISTS, ZKL_ERROR_NO_AUTH);
        fail(ZKL_RPC_GET, ZKL_ERROR_NO_AUTH);
        pass(TIMEOUT - 1);
        CHECK(!asks());
        pass(1);
        show(ZKL_RPC_EXISTS, first, "");
        show(ZKL_RPC_GET, first, "a");
        CHECK(tells() && sight.code == ZKL_OK);
        end_watch();
    }
    TEST("a look without a change posts nothing, also while the last is being told") {
        struct zkl_event event;
        watch();
        fail(ZKL_RPC_EXISTS, ZKL_ERROR_NO_AUTH);
        fail(ZKL_RPC_GET, ZKL_ERROR_NO_AUTH);
        while (zkl_session_next_event(session, &event)) continue;
        CHECK(zkl_watcher_look(watcher, &sight));
        pass(TIMEOUT);
        fail(ZKL_RPC_EXISTS, ZKL_ERROR_NO_AUTH);
        fail(ZKL_RPC_GET, ZKL_ERROR_NO_AUTH);
        CHECK(!asks() && !zkl_session_next_event(session, &event));
        zkl_watcher_told(watcher);
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
    TEST("a check that shows what was seen last has nothing read, whether or not it was told") {
        watch();
        show(ZKL_RPC_EXISTS, first, "");
        show(ZKL_RPC_GET, first, "a");
        pass(TIMEOUT + 1);
        show(ZKL_RPC_EXISTS, first, "");
        CHECK(!asks());
        CHECK(tells());
        look((struct zkl_stat){.czxid = 5, .mzxid = 6, .aversion = 1}, "a");
        CHECK(!tells());
        pass(TIMEOUT + 1);
        show(ZKL_RPC_EXISTS, (struct zkl_stat){.czxid = 5, .mzxid = 6, .aversion = 1}, "");
        CHECK(!asks());
        end_watch();
    }
    TEST("a change during a look has the node read again after it, though the look was lost") {
        watch();
        show(ZKL_RPC_EXISTS, first, "");
        zkl_session_event(session, ZKL_NODE_CHANGED, "/w");
        fail(ZKL_RPC_GET, ZKL_ERROR_CONNECTION_LOSS);
        show(ZKL_RPC_EXISTS, first, "");
        show(ZKL_RPC_GET, first, "a");
        CHECK(tells());
        end_watch();
    }
    TEST("a session watches as many bytes of paths as it may, and no more") {
        enum { SIZE = 1024, COUNT = ZKL_WATCHES_MAX / SIZE };
        static zkl_watcher *watchers[COUNT];
        char path[SIZE + 1];
        enum zkl_code why;
        open_session();
        zkl_session_suspended(session);
        memset(path, 'x', SIZE);
        path[SIZE] = '\0';
        for (unsigned i = 0; i < COUNT; i++) {
            snprintf(path, 10, "/%08u", i);
            path[9] = 'x';
            watchers[i] = zkl_watch(session, path, &why);
            CHECK(watchers[i] && why == ZKL_OK);
        }
        CHECK(!zkl_watch(session, "/w", &why) && why == ZKL_TOO_MANY);
        CHECK(!zkl_members(session, "/f", &why) && why == ZKL_TOO_MANY);
        for (unsigned i = 0; i < COUNT; i++) zkl_watcher_drop(watchers[i]);
        close_session();
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
    TEST("a new connection removes a watch that nobody wants, and then asks for the rest") {
        watch();
        show(ZKL_RPC_EXISTS, first, "");
        show(ZKL_RPC_GET, first, "a");
        zkl_session_suspended(session);
        zkl_watcher_drop(watcher);
        zkl_request *request = zkl_get(session, "/a", ZKL_NEVER);
        zkl_session_connected(session, ID, TIMEOUT);
        reply(ZKL_RPC_UNWATCH, (struct zkl_answer){0});
        show(ZKL_RPC_GET, first, "x");
        CHECK_IS(zkl_request_code(request), ZKL_OK);
        zkl_request_drop(request);
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

static void check_listed(const struct zkl_roll *roll, size_t at, struct zkl_listed wanted) {
    if (!roll || at >= roll->count) return;
    const struct zkl_listed *listed = &roll->members[at];
    CHECK_TEXT(listed->name, wanted.name);
    CHECK_TEXT(listed->data, wanted.data);
    CHECK_IS(listed->size, strlen(wanted.data));
    CHECK_IS(listed->session, wanted.session);
    CHECK_IS(listed->created, wanted.created);
}

static void rosters(void) {
    TEST("a name that a list has twice is one member's") {
        follow();
        list("a", "a");
        show(ZKL_RPC_GET, one, "x");
        CHECK_IS(told(), 1);
        end_roster();
    }
    TEST("members are told by their names, each with its data") {
        static const struct zkl_stat other = {.czxid = 7, .mzxid = 8, .owner = ID + 1, .ctime = 9};
        struct zkl_roll *roll;
        follow();
        list("b", "a");
        show(ZKL_RPC_GET, one, "x");
        show(ZKL_RPC_GET, other, "yy");
        CHECK(zkl_roster_look(roster, &roll) && roll && roll->count == 2);
        check_listed(roll, 0, (struct zkl_listed){.name = "a", .data = "x", .session = ID});
        check_listed(
            roll, 1,
            (struct zkl_listed){.name = "b", .data = "yy", .session = ID + 1, .created = 9});
        free(roll);
        end_roster();
    }
    TEST("a list that has changed has its new members read, and no other") {
        follow();
        list("a", "c");
        show(ZKL_RPC_GET, one, "x");
        show(ZKL_RPC_GET, one, "x");
        CHECK_IS(told(), 2);
        zkl_session_event(session, ZKL_NODE_CHILDREN, "/f");
        list("c", "b");
        reply(ZKL_RPC_UNWATCH, (struct zkl_answer){0});
        CHECK(asks());
        CHECK_TEXT(asked.path, "/f/b");
        answer(asked_id, &asked);
        CHECK(!asks());
        CHECK_IS(told(), 2);
        end_roster();
    }
    TEST("a folder without members is told, once") {
        follow();
        reply(ZKL_RPC_LIST, (struct zkl_answer){0});
        CHECK_IS(told(), 0);
        zkl_session_event(session, ZKL_NODE_CHILDREN, "/f");
        reply(ZKL_RPC_LIST, (struct zkl_answer){0});
        CHECK(!has_more());
        end_roster();
    }
    TEST("the end of a member waits a moment for the folder's event, and each list for a timeout") {
        follow_one();
        pass(0);
        zkl_session_event(session, ZKL_NODE_DELETED, "/f/a");
        CHECK(!asks() && zkl_session_due_anew(session) <= now + MOMENT);
        pass(MOMENT);
        reply(ZKL_RPC_LIST, (struct zkl_answer){0});
        CHECK(zkl_session_due_anew(session) <= now + TIMEOUT);
        CHECK_IS(told(), 0);
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
    TEST("a round without a change posts nothing, also while the list is being told") {
        struct zkl_roll *roll;
        struct zkl_event event;
        follow();
        list("a", NULL);
        show(ZKL_RPC_GET, one, "x");
        while (zkl_session_next_event(session, &event)) continue;
        CHECK(zkl_roster_look(roster, &roll) && roll);
        free(roll);
        pass(TIMEOUT + 1);
        list("a", NULL);
        CHECK(!asks() && !zkl_session_next_event(session, &event));
        zkl_roster_told(roster);
        end_roster();
    }
    TEST("a list that is again as it was told is no news") {
        follow_one();
        zkl_session_event(session, ZKL_NODE_CHILDREN, "/f");
        fail(ZKL_RPC_LIST, ZKL_ERROR_NO_AUTH);
        pass(TIMEOUT + 1);
        list("a", NULL);
        CHECK(!has_more());
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
    TEST("of an answer that was lost only the question is asked again, in a moment") {
        follow();
        fail(ZKL_RPC_LIST, ZKL_ERROR_CONNECTION_LOSS);
        CHECK(!asks() && come_back() <= MOMENT);
        list("a", NULL);
        fail(ZKL_RPC_GET, ZKL_ERROR_CONNECTION_LOSS);
        CHECK(!asks() && come_back() <= MOMENT);
        show(ZKL_RPC_GET, one, "x");
        CHECK_IS(told(), 1);
        CHECK(!asks());
        end_roster();
    }
    TEST("a change during a round waits for its end, and not for another member's") {
        follow_one();
        zkl_session_event(session, ZKL_NODE_CHILDREN, "/f");
        zkl_session_event(session, ZKL_NODE_CHILDREN, "/f");
        zkl_session_event(session, ZKL_NODE_DELETED, "/f/a");
        list("b", NULL);
        show(ZKL_RPC_GET, one, "x");
        list("b", "c");
        show(ZKL_RPC_GET, one, "x");
        CHECK_IS(told(), 2);
        end_roster();
    }
    TEST("what may not be read is read again once a session timeout, and no other member") {
        follow();
        list("a", "b");
        show(ZKL_RPC_GET, one, "x");
        fail(ZKL_RPC_GET, ZKL_ERROR_NO_AUTH);
        CHECK_IS(told(), 2);
        pass(TIMEOUT + 1);
        list("a", "b");
        CHECK(asks());
        CHECK_TEXT(asked.path, "/f/b");
        zkl_session_answer(session, asked_id, &(struct zkl_answer){.stat = &one, .size = -1});
        CHECK(!asks());
        CHECK_IS(told(), 2);
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

int main(void) {
    watchers();
    rosters();
    return check_report();
}
