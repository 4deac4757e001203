/*
 * coverage.h - counts of events by state of the claim machine. Each cell is reached, or coverage.c
 * has a reason why it cannot be.
 */
#ifndef COVERAGE_H
#define COVERAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "world.h"

enum event {
    EVENT_START,
    EVENT_ADOPT,
    EVENT_CANCEL,
    EVENT_RELEASE,
    EVENT_DOWNGRADE,
    EVENT_YIELD,
    EVENT_OFFER_KEPT,
    EVENT_AWAIT,
    EVENT_PARTNER_CHANGED,
    /* four replies to each request, as in enum zkl_reply */
    EVENT_PARENTS,
    EVENT_CREATED = EVENT_PARENTS + 4,
    EVENT_SYNCED = EVENT_CREATED + 4,
    EVENT_LISTED = EVENT_SYNCED + 4,
    EVENT_RANKED = EVENT_LISTED + 4,
    EVENT_GOT_OWN = EVENT_RANKED + 4,
    EVENT_GOT_AHEAD = EVENT_GOT_OWN + 4,
    EVENT_GOT_LOOKAHEAD = EVENT_GOT_AHEAD + 4,
    EVENT_REMOVED = EVENT_GOT_LOOKAHEAD + 4,
    EVENT_DOWNGRADED = EVENT_REMOVED + 4,
    EVENT_MARKED = EVENT_DOWNGRADED + 4,
    EVENT_FORWARDED = EVENT_MARKED + 4,
    EVENT_PASSED_OVER = EVENT_FORWARDED + 4,
    EVENT_FIXED_EXISTS,
    EVENT_LOCK_NODE_GONE,
    EVENT_AHEAD_IS_HELD,
    EVENT_MARK_OVERWRITTEN,
    EVENT_SIGNALLED,
    /* watch events, the connection, time */
    EVENT_OWN_DELETED,
    EVENT_OWN_CHANGED,
    EVENT_AHEAD_DELETED,
    EVENT_AHEAD_CHANGED,
    EVENT_LOOKAHEAD_DELETED,
    EVENT_LOOKAHEAD_CHANGED,
    EVENT_CONTENDED,
    EVENT_WAKE,
    EVENT_AHEAD_MARKED,
    EVENT_RESUME,
    EVENT_SUSPEND,
    EVENT_EXPIRE,
    EVENT_TICK,
    EVENT_DEADLINE,
    EVENT_RUN_OUT,
    EVENT_KEPT_LONG,
    EVENT_BEAT,
    EVENTS
};

enum { STATES = ZKL_GONE + 1 };

extern uint64_t coverage[EVENTS][STATES];

const char *coverage_event_name(enum event event);

bool coverage_is_possible(enum event event, enum zkl_claim_state state);

void coverage_print(void);

#endif
