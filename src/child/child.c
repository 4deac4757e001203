/*
 * child.c - the module zklock.child of the command line. It gives Lua three things: a command that
 * a minder runs in its own process group (minder.h), the signals that this process catches, and
 * `zklock hold` (background.h).
 *
 * A child is the minder with its command. A process has at most one, because the signal handlers
 * are the process's. Its userdata belongs to one lua_State.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../lua/values.h"
#include "../shell/now.h"
#include "../shell/pin.h"
#include "background.h"
#include "minder.h"

#define CHILD_BOX "zklock.child"
#define REST_LOOK (ZKL_SECOND / 50) /* between looks at a dead minder's command */

struct child {
    int socket;         /* to the minder; -1: the minder is gone */
    pid_t minder;       /* 0: never started */
    pid_t command;      /* 0: not started, or its group is gone */
    bool may_run;       /* the minder was told to start a command, and has reported no end */
    bool rest_may_live; /* the minder is gone, and members of the command's group may live */
    zkl_time killed_at; /* when the minder's end was seen, and the group first killed */
    bool complained;    /* about a command of another user */
};

static struct child *check_child(lua_State *L) {
    return luaL_checkudata(L, 1, CHILD_BOX);
}

/* --- signals ---------------------------------------------------------------------------------- */

static int signal_pipe[2] = {-1, -1}; /* a pipe with a byte for each caught signal */

/* Signals that are passed on. At SIGTSTP the command is stopped first, then this process. */
static const int passed_on[] = {SIGHUP,  SIGINT,  SIGQUIT,  SIGTERM, SIGUSR1,
                                SIGUSR2, SIGTSTP, SIGWINCH, SIGCONT};

static void on_signal(int signal) {
    int before = errno;
    unsigned char byte = (unsigned char)signal;
    if (write(signal_pipe[1], &byte, 1) != 1) errno = before; /* a full pipe drops the byte */
    errno = before;
}

/* Keeps an ignored signal ignored, for nohup. */
static void catch_signal(int signal) {
    const struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    struct sigaction before;
    sigaction(signal, NULL, &before);
    if (before.sa_handler != SIG_IGN) sigaction(signal, &action, NULL);
}

/*
 * Signals may come until the process ends, so after lua_close(). SIGTTOU would stop this process
 * when it writes to the command's terminal.
 */
static void catch_all(void) {
    const struct sigaction ignored = {.sa_handler = SIG_IGN};
    zkl_pin_module();
    for (size_t i = 0; i < sizeof passed_on / sizeof *passed_on; i++) catch_signal(passed_on[i]);
    sigaction(SIGPIPE, &ignored, NULL);
    sigaction(SIGTTOU, &ignored, NULL);
}

/* --- the beginning ---------------------------------------------------------------------------- */

/* Forks the minder. `pair` holds the minder's socket and ours. 0, or an errno value. */
static int fork_minder(struct child *child, int pair[2], char *const *argv, const char *path) {
    sigset_t all, mask;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &mask);
    child->minder = fork();
    if (child->minder == 0) {
        const struct zkl_minded minded = {.argv = argv, .path = path, .mask = &mask};
        close(pair[1]);
        zkl_minder_main(pair[0], &minded);
    }
    int error = child->minder < 0 ? errno : 0;
    if (!error) catch_all();
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    return error;
}

static int open_child(struct child *child, char *const *argv, const char *path) {
    int pair[2];
    if (pipe2(signal_pipe, O_CLOEXEC | O_NONBLOCK) != 0) return errno;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) return errno;
    int error = fork_minder(child, pair, argv, path);
    close(pair[0]);
    if (error) close(pair[1]);
    else child->socket = pair[1];
    return error;
}

/* child.start({ word, ... }, path), before a session is opened -> child; nil, reason */
static int start_minder(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    const char *path = luaL_checkstring(L, 2);
    size_t count = zkl_lua_length(L, 1);
    luaL_argcheck(L, count > 0, 1, "no command");
    if (signal_pipe[0] >= 0) return luaL_error(L, "there is a child already");
    const char **argv = lua_newuserdata(L, (count + 1) * sizeof *argv);
    for (size_t i = 0; i < count; i++) {
        lua_rawgeti(L, 1, (int)i + 1);
        luaL_argcheck(L, lua_type(L, -1) == LUA_TSTRING, 1, "not all are texts");
        argv[i] = lua_tostring(L, -1); /* the table keeps the text */
        lua_pop(L, 1);
    }
    argv[count] = NULL;
    struct child *child = lua_newuserdata(L, sizeof *child);
    *child = (struct child){.socket = -1};
    luaL_getmetatable(L, CHILD_BOX);
    lua_setmetatable(L, -2);
    int error = open_child(child, (char *const *)argv, path);
    return error ? zkl_lua_fail(L, strerror(error)) : 1;
}

/* --- orders ----------------------------------------------------------------------------------- */

/* Does not wait, because a stopped minder reads nothing. */
static void send_order(const struct child *child, const struct zkl_order *order) {
    if (child->socket >= 0) send(child->socket, order, sizeof *order, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void copy_text(lua_State *L, int index, char text[ZKL_MINDER_TEXT]) {
    snprintf(text, ZKL_MINDER_TEXT, "%s", luaL_optstring(L, index, ""));
}

/*
 * child:launch(token or nil, session, seconds, grace): starts the command, at first or after
 * "over". If this process ends, the command gets SIGTERM, and SIGKILL at most `seconds` later. If a
 * signal ends the command, "over" comes when its group has ended, at most `grace` seconds later.
 */
static int launch(lua_State *L) {
    struct child *child = check_child(L);
    struct zkl_order order = {.kind = ZKL_ORDER_LAUNCH, .orphan_for = zkl_lua_time(L, 4)};
    order.grace = zkl_lua_time(L, 5);
    copy_text(L, 2, order.token);
    copy_text(L, 3, order.session);
    child->may_run = true;
    send_order(child, &order);
    return 0;
}

/*
 * child:limit(term, kill [, sure]): seconds until SIGTERM and SIGKILL, unless a later call moves
 * them. If this process is gone, SIGKILL comes within `sure`.
 */
static int limit(lua_State *L) {
    struct zkl_order order = {.kind = ZKL_ORDER_LIMITS,
                              .term_at = zkl_due(zkl_lua_time(L, 2)),
                              .kill_at = zkl_due(zkl_lua_time(L, 3)),
                              .sure_until = zkl_due(zkl_lua_time(L, 4))};
    send_order(check_child(L), &order);
    return 0;
}

static int send_signal(lua_State *L) {
    struct zkl_order order = {.kind = ZKL_ORDER_SIGNAL, .signal = (int)luaL_checkinteger(L, 2)};
    send_order(check_child(L), &order);
    return 0;
}

static int resume(lua_State *L) {
    struct zkl_order order = {.kind = ZKL_ORDER_RESUME};
    send_order(check_child(L), &order);
    return 0;
}

/*
 * child:kill() -> true after SIGKILL to the command's group and the minder, which may be stopped;
 * false if the command is another user's, whose end the minder awaits
 */
static int kill_all(lua_State *L) {
    struct child *child = check_child(L);
    bool refused = child->command && kill(-child->command, SIGKILL) != 0 && errno == EPERM;
    if (child->socket >= 0) kill(child->minder, refused ? SIGCONT : SIGKILL);
    child->may_run = refused;
    lua_pushboolean(L, !refused);
    return 1;
}

/* child:suspend(signal): stops this process's group by that signal, or with 0 this process alone */
static int suspend(lua_State *L) {
    const struct sigaction stopping = {.sa_handler = SIG_DFL};
    struct sigaction ours;
    check_child(L);
    int of_group = (int)luaL_checkinteger(L, 2), number = of_group ? of_group : SIGTSTP;
    sigaction(number, &stopping, &ours);
    kill(of_group ? 0 : getpid(), number);
    sigaction(number, &ours, NULL);
    return 0;
}

/* --- news ------------------------------------------------------------------------------------- */

/* child:wait(descriptor or nil, seconds): for news, or until the descriptor is readable */
static int wait_for_news(lua_State *L) {
    const struct child *child = check_child(L);
    zkl_time timeout = child->rest_may_live ? REST_LOOK : zkl_lua_time(L, 3);
    struct pollfd polled[] = {
        {.fd = signal_pipe[0], .events = POLLIN},
        {.fd = child->socket, .events = POLLIN},
        {.fd = (int)luaL_optinteger(L, 2, -1), .events = POLLIN},
    };
    poll(polled, 3, zkl_poll_timeout(timeout));
    return 0;
}

static int push_news(lua_State *L, const char *kind, int number) {
    lua_pushstring(L, kind);
    lua_pushinteger(L, number);
    return 2;
}

static int push_report(lua_State *L, struct child *child, const struct zkl_report *report) {
    static const char *const kinds[] = {
        [ZKL_REPORT_STARTED] = "started", [ZKL_REPORT_STOPPED] = "stopped",
        [ZKL_REPORT_LATE] = "late",       [ZKL_REPORT_EXITED] = "exited",
        [ZKL_REPORT_KILLED] = "killed",   [ZKL_REPORT_TYPED] = "typed",
        [ZKL_REPORT_EMPTY] = "empty",     [ZKL_REPORT_OVER] = "over",
        [ZKL_REPORT_FAILED] = "failed"};
    if (report->kind == ZKL_REPORT_STARTED) child->command = report->number;
    if (report->kind == ZKL_REPORT_EMPTY || report->kind == ZKL_REPORT_OVER) child->command = 0;
    if (report->kind == ZKL_REPORT_OVER || report->kind == ZKL_REPORT_FAILED)
        child->may_run = false;
    return push_news(L, kinds[report->kind], report->number);
}

static const char *signal_kind(int signal) {
    switch (signal) {
    case SIGTSTP: return "stop";
    case SIGCONT: return "continue";
    case SIGWINCH: return "notice"; /* ends no wait, as its default action is none */
    default: return "signal";
    }
}

/* Kills what is left of a dead minder's group. True: nothing but zombies is left. */
static bool kill_rest(struct child *child) {
    enum zkl_group group = zkl_group_state(child->command);
    if (group == ZKL_GROUP_GONE) return true;
    if (group == ZKL_GROUP_OURS && zkl_now() >= child->killed_at + ZKL_ZOMBIES_AFTER) return true;
    if (group == ZKL_GROUP_FOREIGN && !child->complained) zkl_complain_of_user(SIGKILL);
    child->complained = child->complained || group == ZKL_GROUP_FOREIGN;
    kill(-child->command, SIGKILL);
    return false;
}

static int report_end_of_rest(lua_State *L, struct child *child) {
    if (!child->rest_may_live || (child->command && !kill_rest(child))) return 0;
    child->rest_may_live = false;
    child->command = 0;
    return push_news(L, "over", 0);
}

/*
 * child:next() -> nothing | kind, number. Signals are "stop", "continue", "notice", "signal";
 * reports (minder.h) "started", "stopped", "late", "exited", "killed", "typed", "empty", "over",
 * "failed"; the minder's end is "gone".
 */
static int next_news(lua_State *L) {
    struct child *child = check_child(L);
    unsigned char signal;
    struct zkl_report report;
    if (read(signal_pipe[0], &signal, 1) == 1) return push_news(L, signal_kind(signal), signal);
    if (child->socket < 0) return report_end_of_rest(L, child);
    ssize_t size = recv(child->socket, &report, sizeof report, MSG_DONTWAIT);
    if (size == (ssize_t)sizeof report) return push_report(L, child, &report);
    if (size != 0) return 0; /* ECONNRESET: the minder left orders unread; last reports follow */
    close(child->socket);
    child->socket = -1;
    waitpid(child->minder, NULL, 0);
    child->rest_may_live = true;
    child->killed_at = zkl_now();
    return push_news(L, "gone", 0);
}

/*
 * The minder takes a closed socket for the end of its owner, and ends the command. A minder without
 * a command is ended and collected here, as a container may have no other collector.
 */
static int drop(lua_State *L) {
    struct child *child = check_child(L);
    if (child->socket < 0) return 0;
    close(child->socket);
    child->socket = -1;
    if (child->may_run) return 0;
    kill(child->minder, SIGKILL);
    waitpid(child->minder, NULL, 0);
    return 0;
}

ZKL_LUA_EXPORT int luaopen_zklock_child(lua_State *L);

int luaopen_zklock_child(lua_State *L) {
    static const luaL_Reg functions[] = {{"start", start_minder}, {NULL, NULL}};
    static const luaL_Reg methods[] = {
        {"kill", kill_all},   {"launch", launch},      {"limit", limit},
        {"next", next_news},  {"resume", resume},      {"signal", send_signal},
        {"suspend", suspend}, {"wait", wait_for_news}, {"__gc", drop},
        {NULL, NULL},
    };
    luaL_newmetatable(L, CHILD_BOX);
    zkl_lua_set_functions(L, methods);
    lua_pushvalue(L, -1);
    lua_setfield(L, -2, "__index");
    lua_newtable(L);
    zkl_lua_set_functions(L, functions);
    zkl_background_open(L);
    return 1;
}
