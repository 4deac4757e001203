/*
 * lookahead.c - a claim that waits asks about the others ahead before it is its turn.
 *
 * A claim watches its predecessor, and knows of the others ahead by its newest list alone: when
 * the predecessor goes, they have to be asked about, a round trip before the grant. So it watches
 * the predecessor's own predecessor, too. When that one goes, the predecessor may hold: the claim
 * asks meanwhile, and learns that it is next. Then the hand-off itself needs no request.
 *
 * This is help only. Whatever does not come - the watch, its event, a reply - is asked for at the
 * hand-off. It helps where the predecessor lets no other hold beside it; behind a writer, which may
 * leave a reader with its number, a list comes before the grant in any case.
 */
#include "claim_steps.h"

zkl_actions zkl_lookahead_watch(struct zkl_claim *claim) {
    struct zkl_contender *before = zkl_line_before(claim->line, claim->ahead);
    if (!before || claim->ahead->kind != ZKL_MUTEX || claim->kind != ZKL_MUTEX) return 0;
    claim->lookahead = zkl_contender_ref(before);
    return ZKL_DO_WATCH_LOOKAHEAD;
}

zkl_actions zkl_lookahead_again(struct zkl_claim *claim) {
    bool missing = claim->ahead && !claim->lookahead && !claim->looking;
    return missing ? zkl_lookahead_watch(claim) : 0;
}

/* All that the newest list has before the predecessor may be gone, too. */
static zkl_actions look(struct zkl_claim *claim) {
    claim->recheck = !claim->line->incomplete;
    bool by_list = !claim->recheck || zkl_claim_rechecks_by_list(claim);
    if (by_list) claim->recheck = false;
    else if (!claim->recheck) return zkl_lookahead_watch(claim); /* its get tells, if one is left */
    claim->looking = true;
    return by_list ? ZKL_DO_LIST : ZKL_DO_RANK;
}

zkl_actions zkl_lookahead_gone(struct zkl_claim *claim) {
    zkl_line_forget(claim->line, claim->lookahead);
    zkl_claim_overlook(claim);
    return claim->line->exhausted || zkl_claim_asks_too_often(claim) ? 0 : look(claim);
}

/*
 * If the own node or the predecessor is gone, its watch tells. If a get has shown that a writer is
 * gone, a list has to tell more.
 */
zkl_actions zkl_lookahead_looked(struct zkl_claim *claim, enum zkl_reply reply) {
    if (!claim->looking) return 0;
    claim->looking = claim->recheck = false;
    if (reply != ZKL_DONE) return 0;
    return claim->line->incomplete ? look(claim) : zkl_lookahead_watch(claim);
}

void zkl_lookahead_await(struct zkl_claim *claim) {
    claim->state = claim->recheck ? ZKL_RANK : ZKL_LIST;
    claim->stalled = false;
    drop_ahead(claim);
}
