/*
 * query.h - requests that only ask, or do no harm when repeated. Internal, under the session's
 * lock.
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
    QUERY_CHECK_GET,  /* and a get of each stake's node; call->index is the stake's */
    QUERY_LIST,       /* the list of zkl_queue() */
    QUERY_ENTRY,      /* and a get of each contender; call->index is its place */
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

void zkl_query_begin(struct zkl_request *request);     /* or ends it, if the session takes none */
void zkl_query_again(struct zkl_request *request);     /* after a moment */
void zkl_query_start_all(struct zkl_session *session); /* all that are due and have no call out */

#endif
