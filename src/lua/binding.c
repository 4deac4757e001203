/* binding.c - what the boxes share. */
#include <inttypes.h>
#include <stdio.h>

#include "binding.h"

#define FOREVER 9e9 /* seconds, 290 years: more does not fit zkl_time */

/* --- boxes ------------------------------------------------------------------------------ */

void zkl_lua_class(lua_State *L, const char *name, const luaL_Reg *methods) {
    luaL_newmetatable(L, name);
    for (; methods->name; methods++) {
        lua_pushcfunction(L, methods->func);
        lua_setfield(L, -2, methods->name);
    }
    lua_pushvalue(L, -1);
    lua_setfield(L, -2, "__index");
    lua_pop(L, 1);
}

void **zkl_lua_box(lua_State *L, const char *name) {
    void **box = lua_newuserdata(L, sizeof *box);
    *box = NULL;
    luaL_getmetatable(L, name);
    lua_setmetatable(L, -2);
    return box;
}

/* --- misuse ----------------------------------------------------------------------------- */

#define MISUSE "zklock.misuse"

/* core.on_misuse(refuse): refuse("%s", text) raises, and blames the user's line */
int zkl_lua_on_misuse(lua_State *L) {
    luaL_checktype(L, 1, LUA_TFUNCTION);
    lua_settop(L, 1);
    lua_setfield(L, LUA_REGISTRYINDEX, MISUSE);
    return 0;
}

int zkl_lua_misuse(lua_State *L, const char *text) {
    lua_getfield(L, LUA_REGISTRYINDEX, MISUSE);
    if (lua_isnil(L, -1)) return luaL_error(L, "%s", text);
    lua_pushliteral(L, "%s");
    lua_pushstring(L, text);
    lua_call(L, 2, 0);
    return 0;
}

int zkl_lua_raise_forked(lua_State *L) {
    return zkl_lua_misuse(L, "forked: this session belongs to the parent process; "
                             "open one after the fork");
}

/* --- values ----------------------------------------------------------------------------- */

size_t zkl_lua_length(lua_State *L, int index) {
#if LUA_VERSION_NUM >= 502
    return lua_rawlen(L, index);
#else
    return lua_objlen(L, index);
#endif
}

zkl_time zkl_lua_time(lua_State *L, int index) {
    if (lua_isnoneornil(L, index)) return ZKL_NEVER;
    lua_Number seconds = luaL_checknumber(L, index);
    if (!(seconds < FOREVER)) return ZKL_NEVER;
    return seconds > 0 ? (zkl_time)(seconds * (lua_Number)ZKL_SECOND) : 0;
}

void zkl_lua_push_time(lua_State *L, zkl_time time) {
    lua_pushnumber(L, (lua_Number)time / (lua_Number)ZKL_SECOND);
}

int zkl_lua_push_int64(lua_State *L, int64_t value) {
#if LUA_VERSION_NUM >= 503
    lua_pushinteger(L, value);
#else
    if (value > INT64_C(1) << 53) return 0;
    lua_pushnumber(L, (lua_Number)value);
#endif
    return 1;
}

void zkl_lua_push_hex(lua_State *L, uint64_t value) {
    char text[17];
    snprintf(text, sizeof text, "%" PRIx64, value);
    lua_pushstring(L, text);
}
