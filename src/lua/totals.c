/* totals.c - counts of sessions as tables, for session:stats() and zklock.metrics(). */
#include "../world/world.h"
#include "binding.h"

#define TOTALS "zklock.totals"

/* Bounds of the reported buckets: 2^6 to 2^26 microseconds (64 us to 67 s). */
enum { FIRST_BOUND = 6, LAST_BOUND = 26 };

_Static_assert((int)LAST_BOUND < (int)ZKL_HISTOGRAM_DOUBLINGS, "the last bucket has all above");

/* Pushes empty totals. The collector frees their named meters. */
static struct zkl_totals *push_empty(lua_State *L) {
    struct zkl_totals *totals = lua_newuserdata(L, sizeof *totals);
    *totals = (struct zkl_totals){0};
    luaL_getmetatable(L, TOTALS);
    lua_setmetatable(L, -2);
    return totals;
}

static int clear(lua_State *L) {
    zkl_totals_clear(luaL_checkudata(L, 1, TOTALS));
    return 0;
}

/* --- pushing -------------------------------------------------------------------------------- */

static void set_count(lua_State *L, const char *name, uint64_t value) {
    if (zkl_lua_push_int64(L, (int64_t)value)) lua_setfield(L, -2, name);
}

static void set_time(lua_State *L, const char *name, zkl_time time) {
    zkl_lua_push_time(L, time);
    lua_setfield(L, -2, name);
}

static void push_buckets(lua_State *L, const struct zkl_histogram *histogram) {
    lua_createtable(L, LAST_BOUND - FIRST_BOUND + 1, 0);
    for (unsigned i = FIRST_BOUND; i <= LAST_BOUND; i++) {
        lua_createtable(L, 0, 2);
        set_time(L, "le", (ZKL_SECOND / 1000000) << i);
        set_count(L, "count", zkl_histogram_below(histogram, i));
        lua_rawseti(L, -2, (int)(i - FIRST_BOUND) + 1);
    }
}

static void set_histogram(lua_State *L, const char *name, const struct zkl_histogram *histogram) {
    lua_newtable(L);
    set_count(L, "count", histogram->count);
    set_time(L, "sum", (zkl_time)histogram->sum);
    set_time(L, "p50", zkl_histogram_quantile(histogram, 500));
    set_time(L, "p90", zkl_histogram_quantile(histogram, 900));
    set_time(L, "p99", zkl_histogram_quantile(histogram, 990));
    set_time(L, "max", histogram->max);
    push_buckets(L, histogram);
    lua_setfield(L, -2, "buckets");
    lua_setfield(L, -2, name);
}

static void set_outcomes(lua_State *L, const struct zkl_meter *meter) {
    lua_newtable(L);
    set_count(L, "granted", meter->outcomes[ZKL_OK]);
    set_count(L, "reentered", meter->reentries);
    for (unsigned code = ZKL_OK + 1; code < ZKL_OUTCOMES; code++)
        if (meter->outcomes[code])
            set_count(L, zkl_code_name((enum zkl_code)code), meter->outcomes[code]);
    lua_setfield(L, -2, "outcomes");
}

static void set_meter(lua_State *L, const struct zkl_meter *meter) {
    set_histogram(L, "wait", &meter->wait);
    set_histogram(L, "hold", &meter->hold);
    set_histogram(L, "hand_over", &meter->hand_over);
    set_outcomes(L, meter);
}

static void set_named(lua_State *L, const struct zkl_totals *totals) {
    lua_newtable(L);
    for (size_t i = 0; i < totals->named_count; i++) {
        lua_newtable(L);
        set_meter(L, &totals->named[i]->meter);
        lua_setfield(L, -2, totals->named[i]->name);
    }
    lua_setfield(L, -2, "locks");
}

static void set_stats(lua_State *L, const struct zkl_stats *counted) {
    set_count(L, "creates", counted->creates);
    set_count(L, "deletes", counted->deletes);
    set_count(L, "sets", counted->sets);
    set_count(L, "lists", counted->lists);
    set_count(L, "gets", counted->gets);
    set_count(L, "exists", counted->exists);
    set_count(L, "syncs", counted->syncs);
    set_count(L, "grants", counted->grants);
    set_count(L, "losses", counted->losses);
    set_count(L, "waits", counted->waits);
    set_count(L, "timeouts", counted->timeouts);
    set_count(L, "reconnects", counted->reconnects);
    set_count(L, "expiries", counted->expiries);
    set_count(L, "orphans", counted->orphans);
    set_count(L, "events", counted->events);
    set_count(L, "in_flight", counted->in_flight);
    set_count(L, "claims", counted->claims);
    set_count(L, "watches", counted->watches);
    set_count(L, "watch_bytes", counted->watch_bytes);
    set_count(L, "watch_bytes_limit", ZKL_WATCHES_MAX);
    set_count(L, "watch_removals", counted->watch_removals);
    set_count(L, "path_bytes", counted->path_bytes);
    set_count(L, "untold_events", counted->untold);
}

static void push_totals(lua_State *L, const struct zkl_totals *totals) {
    lua_newtable(L);
    set_stats(L, &totals->stats);
    set_meter(L, &totals->meter);
    set_histogram(L, "round_trip", &totals->round_trip);
    set_named(L, totals);
}

/* --- verbs ------------------------------------------------------------------------------------ */

int zkl_lua_stats(lua_State *L) {
    zkl_client *client = zkl_lua_check_client(L, 1);
    struct zkl_totals *totals = push_empty(L);
    zkl_session *session = zkl_client_enter(client);
    bool containers = zkl_session_makes_containers(session);
    zkl_totals_add(totals, session);
    zkl_client_leave(client);
    push_totals(L, totals);
    lua_pushboolean(L, containers);
    lua_setfield(L, -2, "containers");
    return 1;
}

/* core.totals(world or nil) -> counts of the world's or the process's sessions */
int zkl_lua_totals(lua_State *L) {
    struct zkl_totals *totals = push_empty(L);
    if (lua_isnoneornil(L, 1)) zkl_process_totals(totals);
    else zkl_world_totals(zkl_lua_check_world(L, 1), totals);
    push_totals(L, totals);
    lua_newtable(L);
    for (size_t i = 0; i < ZKL_SESSION_CLOSED; i++)
        set_count(L, zkl_lua_state_names[i], totals->sessions[i]);
    lua_setfield(L, -2, "sessions");
    return 1;
}

void zkl_lua_open_totals(lua_State *L) {
    static const luaL_Reg methods[] = {{"__gc", clear}, {NULL, NULL}};
    zkl_lua_add_methods(L, TOTALS, methods);
}
