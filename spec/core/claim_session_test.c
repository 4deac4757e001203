/*
 * claim_session_test.c - connection, expiry and the lease clock, in every state.
 * BUG-13 (expiry wakes nobody), PIT-02, PIT-09, Q-01, Q-03, Q-04, DEMO-17.
 */
#include "scene.h"

static bool wanted_in(int state) {
    return state < ZKL_HELD || state == ZKL_IN_CONDITION;
}

static void expiry(void) {
    TEST("expiry ends a claim in every state: a waiter fails, a holder loses (BUG-13)") {
        for (int i = 0; i < 2 * (ZKL_GONE + 1); i++) {
            int state = i / 2;
            scene_reach((enum zkl_claim_state)state);
            if (i % 2) scene_stall();
            bool held = zkl_claim_holds(&s.claim);
            CHECK_CASE("%s%s", scene_states[state], i % 2 ? ", stalled" : "");
            zkl_actions did = scene_expire();
            zkl_actions told = wanted_in(state) ? ZKL_DO_FAIL : held ? ZKL_DO_LOSE : 0;
            if (s.claim.waiting) told = ZKL_DO_TELL_PARTNER;
            CHECK_IS(did, state == ZKL_GONE ? 0 : told | ZKL_DO_FORGET);
            CHECK_IS(s.claim.state, ZKL_GONE);
            if (told && state != ZKL_FORWARD) CHECK_IS(s.claim.code, held ? ZKL_LOST : ZKL_EXPIRED);
            CHECK_IS(s.forgets, 1);
            CHECK_IS(scene_expire(), 0);
        }
    }
    TEST("replies that come after expiry do nothing") {
        for (int state = ZKL_NEW; state <= ZKL_GONE; state++) {
            scene_reach((enum zkl_claim_state)state);
            scene_expire();
            CHECK_CASE("%s", scene_states[state]);
            CHECK_IS(scene_created(42, 1042) | LISTED(scene_name(42)), 0);
            CHECK_IS(scene_synced(ZKL_DONE) | scene_got_own(ZKL_ABSENT, 0), 0);
            CHECK_IS(scene_removed(ZKL_DONE) | scene_shared(ZKL_DONE), 0);
            CHECK_IS(scene_resume(), 0);
            CHECK_IS(scene_own_changed(), 0);
            CHECK_IS(scene_beat(), 0);
            CHECK_IS(s.forgets, 1);
        }
    }
}

static void suspension(void) {
    TEST("a suspended session keeps what waits and what is held") {
        for (int state = ZKL_NEW; state <= ZKL_GONE; state++) {
            if (state == ZKL_TRY) continue;
            scene_reach((enum zkl_claim_state)state);
            CHECK_CASE("%s", scene_states[state]);
            CHECK_IS(scene_cut(), 0);
            /* A part that was first has to look again. */
            CHECK_IS(s.claim.state, state == ZKL_FIRST ? ZKL_LIST : state);
            /* Deletions are told in no order after it. */
            CHECK_IS(s.line.incomplete, state == ZKL_WAIT || state == ZKL_RANK);
        }
    }
    TEST("a try does not outlast the connection, wherever it is") {
        static const zkl_actions ends[] = {ZKL_DO_FAIL | ZKL_DO_FORGET, ZKL_DO_FAIL, ZKL_DO_FAIL};
        for (int i = 0; i < 3; i++) {
            scene_reach(ZKL_TRY);
            if (i > 0) LISTED("config");
            if (i > 1) scene_created(42, 1042);
            CHECK_IS(scene_cut(), ends[i]);
            CHECK_IS(s.claim.code, ZKL_TIMEOUT);
            if (i > 1) CHECK_IS(scene_resume(), ZKL_DO_REMOVE);
        }
        scene_reach(ZKL_TRY);
        LISTED("config");
        scene_created(42, 1042);
        LISTED(s.claim.node.name);
        CHECK_IS(scene_cut(), 0); /* it holds: that is no try any more */
        CHECK_IS(s.claim.state, ZKL_HELD);
    }
    TEST("a waiter needs nothing done when the connection is back: its watches are") {
        scene_reach(ZKL_WAIT);
        scene_got_own(ZKL_DONE, 1042);
        scene_got_ahead(ZKL_DONE);
        scene_cut();
        CHECK_IS(scene_resume(), 0);
    }
    TEST("after a reconnect a list comes before a grant: deletions are told in no order") {
        scene_reach(ZKL_WAIT);
        scene_cut();
        scene_resume();
        CHECK_IS(scene_ahead_deleted(), ZKL_DO_LIST);
        CHECK_IS(LISTED(s.claim.node.name), ZKL_DO_GRANT);
        scene_reach(ZKL_WAIT);
        scene_cut();
        scene_resume();
        scene_ahead_deleted();
        CHECK_IS(LISTED(BEHIND), ZKL_DO_CREATE | ZKL_DO_LIST); /* its own is gone, too */
    }
    TEST("news from before the cut grants nothing without a connection") {
        scene_reach(ZKL_WAIT);
        scene_cut();
        CHECK_IS(scene_ahead_deleted(), ZKL_DO_LIST);
        CHECK_IS(scene_list_fails(ZKL_UNKNOWN, ZKL_OK), 0);
        CHECK_IS(scene_resume(), ZKL_DO_LIST);
        CHECK_IS(LISTED(s.claim.node.name), ZKL_DO_GRANT);
    }
}

static void lease(void) {
    TEST("no grant without a certain clock: a sync comes first (Q-03)") {
        scene_reach(ZKL_LIST);
        s.now += T / 2;
        CHECK_IS(LISTED(s.claim.node.name), ZKL_DO_SYNC);
        CHECK_IS(s.claim.state, ZKL_PROVE);
        CHECK_IS(scene_synced(ZKL_DONE), ZKL_DO_GRANT);
        scene_reach(ZKL_WAIT);
        s.now += 100 * T; /* a process that was stopped wakes to an old event */
        CHECK_IS(scene_ahead_deleted(), ZKL_DO_SYNC);
    }
    TEST("a sync whose answer came too late to be certain is asked for again at the next beat") {
        scene_reach(ZKL_PROVE);
        scene_run(T / 2);
        zkl_clock_prove(&s.common.clock, s.now - T / 2, s.now);
        CHECK_IS(scene_did(zkl_claim_synced(&s.claim, ZKL_DONE, s.now)), 0);
        CHECK_IS(s.claim.state, ZKL_PROVE);
        CHECK_IS(scene_beat(), ZKL_DO_SYNC);
    }
    TEST("after a stop a claim takes no place in line before a grant could be used") {
        for (int kind = 0; kind < 2; kind++) {
            scene_open(kind ? ZKL_UNFAIR : ZKL_MUTEX, ZKL_NEVER, false);
            scene_stop(T);
            CHECK_IS(scene_start() & ~ZKL_DO_QUEUED, 0);
            scene_run(T / 15 * 4 - 1);
            CHECK_IS(scene_resume() & ~ZKL_DO_QUEUED, 0);
            CHECK_IS(s.claim.state, ZKL_NEW);
            scene_run(1);
            CHECK(scene_resume() & ZKL_DO_CREATE);
        }
    }
    TEST("after a stop a try asks nothing before a grant could be used, and ends by its deadline") {
        for (int kind = 0; kind < 2; kind++) {
            scene_open(kind ? ZKL_UNFAIR : ZKL_MUTEX, s.now + 2 * T, true);
            scene_stop(T);
            CHECK_IS(scene_start(), 0);
            scene_run(T / 15 * 4 - 1);
            CHECK_IS(scene_resume(), 0);
            scene_run(1);
            CHECK_IS(scene_resume(), kind ? ZKL_DO_CREATE : ZKL_DO_LIST);
            scene_open(kind ? ZKL_UNFAIR : ZKL_MUTEX, s.now + 2 * T, true);
            scene_stop(T);
            scene_start();
            CHECK_IS(scene_tick(s.now + T), ZKL_DO_FAIL | ZKL_DO_FORGET);
            CHECK_IS(s.claim.code, ZKL_TIMEOUT);
        }
    }
    TEST("a claim that comes to the front after a stop gives its place to those behind it") {
        scene_reach(ZKL_WAIT);
        scene_stop(T);
        CHECK_IS(scene_ahead_deleted(), ZKL_DO_REMOVE);
        CHECK_IS(s.claim.state, ZKL_RETREAT);
        CHECK_IS(scene_removed(ZKL_DONE), 0);
        CHECK_IS(s.claim.state, ZKL_NEW);
        CHECK_IS(scene_resume(), 0);
        scene_run(T / 15 * 4);
        CHECK_IS(scene_resume(), ZKL_DO_CREATE | ZKL_DO_LIST);
    }
    TEST("so does one that hears of the stop by the answer of its sync") {
        scene_reach(ZKL_PROVE);
        s.now += T;
        zkl_clock_prove(&s.common.clock, s.now - T, s.now);
        CHECK_IS(scene_did(zkl_claim_synced(&s.claim, ZKL_DONE, s.now)), ZKL_DO_REMOVE);
        CHECK_IS(s.claim.state, ZKL_RETREAT);
    }
    TEST("a try that comes to the front after a stop removes its node, and asks anew") {
        scene_open(ZKL_MUTEX, ZKL_NEVER, true);
        scene_start();
        scene_listed(NULL, 0);
        scene_created(42, 1042);
        scene_stop(T);
        CHECK_IS(LISTED(s.claim.node.name), ZKL_DO_REMOVE);
        CHECK_IS(scene_removed(ZKL_DONE), 0);
        scene_run(T / 15 * 4);
        CHECK_IS(scene_resume(), ZKL_DO_LIST);
        CHECK_IS(s.claim.state, ZKL_TRY);
    }
    TEST("all parts of a multi-lock give their places, and begin anew together") {
        scene_reach_first(ZKL_MUTEX, ZKL_NEVER);
        scene_stop(T);
        const char *names[] = {s.part.node.name};
        CHECK(zkl_line_replace(&s.part_line, names, 1));
        CHECK_IS(zkl_claim_listed(&s.part, ZKL_DONE, ZKL_OK, s.now), 0);
        CHECK_IS(zkl_claim_got_own(&s.part, ZKL_DONE, ZKL_OK, 1007, SESSION, s.now), ZKL_DO_REMOVE);
        CHECK_IS(s.claim.state, ZKL_RETREAT);
        CHECK_IS(scene_resume(), ZKL_DO_REMOVE);
        scene_removed(ZKL_DONE);
        CHECK_IS(zkl_claim_removed(&s.part, ZKL_DONE), 0);
        scene_run(T / 15 * 4);
        CHECK_IS(scene_resume(), 0);
        CHECK_IS(zkl_claim_resume(&s.part, s.now), ZKL_DO_CREATE);
    }
    TEST("a lease ends by the own clock at proof + T, before any packet (PIT-09, DEMO-17)") {
        scene_reach(ZKL_HELD);
        CHECK_IS(scene_tick(T - 1), 0);
        CHECK_IS(scene_tick(1), ZKL_DO_LOSE | ZKL_DO_REMOVE);
        CHECK_IS(s.claim.code, ZKL_LOST);
        CHECK_IS(scene_removed(ZKL_DONE), ZKL_DO_FORGET);
        CHECK_IS(s.losses, 1);
    }
    TEST("what the clock ended does not come back with a later proof (Q-01)") {
        scene_reach(ZKL_HELD);
        scene_cut();
        s.now += T;
        s.common.clock.connected = true;
        zkl_clock_prove(&s.common.clock, s.now, s.now);
        CHECK_IS(scene_tick(0), ZKL_DO_LOSE | ZKL_DO_REMOVE);
    }
    TEST("the node of a lease that ended while cut off is removed if the session lives") {
        scene_reach(ZKL_HELD);
        scene_cut();
        CHECK_IS(scene_tick(T), ZKL_DO_LOSE);
        CHECK(s.claim.stalled);
        CHECK_IS(scene_resume(), ZKL_DO_REMOVE);
    }
    TEST("what waits is not lost when the clock runs out: only a grant needs the clock") {
        scene_reach(ZKL_WAIT);
        CHECK_IS(scene_tick(10 * T), 0);
        CHECK_IS(scene_ahead_deleted(), ZKL_DO_SYNC);
        CHECK_IS(scene_synced(ZKL_DONE), ZKL_DO_GRANT);
        CHECK_IS(s.claim.epoch, s.common.clock.epoch);
        CHECK_IS(scene_tick(1), 0);
    }
}

int main(void) {
    expiry();
    suspension();
    lease();
    return check_report();
}
