/* member.c - the box of a member, a node that exists as long as the user wants. */
#include "binding.h"

/*
 * member:state() -> "joining", "joined" or the reason of the member's end; the server's reason or
 * nil; count of changes | nothing, after a finalizer's drop
 */
static int state(lua_State *L) {
    enum zkl_code why;
    const char *detail;
    zkl_member *member = zkl_lua_enter_full(L, ZKL_MEMBER_BOX);
    if (!member) return 0;
    enum zkl_member_state current = zkl_member_state(member, &why, &detail);
    unsigned changes = zkl_member_changes(member);
    zkl_lua_leave(L);
    if (current == ZKL_MEMBER_JOINED) lua_pushliteral(L, "joined");
    else if (current != ZKL_MEMBER_ENDED) lua_pushliteral(L, "joining");
    else lua_pushstring(L, zkl_code_name(why));
    lua_pushstring(L, detail);
    lua_pushnumber(L, changes);
    return 3;
}

/* member:set(data, timeout) -> request | nothing, after a finalizer's drop */
static int set(lua_State *L) {
    const struct zkl_box *box = zkl_lua_to_box(L, 1, ZKL_MEMBER_BOX);
    const char *data = luaL_checkstring(L, 2);
    zkl_time timeout = zkl_lua_time(L, 3);
    zkl_lua_push_box(L, ZKL_REQUEST_BOX);
    zkl_member *member = zkl_lua_enter_full(L, ZKL_MEMBER_BOX);
    return member ? zkl_lua_push_request(L, box->client, zkl_member_set(member, data, timeout)) : 0;
}

static void drop_object(void *member) {
    zkl_member_drop(member);
}

static int drop(lua_State *L) {
    return zkl_lua_drop(L, ZKL_MEMBER_BOX, drop_object);
}

static int collect(lua_State *L) {
    return zkl_lua_collect(L, ZKL_MEMBER_BOX, drop_object);
}

void zkl_lua_open_member(lua_State *L) {
    static const luaL_Reg methods[] = {
        {"drop", drop}, {"set", set}, {"state", state}, {"__gc", collect}, {NULL, NULL},
    };
    zkl_lua_add_methods(L, ZKL_MEMBER_BOX, methods);
}
