/* reply.h - what may be believed of an answer. */
#ifndef ZKL_SESSION_REPLY_H
#define ZKL_SESSION_REPLY_H

#include "call.h"

void zkl_reply_sift(const struct call *call, struct answer *answer); /* what may be believed */

#endif
