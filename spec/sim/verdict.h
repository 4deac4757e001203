/*
 * verdict.h - the right immediate answer to a wish, by the locks and wishes of its session's users.
 * It is a re-entry, a deadlock, another use of the path, no room, or none (the wish contends).
 */
#ifndef VERDICT_H
#define VERDICT_H

#include "world.h"

struct verdict {
    enum zkl_code code; /* ZKL_OK: a re-entry, or the wish contends */
    bool again;         /* a re-entry */
    bool inherits;      /* this wish, or an earlier one, gets the kept node */
    bool at_once;       /* the wish is granted at once if the clock is certain */
    unsigned claims;    /* claims that the session had before */
};

/* The verdict on a new wish, for one path or several. */
struct verdict verdict_of(const struct client *client, const struct wish *wish,
                          const struct zkl_acquire_options asked[], unsigned count);

/* Checks the session's answer, before anything is sent, and the number of its claims. */
void verdict_check(const struct client *client, struct wish *wish, const struct verdict *verdict,
                   unsigned count);

/* True if the claim holds, and its time has not run out, even if nobody was told. */
bool verdict_still_holds(const struct client *client, const struct zkl_claim *claim);

/* Another holder of the grant, perhaps after a wait; NULL: none. */
const struct wish *verdict_fellow(const struct client *client, const struct wish *wish,
                                  const struct stake *stake);

#endif
