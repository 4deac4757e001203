/*
 * crowd.c - whether so many wait for a lock already as a claim does not put up with.
 *
 * A claim with a node counts those ahead of it, by the list that shows its place. Before that it
 * counts the claims of its own session, which costs no request; in turns, where that is all that it
 * will do, also the other sessions' nodes, as the last list had them. Who holds does not wait. A
 * claim that was told to wait waits.
 */
#include "claim_steps.h"

/* --- by nodes --------------------------------------------------------------------------------- */

/* Of the contenders this one, behind `permits` of those before it, is no waiter. */
static bool holds(const struct zkl_line *line, size_t at, int64_t permits) {
    const struct zkl_contender *each = line->contenders[at];
    if (at == 0) return true;
    if (each->kind != line->contenders[0]->kind) return false;
    if (each->kind == ZKL_PERMIT) return permits + each->permits <= each->limit;
    return each->kind == ZKL_READ;
}

/* How many hold, of the first so many: they are in front of all others. */
static size_t holders(const struct zkl_line *line, size_t count) {
    int64_t permits = 0;
    size_t at = 0;
    for (; at < count && holds(line, at, permits); at++) permits += line->contenders[at]->permits;
    return at;
}

static size_t waiting_ahead(const struct zkl_claim *claim) {
    size_t ahead = zkl_line_count_ahead(claim->line, claim);
    return ahead - holders(claim->line, ahead);
}

/* --- without a node --------------------------------------------------------------------------- */

static bool is_waiting(const struct zkl_claim *claim) {
    bool waits = claim->state != ZKL_IN_CONDITION && !zkl_claim_holds(claim);
    return waits && claim->wanted && claim->announced && !claim->trying;
}

/* Those before it in its session, but no more than it wants to know. */
static size_t waiting_here(const struct zkl_claim *claim) {
    size_t count = 0;
    const struct zkl_claim *each = claim->line->claims;
    for (; each != claim && count < (size_t)claim->max_waiters; each = each->next)
        count += is_waiting(each);
    return count;
}

/* By the other sessions' nodes. */
static size_t waiting_elsewhere(const struct zkl_claim *claim) {
    const struct zkl_line *line = claim->line;
    size_t count = 0;
    for (size_t i = holders(line, line->count); i < line->count; i++)
        count += line->contenders[i]->session != claim->common->session;
    return count;
}

/* Numbers that do not tell the order do not tell who holds either. */
bool zkl_claim_is_crowded_out(const struct zkl_claim *claim) {
    bool ordered = !claim->line->exhausted;
    size_t most = (size_t)claim->max_waiters;
    if (most == 0) return false;
    if (is_in_line(claim)) return ordered && waiting_ahead(claim) >= most;
    size_t here = waiting_here(claim);
    if (ordered && here < most && zkl_batch_follows(claim)) here += waiting_elsewhere(claim);
    return here >= most;
}
