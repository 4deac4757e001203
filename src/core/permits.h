/*
 * permits.h - the place in line of a claim of a semaphore's permits. Pure questions about a line;
 * its owner serialises calls. docs/design/claims.md has the reasons.
 *
 *   fits   permits ahead + own <= limit           the claim holds
 *   heads  permits ahead <= limit < ahead + own   all contenders ahead hold, and the claim
 *                                                 is next; it watches each of them
 *   else   permits ahead > limit                  the claim watches only its predecessor,
 *                                                 whose mark tells it to list again
 *
 * Waiting claims count like holders, so the order is FIFO. Claims ahead only become fewer, so a
 * claim that fits once fits for ever. The mark is a write of a granted claim to its node, which
 * tells the next claim. A claim behind a contender of another kind or limit fails with a conflict.
 */
#ifndef ZKL_PERMITS_H
#define ZKL_PERMITS_H

#include "claim_state.h"

/* Without a node the claim has no place yet, and all contenders are ahead of it. */
bool zkl_permits_fit(const struct zkl_line *line, const struct zkl_claim *claim);

/* The claim fits, or heads. */
bool zkl_permits_all_ahead_hold(const struct zkl_line *line, const struct zkl_claim *claim);

/* A contender ahead of another kind or limit, or NULL. */
struct zkl_contender *zkl_permits_stranger(const struct zkl_line *line,
                                           const struct zkl_claim *claim);

/*
 * By a list that just came, the claim fits and is last. Later claims see in their own lists that it
 * fits, and wait for no mark.
 */
bool zkl_permits_needs_no_mark(const struct zkl_line *line, const struct zkl_claim *claim);

#endif
