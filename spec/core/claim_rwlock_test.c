/*
 * claim_rwlock_test.c - readers and writers: which pass which, what a try takes, and a
 * writer that becomes a reader. While that is asked for it holds; afterwards exactly one
 * node of it is there, and its claim knows which.
 */
#include "scene.h"

#define FOREIGN(tail) "_c_11111111-2222-3333-4444-5555555555" tail
#define READER41 FOREIGN("55-__READ__0000000041")
#define READER40 FOREIGN("44-__READ__0000000040")
#define WRITER39 FOREIGN("33-__WRIT__0000000039")
#define MUTEX39 FOREIGN("33-lock-0000000039")

enum { TOLD = ZKL_DO_WATCH_AHEAD | ZKL_DO_WATCH_OWN | ZKL_DO_QUEUED };

/* The claim's node as a writer, and as the reader that it becomes. */
static const char *node(enum zkl_kind kind) {
    static char name[2 * ZKL_NAME_SIZE];
    zkl_name_prefix(name, kind, SESSION, s.claim.node.nonce);
    snprintf(name + strlen(name), ZKL_NAME_SIZE, "%010d", 42);
    return name;
}

/* --- the line ------------------------------------------------------------------------------ */

static void readers(void) {
    TEST("a reader passes over readers") {
        scene_reach_as(ZKL_READ, ZKL_LIST, ZKL_NEVER);
        CHECK_IS(LISTED(READER40, READER41, s.claim.node.name, BEHIND), ZKL_DO_GRANT);
    }
    TEST("a reader waits for the nearest writer or mutex, however many readers are between") {
        static const char *const ahead[] = {WRITER39, MUTEX39};
        for (size_t i = 0; i < 2; i++) {
            scene_reach_as(ZKL_READ, ZKL_LIST, ZKL_NEVER);
            CHECK_IS(LISTED("lock-0000000007", ahead[i], READER40, READER41, s.claim.node.name),
                     TOLD);
            CHECK_TEXT(s.claim.ahead->name, ahead[i]);
        }
    }
    TEST("a reader is let in when the writer goes, with the readers still there") {
        scene_reach_as(ZKL_READ, ZKL_LIST, ZKL_NEVER);
        LISTED(WRITER39, READER40, s.claim.node.name);
        CHECK_IS(scene_ahead_deleted(), ZKL_DO_LIST); /* it may have left a reader */
        CHECK_IS(LISTED("__READ__0000000039", READER40, s.claim.node.name), ZKL_DO_GRANT);
        scene_reach_as(ZKL_READ, ZKL_LIST, ZKL_NEVER);
        LISTED(MUTEX39, READER40, s.claim.node.name);
        CHECK_IS(scene_ahead_deleted(), ZKL_DO_GRANT);
    }
    TEST("a writer and a mutex wait for everybody ahead, readers too") {
        static const enum zkl_kind kinds[] = {ZKL_WRITE, ZKL_MUTEX};
        for (size_t i = 0; i < 2; i++) {
            scene_reach_as(kinds[i], ZKL_LIST, ZKL_NEVER);
            CHECK_IS(LISTED(READER40, READER41, s.claim.node.name), TOLD);
            CHECK_TEXT(s.claim.ahead->name, READER41);
            CHECK_IS(scene_ahead_deleted(), ZKL_DO_WATCH_AHEAD);
            CHECK_TEXT(s.claim.ahead->name, READER40);
            CHECK_IS(scene_ahead_deleted(), ZKL_DO_GRANT);
        }
    }
    TEST("past the end of the counter, too, readers pass over readers only") {
        scene_reach_as(ZKL_READ, ZKL_LIST, ZKL_NEVER);
        LISTED("a-lock-2147483647", "b__READ__2147483647", s.claim.node.name);
        scene_ranked("a-lock-2147483647", ZKL_DONE, 7);
        CHECK_IS(scene_ranked("b__READ__2147483647", ZKL_DONE, 8), TOLD);
        CHECK_TEXT(s.claim.ahead->name, "a-lock-2147483647");
        CHECK_IS(scene_ahead_deleted(), ZKL_DO_GRANT);
        scene_reach_as(ZKL_WRITE, ZKL_LIST, ZKL_NEVER);
        LISTED("b__READ__2147483647", s.claim.node.name, "c__READ__2147483647");
        scene_ranked("b__READ__2147483647", ZKL_DONE, 8);
        CHECK_IS(scene_ranked("c__READ__2147483647", ZKL_DONE, 2000), TOLD);
    }
}

static void tries(void) {
    TEST("a reader's try takes a lock that only readers hold") {
        scene_reach_as(ZKL_READ, ZKL_TRY, ZKL_NEVER);
        CHECK_IS(LISTED(READER40, READER41), ZKL_DO_CREATE | ZKL_DO_LIST);
        scene_created(42, 1042);
        CHECK_IS(LISTED(READER40, READER41, s.claim.node.name), ZKL_DO_GRANT);
    }
    TEST("a reader's try does not pass a writer that waits") {
        scene_reach_as(ZKL_READ, ZKL_TRY, ZKL_NEVER);
        CHECK_IS(LISTED(READER40, WRITER), ZKL_DO_FAIL | ZKL_DO_FORGET);
        CHECK_IS(s.claim.code, ZKL_BUSY);
    }
    TEST("a reader's try that a writer forestalls removes its node") {
        scene_reach_as(ZKL_READ, ZKL_TRY, ZKL_NEVER);
        LISTED(READER40);
        scene_created(42, 1042);
        CHECK_IS(LISTED(READER40, WRITER, s.claim.node.name), ZKL_DO_FAIL | ZKL_DO_REMOVE);
    }
    TEST("a writer's try, and a mutex's, does not take what readers hold") {
        static const enum zkl_kind kinds[] = {ZKL_WRITE, ZKL_MUTEX};
        for (size_t i = 0; i < 2; i++) {
            scene_reach_as(kinds[i], ZKL_TRY, ZKL_NEVER);
            CHECK_IS(LISTED(READER40), ZKL_DO_FAIL | ZKL_DO_FORGET);
        }
    }
}

/* --- a writer becomes a reader -------------------------------------------------------------- */

static void asking(void) {
    TEST("a writer that downgrades asks once, and holds meanwhile") {
        scene_reach_as(ZKL_WRITE, ZKL_HELD, ZKL_NEVER);
        CHECK_IS(scene_share(), ZKL_DO_DOWNGRADE);
        CHECK_IS(s.claim.state, ZKL_DOWNGRADE);
        CHECK(zkl_claim_holds(&s.claim) && !s.claim.stalled);
        CHECK_IS(scene_share(), 0);
        CHECK_IS(scene_beat(), 0); /* it is out already */
        CHECK_IS(s.claim.kind, ZKL_WRITE);
    }
    TEST("without a connection it asks when that is back") {
        scene_reach_as(ZKL_WRITE, ZKL_HELD, ZKL_NEVER);
        scene_cut();
        CHECK_IS(scene_share(), 0);
        CHECK(zkl_claim_holds(&s.claim) && s.claim.stalled);
        CHECK_IS(scene_resume(), ZKL_DO_DOWNGRADE);
    }
    TEST("only what is held is shared") {
        for (int state = ZKL_NEW; state <= ZKL_GONE; state++) {
            if (state == ZKL_KEPT) continue; /* no writer is */
            if (state == ZKL_HELD) continue;
            scene_reach_as(ZKL_WRITE, (enum zkl_claim_state)state, ZKL_NEVER);
            CHECK_CASE("%s", scene_states[state]);
            CHECK_IS(scene_share(), 0);
            CHECK_IS(s.claim.state, state);
        }
    }
    TEST("only a writer downgrades, and with a number far from the end of the counter") {
        static const struct {
            enum zkl_kind kind;
            int32_t sequence;
            bool may;
        } cases[] = {{ZKL_WRITE, 0, true},
                     {ZKL_WRITE, 42, true},
                     {ZKL_WRITE, ZKL_DOWNGRADE_LIMIT - 1, true},
                     {ZKL_WRITE, ZKL_DOWNGRADE_LIMIT, false},
                     {ZKL_WRITE, INT32_MAX, false},
                     {ZKL_WRITE, -1, false},
                     {ZKL_READ, 42, false},
                     {ZKL_MUTEX, 42, false}};
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            scene_open(cases[i].kind, ZKL_NEVER, false);
            s.claim.node.sequence = cases[i].sequence;
            CHECK_CASE("kind %d, number %" PRId32, (int)cases[i].kind, cases[i].sequence);
            CHECK_IS(zkl_claim_may_downgrade(&s.claim), cases[i].may);
        }
        CHECK(INT32_MAX - ZKL_DOWNGRADE_LIMIT >= 1 << 24);
    }
}

static void answered(void) {
    TEST("done: it is a reader, with the writer's number and token") {
        s.claim.node.watched = true;
        CHECK_IS(scene_shared(ZKL_DONE), ZKL_DO_DOWNGRADED);
        CHECK_IS(s.claim.state, ZKL_HELD);
        CHECK_IS(s.claim.kind, ZKL_READ);
        CHECK_IS(s.claim.refusal, ZKL_OK);
        CHECK_IS(s.claim.node.czxid, 1042);
        CHECK_IS(s.claim.node.sequence, 42);
        CHECK_TEXT(s.claim.node.name, node(ZKL_READ));
        CHECK(!zkl_claim_may_downgrade(&s.claim));
        CHECK_IS(scene_beat(), ZKL_DO_WATCH_OWN); /* the new node */
        CHECK_IS(scene_release(), ZKL_DO_REMOVE);
    }
    TEST("the line does not know the reader yet: a list comes before the next grant") {
        zkl_claim_start(scene_add(&s.second, ZKL_WRITE));
        zkl_claim_created(&s.second, ZKL_DONE, ZKL_OK, scene_name_of(&s.second, 43), 1043);
        LINE(s.claim.node.name, s.second.node.name);
        zkl_claim_listed(&s.second, ZKL_DONE, ZKL_OK, s.now);
        struct zkl_contender *writer = zkl_contender_ref(s.second.ahead);
        scene_shared(ZKL_DONE);
        CHECK(!zkl_line_find(&s.line, writer->name) && s.line.incomplete);
        CHECK_IS(zkl_claim_ahead_deleted(&s.second, writer, s.now), ZKL_DO_LIST);
        LINE(s.claim.node.name, s.second.node.name);
        CHECK(zkl_claim_listed(&s.second, ZKL_DONE, ZKL_OK, s.now) & ZKL_DO_WATCH_AHEAD);
        CHECK_TEXT(s.second.ahead->name, s.claim.node.name);
        CHECK(!zkl_line_orphan(&s.line));
        zkl_contender_unref(writer);
    }
    TEST("refused: it stays a writer, says why, and may ask again") {
        s.claim.node.watched = true;
        CHECK_IS(scene_shared(ZKL_REFUSED), ZKL_DO_DOWNGRADED);
        CHECK_IS(s.claim.state, ZKL_HELD);
        CHECK_IS(s.claim.kind, ZKL_WRITE);
        CHECK_IS(s.claim.refusal, ZKL_AUTH);
        CHECK_TEXT(s.claim.node.name, node(ZKL_WRITE));
        CHECK(zkl_line_find(&s.line, s.claim.node.name) && !s.line.incomplete);
        CHECK_IS(scene_beat(), ZKL_DO_WATCH_OWN); /* events were ignored */
        CHECK_IS(scene_share(), ZKL_DO_DOWNGRADE);
        CHECK_IS(s.claim.refusal, ZKL_OK);
    }
    TEST("absent: somebody removed the writer's node, so it has lost") {
        CHECK_IS(scene_shared(ZKL_ABSENT), ZKL_DO_LOSE | ZKL_DO_FORGET);
        CHECK_IS(s.claim.code, ZKL_LOST);
        CHECK_IS(s.line.count, 0);
        CHECK_IS(scene_shared(ZKL_DONE), 0);
    }
    TEST("unknown: it holds on, and asks again until it is known") {
        for (int i = 0; i < 3; i++) {
            CHECK_IS(scene_shared(ZKL_UNKNOWN), 0);
            CHECK(zkl_claim_holds(&s.claim) && s.claim.stalled);
            CHECK_IS(s.claim.kind, ZKL_WRITE);
            CHECK_IS(i % 2 ? scene_beat() : scene_resume(), ZKL_DO_DOWNGRADE);
        }
        CHECK_IS(scene_shared(ZKL_DONE), ZKL_DO_DOWNGRADED);
        CHECK_IS(s.claim.kind, ZKL_READ);
        CHECK_IS(s.claim.refusal, ZKL_OK);
    }
    TEST("refused, after one of unknown outcome: that may be a reader's node, so it asks again") {
        scene_shared(ZKL_UNKNOWN);
        scene_resume();
        CHECK_IS(scene_shared(ZKL_REFUSED), 0);
        CHECK(zkl_claim_holds(&s.claim) && s.claim.stalled);
        CHECK_IS(scene_beat(), ZKL_DO_DOWNGRADE);
        CHECK_IS(scene_shared(ZKL_DONE), ZKL_DO_DOWNGRADED);
        CHECK_IS(s.claim.kind, ZKL_READ);
        scene_reach(ZKL_DOWNGRADE);
        scene_release();
        scene_shared(ZKL_UNKNOWN);
        scene_resume();
        CHECK_IS(scene_shared(ZKL_REFUSED), 0);
        CHECK_IS(scene_resume(), ZKL_DO_DOWNGRADE);
        CHECK_IS(scene_shared(ZKL_DONE), ZKL_DO_REMOVE);
        CHECK_TEXT(s.claim.node.name, node(ZKL_READ));
    }
    TEST("a reply that nobody waits for does nothing") {
        for (int state = ZKL_NEW; state <= ZKL_GONE; state++) {
            if (state == ZKL_KEPT) continue; /* no writer is */
            if (state == ZKL_DOWNGRADE) continue;
            scene_reach_as(ZKL_WRITE, (enum zkl_claim_state)state, ZKL_NEVER);
            CHECK_CASE("%s", scene_states[state]);
            CHECK_IS(scene_shared(ZKL_DONE) | scene_shared(ZKL_ABSENT), 0);
            CHECK_IS(s.claim.state, state);
            CHECK_IS(s.claim.kind, s.claim.waiting ? ZKL_MUTEX : ZKL_WRITE);
        }
    }
}

/* The node that is there is removed, under its own name. */
static void given_up(void) {
    TEST("what is given up while it downgrades is removed once its name is known") {
        static const enum zkl_reply replies[] = {ZKL_DONE, ZKL_REFUSED};
        static const enum zkl_kind kinds[] = {ZKL_READ, ZKL_WRITE};
        for (size_t i = 0; i < 2; i++) {
            scene_reach(ZKL_DOWNGRADE);
            CHECK_IS(scene_release(), 0);
            CHECK(!zkl_claim_holds(&s.claim) && !s.claim.wanted);
            CHECK_IS(s.claim.state, ZKL_DOWNGRADE);
            CHECK_IS(scene_shared(replies[i]), ZKL_DO_REMOVE);
            CHECK_TEXT(s.claim.node.name, node(kinds[i]));
            CHECK_IS(scene_removed(ZKL_DONE), ZKL_DO_FORGET);
            CHECK_IS(s.losses + s.shared, 0);
        }
    }
    TEST("what is given up while nothing is known asks again, then removes") {
        scene_cut();
        scene_shared(ZKL_UNKNOWN);
        CHECK_IS(scene_release(), 0);
        CHECK_IS(scene_resume(), ZKL_DO_DOWNGRADE);
        CHECK_IS(scene_shared(ZKL_UNKNOWN), 0);
        CHECK_IS(scene_beat(), ZKL_DO_DOWNGRADE);
        CHECK_IS(scene_shared(ZKL_DONE), ZKL_DO_REMOVE);
        CHECK_TEXT(s.claim.node.name, node(ZKL_READ));
    }
    TEST("without a connection the removal waits for it") {
        scene_release();
        scene_cut();
        CHECK_IS(scene_shared(ZKL_DONE), 0); /* on its way before the cut */
        CHECK_IS(s.claim.state, ZKL_LEAVE);
        CHECK_IS(scene_resume(), ZKL_DO_REMOVE);
    }
}

static void interrupted(void) {
    TEST("the clock's end is a loss at once; the node is removed when its name is known") {
        CHECK_IS(scene_tick(T - 1), 0);
        CHECK_IS(scene_tick(1), ZKL_DO_LOSE);
        CHECK_IS(s.claim.state, ZKL_DOWNGRADE);
        CHECK(!zkl_claim_holds(&s.claim));
        CHECK_IS(scene_tick(T), 0);
        CHECK_IS(scene_shared(ZKL_DONE), ZKL_DO_REMOVE);
        CHECK_IS(scene_removed(ZKL_DONE), ZKL_DO_FORGET);
        CHECK_IS(s.losses, 1);
    }
    TEST("the writer's node is to go: its events and gets say nothing") {
        s.claim.node.watched = true;
        CHECK_IS(scene_own_deleted(), 0);
        CHECK_IS(scene_own_changed(), 0);
        CHECK_IS(scene_got_own(ZKL_ABSENT, 0) | scene_got_own(ZKL_REFUSED, 0), 0);
        CHECK_IS(scene_got_own(ZKL_DONE, 1042) | scene_got_own(ZKL_UNKNOWN, 0), 0);
        CHECK_IS(LISTED(BEHIND) | scene_list_fails(ZKL_ABSENT, ZKL_NO_NODE), 0);
        CHECK_IS(s.claim.state, ZKL_DOWNGRADE);
        CHECK_IS(scene_shared(ZKL_DONE), ZKL_DO_DOWNGRADED);
    }
    TEST("a try that became a holder downgrades, and outlasts a cut") {
        scene_reach_as(ZKL_WRITE, ZKL_TRY, ZKL_NEVER);
        LISTED("config");
        scene_created(42, 1042);
        LISTED(s.claim.node.name);
        CHECK_IS(scene_share(), ZKL_DO_DOWNGRADE);
        CHECK_IS(scene_cut(), 0);
        scene_shared(ZKL_UNKNOWN);
        CHECK_IS(scene_resume(), ZKL_DO_DOWNGRADE);
        CHECK_IS(scene_shared(ZKL_DONE), ZKL_DO_DOWNGRADED);
    }
}

/* Each test begins so, if it does not begin otherwise. */
static void downgrade_is_out(void) {
    scene_reach(ZKL_DOWNGRADE);
}

int main(void) {
    check_before(downgrade_is_out);
    readers();
    tries();
    asking();
    answered();
    given_up();
    interrupted();
    return check_report();
}
