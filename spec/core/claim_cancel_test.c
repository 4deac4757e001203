/*
 * claim_cancel_test.c - wishes that end early: cancel and deadline in every
 * state. BUG-03 (a failed try leaves its node), BUG-04, BUG-06; the promise "every
 * wait ends, and nothing is left behind".
 */
#include "scene.h"

enum { KEPT = 0, FAILS = ZKL_DO_FAIL };
static const zkl_actions ends[] = {[ZKL_NEW] = ZKL_DO_FAIL | ZKL_DO_FORGET,
                                   [ZKL_TRY] = ZKL_DO_FAIL | ZKL_DO_FORGET,
                                   [ZKL_CREATE] = ZKL_DO_FAIL,
                                   [ZKL_RECOVER_SYNC] = ZKL_DO_FAIL,
                                   [ZKL_RECOVER_LIST] = ZKL_DO_FAIL,
                                   [ZKL_RECOVER_STAT] = ZKL_DO_FAIL | ZKL_DO_REMOVE,
                                   [ZKL_LIST] = ZKL_DO_FAIL | ZKL_DO_REMOVE,
                                   [ZKL_RANK] = ZKL_DO_FAIL | ZKL_DO_REMOVE,
                                   [ZKL_WAIT] = ZKL_DO_FAIL | ZKL_DO_REMOVE,
                                   [ZKL_PROVE] = ZKL_DO_FAIL | ZKL_DO_REMOVE,
                                   [ZKL_RETREAT] = ZKL_DO_FAIL,
                                   [ZKL_FIRST] = ZKL_DO_FAIL | ZKL_DO_REMOVE,
                                   [ZKL_HELD] = KEPT,
                                   [ZKL_DOWNGRADE] = KEPT,
                                   [ZKL_IN_CONDITION] = ZKL_DO_FAIL,
                                   [ZKL_SIGNALLED] = ZKL_DO_TELL_PARTNER | ZKL_DO_LIST,
                                   [ZKL_FORWARD] = KEPT,
                                   [ZKL_LEAVE] = KEPT,
                                   [ZKL_GONE] = KEPT};

static void everywhere(void) {
    TEST("in every state a cancelled wish is answered at once, and once") {
        for (int state = ZKL_NEW; state <= ZKL_GONE; state++) {
            if (state == ZKL_KEPT) continue; /* it is nobody's wish any more */
            scene_reach((enum zkl_claim_state)state);
            CHECK_CASE("%s", scene_states[state]);
            CHECK_IS(scene_cancel(ZKL_INTERRUPTED), ends[state]);
            if (ends[state]) CHECK_IS(s.claim.code, ZKL_INTERRUPTED);
            CHECK_IS(scene_cancel(ZKL_CLOSED), 0);
            if (ends[state]) CHECK_IS(s.claim.code, ZKL_INTERRUPTED);
            CHECK(!s.claim.ahead);
        }
    }
    TEST("in every state the deadline is kept, and gives timeout") {
        for (int state = ZKL_NEW; state <= ZKL_GONE; state++) {
            scene_reach_until((enum zkl_claim_state)state, 2000 * ZKL_SECOND);
            scene_prove();
            CHECK_CASE("%s", scene_states[state]);
            CHECK_IS(zkl_claim_tick(&s.claim, s.now), 0);
            if (s.claim.waiting) { /* the deadline is its lock's claim's */
                continue;
            }
            bool held = zkl_claim_holds(&s.claim);
            CHECK_IS(zkl_claim_tick(&s.claim, 2000 * ZKL_SECOND - 1) & ~ZKL_DO_REMOVE,
                     held ? ZKL_DO_LOSE : 0);
            if (held) {
                continue;
            }
            CHECK_IS(zkl_claim_tick(&s.claim, 2000 * ZKL_SECOND), ends[state]);
            if (ends[state]) CHECK_IS(s.claim.code, ZKL_TIMEOUT);
            CHECK_IS(zkl_claim_tick(&s.claim, 2001 * ZKL_SECOND), 0);
        }
    }
    TEST("in every state, stalled, the deadline is kept too") {
        for (int state = ZKL_NEW; state <= ZKL_PROVE; state++) {
            scene_reach_until((enum zkl_claim_state)state, 2000 * ZKL_SECOND);
            scene_stall();
            s.common.clock.connected = false;
            CHECK_CASE("%s", scene_states[state]);
            zkl_actions did = zkl_claim_tick(&s.claim, 2000 * ZKL_SECOND);
            CHECK_IS(did, ends[state] & ~ZKL_DO_REMOVE);
            if (ends[state] & ZKL_DO_REMOVE) CHECK_IS(scene_resume(), ZKL_DO_REMOVE);
        }
    }
    TEST("a wish without deadline waits for ever") {
        scene_reach(ZKL_WAIT);
        CHECK_IS(zkl_claim_tick(&s.claim, ZKL_NEVER - 1), 0);
    }
}

static void afterwards(void) {
    TEST("a node that is created for a cancelled wish is removed (BUG-03)") {
        scene_enter(ZKL_MUTEX);
        scene_cancel(ZKL_TIMEOUT);
        CHECK_IS(scene_created(42, 1042), ZKL_DO_REMOVE);
        CHECK_IS(LISTED(s.claim.node.name), 0);
        CHECK_IS(scene_removed(ZKL_DONE), ZKL_DO_FORGET);
        CHECK_IS(s.line.count, 0);
        CHECK_IS(s.fails, 1);
    }
    TEST("a cancelled wish whose create is unknown is looked for, then removed or gone") {
        for (int found = 0; found < 2; found++) {
            scene_enter(ZKL_MUTEX);
            scene_cancel(ZKL_TIMEOUT);
            CHECK_IS(scene_create_fails(ZKL_UNKNOWN, ZKL_OK), ZKL_DO_DOUBT);
            CHECK_IS(scene_resume(), ZKL_DO_SYNC | ZKL_DO_LIST);
            scene_synced(ZKL_DONE);
            if (found) CHECK_IS(LISTED(scene_name(42)), ZKL_DO_REMOVE);
            else CHECK_IS(LISTED(AHEAD), ZKL_DO_FORGET);
            if (found) CHECK_IS(scene_removed(ZKL_DONE), ZKL_DO_FORGET);
            CHECK_IS(s.fails, 1);
        }
    }
    TEST("the search for a cancelled wish goes on until it is answered") {
        scene_reach(ZKL_RECOVER_LIST);
        scene_cancel(ZKL_TIMEOUT);
        CHECK_IS(scene_list_fails(ZKL_REFUSED, ZKL_AUTH), 0);
        CHECK_IS(scene_resume(), ZKL_DO_SYNC | ZKL_DO_LIST);
        scene_synced(ZKL_DONE);
        CHECK_IS(scene_list_fails(ZKL_ABSENT, ZKL_NO_NODE), ZKL_DO_FORGET);
        CHECK_IS(s.fails, 1);
    }
    TEST("the reason that the user was told stays, whatever comes after") {
        scene_enter(ZKL_MUTEX);
        scene_cancel(ZKL_INTERRUPTED);
        zkl_claim_parents(&s.claim, ZKL_REFUSED, ZKL_AUTH);
        CHECK_IS(s.claim.code, ZKL_INTERRUPTED);
        scene_created(42, 1042);
        CHECK_IS(s.claim.code, ZKL_INTERRUPTED);
    }
    TEST("replies that come after a cancel grant nothing") {
        for (int state = ZKL_TRY; state <= ZKL_PROVE; state++) {
            scene_reach((enum zkl_claim_state)state);
            scene_cancel(ZKL_TIMEOUT);
            CHECK_CASE("%s", scene_states[state]);
            if (state == ZKL_CREATE) scene_created(42, 1042);
            scene_synced(ZKL_DONE);
            LISTED(scene_name(42));
            scene_got_own(ZKL_DONE, 1042);
            if (s.other) {
                scene_did(zkl_claim_ahead_deleted(&s.claim, s.other, s.now));
                s.claim.ranks++;
                scene_did(zkl_claim_ranked(&s.claim, s.other, ZKL_DONE, 1, s.now));
            }
            CHECK_IS(s.grants, 0);
            CHECK_IS(s.fails, 1);
        }
    }
}

int main(void) {
    everywhere();
    afterwards();
    return check_report();
}
