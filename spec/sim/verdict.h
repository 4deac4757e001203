/*
 * verdict.h - what a session has to say to a wish at once, by what its users have and want: the
 * owner enters again, or would wait for itself; the path is another lock's here; there is no room;
 * or, in most cases, nothing: it contends.
 */
#ifndef VERDICT_H
#define VERDICT_H

#include "world.h"

struct verdict {
    enum zkl_code code; /* ZKL_OK: it enters again, or contends */
    bool again;
    bool inherits;   /* it, or one before it, has what is kept */
    bool at_once;    /* it has that, if the lease clock is certain */
    unsigned claims; /* that the session has before */
};

/* Of one wish, or of several at once. The wish is new. */
struct verdict verdict_of(const struct client *client, const struct wish *wish,
                          const struct zkl_acquire_options asked[], unsigned count);

/* The session was asked, nothing was sent yet: what it said is the verdict, no more was done. */
void verdict_check(const struct client *client, struct wish *wish, const struct verdict *verdict,
                   unsigned count);

/* The lease clock has not ended it, whether or not anybody was told. */
bool verdict_lasts(const struct client *client, const struct zkl_claim *claim);

/* Has the grant, too, or is to have it again after a wait; NULL: no other wish. */
const struct wish *verdict_fellow(const struct client *client, const struct wish *wish,
                                  const struct stake *stake);

#endif
