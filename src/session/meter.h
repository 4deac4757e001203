/*
 * meter.h - times and outcomes of acquires, in meters of the session.
 */
#ifndef ZKL_SESSION_METER_H
#define ZKL_SESSION_METER_H

#include "session.h"

struct stake;

struct zkl_meter *zkl_meter_of(const struct zkl_session *session, size_t number); /* 0: NULL */
void zkl_meter_count_acquire(const struct zkl_request *request);
void zkl_meter_add_hand_over(const struct stake *stake);
void zkl_meter_add_hold(const struct stake *stake, zkl_time held);
/* The number of the meter of that name; 0: out of memory. */
size_t zkl_meter_find_or_add(struct zkl_totals *totals, const char *name);

#endif
