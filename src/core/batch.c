/*
 * batch.c - claims that take turns: a batch of a session's claims on one path has one node
 * between them. The holder hands the node to the next, without a request.
 *
 * One claim is on its way to the front for all; the others are in NEW, in order of arrival.
 * When it does not want its place any more the next one has it. With the last grant of a
 * batch the next one enters, behind those that came from elsewhere: processes take turns.
 */
#include <assert.h>

#include "claim_steps.h"

void zkl_claim_batch(struct zkl_claim *claim, int32_t batch) {
    assert(batch >= 0 && batch <= ZKL_BATCH_MAX);
    assert(batch == 0 || (claim->kind == ZKL_MUTEX && !is_part(claim) && !claim->waits));
    claim->batch = batch;
}

/* On its way to the front. */
static bool is_under_way(const struct zkl_claim *claim) {
    return claim->wanted && (is_entering(claim) || is_in_line(claim));
}

/* It holds, and will hand its node over. */
static bool is_serving(const struct zkl_claim *claim) {
    return claim->state == ZKL_HELD && !ends_batch(claim);
}

static bool may_succeed(const struct zkl_claim *claim) {
    return claim->state == ZKL_NEW && claim->batch > 0 && !claim->trying;
}

/* Of those that wait as well it is the ones that came before. */
static bool goes_first(const struct zkl_claim *claim, bool earlier) {
    if (earlier && may_succeed(claim)) return true;
    return claim->batch > 0 && (is_under_way(claim) || is_serving(claim));
}

/* A try asks the server, whatever other claims are there. Those behind only wait, but for tries. */
bool zkl_batch_follows(const struct zkl_claim *claim) {
    bool earlier = true;
    if (claim->batch == 0 || claim->trying) return false;
    for (const struct zkl_claim *each = claim->line->claims; each; each = each->next) {
        if (each != claim && goes_first(each, earlier)) return true;
        if (each != claim) continue;
        if (claim->line->tries == 0) return false;
        earlier = false;
    }
    return false;
}

/* A holder has a node to give, unless a list that was asked for lacks it. */
static bool may_hand_over(const struct zkl_claim *claim) {
    if (claim->state != ZKL_HELD) return claim->batch > 0;
    return !ends_batch(claim) && zkl_line_find(claim->line, claim->name);
}

/* The first that waits, unless one that came before it has a node of its own. */
static struct zkl_claim *successor(const struct zkl_claim *claim) {
    if (!may_hand_over(claim)) return NULL;
    for (struct zkl_claim *each = claim->line->claims; each; each = each->next) {
        if (each == claim || each->batch == 0) continue;
        if (is_under_way(each)) return NULL;
        if (may_succeed(each)) return each;
    }
    return NULL;
}

/* A claim that watched or listed for the node did so for itself: the heir asks anew. */
static void hand_over(struct zkl_claim *claim, struct zkl_claim *heir) {
    bool held = claim->state == ZKL_HELD;
    memcpy(heir->name, claim->name, sizeof heir->name);
    heir->nonce = claim->nonce;
    heir->czxid = claim->czxid;
    heir->sequence = claim->sequence;
    heir->listed = claim->listed;
    heir->doubted = claim->doubted;
    heir->served = claim->served + held;
    heir->state = held && connected(claim) ? ZKL_FIRST : ZKL_LIST;
    heir->own_watched = false;
    heir->stalled = heir->heir = true;
}

zkl_actions zkl_batch_leave(struct zkl_claim *claim) {
    struct zkl_claim *heir = successor(claim);
    if (!heir) return leave(claim);
    hand_over(claim, heir);
    drop_ahead(claim);
    claim->state = ZKL_GONE;
    claim->wanted = false;
    return connected(claim) ? ZKL_DO_FORGET | ZKL_DO_FOLLOW : ZKL_DO_FORGET;
}

zkl_actions zkl_claim_yield(struct zkl_claim *claim) {
    if (claim->state != ZKL_HELD || claim->batch == 0) return 0;
    claim->batch = claim->served + 1;
    return make_way_in_batch(claim);
}
