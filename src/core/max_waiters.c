/*
 * max_waiters.c - whether `max_waiters` claims wait for a lock already. A claim with a node counts
 * the waiters ahead of it. A claim without a node counts its session's waiting claims. In turns,
 * where it makes no node soon, it also counts other sessions' waiting nodes in the last list.
 */
#include "claim_steps.h"

/* --- by nodes --------------------------------------------------------------------------------- */

/* The contender at index `at` holds, given the sum of the `permits` before it. */
static bool is_holder(const struct zkl_line *line, size_t at, int64_t permits) {
    const struct zkl_contender *each = line->contenders[at];
    if (at == 0) return true;
    if (each->kind != line->contenders[0]->kind) return false;
    if (each->kind == ZKL_PERMIT) return permits + each->permits <= each->limit;
    return each->kind == ZKL_READ;
}

/* The number of holders among the first `count` contenders. Holders are ahead of all waiters. */
static size_t count_holders(const struct zkl_line *line, size_t count) {
    int64_t permits = 0;
    size_t at = 0;
    for (; at < count && is_holder(line, at, permits); at++)
        permits += line->contenders[at]->permits;
    return at;
}

static size_t count_waiting_ahead(const struct zkl_claim *claim) {
    size_t ahead = zkl_line_count_ahead(claim->line, claim);
    return ahead - count_holders(claim->line, ahead);
}

/* --- without a node --------------------------------------------------------------------------- */

static bool is_waiting(const struct zkl_claim *claim) {
    bool waits = claim->state != ZKL_IN_CONDITION && !zkl_claim_holds(claim);
    return waits && claim->wanted && claim->announced && !claim->trying;
}

/* Counts up to max_waiters. */
static size_t count_waiting_claims(const struct zkl_claim *claim) {
    size_t count = 0;
    const struct zkl_claim *each = claim->line->claims;
    for (; each != claim && count < (size_t)claim->max_waiters; each = each->next)
        count += is_waiting(each);
    return count;
}

static size_t count_other_sessions(const struct zkl_claim *claim) {
    const struct zkl_line *line = claim->line;
    size_t count = 0;
    for (size_t i = count_holders(line, line->count); i < line->count; i++)
        count += !zkl_line_is_own(line, line->contenders[i]);
    return count;
}

/* Once numbers are exhausted they do not show the holders, so nodes do not count. */
bool zkl_claim_exceeds_max_waiters(const struct zkl_claim *claim) {
    bool ordered = !claim->line->exhausted;
    size_t most = (size_t)claim->max_waiters;
    if (is_in_line(claim)) return ordered && count_waiting_ahead(claim) >= most;
    size_t here = count_waiting_claims(claim);
    if (ordered && here < most && claim->batch != 0 && !awaits_nothing(claim))
        here += count_other_sessions(claim);
    return here >= most;
}
