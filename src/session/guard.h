/*
 * guard.h - transactions that write only while a lease's node exists.
 */
#ifndef ZKL_SESSION_GUARD_H
#define ZKL_SESSION_GUARD_H

#include "call.h"
#include "request.h"

/*
 * With space for `checks` checks and `count` ops. It will own their paths and data. NULL: out of
 * memory.
 */
struct guard *zkl_guard_new(size_t checks, size_t count);
void zkl_guard_remove(struct guard *guard, size_t op);
extern const struct call_kind zkl_guard_call;
void zkl_guard_send(struct zkl_request *request);

#endif
