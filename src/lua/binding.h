/*
 * binding.h - the Lua face of src/session and src/shell: verbs without policy.
 *
 * Userdata are boxes with a pointer: `session`, `request`, `lease`, `watcher`. A box is
 * made empty and filled after, so that an error in between leaves a box that
 * can be collected. Nothing here blocks but session:wait(), session:close()
 * and poll(); nothing yields. No mutex is held while Lua is called, so any of
 * it may run from a finalizer. What a user sees is in lua/zklock.
 *
 * Works with Lua 5.1 to 5.4 and LuaJIT: only what all of them have is used.
 */
#ifndef ZKL_BINDING_H
#define ZKL_BINDING_H

#include <lauxlib.h>
#include <lua.h>

#include "../shell/client.h"

#define ZKL_SESSION_BOX "zklock.session"
#define ZKL_REQUEST_BOX "zklock.request"
#define ZKL_LEASE_BOX "zklock.lease"
#define ZKL_WATCHER_BOX "zklock.watcher"

/* Registers the metatables. */
void zkl_lua_open_session(lua_State *L);
void zkl_lua_open_request(lua_State *L);
void zkl_lua_open_lease(lua_State *L);
void zkl_lua_open_watcher(lua_State *L);
int zkl_lua_session(lua_State *L); /* the function core.session(options) */
int zkl_lua_poll(lua_State *L);    /* the function core.poll(sessions, seconds) */

void zkl_lua_push_memory(lua_State *L); /* the table core.memory */

/* A metatable whose methods are its own __index. */
void zkl_lua_class(lua_State *L, const char *name, const luaL_Reg *methods);

/* Pushes an empty box. */
void **zkl_lua_box(lua_State *L, const char *name);

/* The content of a box; raises if it is another type, empty, or the process was forked. */
zkl_client *zkl_lua_check_client(lua_State *L, int index);

/*
 * Leaves the client, and pushes a box with the new request, which keeps a count of the client;
 * raises when there is no memory (request NULL).
 */
int zkl_lua_push_request(lua_State *L, zkl_client *client, void **box, zkl_request *request);

/* Of a list. */
size_t zkl_lua_length(lua_State *L, int index);

/* Seconds to time; nil or more than 290 years is ZKL_NEVER, negative is 0. */
zkl_time zkl_lua_time(lua_State *L, int index);
void zkl_lua_push_time(lua_State *L, zkl_time time);

/* A 64-bit number: an integer, or where numbers are doubles one that is exact; else false. */
int zkl_lua_push_int64(lua_State *L, int64_t value);
void zkl_lua_push_hex(lua_State *L, uint64_t value);

int zkl_lua_on_misuse(lua_State *L); /* the function core.on_misuse(refuse) */
/* Raise by lua/zklock/misuse.lua, which knows the user's line. */
int zkl_lua_misuse(lua_State *L, const char *text);
int zkl_lua_raise_forked(lua_State *L);

#endif
