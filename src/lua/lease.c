/* lease.c - the box of a lease, a handle on a grant. */
#include <inttypes.h>
#include <stdio.h>

#include "binding.h"

static zkl_lease *enter_lease(lua_State *L) {
    return zkl_lua_enter(L, ZKL_LEASE_BOX);
}

static const struct zkl_box *check_box(lua_State *L) {
    return zkl_lua_check(L, 1, ZKL_LEASE_BOX);
}

/* lease:gone() -> nil | "forked": the parent process's | "released": the collector took it */
static int gone(lua_State *L) {
    return zkl_lua_push_gone(L, zkl_lua_to_box(L, 1, ZKL_LEASE_BOX), ZKL_RELEASED);
}

static int id(lua_State *L) {
    lua_pushnumber(L, (lua_Number)zkl_lease_id(check_box(L)->object));
    return 1;
}

static int64_t read_token(lua_State *L) {
    int64_t value = zkl_lease_token(enter_lease(L));
    zkl_lua_leave(L);
    return value;
}

static int token(lua_State *L) {
    if (zkl_lua_push_int64(L, read_token(L))) return 1;
    return zkl_lua_raise_misuse(L, "the token is above 2^53 and not exact as a number here: "
                                   "use lease:token_string()");
}

static int token_string(lua_State *L) {
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, read_token(L));
    lua_pushstring(L, text);
    return 1;
}

static int state(lua_State *L) {
    static const char *const names[] = {[ZKL_LEASE_HELD] = "held",
                                        [ZKL_LEASE_SUSPECT] = "suspect",
                                        [ZKL_LEASE_LOST] = "lost",
                                        [ZKL_LEASE_RELEASED] = "released"};
    zkl_lease *lease = zkl_lua_enter_full(L, ZKL_LEASE_BOX);
    enum zkl_lease_state current = lease ? zkl_lease_state(lease) : ZKL_LEASE_RELEASED;
    if (lease) zkl_lua_leave(L);
    lua_pushstring(L, names[current]);
    return 1;
}

static int remaining(lua_State *L) {
    zkl_lease *lease = zkl_lua_enter_full(L, ZKL_LEASE_BOX);
    zkl_time time = lease ? zkl_lease_remaining(lease) : 0;
    if (lease) zkl_lua_leave(L);
    zkl_lua_push_time(L, time);
    return 1;
}

static int push_whether(lua_State *L, bool (*is_so)(const zkl_lease *lease)) {
    bool so = is_so(enter_lease(L));
    zkl_lua_leave(L);
    lua_pushboolean(L, so);
    return 1;
}

/* lease:waited() -> true if the acquire waited for the lock */
static int waited(lua_State *L) {
    return push_whether(L, zkl_lease_waited);
}

/* lease:reads() -> true for a reader's lease, from the begin of a downgrade on */
static int reads(lua_State *L) {
    return push_whether(L, zkl_lease_reads);
}

static int revoked(lua_State *L) {
    return push_whether(L, zkl_lease_revoked);
}

/* lease:expire(seconds) -> "ok" | "lost" | "released" */
static int expire(lua_State *L) {
    zkl_time length = zkl_lua_time(L, 2);
    enum zkl_code code = zkl_lease_expire(enter_lease(L), length);
    zkl_lua_leave(L);
    lua_pushstring(L, zkl_code_name(code));
    return 1;
}

/* lease:release() -> "ok" | "lost" | "released" | "forked" */
static int release(lua_State *L) {
    if (gone(L)) return 1;
    enum zkl_code code = zkl_lease_release(enter_lease(L));
    zkl_lua_leave(L);
    lua_pushstring(L, zkl_code_name(code));
    return 1;
}

/* lease:VERB(timeout) -> request */
static int push_begun(lua_State *L,
                      zkl_request *(*begin_request)(zkl_lease *lease, zkl_time timeout)) {
    const struct zkl_box *lease = check_box(L);
    zkl_time timeout = zkl_lua_time(L, 2);
    zkl_lua_begin_request(L, lease->client);
    return zkl_lua_push_request(L, lease->client, begin_request(lease->object, timeout));
}

static int release_and_confirm(lua_State *L) {
    return push_begun(L, zkl_release_and_confirm);
}

static int downgrade(lua_State *L) {
    return push_begun(L, zkl_downgrade);
}

/* Reads { kind, path, data, version } at the top of the stack. The table keeps the texts. */
static struct zkl_op read_op(lua_State *L) {
    struct zkl_op op = {.version = -1};
    for (int field = 1; field <= 4; field++) lua_rawgeti(L, -field, field);
    op.kind = (enum zkl_op_kind)luaL_checkoption(L, -4, NULL, zkl_op_names);
    op.path = luaL_checkstring(L, -3);
    op.data = luaL_optlstring(L, -2, "", &op.size);
    op.version = (int32_t)luaL_optinteger(L, -1, -1);
    lua_pop(L, 4);
    return op;
}

/* lease:guard({ { kind, path, data, version }, ... }, timeout) -> request */
static int guard(lua_State *L) {
    const struct zkl_box *lease = check_box(L);
    luaL_checktype(L, 2, LUA_TTABLE);
    zkl_time timeout = zkl_lua_time(L, 3);
    size_t count = zkl_lua_length(L, 2);
    struct zkl_op *ops = lua_newuserdata(L, (count + 1) * sizeof *ops);
    for (size_t i = 0; i < count; i++) {
        lua_rawgeti(L, 2, (int)i + 1);
        ops[i] = read_op(L);
        lua_pop(L, 1);
    }
    zkl_lua_begin_request(L, lease->client);
    return zkl_lua_push_request(L, lease->client, zkl_guard(lease->object, ops, count, timeout));
}

static int signal(lua_State *L) {
    const struct zkl_box *lease = check_box(L);
    const char *folder = luaL_checkstring(L, 2);
    bool all = lua_toboolean(L, 3);
    zkl_time timeout = zkl_lua_time(L, 4);
    zkl_lua_begin_request(L, lease->client);
    return zkl_lua_push_request(L, lease->client, zkl_signal(lease->object, folder, all, timeout));
}

static int wait(lua_State *L) {
    const struct zkl_box *lease = check_box(L);
    const char *folder = luaL_checkstring(L, 2);
    zkl_time timeout = zkl_lua_time(L, 3);
    zkl_lua_begin_request(L, lease->client);
    return zkl_lua_push_request(L, lease->client, zkl_wait(lease->object, folder, timeout));
}

static int listen(lua_State *L) {
    zkl_lease_listen(enter_lease(L));
    zkl_lua_leave(L);
    return 0;
}

static int check(lua_State *L) {
    return push_begun(L, zkl_check);
}

static void drop_object(void *lease) {
    zkl_lease_drop(lease);
}

static int collect(lua_State *L) {
    return zkl_lua_collect(L, ZKL_LEASE_BOX, drop_object);
}

void zkl_lua_open_lease(lua_State *L) {
    static const luaL_Reg methods[] = {
        {"check", check},         {"downgrade", downgrade},
        {"expire", expire},       {"gone", gone},
        {"guard", guard},         {"id", id},
        {"listen", listen},       {"reads", reads},
        {"release", release},     {"release_and_confirm", release_and_confirm},
        {"remaining", remaining}, {"revoked", revoked},
        {"signal", signal},       {"state", state},
        {"token", token},         {"token_string", token_string},
        {"wait", wait},           {"waited", waited},
        {"__gc", collect},        {NULL, NULL},
    };
    zkl_lua_add_methods(L, ZKL_LEASE_BOX, methods);
}
