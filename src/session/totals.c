/* totals.c - sums of the counts of sessions. */
#include <stdlib.h>

#include "internal.h"
#include "meter.h"

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
    to->path_bytes += from->path_bytes;
    to->watch_removals += from->watch_removals;
    to->untold += from->untold;
}

void zkl_totals_merge(struct zkl_totals *to, const struct zkl_totals *from) {
    add_stats(&to->stats, &from->stats);
    for (size_t i = 0; i <= ZKL_SESSION_CLOSED; i++) to->sessions[i] += from->sessions[i];
    zkl_histogram_merge(&to->round_trip, &from->round_trip);
    merge(&to->meter, &from->meter);
    for (size_t i = 0; i < from->named_count; i++) {
        size_t number = zkl_meter_find_or_add(to, from->named[i]->name);
        if (number) merge(&to->named[number - 1]->meter, &from->named[i]->meter);
    }
}

void zkl_totals_add(struct zkl_totals *totals, zkl_session *session) {
    struct zkl_totals one = session->totals; /* it refers to the session's names */
    zkl_session_stats(session, &one.stats);
    one.sessions[zkl_session_state(session)] = 1;
    zkl_totals_merge(totals, &one);
}

/* Adds neither its state nor what it has now. */
void zkl_totals_add_ended(struct zkl_totals *to, const zkl_session *session) {
    struct zkl_totals one = session->totals;
    one.stats = session->stats; /* unlike zkl_session_stats(), without watches and paths */
    one.stats.in_flight = one.stats.claims = 0;
    zkl_totals_merge(to, &one);
}

void zkl_totals_clear(struct zkl_totals *totals) {
    for (size_t i = 0; i < totals->named_count; i++) free(totals->named[i]);
    free(totals->named);
    totals->named = NULL;
    totals->named_count = 0;
}
