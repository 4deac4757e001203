/*
 * lease.h - the handles on a grant, which belong to their users.
 */
#ifndef ZKL_SESSION_LEASE_H
#define ZKL_SESSION_LEASE_H

#include "request.h"
#include "stake.h"

struct zkl_lease {
    struct parts parts;
    enum zkl_kind kind; /* the handle's, not the grant's; unused for a multi-lock */
    struct hold hold;
    enum zkl_code end_code; /* LOST, RELEASED, or OK: it stands */
};

/* Makes a request, which is done already if the lease has ended. NULL: out of memory. */
struct zkl_request *zkl_request_new_about_lease(const zkl_lease *lease, enum request_kind kind,
                                                zkl_time timeout);
/* Releases a handle of this kind, or a multi-lock's handle on each part. */
void zkl_parts_release_handle(const struct parts *parts, enum zkl_kind kind);

#endif
