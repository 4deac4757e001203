/* meter.c - times and outcomes of acquires, for the session and for names. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "meter.h"
#include "request.h"
#include "stake.h"

_Static_assert(ZKL_FORKED < ZKL_OUTCOMES, "each code has its place");

/* The number of the meter of that name; 0: there is none. */
static size_t find(const struct zkl_totals *totals, const char *name) {
    for (size_t i = 0; i < totals->named_count; i++)
        if (strcmp(totals->named[i]->name, name) == 0) return i + 1;
    return 0;
}

/* The new meter's number; 0: out of memory. */
static size_t add(struct zkl_totals *totals, const char *name) {
    struct zkl_named_meter **list =
        realloc(totals->named, (totals->named_count + 1) * sizeof(struct zkl_named_meter *));
    if (!list) return 0;
    totals->named = list;
    struct zkl_named_meter *named = calloc(1, sizeof *named + strlen(name) + 1);
    if (!named) return 0;
    strcpy(named->name, name);
    list[totals->named_count++] = named;
    return totals->named_count;
}

size_t zkl_meter_find_or_add(struct zkl_totals *totals, const char *name) {
    size_t number = find(totals, name);
    return number ? number : add(totals, name);
}

size_t zkl_session_name_meter(zkl_session *session, const char *name) {
    struct zkl_totals *totals = &session->totals;
    if (totals->named_count == ZKL_METERS_MAX) return find(totals, name);
    return zkl_meter_find_or_add(totals, name);
}

struct zkl_meter *zkl_meter_of(const struct zkl_session *session, size_t number) {
    assert(number <= session->totals.named_count);
    return number ? &session->totals.named[number - 1]->meter : NULL;
}

static void count(struct zkl_meter *meter, const struct zkl_request *request) {
    if (request->handle == REQUEST_HANDLE_AGAIN) {
        meter->reentries++;
        return;
    }
    meter->outcomes[request->code]++;
    if (request->code == ZKL_OK)
        zkl_histogram_add(&meter->wait, request->session->now - request->begun_at);
}

void zkl_meter_count_acquire(const struct zkl_request *request) {
    count(&request->session->totals.meter, request);
    if (request->meter) count(request->meter, request);
}

/* When the last known hold ahead of the stake ended, another session's or ours. */
static zkl_time free_since(const struct stake *stake) {
    zkl_time hold_ended_at = stake->path->hold_ended_at;
    return stake->ahead_gone_at > hold_ended_at ? stake->ahead_gone_at : hold_ended_at;
}

void zkl_meter_add_hand_over(const struct stake *stake) {
    struct zkl_session *session = stake->session;
    zkl_time since = free_since(stake);
    if (!stake->queued_at || stake->part || since < stake->queued_at) return;
    zkl_histogram_add(&session->totals.meter.hand_over, session->now - since);
    if (stake->meter) zkl_histogram_add(&stake->meter->hand_over, session->now - since);
}

void zkl_meter_add_hold(const struct stake *stake, zkl_time held) {
    zkl_histogram_add(&stake->session->totals.meter.hold, held);
    if (stake->meter) zkl_histogram_add(&stake->meter->hold, held);
}
