/* request.h - deadlines of requests, and their end with the session. */
#ifndef ZKL_SESSION_REQUEST_H
#define ZKL_SESSION_REQUEST_H

#include "records.h"

zkl_time zkl_request_due(const struct zkl_session *session); /* the first of them */
void zkl_request_overdue(struct zkl_session *session, zkl_time now);
void zkl_request_fail_all(struct zkl_session *session, enum zkl_code code);

#endif
