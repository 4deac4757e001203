/* lease.h - handles on grants. */
#ifndef ZKL_SESSION_LEASE_H
#define ZKL_SESSION_LEASE_H

#include "records.h"

/* About a lease; done already, if it has ended. */
struct zkl_request *zkl_request_of(const zkl_lease *lease, enum request_kind kind,
                                   zkl_time timeout);
/* Why the session takes no acquire now, or not so many; ZKL_OK: it does. */
enum zkl_code zkl_lease_refusal(const struct zkl_session *session,
                                const struct zkl_acquire_options *options, size_t count);
/* Has the request wait for the stake's grant. */
void zkl_lease_attend(struct zkl_request *request, struct stake *stake);
void zkl_lease_give_up_all(const struct stakes *stakes, enum zkl_kind kind);
enum zkl_code zkl_lease_ended(const zkl_lease *lease); /* as zkl_stake_ended() */

#endif
