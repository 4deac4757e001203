/*
 * claim_permits_test.c - permits of a semaphore: who holds, who watches whom, who is told,
 * and by what. The claim wants 2 of 3 and has number 42.
 */
#include "permits.h"
#include "scene.h"

#define PERMIT(uuid, n, number) "_c_11111111-2222-3333-4444-5555555555" uuid "-permit-" n "-" number
#define ONE39 PERMIT("39", "1-of-3", "0000000039")
#define ONE40 PERMIT("40", "1-of-3", "0000000040")
#define ALL40 PERMIT("40", "3-of-3", "0000000040")
#define ONE41 PERMIT("41", "1-of-3", "0000000041")
#define ALL41 PERMIT("41", "3-of-3", "0000000041")
#define OTHER41 PERMIT("41", "1-of-4", "0000000041")
#define ONE43 PERMIT("43", "1-of-3", "0000000043")

enum {
    QUEUES = ZKL_DO_WATCH_OWN | ZKL_DO_QUEUED,
    HEADS = QUEUES | ZKL_DO_HOLDERS,
    BEHIND_ONE = QUEUES | ZKL_DO_WATCH_AHEAD
};

static void reach(struct scene *s, enum zkl_claim_state state) {
    scene_reach_as(s, ZKL_PERMIT, state, ZKL_NEVER);
}

/* An event or a reply about a contender by its name; NULL: one that is not in the line. */
static zkl_actions deleted(struct scene *s, const char *name) {
    struct zkl_contender *contender = name ? zkl_line_find(&s->line, name) : NULL;
    return scene_did(s, zkl_claim_ahead_deleted(&s->claim, contender, s->now));
}

static zkl_actions changed(struct scene *s, const char *name) {
    struct zkl_contender *contender = name ? zkl_line_find(&s->line, name) : NULL;
    return scene_did(s, zkl_claim_ahead_changed(&s->claim, contender));
}

static zkl_actions got(struct scene *s, const char *name, enum zkl_reply reply) {
    struct zkl_contender *contender = zkl_line_find(&s->line, name);
    return scene_did(s, zkl_claim_got_ahead(&s->claim, contender, reply, ZKL_AUTH, s->now));
}

static zkl_actions marked(struct scene *s, const char *name, int64_t zxid) {
    struct zkl_contender *contender = zkl_line_find(&s->line, name);
    return scene_did(s, zkl_claim_ahead_marked(&s->claim, contender, zxid));
}

/* --- who holds --------------------------------------------------------------------------- */

static void places(void) {
    struct scene s;
    TEST("a claim holds while the permits ahead and its own are no more than the limit") {
        reach(&s, ZKL_LIST);
        CHECK_IS(LISTED(&s, s.claim.name), ZKL_DO_GRANT);
        scene_close(&s);
        reach(&s, ZKL_LIST);
        CHECK_IS(LISTED(&s, ONE41, s.claim.name), ZKL_DO_GRANT);
        scene_close(&s);
    }
    TEST("one permit too many, and it heads: it watches each that is ahead") {
        reach(&s, ZKL_LIST);
        CHECK_IS(LISTED(&s, ONE40, ONE41, s.claim.name), HEADS);
        CHECK_IS(s.claim.state, ZKL_WAIT);
        CHECK(s.claim.heading);
        scene_close(&s);
    }
    TEST("who is behind one that does not fit watches that one only") {
        reach(&s, ZKL_LIST);
        CHECK_IS(LISTED(&s, ONE40, ALL41, s.claim.name), BEHIND_ONE);
        CHECK(!s.claim.heading);
        CHECK_TEXT(s.claim.ahead->name, ALL41);
        scene_close(&s);
    }
    TEST("a small request behind a big one that waits, waits, though it would fit") {
        reach(&s, ZKL_LIST);
        s.claim.permits = 1;
        CHECK_IS(LISTED(&s, ONE40, ALL41, s.claim.name), BEHIND_ONE);
        scene_close(&s);
    }
    TEST("who comes behind counts for nothing") {
        reach(&s, ZKL_LIST);
        CHECK(LISTED(&s, ONE41, s.claim.name, ONE43) & ZKL_DO_GRANT);
        scene_close(&s);
    }
    TEST("permits are counted beyond 31 bits") {
        reach(&s, ZKL_LIST);
        s.claim.permits = 1;
        s.claim.limit = INT32_MAX;
        CHECK_IS(LISTED(&s, PERMIT("40", "2147483647-of-2147483647", "0000000040"),
                        PERMIT("41", "2147483647-of-2147483647", "0000000041"), s.claim.name),
                 BEHIND_ONE);
        scene_close(&s);
    }
}

static void conflicts(void) {
    static const struct {
        const char *ahead;
        enum zkl_kind kind;
        int32_t limit;
    } rows[] = {{OTHER41, ZKL_PERMIT, 4}, {AHEAD, ZKL_MUTEX, 0}, {WRITER, ZKL_WRITE, 0}};
    struct scene s;
    TEST("another limit or another kind ahead is a conflict, and leaves no node") {
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            reach(&s, ZKL_LIST);
            CHECK_IS(LISTED(&s, rows[i].ahead, s.claim.name), ZKL_DO_FAIL | ZKL_DO_REMOVE);
            CHECK_IS(s.claim.code, ZKL_CONFLICT);
            CHECK(s.claim.found);
            CHECK_IS(s.claim.found_kind, rows[i].kind);
            CHECK_IS(s.claim.found_limit, rows[i].limit);
            scene_close(&s);
        }
    }
    TEST("a try that finds one writes nothing") {
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            reach(&s, ZKL_TRY);
            CHECK_IS(LISTED(&s, rows[i].ahead), ZKL_DO_FAIL | ZKL_DO_FORGET);
            CHECK_IS(s.claim.code, ZKL_CONFLICT);
            scene_close(&s);
        }
    }
    TEST("one behind is its own matter") {
        reach(&s, ZKL_LIST);
        CHECK(LISTED(&s, s.claim.name, BEHIND) & ZKL_DO_GRANT);
        scene_close(&s);
    }
    TEST("a mutex, a reader and a writer wait for a permit ahead") {
        for (enum zkl_kind kind = ZKL_MUTEX; kind <= ZKL_WRITE; kind++) {
            scene_reach_as(&s, kind, ZKL_LIST, ZKL_NEVER);
            CHECK_IS(LISTED(&s, ONE40, HOLDER, s.claim.name), BEHIND_ONE);
            CHECK_IS(changed(&s, HOLDER), ZKL_DO_WATCH_AHEAD);
            CHECK_IS(deleted(&s, HOLDER), ZKL_DO_WATCH_AHEAD);
            CHECK_IS(deleted(&s, ONE40), ZKL_DO_GRANT);
            scene_close(&s);
        }
    }
}

static void tries(void) {
    struct scene s;
    TEST("a try takes what is left, and never what others wait for") {
        reach(&s, ZKL_TRY);
        CHECK_IS(LISTED(&s, ONE40), ZKL_DO_CREATE | ZKL_DO_LIST);
        scene_close(&s);
        reach(&s, ZKL_TRY);
        CHECK_IS(LISTED(&s, ONE40, ONE41), ZKL_DO_FAIL | ZKL_DO_FORGET);
        CHECK_IS(s.claim.code, ZKL_TIMEOUT);
        scene_close(&s);
    }
    TEST("a try that loses the race removes its node") {
        reach(&s, ZKL_TRY);
        LISTED(&s, ONE40);
        scene_created(&s, 42, 1042);
        CHECK_IS(LISTED(&s, ONE40, ALL41, s.claim.name), ZKL_DO_FAIL | ZKL_DO_REMOVE);
        CHECK_IS(s.claim.code, ZKL_TIMEOUT);
        scene_close(&s);
    }
}

/* --- who heads --------------------------------------------------------------------------- */

static void heads(void) {
    struct scene s;
    TEST("who heads is granted by any holder's end, without a request but the mark") {
        static const char *const gone[] = {ONE40, ONE41, NULL};
        for (size_t i = 0; i < 2; i++) {
            reach(&s, ZKL_LIST);
            LISTED(&s, ONE40, ONE41, s.claim.name);
            CHECK_IS(deleted(&s, gone[i]), ZKL_DO_GRANT | ZKL_DO_MARK);
            scene_close(&s);
        }
    }
    TEST("a holder's end that is not enough asks for nothing: the others are watched") {
        reach(&s, ZKL_LIST);
        s.claim.permits = 3;
        LISTED(&s, ONE39, ONE40, ONE41, s.claim.name);
        CHECK_IS(deleted(&s, ONE40), 0);
        CHECK_IS(deleted(&s, ONE39), 0);
        CHECK_IS(deleted(&s, ONE41), ZKL_DO_GRANT | ZKL_DO_MARK);
        scene_close(&s);
    }
    TEST("a get that finds a holder gone counts like its event") {
        reach(&s, ZKL_LIST);
        LISTED(&s, ONE40, ONE41, s.claim.name);
        CHECK_IS(got(&s, ONE41, ZKL_DONE), 0);
        CHECK_IS(got(&s, ONE40, ZKL_ABSENT), ZKL_DO_GRANT | ZKL_DO_MARK);
        scene_close(&s);
    }
    TEST("a holder's mark uses its watch up: that one is watched again, and no other") {
        reach(&s, ZKL_LIST);
        LISTED(&s, ONE40, ONE41, s.claim.name);
        CHECK_IS(changed(&s, ONE40), ZKL_DO_WATCH_AHEAD);
        CHECK_TEXT(s.claim.ahead->name, ONE40);
        CHECK_IS(got(&s, ONE40, ZKL_DONE), 0);
        CHECK_IS(marked(&s, ONE40, 2000), 0); /* it holds, as is known */
        CHECK_IS(changed(&s, NULL), 0);
        CHECK_IS(deleted(&s, ONE41), ZKL_DO_GRANT | ZKL_DO_MARK);
        scene_close(&s);
    }
    TEST("a holder that may not be read ends the wait") {
        reach(&s, ZKL_LIST);
        LISTED(&s, ONE40, ONE41, s.claim.name);
        CHECK_IS(got(&s, ONE40, ZKL_REFUSED), ZKL_DO_FAIL | ZKL_DO_REMOVE);
        scene_close(&s);
    }
    TEST("a lost get is asked again, and those of the others with it") {
        reach(&s, ZKL_LIST);
        LISTED(&s, ONE40, ONE41, s.claim.name);
        CHECK_IS(got(&s, ONE40, ZKL_UNKNOWN), 0);
        CHECK(s.claim.stalled);
        CHECK_IS(scene_resume(&s), ZKL_DO_HOLDERS);
        CHECK(!s.claim.stalled);
        scene_close(&s);
    }
    TEST("another claim's list has shown the holder's end before its event comes") {
        reach(&s, ZKL_LIST);
        LISTED(&s, ONE40, ONE41, s.claim.name);
        LINE(&s, ONE41, s.claim.name);
        CHECK_IS(deleted(&s, NULL), ZKL_DO_GRANT | ZKL_DO_MARK);
        scene_close(&s);
    }
    TEST("news of a contender behind, which another claim waits for, is not its matter") {
        reach(&s, ZKL_LIST);
        LISTED(&s, ONE40, ONE41, s.claim.name, ONE43);
        CHECK_IS(changed(&s, ONE43), 0);
        CHECK_TEXT(s.claim.ahead->name, ONE41);
        CHECK_IS(got(&s, ONE43, ZKL_REFUSED), 0);
        CHECK_IS(deleted(&s, ONE43), 0);
        CHECK_IS(deleted(&s, ONE40), ZKL_DO_GRANT | ZKL_DO_MARK);
        scene_close(&s);
    }
    TEST("a newer list that shows more ahead has it watch all of them") {
        reach(&s, ZKL_LIST);
        LISTED(&s, ONE40, ONE41, s.claim.name);
        LINE(&s, ONE39, ONE40, ONE41, s.claim.name);
        CHECK_IS(deleted(&s, ONE40), ZKL_DO_HOLDERS);
        CHECK_IS(deleted(&s, ONE39), ZKL_DO_GRANT | ZKL_DO_MARK);
        scene_close(&s);
    }
    TEST("after a reconnect it lists before it is granted: its own node may be gone") {
        reach(&s, ZKL_LIST);
        LISTED(&s, ONE40, ONE41, s.claim.name);
        scene_cut(&s);
        CHECK_IS(scene_resume(&s), 0); /* its watches are set again by the library */
        CHECK_IS(deleted(&s, ONE40), ZKL_DO_LIST);
        CHECK(LISTED(&s, ONE41) & ZKL_DO_CREATE);
        CHECK_IS(s.grants, 0);
        scene_close(&s);
    }
    TEST("without a certain clock it syncs first, and marks with the grant") {
        reach(&s, ZKL_LIST);
        LISTED(&s, ONE40, ONE41, s.claim.name);
        s.now += T * 6 / 10;
        CHECK_IS(deleted(&s, ONE40), ZKL_DO_SYNC);
        CHECK_IS(scene_synced(&s, ZKL_DONE), ZKL_DO_GRANT | ZKL_DO_MARK);
        scene_close(&s);
    }
}

/* --- who is behind ----------------------------------------------------------------------- */

static void behind(void) {
    struct scene s;
    TEST("the mark of the one before makes it list; then it heads") {
        reach(&s, ZKL_LIST);
        LISTED(&s, ONE39, ALL41, s.claim.name);
        CHECK_IS(changed(&s, ALL41), ZKL_DO_LIST);
        CHECK_IS(LISTED(&s, ALL41, s.claim.name), ZKL_DO_HOLDERS);
        CHECK(s.claim.heading);
        CHECK_IS(s.queued, 1);
        scene_close(&s);
    }
    TEST("a mark that came before the watch is seen by the get, once") {
        reach(&s, ZKL_LIST);
        LISTED(&s, ONE39, ALL41, s.claim.name);
        CHECK_IS(got(&s, ALL41, ZKL_DONE), 0);
        CHECK_IS(marked(&s, ALL41, 2000), ZKL_DO_LIST);
        CHECK_IS(LISTED(&s, ONE39, ALL41, s.claim.name), ZKL_DO_WATCH_AHEAD); /* a stranger's */
        CHECK_IS(marked(&s, ALL41, 2000), 0);
        CHECK_IS(s.claim.state, ZKL_WAIT);
        CHECK_IS(marked(&s, ALL41, 2001), ZKL_DO_LIST);
        scene_close(&s);
    }
    TEST("the end of the one before brings it behind the next, or to the head, or in") {
        reach(&s, ZKL_LIST);
        LISTED(&s, ONE39, ALL40, ALL41, s.claim.name);
        CHECK_IS(deleted(&s, ALL41), ZKL_DO_LIST); /* the others may be gone, too */
        CHECK_IS(LISTED(&s, ONE39, ALL40, s.claim.name), ZKL_DO_WATCH_AHEAD);
        CHECK_TEXT(s.claim.ahead->name, ALL40);
        CHECK_IS(deleted(&s, ALL40), ZKL_DO_GRANT | ZKL_DO_MARK);
        scene_close(&s);
        reach(&s, ZKL_LIST);
        LISTED(&s, ONE39, ONE40, ALL41, s.claim.name);
        CHECK_IS(deleted(&s, ALL41), ZKL_DO_HOLDERS);
        scene_close(&s);
    }
    TEST("the end of another than the one before is not its matter") {
        reach(&s, ZKL_LIST);
        LISTED(&s, ONE39, ALL41, s.claim.name);
        CHECK_IS(deleted(&s, ONE39), 0);
        CHECK_IS(changed(&s, ONE39), 0);
        CHECK_IS(deleted(&s, NULL), 0);
        scene_close(&s);
    }
    TEST("a lost get is asked again, of that one") {
        reach(&s, ZKL_LIST);
        LISTED(&s, ONE39, ALL41, s.claim.name);
        CHECK_IS(got(&s, ALL41, ZKL_UNKNOWN), 0);
        CHECK_IS(scene_resume(&s), ZKL_DO_WATCH_AHEAD);
        scene_close(&s);
    }
}

/* --- the mark ------------------------------------------------------------------------------ */

/* Granted after a wait, the mark is out. */
static void grant_late(struct scene *s) {
    reach(s, ZKL_LIST);
    LISTED(s, ONE40, ONE41, s->claim.name);
    CHECK_IS(deleted(s, ONE40), ZKL_DO_GRANT | ZKL_DO_MARK);
}

static void marks(void) {
    struct scene s;
    TEST("who is granted by its first list, with nobody behind, marks nothing") {
        reach(&s, ZKL_LIST);
        CHECK_IS(LISTED(&s, ONE41, s.claim.name), ZKL_DO_GRANT);
        scene_close(&s);
    }
    TEST("with somebody behind it marks: that one may have seen it wait") {
        reach(&s, ZKL_LIST);
        CHECK_IS(LISTED(&s, ONE41, s.claim.name, ONE43), ZKL_DO_GRANT | ZKL_DO_MARK);
        scene_close(&s);
    }
    TEST("so it does after a create whose reply was lost: the list is older than the grant") {
        reach(&s, ZKL_RECOVER_STAT);
        LINE(&s, ONE41, scene_name(&s, 42));
        CHECK_IS(scene_got_own(&s, ZKL_DONE, 1042), ZKL_DO_GRANT | ZKL_DO_MARK);
        scene_close(&s);
    }
    TEST("the last in line, when a list shows that it is, marks nothing") {
        reach(&s, ZKL_LIST);
        LISTED(&s, ONE39, ALL41, s.claim.name);
        CHECK_IS(changed(&s, ALL41), ZKL_DO_LIST);
        CHECK_IS(LISTED(&s, s.claim.name), ZKL_DO_GRANT);
        scene_close(&s);
    }
    TEST("an answered mark is the end of it") {
        grant_late(&s);
        CHECK_IS(scene_marked(&s, ZKL_DONE), 0);
        CHECK(!s.claim.stalled);
        CHECK_IS(zkl_claim_beat(&s.claim, s.now), 0);
        scene_close(&s);
    }
    TEST(
        "a mark whose reply is lost is repeated, at each beat and reconnect, until it is certain") {
        grant_late(&s);
        CHECK_IS(scene_marked(&s, ZKL_UNKNOWN), 0);
        CHECK_IS(zkl_claim_beat(&s.claim, s.now), ZKL_DO_MARK);
        CHECK_IS(scene_marked(&s, ZKL_UNKNOWN), 0);
        scene_cut(&s);
        CHECK_IS(scene_resume(&s), ZKL_DO_MARK);
        CHECK_IS(scene_marked(&s, ZKL_DONE), 0);
        CHECK_IS(scene_resume(&s), 0);
        CHECK_IS(s.grants, 1);
        scene_close(&s);
    }
    TEST("a mark that finds no node tells of the loss") {
        grant_late(&s);
        CHECK_IS(scene_marked(&s, ZKL_ABSENT), ZKL_DO_LOSE | ZKL_DO_FORGET);
        scene_close(&s);
    }
    TEST("a mark that is refused is left: the node's end tells as well") {
        grant_late(&s);
        CHECK_IS(scene_marked(&s, ZKL_REFUSED), 0);
        CHECK(zkl_claim_holds(&s.claim) && !s.claim.stalled);
        scene_close(&s);
    }
    TEST("after the release no mark is repeated") {
        grant_late(&s);
        CHECK_IS(scene_release(&s), ZKL_DO_REMOVE);
        CHECK_IS(scene_marked(&s, ZKL_UNKNOWN), 0);
        CHECK(!s.claim.stalled);
        scene_close(&s);
    }
    TEST("its own mark uses the watch on its own node up: it is set again") {
        grant_late(&s);
        CHECK_IS(zkl_claim_own_changed(&s.claim), ZKL_DO_WATCH_OWN);
        scene_close(&s);
    }
}

/* --- the end of the counter ---------------------------------------------------------------- */

#define LIMIT_ONE PERMIT("41", "1-of-3", "2147483647")
#define LIMIT_TWO PERMIT("42", "2-of-3", "2147483647")

static void exhausted(void) {
    struct scene s;
    TEST("where numbers are exhausted czxids tell who is ahead, and who is the nearest") {
        reach(&s, ZKL_LIST);
        CHECK_IS(LISTED(&s, LIMIT_ONE, LIMIT_TWO, s.claim.name), ZKL_DO_RANK);
        scene_ask_ranks(&s);
        scene_ranked(&s, LIMIT_ONE, ZKL_DONE, 1000);
        CHECK_IS(scene_ranked(&s, LIMIT_TWO, ZKL_DONE, 990), HEADS);
        CHECK_TEXT(s.claim.ahead->name, LIMIT_ONE);
        CHECK_IS(deleted(&s, LIMIT_ONE), 0);
        CHECK_IS(deleted(&s, LIMIT_TWO), ZKL_DO_GRANT | ZKL_DO_MARK);
        scene_close(&s);
    }
    TEST("who ranks as behind is passed over, and told: it may have seen the claim wait") {
        reach(&s, ZKL_LIST);
        LISTED(&s, LIMIT_ONE, LIMIT_TWO, s.claim.name);
        scene_ask_ranks(&s);
        scene_ranked(&s, LIMIT_ONE, ZKL_DONE, 1000);
        CHECK_IS(scene_ranked(&s, LIMIT_TWO, ZKL_DONE, 1050), ZKL_DO_GRANT | ZKL_DO_MARK);
        scene_close(&s);
    }
    TEST("who heads when the counter ends asks for czxids before it is granted") {
        reach(&s, ZKL_LIST);
        LISTED(&s, ONE40, ONE41, s.claim.name);
        LINE(&s, ONE40, ONE41, s.claim.name, LIMIT_ONE);
        CHECK_IS(changed(&s, ONE41), ZKL_DO_WATCH_AHEAD);
        CHECK_IS(deleted(&s, ONE40), ZKL_DO_RANK);
        scene_ask_ranks(&s);
        CHECK_IS(scene_ranked(&s, ONE41, ZKL_DONE, 1000), ZKL_DO_GRANT | ZKL_DO_MARK);
        scene_close(&s);
    }
    TEST("a line without contenders has shown nothing") {
        reach(&s, ZKL_LIST);
        CHECK(!zkl_permits_unseen(&s.line, &s.claim));
        CHECK(!zkl_line_ahead(&s.line, &s.claim));
        scene_close(&s);
    }
}

int main(void) {
    places();
    conflicts();
    tries();
    heads();
    behind();
    marks();
    exhausted();
    return check_report();
}
