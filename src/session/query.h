/* query.h - requests that only ask: they may be asked again. */
#ifndef ZKL_SESSION_QUERY_H
#define ZKL_SESSION_QUERY_H

#include "call.h"
#include "request.h"

void zkl_query_begin(struct zkl_request *request); /* unless the session takes none */
void zkl_query_again(struct zkl_request *request); /* in a moment */
void zkl_query_start_all(struct zkl_session *session);
void zkl_query_answer(struct call *call, const struct answer *answer);

#endif
