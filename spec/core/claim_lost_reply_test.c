/*
 * claim_lost_reply_test.c - requests whose outcome is unknown: nothing may be
 * left behind, and nothing may be believed. BUG-03 and the leaks of other
 * clients: an orphan of one's own blocks the line until the session ends.
 */
#include "scene.h"

static void creates(void) {
    TEST("a create of unknown outcome is looked for, by sync and list, when asked again") {
        scene_enter(ZKL_MUTEX);
        CHECK_IS(scene_create_fails(ZKL_UNKNOWN, ZKL_OK), ZKL_DO_DOUBT);
        CHECK_IS(s.claim.state, ZKL_RECOVER_SYNC);
        CHECK_IS(scene_list_fails(ZKL_UNKNOWN, ZKL_OK), 0); /* of the same flight */
        CHECK_IS(scene_resume(), ZKL_DO_SYNC | ZKL_DO_LIST);
        CHECK_IS(scene_resume(), 0);
        CHECK_IS(scene_synced(ZKL_DONE), 0);
        CHECK_IS(s.claim.state, ZKL_RECOVER_LIST);
    }
    TEST("a node that was found is taken, after the server said whose it is") {
        scene_reach(ZKL_RECOVER_LIST);
        uint64_t nonce = s.claim.node.nonce;
        CHECK_IS(LISTED(AHEAD, scene_name(42)), ZKL_DO_WATCH_OWN);
        CHECK_IS(s.claim.state, ZKL_RECOVER_STAT);
        CHECK_IS(s.claim.node.sequence, 42);
        CHECK_IS(scene_got_own(ZKL_DONE, 1042), ZKL_DO_WATCH_AHEAD | ZKL_DO_QUEUED);
        CHECK_IS(s.claim.node.czxid, 1042);
        CHECK(s.claim.node.nonce == nonce);
        CHECK_IS(scene_ahead_deleted(), ZKL_DO_GRANT);
    }
    TEST("the get for it may get lost; it watches the node, and no other is asked for") {
        scene_reach(ZKL_RECOVER_STAT);
        CHECK_IS(scene_got_own(ZKL_UNKNOWN, 0), 0);
        CHECK_IS(scene_resume(), ZKL_DO_WATCH_OWN);
        CHECK_IS(scene_got_own(ZKL_DONE, 1042), ZKL_DO_WATCH_AHEAD | ZKL_DO_QUEUED);
    }
    TEST("past the end of the counter a node that was found waits for czxids, too (Q-02)") {
        scene_reach(ZKL_RECOVER_LIST);
        LISTED(LIMITED, scene_name(INT32_MAX));
        CHECK_IS(scene_got_own(ZKL_DONE, 1042), ZKL_DO_RANK);
        CHECK(scene_ranked(LIMITED, ZKL_DONE, 1041) & ZKL_DO_WATCH_AHEAD);
    }
    TEST("a node of another session is not taken, whatever its name says") {
        scene_reach(ZKL_RECOVER_STAT);
        uint64_t nonce = s.claim.node.nonce;
        CHECK_IS(scene_did(zkl_claim_got_own(&s.claim, ZKL_DONE, ZKL_OK, 1042, SESSION + 1, s.now)),
                 ZKL_DO_CREATE | ZKL_DO_LIST);
        CHECK(s.claim.node.nonce != nonce);
    }
    TEST("a list before the sync is answered finds nothing and denies nothing") {
        scene_reach(ZKL_RECOVER_SYNC);
        CHECK_IS(LISTED(AHEAD), 0);
        CHECK_IS(LISTED(AHEAD, scene_name(42)), 0);
        CHECK_IS(s.claim.state, ZKL_RECOVER_SYNC);
    }
    TEST("the search itself may be lost, as often as it likes") {
        scene_enter(ZKL_MUTEX);
        scene_create_fails(ZKL_UNKNOWN, ZKL_OK);
        for (int i = 0; i < 3; i++) {
            CHECK_IS(scene_resume(), ZKL_DO_SYNC | ZKL_DO_LIST);
            CHECK_IS(scene_synced(ZKL_UNKNOWN) | scene_list_fails(ZKL_UNKNOWN, ZKL_OK), 0);
            CHECK_IS(scene_resume(), ZKL_DO_SYNC | ZKL_DO_LIST);
            CHECK_IS(scene_synced(ZKL_DONE) | scene_list_fails(ZKL_UNKNOWN, ZKL_OK), 0);
            CHECK_IS(s.claim.state, ZKL_RECOVER_SYNC);
            CHECK(s.claim.stalled);
        }
    }
}

static void orphans(void) {
    TEST("a create that landed late is found as an orphan, and removed") {
        scene_reach(ZKL_RECOVER_LIST);
        char late[2 * ZKL_NAME_SIZE];
        strcpy(late, scene_name(42));
        LISTED("config"); /* not there yet: a new attempt */
        scene_created(43, 1043);
        CHECK(LISTED(late, s.claim.node.name) & ZKL_DO_WATCH_AHEAD);
        struct zkl_contender *orphan = zkl_line_orphan(&s.line);
        CHECK(orphan && strcmp(orphan->name, late) == 0);
        scene_add(&s.second, ZKL_MUTEX);
        CHECK_IS(zkl_claim_adopt(&s.second, orphan), ZKL_DO_REMOVE);
        CHECK_TEXT(s.second.node.name, late);
        CHECK(!zkl_line_orphan(&s.line));
        LINE(late, s.claim.node.name);
        CHECK(!zkl_line_orphan(&s.line));
        struct zkl_contender *ahead = zkl_contender_ref(s.claim.ahead);
        CHECK_IS(zkl_claim_removed(&s.second, ZKL_DONE), ZKL_DO_FORGET);
        CHECK_IS(zkl_claim_ahead_deleted(&s.claim, ahead, s.now), ZKL_DO_GRANT);
        zkl_contender_unref(ahead);
    }
    TEST("an orphan found without a connection is removed when it is back") {
        scene_open(ZKL_MUTEX, ZKL_NEVER, false);
        s.claim.node.nonce = 99;
        const char *name = scene_name(42);
        s.claim.node.nonce = 0;
        LINE(name);
        s.common.clock.connected = false;
        CHECK_IS(scene_did(zkl_claim_adopt(&s.claim, zkl_line_orphan(&s.line))), 0);
        CHECK_IS(scene_tick(100 * T), 0);
        CHECK_IS(scene_resume(), ZKL_DO_REMOVE);
        CHECK_IS(scene_removed(ZKL_ABSENT), ZKL_DO_FORGET);
        CHECK_IS(s.fails, 0);
    }
    TEST("who releases after a doubtful create looks for what may have landed since") {
        scene_reach(ZKL_RECOVER_LIST);
        LISTED("config");
        scene_created(43, 1043);
        CHECK_IS(LISTED(s.claim.node.name), ZKL_DO_GRANT);
        CHECK_IS(scene_release(), ZKL_DO_REMOVE | ZKL_DO_LIST);
        CHECK_IS(LISTED(s.claim.node.name), 0);
        CHECK_IS(scene_removed(ZKL_DONE), ZKL_DO_FORGET);
    }
}

static void stalls(void) {
    static const zkl_actions again[] = {[ZKL_NEW] = ZKL_DO_CREATE | ZKL_DO_LIST,
                                        [ZKL_TRY] = ZKL_DO_LIST,
                                        [ZKL_CREATE] = ZKL_DO_SYNC | ZKL_DO_LIST,
                                        [ZKL_RECOVER_SYNC] = ZKL_DO_SYNC | ZKL_DO_LIST,
                                        [ZKL_RECOVER_LIST] = ZKL_DO_SYNC | ZKL_DO_LIST,
                                        [ZKL_RECOVER_STAT] = ZKL_DO_WATCH_OWN,
                                        [ZKL_LIST] = ZKL_DO_LIST,
                                        [ZKL_RANK] = ZKL_DO_RANK,
                                        [ZKL_WAIT] = ZKL_DO_WATCH_AHEAD,
                                        [ZKL_PROVE] = ZKL_DO_SYNC,
                                        [ZKL_RETREAT] = ZKL_DO_REMOVE,
                                        [ZKL_DOWNGRADE] = ZKL_DO_DOWNGRADE,
                                        [ZKL_FORWARD] = ZKL_DO_LIST,
                                        [ZKL_LEAVE] = ZKL_DO_REMOVE,
                                        [ZKL_GONE] = 0};
    TEST("in every state what was lost is asked for again, by resume and by a heartbeat") {
        for (int i = 0; i < 2 * (ZKL_GONE + 1); i++) {
            enum zkl_claim_state state = (enum zkl_claim_state)(i / 2);
            if (state == ZKL_HELD || state == ZKL_FIRST) continue;
            if (state == ZKL_IN_CONDITION || state == ZKL_SIGNALLED || state == ZKL_KEPT)
                continue; /* nothing of them is out */
            scene_reach(state);
            CHECK_CASE("%s by %s", scene_states[state], i % 2 ? "beat" : "resume");
            CHECK_IS(scene_stall() & ~ZKL_DO_DOUBT, 0);
            CHECK_IS(s.claim.stalled, state != ZKL_GONE);
            zkl_actions did = i % 2 ? scene_beat() : scene_resume();
            CHECK_IS(did, again[state]);
            CHECK(!s.claim.stalled);
            CHECK_IS(scene_resume(), 0);
        }
    }
    TEST("a lost watch on the own node is set again together with the one ahead") {
        scene_reach(ZKL_WAIT);
        CHECK_IS(scene_got_own(ZKL_UNKNOWN, 0) | scene_got_ahead(ZKL_UNKNOWN), 0);
        CHECK_IS(scene_resume(), ZKL_DO_WATCH_OWN | ZKL_DO_WATCH_AHEAD);
        CHECK_IS(scene_got_own(ZKL_DONE, 1042) | scene_got_ahead(ZKL_UNKNOWN), 0);
        CHECK_IS(scene_resume(), ZKL_DO_WATCH_AHEAD); /* the other is set */
        scene_reach(ZKL_WAIT);
        scene_got_own(ZKL_UNKNOWN, 0);
        CHECK(s.claim.stalled);
        CHECK(scene_resume() & ZKL_DO_WATCH_OWN);
    }
    TEST("a stall ends with the state it was for: nothing lost stays with a holder") {
        scene_reach(ZKL_WAIT);
        scene_got_own(ZKL_UNKNOWN, 0);
        CHECK_IS(scene_ahead_deleted(), ZKL_DO_GRANT);
        CHECK(!s.claim.stalled);
        CHECK_IS(scene_beat(), ZKL_DO_WATCH_OWN);
    }
    TEST("nor does it hold up a claim that has gone on to read czxids") {
        scene_reach(ZKL_LIST);
        LISTED("lock-0000000007", AHEAD, s.claim.node.name);
        scene_got_own(ZKL_UNKNOWN, 0);
        LINE("lock-0000000007", AHEAD, s.claim.node.name, LIMITED);
        CHECK_IS(scene_ahead_deleted(), ZKL_DO_RANK);
        CHECK(scene_ranked("lock-0000000007", ZKL_DONE, 7) & ZKL_DO_WATCH_AHEAD);
    }
    TEST("attempts that come to nothing go on with the next heartbeat, not at once for ever") {
        scene_enter(ZKL_MUTEX);
        for (int i = 1; i < ZKL_ROUNDS; i++)
            CHECK(scene_create_fails(ZKL_ABSENT, ZKL_NO_NODE) & ZKL_DO_CREATE);
        CHECK(!(scene_create_fails(ZKL_ABSENT, ZKL_NO_NODE) & (ZKL_DO_CREATE | ZKL_DO_LIST)));
        CHECK(s.claim.state == ZKL_NEW && s.claim.stalled && s.claim.wanted);
        CHECK_IS(scene_beat(), ZKL_DO_CREATE | ZKL_DO_LIST);
        scene_created(42, 1042);
        CHECK(LISTED(s.claim.node.name) & ZKL_DO_GRANT);
    }
    TEST("nor do lists that lack the own node") {
        scene_enter(ZKL_MUTEX);
        for (int i = 1; i < ZKL_ROUNDS; i++) {
            scene_created(42, 1042);
            CHECK_IS(LISTED(AHEAD), ZKL_DO_CREATE | ZKL_DO_LIST);
        }
        scene_created(42, 1042);
        CHECK_IS(LISTED(AHEAD), 0);
        CHECK(s.claim.state == ZKL_NEW && s.claim.stalled);
        CHECK(scene_beat() & ZKL_DO_CREATE);
    }
    TEST("a delete of unknown outcome is repeated until it is sure") {
        static const enum zkl_reply replies[] = {ZKL_UNKNOWN, ZKL_REFUSED, ZKL_UNKNOWN};
        scene_reach(ZKL_LEAVE);
        for (size_t i = 0; i < 3; i++) {
            CHECK_IS(scene_removed(replies[i]), 0);
            CHECK_IS(scene_resume(), ZKL_DO_REMOVE);
        }
        CHECK_IS(scene_removed(ZKL_ABSENT), ZKL_DO_FORGET);
    }
    TEST("no nonce is used twice") {
        uint64_t last = 0;
        scene_enter(ZKL_MUTEX);
        for (int i = 0; i < 100; i++) {
            CHECK(s.claim.node.nonce > last);
            last = s.claim.node.nonce;
            scene_beat();
            if (i % 2) {
                scene_create_fails(ZKL_ABSENT, ZKL_NO_NODE);
                continue;
            }
            scene_create_fails(ZKL_UNKNOWN, ZKL_OK);
            scene_resume();
            scene_synced(ZKL_DONE);
            LISTED(AHEAD);
        }
    }
}

int main(void) {
    creates();
    orphans();
    stalls();
    return check_report();
}
