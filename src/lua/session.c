/* session.c - the session box: the verbs of a session, for lua/zklock/session.lua. */
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../memory/memory_link.h"
#include "../zookeeper/zookeeper_link.h"
#include "binding.h"

zkl_client *zkl_lua_check_client(lua_State *L, int index) {
    zkl_client **box = luaL_checkudata(L, index, ZKL_SESSION_BOX);
    if (!*box) luaL_argerror(L, index, "the session was never opened");
    if (zkl_client_foreign(*box)) zkl_lua_raise_forked(L);
    return *box;
}

/* --- tables of options ------------------------------------------------------------------- */

/* Fields of the table at that index. The table keeps the texts. */

static const char *text_field(lua_State *L, int table, const char *name) {
    lua_getfield(L, table, name);
    const char *text = luaL_optstring(L, -1, NULL);
    lua_pop(L, 1);
    return text;
}

static bool has_field(lua_State *L, int table, const char *name) {
    lua_getfield(L, table, name);
    bool has = !lua_isnil(L, -1);
    lua_pop(L, 1);
    return has;
}

static zkl_time time_field(lua_State *L, int table, const char *name) {
    lua_getfield(L, table, name);
    zkl_time time = zkl_lua_time(L, -1);
    lua_pop(L, 1);
    return time;
}

static bool flag_field(lua_State *L, int table, const char *name) {
    lua_getfield(L, table, name);
    bool flag = lua_toboolean(L, -1);
    lua_pop(L, 1);
    return flag;
}

static double number_field(lua_State *L, int table, const char *name) {
    lua_getfield(L, table, name);
    double number = luaL_checknumber(L, -1);
    lua_pop(L, 1);
    return number;
}

/* 0: there is none. */
static int32_t count_field(lua_State *L, int table, const char *name) {
    lua_getfield(L, table, name);
    int32_t count = (int32_t)luaL_optinteger(L, -1, 0);
    lua_pop(L, 1);
    return count;
}

/* The place in the list. */
static int word_field(lua_State *L, int table, const char *name, const char *const words[]) {
    lua_getfield(L, table, name);
    int place = luaL_checkoption(L, -1, NULL, words);
    lua_pop(L, 1);
    return place;
}

/* --- opening ---------------------------------------------------------------------------- */

/* core.session(options): options are complete and checked by lua/zklock/options.lua. */
int zkl_lua_session(lua_State *L) {
    static const char *const acls[] = {"open", "creator", "read", NULL};
    luaL_checktype(L, 1, LUA_TTABLE);
    struct zkl_options options = {
        .timeout = time_field(L, 1, "timeout"),
        .margin = number_field(L, 1, "margin"),
        .acl = (enum zkl_acl)word_field(L, 1, "acl", acls),
        .containers = flag_field(L, 1, "containers"),
        .reopen = flag_field(L, 1, "reopen"),
        .hosts = text_field(L, 1, "hosts"),
        .chroot = text_field(L, 1, "chroot"),
        .auth_scheme = text_field(L, 1, "auth_scheme"),
        .auth = text_field(L, 1, "auth"),
        .identity = text_field(L, 1, "identity"),
    };
    const struct zkl_link_class *class =
        flag_field(L, 1, "in_memory") ? &zkl_memory : &zkl_zookeeper;
    void **box = zkl_lua_box(L, ZKL_SESSION_BOX);
    *box = zkl_client_new(class, &options);
    if (*box) return 1;
    lua_pushnil(L);
    lua_pushstring(L, strerror(errno));
    return 2;
}

static int collect(lua_State *L) {
    zkl_client **box = luaL_checkudata(L, 1, ZKL_SESSION_BOX);
    zkl_client *client = *box;
    *box = NULL;
    if (!client || zkl_client_foreign(client)) return 0;
    /* A finalizer does not wait: the session closes in the background. */
    zkl_client_close_soon(client, ZKL_SECOND);
    zkl_client_drop(client);
    return 0;
}

/* --- what it tells ------------------------------------------------------------------------ */

static const char *state_name(enum zkl_session_state state) {
    switch (state) {
    case ZKL_SESSION_CONNECTING: return "connecting";
    case ZKL_SESSION_CONNECTED: return "connected";
    case ZKL_SESSION_SUSPENDED: return "suspended";
    case ZKL_SESSION_EXPIRED: return "expired";
    case ZKL_SESSION_CLOSED: return "closed";
    }
    return "unknown";
}

static int foreign(lua_State *L) {
    zkl_client **box = luaL_checkudata(L, 1, ZKL_SESSION_BOX);
    lua_pushboolean(L, *box && zkl_client_foreign(*box));
    return 1;
}

static int state(lua_State *L) {
    zkl_client *client = zkl_lua_check_client(L, 1);
    enum zkl_session_state now = zkl_session_state(zkl_client_enter(client));
    zkl_client_leave(client);
    lua_pushstring(L, state_name(now));
    return 1;
}

static int id(lua_State *L) {
    zkl_client *client = zkl_lua_check_client(L, 1);
    uint64_t value = zkl_session_id(zkl_client_enter(client));
    zkl_client_leave(client);
    if (value) zkl_lua_push_hex(L, value);
    else lua_pushnil(L);
    return 1;
}

static int timeout(lua_State *L) {
    zkl_client *client = zkl_lua_check_client(L, 1);
    zkl_time time = zkl_session_timeout(zkl_client_enter(client));
    zkl_client_leave(client);
    zkl_lua_push_time(L, time);
    return 1;
}

static void push_denial(lua_State *L, zkl_time timeout) {
    char text[100];
    snprintf(text, sizeof text, "the server grants a session timeout of %g s, less than %g s",
             (double)timeout / ZKL_SECOND, (double)ZKL_TIMEOUT_LEAST / ZKL_SECOND);
    lua_pushstring(L, text);
}

/* Why there is no connection: text, or nil. */
static int trouble(lua_State *L) {
    zkl_client *client = zkl_lua_check_client(L, 1);
    int error = zkl_client_trouble(client);
    zkl_time denied = zkl_client_denial(client);
    if (denied != ZKL_NEVER) push_denial(L, denied);
    else if (error < 0) lua_pushstring(L, gai_strerror(error));
    else if (error > 0) lua_pushstring(L, strerror(error));
    else lua_pushnil(L);
    return 1;
}

static void set_count(lua_State *L, const char *name, uint64_t value) {
    lua_pushnumber(L, (lua_Number)value);
#if LUA_VERSION_NUM >= 503
    lua_pop(L, 1);
    lua_pushinteger(L, (lua_Integer)value);
#endif
    lua_setfield(L, -2, name);
}

static int stats(lua_State *L) {
    struct zkl_stats counted;
    zkl_client *client = zkl_lua_check_client(L, 1);
    zkl_session_stats(zkl_client_enter(client), &counted);
    zkl_client_leave(client);
    lua_newtable(L);
    set_count(L, "creates", counted.creates);
    set_count(L, "deletes", counted.deletes);
    set_count(L, "sets", counted.sets);
    set_count(L, "lists", counted.lists);
    set_count(L, "gets", counted.gets);
    set_count(L, "exists", counted.exists);
    set_count(L, "syncs", counted.syncs);
    set_count(L, "grants", counted.grants);
    set_count(L, "losses", counted.losses);
    set_count(L, "waits", counted.waits);
    set_count(L, "timeouts", counted.timeouts);
    set_count(L, "reconnects", counted.reconnects);
    set_count(L, "expiries", counted.expiries);
    set_count(L, "orphans", counted.orphans);
    set_count(L, "events", counted.events);
    set_count(L, "in_flight", counted.in_flight);
    set_count(L, "claims", counted.claims);
    set_count(L, "watches", counted.watches);
    set_count(L, "watch_bytes", counted.watch_bytes);
    set_count(L, "watch_bytes_limit", ZKL_WATCHES_MAX);
    set_count(L, "watch_removals", counted.watch_removals);
    set_count(L, "path_bytes", counted.paths);
    return 1;
}

/* --- the inbox ------------------------------------------------------------------------------ */

static const char *phase_name(enum zkl_phase phase) {
    switch (phase) {
    case ZKL_PHASE_HELD: return "held";
    case ZKL_PHASE_SUSPECT: return "suspect";
    case ZKL_PHASE_LOST: return "lost";
    }
    return "unknown";
}

/* session:next() -> nothing | kind, id or state, position or phase */
static int next_event(lua_State *L) {
    struct zkl_event event;
    zkl_client *client = zkl_lua_check_client(L, 1);
    luaL_checkstack(L, 3, NULL);
    if (!zkl_client_next(client, &event)) return 0;
    switch (event.kind) {
    case ZKL_EVENT_REQUEST:
        lua_pushliteral(L, "request");
        lua_pushnumber(L, (lua_Number)event.id);
        return 2;
    case ZKL_EVENT_QUEUED:
        lua_pushliteral(L, "queued");
        lua_pushnumber(L, (lua_Number)event.id);
        lua_pushinteger(L, (lua_Integer)event.position);
        return 3;
    case ZKL_EVENT_LEASE:
        lua_pushliteral(L, "lease");
        lua_pushnumber(L, (lua_Number)event.id);
        lua_pushstring(L, phase_name(event.phase));
        return 3;
    case ZKL_EVENT_WATCHER:
        lua_pushliteral(L, "watcher");
        lua_pushnumber(L, (lua_Number)event.id);
        return 2;
    case ZKL_EVENT_STATE:
        lua_pushliteral(L, "state");
        lua_pushstring(L, state_name(event.state));
        return 2;
    case ZKL_EVENT_NONE: break;
    }
    return 0;
}

static int wait_for_news(lua_State *L) {
    zkl_client *client = zkl_lua_check_client(L, 1);
    lua_pushboolean(L, zkl_client_wait(client, zkl_lua_time(L, 2)));
    return 1;
}

/* session:fd() -> descriptor; nil, reason */
static int fd(lua_State *L) {
    int descriptor = zkl_client_fd(zkl_lua_check_client(L, 1));
    if (descriptor >= 0) {
        lua_pushinteger(L, descriptor);
        return 1;
    }
    lua_pushnil(L);
    lua_pushstring(L, strerror(errno));
    return 2;
}

/* session:listen() -> path of a unix socket to connect to; nil, reason */
static int listen_for_host(lua_State *L) {
    char path[ZKL_SOCKET_PATH];
    int error = zkl_client_listen(zkl_lua_check_client(L, 1), path);
    if (!error) {
        lua_pushstring(L, path);
        return 1;
    }
    lua_pushnil(L);
    lua_pushstring(L, strerror(error));
    return 2;
}

static int accept_host(lua_State *L) {
    lua_pushboolean(L, zkl_client_accept(zkl_lua_check_client(L, 1)));
    return 1;
}

static int heard(lua_State *L) {
    zkl_client_heard(zkl_lua_check_client(L, 1));
    return 0;
}

static int poke(lua_State *L) {
    zkl_client_poke(zkl_lua_check_client(L, 1));
    return 0;
}

/* core.poll({session, ...}, seconds) -> true if one of them has news */
int zkl_lua_poll(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    zkl_time timeout_given = zkl_lua_time(L, 2);
    size_t count = zkl_lua_length(L, 1);
    zkl_client **clients = lua_newuserdata(L, (count + 1) * sizeof(zkl_client *));
    for (size_t i = 0; i < count; i++) {
        lua_rawgeti(L, 1, (int)i + 1);
        clients[i] = zkl_lua_check_client(L, -1);
        lua_pop(L, 1);
    }
    lua_pushboolean(L, zkl_client_poll(clients, count, timeout_given));
    return 1;
}

/* --- what it does ---------------------------------------------------------------------------- */

static int close_session(lua_State *L) {
    zkl_client *client = zkl_lua_check_client(L, 1);
    lua_pushboolean(L, zkl_client_close(client, zkl_lua_time(L, 2)));
    return 1;
}

static int close_soon(lua_State *L) {
    zkl_client *client = zkl_lua_check_client(L, 1);
    zkl_client_close_soon(client, zkl_lua_time(L, 2));
    return 0;
}

static int ended(lua_State *L) {
    lua_pushboolean(L, zkl_client_ended(zkl_lua_check_client(L, 1)));
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
    zkl_time limit = zkl_lua_time(L, 2);
    void **box = zkl_lua_box(L, ZKL_REQUEST_BOX);
    return zkl_lua_push_request(L, client, box, zkl_session_ready(zkl_client_enter(client), limit));
}

/* session:pause(timeout) -> request */
static int pause_host(lua_State *L) {
    zkl_client *client = zkl_lua_check_client(L, 1);
    zkl_time limit = zkl_lua_time(L, 2);
    void **box = zkl_lua_box(L, ZKL_REQUEST_BOX);
    return zkl_lua_push_request(L, client, box, zkl_pause(zkl_client_enter(client), limit));
}

/* session:holds(path, owner) -> true if that owner has it */
static int holds(lua_State *L) {
    zkl_client *client = zkl_lua_check_client(L, 1);
    const char *path = luaL_checkstring(L, 2), *owner = luaL_checkstring(L, 3);
    bool has = zkl_session_holds(zkl_client_enter(client), path, owner);
    zkl_client_leave(client);
    lua_pushboolean(L, has);
    return 1;
}

/*
 * What a lock wants each time: a table { path, kind, reentrant, data, jitter, limit, batch }, by
 * name; jitter of kind "unfair" only, limit of "permit", batch of "mutex".
 */
static struct zkl_acquire_options to_options(lua_State *L, int table) {
    luaL_checktype(L, table, LUA_TTABLE);
    struct zkl_acquire_options options = {
        .path = text_field(L, table, "path"),
        .kind = (enum zkl_kind)word_field(L, table, "kind", zkl_kind_names),
        .reentrant = flag_field(L, table, "reentrant"),
        .data = text_field(L, table, "data"),
        .jitter = has_field(L, table, "jitter") ? time_field(L, table, "jitter") : 0,
        .limit = count_field(L, table, "limit"),
        .batch = count_field(L, table, "batch"),
    };
    luaL_argcheck(L, options.path, table, "no path");
    return options;
}

/* session:acquire(options, owner, timeout, trying, permits) -> request */
static int acquire(lua_State *L) {
    zkl_client *client = zkl_lua_check_client(L, 1);
    struct zkl_acquire_options options = to_options(L, 2);
    options.owner = luaL_checkstring(L, 3);
    options.timeout = zkl_lua_time(L, 4);
    options.trying = lua_toboolean(L, 5);
    options.permits = (int32_t)luaL_optinteger(L, 6, 0);
    void **box = zkl_lua_box(L, ZKL_REQUEST_BOX);
    zkl_session *session = zkl_client_enter(client);
    return zkl_lua_push_request(L, client, box, zkl_acquire(session, &options));
}

/* session:acquire_all({ options, ... }, owner, timeout, trying) -> request */
static int acquire_all(lua_State *L) {
    zkl_client *client = zkl_lua_check_client(L, 1);
    luaL_checktype(L, 2, LUA_TTABLE);
    const char *owner = luaL_checkstring(L, 3);
    zkl_time limit = zkl_lua_time(L, 4);
    bool trying = lua_toboolean(L, 5);
    size_t count = zkl_lua_length(L, 2);
    luaL_argcheck(L, count > 0, 2, "no lock");
    struct zkl_acquire_options *options = lua_newuserdata(L, count * sizeof *options);
    for (size_t i = 0; i < count; i++) {
        lua_rawgeti(L, 2, (int)i + 1);
        options[i] = to_options(L, lua_gettop(L));
        options[i].owner = owner;
        options[i].timeout = limit;
        options[i].trying = trying;
        lua_pop(L, 1);
    }
    void **box = zkl_lua_box(L, ZKL_REQUEST_BOX);
    zkl_session *session = zkl_client_enter(client);
    return zkl_lua_push_request(L, client, box, zkl_acquire_all(session, options, count));
}

/* session:queue(path, kind, timeout) -> request */
static int queue(lua_State *L) {
    zkl_client *client = zkl_lua_check_client(L, 1);
    const char *path = luaL_checkstring(L, 2);
    enum zkl_kind kind = (enum zkl_kind)luaL_checkoption(L, 3, NULL, zkl_kind_names);
    zkl_time limit = zkl_lua_time(L, 4);
    void **box = zkl_lua_box(L, ZKL_REQUEST_BOX);
    zkl_session *session = zkl_client_enter(client);
    return zkl_lua_push_request(L, client, box, zkl_queue(session, path, kind, limit));
}

static int begin_about(lua_State *L, zkl_request *(*begin)(zkl_session *session, const char *node,
                                                           zkl_time timeout)) {
    zkl_client *client = zkl_lua_check_client(L, 1);
    const char *node = luaL_checkstring(L, 2);
    zkl_time limit = zkl_lua_time(L, 3);
    void **box = zkl_lua_box(L, ZKL_REQUEST_BOX);
    zkl_session *session = zkl_client_enter(client);
    return zkl_lua_push_request(L, client, box, begin(session, node, limit));
}

/* session:get(path, timeout) -> request */
static int get(lua_State *L) {
    return begin_about(L, zkl_get);
}

/* session:revoke(node, timeout) -> request */
static int revoke(lua_State *L) {
    return begin_about(L, zkl_revoke);
}

/* session:watch(path) -> watcher; nil, code */
static int watch(lua_State *L) {
    zkl_client *client = zkl_lua_check_client(L, 1);
    const char *path = luaL_checkstring(L, 2);
    enum zkl_code why;
    void **box = zkl_lua_box(L, ZKL_WATCHER_BOX);
    *box = zkl_watch(zkl_client_enter(client), path, &why);
    if (*box) zkl_client_hold(client);
    zkl_client_leave(client);
    if (*box) return 1;
    if (why == ZKL_OK) return luaL_error(L, "not enough memory");
    lua_pushnil(L);
    lua_pushstring(L, zkl_code_name(why));
    return 2;
}

void zkl_lua_open_session(lua_State *L) {
    static const luaL_Reg methods[] = {
        {"accept", accept_host},
        {"acquire", acquire},
        {"acquire_all", acquire_all},
        {"close", close_session},
        {"close_soon", close_soon},
        {"ended", ended},
        {"fd", fd},
        {"foreign", foreign},
        {"get", get},
        {"heard", heard},
        {"holds", holds},
        {"id", id},
        {"listen", listen_for_host},
        {"next", next_event},
        {"pause", pause_host},
        {"poke", poke},
        {"queue", queue},
        {"ready", ready},
        {"release_all", release_all},
        {"revoke", revoke},
        {"state", state},
        {"stats", stats},
        {"timeout", timeout},
        {"trouble", trouble},
        {"wait", wait_for_news},
        {"watch", watch},
        {"__gc", collect},
        {NULL, NULL},
    };
    zkl_lua_class(L, ZKL_SESSION_BOX, methods);
}
