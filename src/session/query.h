/*
 * query.h - requests that may be repeated.
 *
 *     request = zkl_request_new(session, REQUEST_GET, timeout);
 *     zkl_query_begin(request);
 */
#ifndef ZKL_SESSION_QUERY_H
#define ZKL_SESSION_QUERY_H

#include "call.h"
#include "request.h"

enum query_call {
    QUERY_READY,      /* get of the chroot */
    QUERY_CHECK_SYNC, /* a sync of zkl_check() */
    QUERY_CHECK_GET,  /* and a get for each part, the call->index */
    QUERY_LIST,       /* the list of zkl_queue() */
    QUERY_ENTRY,      /* and a get for each entry, the call->index */
    QUERY_GET,
    QUERY_CHILDREN,
    QUERY_REVOKE,
    QUERY_BREAK,
    QUERY_CALLS
};

extern const struct call_kind zkl_query_calls[QUERY_CALLS];

static inline struct zkl_request *zkl_call_request(const struct call *call) {
    return (struct zkl_request *)call->asker;
}

void zkl_query_begin(struct zkl_request *request);     /* or ends it, if refused */
void zkl_query_again(struct zkl_request *request);     /* after a moment, unless its lease ended */
void zkl_query_start_due(struct zkl_session *session); /* requests that are due */

#endif
