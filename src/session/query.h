/* query.h - requests that only ask, and may be repeated. */
#ifndef ZKL_SESSION_QUERY_H
#define ZKL_SESSION_QUERY_H

#include "call.h"
#include "request.h"

enum query_call {
    QUERY_READY,      /* get of the chroot */
    QUERY_CHECK_SYNC, /* zkl_check: the sync, and the get behind it; call->index: which stake */
    QUERY_CHECK_GET,
    QUERY_LIST, /* the queue: a list, and a get of each node; call->index: which entry */
    QUERY_ENTRY,
    QUERY_GET,
    QUERY_CHILDREN,
    QUERY_REVOKE,
    QUERY_BREAK,
    QUERY_CALLS
};

extern const struct call_kind zkl_query_calls[QUERY_CALLS];

/* The request that asked; the call is a query's or a guard's. */
static inline struct zkl_request *zkl_call_request(const struct call *call) {
    return (struct zkl_request *)call->asker;
}

void zkl_query_begin(struct zkl_request *request); /* unless the session takes none */
void zkl_query_again(struct zkl_request *request); /* in a moment */
void zkl_query_start_all(struct zkl_session *session);

#endif
