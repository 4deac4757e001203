#include "route.h"

#include <assert.h>
#include <stdlib.h>

/* Bounds of the pause before names are resolved again. */
#define SHORTEST (ZKL_SECOND / 10)
#define LONGEST ZKL_SECOND

void zkl_route_init(struct zkl_route *route, uint64_t seed, zkl_time now) {
    *route =
        (struct zkl_route){.attempts = 1, .chance = seed | 1, .open_at = now, .resolve_at = now};
}

void zkl_route_clear(struct zkl_route *route) {
    free(route->stops);
    route->stops = NULL;
    route->count = 0;
}

/* https://www.jstatsoft.org/article/view/v008i14 */
static uint64_t below(struct zkl_route *route, uint64_t limit) {
    route->chance ^= route->chance << 13;
    route->chance ^= route->chance >> 7;
    route->chance ^= route->chance << 17;
    return route->chance % limit;
}

void zkl_route_connected(struct zkl_route *route) {
    route->state = ZKL_ROUTE_CONNECTED;
    route->last = route->chosen;
}

static zkl_time tenth_of(zkl_time timeout) {
    return timeout / 10 > 0 ? timeout / 10 : 1;
}

static zkl_time bounded(zkl_time time) {
    return time < SHORTEST ? SHORTEST : time > LONGEST ? LONGEST : time;
}

void zkl_route_lost(struct zkl_route *route, zkl_time timeout, zkl_time now) {
    for (size_t i = 0; i < route->count; i++) route->stops[i].tried = 0;
    route->state = ZKL_ROUTE_STALE;
    route->resolve_at = now;
    route->open_at = now + bounded(tenth_of(timeout));
}

/* --- names ----------------------------------------------------------------------------------- */

zkl_time zkl_route_resolve_due(const struct zkl_route *route) {
    return route->state == ZKL_ROUTE_CONNECTED ? ZKL_NEVER : route->resolve_at;
}

static uint64_t was_tried(const struct zkl_route *route, uint64_t key) {
    for (size_t i = 0; i < route->count; i++)
        if (route->stops[i].key == key) return route->stops[i].tried;
    return 0;
}

static bool all_tried(const struct zkl_route *route) {
    for (size_t i = 0; i < route->count; i++)
        if (!route->stops[i].tried) return false;
    return true;
}

/* False: out of memory. */
static bool replace(struct zkl_route *route, const uint64_t *keys, size_t count) {
    struct zkl_stop *stops = malloc(count * sizeof *stops);
    if (!stops) return false;
    for (size_t i = 0; i < count; i++)
        stops[i] = (struct zkl_stop){.key = keys[i], .tried = was_tried(route, keys[i])};
    free(route->stops);
    route->stops = stops;
    route->count = count;
    route->first = (size_t)below(route, count);
    return true;
}

void zkl_route_resolved(struct zkl_route *route, const uint64_t *keys, size_t count,
                        zkl_time timeout, zkl_time now) {
    route->resolve_at = now + bounded(tenth_of(timeout));
    if (count == 0 || !replace(route, keys, count)) return;
    bool first = route->state == ZKL_ROUTE_STALE;
    if (first) route->state = ZKL_ROUTE_FRESH;
    if ((first || !all_tried(route)) && route->open_at > now) route->open_at = now;
}

/* --- attempts -------------------------------------------------------------------------------- */

zkl_time zkl_route_due(const struct zkl_route *route) {
    return route->state == ZKL_ROUTE_CONNECTED || route->count == 0 ? ZKL_NEVER : route->open_at;
}

void zkl_route_hurry(struct zkl_route *route, zkl_time by) {
    if (route->open_at > by) route->open_at = by;
}

/*
 * Smallest rank first: untried servers, then the server of the last connection, then the other
 * servers, those tried longest ago first.
 */
static uint64_t rank(const struct zkl_route *route, size_t index) {
    const struct zkl_stop *stop = &route->stops[index];
    return stop->tried == 0 && stop->key == route->last ? 1 : stop->tried;
}

static size_t choose(const struct zkl_route *route) {
    size_t best = route->first;
    for (size_t i = 1; i < route->count; i++) {
        size_t index = (route->first + i) % route->count;
        if (rank(route, index) < rank(route, best)) best = index;
    }
    return best;
}

size_t zkl_route_next(struct zkl_route *route, zkl_time timeout, zkl_time now) {
    assert(route->count > 0 && now >= zkl_route_due(route));
    size_t index = choose(route);
    route->chosen = route->stops[index].key;
    route->stops[index].tried = ++route->attempts;
    if (all_tried(route)) {
        zkl_time tenth = tenth_of(timeout);
        route->open_at = now + tenth + (zkl_time)below(route, (uint64_t)tenth / 2 + 1);
    }
    return index;
}
