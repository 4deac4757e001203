/* request.c - begin, end and results of requests. */
#include <assert.h>
#include <stdlib.h>

#include "internal.h"
#include "meter.h"
#include "request.h"

/* --- life ------------------------------------------------------------------------------------ */

void zkl_op_free(const struct zkl_op *op) {
    free((char *)op->path);
    free((char *)op->data);
}

void zkl_guard_free(struct guard *guard) {
    if (!guard) return;
    for (size_t i = 0; i < guard->count; i++) zkl_op_free(&guard->ops[i]);
    free(guard);
}

enum zkl_code zkl_session_refusal(const struct zkl_session *session) {
    if (session->service == SERVICE_CLOSING) return ZKL_CLOSED;
    return session->state == ZKL_SESSION_EXPIRED ? session->after_expiry : ZKL_OK;
}

/* A small number, as programs keep tables by it. 0: out of memory. */
static uint64_t take_number(struct zkl_session *session) {
    struct request_numbers *numbers = &session->request_numbers;
    if (numbers->free_count > 0) return numbers->free[--numbers->free_count];
    if (numbers->count == numbers->capacity) {
        size_t room = numbers->capacity ? 2 * numbers->capacity : 8;
        uint64_t *larger = realloc(numbers->free, room * sizeof *larger);
        if (!larger) return 0;
        numbers->free = larger;
        numbers->capacity = room;
    }
    return ++numbers->count;
}

static void give_number(struct zkl_session *session, uint64_t number) {
    session->request_numbers.free[session->request_numbers.free_count++] = number;
}

void zkl_request_free_queue(struct zkl_request *request) {
    for (size_t i = 0; i < request->queue_length; i++) {
        free(request->queue[i].name);
        free(request->queue[i].data);
    }
    free(request->queue);
    request->queue_length = 0;
}

static bool has_data(const struct zkl_request *request) {
    return request->kind == REQUEST_GET || request->kind == REQUEST_CHILDREN;
}

static void destroy(struct asker *asker) {
    struct zkl_request *request = (struct zkl_request *)asker;
    give_number(request->session, asker->id);
    if (zkl_request_has_queue(request)) zkl_request_free_queue(request);
    if (has_data(request)) free(request->data);
    zkl_parts_drop(&request->parts);
    free(request->path);
    zkl_guard_free(request->guard);
    free(request);
}

void zkl_request_ref(struct zkl_request *request) {
    zkl_asker_ref(&request->asker);
}

void zkl_request_unref(struct zkl_request *request) {
    zkl_asker_unref(&request->asker);
}

/* Stops of the process that no longer keep claims from being granted. */
static uint64_t stops_over(const struct zkl_session *session) {
    const struct zkl_clock *clock = &session->common.clock;
    bool delays = session->now < zkl_clock_grants_from(clock);
    return clock->stops - delays;
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
    request->begun_at = session->now;
    request->deadline = zkl_session_after(session, timeout);
    request->stops = stops_over(session);
    request->asker = (struct asker){
        .destroy = destroy, .id = number, .references = 2 /* the caller's and the list's */};
    request->link = &session->requests;
    request->next = session->requests;
    if (request->next) request->next->link = &request->next;
    session->requests = request;
    zkl_session_tick_by(session, request->deadline);
    return request;
}

static void describe_queued(const struct asker *asker, struct zkl_event *event) {
    event->position = ((const struct zkl_request *)asker)->position;
}

static const struct notice_kind queued = {
    ZKL_EVENT_QUEUED, ZKL_NOTICE_OFFSET(struct zkl_request, queued_notice), describe_queued};
static const struct notice_kind done = {ZKL_EVENT_REQUEST,
                                        ZKL_NOTICE_OFFSET(struct zkl_request, done_notice), NULL};

void zkl_request_post_position(struct zkl_request *request, size_t position) {
    request->position = position;
    zkl_events_post(request->session, &request->queued_notice, &queued);
}

void zkl_request_finish(struct zkl_request *request, enum zkl_code code, int error) {
    if (zkl_request_done(request)) return;
    request->code = code != ZKL_OK && request->effects ? ZKL_IN_DOUBT : code;
    request->error = error;
    if (code == ZKL_TIMEOUT && request->kind != REQUEST_PAUSE) request->session->stats.timeouts++;
    if (request->kind == REQUEST_ACQUIRE) zkl_meter_count_acquire(request);
    *request->link = request->next;
    if (request->next) request->next->link = request->link;
    request->link = NULL;
    zkl_events_post(request->session, &request->done_notice, &done);
    zkl_request_unref(request); /* the list's reference */
}

enum zkl_use zkl_use_of(enum zkl_kind kind) {
    static const enum zkl_use uses[] = {[ZKL_MUTEX] = ZKL_USE_FIFO,
                                        [ZKL_UNFAIR] = ZKL_USE_UNFAIR,
                                        [ZKL_READ] = ZKL_USE_READ_WRITE,
                                        [ZKL_WRITE] = ZKL_USE_READ_WRITE,
                                        [ZKL_PERMIT] = ZKL_USE_SEMAPHORE};
    return uses[kind];
}

void zkl_request_finish_conflict(struct zkl_request *request, struct zkl_conflict conflict) {
    request->conflict = conflict;
    zkl_request_finish(request, ZKL_CONFLICT, 0);
}

/* --- answers at once ------------------------------------------------------------------------ */

uint64_t zkl_request_id(const zkl_request *request) {
    return request->asker.id;
}

bool zkl_request_done(const zkl_request *request) {
    return !request->link;
}

enum zkl_code zkl_request_code(const zkl_request *request) {
    assert(zkl_request_done(request));
    return request->code;
}

const char *zkl_request_detail(const zkl_request *request) {
    return zkl_error_words(request->error);
}

uint64_t zkl_request_stops(const zkl_request *request) {
    return request->session->common.clock.stops - request->stops;
}

struct zkl_conflict zkl_request_conflict(const zkl_request *request) {
    return zkl_request_ends_with_claim(request) ? request->conflict : (struct zkl_conflict){0};
}

const char *zkl_request_data(const zkl_request *request, size_t *size, int32_t *version) {
    bool has = has_data(request);
    *size = has ? request->size : 0;
    *version = has ? request->version : 0;
    return has ? request->data : NULL;
}

const struct zkl_queued *zkl_request_queue(const zkl_request *request, size_t *count) {
    bool has = zkl_request_has_queue(request);
    *count = has ? request->queue_length : 0;
    return has ? request->queue : NULL;
}

/* --- a pause ---------------------------------------------------------------------------------- */

zkl_request *zkl_pause(zkl_session *session, zkl_time timeout) {
    struct zkl_request *request = zkl_request_new(session, REQUEST_PAUSE, timeout);
    enum zkl_code code = zkl_session_refusal(session);
    if (request && code != ZKL_OK) zkl_request_finish(request, code, 0);
    return request;
}
