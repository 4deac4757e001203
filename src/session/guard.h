/*
 * guard.h - writes that are carried out only while a lease's node exists. Internal, under the
 * session's lock.
 */
#ifndef ZKL_SESSION_GUARD_H
#define ZKL_SESSION_GUARD_H

#include "call.h"
#include "request.h"

/*
 * To be filled with `checks` checks of own nodes and `count` ops. It frees the paths and data of
 * all. NULL: out of memory.
 */
struct guard *zkl_guard_new(size_t checks, size_t count);
void zkl_guard_remove(struct guard *guard, size_t op);
extern const struct call_kind zkl_guard_call;
void zkl_guard_send(struct zkl_request *request);

#endif
