/*
 * heap.c - a Lua module that tells how much memory is in use.
 *
 *     require "heap" ()    bytes allocated by malloc and not freed
 *
 * Resident memory would also count memory that free() kept for later and code
 * that LuaJIT compiled meanwhile, and grows by half a megabyte without a leak.
 * Lua's own memory is counted, except LuaJIT's, which does not come from malloc.
 */
#include <malloc.h>

#include <lauxlib.h>
#include <lua.h>

static int in_use(lua_State *L) {
    struct mallinfo2 info = mallinfo2();
    lua_pushnumber(L, (lua_Number)(info.uordblks + info.hblkhd));
    return 1;
}

__attribute__((visibility("default"))) int luaopen_heap(lua_State *L);

int luaopen_heap(lua_State *L) {
    lua_pushcfunction(L, in_use);
    return 1;
}
