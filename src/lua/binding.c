/* binding.c - see binding.h. */
#include "binding.h"
#include "../world/world.h"

/* --- boxes ------------------------------------------------------------------------------ */

void zkl_lua_add_methods(lua_State *L, const char *name, const luaL_Reg *methods) {
    luaL_newmetatable(L, name);
    for (; methods->name; methods++) {
        lua_pushvalue(L, -1);
        lua_pushcclosure(L, methods->func, 1);
        lua_setfield(L, -2, methods->name);
    }
    lua_pushvalue(L, -1);
    lua_setfield(L, -2, "__index");
    lua_pop(L, 1);
}

void zkl_lua_store(lua_State *L, const char *name, const lua_CFunction *functions, int count) {
    luaL_getmetatable(L, name);
    for (int i = 0; i < count; i++) {
        lua_pushcfunction(L, functions[i]);
        lua_rawseti(L, -2, i + 1);
    }
    lua_pop(L, 1);
}

void zkl_lua_push_stored(lua_State *L, int place) {
    lua_rawgeti(L, lua_upvalueindex(1), place);
}

struct zkl_box *zkl_lua_push_box(lua_State *L, const char *name) {
    struct zkl_box *box = lua_newuserdata(L, sizeof *box);
    *box = (struct zkl_box){0};
    luaL_getmetatable(L, name);
    lua_setmetatable(L, -2);
    return box;
}

void zkl_lua_fill(struct zkl_box *box, zkl_client *client, void *object) {
    box->client = zkl_client_ref(client);
    box->object = object;
}

/* A method's upvalue is its class, to save a look-up by name. */
struct zkl_box *zkl_lua_to_box(lua_State *L, int index, const char *name) {
    struct zkl_box *box = lua_touserdata(L, index);
    if (index != 1 || !box || !lua_getmetatable(L, 1)) return luaL_checkudata(L, index, name);
    bool same_class = lua_rawequal(L, -1, lua_upvalueindex(1));
    lua_pop(L, 1);
    return same_class ? box : luaL_checkudata(L, index, name);
}

const struct zkl_box *zkl_lua_check(lua_State *L, int index, const char *name) {
    const struct zkl_box *box = zkl_lua_to_box(L, index, name);
    if (!box->client) luaL_argerror(L, index, "it was dropped, or never opened");
    if (zkl_client_foreign(box->client)) zkl_lua_raise_forked(L);
    return box;
}

int zkl_lua_push_gone(lua_State *L, const struct zkl_box *box, enum zkl_code collected) {
    bool is_foreign = box->client && zkl_client_foreign(box->client);
    if (box->client && !is_foreign) return 0;
    lua_pushstring(L, zkl_code_name(is_foreign ? ZKL_FORKED : collected));
    return 1;
}

void *zkl_lua_enter(lua_State *L, const char *name) {
    const struct zkl_box *box = zkl_lua_check(L, 1, name);
    zkl_client_enter(box->client);
    return box->object;
}

void *zkl_lua_enter_full(lua_State *L, const char *name) {
    return zkl_lua_to_box(L, 1, name)->client ? zkl_lua_enter(L, name) : NULL;
}

void zkl_lua_leave(lua_State *L) {
    const struct zkl_box *box = lua_touserdata(L, 1);
    zkl_client_leave(box->client);
}

/* False: there is nothing to drop. */
static bool empty_box(struct zkl_box *box, struct zkl_box *full) {
    *full = *box;
    *box = (struct zkl_box){0};
    return full->client && !zkl_client_foreign(full->client);
}

static void drop_in_client(struct zkl_box full, void (*drop)(void *object)) {
    zkl_client_enter(full.client);
    drop(full.object);
    zkl_client_leave(full.client);
}

int zkl_lua_drop(lua_State *L, const char *name, void (*drop)(void *object)) {
    struct zkl_box full;
    if (!empty_box(zkl_lua_to_box(L, 1, name), &full)) return 0;
    drop_in_client(full, drop);
    zkl_client_drop(full.client);
    return 0;
}

int zkl_lua_collect(lua_State *L, const char *name, void (*drop)(void *object)) {
    struct zkl_box full;
    if (!empty_box(zkl_lua_to_box(L, 1, name), &full)) return 0;
    if (!zkl_world_defer(full.client, full.object, drop)) drop_in_client(full, drop);
    zkl_client_drop(full.client);
    return 0;
}

zkl_session *zkl_lua_begin_request(lua_State *L, zkl_client *client) {
    zkl_lua_push_box(L, ZKL_REQUEST_BOX);
    return zkl_client_enter(client);
}

int zkl_lua_push_request(lua_State *L, zkl_client *client, zkl_request *request) {
    if (request) zkl_lua_fill(lua_touserdata(L, -1), client, request);
    zkl_client_leave(client);
    if (!request) return luaL_error(L, "not enough memory");
    lua_pushnumber(L, (lua_Number)zkl_request_id(request));
    return 2;
}

/* --- misuse ----------------------------------------------------------------------------- */

#define MISUSE "zklock.misuse"

/* core.on_misuse(refuse): refuse("%s", text) will raise at the user's line */
int zkl_lua_on_misuse(lua_State *L) {
    luaL_checktype(L, 1, LUA_TFUNCTION);
    lua_settop(L, 1);
    lua_setfield(L, LUA_REGISTRYINDEX, MISUSE);
    return 0;
}

int zkl_lua_raise_misuse(lua_State *L, const char *text) {
    lua_getfield(L, LUA_REGISTRYINDEX, MISUSE);
    if (lua_isnil(L, -1)) return luaL_error(L, "%s", text);
    lua_pushliteral(L, "%s");
    lua_pushstring(L, text);
    lua_call(L, 2, 0);
    return 0;
}

int zkl_lua_raise_forked(lua_State *L) {
    return zkl_lua_raise_misuse(L, "forked: this session belongs to the parent process; "
                                   "open one after the fork");
}
