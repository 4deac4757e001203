#include "claim_steps.h"
#include "permits.h"

/* --- the parts of a multi-lock ------------------------------------------------------------ */

/* The last part that comes sends the transaction for all. */
static zkl_actions gather(struct zkl_claim *claim) {
    claim->unsent = true;
    if (!all_are(claim, ZKL_ENTER)) return 0;
    struct zkl_claim *part = claim;
    do {
        part->unsent = false;
        part = part->next_part;
    } while (part != claim);
    return ZKL_DO_CREATE;
}

/* --- the way to the front -------------------------------------------------------------- */

zkl_actions zkl_claim_enter(struct zkl_claim *claim) {
    drop_ahead(claim);
    claim->state = ZKL_ENTER;
    claim->stalled = claim->own_watched = claim->unseen = false;
    claim->czxid = 0;
    claim->nonce = ++claim->party->nonces;
    zkl_name_prefix(claim->name, claim->kind, claim->party->session, claim->nonce);
    if (claim->kind == ZKL_PERMIT)
        zkl_name_permits(claim->name, claim->permits, claim->limit, claim->party->session,
                         claim->nonce);
    if (is_part(claim)) return gather(claim);
    return claim->waits ? ZKL_DO_CREATE : ZKL_DO_CREATE | ZKL_DO_LIST;
}

/* Somebody removed the own node while it waited: never a grant. */
static zkl_actions requeue(struct zkl_claim *claim) {
    if (is_part(claim) || claim->waits) return fail(claim, ZKL_LOST) | gone(claim);
    if (claim->trying) return fail(claim, ZKL_TIMEOUT) | gone(claim);
    forget_own(claim);
    return zkl_claim_enter(claim);
}

static zkl_actions wait_for(struct zkl_claim *claim, struct zkl_contender *ahead) {
    zkl_actions actions = ZKL_DO_WATCH_AHEAD;
    claim->state = ZKL_WAIT;
    claim->heading = false;
    claim->ahead = zkl_contender_hold(ahead);
    if (!claim->own_watched) actions |= ZKL_DO_WATCH_OWN;
    if (!claim->announced) actions |= ZKL_DO_QUEUED;
    claim->own_watched = claim->announced = true;
    return actions;
}

/* --- permits ---------------------------------------------------------------------------- */

/* Somebody uses the path for something else. */
static zkl_actions conflict(struct zkl_claim *claim, const struct zkl_contender *stranger) {
    claim->found = true;
    claim->found_kind = stranger->kind;
    claim->found_limit = stranger->limit;
    return fail(claim, ZKL_CONFLICT);
}

/* The first that does not fit: whoever of those ahead goes may let it in. */
static zkl_actions wait_for_any(struct zkl_claim *claim) {
    zkl_actions actions = wait_for(claim, zkl_permits_before(claim->line, claim));
    claim->heading = true;
    claim->headed = claim->line->serial;
    return (actions & ~(zkl_actions)ZKL_DO_WATCH_AHEAD) | ZKL_DO_HOLDERS;
}

static zkl_actions advance_permits(struct zkl_claim *claim, zkl_time now) {
    const struct zkl_contender *stranger = zkl_permits_stranger(claim->line, claim);
    if (stranger) return conflict(claim, stranger) | leave(claim);
    if (zkl_permits_fit(claim->line, claim)) {
        zkl_actions actions = admit(claim, now);
        return claim->unseen || claim->state != ZKL_HELD ? actions : actions | ZKL_DO_MARK;
    }
    if (claim->trying) return fail(claim, ZKL_TIMEOUT) | leave(claim);
    if (zkl_permits_head(claim->line, claim)) return wait_for_any(claim);
    return wait_for(claim, zkl_permits_before(claim->line, claim));
}

/* Who was behind another, and hears that it was granted, heads now, or fits. */
static zkl_actions list_again(struct zkl_claim *claim) {
    drop_ahead(claim);
    claim->state = ZKL_LIST;
    claim->stalled = false;
    return ZKL_DO_LIST;
}

/*
 * Finds the place in the line, as far as that is known. A list that another claim asked
 * for may have shown that the own node is gone.
 */
static zkl_actions advance(struct zkl_claim *claim, zkl_time now) {
    struct zkl_contender *own = zkl_line_find(claim->line, claim->name);
    drop_ahead(claim);
    claim->stalled = false;
    if (!own) return requeue(claim);
    if (!claim->czxid) {
        claim->state = ZKL_KNOW;
        return watch_own(claim);
    }
    own->czxid = claim->czxid; /* need not be asked for */
    if (claim->line->incomplete) {
        claim->state = ZKL_LIST;
        return ZKL_DO_LIST;
    }
    if (zkl_line_unranked(claim->line, claim, NULL)) {
        claim->state = ZKL_RANK;
        return ZKL_DO_RANK;
    }
    if (claim->kind == ZKL_PERMIT) return advance_permits(claim, now);
    struct zkl_contender *ahead = zkl_line_ahead(claim->line, claim);
    if (!ahead) return admit(claim, now);
    if (claim->trying) return fail(claim, ZKL_TIMEOUT) | leave(claim);
    return wait_for(claim, ahead);
}

/* --- what the user does ------------------------------------------------------------------ */

void zkl_claim_init(struct zkl_claim *claim, struct zkl_party *party, struct zkl_line *line,
                    enum zkl_kind kind, zkl_time deadline, bool trying) {
    if (!line->claims_end) line->claims_end = &line->claims;
    *claim = (struct zkl_claim){.party = party,
                                .line = line,
                                .link = line->claims_end,
                                .next_part = claim,
                                .kind = kind,
                                .deadline = deadline,
                                .trying = trying,
                                .wanted = true};
    *line->claims_end = claim;
    line->claims_end = &claim->next;
}

void zkl_claim_want(struct zkl_claim *claim, int32_t permits, int32_t limit) {
    claim->permits = permits;
    claim->limit = limit;
}

void zkl_claim_detach(struct zkl_claim *claim) {
    *claim->link = claim->next;
    if (claim->next) claim->next->link = claim->link;
    else claim->line->claims_end = claim->link;
    drop_ahead(claim);
    if (claim->partner) claim->partner->partner = NULL;
    struct zkl_claim *before = claim;
    while (before->next_part != claim) before = before->next_part;
    before->next_part = claim->next_part;
    claim->next_part = claim;
}

void zkl_claim_join(struct zkl_claim *part, struct zkl_claim *first) {
    part->next_part = first->next_part;
    first->next_part = part;
}

zkl_actions zkl_claim_adopt(struct zkl_claim *claim, struct zkl_contender *orphan) {
    orphan->claimed = true;
    claim->waits = claim->line->condition;
    claim->nonce = orphan->nonce;
    claim->czxid = orphan->czxid;
    claim->sequence = orphan->sequence;
    strncpy(claim->name, orphan->name, sizeof claim->name - 1);
    return leave(claim);
}

/*
 * An earlier claim's create may find no parents and be made again, behind ours.
 * So the first claim on a path goes alone, until it is known to exist.
 */
static bool follows(const struct zkl_claim *claim) {
    if (claim->line->opened) return false;
    for (const struct zkl_claim *each = claim->line->claims; each != claim; each = each->next) {
        if (each->state == ZKL_ENTER) return true;
    }
    return false;
}

/* Nobody comes from ENTER any more: who followed it goes on. */
static zkl_actions make_way(const struct zkl_claim *claim) {
    return has_followers(claim) ? ZKL_DO_FOLLOW : 0;
}

zkl_actions zkl_claim_start(struct zkl_claim *claim) {
    if (zkl_kind_is_fixed(claim->kind)) return zkl_unfair_start(claim);
    claim->state = ZKL_NEW;
    if (!connected(claim) || follows(claim)) return stall(claim);
    claim->stalled = false;
    if (!claim->trying) return zkl_claim_enter(claim);
    claim->state = ZKL_TRY;
    return ZKL_DO_LIST;
}

zkl_actions zkl_claim_cancel(struct zkl_claim *claim, enum zkl_code why) {
    if (!claim->wanted) return 0;
    switch (claim->state) {
    case ZKL_NEW:
    case ZKL_TRY: return fail(claim, why) | gone(claim);
    case ZKL_ENTER:
        if (claim->unsent) return fail(claim, why) | gone(claim) | make_way(claim);
        return fail(claim, why);
    case ZKL_LOOK:
    case ZKL_SEEK:
    case ZKL_AWAY: return fail(claim, why);
    case ZKL_CALLED: return fail(claim, why) | zkl_waiter_pass(claim);
    case ZKL_WAIT:
        if (zkl_kind_is_fixed(claim->kind)) return fail(claim, why) | gone(claim);
        return fail(claim, why) | leave(claim);
    case ZKL_KNOW:
    case ZKL_LIST:
    case ZKL_RANK:
    case ZKL_FIRST:
    case ZKL_PROVE: return fail(claim, why) | leave(claim);
    case ZKL_HELD:
    case ZKL_SHARE:
    case ZKL_PASS:
    case ZKL_LEAVE:
    case ZKL_GONE: break;
    }
    return 0;
}

zkl_actions zkl_claim_release(struct zkl_claim *claim) {
    if (claim->state == ZKL_CALLED) return zkl_waiter_take(claim);
    if (claim->state == ZKL_SHARE) claim->wanted = false; /* once its name is known */
    if (claim->state != ZKL_HELD) return 0;
    zkl_actions actions = leave(claim);
    /* A create that stayed unknown may have landed since: look now. */
    if (claim->doubted && actions && !zkl_kind_is_fixed(claim->kind)) actions |= ZKL_DO_LIST;
    return actions;
}

zkl_actions zkl_claim_share(struct zkl_claim *claim) {
    if (claim->state != ZKL_HELD) return 0;
    claim->state = ZKL_SHARE;
    claim->refusal = ZKL_OK;
    return connected(claim) ? ZKL_DO_SHARE : stall(claim);
}

/* --- replies ------------------------------------------------------------------------------ */

void zkl_claim_parents(struct zkl_claim *claim, enum zkl_reply reply, enum zkl_code why) {
    if (claim->refusal != ZKL_OK) return; /* the topmost says why */
    if (reply == ZKL_REFUSED || reply == ZKL_ABSENT) claim->refusal = why;
}

static void own(struct zkl_claim *claim, const char *name) {
    struct zkl_name parsed;
    strncpy(claim->name, name, sizeof claim->name - 1);
    claim->sequence = zkl_name_parse(name, &parsed) ? parsed.sequence : ZKL_SEQUENCE_LIMIT;
}

static zkl_actions create_answered(struct zkl_claim *claim, enum zkl_reply reply, enum zkl_code why,
                                   const char *name, int64_t czxid) {
    if (reply != ZKL_DONE) return not_created(claim, reply, why, zkl_claim_enter);
    own(claim, name);
    claim->czxid = czxid;
    claim->refusal = ZKL_OK;
    if (claim->waits) return zkl_waiter_began(claim);
    if (!claim->wanted) return leave(claim);
    claim->state = ZKL_LIST; /* out already, in the same flight */
    return is_part(claim) ? watch_own(claim) | ZKL_DO_LIST : 0;
}

zkl_actions zkl_claim_created(struct zkl_claim *claim, enum zkl_reply reply, enum zkl_code why,
                              const char *name, int64_t czxid) {
    if (claim->state != ZKL_ENTER) return 0;
    if (zkl_kind_is_fixed(claim->kind)) return zkl_unfair_created(claim, reply, why);
    zkl_actions actions = create_answered(claim, reply, why, name, czxid);
    if (claim->line->opened || claim->state == ZKL_ENTER) return actions;
    claim->line->opened = reply == ZKL_DONE;
    return actions | make_way(claim);
}

/* TRY: free if there are permits left behind all others. */
static zkl_actions try_permits(struct zkl_claim *claim) {
    const struct zkl_contender *stranger = zkl_permits_stranger(claim->line, claim);
    if (stranger) return conflict(claim, stranger) | gone(claim);
    if (!zkl_permits_fit(claim->line, claim)) return fail(claim, ZKL_TIMEOUT) | gone(claim);
    return zkl_claim_enter(claim);
}

/* TRY: free if no contender is in the way. */
static zkl_actions try_listed(struct zkl_claim *claim, enum zkl_reply reply, enum zkl_code why) {
    switch (reply) {
    case ZKL_DONE:
        if (claim->kind == ZKL_PERMIT) return try_permits(claim);
        if (!zkl_line_is_free(claim->line, claim->kind))
            return fail(claim, ZKL_TIMEOUT) | gone(claim);
        return zkl_claim_enter(claim);
    case ZKL_ABSENT: /* a part writes nothing before all are known to be free */
        return zkl_claim_enter(claim) | (is_part(claim) ? 0 : ZKL_DO_PARENTS);
    case ZKL_REFUSED: return fail(claim, why) | gone(claim);
    case ZKL_UNKNOWN: return stall(claim);
    }
    return 0;
}

/* SEEK: the list follows a sync, so a node that is not in it was not created. */
static zkl_actions seek_listed(struct zkl_claim *claim, enum zkl_reply reply, enum zkl_code why) {
    struct zkl_contender *found = NULL;
    if (reply == ZKL_UNKNOWN || reply == ZKL_REFUSED) {
        claim->state = ZKL_LOOK;
        claim->stalled = true;
        return reply == ZKL_REFUSED && claim->wanted ? fail(claim, why) : 0;
    }
    if (reply == ZKL_DONE)
        found = zkl_line_find_nonce(claim->line, claim->party->session, claim->nonce);
    if (!found && claim->wanted) return is_part(claim) ? requeue(claim) : zkl_claim_enter(claim);
    if (!found) return gone(claim);
    own(claim, found->name);
    claim->listed = claim->line->serial;
    if (claim->waits) return zkl_waiter_began(claim);
    if (!claim->wanted) return leave(claim);
    claim->state = ZKL_KNOW;
    claim->own_watched = true;
    return ZKL_DO_WATCH_OWN;
}

/* LIST: it shows the own node, unless somebody removed it. */
static zkl_actions own_listed(struct zkl_claim *claim, enum zkl_reply reply, enum zkl_code why,
                              zkl_time now) {
    switch (reply) {
    case ZKL_DONE:
        claim->listed = claim->line->serial;
        claim->unseen = claim->kind == ZKL_PERMIT && zkl_permits_unseen(claim->line, claim);
        return advance(claim, now);
    case ZKL_ABSENT: return requeue(claim);
    case ZKL_REFUSED: return fail(claim, why) | leave(claim);
    case ZKL_UNKNOWN: return stall(claim);
    }
    return 0;
}

static zkl_actions proven(struct zkl_claim *claim, zkl_time now) {
    if (!certain(claim, now)) return stall(claim);
    return zkl_kind_is_fixed(claim->kind) ? admit(claim, now) : advance(claim, now);
}

zkl_actions zkl_claim_listed(struct zkl_claim *claim, enum zkl_reply reply, enum zkl_code why,
                             zkl_time now) {
    switch (claim->state) {
    case ZKL_TRY: return try_listed(claim, reply, why);
    case ZKL_SEEK: return seek_listed(claim, reply, why);
    case ZKL_LIST: return own_listed(claim, reply, why, now);
    case ZKL_PASS: return zkl_waiter_listed(claim, reply);
    case ZKL_FIRST:
    /* Not asked for in this state: it came with a create that failed, or late. */
    case ZKL_NEW:
    case ZKL_ENTER:
    case ZKL_LOOK:
    case ZKL_KNOW:
    case ZKL_RANK:
    case ZKL_WAIT:
    case ZKL_PROVE:
    case ZKL_HELD:
    case ZKL_SHARE:
    case ZKL_AWAY:
    case ZKL_CALLED:
    case ZKL_LEAVE:
    case ZKL_GONE: break;
    }
    return 0;
}

zkl_actions zkl_claim_synced(struct zkl_claim *claim, enum zkl_reply reply, zkl_time now) {
    if ((claim->state != ZKL_LOOK && claim->state != ZKL_PROVE) || claim->stalled) return 0;
    if (reply != ZKL_DONE) return stall(claim);
    if (claim->state == ZKL_PROVE) return proven(claim, now);
    claim->state = ZKL_SEEK;
    return 0;
}

/* The node that was found is ours if the server says so. */
static zkl_actions known(struct zkl_claim *claim, int64_t czxid, uint64_t owner, zkl_time now) {
    bool listed = claim->state == ZKL_KNOW;
    if (!listed && (claim->state != ZKL_LIST || claim->czxid)) return 0;
    if (owner != claim->party->session) return requeue(claim);
    claim->czxid = czxid;
    return listed ? advance(claim, now) : 0;
}

/* The own node is known to be gone, by a reply or by an event. */
static zkl_actions own_gone(struct zkl_claim *claim) {
    switch (claim->state) {
    case ZKL_FIRST:
    case ZKL_KNOW:
    case ZKL_LIST:
    case ZKL_RANK:
    case ZKL_WAIT:
    case ZKL_PROVE: return requeue(claim);
    case ZKL_HELD: return lose(claim) | gone(claim);
    case ZKL_CALLED: return gone(claim); /* the lock's claim goes on */
    case ZKL_NEW:
    case ZKL_TRY:
    case ZKL_ENTER:
    case ZKL_LOOK:
    case ZKL_SEEK:
    case ZKL_SHARE: /* the transaction's own reply decides */
    case ZKL_AWAY:  /* likewise, its waiter's */
    case ZKL_PASS:  /* likewise */
    case ZKL_LEAVE: /* the delete's */
    case ZKL_GONE: break;
    }
    return 0;
}

zkl_actions zkl_claim_got_own(struct zkl_claim *claim, enum zkl_reply reply, enum zkl_code why,
                              int64_t czxid, uint64_t owner, zkl_time now) {
    if (zkl_kind_is_fixed(claim->kind))
        return zkl_unfair_got_own(claim, reply, why, czxid, owner, now);
    switch (reply) {
    case ZKL_DONE: return known(claim, czxid, owner, now);
    case ZKL_ABSENT: return own_gone(claim);
    case ZKL_REFUSED:
        if (claim->state >= ZKL_KNOW && claim->state <= ZKL_WAIT)
            return fail(claim, why) | leave(claim);
        return 0; /* it cannot be watched; the lease clock still guards it */
    case ZKL_UNKNOWN: break;
    }
    claim->own_watched = false;
    if (claim->state == ZKL_KNOW || claim->state == ZKL_WAIT) return stall(claim);
    return 0;
}

/*
 * NULL is one that the line has forgotten. When numbers come to their end the order is
 * another one: who was ahead by number is looked at again, though it may be behind.
 */
static bool may_precede(const struct zkl_claim *claim, const struct zkl_contender *contender) {
    return !contender || claim->line->exhausted || zkl_line_precedes(claim->line, contender, claim);
}

/* Who heads awaits all that precede it. */
static bool awaits(const struct zkl_claim *claim, const struct zkl_contender *contender) {
    if (claim->state != ZKL_WAIT) return false;
    return claim->ahead == contender || (claim->heading && may_precede(claim, contender));
}

zkl_actions zkl_claim_got_ahead(struct zkl_claim *claim, struct zkl_contender *contender,
                                enum zkl_reply reply, enum zkl_code why, zkl_time now) {
    if (!awaits(claim, contender)) return 0;
    switch (reply) {
    case ZKL_DONE: break; /* watched: its event will come */
    case ZKL_ABSENT: return zkl_claim_ahead_deleted(claim, contender, now);
    case ZKL_REFUSED: return fail(claim, why) | leave(claim);
    case ZKL_UNKNOWN: return stall(claim);
    }
    return 0;
}

zkl_actions zkl_claim_ranked(struct zkl_claim *claim, struct zkl_contender *contender,
                             enum zkl_reply reply, int64_t czxid, zkl_time now) {
    claim->ranks--;
    if (reply == ZKL_DONE) contender->czxid = czxid;
    if (reply == ZKL_ABSENT) zkl_line_forget(claim->line, contender);
    if (claim->state != ZKL_RANK) return 0;
    if (reply == ZKL_UNKNOWN) claim->stalled = true;
    if (reply == ZKL_REFUSED) return fail(claim, ZKL_AUTH) | leave(claim);
    if (claim->ranks > 0 || claim->stalled) return 0;
    return advance(claim, now);
}

/*
 * The node has another name now, and a czxid of its own; the claim keeps its token. The
 * line lists again before the next grant, and shows the reader then.
 */
static void become_reader(struct zkl_claim *claim) {
    char name[ZKL_NAME_SIZE];
    forget_own(claim);
    zkl_name_downgrade(name, claim->name);
    memcpy(claim->name, name, sizeof name);
    claim->kind = ZKL_READ;
}

/*
 * A transaction whose outcome is unknown is simply sent again: nobody else has these
 * names, so a second one finds the reader's node, or finds the writer's node gone. If
 * the second is refused, the first may have been carried out all the same.
 */
zkl_actions zkl_claim_shared(struct zkl_claim *claim, enum zkl_reply reply, enum zkl_code why) {
    if (claim->state != ZKL_SHARE) return 0;
    switch (reply) {
    case ZKL_UNKNOWN: claim->unsettled = true; return stall(claim);
    case ZKL_ABSENT: return (claim->wanted ? lose(claim) : 0) | gone(claim);
    case ZKL_REFUSED:
        if (claim->unsettled) return stall(claim);
        claim->refusal = why;
        break;
    case ZKL_DONE: become_reader(claim); break;
    }
    if (!claim->wanted) return leave(claim);
    claim->state = ZKL_HELD;
    claim->own_watched = false; /* the next heartbeat's */
    return ZKL_DO_SHARED;
}

/*
 * A list that is asked after a change shows what was so at the change: each change is
 * followed by one list, though a stranger may have made it.
 */
zkl_actions zkl_claim_ahead_marked(struct zkl_claim *claim, struct zkl_contender *contender,
                                   int64_t zxid) {
    if (!awaits(claim, contender) || claim->heading || zxid <= claim->heard) return 0;
    claim->heard = zxid;
    return list_again(claim);
}

/* A refused mark is left: who is behind is told when the node goes. */
zkl_actions zkl_claim_marked(struct zkl_claim *claim, enum zkl_reply reply) {
    if (claim->state != ZKL_HELD) return 0; /* the node goes, and that tells as well */
    if (reply == ZKL_ABSENT) return own_gone(claim);
    return reply == ZKL_UNKNOWN ? stall(claim) : 0;
}

zkl_actions zkl_claim_removed(struct zkl_claim *claim, enum zkl_reply reply) {
    if (claim->state != ZKL_LEAVE) return 0;
    if (reply == ZKL_DONE || reply == ZKL_ABSENT) return gone(claim);
    if (reply == ZKL_REFUSED && claim->waits && !claim->settled) return zkl_waiter_pass(claim);
    /* Of a name that others use: look whose node it is now. */
    if (reply == ZKL_UNKNOWN && zkl_kind_is_fixed(claim->kind)) claim->state = ZKL_LOOK;
    return stall(claim);
}

/* --- watch events --------------------------------------------------------------------------- */

zkl_actions zkl_claim_own_deleted(struct zkl_claim *claim) {
    return zkl_kind_is_fixed(claim->kind) ? zkl_unfair_own_gone(claim) : own_gone(claim);
}

zkl_actions zkl_claim_own_changed(struct zkl_claim *claim) {
    if (claim->waits) return zkl_claim_called(claim);
    if (claim->state < ZKL_KNOW || claim->state > ZKL_HELD) return 0;
    claim->own_watched = true;
    return ZKL_DO_WATCH_OWN;
}

/*
 * Who heads, and has not enough with one holder less: the others are watched already, unless
 * a list that came since shows more.
 */
static bool still_waits(const struct zkl_claim *claim) {
    if (!claim->heading || zkl_line_unranked(claim->line, claim, NULL)) return false;
    return claim->headed == claim->line->serial && !zkl_permits_fit(claim->line, claim);
}

zkl_actions zkl_claim_ahead_deleted(struct zkl_claim *claim, struct zkl_contender *contender,
                                    zkl_time now) {
    if (!awaits(claim, contender)) return 0;
    if (contender) zkl_line_forget(claim->line, contender);
    return still_waits(claim) ? 0 : advance(claim, now);
}

/* Who heads, of one of those that it watches. */
static zkl_actions watch_again(struct zkl_claim *claim, struct zkl_contender *contender) {
    if (!contender) return 0;
    zkl_contender_hold(contender);
    drop_ahead(claim);
    claim->ahead = contender;
    return ZKL_DO_WATCH_AHEAD;
}

zkl_actions zkl_claim_ahead_changed(struct zkl_claim *claim, struct zkl_contender *contender) {
    if (!awaits(claim, contender)) return 0;
    if (claim->heading) return watch_again(claim, contender);
    if (claim->kind == ZKL_PERMIT) return list_again(claim);
    return ZKL_DO_WATCH_AHEAD; /* the event used the watch up */
}

/* --- connection and time ---------------------------------------------------------------------- */

zkl_actions zkl_claim_resume(struct zkl_claim *claim, zkl_time now) {
    if (!claim->stalled) return 0;
    claim->stalled = false;
    zkl_actions unfair = zkl_kind_is_fixed(claim->kind) ? zkl_unfair_resume(claim) : 0;
    if (unfair) return unfair;
    switch (claim->state) {
    case ZKL_NEW: return zkl_claim_start(claim);
    case ZKL_TRY:
    case ZKL_LIST:
    case ZKL_PASS: return ZKL_DO_LIST;
    case ZKL_LOOK: return ZKL_DO_SYNC | ZKL_DO_LIST;
    case ZKL_RANK: return claim->ranks ? stall(claim) : advance(claim, now);
    case ZKL_PROVE: return ZKL_DO_SYNC;
    case ZKL_SHARE: return ZKL_DO_SHARE;
    case ZKL_LEAVE: return ZKL_DO_REMOVE;
    case ZKL_KNOW: claim->own_watched = true; return ZKL_DO_WATCH_OWN;
    case ZKL_HELD: return ZKL_DO_MARK;
    case ZKL_WAIT: {
        if (claim->waits) return watch_own(claim);
        if (claim->heading) return advance(claim, now);
        zkl_actions own_too = claim->own_watched ? 0 : ZKL_DO_WATCH_OWN;
        claim->own_watched = true;
        return ZKL_DO_WATCH_AHEAD | own_too;
    }
    case ZKL_ENTER:
    case ZKL_SEEK:
    case ZKL_FIRST:
    case ZKL_AWAY:
    case ZKL_CALLED:
    case ZKL_GONE: break;
    }
    return 0;
}

/* After a reconnect deletions are told in no order: look before a grant. */
zkl_actions zkl_claim_suspend(struct zkl_claim *claim) {
    if (claim->trying) return zkl_claim_cancel(claim, ZKL_TIMEOUT);
    if (claim->state == ZKL_WAIT) claim->line->incomplete = true;
    if (claim->state != ZKL_FIRST) return 0;
    claim->state = ZKL_LIST;
    return stall(claim);
}

zkl_actions zkl_claim_expire(struct zkl_claim *claim) {
    zkl_actions actions = 0;
    if (claim->state == ZKL_GONE) return 0;
    if (zkl_claim_holds(claim)) actions = lose(claim);
    else if (claim->wanted) actions = fail(claim, ZKL_EXPIRED);
    return actions | gone(claim);
}

zkl_actions zkl_claim_tick(struct zkl_claim *claim, zkl_time now) {
    if (!zkl_claim_holds(claim))
        return now >= claim->deadline ? zkl_claim_cancel(claim, ZKL_TIMEOUT) : 0;
    if (zkl_clock_phase(&claim->party->clock, claim->epoch, now) != ZKL_PHASE_LOST) return 0;
    zkl_actions actions = lose(claim);
    if (claim->state == ZKL_HELD) return actions | leave(claim);
    claim->wanted = false; /* SHARE goes on until the name is known */
    return actions;
}

zkl_actions zkl_claim_beat(struct zkl_claim *claim, zkl_time now) {
    if (claim->stalled) return zkl_claim_resume(claim, now);
    if (claim->state != ZKL_HELD || claim->own_watched) return 0;
    claim->own_watched = true;
    return ZKL_DO_WATCH_OWN;
}
