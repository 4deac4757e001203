/* stake_actions.c - carries out the actions of the claim machine. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "children.h"
#include "condition.h"
#include "internal.h"
#include "kept.h"
#include "multi.h"
#include "room.h"
#include "stake_actions.h"

/* --- requests ------------------------------------------------------------------------------ */

/* Out of memory, so the claim is fed a lost reply after the step. */
static void note_unallocated(struct stake *stake, enum stake_call kind) {
    stake->unallocated_calls |= UINT32_C(1) << kind;
    stake->session->has_unallocated = true;
}

/*
 * NULL: out of memory. Later calls of a stake with unallocated calls are not sent either, so that
 * lost replies come in order.
 */
static struct call *new_call(struct stake *stake, enum stake_call kind,
                             struct zkl_contender *contender) {
    struct call *call = stake->unallocated_calls ? NULL : zkl_stake_call_new(stake, kind);
    if (!call) note_unallocated(stake, kind);
    else if (contender) call->contender = zkl_contender_ref(contender);
    return call;
}

void zkl_stake_transact(struct stake *stake, enum stake_call kind, const struct zkl_op *ops,
                        size_t count) {
    bool enough = ops != NULL;
    for (size_t i = 0; enough && i < count; i++) enough = ops[i].path != NULL;
    struct call *call = NULL;
    if (enough) call = new_call(stake, kind, NULL);
    else note_unallocated(stake, kind);
    if (call) {
        zkl_call_transact_own(call, ops, count);
        return;
    }
    for (size_t i = 0; ops && i < count; i++) free((char *)ops[i].path);
}

static void create_one(struct stake *stake) {
    bool fixed = zkl_kind_is_fixed(stake->claim.kind);
    struct call *call = new_call(stake, STAKE_CREATE, NULL);
    if (call)
        zkl_call_create(call, stake->path->text, stake->claim.node.name, stake->data,
                        fixed ? ZKL_EPHEMERAL : ZKL_SEQUENTIAL);
}

void zkl_stake_prepare_node(struct stake *stake) {
    stake->version = 0;
    zkl_stake_count_node(stake);
}

static void create_node(struct stake *stake) {
    zkl_stake_prepare_node(stake);
    if (stake->claim.as_waiter) zkl_condition_create(stake);
    else if (stake->part && zkl_multi_is_part(stake)) zkl_multi_create(stake);
    else create_one(stake);
}

static void create_parent(void *context, const char *node) {
    struct stake *stake = context;
    struct call *call = new_call(stake, STAKE_PARENT, NULL);
    if (call) zkl_call_create_parent(call, node);
}

/*
 * An existing parent refuses, which is as good. If a parent got no memory the create fails, and is
 * repeated.
 */
static void create_parents(struct stake *stake) {
    if (zkl_path_each_parent(stake->path->text, create_parent, stake))
        create_parent(stake, stake->path->text);
}

static void remove_node(struct stake *stake) {
    struct call *call = new_call(stake, STAKE_REMOVE, NULL);
    int32_t version = zkl_waiter_may_be_signalled(&stake->claim) ? 0 : -1;
    if (call) zkl_call_delete(call, stake->path->text, stake->claim.node.name, version);
    if (stake->claim.state == ZKL_RETREAT) zkl_multi_retreat(stake);
}

void zkl_stake_send_downgrade(struct stake *stake) {
    char name[ZKL_NAME_SIZE];
    zkl_name_downgrade(name, stake->claim.node.name);
    const struct zkl_op ops[] = {
        {ZKL_OP_CREATE, ZKL_EPHEMERAL, 0, zkl_path_join(stake->path->text, name), stake->data,
         strlen(stake->data)},
        {ZKL_OP_DELETE, 0, stake->version, zkl_path_join(stake->path->text, stake->claim.node.name),
         NULL, 0},
    };
    zkl_stake_transact(stake, STAKE_DOWNGRADE, ops, 2);
}

void zkl_stake_reread(struct stake *stake) {
    struct call *call = new_call(stake, STAKE_REREAD, NULL);
    if (call) zkl_call_get(call, stake->path->text, stake->claim.node.name);
}

/* The data stay until the answer, because one mark is out at a time. NULL: out of memory. */
static const char *data_to_mark(struct stake *stake) {
    const char *data = zkl_stake_is_revoked(stake) ? ZKL_REVOKE_DATA : stake->data;
    if (!stake->claim.node.says_held) return data;
    free(stake->marked_data);
    stake->marked_data = malloc(strlen(data) + sizeof ZKL_HELD_WORD);
    return stake->marked_data ? strcat(strcpy(stake->marked_data, data), ZKL_HELD_WORD) : NULL;
}

void zkl_stake_send_mark(struct stake *stake) {
    const char *data = data_to_mark(stake);
    struct call *call = data ? new_call(stake, STAKE_MARK, NULL) : NULL;
    if (!data) note_unallocated(stake, STAKE_MARK);
    if (call) zkl_call_set(call, stake->path->text, stake->claim.node.name, data, stake->version);
}

/*
 * Among many claims of its session, a claim that enters sends no list while another is out
 * (docs/design/claims.md). The first of them whose create is answered asks for a list for all
 * (stake_feed.c). A reader or permit, which may hold beside others, asks for its own list.
 */
#ifndef ZKL_MANY_CLAIMS
#define ZKL_MANY_CLAIMS 16
#endif

static bool enters_among_many(const struct stake *stake) {
    const struct zkl_claim *claim = &stake->claim;
    return claim->state == ZKL_CREATE && !claim->trying && claim->batch == 0 &&
           (claim->kind == ZKL_MUTEX || claim->kind == ZKL_WRITE) &&
           stake->path->stake_count > ZKL_MANY_CLAIMS;
}

/* A list serves all claims of its path that are in LIST, or look ahead. */
static void send_list(struct stake *stake) {
    bool shared =
        stake->claim.state == ZKL_LIST || stake->claim.looking_ahead || enters_among_many(stake);
    if (shared && stake->path->lists_out > 0) return;
    struct call *call = new_call(stake, STAKE_LIST, NULL);
    if (!call) return;
    call->listed = stake->path;
    call->listed->lists_out++;
    zkl_call_list(call, call->listed->text);
}

static void sync_path(struct stake *stake) {
    struct call *call = new_call(stake, STAKE_SYNC, NULL);
    if (call) zkl_call_sync(call, stake->path->text);
}

static void send_rank_gets(struct stake *stake) {
    struct zkl_contender *contender = NULL;
    while ((contender = zkl_line_unranked(stake->claim.line, &stake->claim, contender))) {
        stake->claim.rank_gets++;
        struct call *call = new_call(stake, STAKE_RANK, contender);
        if (!call) return; /* a lost reply stands for all */
        zkl_call_get(call, stake->path->text, contender->name);
    }
}

/* False: no room. */
static bool make_room_to_watch(struct stake *stake, const char *name, enum zkl_room most) {
    char *node = zkl_path_join(stake->path->text, name);
    if (!node) {
        note_unallocated(stake, STAKE_GET_AHEAD);
        return true; /* no watch is set, so it needs no room */
    }
    size_t need = zkl_watches_need(&stake->session->watches, node);
    free(node);
    return zkl_room_make_for_watches(stake->session, most, need);
}

/* Without a user an unfair claim only asks who owns the node. */
static void watch_own(struct stake *stake) {
    const struct zkl_claim *claim = &stake->claim;
    struct call *call = new_call(stake, STAKE_GET_OWN, NULL);
    if (!call) return;
    if (claim->state == ZKL_RECOVER_SYNC && !claim->wanted)
        zkl_call_get(call, stake->path->text, claim->node.name);
    else zkl_call_watch_lock_node(call, stake, claim->node.name, true);
}

/*
 * Counts the session's claims ahead, up to WATCHING. Further back no claim needs to watch its
 * predecessor (docs/design/watches.md, "Far from the front").
 */
#ifndef ZKL_WATCHING_CLAIMS
#define ZKL_WATCHING_CLAIMS 64
#endif
enum { WATCHING = ZKL_WATCHING_CLAIMS };

static size_t count_own_ahead(const struct zkl_claim *claim) {
    size_t count = 0;
    if (claim->line->exhausted || (claim->kind != ZKL_MUTEX && claim->kind != ZKL_WRITE)) return 0;
    for (const struct zkl_claim *each = claim->line->claims; each; each = each->next) {
        if (zkl_claims_wait_from(each)) break;
        bool in_line = each->state >= ZKL_LIST && each->state <= ZKL_DOWNGRADE;
        if (in_line && each->node.sequence < claim->node.sequence && ++count == WATCHING) break;
    }
    return count;
}

/* Treats the get as lost. Heartbeats repeat it, and so does the end of each claim (stake.c). */
static zkl_actions postpone(struct stake *stake) {
    struct zkl_claim *claim = &stake->claim;
    stake->path->postponed = true;
    return zkl_claim_got_ahead(claim, claim->ahead, ZKL_UNKNOWN, ZKL_OK, stake->session->now);
}

/* Without room for its watch the claim fails, unless room is coming. */
static zkl_actions postpone_or_fail(struct stake *stake) {
    if (zkl_room_is_coming(stake->session)) return postpone(stake);
    return zkl_claim_cancel(&stake->claim, ZKL_TOO_MANY);
}

static zkl_actions watch_ahead(struct stake *stake) {
    struct zkl_claim *claim = &stake->claim;
    if (!claim->holders_list) zkl_watches_narrow(stake, false);
    size_t ahead = count_own_ahead(claim);
    if (ahead == WATCHING) return postpone(stake);
    if (!make_room_to_watch(stake, claim->ahead->name, ahead ? ROOM_OF_TURNS : ROOM_OF_WATCHERS))
        return ahead ? postpone(stake) : postpone_or_fail(stake);
    struct call *call = new_call(stake, STAKE_GET_AHEAD, claim->ahead);
    if (call) zkl_call_watch_lock_node(call, stake, claim->ahead->name, false);
    return 0;
}

/* The watch of `ahead` may have ended the lookahead. */
static void watch_lookahead(struct stake *stake) {
    struct zkl_claim *claim = &stake->claim;
    if (claim->stalled) zkl_claim_drop_lookahead(claim); /* the watch of `ahead` was postponed */
    if (!claim->lookahead) return;
    struct watches *watches = &stake->session->watches;
    char *node = zkl_path_join(stake->path->text, claim->lookahead->name);
    bool watched = node && zkl_watches_share(stake, node);
    bool may =
        node && !stake->unallocated_calls &&
        zkl_room_make_for_watches(stake->session, ROOM_FREE, zkl_watches_need(watches, node));
    struct call *call = NULL;
    if (may && !watched) call = zkl_stake_call_new(stake, STAKE_GET_AHEAD);
    free(node);
    zkl_watches_narrow(stake, false);
    if (call) {
        call->contender = zkl_contender_ref(claim->lookahead);
        zkl_call_watch_lock_node(call, stake, claim->lookahead->name, false);
    } else if (!watched) zkl_claim_drop_lookahead(claim);
}

/* The first permit that does not fit watches each contender ahead. */
static zkl_actions watch_holders(struct stake *stake) {
    struct zkl_claim *claim = &stake->claim;
    const struct zkl_line *line = claim->line;
    for (size_t i = 0; i < line->count && claim->state == ZKL_WAIT; i++) {
        struct zkl_contender *holder = line->contenders[i];
        if (!zkl_line_precedes(line, holder, claim)) continue;
        if (!make_room_to_watch(stake, holder->name, ROOM_OF_WATCHERS))
            return postpone_or_fail(stake);
        struct call *call = new_call(stake, STAKE_GET_AHEAD, holder);
        if (call) zkl_call_watch_lock_node(call, stake, holder->name, false);
    }
    return 0;
}

/*
 * A list that cannot be sent is fed as refused if there was no room for its watch, and as lost if
 * there was no memory. After a lost list a holder asks again with a heartbeat whether others wait.
 */
static zkl_actions watch_children(struct stake *stake) {
    struct zkl_claim *claim = &stake->claim;
    bool enough = zkl_path_watch_children(stake->path, stake);
    if (stake->path->children_watch || !zkl_claim_holds_or_is_kept(claim)) return 0;
    enum zkl_reply reply = enough ? ZKL_REFUSED : ZKL_UNKNOWN;
    return zkl_claim_listed(claim, reply, ZKL_NO_MEMORY, stake->session->now);
}

void zkl_stake_resume_postponed(struct zkl_session *session, struct path *path) {
    struct zkl_claim *claim = path->line.claims, *next;
    if (!path->postponed || session->state != ZKL_SESSION_CONNECTED) return;
    path->postponed = false;
    for (; claim && !path->postponed; claim = next) {
        next = claim->next;
        if (claim->state == ZKL_WAIT && claim->stalled && !zkl_kind_is_fixed(claim->kind))
            zkl_stake_perform((struct stake *)claim, zkl_claim_resume(claim, session->now));
    }
}

/* A resumed claim may make all others wait again (ZKL_AWAITS_PATH). */
static void resume_in_order(struct path *path, zkl_time now) {
    struct zkl_claim *claim = zkl_claim_follower(path->line.claims), *next;
    for (; claim; claim = path->resuming == RESUMING_ANEW ? NULL : zkl_claim_follower(next)) {
        next = claim->next;
        if (!zkl_stake_lacks_room((struct stake *)claim))
            zkl_stake_perform((struct stake *)claim, zkl_claim_resume(claim, now));
    }
}

/*
 * A claim that fails when resumed makes way for others, and `next` may be gone. So the outermost
 * call begins anew, and nested calls leave that to it.
 */
static void resume_followers(struct stake *stake) {
    const struct zkl_session *session = stake->session;
    struct path *path = stake->path;
    bool within = path->resuming != RESUMING_NONE;
    path->resuming = RESUMING_ANEW;
    if (within) return;
    while (path->resuming == RESUMING_ANEW) {
        path->resuming = RESUMING_ONCE;
        resume_in_order(path, session->now);
    }
    path->resuming = RESUMING_NONE;
}

/* splitmix64. https://prng.di.unimi.it/splitmix64.c */
static uint64_t next_random(struct zkl_session *session) {
    uint64_t x = session->random += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static zkl_actions pause_claim(struct stake *stake) {
    struct zkl_session *session = stake->session;
    if (stake->jitter == 0) return zkl_claim_wake(&stake->claim);
    zkl_time length = (zkl_time)(next_random(session) % (uint64_t)stake->jitter);
    stake->wake_at = zkl_session_after(session, length);
    zkl_session_tick_by(session, stake->wake_at);
    return 0;
}

/* --- the actions, and their order ---------------------------------------------------------- */

static const enum zkl_action action_order[] = {
    /*
     * Requests. A create comes after the parents that it needs, and before the list that is to show
     * its node. A list or get behind a sync shows everything before it.
     */
    ZKL_DO_PARENTS,
    ZKL_DO_CREATE,
    ZKL_DO_SYNC,
    ZKL_DO_LIST,
    ZKL_DO_RANK,
    ZKL_DO_MARK, /* its own write is no news to the watch */
    ZKL_DO_WATCH_OWN,
    ZKL_DO_WATCH_AHEAD,
    ZKL_DO_WATCH_LOOKAHEAD, /* after the watch of `ahead`, which has to have room */
    ZKL_DO_HOLDERS,
    ZKL_DO_WATCH_CHILDREN,
    ZKL_DO_REMOVE,
    ZKL_DO_DOWNGRADE,
    ZKL_DO_FORWARD,
    /* Due later. */
    ZKL_DO_DOUBT,
    ZKL_DO_PAUSE,
    ZKL_DO_KEEP,
    /* Other claims. Their creates come after the delete that makes room. */
    ZKL_DO_FOLLOW,
    /* Users, after the requests, because their news may make other claims ask. */
    ZKL_DO_QUEUED,
    ZKL_DO_GRANT,
    ZKL_DO_FAIL,
    ZKL_DO_LOSE,
    ZKL_DO_DOWNGRADED,
    ZKL_DO_STAYED,
    ZKL_DO_TELL_PARTNER, /* while the waiter exists */
    /* Last, because the stake may be gone after it. */
    ZKL_DO_FORGET,
};

enum { ACTIONS = sizeof action_order / sizeof *action_order };
_Static_assert(ZKL_ALL_ACTIONS == (UINT32_C(1) << ACTIONS) - 1, "each action has its place");

static enum zkl_action first_of(zkl_actions actions) {
    size_t i = 0;
    while (i < ACTIONS && !(actions & action_order[i])) i++;
    assert(i < ACTIONS);
    return action_order[i];
}

static zkl_actions perform_one(struct stake *stake, enum zkl_action action) {
    switch (action) {
    case ZKL_DO_PARENTS: create_parents(stake); break;
    case ZKL_DO_CREATE: create_node(stake); break;
    case ZKL_DO_SYNC: sync_path(stake); break;
    case ZKL_DO_LIST: send_list(stake); break;
    case ZKL_DO_RANK: send_rank_gets(stake); break;
    case ZKL_DO_WATCH_OWN: watch_own(stake); break;
    case ZKL_DO_WATCH_AHEAD: return watch_ahead(stake);
    case ZKL_DO_WATCH_LOOKAHEAD: watch_lookahead(stake); break;
    case ZKL_DO_HOLDERS: return watch_holders(stake);
    case ZKL_DO_WATCH_CHILDREN: return watch_children(stake);
    case ZKL_DO_REMOVE: remove_node(stake); break;
    case ZKL_DO_DOWNGRADE: zkl_stake_send_downgrade(stake); break;
    case ZKL_DO_FORWARD: zkl_condition_forward(stake); break;
    case ZKL_DO_MARK: zkl_stake_send_mark(stake); break;
    case ZKL_DO_DOUBT: zkl_path_expect_orphan(stake->session, stake->path); break;
    case ZKL_DO_PAUSE: return pause_claim(stake);
    case ZKL_DO_KEEP: zkl_session_tick_by(stake->session, stake->claim.deadline); break;
    case ZKL_DO_FOLLOW: resume_followers(stake); break;
    case ZKL_DO_QUEUED: zkl_stake_tell_queued(stake); break;
    case ZKL_DO_GRANT: zkl_stake_tell_grant(stake); break;
    case ZKL_DO_FAIL: zkl_stake_tell_failure(stake); break;
    case ZKL_DO_LOSE: zkl_stake_tell_loss(stake); break;
    case ZKL_DO_DOWNGRADED: zkl_stake_finish_downgrade(stake, stake->claim.refusal); break;
    case ZKL_DO_STAYED: zkl_condition_hold_on(stake); break;
    case ZKL_DO_TELL_PARTNER: zkl_condition_tell_partner(stake); break;
    case ZKL_DO_FORGET: zkl_stake_forget(stake); break;
    }
    return 0;
}

void zkl_stake_perform(struct stake *stake, zkl_actions actions) {
    while (actions) {
        enum zkl_action first = first_of(actions);
        actions &= ~(zkl_actions)first;
        actions |= perform_one(stake, first);
    }
}
