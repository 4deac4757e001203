/*
 * meter.c - how long acquires wait, grants are held and hand-overs take: for the session, and for
 * the name of the lock, if it has one.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "records.h"

_Static_assert(ZKL_FORKED < ZKL_OUTCOMES, "each code has its place");

/* --- totals ------------------------------------------------------------------------------- */

/* Its number, from 1; 0: out of memory, or there is no place. */
static size_t number_of(struct zkl_totals *totals, const char *name) {
    size_t i = 0;
    while (i < totals->named_count && strcmp(totals->named[i]->name, name) != 0) i++;
    if (i < totals->named_count) return i + 1;
    if (i == ZKL_METERS_MAX) return 0;
    struct zkl_named_meter *named = calloc(1, sizeof *named + strlen(name) + 1);
    if (!named) return 0;
    strcpy(named->name, name);
    totals->named[totals->named_count++] = named;
    return totals->named_count;
}

static void merge(struct zkl_meter *to, const struct zkl_meter *from) {
    zkl_histogram_merge(&to->wait, &from->wait);
    zkl_histogram_merge(&to->hold, &from->hold);
    zkl_histogram_merge(&to->hand_over, &from->hand_over);
    for (size_t i = 0; i < ZKL_OUTCOMES; i++) to->outcomes[i] += from->outcomes[i];
    to->reentries += from->reentries;
}

static void add_stats(struct zkl_stats *to, const struct zkl_stats *from) {
    to->creates += from->creates;
    to->sets += from->sets;
    to->deletes += from->deletes;
    to->lists += from->lists;
    to->gets += from->gets;
    to->exists += from->exists;
    to->syncs += from->syncs;
    to->grants += from->grants;
    to->losses += from->losses;
    to->waits += from->waits;
    to->timeouts += from->timeouts;
    to->reconnects += from->reconnects;
    to->expiries += from->expiries;
    to->orphans += from->orphans;
    to->events += from->events;
    to->in_flight += from->in_flight;
    to->claims += from->claims;
    to->watches += from->watches;
    to->watch_bytes += from->watch_bytes;
    to->paths += from->paths;
    to->watch_removals += from->watch_removals;
    to->untold += from->untold;
}

void zkl_totals_merge(struct zkl_totals *to, const struct zkl_totals *from) {
    add_stats(&to->stats, &from->stats);
    for (size_t i = 0; i <= ZKL_SESSION_CLOSED; i++) to->sessions[i] += from->sessions[i];
    zkl_histogram_merge(&to->round_trip, &from->round_trip);
    merge(&to->meter, &from->meter);
    for (size_t i = 0; i < from->named_count; i++) {
        size_t number = number_of(to, from->named[i]->name);
        if (number) merge(&to->named[number - 1]->meter, &from->named[i]->meter);
    }
}

void zkl_totals_add(struct zkl_totals *totals, zkl_session *session) {
    struct zkl_totals one = session->totals; /* it refers to the session's names */
    zkl_session_stats(session, &one.stats);
    one.sessions[zkl_session_state(session)] = 1;
    zkl_totals_merge(totals, &one);
}

void zkl_totals_clear(struct zkl_totals *totals) {
    for (size_t i = 0; i < totals->named_count; i++) free(totals->named[i]);
    *totals = (struct zkl_totals){0};
}

/* --- a session's meters --------------------------------------------------------------------- */

size_t zkl_session_name_meter(zkl_session *session, const char *name) {
    return number_of(&session->totals, name);
}

struct zkl_meter *zkl_meter_of(const struct zkl_session *session, size_t number) {
    assert(number <= session->totals.named_count);
    return number ? &session->totals.named[number - 1]->meter : NULL;
}

static void count(struct zkl_meter *meter, const struct zkl_request *request) {
    if (request->again) {
        meter->reentries++;
        return;
    }
    meter->outcomes[request->code]++;
    if (request->code == ZKL_OK)
        zkl_histogram_add(&meter->wait, request->session->now - request->begun);
}

void zkl_meter_acquired(const struct zkl_request *request) {
    count(&request->session->totals.meter, request);
    if (request->meter) count(request->meter, request);
}

/* The latest that made its way free: another session's node went, or one of ours gave up. */
static zkl_time free_since(const struct stake *stake) {
    zkl_time given_up_at = stake->path->given_up_at;
    return stake->way_free_at > given_up_at ? stake->way_free_at : given_up_at;
}

void zkl_meter_granted(const struct stake *stake) {
    struct zkl_session *session = stake->session;
    zkl_time since = free_since(stake);
    if (!stake->queued_at || stake->part || since < stake->queued_at) return;
    zkl_histogram_add(&session->totals.meter.hand_over, session->now - since);
    if (stake->meter) zkl_histogram_add(&stake->meter->hand_over, session->now - since);
}

void zkl_meter_held(const struct stake *stake, zkl_time held) {
    zkl_histogram_add(&stake->session->totals.meter.hold, held);
    if (stake->meter) zkl_histogram_add(&stake->meter->hold, held);
}
