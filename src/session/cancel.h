/* cancel.h - ends requests before their answer. */
#ifndef ZKL_SESSION_CANCEL_H
#define ZKL_SESSION_CANCEL_H

#include "request.h"

/* When the first request meets its deadline, or asks again. */
zkl_time zkl_request_due(const struct zkl_session *session);
void zkl_request_end_overdue(struct zkl_session *session);
void zkl_request_fail_all(struct zkl_session *session, enum zkl_code code);

#endif
