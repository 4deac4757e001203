/* roster.c - the box of a roster, the members of a folder. */
#include <stdlib.h>

#include "binding.h"

static void push_listed(lua_State *L, const struct zkl_listed *listed) {
    lua_createtable(L, 0, 4);
    lua_pushstring(L, listed->name);
    lua_setfield(L, -2, "name");
    if (listed->data) {
        lua_pushlstring(L, listed->data, listed->size);
        lua_setfield(L, -2, "data");
    }
    if (listed->session) {
        zkl_lua_push_hex(L, listed->session);
        lua_setfield(L, -2, "session");
    }
    if (listed->created > 0) {
        lua_pushnumber(L, (lua_Number)listed->created / 1000);
        lua_setfield(L, -2, "since");
    }
}

static int push_roll(lua_State *L) {
    const struct zkl_roll *roll = *(struct zkl_roll **)lua_touserdata(L, 1);
    lua_pushstring(L, zkl_code_name(roll->code));
    if (roll->code != ZKL_OK) {
        lua_pushstring(L, roll->detail);
        return 2;
    }
    lua_createtable(L, (int)roll->count, 0);
    for (size_t i = 0; i < roll->count; i++) {
        push_listed(L, &roll->members[i]);
        lua_rawseti(L, -2, (int)i + 1);
    }
    return 2;
}

/* roster:look() -> nothing | "ok", list | code, the server's reason or nil */
static int look(lua_State *L) {
    struct zkl_roll *roll;
    lua_settop(L, 1);
    zkl_lua_push_stored(L, 1); /* push_roll */
    lua_pushlightuserdata(L, &roll);
    zkl_roster *roster = zkl_lua_enter_full(L, ZKL_ROSTER_BOX);
    if (!roster) return 0;
    bool changed = zkl_roster_look(roster, &roll);
    zkl_lua_leave(L);
    if (!changed) return 0;
    if (!roll) return luaL_error(L, "not enough memory");
    int failed = lua_pcall(L, 1, LUA_MULTRET, 0);
    free(roll);
    return failed ? lua_error(L) : lua_gettop(L) - 1;
}

/* roster:told(): notes that the user has got the result of the last look() */
static int told(lua_State *L) {
    zkl_roster *roster = zkl_lua_enter_full(L, ZKL_ROSTER_BOX);
    if (!roster) return 0;
    zkl_roster_confirm(roster);
    zkl_lua_leave(L);
    return 0;
}

static void drop_object(void *roster) {
    zkl_roster_drop(roster);
}

static int drop(lua_State *L) {
    return zkl_lua_drop(L, ZKL_ROSTER_BOX, drop_object);
}

static int collect(lua_State *L) {
    return zkl_lua_collect(L, ZKL_ROSTER_BOX, drop_object);
}

void zkl_lua_open_roster(lua_State *L) {
    static const luaL_Reg methods[] = {
        {"drop", drop}, {"look", look}, {"told", told}, {"__gc", collect}, {NULL, NULL},
    };
    static const lua_CFunction functions[] = {push_roll};
    zkl_lua_add_methods(L, ZKL_ROSTER_BOX, methods);
    zkl_lua_store(L, ZKL_ROSTER_BOX, functions, 1);
}
