/*
 * answers.c - sends calls, and passes their answers to the askers.
 *
 * A step, one call into the session, only queues its calls to the server. The shell takes them out
 * when the step is over, so no answer arrives within a step. Each call is answered once, in order.
 * A call that could not be sent is answered, as unknown, once the calls before it are answered.
 */
#include <assert.h>

#include "answers.h"
#include "call.h"
#include "internal.h"
#include "stake_feed.h"

/* --- the meaning of an answer ----------------------------------------------------------------- */

static enum zkl_reply reply_of(int rc) {
    switch (rc) {
    case ZKL_ERROR_NONE: return ZKL_DONE;
    case ZKL_ERROR_NO_NODE: return ZKL_ABSENT;
    case ZKL_ERROR_CONNECTION_LOSS:
    case ZKL_ERROR_OPERATION_TIMEOUT:
    case ZKL_ERROR_RUNTIME_INCONSISTENCY:
    case ZKL_ERROR_SYSTEM:
    case ZKL_ERROR_MARSHALLING:
    case ZKL_ERROR_INVALID_STATE:
    case ZKL_ERROR_SESSION_MOVED:
    case ZKL_ERROR_SESSION_EXPIRED:
    case ZKL_ERROR_CLOSING:
    case ZKL_ERROR_UNKNOWN_SESSION:
    case ZKL_ERROR_REQUEST_TIMEOUT:
    case ZKL_ERROR_THROTTLED: return ZKL_UNKNOWN;
    default: return ZKL_REFUSED;
    }
}

static enum zkl_code code_of(int rc) {
    switch (rc) {
    case ZKL_ERROR_NONE: return ZKL_OK;
    case ZKL_ERROR_NO_NODE: return ZKL_NO_NODE;
    case ZKL_ERROR_NO_AUTH:
    case ZKL_ERROR_AUTH_FAILED:
    case ZKL_ERROR_INVALID_ACL: return ZKL_AUTH;
    case ZKL_ERROR_NODE_EXISTS:
    case ZKL_ERROR_BAD_VERSION:
    case ZKL_ERROR_NOT_EMPTY:
    case ZKL_ERROR_NO_CHILDREN_FOR_EPHEMERALS: return ZKL_CONFLICT;
    default: return ZKL_UNSUPPORTED;
    }
}

/*
 * The leader alone carries such a call out, which proves the session. Parents' creates are left
 * out.
 */
static bool is_proof(const struct call *call) {
    enum zkl_rpc_kind kind = call->rpc.kind;
    bool by_leader = kind == ZKL_RPC_WRITE || kind == ZKL_RPC_MULTI || kind == ZKL_RPC_SYNC;
    return by_leader && !call->kind->makes_parent;
}

/* By the server's own rc, because its watch is set even if zkl_reply_sift() rejects the answer. */
static bool sets_watch(const struct call *call, int rc) {
    return rc == ZKL_ERROR_NONE || (rc == ZKL_ERROR_NO_NODE && call->rpc.kind == ZKL_RPC_EXISTS);
}

static void count_round_trip(const struct call *call, const struct answer *answer) {
    if (answer->reply == ZKL_UNKNOWN || call->unsent_error) return;
    zkl_histogram_add(&call->session->totals.round_trip, answer->now - call->issued_at);
}

static void complete(struct call *call, struct answer answer) {
    struct zkl_session *session = call->session;
    bool watched = sets_watch(call, answer.rc);
    zkl_reply_sift(call, &answer);
    answer.now = session->now;
    answer.reply = reply_of(answer.rc);
    answer.why = code_of(answer.rc);
    zkl_call_unlink(call);
    count_round_trip(call, &answer);
    if (answer.rc == ZKL_ERROR_NONE && is_proof(call))
        zkl_clock_prove(&session->common.clock, call->issued_at, answer.now);
    if (call->watch) zkl_watches_note_answer(&session->watches, call->watch, watched);
    if (call->kind->answer) call->kind->answer(call, &answer);
    zkl_call_free(call);
}

/* --- sending and answering ------------------------------------------------------------------ */

static void answer_unsent(struct zkl_session *session) {
    struct call *call;
    while ((call = session->calls) && call->unsent_error && call != session->to_send)
        complete(call, (struct answer){.rc = call->unsent_error});
}

static const struct zkl_rpc *take_next(struct zkl_session *session) {
    struct call *call;
    while ((call = session->to_send)) {
        session->to_send = call->next;
        call->issued_at = session->now;
        if (session->state == ZKL_SESSION_CONNECTED && !call->unsent_error) return &call->rpc;
        zkl_call_mark_unsent(call, ZKL_ERROR_CONNECTION_LOSS);
        answer_unsent(session);
    }
    return NULL;
}

const struct zkl_rpc *zkl_session_next_rpc(zkl_session *session) {
    const struct zkl_rpc *next = take_next(session);
    if (next || !session->has_unallocated) return next;
    zkl_stake_answer_unallocated(session);
    return take_next(session);
}

/* NULL: no call of this id is out. */
static struct call *find(const struct zkl_session *session, uint64_t id) {
    struct call *call = session->calls;
    while (call && call != session->to_send && call->rpc.id != id) call = call->next;
    return call == session->to_send ? NULL : call;
}

static struct answer read_answer(const struct call *call, const struct zkl_answer *answer) {
    struct answer read = {.rc = answer->error,
                          .text = answer->data,
                          .size = answer->size,
                          .stat = answer->stat,
                          .names = answer->names,
                          .count = answer->count,
                          .results = answer->results};
    if (call->rpc.kind != ZKL_RPC_WRITE || !read.results) return read;
    read.text = read.results->created;
    read.stat = call->op.kind == ZKL_OP_DELETE ? NULL : &read.results->stat;
    return read;
}

void zkl_session_answer(zkl_session *session, uint64_t rpc, const struct zkl_answer *answer) {
    struct call *call = find(session, rpc);
    bool over =
        answer->error == ZKL_ERROR_SESSION_EXPIRED || answer->error == ZKL_ERROR_UNKNOWN_SESSION;
    if (!call) return;
    assert(call == session->calls); /* in the order of the requests */
    if (over) {
        zkl_session_expired(session);
        return;
    }
    complete(call, read_answer(call, answer));
    answer_unsent(session);
}

static void mark_unsent(struct zkl_session *session, uint64_t rpc, enum zkl_error error) {
    struct call *call = find(session, rpc);
    if (call) zkl_call_mark_unsent(call, error);
    answer_unsent(session);
}

void zkl_session_unsent(zkl_session *session, uint64_t rpc) {
    mark_unsent(session, rpc, ZKL_ERROR_CONNECTION_LOSS);
}

void zkl_session_unimplemented(zkl_session *session, uint64_t rpc) {
    mark_unsent(session, rpc, ZKL_ERROR_UNIMPLEMENTED);
}

void zkl_call_answer_all(struct zkl_session *session) {
    bool closed = session->state == ZKL_SESSION_CLOSED;
    int rc = closed ? ZKL_ERROR_CLOSING : ZKL_ERROR_SESSION_EXPIRED;
    while (session->calls) complete(session->calls, (struct answer){.rc = rc});
}
