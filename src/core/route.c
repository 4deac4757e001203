#include "route.h"

#include <assert.h>
#include <stdlib.h>

/* Bounds of a moment. */
#define SHORTEST (ZKL_SECOND / 10)
#define LONGEST ZKL_SECOND

void zkl_route_init(struct zkl_route *route, uint64_t seed, zkl_time now) {
    *route = (struct zkl_route){
        .attempt_number = 1, .random_state = seed | 1, .attempt_at = now, .resolve_at = now};
}

void zkl_route_clear(struct zkl_route *route) {
    free(route->servers);
    route->servers = NULL;
    route->count = 0;
}

/* https://www.jstatsoft.org/article/view/v008i14 */
static uint64_t random_below(struct zkl_route *route, uint64_t limit) {
    route->random_state ^= route->random_state << 13;
    route->random_state ^= route->random_state >> 7;
    route->random_state ^= route->random_state << 17;
    return route->random_state % limit;
}

void zkl_route_connected(struct zkl_route *route, uint64_t key) {
    route->state = ZKL_ROUTE_CONNECTED;
    route->connection_key = key;
}

static zkl_time tenth_of(zkl_time timeout) {
    return timeout / 10 > 0 ? timeout / 10 : 1;
}

zkl_time zkl_route_moment(zkl_time timeout) {
    zkl_time tenth = tenth_of(timeout);
    return tenth < SHORTEST ? SHORTEST : tenth > LONGEST ? LONGEST : tenth;
}

void zkl_route_lost(struct zkl_route *route, zkl_time timeout, zkl_time now) {
    for (size_t i = 0; i < route->count; i++) route->servers[i].tried = 0;
    route->state = ZKL_ROUTE_STALE;
    route->resolve_at = now;
    route->attempt_at = now + zkl_route_moment(timeout);
}

/* --- names ----------------------------------------------------------------------------------- */

zkl_time zkl_route_resolve_due(const struct zkl_route *route) {
    return route->state == ZKL_ROUTE_CONNECTED ? ZKL_NEVER : route->resolve_at;
}

static uint64_t last_attempt_number(const struct zkl_route *route, uint64_t key) {
    for (size_t i = 0; i < route->count; i++)
        if (route->servers[i].key == key) return route->servers[i].tried;
    return 0;
}

static bool all_tried(const struct zkl_route *route) {
    for (size_t i = 0; i < route->count; i++)
        if (!route->servers[i].tried) return false;
    return true;
}

/* False: out of memory. */
static bool replace(struct zkl_route *route, const uint64_t *keys, size_t count) {
    struct zkl_route_server *servers = malloc(count * sizeof *servers);
    if (!servers) return false;
    for (size_t i = 0; i < count; i++)
        servers[i] =
            (struct zkl_route_server){.key = keys[i], .tried = last_attempt_number(route, keys[i])};
    free(route->servers);
    route->servers = servers;
    route->count = count;
    route->search_from = (size_t)random_below(route, count);
    return true;
}

void zkl_route_resolved(struct zkl_route *route, const uint64_t *keys, size_t count,
                        zkl_time timeout, zkl_time now) {
    route->resolve_at = now + zkl_route_moment(timeout);
    if (count == 0 || !replace(route, keys, count)) return;
    bool was_stale = route->state == ZKL_ROUTE_STALE;
    if (was_stale) route->state = ZKL_ROUTE_FRESH;
    if ((was_stale || !all_tried(route)) && route->attempt_at > now) route->attempt_at = now;
}

/* --- attempts -------------------------------------------------------------------------------- */

zkl_time zkl_route_due(const struct zkl_route *route) {
    return route->state == ZKL_ROUTE_CONNECTED || route->count == 0 ? ZKL_NEVER : route->attempt_at;
}

void zkl_route_hurry(struct zkl_route *route, zkl_time by) {
    if (route->attempt_at > by) route->attempt_at = by;
}

/*
 * Smallest rank first: untried servers, the server of the last connection while untried, then
 * tried servers, those tried longest ago first. Attempts are numbered from 2.
 */
static uint64_t rank(const struct zkl_route *route, size_t index) {
    const struct zkl_route_server *server = &route->servers[index];
    return server->tried == 0 && server->key == route->connection_key ? 1 : server->tried;
}

static size_t choose(const struct zkl_route *route) {
    size_t best = route->search_from;
    for (size_t i = 1; i < route->count; i++) {
        size_t index = (route->search_from + i) % route->count;
        if (rank(route, index) < rank(route, best)) best = index;
    }
    return best;
}

size_t zkl_route_next(struct zkl_route *route, zkl_time timeout, zkl_time now) {
    assert(route->count > 0 && now >= zkl_route_due(route));
    size_t index = choose(route);
    route->servers[index].tried = ++route->attempt_number;
    if (all_tried(route)) {
        zkl_time tenth = tenth_of(timeout);
        route->attempt_at = now + tenth + (zkl_time)random_below(route, (uint64_t)tenth / 2 + 1);
    }
    return index;
}

void zkl_route_tried(struct zkl_route *route, uint64_t key) {
    for (size_t i = 0; i < route->count; i++)
        if (route->servers[i].key == key) route->servers[i].tried = ++route->attempt_number;
}
