/*
 * unfair.c - claims of ZKL_UNFAIR, which compete for one node of a fixed name.
 *
 * A get shows whose the node is. A claim that does not know its node takes the node for its own if
 * this session owns the node and no other claim of the session has its czxid. Therefore no claim
 * sends a create while another claim of the session may have a node that it does not know of. While
 * a claim waits, holds or leaves, the session's other claims stay in NEW, `stalled`. NEW without
 * `stalled` is the pause before the next attempt, until zkl_claim_wake().
 *
 * The "own" node that a claim in WAIT watches is the node of the fixed name, of any owner.
 *
 * A delete of unknown outcome is not repeated. In RECOVER_SYNC and RECOVER_LIST the claim first
 * asks, with a get, whether the node still has its czxid.
 */
#include <assert.h>

#include "claim_steps.h"

/* --- the owner of a node ---------------------------------------------------------------------- */

/* No claim of the session but `claim`, which may be NULL, has the node of this czxid. */
static bool no_other_claim_has(const struct zkl_line *line, const struct zkl_claim *claim,
                               int64_t czxid) {
    for (const struct zkl_claim *each = line->claims; each; each = each->next) {
        if (is_other_unfair(claim, each) && each->node.czxid == czxid) return false;
    }
    return true;
}

enum zkl_orphan zkl_line_fixed_orphan(const struct zkl_line *line, uint64_t owner, int64_t czxid) {
    bool ours = owner != 0 && owner == line->common->session;
    if (!ours || !no_other_claim_has(line, NULL, czxid)) return ZKL_NO_ORPHAN;
    for (const struct zkl_claim *each = line->claims; each; each = each->next) {
        if (is_other_unfair(NULL, each) && is_unsure_of_node(each)) return ZKL_PERHAPS_ORPHAN;
    }
    return ZKL_ORPHAN;
}

/* --- the ways into a state ----------------------------------------------------------------- */

zkl_actions zkl_unfair_start(struct zkl_claim *claim) {
    claim->state = ZKL_NEW;
    forget_node(claim);
    claim->stalled = !is_connected(claim) || !may_enter(claim) || !awaits_nothing(claim);
    if (!claim->stalled) return zkl_claim_enter(claim);
    return is_connected(claim) && !claim->trying ? announce(claim) : 0;
}

static zkl_actions wait_for_end(struct zkl_claim *claim) {
    if (claim->trying) return fail(claim, ZKL_BUSY) | become_gone(claim);
    claim->state = ZKL_WAIT;
    claim->node.czxid = 0;
    return announce(claim);
}

/* --- replies --------------------------------------------------------------------------------- */

/* For a claim that knows its node now. Only tries waited for that (is_stood_for in turn.c). */
static zkl_actions make_way_for_tries(const struct zkl_claim *claim) {
    return claim->line->tries > 0 ? make_way(claim) : 0;
}

zkl_actions zkl_claim_fixed_created(struct zkl_claim *claim, int64_t czxid, zkl_time now) {
    if (claim->state != ZKL_CREATE) return 0;
    claim->line->path_exists = true;
    claim->node.czxid = czxid;
    zkl_actions actions = claim->wanted ? admit(claim, now) : leave(claim);
    return actions | make_way_for_tries(claim);
}

zkl_actions zkl_claim_fixed_exists(struct zkl_claim *claim) {
    if (claim->state != ZKL_CREATE) return 0;
    claim->line->path_exists = true;
    if (!claim->wanted) return become_gone(claim);
    zkl_actions actions = wait_for_end(claim);
    if (claim->state != ZKL_WAIT) return actions;
    claim->node.watched = true;
    return actions | ZKL_DO_WATCH_OWN | make_way_for_tries(claim);
}

/* The get follows a sync, so it settles the outcome of the create or delete. */
static zkl_actions recovery_got(struct zkl_claim *claim, bool ours, int64_t czxid, zkl_time now) {
    bool is_own = ours && (claim->node.czxid ? czxid == claim->node.czxid
                                             : no_other_claim_has(claim->line, claim, czxid));
    claim->node.watched = true;
    if (is_own) {
        claim->node.czxid = czxid;
        return claim->wanted ? admit(claim, now) : leave(claim);
    }
    return claim->wanted ? wait_for_end(claim) : become_gone(claim);
}

static zkl_actions get_found(struct zkl_claim *claim, int64_t czxid, uint64_t owner, zkl_time now) {
    bool ours = owner == claim->line->common->session;
    if (claim->state == ZKL_RECOVER_LIST)
        return recovery_got(claim, ours, czxid, now) | make_way_for_tries(claim);
    if (claim->state != ZKL_PROVE && claim->state != ZKL_HELD) return 0;
    if (ours && czxid == claim->node.czxid) return 0;
    bool is_try = claim->state == ZKL_PROVE && claim->trying;
    return is_try ? wait_for_end(claim) : zkl_unfair_own_gone(claim);
}

static zkl_actions get_refused(struct zkl_claim *claim, enum zkl_code why) {
    if (claim->state == ZKL_WAIT) return fail(claim, why) | become_gone(claim);
    if (claim->state != ZKL_RECOVER_LIST) return 0; /* the lease clock still guards a holder */
    claim->state = ZKL_RECOVER_SYNC;
    claim->stalled = true;
    return claim->wanted ? fail(claim, why) : 0;
}

static zkl_actions get_unanswered(struct zkl_claim *claim) {
    claim->node.watched = false;
    if (claim->state == ZKL_RECOVER_LIST) claim->state = ZKL_RECOVER_SYNC;
    return claim->state == ZKL_RECOVER_SYNC || claim->state == ZKL_WAIT ? stall(claim) : 0;
}

zkl_actions zkl_unfair_got_own(struct zkl_claim *claim, enum zkl_reply reply, enum zkl_code why,
                               int64_t czxid, uint64_t owner, zkl_time now) {
    switch (reply) {
    case ZKL_DONE: return get_found(claim, czxid, owner, now);
    case ZKL_ABSENT:
        if (claim->state != ZKL_RECOVER_LIST) return zkl_unfair_own_gone(claim);
        return claim->wanted ? zkl_unfair_start(claim) : become_gone(claim);
    case ZKL_REFUSED: return get_refused(claim, why);
    case ZKL_UNKNOWN: return get_unanswered(claim);
    }
    return 0;
}

/* --- events ---------------------------------------------------------------------------------- */

zkl_actions zkl_unfair_own_gone(struct zkl_claim *claim) {
    switch (claim->state) {
    case ZKL_WAIT:
        claim->state = ZKL_NEW;
        claim->node.name[0] = '\0';
        claim->stalled = false;
        return ZKL_DO_PAUSE;
    case ZKL_PROVE:
        if (claim->trying) return fail(claim, ZKL_TIMEOUT) | become_gone(claim);
        return zkl_unfair_start(claim);
    case ZKL_HELD: return lose(claim) | become_gone(claim);
    default: return 0; /* a reply decides, in RECOVER_LIST to the get, in LEAVE to the delete */
    }
}

zkl_actions zkl_claim_wake(struct zkl_claim *claim) {
    return zkl_claim_is_pausing(claim) ? zkl_unfair_start(claim) : 0;
}

/* RECOVER_SYNC and WAIT ask for the node of the name, of any owner. */
zkl_actions zkl_unfair_resume(struct zkl_claim *claim) {
    switch (claim->state) {
    case ZKL_RECOVER_SYNC: return ZKL_DO_SYNC | ZKL_DO_WATCH_OWN;
    case ZKL_WAIT: claim->node.watched = true; return ZKL_DO_WATCH_OWN;
    default: return 0;
    }
}

zkl_actions zkl_claim_adopt_fixed(struct zkl_claim *claim, int64_t czxid) {
    assert(claim->state == ZKL_NEW && zkl_kind_is_fixed(claim->kind) && czxid > 0);
    claim->node.czxid = czxid;
    strcpy(claim->node.name, ZKL_NAME_FIXED);
    return leave(claim);
}
