/* session.c - the box of a session, for lua/zklock/object/session.lua. */
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../memory/memory_link.h"
#include "../world/world.h"
#include "../zookeeper/zookeeper_link.h"
#include "binding.h"

zkl_client *zkl_lua_check_client(lua_State *L, int index) {
    return zkl_lua_check(L, index, ZKL_SESSION_BOX)->client;
}

zkl_client *zkl_lua_full_client(lua_State *L) {
    return zkl_lua_to_box(L, 1, ZKL_SESSION_BOX)->client ? zkl_lua_check_client(L, 1) : NULL;
}

zkl_client *zkl_lua_check_threaded(lua_State *L, int index) {
    zkl_client *client = zkl_lua_check_client(L, index);
    luaL_argcheck(L, !zkl_world_is_client(client), index, "of a world of virtual time");
    return client;
}

/* --- opening ---------------------------------------------------------------------------- */

/* A session's clock adds its timeout to times. */
#define LONGEST_TIMEOUT (ZKL_NEVER / 4)

static zkl_time session_timeout(lua_State *L, int index) {
    return zkl_earlier(zkl_lua_time(L, index), LONGEST_TIMEOUT);
}

/* core.session(options), as completed and checked by lua/zklock/value/options.lua */
int zkl_lua_session(lua_State *L) {
    static const char *const acls[] = {"open", "creator", "read", NULL};
    luaL_checktype(L, 1, LUA_TTABLE);
    struct zkl_options options = {
        .timeout = session_timeout(L, zkl_lua_push_field(L, 1, "timeout")),
        .margin = luaL_checknumber(L, zkl_lua_push_field(L, 1, "margin")),
        .acl = (enum zkl_acl)luaL_checkoption(L, zkl_lua_push_field(L, 1, "acl"), NULL, acls),
        .containers = lua_toboolean(L, zkl_lua_push_field(L, 1, "containers")),
        .reopen = lua_toboolean(L, zkl_lua_push_field(L, 1, "reopen")),
        .steps = lua_toboolean(L, zkl_lua_push_field(L, 1, "steps")),
        .hosts = luaL_optstring(L, zkl_lua_push_field(L, 1, "hosts"), NULL),
        .chroot = luaL_optstring(L, zkl_lua_push_field(L, 1, "chroot"), NULL),
        .auth_scheme = luaL_optstring(L, zkl_lua_push_field(L, 1, "auth_scheme"), NULL),
        .auth = luaL_optstring(L, zkl_lua_push_field(L, 1, "auth"), NULL),
        .identity = luaL_optstring(L, zkl_lua_push_field(L, 1, "identity"), NULL),
        .recover = luaL_optstring(L, zkl_lua_push_field(L, 1, "recover"), NULL),
        .grace = zkl_lua_time(L, zkl_lua_push_field(L, 1, "grace")),
    };
    bool in_memory = lua_toboolean(L, zkl_lua_push_field(L, 1, "in_memory"));
    int world = zkl_lua_push_field(L, 1, "world");
    uint32_t process = (uint32_t)luaL_optinteger(L, zkl_lua_push_field(L, 1, "process"), 0);
    struct zkl_box *box = zkl_lua_push_box(L, ZKL_SESSION_BOX);
    if (lua_isnil(L, world))
        box->client = zkl_client_new(in_memory ? &zkl_memory : &zkl_zookeeper, &options);
    else box->client = zkl_world_client(zkl_lua_check_world(L, world), process, &options);
    return box->client ? 1 : zkl_lua_fail(L, strerror(errno));
}

static int collect(lua_State *L) {
    struct zkl_box *box = luaL_checkudata(L, 1, ZKL_SESSION_BOX);
    zkl_client *client = box->client;
    box->client = NULL;
    if (!client || zkl_client_foreign(client)) return 0;
    /* A finalizer must not wait, so the session closes in the background. */
    if (!zkl_world_is_client(client)) zkl_client_leave_board(client);
    if (!zkl_world_number(client)) zkl_client_close_soon(client, ZKL_SECOND);
    zkl_client_drop(client);
    return 0;
}

/* --- state -------------------------------------------------------------------------------- */

/* session:gone() -> nil | "forked": the parent process's | "closed": the collector took it */
static int gone(lua_State *L) {
    return zkl_lua_push_gone(L, zkl_lua_to_box(L, 1, ZKL_SESSION_BOX), ZKL_CLOSED);
}

static int id(lua_State *L) {
    zkl_client *client = zkl_lua_full_client(L);
    uint64_t value = client ? zkl_session_id(zkl_client_enter(client)) : 0;
    if (client) zkl_client_leave(client);
    if (value) zkl_lua_push_hex(L, value);
    else lua_pushnil(L);
    return 1;
}

static int timeout(lua_State *L) {
    zkl_client *client = zkl_lua_full_client(L);
    zkl_time time = client ? zkl_session_timeout(zkl_client_enter(client)) : 0;
    if (client) zkl_client_leave(client);
    zkl_lua_push_time(L, time);
    return 1;
}

static void push_short_timeout(lua_State *L, zkl_time timeout) {
    char text[100];
    snprintf(text, sizeof text, "the server grants a session timeout of %g s, less than %g s",
             (double)timeout / ZKL_SECOND, (double)ZKL_TIMEOUT_LEAST / ZKL_SECOND);
    lua_pushstring(L, text);
}

static const char *const complaints[] = {
    [ZKL_COMPLAINT_REFUSED] = "the connection was refused",
    [ZKL_COMPLAINT_HUNG_UP] = "the connection was closed before an answer: this is not a "
                              "ZooKeeper, or it is a TLS port, or maxClientCnxns is reached, or "
                              "stunnel closed it: see its log",
    [ZKL_COMPLAINT_SILENT] = "nothing came from the server"};

/*
 * session:trouble() -> the reason for no connection, or nil; the last complaint about a server, or
 * nil
 */
static int trouble(lua_State *L) {
    struct zkl_trouble why = zkl_client_trouble(zkl_lua_check_client(L, 1));
    if (why.short_timeout != ZKL_NEVER) push_short_timeout(L, why.short_timeout);
    else if (why.id_zero) lua_pushliteral(L, "the server grants the session id 0, which is none");
    else if (why.error < 0) lua_pushstring(L, gai_strerror(why.error));
    else if (why.error > 0) lua_pushstring(L, strerror(why.error));
    else lua_pushnil(L);
    lua_pushstring(L, complaints[why.complaint]);
    return 2;
}

/* session:recovery() -> count of ended dead sessions [, reason why this session is not saved] */
static int recovery(lua_State *L) {
    struct zkl_trouble why = zkl_client_trouble(zkl_lua_check_client(L, 1));
    lua_pushinteger(L, (lua_Integer)why.recovered);
    if (!why.save_error) return 1;
    lua_pushstring(L, strerror(why.save_error));
    return 2;
}

/* core.folder(folder) -> nothing, or the reason why the folder is unfit. Makes it if missing. */
int zkl_lua_folder(lua_State *L) {
    int error = zkl_zookeeper_make_folder(luaL_checkstring(L, 1));
    if (error == ENOTSUP) lua_pushliteral(L, "not on tmpfs, ext4, xfs or btrfs");
    else if (error) lua_pushstring(L, strerror(error));
    return error ? 1 : 0;
}

/* core.trials(host, timeout) -> list of { name, known = true, false, or nil without an answer } */
int zkl_lua_trials(lua_State *L) {
    struct zkl_known known[ZKL_TRIALS];
    size_t count = zkl_zookeeper_try(luaL_checkstring(L, 1), zkl_lua_time(L, 2), known);
    lua_createtable(L, ZKL_TRIALS, 0);
    for (size_t i = 0; i < count; i++) {
        lua_createtable(L, 0, 2);
        lua_pushstring(L, known[i].name);
        lua_setfield(L, -2, "name");
        if (known[i].answered) lua_pushboolean(L, known[i].known);
        else lua_pushnil(L);
        lua_setfield(L, -2, "known");
        lua_rawseti(L, -2, (int)i + 1);
    }
    return 1;
}

/* core.ask(host, word, timeout) -> a server's answer to a four-letter word, "" without one */
int zkl_lua_ask(lua_State *L) {
    char text[ZKL_WORD_ANSWER];
    zkl_time by = zkl_due(zkl_lua_time(L, 3));
    zkl_zookeeper_ask(luaL_checkstring(L, 1), luaL_checkstring(L, 2), by, text);
    lua_pushstring(L, text);
    return 1;
}

/* --- verbs ----------------------------------------------------------------------------------- */

static int close_session(lua_State *L) {
    zkl_client *client = zkl_lua_check_threaded(L, 1);
    lua_pushboolean(L, zkl_client_close(client, zkl_lua_time(L, 2)));
    return 1;
}

static int close_soon(lua_State *L) {
    zkl_client *client = zkl_lua_check_client(L, 1);
    zkl_client_close_soon(client, zkl_lua_time(L, 2));
    return 0;
}

static int ended(lua_State *L) {
    lua_pushboolean(L, zkl_client_has_closed(zkl_lua_check_client(L, 1)));
    return 1;
}

static int release_all(lua_State *L) {
    zkl_client *client = zkl_lua_check_client(L, 1);
    const char *owner = luaL_checkstring(L, 2);
    size_t released = zkl_session_release_all(zkl_client_enter(client), owner);
    zkl_client_leave(client);
    lua_pushinteger(L, (lua_Integer)released);
    return 1;
}

static int ready(lua_State *L) {
    zkl_client *client = zkl_lua_check_client(L, 1);
    zkl_time timeout = zkl_lua_time(L, 2);
    zkl_session *session = zkl_lua_begin_request(L, client);
    return zkl_lua_push_request(L, client, zkl_session_ready(session, timeout));
}

static int begin_pause(lua_State *L) {
    zkl_client *client = zkl_lua_check_client(L, 1);
    zkl_time timeout = zkl_lua_time(L, 2);
    zkl_session *session = zkl_lua_begin_request(L, client);
    return zkl_lua_push_request(L, client, zkl_pause(session, timeout));
}

/* session:set_hosts(hosts, timeout) -> request; nil for sessions without hosts */
static int set_hosts(lua_State *L) {
    zkl_client *client = zkl_lua_check_client(L, 1);
    const char *hosts = luaL_checkstring(L, 2);
    zkl_time timeout = zkl_lua_time(L, 3);
    if (!zkl_client_link(client, &zkl_zookeeper)) return 0;
    zkl_request *request = zkl_pause(zkl_lua_begin_request(L, client), timeout);
    if (request) zkl_zookeeper_move(client, hosts, request, timeout);
    return zkl_lua_push_request(L, client, request);
}

/* session:meter(name) -> number for core.acquire_options */
static int meter(lua_State *L) {
    zkl_client *client = zkl_lua_check_client(L, 1);
    const char *name = luaL_checkstring(L, 2);
    size_t number = zkl_session_name_meter(zkl_client_enter(client), name);
    zkl_client_leave(client);
    if (number == 0) return luaL_error(L, "not enough memory");
    lua_pushinteger(L, (lua_Integer)number);
    return 1;
}

/* session:refusal() -> code with which any request would end now, or nil */
static int refusal(lua_State *L) {
    zkl_client *client = zkl_lua_check_client(L, 1);
    enum zkl_code code = zkl_session_refusal(zkl_client_enter(client));
    zkl_client_leave(client);
    if (code == ZKL_OK) return 0;
    lua_pushstring(L, zkl_code_name(code));
    return 1;
}

static int drain(lua_State *L) {
    zkl_client *client = zkl_lua_check_client(L, 1);
    bool waiters = lua_toboolean(L, 2);
    zkl_time timeout = zkl_lua_time(L, 3);
    zkl_session *session = zkl_lua_begin_request(L, client);
    return zkl_lua_push_request(L, client, zkl_session_drain(session, waiters, timeout));
}

/* session:holders(path, prefix) -> owners, with that prefix, that hold the lock */
static int holders(lua_State *L) {
    zkl_client *client = zkl_lua_check_client(L, 1);
    const char *path = luaL_checkstring(L, 2), *prefix = luaL_checkstring(L, 3);
    struct zkl_lua_names names;
    zkl_lua_begin_names(L, &names);
    names.list = zkl_session_holders(zkl_client_enter(client), path, prefix, &names.count);
    zkl_client_leave(client);
    return zkl_lua_push_names(L, &names);
}

static int queue(lua_State *L) {
    zkl_client *client = zkl_lua_check_client(L, 1);
    const char *path = luaL_checkstring(L, 2);
    enum zkl_kind kind = (enum zkl_kind)luaL_checkoption(L, 3, NULL, zkl_kind_names);
    zkl_time timeout = zkl_lua_time(L, 4);
    zkl_session *session = zkl_lua_begin_request(L, client);
    return zkl_lua_push_request(L, client, zkl_queue(session, path, kind, timeout));
}

static int join(lua_State *L) {
    zkl_client *client = zkl_lua_check_client(L, 1);
    const char *path = luaL_checkstring(L, 2), *data = luaL_checkstring(L, 3);
    zkl_time timeout = zkl_lua_time(L, 4);
    zkl_session *session = zkl_lua_begin_request(L, client);
    return zkl_lua_push_request(L, client, zkl_join(session, path, data, timeout));
}

static int push_begun(lua_State *L, zkl_request *(*begin)(zkl_session *session, const char *node,
                                                          zkl_time timeout)) {
    zkl_client *client = zkl_lua_check_client(L, 1);
    const char *node = luaL_checkstring(L, 2);
    zkl_time timeout = zkl_lua_time(L, 3);
    zkl_session *session = zkl_lua_begin_request(L, client);
    return zkl_lua_push_request(L, client, begin(session, node, timeout));
}

static int get(lua_State *L) {
    return push_begun(L, zkl_get);
}

static int children(lua_State *L) {
    return push_begun(L, zkl_children);
}

static int break_node(lua_State *L) {
    zkl_client *client = zkl_lua_check_client(L, 1);
    const char *node = luaL_checkstring(L, 2);
    int32_t version = (int32_t)luaL_checkinteger(L, 3);
    zkl_time timeout = zkl_lua_time(L, 4);
    zkl_session *session = zkl_lua_begin_request(L, client);
    return zkl_lua_push_request(L, client, zkl_break(session, node, version, timeout));
}

static int revoke(lua_State *L) {
    return push_begun(L, zkl_revoke);
}

/* Fills the box at the top with the object, leaves the client, and pushes the object's id. */
static int finish_box(lua_State *L, zkl_client *client, void *object, uint64_t id,
                      enum zkl_code why) {
    if (object) zkl_lua_fill(lua_touserdata(L, -1), client, object);
    zkl_client_leave(client);
    if (!object && why == ZKL_OK) return luaL_error(L, "not enough memory");
    if (!object) return zkl_lua_fail(L, zkl_code_name(why));
    lua_pushnumber(L, (lua_Number)id);
    return 2;
}

/* session:watch(path) -> watcher, id; nil, code */
static int watch(lua_State *L) {
    zkl_client *client = zkl_lua_check_client(L, 1);
    const char *path = luaL_checkstring(L, 2);
    enum zkl_code why;
    zkl_lua_push_box(L, ZKL_WATCHER_BOX);
    zkl_watcher *watcher = zkl_watch(zkl_client_enter(client), path, &why);
    return finish_box(L, client, watcher, watcher ? zkl_watcher_id(watcher) : 0, why);
}

/* session:members(folder) -> roster, id; nil, code */
static int members(lua_State *L) {
    zkl_client *client = zkl_lua_check_client(L, 1);
    const char *folder = luaL_checkstring(L, 2);
    enum zkl_code why;
    zkl_lua_push_box(L, ZKL_ROSTER_BOX);
    zkl_roster *roster = zkl_members(zkl_client_enter(client), folder, &why);
    return finish_box(L, client, roster, roster ? zkl_roster_id(roster) : 0, why);
}

void zkl_lua_open_session(lua_State *L) {
    static const luaL_Reg methods[] = {
        {"break_node", break_node},
        {"children", children},
        {"close", close_session},
        {"close_soon", close_soon},
        {"drain", drain},
        {"ended", ended},
        {"get", get},
        {"gone", gone},
        {"holders", holders},
        {"id", id},
        {"join", join},
        {"members", members},
        {"meter", meter},
        {"pause", begin_pause},
        {"queue", queue},
        {"ready", ready},
        {"refusal", refusal},
        {"release_all", release_all},
        {"set_hosts", set_hosts},
        {"revoke", revoke},
        {"stats", zkl_lua_stats},
        {"timeout", timeout},
        {"recovery", recovery},
        {"trouble", trouble},
        {"watch", watch},
        {"__gc", collect},
        {NULL, NULL},
    };
    zkl_lua_add_methods(L, ZKL_SESSION_BOX, methods);
}
