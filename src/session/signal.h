/* signal.h - signals to the waiters in a condition. */
#ifndef ZKL_SESSION_SIGNAL_H
#define ZKL_SESSION_SIGNAL_H

#include "request.h"

/* Sends the next writes, once the queue is known or writes were carried out. */
void zkl_signal_next(struct zkl_request *request);
void zkl_signal_answer_writes(struct zkl_request *request, enum zkl_code code, int error);

#endif
