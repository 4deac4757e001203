/* member.c - the member box: a node that is there as long as the user wants it. */
#include "binding.h"

static int id(lua_State *L) {
    lua_pushnumber(L, (lua_Number)zkl_member_id(zkl_lua_check(L, 1, ZKL_MEMBER_BOX)->held));
    return 1;
}

/*
 * member:state() -> "joining", "joined" | why it has ended, the server's reason or nil | nothing:
 * a finalizer has just dropped it
 */
static int state(lua_State *L) {
    enum zkl_code why;
    const char *detail;
    zkl_member *member = zkl_lua_enter_full(L, ZKL_MEMBER_BOX);
    if (!member) return 0;
    enum zkl_member_state now = zkl_member_state(member, &why, &detail);
    zkl_lua_leave(L);
    if (now != ZKL_MEMBER_ENDED) {
        lua_pushstring(L, now == ZKL_MEMBER_JOINED ? "joined" : "joining");
        return 1;
    }
    lua_pushstring(L, zkl_code_name(why));
    lua_pushstring(L, detail); /* NULL: nil */
    return 2;
}

static void drop_held(void *member) {
    zkl_member_drop(member);
}

/* member:drop(): it leaves */
static int drop(lua_State *L) {
    return zkl_lua_drop(L, ZKL_MEMBER_BOX, drop_held);
}

static int collect(lua_State *L) {
    return zkl_lua_collect(L, ZKL_MEMBER_BOX, drop_held);
}

void zkl_lua_open_member(lua_State *L) {
    static const luaL_Reg methods[] = {
        {"drop", drop}, {"id", id}, {"state", state}, {"__gc", collect}, {NULL, NULL},
    };
    zkl_lua_class(L, ZKL_MEMBER_BOX, methods);
}
