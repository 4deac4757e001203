/* guard.h - writes that are carried out only while a lease's node exists. */
#ifndef ZKL_SESSION_GUARD_H
#define ZKL_SESSION_GUARD_H

#include "call.h"
#include "request.h"

/*
 * A guard to fill in: `checks` checks of own nodes, and `count` ops, whose paths and data it frees.
 * NULL: out of memory.
 */
struct guard *zkl_guard_new(size_t checks, size_t count);
void zkl_guard_remove(struct guard *guard, size_t op);
extern const struct call_kind zkl_guard_call;
void zkl_guard_send(struct zkl_request *request);

#endif
