#include "hold.h"
#include "internal.h"
#include "stake.h"

void zkl_hold_apply(struct stake *stake) {
    zkl_time first = ZKL_NEVER;
    if (!zkl_claim_holds(&stake->claim)) return; /* the deadline is an acquire's */
    for (const struct hold *each = stake->holds; each; each = each->next)
        first = zkl_earlier(first, each->until);
    stake->claim.deadline = first;
    zkl_session_tick_by(stake->session, first);
}

static void enlist(struct stake *stake, struct hold *hold) {
    hold->link = &stake->holds;
    hold->next = stake->holds;
    if (hold->next) hold->next->link = &hold->next;
    stake->holds = hold;
}

static void delist(struct hold *hold) {
    *hold->link = hold->next;
    if (hold->next) hold->next->link = hold->link;
    hold->link = NULL;
}

void zkl_hold_begin(struct stake *stake, struct hold *hold) {
    if (hold->length == 0) return;
    hold->until = zkl_session_after(stake->session, hold->length);
    enlist(stake, hold);
    zkl_hold_apply(stake);
}

void zkl_hold_again(struct stake *stake) {
    for (struct hold *each = stake->holds; each; each = each->next)
        each->until = zkl_session_after(stake->session, each->length);
    zkl_hold_apply(stake);
}

void zkl_hold_move(struct stake *stake, struct hold *from, struct hold *to) {
    if (!from->link) return;
    *to = *from;
    delist(from);
    enlist(stake, to);
}

void zkl_hold_end(struct stake *stake, struct hold *hold) {
    if (!hold->link) return;
    delist(hold);
    zkl_hold_apply(stake);
}
