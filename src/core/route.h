/*
 * route.h - which of a session's servers is tried next, and when. It is pure, knows addresses as
 * numbers, and gets the time as an argument. The link of a client owns it and serialises calls.
 *
 *     zkl_route_resolved(&route, keys, count, timeout, now);
 *     index = zkl_route_next(&route, timeout, now);    not before zkl_route_due()
 *
 * Names are resolved again when a connection is lost, and from time to time until there is a new
 * connection. The first attempt waits a moment for the addresses. Each address is tried once
 * without delay; the address of the lost connection comes last, because its server may hang. Later
 * attempts are a tenth of the session timeout apart, or a little more.
 */
#ifndef ZKL_ROUTE_H
#define ZKL_ROUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clock.h"

struct zkl_route_server {
    uint64_t key;   /* an address; equal keys are one address */
    uint64_t tried; /* number of its last attempt since the connection was lost; 0: none */
};

enum zkl_route_state {
    ZKL_ROUTE_STALE, /* not connected, and its names are to be resolved */
    ZKL_ROUTE_FRESH, /* not connected; names were resolved since the connection was lost */
    ZKL_ROUTE_CONNECTED
};

struct zkl_route {
    struct zkl_route_server *servers;
    size_t count;
    size_t search_from;      /* index of the server that comes first among equals */
    uint64_t attempt_number; /* the latest attempt's; 1: none yet */
    uint64_t connection_key; /* the latest connection's */
    enum zkl_route_state state;
    zkl_time attempt_at;   /* earliest time of the next attempt */
    zkl_time resolve_at;   /* when to resolve the names */
    uint64_t random_state; /* state of the random numbers for order and pauses */
};

/* A tenth of a session timeout, from 0.1 s to 1 s. */
zkl_time zkl_route_moment(zkl_time timeout);

void zkl_route_init(struct zkl_route *route, uint64_t seed, zkl_time now);
void zkl_route_clear(struct zkl_route *route);

void zkl_route_connected(struct zkl_route *route, uint64_t key);
/* The connection was lost, or none was made yet. `timeout` is the session timeout. */
void zkl_route_lost(struct zkl_route *route, zkl_time timeout, zkl_time now);

/* When the names are to be resolved; ZKL_NEVER while there is a connection. */
zkl_time zkl_route_resolve_due(const struct zkl_route *route);
/*
 * Takes the addresses of the names. If none could be resolved, or memory is short, the old
 * addresses stay. A known address keeps its `tried`.
 */
void zkl_route_resolved(struct zkl_route *route, const uint64_t *keys, size_t count,
                        zkl_time timeout, zkl_time now);

/* When an address may be tried; ZKL_NEVER: none is known, or there is a connection. */
zkl_time zkl_route_due(const struct zkl_route *route);
void zkl_route_hurry(struct zkl_route *route, zkl_time by); /* the next attempt is due by then */
/* The index of the address to try; not before zkl_route_due(). */
size_t zkl_route_next(struct zkl_route *route, zkl_time timeout, zkl_time now);
/* The address was tried once more, so all others come before it. */
void zkl_route_tried(struct zkl_route *route, uint64_t key);

#endif
