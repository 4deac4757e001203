/* cancel.h - requests that end before their answer. */
#ifndef ZKL_SESSION_CANCEL_H
#define ZKL_SESSION_CANCEL_H

#include "request.h"

zkl_time zkl_request_due(const struct zkl_session *session); /* when the first of them is due */
void zkl_request_overdue(struct zkl_session *session);
void zkl_request_fail_all(struct zkl_session *session, enum zkl_code code);

#endif
