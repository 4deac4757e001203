/* multi.h - several stakes that are granted as one. */
#ifndef ZKL_SESSION_MULTI_H
#define ZKL_SESSION_MULTI_H

#include "call.h"
#include "stake.h"

/* The next part that is PART_HELD, or `stake`. */
static inline struct stake *zkl_multi_next_held(const struct stake *stake) {
    const struct zkl_claim *claim = stake->claim.next_part;
    while (claim != &stake->claim && ((const struct stake *)claim)->part != PART_HELD)
        claim = claim->next_part;
    return (struct stake *)claim;
}

bool zkl_multi_is_part(const struct stake *stake); /* false, too, for the only part */
void zkl_multi_create(struct stake *stake);
void zkl_multi_answer_create(const struct call *call, const struct answer *answer);
void zkl_multi_grant(struct stake *stake);   /* the first handle on each part */
void zkl_multi_retreat(struct stake *stake); /* makes other parts give their nodes up */
void zkl_multi_cancel_others(struct stake *stake);
void zkl_multi_release_others(struct stake *stake);

#endif
