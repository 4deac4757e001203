/* answers.h - where the answers go. */
#ifndef ZKL_SESSION_ANSWERS_H
#define ZKL_SESSION_ANSWERS_H

#include "session.h"

/* No call will get an answer any more, so each is answered as unknown. */
void zkl_call_answer_all(struct zkl_session *session);

#endif
