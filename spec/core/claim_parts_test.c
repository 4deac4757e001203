/*
 * claim_parts_test.c - the parts of a multi-lock: they enter together, are granted together
 * or not at all, and none of them queues again by itself.
 */
#include "scene.h"

enum { TOLD = ZKL_DO_WATCH_AHEAD | ZKL_DO_QUEUED };

static const char *part_name(const struct scene *s) {
    return scene_name_of(&s->part, 7);
}

/* Two parts, connected, not started. */
static void pair(struct scene *s, bool trying) {
    scene_open(s, ZKL_MUTEX, ZKL_NEVER, trying);
    scene_join(s);
}

static zkl_actions part_created(struct scene *s) {
    return zkl_claim_created(&s->part, ZKL_DONE, ZKL_OK, part_name(s), 0);
}

static zkl_actions part_listed(struct scene *s, const char *ahead) {
    const char *names[] = {s->part.name, ahead};
    CHECK(zkl_line_replace(&s->part_line, names, ahead ? 2 : 1));
    return zkl_claim_listed(&s->part, ZKL_DONE, ZKL_OK, s->now);
}

static zkl_actions part_got(struct scene *s, enum zkl_reply reply) {
    return zkl_claim_got_own(&s->part, reply, ZKL_AUTH, 1042, SESSION, s->now);
}

/* Both nodes are there, lists and gets are out. */
static void entered(struct scene *s) {
    pair(s, false);
    scene_start(s);
    zkl_claim_start(&s->part);
    scene_created(s, 42, 0);
    part_created(s);
}

/* The first part is first in line, the second waits behind somebody. */
static void half(struct scene *s) {
    entered(s);
    LISTED(s, s->claim.name);
    scene_got_own(s, ZKL_DONE, 1042);
    part_listed(s, "lock-0000000003");
    part_got(s, ZKL_DONE);
}

/* --- together ------------------------------------------------------------------------------ */

static void entering(void) {
    struct scene s;
    TEST("the last part that is ready sends the creates of all, and no list") {
        pair(&s, false);
        CHECK_IS(scene_start(&s), 0);
        CHECK(s.claim.awaits_parts);
        CHECK_IS(zkl_claim_start(&s.part), ZKL_DO_CREATE);
        CHECK(!s.claim.awaits_parts && !s.part.awaits_parts);
        CHECK_IS(scene_created(&s, 42, 0), ZKL_DO_LIST | ZKL_DO_WATCH_OWN);
        CHECK_IS(part_created(&s), ZKL_DO_LIST | ZKL_DO_WATCH_OWN);
        scene_close(&s);
    }
    TEST("missing parents are made, and the creates sent again, once") {
        pair(&s, false);
        scene_start(&s);
        zkl_claim_start(&s.part);
        uint64_t nonce = s.claim.nonce;
        CHECK_IS(scene_create_fails(&s, ZKL_ABSENT, ZKL_NO_NODE), ZKL_DO_PARENTS);
        CHECK_IS(zkl_claim_created(&s.part, ZKL_ABSENT, ZKL_NO_NODE, NULL, 0),
                 ZKL_DO_PARENTS | ZKL_DO_CREATE);
        CHECK(s.claim.nonce > nonce);
        scene_close(&s);
    }
    TEST("a part that follows another claim keeps the others back") {
        pair(&s, false);
        struct zkl_claim earlier;
        zkl_claim_init(&earlier, &s.common, &s.part_line, ZKL_MUTEX, ZKL_NEVER, false);
        /* In order of arrival, the other one is first. */
        zkl_claim_detach(&s.part);
        zkl_claim_init(&s.part, &s.common, &s.part_line, ZKL_MUTEX, ZKL_NEVER, false);
        zkl_claim_join(&s.part, &s.claim);
        zkl_claim_start(&earlier);
        CHECK_IS(scene_start(&s), 0);
        CHECK_IS(zkl_claim_start(&s.part), 0);
        CHECK_IS(s.part.state, ZKL_NEW);
        CHECK_IS(zkl_claim_created(&earlier, ZKL_DONE, ZKL_OK, scene_name_of(&earlier, 6), 900),
                 ZKL_DO_FOLLOW);
        CHECK_IS(zkl_claim_resume(&s.part, s.now), ZKL_DO_CREATE);
        zkl_claim_detach(&earlier);
        scene_close(&s);
    }
    TEST("a try of all looks at all before anything is written") {
        pair(&s, true);
        CHECK_IS(scene_start(&s), ZKL_DO_LIST);
        CHECK_IS(zkl_claim_start(&s.part), ZKL_DO_LIST);
        CHECK_IS(LISTED(&s, "config"), 0);
        CHECK_IS(zkl_claim_listed(&s.part, ZKL_ABSENT, ZKL_NO_NODE, s.now), ZKL_DO_CREATE);
        scene_close(&s);
        pair(&s, true);
        scene_start(&s);
        zkl_claim_start(&s.part);
        LISTED(&s, "config");
        CHECK_IS(zkl_claim_listed(&s.part, ZKL_REFUSED, ZKL_AUTH, s.now),
                 ZKL_DO_FAIL | ZKL_DO_FORGET);
        CHECK_IS(scene_cancel(&s, s.part.code), ZKL_DO_FAIL | ZKL_DO_FORGET);
        scene_close(&s);
    }
}

static void granting(void) {
    struct scene s;
    TEST("all are granted with the last that is first in line, with one token") {
        entered(&s);
        CHECK_IS(LISTED(&s, s.claim.name), 0); /* whose czxid is not known yet */
        CHECK_IS(s.claim.state, ZKL_RECOVER_STAT);
        CHECK_IS(scene_got_own(&s, ZKL_DONE, 1042), 0);
        CHECK_IS(s.claim.state, ZKL_FIRST);
        CHECK(!zkl_claim_holds(&s.claim));
        part_listed(&s, NULL);
        CHECK_IS(part_got(&s, ZKL_DONE), ZKL_DO_GRANT);
        CHECK(zkl_claim_holds(&s.claim) && zkl_claim_holds(&s.part));
        CHECK_IS(s.claim.czxid, s.part.czxid);
        CHECK_IS(s.claim.epoch, s.common.clock.epoch);
        scene_close(&s);
    }
    TEST("a get that is answered before the list counts too") {
        entered(&s);
        CHECK_IS(scene_got_own(&s, ZKL_DONE, 1042), 0);
        CHECK_IS(LISTED(&s, s.claim.name), 0);
        CHECK_IS(s.claim.state, ZKL_FIRST);
        scene_close(&s);
    }
    TEST("a get that was lost is asked again") {
        entered(&s);
        CHECK_IS(scene_got_own(&s, ZKL_UNKNOWN, 0), 0);
        CHECK_IS(LISTED(&s, s.claim.name), ZKL_DO_WATCH_OWN);
        CHECK_IS(scene_got_own(&s, ZKL_DONE, 1042), 0);
        CHECK_IS(s.claim.state, ZKL_FIRST);
        scene_close(&s);
    }
    TEST("a part waits in its line while another is first in its own") {
        half(&s);
        CHECK_IS(s.part.state, ZKL_WAIT);
        CHECK_IS(s.claim.state, ZKL_FIRST);
        struct zkl_contender *ahead = zkl_contender_hold(s.part.ahead);
        CHECK_IS(zkl_claim_ahead_deleted(&s.part, ahead, s.now), ZKL_DO_GRANT);
        zkl_contender_drop(ahead);
        CHECK(zkl_claim_holds(&s.claim));
        scene_close(&s);
    }
    TEST("a part that proves the clock first is as good") {
        half(&s);
        struct zkl_contender *ahead = zkl_contender_hold(s.part.ahead);
        s.now += T * 6 / 10;
        CHECK_IS(zkl_claim_ahead_deleted(&s.part, ahead, s.now), ZKL_DO_SYNC);
        zkl_contender_drop(ahead);
        scene_prove(&s);
        CHECK_IS(zkl_claim_synced(&s.part, ZKL_DONE, s.now), ZKL_DO_GRANT);
        scene_close(&s);
    }
    TEST("a part of a multi-lock that lost a part is never granted") {
        half(&s);
        scene_cancel(&s, ZKL_INTERRUPTED);
        struct zkl_contender *ahead = zkl_contender_hold(s.part.ahead);
        CHECK(!(zkl_claim_ahead_deleted(&s.part, ahead, s.now) & ZKL_DO_GRANT));
        zkl_contender_drop(ahead);
        scene_close(&s);
    }
}

/* --- what goes wrong ----------------------------------------------------------------------- */

static void ending(void) {
    struct scene s;
    TEST("a part whose node is gone fails, wherever it is, and does not queue again") {
        half(&s);
        CHECK_IS(zkl_claim_own_deleted(&s.claim), ZKL_DO_FAIL | ZKL_DO_FORGET);
        CHECK_IS(s.claim.code, ZKL_LOST);
        CHECK_IS(zkl_claim_cancel(&s.part, ZKL_LOST), ZKL_DO_FAIL | ZKL_DO_REMOVE);
        scene_close(&s);
        half(&s);
        CHECK_IS(zkl_claim_own_deleted(&s.part), ZKL_DO_FAIL | ZKL_DO_FORGET);
        scene_close(&s);
        entered(&s);
        CHECK_IS(scene_got_own(&s, ZKL_ABSENT, 0), ZKL_DO_FAIL | ZKL_DO_FORGET);
        scene_close(&s);
        entered(&s);
        CHECK_IS(LISTED(&s, AHEAD), ZKL_DO_FAIL | ZKL_DO_FORGET);
        scene_close(&s);
    }
    TEST("a part that was first, and may not watch its node any more, fails") {
        half(&s);
        CHECK_IS(scene_got_own(&s, ZKL_REFUSED, 0), ZKL_DO_FAIL | ZKL_DO_REMOVE);
        CHECK_IS(s.claim.code, ZKL_AUTH);
        scene_close(&s);
    }
    TEST("nor does it wait to be first") {
        half(&s);
        struct zkl_contender *ahead = zkl_contender_hold(s.part.ahead);
        s.now += T * 6 / 10;
        CHECK_IS(zkl_claim_ahead_deleted(&s.part, ahead, s.now), ZKL_DO_SYNC);
        zkl_contender_drop(ahead);
        CHECK_IS(zkl_claim_got_own(&s.part, ZKL_REFUSED, ZKL_AUTH, 0, 0, s.now),
                 ZKL_DO_FAIL | ZKL_DO_REMOVE);
        scene_close(&s);
    }
    TEST("creates that got lost and were not carried out are not made one by one") {
        pair(&s, false);
        scene_start(&s);
        zkl_claim_start(&s.part);
        CHECK_IS(scene_create_fails(&s, ZKL_UNKNOWN, ZKL_OK), ZKL_DO_DOUBT);
        scene_resume(&s);
        scene_synced(&s, ZKL_DONE);
        CHECK_IS(LISTED(&s, AHEAD), ZKL_DO_FAIL | ZKL_DO_FORGET);
        CHECK_IS(s.claim.code, ZKL_LOST);
        scene_close(&s);
    }
    TEST("creates that got lost and were carried out are found") {
        pair(&s, false);
        scene_start(&s);
        zkl_claim_start(&s.part);
        scene_create_fails(&s, ZKL_UNKNOWN, ZKL_OK);
        scene_resume(&s);
        scene_synced(&s, ZKL_DONE);
        CHECK_IS(LISTED(&s, scene_name(&s, 42)), ZKL_DO_WATCH_OWN);
        CHECK_IS(scene_got_own(&s, ZKL_DONE, 1042), 0);
        CHECK_IS(s.claim.state, ZKL_FIRST);
        scene_close(&s);
    }
    TEST("a part that is cancelled before its create was sent is gone, and lets others go on") {
        pair(&s, false);
        struct zkl_claim later;
        zkl_claim_init(&later, &s.common, &s.line, ZKL_MUTEX, ZKL_NEVER, false);
        scene_start(&s);
        CHECK_IS(zkl_claim_start(&later), 0);
        CHECK_IS(scene_cancel(&s, ZKL_TIMEOUT), ZKL_DO_FAIL | ZKL_DO_FORGET | ZKL_DO_FOLLOW);
        CHECK_IS(zkl_claim_resume(&later, s.now), ZKL_DO_CREATE | ZKL_DO_LIST);
        zkl_claim_detach(&later);
        scene_close(&s);
    }
    TEST("a part that was first looks again when the connection was lost") {
        half(&s);
        CHECK_IS(scene_cut(&s), 0);
        CHECK_IS(scene_resume(&s), ZKL_DO_LIST);
        CHECK_IS(LISTED(&s, s.claim.name), 0);
        CHECK_IS(s.claim.state, ZKL_FIRST);
        scene_close(&s);
    }
    TEST("a part that was first fails at the end of the session") {
        half(&s);
        CHECK_IS(zkl_claim_expire(&s.claim), ZKL_DO_FAIL | ZKL_DO_FORGET);
        scene_close(&s);
    }
    TEST("a part that is released leaves, whatever the others do") {
        entered(&s);
        scene_got_own(&s, ZKL_DONE, 1042);
        LISTED(&s, s.claim.name);
        part_got(&s, ZKL_DONE);
        CHECK_IS(part_listed(&s, NULL), ZKL_DO_GRANT);
        CHECK_IS(zkl_claim_own_deleted(&s.claim), ZKL_DO_LOSE | ZKL_DO_FORGET);
        CHECK_IS(zkl_claim_release(&s.part), ZKL_DO_REMOVE);
        scene_close(&s);
    }
}

int main(void) {
    entering();
    granting();
    ending();
    return check_report();
}
