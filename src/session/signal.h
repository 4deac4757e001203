/* signal.h - signals to the waiters in a condition. Internal, under the session's lock. */
#ifndef ZKL_SESSION_SIGNAL_H
#define ZKL_SESSION_SIGNAL_H

#include "request.h"

/* A list came, or a write was carried out. */
void zkl_signal_next(struct zkl_request *request);
void zkl_signal_written(struct zkl_request *request, enum zkl_code code, int error);

#endif
