/* lease.h - the handles on what was granted. */
#ifndef ZKL_SESSION_LEASE_H
#define ZKL_SESSION_LEASE_H

#include "request.h"
#include "stake.h"

struct zkl_lease {
    struct parts parts;
    enum zkl_kind kind; /* of the handle, not of the grant; unused for a multi-lock */
    struct hold hold;
    enum zkl_code ended; /* RELEASED, or LOST if it was lost before it was given up; OK: neither */
};

/* A new request about a lease; it is done already if the lease has ended. */
struct zkl_request *zkl_request_of(const zkl_lease *lease, enum request_kind kind,
                                   zkl_time timeout);
void zkl_lease_give_up_all(const struct parts *parts, enum zkl_kind kind);

#endif
