/*
 * scene.h - a claim with its common, line and clock, for claim specs.
 *
 *   scene_enter(ZKL_MUTEX);                   connected, certain; create and list are out
 *   did = scene_created(42, 1042);            the reply to the create
 *   did = LISTED(AHEAD, s.claim.name);        the reply to the list
 *
 * A new scene `s` replaces the last scene. scene_reach_as() drives a fresh claim into any state by
 * legal events. Calls count reports to the user (s.grants, s.fails, ...).
 */
#ifndef SCENE_H
#define SCENE_H

#include <stdlib.h>

#include "check.h"
#include "claim.h"

#define T (10 * ZKL_SECOND)
#define SESSION UINT64_C(0x1000000000000abc)
#define AHEAD "_c_11111111-2222-3333-4444-555555555555-lock-0000000041"
#define WRITER "_c_11111111-2222-3333-4444-555555555555-__WRIT__0000000041"
#define BEHIND "_c_66666666-7777-8888-9999-000000000000-lock-0000000043"
#define HOLDER "_c_11111111-2222-3333-4444-555555555555-permit-2-of-3-0000000041"
#define LIMITED "_c_11111111-2222-3333-4444-555555555555-lock-2147483647"
#define NETWORK                                                                                    \
    (ZKL_DO_PARENTS | ZKL_DO_CREATE | ZKL_DO_SYNC | ZKL_DO_LIST | ZKL_DO_RANK | ZKL_DO_WATCH_OWN | \
     ZKL_DO_WATCH_AHEAD | ZKL_DO_REMOVE | ZKL_DO_DOWNGRADE | ZKL_DO_FORWARD | ZKL_DO_HOLDERS |     \
     ZKL_DO_MARK | ZKL_DO_WATCH_LOOKAHEAD | ZKL_DO_WATCH_CHILDREN)

static struct scene {
    struct zkl_common common;
    struct zkl_line line;
    struct zkl_claim claim;
    struct zkl_claim second, third; /* in the same line, if used */
    struct zkl_line part_line;      /* line of a multi-lock's second part, or of a partner */
    struct zkl_claim part;          /* for scene_join(), scene_await(), scene_open_waiter() */
    struct zkl_contender *other; /* reference to the first contender of another session, or NULL */
    zkl_time now;
    int grants, fails, losses, forgets, queued;
} s;

static inline zkl_actions scene_count(zkl_actions did) {
    s.grants += (did & ZKL_DO_GRANT) != 0;
    s.fails += (did & ZKL_DO_FAIL) != 0;
    s.losses += (did & ZKL_DO_LOSE) != 0;
    s.forgets += (did & ZKL_DO_FORGET) != 0;
    s.queued += (did & ZKL_DO_QUEUED) != 0;
    return did;
}

/* Counts reports and, as the owner does, the gets of ZKL_DO_RANK. */
static inline zkl_actions scene_did(zkl_actions did) {
    struct zkl_contender *each = NULL;
    while (did & ZKL_DO_RANK && (each = zkl_line_unranked(&s.line, &s.claim, each)))
        s.claim.rank_gets++;
    return scene_count(did);
}

/* Proves the session up to now, so that the clock is as certain as possible. */
static inline void scene_prove(void) {
    for (int i = 6; i >= 0; i--) {
        zkl_time issued = s.now - i * (T / 6);
        zkl_clock_prove(&s.common.clock, issued, issued);
    }
}

static inline void scene_run(zkl_time time) {
    for (zkl_time until = s.now + time; s.now < until;) {
        s.now = zkl_earlier(s.now + T / 24, until);
        zkl_clock_attend(&s.common.clock, s.now);
    }
}

/* Stops the process for that time. Proofs count again 4/15 T later. */
static inline void scene_stop(zkl_time time) {
    s.now += time;
    zkl_clock_attend(&s.common.clock, s.now);
}

static inline void scene_detach(struct zkl_claim *claim) {
    if (claim->line) zkl_claim_detach(claim);
    claim->line = NULL;
}

static inline void scene_close(void) {
    zkl_contender_unref(s.other);
    scene_detach(&s.second);
    scene_detach(&s.third);
    scene_detach(&s.claim);
    scene_detach(&s.part);
    zkl_line_clear(&s.line);
    zkl_line_clear(&s.part_line);
}

/* A claim, not started, in a connected and certain session. */
static inline void scene_open(enum zkl_kind kind, zkl_time deadline, bool trying) {
    scene_close();
    s = (struct scene){.now = 1000 * ZKL_SECOND, .common = {.session = SESSION}};
    s.line.common = s.part_line.common = &s.common;
    zkl_clock_start(&s.common.clock, T, 0.5, s.now - 2 * T);
    s.common.clock.connected = true;
    scene_prove();
    zkl_claim_init(&s.claim, &s.line, kind, deadline, trying);
    if (kind == ZKL_PERMIT) zkl_claim_set_permits(&s.claim, 2, 3);
}

/* Makes the claim a part of a multi-lock of two, both not started. */
static inline void scene_join(void) {
    zkl_claim_init(&s.part, &s.part_line, s.claim.kind, s.claim.deadline, s.claim.trying);
    zkl_claim_join(&s.part, &s.claim);
}

static inline zkl_actions scene_start(void) {
    return scene_did(zkl_claim_start(&s.claim));
}

static inline void scene_enter(enum zkl_kind kind) {
    scene_open(kind, ZKL_NEVER, false);
    scene_start();
}

static inline const char *scene_name_of(const struct zkl_claim *claim, int32_t sequence) {
    static char name[2 * ZKL_NAME_SIZE];
    uint64_t session = claim->line->common->session;
    if (claim->kind != ZKL_PERMIT) zkl_name_prefix(name, claim->kind, session, claim->node.nonce);
    else zkl_name_permit_prefix(name, claim->permits, claim->limit, session, claim->node.nonce);
    snprintf(name + strlen(name), ZKL_NAME_SIZE, "%010" PRId32, sequence);
    return name;
}

static inline const char *scene_name(int32_t sequence) {
    return scene_name_of(&s.claim, sequence);
}

static inline zkl_actions scene_created(int32_t sequence, int64_t czxid) {
    const char *name = scene_name(sequence);
    return scene_did(zkl_claim_created(&s.claim, ZKL_DONE, ZKL_OK, name, czxid));
}

static inline zkl_actions scene_create_fails(enum zkl_reply reply, enum zkl_code why) {
    return scene_did(zkl_claim_created(&s.claim, reply, why, NULL, 0));
}

/* Replaces the line by a list that is not fed to the claim. */
static inline void scene_line(const char *const *names, size_t count) {
    CHECK(zkl_line_replace(&s.line, names, count));
    if (!s.other && s.line.count && s.line.contenders[0]->session != SESSION)
        s.other = zkl_contender_ref(s.line.contenders[0]);
}

static inline zkl_actions scene_listed(const char *const *names, size_t count) {
    scene_line(names, count);
    return scene_did(zkl_claim_listed(&s.claim, ZKL_DONE, ZKL_OK, s.now));
}

#define NAMES(...)                                                                                 \
    (const char *const[]) {                                                                        \
        __VA_ARGS__                                                                                \
    }
#define COUNT(...) (sizeof NAMES(__VA_ARGS__) / sizeof(char *))
#define LISTED(...) scene_listed(NAMES(__VA_ARGS__), COUNT(__VA_ARGS__))
#define LINE(...) scene_line(NAMES(__VA_ARGS__), COUNT(__VA_ARGS__))

static inline zkl_actions scene_list_fails(enum zkl_reply reply, enum zkl_code why) {
    return scene_did(zkl_claim_listed(&s.claim, reply, why, s.now));
}

static inline zkl_actions scene_synced(enum zkl_reply reply) {
    if (reply == ZKL_DONE) scene_prove();
    return scene_did(zkl_claim_synced(&s.claim, reply, s.now));
}

static inline zkl_actions scene_got_own(enum zkl_reply reply, int64_t czxid) {
    return scene_did(zkl_claim_got_own(&s.claim, reply, ZKL_AUTH, czxid, s.common.session, s.now));
}

static inline zkl_actions scene_removed(enum zkl_reply reply) {
    return scene_did(zkl_claim_removed(&s.claim, reply));
}

static inline zkl_actions scene_release(void) {
    return scene_did(zkl_claim_release(&s.claim, s.now));
}

static inline zkl_actions scene_cancel(enum zkl_code why) {
    return scene_did(zkl_claim_cancel(&s.claim, why));
}

static inline zkl_actions scene_resume(void) {
    s.common.clock.connected = true;
    return scene_did(zkl_claim_resume(&s.claim, s.now));
}

static const char *const scene_states[] = {
    "NEW",          "TRY",     "CREATE", "RECOVER_SYNC", "RECOVER_LIST",
    "RECOVER_STAT", "LIST",    "RANK",   "WAIT",         "PROVE",
    "RETREAT",      "FIRST",   "HELD",   "DOWNGRADE",    "IN_CONDITION",
    "SIGNALLED",    "FORWARD", "KEPT",   "LEAVE",        "GONE"};

/* The holding claim begins to wait in a condition. Its waiter's transaction is out. */
static inline zkl_actions scene_await(zkl_time deadline) {
    zkl_claim_init(&s.part, &s.part_line, ZKL_MUTEX, ZKL_NEVER, false);
    return scene_did(zkl_claim_enter_condition(&s.part, &s.claim, deadline));
}

/* The claim is a waiter, not started, and the part its holding lock's claim. */
static inline void scene_open_waiter(void) {
    scene_open(ZKL_MUTEX, ZKL_NEVER, false);
    zkl_claim_init(&s.part, &s.part_line, ZKL_MUTEX, ZKL_NEVER, false);
    zkl_claim_start(&s.part);
    zkl_claim_created(&s.part, ZKL_DONE, ZKL_OK, scene_name_of(&s.part, 7), 1007);
    const char *names[] = {s.part.node.name};
    CHECK(zkl_line_replace(&s.part_line, names, 1));
    zkl_claim_listed(&s.part, ZKL_DONE, ZKL_OK, s.now);
    CHECK_IS(s.part.state, ZKL_HELD);
}

/* Drives a waiter into a state, behind the waiter AHEAD. */
static inline void scene_reach_waiter(enum zkl_claim_state state, zkl_time deadline) {
    scene_open_waiter();
    s.common.clock.connected = state != ZKL_NEW;
    scene_did(zkl_claim_enter_condition(&s.claim, &s.part, deadline));
    s.common.clock.connected = true;
    if (state <= ZKL_CREATE) return;
    if (state <= ZKL_RECOVER_LIST) {
        scene_create_fails(ZKL_UNKNOWN, ZKL_OK);
        scene_resume();
        if (state == ZKL_RECOVER_LIST) scene_synced(ZKL_DONE);
        return;
    }
    scene_created(42, 0);
    if (state == ZKL_WAIT) return;
    scene_did(zkl_claim_signalled(&s.claim));
    zkl_claim_partner_changed(&s.part);
    if (state == ZKL_FORWARD) scene_cancel(ZKL_TIMEOUT);
    if (state >= ZKL_LEAVE) scene_release();
    if (state == ZKL_GONE) scene_removed(ZKL_DONE);
}

/* The first part of a multi-lock is in FIRST, and the second part's list is out. */
static inline void scene_reach_first(enum zkl_kind kind, zkl_time deadline) {
    scene_open(kind, deadline, false);
    scene_join();
    scene_start();
    zkl_claim_start(&s.part);
    scene_created(42, 0);
    zkl_claim_created(&s.part, ZKL_DONE, ZKL_OK, scene_name_of(&s.part, 7), 0);
    LISTED(s.claim.node.name);
    scene_got_own(ZKL_DONE, 1042);
}

/* Drives an unfair claim into a state, without a list. Its node is 1042 from PROVE on. */
static inline void scene_reach_unfair(enum zkl_claim_state state) {
    if (state == ZKL_WAIT) zkl_claim_fixed_exists(&s.claim);
    if (state <= ZKL_WAIT) return;
    if (state == ZKL_PROVE) scene_run(T * 6 / 10);
    if (state == ZKL_RETREAT) scene_stop(T * 6 / 10);
    scene_did(zkl_claim_fixed_created(&s.claim, 1042, s.now));
    if (state >= ZKL_LEAVE) scene_release();
    if (state == ZKL_GONE) scene_removed(ZKL_DONE);
}

/*
 * The claim gets node 42 (2147483647 in RANK). In WAIT it is behind AHEAD, or as a permit, wanting
 * 2 of 3, behind HOLDER.
 */
static inline void scene_reach_as(enum zkl_kind kind, enum zkl_claim_state state,
                                  zkl_time deadline) {
    if (state == ZKL_FIRST) {
        scene_reach_first(kind, deadline);
        return;
    }
    if (state == ZKL_SIGNALLED || state == ZKL_FORWARD) {
        scene_reach_waiter(state, deadline);
        return;
    }
    const char *ahead = kind == ZKL_PERMIT ? HOLDER : AHEAD;
    scene_open(kind, deadline, state == ZKL_TRY);
    if (state == ZKL_KEPT && kind == ZKL_MUTEX)
        zkl_claim_set_keep(&s.claim, 10 * ZKL_SECOND, s.now);
    s.common.clock.connected = state != ZKL_NEW;
    scene_start();
    s.common.clock.connected = true;
    if (state <= ZKL_CREATE) return;
    if (state <= ZKL_RECOVER_STAT) {
        scene_create_fails(ZKL_UNKNOWN, ZKL_OK);
        scene_resume();
        if (state >= ZKL_RECOVER_LIST) scene_synced(ZKL_DONE);
        if (state == ZKL_RECOVER_STAT) LISTED(ahead, scene_name(42));
        return;
    }
    if (kind == ZKL_UNFAIR) {
        scene_reach_unfair(state);
        return;
    }
    scene_created(state == ZKL_RANK ? INT32_MAX : 42, 1042);
    if (state == ZKL_LIST) return;
    if (state == ZKL_PROVE) scene_run(T * 6 / 10);
    if (state == ZKL_RETREAT) scene_stop(T * 6 / 10);
    if (state == ZKL_RANK) LISTED(LIMITED, s.claim.node.name);
    else if (state == ZKL_WAIT) LISTED(ahead, s.claim.node.name);
    else LISTED(s.claim.node.name);
    if (state == ZKL_DOWNGRADE) scene_did(zkl_claim_downgrade(&s.claim));
    if (state == ZKL_IN_CONDITION) scene_await(deadline);
    if (state == ZKL_KEPT) s.line.children = ZKL_WATCHED;
    if (state >= ZKL_KEPT) scene_release();
    if (state == ZKL_GONE) scene_removed(ZKL_DONE);
}

/* Answers the claim's request with ZKL_UNKNOWN. */
static inline zkl_actions scene_stall(void) {
    switch (s.claim.state) {
    case ZKL_CREATE: return scene_create_fails(ZKL_UNKNOWN, ZKL_OK);
    case ZKL_RECOVER_SYNC:
    case ZKL_PROVE: return scene_synced(ZKL_UNKNOWN);
    case ZKL_TRY:
    case ZKL_RECOVER_LIST:
    case ZKL_FORWARD:
    case ZKL_LIST: return scene_list_fails(ZKL_UNKNOWN, ZKL_OK);
    case ZKL_RECOVER_STAT: return scene_got_own(ZKL_UNKNOWN, 0);
    case ZKL_RANK: return zkl_claim_ranked(&s.claim, s.other, ZKL_UNKNOWN, 0, s.now);
    case ZKL_WAIT:
        if (s.claim.as_waiter) return scene_got_own(ZKL_UNKNOWN, 0);
        return zkl_claim_got_ahead(&s.claim, s.claim.ahead, ZKL_UNKNOWN, ZKL_AUTH, s.now);
    case ZKL_DOWNGRADE: return scene_did(zkl_claim_downgraded(&s.claim, ZKL_UNKNOWN, ZKL_AUTH));
    case ZKL_RETREAT:
    case ZKL_LEAVE: return scene_removed(ZKL_UNKNOWN);
    default: return 0;
    }
}

#endif
