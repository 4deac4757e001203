/* request.c - the box of a request, which a driver awaits. */
#include "binding.h"

static const zkl_request *check_request(lua_State *L) {
    return zkl_lua_check(L, 1, ZKL_REQUEST_BOX)->object;
}

static int id(lua_State *L) {
    lua_pushnumber(L, (lua_Number)zkl_request_id(check_request(L)));
    return 1;
}

static int done(lua_State *L) {
    bool is_done = zkl_request_done(zkl_lua_enter(L, ZKL_REQUEST_BOX));
    zkl_lua_leave(L);
    lua_pushboolean(L, is_done);
    return 1;
}

enum { PUSH_RESULT = 1, PUSH_QUEUE, PUSH_DATA };

/* Calls a stored function with a copy of the box, as a finalizer may empty the box meanwhile. */
static int call_with_copy(lua_State *L, int push) {
    struct zkl_box box;
    int top = lua_gettop(L);
    zkl_lua_push_stored(L, push);
    lua_pushlightuserdata(L, &box);
    zkl_request_ref(zkl_lua_enter(L, ZKL_REQUEST_BOX));
    box = *(const struct zkl_box *)lua_touserdata(L, 1);
    zkl_client_ref(box.client);
    zkl_lua_leave(L);
    int failed = lua_pcall(L, 1, LUA_MULTRET, 0);
    zkl_client_enter(box.client);
    zkl_request_unref(box.object);
    zkl_client_leave(box.client);
    zkl_client_drop(box.client);
    return failed ? lua_error(L) : lua_gettop(L) - top;
}

static const zkl_request *copied_request(lua_State *L) {
    return ((const struct zkl_box *)lua_touserdata(L, 1))->object;
}

static int push_result(lua_State *L) {
    const zkl_request *request = copied_request(L);
    lua_pushstring(L, zkl_code_name(zkl_request_code(request)));
    lua_pushstring(L, zkl_request_detail(request));
    return 2;
}

/* request:result(), when done -> code, the server's reason or nil */
static int result(lua_State *L) {
    return call_with_copy(L, PUSH_RESULT);
}

/* request:lease(), when done -> lease, and the request is dropped; nil, code and reason */
static int lease(lua_State *L) {
    struct zkl_box *lease_box = zkl_lua_push_box(L, ZKL_LEASE_BOX);
    struct zkl_box *request_box = lua_touserdata(L, 1);
    zkl_request *request = zkl_lua_enter(L, ZKL_REQUEST_BOX);
    bool granted = zkl_request_code(request) == ZKL_OK;
    zkl_lease *taken = granted ? zkl_request_lease(request) : NULL;
    if (taken) {
        *lease_box = (struct zkl_box){.client = request_box->client, .object = taken};
        *request_box = (struct zkl_box){0};
        zkl_request_drop(request);
        zkl_client_leave(lease_box->client);
        return 1;
    }
    zkl_lua_leave(L);
    if (granted) return luaL_error(L, "not enough memory");
    lua_pushnil(L);
    return 1 + result(L);
}

/* request:member(), when done with "ok" -> member, id */
static int member(lua_State *L) {
    struct zkl_box *member_box = zkl_lua_push_box(L, ZKL_MEMBER_BOX);
    struct zkl_box *request_box = lua_touserdata(L, 1);
    zkl_member *taken = zkl_request_member(zkl_lua_enter(L, ZKL_REQUEST_BOX));
    uint64_t id_of_taken = taken ? zkl_member_id(taken) : 0;
    if (taken) zkl_lua_fill(member_box, request_box->client, taken);
    zkl_lua_leave(L);
    if (!taken) return 0;
    lua_pushnumber(L, (lua_Number)id_of_taken);
    return 2;
}

/*
 * request:conflict(), after "conflict" -> the path's use, a semaphore's limit, true if this session
 * uses the path, and the number of a multi-lock's part or 0; nothing if unknown
 */
static int conflict(lua_State *L) {
    static const char *const names[] = {
        [ZKL_USE_FIFO] = "fifo",         [ZKL_USE_COUNTING] = "counting",
        [ZKL_USE_TURNS] = "turns",       [ZKL_USE_UNFAIR] = "none",
        [ZKL_USE_READ_WRITE] = "rwlock", [ZKL_USE_SEMAPHORE] = "semaphore"};
    struct zkl_conflict by = zkl_request_conflict(zkl_lua_enter(L, ZKL_REQUEST_BOX));
    zkl_lua_leave(L);
    if (by.use == ZKL_USE_UNKNOWN) return 0;
    lua_pushstring(L, names[by.use]);
    lua_pushinteger(L, by.limit);
    lua_pushboolean(L, by.ours);
    lua_pushinteger(L, (lua_Integer)by.part);
    return 4;
}

/* request:stops() -> stops of the process since shortly before the request */
static int stops(lua_State *L) {
    uint64_t count = zkl_request_stops(zkl_lua_enter(L, ZKL_REQUEST_BOX));
    zkl_lua_leave(L);
    lua_pushnumber(L, (lua_Number)count);
    return 1;
}

static void set_integer(lua_State *L, const char *name, lua_Integer value) {
    lua_pushinteger(L, value);
    lua_setfield(L, -2, name);
}

static void set_seconds(lua_State *L, const char *name, int64_t milliseconds) {
    lua_pushnumber(L, (lua_Number)milliseconds / 1000);
    lua_setfield(L, -2, name);
}

static void push_entry(lua_State *L, const struct zkl_queued *entry, size_t position) {
    lua_createtable(L, 0, 12);
    set_integer(L, "position", (lua_Integer)position);
    lua_pushstring(L, entry->name);
    lua_setfield(L, -2, "name");
    lua_pushstring(L, zkl_kind_names[entry->kind]);
    lua_setfield(L, -2, "kind");
    lua_pushboolean(L, entry->whose != ZKL_ANOTHERS);
    lua_setfield(L, -2, "mine");
    if (entry->reuse == ZKL_MAY_BE_KEPT) lua_pushboolean(L, true);
    if (entry->reuse == ZKL_MAY_BE_KEPT) lua_setfield(L, -2, "keeps");
    if (entry->whose == ZKL_OURS_KEPT) lua_pushboolean(L, true);
    if (entry->whose == ZKL_OURS_KEPT) lua_setfield(L, -2, "kept");
    lua_pushlstring(L, entry->data ? entry->data : "", entry->size);
    lua_setfield(L, -2, "data");
    zkl_lua_push_hex(L, entry->session);
    lua_setfield(L, -2, "session");
    if (entry->kind == ZKL_PERMIT) set_integer(L, "permits", entry->permits);
    if (entry->kind == ZKL_PERMIT) set_integer(L, "limit", entry->limit);
    if (entry->created > 0) set_seconds(L, "since", entry->created);
    if (entry->token > 0 && zkl_lua_push_int64(L, entry->token)) lua_setfield(L, -2, "token");
}

static int push_queue(lua_State *L) {
    size_t count;
    const struct zkl_queued *entries = zkl_request_queue(copied_request(L), &count);
    lua_createtable(L, (int)count, 0);
    for (size_t i = 0; i < count; i++) {
        push_entry(L, &entries[i], i + 1);
        lua_rawseti(L, -2, (int)i + 1);
    }
    return 1;
}

/* request:queue() -> contenders in order, `data` as stored */
static int queue(lua_State *L) {
    return call_with_copy(L, PUSH_QUEUE);
}

static int push_data(lua_State *L) {
    size_t size;
    int32_t version;
    const char *text = zkl_request_data(copied_request(L), &size, &version);
    lua_pushlstring(L, text ? text : "", size);
    lua_pushinteger(L, version);
    return 2;
}

/* request:data(), after "ok" -> text, version; after children() the names, each with its NUL */
static int data(lua_State *L) {
    return call_with_copy(L, PUSH_DATA);
}

/* request:refused() -> number of the refused write in a guard; 0: none */
static int refused(lua_State *L) {
    lua_pushinteger(L, (lua_Integer)zkl_request_refused_op(check_request(L)));
    return 1;
}

static int signalled(lua_State *L) {
    lua_pushinteger(L, (lua_Integer)zkl_request_signal_count(check_request(L)));
    return 1;
}

/* request:version(number) -> version of the node after that write of a guard */
static int version(lua_State *L) {
    const zkl_request *request = check_request(L);
    lua_pushinteger(L, zkl_request_version(request, (size_t)luaL_checkinteger(L, 2)));
    return 1;
}

/* request:cancel(code), with "ok" for pauses */
static int cancel(lua_State *L) {
    static const char *const names[] = {"interrupted", "timeout", "ok", NULL};
    static const enum zkl_code codes[] = {ZKL_INTERRUPTED, ZKL_TIMEOUT, ZKL_OK};
    enum zkl_code why = codes[luaL_checkoption(L, 2, "interrupted", names)];
    zkl_request_cancel(zkl_lua_enter(L, ZKL_REQUEST_BOX), why);
    zkl_lua_leave(L);
    return 0;
}

static void drop_object(void *request) {
    zkl_request_drop(request);
}

/* Ends a pending request, and gives up an untaken lease. */
static int drop(lua_State *L) {
    return zkl_lua_drop(L, ZKL_REQUEST_BOX, drop_object);
}

static int collect(lua_State *L) {
    return zkl_lua_collect(L, ZKL_REQUEST_BOX, drop_object);
}

void zkl_lua_open_request(lua_State *L) {
    static const luaL_Reg methods[] = {
        {"cancel", cancel},   {"conflict", conflict}, {"data", data},
        {"done", done},       {"drop", drop},         {"id", id},
        {"lease", lease},     {"member", member},     {"queue", queue},
        {"refused", refused}, {"result", result},     {"signalled", signalled},
        {"stops", stops},     {"version", version},   {"__close", drop},
        {"__gc", collect},    {NULL, NULL},
    };
    static const lua_CFunction functions[] = {push_result, push_queue, push_data};
    zkl_lua_add_methods(L, ZKL_REQUEST_BOX, methods);
    zkl_lua_store(L, ZKL_REQUEST_BOX, functions, 3);
}
