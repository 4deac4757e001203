/*
 * signal.c - a list, and then a write to the node of the first waiter, or of each. The write is
 * carried out only while the lease's node exists.
 *
 * The write has version 0, so a waiter that has a signal refuses it, and is passed over like a
 * waiter that is gone. A write whose answer was lost is followed by another list and more writes.
 * If it was carried out, the next write signals another waiter.
 */
#include <stdlib.h>
#include <string.h>

#include "guard.h"
#include "lease.h"
#include "query.h"
#include "signal.h"

/* Writes in one transaction. */
#ifndef SIGNALS_AT_ONCE
#define SIGNALS_AT_ONCE 1000
#endif

/* --- the next transaction ---------------------------------------------------------------- */

static bool has_signal(const struct zkl_queued *waiter) {
    return waiter->size == strlen(ZKL_SIGNAL_DATA) &&
           memcmp(waiter->data, ZKL_SIGNAL_DATA, waiter->size) == 0;
}

/* False: out of memory. */
static bool add(struct guard *guard, const char *folder, const struct zkl_queued *waiter) {
    char *path = zkl_path_join(folder, waiter->name), *data = strdup(ZKL_SIGNAL_DATA);
    guard->ops[guard->count++] = (struct zkl_op){
        .kind = ZKL_OP_SET, .path = path, .data = data, .size = strlen(ZKL_SIGNAL_DATA)};
    return path && data;
}

/* Writes to waiters that are not known to be signalled. NULL: out of memory. */
static struct guard *next_writes(struct zkl_request *request) {
    size_t most = request->signal_all ? SIGNALS_AT_ONCE : 1;
    struct guard *guard = zkl_guard_new(request->parts.count, most);
    bool enough = guard != NULL;
    if (guard) guard->count = guard->checks;
    while (enough && request->visited < request->queue_length &&
           guard->count < guard->checks + most) {
        const struct zkl_queued *waiter = &request->queue[request->visited++];
        if (!has_signal(waiter)) enough = add(guard, request->path, waiter);
    }
    if (enough) return guard;
    zkl_guard_free(guard);
    return NULL;
}

static void drop_writes(struct zkl_request *request) {
    zkl_guard_free(request->guard);
    request->guard = NULL;
}

/* If nothing was written the server has not checked the lease. */
static void finish(struct zkl_request *request) {
    enum zkl_code code = request->signal_count ? ZKL_OK : zkl_parts_end_code(&request->parts);
    zkl_request_finish(request, code, 0);
}

void zkl_signal_next(struct zkl_request *request) {
    drop_writes(request);
    if (request->signal_count && !request->signal_all) {
        finish(request);
        return;
    }
    request->guard = next_writes(request);
    if (!request->guard) zkl_request_finish(request, ZKL_NO_MEMORY, 0);
    else if (request->guard->count == request->guard->checks) finish(request);
    else zkl_guard_send(request);
}

/* --- and its answer ---------------------------------------------------------------------- */

static void pass_over(struct zkl_request *request, size_t op) {
    struct guard *guard = request->guard;
    zkl_guard_remove(guard, op);
    if (guard->count > guard->checks) zkl_guard_send(request);
    else zkl_signal_next(request);
}

static void list_anew(struct zkl_request *request) {
    drop_writes(request);
    request->visited = 0;
    zkl_query_again(request);
}

void zkl_signal_answer_writes(struct zkl_request *request, enum zkl_code code, int error) {
    const struct guard *guard = request->guard;
    bool passes_over = code == ZKL_CONFLICT || code == ZKL_NO_NODE;
    if (code == ZKL_OK) {
        request->signal_count += guard->count - guard->checks;
        zkl_signal_next(request);
    } else if (code == ZKL_IN_DOUBT) {
        list_anew(request);
    } else if (passes_over && guard->refused_op) {
        pass_over(request, guard->checks + guard->refused_op - 1);
    } else {
        zkl_request_finish(request, code, error);
    }
}

/* --- the way in, and the results -------------------------------------------------------------- */

zkl_request *zkl_signal(zkl_lease *lease, const char *folder, bool all, zkl_time timeout) {
    struct zkl_request *request = zkl_request_new_about_lease(lease, REQUEST_SIGNAL, timeout);
    if (!request || zkl_request_done(request)) return request;
    request->signal_all = all;
    request->lock_kind = ZKL_MUTEX;
    request->path = strdup(folder);
    if (zkl_kind_is_fixed(zkl_parts_at(&lease->parts, 0)->claim.kind))
        zkl_request_finish(request, ZKL_UNSUPPORTED, 0);
    else if (!request->path) zkl_request_finish(request, ZKL_NO_MEMORY, 0);
    else zkl_query_begin(request);
    return request;
}

size_t zkl_request_signal_count(const zkl_request *request) {
    return request->kind == REQUEST_SIGNAL ? request->signal_count : 0;
}
