/* world.c - the box of a world of virtual time, for lua/zklock/world. */
#include <limits.h>

#include "../world/world.h"
#include "binding.h"

struct zkl_world *zkl_lua_check_world(lua_State *L, int index) {
    struct zkl_world **box = luaL_checkudata(L, index, ZKL_WORLD);
    luaL_argcheck(L, *box, index, "the world is over");
    return *box;
}

static struct zkl_world *self_world(lua_State *L) {
    return zkl_lua_check_world(L, 1);
}

/*
 * core.world(seed, delay, recorded) -> world; packets take up to `delay` seconds, and the first
 * `recorded` ones are recorded
 */
int zkl_lua_world(lua_State *L) {
    uint64_t seed = (uint64_t)luaL_checknumber(L, 1);
    zkl_time delay = zkl_lua_time(L, 2);
    lua_Integer recorded = luaL_optinteger(L, 3, 0);
    struct zkl_world **box = lua_newuserdata(L, sizeof(struct zkl_world *));
    *box = NULL;
    luaL_getmetatable(L, ZKL_WORLD);
    lua_setmetatable(L, -2);
    *box = zkl_world_new(seed, delay);
    if (!*box) return luaL_error(L, "not enough memory");
    zkl_world_keep_messages(*box, (size_t)recorded);
    return 1;
}

static int end(lua_State *L) {
    struct zkl_world **box = luaL_checkudata(L, 1, ZKL_WORLD), *world = *box;
    *box = NULL;
    if (world) zkl_world_free(world);
    return 0;
}

static int now(lua_State *L) {
    zkl_lua_push_time(L, zkl_world_now(self_world(L)));
    return 1;
}

/* world:changed() -> time of the last change on a server */
static int changed(lua_State *L) {
    zkl_lua_push_time(L, zkl_world_changed_at(self_world(L)));
    return 1;
}

static int push_time_unless_never(lua_State *L, zkl_time time) {
    if (time == ZKL_NEVER) return 0;
    zkl_lua_push_time(L, time);
    return 1;
}

/* world:ends_at() -> earliest end of a hold, a pause or a request's deadline, or nil */
static int ends_at(lua_State *L) {
    return push_time_unless_never(L, zkl_world_next_end(self_world(L)));
}

/* world:date() -> seconds since 1970 */
static int date(lua_State *L) {
    zkl_lua_push_time(L, zkl_world_date_now(self_world(L)));
    return 1;
}

/* Names of streams. "how" is for details of faults, "program" for world:random(). */
static unsigned check_stream(lua_State *L) {
    static const char *const streams[ZKL_WORLD_STREAMS + 1] = {"order", "faults", "how", "program"};
    return (unsigned)luaL_checkoption(L, 2, NULL, streams);
}

/* world:draw(stream, bound) -> an integer from 1 to `bound` */
static int draw(lua_State *L) {
    struct zkl_world *world = self_world(L);
    unsigned stream = check_stream(L);
    lua_Integer bound = luaL_checkinteger(L, 3);
    luaL_argcheck(L, bound > 0, 3, "it is below 1");
    lua_pushinteger(L, (lua_Integer)zkl_world_draw(world, stream, (uint64_t)bound) + 1);
    return 1;
}

/* world:fraction(stream) -> a number in [0, 1) */
static int fraction(lua_State *L) {
    const uint64_t values = UINT64_C(1) << 53;
    lua_pushnumber(L, (lua_Number)zkl_world_draw(self_world(L), check_stream(L), values) /
                          (lua_Number)values);
    return 1;
}

/* world:advance(until, steps): at most so many steps -> number of a session with news, or 0 */
static int advance(lua_State *L) {
    struct zkl_world *world = self_world(L);
    zkl_time until = zkl_lua_time(L, 2);
    size_t steps = (size_t)luaL_optinteger(L, 3, LONG_MAX);
    lua_pushinteger(L, (lua_Integer)zkl_world_advance(world, until, steps));
    return 1;
}

/* --- processes ------------------------------------------------------------------------------ */

static int call_for_process(lua_State *L, void (*verb)(struct zkl_world *world, uint32_t process)) {
    verb(self_world(L), (uint32_t)luaL_checkinteger(L, 2));
    return 0;
}

static int stop(lua_State *L) {
    return call_for_process(L, zkl_world_stop);
}

static int go_on(lua_State *L) {
    return call_for_process(L, zkl_world_go_on);
}

static int kill_process(lua_State *L) {
    return call_for_process(L, zkl_world_kill);
}

/* --- sessions ------------------------------------------------------------------------------- */

static zkl_client *check_session_in_world(lua_State *L) {
    zkl_client *client = zkl_lua_check_client(L, 2);
    luaL_argcheck(L, zkl_world_has(self_world(L), client), 2, "not of this world");
    return client;
}

/* world:number(session box) -> the session's number; nil in another world */
static int number(lua_State *L) {
    zkl_client *client = zkl_lua_check_client(L, 2);
    if (zkl_world_has(self_world(L), client))
        lua_pushinteger(L, (lua_Integer)zkl_world_number(client));
    else lua_pushnil(L);
    return 1;
}

/* world:name(session box) -> name of the session's server; nil in another world */
static int name(lua_State *L) {
    zkl_client *client = zkl_lua_check_client(L, 2);
    lua_pushstring(L, zkl_world_has(self_world(L), client) ? zkl_world_server_name(client) : NULL);
    return 1;
}

static int cut(lua_State *L) {
    lua_pushboolean(L, zkl_world_cut(check_session_in_world(L), lua_toboolean(L, 3)));
    return 1;
}

static int heal(lua_State *L) {
    lua_pushboolean(L, zkl_world_heal(check_session_in_world(L)));
    return 1;
}

static int expire(lua_State *L) {
    lua_pushboolean(L, zkl_world_expire(check_session_in_world(L)));
    return 1;
}

/* --- servers ---------------------------------------------------------------------------------- */

static int delay(lua_State *L) {
    struct zkl_world *world = self_world(L);
    if (zkl_world_delay(world, luaL_checkstring(L, 2), zkl_lua_time(L, 3))) return 0;
    return luaL_error(L, "not enough memory");
}

static int reset(lua_State *L) {
    zkl_world_reset(self_world(L), luaL_checkstring(L, 2));
    return 0;
}

/* world:children(name, path) -> table of names, or nil */
static int children(lua_State *L) {
    struct zkl_world *world = self_world(L);
    const char *server = luaL_checkstring(L, 2), *path = luaL_checkstring(L, 3);
    struct zkl_lua_names names;
    zkl_lua_begin_names(L, &names);
    names.count = zkl_world_children(world, server, path, &names.list);
    return zkl_lua_push_names(L, &names);
}

/* --- single steps ----------------------------------------------------------------------------- */

static uint32_t session_number(lua_State *L) {
    return (uint32_t)luaL_checkinteger(L, 2);
}

static int hold(lua_State *L) {
    zkl_world_hold(self_world(L));
    return 0;
}

/* world:reseed(seed): random numbers by another seed from now on; releases held packets */
static int reseed(lua_State *L) {
    zkl_world_reseed(self_world(L), (uint64_t)luaL_checknumber(L, 2));
    return 0;
}

/* world:settle() -> number of a session with news, or 0 */
static int settle(lua_State *L) {
    lua_pushinteger(L, (lua_Integer)zkl_world_settle(self_world(L)));
    return 1;
}

/* world:due() -> time of the next step, held packets not counted, or nil */
static int due(lua_State *L) {
    return push_time_unless_never(L, zkl_world_due(self_world(L)));
}

/* world:under_way(number, up) -> "packet", "last" if it ends the session, or nil for none */
static int next_kind(lua_State *L) {
    static const char *const kinds[] = {NULL, "packet", "last"};
    lua_pushstring(
        L, kinds[zkl_world_under_way(self_world(L), session_number(L), lua_toboolean(L, 3))]);
    return 1;
}

/* world:packet(number, up) -> description of the next packet, or nil */
static int packet(lua_State *L) {
    char text[200];
    bool any = zkl_world_packet(self_world(L), session_number(L), lua_toboolean(L, 3), text);
    lua_pushstring(L, any ? text : NULL);
    return 1;
}

static int hasten(lua_State *L) {
    zkl_world_hasten(self_world(L), session_number(L), lua_toboolean(L, 3));
    return 0;
}

static void push_message(lua_State *L, const struct zkl_world_message *message) {
    lua_createtable(L, 0, 5);
    lua_pushinteger(L, (lua_Integer)message->client_number);
    lua_setfield(L, -2, "number");
    lua_pushboolean(L, message->up);
    lua_setfield(L, -2, "up");
    zkl_lua_push_time(L, message->sent);
    lua_setfield(L, -2, "sent");
    if (message->arrived != ZKL_NEVER) {
        zkl_lua_push_time(L, message->arrived);
        lua_setfield(L, -2, "arrived");
    }
    lua_pushstring(L, message->text);
    lua_setfield(L, -2, "text");
}

/* world:messages() -> list of { number, up, sent, arrived or nil if lost, text } */
static int messages(lua_State *L) {
    const struct zkl_world_message *list;
    size_t count = zkl_world_messages(self_world(L), &list);
    lua_createtable(L, (int)count, 0);
    for (size_t i = 0; i < count; i++) {
        push_message(L, &list[i]);
        lua_rawseti(L, -2, (int)i + 1);
    }
    return 1;
}

void zkl_lua_open_world(lua_State *L) {
    static const luaL_Reg methods[] = {
        {"advance", advance}, {"changed", changed},   {"children", children},
        {"cut", cut},         {"date", date},         {"delay", delay},
        {"draw", draw},       {"due", due},           {"end_it", end},
        {"ends_at", ends_at}, {"expire", expire},     {"fraction", fraction},
        {"go_on", go_on},     {"hasten", hasten},     {"heal", heal},
        {"hold", hold},       {"kill", kill_process}, {"messages", messages},
        {"name", name},       {"now", now},           {"number", number},
        {"packet", packet},   {"reseed", reseed},     {"reset", reset},
        {"settle", settle},   {"stop", stop},         {"under_way", next_kind},
        {"__gc", end},        {NULL, NULL},
    };
    zkl_lua_add_methods(L, ZKL_WORLD, methods);
}
