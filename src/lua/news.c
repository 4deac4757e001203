/* news.c - the inbox of a session, and ways to learn of its events. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "../world/world.h"
#include "binding.h"

const char *const zkl_lua_state_names[] = {[ZKL_SESSION_CONNECTING] = "connecting",
                                           [ZKL_SESSION_CONNECTED] = "connected",
                                           [ZKL_SESSION_SUSPENDED] = "suspended",
                                           [ZKL_SESSION_EXPIRED] = "expired",
                                           [ZKL_SESSION_CLOSED] = "closed"};

/* Places in the class's list (zkl_lua_store()). */
enum { PUSH_STEP = 1, EVENT_NAMES, STATE_NAMES = EVENT_NAMES + ZKL_EVENT_STEP + 1 };

/* Converts the client's time to seconds since 1970. */
static lua_Number date_of(const zkl_client *client, zkl_time time) {
    struct timespec now;
    if (zkl_world_is_client(client)) return (lua_Number)zkl_world_date(time) / ZKL_SECOND;
    clock_gettime(CLOCK_REALTIME, &now);
    lua_Number seconds = (lua_Number)now.tv_sec + (lua_Number)now.tv_nsec / ZKL_SECOND;
    return seconds - (lua_Number)(zkl_now() - time) / ZKL_SECOND;
}

struct dated_step {
    const struct zkl_step *step;
    lua_Number date;
};

/* Pushes a step in the form of docs/reference/metrics.md. */
static int push_step(lua_State *L) {
    static const char *const kinds[] = {[ZKL_STEP_QUEUED] = "queued",
                                        [ZKL_STEP_GRANTED] = "granted",
                                        [ZKL_STEP_SUSPECT] = "suspect",
                                        [ZKL_STEP_HELD] = "held",
                                        [ZKL_STEP_LOST] = "lost",
                                        [ZKL_STEP_RELEASED] = "released",
                                        [ZKL_STEP_REVOKED] = "revoked",
                                        [ZKL_STEP_EXPIRED] = "expired",
                                        [ZKL_STEP_RECONNECTED] = "reconnected",
                                        [ZKL_STEP_NO_CONTAINERS] = "no_containers"};
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
    [ZKL_EVENT_NONE] = "none",     [ZKL_EVENT_REQUEST] = "request", [ZKL_EVENT_QUEUED] = "queued",
    [ZKL_EVENT_LEASE] = "lease",   [ZKL_EVENT_STATE] = "state",     [ZKL_EVENT_WATCHER] = "watcher",
    [ZKL_EVENT_MEMBER] = "member", [ZKL_EVENT_ROSTER] = "roster",   [ZKL_EVENT_STEP] = "step"};

static void store_names(lua_State *L, int place, const char *const *names, int count) {
    for (int i = 0; i < count; i++) {
        lua_pushstring(L, names[i]);
        lua_rawseti(L, -2, place + i);
    }
}

static void store_constants(lua_State *L) {
    static const lua_CFunction functions[] = {push_step};
    zkl_lua_store(L, ZKL_SESSION_BOX, functions, 1);
    luaL_getmetatable(L, ZKL_SESSION_BOX);
    store_names(L, EVENT_NAMES, event_names, ZKL_EVENT_STEP + 1);
    store_names(L, STATE_NAMES, zkl_lua_state_names, ZKL_SESSION_CLOSED + 1);
    lua_pop(L, 1);
}

static int state(lua_State *L) {
    zkl_client *client = zkl_lua_full_client(L);
    enum zkl_session_state current = ZKL_SESSION_CLOSED;
    if (client) current = zkl_session_state(zkl_client_enter(client));
    if (client) zkl_client_leave(client);
    zkl_lua_push_stored(L, STATE_NAMES + (int)current);
    return 1;
}

static void push_and_free_step(lua_State *L, const zkl_client *client,
                               const struct zkl_step *step) {
    struct dated_step dated = {step, date_of(client, step->at)};
    zkl_lua_push_stored(L, PUSH_STEP);
    lua_pushlightuserdata(L, &dated);
    int failed = lua_pcall(L, 1, 1, 0);
    zkl_step_free(step);
    if (failed) lua_error(L);
}

/* session:next() -> nothing | kind, id or state or step, true if more events wait [, position] */
static int next_event(lua_State *L) {
    struct zkl_event event;
    bool more;
    zkl_client *client = zkl_lua_check_client(L, 1);
    luaL_checkstack(L, 6, NULL);
    if (!zkl_client_next(client, &event, &more)) return 0;
    zkl_lua_push_stored(L, EVENT_NAMES + (int)event.kind);
    if (event.kind == ZKL_EVENT_STATE) zkl_lua_push_stored(L, STATE_NAMES + (int)event.state);
    else if (event.kind == ZKL_EVENT_STEP) push_and_free_step(L, client, event.step);
    else lua_pushnumber(L, (lua_Number)event.id);
    lua_pushboolean(L, more);
    if (event.kind != ZKL_EVENT_QUEUED) return 3;
    lua_pushinteger(L, (lua_Integer)event.position);
    return 4;
}

static int wait_for_news(lua_State *L) {
    zkl_client *client = zkl_lua_check_threaded(L, 1);
    lua_pushboolean(L, zkl_client_wait(client, zkl_lua_time(L, 2)));
    return 1;
}

static int fd(lua_State *L) {
    int descriptor = zkl_client_fd(zkl_lua_check_threaded(L, 1));
    if (descriptor < 0) return zkl_lua_fail(L, strerror(errno));
    lua_pushinteger(L, descriptor);
    return 1;
}

/* session:listen() -> path of a Unix socket to connect to; nil, reason */
static int listen_for_program(lua_State *L) {
    char path[ZKL_SOCKET_PATH];
    int error = zkl_client_listen(zkl_lua_check_threaded(L, 1), path);
    if (error) return zkl_lua_fail(L, strerror(error));
    lua_pushstring(L, path);
    return 1;
}

static int accept_program(lua_State *L) {
    lua_pushboolean(L, zkl_client_accept(zkl_lua_check_threaded(L, 1)));
    return 1;
}

static int heard(lua_State *L) {
    zkl_client_heard(zkl_lua_check_threaded(L, 1));
    return 0;
}

static int poke(lua_State *L) {
    zkl_client_poke(zkl_lua_check_threaded(L, 1));
    return 0;
}

void zkl_lua_open_news(lua_State *L) {
    static const luaL_Reg methods[] = {
        {"accept", accept_program},
        {"fd", fd},
        {"heard", heard},
        {"listen", listen_for_program},
        {"next", next_event},
        {"poke", poke},
        {"state", state},
        {"wait", wait_for_news},
        {NULL, NULL},
    };
    zkl_lua_add_methods(L, ZKL_SESSION_BOX, methods);
    store_constants(L);
}
