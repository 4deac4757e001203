/*
 * guard.c - a transaction checks the lease's node and writes. Once it may have been carried out it
 * is never sent again, so a lost answer ends the request in doubt.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "guard.h"
#include "lease.h"
#include "query.h"
#include "signal.h"
#include "stake_feed.h"

const char *const zkl_op_names[] = {[ZKL_OP_SET] = "set",
                                    [ZKL_OP_CREATE] = "create",
                                    [ZKL_OP_DELETE] = "delete",
                                    [ZKL_OP_CHECK] = "check",
                                    NULL};

/* --- a guard ---------------------------------------------------------------------------------- */

static bool copy_op(struct zkl_op *to, const struct zkl_op *from) {
    char *path = strdup(from->path), *data = malloc(from->size + 1);
    if (data && from->size) memcpy(data, from->data, from->size);
    *to = *from;
    to->path = path;
    to->data = data;
    return path && data;
}

struct guard *zkl_guard_new(size_t checks, size_t count) {
    struct guard *guard = calloc(1, sizeof *guard + (checks + count) * sizeof(struct zkl_op));
    if (!guard) return NULL;
    guard->checks = checks;
    guard->count = checks + count;
    for (size_t i = 0; i < checks; i++)
        guard->ops[i] = (struct zkl_op){.kind = ZKL_OP_CHECK, .version = -1};
    return guard;
}

void zkl_guard_remove(struct guard *guard, size_t op) {
    zkl_op_free(&guard->ops[op]);
    guard->count--;
    memmove(&guard->ops[op], &guard->ops[op + 1], (guard->count - op) * sizeof *guard->ops);
}

/* NULL: out of memory. */
static struct guard *copy_ops(const struct zkl_op *ops, size_t count, size_t checks) {
    struct guard *guard = zkl_guard_new(checks, count);
    if (!guard) return NULL;
    for (size_t i = 0; i < count; i++) {
        if (copy_op(&guard->ops[checks + i], &ops[i])) continue;
        zkl_guard_free(guard);
        return NULL;
    }
    return guard;
}

/* --- sending and answering ------------------------------------------------------------------- */

/* Sets the paths of the checks, from the own nodes' present names. False: out of memory. */
static bool fill_checks(struct guard *guard, const struct parts *parts) {
    for (size_t i = 0; i < guard->checks; i++) {
        const struct stake *stake = zkl_parts_at(parts, i);
        free((char *)guard->ops[i].path);
        guard->ops[i].path = zkl_path_join(stake->path->text, stake->claim.node.name);
        if (!guard->ops[i].path) return false;
    }
    return true;
}

void zkl_guard_send(struct zkl_request *request) {
    struct guard *guard = request->guard;
    enum zkl_code ended = zkl_parts_end_code(&request->parts);
    if (ended != ZKL_OK) {
        zkl_request_finish(request, ended, 0);
        return;
    }
    struct call *call = NULL;
    if (fill_checks(guard, &request->parts))
        call = zkl_call_new(request->session, &zkl_guard_call, &request->asker);
    if (!call) {
        zkl_query_again(request);
        return;
    }
    guard->refused_op = 0;
    zkl_call_transact(call, guard->ops, guard->count);
    if (!call->unsent_error) request->effects++;
}

static void finish(struct zkl_request *request, enum zkl_code code, int error) {
    if (request->kind == REQUEST_SIGNAL) zkl_signal_answer_writes(request, code, error);
    else zkl_request_finish(request, code, error);
}

static void take_versions(struct guard *guard, const struct answer *answer) {
    for (size_t i = 0; i < guard->count; i++)
        guard->ops[i].version = answer->results[i].stat.version;
}

static void take_refusal(struct zkl_request *request, size_t op, const struct answer *answer) {
    struct guard *guard = request->guard;
    request->effects--;
    if (op < guard->checks && answer->reply == ZKL_ABSENT) {
        zkl_stake_node_absent(zkl_parts_at(&request->parts, op), guard->ops[op].path);
        zkl_query_again(request); /* by the node's new name, unless the lease ended */
        return;
    }
    if (op >= guard->checks && op < guard->count) guard->refused_op = op - guard->checks + 1;
    finish(request, answer->why, answer->rc);
}

static void answer_guard(const struct call *call, const struct answer *answer) {
    struct zkl_request *request = zkl_call_request(call);
    if (zkl_request_done(request)) return;
    if (call->unsent_error == ZKL_ERROR_UNIMPLEMENTED) {
        finish(request, answer->why, answer->rc);
    } else if (call->unsent_error) {
        zkl_query_again(request);
    } else if (answer->reply == ZKL_UNKNOWN) {
        finish(request, ZKL_IN_DOUBT, answer->rc);
    } else if (answer->reply == ZKL_DONE) {
        take_versions(request->guard, answer);
        finish(request, ZKL_OK, 0);
    } else {
        take_refusal(request, zkl_call_refused_op(call, answer), answer);
    }
}

static void uncount_effect(const struct call *call) {
    zkl_call_request(call)->effects--;
}

const struct call_kind zkl_guard_call = {
    .answer = answer_guard, .is_sound = zkl_answer_is_transaction, .unsent = uncount_effect};

/* --- the way in, and the results -------------------------------------------------------------- */

/* An unfair lock's node may be another's by now, so a check of its name tells nothing. */
zkl_request *zkl_guard(zkl_lease *lease, const struct zkl_op *ops, size_t count, zkl_time timeout) {
    assert(count > 0);
    struct zkl_request *request = zkl_request_new_about_lease(lease, REQUEST_GUARD, timeout);
    if (request && zkl_kind_is_fixed(zkl_parts_at(&lease->parts, 0)->claim.kind))
        zkl_request_finish(request, ZKL_UNSUPPORTED, 0);
    if (request && !zkl_request_done(request)) {
        request->guard = copy_ops(ops, count, lease->parts.count);
        if (request->guard) zkl_query_begin(request);
        else zkl_request_finish(request, ZKL_NO_MEMORY, 0);
    }
    return request;
}

size_t zkl_request_refused_op(const zkl_request *request) {
    return request->guard ? request->guard->refused_op : 0;
}

int32_t zkl_request_version(const zkl_request *request, size_t op) {
    const struct guard *guard = request->guard;
    size_t i = guard ? guard->checks + op - 1 : 0;
    return guard && i < guard->count ? guard->ops[i].version : 0;
}
