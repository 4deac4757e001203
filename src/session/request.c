/* request.c - an operation that the host waits for, from its start to its end. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "internal.h"

struct zkl_request *zkl_request_new(struct zkl_session *session, enum request_kind kind,
                                    zkl_time timeout) {
    struct zkl_request *request = calloc(1, sizeof *request);
    if (!request) return NULL;
    request->session = session;
    request->kind = kind;
    request->deadline = zkl_session_after(session, timeout);
    request->id = ++session->last_id;
    request->references = 2; /* the caller's and the list's */
    request->link = &session->requests;
    request->next = session->requests;
    if (request->next) request->next->link = &request->next;
    session->requests = request;
    zkl_session_wake(session, request->deadline);
    return request;
}

struct zkl_request *zkl_request_of(const zkl_lease *lease, enum request_kind kind,
                                   zkl_time timeout) {
    struct stakes stakes;
    if (!zkl_stakes_copy(&stakes, &lease->stakes)) return NULL;
    struct zkl_request *request = zkl_request_new(zkl_lease_session(lease), kind, timeout);
    if (!request) {
        zkl_stakes_drop(&stakes);
        return NULL;
    }
    request->stakes = stakes;
    /* A release has its own answer, and gives up what is lost, too. */
    enum zkl_code ended = kind == REQUEST_RELEASE ? ZKL_OK : zkl_lease_ended(lease);
    if (ended != ZKL_OK) zkl_request_finish(request, ended, 0);
    return request;
}

void zkl_request_hold(struct zkl_request *request) {
    request->references++;
}

void zkl_request_unhold(struct zkl_request *request) {
    if (--request->references > 0) return;
    for (size_t i = 0; i < request->queued; i++) {
        free(request->queue[i].name);
        free(request->queue[i].data);
    }
    zkl_stakes_drop(&request->stakes);
    free(request->queue);
    free(request->path);
    free(request->data);
    zkl_guard_free(request->guard);
    free(request->found);
    free(request);
}

void zkl_request_finish(struct zkl_request *request, enum zkl_code code, int error) {
    if (request->done) return;
    request->done = true;
    request->code = code;
    request->error = error;
    if (code == ZKL_TIMEOUT) request->session->stats.timeouts++;
    *request->link = request->next;
    if (request->next) request->next->link = request->link;
    /* The list's reference becomes the inbox's. */
    zkl_events_post(request->session, &request->done_news, ZKL_EVENT_REQUEST);
}

void zkl_request_conflict(struct zkl_request *request, const char *where, enum zkl_kind kind,
                          int32_t number) {
    static const char *const uses[] = {[ZKL_MUTEX] = "a mutex with order = \"fifo\"",
                                       [ZKL_UNFAIR] = "a mutex with order = \"none\"",
                                       [ZKL_READ] = "a read-write lock",
                                       [ZKL_WRITE] = "a read-write lock"};
    const size_t size = 96;
    static const char turns[] = "a mutex with order = \"turns\"";
    request->found = malloc(size);
    if (request->found && kind == ZKL_PERMIT)
        snprintf(request->found, size, "%s a semaphore of %" PRId32 " permits", where, number);
    else if (request->found)
        snprintf(request->found, size, "%s %s", where,
                 kind == ZKL_MUTEX && number ? turns : uses[kind]);
    zkl_request_finish(request, ZKL_CONFLICT, 0);
}

/* Its user hears from its claim. */
static bool contends(const struct zkl_request *request) {
    return request->kind == REQUEST_ACQUIRE || request->kind == REQUEST_WAIT;
}

/* Ends a request before its answer. */
static void end(struct zkl_request *request, enum zkl_code why) {
    if (request->done) return;
    struct stake *stake = zkl_stakes_at(&request->stakes, 0);
    if (contends(request)) zkl_stake_perform(stake, zkl_claim_cancel(&stake->claim, why));
    else zkl_request_finish(request, why, 0);
}

/* When to end the first, or to ask again. */
zkl_time zkl_request_due(const struct zkl_session *session) {
    bool connected = session->state == ZKL_SESSION_CONNECTED;
    zkl_time due = ZKL_NEVER;
    for (const struct zkl_request *each = session->requests; each; each = each->next) {
        bool asks = each->ask_at && !each->calls && connected;
        if (each->deadline < due) due = each->deadline;
        if (asks && each->ask_at < due) due = each->ask_at;
    }
    return due;
}

void zkl_request_overdue(struct zkl_session *session, zkl_time now) {
    struct zkl_request *request = session->requests;
    while (request) {
        struct zkl_request *next = request->next;
        if (now >= request->deadline) end(request, ZKL_TIMEOUT);
        request = next;
    }
}

/* What a request ends with when the session does, for `code`. */
static enum zkl_code verdict(const struct zkl_request *request, enum zkl_code code) {
    bool of_lease = request->kind == REQUEST_CHECK || request->kind == REQUEST_SHARE ||
                    request->kind == REQUEST_GUARD;
    return of_lease && code == ZKL_EXPIRED ? ZKL_LOST : code;
}

/* Its user hears from its claim, or from its own answer: it may have been carried out. */
static bool goes_on(const struct zkl_request *request, enum zkl_code code) {
    if (contends(request)) return true;
    return request->kind == REQUEST_GUARD && request->calls && code == ZKL_EXPIRED;
}

void zkl_request_fail_all(struct zkl_session *session, enum zkl_code code) {
    struct zkl_request *request = session->requests;
    while (request) {
        struct zkl_request *next = request->next;
        if (!goes_on(request, code)) zkl_request_finish(request, verdict(request, code), 0);
        request = next;
    }
}

zkl_session *zkl_request_session(const zkl_request *request) {
    return request->session;
}

uint64_t zkl_request_id(const zkl_request *request) {
    return request->id;
}

bool zkl_request_done(const zkl_request *request) {
    return request->done;
}

enum zkl_code zkl_request_code(const zkl_request *request) {
    return request->code;
}

const char *zkl_request_detail(const zkl_request *request) {
    return request->found ? request->found : zkl_error_words(request->error);
}

zkl_lease *zkl_request_lease(zkl_request *request) {
    zkl_lease *lease = NULL;
    if (request->lease) lease = calloc(1, sizeof *lease);
    if (lease && zkl_stakes_copy(&lease->stakes, &request->stakes)) {
        request->lease = false;
        lease->kind = request->lease_kind;
    } else {
        free(lease);
        lease = NULL;
    }
    return lease;
}

const char *zkl_request_data(const zkl_request *request, size_t *size, int32_t *version) {
    *size = request->size;
    *version = request->version;
    return request->data;
}

const struct zkl_queued *zkl_request_queue(const zkl_request *request, size_t *count) {
    *count = request->queued;
    return request->queue;
}

void zkl_request_cancel(zkl_request *request, enum zkl_code why) {
    end(request, why);
}

/* Nobody will ask what this note is about. */
static void unpost(struct zkl_request *request, struct news *news) {
    if (!news->posted) return;
    zkl_events_remove(request->session, news);
    zkl_request_unhold(request);
}

void zkl_request_drop(zkl_request *request) {
    end(request, ZKL_INTERRUPTED);
    if (request->lease) zkl_lease_give_up_all(&request->stakes, request->lease_kind);
    request->lease = false;
    unpost(request, &request->queued_news);
    unpost(request, &request->done_news);
    zkl_request_unhold(request);
}
