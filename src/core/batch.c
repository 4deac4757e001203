/*
 * batch.c - claims that take turns: in a turn a session's claims on one path share one node. The
 * holder hands the node to the next claim, without a request. Also: claims whose node is kept.
 *
 * One claim is on its way to the front for all of them; the others are in NEW, in order of arrival.
 * When that claim gives its place up, the next claim has it.
 *
 * A turn ends for another session that waits: after its batch, or its quantum of time, at the first
 * hand-over at which the line has a contender of another session, or has changed since its list.
 * Where nobody waits the turn goes on; a watch on the path's children tells when somebody comes.
 * Until that watch is set the claim that gave the lock up is KEPT: its node is neither handed on
 * nor removed. The turn ends in any case when its node has had ZKL_BATCH_MAX grants, for it has no
 * more tokens. If a grant is known to be the turn's last, the next claim makes its own node at
 * once, behind the contenders of other sessions.
 *
 * A claim with `keep` that gives the lock up is KEPT for that time if nobody waits, with turns or
 * without. The session's next claim is its heir. By the same watch the KEPT claim hears of any
 * contender, and then its node goes.
 */
#include <assert.h>

#include "claim_steps.h"

void zkl_claim_batch(struct zkl_claim *claim, int32_t batch) {
    assert(batch >= ZKL_BATCH_BY_TIME && batch != 0 && batch <= ZKL_BATCH_MAX);
    assert(claim->kind == ZKL_MUTEX && !is_part(claim) && !claim->waiting);
    claim->batch = batch;
    zkl_claim_count(claim);
}

void zkl_claim_count(struct zkl_claim *claim) {
    assert(claim->kind == ZKL_MUTEX);
    claim->counting = true;
}

/* On its way to the front. */
static bool is_under_way(const struct zkl_claim *claim) {
    bool moves = is_entering(claim) || is_in_line(claim) || claim->state == ZKL_RETREAT;
    return claim->wanted && moves;
}

/* It has a node that it will hand over, as far as is known. */
static bool is_serving(const struct zkl_claim *claim) {
    return claim->state == ZKL_KEPT || (claim->state == ZKL_HELD && !claim->ends);
}

static bool may_succeed(const struct zkl_claim *claim) {
    return claim->state == ZKL_NEW && claim->batch != 0 && !claim->trying;
}

bool zkl_claim_inherits(const struct zkl_claim *claim, const struct zkl_claim *kept) {
    return claim->counting && !is_part(claim) && !claim->batch == !kept->batch;
}

/*
 * The node is kept for a time, and the claim may have it. Do not hand a try a node that is KEPT
 * only until a list is answered: the try would have to wait for that answer.
 */
static bool is_kept_for(const struct zkl_claim *kept, const struct zkl_claim *claim) {
    return kept->state == ZKL_KEPT && kept->keep > 0 && zkl_claim_inherits(claim, kept);
}

bool zkl_batch_awaits_kept(const struct zkl_claim *claim) {
    const struct zkl_line *line = claim->line;
    const struct zkl_claim *next = line->claims;
    if (!is_kept_for(line->kept, claim)) return false;
    while (next != claim && !may_succeed(next)) next = next->next;
    return next == claim;
}

/* In turns `claim` comes before another one: under way, serving, or waiting and earlier. */
static bool goes_first(const struct zkl_claim *claim, bool earlier) {
    if (earlier && may_succeed(claim)) return true;
    return claim->batch != 0 && (is_under_way(claim) || is_serving(claim));
}

/* A try follows no claim: it asks the server. Claims behind this one only wait, but for tries. */
bool zkl_batch_follows(const struct zkl_claim *claim) {
    bool earlier = true;
    if (claim->trying) return false;
    for (const struct zkl_claim *each = claim->line->claims; each; each = each->next) {
        if (each != claim && goes_first(each, earlier)) return true;
        if (each != claim) continue;
        if (claim->line->tries == 0) return false;
        earlier = false;
    }
    return false;
}

/* --- the end of a turn ---------------------------------------------------------------------- */

/* No other contender is in its line, as far as is known. */
static bool is_alone(const struct zkl_claim *claim) {
    const struct zkl_line *line = claim->line;
    return !line->changed && line->count == 1 && zkl_line_own(claim);
}

/* Another contender is in its line; in turns, one of another session. */
static bool others_wait(const struct zkl_claim *claim) {
    if (claim->batch == 0) return !is_alone(claim);
    return zkl_line_has_others(claim->line);
}

/* The turn may end with this grant. */
static bool is_served(const struct zkl_claim *claim, zkl_time now) {
    if (claim->batch == 0 || claim->state == ZKL_KEPT) return true;
    if (claim->batch > 0) return claim->node.served + 1 >= claim->batch;
    return now - claim->node.turn_began >= ZKL_QUANTUM;
}

/* One grant more would have the token of another node. */
static bool is_used_up(const struct zkl_node *node) {
    return node->served + 1 >= ZKL_BATCH_MAX;
}

/*
 * A node that waited behind another session's knows the line as it was then, and the other session
 * has mostly come again since. To ask would cost each turn of a batch a round trip, so the claim
 * assumes that it has; if nobody came, the session's next node is first in line, and has not
 * waited. The first grant of a node is too early for that: the other session is still on its way,
 * and a node that enters now may get ahead of it.
 */
static bool others_may_wait(const struct zkl_claim *claim) {
    bool is_told = claim->line->children == ZKL_WATCHED;
    bool assumes = claim->batch > 0 && claim->node.contended && claim->node.served > 0 && !is_told;
    return assumes || others_wait(claim);
}

static bool is_over(const struct zkl_claim *claim, zkl_time now) {
    return claim->ends || is_used_up(&claim->node) ||
           (is_served(claim, now) && others_may_wait(claim));
}

/* Asks for the watch that tells when others come, unless it is set or asked for. */
static zkl_actions watch_children(struct zkl_line *line) {
    if (line->children != ZKL_UNWATCHED) return 0;
    line->children = ZKL_WATCH_ASKED;
    return ZKL_DO_WATCH_CHILDREN;
}

static zkl_actions watch_if_served(const struct zkl_claim *holder, zkl_time now) {
    return is_served(holder, now) && !others_wait(holder) ? watch_children(holder->line) : 0;
}

/* The line's list came after the node: it shows what changed before. */
static void begin_turn(struct zkl_claim *claim, zkl_time now) {
    if (claim->line->changed) claim->node.listed_at = 0; /* others may have come since */
    claim->line->changed = false;
    claim->node.turn_began = now;
}

/* Has the node say that it is held: a try of another session may wait for that word. */
static zkl_actions tell_held(struct zkl_claim *claim) {
    if (!has_keeping_node(claim) || claim->node.marked || is_alone(claim)) return 0;
    claim->node.marked = true;
    claim->asks = false;
    return ZKL_DO_MARK;
}

zkl_actions zkl_batch_held(struct zkl_claim *claim) {
    if (!has_keeping_node(claim)) return 0;
    claim->line->kept = claim;
    return is_alone(claim) ? watch_children(claim->line) : tell_held(claim);
}

zkl_actions zkl_batch_granted(struct zkl_claim *claim, zkl_time now) {
    if (has_keeping_node(claim)) claim->line->kept = claim;
    if (claim->node.served == 0) begin_turn(claim, now);
    claim->ends = is_over(claim, now);
    if (claim->ends) return make_way(claim) | tell_held(claim);
    if (has_keeping_node(claim)) return zkl_batch_held(claim);
    return make_way(claim) ? watch_if_served(claim, now) : 0;
}

/*
 * A claim waits for its turn now: the turn that goes on is to hear of other sessions. In turns by
 * time the claim that gives the lock up asks. Where a node was deleted two claims may serve: the
 * one before does not know yet that it has lost the lock.
 */
zkl_actions zkl_batch_followed(struct zkl_claim *claim) {
    zkl_actions asks = 0;
    for (const struct zkl_claim *each = claim->line->claims; each && !asks; each = each->next) {
        if (zkl_claims_wait_from(each)) break;
        if (each->batch > 0 && is_serving(each)) asks = watch_if_served(each, 0);
    }
    return asks;
}

/* --- how often a lock may be kept ------------------------------------------------------------- */

/* As Lustre does it, and Linux's NFS server with delegations. */
enum { SOON = 2, LEAST = 2, MOST = 30 }; /* seconds */

/* Remembers when a node went because others wanted it. */
static void note_others(const struct zkl_claim *claim, zkl_time now) {
    bool asked_for = claim->keep > 0 && connected(claim) && !is_alone(claim);
    if (asked_for) claim->line->restraint.gave_back = now;
}

/*
 * The lock is wanted again. If it went to others a short time ago it is not kept for a while, twice
 * as long each time.
 */
static bool is_restrained(struct zkl_restraint *restraint, zkl_time now) {
    if (restraint->gave_back) {
        bool soon = now - restraint->gave_back < SOON * ZKL_SECOND;
        zkl_time length = restraint->length ? 2 * restraint->length : LEAST * ZKL_SECOND;
        if (length > MOST * ZKL_SECOND) length = MOST * ZKL_SECOND;
        restraint->length = soon ? length : 0;
        restraint->until = now + restraint->length;
        restraint->gave_back = 0;
    }
    return now < restraint->until;
}

void zkl_claim_keep(struct zkl_claim *claim, zkl_time keep, zkl_time now) {
    assert(keep > 0 && !is_part(claim) && !claim->waiting);
    zkl_claim_count(claim);
    claim->keep = is_restrained(&claim->line->restraint, now) ? 0 : keep;
}

/* --- the next one ---------------------------------------------------------------------------- */

/* It held until now, or still does. */
static bool has_held(const struct zkl_claim *claim) {
    return claim->state == ZKL_HELD || claim->state == ZKL_KEPT;
}

/*
 * A claim on its way has a place to hand over in turns only. A holder has a node to hand over,
 * unless a list shows that it is gone.
 */
static bool may_hand_over(const struct zkl_claim *claim, zkl_time now) {
    if (!has_held(claim)) return claim->batch != 0;
    return !is_over(claim, now) && zkl_line_own(claim);
}

/* The first claim that waits for the node, unless an earlier one is under way with its own. */
static struct zkl_claim *successor(const struct zkl_claim *claim, zkl_time now) {
    if (!may_hand_over(claim, now)) return NULL;
    for (struct zkl_claim *each = claim->line->claims; each; each = each->next) {
        if (each == claim || !zkl_claim_inherits(each, claim)) continue;
        if (is_under_way(each)) return NULL;
        bool waits = each->state == ZKL_NEW && is_kept_for(claim, each);
        if (waits || may_succeed(each)) return each;
    }
    return NULL;
}

/* A claim that watched or listed for the node did so for itself: the heir asks anew. */
static void hand_over(const struct zkl_claim *claim, struct zkl_claim *heir) {
    bool held = has_held(claim);
    heir->node = claim->node;
    heir->node.served += held;
    heir->node.watched = false;
    heir->state = held && connected(claim) ? ZKL_FIRST : ZKL_LIST;
    heir->stalled = true;
}

/* --- a node that stays ------------------------------------------------------------------------ */

/*
 * A lock that is kept need not wait for the answer that sets the watch: a list of a moment ago
 * showed its node alone. Whoever came since is told of with that answer, and is overtaken by no
 * grant that begins after it.
 */
static bool trusts_its_list(const struct zkl_claim *claim, zkl_time now) {
    const struct zkl_clock *clock = &claim->line->common->clock;
    bool recent = claim->node.listed_at && now - claim->node.listed_at <= clock->patience;
    bool asked = claim->line->children == ZKL_WATCH_ASKED;
    return claim->keep > 0 && claim->batch == 0 && asked && recent && is_alone(claim);
}

/* Only a list can tell whether others wait. */
static bool is_unsure(const struct zkl_claim *claim, zkl_time now) {
    if (trusts_its_list(claim, now)) return false;
    if (claim->state == ZKL_KEPT) return claim->asks;
    bool may_end = claim->state == ZKL_HELD && is_served(claim, now) && connected(claim);
    return may_end && claim->line->children != ZKL_WATCHED;
}

/* Its node may be kept: nobody else wants it, as far as is known. */
static bool may_be_kept(const struct zkl_claim *claim, zkl_time now) {
    if (!has_held(claim) || claim->keep == 0 || !connected(claim)) return false;
    if (is_over(claim, now) || !is_alone(claim) || claim->node.marked) return false;
    const struct zkl_claim *each = claim->line->claims;
    while (each && (each == claim || !is_under_way(each))) each = each->next;
    return !each;
}

zkl_actions zkl_batch_ask(struct zkl_claim *claim) {
    claim->asks = true;
    return claim->line->children == ZKL_WATCHED ? ZKL_DO_LIST : watch_children(claim->line);
}

static zkl_actions keep(struct zkl_claim *claim, zkl_time now) {
    bool for_long = claim->keep > 0;
    claim->state = ZKL_KEPT;
    claim->wanted = claim->stalled = false; /* what got lost in HELD is not asked for again */
    claim->line->kept = claim;
    claim->deadline = for_long && claim->keep < ZKL_NEVER - now ? now + claim->keep : ZKL_NEVER;
    zkl_actions asks = claim->line->children == ZKL_WATCHED ? 0 : zkl_batch_ask(claim);
    return for_long ? asks | ZKL_DO_KEEP : asks;
}

zkl_actions zkl_batch_end(struct zkl_claim *claim) {
    /* A create of unknown outcome may have landed since: look, as at a release. */
    bool looks = claim->state == ZKL_KEPT && claim->node.doubted;
    zkl_actions actions = leave(claim);
    return looks && actions & ZKL_DO_REMOVE ? actions | ZKL_DO_LIST : actions;
}

/* --- the end of a hold ------------------------------------------------------------------------ */

zkl_actions zkl_batch_leave(struct zkl_claim *claim, zkl_time now) {
    struct zkl_claim *heir = successor(claim, now);
    bool stays = heir ? is_unsure(claim, now) : may_be_kept(claim, now);
    if (stays) return claim->state == ZKL_KEPT ? 0 : keep(claim, now);
    if (!heir) {
        if (has_held(claim)) note_others(claim, now);
        return zkl_batch_end(claim);
    }
    hand_over(claim, heir);
    drop_ahead(claim);
    keep_no_more(claim);
    claim->state = ZKL_GONE;
    claim->wanted = false;
    return connected(claim) ? ZKL_DO_FORGET | ZKL_DO_FOLLOW : ZKL_DO_FORGET;
}

/*
 * A try of another session may wait for the word, and only the watch tells of the try. Where that
 * is refused, or there was no memory for the list, the line counts as changed, and the node says at
 * once that it is held.
 */
static zkl_actions hold_listed(struct zkl_claim *claim, enum zkl_reply reply) {
    bool deaf = has_keeping_node(claim) && claim->line->children == ZKL_UNWATCHED;
    if (reply != ZKL_DONE) claim->node.listed_at = 0;
    claim->asks = reply == ZKL_UNKNOWN && deaf && !claim->node.marked;
    if (claim->asks) return stall(claim);
    return reply == ZKL_ABSENT ? 0 : tell_held(claim);
}

/* A list without an answer counts as if others waited. */
zkl_actions zkl_batch_listed(struct zkl_claim *claim, enum zkl_reply reply, zkl_time now) {
    struct zkl_line *line = claim->line;
    if (claim->state == ZKL_HELD) return hold_listed(claim, reply);
    if (!claim->asks || claim->stalled) return 0;
    if (reply != ZKL_DONE || line->children == ZKL_UNWATCHED) line->changed = true;
    claim->asks = line->children == ZKL_WATCH_ASKED;
    return zkl_batch_leave(claim, now);
}

zkl_actions zkl_claim_take(struct zkl_claim *kept, zkl_time now) {
    bool known = kept->state == ZKL_KEPT && (!kept->asks || trusts_its_list(kept, now));
    return known ? zkl_batch_leave(kept, now) : 0;
}

zkl_actions zkl_claim_contended(struct zkl_claim *kept, zkl_time now) {
    if (kept->state == ZKL_HELD) return tell_held(kept);
    return kept->state == ZKL_KEPT ? zkl_batch_leave(kept, now) : 0;
}

zkl_actions zkl_batch_tick(struct zkl_claim *claim, zkl_time now) {
    const struct zkl_clock *clock = &claim->line->common->clock;
    bool lost = zkl_clock_phase(clock, claim->epoch, now) == ZKL_PHASE_LOST;
    return lost || now >= claim->deadline ? zkl_batch_end(claim) : 0;
}

zkl_actions zkl_claim_yield(struct zkl_claim *claim) {
    if (claim->state == ZKL_KEPT) return zkl_batch_end(claim);
    if (claim->state != ZKL_HELD || !may_pass_on(claim)) return 0;
    claim->ends = true;
    return make_way(claim);
}
