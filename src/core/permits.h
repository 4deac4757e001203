/*
 * permits.h - the place in line of a claim of a semaphore's permits. Pure questions about a line;
 * its owner serialises calls. docs/design/claims.md has the reasons.
 *
 *   fits   permits ahead + own <= limit          it holds
 *   heads  permits ahead <= limit, own no more   all ahead hold, and it is next; it
 *                                                watches each of them
 *   else   the claim before it does not fit      it watches only that claim, and
 *                                                hears of its mark
 *
 * Waiting claims count like holders, so the order is FIFO. Claims ahead only become fewer, so a
 * claim that fits once fits for ever. A granted claim writes to its node (the mark) to tell the
 * next claim. A claim behind a contender that is no PERMIT of its own limit fails with a conflict.
 */
#ifndef ZKL_PERMITS_H
#define ZKL_PERMITS_H

#include "claim_state.h"

/* Without a node the claim has no place yet, and all contenders are ahead of it. */
bool zkl_permits_fit(const struct zkl_line *line, const struct zkl_claim *claim);

bool zkl_permits_all_ahead_hold(const struct zkl_line *line, const struct zkl_claim *claim);

/* A contender ahead that is no PERMIT of this limit, or NULL. */
struct zkl_contender *zkl_permits_stranger(const struct zkl_line *line,
                                           const struct zkl_claim *claim);

/*
 * For a list that just came, in which the claim fits and is last. Later claims see in their own
 * lists that it fits, and wait for no mark.
 */
bool zkl_permits_needs_no_mark(const struct zkl_line *line, const struct zkl_claim *claim);

#endif
