/*
 * claim_grant_test.c - the way to the grant: tries, places in the line, hand-off,
 * exhausted counters, and what a holder learns of its node.
 * PIT-01 PIT-08 PIT-10 PIT-22, BUG-03 BUG-11 BUG-12, DEMO-16, Q-02 Q-05.
 */
#include "scene.h"

static void entering(void) {
    struct scene s;
    TEST("a claim without a connection asks nothing, and starts when it is there (PIT-03)") {
        scene_reach(&s, ZKL_NEW, ZKL_NEVER);
        CHECK(s.claim.stalled);
        CHECK_IS(scene_resume(&s), ZKL_DO_CREATE | ZKL_DO_LIST);
        CHECK_IS(s.claim.state, ZKL_CREATE);
        CHECK(!s.claim.stalled);
        scene_close(&s);
    }
    TEST("a free lock is granted after one flight of create and list") {
        scene_open(&s, ZKL_MUTEX, ZKL_NEVER, false);
        CHECK_IS(scene_start(&s), ZKL_DO_CREATE | ZKL_DO_LIST);
        CHECK_IS(scene_created(&s, 42, 1042), 0);
        CHECK_IS(LISTED(&s, s.claim.name, BEHIND), ZKL_DO_GRANT);
        CHECK_IS(s.claim.state, ZKL_HELD);
        CHECK_IS(s.claim.czxid, 1042);
        CHECK_IS(s.claim.epoch, s.common.clock.epoch);
        scene_close(&s);
    }
    TEST("a list counts only if its own create succeeded") {
        static const enum zkl_reply replies[] = {ZKL_ABSENT, ZKL_UNKNOWN};
        for (size_t i = 0; i < 2; i++) {
            scene_enter(&s, ZKL_MUTEX);
            scene_create_fails(&s, replies[i], ZKL_OK);
            CHECK_IS(LISTED(&s, scene_name(&s, 42)), 0);
            CHECK_IS(s.grants, 0);
            scene_close(&s);
        }
        scene_enter(&s, ZKL_MUTEX);
        CHECK_IS(LISTED(&s, scene_name(&s, 42)), 0); /* before its create */
        scene_close(&s);
    }
    TEST("a missing path is made, and the create repeated under a new nonce") {
        scene_enter(&s, ZKL_MUTEX);
        uint64_t nonce = s.claim.nonce;
        CHECK_IS(scene_create_fails(&s, ZKL_ABSENT, ZKL_NO_NODE),
                 ZKL_DO_PARENTS | ZKL_DO_CREATE | ZKL_DO_LIST);
        CHECK(s.claim.nonce != nonce);
        CHECK_IS(scene_list_fails(&s, ZKL_ABSENT, ZKL_NO_NODE), 0); /* of the first flight */
        zkl_claim_parents(&s.claim, ZKL_DONE, ZKL_OK);
        scene_created(&s, 0, 7);
        CHECK_IS(LISTED(&s, s.claim.name), ZKL_DO_GRANT);
        scene_close(&s);
    }
    TEST("a path that cannot be made fails with the reason for that") {
        scene_enter(&s, ZKL_MUTEX);
        scene_create_fails(&s, ZKL_ABSENT, ZKL_NO_NODE);
        zkl_claim_parents(&s.claim, ZKL_REFUSED, ZKL_AUTH);
        CHECK_IS(scene_create_fails(&s, ZKL_ABSENT, ZKL_NO_NODE), ZKL_DO_FAIL | ZKL_DO_FORGET);
        CHECK_IS(s.claim.code, ZKL_AUTH);
        scene_close(&s);
    }
    TEST("of several refusals the first is the reason: it is the topmost parent's") {
        static const enum zkl_reply replies[] = {ZKL_REFUSED, ZKL_ABSENT};
        for (size_t i = 0; i < 2; i++) {
            scene_enter(&s, ZKL_MUTEX);
            scene_create_fails(&s, ZKL_ABSENT, ZKL_NO_NODE);
            zkl_claim_parents(&s.claim, replies[i], ZKL_CONFLICT);
            zkl_claim_parents(&s.claim, ZKL_REFUSED, ZKL_AUTH);
            CHECK_IS(scene_create_fails(&s, ZKL_ABSENT, ZKL_OK), ZKL_DO_FAIL | ZKL_DO_FORGET);
            CHECK_IS(s.claim.code, ZKL_CONFLICT);
            scene_close(&s);
        }
    }
    TEST("parents that were made, or whose replies were lost, are no refusal") {
        static const enum zkl_reply replies[] = {ZKL_DONE, ZKL_UNKNOWN};
        for (size_t i = 0; i < 2; i++) {
            scene_enter(&s, ZKL_MUTEX);
            scene_create_fails(&s, ZKL_ABSENT, ZKL_NO_NODE);
            zkl_claim_parents(&s.claim, replies[i], ZKL_UNSUPPORTED);
            CHECK(scene_create_fails(&s, ZKL_ABSENT, ZKL_NO_NODE) & ZKL_DO_PARENTS);
            CHECK_IS(s.fails, 0);
            scene_close(&s);
        }
    }
    TEST("a refusal that did not matter is forgotten: parents may be missing again") {
        scene_enter(&s, ZKL_MUTEX);
        scene_create_fails(&s, ZKL_ABSENT, ZKL_NO_NODE);
        zkl_claim_parents(&s.claim, ZKL_REFUSED, ZKL_AUTH);
        scene_created(&s, 0, 7);
        LISTED(&s, "config"); /* its node is gone: it enters again */
        CHECK(scene_create_fails(&s, ZKL_ABSENT, ZKL_NO_NODE) & ZKL_DO_PARENTS);
        CHECK_IS(s.fails, 0);
        scene_close(&s);
    }
    TEST("parents that others made are as good as ours") {
        scene_enter(&s, ZKL_MUTEX);
        scene_create_fails(&s, ZKL_ABSENT, ZKL_NO_NODE);
        zkl_claim_parents(&s.claim, ZKL_REFUSED, ZKL_AUTH);
        scene_created(&s, 0, 7);
        CHECK_IS(LISTED(&s, s.claim.name), ZKL_DO_GRANT);
        CHECK_IS(s.claim.code, ZKL_OK);
        scene_close(&s);
    }
    TEST("a create or list that is refused fails at once, and leaves nothing") {
        scene_enter(&s, ZKL_MUTEX);
        CHECK_IS(scene_create_fails(&s, ZKL_REFUSED, ZKL_AUTH), ZKL_DO_FAIL | ZKL_DO_FORGET);
        CHECK_IS(s.claim.code, ZKL_AUTH);
        scene_close(&s);
        scene_reach(&s, ZKL_LIST, ZKL_NEVER);
        CHECK_IS(scene_list_fails(&s, ZKL_REFUSED, ZKL_AUTH), ZKL_DO_FAIL | ZKL_DO_REMOVE);
        CHECK_IS(s.claim.code, ZKL_AUTH);
        scene_close(&s);
    }
}

static void tries(void) {
    struct scene s;
    TEST("a try on a taken lock writes nothing") {
        scene_open(&s, ZKL_MUTEX, ZKL_NEVER, true);
        CHECK_IS(scene_start(&s), ZKL_DO_LIST);
        CHECK(!s.claim.stalled); /* a heartbeat does not ask again */
        CHECK_IS(LISTED(&s, AHEAD), ZKL_DO_FAIL | ZKL_DO_FORGET);
        CHECK_IS(s.claim.code, ZKL_TIMEOUT);
        scene_close(&s);
    }
    TEST("a try on a free lock takes it, also where no path is yet") {
        scene_reach(&s, ZKL_TRY, ZKL_NEVER);
        CHECK_IS(LISTED(&s, "config"), ZKL_DO_CREATE | ZKL_DO_LIST);
        scene_created(&s, 42, 1042);
        CHECK_IS(LISTED(&s, s.claim.name), ZKL_DO_GRANT);
        scene_close(&s);
        scene_reach(&s, ZKL_TRY, ZKL_NEVER);
        CHECK_IS(scene_list_fails(&s, ZKL_ABSENT, ZKL_NO_NODE),
                 ZKL_DO_PARENTS | ZKL_DO_CREATE | ZKL_DO_LIST);
        scene_close(&s);
    }
    TEST("a try that loses the race removes its node (BUG-03)") {
        scene_reach(&s, ZKL_TRY, ZKL_NEVER);
        LISTED(&s, "config");
        scene_created(&s, 42, 1042);
        CHECK_IS(LISTED(&s, AHEAD, s.claim.name), ZKL_DO_FAIL | ZKL_DO_REMOVE);
        CHECK_IS(s.claim.code, ZKL_TIMEOUT);
        CHECK_IS(scene_removed(&s, ZKL_DONE), ZKL_DO_FORGET);
        CHECK_IS(s.queued, 0);
        scene_close(&s);
    }
    TEST("a try that loses the race past the end of the counter removes its node") {
        scene_reach(&s, ZKL_TRY, ZKL_NEVER);
        LISTED(&s, "config");
        scene_created(&s, INT32_MAX, 1042);
        CHECK_IS(LISTED(&s, LIMITED, s.claim.name), ZKL_DO_RANK);
        scene_ask_ranks(&s);
        CHECK_IS(scene_ranked(&s, LIMITED, ZKL_DONE, 1000), ZKL_DO_FAIL | ZKL_DO_REMOVE);
        scene_close(&s);
    }
    TEST("a try whose node somebody removes fails, and does not queue again") {
        scene_open(&s, ZKL_MUTEX, ZKL_NEVER, true);
        scene_start(&s);
        LISTED(&s, "config");
        scene_created(&s, 42, 1042);
        CHECK_IS(LISTED(&s, BEHIND), ZKL_DO_FAIL | ZKL_DO_FORGET);
        scene_close(&s);
    }
    TEST("a try that is refused the list fails with the reason") {
        scene_reach(&s, ZKL_TRY, ZKL_NEVER);
        CHECK_IS(scene_list_fails(&s, ZKL_REFUSED, ZKL_AUTH), ZKL_DO_FAIL | ZKL_DO_FORGET);
        CHECK_IS(s.claim.code, ZKL_AUTH);
        scene_close(&s);
    }
}

/* The claim waits for AHEAD; `ahead` others come before that, `behind` after the claim. */
static void reach_long_line(struct scene *s, int ahead, int behind) {
    static char texts[64][sizeof "lock-0000000000"];
    const char *names[66];
    size_t count = 0;
    for (int i = 0; i < ahead + behind; i++) {
        int number = i < ahead ? i : 43 + i;
        snprintf(texts[i], sizeof texts[i], "lock-%010d", number);
        names[count++] = texts[i];
    }
    scene_reach(s, ZKL_LIST, ZKL_NEVER);
    names[count++] = AHEAD;
    names[count++] = s->claim.name;
    scene_listed(s, names, count);
    CHECK_TEXT(s->claim.ahead->name, AHEAD);
}

static void waiting(void) {
    struct scene s;
    TEST("a claim watches the nearest contender ahead, and its own node (PIT-01)") {
        scene_reach(&s, ZKL_LIST, ZKL_NEVER);
        CHECK_IS(LISTED(&s, "lock-0000000007", AHEAD, s.claim.name, BEHIND),
                 ZKL_DO_WATCH_AHEAD | ZKL_DO_WATCH_OWN | ZKL_DO_QUEUED);
        CHECK_TEXT(s.claim.ahead->name, AHEAD);
        scene_close(&s);
    }
    TEST("foreign children and those behind keep nobody waiting") {
        scene_reach(&s, ZKL_LIST, ZKL_NEVER);
        CHECK_IS(LISTED(&s, "ex0000000001", s.claim.name, "-foreign", BEHIND), ZKL_DO_GRANT);
        scene_close(&s);
    }
    TEST("the second in line is granted when the first goes, without a request") {
        scene_reach(&s, ZKL_WAIT, ZKL_NEVER);
        CHECK_IS(scene_got_own(&s, ZKL_DONE, 1042) | scene_got_ahead(&s, ZKL_DONE), 0);
        CHECK_IS(scene_ahead_deleted(&s), ZKL_DO_GRANT);
        CHECK(!s.claim.ahead && s.claim.own_watched);
        scene_close(&s);
    }
    TEST("a predecessor that vanished before it was watched is no matter (PIT-08, Q-05)") {
        scene_reach(&s, ZKL_WAIT, ZKL_NEVER);
        CHECK_IS(scene_got_ahead(&s, ZKL_ABSENT), ZKL_DO_GRANT);
        scene_close(&s);
    }
    TEST("a predecessor that was only waiting lets nobody in (BUG-12)") {
        scene_reach(&s, ZKL_LIST, ZKL_NEVER);
        LISTED(&s, "lock-0000000007", AHEAD, s.claim.name);
        CHECK_IS(scene_ahead_deleted(&s), ZKL_DO_WATCH_AHEAD);
        CHECK_TEXT(s.claim.ahead->name, "lock-0000000007");
        CHECK_IS(s.queued, 1);
        CHECK_IS(scene_ahead_deleted(&s), ZKL_DO_GRANT);
        scene_close(&s);
    }
    TEST("behind two that may be gone there is one look at both, not a walk") {
        scene_reach(&s, ZKL_LIST, ZKL_NEVER);
        LISTED(&s, "lock-0000000006", "lock-0000000007", AHEAD, s.claim.name);
        CHECK_IS(scene_ahead_deleted(&s), ZKL_DO_LIST);
        CHECK_IS(LISTED(&s, s.claim.name), ZKL_DO_GRANT);
        scene_close(&s);
    }
    TEST("in a long line the look at a few is gets in one flight, and all gone is a grant") {
        reach_long_line(&s, 2, 6);
        CHECK_IS(scene_ahead_deleted(&s), ZKL_DO_RANK);
        scene_ask_ranks(&s);
        CHECK_IS(s.claim.ranks, 2);
        CHECK_IS(scene_ranked(&s, "lock-0000000000", ZKL_ABSENT, 0), 0);
        CHECK_IS(scene_ranked(&s, "lock-0000000001", ZKL_ABSENT, 0), ZKL_DO_GRANT);
        scene_close(&s);
    }
    TEST("of a few that it looked at the nearest that is left is watched, the others are not") {
        reach_long_line(&s, 3, 12);
        CHECK_IS(scene_ahead_deleted(&s), ZKL_DO_RANK);
        scene_ask_ranks(&s);
        CHECK_IS(scene_ranked(&s, "lock-0000000000", ZKL_DONE, 900), 0);
        CHECK_IS(scene_ranked(&s, "lock-0000000001", ZKL_REFUSED, 0), 0); /* but it is there */
        CHECK_IS(scene_ranked(&s, "lock-0000000002", ZKL_ABSENT, 0), ZKL_DO_WATCH_AHEAD);
        CHECK_TEXT(s.claim.ahead->name, "lock-0000000001");
        CHECK_IS(scene_ahead_deleted(&s), ZKL_DO_WATCH_AHEAD);
        scene_close(&s);
    }
    TEST("more than eight are looked at with a list, however long the line is") {
        reach_long_line(&s, 8, 40);
        CHECK_IS(scene_ahead_deleted(&s), ZKL_DO_RANK);
        scene_close(&s);
        reach_long_line(&s, 9, 40);
        CHECK_IS(scene_ahead_deleted(&s), ZKL_DO_LIST);
        scene_close(&s);
    }
    TEST("a look whose reply is lost is repeated, by a list once the connection was cut") {
        reach_long_line(&s, 2, 6);
        scene_ahead_deleted(&s);
        scene_ask_ranks(&s);
        CHECK_IS(scene_ranked(&s, "lock-0000000000", ZKL_ABSENT, 0), 0);
        CHECK_IS(scene_ranked(&s, "lock-0000000001", ZKL_UNKNOWN, 0), 0);
        CHECK(s.claim.stalled);
        CHECK_IS(scene_resume(&s), ZKL_DO_WATCH_AHEAD); /* of one, that tells as well */
        scene_close(&s);
        reach_long_line(&s, 2, 6);
        scene_ahead_deleted(&s);
        scene_ask_ranks(&s);
        scene_cut(&s);
        scene_ranked(&s, "lock-0000000000", ZKL_UNKNOWN, 0);
        scene_ranked(&s, "lock-0000000001", ZKL_UNKNOWN, 0);
        CHECK_IS(scene_resume(&s), ZKL_DO_LIST);
        scene_close(&s);
    }
    TEST("behind a writer there is always a list: it may have left a reader behind") {
        scene_reach(&s, ZKL_LIST, ZKL_NEVER);
        LISTED(&s, WRITER, s.claim.name);
        CHECK_IS(scene_ahead_deleted(&s), ZKL_DO_LIST);
        CHECK_IS(s.claim.state, ZKL_LIST);
        CHECK_IS(LISTED(&s, "__READ__0000000041", s.claim.name), ZKL_DO_WATCH_AHEAD);
        CHECK_IS(scene_ahead_deleted(&s), ZKL_DO_GRANT);
        scene_close(&s);
        scene_reach(&s, ZKL_LIST, ZKL_NEVER);
        LISTED(&s, WRITER, s.claim.name);
        CHECK_IS(scene_got_ahead(&s, ZKL_ABSENT), ZKL_DO_LIST);
        CHECK_IS(LISTED(&s, s.claim.name), ZKL_DO_GRANT);
        scene_close(&s);
    }
    TEST("a changed node of one's own is watched again, wherever its claim is") {
        for (int state = ZKL_RECOVER_STAT; state <= ZKL_HELD; state++) {
            scene_reach(&s, (enum zkl_claim_state)state, ZKL_NEVER);
            CHECK_CASE("%s", scene_states[state]);
            CHECK_IS(zkl_claim_own_changed(&s.claim), ZKL_DO_WATCH_OWN);
            CHECK_IS(s.claim.state, state);
            scene_close(&s);
        }
    }
    TEST("a changed predecessor is watched again: the event used the watch up (PIT-05)") {
        scene_reach(&s, ZKL_WAIT, ZKL_NEVER);
        CHECK_IS(scene_did(&s, zkl_claim_ahead_changed(&s.claim, s.claim.ahead)),
                 ZKL_DO_WATCH_AHEAD);
        CHECK_IS(s.claim.state, ZKL_WAIT);
        scene_close(&s);
    }
    TEST("news of a contender that is not the one ahead wakes nobody (PIT-01)") {
        scene_reach(&s, ZKL_LIST, ZKL_NEVER);
        LISTED(&s, "lock-0000000007", AHEAD, s.claim.name); /* s.other is 7 */
        CHECK_IS(zkl_claim_ahead_changed(&s.claim, s.other), 0);
        CHECK_IS(zkl_claim_got_ahead(&s.claim, s.other, ZKL_ABSENT, ZKL_OK, s.now), 0);
        CHECK_IS(zkl_claim_got_ahead(&s.claim, s.other, ZKL_REFUSED, ZKL_AUTH, s.now), 0);
        zkl_line_forget(&s.line, s.other);
        CHECK_IS(zkl_claim_ahead_deleted(&s.claim, s.other, s.now), 0);
        CHECK_IS(s.claim.state, ZKL_WAIT);
        scene_close(&s);
    }
    TEST("a predecessor that may not be watched fails the claim, and its node goes") {
        scene_reach(&s, ZKL_WAIT, ZKL_NEVER);
        CHECK_IS(scene_got_ahead(&s, ZKL_REFUSED), ZKL_DO_FAIL | ZKL_DO_REMOVE);
        CHECK_IS(s.claim.code, ZKL_AUTH);
        scene_close(&s);
    }
    TEST("a waiter whose node is removed queues again at the end, never a grant (BUG-11)") {
        scene_reach(&s, ZKL_WAIT, ZKL_NEVER);
        uint64_t nonce = s.claim.nonce;
        CHECK_IS(scene_did(&s, zkl_claim_own_deleted(&s.claim)), ZKL_DO_CREATE | ZKL_DO_LIST);
        CHECK(s.claim.nonce != nonce && !s.claim.czxid && !s.claim.ahead);
        scene_created(&s, 44, 1044);
        CHECK_IS(LISTED(&s, BEHIND, s.claim.name), ZKL_DO_WATCH_AHEAD | ZKL_DO_WATCH_OWN);
        CHECK_IS(s.queued, 1);
        scene_close(&s);
    }
    TEST("nor does a list that another claim asked for: it lacks the own node (BUG-11)") {
        static const enum zkl_claim_state states[] = {ZKL_RANK, ZKL_WAIT, ZKL_PROVE};
        for (size_t i = 0; i < 3; i++) {
            zkl_actions did = 0;
            scene_reach(&s, states[i], ZKL_NEVER);
            if (states[i] == ZKL_RANK) LINE(&s, LIMITED);
            else LINE(&s, AHEAD);
            if (states[i] == ZKL_RANK) did = scene_ranked(&s, LIMITED, ZKL_ABSENT, 0);
            if (states[i] == ZKL_WAIT) did = scene_ahead_deleted(&s);
            if (states[i] == ZKL_PROVE) did = scene_synced(&s, ZKL_DONE);
            CHECK_IS(did, ZKL_DO_CREATE | ZKL_DO_LIST);
            CHECK_IS(s.grants, 0);
            scene_close(&s);
        }
    }
    TEST("an own node that may not be read fails a waiter, whatever it waits for") {
        static const enum zkl_claim_state states[] = {ZKL_RECOVER_STAT, ZKL_LIST, ZKL_RANK,
                                                      ZKL_WAIT};
        for (size_t i = 0; i < 4; i++) {
            scene_reach(&s, states[i], ZKL_NEVER);
            CHECK_IS(scene_got_own(&s, ZKL_REFUSED, 0), ZKL_DO_FAIL | ZKL_DO_REMOVE);
            CHECK_IS(s.claim.code, ZKL_AUTH);
            scene_close(&s);
        }
    }
    TEST("a list without the own node queues again, never a grant (BUG-11)") {
        scene_reach(&s, ZKL_LIST, ZKL_NEVER);
        CHECK_IS(LISTED(&s, "config"), ZKL_DO_CREATE | ZKL_DO_LIST);
        scene_close(&s);
        scene_reach(&s, ZKL_LIST, ZKL_NEVER);
        LINE(&s, s.claim.name); /* an older list, another claim's */
        CHECK_IS(scene_list_fails(&s, ZKL_ABSENT, ZKL_NO_NODE), ZKL_DO_CREATE | ZKL_DO_LIST);
        scene_close(&s);
    }
}

/* The scene's claim, 42, waits for WRITER, and `next`, 43, for the claim. */
static void two_behind_a_writer(struct scene *s, struct zkl_claim *next) {
    scene_reach(s, ZKL_LIST, ZKL_NEVER);
    LISTED(s, WRITER, s->claim.name);
    zkl_claim_init(next, &s->common, &s->line, ZKL_MUTEX, ZKL_NEVER, false);
    zkl_claim_start(next);
    zkl_claim_created(next, ZKL_DONE, ZKL_OK, scene_name_of(next, 43), 1043);
    LINE(s, WRITER, s->claim.name, next->name);
    zkl_claim_listed(next, ZKL_DONE, ZKL_OK, s->now);
    CHECK_IS(next->state, ZKL_WAIT);
}

/* 42 is removed: 43 is the next, and must look whether the writer left a reader. */
static void first_gives_up(struct scene *s, struct zkl_claim *next) {
    struct zkl_contender *gone = zkl_contender_hold(next->ahead);
    scene_removed(s, ZKL_DONE);
    zkl_line_forget(&s->line, gone);
    zkl_actions did = zkl_claim_ahead_deleted(next, gone, s->now);
    CHECK(!(did & ZKL_DO_GRANT));
    CHECK(did & (ZKL_DO_LIST | ZKL_DO_WATCH_AHEAD));
    zkl_contender_drop(gone);
    zkl_claim_detach(next);
    scene_close(s);
}

static void downgrades(void) {
    struct scene s;
    struct zkl_claim next;
    TEST("a writer's end that nobody acted on lets nobody in: its follower had given up") {
        two_behind_a_writer(&s, &next);
        scene_cancel(&s, ZKL_TIMEOUT);
        zkl_line_forget(&s.line, s.other); /* the watch of 42: the writer became a reader */
        first_gives_up(&s, &next);
    }
    TEST("a writer's end lets nobody in while the list after it is lost") {
        two_behind_a_writer(&s, &next);
        CHECK_IS(scene_ahead_deleted(&s), ZKL_DO_LIST);
        scene_list_fails(&s, ZKL_UNKNOWN, ZKL_OK);
        scene_cancel(&s, ZKL_TIMEOUT);
        first_gives_up(&s, &next);
    }
}

static void counters(void) {
    struct scene s;
    TEST("past the end of the counter czxids are asked for, and decide (PIT-22, Q-02)") {
        scene_reach(&s, ZKL_RANK, ZKL_NEVER);
        CHECK_IS(s.claim.ranks, 1);
        CHECK_IS(scene_ranked(&s, LIMITED, ZKL_DONE, 1041),
                 ZKL_DO_WATCH_AHEAD | ZKL_DO_WATCH_OWN | ZKL_DO_QUEUED);
        CHECK_IS(scene_ahead_deleted(&s), ZKL_DO_GRANT);
        scene_close(&s);
        scene_reach(&s, ZKL_RANK, ZKL_NEVER);
        CHECK_IS(scene_ranked(&s, LIMITED, ZKL_DONE, 1043), ZKL_DO_GRANT);
        scene_close(&s);
        scene_reach(&s, ZKL_RANK, ZKL_NEVER);
        CHECK_IS(scene_ranked(&s, LIMITED, ZKL_ABSENT, 0), ZKL_DO_GRANT);
        CHECK_IS(s.line.count, 1);
        scene_close(&s);
    }
    TEST("a place is taken only when the last czxid has come") {
        scene_reach(&s, ZKL_LIST, ZKL_NEVER);
        s.claim.sequence = -5;
        CHECK_IS(LISTED(&s, "lock--000000007", "lock--000000006", "lock-0000000001", s.claim.name),
                 ZKL_DO_RANK);
        scene_ask_ranks(&s);
        CHECK_IS(s.claim.ranks, 3);
        CHECK_IS(scene_ranked(&s, "lock--000000006", ZKL_DONE, 30), 0);
        CHECK_IS(scene_ranked(&s, "lock-0000000001", ZKL_DONE, 10), 0);
        CHECK(scene_ranked(&s, "lock--000000007", ZKL_DONE, 20) & ZKL_DO_WATCH_AHEAD);
        CHECK_TEXT(s.claim.ahead->name, "lock--000000006");
        scene_close(&s);
    }
    TEST("a czxid that was lost is asked for again, one that is known is not") {
        scene_reach(&s, ZKL_LIST, ZKL_NEVER);
        LISTED(&s, LIMITED, "a-lock-2147483647", s.claim.name);
        scene_ask_ranks(&s);
        CHECK_IS(scene_ranked(&s, LIMITED, ZKL_UNKNOWN, 0), 0);
        CHECK_IS(scene_ranked(&s, "a-lock-2147483647", ZKL_DONE, 5), 0);
        CHECK(s.claim.stalled);
        CHECK_IS(scene_resume(&s), ZKL_DO_RANK);
        scene_ask_ranks(&s);
        CHECK_IS(s.claim.ranks, 1);
        CHECK(scene_ranked(&s, LIMITED, ZKL_DONE, 2000) & ZKL_DO_WATCH_AHEAD);
        CHECK_TEXT(s.claim.ahead->name, "a-lock-2147483647");
        scene_close(&s);
    }
    TEST("a lost reply takes back no czxid that another claim's has brought") {
        scene_reach(&s, ZKL_RANK, ZKL_NEVER);
        zkl_line_find(&s.line, LIMITED)->czxid = 1041;
        CHECK_IS(scene_ranked(&s, LIMITED, ZKL_UNKNOWN, 0), 0);
        CHECK(scene_resume(&s) & ZKL_DO_WATCH_AHEAD);
        scene_close(&s);
    }
    TEST("a czxid that may not be read fails the claim; replies after that are harmless") {
        scene_reach(&s, ZKL_LIST, ZKL_NEVER);
        LISTED(&s, LIMITED, "a-lock-2147483647", s.claim.name);
        scene_ask_ranks(&s);
        CHECK_IS(scene_ranked(&s, LIMITED, ZKL_REFUSED, 0), ZKL_DO_FAIL | ZKL_DO_REMOVE);
        CHECK_IS(scene_ranked(&s, "a-lock-2147483647", ZKL_ABSENT, 0), 0);
        CHECK_IS(s.claim.ranks, 0);
        scene_close(&s);
    }
    TEST("a line that runs past the end while a claim waits still hands off in order") {
        scene_reach(&s, ZKL_LIST, ZKL_NEVER);
        LISTED(&s, "lock-0000000007", AHEAD, s.claim.name);
        LINE(&s, "lock-0000000007", AHEAD, s.claim.name, LIMITED, "a-lock-2147483647");
        CHECK_IS(scene_ahead_deleted(&s), ZKL_DO_RANK);
        scene_ask_ranks(&s);
        CHECK_IS(s.claim.ranks, 1); /* those after its own list are behind */
        CHECK(scene_ranked(&s, "lock-0000000007", ZKL_DONE, 7) & ZKL_DO_WATCH_AHEAD);
        CHECK_IS(scene_ahead_deleted(&s), ZKL_DO_GRANT);
        scene_close(&s);
    }
}

static void holding(void) {
    struct scene s;
    TEST("a holder that was granted at once watches its node from its first heartbeat on") {
        scene_reach(&s, ZKL_HELD, ZKL_NEVER);
        CHECK_IS(scene_did(&s, zkl_claim_beat(&s.claim, s.now)), ZKL_DO_WATCH_OWN);
        CHECK_IS(scene_did(&s, zkl_claim_beat(&s.claim, s.now)), 0);
        CHECK_IS(scene_got_own(&s, ZKL_UNKNOWN, 0), 0);
        CHECK_IS(scene_did(&s, zkl_claim_beat(&s.claim, s.now)), ZKL_DO_WATCH_OWN);
        CHECK_IS(scene_got_own(&s, ZKL_DONE, 1042), 0);
        CHECK_IS(scene_did(&s, zkl_claim_own_changed(&s.claim)), ZKL_DO_WATCH_OWN);
        CHECK_IS(s.claim.state, ZKL_HELD);
        scene_close(&s);
    }
    TEST("a holder whose node is gone has lost, once") {
        scene_reach(&s, ZKL_HELD, ZKL_NEVER);
        CHECK_IS(scene_did(&s, zkl_claim_own_deleted(&s.claim)), ZKL_DO_LOSE | ZKL_DO_FORGET);
        CHECK_IS(scene_did(&s, zkl_claim_own_deleted(&s.claim)), 0);
        CHECK_IS(s.claim.code, ZKL_LOST);
        CHECK_IS(s.line.count, 0);
        scene_close(&s);
        scene_reach(&s, ZKL_HELD, ZKL_NEVER);
        CHECK_IS(scene_got_own(&s, ZKL_ABSENT, 0), ZKL_DO_LOSE | ZKL_DO_FORGET);
        scene_close(&s);
    }
    TEST("a grant is never undone by a list or a sync") {
        scene_reach(&s, ZKL_HELD, ZKL_NEVER);
        CHECK_IS(LISTED(&s, AHEAD, BEHIND), 0);
        CHECK_IS(scene_list_fails(&s, ZKL_ABSENT, ZKL_NO_NODE), 0);
        CHECK_IS(scene_synced(&s, ZKL_UNKNOWN), 0);
        CHECK_IS(s.claim.state, ZKL_HELD);
        scene_close(&s);
    }
    TEST("a holder whose node may not be watched still holds, by the clock") {
        scene_reach(&s, ZKL_HELD, ZKL_NEVER);
        scene_did(&s, zkl_claim_beat(&s.claim, s.now));
        CHECK_IS(scene_got_own(&s, ZKL_REFUSED, 0), 0);
        CHECK_IS(s.claim.state, ZKL_HELD);
        scene_close(&s);
    }
    TEST("release removes the node, and the claim is gone when that is sure") {
        scene_reach(&s, ZKL_HELD, ZKL_NEVER);
        CHECK_IS(scene_did(&s, zkl_claim_release(&s.claim)), ZKL_DO_REMOVE);
        CHECK_IS(scene_did(&s, zkl_claim_release(&s.claim)), 0);
        CHECK_IS(scene_did(&s, zkl_claim_own_deleted(&s.claim)), 0);
        CHECK_IS(scene_did(&s, zkl_claim_own_changed(&s.claim)), 0);
        CHECK_IS(scene_removed(&s, ZKL_DONE), ZKL_DO_FORGET);
        CHECK_IS(s.line.count, 0);
        CHECK_IS(s.losses, 0);
        scene_close(&s);
    }
    TEST("release of what is not held does nothing (BUG-04)") {
        for (int state = ZKL_NEW; state <= ZKL_GONE; state++) {
            bool held = state == ZKL_HELD || state == ZKL_DOWNGRADE;
            if (held || state == ZKL_SIGNALLED) continue;
            scene_reach(&s, (enum zkl_claim_state)state, ZKL_NEVER);
            CHECK_CASE("%s", scene_states[state]);
            CHECK_IS(zkl_claim_release(&s.claim), 0);
            CHECK_IS(s.claim.state, state);
            scene_close(&s);
        }
    }
}

/* Without this, one whose create found no parents would be made again behind the others. */
static void first_use_of_a_path(void) {
    struct scene s;
    struct zkl_claim next;
    TEST("claims that come while the first one opens the path follow it, in order of arrival") {
        scene_enter(&s, ZKL_MUTEX);
        zkl_claim_init(&next, &s.common, &s.line, ZKL_MUTEX, ZKL_NEVER, false);
        CHECK_IS(zkl_claim_start(&next), 0);
        CHECK_IS(next.state, ZKL_NEW);
        CHECK(scene_create_fails(&s, ZKL_ABSENT, ZKL_NO_NODE) & ZKL_DO_PARENTS);
        CHECK_IS(zkl_claim_resume(&next, s.now), 0); /* a heartbeat asks too early */
        CHECK_IS(scene_created(&s, 42, 1042), ZKL_DO_FOLLOW);
        CHECK_IS(zkl_claim_resume(&next, s.now), ZKL_DO_CREATE | ZKL_DO_LIST);
        zkl_claim_detach(&next);
        scene_close(&s);
    }
    TEST("on a path that is known to exist nobody waits for the first one's reply") {
        scene_enter(&s, ZKL_MUTEX);
        scene_created(&s, 42, 1042);
        CHECK(s.line.opened);
        zkl_claim_init(&next, &s.common, &s.line, ZKL_MUTEX, ZKL_NEVER, false);
        CHECK_IS(zkl_claim_start(&next), ZKL_DO_CREATE | ZKL_DO_LIST);
        struct zkl_claim third;
        zkl_claim_init(&third, &s.common, &s.line, ZKL_MUTEX, ZKL_NEVER, false);
        CHECK_IS(zkl_claim_start(&third), ZKL_DO_CREATE | ZKL_DO_LIST);
        zkl_claim_created(&next, ZKL_REFUSED, ZKL_AUTH, NULL, 0);
        CHECK(s.line.opened); /* a refusal is no news of the path */
        zkl_claim_detach(&third);
        zkl_claim_detach(&next);
        scene_close(&s);
    }
    TEST("they go on also when the first one fails, or its create stays unknown") {
        static const enum zkl_reply replies[] = {ZKL_REFUSED, ZKL_UNKNOWN};
        for (size_t i = 0; i < sizeof replies / sizeof *replies; i++) {
            scene_enter(&s, ZKL_MUTEX);
            zkl_claim_init(&next, &s.common, &s.line, ZKL_MUTEX, ZKL_NEVER, false);
            zkl_claim_start(&next);
            CHECK(scene_create_fails(&s, replies[i], ZKL_AUTH) & ZKL_DO_FOLLOW);
            CHECK_IS(zkl_claim_resume(&next, s.now), ZKL_DO_CREATE | ZKL_DO_LIST);
            zkl_claim_detach(&next);
            scene_close(&s);
        }
    }
}

int main(void) {
    first_use_of_a_path();
    entering();
    tries();
    waiting();
    downgrades();
    counters();
    holding();
    return check_report();
}
