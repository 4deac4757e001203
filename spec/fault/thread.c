/* thread.c - a Lua module: what a second thread of the operating system does to a Lua state. */
#include <lauxlib.h>
#include <lua.h>
#include <pthread.h>

static void *call(void *L) {
    lua_pushboolean(L, lua_pcall(L, 0, 1, 0) == 0);
    return NULL;
}

/* thread.call(fn) -> ok, result or error: fn() in a new thread, while this one waits for it */
static int do_call(lua_State *L) {
    pthread_t thread;
    luaL_checktype(L, 1, LUA_TFUNCTION);
    lua_settop(L, 1);
    if (pthread_create(&thread, NULL, call, L) != 0) return luaL_error(L, "no thread");
    pthread_join(thread, NULL);
    lua_insert(L, -2);
    return 2;
}

int luaopen_thread(lua_State *L) {
    lua_newtable(L);
    lua_pushcfunction(L, do_call);
    lua_setfield(L, -2, "call");
    return 1;
}
