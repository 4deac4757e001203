/*
 * claim_permits_test.c - permits of a semaphore: which claims hold, watch, are told,
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

static void reach(enum zkl_claim_state state) {
    scene_reach_as(ZKL_PERMIT, state, ZKL_NEVER);
}

static void list_is_out(void) {
    reach(ZKL_LIST);
}

/* Two others hold one each: the claim does not fit, and is the first that waits. */
static void head(void) {
    reach(ZKL_LIST);
    LISTED(ONE40, ONE41, s.claim.node.name);
}

/* One holds; the claim is behind another one that waits, for all. */
static void follow_one(void) {
    reach(ZKL_LIST);
    LISTED(ONE39, ALL41, s.claim.node.name);
}

/* An event or a reply about a contender by its name; NULL: one that is not in the line. */
static zkl_actions deleted(const char *name) {
    struct zkl_contender *contender = name ? zkl_line_find(&s.line, name) : NULL;
    return scene_did(zkl_claim_ahead_deleted(&s.claim, contender, s.now));
}

static zkl_actions changed(const char *name) {
    struct zkl_contender *contender = name ? zkl_line_find(&s.line, name) : NULL;
    return scene_did(zkl_claim_ahead_changed(&s.claim, contender));
}

static zkl_actions got(const char *name, enum zkl_reply reply) {
    struct zkl_contender *contender = zkl_line_find(&s.line, name);
    return scene_did(zkl_claim_got_ahead(&s.claim, contender, reply, ZKL_AUTH, s.now));
}

static zkl_actions marked(const char *name, int64_t zxid) {
    struct zkl_contender *contender = zkl_line_find(&s.line, name);
    return scene_did(zkl_claim_ahead_marked(&s.claim, contender, zxid));
}

/* --- places --------------------------------------------------------------------------- */

static void places(void) {
    TEST("a claim holds while the permits ahead and its own are no more than the limit") {
        CHECK_IS(LISTED(s.claim.node.name), ZKL_DO_GRANT);
        reach(ZKL_LIST);
        CHECK_IS(LISTED(ONE41, s.claim.node.name), ZKL_DO_GRANT);
    }
    TEST("one permit too many, and it heads: it watches each that is ahead") {
        CHECK_IS(LISTED(ONE40, ONE41, s.claim.node.name), HEADS);
        CHECK_IS(s.claim.state, ZKL_WAIT);
        CHECK(s.claim.headed);
    }
    TEST("who is behind one that does not fit watches that one only") {
        CHECK_IS(LISTED(ONE40, ALL41, s.claim.node.name), BEHIND_ONE);
        CHECK(!s.claim.headed);
        CHECK_TEXT(s.claim.ahead->name, ALL41);
    }
    TEST("a small request behind a big one that waits, waits, though it would fit") {
        s.claim.permits = 1;
        CHECK_IS(LISTED(ONE40, ALL41, s.claim.node.name), BEHIND_ONE);
    }
    TEST("who comes behind counts for nothing") {
        CHECK(LISTED(ONE41, s.claim.node.name, ONE43) & ZKL_DO_GRANT);
    }
    TEST("permits are counted beyond 31 bits") {
        s.claim.permits = 1;
        s.claim.limit = INT32_MAX;
        CHECK_IS(LISTED(PERMIT("40", "2147483647-of-2147483647", "0000000040"),
                        PERMIT("41", "2147483647-of-2147483647", "0000000041"), s.claim.node.name),
                 BEHIND_ONE);
    }
}

static void check_stranger(enum zkl_kind kind, int32_t limit) {
    const struct zkl_contender *stranger = zkl_permits_stranger(&s.line, &s.claim);
    CHECK(stranger);
    CHECK_IS(stranger->kind, kind);
    CHECK_IS(stranger->limit, limit);
}

static void conflicts(void) {
    static const struct {
        const char *ahead;
        enum zkl_kind kind;
        int32_t limit;
    } rows[] = {{OTHER41, ZKL_PERMIT, 4}, {AHEAD, ZKL_MUTEX, 0}, {WRITER, ZKL_WRITE, 0}};
    TEST("another limit or another kind ahead is a conflict, and leaves no node") {
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            reach(ZKL_LIST);
            CHECK_IS(LISTED(rows[i].ahead, s.claim.node.name), ZKL_DO_FAIL | ZKL_DO_REMOVE);
            CHECK_IS(s.claim.code, ZKL_CONFLICT);
            check_stranger(rows[i].kind, rows[i].limit);
        }
    }
    TEST("a try that finds one writes nothing") {
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            reach(ZKL_TRY);
            CHECK_IS(LISTED(rows[i].ahead), ZKL_DO_FAIL | ZKL_DO_FORGET);
            CHECK_IS(s.claim.code, ZKL_CONFLICT);
        }
    }
    TEST("one behind is its own matter") {
        CHECK(LISTED(s.claim.node.name, BEHIND) & ZKL_DO_GRANT);
    }
    TEST("a mutex, a reader and a writer wait for a permit ahead") {
        for (enum zkl_kind kind = ZKL_MUTEX; kind <= ZKL_WRITE; kind++) {
            scene_reach_as(kind, ZKL_LIST, ZKL_NEVER);
            CHECK_IS(LISTED(ONE40, HOLDER, s.claim.node.name), BEHIND_ONE);
            CHECK_IS(changed(HOLDER), ZKL_DO_WATCH_AHEAD);
            CHECK_IS(deleted(HOLDER), ZKL_DO_WATCH_AHEAD);
            CHECK_IS(deleted(ONE40), ZKL_DO_GRANT);
        }
    }
}

static void tries(void) {
    TEST("a try takes what is left, and never what others wait for") {
        reach(ZKL_TRY);
        CHECK_IS(LISTED(ONE40), ZKL_DO_CREATE | ZKL_DO_LIST);
        reach(ZKL_TRY);
        CHECK_IS(LISTED(ONE40, ONE41), ZKL_DO_FAIL | ZKL_DO_FORGET);
        CHECK_IS(s.claim.code, ZKL_BUSY);
    }
    TEST("a try that loses the race removes its node") {
        reach(ZKL_TRY);
        LISTED(ONE40);
        scene_created(42, 1042);
        CHECK_IS(LISTED(ONE40, ALL41, s.claim.node.name), ZKL_DO_FAIL | ZKL_DO_REMOVE);
        CHECK_IS(s.claim.code, ZKL_BUSY);
    }
}

/* --- a claim that heads ------------------------------------------------------------------- */

static void heads(void) {
    TEST("who heads is granted by any holder's end, without a request but the mark") {
        static const char *const gone[] = {ONE40, ONE41, NULL};
        for (size_t i = 0; i < 2; i++) {
            head();
            CHECK_IS(deleted(gone[i]), ZKL_DO_GRANT | ZKL_DO_MARK);
        }
    }
    TEST("a holder's end that is not enough asks for nothing: the others are watched") {
        reach(ZKL_LIST);
        s.claim.permits = 3;
        LISTED(ONE39, ONE40, ONE41, s.claim.node.name);
        CHECK_IS(deleted(ONE40), 0);
        CHECK_IS(deleted(ONE39), 0);
        CHECK_IS(deleted(ONE41), ZKL_DO_GRANT | ZKL_DO_MARK);
    }
    TEST("a get that finds a holder gone counts like its event") {
        CHECK_IS(got(ONE41, ZKL_DONE), 0);
        CHECK_IS(got(ONE40, ZKL_ABSENT), ZKL_DO_GRANT | ZKL_DO_MARK);
    }
    TEST("a holder's mark uses its watch up: that one is watched again, and no other") {
        CHECK_IS(changed(ONE40), ZKL_DO_WATCH_AHEAD);
        CHECK_TEXT(s.claim.ahead->name, ONE40);
        CHECK_IS(got(ONE40, ZKL_DONE), 0);
        CHECK_IS(marked(ONE40, 2000), 0); /* it holds, as is known */
        CHECK_IS(changed(NULL), 0);
        CHECK_IS(deleted(ONE41), ZKL_DO_GRANT | ZKL_DO_MARK);
    }
    TEST("a lost get is asked again, and those of the others with it") {
        CHECK_IS(got(ONE40, ZKL_UNKNOWN), 0);
        CHECK(s.claim.stalled);
        CHECK_IS(scene_resume(), ZKL_DO_HOLDERS);
        CHECK(!s.claim.stalled);
    }
    TEST("another claim's list has shown the holder's end before its event comes") {
        LINE(ONE41, s.claim.node.name);
        CHECK_IS(deleted(NULL), ZKL_DO_GRANT | ZKL_DO_MARK);
    }
    TEST("news of a contender behind, which another claim waits for, is not its matter") {
        reach(ZKL_LIST);
        LISTED(ONE40, ONE41, s.claim.node.name, ONE43);
        CHECK_IS(changed(ONE43), 0);
        CHECK_TEXT(s.claim.ahead->name, ONE41);
        CHECK_IS(got(ONE43, ZKL_REFUSED), 0);
        CHECK_IS(deleted(ONE43), 0);
        CHECK_IS(deleted(ONE40), ZKL_DO_GRANT | ZKL_DO_MARK);
    }
    TEST("a newer list that shows more ahead has it watch all of them") {
        LINE(ONE39, ONE40, ONE41, s.claim.node.name);
        CHECK_IS(deleted(ONE40), ZKL_DO_HOLDERS);
        CHECK_IS(deleted(ONE39), ZKL_DO_GRANT | ZKL_DO_MARK);
    }
    TEST("who heads, and begins anew behind another, is told by that one's mark") {
        CHECK(scene_own_deleted() & ZKL_DO_CREATE);
        scene_created(44, 1044);
        CHECK_IS(LISTED(ONE40, ONE41, PERMIT("43", "2-of-3", "0000000043"), s.claim.node.name),
                 ZKL_DO_WATCH_AHEAD | ZKL_DO_WATCH_OWN);
        CHECK_IS(changed(s.claim.ahead->name), ZKL_DO_LIST);
    }
    TEST("after a reconnect it lists before it is granted: its own node may be gone") {
        scene_cut();
        CHECK_IS(scene_resume(), 0); /* its watches are set again by the library */
        CHECK_IS(deleted(ONE40), ZKL_DO_LIST);
        CHECK(LISTED(ONE41) & ZKL_DO_CREATE);
        CHECK_IS(s.grants, 0);
    }
    TEST("without a certain clock it syncs first, and marks with the grant") {
        s.now += T * 6 / 10;
        CHECK_IS(deleted(ONE40), ZKL_DO_SYNC);
        CHECK_IS(scene_synced(ZKL_DONE), ZKL_DO_GRANT | ZKL_DO_MARK);
    }
}

/* --- a claim behind it ----------------------------------------------------------------------- */

static void behind(void) {
    TEST("the mark of the one before makes it list; then it heads") {
        CHECK_IS(changed(ALL41), ZKL_DO_LIST);
        CHECK_IS(LISTED(ALL41, s.claim.node.name), ZKL_DO_HOLDERS);
        CHECK(s.claim.headed);
        CHECK_IS(s.queued, 1);
    }
    TEST("marks without end make it list so often, and no more until the next heartbeat") {
        for (int i = 0; i < ZKL_ROUNDS; i++) {
            follow_one();
            s.claim.rounds = (uint32_t)i;
            CHECK_IS(marked(ALL41, 2000), ZKL_DO_LIST);
        }
        follow_one();
        s.claim.rounds = ZKL_ROUNDS;
        CHECK_IS(marked(ALL41, 2000), 0);
        CHECK(s.claim.state == ZKL_LIST && s.claim.stalled);
        CHECK_IS(zkl_claim_beat(&s.claim, s.now), ZKL_DO_LIST);
    }
    TEST("a mark that came before the watch is seen by the get, once") {
        CHECK_IS(got(ALL41, ZKL_DONE), 0);
        CHECK_IS(marked(ALL41, 2000), ZKL_DO_LIST);
        CHECK_IS(LISTED(ONE39, ALL41, s.claim.node.name), ZKL_DO_WATCH_AHEAD); /* a stranger's */
        CHECK_IS(marked(ALL41, 2000), 0);
        CHECK_IS(s.claim.state, ZKL_WAIT);
        CHECK_IS(marked(ALL41, 2001), ZKL_DO_LIST);
    }
    TEST("the end of the one before brings it behind the next, or to the head, or in") {
        reach(ZKL_LIST);
        LISTED(ONE39, ALL40, ALL41, s.claim.node.name);
        CHECK_IS(deleted(ALL41), ZKL_DO_LIST); /* the others may be gone, too */
        CHECK_IS(LISTED(ONE39, ALL40, s.claim.node.name), ZKL_DO_WATCH_AHEAD);
        CHECK_TEXT(s.claim.ahead->name, ALL40);
        CHECK_IS(deleted(ALL40), ZKL_DO_GRANT | ZKL_DO_MARK);
        reach(ZKL_LIST);
        LISTED(ONE39, ONE40, ALL41, s.claim.node.name);
        CHECK_IS(deleted(ALL41), ZKL_DO_HOLDERS);
    }
    TEST("the end of another than the one before is not its matter") {
        CHECK_IS(deleted(ONE39), 0);
        CHECK_IS(changed(ONE39), 0);
        CHECK_IS(deleted(NULL), 0);
    }
}

/* --- the mark ------------------------------------------------------------------------------ */

/* Granted after a wait, the mark is out. */
static void grant_late(void) {
    head();
    CHECK_IS(deleted(ONE40), ZKL_DO_GRANT | ZKL_DO_MARK);
}

static void marks(void) {
    TEST("who is granted by its first list, with nobody behind, marks nothing") {
        CHECK_IS(LISTED(ONE41, s.claim.node.name), ZKL_DO_GRANT);
    }
    TEST("with somebody behind it marks: that one may have seen it wait") {
        CHECK_IS(LISTED(ONE41, s.claim.node.name, ONE43), ZKL_DO_GRANT | ZKL_DO_MARK);
    }
    TEST("so it does after a create whose reply was lost: the list is older than the grant") {
        reach(ZKL_RECOVER_STAT);
        LINE(ONE41, scene_name(42));
        CHECK_IS(scene_got_own(ZKL_DONE, 1042), ZKL_DO_GRANT | ZKL_DO_MARK);
    }
    TEST("the last in line, when a list shows that it is, marks nothing") {
        follow_one();
        CHECK_IS(changed(ALL41), ZKL_DO_LIST);
        CHECK_IS(LISTED(s.claim.node.name), ZKL_DO_GRANT);
    }
    TEST(
        "a mark whose reply is lost is repeated, at each beat and reconnect, until it is certain") {
        grant_late();
        CHECK_IS(scene_marked(ZKL_UNKNOWN), 0);
        CHECK_IS(scene_beat(), ZKL_DO_MARK);
        CHECK_IS(scene_marked(ZKL_UNKNOWN), 0);
        scene_cut();
        CHECK_IS(scene_resume(), ZKL_DO_MARK);
        CHECK_IS(scene_marked(ZKL_DONE), 0);
        CHECK_IS(scene_resume(), 0);
        CHECK_IS(s.grants, 1);
    }
}

/* --- the end of the counter ---------------------------------------------------------------- */

#define LIMIT_ONE PERMIT("41", "1-of-3", "2147483647")
#define LIMIT_TWO PERMIT("42", "2-of-3", "2147483647")

static void exhausted(void) {
    TEST("where numbers are exhausted czxids tell who is ahead, and who is the nearest") {
        CHECK_IS(LISTED(LIMIT_ONE, LIMIT_TWO, s.claim.node.name), ZKL_DO_RANK);
        scene_ranked(LIMIT_ONE, ZKL_DONE, 1000);
        CHECK_IS(scene_ranked(LIMIT_TWO, ZKL_DONE, 990), HEADS);
        CHECK_TEXT(s.claim.ahead->name, LIMIT_ONE);
        CHECK_IS(deleted(LIMIT_ONE), 0);
        CHECK_IS(deleted(LIMIT_TWO), ZKL_DO_GRANT | ZKL_DO_MARK);
    }
    TEST("who ranks as behind is passed over, and told: it may have seen the claim wait") {
        LISTED(LIMIT_ONE, LIMIT_TWO, s.claim.node.name);
        scene_ranked(LIMIT_ONE, ZKL_DONE, 1000);
        CHECK_IS(scene_ranked(LIMIT_TWO, ZKL_DONE, 1050), ZKL_DO_GRANT | ZKL_DO_MARK);
    }
    TEST("who heads when the counter ends asks for czxids before it is granted") {
        head();
        LINE(ONE40, ONE41, s.claim.node.name, LIMIT_ONE);
        CHECK_IS(changed(ONE41), ZKL_DO_WATCH_AHEAD);
        CHECK_IS(deleted(ONE40), ZKL_DO_RANK);
        CHECK_IS(scene_ranked(ONE41, ZKL_DONE, 1000), ZKL_DO_GRANT | ZKL_DO_MARK);
    }
    TEST("a line without contenders has shown nothing") {
        CHECK(!zkl_permits_unseen(&s.line, &s.claim));
        CHECK(!zkl_line_ahead(&s.line, &s.claim));
    }
}

int main(void) {
    check_before(list_is_out);
    places();
    conflicts();
    tries();
    check_before(head);
    heads();
    check_before(follow_one);
    behind();
    check_before(list_is_out);
    marks();
    exhausted();
    return check_report();
}
