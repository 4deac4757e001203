/* module.c - luaopen_zklock_core(), with the module's functions and constants. */
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../core/claim_state.h"
#include "../zookeeper/zookeeper_link.h"
#include "binding.h"

#if LUA_VERSION_NUM == 501 && __has_include(<luajit.h>)
#include <luajit.h>
#pragma weak lua_isyieldable /* plain Lua 5.1 lacks it, and must reach check_build() */
#endif

/* core.open_standard(), when the command's process begins */
static int open_standard(lua_State *L) {
    (void)L;
    zkl_process_open_standard();
    return 0;
}

#define IGNORES_INT "ZKLOCK_IGNORES_INT" /* in the environment, by bin/zklock */

/*
 * core.settle_signals(), when the command's process begins. SIGINT, which Lua has caught, ends the
 * process, but stays ignored if bin/zklock found it so. If SIGCHLD were ignored, nobody would know
 * how a process ended.
 */
static int settle_signals(lua_State *L) {
    (void)L;
    signal(SIGINT, getenv(IGNORES_INT) ? SIG_IGN : SIG_DFL);
    unsetenv(IGNORES_INT);
    signal(SIGCHLD, SIG_DFL);
    return 0;
}

/* "host:pid", to find the process that holds a lock. */
static int identity(lua_State *L) {
    char host[256];
    if (gethostname(host, sizeof host) != 0) strcpy(host, "localhost");
    host[sizeof host - 1] = '\0';
    lua_pushfstring(L, "%s:%d", host, (int)getpid());
    return 1;
}

static int now(lua_State *L) {
    zkl_lua_push_time(L, zkl_now());
    return 1;
}

/* core.sleep(seconds): blocks; a signal ends it early */
static int block(lua_State *L) {
    zkl_time time = zkl_lua_time(L, 1);
    const struct timespec pause = {.tv_sec = (time_t)(time / ZKL_SECOND),
                                   .tv_nsec = (long)(time % ZKL_SECOND)};
    nanosleep(&pause, NULL);
    return 0;
}

/* core.thread() -> a number unique among this process's running threads */
static int thread(lua_State *L) {
    static _Thread_local char address;
    lua_pushnumber(L, (lua_Number)(uintptr_t)&address);
    return 1;
}

/* False if a yield would cross a C function. nginx's own Lua functions do not tell. */
static int isyieldable(lua_State *L) {
#if LUA_VERSION_NUM >= 503 || defined(LUAJIT_VERSION)
    lua_pushboolean(L, lua_isyieldable(L));
#else
    lua_pushboolean(L, 1); /* unused, see check_build() */
#endif
    return 1;
}

/* core.close_on_signal(number) -> nothing, or the reason of a failure */
static int close_on_signal(lua_State *L) {
    int error = zkl_process_close_on((int)luaL_checkinteger(L, 1));
    if (!error) return 0;
    lua_pushstring(L, strerror(error));
    return 1;
}

/* --- Ctrl-C at a prompt, as in Lua's interpreters ------------------------------------------ */

static lua_State *interrupted;

static void raise_interrupt(lua_State *L, lua_Debug *ar) {
    (void)ar;
    lua_sethook(L, NULL, 0, 0);
    luaL_error(L, "interrupted!");
}

/* A second Ctrl-C ends the process if the first has not raised yet. */
static void on_interrupt(int number) {
    signal(number, SIG_DFL);
    lua_sethook(interrupted, raise_interrupt,
                LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT, 1);
}

static volatile sig_atomic_t idle_interrupted;

/* poll() in await_input() ends with EINTR. */
static void on_idle_interrupt(int number) {
    (void)number;
    idle_interrupted = 1;
}

/* core.await_input() -> true if standard input is readable; false after Ctrl-C */
static int await_input(lua_State *L) {
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    while (!idle_interrupted && poll(&input, 1, -1) <= 0) {
    }
    lua_pushboolean(L, !idle_interrupted);
    idle_interrupted = 0;
    return 1;
}

/*
 * core.interruptible([raises]): Ctrl-C raises in the running code, or with false only ends
 * await_input(), or without an argument is ignored. An ignored SIGINT stays ignored.
 */
static int interruptible(lua_State *L) {
    struct sigaction action = {0}, before;
    interrupted = L;
    idle_interrupted = 0;
    if (lua_isnone(L, 1)) action.sa_handler = SIG_IGN;
    else action.sa_handler = lua_toboolean(L, 1) ? on_interrupt : on_idle_interrupt;
    sigaction(SIGINT, NULL, &before);
    if (before.sa_handler != SIG_IGN) sigaction(SIGINT, &action, NULL);
    return 0;
}

/*
 * core.die_at_exit(number, of_group): at its exit this process dies of that signal, and with
 * `of_group` its process group gets the signal
 */
static int die_at_exit(lua_State *L) {
    zkl_process_die_at_exit((int)luaL_checkinteger(L, 1), lua_toboolean(L, 2));
    return 0;
}

static void set_signals(lua_State *L) {
    static const struct {
        const char *name;
        int number;
    } signals[] = {{"TERM", SIGTERM}, {"INT", SIGINT},   {"HUP", SIGHUP},
                   {"QUIT", SIGQUIT}, {"USR1", SIGUSR1}, {"USR2", SIGUSR2}};
    lua_newtable(L);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        lua_pushinteger(L, signals[i].number);
        lua_setfield(L, -2, signals[i].name);
    }
    lua_setfield(L, -2, "signals");
}

/* --- Lua states of this process with this module ------------------------------------------- */

#define STATE_MARK "zklock.state"

static atomic_int state_count;

static int forget_state(lua_State *L) {
    (void)L;
    atomic_fetch_sub(&state_count, 1);
    return 0;
}

/* Counts this Lua state, once. Several in nginx show that lua_code_cache is off. */
static void add_state(lua_State *L) {
    static const luaL_Reg methods[] = {{"__gc", forget_state}, {NULL, NULL}};
    lua_getfield(L, LUA_REGISTRYINDEX, STATE_MARK);
    bool counted = !lua_isnil(L, -1);
    lua_pop(L, 1);
    if (counted) return;
    zkl_lua_add_methods(L, STATE_MARK, methods);
    zkl_lua_push_box(L, STATE_MARK);
    lua_setfield(L, LUA_REGISTRYINDEX, STATE_MARK);
    atomic_fetch_add(&state_count, 1);
}

static int get_state_count(lua_State *L) {
    lua_pushinteger(L, atomic_load(&state_count));
    return 1;
}

static void set_constants(lua_State *L) {
    zkl_lua_push_time(L, ZKL_TIMEOUT_LEAST);
    lua_setfield(L, -2, "timeout_least");
    lua_pushstring(L, zkl_zookeeper_version);
    lua_setfield(L, -2, "libzookeeper");
    lua_pushliteral(L, ZKL_REVOKE_DATA);
    lua_setfield(L, -2, "revoke_data");
    lua_pushliteral(L, ZKL_HELD_WORD);
    lua_setfield(L, -2, "held_word");
    lua_pushinteger(L, ZKL_BATCH_MAX);
    lua_setfield(L, -2, "batch_max");
    lua_pushinteger(L, ZKL_BATCH_BY_TIME);
    lua_setfield(L, -2, "batch_by_time");
    lua_pushinteger(L, ZKL_METERS_MAX);
    lua_setfield(L, -2, "meters_max");
    lua_pushinteger(L, ZKL_DOWNGRADE_LIMIT);
    lua_setfield(L, -2, "downgrade_limit");
}

/*
 * Raises if the module was built for another Lua. A module for plain Lua 5.1 would believe that
 * nginx can yield everywhere.
 */
static void check_build(lua_State *L) {
#if LUA_VERSION_NUM >= 502
    luaL_checkversion(L);
#else
    lua_getfield(L, LUA_REGISTRYINDEX, "_LOADED");
    lua_getfield(L, -1, "jit");
    bool is_jit = !lua_isnil(L, -1);
    lua_pop(L, 2);
#ifdef LUAJIT_VERSION
    if (!is_jit)
        luaL_error(L, "zklock was built for LuaJIT, and this is plain Lua 5.1: build it "
                      "with that one's headers, as by LUA_INCDIR=/usr/include/lua5.1");
#else
    if (is_jit)
        luaL_error(L, "zklock was built for plain Lua 5.1, and this is LuaJIT: build it "
                      "with that one's headers, as by LUA_INCDIR=/usr/include/luajit-2.1");
#endif
#endif
}

ZKL_LUA_EXPORT int luaopen_zklock_core(lua_State *L);

int luaopen_zklock_core(lua_State *L) {
    static const luaL_Reg functions[] = {{"session", zkl_lua_session},
                                         {"close_on_signal", close_on_signal},
                                         {"folder", zkl_lua_folder},
                                         {"trials", zkl_lua_trials},
                                         {"ask", zkl_lua_ask},
                                         {"acquire_options", zkl_lua_acquire_options},
                                         {"sleep", block},
                                         {"board", zkl_lua_board},
                                         {"totals", zkl_lua_totals},
                                         {"now", now},
                                         {"open_standard", open_standard},
                                         {"settle_signals", settle_signals},
                                         {"die_at_exit", die_at_exit},
                                         {"thread", thread},
                                         {"identity", identity},
                                         {"isyieldable", isyieldable},
                                         {"on_misuse", zkl_lua_on_misuse},
                                         {"states", get_state_count},
                                         {"interruptible", interruptible},
                                         {"await_input", await_input},
                                         {"world", zkl_lua_world},
                                         {NULL, NULL}};
    check_build(L);
    add_state(L);
    zkl_lua_open_session(L);
    zkl_lua_open_news(L);
    zkl_lua_open_acquire(L);
    zkl_lua_open_request(L);
    zkl_lua_open_lease(L);
    zkl_lua_open_watcher(L);
    zkl_lua_open_member(L);
    zkl_lua_open_roster(L);
    zkl_lua_open_totals(L);
    zkl_lua_open_world(L);
    zkl_lua_open_board(L);
    lua_newtable(L);
    zkl_lua_set_functions(L, functions);
    zkl_lua_push_memory(L);
    lua_setfield(L, -2, "memory");
    set_constants(L);
    set_signals(L);
    return 1;
}
