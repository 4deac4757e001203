/*
 * claim_share_test.c - readers and writers: who passes whom, what a try takes, and a
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
static const char *node(const struct scene *s, enum zkl_kind kind) {
    static char name[2 * ZKL_NAME_SIZE];
    zkl_name_prefix(name, kind, SESSION, s->claim.nonce);
    snprintf(name + strlen(name), ZKL_NAME_SIZE, "%010d", 42);
    return name;
}

/* --- the line ------------------------------------------------------------------------------ */

static void readers(void) {
    struct scene s;
    TEST("a reader passes over readers") {
        scene_reach_as(&s, ZKL_READ, ZKL_LIST, ZKL_NEVER);
        CHECK_IS(LISTED(&s, READER40, READER41, s.claim.name, BEHIND), ZKL_DO_GRANT);
        scene_close(&s);
    }
    TEST("a reader waits for the nearest writer or mutex, however many readers are between") {
        static const char *const ahead[] = {WRITER39, MUTEX39};
        for (size_t i = 0; i < 2; i++) {
            scene_reach_as(&s, ZKL_READ, ZKL_LIST, ZKL_NEVER);
            CHECK_IS(LISTED(&s, "lock-0000000007", ahead[i], READER40, READER41, s.claim.name),
                     TOLD);
            CHECK_TEXT(s.claim.ahead->name, ahead[i]);
            scene_close(&s);
        }
    }
    TEST("a reader is let in when the writer goes, with the readers still there") {
        scene_reach_as(&s, ZKL_READ, ZKL_LIST, ZKL_NEVER);
        LISTED(&s, WRITER39, READER40, s.claim.name);
        CHECK_IS(scene_ahead_deleted(&s), ZKL_DO_LIST); /* it may have left a reader */
        CHECK_IS(LISTED(&s, "__READ__0000000039", READER40, s.claim.name), ZKL_DO_GRANT);
        scene_close(&s);
        scene_reach_as(&s, ZKL_READ, ZKL_LIST, ZKL_NEVER);
        LISTED(&s, MUTEX39, READER40, s.claim.name);
        CHECK_IS(scene_ahead_deleted(&s), ZKL_DO_GRANT);
        scene_close(&s);
    }
    TEST("a writer and a mutex wait for everybody ahead, readers too") {
        static const enum zkl_kind kinds[] = {ZKL_WRITE, ZKL_MUTEX};
        for (size_t i = 0; i < 2; i++) {
            scene_reach_as(&s, kinds[i], ZKL_LIST, ZKL_NEVER);
            CHECK_IS(LISTED(&s, READER40, READER41, s.claim.name), TOLD);
            CHECK_TEXT(s.claim.ahead->name, READER41);
            CHECK_IS(scene_ahead_deleted(&s), ZKL_DO_WATCH_AHEAD);
            CHECK_TEXT(s.claim.ahead->name, READER40);
            CHECK_IS(scene_ahead_deleted(&s), ZKL_DO_GRANT);
            scene_close(&s);
        }
    }
    TEST("past the end of the counter, too, readers pass over readers only") {
        scene_reach_as(&s, ZKL_READ, ZKL_LIST, ZKL_NEVER);
        LISTED(&s, "a-lock-2147483647", "b__READ__2147483647", s.claim.name);
        scene_ask_ranks(&s);
        scene_ranked(&s, "a-lock-2147483647", ZKL_DONE, 7);
        CHECK_IS(scene_ranked(&s, "b__READ__2147483647", ZKL_DONE, 8), TOLD);
        CHECK_TEXT(s.claim.ahead->name, "a-lock-2147483647");
        CHECK_IS(scene_ahead_deleted(&s), ZKL_DO_GRANT);
        scene_close(&s);
        scene_reach_as(&s, ZKL_WRITE, ZKL_LIST, ZKL_NEVER);
        LISTED(&s, "b__READ__2147483647", s.claim.name, "c__READ__2147483647");
        scene_ask_ranks(&s);
        scene_ranked(&s, "b__READ__2147483647", ZKL_DONE, 8);
        CHECK_IS(scene_ranked(&s, "c__READ__2147483647", ZKL_DONE, 2000), TOLD);
        scene_close(&s);
    }
}

static void tries(void) {
    struct scene s;
    TEST("a reader's try takes a lock that only readers hold") {
        scene_reach_as(&s, ZKL_READ, ZKL_TRY, ZKL_NEVER);
        CHECK_IS(LISTED(&s, READER40, READER41), ZKL_DO_CREATE | ZKL_DO_LIST);
        scene_created(&s, 42, 1042);
        CHECK_IS(LISTED(&s, READER40, READER41, s.claim.name), ZKL_DO_GRANT);
        scene_close(&s);
    }
    TEST("a reader's try does not pass a writer that waits") {
        scene_reach_as(&s, ZKL_READ, ZKL_TRY, ZKL_NEVER);
        CHECK_IS(LISTED(&s, READER40, WRITER), ZKL_DO_FAIL | ZKL_DO_FORGET);
        CHECK_IS(s.claim.code, ZKL_TIMEOUT);
        scene_close(&s);
    }
    TEST("a reader's try that a writer forestalls removes its node") {
        scene_reach_as(&s, ZKL_READ, ZKL_TRY, ZKL_NEVER);
        LISTED(&s, READER40);
        scene_created(&s, 42, 1042);
        CHECK_IS(LISTED(&s, READER40, WRITER, s.claim.name), ZKL_DO_FAIL | ZKL_DO_REMOVE);
        scene_close(&s);
    }
    TEST("a writer's try, and a mutex's, does not take what readers hold") {
        static const enum zkl_kind kinds[] = {ZKL_WRITE, ZKL_MUTEX};
        for (size_t i = 0; i < 2; i++) {
            scene_reach_as(&s, kinds[i], ZKL_TRY, ZKL_NEVER);
            CHECK_IS(LISTED(&s, READER40), ZKL_DO_FAIL | ZKL_DO_FORGET);
            scene_close(&s);
        }
    }
}

/* --- a writer becomes a reader -------------------------------------------------------------- */

static void asking(void) {
    struct scene s;
    TEST("a writer that shares asks once, and holds meanwhile") {
        scene_reach_as(&s, ZKL_WRITE, ZKL_HELD, ZKL_NEVER);
        CHECK_IS(scene_share(&s), ZKL_DO_DOWNGRADE);
        CHECK_IS(s.claim.state, ZKL_DOWNGRADE);
        CHECK(zkl_claim_holds(&s.claim) && !s.claim.stalled);
        CHECK_IS(scene_share(&s), 0);
        CHECK_IS(zkl_claim_beat(&s.claim, s.now), 0); /* it is out already */
        CHECK_IS(s.claim.kind, ZKL_WRITE);
        scene_close(&s);
    }
    TEST("without a connection it asks when that is back") {
        scene_reach_as(&s, ZKL_WRITE, ZKL_HELD, ZKL_NEVER);
        scene_cut(&s);
        CHECK_IS(scene_share(&s), 0);
        CHECK(zkl_claim_holds(&s.claim) && s.claim.stalled);
        CHECK_IS(scene_resume(&s), ZKL_DO_DOWNGRADE);
        scene_close(&s);
    }
    TEST("only what is held is shared") {
        for (int state = ZKL_NEW; state <= ZKL_GONE; state++) {
            if (state == ZKL_HELD) continue;
            scene_reach_as(&s, ZKL_WRITE, (enum zkl_claim_state)state, ZKL_NEVER);
            CHECK_CASE("%s", scene_states[state]);
            CHECK_IS(scene_share(&s), 0);
            CHECK_IS(s.claim.state, state);
            scene_close(&s);
        }
    }
    TEST("only a writer shares, and with a number far from the end of the counter") {
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
            scene_open(&s, cases[i].kind, ZKL_NEVER, false);
            s.claim.sequence = cases[i].sequence;
            CHECK_CASE("kind %d, number %" PRId32, (int)cases[i].kind, cases[i].sequence);
            CHECK_IS(zkl_claim_may_downgrade(&s.claim), cases[i].may);
            scene_close(&s);
        }
        CHECK(INT32_MAX - ZKL_DOWNGRADE_LIMIT >= 1 << 24);
    }
}

static void answered(void) {
    struct scene s;
    TEST("done: it is a reader, with the writer's number and token") {
        scene_reach(&s, ZKL_DOWNGRADE, ZKL_NEVER);
        s.claim.own_watched = true;
        CHECK_IS(scene_shared(&s, ZKL_DONE), ZKL_DO_DOWNGRADED);
        CHECK_IS(s.claim.state, ZKL_HELD);
        CHECK_IS(s.claim.kind, ZKL_READ);
        CHECK_IS(s.claim.refusal, ZKL_OK);
        CHECK_IS(s.claim.czxid, 1042);
        CHECK_IS(s.claim.sequence, 42);
        CHECK_TEXT(s.claim.name, node(&s, ZKL_READ));
        CHECK(!zkl_claim_may_downgrade(&s.claim));
        CHECK_IS(zkl_claim_beat(&s.claim, s.now), ZKL_DO_WATCH_OWN); /* the new node */
        CHECK_IS(scene_release(&s), ZKL_DO_REMOVE);
        scene_close(&s);
    }
    TEST("the line does not know the reader yet: a list comes before the next grant") {
        struct zkl_claim next;
        scene_reach(&s, ZKL_DOWNGRADE, ZKL_NEVER);
        zkl_claim_init(&next, &s.common, &s.line, ZKL_WRITE, ZKL_NEVER, false);
        zkl_claim_start(&next);
        zkl_claim_created(&next, ZKL_DONE, ZKL_OK, scene_name_of(&next, 43), 1043);
        LINE(&s, s.claim.name, next.name);
        zkl_claim_listed(&next, ZKL_DONE, ZKL_OK, s.now);
        struct zkl_contender *writer = zkl_contender_hold(next.ahead);
        scene_shared(&s, ZKL_DONE);
        CHECK(!zkl_line_find(&s.line, writer->name) && s.line.incomplete);
        CHECK_IS(zkl_claim_ahead_deleted(&next, writer, s.now), ZKL_DO_LIST);
        LINE(&s, s.claim.name, next.name);
        CHECK(zkl_claim_listed(&next, ZKL_DONE, ZKL_OK, s.now) & ZKL_DO_WATCH_AHEAD);
        CHECK_TEXT(next.ahead->name, s.claim.name);
        CHECK(!zkl_line_orphan(&s.line, SESSION));
        zkl_contender_drop(writer);
        zkl_claim_detach(&next);
        scene_close(&s);
    }
    TEST("refused: it stays a writer, says why, and may ask again") {
        scene_reach(&s, ZKL_DOWNGRADE, ZKL_NEVER);
        s.claim.own_watched = true;
        CHECK_IS(scene_shared(&s, ZKL_REFUSED), ZKL_DO_DOWNGRADED);
        CHECK_IS(s.claim.state, ZKL_HELD);
        CHECK_IS(s.claim.kind, ZKL_WRITE);
        CHECK_IS(s.claim.refusal, ZKL_AUTH);
        CHECK_TEXT(s.claim.name, node(&s, ZKL_WRITE));
        CHECK(zkl_line_find(&s.line, s.claim.name) && !s.line.incomplete);
        CHECK_IS(zkl_claim_beat(&s.claim, s.now), ZKL_DO_WATCH_OWN); /* events were ignored */
        CHECK_IS(scene_share(&s), ZKL_DO_DOWNGRADE);
        CHECK_IS(s.claim.refusal, ZKL_OK);
        scene_close(&s);
    }
    TEST("absent: somebody removed the writer's node, so it has lost") {
        scene_reach(&s, ZKL_DOWNGRADE, ZKL_NEVER);
        CHECK_IS(scene_shared(&s, ZKL_ABSENT), ZKL_DO_LOSE | ZKL_DO_FORGET);
        CHECK_IS(s.claim.code, ZKL_LOST);
        CHECK_IS(s.line.count, 0);
        CHECK_IS(scene_shared(&s, ZKL_DONE), 0);
        scene_close(&s);
    }
    TEST("unknown: it holds on, and asks again until it is known") {
        scene_reach(&s, ZKL_DOWNGRADE, ZKL_NEVER);
        for (int i = 0; i < 3; i++) {
            CHECK_IS(scene_shared(&s, ZKL_UNKNOWN), 0);
            CHECK(zkl_claim_holds(&s.claim) && s.claim.stalled);
            CHECK_IS(s.claim.kind, ZKL_WRITE);
            CHECK_IS(i % 2 ? zkl_claim_beat(&s.claim, s.now) : scene_resume(&s), ZKL_DO_DOWNGRADE);
        }
        CHECK_IS(scene_shared(&s, ZKL_DONE), ZKL_DO_DOWNGRADED);
        CHECK_IS(s.claim.kind, ZKL_READ);
        scene_close(&s);
    }
    TEST("refused, after one of unknown outcome: that may be a reader's node, so it asks again") {
        scene_reach(&s, ZKL_DOWNGRADE, ZKL_NEVER);
        scene_shared(&s, ZKL_UNKNOWN);
        scene_resume(&s);
        CHECK_IS(scene_shared(&s, ZKL_REFUSED), 0);
        CHECK(zkl_claim_holds(&s.claim) && s.claim.stalled);
        CHECK_IS(zkl_claim_beat(&s.claim, s.now), ZKL_DO_DOWNGRADE);
        CHECK_IS(scene_shared(&s, ZKL_DONE), ZKL_DO_DOWNGRADED);
        CHECK_IS(s.claim.kind, ZKL_READ);
        scene_close(&s);
        scene_reach(&s, ZKL_DOWNGRADE, ZKL_NEVER);
        scene_release(&s);
        scene_shared(&s, ZKL_UNKNOWN);
        scene_resume(&s);
        CHECK_IS(scene_shared(&s, ZKL_REFUSED), 0);
        CHECK_IS(scene_resume(&s), ZKL_DO_DOWNGRADE);
        CHECK_IS(scene_shared(&s, ZKL_DONE), ZKL_DO_REMOVE);
        CHECK_TEXT(s.claim.name, node(&s, ZKL_READ));
        scene_close(&s);
    }
    TEST("a reply that nobody waits for does nothing") {
        for (int state = ZKL_NEW; state <= ZKL_GONE; state++) {
            if (state == ZKL_DOWNGRADE) continue;
            scene_reach_as(&s, ZKL_WRITE, (enum zkl_claim_state)state, ZKL_NEVER);
            CHECK_CASE("%s", scene_states[state]);
            CHECK_IS(scene_shared(&s, ZKL_DONE) | scene_shared(&s, ZKL_ABSENT), 0);
            CHECK_IS(s.claim.state, state);
            CHECK_IS(s.claim.kind, s.claim.waits ? ZKL_MUTEX : ZKL_WRITE);
            scene_close(&s);
        }
    }
}

/* The node that is there is removed, under its own name. */
static void given_up(void) {
    struct scene s;
    TEST("what is given up while it shares is removed once its name is known") {
        static const enum zkl_reply replies[] = {ZKL_DONE, ZKL_REFUSED};
        static const enum zkl_kind kinds[] = {ZKL_READ, ZKL_WRITE};
        for (size_t i = 0; i < 2; i++) {
            scene_reach(&s, ZKL_DOWNGRADE, ZKL_NEVER);
            CHECK_IS(scene_release(&s), 0);
            CHECK(!zkl_claim_holds(&s.claim) && !s.claim.wanted);
            CHECK_IS(s.claim.state, ZKL_DOWNGRADE);
            CHECK_IS(scene_shared(&s, replies[i]), ZKL_DO_REMOVE);
            CHECK_TEXT(s.claim.name, node(&s, kinds[i]));
            CHECK_IS(scene_removed(&s, ZKL_DONE), ZKL_DO_FORGET);
            CHECK_IS(s.losses + s.shared, 0);
            scene_close(&s);
        }
    }
    TEST("what is given up while it shares, and is gone, is no loss") {
        scene_reach(&s, ZKL_DOWNGRADE, ZKL_NEVER);
        scene_release(&s);
        CHECK_IS(scene_shared(&s, ZKL_ABSENT), ZKL_DO_FORGET);
        CHECK_IS(s.claim.code, ZKL_OK);
        scene_close(&s);
    }
    TEST("what is given up while nothing is known asks again, then removes") {
        scene_reach(&s, ZKL_DOWNGRADE, ZKL_NEVER);
        scene_cut(&s);
        scene_shared(&s, ZKL_UNKNOWN);
        CHECK_IS(scene_release(&s), 0);
        CHECK_IS(scene_resume(&s), ZKL_DO_DOWNGRADE);
        CHECK_IS(scene_shared(&s, ZKL_UNKNOWN), 0);
        CHECK_IS(zkl_claim_beat(&s.claim, s.now), ZKL_DO_DOWNGRADE);
        CHECK_IS(scene_shared(&s, ZKL_DONE), ZKL_DO_REMOVE);
        CHECK_TEXT(s.claim.name, node(&s, ZKL_READ));
        scene_close(&s);
    }
    TEST("without a connection the removal waits for it") {
        scene_reach(&s, ZKL_DOWNGRADE, ZKL_NEVER);
        scene_release(&s);
        scene_cut(&s);
        CHECK_IS(scene_shared(&s, ZKL_DONE), 0); /* on its way before the cut */
        CHECK_IS(s.claim.state, ZKL_LEAVE);
        CHECK_IS(scene_resume(&s), ZKL_DO_REMOVE);
        scene_close(&s);
    }
}

static void interrupted(void) {
    struct scene s;
    TEST("the clock's end is a loss at once; the node is removed when its name is known") {
        scene_reach(&s, ZKL_DOWNGRADE, ZKL_NEVER);
        CHECK_IS(scene_tick(&s, T - 1), 0);
        CHECK_IS(scene_tick(&s, 1), ZKL_DO_LOSE);
        CHECK_IS(s.claim.state, ZKL_DOWNGRADE);
        CHECK(!zkl_claim_holds(&s.claim));
        CHECK_IS(scene_tick(&s, T), 0);
        CHECK_IS(scene_shared(&s, ZKL_DONE), ZKL_DO_REMOVE);
        CHECK_IS(scene_removed(&s, ZKL_DONE), ZKL_DO_FORGET);
        CHECK_IS(s.losses, 1);
        scene_close(&s);
    }
    TEST("expiry is told to a holder, and not to one that gave up or lost before") {
        scene_reach(&s, ZKL_DOWNGRADE, ZKL_NEVER);
        CHECK_IS(scene_did(&s, zkl_claim_expire(&s.claim)), ZKL_DO_LOSE | ZKL_DO_FORGET);
        scene_close(&s);
        scene_reach(&s, ZKL_DOWNGRADE, ZKL_NEVER);
        scene_release(&s);
        CHECK_IS(scene_did(&s, zkl_claim_expire(&s.claim)), ZKL_DO_FORGET);
        scene_close(&s);
        scene_reach(&s, ZKL_DOWNGRADE, ZKL_NEVER);
        scene_tick(&s, T);
        CHECK_IS(scene_did(&s, zkl_claim_expire(&s.claim)), ZKL_DO_FORGET);
        CHECK_IS(s.losses, 1);
        scene_close(&s);
    }
    TEST("the writer's node is to go: its events and gets say nothing") {
        scene_reach(&s, ZKL_DOWNGRADE, ZKL_NEVER);
        s.claim.own_watched = true;
        CHECK_IS(scene_did(&s, zkl_claim_own_deleted(&s.claim)), 0);
        CHECK_IS(scene_did(&s, zkl_claim_own_changed(&s.claim)), 0);
        CHECK_IS(scene_got_own(&s, ZKL_ABSENT, 0) | scene_got_own(&s, ZKL_REFUSED, 0), 0);
        CHECK_IS(scene_got_own(&s, ZKL_DONE, 1042) | scene_got_own(&s, ZKL_UNKNOWN, 0), 0);
        CHECK_IS(LISTED(&s, BEHIND) | scene_list_fails(&s, ZKL_ABSENT, ZKL_NO_NODE), 0);
        CHECK_IS(s.claim.state, ZKL_DOWNGRADE);
        CHECK_IS(scene_shared(&s, ZKL_DONE), ZKL_DO_DOWNGRADED);
        scene_close(&s);
    }
    TEST("a try that became a holder shares, and outlasts a cut") {
        scene_reach_as(&s, ZKL_WRITE, ZKL_TRY, ZKL_NEVER);
        LISTED(&s, "config");
        scene_created(&s, 42, 1042);
        LISTED(&s, s.claim.name);
        CHECK_IS(scene_share(&s), ZKL_DO_DOWNGRADE);
        CHECK_IS(scene_cut(&s), 0);
        scene_shared(&s, ZKL_UNKNOWN);
        CHECK_IS(scene_resume(&s), ZKL_DO_DOWNGRADE);
        CHECK_IS(scene_shared(&s, ZKL_DONE), ZKL_DO_DOWNGRADED);
        scene_close(&s);
    }
}

int main(void) {
    readers();
    tries();
    asking();
    answered();
    given_up();
    interrupted();
    return check_report();
}
