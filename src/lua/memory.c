/* memory.c - the table core.memory, servers inside the process, for object/memory.lua. */
#include <stdlib.h>
#include <string.h>

#include "../memory/memory_link.h"
#include "binding.h"

/* --- faults of a session, true if effective --------------------------------------------------- */

static int inflict(lua_State *L, bool (*fault)(zkl_client *client)) {
    zkl_client *client = zkl_lua_check_client(L, 1);
    luaL_argcheck(L, zkl_memory_server_name(client), 1, "not in memory");
    lua_pushboolean(L, fault(client));
    return 1;
}

static int expire(lua_State *L) {
    return inflict(L, zkl_memory_expire);
}

static int cut(lua_State *L) {
    return inflict(L, zkl_memory_cut);
}

static int heal(lua_State *L) {
    return inflict(L, zkl_memory_heal);
}

/* memory.name(session box) -> name of the session's server in memory, or nil */
static int name(lua_State *L) {
    lua_pushstring(L, zkl_memory_server_name(zkl_lua_check_client(L, 1)));
    return 1;
}

/* --- a server, by name ---------------------------------------------------------------------- */

static int delay(lua_State *L) {
    const char *server = luaL_checkstring(L, 1);
    if (zkl_memory_delay(server, zkl_lua_time(L, 2))) return 0;
    return luaL_error(L, "not enough memory");
}

static int reset(lua_State *L) {
    zkl_memory_reset(luaL_checkstring(L, 1));
    return 0;
}

static int build_names(lua_State *L) {
    const struct zkl_lua_names *names = lua_touserdata(L, 1);
    const char *each = names->list;
    lua_createtable(L, names->count, 0);
    for (int i = 1; i <= names->count; i++) {
        lua_pushstring(L, each);
        lua_rawseti(L, -2, i);
        each += strlen(each) + 1;
    }
    return 1;
}

void zkl_lua_begin_names(lua_State *L, struct zkl_lua_names *names) {
    *names = (struct zkl_lua_names){0};
    luaL_checkstack(L, 3, NULL);
    lua_pushcfunction(L, build_names);
    lua_pushlightuserdata(L, names);
}

int zkl_lua_push_names(lua_State *L, struct zkl_lua_names *names) {
    int failed = names->count < 0 ? 0 : lua_pcall(L, 1, 1, 0);
    free(names->list);
    if (failed) return lua_error(L);
    if (names->count == ZKL_ERROR_SYSTEM) return luaL_error(L, "not enough memory");
    if (names->count < 0) lua_pushnil(L);
    return 1;
}

/* memory.children(name, path) -> table of names, or nil */
static int children(lua_State *L) {
    const char *server = luaL_checkstring(L, 1), *path = luaL_checkstring(L, 2);
    struct zkl_lua_names names;
    zkl_lua_begin_names(L, &names);
    names.count = zkl_memory_children(server, path, &names.list);
    return zkl_lua_push_names(L, &names);
}

void zkl_lua_push_memory(lua_State *L) {
    static const luaL_Reg functions[] = {{"expire", expire},     {"cut", cut},     {"heal", heal},
                                         {"name", name},         {"delay", delay}, {"reset", reset},
                                         {"children", children}, {NULL, NULL}};
    lua_newtable(L);
    zkl_lua_set_functions(L, functions);
}
