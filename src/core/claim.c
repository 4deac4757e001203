/* claim.c - the events of a claim that come from its user, from the connection, and with time. */
#include <assert.h>

#include "claim_steps.h"

/* --- its user ---------------------------------------------------------------------------- */

void zkl_claim_init(struct zkl_claim *claim, struct zkl_line *line, enum zkl_kind kind,
                    zkl_time deadline, bool trying) {
    if (!line->claims_end) line->claims_end = &line->claims;
    *claim = (struct zkl_claim){.line = line,
                                .link = line->claims_end,
                                .next_part = claim,
                                .kind = kind,
                                .deadline = deadline,
                                .trying = trying,
                                .wanted = true};
    *line->claims_end = claim;
    line->claims_end = &claim->next;
    line->tries += trying;
}

void zkl_claim_set_permits(struct zkl_claim *claim, int32_t permits, int32_t limit) {
    assert(claim->state == ZKL_NEW);
    assert(claim->kind == ZKL_PERMIT ? permits > 0 && permits <= limit
                                     : permits == 0 && limit == 0);
    claim->permits = permits;
    claim->limit = limit;
}

void zkl_claim_detach(struct zkl_claim *claim) {
    *claim->link = claim->next;
    if (claim->next) claim->next->link = claim->link;
    else claim->line->claims_end = claim->link;
    claim->line->tries -= claim->trying;
    drop_ahead(claim);
    clear_keeper(claim);
    if (claim->partner) claim->partner->partner = NULL;
    struct zkl_claim *before = claim;
    while (before->next_part != claim) before = before->next_part;
    before->next_part = claim->next_part;
    claim->next_part = claim;
}

void zkl_claim_join(struct zkl_claim *part, struct zkl_claim *first) {
    assert(part->state == ZKL_NEW && !is_part(part) && first->state == ZKL_NEW);
    part->next_part = first->next_part;
    first->next_part = part;
}

zkl_actions zkl_claim_adopt(struct zkl_claim *claim, struct zkl_contender *orphan) {
    assert(claim->state == ZKL_NEW && orphan->listed && !orphan->claimed);
    orphan->claimed = true;
    claim->as_waiter = claim->line->is_condition ? ZKL_WAITER_CAME : ZKL_NO_WAITER;
    claim->node.nonce = orphan->nonce;
    claim->node.czxid = orphan->czxid;
    claim->node.sequence = orphan->sequence;
    strncpy(claim->node.name, orphan->name, sizeof claim->node.name - 1);
    return leave(claim);
}

/* No other claim is on the path, so the claim waits for none. */
static bool is_only_claim(const struct zkl_claim *claim) {
    return claim->line->claims == claim && !claim->next;
}

zkl_actions zkl_claim_start(struct zkl_claim *claim) {
    assert(claim->state == ZKL_NEW && claim->wanted);
    if (claim->max_waiters && zkl_claim_exceeds_max_waiters(claim))
        return fail(claim, ZKL_BUSY) | become_gone(claim);
    if (zkl_kind_is_fixed(claim->kind)) return zkl_unfair_start(claim);
    if (!is_connected(claim)) return stall(claim);
    switch (is_only_claim(claim) ? ZKL_AWAITS_NOTHING : zkl_claim_awaits(claim)) {
    case ZKL_AWAITS_TURN: return stall(claim) | announce(claim) | zkl_turn_awaited(claim->line);
    case ZKL_AWAITS_NODE:
    case ZKL_AWAITS_PATH: return stall(claim);
    case ZKL_AWAITS_NOTHING: break;
    }
    if (!may_enter(claim)) return stall(claim);
    if (!claim->trying) return zkl_claim_enter(claim);
    claim->state = ZKL_TRY;
    return ZKL_DO_LIST;
}

zkl_actions zkl_claim_cancel(struct zkl_claim *claim, enum zkl_code why) {
    if (claim->state == ZKL_KEPT) return zkl_keep_end(claim);
    if (!claim->wanted) return 0;
    switch (claim->state) {
    case ZKL_NEW:
    case ZKL_TRY: return fail(claim, why) | become_gone(claim);
    case ZKL_CREATE:
        if (zkl_claim_awaits_parts(claim))
            return fail(claim, why) | become_gone(claim) | make_way(claim);
        return fail(claim, why);
    case ZKL_RECOVER_SYNC:
    case ZKL_RECOVER_LIST:
    case ZKL_IN_CONDITION: return fail(claim, why);
    case ZKL_SIGNALLED: return fail(claim, why) | zkl_waiter_forward(claim);
    case ZKL_WAIT:
        if (zkl_kind_is_fixed(claim->kind)) return fail(claim, why) | become_gone(claim);
        return fail(claim, why) | give_up_node(claim, 0);
    case ZKL_RECOVER_STAT:
    case ZKL_LIST:
    case ZKL_RANK:
    case ZKL_FIRST:
    case ZKL_PROVE: return fail(claim, why) | give_up_node(claim, 0);
    case ZKL_RETREAT: claim->state = ZKL_LEAVE; return fail(claim, why);
    case ZKL_HELD:
    case ZKL_DOWNGRADE:
    case ZKL_FORWARD:
    case ZKL_KEPT:
    case ZKL_LEAVE:
    case ZKL_GONE: break;
    }
    return 0;
}

zkl_actions zkl_claim_release(struct zkl_claim *claim, zkl_time now) {
    if (claim->state == ZKL_SIGNALLED) return zkl_waiter_take(claim);
    if (claim->state == ZKL_DOWNGRADE) claim->wanted = false; /* it leaves once its name is known */
    if (claim->state != ZKL_HELD) return 0;
    zkl_actions actions = give_up_node(claim, now);
    bool removing = actions & ZKL_DO_REMOVE;
    /* A create of unknown outcome may have landed since, so look now. */
    if (claim->node.doubted && removing && !zkl_kind_is_fixed(claim->kind)) actions |= ZKL_DO_LIST;
    return actions;
}

zkl_actions zkl_claim_downgrade(struct zkl_claim *claim) {
    if (claim->state != ZKL_HELD) return 0;
    assert(zkl_claim_may_downgrade(claim));
    claim->state = ZKL_DOWNGRADE;
    claim->refusal = ZKL_OK;
    return is_connected(claim) ? ZKL_DO_DOWNGRADE : stall(claim);
}

/* --- connection and time ---------------------------------------------------------------------- */

zkl_actions zkl_claim_resume(struct zkl_claim *claim, zkl_time now) {
    if (!claim->stalled) return claim->state == ZKL_WAIT ? zkl_lookahead_again(claim) : 0;
    claim->stalled = false;
    zkl_actions unfair = zkl_kind_is_fixed(claim->kind) ? zkl_unfair_resume(claim) : 0;
    if (unfair) return unfair;
    switch (claim->state) {
    case ZKL_NEW: return zkl_claim_start(claim);
    case ZKL_TRY:
    case ZKL_LIST:
    case ZKL_FORWARD: return ZKL_DO_LIST;
    case ZKL_RECOVER_SYNC: return ZKL_DO_SYNC | ZKL_DO_LIST;
    case ZKL_RANK: return claim->rank_gets ? stall(claim) : zkl_claim_advance(claim, now);
    case ZKL_PROVE: return prove(claim);
    case ZKL_DOWNGRADE: return ZKL_DO_DOWNGRADE;
    case ZKL_RETREAT:
    case ZKL_LEAVE: return ZKL_DO_REMOVE;
    case ZKL_RECOVER_STAT: claim->node.watched = true; return ZKL_DO_WATCH_OWN;
    case ZKL_HELD: return claim->awaits_list ? zkl_keep_ask_for_list(claim) : ZKL_DO_MARK;
    case ZKL_KEPT: return zkl_keep_ask_for_list(claim);
    case ZKL_FIRST: return admit(claim, now);
    case ZKL_WAIT: {
        if (claim->as_waiter) return watch_own(claim);
        if (claim->holders_list) return zkl_claim_advance(claim, now);
        zkl_actions own_too = claim->node.watched ? 0 : ZKL_DO_WATCH_OWN;
        claim->node.watched = true;
        return ZKL_DO_WATCH_AHEAD | own_too | zkl_lookahead_again(claim);
    }
    case ZKL_CREATE:
    case ZKL_RECOVER_LIST:
    case ZKL_IN_CONDITION:
    case ZKL_SIGNALLED:
    case ZKL_GONE: break;
    }
    return 0;
}

/* After a reconnect the server tells of deletions in no order, so list before a grant. */
zkl_actions zkl_claim_suspend(struct zkl_claim *claim) {
    claim->node.list_time = 0;
    if (claim->trying && claim->wanted) return zkl_claim_cancel(claim, ZKL_TIMEOUT);
    if (claim->state == ZKL_WAIT || claim->state == ZKL_RANK) claim->line->incomplete = true;
    if (claim->state == ZKL_KEPT && !claim->awaits_list) {
        claim->awaits_list = true;
        return stall(claim);
    }
    if (claim->state != ZKL_FIRST) return 0;
    claim->state = ZKL_LIST;
    return stall(claim);
}

zkl_actions zkl_claim_expire(struct zkl_claim *claim, enum zkl_code why) {
    zkl_actions actions = 0;
    if (claim->state == ZKL_GONE) return 0;
    if (zkl_claim_holds(claim)) actions = lose(claim);
    else if (claim->wanted) actions = fail(claim, why);
    return actions | become_gone(claim);
}

zkl_actions zkl_claim_tick(struct zkl_claim *claim, zkl_time now) {
    if (claim->state == ZKL_KEPT) return zkl_keep_tick(claim, now);
    bool overdue = now >= claim->deadline;
    if (!zkl_claim_holds(claim)) return overdue ? zkl_claim_cancel(claim, ZKL_TIMEOUT) : 0;
    bool ran_out =
        zkl_clock_phase(&claim->line->common->clock, claim->epoch, now) == ZKL_PHASE_LOST;
    if (!ran_out && !overdue) return 0;
    zkl_actions actions = lose(claim);
    if (claim->state == ZKL_HELD) return actions | leave(claim);
    claim->wanted = false; /* DOWNGRADE goes on until the name is known */
    return actions;
}

zkl_actions zkl_claim_beat(struct zkl_claim *claim, zkl_time now) {
    claim->rounds = 0;
    if (claim->stalled || claim->state == ZKL_WAIT) return zkl_claim_resume(claim, now);
    zkl_actions actions = zkl_claim_offer_kept(claim, now);
    bool watches = claim->state == ZKL_HELD || claim->state == ZKL_KEPT;
    if (claim->state == ZKL_DOWNGRADE) claim->node.watched = true; /* the next node is watched */
    return watches ? watch_own(claim) : actions;
}
