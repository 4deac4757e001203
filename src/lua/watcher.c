/* watcher.c - the watcher box: a node that the user wants to hear of. */
#include "binding.h"

static zkl_client *client_of(const zkl_watcher *watcher) {
    return zkl_client_of(zkl_watcher_session(watcher));
}

static zkl_watcher *check_watcher(lua_State *L) {
    zkl_watcher **box = luaL_checkudata(L, 1, ZKL_WATCHER_BOX);
    if (!*box) luaL_argerror(L, 1, "the watcher was dropped");
    return *box;
}

static int id(lua_State *L) {
    lua_pushnumber(L, (lua_Number)zkl_watcher_id(check_watcher(L)));
    return 1;
}

/*
 * watcher:look() -> nothing, if there is nothing to tell | "ok", data, version |
 * why it cannot be read, the server's reason or nil
 */
static int look(lua_State *L) {
    struct zkl_sight sight;
    zkl_watcher *watcher = check_watcher(L);
    zkl_client_enter(client_of(watcher));
    bool any = zkl_watcher_look(watcher, &sight);
    zkl_client_leave(client_of(watcher));
    if (!any) return 0;
    lua_pushstring(L, zkl_code_name(sight.code));
    if (sight.code == ZKL_OK) {
        lua_pushlstring(L, sight.data, sight.size);
        lua_pushinteger(L, sight.version);
        return 3;
    }
    if (sight.detail) lua_pushstring(L, sight.detail);
    else lua_pushnil(L);
    return 2;
}

/* What look() gave was told. */
static int told(lua_State *L) {
    zkl_watcher *watcher = check_watcher(L);
    zkl_client_enter(client_of(watcher));
    zkl_watcher_told(watcher);
    zkl_client_leave(client_of(watcher));
    return 0;
}

static int drop(lua_State *L) {
    zkl_watcher **box = luaL_checkudata(L, 1, ZKL_WATCHER_BOX);
    zkl_watcher *watcher = *box;
    *box = NULL;
    if (!watcher || zkl_client_foreign(client_of(watcher))) return 0;
    zkl_client *client = client_of(watcher);
    zkl_client_enter(client);
    zkl_watcher_drop(watcher);
    zkl_client_leave(client);
    zkl_client_drop(client);
    return 0;
}

void zkl_lua_open_watcher(lua_State *L) {
    static const luaL_Reg methods[] = {
        {"drop", drop}, {"id", id}, {"look", look}, {"told", told}, {"__gc", drop}, {NULL, NULL},
    };
    zkl_lua_class(L, ZKL_WATCHER_BOX, methods);
}
