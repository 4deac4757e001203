/* session.c - the session box: the verbs of a session, for lua/zklock/session.lua. */
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../memory/memory_link.h"
#include "../world/world.h"
#include "../zookeeper/zookeeper_link.h"
#include "binding.h"

zkl_client *zkl_lua_check_client(lua_State *L, int index) {
    return zkl_lua_check(L, index, ZKL_SESSION_BOX)->client;
}

/* The same, of one that has threads. */
static zkl_client *check_threaded(lua_State *L, int index) {
    zkl_client *client = zkl_lua_check_client(L, index);
    luaL_argcheck(L, !zkl_world_owns(client), index, "of a world of virtual time");
    return client;
}

/* Pushes a field of the table at that index; returns where it is. */
static int field(lua_State *L, int table, const char *name) {
    lua_getfield(L, table, name);
    return lua_gettop(L);
}

/* --- opening ---------------------------------------------------------------------------- */

/* core.session(options): options are complete and checked by lua/zklock/options.lua. */
int zkl_lua_session(lua_State *L) {
    static const char *const acls[] = {"open", "creator", "read", NULL};
    luaL_checktype(L, 1, LUA_TTABLE);
    struct zkl_options options = {
        .timeout = zkl_lua_time(L, field(L, 1, "timeout")),
        .margin = luaL_checknumber(L, field(L, 1, "margin")),
        .acl = (enum zkl_acl)luaL_checkoption(L, field(L, 1, "acl"), NULL, acls),
        .containers = lua_toboolean(L, field(L, 1, "containers")),
        .reopen = lua_toboolean(L, field(L, 1, "reopen")),
        .steps = lua_toboolean(L, field(L, 1, "steps")),
        .hosts = luaL_optstring(L, field(L, 1, "hosts"), NULL),
        .chroot = luaL_optstring(L, field(L, 1, "chroot"), NULL),
        .auth_scheme = luaL_optstring(L, field(L, 1, "auth_scheme"), NULL),
        .auth = luaL_optstring(L, field(L, 1, "auth"), NULL),
        .identity = luaL_optstring(L, field(L, 1, "identity"), NULL),
        .recover = luaL_optstring(L, field(L, 1, "recover"), NULL),
        .grace = zkl_lua_time(L, field(L, 1, "grace")),
    };
    bool in_memory = lua_toboolean(L, field(L, 1, "in_memory"));
    int world = field(L, 1, "world");
    uint32_t process = (uint32_t)luaL_optinteger(L, field(L, 1, "process"), 0);
    struct zkl_box *box = zkl_lua_box(L, ZKL_SESSION_BOX);
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
    /* A finalizer does not wait: the session closes in the background. */
    if (!zkl_world_number(client)) zkl_client_close_soon(client, ZKL_SECOND);
    zkl_client_drop(client);
    return 0;
}

/* --- what it tells ------------------------------------------------------------------------ */

const char *const zkl_lua_state_names[] = {[ZKL_SESSION_CONNECTING] = "connecting",
                                           [ZKL_SESSION_CONNECTED] = "connected",
                                           [ZKL_SESSION_SUSPENDED] = "suspended",
                                           [ZKL_SESSION_EXPIRED] = "expired",
                                           [ZKL_SESSION_CLOSED] = "closed"};

static int foreign(lua_State *L) {
    const struct zkl_box *box = zkl_lua_to_box(L, 1, ZKL_SESSION_BOX);
    lua_pushboolean(L, box->client && zkl_client_foreign(box->client));
    return 1;
}

/* What the class keeps in its list. */
enum { PUSH_STEP = 1, EVENT_NAMES, STATE_NAMES = EVENT_NAMES + ZKL_EVENT_STEP + 1 };

static int state(lua_State *L) {
    zkl_client *client = zkl_lua_check_client(L, 1);
    enum zkl_session_state now = zkl_session_state(zkl_client_enter(client));
    zkl_client_leave(client);
    zkl_lua_push_kept(L, STATE_NAMES + (int)now);
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

static const char *const complaints[] = {
    [ZKL_COMPLAINT_REFUSED] = "the connection was refused",
    [ZKL_COMPLAINT_HUNG_UP] = "the connection was closed before an answer: by no ZooKeeper, "
                              "for maxClientCnxns, on a TLS port, or by stunnel: see its log",
    [ZKL_COMPLAINT_SILENT] = "the connection was made, and nothing came"};

/* Why there is no connection: text, or nil; what a server did that did not answer, or nil. */
static int trouble(lua_State *L) {
    struct zkl_trouble why = zkl_client_trouble(zkl_lua_check_client(L, 1));
    if (why.denied != ZKL_NEVER) push_denial(L, why.denied);
    else if (why.nameless) lua_pushliteral(L, "the server grants the session id 0, which is none");
    else if (why.error < 0) lua_pushstring(L, gai_strerror(why.error));
    else if (why.error > 0) lua_pushstring(L, strerror(why.error));
    else lua_pushnil(L);
    lua_pushstring(L, complaints[why.complaint]); /* nil if there is none */
    return 2;
}

/* session:recovery() -> sessions that were ended[, why this one is not in its folder] */
static int recovery(lua_State *L) {
    struct zkl_trouble why = zkl_client_trouble(zkl_lua_check_client(L, 1));
    lua_pushinteger(L, (lua_Integer)why.recovered);
    if (!why.unsaved) return 1;
    lua_pushstring(L, strerror(why.unsaved));
    return 2;
}

/* core.folder(folder) -> nothing, or why sessions cannot be kept there */
int zkl_lua_folder(lua_State *L) {
    int error = zkl_zookeeper_folder(luaL_checkstring(L, 1));
    if (error == ENOTSUP) lua_pushliteral(L, "not on tmpfs, ext4, xfs or btrfs");
    else if (error) lua_pushstring(L, strerror(error));
    return error ? 1 : 0;
}

/* --- the inbox ------------------------------------------------------------------------------ */

/* Seconds since 1970 of a time by the client's clock. */
static lua_Number date_of(const zkl_client *client, zkl_time time) {
    struct timespec now;
    if (zkl_world_owns(client)) return (lua_Number)zkl_world_date(time) / ZKL_SECOND;
    clock_gettime(CLOCK_REALTIME, &now);
    lua_Number seconds = (lua_Number)now.tv_sec + (lua_Number)now.tv_nsec / ZKL_SECOND;
    return seconds - (lua_Number)(zkl_now() - time) / ZKL_SECOND;
}

struct dated_step {
    const struct zkl_step *step;
    lua_Number date;
};

/* A table, as docs/reference.md has it at `on_event`. */
static int push_step(lua_State *L) {
    static const char *const kinds[] = {[ZKL_STEP_QUEUED] = "queued",
                                        [ZKL_STEP_GRANTED] = "granted",
                                        [ZKL_STEP_SUSPECT] = "suspect",
                                        [ZKL_STEP_HELD] = "held",
                                        [ZKL_STEP_LOST] = "lost",
                                        [ZKL_STEP_RELEASED] = "released",
                                        [ZKL_STEP_REVOKED] = "revoked",
                                        [ZKL_STEP_EXPIRED] = "expired",
                                        [ZKL_STEP_RECONNECTED] = "reconnected"};
    const struct dated_step *dated = lua_touserdata(L, 1);
    const struct zkl_step *step = dated->step;
    bool ended = step->kind == ZKL_STEP_LOST || step->kind == ZKL_STEP_RELEASED;
    lua_newtable(L);
    lua_pushstring(L, kinds[step->kind]);
    lua_setfield(L, -2, "event");
    lua_pushnumber(L, dated->date);
    lua_setfield(L, -2, "time");
    lua_pushstring(L, step->path);
    lua_setfield(L, -2, "path");
    lua_pushstring(L, step->owner);
    lua_setfield(L, -2, "owner");
    if (step->token && zkl_lua_push_int64(L, step->token)) lua_setfield(L, -2, "token");
    zkl_lua_push_time(L, step->took);
    if (ended) lua_setfield(L, -2, "held");
    else if (step->kind == ZKL_STEP_GRANTED) lua_setfield(L, -2, "waited");
    else lua_pop(L, 1);
    lua_pushinteger(L, (lua_Integer)step->position);
    if (step->position) lua_setfield(L, -2, "position");
    else lua_pop(L, 1);
    return 1;
}

static const char *const event_names[] = {
    [ZKL_EVENT_NONE] = "none",   [ZKL_EVENT_REQUEST] = "request", [ZKL_EVENT_QUEUED] = "queued",
    [ZKL_EVENT_LEASE] = "lease", [ZKL_EVENT_STATE] = "state",     [ZKL_EVENT_WATCHER] = "watcher",
    [ZKL_EVENT_STEP] = "step"};

static void keep_names(lua_State *L, int place, const char *const *names, int count) {
    for (int i = 0; i < count; i++) {
        lua_pushstring(L, names[i]);
        lua_rawseti(L, -2, place + i);
    }
}

static void keep_what_news_need(lua_State *L) {
    static const lua_CFunction functions[] = {push_step};
    zkl_lua_keep(L, ZKL_SESSION_BOX, functions, 1);
    luaL_getmetatable(L, ZKL_SESSION_BOX);
    keep_names(L, EVENT_NAMES, event_names, ZKL_EVENT_STEP + 1);
    keep_names(L, STATE_NAMES, zkl_lua_state_names, ZKL_SESSION_CLOSED + 1);
    lua_pop(L, 1);
}

static void push_and_free(lua_State *L, const zkl_client *client, const struct zkl_step *step) {
    struct dated_step dated = {step, date_of(client, step->at)};
    zkl_lua_push_kept(L, PUSH_STEP);
    lua_pushlightuserdata(L, &dated);
    int failed = lua_pcall(L, 1, 1, 0);
    zkl_step_free(step);
    if (failed) lua_error(L);
}

/* session:next() -> nothing | kind, id, state or step, whether more is there, position */
static int next_event(lua_State *L) {
    struct zkl_event event;
    bool more;
    zkl_client *client = zkl_lua_check_client(L, 1);
    luaL_checkstack(L, 6, NULL);
    if (!zkl_client_next(client, &event, &more)) return 0;
    zkl_lua_push_kept(L, EVENT_NAMES + (int)event.kind);
    if (event.kind == ZKL_EVENT_STATE) zkl_lua_push_kept(L, STATE_NAMES + (int)event.state);
    else if (event.kind == ZKL_EVENT_STEP) push_and_free(L, client, event.step);
    else lua_pushnumber(L, (lua_Number)event.id);
    lua_pushboolean(L, more);
    if (event.kind != ZKL_EVENT_QUEUED) return 3;
    lua_pushinteger(L, (lua_Integer)event.position);
    return 4;
}

static int wait_for_news(lua_State *L) {
    zkl_client *client = check_threaded(L, 1);
    lua_pushboolean(L, zkl_client_wait(client, zkl_lua_time(L, 2)));
    return 1;
}

/* session:fd() -> descriptor; nil, reason */
static int fd(lua_State *L) {
    int descriptor = zkl_client_fd(check_threaded(L, 1));
    if (descriptor < 0) return zkl_lua_fail(L, strerror(errno));
    lua_pushinteger(L, descriptor);
    return 1;
}

/* session:listen() -> path of a unix socket to connect to; nil, reason */
static int listen_for_host(lua_State *L) {
    char path[ZKL_SOCKET_PATH];
    int error = zkl_client_listen(check_threaded(L, 1), path);
    if (error) return zkl_lua_fail(L, strerror(error));
    lua_pushstring(L, path);
    return 1;
}

static int accept_host(lua_State *L) {
    lua_pushboolean(L, zkl_client_accept(check_threaded(L, 1)));
    return 1;
}

static int heard(lua_State *L) {
    zkl_client_heard(check_threaded(L, 1));
    return 0;
}

static int poke(lua_State *L) {
    zkl_client_poke(check_threaded(L, 1));
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
        clients[i] = check_threaded(L, -1);
        lua_pop(L, 1);
    }
    lua_pushboolean(L, zkl_client_poll(clients, count, timeout_given));
    return 1;
}

/* --- what it does ---------------------------------------------------------------------------- */

static int close_session(lua_State *L) {
    zkl_client *client = check_threaded(L, 1);
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
    zkl_session *session = zkl_lua_begin(L, client);
    return zkl_lua_begun(L, client, zkl_session_ready(session, limit));
}

/* session:pause(timeout) -> request */
static int pause_host(lua_State *L) {
    zkl_client *client = zkl_lua_check_client(L, 1);
    zkl_time limit = zkl_lua_time(L, 2);
    zkl_session *session = zkl_lua_begin(L, client);
    return zkl_lua_begun(L, client, zkl_pause(session, limit));
}

/* session:meter(name) -> its number, for core.wish */
static int meter(lua_State *L) {
    zkl_client *client = zkl_lua_check_client(L, 1);
    const char *name = luaL_checkstring(L, 2);
    size_t number = zkl_session_name_meter(zkl_client_enter(client), name);
    zkl_client_leave(client);
    if (number == 0) return luaL_error(L, "not enough memory");
    lua_pushinteger(L, (lua_Integer)number);
    return 1;
}

/* session:drain(waiters, timeout) -> request */
static int drain(lua_State *L) {
    zkl_client *client = zkl_lua_check_client(L, 1);
    bool waiters = lua_toboolean(L, 2);
    zkl_time limit = zkl_lua_time(L, 3);
    zkl_session *session = zkl_lua_begin(L, client);
    return zkl_lua_begun(L, client, zkl_session_drain(session, waiters, limit));
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

/* What a lock wants each time, with its texts behind it: `path`, and `data` if there is any. */
struct wish {
    struct zkl_acquire_options options;
    char texts[];
};

/* Pushes the wish. */
static void push_wish(lua_State *L, const struct zkl_acquire_options *options) {
    size_t path = strlen(options->path) + 1, data = options->data ? strlen(options->data) + 1 : 0;
    struct wish *wish = lua_newuserdata(L, sizeof *wish + path + data);
    wish->options = *options;
    wish->options.path = memcpy(wish->texts, options->path, path);
    if (data) wish->options.data = memcpy(wish->texts + path, options->data, data);
    luaL_getmetatable(L, ZKL_WISH);
    lua_setmetatable(L, -2);
}

/*
 * core.wish{ path, kind, reentrant, data, jitter, limit, batch, counting, keep, meter }, by name
 * -> wish; jitter of kind "unfair" only, limit of "permit", batch, counting and keep of "mutex".
 */
int zkl_lua_wish(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    int jitter = field(L, 1, "jitter"), keep = field(L, 1, "keep");
    struct zkl_acquire_options options = {
        .path = luaL_optstring(L, field(L, 1, "path"), NULL),
        .kind = (enum zkl_kind)luaL_checkoption(L, field(L, 1, "kind"), NULL, zkl_kind_names),
        .reentrant = lua_toboolean(L, field(L, 1, "reentrant")),
        .data = luaL_optstring(L, field(L, 1, "data"), NULL),
        .jitter = lua_isnil(L, jitter) ? 0 : zkl_lua_time(L, jitter),
        .limit = (int32_t)luaL_optinteger(L, field(L, 1, "limit"), 0),
        .batch = (int32_t)luaL_optinteger(L, field(L, 1, "batch"), 0),
        .counting = lua_toboolean(L, field(L, 1, "counting")),
        .keep = lua_isnil(L, keep) ? 0 : zkl_lua_time(L, keep),
        .meter = (size_t)luaL_optinteger(L, field(L, 1, "meter"), 0),
    };
    luaL_argcheck(L, options.path, 1, "no path");
    push_wish(L, &options);
    return 1;
}

static struct zkl_acquire_options check_wish(lua_State *L, int index) {
    const struct wish *wish = luaL_checkudata(L, index, ZKL_WISH);
    return wish->options;
}

/* An acquire may be done at once: request, its id, whether it is done. */
static int begun_acquire(lua_State *L, zkl_client *client, zkl_request *request) {
    bool done = request && zkl_request_done(request);
    zkl_lua_begun(L, client, request);
    lua_pushboolean(L, done);
    return 3;
}

/* What the user wants this time: max_waiters and max_hold, each perhaps nil. */
static void set_limits(lua_State *L, int index, struct zkl_acquire_options *options) {
    options->crowd = (int32_t)luaL_optinteger(L, index, 0);
    if (lua_isnoneornil(L, index + 1)) return;
    options->max_hold = zkl_lua_time(L, index + 1);
    if (options->max_hold == 0) options->max_hold = 1;
}

/*
 * session:acquire(wish, owner, timeout, trying, quiet, max_waiters, max_hold, permits) ->
 * request, id, done
 */
static int acquire(lua_State *L) {
    zkl_client *client = zkl_lua_check_client(L, 1);
    struct zkl_acquire_options options = check_wish(L, 2);
    options.owner = luaL_checkstring(L, 3);
    options.timeout = zkl_lua_time(L, 4);
    options.trying = lua_toboolean(L, 5);
    options.quiet = lua_toboolean(L, 6);
    set_limits(L, 7, &options);
    options.permits = (int32_t)luaL_optinteger(L, 9, 0);
    zkl_session *session = zkl_lua_begin(L, client);
    return begun_acquire(L, client, zkl_acquire(session, &options));
}

/*
 * session:acquire_all({ wish, ... }, owner, timeout, trying, quiet, max_waiters, max_hold) ->
 * request, id, done
 */
static int acquire_all(lua_State *L) {
    zkl_client *client = zkl_lua_check_client(L, 1);
    lua_settop(L, 8);
    luaL_checktype(L, 2, LUA_TTABLE);
    const char *owner = luaL_checkstring(L, 3);
    zkl_time limit = zkl_lua_time(L, 4);
    bool trying = lua_toboolean(L, 5), quiet = lua_toboolean(L, 6);
    size_t count = zkl_lua_length(L, 2);
    luaL_argcheck(L, count > 0, 2, "no lock");
    struct zkl_acquire_options *options = lua_newuserdata(L, count * sizeof *options);
    for (size_t i = 0; i < count; i++) {
        lua_rawgeti(L, 2, (int)i + 1);
        options[i] = check_wish(L, lua_gettop(L));
        options[i].owner = owner;
        options[i].timeout = limit;
        options[i].trying = trying;
        options[i].quiet = quiet;
        set_limits(L, 7, &options[i]);
        lua_pop(L, 1);
    }
    zkl_session *session = zkl_lua_begin(L, client);
    return begun_acquire(L, client, zkl_acquire_all(session, options, count));
}

/* session:queue(path, kind, timeout) -> request */
static int queue(lua_State *L) {
    zkl_client *client = zkl_lua_check_client(L, 1);
    const char *path = luaL_checkstring(L, 2);
    enum zkl_kind kind = (enum zkl_kind)luaL_checkoption(L, 3, NULL, zkl_kind_names);
    zkl_time limit = zkl_lua_time(L, 4);
    zkl_session *session = zkl_lua_begin(L, client);
    return zkl_lua_begun(L, client, zkl_queue(session, path, kind, limit));
}

static int begin_about(lua_State *L, zkl_request *(*begin)(zkl_session *session, const char *node,
                                                           zkl_time timeout)) {
    zkl_client *client = zkl_lua_check_client(L, 1);
    const char *node = luaL_checkstring(L, 2);
    zkl_time limit = zkl_lua_time(L, 3);
    zkl_session *session = zkl_lua_begin(L, client);
    return zkl_lua_begun(L, client, begin(session, node, limit));
}

/* session:get(path, timeout) -> request */
static int get(lua_State *L) {
    return begin_about(L, zkl_get);
}

/* session:children(path, timeout) -> request */
static int children(lua_State *L) {
    return begin_about(L, zkl_children);
}

/* session:break_node(node, version, timeout) -> request */
static int break_node(lua_State *L) {
    zkl_client *client = zkl_lua_check_client(L, 1);
    const char *node = luaL_checkstring(L, 2);
    int32_t version = (int32_t)luaL_checkinteger(L, 3);
    zkl_time limit = zkl_lua_time(L, 4);
    zkl_session *session = zkl_lua_begin(L, client);
    return zkl_lua_begun(L, client, zkl_break(session, node, version, limit));
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
    struct zkl_box *box = zkl_lua_box(L, ZKL_WATCHER_BOX);
    zkl_watcher *watcher = zkl_watch(zkl_client_enter(client), path, &why);
    if (watcher) zkl_lua_fill(box, client, watcher);
    zkl_client_leave(client);
    if (watcher) return 1;
    if (why == ZKL_OK) return luaL_error(L, "not enough memory");
    return zkl_lua_fail(L, zkl_code_name(why));
}

void zkl_lua_open_session(lua_State *L) {
    static const luaL_Reg methods[] = {
        {"accept", accept_host},
        {"acquire", acquire},
        {"acquire_all", acquire_all},
        {"break_node", break_node},
        {"children", children},
        {"close", close_session},
        {"close_soon", close_soon},
        {"drain", drain},
        {"ended", ended},
        {"fd", fd},
        {"foreign", foreign},
        {"get", get},
        {"heard", heard},
        {"holds", holds},
        {"id", id},
        {"listen", listen_for_host},
        {"meter", meter},
        {"next", next_event},
        {"pause", pause_host},
        {"poke", poke},
        {"queue", queue},
        {"ready", ready},
        {"release_all", release_all},
        {"revoke", revoke},
        {"state", state},
        {"stats", zkl_lua_stats},
        {"timeout", timeout},
        {"recovery", recovery},
        {"trouble", trouble},
        {"wait", wait_for_news},
        {"watch", watch},
        {"__gc", collect},
        {NULL, NULL},
    };
    static const luaL_Reg no_methods[] = {{NULL, NULL}};
    zkl_lua_class(L, ZKL_SESSION_BOX, methods);
    keep_what_news_need(L);
    zkl_lua_class(L, ZKL_WISH, no_methods);
}
