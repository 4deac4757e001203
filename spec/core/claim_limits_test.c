/*
 * claim_limits_test.c - a claim that does not wait behind many, and a grant that ends after some
 * time.
 */
#include "scene.h"

#define SECOND "_c_66666666-7777-8888-9999-000000000000-lock-0000000041"
#define FIRST "_c_11111111-2222-3333-4444-555555555555-lock-0000000040"
#define PERMIT(count, number)                                                                      \
    "_c_11111111-2222-3333-4444-555555555555-permit-" count "-of-3-00000000" number
#define READER(number) "_c_11111111-2222-3333-4444-555555555555-__READ__00000000" number

static void open_minding(enum zkl_kind kind, int32_t max_waiters) {
    scene_open(kind, ZKL_NEVER, false);
    s.claim.max_waiters = max_waiters;
}

static void enter_minding(enum zkl_kind kind, int32_t max_waiters) {
    open_minding(kind, max_waiters);
    scene_start();
    scene_created(42, 1042);
}

static void check_busy(zkl_actions did) {
    CHECK_IS(did, ZKL_DO_FAIL | ZKL_DO_REMOVE);
    CHECK_IS(s.claim.state, ZKL_LEAVE);
    CHECK_IS(s.claim.code, ZKL_BUSY);
}

static void by_nodes(void) {
    TEST("as many wait as it does not put up with: its node goes; the holder does not wait") {
        enter_minding(ZKL_MUTEX, 1);
        check_busy(LISTED(FIRST, SECOND, s.claim.node.name));
        enter_minding(ZKL_MUTEX, 2);
        LISTED(FIRST, SECOND, s.claim.node.name);
        CHECK_IS(s.claim.state, ZKL_WAIT);
        enter_minding(ZKL_MUTEX, 1);
        LISTED(FIRST, s.claim.node.name, BEHIND);
        CHECK_IS(s.claim.state, ZKL_WAIT);
    }
    TEST("readers that hold do not wait, one behind a writer does") {
        enter_minding(ZKL_WRITE, 1);
        LISTED(READER("39"), READER("40"), s.claim.node.name);
        CHECK_IS(s.claim.state, ZKL_WAIT);
        enter_minding(ZKL_WRITE, 1);
        check_busy(LISTED(FIRST, READER("41"), s.claim.node.name));
    }
    TEST("holders of permits do not wait, what does not fit does") {
        enter_minding(ZKL_PERMIT, 1);
        LISTED(HOLDER, s.claim.node.name);
        CHECK_IS(s.claim.state, ZKL_WAIT);
        enter_minding(ZKL_PERMIT, 1);
        check_busy(LISTED(PERMIT("2", "40"), HOLDER, s.claim.node.name));
        enter_minding(ZKL_PERMIT, 1);
        LISTED(PERMIT("1", "40"), HOLDER, s.claim.node.name); /* both hold, and nothing is left */
        CHECK_IS(s.claim.state, ZKL_WAIT);
    }
    TEST("numbers that tell no order tell of nobody that waits") {
        enter_minding(ZKL_MUTEX, 1);
        LISTED(FIRST, SECOND, s.claim.node.name, LIMITED);
        scene_ranked(FIRST, ZKL_DONE, 1040);
        scene_ranked(SECOND, ZKL_DONE, 1041);
        scene_ranked(LIMITED, ZKL_DONE, 1043);
        CHECK_IS(s.claim.state, ZKL_WAIT);
    }
    TEST("a claim that was told to wait is not sent away") {
        enter_minding(ZKL_MUTEX, 2);
        LISTED(FIRST, SECOND, s.claim.node.name);
        scene_own_deleted();
        scene_created(44, 1044);
        LISTED(FIRST, SECOND, BEHIND, s.claim.node.name);
        CHECK_IS(s.claim.state, ZKL_WAIT);
    }
    TEST("nor one that held, and contends again after a condition") {
        enter_minding(ZKL_MUTEX, 1);
        CHECK_IS(LISTED(s.claim.node.name), ZKL_DO_GRANT);
        scene_await(ZKL_NEVER);
        zkl_claim_created(&s.part, ZKL_DONE, ZKL_OK, scene_name_of(&s.part, 7), 0);
        zkl_claim_signalled(&s.part);
        CHECK_IS(scene_did(zkl_claim_partner_changed(&s.claim)), ZKL_DO_CREATE | ZKL_DO_LIST);
        scene_created(43, 1043);
        LISTED(FIRST, SECOND, s.claim.node.name);
        CHECK_IS(s.claim.state, ZKL_WAIT);
    }
}

static void by_claims(void) {
    TEST("where so many of the session wait it asks no server") {
        scene_enter(ZKL_MUTEX);
        scene_created(42, 1042);
        LISTED(FIRST, s.claim.node.name);
        scene_add(&s.second, ZKL_MUTEX);
        s.second.max_waiters = 1;
        CHECK_IS(zkl_claim_start(&s.second), ZKL_DO_FAIL | ZKL_DO_FORGET);
        CHECK_IS(s.second.code, ZKL_BUSY);
        scene_add(&s.third, ZKL_MUTEX);
        s.third.max_waiters = 2;
        CHECK_IS(zkl_claim_start(&s.third), ZKL_DO_CREATE | ZKL_DO_LIST);
    }
    TEST("who holds, tries, gave up, was not told, or is in a condition does not wait") {
        for (int i = 0; i < 5; i++) {
            scene_reach(ZKL_WAIT);
            if (i == 0) scene_ahead_deleted();
            if (i == 1) s.claim.trying = true;
            if (i == 2) s.claim.wanted = false;
            if (i == 3) s.claim.announced = false;
            if (i == 4) scene_ahead_deleted(), scene_await(ZKL_NEVER);
            scene_add(&s.second, ZKL_MUTEX);
            s.second.max_waiters = 1;
            CHECK_CASE("%d", i);
            CHECK(!zkl_claim_is_crowded_out(&s.second));
        }
    }
    TEST("out of turns it enters first, and counts the others' nodes by its place") {
        scene_reach(ZKL_HELD);
        LINE(s.claim.node.name, BEHIND);
        scene_add(&s.second, ZKL_MUTEX);
        s.second.max_waiters = 1;
        CHECK_IS(zkl_claim_start(&s.second), ZKL_DO_CREATE | ZKL_DO_LIST);
    }
    TEST("in turns the nodes of others count, too, where numbers tell the order") {
        static const struct {
            int32_t most;
            const char *other;
            bool busy;
        } rows[] = {
            {1, "config", false}, {1, BEHIND, true}, {2, BEHIND, false}, {1, LIMITED, false}};
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            open_minding(ZKL_MUTEX, 0);
            zkl_claim_batch(&s.claim, ZKL_BATCH_BY_TIME);
            scene_start();
            scene_created(42, 1042);
            LISTED(s.claim.node.name);
            LINE(s.claim.node.name, rows[i].other);
            scene_add(&s.second, ZKL_MUTEX);
            zkl_claim_batch(&s.second, ZKL_BATCH_BY_TIME);
            s.second.max_waiters = rows[i].most;
            CHECK_CASE("%zu", i);
            CHECK_IS(zkl_claim_start(&s.second) & ZKL_DO_FAIL, rows[i].busy ? ZKL_DO_FAIL : 0);
            CHECK_IS(s.second.code, rows[i].busy ? ZKL_BUSY : ZKL_OK);
        }
    }
}

static void holds(void) {
    TEST("a hold ends at its time, and the node goes") {
        scene_reach(ZKL_HELD);
        s.claim.deadline = s.now + T / 4;
        CHECK_IS(zkl_claim_tick(&s.claim, s.now + T / 4 - 1), 0);
        CHECK_IS(zkl_claim_tick(&s.claim, s.now + T / 4), ZKL_DO_LOSE | ZKL_DO_REMOVE);
        CHECK_IS(s.claim.code, ZKL_LOST);
        CHECK_IS(zkl_claim_tick(&s.claim, s.now + T), 0);
    }
    TEST("the deadline of the wait is not the hold's") {
        scene_reach_until(ZKL_HELD, 1000 * ZKL_SECOND + T / 4);
        CHECK_IS(zkl_claim_tick(&s.claim, s.now + T / 4), 0);
        CHECK(zkl_claim_holds(&s.claim));
    }
    TEST("without a connection its node goes later") {
        scene_reach(ZKL_HELD);
        s.claim.deadline = s.now;
        scene_cut();
        CHECK_IS(zkl_claim_tick(&s.claim, s.now), ZKL_DO_LOSE);
        CHECK(s.claim.stalled);
    }
}

static void tokens(void) {
    TEST("a token that counts grants is 0 where it would not fit") {
        CHECK_IS(zkl_token(ZKL_BATCH_CZXID_MAX + 1, true, 0), 0);
        CHECK_IS(zkl_token(ZKL_BATCH_CZXID_MAX + 1, false, 0), ZKL_BATCH_CZXID_MAX + 1);
    }
}

int main(void) {
    by_nodes();
    by_claims();
    holds();
    scene_close();
    tokens();
    return check_report();
}
