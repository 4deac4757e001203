/*
 * lookahead_test.c - a claim that waits asks about the others ahead while its predecessor holds, so
 * that the hand-off needs no request. PIT-01, BUG-12.
 */
#include "scene.h"

#define FIRST "lock-0000000007"
#define SECOND "lock-0000000008"

/* The claim, 42, waits for AHEAD, and looks ahead to the last of these. */
#define REACH(...)                                                                                 \
    (scene_reach(ZKL_LIST), s.claim.node.watched = s.claim.announced = true,                       \
     LISTED(__VA_ARGS__, AHEAD, s.claim.node.name))

/* The watch of its lookahead tells that it was deleted. */
static zkl_actions lookahead_deleted(void) {
    return scene_did(zkl_claim_ahead_deleted(&s.claim, s.claim.lookahead, s.now));
}

static zkl_actions got_lookahead(enum zkl_reply reply) {
    return scene_did(zkl_claim_got_ahead(&s.claim, s.claim.lookahead, reply, ZKL_AUTH, s.now));
}

static void watching(void) {
    TEST("a claim with two ahead watches both, of three the two that are nearest") {
        CHECK_IS(REACH(FIRST), ZKL_DO_WATCH_AHEAD | ZKL_DO_WATCH_LOOKAHEAD);
        CHECK_TEXT(s.claim.lookahead->name, FIRST);
        CHECK_IS(REACH(FIRST, SECOND), ZKL_DO_WATCH_AHEAD | ZKL_DO_WATCH_LOOKAHEAD);
        CHECK_TEXT(s.claim.lookahead->name, SECOND);
    }
    TEST("only a claim for a mutex, behind one, looks ahead") {
        static const char *const ahead[] = {AHEAD, WRITER};
        static const enum zkl_kind kinds[] = {ZKL_WRITE, ZKL_MUTEX};
        for (size_t i = 0; i < 2; i++) {
            scene_reach_as(kinds[i], ZKL_LIST, ZKL_NEVER);
            CHECK(!(LISTED(FIRST, ahead[i], s.claim.node.name) & ZKL_DO_WATCH_LOOKAHEAD));
            CHECK(!s.claim.lookahead);
        }
        scene_reach_as(ZKL_PERMIT, ZKL_LIST, ZKL_NEVER);
        LISTED("permit-1-of-3-0000000039", "permit-2-of-3-0000000040", HOLDER, s.claim.node.name);
        CHECK(!s.claim.lookahead);
    }
    TEST("a lookahead that changed is watched again: the event used the watch up (PIT-05)") {
        REACH(FIRST);
        CHECK_IS(scene_did(zkl_claim_ahead_changed(&s.claim, s.claim.lookahead)),
                 ZKL_DO_WATCH_LOOKAHEAD);
    }
    TEST("what cannot be watched is left, and asked for at a heartbeat or a new connection") {
        static const enum zkl_reply replies[] = {ZKL_REFUSED, ZKL_UNKNOWN};
        for (size_t i = 0; i < 2; i++) {
            REACH(FIRST);
            CHECK_IS(got_lookahead(replies[i]), 0);
            CHECK(!s.claim.lookahead && !s.claim.stalled && s.fails == 0);
            CHECK_IS(scene_beat(), ZKL_DO_WATCH_LOOKAHEAD);
            CHECK_IS(scene_beat(), 0);
        }
        REACH(FIRST);
        scene_cut();
        CHECK_IS(got_lookahead(ZKL_UNKNOWN) | scene_got_ahead(ZKL_UNKNOWN), 0);
        CHECK_IS(scene_resume(), ZKL_DO_WATCH_AHEAD | ZKL_DO_WATCH_LOOKAHEAD);
        REACH(FIRST);
        scene_cut();
        CHECK_IS(got_lookahead(ZKL_UNKNOWN), 0);
        CHECK_IS(scene_resume(), ZKL_DO_WATCH_LOOKAHEAD);
    }
    TEST("a lookahead that gave way while it was asked for is forgotten if it is gone") {
        REACH(FIRST, SECOND);
        struct zkl_contender *second = zkl_contender_ref(s.claim.lookahead);
        zkl_claim_overlook(&s.claim);
        CHECK_IS(scene_did(zkl_claim_got_ahead(&s.claim, second, ZKL_DONE, ZKL_OK, s.now)), 0);
        CHECK(second->listed);
        CHECK_IS(scene_did(zkl_claim_got_ahead(&s.claim, second, ZKL_ABSENT, ZKL_OK, s.now)), 0);
        CHECK(!second->listed);
        CHECK_IS(scene_beat(), ZKL_DO_WATCH_LOOKAHEAD);
        CHECK_TEXT(s.claim.lookahead->name, FIRST);
        zkl_contender_unref(second);
    }
    TEST("a claim that is given up looks ahead no more") {
        REACH(FIRST);
        scene_cancel(ZKL_TIMEOUT);
        CHECK(!s.claim.lookahead && !s.claim.looking);
        REACH(FIRST);
        scene_own_deleted();
        CHECK(!s.claim.lookahead && !s.claim.looking);
    }
}

static void looking(void) {
    TEST("when its lookahead goes, and no other was ahead, the claim knows that it is next") {
        REACH(FIRST);
        CHECK_IS(lookahead_deleted(), 0);
        CHECK_IS(s.claim.state, ZKL_WAIT);
        CHECK_IS(scene_ahead_deleted(), ZKL_DO_GRANT);
    }
    TEST("with one more ahead, that one is watched: it may be gone, too") {
        REACH(FIRST, SECOND);
        CHECK_IS(lookahead_deleted(), ZKL_DO_WATCH_LOOKAHEAD);
        CHECK_TEXT(s.claim.lookahead->name, FIRST);
        CHECK_IS(got_lookahead(ZKL_ABSENT), 0);
        CHECK_IS(scene_ahead_deleted(), ZKL_DO_GRANT);
    }
    TEST("a lookahead that goes when the claim asked often enough is left") {
        REACH(FIRST, SECOND);
        s.claim.rounds = ZKL_ROUNDS;
        CHECK_IS(got_lookahead(ZKL_ABSENT), 0);
        CHECK(!s.claim.lookahead);
    }
    TEST("with more ahead one list tells, and the hand-off needs none") {
        scene_long_line(9, 0);
        CHECK_IS(lookahead_deleted(), ZKL_DO_LIST);
        CHECK_IS(s.claim.state, ZKL_WAIT);
        CHECK_IS(LISTED(AHEAD, s.claim.node.name), 0);
        CHECK_IS(scene_ahead_deleted(), ZKL_DO_GRANT);
    }
    TEST("a list that shows another one before the predecessor has it watched") {
        scene_long_line(9, 0);
        lookahead_deleted();
        CHECK_IS(LISTED(FIRST, AHEAD, s.claim.node.name), ZKL_DO_WATCH_LOOKAHEAD);
        CHECK_TEXT(s.claim.lookahead->name, FIRST);
    }
    TEST("in a long line gets tell, of all but the predecessor") {
        scene_long_line(3, 12);
        CHECK_IS(lookahead_deleted(), ZKL_DO_RANK);
        CHECK_IS(s.claim.ranks, 2);
        CHECK_IS(scene_ranked("lock-0000000000", ZKL_DONE, 900), 0);
        CHECK_IS(scene_ranked("lock-0000000001", ZKL_ABSENT, 0), ZKL_DO_WATCH_LOOKAHEAD);
        CHECK_TEXT(s.claim.lookahead->name, "lock-0000000000");
        CHECK_IS(lookahead_deleted(), 0);
        CHECK_IS(scene_ahead_deleted(), ZKL_DO_GRANT);
    }
    TEST("a writer among them may have left a reader with its number: a list tells") {
        REACH(FIRST, "__WRIT__0000000008");
        CHECK_IS(lookahead_deleted(), ZKL_DO_LIST);
        CHECK_IS(LISTED("__READ__0000000008", AHEAD, s.claim.node.name), ZKL_DO_WATCH_LOOKAHEAD);
    }
    TEST("so does a get of one of them that is gone") {
        REACH("lock-0000000000", "__WRIT__0000000001", FIRST, "lock-0000000043", "lock-0000000044",
              "lock-0000000045", "lock-0000000046", "lock-0000000047", "lock-0000000048");
        CHECK_IS(lookahead_deleted(), ZKL_DO_RANK);
        scene_ranked("lock-0000000000", ZKL_ABSENT, 0);
        CHECK_IS(scene_ranked("__WRIT__0000000001", ZKL_ABSENT, 0), ZKL_DO_LIST);
        CHECK_IS(LISTED("__READ__0000000001", AHEAD, s.claim.node.name), ZKL_DO_WATCH_LOOKAHEAD);
    }
    TEST("a server that contradicts itself is not asked for ever") {
        int asked = 0;
        scene_long_line(9, 0);
        for (int i = 0; i < 100 && s.claim.lookahead; i++) {
            zkl_actions did = got_lookahead(ZKL_ABSENT);
            if (did & ZKL_DO_LIST)
                did |= LISTED(FIRST, SECOND, "lock-0000000009", "lock-0000000010", AHEAD,
                              s.claim.node.name);
            asked += did != 0;
        }
        CHECK(asked > 1 && asked <= ZKL_ROUNDS);
        CHECK_IS(s.claim.state, ZKL_WAIT);
    }
}

static void overtaken(void) {
    TEST("a predecessor that goes during a look needs no other: the list decides (BUG-12)") {
        scene_long_line(9, 0);
        lookahead_deleted();
        CHECK_IS(scene_ahead_deleted(), 0);
        CHECK_IS(s.claim.state, ZKL_LIST);
        CHECK_IS(LISTED(FIRST, s.claim.node.name), ZKL_DO_WATCH_AHEAD);
        CHECK_IS(s.grants, 0);
        scene_long_line(9, 0);
        lookahead_deleted();
        scene_got_ahead(ZKL_ABSENT);
        CHECK_IS(LISTED(s.claim.node.name), ZKL_DO_GRANT);
    }
    TEST("nor if the look is gets: the last of them decides") {
        scene_long_line(3, 12);
        lookahead_deleted();
        CHECK_IS(scene_ranked("lock-0000000000", ZKL_ABSENT, 0), 0);
        CHECK_IS(scene_ahead_deleted(), 0);
        CHECK_IS(s.claim.state, ZKL_RANK);
        CHECK_IS(scene_ranked("lock-0000000001", ZKL_ABSENT, 0), ZKL_DO_GRANT);
    }
    TEST("also if the predecessor's watch got lost meanwhile") {
        for (int gets = 0; gets < 2; gets++) {
            if (gets) scene_long_line(3, 12);
            else scene_long_line(9, 0);
            lookahead_deleted();
            scene_got_ahead(ZKL_UNKNOWN);
            CHECK_IS(scene_ahead_deleted(), 0);
            CHECK_IS(s.claim.state, gets ? ZKL_RANK : ZKL_LIST);
            CHECK(!s.claim.stalled && !s.claim.ahead);
        }
    }
    TEST("a predecessor that was not the lookahead is watched: a list of another claim showed it") {
        REACH(FIRST, SECOND);
        LINE(FIRST, s.claim.node.name);
        CHECK_IS(scene_did(zkl_claim_ahead_deleted(&s.claim, s.claim.ahead, s.now)),
                 ZKL_DO_WATCH_AHEAD);
        CHECK_TEXT(s.claim.ahead->name, FIRST);
    }
    TEST("a lookahead that is the predecessor now is watched already, or the get for it is out") {
        REACH(FIRST);
        CHECK_IS(scene_ahead_deleted(), 0);
        CHECK_TEXT(s.claim.ahead->name, FIRST);
        CHECK(s.claim.state == ZKL_WAIT && !s.claim.lookahead);
        CHECK_IS(scene_got_ahead(ZKL_UNKNOWN), 0);
        CHECK_IS(scene_resume(), ZKL_DO_WATCH_AHEAD);
        CHECK_IS(scene_ahead_deleted(), ZKL_DO_GRANT);
    }
    TEST("after a look that was lost, or refused, the claim asks at the hand-off") {
        static const enum zkl_reply replies[] = {ZKL_UNKNOWN, ZKL_REFUSED, ZKL_ABSENT};
        for (size_t i = 0; i < 3; i++) {
            scene_long_line(9, 0);
            lookahead_deleted();
            CHECK_IS(scene_list_fails(replies[i], ZKL_AUTH), 0);
            CHECK(s.claim.state == ZKL_WAIT && !s.claim.stalled && s.fails == 0);
            CHECK_IS(scene_ahead_deleted(), ZKL_DO_LIST);
        }
    }
    TEST("after a cut the claim lists before a grant, though it had looked") {
        REACH(FIRST);
        lookahead_deleted();
        scene_cut();
        s.common.clock.connected = true;
        CHECK_IS(scene_ahead_deleted(), ZKL_DO_LIST);
    }
}

int main(void) {
    watching();
    looking();
    overtaken();
    return check_report();
}
