/* request.h - what users ask for and wait for, and their handles on what was granted. */
#ifndef ZKL_SESSION_REQUEST_H
#define ZKL_SESSION_REQUEST_H

#include "call.h"

/* --- request.c: deadlines, and the end with the session -----------------------------------------
 */

zkl_time zkl_request_due(const struct zkl_session *session); /* the first of them */
void zkl_request_overdue(struct zkl_session *session);
void zkl_request_fail_all(struct zkl_session *session, enum zkl_code code);

/* --- lease.c: about handles ----------------------------------------------------------------------
 */

/* About a lease; done already, if it has ended. */
struct zkl_request *zkl_request_of(const zkl_lease *lease, enum request_kind kind,
                                   zkl_time timeout);
void zkl_lease_give_up_all(const struct stakes *stakes, enum zkl_kind kind);

/* --- query.c: requests that only ask -------------------------------------------------------------
 */

void zkl_query_begin(struct zkl_request *request); /* unless it takes none */
void zkl_query_again(struct zkl_request *request); /* in a moment */
void zkl_query_start_all(struct zkl_session *session);
void zkl_query_answer(struct call *call, const struct answer *answer);

/* --- guard.c: writes that are carried out only while a lease's node exists ----------------------
 */

/* To fill in, as many ops as `count` says; each has its path and data. NULL: out of memory. */
struct guard *zkl_guard_new(size_t checks, size_t count);
void zkl_guard_remove(struct guard *guard, size_t op);
void zkl_guard_send(struct zkl_request *request);
void zkl_guard_answer(struct call *call, const struct answer *answer);

/* --- signal.c: signals to the waiters in a condition ---------------------------------------------
 */

/* The list is there, or a write was carried out. */
void zkl_signal_next(struct zkl_request *request);
void zkl_signal_written(struct zkl_request *request, enum zkl_code code, int error);

#endif
