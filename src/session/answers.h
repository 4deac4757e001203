/* answers.h - ends the calls of a session. */
#ifndef ZKL_SESSION_ANSWERS_H
#define ZKL_SESSION_ANSWERS_H

#include "session.h"

/* Answers each call as unknown, because no answer will come. */
void zkl_call_answer_all(struct zkl_session *session);

#endif
