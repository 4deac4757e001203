/*
 * claim_parts_test.c - the parts of a multi-lock: they enter together, are granted together
 * or not at all, and none of them queues again by itself.
 */
#include "scene.h"

enum { TOLD = ZKL_DO_WATCH_AHEAD | ZKL_DO_QUEUED };

static const char *part_name(void) {
    return scene_name_of(&s.part, 7);
}

/* Two parts, connected, not started. */
static void pair(bool trying) {
    scene_open(ZKL_MUTEX, ZKL_NEVER, trying);
    scene_join();
}

static void open_pair(void) {
    pair(false);
}

static zkl_actions part_created(void) {
    return zkl_claim_created(&s.part, ZKL_DONE, ZKL_OK, part_name(), 0);
}

static zkl_actions part_listed(const char *ahead) {
    const char *names[] = {s.part.node.name, ahead};
    CHECK(zkl_line_replace(&s.part_line, names, ahead ? 2 : 1));
    return zkl_claim_listed(&s.part, ZKL_DONE, ZKL_OK, s.now);
}

static zkl_actions part_got(enum zkl_reply reply) {
    return zkl_claim_got_own(&s.part, reply, ZKL_AUTH, 1042, SESSION, s.now);
}

/* Both nodes are there, lists and gets are out. */
static void entered(void) {
    pair(false);
    scene_start();
    zkl_claim_start(&s.part);
    scene_created(42, 0);
    part_created();
}

/* The first part is first in line, the second waits behind somebody. */
static void half(void) {
    entered();
    LISTED(s.claim.node.name);
    scene_got_own(ZKL_DONE, 1042);
    part_listed("lock-0000000003");
    part_got(ZKL_DONE);
}

/* --- together ------------------------------------------------------------------------------ */

static void entering(void) {
    TEST("the last part that is ready sends the creates of all, and no list") {
        CHECK_IS(scene_start(), 0);
        CHECK(s.claim.state == ZKL_CREATE && s.claim.node.nonce == 0);
        CHECK_IS(zkl_claim_start(&s.part), ZKL_DO_CREATE);
        CHECK(s.claim.node.nonce != 0 && s.part.node.nonce != 0);
        CHECK_IS(scene_created(42, 0), ZKL_DO_LIST | ZKL_DO_WATCH_OWN);
        CHECK_IS(part_created(), ZKL_DO_LIST | ZKL_DO_WATCH_OWN);
    }
    TEST("missing parents are made, and the creates sent again, once") {
        scene_start();
        zkl_claim_start(&s.part);
        uint64_t nonce = s.claim.node.nonce;
        CHECK_IS(scene_create_fails(ZKL_ABSENT, ZKL_NO_NODE), ZKL_DO_PARENTS);
        CHECK_IS(zkl_claim_created(&s.part, ZKL_ABSENT, ZKL_NO_NODE, NULL, 0),
                 ZKL_DO_PARENTS | ZKL_DO_CREATE);
        CHECK(s.claim.node.nonce > nonce);
    }
    TEST("a part that follows another claim keeps the others back") {
        zkl_claim_init(&s.second, &s.part_line, ZKL_MUTEX, ZKL_NEVER, false);
        /* In order of arrival, the other one is first. */
        scene_detach(&s.part);
        zkl_claim_init(&s.part, &s.part_line, ZKL_MUTEX, ZKL_NEVER, false);
        zkl_claim_join(&s.part, &s.claim);
        zkl_claim_start(&s.second);
        CHECK_IS(scene_start(), 0);
        CHECK_IS(zkl_claim_start(&s.part), 0);
        CHECK_IS(s.part.state, ZKL_NEW);
        CHECK_IS(zkl_claim_created(&s.second, ZKL_DONE, ZKL_OK, scene_name_of(&s.second, 6), 900),
                 ZKL_DO_FOLLOW);
        CHECK_IS(zkl_claim_resume(&s.part, s.now), ZKL_DO_CREATE);
    }
    TEST("a try of all looks at all before anything is written") {
        pair(true);
        CHECK_IS(scene_start(), ZKL_DO_LIST);
        CHECK_IS(zkl_claim_start(&s.part), ZKL_DO_LIST);
        CHECK_IS(LISTED("config"), 0);
        CHECK_IS(zkl_claim_listed(&s.part, ZKL_ABSENT, ZKL_NO_NODE, s.now), ZKL_DO_CREATE);
        pair(true);
        scene_start();
        zkl_claim_start(&s.part);
        LISTED("config");
        CHECK_IS(zkl_claim_listed(&s.part, ZKL_REFUSED, ZKL_AUTH, s.now),
                 ZKL_DO_FAIL | ZKL_DO_FORGET);
        CHECK_IS(scene_cancel(s.part.code), ZKL_DO_FAIL | ZKL_DO_FORGET);
    }
}

static void granting(void) {
    TEST("all are granted with the last that is first in line, with one token") {
        CHECK_IS(LISTED(s.claim.node.name), 0); /* whose czxid is not known yet */
        CHECK_IS(s.claim.state, ZKL_RECOVER_STAT);
        CHECK_IS(scene_got_own(ZKL_DONE, 1042), 0);
        CHECK_IS(s.claim.state, ZKL_FIRST);
        CHECK(!zkl_claim_holds(&s.claim));
        part_listed(NULL);
        CHECK_IS(part_got(ZKL_DONE), ZKL_DO_GRANT);
        CHECK(zkl_claim_holds(&s.claim) && zkl_claim_holds(&s.part));
        CHECK_IS(s.claim.node.czxid, s.part.node.czxid);
        CHECK_IS(s.claim.epoch, s.common.clock.epoch);
    }
    TEST("a get that is answered before the list counts too") {
        CHECK_IS(scene_got_own(ZKL_DONE, 1042), 0);
        CHECK_IS(LISTED(s.claim.node.name), 0);
        CHECK_IS(s.claim.state, ZKL_FIRST);
    }
    TEST("a get that was lost is asked again") {
        CHECK_IS(scene_got_own(ZKL_UNKNOWN, 0), 0);
        CHECK_IS(LISTED(s.claim.node.name), ZKL_DO_WATCH_OWN);
        CHECK_IS(scene_got_own(ZKL_DONE, 1042), 0);
        CHECK_IS(s.claim.state, ZKL_FIRST);
    }
    TEST("after a stop the parts give their places when each knows its node, not before") {
        s.part.state = ZKL_RECOVER_LIST;
        LISTED(s.claim.node.name);
        scene_stop(T);
        CHECK_IS(scene_got_own(ZKL_DONE, 1042), 0);
        CHECK_IS(s.claim.state, ZKL_PROVE);
        CHECK(s.claim.stalled);
        CHECK_IS(part_listed(NULL), ZKL_DO_WATCH_OWN);
        CHECK_IS(part_got(ZKL_DONE), ZKL_DO_REMOVE);
        CHECK_IS(s.claim.state, ZKL_RETREAT);
        CHECK_IS(scene_resume(), ZKL_DO_REMOVE);
    }
    TEST("one that waits gives its place, too, and watches nobody any more") {
        half();
        scene_cut();
        scene_resume();
        scene_stop(T);
        CHECK(LISTED(s.claim.node.name) & ZKL_DO_REMOVE);
        CHECK_IS(s.part.state, ZKL_RETREAT);
        CHECK(!s.part.ahead && !s.part.lookahead);
    }
    TEST("a part waits in its line while another is first in its own") {
        half();
        CHECK_IS(s.part.state, ZKL_WAIT);
        CHECK_IS(s.claim.state, ZKL_FIRST);
        struct zkl_contender *ahead = zkl_contender_ref(s.part.ahead);
        CHECK_IS(zkl_claim_ahead_deleted(&s.part, ahead, s.now), ZKL_DO_GRANT);
        zkl_contender_unref(ahead);
        CHECK(zkl_claim_holds(&s.claim));
    }
    TEST("a part that proves the clock first is as good") {
        half();
        struct zkl_contender *ahead = zkl_contender_ref(s.part.ahead);
        s.now += T * 6 / 10;
        CHECK_IS(zkl_claim_ahead_deleted(&s.part, ahead, s.now), ZKL_DO_SYNC);
        zkl_contender_unref(ahead);
        scene_prove();
        CHECK_IS(zkl_claim_synced(&s.part, ZKL_DONE, s.now), ZKL_DO_GRANT);
    }
    TEST("a part of a multi-lock that lost a part is never granted") {
        half();
        scene_cancel(ZKL_INTERRUPTED);
        struct zkl_contender *ahead = zkl_contender_ref(s.part.ahead);
        CHECK(!(zkl_claim_ahead_deleted(&s.part, ahead, s.now) & ZKL_DO_GRANT));
        zkl_contender_unref(ahead);
    }
}

/* --- what goes wrong ----------------------------------------------------------------------- */

static void ending(void) {
    TEST("a part whose node is gone fails, wherever it is, and does not queue again") {
        CHECK_IS(scene_own_deleted(), ZKL_DO_FAIL | ZKL_DO_FORGET);
        CHECK_IS(s.claim.code, ZKL_LOST);
        CHECK_IS(zkl_claim_cancel(&s.part, ZKL_LOST), ZKL_DO_FAIL | ZKL_DO_REMOVE);
        half();
        CHECK_IS(zkl_claim_own_deleted(&s.part), ZKL_DO_FAIL | ZKL_DO_FORGET);
        entered();
        CHECK_IS(scene_got_own(ZKL_ABSENT, 0), ZKL_DO_FAIL | ZKL_DO_FORGET);
        entered();
        CHECK_IS(LISTED(AHEAD), ZKL_DO_FAIL | ZKL_DO_FORGET);
    }
    TEST("a part whose node a later list lacks grants nothing: the last part fails (BUG-11)") {
        half();
        LINE(BEHIND); /* another claim's list, of the line in which the first part is first */
        struct zkl_contender *ahead = zkl_contender_ref(s.part.ahead);
        CHECK_IS(zkl_claim_ahead_deleted(&s.part, ahead, s.now), ZKL_DO_FAIL | ZKL_DO_REMOVE);
        CHECK_IS(s.part.code, ZKL_LOST);
        zkl_contender_unref(ahead);
    }
    TEST("a part that was first, and may not watch its node any more, fails") {
        CHECK_IS(scene_got_own(ZKL_REFUSED, 0), ZKL_DO_FAIL | ZKL_DO_REMOVE);
        CHECK_IS(s.claim.code, ZKL_AUTH);
    }
    TEST("nor does it wait to be first") {
        struct zkl_contender *ahead = zkl_contender_ref(s.part.ahead);
        s.now += T * 6 / 10;
        CHECK_IS(zkl_claim_ahead_deleted(&s.part, ahead, s.now), ZKL_DO_SYNC);
        zkl_contender_unref(ahead);
        CHECK_IS(zkl_claim_got_own(&s.part, ZKL_REFUSED, ZKL_AUTH, 0, 0, s.now),
                 ZKL_DO_FAIL | ZKL_DO_REMOVE);
    }
    TEST("a part that was first, and lost the answer of its watch, asks again at a heartbeat") {
        CHECK_IS(scene_got_own(ZKL_UNKNOWN, 0), 0);
        CHECK_IS(scene_beat(), ZKL_DO_WATCH_OWN);
        CHECK_IS(s.claim.state, ZKL_FIRST);
    }
    TEST("creates that got lost and were not carried out are not made one by one") {
        pair(false);
        scene_start();
        zkl_claim_start(&s.part);
        CHECK_IS(scene_create_fails(ZKL_UNKNOWN, ZKL_OK), ZKL_DO_DOUBT);
        scene_resume();
        scene_synced(ZKL_DONE);
        CHECK_IS(LISTED(AHEAD), ZKL_DO_FAIL | ZKL_DO_FORGET);
        CHECK_IS(s.claim.code, ZKL_LOST);
    }
    TEST("creates that got lost and were carried out are found") {
        pair(false);
        scene_start();
        zkl_claim_start(&s.part);
        scene_create_fails(ZKL_UNKNOWN, ZKL_OK);
        scene_resume();
        scene_synced(ZKL_DONE);
        CHECK_IS(LISTED(scene_name(42)), ZKL_DO_WATCH_OWN);
        CHECK_IS(scene_got_own(ZKL_DONE, 1042), 0);
        CHECK_IS(s.claim.state, ZKL_FIRST);
    }
    TEST("a part that is cancelled before its create was sent is gone, and lets others go on") {
        pair(false);
        scene_add(&s.second, ZKL_MUTEX);
        scene_start();
        CHECK_IS(zkl_claim_start(&s.second), 0);
        CHECK_IS(scene_cancel(ZKL_TIMEOUT), ZKL_DO_FAIL | ZKL_DO_FORGET | ZKL_DO_FOLLOW);
        CHECK_IS(zkl_claim_resume(&s.second, s.now), ZKL_DO_CREATE | ZKL_DO_LIST);
    }
    TEST("a part that is freed is none any more, and the other one is alone") {
        scene_detach(&s.claim);
        CHECK(s.claim.next_part == &s.claim && s.part.next_part == &s.part);
    }
    TEST("a part that is released leaves, whatever the others do") {
        entered();
        scene_got_own(ZKL_DONE, 1042);
        LISTED(s.claim.node.name);
        part_got(ZKL_DONE);
        CHECK_IS(part_listed(NULL), ZKL_DO_GRANT);
        CHECK_IS(scene_own_deleted(), ZKL_DO_LOSE | ZKL_DO_FORGET);
        CHECK_IS(zkl_claim_release(&s.part, s.now), ZKL_DO_REMOVE);
    }
}

int main(void) {
    check_before(open_pair);
    entering();
    check_before(entered);
    granting();
    check_before(half);
    ending();
    return check_report();
}
