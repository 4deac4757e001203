/* watcher.c - the box of a watcher, which reports the changes of a node to the user. */
#include <stdlib.h>
#include <string.h>

#include "binding.h"

/* Copies the data, which may be freed while Lua pushes them. False: no memory. */
static bool copy_data(struct zkl_sight *sight) {
    char *data = malloc(sight->size + 1);
    if (data && sight->size) memcpy(data, sight->data, sight->size);
    sight->data = data;
    return data != NULL;
}

static int push_sight(lua_State *L) {
    const struct zkl_sight *sight = lua_touserdata(L, 1);
    lua_pushstring(L, zkl_code_name(sight->code));
    if (sight->code == ZKL_OK) {
        lua_pushlstring(L, sight->data, sight->size);
        lua_pushinteger(L, sight->version);
        return 3;
    }
    lua_pushstring(L, sight->detail);
    return 2;
}

/* watcher:look() -> nothing | "ok", data, version | code, the server's reason or nil */
static int look(lua_State *L) {
    struct zkl_sight sight;
    lua_settop(L, 1);
    zkl_lua_push_stored(L, 1); /* push_sight */
    lua_pushlightuserdata(L, &sight);
    zkl_watcher *watcher = zkl_lua_enter_full(L, ZKL_WATCHER_BOX);
    if (!watcher) return 0;
    bool changed = zkl_watcher_look(watcher, &sight);
    bool copied = changed && copy_data(&sight);
    zkl_lua_leave(L);
    if (!changed) return 0;
    if (!copied) return luaL_error(L, "not enough memory");
    int failed = lua_pcall(L, 1, LUA_MULTRET, 0);
    free((char *)sight.data);
    return failed ? lua_error(L) : lua_gettop(L) - 1;
}

/* watcher:told(): notes that the user has got the result of the last look() */
static int told(lua_State *L) {
    zkl_watcher *watcher = zkl_lua_enter_full(L, ZKL_WATCHER_BOX);
    if (!watcher) return 0;
    zkl_watcher_confirm(watcher);
    zkl_lua_leave(L);
    return 0;
}

static void drop_object(void *watcher) {
    zkl_watcher_drop(watcher);
}

static int drop(lua_State *L) {
    return zkl_lua_drop(L, ZKL_WATCHER_BOX, drop_object);
}

static int collect(lua_State *L) {
    return zkl_lua_collect(L, ZKL_WATCHER_BOX, drop_object);
}

void zkl_lua_open_watcher(lua_State *L) {
    static const luaL_Reg methods[] = {
        {"drop", drop}, {"look", look}, {"told", told}, {"__gc", collect}, {NULL, NULL},
    };
    static const lua_CFunction functions[] = {push_sight};
    zkl_lua_add_methods(L, ZKL_WATCHER_BOX, methods);
    zkl_lua_store(L, ZKL_WATCHER_BOX, functions, 1);
}
