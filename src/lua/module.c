/* module.c - luaopen_zklock_core, and what the boxes share. */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../core/claim.h"
#include "binding.h"

#if LUA_VERSION_NUM == 501 && __has_include(<luajit.h>)
#include <luajit.h> /* LUAJIT_VERSION */
#endif

#if defined(__GNUC__)
#define EXPORT __attribute__((visibility("default")))
#else
#define EXPORT
#endif

#define FOREVER 9e9 /* seconds, 290 years: more does not fit zkl_time */

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

#define MISUSE "zklock.misuse"

/* core.on_misuse(refuse): refuse("%s", text) raises, and blames the user's line */
static int on_misuse(lua_State *L) {
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

/* "host:pid", by which others may find who holds a lock. */
static int identity(lua_State *L) {
    char host[256];
    if (gethostname(host, sizeof host) != 0) strcpy(host, "localhost");
    host[sizeof host - 1] = '\0';
    lua_pushfstring(L, "%s:%d", host, (int)getpid());
    return 1;
}

static int now(lua_State *L) {
    zkl_lua_push_time(L, zkl_now());
    return 1;
}

/* core.thread() -> a number that the thread of the operating system has for itself */
static int thread(lua_State *L) {
    static _Thread_local char here;
    lua_pushnumber(L, (lua_Number)(uintptr_t)&here);
    return 1;
}

/* False where a yield would meet a C function: nginx's Lua has no function to ask. */
static int isyieldable(lua_State *L) {
#if LUA_VERSION_NUM >= 503 || defined(LUAJIT_VERSION)
    lua_pushboolean(L, lua_isyieldable(L));
#else
    lua_pushboolean(L, 1);
#endif
    return 1;
}

/* --- Lua states of this process that loaded the module ------------------------------------- */

#define STATE_MARK "zklock.state"

static atomic_int states;

static int forget_state(lua_State *L) {
    (void)L;
    atomic_fetch_sub(&states, 1);
    return 0;
}

/* Once a state; it is uncounted when it is closed. */
static void count_state(lua_State *L) {
    static const luaL_Reg methods[] = {{"__gc", forget_state}, {NULL, NULL}};
    lua_getfield(L, LUA_REGISTRYINDEX, STATE_MARK);
    bool counted = !lua_isnil(L, -1);
    lua_pop(L, 1);
    if (counted) return;
    zkl_lua_class(L, STATE_MARK, methods);
    zkl_lua_box(L, STATE_MARK);
    lua_setfield(L, LUA_REGISTRYINDEX, STATE_MARK);
    atomic_fetch_add(&states, 1);
}

static int count_states(lua_State *L) {
    lua_pushinteger(L, atomic_load(&states));
    return 1;
}

/* What lua/zklock has in common with the core. */
static void set_constants(lua_State *L) {
    zkl_lua_push_time(L, ZKL_TIMEOUT_LEAST);
    lua_setfield(L, -2, "timeout_least"); /* of a session, seconds */
    lua_pushliteral(L, ZKL_REVOKE_DATA);
    lua_setfield(L, -2, "revoke_data");
    lua_pushliteral(L, ZKL_SIGNAL_DATA);
    lua_setfield(L, -2, "signal_data");
    lua_pushinteger(L, ZKL_BATCH_MAX);
    lua_setfield(L, -2, "batch_max"); /* a token counts so many grants of a node */
    lua_pushinteger(L, ZKL_SHARE_LIMIT);
    lua_setfield(L, -2, "downgrade_limit"); /* of a node's number */
}

EXPORT int luaopen_zklock_core(lua_State *L);

int luaopen_zklock_core(lua_State *L) {
#if LUA_VERSION_NUM >= 502
    luaL_checkversion(L);
#endif
    count_state(L);
    zkl_lua_open_session(L);
    zkl_lua_open_request(L);
    zkl_lua_open_lease(L);
    zkl_lua_open_watcher(L);
    lua_newtable(L);
    lua_pushcfunction(L, zkl_lua_session);
    lua_setfield(L, -2, "session");
    lua_pushcfunction(L, zkl_lua_poll);
    lua_setfield(L, -2, "poll");
    lua_pushcfunction(L, now);
    lua_setfield(L, -2, "now");
    lua_pushcfunction(L, thread);
    lua_setfield(L, -2, "thread");
    lua_pushcfunction(L, identity);
    lua_setfield(L, -2, "identity");
    lua_pushcfunction(L, isyieldable);
    lua_setfield(L, -2, "isyieldable");
    lua_pushcfunction(L, on_misuse);
    lua_setfield(L, -2, "on_misuse");
    lua_pushcfunction(L, count_states);
    lua_setfield(L, -2, "states");
    zkl_lua_push_memory(L);
    lua_setfield(L, -2, "memory");
    set_constants(L);
    return 1;
}
