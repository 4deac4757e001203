/*
 * unfair_test.c - rules for claims of ZKL_UNFAIR after any two events in any state. The outcomes
 * are in claims/unfair.txt. ALG-05.
 */
#include "scene.h"

#define FOREIGN (SESSION + 1)

#define EACH_EVENT(X)                                                                              \
    X(CANCEL), X(RELEASE), X(CREATED), X(FIXED_CREATED), X(FIXED_EXISTS), X(SYNCED),               \
        X(LISTED_ANY), X(GOT_OWN), X(GOT_OTHER), X(GOT_FOREIGN), X(REMOVED), X(DELETED),           \
        X(CHANGED), X(WAKE), X(RESUME), X(SUSPEND), X(EXPIRE), X(TICK), X(TICK_LATE), X(BEAT)

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
    case FIXED_CREATED: return zkl_claim_fixed_created(claim, 1042, s.now);
    case FIXED_EXISTS: return zkl_claim_fixed_exists(claim);
    case SYNCED:
        if (reply == ZKL_DONE) zkl_clock_prove(&s.common.clock, s.now, s.now);
        return zkl_claim_synced(claim, reply, s.now);
    case LISTED_ANY:
        /* a list for another claim, as this claim asks for none */
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
    case EXPIRE: zkl_clock_end(&s.common.clock); return zkl_claim_expire(claim, ZKL_EXPIRED);
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

enum setting { PLAIN, UNWANTED, CUT, TRYING, RAN_OUT, SETTINGS };

static void build(enum zkl_claim_state state, int setting) {
    scene_reach_as(ZKL_UNFAIR, state, 2000 * ZKL_SECOND);
    if (setting == UNWANTED) scene_cancel(ZKL_INTERRUPTED);
    if (setting == CUT) s.common.clock.connected = false;
    if (setting == TRYING) {
        s.claim.trying = true;
        s.line.tries++;
    }
    if (setting == RAN_OUT) s.now += 2 * T;
}

/* A try does not wait, and ends with its grant. */
static bool can_be(enum zkl_claim_state state, int setting) {
    return setting != TRYING || (state <= ZKL_PROVE && state != ZKL_WAIT);
}

static void every_pair(enum zkl_claim_state state, int setting) {
    enum { TOTAL = 4 * EVENTS };
    for (int pair = 0; pair < TOTAL * TOTAL; pair++) {
        int steps[] = {pair / TOTAL, pair % TOTAL};
        CHECK_CASE("%s (%d): %s/%d, %s/%d", scene_states[state], setting, events[steps[0] / 4],
                   steps[0] % 4, events[steps[1] / 4], steps[1] % 4);
        build(state, setting);
        for (int i = 0; i < 2; i++) {
            struct zkl_claim was = s.claim;
            zkl_actions did = happen(steps[i] / 4, (enum zkl_reply)(steps[i] % 4));
            check_step(&was, scene_count(did));
        }
    }
}

int main(void) {
    TEST("the rules of an unfair claim hold after any two events in any state") {
        static const enum zkl_claim_state states[] = {
            ZKL_NEW,   ZKL_CREATE, ZKL_RECOVER_SYNC, ZKL_RECOVER_LIST, ZKL_WAIT,
            ZKL_PROVE, ZKL_HELD,   ZKL_LEAVE,        ZKL_GONE};
        EACH(states, i) {
            for (int setting = 0; setting < SETTINGS; setting++)
                if (can_be(states[i], setting)) every_pair(states[i], setting);
        }
    }
    return check_report();
}
