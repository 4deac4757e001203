/*
 * hold.h - how long a grant may be held: the handle whose time is over first ends it. The holds of
 * a multi-lock are with its first part.
 */
#ifndef ZKL_SESSION_HOLD_H
#define ZKL_SESSION_HOLD_H

#include "../core/clock.h"

struct stake;

/* For how long a handle may be held: part of the handle, or of the request that has it. */
struct hold {
    struct hold *next, **link; /* in stake->holds; NULL: it has not begun, or has ended */
    zkl_time length;           /* 0: for ever */
    zkl_time until;
};

void zkl_hold_begin(struct stake *stake, struct hold *hold); /* for `length`, from now on */
void zkl_hold_again(struct stake *stake);                    /* of all handles: a new grant */
void zkl_hold_move(struct stake *stake, struct hold *from, struct hold *to);
void zkl_hold_end(struct stake *stake, struct hold *hold); /* the others go on */
void zkl_hold_apply(struct stake *stake);                  /* the claim holds, as before */

#endif
