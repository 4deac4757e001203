/*
 * claim_table_test.c - rules for claims after any event in any state, with any reply, and after a
 * second event.
 */
#include "scene.h"

/* --- situations of a claim ---------------------------------------------------------------- */

enum setting {
    PLAIN,
    STALLED,
    UNWANTED,
    CUT,
    RAN_OUT,
    AS_READER,
    AS_WRITER,
    AS_PERMIT,
    AS_WAITER,
    AS_BATCH,
    SETTINGS
};
static const char *const settings[] = {
    "",        " stalled", " unwanted", " cut off", " clock ran out",
    " reader", " writer",  " permit",   " waiter",  " batch"};

static enum zkl_kind kind_in(int state, int setting) {
    if (setting == AS_WRITER || state == ZKL_DOWNGRADE) return ZKL_WRITE;
    if (setting == AS_PERMIT) return ZKL_PERMIT;
    return setting == AS_READER ? ZKL_READ : ZKL_MUTEX;
}

static bool waits_in(int state) {
    static const bool in[] = {
        [ZKL_NEW] = true,          [ZKL_CREATE] = true, [ZKL_RECOVER_SYNC] = true,
        [ZKL_RECOVER_LIST] = true, [ZKL_WAIT] = true,   [ZKL_SIGNALLED] = true,
        [ZKL_FORWARD] = true,      [ZKL_LEAVE] = true,  [ZKL_GONE] = true};
    return in[state];
}

static bool takes_turns_in(int state) {
    return state != ZKL_DOWNGRADE && state != ZKL_IN_CONDITION && state != ZKL_SIGNALLED &&
           state != ZKL_FORWARD;
}

static void add_follower(void) {
    zkl_claim_init(&s.part, &s.line, ZKL_MUTEX, ZKL_NEVER, false);
    zkl_claim_set_batch(&s.part, 3);
}

/* The part hands node 42 on to the claim. */
static void reach_successor(zkl_time deadline) {
    scene_open(ZKL_MUTEX, deadline, false);
    add_follower();
    zkl_claim_start(&s.part);
    zkl_claim_created(&s.part, ZKL_DONE, ZKL_OK, scene_name_of(&s.part, 42), 1042);
    LINE(s.part.node.name);
    zkl_claim_listed(&s.part, ZKL_DONE, ZKL_OK, s.now);
    zkl_claim_set_batch(&s.claim, 3);
    zkl_claim_release(&s.part, s.now);
    CHECK_IS(s.claim.state, ZKL_FIRST);
    scene_detach(&s.part);
}

static void reach_turns(enum zkl_claim_state state, zkl_time deadline) {
    if (state == ZKL_FIRST) reach_successor(deadline);
    else scene_reach_as(kind_in(state, AS_BATCH), state, deadline);
    zkl_claim_set_batch(&s.claim, 3);
    add_follower();
}

static void give_up(void) {
    if (s.claim.state == ZKL_DOWNGRADE) scene_release();
    else scene_cancel(ZKL_INTERRUPTED);
}

static void build(int state, int setting) {
    const zkl_time deadline = 2000 * ZKL_SECOND;
    if (setting == AS_WAITER && waits_in(state))
        scene_reach_waiter((enum zkl_claim_state)state, deadline);
    else if (setting == AS_BATCH && takes_turns_in(state))
        reach_turns((enum zkl_claim_state)state, deadline);
    else scene_reach_as(kind_in(state, setting), (enum zkl_claim_state)state, deadline);
    if (state == ZKL_IN_CONDITION) s.grants = 0; /* another grant may come */
    if (state == ZKL_WAIT) s.claim.node.watched = true;
    if (setting == STALLED) scene_stall();
    if (setting == UNWANTED) give_up();
    if (setting == CUT) s.common.clock.connected = false;
    if (setting == RAN_OUT) s.now += 2 * T;
    if (!s.other) { /* for news of a contender ahead */
        const char *ahead = setting == AS_PERMIT ? HOLDER : AHEAD;
        LINE(ahead);
        if (s.claim.node.name[0]) LINE(ahead, s.claim.node.name);
    }
}

/* --- events ------------------------------------------------------------------------------- */

#define EACH_EVENT(X)                                                                              \
    X(START), X(CANCEL), X(RELEASE), X(DOWNGRADE), X(YIELD), X(OFFER_KEPT), X(CONTENDED),          \
        X(PARTNER_CHANGED), X(WAITER_SIGNALLED), X(LOCK_NODE_GONE), X(PARENTS), X(CREATED),        \
        X(LISTED_OWN), X(LISTED_FIRST), X(LISTED_NONE), X(LISTED_LIMIT), X(SYNCED), X(GOT_OWN),    \
        X(GOT_FOREIGN), X(GOT_AHEAD), X(GOT_OTHER), X(RANKED), X(DOWNGRADED), X(MARKED),           \
        X(FORWARDED), X(WRITE_FAILED), X(REMOVED), X(SIGNALLED), X(OWN_DELETED), X(OWN_CHANGED),   \
        X(AHEAD_DELETED), X(AHEAD_CHANGED), X(AHEAD_MARKED), X(MARK_OVERWRITTEN),                  \
        X(OTHER_DELETED), X(OTHER_CHANGED), X(RESUME), X(SUSPEND), X(EXPIRE), X(TICK),             \
        X(TICK_LATE), X(BEAT)

#define AS_NUMBER(event) event
#define AS_TEXT(event) #event

enum event { EACH_EVENT(AS_NUMBER), EVENTS };
static const char *const events[] = {EACH_EVENT(AS_TEXT)};
static const char *const replies[] = {"", " absent", " refused", " unknown"};

static zkl_actions list_event(int event, enum zkl_reply reply) {
    const char *own = scene_name(event == LISTED_LIMIT ? INT32_MAX : 42);
    const char *ahead = s.claim.kind == ZKL_PERMIT ? HOLDER : AHEAD;
    if (reply != ZKL_DONE) return zkl_claim_listed(&s.claim, reply, ZKL_AUTH, s.now);
    if (event == LISTED_OWN) LINE(ahead, own, BEHIND);
    else if (event == LISTED_FIRST) LINE(own, BEHIND, "config");
    else if (event == LISTED_LIMIT) LINE(LIMITED, own);
    else LINE(ahead, BEHIND);
    return zkl_claim_listed(&s.claim, reply, ZKL_OK, s.now);
}

static zkl_actions reply_event(int event, enum zkl_reply reply) {
    struct zkl_claim *claim = &s.claim;
    struct zkl_contender *ahead = claim->ahead ? claim->ahead : s.other;
    uint64_t session = s.common.session + (event == GOT_FOREIGN);
    switch (event) {
    case PARENTS: zkl_claim_parents(claim, reply, ZKL_AUTH); return 0;
    case CREATED: return zkl_claim_created(claim, reply, ZKL_AUTH, scene_name(42), 1042);
    case SYNCED:
        if (reply == ZKL_DONE) zkl_clock_prove(&s.common.clock, s.now, s.now);
        return zkl_claim_synced(claim, reply, s.now);
    case GOT_OWN:
    case GOT_FOREIGN: return zkl_claim_got_own(claim, reply, ZKL_AUTH, 1042, session, s.now);
    case GOT_AHEAD: return zkl_claim_got_ahead(claim, ahead, reply, ZKL_AUTH, s.now);
    case GOT_OTHER: return zkl_claim_got_ahead(claim, s.other, reply, ZKL_AUTH, s.now);
    case RANKED:
        if (!claim->rank_gets) claim->rank_gets = 1;
        return zkl_claim_ranked(claim, s.other, reply, 1000, s.now);
    case MARKED: return zkl_claim_marked(claim, reply);
    case DOWNGRADED: return zkl_claim_downgraded(claim, reply, ZKL_AUTH);
    case REMOVED: return zkl_claim_removed(claim, reply);
    case FORWARDED: return zkl_claim_forwarded(claim, reply, false);
    case WRITE_FAILED: return zkl_claim_forwarded(claim, reply, true);
    default: return list_event(event, reply);
    }
}

static zkl_actions deleted(struct zkl_contender *contender) {
    zkl_actions did;
    zkl_contender_ref(contender);
    zkl_line_forget(&s.line, contender);
    did = zkl_claim_ahead_deleted(&s.claim, contender, s.now);
    zkl_contender_unref(contender);
    return did;
}

static zkl_actions waiter_signalled(void) {
    if (s.claim.state != ZKL_IN_CONDITION) return 0;
    if (s.part.state == ZKL_CREATE)
        zkl_claim_created(&s.part, ZKL_DONE, ZKL_OK, scene_name_of(&s.part, 7), 0);
    zkl_claim_signalled(&s.part);
    return zkl_claim_partner_changed(&s.claim);
}

static zkl_actions happen(int event, enum zkl_reply reply) {
    struct zkl_claim *claim = &s.claim;
    struct zkl_contender *ahead = claim->ahead ? claim->ahead : s.other;
    switch (event) {
    case START: return claim->state == ZKL_NEW ? zkl_claim_start(claim) : 0;
    case CANCEL: return zkl_claim_cancel(claim, ZKL_CLOSED);
    case RELEASE: return zkl_claim_release(claim, s.now);
    case DOWNGRADE: return zkl_claim_may_downgrade(claim) ? zkl_claim_downgrade(claim) : 0;
    case YIELD: return zkl_claim_yield(claim);
    case OFFER_KEPT: return zkl_claim_offer_kept(claim, s.now);
    case CONTENDED: s.line.changed = true; return zkl_claim_contended(claim, s.now);
    case PARTNER_CHANGED:
        return claim->as_waiter || !claim->partner ? 0 : zkl_claim_partner_changed(claim);
    case WAITER_SIGNALLED: return waiter_signalled();
    case LOCK_NODE_GONE: return claim->as_waiter ? zkl_claim_lock_node_gone(claim) : 0;
    case SIGNALLED: return zkl_claim_signalled(claim);
    case OWN_DELETED: return zkl_claim_own_deleted(claim);
    case OWN_CHANGED: return zkl_claim_own_changed(claim);
    case AHEAD_DELETED: return deleted(ahead);
    case AHEAD_CHANGED: return zkl_claim_ahead_changed(claim, ahead);
    case AHEAD_MARKED: return zkl_claim_ahead_marked(claim, ahead, 2000);
    case MARK_OVERWRITTEN: return claim->node.says_held ? zkl_claim_mark_overwritten(claim) : 0;
    case OTHER_DELETED: return deleted(s.other);
    case OTHER_CHANGED: return zkl_claim_ahead_changed(claim, s.other);
    case RESUME: s.common.clock.connected = true; return zkl_claim_resume(claim, s.now);
    case SUSPEND: s.common.clock.connected = false; return zkl_claim_suspend(claim);
    case EXPIRE: zkl_clock_end(&s.common.clock); return zkl_claim_expire(claim, ZKL_EXPIRED);
    case TICK: return zkl_claim_tick(claim, s.now);
    case TICK_LATE: s.now = 2000 * ZKL_SECOND; return zkl_claim_tick(claim, s.now);
    case BEAT: return zkl_claim_beat(claim, s.now);
    default: return reply_event(event, reply);
    }
}

static bool has_reply(int event) {
    return event >= PARENTS && event <= REMOVED;
}

/* --- rules -------------------------------------------------------------------------------- */

static bool has_counter(const char *name) {
    struct zkl_name parsed;
    return zkl_name_parse(name, &parsed);
}

/* A writer's user hears the result of its downgrade. */
static void check_downgraded(const struct zkl_claim *was, const struct zkl_claim *is,
                             zkl_actions did) {
    bool answered = was->state == ZKL_DOWNGRADE && is->state == ZKL_HELD;
    CHECK_IS(answered, (did & ZKL_DO_DOWNGRADED) != 0);
    if (answered) CHECK(was->wanted && is->wanted && is->node.czxid == was->node.czxid);
    if (answered) CHECK_IS(is->kind == ZKL_READ, is->refusal == ZKL_OK);
    if (is->kind != was->kind) CHECK(was->state == ZKL_DOWNGRADE && is->kind == ZKL_READ);
}

/* The user of a claim in IN_CONDITION hears when its wait did not begin. */
static void check_stayed(const struct zkl_claim *was, const struct zkl_claim *is, zkl_actions did) {
    bool stayed = was->state == ZKL_IN_CONDITION && is->state == ZKL_HELD;
    CHECK_IS(stayed, (did & ZKL_DO_STAYED) != 0);
    if (stayed) CHECK(was->wanted && is->wanted && is->node.czxid == was->node.czxid);
}

/* A waiter has no user. Its lock's claim hears of its end. */
static void check_waiter(const struct zkl_claim *was, const struct zkl_claim *is, zkl_actions did) {
    bool called = was->state != ZKL_SIGNALLED && is->state == ZKL_SIGNALLED;
    bool gone = was->state != ZKL_GONE && is->state == ZKL_GONE;
    CHECK(!(did & (ZKL_DO_GRANT | ZKL_DO_FAIL | ZKL_DO_LOSE | ZKL_DO_QUEUED)));
    if ((was->wanted && !is->wanted && was->state != ZKL_SIGNALLED) || called || gone)
        CHECK(did & ZKL_DO_TELL_PARTNER);
    if (did & ZKL_DO_FORWARD) CHECK(is->state == ZKL_FORWARD && is->ahead && is->ahead->listed);
    if (is->as_waiter == ZKL_WAITER_SETTLED) CHECK(is->state == ZKL_LEAVE || is->state == ZKL_GONE);
}

/*
 * True if the claim is on its way, or holds and will hand its node on, so later claims wait for it.
 */
static bool may_be_followed(const struct zkl_claim *claim) {
    if (claim->state == ZKL_HELD || claim->state == ZKL_KEPT) return !claim->last_of_turn;
    return claim->wanted && claim->state >= ZKL_CREATE && claim->state <= ZKL_FIRST;
}

/* True for a second claim with turns, which makes no node here. */
static bool has_inherited(const struct zkl_claim *next) {
    return next->batch != 0 && next->node.nonce != 0;
}

/* The next claim inherits the place, or goes on by itself. */
static void check_turns(const struct zkl_claim *was, zkl_actions did) {
    const struct zkl_claim *is = &s.claim, *next = &s.part;
    bool left = may_be_followed(was) && !may_be_followed(is) &&
                is->state != ZKL_NEW; /* a NEW claim is still first */
    if (left && s.common.clock.connected) CHECK(did & ZKL_DO_FOLLOW);
    if (!has_inherited(next) || was->state == ZKL_GONE) return;
    CHECK(left && is->state == ZKL_GONE && !(did & NETWORK));
    CHECK_TEXT(next->node.name, was->node.name);
    CHECK(next->node.nonce == was->node.nonce && next->node.czxid == was->node.czxid);
    bool held = was->state == ZKL_HELD || was->state == ZKL_KEPT;
    CHECK_IS(next->node.grants, was->node.grants + held);
    CHECK_IS(next->state == ZKL_FIRST, held && s.common.clock.connected);
}

static void check_told(const struct zkl_claim *was, zkl_actions did) {
    const struct zkl_claim *is = &s.claim;
    const struct zkl_clock *clock = &s.common.clock;
    zkl_actions granted = did & (ZKL_DO_GRANT | ZKL_DO_STAYED);
    if (did & ZKL_DO_GRANT) {
        CHECK(is->state == ZKL_HELD && was->state != ZKL_HELD && was->wanted);
        CHECK(is->node.czxid != 0 && is->epoch == clock->epoch);
        CHECK_IS(zkl_clock_phase(clock, is->epoch, s.now), ZKL_PHASE_HELD);
        CHECK(!(did & (ZKL_DO_FAIL | ZKL_DO_LOSE)));
    }
    if (did & ZKL_DO_FAIL) CHECK(was->wanted && !is->wanted && is->code != ZKL_OK);
    if (did & ZKL_DO_LOSE) CHECK(zkl_claim_holds(was) && is->code == ZKL_LOST);
    if (did & ZKL_DO_QUEUED) CHECK((is->state == ZKL_WAIT || is->batch) && !was->announced);
    CHECK_IS(zkl_claim_holds(is) && !zkl_claim_holds(was), granted != 0);
    check_downgraded(was, is, did);
    check_stayed(was, is, did);
    if (is->as_waiter) check_waiter(was, is, did);
    if (is->batch) check_turns(was, did);
    CHECK_IS(is->state == ZKL_GONE && was->state != ZKL_GONE, (did & ZKL_DO_FORGET) != 0);
    if (!zkl_claim_holds(was) && !is->as_waiter)
        CHECK_IS(was->wanted && !is->wanted, (did & ZKL_DO_FAIL) != 0);
    if (was->state == ZKL_GONE) CHECK(!did && is->state == ZKL_GONE);
    if (did & ZKL_DO_FORGET && !has_inherited(&s.part))
        CHECK(!zkl_line_find(&s.line, is->node.name));
    CHECK(s.grants <= 1 && s.fails <= 1 && s.losses <= 1 && s.queued <= 1);
    CHECK(s.grants + s.fails <= 1);
    CHECK_IS(s.forgets, is->state == ZKL_GONE);
}

static void check_asked(const struct zkl_claim *was, zkl_actions did) {
    const struct zkl_claim *is = &s.claim;
    if (is->state == ZKL_GONE) CHECK(!(did & (NETWORK | ZKL_DO_DOUBT)));
    if (did & ZKL_DO_CREATE) {
        CHECK(is->state == ZKL_CREATE && is->wanted && (is->as_waiter || did & ZKL_DO_LIST));
        CHECK(is->node.nonce > was->node.nonce && !is->node.czxid && !has_counter(is->node.name));
    } else {
        bool rests = was->state == ZKL_RETREAT && is->state == ZKL_NEW;
        CHECK(is->node.nonce == (rests ? 0 : was->node.nonce) && !(did & ZKL_DO_PARENTS));
    }
    if (did & ZKL_DO_WATCH_OWN) CHECK(has_counter(is->node.name) && is->node.watched);
    if (did & ZKL_DO_WATCH_AHEAD) CHECK(is->state == ZKL_WAIT && is->ahead);
    if (did & ZKL_DO_HOLDERS) CHECK(is->state == ZKL_WAIT && is->holders_list);
    if (did & ZKL_DO_MARK)
        CHECK(is->state == ZKL_HELD && (is->kind == ZKL_PERMIT || is->node.says_held));
    if (did & ZKL_DO_RANK) CHECK(zkl_line_unranked(&s.line, is, NULL) != NULL);
    if (did & ZKL_DO_REMOVE)
        CHECK((is->state == ZKL_LEAVE || is->state == ZKL_RETREAT) && has_counter(is->node.name));
    if (did & ZKL_DO_DOWNGRADE) CHECK(is->state == ZKL_DOWNGRADE && zkl_claim_may_downgrade(is));
    if (did & ZKL_DO_DOUBT)
        CHECK(was->state == ZKL_CREATE && is->state == ZKL_RECOVER_SYNC && is->node.doubted);
}

static void check_state(void) {
    static const bool unwanted_ok[] = {
        [ZKL_CREATE] = true,    [ZKL_RECOVER_SYNC] = true, [ZKL_RECOVER_LIST] = true,
        [ZKL_DOWNGRADE] = true, [ZKL_IN_CONDITION] = true, [ZKL_FORWARD] = true,
        [ZKL_KEPT] = true,      [ZKL_LEAVE] = true,        [ZKL_GONE] = true};
    const struct zkl_claim *is = &s.claim;
    if (!is->as_waiter) CHECK_IS(is->state == ZKL_WAIT, is->ahead != NULL);
    if (is->as_waiter) CHECK(waits_in(is->state) && (!is->ahead || is->state == ZKL_FORWARD));
    if (!is->wanted) CHECK(unwanted_ok[is->state]);
    if (is->state >= ZKL_KEPT) CHECK(!is->wanted);
    if (is->state == ZKL_KEPT) CHECK(s.line.keeper == is);
    if (s.line.keeper == is) CHECK(is->state == ZKL_KEPT || is->state == ZKL_HELD);
    if (is->state >= ZKL_LIST && is->state <= ZKL_DOWNGRADE)
        CHECK((is->node.czxid || is->as_waiter) && has_counter(is->node.name));
}

/*
 * A stalled claim has no request out, so it gets no reply. Replies about parents come before the
 * create's.
 */
static bool possible(const struct zkl_claim *was, int event) {
    if (event == PARENTS && was->state == ZKL_DOWNGRADE) return false;
    return !(was->stalled && has_reply(event));
}

static void check_all(const struct zkl_claim *was, zkl_actions did, int event) {
    check_told(was, did);
    check_asked(was, did);
    check_state();
    bool asked = s.claim.state == ZKL_HELD && event != MARKED;
    if (asked && possible(was, event)) CHECK(!s.claim.stalled);
    if (!was->wanted && event != PARENTS) CHECK_IS(s.claim.code, was->code);
    if (event == EXPIRE) CHECK_IS(s.claim.state, ZKL_GONE);
}

/* When the connection returns, a stalled claim asks for something, unless right after a stop. */
static void check_resumes(const struct zkl_claim *was, int event) {
    if (!s.claim.stalled || s.claim.state == ZKL_GONE || !possible(was, event)) return;
    scene_run(T / 2);
    zkl_actions did = scene_resume();
    CHECK(did & (NETWORK | ZKL_DO_GRANT));
    CHECK(!s.claim.stalled);
}

static void step(int event, int reply) {
    struct zkl_claim was = s.claim;
    zkl_actions did = scene_count(happen(event, (enum zkl_reply)reply));
    check_all(&was, did, event);
}

static void every_event(int state, int setting) {
    for (int event = 0; event < EVENTS; event++) {
        for (int reply = 0; reply < (has_reply(event) ? 4 : 1); reply++) {
            CHECK_CASE("%s%s: %s%s", scene_states[state], settings[setting], events[event],
                       replies[reply]);
            build(state, setting);
            struct zkl_claim was = s.claim;
            step(event, reply);
            check_resumes(&was, event);
        }
    }
}

static void every_pair(int state, int setting) {
    int total = 4 * EVENTS;
    for (int pair = 0; pair < total * total; pair++) {
        int first = pair / total, second = pair % total;
        if ((first % 4 && !has_reply(first / 4)) || (second % 4 && !has_reply(second / 4)))
            continue;
        CHECK_CASE("%s%s: %s%s, %s%s", scene_states[state], settings[setting], events[first / 4],
                   replies[first % 4], events[second / 4], replies[second % 4]);
        build(state, setting);
        struct zkl_claim was = s.claim;
        scene_count(happen(first / 4, (enum zkl_reply)(first % 4)));
        if (possible(&was, first / 4) && possible(&s.claim, second / 4)) {
            was = s.claim;
            zkl_actions did = happen(second / 4, (enum zkl_reply)(second % 4));
            scene_count(did);
            check_told(&was, did);
            check_state();
        }
    }
}

int main(void) {
    TEST("the rules of a claim hold after any event in any state") {
        for (int i = 0; i < (ZKL_GONE + 1) * SETTINGS; i++) every_event(i / SETTINGS, i % SETTINGS);
    }
    TEST("a second event tells no user twice and grants nothing wrongly") {
        for (int i = 0; i < (ZKL_GONE + 1) * SETTINGS; i++) every_pair(i / SETTINGS, i % SETTINGS);
    }
    return check_report();
}
