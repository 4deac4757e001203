/* claim_replies.c - the effect of replies and watch events on a claim. */
#include <assert.h>

#include "claim_steps.h"
#include "permits.h"

/* --- replies ------------------------------------------------------------------------------ */

void zkl_claim_parents(struct zkl_claim *claim, enum zkl_reply reply, enum zkl_code why) {
    if (claim->refusal != ZKL_OK) return; /* the topmost parent's refusal says why */
    if (reply == ZKL_REFUSED || reply == ZKL_ABSENT) claim->refusal = why;
}

static void set_node_name(struct zkl_claim *claim, const char *name) {
    struct zkl_name parsed;
    strncpy(claim->node.name, name, sizeof claim->node.name - 1);
    claim->node.sequence = zkl_name_parse(name, &parsed) ? parsed.sequence : ZKL_SEQUENCE_LIMIT;
}

static zkl_actions not_created(struct zkl_claim *claim, enum zkl_reply reply, enum zkl_code why) {
    switch (reply) {
    case ZKL_DONE: break;
    case ZKL_ABSENT:
        if (!claim->wanted) return become_gone(claim);
        if (claim->refusal != ZKL_OK) return fail(claim, claim->refusal) | become_gone(claim);
        return zkl_claim_enter(claim) | ZKL_DO_PARENTS;
    case ZKL_REFUSED:
        claim->refusal = why;
        return (claim->wanted ? fail(claim, why) : 0) | become_gone(claim);
    case ZKL_UNKNOWN:
        claim->state = ZKL_RECOVER_SYNC;
        claim->stalled = claim->node.doubted = true;
        return ZKL_DO_DOUBT;
    }
    return 0;
}

static zkl_actions create_answered(struct zkl_claim *claim, enum zkl_reply reply, enum zkl_code why,
                                   const char *name, int64_t czxid) {
    if (reply != ZKL_DONE) return not_created(claim, reply, why);
    set_node_name(claim, name);
    claim->node.czxid = czxid;
    if (claim->as_waiter) return zkl_waiter_began(claim);
    if (!claim->wanted) return leave(claim);
    claim->state = ZKL_LIST; /* the list is out already, in the same flight */
    return is_part(claim) ? watch_own(claim) | ZKL_DO_LIST : 0;
}

zkl_actions zkl_claim_created(struct zkl_claim *claim, enum zkl_reply reply, enum zkl_code why,
                              const char *name, int64_t czxid) {
    assert(reply != ZKL_DONE || strlen(name) < ZKL_NAME_SIZE);
    assert(reply != ZKL_DONE || czxid > 0 || is_part(claim) || claim->as_waiter);
    if (claim->state != ZKL_CREATE) return 0;
    if (zkl_kind_is_fixed(claim->kind)) return not_created(claim, reply, why);
    zkl_actions actions = create_answered(claim, reply, why, name, czxid);
    if (claim->line->path_exists || claim->state == ZKL_CREATE) return actions;
    claim->line->path_exists = reply == ZKL_DONE;
    return actions | make_way(claim);
}

static zkl_actions try_permits(struct zkl_claim *claim) {
    if (zkl_permits_stranger(claim->line, claim))
        return fail(claim, ZKL_CONFLICT) | become_gone(claim);
    if (!zkl_permits_fit(claim->line, claim)) return fail(claim, ZKL_BUSY) | become_gone(claim);
    return zkl_claim_enter(claim);
}

/* Nobody holds the lock, or its only node may be merely kept, so its session gives it back. */
static bool may_be_free(const struct zkl_claim *claim) {
    const struct zkl_line *line = claim->line;
    if (zkl_line_is_free(line, claim->kind)) return true;
    bool is_plain_mutex = claim->kind == ZKL_MUTEX && !is_part(claim);
    return is_plain_mutex && line->count == 1 && zkl_line_first_keepable(line);
}

static zkl_actions try_listed(struct zkl_claim *claim, enum zkl_reply reply, enum zkl_code why) {
    switch (reply) {
    case ZKL_DONE:
        if (claim->kind == ZKL_PERMIT) return try_permits(claim);
        if (!may_be_free(claim)) return fail(claim, ZKL_BUSY) | become_gone(claim);
        return zkl_claim_enter(claim);
    case ZKL_ABSENT: /* a part writes nothing before all locks are known to be free */
        return zkl_claim_enter(claim) | (is_part(claim) ? 0 : ZKL_DO_PARENTS);
    case ZKL_REFUSED: return fail(claim, why) | become_gone(claim);
    case ZKL_UNKNOWN: return stall(claim);
    }
    return 0;
}

/* The list follows a sync, so a node that it lacks was not created. */
static zkl_actions recovery_listed(struct zkl_claim *claim, enum zkl_reply reply,
                                   enum zkl_code why) {
    struct zkl_contender *found = NULL;
    if (reply == ZKL_UNKNOWN || reply == ZKL_REFUSED) {
        claim->state = ZKL_RECOVER_SYNC;
        claim->stalled = true;
        return reply == ZKL_REFUSED && claim->wanted ? fail(claim, why) : 0;
    }
    if (reply == ZKL_DONE) found = zkl_line_find_nonce(claim->line, claim->node.nonce);
    if (!found && claim->wanted)
        return is_part(claim) ? zkl_claim_requeue(claim) : zkl_claim_enter(claim);
    if (!found) return become_gone(claim);
    set_node_name(claim, found->name);
    claim->node.list_serial = claim->line->serial;
    if (claim->as_waiter) return zkl_waiter_began(claim);
    if (!claim->wanted) return leave(claim);
    claim->state = ZKL_RECOVER_STAT;
    claim->node.watched = true;
    return ZKL_DO_WATCH_OWN;
}

static zkl_actions own_listed(struct zkl_claim *claim, enum zkl_reply reply, enum zkl_code why,
                              zkl_time now) {
    switch (reply) {
    case ZKL_DONE:
        claim->node.list_serial = claim->line->serial;
        claim->node.list_time = now;
        claim->line->changed = false; /* the list shows the effect of all events so far */
        claim->recheck = false;
        claim->needs_no_mark =
            claim->kind == ZKL_PERMIT && zkl_permits_needs_no_mark(claim->line, claim);
        return zkl_claim_advance(claim, now);
    case ZKL_ABSENT: return zkl_claim_requeue(claim);
    case ZKL_REFUSED: return fail(claim, why) | leave(claim);
    case ZKL_UNKNOWN: return stall(claim);
    }
    return 0;
}

static zkl_actions proven(struct zkl_claim *claim, zkl_time now) {
    if (!is_certain(claim, now)) return may_enter(claim) ? stall(claim) : retreat(claim);
    return zkl_kind_is_fixed(claim->kind) ? admit(claim, now) : zkl_claim_advance(claim, now);
}

zkl_actions zkl_claim_listed(struct zkl_claim *claim, enum zkl_reply reply, enum zkl_code why,
                             zkl_time now) {
    switch (claim->state) {
    case ZKL_TRY: return try_listed(claim, reply, why);
    case ZKL_RECOVER_LIST: return recovery_listed(claim, reply, why);
    case ZKL_LIST: return own_listed(claim, reply, why, now);
    case ZKL_FORWARD: return zkl_waiter_listed(claim, reply);
    case ZKL_WAIT: return zkl_lookahead_answered(claim, reply);
    case ZKL_HELD:
    case ZKL_KEPT: return zkl_keep_listed(claim, reply, now);
    default: return 0; /* a late list, or the list of a create that failed */
    }
}

zkl_actions zkl_claim_synced(struct zkl_claim *claim, enum zkl_reply reply, zkl_time now) {
    if ((claim->state != ZKL_RECOVER_SYNC && claim->state != ZKL_PROVE) || claim->stalled) return 0;
    if (reply != ZKL_DONE) return stall(claim);
    if (claim->state == ZKL_PROVE) return proven(claim, now);
    claim->state = ZKL_RECOVER_LIST;
    return 0;
}

static zkl_actions own_read(struct zkl_claim *claim, int64_t czxid, uint64_t owner, zkl_time now) {
    bool listed = claim->state == ZKL_RECOVER_STAT;
    if (!listed && (claim->state != ZKL_LIST || claim->node.czxid)) return 0;
    if (owner != claim->line->common->session) return zkl_claim_requeue(claim);
    claim->node.czxid = czxid;
    return listed ? zkl_claim_advance(claim, now) : 0;
}

/*
 * In the states not named here the reply to a request that is out decides. IN_CONDITION awaits the
 * reply to its waiter.
 */
static zkl_actions own_gone(struct zkl_claim *claim) {
    if (is_in_line(claim)) return zkl_claim_requeue(claim);
    if (claim->state == ZKL_HELD) return lose(claim) | become_gone(claim);
    if (claim->state == ZKL_KEPT) return become_gone(claim);
    return claim->state == ZKL_SIGNALLED ? become_gone(claim) : 0;
}

zkl_actions zkl_claim_got_own(struct zkl_claim *claim, enum zkl_reply reply, enum zkl_code why,
                              int64_t czxid, uint64_t owner, zkl_time now) {
    assert(reply != ZKL_DONE || czxid > 0);
    if (zkl_kind_is_fixed(claim->kind))
        return zkl_unfair_got_own(claim, reply, why, czxid, owner, now);
    switch (reply) {
    case ZKL_DONE: return own_read(claim, czxid, owner, now);
    case ZKL_ABSENT: return own_gone(claim);
    case ZKL_REFUSED:
        /* A claim may wait only if it would hear that its own node is gone. */
        if (is_in_line(claim)) return fail(claim, why) | leave(claim);
        return 0; /* a holder goes on without the watch; the lease clock still guards it */
    case ZKL_UNKNOWN: break;
    }
    claim->node.watched = false;
    bool waits = claim->state == ZKL_WAIT || claim->state == ZKL_FIRST;
    return waits || claim->state == ZKL_RECOVER_STAT ? stall(claim) : 0;
}

/*
 * NULL stands for a contender that the line has forgotten. In an exhausted line any contender may
 * be ahead.
 */
static bool may_precede(const struct zkl_claim *claim, const struct zkl_contender *contender) {
    return !contender || claim->line->exhausted || zkl_line_precedes(claim->line, contender, claim);
}

static bool looks_ahead_to(const struct zkl_claim *claim, const struct zkl_contender *contender) {
    return contender && claim->lookahead == contender;
}

static bool is_waiting_for(const struct zkl_claim *claim, const struct zkl_contender *contender) {
    if (claim->state != ZKL_WAIT) return false;
    return claim->ahead == contender || (claim->holders_list && may_precede(claim, contender));
}

/*
 * The claim heads, and does not fit with one holder less either. It watches the remaining
 * contenders, unless a newer list shows more.
 */
static bool still_waits(const struct zkl_claim *claim) {
    if (!claim->holders_list || zkl_line_unranked(claim->line, claim, NULL)) return false;
    return claim->holders_list == claim->line->serial && !zkl_permits_fit(claim->line, claim);
}

/* If the claim is `looking_ahead`, the replies to its requests show who is ahead now. */
static zkl_actions ahead_gone(struct zkl_claim *claim, struct zkl_contender *contender,
                              zkl_time now) {
    if (contender) zkl_line_forget(claim->line, contender);
    if (still_waits(claim)) return 0;
    if (claim->looking_ahead) {
        zkl_lookahead_await_replies(claim);
        return 0;
    }
    claim->recheck = !claim->holders_list; /* a claim that heads watches each contender ahead */
    return zkl_claim_advance(claim, now);
}

static zkl_actions got_lookahead(struct zkl_claim *claim, enum zkl_reply reply) {
    if (reply == ZKL_ABSENT) return zkl_lookahead_gone(claim);
    if (reply != ZKL_DONE) zkl_claim_drop_lookahead(claim);
    return 0;
}

static zkl_actions got_other(struct zkl_claim *claim, struct zkl_contender *contender,
                             enum zkl_reply reply) {
    if (reply == ZKL_ABSENT) zkl_line_forget(claim->line, contender);
    return 0;
}

zkl_actions zkl_claim_got_ahead(struct zkl_claim *claim, struct zkl_contender *contender,
                                enum zkl_reply reply, enum zkl_code why, zkl_time now) {
    if (looks_ahead_to(claim, contender)) return got_lookahead(claim, reply);
    if (!is_waiting_for(claim, contender)) return got_other(claim, contender, reply);
    switch (reply) {
    case ZKL_DONE: break; /* the watch's event will come */
    case ZKL_ABSENT: return ahead_gone(claim, contender, now);
    case ZKL_REFUSED: return fail(claim, why) | leave(claim);
    case ZKL_UNKNOWN: return stall(claim);
    }
    return 0;
}

zkl_actions zkl_claim_ahead_is_held(struct zkl_claim *claim,
                                    const struct zkl_contender *contender) {
    if (!claim->trying || !is_waiting_for(claim, contender)) return 0;
    return fail(claim, ZKL_BUSY) | give_up_node(claim, 0);
}

/* A refused get shows that the node exists, but not its czxid. */
zkl_actions zkl_claim_ranked(struct zkl_claim *claim, struct zkl_contender *contender,
                             enum zkl_reply reply, int64_t czxid, zkl_time now) {
    assert(claim->rank_gets > 0 && (reply != ZKL_DONE || czxid > 0));
    claim->rank_gets--;
    if (reply == ZKL_DONE) contender->czxid = czxid;
    if (reply == ZKL_ABSENT) zkl_line_forget(claim->line, contender);
    if (claim->state == ZKL_WAIT && !claim->rank_gets)
        return zkl_lookahead_answered(claim, ZKL_DONE);
    if (claim->state != ZKL_RANK) return 0;
    if (reply == ZKL_UNKNOWN) claim->stalled = true;
    if (reply == ZKL_REFUSED && claim->line->exhausted) return fail(claim, ZKL_AUTH) | leave(claim);
    if (claim->rank_gets > 0 || claim->stalled) return 0;
    claim->recheck = false;
    return zkl_claim_advance(claim, now);
}

/*
 * The node has another name and czxid now; the claim keeps its token. The line lists again before
 * the next grant, and shows the reader then.
 */
static void become_reader(struct zkl_claim *claim) {
    char name[ZKL_NAME_SIZE];
    forget_own(claim);
    zkl_name_downgrade(name, claim->node.name);
    memcpy(claim->node.name, name, sizeof name);
    claim->kind = ZKL_READ;
    claim->refusal = ZKL_OK;
}

static zkl_actions look_for_name(struct zkl_claim *claim) {
    claim->state = ZKL_RECOVER_SYNC;
    return ZKL_DO_SYNC | ZKL_DO_LIST;
}

/*
 * A transaction of unknown outcome is sent again. Nobody else has these names, so the second finds
 * the reader's node, or no writer's node. If it is refused, the first may have been carried out,
 * so a claim that leaves looks which name its node has. The first may still land after that look,
 * but not after the delete, so if the delete finds no node, the claim looks once more.
 */
zkl_actions zkl_claim_downgraded(struct zkl_claim *claim, enum zkl_reply reply, enum zkl_code why) {
    if (claim->state != ZKL_DOWNGRADE) return 0;
    switch (reply) {
    case ZKL_UNKNOWN: claim->refusal = ZKL_IN_DOUBT; return stall(claim);
    case ZKL_ABSENT: return (claim->wanted ? lose(claim) : 0) | become_gone(claim);
    case ZKL_REFUSED:
        if (claim->refusal == ZKL_IN_DOUBT)
            return claim->wanted ? stall(claim) : look_for_name(claim);
        claim->refusal = why;
        break;
    case ZKL_DONE: become_reader(claim); break;
    }
    if (!claim->wanted) return leave(claim);
    claim->state = ZKL_HELD;
    return ZKL_DO_DOWNGRADED | (claim->node.watched ? ZKL_DO_WATCH_OWN : 0); /* another node */
}

/* A list asked for after a mark shows its effect, so each mark leads to one list. */
zkl_actions zkl_claim_ahead_marked(struct zkl_claim *claim, struct zkl_contender *contender,
                                   int64_t zxid) {
    if (!is_waiting_for(claim, contender) || claim->holders_list || zxid <= claim->mark_zxid)
        return 0;
    claim->mark_zxid = zxid;
    return zkl_claim_list_again(claim);
}

/* A refused mark is not repeated, because the claim behind hears when the node goes. */
zkl_actions zkl_claim_marked(struct zkl_claim *claim, enum zkl_reply reply) {
    if (claim->state != ZKL_HELD) return 0; /* the node's end tells as well */
    if (reply == ZKL_ABSENT) return own_gone(claim);
    return reply == ZKL_UNKNOWN ? stall(claim) : 0;
}

/* A claim that does not hold yet reads its node again at its first heartbeat as a holder. */
zkl_actions zkl_claim_mark_overwritten(struct zkl_claim *claim) {
    if (claim->state != ZKL_HELD) claim->node.watched = false;
    if (claim->state != ZKL_HELD || claim->stalled) return 0;
    return zkl_claim_spend_round(claim) ? ZKL_DO_MARK : stall(claim);
}

zkl_actions zkl_claim_removed(struct zkl_claim *claim, enum zkl_reply reply) {
    bool retreats = claim->state == ZKL_RETREAT;
    if (claim->state != ZKL_LEAVE && !retreats) return 0;
    if (reply == ZKL_ABSENT && claim->refusal == ZKL_IN_DOUBT) {
        claim->refusal = ZKL_OK;
        return look_for_name(claim);
    }
    if (reply == ZKL_DONE || reply == ZKL_ABSENT)
        return retreats ? zkl_claim_return_to_new(claim) : become_gone(claim);
    if (reply == ZKL_REFUSED && zkl_waiter_may_be_signalled(claim))
        return zkl_waiter_forward(claim);
    /* Other clients use the name, too, so first look which node has it now. */
    if (reply == ZKL_UNKNOWN && zkl_kind_is_fixed(claim->kind)) claim->state = ZKL_RECOVER_SYNC;
    return stall(claim);
}

/* --- watch events, which give a claim new rounds ---------------------------------------------- */

zkl_actions zkl_claim_own_deleted(struct zkl_claim *claim) {
    claim->rounds = 0;
    return zkl_kind_is_fixed(claim->kind) ? zkl_unfair_own_gone(claim) : own_gone(claim);
}

zkl_actions zkl_claim_own_changed(struct zkl_claim *claim) {
    if (claim->as_waiter) return zkl_claim_signalled(claim);
    bool has_node = claim->state == ZKL_HELD || claim->state == ZKL_KEPT;
    if (!is_in_line(claim) && !has_node) return 0;
    claim->node.watched = true;
    return ZKL_DO_WATCH_OWN;
}

zkl_actions zkl_claim_ahead_deleted(struct zkl_claim *claim, struct zkl_contender *contender,
                                    zkl_time now) {
    bool looks_ahead = looks_ahead_to(claim, contender);
    if (!looks_ahead && !is_waiting_for(claim, contender)) return 0;
    claim->rounds = 0;
    return looks_ahead ? zkl_lookahead_gone(claim) : ahead_gone(claim, contender, now);
}

static zkl_actions watch_again(struct zkl_claim *claim, struct zkl_contender *contender) {
    if (!contender) return 0;
    zkl_contender_ref(contender);
    drop_ahead(claim);
    claim->ahead = contender;
    return ZKL_DO_WATCH_AHEAD;
}

zkl_actions zkl_claim_ahead_changed(struct zkl_claim *claim, struct zkl_contender *contender) {
    if (looks_ahead_to(claim, contender)) return ZKL_DO_WATCH_LOOKAHEAD;
    if (!is_waiting_for(claim, contender)) return 0;
    claim->rounds = 0;
    if (claim->holders_list) return watch_again(claim, contender);
    if (claim->kind == ZKL_PERMIT) return zkl_claim_list_again(claim);
    return ZKL_DO_WATCH_AHEAD; /* the event used the watch up */
}
