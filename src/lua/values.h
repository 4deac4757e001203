/* values.h - conversions between C and Lua, by calls that Lua 5.1 to 5.5 and LuaJIT share. */
#ifndef ZKL_VALUES_H
#define ZKL_VALUES_H

#include <lauxlib.h>
#include <lua.h>

#include "../core/clock.h"

/* Exports a luaopen_ function; others are hidden. */
#if defined(__GNUC__)
#define ZKL_LUA_EXPORT __attribute__((visibility("default")))
#else
#define ZKL_LUA_EXPORT
#endif

void zkl_lua_set_functions(lua_State *L, const luaL_Reg *functions);

int zkl_lua_fail(lua_State *L, const char *why); /* returns nil, reason */

/* Pushes a field of the table at index `table`. Returns the field's index. */
int zkl_lua_push_field(lua_State *L, int table, const char *name);

size_t zkl_lua_length(lua_State *L, int index);

/*
 * Converts seconds. ZKL_NEVER for nil or more than 290 years; 0 for negative ones; at least a
 * nanosecond for positive ones, because 0 may mean "no limit".
 */
zkl_time zkl_lua_time(lua_State *L, int index);
void zkl_lua_push_time(lua_State *L, zkl_time time);

/* Pushes a number and returns 1, or 0 if this Lua cannot hold it exactly. */
int zkl_lua_push_int64(lua_State *L, int64_t value);
void zkl_lua_push_hex(lua_State *L, uint64_t value);

#endif
