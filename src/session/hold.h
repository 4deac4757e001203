/*
 * hold.h - time limits of a grant, one for each handle. The first to pass ends the grant, even if
 * the user's thread is stuck. All parts of a multi-lock that is held have the first limit of any,
 * until its lease is released. The lease's own limit is in the list of the first part.
 */
#ifndef ZKL_SESSION_HOLD_H
#define ZKL_SESSION_HOLD_H

#include "../core/clock.h"

struct stake;

/* Part of the lease, or of the request until its user takes the lease. */
struct hold {
    struct hold *next, **link; /* in stake->holds; NULL: not begun, or ended */
    zkl_time length;           /* 0: no limit */
    zkl_time until;
};

void zkl_hold_begin(struct stake *stake, struct hold *hold); /* for `length`, from now on */
void zkl_hold_again(struct stake *stake); /* for all handles, from a new grant on */
void zkl_hold_move(struct stake *stake, struct hold *from, struct hold *to);
void zkl_hold_end(struct stake *stake, struct hold *hold); /* the other limits stay */
void zkl_hold_apply(struct stake *stake);                  /* sets the deadlines of the grant */

#endif
