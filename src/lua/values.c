/* values.c - see values.h. */
#include <inttypes.h>
#include <stdio.h>

#include "values.h"

#define FOREVER 9e9 /* seconds, 290 years; zkl_time holds no more */

void zkl_lua_set_functions(lua_State *L, const luaL_Reg *functions) {
    for (; functions->name; functions++) {
        lua_pushcfunction(L, functions->func);
        lua_setfield(L, -2, functions->name);
    }
}

int zkl_lua_fail(lua_State *L, const char *why) {
    lua_pushnil(L);
    lua_pushstring(L, why);
    return 2;
}

int zkl_lua_push_field(lua_State *L, int table, const char *name) {
    lua_getfield(L, table, name);
    return lua_gettop(L);
}

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
    if (!(seconds > 0)) return 0;
    zkl_time time = (zkl_time)(seconds * (lua_Number)ZKL_SECOND);
    return time > 0 ? time : 1;
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
