/*
 * unfair_test.c - claims of ZKL_UNFAIR: one node of a fixed name, for the quickest client.
 * What must not happen: that another session's node is taken or removed, that two claims
 * of one session are confused, that a delete is repeated blindly. ALG-05, BUG-03.
 */
#include "scene.h"

#define FOREIGN (SESSION + 1)

/* --- one claim, as the others are driven in scene.h ------------------------------------------ */

static zkl_actions placed(int64_t czxid) {
    return scene_did(zkl_claim_placed(&s.claim, czxid, s.now));
}

static zkl_actions taken(void) {
    return scene_did(zkl_claim_taken(&s.claim));
}

static zkl_actions got(enum zkl_reply reply, int64_t czxid, uint64_t owner) {
    return scene_did(zkl_claim_got_own(&s.claim, reply, ZKL_AUTH, czxid, owner, s.now));
}

static zkl_actions deleted(void) {
    return scene_own_deleted();
}

/* Drives a fresh claim into the state; it has node 1042 from PROVE on. */
static void reach(enum zkl_claim_state state, zkl_time deadline, bool trying) {
    scene_open(ZKL_UNFAIR, deadline, trying);
    s.common.clock.connected = state != ZKL_NEW;
    scene_start();
    s.common.clock.connected = true;
    if (state <= ZKL_CREATE) return;
    if (state == ZKL_RECOVER_SYNC || state == ZKL_RECOVER_LIST) {
        scene_create_fails(ZKL_UNKNOWN, ZKL_OK);
        scene_resume();
        if (state == ZKL_RECOVER_LIST) scene_synced(ZKL_DONE);
        return;
    }
    if (state == ZKL_WAIT) {
        taken();
        return;
    }
    if (state == ZKL_PROVE) scene_run(T * 6 / 10);
    if (state == ZKL_RETREAT) scene_stop(T * 6 / 10);
    placed(1042);
    if (state >= ZKL_LEAVE) scene_release();
    if (state == ZKL_GONE) scene_removed(ZKL_DONE);
}

#define REACH(state) reach(state, ZKL_NEVER, false)

static void taking(void) {
    TEST("it is one create of the fixed name, and its reply the grant") {
        scene_open(ZKL_UNFAIR, ZKL_NEVER, false);
        CHECK_IS(scene_start(), ZKL_DO_CREATE);
        CHECK_IS(strcmp(s.claim.node.name, "lock"), 0);
        CHECK_IS(placed(1042), ZKL_DO_GRANT);
        CHECK_IS(s.claim.node.czxid, 1042);
        CHECK_IS(scene_release(), ZKL_DO_REMOVE);
        CHECK_IS(scene_removed(ZKL_DONE), ZKL_DO_FORGET);
    }
    TEST("the grant waits for a proof when the clock is not certain") {
        REACH(ZKL_PROVE);
        CHECK_IS(s.claim.state, ZKL_PROVE);
        CHECK_IS(scene_synced(ZKL_UNKNOWN), 0);
        CHECK_IS(scene_resume(), ZKL_DO_SYNC);
        CHECK_IS(scene_synced(ZKL_DONE), ZKL_DO_GRANT);
    }
    TEST("a try that finds the node ends, with one request, and leaves none") {
        reach(ZKL_CREATE, ZKL_NEVER, true);
        CHECK_IS(taken(), ZKL_DO_FAIL | ZKL_DO_FORGET);
        CHECK_IS(s.claim.code, ZKL_BUSY);
        reach(ZKL_RECOVER_LIST, ZKL_NEVER, true);
        CHECK_IS(got(ZKL_DONE, 7, FOREIGN), ZKL_DO_FAIL | ZKL_DO_FORGET);
        CHECK_IS(s.claim.code, ZKL_BUSY);
    }
    TEST("a reply that comes late grants nothing") {
        REACH(ZKL_RECOVER_SYNC);
        CHECK_IS(placed(1042) | taken(), 0);
        CHECK_IS(s.claim.state, ZKL_RECOVER_SYNC);
    }
    TEST("whoever has the node, the path is known then, and no refusal of parents counts") {
        for (int i = 0; i < 2; i++) {
            REACH(ZKL_CREATE);
            zkl_claim_parents(&s.claim, ZKL_REFUSED, ZKL_AUTH);
            if (i) placed(1042);
            else taken();
            CHECK(s.line.opened);
            deleted();
            zkl_claim_wake(&s.claim);
            if (!i)
                CHECK_IS(scene_create_fails(ZKL_ABSENT, ZKL_NO_NODE),
                         ZKL_DO_PARENTS | ZKL_DO_CREATE);
            CHECK_IS(s.claim.refusal, ZKL_OK);
        }
    }
    TEST("missing parents are made, and the same create again") {
        scene_open(ZKL_UNFAIR, ZKL_NEVER, false);
        scene_start();
        CHECK_IS(scene_create_fails(ZKL_ABSENT, ZKL_NO_NODE), ZKL_DO_PARENTS | ZKL_DO_CREATE);
        zkl_claim_parents(&s.claim, ZKL_REFUSED, ZKL_AUTH);
        CHECK_IS(scene_create_fails(ZKL_ABSENT, ZKL_NO_NODE), ZKL_DO_FAIL | ZKL_DO_FORGET);
        CHECK_IS(s.claim.code, ZKL_AUTH);
    }
}

static void waiting(void) {
    TEST("who finds the node watches it, and tells so once") {
        REACH(ZKL_CREATE);
        CHECK_IS(taken(), ZKL_DO_WATCH_OWN | ZKL_DO_QUEUED);
        CHECK_IS(got(ZKL_DONE, 7, FOREIGN), 0);
        CHECK_IS(deleted(), ZKL_DO_PAUSE);
        CHECK_TEXT(s.claim.node.name, ""); /* no event is for it now */
        CHECK_IS(zkl_claim_wake(&s.claim), ZKL_DO_CREATE);
        CHECK_IS(taken(), ZKL_DO_WATCH_OWN);
    }
    TEST("the pause ends by a sign only, not by a heartbeat or a reconnect") {
        REACH(ZKL_WAIT);
        CHECK_IS(got(ZKL_ABSENT, 0, 0), ZKL_DO_PAUSE);
        CHECK_IS(scene_beat(), 0);
        CHECK_IS(scene_cut(), 0);
        CHECK_IS(scene_resume(), 0);
        CHECK_IS(zkl_claim_wake(&s.claim), ZKL_DO_CREATE);
        CHECK_IS(zkl_claim_wake(&s.claim), 0);
    }
    TEST("a pause that ends without a connection goes on with the next one") {
        REACH(ZKL_WAIT);
        deleted();
        scene_cut();
        CHECK_IS(zkl_claim_wake(&s.claim), 0);
        CHECK_IS(scene_resume(), ZKL_DO_CREATE);
    }
    TEST("a wait ends at its deadline, also in its pause, and has no node to remove") {
        for (int pause = 0; pause < 2; pause++) {
            reach(ZKL_WAIT, 2000 * ZKL_SECOND, false);
            if (pause) deleted();
            CHECK_IS(scene_tick(0), 0);
            CHECK_IS(scene_tick(1000 * ZKL_SECOND), ZKL_DO_FAIL | ZKL_DO_FORGET);
            CHECK_IS(s.claim.code, ZKL_TIMEOUT);
            CHECK_IS(zkl_claim_wake(&s.claim), 0);
        }
    }
    TEST("a watch that got lost is asked for again; one that is refused ends the wait") {
        REACH(ZKL_WAIT);
        CHECK_IS(got(ZKL_UNKNOWN, 0, 0), 0);
        CHECK_IS(scene_resume(), ZKL_DO_WATCH_OWN);
        CHECK_IS(got(ZKL_REFUSED, 0, 0), ZKL_DO_FAIL | ZKL_DO_FORGET);
        CHECK_IS(s.claim.code, ZKL_AUTH);
    }
    TEST("a node of the own session that a waiter finds is not granted to it") {
        REACH(ZKL_WAIT);
        CHECK_IS(got(ZKL_DONE, 1042, SESSION), 0);
        CHECK_IS(s.claim.state, ZKL_WAIT);
    }
}

static void lost_replies(void) {
    TEST("a create of unknown outcome is looked for, by sync and get") {
        REACH(ZKL_CREATE);
        CHECK_IS(scene_create_fails(ZKL_UNKNOWN, ZKL_OK), ZKL_DO_DOUBT);
        CHECK_IS(scene_resume(), ZKL_DO_SYNC | ZKL_DO_WATCH_OWN);
        CHECK_IS(scene_synced(ZKL_DONE), 0);
        CHECK_IS(got(ZKL_DONE, 1042, SESSION), ZKL_DO_GRANT);
        CHECK_IS(s.claim.node.czxid, 1042);
        CHECK_IS(scene_release(), ZKL_DO_REMOVE); /* no list: it would not tell whose node */
    }
    TEST("a get before the sync is answered finds nothing and denies nothing") {
        REACH(ZKL_RECOVER_SYNC);
        CHECK_IS(got(ZKL_DONE, 1042, SESSION), 0);
        CHECK_IS(got(ZKL_ABSENT, 0, 0), 0);
        CHECK_IS(deleted(), 0);
        CHECK_IS(s.claim.state, ZKL_RECOVER_SYNC);
        CHECK_IS(got(ZKL_UNKNOWN, 0, 0), 0); /* it could not be sent */
        CHECK_IS(scene_synced(ZKL_DONE), 0);
        CHECK_IS(s.claim.state, ZKL_RECOVER_SYNC);
        CHECK_IS(scene_resume(), ZKL_DO_SYNC | ZKL_DO_WATCH_OWN);
    }
    TEST("another session's node is waited for, not taken") {
        REACH(ZKL_RECOVER_LIST);
        CHECK_IS(got(ZKL_DONE, 1042, FOREIGN), ZKL_DO_QUEUED);
        CHECK_IS(s.claim.state, ZKL_WAIT);
        CHECK(s.claim.node.watched);
        CHECK_IS(deleted(), ZKL_DO_PAUSE);
    }
    TEST("so is a node that came when the claim gave its place up") {
        REACH(ZKL_RETREAT);
        CHECK_IS(scene_removed(ZKL_UNKNOWN), 0);
        CHECK_IS(scene_resume(), ZKL_DO_SYNC | ZKL_DO_WATCH_OWN);
        scene_synced(ZKL_DONE);
        CHECK_IS(got(ZKL_DONE, 1043, FOREIGN), ZKL_DO_QUEUED);
        CHECK_IS(s.claim.node.czxid, 0);
    }
    TEST("the search may be lost, or refused: then the claim fails, and it goes on") {
        REACH(ZKL_RECOVER_LIST);
        CHECK_IS(got(ZKL_UNKNOWN, 0, 0), 0);
        CHECK_IS(scene_resume(), ZKL_DO_SYNC | ZKL_DO_WATCH_OWN);
        scene_synced(ZKL_DONE);
        CHECK_IS(got(ZKL_REFUSED, 0, 0), ZKL_DO_FAIL);
        CHECK_IS(s.claim.code, ZKL_AUTH);
        CHECK_IS(scene_resume(), ZKL_DO_SYNC | ZKL_DO_WATCH_OWN);
        scene_synced(ZKL_DONE);
        CHECK_IS(got(ZKL_REFUSED, 0, 0), 0);
        scene_resume();
        scene_synced(ZKL_DONE);
        CHECK_IS(got(ZKL_DONE, 1042, SESSION), ZKL_DO_REMOVE);
    }
    TEST("what nobody wants any more is removed when it is found, or forgotten") {
        for (int i = 0; i < 3; i++) {
            REACH(ZKL_RECOVER_LIST);
            CHECK_IS(scene_cancel(ZKL_INTERRUPTED), ZKL_DO_FAIL);
            if (i == 0) CHECK_IS(got(ZKL_DONE, 1042, SESSION), ZKL_DO_REMOVE);
            if (i == 1) CHECK_IS(got(ZKL_DONE, 1042, FOREIGN), ZKL_DO_FORGET);
            if (i == 2) CHECK_IS(got(ZKL_ABSENT, 0, 0), ZKL_DO_FORGET);
        }
    }
    TEST("a delete of unknown outcome is not repeated before it is known whose node is there") {
        for (int i = 0; i < 4; i++) {
            REACH(ZKL_LEAVE);
            CHECK_IS(scene_removed(ZKL_UNKNOWN), 0);
            CHECK_IS(s.claim.state, ZKL_RECOVER_SYNC);
            CHECK_IS(scene_resume(), ZKL_DO_SYNC | ZKL_DO_WATCH_OWN);
            CHECK_IS(scene_synced(ZKL_DONE), 0);
            if (i == 0) CHECK_IS(got(ZKL_DONE, 1042, SESSION), ZKL_DO_REMOVE);
            if (i == 1) CHECK_IS(got(ZKL_DONE, 1043, SESSION), ZKL_DO_FORGET);
            if (i == 2) CHECK_IS(got(ZKL_DONE, 1043, FOREIGN), ZKL_DO_FORGET);
            if (i == 3) CHECK_IS(got(ZKL_ABSENT, 0, 0), ZKL_DO_FORGET);
        }
    }
    TEST("a delete that was refused, or could not be sent, was not carried out: it is sent") {
        REACH(ZKL_LEAVE);
        CHECK_IS(scene_removed(ZKL_REFUSED), 0);
        CHECK_IS(scene_resume(), ZKL_DO_REMOVE);
        CHECK_IS(scene_removed(ZKL_ABSENT), ZKL_DO_FORGET);
        REACH(ZKL_HELD);
        scene_cut();
        CHECK_IS(scene_release(), 0);
        CHECK_IS(scene_resume(), ZKL_DO_REMOVE);
    }
}

static void losing(void) {
    TEST("a holder whose node is gone has lost; so has one whose name another one has") {
        for (int i = 0; i < 4; i++) {
            REACH(ZKL_HELD);
            CHECK_IS(scene_beat(), ZKL_DO_WATCH_OWN);
            CHECK_IS(got(ZKL_DONE, 1042, SESSION), 0);
            CHECK_IS(scene_own_changed(), ZKL_DO_WATCH_OWN);
            CHECK_IS(got(ZKL_REFUSED, 0, 0) | got(ZKL_UNKNOWN, 0, 0), 0);
            CHECK_IS(i == 0   ? deleted()
                     : i == 1 ? got(ZKL_ABSENT, 0, 0)
                     : i == 2 ? got(ZKL_DONE, 1043, FOREIGN)
                              : got(ZKL_DONE, 1043, SESSION),
                     ZKL_DO_LOSE | ZKL_DO_FORGET);
        }
    }
    TEST("a holder whose watch got lost asks for it with the next heartbeat") {
        REACH(ZKL_HELD);
        scene_beat();
        CHECK_IS(got(ZKL_UNKNOWN, 0, 0), 0);
        CHECK_IS(scene_beat(), ZKL_DO_WATCH_OWN);
    }
    TEST("who waits for a proof and loses its node begins anew; a try ends") {
        for (int trying = 0; trying < 2; trying++) {
            for (int other = 0; other < 2; other++) {
                reach(ZKL_PROVE, ZKL_NEVER, trying);
                CHECK_IS(other ? got(ZKL_DONE, 1043, FOREIGN) : deleted(),
                         trying ? ZKL_DO_FAIL | ZKL_DO_FORGET : ZKL_DO_CREATE);
                if (trying) CHECK_IS(s.claim.code, other ? ZKL_BUSY : ZKL_TIMEOUT);
                else CHECK_IS(s.claim.node.czxid, 0);
            }
        }
    }
}

/* --- claims of one session ---------------------------------------------------------------- */

static zkl_actions begin(bool trying) {
    scene_add(&s.second, ZKL_UNFAIR)->trying = trying;
    return zkl_claim_start(&s.second);
}

static void siblings(void) {
    TEST("one stands for all: the others ask nothing while it waits, holds, pauses or looks") {
        static const enum zkl_claim_state states[] = {
            ZKL_CREATE, ZKL_RECOVER_SYNC, ZKL_RECOVER_LIST, ZKL_WAIT, ZKL_PROVE, ZKL_HELD};
        for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
            REACH(states[i]);
            CHECK_CASE("%s", scene_states[states[i]]);
            CHECK_IS(begin(false), ZKL_DO_QUEUED);
            CHECK_IS(zkl_claim_beat(&s.second, s.now), 0);
        }
        REACH(ZKL_WAIT);
        deleted();
        CHECK_IS(begin(false), ZKL_DO_QUEUED);
    }
    TEST("the next one goes on when it is gone, however it went") {
        for (int i = 0; i < 5; i++) {
            REACH(i < 2 ? ZKL_LEAVE : i == 2 ? ZKL_WAIT : i == 3 ? ZKL_HELD : ZKL_CREATE);
            if (i == 1) scene_removed(ZKL_UNKNOWN), scene_resume(), scene_synced(ZKL_DONE);
            scene_add(&s.second, ZKL_UNFAIR);
            zkl_actions did = i == 0   ? scene_removed(ZKL_DONE)
                              : i == 1 ? got(ZKL_ABSENT, 0, 0)
                              : i == 2 ? scene_cancel(ZKL_INTERRUPTED)
                              : i == 3 ? deleted()
                                       : scene_create_fails(ZKL_REFUSED, ZKL_AUTH);
            CHECK(did & ZKL_DO_FOLLOW && did & ZKL_DO_FORGET);
            CHECK_IS(zkl_claim_start(&s.second), ZKL_DO_CREATE);
        }
    }
    TEST("a create goes right behind a delete that is out, and the two are not confused") {
        REACH(ZKL_LEAVE);
        CHECK_IS(begin(false), ZKL_DO_CREATE);
        CHECK_IS(zkl_claim_created(&s.second, ZKL_UNKNOWN, ZKL_OK, NULL, 0), ZKL_DO_DOUBT);
        scene_removed(ZKL_UNKNOWN);
        CHECK_IS(zkl_claim_resume(&s.second, s.now), ZKL_DO_SYNC | ZKL_DO_WATCH_OWN);
        zkl_claim_synced(&s.second, ZKL_DONE, s.now);
        CHECK_IS(zkl_claim_got_own(&s.second, ZKL_DONE, ZKL_OK, 1042, SESSION, s.now),
                 ZKL_DO_QUEUED);
        CHECK_IS(s.second.state, ZKL_WAIT); /* for its own session's node, that is being removed */
    }
    TEST("a create of unknown outcome lets no other go on") {
        REACH(ZKL_CREATE);
        begin(false);
        CHECK_IS(scene_create_fails(ZKL_UNKNOWN, ZKL_OK), ZKL_DO_DOUBT);
    }
    TEST("no create goes behind a delete that was refused") {
        REACH(ZKL_LEAVE);
        scene_removed(ZKL_REFUSED);
        CHECK_IS(begin(false), ZKL_DO_QUEUED);
    }
    TEST("a try asks for itself, unless another one may have the node without knowing") {
        static const bool asks[] = {
            [ZKL_WAIT] = true, [ZKL_HELD] = true, [ZKL_LEAVE] = true, [ZKL_PROVE] = true};
        static const enum zkl_claim_state states[] = {
            ZKL_CREATE, ZKL_RECOVER_SYNC, ZKL_RECOVER_LIST, ZKL_WAIT,
            ZKL_PROVE,  ZKL_HELD,         ZKL_LEAVE};
        for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
            REACH(states[i]);
            CHECK_CASE("%s", scene_states[states[i]]);
            CHECK_IS(begin(true), asks[states[i]] ? ZKL_DO_CREATE : 0);
        }
    }
    TEST("the others are told apart by their czxids") {
        REACH(ZKL_HELD);
        begin(true);
        zkl_claim_created(&s.second, ZKL_UNKNOWN, ZKL_OK, NULL, 0);
        zkl_claim_resume(&s.second, s.now);
        zkl_claim_synced(&s.second, ZKL_DONE, s.now);
        CHECK_IS(zkl_claim_got_own(&s.second, ZKL_DONE, ZKL_OK, 1042, SESSION, s.now),
                 ZKL_DO_FAIL | ZKL_DO_FORGET);
    }
    TEST("claims of other kinds on the path are not in the way") {
        REACH(ZKL_HELD);
        CHECK_IS(zkl_claim_start(scene_add(&s.second, ZKL_MUTEX)), ZKL_DO_CREATE | ZKL_DO_LIST);
    }
}

static void fixed_orphans(void) {
    TEST("a node of the session that no claim answers for is an orphan, and is removed") {
        REACH(ZKL_WAIT);
        CHECK_IS(zkl_line_fixed_orphan(&s.line, SESSION, 1042), ZKL_ORPHAN);
        CHECK_IS(zkl_line_fixed_orphan(&s.line, FOREIGN, 1042), ZKL_ANSWERED);
        s.common.session = 0;
        CHECK_IS(zkl_line_fixed_orphan(&s.line, 0, 1042), ZKL_ANSWERED);
        s.common.session = SESSION;
        scene_add(&s.second, ZKL_UNFAIR);
        CHECK_IS(zkl_claim_adopt_fixed(&s.second, 1042), ZKL_DO_REMOVE);
        CHECK_TEXT(s.second.node.name, "lock");
        CHECK_IS(zkl_line_fixed_orphan(&s.line, SESSION, 1042), ZKL_ANSWERED);
        CHECK_IS(zkl_claim_removed(&s.second, ZKL_DONE), ZKL_DO_FORGET);
    }
    TEST("while a claim may have it without knowing, it is perhaps one") {
        static const enum zkl_claim_state states[] = {ZKL_CREATE, ZKL_RECOVER_SYNC,
                                                      ZKL_RECOVER_LIST};
        for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
            REACH(states[i]);
            CHECK_IS(zkl_line_fixed_orphan(&s.line, SESSION, 1042), ZKL_PERHAPS);
        }
    }
    TEST("a node that is being removed, or held, is answered for") {
        for (int lost = 0; lost < 2; lost++) {
            REACH(ZKL_LEAVE);
            if (lost) scene_removed(ZKL_UNKNOWN);
            CHECK_IS(zkl_line_fixed_orphan(&s.line, SESSION, 1042), ZKL_ANSWERED);
            CHECK_IS(zkl_line_fixed_orphan(&s.line, SESSION, 1043), ZKL_ORPHAN);
        }
        REACH(ZKL_HELD);
        CHECK_IS(zkl_line_fixed_orphan(&s.line, SESSION, 1042), ZKL_ANSWERED);
    }
}

/* --- every event in every state --------------------------------------------------------------- */

#define EACH_EVENT(X)                                                                              \
    X(CANCEL), X(RELEASE), X(CREATED), X(PLACED), X(TAKEN), X(SYNCED), X(LISTED_ANY), X(GOT_OWN),  \
        X(GOT_OTHER), X(GOT_FOREIGN), X(REMOVED), X(DELETED), X(CHANGED), X(WAKE), X(RESUME),      \
        X(SUSPEND), X(EXPIRE), X(TICK), X(TICK_LATE), X(BEAT)

#define AS_NUMBER(event) event
#define AS_TEXT(event) #event

enum event { EACH_EVENT(AS_NUMBER), EVENTS };
static const char *const events[] = {EACH_EVENT(AS_TEXT)};

static zkl_actions happen(int event, enum zkl_reply reply) {
    struct zkl_claim *claim = &s.claim;
    switch (event) {
    case CANCEL: return zkl_claim_cancel(claim, ZKL_CLOSED);
    case RELEASE: return zkl_claim_release(claim, s.now);
    case CREATED:
        if (reply == ZKL_DONE) return 0;
        return zkl_claim_created(claim, reply, ZKL_AUTH, NULL, 0);
    case PLACED: return zkl_claim_placed(claim, 1042, s.now);
    case TAKEN: return zkl_claim_taken(claim);
    case SYNCED:
        if (reply == ZKL_DONE) zkl_clock_prove(&s.common.clock, s.now, s.now);
        return zkl_claim_synced(claim, reply, s.now);
    case LISTED_ANY:
        /* Somebody else's: none is asked for. */
        return claim->state == ZKL_RECOVER_LIST ? 0
                                                : zkl_claim_listed(claim, reply, ZKL_AUTH, s.now);
    case GOT_OWN: return zkl_claim_got_own(claim, reply, ZKL_AUTH, 1042, SESSION, s.now);
    case GOT_OTHER: return zkl_claim_got_own(claim, reply, ZKL_AUTH, 1043, SESSION, s.now);
    case GOT_FOREIGN: return zkl_claim_got_own(claim, reply, ZKL_AUTH, 1043, FOREIGN, s.now);
    case REMOVED: return zkl_claim_removed(claim, reply);
    case DELETED: return zkl_claim_own_deleted(claim);
    case CHANGED: return zkl_claim_own_changed(claim);
    case WAKE: return zkl_claim_wake(claim);
    case RESUME: s.common.clock.connected = true; return zkl_claim_resume(claim, s.now);
    case SUSPEND: s.common.clock.connected = false; return zkl_claim_suspend(claim);
    case EXPIRE: zkl_clock_stop(&s.common.clock); return zkl_claim_expire(claim, ZKL_EXPIRED);
    case TICK_LATE: s.now += 2000 * ZKL_SECOND; return zkl_claim_tick(claim, s.now);
    case BEAT: return zkl_claim_beat(claim, s.now);
    default: return zkl_claim_tick(claim, s.now);
    }
}

static void check_step(const struct zkl_claim *was, zkl_actions did) {
    const struct zkl_claim *is = &s.claim;
    const zkl_actions never =
        ZKL_DO_LIST | ZKL_DO_RANK | ZKL_DO_WATCH_AHEAD | ZKL_DO_DOWNGRADE | ZKL_DO_DOWNGRADED;
    CHECK_IS(did & never, 0);
    CHECK(!is->ahead && is->state != ZKL_TRY && is->state != ZKL_RECOVER_STAT &&
          is->state != ZKL_LIST && is->state != ZKL_RANK && is->state != ZKL_DOWNGRADE);
    if (did & ZKL_DO_PARENTS) CHECK(did & ZKL_DO_CREATE);
    if (did & ZKL_DO_CREATE) CHECK(is->state == ZKL_CREATE && is->wanted && is->node.czxid == 0);
    if (did & ZKL_DO_REMOVE)
        CHECK((is->state == ZKL_LEAVE || is->state == ZKL_RETREAT) && is->node.czxid != 0);
    if (did & ZKL_DO_REMOVE && was->node.czxid) CHECK_IS(is->node.czxid, was->node.czxid);
    if (did & ZKL_DO_WATCH_OWN) CHECK(is->node.watched || is->state == ZKL_RECOVER_SYNC);
    if (did & ZKL_DO_GRANT) CHECK(is->state == ZKL_HELD && was->wanted && is->node.czxid != 0);
    if (did & ZKL_DO_GRANT) CHECK(was->state >= ZKL_CREATE && was->state != ZKL_WAIT);
    CHECK_IS(zkl_claim_holds(is) && !zkl_claim_holds(was), (did & ZKL_DO_GRANT) != 0);
    if (did & ZKL_DO_LOSE) CHECK(zkl_claim_holds(was) && is->code == ZKL_LOST);
    if (did & ZKL_DO_FAIL) CHECK(was->wanted && !is->wanted && is->code != ZKL_OK);
    if (did & ZKL_DO_PAUSE) CHECK(zkl_claim_is_pausing(is));
    if (did & ZKL_DO_DOUBT)
        CHECK(was->state == ZKL_CREATE && is->state == ZKL_RECOVER_SYNC && is->node.doubted);
    CHECK(s.grants <= 1 && s.fails <= 1 && s.losses <= 1 && s.queued <= 1);
    CHECK(s.grants + s.fails <= 1);
    CHECK_IS(s.forgets, is->state == ZKL_GONE);
    if (is->state == ZKL_PROVE || is->state == ZKL_HELD || is->state == ZKL_LEAVE)
        CHECK(is->node.czxid != 0 && strcmp(is->node.name, "lock") == 0);
    if (is->state == ZKL_WAIT || is->state == ZKL_NEW) CHECK(is->wanted && is->node.czxid == 0);
}

static void every_pair(enum zkl_claim_state state, int setting) {
    enum { TOTAL = 4 * EVENTS };
    for (int pair = 0; pair < TOTAL * TOTAL; pair++) {
        int steps[] = {pair / TOTAL, pair % TOTAL};
        CHECK_CASE("%s (%d): %s/%d, %s/%d", scene_states[state], setting, events[steps[0] / 4],
                   steps[0] % 4, events[steps[1] / 4], steps[1] % 4);
        reach(state, 2000 * ZKL_SECOND, setting == 3);
        if (setting == 1) scene_cancel(ZKL_INTERRUPTED);
        if (setting == 2) s.common.clock.connected = false;
        if (setting == 4) s.now += 2 * T;
        for (int i = 0; i < 2; i++) {
            struct zkl_claim was = s.claim;
            zkl_actions did = happen(steps[i] / 4, (enum zkl_reply)(steps[i] % 4));
            check_step(&was, scene_count(did));
        }
    }
}

int main(void) {
    taking();
    waiting();
    lost_replies();
    losing();
    siblings();
    fixed_orphans();
    TEST("whatever happens in whatever state, and after it, the rules hold") {
        static const enum zkl_claim_state states[] = {
            ZKL_NEW,   ZKL_CREATE, ZKL_RECOVER_SYNC, ZKL_RECOVER_LIST, ZKL_WAIT,
            ZKL_PROVE, ZKL_HELD,   ZKL_LEAVE,        ZKL_GONE};
        for (size_t i = 0; i < 5 * sizeof states / sizeof *states; i++)
            every_pair(states[i / 5], i % 5);
    }
    return check_report();
}
