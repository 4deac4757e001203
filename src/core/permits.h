/*
 * permits.h - what a line means to a claim of a semaphore's permits.
 *
 * A claim holds when the permits of all claims ahead of it, and its own, are no more than the
 * limit. A claim that waits counts like one that holds, so no claim overtakes another: the order is
 * FIFO, and the names alone tell which claims hold. Those ahead only become fewer: a claim that
 * fits once, fits for ever.
 *
 *   fits   permits ahead + own <= limit          it holds
 *   heads  permits ahead <= limit, own no more   all ahead hold, and it is next: it
 *                                                watches each of them
 *   else   the one before it does not fit        it watches that one only, and hears
 *                                                of its mark
 *
 * A granted claim tells the next one by writing to its node (the mark), unless nobody
 * can have seen it wait: zkl_permits_unseen().
 *
 * All contenders ahead of a claim are PERMITs of its own limit; else the claim fails: conflict.
 */
#ifndef ZKL_PERMITS_H
#define ZKL_PERMITS_H

#include "claim_state.h"

/* A claim without a node has no place yet: all are ahead of it. */
bool zkl_permits_fit(const struct zkl_line *line, const struct zkl_claim *claim);

bool zkl_permits_head(const struct zkl_line *line, const struct zkl_claim *claim);

/* A contender ahead that is no PERMIT of this limit, or NULL. */
struct zkl_contender *zkl_permits_stranger(const struct zkl_line *line,
                                           const struct zkl_claim *claim);

/*
 * For a list that just came: the claim fits, and no other is behind it. A claim that comes after
 * that list sees in its own list that this one fits, and waits for no mark of it.
 */
bool zkl_permits_unseen(const struct zkl_line *line, const struct zkl_claim *claim);

#endif
