/*
 * records.c - stakes, requests and watchers are counted, by whatever refers to them; how a request
 * begins and ends; several stakes as one; when the session has something to do.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "records.h"

/* --- time -------------------------------------------------------------------------------- */

void zkl_session_wake(struct zkl_session *session, zkl_time due) {
    if (due < session->due) session->due = due;
}

zkl_time zkl_session_after(const struct zkl_session *session, zkl_time timeout) {
    return timeout >= ZKL_NEVER - session->now ? ZKL_NEVER : session->now + timeout;
}

/* --- stakes ------------------------------------------------------------------------------ */

void zkl_stake_ref(struct stake *stake) {
    stake->references++;
}

void zkl_stake_unref(struct stake *stake) {
    assert(stake->references > 0);
    if (--stake->references > 0) return;
    if (stake->data != stake->session->identity) free(stake->data);
    free(stake->marked_data);
    free(stake->owner);
    free(stake);
}

/* --- one stake, or several ------------------------------------------------------------- */

void zkl_stakes_set(struct stakes *stakes, struct stake *one) {
    zkl_stake_ref(one);
    stakes->one = one;
    stakes->count = 1;
}

bool zkl_stakes_copy(struct stakes *to, const struct stakes *from) {
    struct stakes copy = *from;
    if (from->many) {
        copy.many = malloc(from->count * sizeof(struct stake *));
        if (!copy.many) return false;
        memcpy(copy.many, from->many, from->count * sizeof(struct stake *));
    }
    *to = copy;
    for (size_t i = 0; i < to->count; i++) zkl_stake_ref(zkl_stakes_at(to, i));
    return true;
}

void zkl_stakes_drop(struct stakes *stakes) {
    for (size_t i = 0; i < stakes->count; i++) zkl_stake_unref(zkl_stakes_at(stakes, i));
    free(stakes->many);
    *stakes = (struct stakes){0};
}

struct stake *zkl_stakes_at(const struct stakes *stakes, size_t i) {
    return stakes->many ? stakes->many[i] : stakes->one;
}

bool zkl_stakes_have(const struct stakes *stakes, const struct stake *stake) {
    for (size_t i = 0; i < stakes->count; i++)
        if (zkl_stakes_at(stakes, i) == stake) return true;
    return false;
}

/* --- watchers ---------------------------------------------------------------------------- */

void zkl_reading_forget(struct reading *reading) {
    free(reading->data);
    *reading = (struct reading){0};
}

void zkl_watcher_ref(struct zkl_watcher *watcher) {
    watcher->references++;
}

void zkl_watcher_unref(struct zkl_watcher *watcher) {
    assert(watcher->references > 0);
    if (--watcher->references > 0) return;
    zkl_reading_forget(&watcher->seen);
    zkl_reading_forget(&watcher->told);
    free(watcher);
}

/* --- requests ---------------------------------------------------------------------------- */

void zkl_op_forget(const struct zkl_op *op) {
    free((char *)op->path);
    free((char *)op->data);
}

void zkl_guard_free(struct guard *guard) {
    if (!guard) return;
    for (size_t i = 0; i < guard->count; i++) zkl_op_forget(&guard->ops[i]);
    free(guard);
}

enum zkl_code zkl_request_refusal(const struct zkl_session *session) {
    if (session->closing) return ZKL_CLOSED;
    if (session->refused) return ZKL_AUTH;
    if (session->state == ZKL_SESSION_EXPIRED && !session->reopen) return ZKL_EXPIRED;
    return ZKL_OK;
}

/*
 * A number that no other request has: small, and used again, for hosts that keep a table by it.
 * 0: out of memory.
 */
static uint64_t take_number(struct zkl_session *session) {
    struct numbers *numbers = &session->numbers;
    if (numbers->free_count > 0) return numbers->free[--numbers->free_count];
    if (numbers->count == numbers->room) {
        size_t room = numbers->room ? 2 * numbers->room : 8;
        uint64_t *larger = realloc(numbers->free, room * sizeof *larger);
        if (!larger) return 0;
        numbers->free = larger;
        numbers->room = room;
    }
    return ++numbers->count;
}

/* There is room for all that were ever taken. */
static void give_number(struct zkl_session *session, uint64_t number) {
    session->numbers.free[session->numbers.free_count++] = number;
}

struct zkl_request *zkl_request_new(struct zkl_session *session, enum request_kind kind,
                                    zkl_time timeout) {
    struct zkl_request *request = calloc(1, sizeof *request);
    uint64_t number = request ? take_number(session) : 0;
    if (number == 0) {
        free(request);
        return NULL;
    }
    request->session = session;
    request->kind = kind;
    request->begun = session->now;
    request->deadline = zkl_session_after(session, timeout);
    request->id = number;
    request->references = 2; /* the caller's and the list's */
    request->link = &session->requests;
    request->next = session->requests;
    if (request->next) request->next->link = &request->next;
    session->requests = request;
    zkl_session_wake(session, request->deadline);
    return request;
}

void zkl_request_ref(struct zkl_request *request) {
    request->references++;
}

void zkl_request_forget_queue(struct zkl_request *request) {
    for (size_t i = 0; i < request->queued; i++) {
        free(request->queue[i].name);
        free(request->queue[i].data);
    }
    free(request->queue);
    request->queue = NULL;
    request->queued = 0;
}

void zkl_request_unref(struct zkl_request *request) {
    assert(request->references > 0);
    if (--request->references > 0) return;
    give_number(request->session, request->id);
    zkl_request_forget_queue(request);
    zkl_stakes_drop(&request->stakes);
    free(request->path);
    free(request->data);
    zkl_guard_free(request->guard);
    free(request->found);
    free(request);
}

void zkl_request_finish(struct zkl_request *request, enum zkl_code code, int error) {
    if (request->done) return;
    request->done = true;
    request->code = code != ZKL_OK && request->effects ? ZKL_IN_DOUBT : code;
    request->error = error;
    if (code == ZKL_TIMEOUT) request->session->stats.timeouts++;
    if (request->kind == REQUEST_ACQUIRE) zkl_meter_acquired(request);
    *request->link = request->next;
    if (request->next) request->next->link = request->link;
    /* The list's reference becomes the inbox's. */
    zkl_events_post(request->session, &request->done_news, ZKL_EVENT_REQUEST);
}

void zkl_request_conflict(struct zkl_request *request, const char *where, enum zkl_kind kind,
                          int32_t number) {
    static const char *const uses[] = {[ZKL_UNFAIR] = "a mutex with order = \"none\"",
                                       [ZKL_READ] = "a read-write lock",
                                       [ZKL_WRITE] = "a read-write lock"};
    static const char *const mutexes[] = {[USE_FIFO] = "a mutex with order = \"fifo\"",
                                          [USE_COUNTING] = "a mutex with token = \"turns\"",
                                          [USE_TURNS] = "a mutex with order = \"turns\""};
    const size_t size = 96;
    request->found = malloc(size);
    if (request->found && kind == ZKL_PERMIT)
        snprintf(request->found, size, "%s a semaphore of %" PRId32 " permits", where, number);
    else if (request->found)
        snprintf(request->found, size, "%s %s", where,
                 kind == ZKL_MUTEX ? mutexes[number] : uses[kind]);
    zkl_request_finish(request, ZKL_CONFLICT, 0);
}
