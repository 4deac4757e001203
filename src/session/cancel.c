/* cancel.c - ends requests before their answer, by deadline, by their user, or with the session. */
#include "cancel.h"

#include <assert.h>

#include "internal.h"
#include "lease.h"
#include "request.h"
#include "stake_actions.h"

void zkl_request_cancel(zkl_request *request, enum zkl_code why) {
    if (zkl_request_done(request)) return;
    struct stake *stake = zkl_parts_at(&request->parts, 0);
    if (zkl_request_ends_with_claim(request))
        zkl_stake_perform(stake, zkl_claim_cancel(&stake->claim, why));
    else zkl_request_finish(request, why, 0);
}

zkl_time zkl_request_due(const struct zkl_session *session) {
    bool connected = session->state == ZKL_SESSION_CONNECTED;
    zkl_time due = ZKL_NEVER;
    for (const struct zkl_request *each = session->requests; each; each = each->next) {
        bool asks = each->ask_at && !each->asker.calls && connected;
        if (each->deadline < due) due = each->deadline;
        if (asks && each->ask_at < due) due = each->ask_at;
    }
    return due;
}

void zkl_request_end_overdue(struct zkl_session *session) {
    for (struct zkl_request *request = session->requests, *next; request; request = next) {
        next = request->next;
        if (session->now >= request->deadline) zkl_request_cancel(request, ZKL_TIMEOUT);
    }
}

static enum zkl_code code_at_end(const struct zkl_request *request, enum zkl_code code) {
    bool of_lease =
        zkl_request_ends_with_lease(request->kind) || request->kind == REQUEST_DOWNGRADE;
    return of_lease && code != ZKL_CLOSED ? ZKL_LOST : code;
}

/* A pause ends by its caller, and a member's request with its member. */
static bool outlives_expiry(const struct zkl_request *request) {
    bool of_member = request->kind == REQUEST_JOIN || request->kind == REQUEST_SET;
    return request->kind == REQUEST_PAUSE || of_member;
}

void zkl_request_fail_all(struct zkl_session *session, enum zkl_code code) {
    for (struct zkl_request *request = session->requests, *next; request; request = next) {
        next = request->next;
        assert(!zkl_request_ends_with_claim(request)); /* it ended with its claim */
        if (code == ZKL_EXPIRED && outlives_expiry(request)) continue;
        zkl_request_finish(request, code_at_end(request, code), 0);
    }
}

static void release_untaken_lease(struct zkl_request *request) {
    zkl_hold_end(zkl_parts_at(&request->parts, 0), &request->hold);
    if (request->handle) zkl_parts_release_handle(&request->parts, request->lease_kind);
    request->handle = REQUEST_NO_HANDLE;
    zkl_events_remove(request->session, &request->queued_notice);
}

static void drop_untaken_member(struct zkl_request *request) {
    zkl_member *member = zkl_request_member(request);
    if (member) zkl_member_drop(member);
}

/* The caller of the last drain closes the session next, or was cut off. */
static void end_drain(struct zkl_session *session) {
    const struct zkl_request *other = session->requests;
    while (other && other->kind != REQUEST_DRAIN) other = other->next;
    if (!other && session->service != SERVICE_CLOSING) session->service = SERVICE_OPEN;
}

void zkl_request_drop(zkl_request *request) {
    zkl_request_cancel(request, ZKL_INTERRUPTED);
    if (zkl_request_ends_with_claim(request)) release_untaken_lease(request);
    if (request->kind == REQUEST_JOIN) drop_untaken_member(request);
    if (request->kind == REQUEST_DRAIN) end_drain(request->session);
    zkl_events_remove(request->session, &request->done_notice);
    zkl_request_unref(request);
}
