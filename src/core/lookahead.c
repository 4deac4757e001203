/*
 * lookahead.c - a waiting claim of a mutex also watches its lookahead, the predecessor of its
 * predecessor. When the lookahead goes the claim asks about all contenders ahead, so that the
 * hand-off needs no request (docs/design/claims.md). If the watch, its event or a reply fails to
 * come, the claim asks at the hand-off.
 */
#include "claim_steps.h"

zkl_actions zkl_lookahead_watch(struct zkl_claim *claim) {
    struct zkl_contender *lookahead = zkl_line_ahead_of(claim->line, claim->ahead);
    if (!lookahead || claim->ahead->kind != ZKL_MUTEX || claim->kind != ZKL_MUTEX) return 0;
    claim->lookahead = zkl_contender_ref(lookahead);
    return ZKL_DO_WATCH_LOOKAHEAD;
}

zkl_actions zkl_lookahead_again(struct zkl_claim *claim) {
    bool missing = claim->ahead && !claim->lookahead && !claim->looking_ahead;
    return missing ? zkl_lookahead_watch(claim) : 0;
}

/* The lookahead is gone, and other contenders ahead of the predecessor may be gone, too. */
static zkl_actions ask_who_is_ahead(struct zkl_claim *claim) {
    claim->recheck = !claim->line->incomplete;
    bool by_list = !claim->recheck || zkl_claim_choose_recheck(claim);
    if (by_list) claim->recheck = false;
    else if (!claim->recheck) return zkl_lookahead_watch(claim); /* at most one is left */
    claim->looking_ahead = true;
    return by_list ? ZKL_DO_LIST : ZKL_DO_RANK;
}

zkl_actions zkl_lookahead_gone(struct zkl_claim *claim) {
    zkl_line_forget(claim->line, claim->lookahead);
    zkl_claim_drop_lookahead(claim);
    return !claim->line->exhausted && zkl_claim_spend_round(claim) ? ask_who_is_ahead(claim) : 0;
}

/*
 * Watches tell if the own node or the predecessor is gone. If a get has shown that a writer is
 * gone, a list must tell whether a reader has taken its place.
 */
zkl_actions zkl_lookahead_answered(struct zkl_claim *claim, enum zkl_reply reply) {
    if (!claim->looking_ahead) return 0;
    claim->looking_ahead = claim->recheck = false;
    if (reply != ZKL_DONE) return 0;
    return claim->line->incomplete ? ask_who_is_ahead(claim) : zkl_lookahead_watch(claim);
}

void zkl_lookahead_await_replies(struct zkl_claim *claim) {
    claim->state = claim->recheck ? ZKL_RANK : ZKL_LIST;
    claim->stalled = false;
    drop_ahead(claim);
}
