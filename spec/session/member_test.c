/* member_test.c - members, whose server answers what each test says. */
#include "server.h"

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

/* The next request is a set of these data, of that version. */
static void check_set(const char *data, int32_t of) {
    CHECK(asks() && asked.kind == ZKL_RPC_WRITE && asked.ops->kind == ZKL_OP_SET);
    CHECK_IS(asked.ops->version, of);
    CHECK(asked.ops->size == strlen(data) && memcmp(asked.ops->data, data, asked.ops->size) == 0);
}

/* It is carried out, and the node is so. */
static void set_done(struct zkl_stat stat) {
    const struct zkl_result result = {.stat = stat};
    zkl_session_answer(session, asked_id, &(struct zkl_answer){.results = &result});
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
        CHECK_TEXT(zkl_request_detail(request), zkl_error_words(ZKL_ERROR_NO_AUTH));
        end_join(ZKL_AUTH);
    }
    TEST("a server without containers makes persistent parents") {
        join();
        write_done(ZKL_ERROR_NO_NODE);
        fail(ZKL_RPC_GET, ZKL_ERROR_NO_NODE);
        write_done(ZKL_ERROR_UNIMPLEMENTED);
        write_done(ZKL_ERROR_UNIMPLEMENTED);
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
    TEST("a node of which the server does not even say whose it is is a conflict") {
        join();
        write_done(ZKL_ERROR_NODE_EXISTS);
        fail(ZKL_RPC_GET, ZKL_ERROR_NO_AUTH);
        fail(ZKL_RPC_EXISTS, ZKL_ERROR_NO_AUTH);
        end_join(ZKL_CONFLICT);
    }
    TEST("a write that is answered when its member is there already changes nothing") {
        join();
        write_done(ZKL_ERROR_NODE_EXISTS);
        show(ZKL_RPC_GET, ours, "another's");
        check_set("x", 0);
        set_done((struct zkl_stat){.czxid = 5, .mzxid = 7, .version = 1, .owner = ID});
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
        check_set("x", 0);
        set_done((struct zkl_stat){.czxid = 5, .mzxid = 7, .version = 1, .owner = ID});
        write_done(ZKL_ERROR_NONE);
        reply(ZKL_RPC_UNWATCH, (struct zkl_answer){0});
        CHECK(!asks());
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

static void attempts(void) {
    static const struct zkl_stat ours = {.czxid = 5, .mzxid = 6, .owner = ID},
                                 others = {.czxid = 5, .mzxid = 6, .owner = ID + 1};
    TEST("an attempt that was lost is made again in a moment") {
        join();
        fail(ZKL_RPC_WRITE, ZKL_ERROR_CONNECTION_LOSS);
        fail(ZKL_RPC_GET, ZKL_ERROR_CONNECTION_LOSS);
        CHECK(!asks() && come_back() <= MOMENT);
        write_done(ZKL_ERROR_NODE_EXISTS);
        show(ZKL_RPC_GET, ours, "x");
        end_join(ZKL_OK);
    }
    TEST("a node of an earlier session of ours is waited for, a stranger's is a conflict") {
        join();
        write_done(ZKL_ERROR_NONE);
        show(ZKL_RPC_GET, ours, "x");
        zkl_session_expired(session);
        zkl_session_connected(session, ID + 1, TIMEOUT);
        write_done(ZKL_ERROR_NODE_EXISTS);
        show(ZKL_RPC_GET, ours, "x");
        CHECK(!asks());
        zkl_session_event(session, ZKL_NODE_DELETED, "/f/g/me");
        write_done(ZKL_ERROR_NONE);
        show(ZKL_RPC_GET, others, "x");
        end_join(ZKL_OK);
        join();
        write_done(ZKL_ERROR_NODE_EXISTS);
        show(ZKL_RPC_GET, others, "x");
        end_join(ZKL_CONFLICT);
    }
}

/* The member whose node is there. */
static zkl_member *joined(void) {
    join();
    write_done(ZKL_ERROR_NONE);
    show(ZKL_RPC_GET, (struct zkl_stat){.czxid = 5, .mzxid = 6, .owner = ID}, "x");
    CHECK_IS(zkl_request_code(request), ZKL_OK);
    zkl_member *member = zkl_request_member(request);
    zkl_request_drop(request);
    return member;
}

static enum zkl_member_state state_of(const zkl_member *member, enum zkl_code code) {
    enum zkl_code why;
    const char *detail;
    enum zkl_member_state state = zkl_member_state(member, &why, &detail);
    CHECK_IS(why, code);
    return state;
}

/* The next request is the node's removal, of that version: it is done, and nothing follows. */
static void check_removal(int32_t of) {
    CHECK(asks() && asked.kind == ZKL_RPC_WRITE && asked.ops->kind == ZKL_OP_DELETE);
    CHECK_IS(asked.ops->version, of);
    zkl_session_answer(session, asked_id, &(struct zkl_answer){0});
    reply(ZKL_RPC_UNWATCH, (struct zkl_answer){0});
    CHECK(!asks());
}

static void leaves(void) {
    static const struct zkl_stat ours = {.czxid = 5, .mzxid = 6, .version = 3, .owner = ID},
                                 others = {.czxid = 5, .mzxid = 6, .owner = ID + 1};
    TEST("a member that leaves while its create is out is removed as soon as it is seen") {
        join();
        zkl_request_drop(request);
        write_done(ZKL_ERROR_NONE);
        show(ZKL_RPC_GET, ours, "x");
        check_removal(3);
        close_session();
    }
    TEST("a member that left during a cut removes the node only if that is its own") {
        for (int of_others = 0; of_others < 2; of_others++) {
            CHECK_CASE("%s", of_others ? "another's" : "its own");
            zkl_member *member = joined();
            zkl_session_suspended(session);
            if (of_others) zkl_member_drop(member);
            zkl_session_connected(session, ID, TIMEOUT);
            if (!of_others) zkl_member_drop(member);
            show(ZKL_RPC_GET, of_others ? others : ours, "x");
            if (!of_others) check_removal(3);
            else reply(ZKL_RPC_UNWATCH, (struct zkl_answer){0});
            CHECK(!asks());
            close_session();
        }
    }
    TEST("a removal that may have been carried out is repeated only after a look") {
        for (int of_others = 0; of_others < 2; of_others++) {
            CHECK_CASE("%s", of_others ? "another's" : "its own");
            zkl_member_drop(joined());
            fail(ZKL_RPC_WRITE, ZKL_ERROR_OPERATION_TIMEOUT);
            come_back();
            show(ZKL_RPC_GET, of_others ? others : ours, "x");
            if (!of_others) check_removal(3);
            else reply(ZKL_RPC_UNWATCH, (struct zkl_answer){0});
            CHECK(!asks());
            close_session();
        }
    }
    TEST("a node that was written to is looked at before it is removed") {
        zkl_member_drop(joined());
        write_done(ZKL_ERROR_BAD_VERSION);
        CHECK(!asks() && come_back() <= MOMENT);
        show(ZKL_RPC_GET, ours, "another's");
        check_removal(3);
        close_session();
        zkl_member *member = joined();
        zkl_session_event(session, ZKL_NODE_CHANGED, "/f/g/me");
        zkl_member_drop(member);
        show(ZKL_RPC_GET, ours, "another's");
        check_removal(3);
        close_session();
    }
    TEST("a removal that is refused is tried again, after a look, a session timeout later") {
        zkl_member_drop(joined());
        write_done(ZKL_ERROR_NO_AUTH);
        pass(TIMEOUT - 1);
        CHECK(!asks());
        pass(1);
        show(ZKL_RPC_GET, ours, "x");
        check_removal(3);
        close_session();
    }
    TEST("a member whose node went looks whose it is, before it removes one") {
        for (int by_event = 0; by_event < 2; by_event++) {
            CHECK_CASE("%s", by_event ? "by an event" : "by a read");
            zkl_member *member = joined();
            if (by_event) zkl_session_event(session, ZKL_NODE_DELETED, "/f/g/me");
            else pass(TIMEOUT + 1);
            if (!by_event) fail(ZKL_RPC_GET, ZKL_ERROR_NO_NODE);
            zkl_member_drop(member);
            fail(ZKL_RPC_WRITE, ZKL_ERROR_CONNECTION_LOSS);
            fail(ZKL_RPC_GET, ZKL_ERROR_CONNECTION_LOSS);
            come_back();
            show(ZKL_RPC_GET, others, "x");
            pass(TIMEOUT + 1);
            fail(ZKL_RPC_GET, ZKL_ERROR_NO_NODE);
            reply(ZKL_RPC_UNWATCH, (struct zkl_answer){0});
            CHECK(!asks());
            close_session();
        }
    }
    TEST("a join takes over what a member before it left, and its node stays") {
        zkl_member *before = joined();
        zkl_member_drop(before);
        fail(ZKL_RPC_WRITE, ZKL_ERROR_CONNECTION_LOSS);
        request = zkl_join(session, "/f/g/me", "x", ZKL_NEVER);
        write_done(ZKL_ERROR_NODE_EXISTS);
        show(ZKL_RPC_GET, ours, "x");
        pass(TIMEOUT + 1);
        show(ZKL_RPC_GET, ours, "x");
        CHECK(!asks());
        end_join(ZKL_OK);
    }
    TEST("a join that is given up while the removal before it is out leaves nothing") {
        zkl_member_drop(joined());
        CHECK(asks());
        uint64_t removal = asked_id;
        request = zkl_join(session, "/f/g/me", "x", ZKL_NEVER);
        CHECK(asks());
        uint64_t create = asked_id;
        zkl_session_event(session, ZKL_NODE_DELETED, "/f/g/me");
        zkl_request_drop(request);
        zkl_session_answer(session, removal, &(struct zkl_answer){0});
        zkl_session_answer(session, create, &(struct zkl_answer){0});
        show(ZKL_RPC_GET, ours, "x");
        check_removal(3);
        close_session();
    }
    TEST("a join that took a node over without a connection removes it when it leaves") {
        zkl_member *before = joined();
        zkl_member_drop(before);
        fail(ZKL_RPC_WRITE, ZKL_ERROR_CONNECTION_LOSS);
        zkl_session_suspended(session);
        zkl_request_drop(zkl_join(session, "/f/g/me", "x", ZKL_NEVER));
        zkl_session_connected(session, ID, TIMEOUT);
        show(ZKL_RPC_GET, ours, "x");
        check_removal(3);
        close_session();
    }
}

static void states(void) {
    TEST("a member is joined until an answer shows that its node is gone") {
        zkl_member *member = joined();
        pass(TIMEOUT + 1);
        fail(ZKL_RPC_GET, ZKL_ERROR_NO_AUTH);
        fail(ZKL_RPC_EXISTS, ZKL_ERROR_CONNECTION_LOSS);
        CHECK_IS(state_of(member, ZKL_OK), ZKL_MEMBER_JOINED);
        come_back();
        fail(ZKL_RPC_GET, ZKL_ERROR_NO_AUTH);
        fail(ZKL_RPC_EXISTS, ZKL_ERROR_NO_NODE);
        CHECK_IS(state_of(member, ZKL_OK), ZKL_MEMBER_JOINING);
        zkl_session_close(session);
        CHECK_IS(state_of(member, ZKL_CLOSED), ZKL_MEMBER_ENDED);
        zkl_member_drop(member);
        close_session();
    }
}

/* A set of these data, which goes on while others begin. */
static zkl_request *set(zkl_member *member, const char *data) {
    return zkl_member_set(member, data, ZKL_NEVER);
}

static void is_answered(zkl_request *answered, enum zkl_code code) {
    CHECK(zkl_request_done(answered));
    if (zkl_request_done(answered)) CHECK_IS(zkl_request_code(answered), code);
    zkl_request_drop(answered);
}

static void leave_all(zkl_member *member) {
    zkl_member_drop(member);
    close_session();
}

static void sets(void) {
    static const struct zkl_stat first = {.czxid = 5, .mzxid = 6, .owner = ID},
                                 second = {.czxid = 5, .mzxid = 7, .version = 1, .owner = ID},
                                 third = {.czxid = 5, .mzxid = 8, .version = 2, .owner = ID},
                                 others = {.czxid = 9, .mzxid = 9, .owner = ID + 1};
    zkl_member *member;
    TEST("a set is one write, and a read behind it sets the watch again") {
        member = joined();
        zkl_request *one = set(member, "y");
        check_set("y", 0);
        zkl_session_event(session, ZKL_NODE_CHANGED, "/f/g/me");
        CHECK(!zkl_request_done(one));
        set_done(second);
        is_answered(one, ZKL_OK);
        show(ZKL_RPC_GET, second, "y");
        CHECK(!asks());
        CHECK_IS(state_of(member, ZKL_OK), ZKL_MEMBER_JOINED);
        leave_all(member);
    }
    TEST("sets that come while one is out are one write, and each is answered by its own") {
        member = joined();
        zkl_request *one = set(member, "1");
        check_set("1", 0);
        zkl_request *two = set(member, "2"), *three = set(member, "3");
        CHECK(!asks());
        zkl_session_answer(session, asked_id,
                           &(struct zkl_answer){.results = &(struct zkl_result){.stat = second}});
        is_answered(one, ZKL_OK);
        CHECK(!zkl_request_done(two));
        check_set("3", 1);
        set_done(third);
        is_answered(two, ZKL_OK);
        is_answered(three, ZKL_OK);
        show(ZKL_RPC_GET, third, "3");
        CHECK(!asks());
        leave_all(member);
    }
    TEST("a set without an answer is looked for, and written only if it is not there") {
        for (int there = 0; there < 2; there++) {
            CHECK_CASE("%s", there ? "carried out" : "lost");
            member = joined();
            zkl_request *one = set(member, "y");
            fail(ZKL_RPC_WRITE, ZKL_ERROR_OPERATION_TIMEOUT);
            come_back();
            show(ZKL_RPC_GET, there ? second : first, there ? "y" : "x");
            if (!there) check_set("y", 0);
            if (!there) set_done(second);
            is_answered(one, ZKL_OK);
            if (!there) show(ZKL_RPC_GET, second, "y");
            CHECK(!asks());
            leave_all(member);
        }
    }
    TEST("a set writes over another client's data, of the version that was seen") {
        member = joined();
        zkl_request *one = set(member, "y");
        write_done(ZKL_ERROR_BAD_VERSION);
        CHECK(!asks() && come_back() <= MOMENT);
        show(ZKL_RPC_GET, second, "another's");
        check_set("y", 1);
        set_done(third);
        is_answered(one, ZKL_OK);
        show(ZKL_RPC_GET, third, "y");
        zkl_session_event(session, ZKL_NODE_CHANGED, "/f/g/me");
        show(ZKL_RPC_GET, (struct zkl_stat){.czxid = 5, .mzxid = 9, .version = 3, .owner = ID},
             "another's");
        CHECK(!asks());
        leave_all(member);
    }
    TEST("a set during a cut looks whose the node is, and writes to no other's") {
        for (int of_others = 0; of_others < 2; of_others++) {
            CHECK_CASE("%s", of_others ? "another's" : "its own");
            member = joined();
            zkl_session_suspended(session);
            zkl_request *one = set(member, "y");
            CHECK(!asks());
            zkl_session_connected(session, ID, TIMEOUT);
            show(ZKL_RPC_GET, of_others ? others : first, "x");
            if (!of_others) check_set("y", 0);
            if (!of_others) set_done(second);
            is_answered(one, of_others ? ZKL_CONFLICT : ZKL_OK);
            leave_all(member);
        }
    }
    TEST("a set that ran out of time is carried out all the same") {
        member = joined();
        zkl_session_suspended(session);
        zkl_request *one = zkl_member_set(member, "y", ZKL_SECOND);
        pass(ZKL_SECOND);
        is_answered(one, ZKL_TIMEOUT);
        zkl_session_connected(session, ID, TIMEOUT);
        show(ZKL_RPC_GET, first, "x");
        check_set("y", 0);
        set_done(second);
        show(ZKL_RPC_GET, second, "y");
        CHECK(!asks());
        leave_all(member);
    }
    TEST("a member that lost its name while its create is in doubt takes no other data") {
        member = joined();
        zkl_session_expired(session);
        zkl_session_connected(session, ID + 2, TIMEOUT);
        write_done(ZKL_ERROR_CONNECTION_LOSS);
        show(ZKL_RPC_GET, others, "x");
        is_answered(set(member, "y"), ZKL_CONFLICT);
        leave_all(member);
    }
    TEST("a node that is made again has the newest data, and that answers the set") {
        member = joined();
        zkl_session_suspended(session);
        zkl_request *one = set(member, "y");
        zkl_session_expired(session);
        zkl_session_connected(session, ID + 1, TIMEOUT);
        CHECK(asks() && asked.ops->kind == ZKL_OP_CREATE && *asked.ops->data == 'y');
        set_done(others);
        CHECK(!zkl_request_done(one));
        show(ZKL_RPC_GET, others, "y");
        is_answered(one, ZKL_OK);
        CHECK(!asks());
        leave_all(member);
    }
    TEST("a set while the node is made is written after that") {
        member = joined();
        zkl_session_event(session, ZKL_NODE_DELETED, "/f/g/me");
        CHECK(asks());
        uint64_t create = asked_id;
        CHECK(asks());
        zkl_request *one = set(member, "y");
        zkl_session_answer(session, create, &(struct zkl_answer){0});
        const struct zkl_stat again = {.czxid = 8, .mzxid = 8, .owner = ID};
        const struct zkl_answer old = {.stat = &again, .data = "x", .size = 1};
        zkl_session_answer(session, asked_id, &old);
        check_set("y", 0);
        set_done((struct zkl_stat){.czxid = 8, .mzxid = 9, .version = 1, .owner = ID});
        is_answered(one, ZKL_OK);
        leave_all(member);
    }
    TEST("a node that a late create made has other data written over, and is news") {
        member = joined();
        unsigned before = zkl_member_changes(member);
        pass(TIMEOUT + 1);
        show(ZKL_RPC_GET, (struct zkl_stat){.czxid = 8, .mzxid = 8, .owner = ID}, "older");
        check_set("x", 0);
        set_done((struct zkl_stat){.czxid = 8, .mzxid = 9, .version = 1, .owner = ID});
        CHECK_IS(state_of(member, ZKL_OK), ZKL_MEMBER_JOINED);
        CHECK(zkl_member_changes(member) > before);
        leave_all(member);
    }
    TEST("a set whose node turns out to be gone makes it anew") {
        member = joined();
        zkl_request *one = set(member, "y");
        write_done(ZKL_ERROR_NO_NODE);
        CHECK_IS(state_of(member, ZKL_OK), ZKL_MEMBER_JOINING);
        CHECK(asks() && asked.ops->kind == ZKL_OP_CREATE && *asked.ops->data == 'y');
        zkl_session_answer(session, asked_id, &(struct zkl_answer){0});
        show(ZKL_RPC_GET, (struct zkl_stat){.czxid = 8, .mzxid = 8, .owner = ID}, "y");
        is_answered(one, ZKL_OK);
        leave_all(member);
    }
    TEST("a set that is refused says why, and is not repeated") {
        member = joined();
        zkl_request *one = set(member, "y");
        write_done(ZKL_ERROR_NO_AUTH);
        CHECK_TEXT(zkl_request_detail(one), zkl_error_words(ZKL_ERROR_NO_AUTH));
        is_answered(one, ZKL_AUTH);
        pass(TIMEOUT);
        show(ZKL_RPC_GET, first, "x");
        CHECK(!asks());
        CHECK_IS(state_of(member, ZKL_OK), ZKL_MEMBER_JOINED);
        leave_all(member);
    }
    TEST("a node that may not be read is written to") {
        member = joined();
        zkl_session_event(session, ZKL_NODE_CHANGED, "/f/g/me");
        zkl_request *one = set(member, "y");
        fail(ZKL_RPC_GET, ZKL_ERROR_NO_AUTH);
        reply(ZKL_RPC_EXISTS, (struct zkl_answer){.stat = &second});
        check_set("y", 1);
        set_done(third);
        is_answered(one, ZKL_OK);
        leave_all(member);
    }
    TEST("a set ends when its member leaves or is given up, or is closed with its session") {
        for (int how = 0; how < 3; how++) {
            CHECK_CASE("%d", how);
            member = joined();
            zkl_session_suspended(session);
            zkl_request *one = set(member, "y");
            if (how == 0) zkl_member_drop(member);
            if (how == 1) zkl_session_refused(session);
            if (how == 2) zkl_session_close(session);
            is_answered(one, how == 1 ? ZKL_AUTH : ZKL_CLOSED);
            if (how > 0) is_answered(set(member, "z"), how == 1 ? ZKL_AUTH : ZKL_CLOSED);
            if (how > 0) zkl_member_drop(member);
            close_session();
        }
    }
}

static void ids(void) {
    TEST("each watcher, roster and member has an id of its own") {
        enum { EACH = 2, ALL = 3 * EACH };
        enum zkl_code why;
        uint64_t ids[ALL];
        zkl_roster *rosters[EACH];
        zkl_watcher *watchers[EACH];
        zkl_member *joined[EACH];
        const char *const paths[EACH] = {"/f/one", "/f/other"};
        open_session();
        zkl_session_suspended(session);
        for (int i = 0; i < EACH; i++) {
            rosters[i] = zkl_members(session, "/f", &why);
            watchers[i] = zkl_watch(session, "/w", &why);
            request = zkl_join(session, paths[i], "x", ZKL_NEVER);
            joined[i] = zkl_request_member(request);
            zkl_request_drop(request);
            ids[3 * i] = zkl_roster_id(rosters[i]);
            ids[3 * i + 1] = zkl_watcher_id(watchers[i]);
            ids[3 * i + 2] = zkl_member_id(joined[i]);
        }
        for (int i = 0; i < ALL; i++)
            for (int j = 0; j < i; j++) CHECK(ids[i] != ids[j]);
        for (int i = 0; i < EACH; i++) {
            zkl_roster_drop(rosters[i]);
            zkl_watcher_drop(watchers[i]);
            zkl_member_drop(joined[i]);
        }
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

/* A create whose reply was lost may be carried out a session timeout later. */
static void doubts(void) {
    static const struct zkl_stat ours = {.czxid = 5, .mzxid = 6, .owner = ID};
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
    TEST("a member that was refused removes what its lost create made after that") {
        join();
        fail(ZKL_RPC_WRITE, ZKL_ERROR_CONNECTION_LOSS);
        fail(ZKL_RPC_GET, ZKL_ERROR_CONNECTION_LOSS);
        pass(ZKL_SECOND);
        write_done(ZKL_ERROR_NODE_EXISTS);
        show(ZKL_RPC_GET, (struct zkl_stat){.czxid = 4, .owner = ID + 1}, "x");
        CHECK_IS(zkl_request_code(request), ZKL_CONFLICT);
        zkl_request_drop(request);
        CHECK(!asks());
        pass(TIMEOUT);
        CHECK(comes(ZKL_RPC_GET, ZKL_OP_CHECK));
        const struct zkl_answer landed = {.stat = &ours, .data = "x", .size = 1};
        zkl_session_answer(session, asked_id, &landed);
        CHECK(comes(ZKL_RPC_WRITE, ZKL_OP_DELETE));
        close_session();
    }
    TEST("a member looks for what the one before it under that name may have left, too") {
        uint64_t create;
        join();
        CHECK(asks());
        create = asked_id;
        CHECK(asks());
        zkl_session_suspended(session);
        zkl_request_drop(request);
        zkl_request_drop(zkl_join(session, "/f/g/me", "x", ZKL_NEVER));
        const struct zkl_answer lost = {.error = ZKL_ERROR_CONNECTION_LOSS};
        zkl_session_answer(session, create, &lost);
        fail_asked(ZKL_ERROR_CONNECTION_LOSS);
        zkl_session_connected(session, ID, TIMEOUT);
        CHECK(comes(ZKL_RPC_GET, ZKL_OP_CHECK));
        fail_asked(ZKL_ERROR_NO_NODE);
        pass(TIMEOUT);
        CHECK(comes(ZKL_RPC_GET, ZKL_OP_CHECK));
        const struct zkl_answer landed = {.stat = &ours, .data = "x", .size = 1};
        zkl_session_answer(session, asked_id, &landed);
        CHECK(comes(ZKL_RPC_WRITE, ZKL_OP_DELETE));
        close_session();
    }
    TEST("a membership ends for its user at once, though a create may still land") {
        static const struct zkl_stat anothers = {.czxid = 4, .owner = ID + 1};
        enum zkl_code why;
        const char *detail;
        join();
        write_done(ZKL_ERROR_NONE);
        show(ZKL_RPC_GET, ours, "x");
        zkl_member *member = zkl_request_member(request);
        zkl_request_drop(request);
        zkl_session_event(session, ZKL_NODE_DELETED, "/f/g/me");
        fail(ZKL_RPC_WRITE, ZKL_ERROR_CONNECTION_LOSS);
        show(ZKL_RPC_GET, anothers, "x");
        CHECK_IS(zkl_member_state(member, &why, &detail), ZKL_MEMBER_ENDED);
        CHECK_IS(why, ZKL_CONFLICT);
        struct zkl_event event;
        bool told = false;
        while (zkl_session_next_event(session, &event)) told |= event.kind == ZKL_EVENT_MEMBER;
        CHECK(told);
        pass(TIMEOUT);
        CHECK(comes(ZKL_RPC_GET, ZKL_OP_CHECK));
        const struct zkl_answer still = {.stat = &anothers, .data = "x", .size = 1};
        zkl_session_answer(session, asked_id, &still);
        CHECK_IS(zkl_member_state(member, &why, &detail), ZKL_MEMBER_ENDED);
        CHECK_IS(why, ZKL_CONFLICT);
        zkl_member_drop(member);
        close_session();
    }
}

int main(void) {
    limits();
    members();
    doubts();
    attempts();
    leaves();
    states();
    sets();
    ids();
    return check_report();
}
