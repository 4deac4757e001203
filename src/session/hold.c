#include "hold.h"
#include "internal.h"
#include "multi.h"

static zkl_time first_end(const struct stake *stake) {
    zkl_time first = ZKL_NEVER;
    for (const struct hold *each = stake->holds; each; each = each->next)
        first = zkl_earlier(first, each->until);
    return first;
}

static struct stake *next_of_grant(struct stake *stake) {
    return stake->part == PART_HELD ? zkl_multi_next_held(stake) : stake;
}

void zkl_hold_apply(struct stake *stake) {
    if (!zkl_claim_holds(&stake->claim)) return; /* the deadline is an acquire's */
    zkl_time first = ZKL_NEVER;
    struct stake *part = stake;
    do {
        first = zkl_earlier(first, first_end(part));
        part = next_of_grant(part);
    } while (part != stake);
    do {
        part->claim.deadline = first;
        part = next_of_grant(part);
    } while (part != stake);
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
