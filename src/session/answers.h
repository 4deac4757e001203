/* answers.h - answers of the server, in the order of the requests. */
#ifndef ZKL_SESSION_ANSWERS_H
#define ZKL_SESSION_ANSWERS_H

#include "records.h"

void zkl_call_answer_all(struct zkl_session *session); /* none will be: as unknown */

#endif
