/* acquire.c - acquires of one lock or several, and their options. */
#include <string.h>

#include "binding.h"

/* Pushes a copy of the options, followed by the texts of `path` and `data`. */
static void push_options(lua_State *L, const struct zkl_acquire_options *options) {
    size_t path = strlen(options->path) + 1, data = options->data ? strlen(options->data) + 1 : 0;
    struct zkl_acquire_options *copy = lua_newuserdata(L, sizeof *copy + path + data);
    char *texts = (char *)(copy + 1);
    *copy = *options;
    copy->path = memcpy(texts, options->path, path);
    if (data) copy->data = memcpy(texts + path, options->data, data);
    luaL_getmetatable(L, ZKL_ACQUIRE_OPTIONS);
    lua_setmetatable(L, -2);
}

/*
 * core.acquire_options{ path, kind, reentrant, data, jitter, limit, batch, counting, keep, meter }
 * -> the options that a lock keeps
 */
int zkl_lua_acquire_options(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    int jitter = zkl_lua_push_field(L, 1, "jitter"), keep = zkl_lua_push_field(L, 1, "keep");
    struct zkl_acquire_options options = {
        .path = luaL_optstring(L, zkl_lua_push_field(L, 1, "path"), NULL),
        .kind = (enum zkl_kind)luaL_checkoption(L, zkl_lua_push_field(L, 1, "kind"), NULL,
                                                zkl_kind_names),
        .reentrant = lua_toboolean(L, zkl_lua_push_field(L, 1, "reentrant")),
        .data = luaL_optstring(L, zkl_lua_push_field(L, 1, "data"), NULL),
        .jitter = lua_isnil(L, jitter) ? 0 : zkl_lua_time(L, jitter),
        .limit = (int32_t)luaL_optinteger(L, zkl_lua_push_field(L, 1, "limit"), 0),
        .batch = (int32_t)luaL_optinteger(L, zkl_lua_push_field(L, 1, "batch"), 0),
        .counting = lua_toboolean(L, zkl_lua_push_field(L, 1, "counting")),
        .keep = lua_isnil(L, keep) ? 0 : zkl_lua_time(L, keep),
        .meter = (size_t)luaL_optinteger(L, zkl_lua_push_field(L, 1, "meter"), 0),
    };
    luaL_argcheck(L, options.path, 1, "no path");
    push_options(L, &options);
    return 1;
}

static int push_begun_acquire(lua_State *L, zkl_client *client, zkl_request *request) {
    bool done = request && zkl_request_done(request);
    zkl_lua_push_request(L, client, request);
    lua_pushboolean(L, done);
    return 3;
}

enum { OWNER = 3, TIMEOUT, CALLERS, OPTIONS }; /* arguments of both verbs */

/* The lock's options at `index`, with those of the call. */
static struct zkl_acquire_options read_options(lua_State *L, int index,
                                               const char *const *callers) {
    const struct zkl_acquire_options *of_lock = luaL_checkudata(L, index, ZKL_ACQUIRE_OPTIONS);
    struct zkl_acquire_options options = *of_lock;
    luaL_checktype(L, OPTIONS, LUA_TTABLE);
    int timeout = zkl_lua_push_field(L, OPTIONS, "timeout"),
        hold = zkl_lua_push_field(L, OPTIONS, "max_hold");
    options.owner = luaL_checkstring(L, OWNER);
    options.timeout = zkl_lua_time(L, TIMEOUT);
    options.callers = callers;
    options.trying = lua_isnumber(L, timeout) && lua_tonumber(L, timeout) == 0;
    options.quiet = !lua_toboolean(L, zkl_lua_push_field(L, OPTIONS, "on_queued"));
    options.max_waiters =
        (int32_t)luaL_optinteger(L, zkl_lua_push_field(L, OPTIONS, "max_waiters"), 0);
    options.max_hold = lua_isnil(L, hold) ? 0 : zkl_lua_time(L, hold);
    options.permits = (int32_t)luaL_optinteger(L, zkl_lua_push_field(L, OPTIONS, "permits"), 0);
    lua_pop(L, 5);
    return options;
}

/* Pushes an array of pointers to the listed texts, NULL at the end. Without a list returns NULL. */
static const char *const *push_callers(lua_State *L) {
    if (lua_isnoneornil(L, CALLERS)) return NULL;
    size_t count = zkl_lua_length(L, CALLERS);
    const char **callers = lua_newuserdata(L, (count + 1) * sizeof *callers);
    for (size_t i = 0; i < count; i++) {
        lua_rawgeti(L, CALLERS, (int)i + 1);
        callers[i] = luaL_checkstring(L, -1); /* the list keeps the text */
        lua_pop(L, 1);
    }
    callers[count] = NULL;
    return callers;
}

/* session:acquire(lock_options, owner, timeout, callers, options) -> request, id, done */
static int acquire(lua_State *L) {
    zkl_client *client = zkl_lua_check_client(L, 1);
    struct zkl_acquire_options options = read_options(L, 2, push_callers(L));
    zkl_session *session = zkl_lua_begin_request(L, client);
    return push_begun_acquire(L, client, zkl_acquire(session, &options));
}

/* session:acquire_all({ lock_options, ... }, owner, timeout, callers, options) -> as acquire() */
static int acquire_all(lua_State *L) {
    zkl_client *client = zkl_lua_check_client(L, 1);
    luaL_checktype(L, 2, LUA_TTABLE);
    size_t count = zkl_lua_length(L, 2);
    luaL_argcheck(L, count > 0, 2, "no lock");
    const char *const *callers = push_callers(L);
    struct zkl_acquire_options *options = lua_newuserdata(L, count * sizeof *options);
    for (size_t i = 0; i < count; i++) {
        lua_rawgeti(L, 2, (int)i + 1);
        options[i] = read_options(L, lua_gettop(L), callers);
        lua_pop(L, 1);
    }
    zkl_session *session = zkl_lua_begin_request(L, client);
    return push_begun_acquire(L, client, zkl_acquire_all(session, options, count));
}

void zkl_lua_open_acquire(lua_State *L) {
    static const luaL_Reg methods[] = {
        {"acquire", acquire}, {"acquire_all", acquire_all}, {NULL, NULL}};
    static const luaL_Reg no_methods[] = {{NULL, NULL}};
    zkl_lua_add_methods(L, ZKL_SESSION_BOX, methods);
    zkl_lua_add_methods(L, ZKL_ACQUIRE_OPTIONS, no_methods);
}
