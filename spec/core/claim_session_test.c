/*
 * claim_session_test.c - connection, expiry and the lease clock, in every state.
 * BUG-13 (expiry wakes nobody), PIT-02, PIT-09, Q-01, Q-03, Q-04, DEMO-17.
 */
#include "scene.h"

static bool wanted_in(int state) {
    return state < ZKL_HELD || state == ZKL_IN_CONDITION;
}

static void expiry(void) {
    struct scene s;
    TEST("expiry ends a claim in every state: a waiter fails, a holder loses (BUG-13)") {
        for (int i = 0; i < 2 * (ZKL_GONE + 1); i++) {
            int state = i / 2;
            scene_reach(&s, (enum zkl_claim_state)state, ZKL_NEVER);
            if (i % 2) scene_stall(&s);
            bool held = zkl_claim_holds(&s.claim);
            CHECK_CASE("%s%s", scene_states[state], i % 2 ? ", stalled" : "");
            zkl_clock_stop(&s.common.clock);
            zkl_actions did = scene_did(&s, zkl_claim_expire(&s.claim));
            zkl_actions told = wanted_in(state) ? ZKL_DO_FAIL : held ? ZKL_DO_LOSE : 0;
            if (s.claim.waits) told = ZKL_DO_TELL_PARTNER;
            CHECK_IS(did, state == ZKL_GONE ? 0 : told | ZKL_DO_FORGET);
            CHECK_IS(s.claim.state, ZKL_GONE);
            if (told && state != ZKL_FORWARD) CHECK_IS(s.claim.code, held ? ZKL_LOST : ZKL_EXPIRED);
            CHECK_IS(s.forgets, 1);
            CHECK_IS(scene_did(&s, zkl_claim_expire(&s.claim)), 0);
            scene_close(&s);
        }
    }
    TEST("expiry of a cancelled wish is not told twice") {
        for (int state = ZKL_CREATE; state <= ZKL_RECOVER_LIST; state++) {
            scene_reach(&s, (enum zkl_claim_state)state, ZKL_NEVER);
            scene_cancel(&s, ZKL_TIMEOUT);
            CHECK_IS(scene_did(&s, zkl_claim_expire(&s.claim)), ZKL_DO_FORGET);
            CHECK_IS(s.claim.code, ZKL_TIMEOUT);
            scene_close(&s);
        }
    }
    TEST("replies that come after expiry do nothing") {
        for (int state = ZKL_NEW; state <= ZKL_GONE; state++) {
            scene_reach(&s, (enum zkl_claim_state)state, ZKL_NEVER);
            scene_did(&s, zkl_claim_expire(&s.claim));
            CHECK_CASE("%s", scene_states[state]);
            CHECK_IS(scene_created(&s, 42, 1042) | LISTED(&s, scene_name(&s, 42)), 0);
            CHECK_IS(scene_synced(&s, ZKL_DONE) | scene_got_own(&s, ZKL_ABSENT, 0), 0);
            CHECK_IS(scene_removed(&s, ZKL_DONE) | scene_shared(&s, ZKL_DONE), 0);
            CHECK_IS(scene_resume(&s), 0);
            CHECK_IS(scene_did(&s, zkl_claim_own_changed(&s.claim)), 0);
            CHECK_IS(scene_did(&s, zkl_claim_beat(&s.claim, s.now)), 0);
            CHECK_IS(s.forgets, 1);
            scene_close(&s);
        }
    }
}

static void suspension(void) {
    struct scene s;
    TEST("a suspended session keeps what waits and what is held") {
        for (int state = ZKL_NEW; state <= ZKL_GONE; state++) {
            if (state == ZKL_TRY) continue;
            scene_reach(&s, (enum zkl_claim_state)state, ZKL_NEVER);
            CHECK_CASE("%s", scene_states[state]);
            CHECK_IS(scene_cut(&s), 0);
            /* A part that was first has to look again. */
            CHECK_IS(s.claim.state, state == ZKL_FIRST ? ZKL_LIST : state);
            /* Deletions are told in no order after it. */
            CHECK_IS(s.line.incomplete, state == ZKL_WAIT || state == ZKL_RANK);
            scene_close(&s);
        }
    }
    TEST("a try does not outlast the connection, wherever it is") {
        static const zkl_actions ends[] = {ZKL_DO_FAIL | ZKL_DO_FORGET, ZKL_DO_FAIL, ZKL_DO_FAIL};
        for (int i = 0; i < 3; i++) {
            scene_reach(&s, ZKL_TRY, ZKL_NEVER);
            if (i > 0) LISTED(&s, "config");
            if (i > 1) scene_created(&s, 42, 1042);
            CHECK_IS(scene_cut(&s), ends[i]);
            CHECK_IS(s.claim.code, ZKL_TIMEOUT);
            if (i > 1) CHECK_IS(scene_resume(&s), ZKL_DO_REMOVE);
            scene_close(&s);
        }
        scene_reach(&s, ZKL_TRY, ZKL_NEVER);
        LISTED(&s, "config");
        scene_created(&s, 42, 1042);
        LISTED(&s, s.claim.name);
        CHECK_IS(scene_cut(&s), 0); /* it holds: that is no try any more */
        CHECK_IS(s.claim.state, ZKL_HELD);
        scene_close(&s);
    }
    TEST("a node is removed only over a connection, and then at once") {
        scene_reach(&s, ZKL_HELD, ZKL_NEVER);
        scene_cut(&s);
        CHECK_IS(scene_did(&s, zkl_claim_release(&s.claim)), 0);
        CHECK(s.claim.stalled);
        CHECK_IS(scene_resume(&s), ZKL_DO_REMOVE);
        scene_close(&s);
    }
    TEST("a waiter needs nothing done when the connection is back: its watches are") {
        scene_reach(&s, ZKL_WAIT, ZKL_NEVER);
        scene_got_own(&s, ZKL_DONE, 1042);
        scene_got_ahead(&s, ZKL_DONE);
        scene_cut(&s);
        CHECK_IS(scene_resume(&s), 0);
        scene_close(&s);
    }
    TEST("after a reconnect a list comes before a grant: deletions are told in no order") {
        scene_reach(&s, ZKL_WAIT, ZKL_NEVER);
        scene_cut(&s);
        scene_resume(&s);
        CHECK_IS(scene_ahead_deleted(&s), ZKL_DO_LIST);
        CHECK_IS(LISTED(&s, s.claim.name), ZKL_DO_GRANT);
        scene_close(&s);
        scene_reach(&s, ZKL_WAIT, ZKL_NEVER);
        scene_cut(&s);
        scene_resume(&s);
        scene_ahead_deleted(&s);
        CHECK_IS(LISTED(&s, BEHIND), ZKL_DO_CREATE | ZKL_DO_LIST); /* its own is gone, too */
        scene_close(&s);
    }
    TEST("news from before the cut grants nothing without a connection") {
        scene_reach(&s, ZKL_WAIT, ZKL_NEVER);
        scene_cut(&s);
        CHECK_IS(scene_ahead_deleted(&s), ZKL_DO_LIST);
        CHECK_IS(scene_list_fails(&s, ZKL_UNKNOWN, ZKL_OK), 0);
        CHECK_IS(scene_resume(&s), ZKL_DO_LIST);
        CHECK_IS(LISTED(&s, s.claim.name), ZKL_DO_GRANT);
        scene_close(&s);
    }
}

static void lease(void) {
    struct scene s;
    TEST("no grant without a certain clock: a sync comes first (Q-03)") {
        scene_reach(&s, ZKL_LIST, ZKL_NEVER);
        s.now += T / 2;
        CHECK_IS(LISTED(&s, s.claim.name), ZKL_DO_SYNC);
        CHECK_IS(s.claim.state, ZKL_PROVE);
        CHECK_IS(scene_synced(&s, ZKL_DONE), ZKL_DO_GRANT);
        scene_close(&s);
        scene_reach(&s, ZKL_WAIT, ZKL_NEVER);
        s.now += 100 * T; /* a process that was stopped wakes to an old event */
        CHECK_IS(scene_ahead_deleted(&s), ZKL_DO_SYNC);
        scene_close(&s);
    }
    TEST("a sync whose answer came too late to be certain is asked for again at the next beat") {
        scene_reach(&s, ZKL_PROVE, ZKL_NEVER);
        zkl_clock_prove(&s.common.clock, s.now, s.now + T / 2);
        s.now += T / 2;
        CHECK_IS(scene_did(&s, zkl_claim_synced(&s.claim, ZKL_DONE, s.now)), 0);
        CHECK_IS(s.claim.state, ZKL_PROVE);
        CHECK_IS(scene_did(&s, zkl_claim_beat(&s.claim, s.now)), ZKL_DO_SYNC);
        scene_close(&s);
    }
    TEST("a first in line whose node is removed meanwhile queues again") {
        scene_reach(&s, ZKL_PROVE, ZKL_NEVER);
        CHECK_IS(scene_did(&s, zkl_claim_own_deleted(&s.claim)), ZKL_DO_CREATE | ZKL_DO_LIST);
        CHECK_IS(scene_synced(&s, ZKL_DONE), 0); /* of before */
        CHECK_IS(s.claim.state, ZKL_CREATE);
        scene_close(&s);
    }
    TEST("a lease ends by the own clock at proof + T, before any packet (PIT-09, DEMO-17)") {
        scene_reach(&s, ZKL_HELD, ZKL_NEVER);
        CHECK_IS(scene_tick(&s, T - 1), 0);
        CHECK_IS(scene_tick(&s, 1), ZKL_DO_LOSE | ZKL_DO_REMOVE);
        CHECK_IS(s.claim.code, ZKL_LOST);
        CHECK_IS(scene_removed(&s, ZKL_DONE), ZKL_DO_FORGET);
        CHECK_IS(s.losses, 1);
        scene_close(&s);
    }
    TEST("what the clock ended does not come back with a later proof (Q-01)") {
        scene_reach(&s, ZKL_HELD, ZKL_NEVER);
        scene_cut(&s);
        s.now += T;
        s.common.clock.connected = true;
        zkl_clock_prove(&s.common.clock, s.now, s.now);
        CHECK_IS(scene_tick(&s, 0), ZKL_DO_LOSE | ZKL_DO_REMOVE);
        scene_close(&s);
    }
    TEST("the node of a lease that ended while cut off is removed if the session lives") {
        scene_reach(&s, ZKL_HELD, ZKL_NEVER);
        scene_cut(&s);
        CHECK_IS(scene_tick(&s, T), ZKL_DO_LOSE);
        CHECK(s.claim.stalled);
        CHECK_IS(scene_resume(&s), ZKL_DO_REMOVE);
        scene_close(&s);
    }
    TEST("a suspect holder is asked nothing and keeps its grant") {
        scene_reach(&s, ZKL_HELD, ZKL_NEVER);
        scene_cut(&s);
        CHECK_IS(scene_tick(&s, T * 9 / 10), 0);
        CHECK_IS(scene_resume(&s), 0);
        CHECK_IS(s.claim.state, ZKL_HELD);
        scene_close(&s);
    }
    TEST("what waits is not lost when the clock runs out: only a grant needs the clock") {
        scene_reach(&s, ZKL_WAIT, ZKL_NEVER);
        CHECK_IS(scene_tick(&s, 10 * T), 0);
        CHECK_IS(scene_ahead_deleted(&s), ZKL_DO_SYNC);
        CHECK_IS(scene_synced(&s, ZKL_DONE), ZKL_DO_GRANT);
        CHECK_IS(s.claim.epoch, s.common.clock.epoch);
        CHECK_IS(scene_tick(&s, 1), 0);
        scene_close(&s);
    }
}

int main(void) {
    expiry();
    suspension();
    lease();
    return check_report();
}
