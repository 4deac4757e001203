/* multi.h - several stakes that are granted as one. */
#ifndef ZKL_SESSION_MULTI_H
#define ZKL_SESSION_MULTI_H

#include "call.h"
#include "stake.h"

bool zkl_multi_is_part(const struct stake *stake); /* false, too, for the only part */
void zkl_multi_create(struct stake *stake);
void zkl_multi_answer_create(const struct call *call, const struct answer *answer);
void zkl_multi_grant(struct stake *stake);   /* the first handle on each part */
void zkl_multi_retreat(struct stake *stake); /* makes other parts give their nodes up */
void zkl_multi_cancel_others(struct stake *stake);
void zkl_multi_release_others(struct stake *stake);

#endif
