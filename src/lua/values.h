/*
 * values.h - what goes between C and Lua, for any module of ours.
 *
 * Works with Lua 5.1 to 5.5 and LuaJIT: only what all of them have is used.
 */
#ifndef ZKL_VALUES_H
#define ZKL_VALUES_H

#include <lauxlib.h>
#include <lua.h>

#include "../core/clock.h"

/* Exports a function luaopen_...: all others are hidden. */
#if defined(__GNUC__)
#define ZKL_LUA_EXPORT __attribute__((visibility("default")))
#else
#define ZKL_LUA_EXPORT
#endif

/* Sets the functions in the table at the top. */
void zkl_lua_set_functions(lua_State *L, const luaL_Reg *functions);

int zkl_lua_fail(lua_State *L, const char *why); /* returns nil, why */

/* Pushes a field of the table at that index; returns where it is. */
int zkl_lua_field(lua_State *L, int table, const char *name);

/* The length of a list. */
size_t zkl_lua_length(lua_State *L, int index);

/* Seconds to time; nil or more than 290 years is ZKL_NEVER, negative is 0. What is more than 0 is
 * at least a nanosecond: 0 is no limit to some. */
zkl_time zkl_lua_time(lua_State *L, int index);
void zkl_lua_push_time(lua_State *L, zkl_time time);

/* Pushes a 64-bit number, if this Lua's numbers have it exactly; else returns 0. */
int zkl_lua_push_int64(lua_State *L, int64_t value);
void zkl_lua_push_hex(lua_State *L, uint64_t value);

#endif
