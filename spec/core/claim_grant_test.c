/*
 * claim_grant_test.c - the way to the grant: tries, places in the line, hand-off,
 * exhausted counters, and what a holder learns of its node.
 * PIT-01 PIT-08 PIT-10 PIT-22, BUG-03 BUG-11 BUG-12, DEMO-16, Q-02 Q-05.
 */
#include "scene.h"

static void entering(void) {
    TEST("a claim without a connection asks nothing, and starts when it is there (PIT-03)") {
        scene_reach(ZKL_NEW);
        CHECK(s.claim.stalled);
        CHECK_IS(scene_resume(), ZKL_DO_CREATE | ZKL_DO_LIST);
        CHECK_IS(s.claim.state, ZKL_CREATE);
        CHECK(!s.claim.stalled);
    }
    TEST("a free lock is granted after one flight of create and list") {
        scene_open(ZKL_MUTEX, ZKL_NEVER, false);
        CHECK_IS(scene_start(), ZKL_DO_CREATE | ZKL_DO_LIST);
        CHECK_IS(scene_created(42, 1042), 0);
        CHECK_IS(LISTED(s.claim.node.name, BEHIND), ZKL_DO_GRANT);
        CHECK_IS(s.claim.state, ZKL_HELD);
        CHECK_IS(s.claim.node.czxid, 1042);
        CHECK_IS(s.claim.epoch, s.common.clock.epoch);
    }
    TEST("an attempt has the name of its kind, session and nonce, without a number") {
        for (enum zkl_kind kind = ZKL_MUTEX; kind <= ZKL_PERMIT; kind++) {
            char name[2 * ZKL_NAME_SIZE];
            if (zkl_kind_is_fixed(kind)) continue;
            scene_enter(kind);
            snprintf(name, sizeof name, "%s0000000007", s.claim.node.name);
            CHECK_TEXT(name, scene_name(7));
        }
    }
    TEST("its nonce tells whether its tokens count grants, and whether it may be kept") {
        for (int i = 0; i < 3; i++) {
            scene_open(ZKL_MUTEX, ZKL_NEVER, false);
            if (i == 1) zkl_claim_count(&s.claim);
            if (i == 2) zkl_claim_keep(&s.claim, ZKL_SECOND, s.now);
            scene_start();
            CHECK_IS((s.claim.node.nonce & ZKL_NONCE_COUNTS) != 0, i == 1);
            CHECK_IS((s.claim.node.nonce & ZKL_NONCE_KEEPS) != 0, i == 2);
        }
    }
    TEST("a list counts only if its own create succeeded") {
        static const enum zkl_reply replies[] = {ZKL_ABSENT, ZKL_UNKNOWN};
        for (size_t i = 0; i < 2; i++) {
            scene_enter(ZKL_MUTEX);
            scene_create_fails(replies[i], ZKL_OK);
            CHECK_IS(LISTED(scene_name(42)), 0);
            CHECK_IS(s.grants, 0);
        }
        scene_enter(ZKL_MUTEX);
        CHECK_IS(LISTED(scene_name(42)), 0); /* before its create */
    }
    TEST("a missing path is made, and the create repeated under a new nonce") {
        scene_enter(ZKL_MUTEX);
        uint64_t nonce = s.claim.node.nonce;
        CHECK_IS(scene_create_fails(ZKL_ABSENT, ZKL_NO_NODE),
                 ZKL_DO_PARENTS | ZKL_DO_CREATE | ZKL_DO_LIST);
        CHECK(s.claim.node.nonce != nonce);
        CHECK_IS(scene_list_fails(ZKL_ABSENT, ZKL_NO_NODE), 0); /* of the first flight */
        zkl_claim_parents(&s.claim, ZKL_DONE, ZKL_OK);
        scene_created(0, 7);
        CHECK_IS(LISTED(s.claim.node.name), ZKL_DO_GRANT);
    }
    TEST("of several refusals the first is the reason: it is the topmost parent's") {
        static const enum zkl_reply replies[] = {ZKL_REFUSED, ZKL_ABSENT};
        for (size_t i = 0; i < 2; i++) {
            scene_enter(ZKL_MUTEX);
            scene_create_fails(ZKL_ABSENT, ZKL_NO_NODE);
            zkl_claim_parents(&s.claim, replies[i], ZKL_CONFLICT);
            zkl_claim_parents(&s.claim, ZKL_REFUSED, ZKL_AUTH);
            CHECK_IS(scene_create_fails(ZKL_ABSENT, ZKL_OK), ZKL_DO_FAIL | ZKL_DO_FORGET);
            CHECK_IS(s.claim.code, ZKL_CONFLICT);
        }
    }
    TEST("parents that were made, or whose replies were lost, are no refusal") {
        static const enum zkl_reply replies[] = {ZKL_DONE, ZKL_UNKNOWN};
        for (size_t i = 0; i < 2; i++) {
            scene_enter(ZKL_MUTEX);
            scene_create_fails(ZKL_ABSENT, ZKL_NO_NODE);
            zkl_claim_parents(&s.claim, replies[i], ZKL_UNSUPPORTED);
            CHECK(scene_create_fails(ZKL_ABSENT, ZKL_NO_NODE) & ZKL_DO_PARENTS);
            CHECK_IS(s.fails, 0);
        }
    }
    TEST("a refusal that did not matter is forgotten: parents may be missing again") {
        scene_enter(ZKL_MUTEX);
        scene_create_fails(ZKL_ABSENT, ZKL_NO_NODE);
        zkl_claim_parents(&s.claim, ZKL_REFUSED, ZKL_AUTH);
        scene_created(0, 7);
        LISTED("config"); /* its node is gone: it enters again */
        CHECK(scene_create_fails(ZKL_ABSENT, ZKL_NO_NODE) & ZKL_DO_PARENTS);
        CHECK_IS(s.fails, 0);
    }
}

static void tries(void) {
    TEST("a try on a taken lock writes nothing") {
        scene_open(ZKL_MUTEX, ZKL_NEVER, true);
        CHECK_IS(scene_start(), ZKL_DO_LIST);
        CHECK(!s.claim.stalled); /* a heartbeat does not ask again */
        CHECK_IS(LISTED(AHEAD), ZKL_DO_FAIL | ZKL_DO_FORGET);
        CHECK_IS(s.claim.code, ZKL_BUSY);
    }
    TEST("a try on a free lock takes it, also where no path is yet") {
        scene_reach(ZKL_TRY);
        CHECK_IS(LISTED("config"), ZKL_DO_CREATE | ZKL_DO_LIST);
        scene_created(42, 1042);
        CHECK_IS(LISTED(s.claim.node.name), ZKL_DO_GRANT);
        scene_reach(ZKL_TRY);
        CHECK_IS(scene_list_fails(ZKL_ABSENT, ZKL_NO_NODE),
                 ZKL_DO_PARENTS | ZKL_DO_CREATE | ZKL_DO_LIST);
    }
    TEST("a try that loses the race removes its node (BUG-03)") {
        scene_reach(ZKL_TRY);
        LISTED("config");
        scene_created(42, 1042);
        CHECK_IS(LISTED(AHEAD, s.claim.node.name), ZKL_DO_FAIL | ZKL_DO_REMOVE);
        CHECK_IS(s.claim.code, ZKL_BUSY);
        CHECK_IS(scene_removed(ZKL_DONE), ZKL_DO_FORGET);
        CHECK_IS(s.queued, 0);
    }
    TEST("a try that loses the race past the end of the counter removes its node") {
        scene_reach(ZKL_TRY);
        LISTED("config");
        scene_created(INT32_MAX, 1042);
        CHECK_IS(LISTED(LIMITED, s.claim.node.name), ZKL_DO_RANK);
        CHECK_IS(scene_ranked(LIMITED, ZKL_DONE, 1000), ZKL_DO_FAIL | ZKL_DO_REMOVE);
        CHECK_IS(s.claim.code, ZKL_BUSY);
    }
    TEST("a line counts its tries, until they are gone") {
        scene_open(ZKL_MUTEX, ZKL_NEVER, true);
        zkl_claim_init(&s.second, &s.line, ZKL_MUTEX, ZKL_NEVER, true);
        CHECK_IS(s.line.tries, 2);
        scene_detach(&s.second);
        CHECK_IS(s.line.tries, 1);
    }
    TEST("a try whose node somebody removes fails, and does not queue again") {
        scene_open(ZKL_MUTEX, ZKL_NEVER, true);
        scene_start();
        LISTED("config");
        scene_created(42, 1042);
        CHECK_IS(LISTED(BEHIND), ZKL_DO_FAIL | ZKL_DO_FORGET);
        CHECK_IS(s.claim.code, ZKL_TIMEOUT);
    }
}

static void waiting(void) {
    TEST("a claim watches the nearest contender ahead, and its own node (PIT-01)") {
        CHECK_IS(LISTED("lock-0000000007", WRITER, s.claim.node.name, BEHIND),
                 ZKL_DO_WATCH_AHEAD | ZKL_DO_WATCH_OWN | ZKL_DO_QUEUED);
        CHECK_TEXT(s.claim.ahead->name, WRITER);
    }
    TEST("foreign children and those behind keep nobody waiting") {
        CHECK_IS(LISTED("ex0000000001", s.claim.node.name, "-foreign", BEHIND), ZKL_DO_GRANT);
    }
    TEST("the second in line is granted when the first goes, without a request") {
        scene_reach(ZKL_WAIT);
        CHECK_IS(scene_got_own(ZKL_DONE, 1042) | scene_got_ahead(ZKL_DONE), 0);
        CHECK_IS(scene_ahead_deleted(), ZKL_DO_GRANT);
        CHECK(!s.claim.ahead && s.claim.node.watched);
    }
    TEST("a predecessor that vanished before it was watched is no matter (PIT-08, Q-05)") {
        scene_reach(ZKL_WAIT);
        CHECK_IS(scene_got_ahead(ZKL_ABSENT), ZKL_DO_GRANT);
    }
    TEST("a predecessor that was only waiting lets nobody in (BUG-12)") {
        LISTED("lock-0000000007", AHEAD, s.claim.node.name);
        CHECK_IS(scene_ahead_deleted(), 0); /* it is watched already: lookahead_test.c */
        CHECK_TEXT(s.claim.ahead->name, "lock-0000000007");
        CHECK_IS(s.queued, 1);
        CHECK_IS(scene_ahead_deleted(), ZKL_DO_GRANT);
    }
    TEST("behind two that may be gone there is one look at both, not a walk") {
        LISTED("lock-0000000006", "lock-0000000007", AHEAD, s.claim.node.name);
        CHECK_IS(scene_ahead_deleted(), ZKL_DO_LIST);
        CHECK_IS(LISTED(s.claim.node.name), ZKL_DO_GRANT);
    }
    TEST("in a long line the look at a few is gets in one flight, and all gone is a grant") {
        scene_long_line(2, 6);
        CHECK_IS(scene_ahead_deleted(), ZKL_DO_RANK);
        CHECK_IS(s.claim.ranks, 2);
        CHECK_IS(scene_ranked("lock-0000000000", ZKL_ABSENT, 0), 0);
        CHECK_IS(scene_ranked("lock-0000000001", ZKL_ABSENT, 0), ZKL_DO_GRANT);
    }
    TEST("of a few that it looked at the nearest that is left is watched, the others are not") {
        scene_long_line(3, 12);
        CHECK_IS(scene_ahead_deleted(), ZKL_DO_RANK);
        CHECK_IS(scene_ranked("lock-0000000000", ZKL_DONE, 900), 0);
        CHECK_IS(scene_ranked("lock-0000000001", ZKL_REFUSED, 0), 0); /* but it is there */
        CHECK_IS(scene_ranked("lock-0000000002", ZKL_ABSENT, 0),
                 ZKL_DO_WATCH_AHEAD | ZKL_DO_WATCH_LOOKAHEAD);
        CHECK_TEXT(s.claim.ahead->name, "lock-0000000001");
        CHECK_IS(scene_ahead_deleted(), 0);
        CHECK_TEXT(s.claim.ahead->name, "lock-0000000000");
    }
    TEST("a get counts as much as the names of four") {
        scene_long_line(2, 5);
        CHECK_IS(scene_ahead_deleted(), ZKL_DO_RANK);
        scene_long_line(2, 4);
        CHECK_IS(scene_ahead_deleted(), ZKL_DO_LIST);
    }
    TEST("more than eight are looked at with a list, however long the line is") {
        scene_long_line(8, 40);
        CHECK_IS(scene_ahead_deleted(), ZKL_DO_RANK);
        scene_long_line(9, 40);
        CHECK_IS(scene_ahead_deleted(), ZKL_DO_LIST);
    }
    TEST("a look whose reply is lost is repeated, by a list once the connection was cut") {
        scene_long_line(2, 6);
        scene_ahead_deleted();
        CHECK_IS(scene_ranked("lock-0000000000", ZKL_ABSENT, 0), 0);
        CHECK_IS(scene_ranked("lock-0000000001", ZKL_UNKNOWN, 0), 0);
        CHECK(s.claim.stalled);
        CHECK_IS(scene_resume(), ZKL_DO_WATCH_AHEAD); /* of one, that tells as well */
        scene_long_line(2, 6);
        scene_ahead_deleted();
        scene_cut();
        scene_ranked("lock-0000000000", ZKL_UNKNOWN, 0);
        scene_ranked("lock-0000000001", ZKL_UNKNOWN, 0);
        CHECK_IS(scene_resume(), ZKL_DO_LIST);
    }
    TEST("behind a writer there is always a list: it may have left a reader behind") {
        LISTED(WRITER, s.claim.node.name);
        CHECK_IS(scene_ahead_deleted(), ZKL_DO_LIST);
        CHECK_IS(s.claim.state, ZKL_LIST);
        CHECK_IS(LISTED("__READ__0000000041", s.claim.node.name), ZKL_DO_WATCH_AHEAD);
        CHECK_IS(scene_ahead_deleted(), ZKL_DO_GRANT);
        scene_reach(ZKL_LIST);
        LISTED(WRITER, s.claim.node.name);
        CHECK_IS(scene_got_ahead(ZKL_ABSENT), ZKL_DO_LIST);
        CHECK_IS(LISTED(s.claim.node.name), ZKL_DO_GRANT);
    }
    TEST("a changed node of one's own is watched again, wherever its claim is") {
        for (int state = ZKL_RECOVER_STAT; state <= ZKL_HELD; state++) {
            if (state == ZKL_RETREAT) continue; /* it is going */
            scene_reach((enum zkl_claim_state)state);
            CHECK_CASE("%s", scene_states[state]);
            CHECK_IS(scene_own_changed(), ZKL_DO_WATCH_OWN);
            CHECK_IS(s.claim.state, state);
        }
    }
    TEST("a changed predecessor is watched again: the event used the watch up (PIT-05)") {
        scene_reach(ZKL_WAIT);
        CHECK_IS(scene_did(zkl_claim_ahead_changed(&s.claim, s.claim.ahead)), ZKL_DO_WATCH_AHEAD);
        CHECK_IS(s.claim.state, ZKL_WAIT);
    }
    TEST("each event lets a claim ask again that asked too often") {
        for (int i = 0; i < 3; i++) {
            scene_reach(ZKL_LIST);
            LISTED("lock-0000000006", "lock-0000000007", AHEAD, s.claim.node.name);
            s.claim.rounds = ZKL_ROUNDS;
            if (i == 0) CHECK_IS(scene_own_deleted(), ZKL_DO_CREATE | ZKL_DO_LIST);
            if (i == 1) CHECK_IS(scene_ahead_deleted(), ZKL_DO_LIST);
            if (i == 2) scene_did(zkl_claim_ahead_changed(&s.claim, s.claim.ahead));
            CHECK_IS(s.claim.rounds, i < 2); /* the one that it began */
        }
    }
    TEST("news of a contender further ahead wakes nobody (PIT-01)") {
        LISTED("lock-0000000006", "lock-0000000007", AHEAD, s.claim.node.name); /* s.other is 6 */
        CHECK_IS(zkl_claim_ahead_changed(&s.claim, s.other), 0);
        CHECK_IS(zkl_claim_got_ahead(&s.claim, s.other, ZKL_ABSENT, ZKL_OK, s.now), 0);
        CHECK_IS(zkl_claim_got_ahead(&s.claim, s.other, ZKL_REFUSED, ZKL_AUTH, s.now), 0);
        zkl_line_forget(&s.line, s.other);
        CHECK_IS(zkl_claim_ahead_deleted(&s.claim, s.other, s.now), 0);
        CHECK_IS(s.claim.state, ZKL_WAIT);
    }
    TEST("a predecessor that may not be watched fails the claim, and its node goes") {
        scene_reach(ZKL_WAIT);
        CHECK_IS(scene_got_ahead(ZKL_REFUSED), ZKL_DO_FAIL | ZKL_DO_REMOVE);
        CHECK_IS(s.claim.code, ZKL_AUTH);
    }
    TEST("a waiter whose node is removed queues again at the end, never a grant (BUG-11)") {
        scene_reach(ZKL_WAIT);
        uint64_t nonce = s.claim.node.nonce;
        scene_got_ahead(ZKL_UNKNOWN);
        CHECK_IS(scene_own_deleted(), ZKL_DO_CREATE | ZKL_DO_LIST);
        CHECK(s.claim.node.nonce != nonce && !s.claim.node.czxid && !s.claim.ahead);
        CHECK_IS(s.line.count, 1); /* its old node is none of the line */
        CHECK(!s.claim.stalled);
        scene_created(44, 1044);
        CHECK_IS(LISTED(BEHIND, s.claim.node.name), ZKL_DO_WATCH_AHEAD | ZKL_DO_WATCH_OWN);
        CHECK_IS(s.queued, 1);
    }
    TEST("who gave its place up has no node in the line any more") {
        scene_reach(ZKL_RETREAT);
        CHECK_IS(scene_removed(ZKL_DONE), 0);
        CHECK_IS(s.claim.state, ZKL_NEW);
        CHECK_IS(s.line.count, 0);
    }
    TEST("nor does a list that another claim asked for: it lacks the own node (BUG-11)") {
        static const enum zkl_claim_state states[] = {ZKL_RANK, ZKL_WAIT, ZKL_PROVE};
        for (size_t i = 0; i < 3; i++) {
            zkl_actions did = 0;
            scene_reach(states[i]);
            if (states[i] == ZKL_RANK) LINE(LIMITED);
            else LINE(AHEAD);
            if (states[i] == ZKL_RANK) did = scene_ranked(LIMITED, ZKL_ABSENT, 0);
            if (states[i] == ZKL_WAIT) did = scene_ahead_deleted();
            if (states[i] == ZKL_PROVE) did = scene_synced(ZKL_DONE);
            CHECK_IS(did, ZKL_DO_CREATE | ZKL_DO_LIST);
            CHECK_IS(s.grants, 0);
        }
    }
    TEST("an own node that may not be read fails a waiter, whatever it waits for") {
        static const enum zkl_claim_state states[] = {ZKL_RECOVER_STAT, ZKL_LIST, ZKL_RANK,
                                                      ZKL_WAIT};
        for (size_t i = 0; i < 4; i++) {
            scene_reach(states[i]);
            CHECK_IS(scene_got_own(ZKL_REFUSED, 0), ZKL_DO_FAIL | ZKL_DO_REMOVE);
            CHECK_IS(s.claim.code, ZKL_AUTH);
        }
    }
    TEST("what a get says of a node whose czxid is known changes nothing") {
        CHECK_IS(scene_did(zkl_claim_got_own(&s.claim, ZKL_DONE, ZKL_OK, 7, SESSION + 1, s.now)),
                 0);
        CHECK_IS(s.claim.state, ZKL_LIST);
        CHECK_IS(s.claim.node.czxid, 1042);
    }
    TEST("a line that may not be listed fails the claim, and its node goes") {
        CHECK_IS(scene_list_fails(ZKL_REFUSED, ZKL_AUTH), ZKL_DO_FAIL | ZKL_DO_REMOVE);
        CHECK_IS(s.claim.code, ZKL_AUTH);
    }
    TEST("a list without the own node queues again, never a grant (BUG-11)") {
        CHECK_IS(LISTED("config"), ZKL_DO_CREATE | ZKL_DO_LIST);
        scene_reach(ZKL_LIST);
        LINE(s.claim.node.name); /* an older list, another claim's */
        CHECK_IS(scene_list_fails(ZKL_ABSENT, ZKL_NO_NODE), ZKL_DO_CREATE | ZKL_DO_LIST);
    }
}

/* The claim, 42, waits for WRITER, and the second one, 43, for the claim. */
static void two_behind_a_writer(void) {
    scene_reach(ZKL_LIST);
    LISTED(WRITER, s.claim.node.name);
    scene_follow(&s.second);
    zkl_claim_created(&s.second, ZKL_DONE, ZKL_OK, scene_name_of(&s.second, 43), 1043);
    LINE(WRITER, s.claim.node.name, s.second.node.name);
    zkl_claim_listed(&s.second, ZKL_DONE, ZKL_OK, s.now);
    CHECK_IS(s.second.state, ZKL_WAIT);
}

/* 42 is removed: 43 is the next, and must look whether the writer left a reader. */
static void first_gives_up(void) {
    struct zkl_contender *gone = zkl_contender_ref(s.second.ahead);
    scene_removed(ZKL_DONE);
    zkl_line_forget(&s.line, gone);
    zkl_actions did = zkl_claim_ahead_deleted(&s.second, gone, s.now);
    CHECK(!(did & ZKL_DO_GRANT));
    CHECK(did & (ZKL_DO_LIST | ZKL_DO_WATCH_AHEAD));
    zkl_contender_unref(gone);
}

static void downgrades(void) {
    TEST("a writer's end that nobody acted on lets nobody in: its follower had given up") {
        two_behind_a_writer();
        scene_cancel(ZKL_TIMEOUT);
        zkl_line_forget(&s.line, s.other); /* the watch of 42: the writer became a reader */
        first_gives_up();
    }
    TEST("a writer's end lets nobody in while the list after it is lost") {
        two_behind_a_writer();
        CHECK_IS(scene_ahead_deleted(), ZKL_DO_LIST);
        scene_list_fails(ZKL_UNKNOWN, ZKL_OK);
        scene_cancel(ZKL_TIMEOUT);
        first_gives_up();
    }
}

static void counters(void) {
    TEST("past the end of the counter czxids are asked for, and decide (PIT-22, Q-02)") {
        scene_reach(ZKL_RANK);
        CHECK_IS(s.claim.ranks, 1);
        CHECK_IS(scene_ranked(LIMITED, ZKL_DONE, 1041),
                 ZKL_DO_WATCH_AHEAD | ZKL_DO_WATCH_OWN | ZKL_DO_QUEUED);
        CHECK_IS(scene_ahead_deleted(), ZKL_DO_GRANT);
        scene_reach(ZKL_RANK);
        CHECK_IS(scene_ranked(LIMITED, ZKL_DONE, 1043), ZKL_DO_GRANT);
        scene_reach(ZKL_RANK);
        CHECK_IS(scene_ranked(LIMITED, ZKL_ABSENT, 0), ZKL_DO_GRANT);
        CHECK_IS(s.line.count, 1);
    }
    TEST("a place is taken only when the last czxid has come") {
        CHECK_IS(LISTED("lock--000000007", "lock--000000006", "lock-0000000001", s.claim.node.name),
                 ZKL_DO_RANK);
        CHECK_IS(s.claim.ranks, 3);
        CHECK_IS(scene_ranked("lock--000000006", ZKL_DONE, 30), 0);
        CHECK_IS(scene_ranked("lock-0000000001", ZKL_DONE, 10), 0);
        CHECK(scene_ranked("lock--000000007", ZKL_DONE, 20) & ZKL_DO_WATCH_AHEAD);
        CHECK_TEXT(s.claim.ahead->name, "lock--000000006");
    }
    TEST("a czxid that was lost is asked for again, one that is known is not") {
        LISTED(LIMITED, "a-lock-2147483647", s.claim.node.name);
        CHECK_IS(scene_ranked(LIMITED, ZKL_UNKNOWN, 0), 0);
        CHECK_IS(scene_ranked("a-lock-2147483647", ZKL_DONE, 5), 0);
        CHECK(s.claim.stalled);
        CHECK_IS(scene_resume(), ZKL_DO_RANK);
        CHECK_IS(s.claim.ranks, 1);
        CHECK(scene_ranked(LIMITED, ZKL_DONE, 2000) & ZKL_DO_WATCH_AHEAD);
        CHECK_TEXT(s.claim.ahead->name, "a-lock-2147483647");
    }
    TEST("a lost reply takes back no czxid that another claim's has brought") {
        scene_reach(ZKL_RANK);
        zkl_line_find(&s.line, LIMITED)->czxid = 1041;
        CHECK_IS(scene_ranked(LIMITED, ZKL_UNKNOWN, 0), 0);
        CHECK(scene_resume() & ZKL_DO_WATCH_AHEAD);
    }
    TEST("a czxid that may not be read fails the claim; replies after that are harmless") {
        LISTED(LIMITED, "a-lock-2147483647", s.claim.node.name);
        CHECK_IS(scene_ranked(LIMITED, ZKL_REFUSED, 0), ZKL_DO_FAIL | ZKL_DO_REMOVE);
        CHECK_IS(scene_ranked("a-lock-2147483647", ZKL_ABSENT, 0), 0);
        CHECK_IS(s.claim.ranks, 0);
    }
    TEST("a line that runs past the end while a claim waits still hands off in order") {
        LISTED("lock-0000000007", AHEAD, s.claim.node.name);
        LINE("lock-0000000007", AHEAD, s.claim.node.name, LIMITED, "a-lock-2147483647");
        CHECK_IS(scene_ahead_deleted(), ZKL_DO_RANK);
        CHECK_IS(s.claim.ranks, 1); /* those after its own list are behind */
        CHECK(scene_ranked("lock-0000000007", ZKL_DONE, 7) & ZKL_DO_WATCH_AHEAD);
        CHECK_IS(scene_ahead_deleted(), ZKL_DO_GRANT);
    }
}

static void holding(void) {
    TEST("a holder that was granted at once watches its node from its first heartbeat on") {
        scene_reach(ZKL_HELD);
        CHECK_IS(scene_beat(), ZKL_DO_WATCH_OWN);
        CHECK_IS(scene_beat(), 0);
        CHECK_IS(scene_got_own(ZKL_UNKNOWN, 0), 0);
        CHECK_IS(scene_beat(), ZKL_DO_WATCH_OWN);
        CHECK_IS(scene_got_own(ZKL_DONE, 1042), 0);
        CHECK_IS(scene_own_changed(), ZKL_DO_WATCH_OWN);
        CHECK_IS(s.claim.state, ZKL_HELD);
    }
    TEST("a holder that may not watch its node asks no more") {
        scene_reach(ZKL_HELD);
        scene_beat();
        CHECK_IS(scene_got_own(ZKL_REFUSED, 0), 0);
        CHECK_IS(scene_beat(), 0);
    }
    TEST("release removes the node, and the claim is gone when that is sure") {
        scene_reach(ZKL_HELD);
        CHECK_IS(scene_release(), ZKL_DO_REMOVE);
        CHECK_IS(scene_release(), 0);
        CHECK_IS(scene_own_deleted(), 0);
        CHECK_IS(scene_own_changed(), 0);
        CHECK_IS(scene_removed(ZKL_DONE), ZKL_DO_FORGET);
        CHECK_IS(s.line.count, 0);
        CHECK_IS(s.losses, 0);
    }
    TEST("release of what is not held does nothing (BUG-04)") {
        for (int state = ZKL_NEW; state <= ZKL_GONE; state++) {
            bool held = state == ZKL_HELD || state == ZKL_DOWNGRADE;
            if (held || state == ZKL_SIGNALLED) continue;
            scene_reach((enum zkl_claim_state)state);
            CHECK_CASE("%s", scene_states[state]);
            CHECK_IS(scene_release(), 0);
            CHECK_IS(s.claim.state, state);
        }
    }
}

/* Without this, one whose create found no parents would be made again behind the others. */
static void first_use_of_a_path(void) {
    TEST("claims that come while the first one opens the path follow it, in order of arrival") {
        scene_enter(ZKL_MUTEX);
        CHECK_IS(scene_follow(&s.second), 0);
        CHECK_IS(s.second.state, ZKL_NEW);
        CHECK(scene_create_fails(ZKL_ABSENT, ZKL_NO_NODE) & ZKL_DO_PARENTS);
        CHECK_IS(zkl_claim_resume(&s.second, s.now), 0); /* a heartbeat asks too early */
        CHECK_IS(scene_created(42, 1042), ZKL_DO_FOLLOW);
        CHECK_IS(zkl_claim_resume(&s.second, s.now), ZKL_DO_CREATE | ZKL_DO_LIST);
    }
    TEST("on a path that is known to exist nobody waits for the first one's reply") {
        scene_enter(ZKL_MUTEX);
        scene_created(42, 1042);
        CHECK(s.line.opened);
        CHECK_IS(scene_follow(&s.second), ZKL_DO_CREATE | ZKL_DO_LIST);
        CHECK_IS(scene_follow(&s.third), ZKL_DO_CREATE | ZKL_DO_LIST);
        zkl_claim_created(&s.second, ZKL_REFUSED, ZKL_AUTH, NULL, 0);
        CHECK(s.line.opened); /* a refusal is no news of the path */
    }
    TEST("who follows one that is opening the path follows it behind one that failed, too") {
        scene_enter(ZKL_MUTEX);
        scene_create_fails(ZKL_REFUSED, ZKL_AUTH);
        CHECK_IS(scene_follow(&s.second), ZKL_DO_CREATE | ZKL_DO_LIST);
        CHECK_IS(scene_follow(&s.third), 0);
    }
    TEST("who only waits for an answer does not follow: it asks by itself") {
        for (int state = ZKL_RECOVER_SYNC; state <= ZKL_RETREAT; state++) {
            scene_reach((enum zkl_claim_state)state);
            scene_stall();
            CHECK_CASE("%s", scene_states[state]);
            CHECK(s.claim.stalled);
            CHECK_IS(zkl_claim_follows(&s.claim), state == ZKL_LIST);
        }
        scene_reach(ZKL_FIRST);
        CHECK(!zkl_claim_follows(&s.claim)); /* a part */
    }
    TEST("they go on also when the first one fails, or its create stays unknown") {
        static const enum zkl_reply replies[] = {ZKL_REFUSED, ZKL_UNKNOWN};
        for (size_t i = 0; i < sizeof replies / sizeof *replies; i++) {
            scene_enter(ZKL_MUTEX);
            scene_follow(&s.second);
            CHECK(scene_create_fails(replies[i], ZKL_AUTH) & ZKL_DO_FOLLOW);
            CHECK_IS(zkl_claim_resume(&s.second, s.now), ZKL_DO_CREATE | ZKL_DO_LIST);
        }
    }
}

/* Each test begins so, if it does not begin otherwise. */
static void list_is_out(void) {
    scene_reach(ZKL_LIST);
}

int main(void) {
    check_before(list_is_out);
    first_use_of_a_path();
    entering();
    tries();
    waiting();
    downgrades();
    counters();
    holding();
    return check_report();
}
