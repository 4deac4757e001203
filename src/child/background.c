/* background.c - see background.h. */
#include "background.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include "../lua/values.h"
#include "../shell/linux.h"
#include "../shell/now.h"
#include "minder.h"

#define BACKGROUND_BOX "zklock.background"

#define ANSWER_MAX 512 /* bytes of an answer */
#define WORD_MAX 16    /* bytes of a client's word */
/* Seconds for a new client's word, which comes at once. */
#define WORD_TIMEOUT 1
/* Ends a hold whose folder was removed, and cannot be made again for so long. */
#define UNREACHABLE_MAX (5 * ZKL_SECOND)

#define SOCKET_NAME "hold"
#define FOLDER_MAX (sizeof(((struct sockaddr_un *)0)->sun_path) - sizeof SOCKET_NAME)

struct background {
    int peer;      /* socket to the other process; -1: the other process is gone */
    pid_t process; /* the background process; 0 in that process itself */
    int listener;  /* -1: closed to clients */
    int client;    /* connection that awaits an answer; -1: none */
    char folder[FOLDER_MAX];
    ino_t inode;           /* number of the socket's file */
    zkl_time reachable_by; /* the end if the folder cannot be made; ZKL_NEVER while it is there */
};

static struct background *check_background(lua_State *L) {
    return luaL_checkudata(L, 1, BACKGROUND_BOX);
}

static void close_one(int *descriptor) {
    if (*descriptor >= 0) close(*descriptor);
    *descriptor = -1;
}

/* --- the two halves --------------------------------------------------------------------------- */

static void close_other(int fd, void *kept) {
    if (fd > STDERR_FILENO && fd != *(const int *)kept) close(fd);
}

/*
 * child.fork(), before a session is opened -> background, and true in the background process, false
 * in the owner; nil, reason
 */
static int fork_background(lua_State *L) {
    struct background *self = lua_newuserdata(L, sizeof *self);
    int pair[2];
    *self =
        (struct background){.peer = -1, .listener = -1, .client = -1, .reachable_by = ZKL_NEVER};
    luaL_getmetatable(L, BACKGROUND_BOX);
    lua_setmetatable(L, -2);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return zkl_lua_fail(L, strerror(errno));
    self->process = fork();
    bool is_background = self->process == 0;
    int error = errno;
    close(pair[is_background]);
    self->peer = pair[!is_background];
    if (self->process < 0) return zkl_lua_fail(L, strerror(error));
    if (is_background) {
        setsid();
        zkl_linux_visit_descriptors(close_other, &self->peer);
    } else zkl_end_by_interrupt(); /* Lua's handler would not end await_outcome() */
    lua_pushboolean(L, is_background);
    return 2;
}

/*
 * background:outcome(), for the owner -> text of the background process; nil, its exit status, true
 * if a signal killed it
 */
static int await_outcome(lua_State *L) {
    const struct background *self = check_background(L);
    char text[ANSWER_MAX];
    int status;
    ssize_t size = recv(self->peer, text, sizeof text, 0);
    if (size > 0) {
        lua_pushlstring(L, text, (size_t)size);
        return 1;
    }
    lua_pushnil(L);
    bool is_known = waitpid(self->process, &status, 0) >= 0;
    bool is_killed = is_known && WIFSIGNALED(status);
    if (is_killed) lua_pushinteger(L, 128 + WTERMSIG(status)); /* as in a shell */
    else lua_pushinteger(L, is_known ? WEXITSTATUS(status) : EX_SOFTWARE);
    lua_pushboolean(L, is_killed);
    return 3;
}

/*
 * background:tell(text): to the other process. In the background process next() returns "confirmed"
 * for any text.
 */
static int tell(lua_State *L) {
    size_t size;
    const struct background *self = check_background(L);
    const char *text = luaL_checklstring(L, 2, &size);
    if (self->peer >= 0) send(self->peer, text, size, MSG_NOSIGNAL);
    return 0;
}

/* background:leave(): leaves the owner's current folder, and closes its standard descriptors. */
static int leave(lua_State *L) {
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    check_background(L);
    for (int fd = 0; null >= 0 && fd <= STDERR_FILENO; fd++) dup2(null, fd);
    close_one(&null);
    if (chdir("/") != 0) return 0; /* a current folder cannot be unmounted */
    return 0;
}

/* --- clients ---------------------------------------------------------------------------------- */

static struct sockaddr_un address_in(const char *folder) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s/" SOCKET_NAME, folder);
    return address;
}

static void remove_folder(const char *folder) {
    struct sockaddr_un address = address_in(folder);
    unlink(address.sun_path);
    rmdir(folder);
}

static void stop_listening(struct background *self) {
    if (self->listener < 0) return;
    close_one(&self->listener);
    remove_folder(self->folder);
}

static ino_t inode_in(const char *folder) {
    struct sockaddr_un address = address_in(folder);
    struct stat found;
    return lstat(address.sun_path, &found) == 0 && S_ISSOCK(found.st_mode) ? found.st_ino : 0;
}

/* False, too, if it cannot be seen whether the socket is there. */
static bool is_removed(const struct background *self) {
    errno = 0;
    if (inode_in(self->folder) == self->inode) return false;
    return errno == 0 || errno == ENOENT || errno == ENOTDIR;
}

/* Makes the socket in the folder. If it cannot, removes the folder, and returns -1 with errno. */
static int open_listener(const char *folder) {
    struct sockaddr_un address = address_in(folder);
    int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listener >= 0 && bind(listener, (struct sockaddr *)&address, sizeof address) == 0 &&
        listen(listener, SOMAXCONN) == 0)
        return listener;
    int error = errno;
    close_one(&listener);
    remove_folder(folder);
    errno = error;
    return -1;
}

static void start_listening(struct background *self, int listener) {
    close_one(&self->listener);
    self->listener = listener;
    self->inode = inode_in(self->folder);
    self->reachable_by = ZKL_NEVER;
}

/*
 * Makes a folder again that somebody removed, such as a cleaner of /tmp. Until then the old socket
 * stays open, by which clients know that the hold goes on (handle.lua). False at the end.
 */
static bool keep_listening(struct background *self) {
    if (self->listener < 0) return true;
    if (!is_removed(self)) {
        self->reachable_by = ZKL_NEVER;
        return true;
    }
    rmdir(self->folder); /* if only the socket was removed */
    int listener = mkdir(self->folder, S_IRWXU) == 0 ? open_listener(self->folder) : -1;
    if (listener >= 0) start_listening(self, listener);
    else if (self->reachable_by == ZKL_NEVER) self->reachable_by = zkl_due(UNREACHABLE_MAX);
    if (zkl_now() < self->reachable_by) return true;
    close_one(&self->listener);
    return false;
}

/* background:listen(top) -> the socket's folder, made in `top`; nil, reason */
static int listen_for_words(lua_State *L) {
    struct background *self = check_background(L);
    const char *top = luaL_checkstring(L, 2);
    int size = snprintf(self->folder, sizeof self->folder, "%s/zklock-XXXXXX", top);
    if ((size_t)size >= sizeof self->folder) return zkl_lua_fail(L, strerror(ENAMETOOLONG));
    if (!mkdtemp(self->folder)) return zkl_lua_fail(L, strerror(errno));
    int listener = open_listener(self->folder);
    if (listener < 0) return zkl_lua_fail(L, strerror(errno));
    start_listening(self, listener);
    lua_pushstring(L, self->folder);
    return 1;
}

/*
 * background:wait(descriptor or nil, seconds): for news, or until the descriptor is readable. New
 * clients wait for the current one's answer.
 */
static int wait_for_news(lua_State *L) {
    const struct background *self = check_background(L);
    struct pollfd polled[] = {
        {.fd = self->peer, .events = POLLIN},
        {.fd = self->client < 0 ? self->listener : -1, .events = POLLIN},
        {.fd = (int)luaL_optinteger(L, 2, -1), .events = POLLIN},
    };
    poll(polled, 3, zkl_poll_timeout(zkl_lua_time(L, 3)));
    return 0;
}

static int push_owner_news(lua_State *L, struct background *self) {
    char text[ANSWER_MAX];
    ssize_t size = recv(self->peer, text, sizeof text, MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
    if (size <= 0) close_one(&self->peer);
    lua_pushstring(L, size > 0 ? "confirmed" : "signal");
    lua_pushinteger(L, SIGHUP);
    return 2;
}

static int push_client_news(lua_State *L, struct background *self) {
    const struct timeval patience = {.tv_sec = WORD_TIMEOUT};
    char word[WORD_MAX];
    self->client = accept4(self->listener, NULL, NULL, SOCK_CLOEXEC);
    if (self->client < 0) return 0;
    setsockopt(self->client, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ssize_t size = recv(self->client, word, sizeof word, 0);
    if (size <= 0) close_one(&self->client);
    if (size <= 0) return 0;
    lua_pushlstring(L, word, (size_t)size);
    return 1;
}

/*
 * background:next() -> nothing | "confirmed" | "signal", SIGHUP (once, when the owner is gone) |
 * "unreachable" (once, when the folder was removed, and cannot be made again) | a client's word, to
 * be answered
 */
static int next_news(lua_State *L) {
    struct background *self = check_background(L);
    int count = self->peer >= 0 ? push_owner_news(L, self) : 0;
    if (!count && !keep_listening(self)) {
        lua_pushliteral(L, "unreachable");
        return 1;
    }
    if (count || self->listener < 0 || self->client >= 0) return count;
    return push_client_news(L, self);
}

static int answer(lua_State *L) {
    size_t size;
    struct background *self = check_background(L);
    const char *text = luaL_checklstring(L, 2, &size);
    if (self->client >= 0)
        send(self->client, text, size < ANSWER_MAX ? size : ANSWER_MAX, MSG_NOSIGNAL);
    close_one(&self->client);
    return 0;
}

/* background:stop(): removes the socket with its folder. An accepted client gets its answer. */
static int stop(lua_State *L) {
    stop_listening(check_background(L));
    return 0;
}

static int drop(lua_State *L) {
    struct background *self = check_background(L);
    stop_listening(self);
    close_one(&self->client);
    close_one(&self->peer);
    return 0;
}

/* --- the client's side ------------------------------------------------------------------------ */

static const char *reason_of(int error) {
    switch (error) {
    case ENOENT:
    case ENOTDIR: return "absent";
    case ECONNREFUSED: return "dead";
    case ECONNRESET:
    case EPIPE: return "the process that holds the lock hung up twice";
    case EACCES: return "foreign";
    case EAGAIN: return "silent";
    default: return strerror(error);
    }
}

/*
 * True if the listener is this user's, as another user may have remade the folder. Root may ask
 * anybody.
 */
static bool is_trusted(uid_t user) {
    return user == geteuid() || geteuid() == 0;
}

static int connect_to(const char *folder, int descriptor, pid_t *process) {
    struct sockaddr_un address = address_in(folder);
    uid_t user;
    if (strlen(folder) >= FOLDER_MAX) return ENOENT;
    if (connect(descriptor, (struct sockaddr *)&address, sizeof address) != 0) return errno;
    if (!zkl_linux_peer(descriptor, &user, process)) return errno;
    return is_trusted(user) ? 0 : EACCES;
}

static ssize_t ask_listener(const char *folder, int descriptor, const char *word, char *text,
                            pid_t *process) {
    errno = connect_to(folder, descriptor, process);
    if (errno || send(descriptor, word, strlen(word), MSG_NOSIGNAL) < 0) return -1;
    ssize_t size = recv(descriptor, text, ANSWER_MAX, 0);
    if (size == 0) errno = ECONNRESET;
    return size > 0 ? size : -1;
}

/* Returns the size of the answer, or -1 with errno. */
static ssize_t ask_once(const char *folder, const char *word, const struct timeval *patience,
                        char *text, pid_t *process) {
    int descriptor = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (descriptor < 0) return -1;
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, patience, sizeof *patience);
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, patience, sizeof *patience);
    ssize_t size = ask_listener(folder, descriptor, word, text, process);
    int error = errno;
    close(descriptor);
    errno = error;
    return size;
}

/*
 * child.ask(folder, word, seconds) -> answer; nil, reason, process. Reasons are "absent", "dead",
 * "foreign" (another user), "silent", or the system's.
 */
static int ask(lua_State *L) {
    const char *folder = luaL_checkstring(L, 1), *word = luaL_checkstring(L, 2);
    const struct timeval patience = {.tv_sec = (time_t)luaL_checkinteger(L, 3)};
    char text[ANSWER_MAX];
    pid_t process = 0;
    ssize_t size = ask_once(folder, word, &patience, text, &process);
    /* A listener hangs up on a client that was late (WORD_TIMEOUT), or when it ends. */
    if (size < 0 && (errno == ECONNRESET || errno == EPIPE))
        size = ask_once(folder, word, &patience, text, &process);
    if (size > 0) {
        lua_pushlstring(L, text, (size_t)size);
        return 1;
    }
    zkl_lua_fail(L, reason_of(errno));
    lua_pushinteger(L, process);
    return 3;
}

void zkl_background_open(lua_State *L) {
    static const luaL_Reg functions[] = {{"fork", fork_background}, {"ask", ask}, {NULL, NULL}};
    static const luaL_Reg methods[] = {
        {"answer", answer},  {"leave", leave},           {"listen", listen_for_words},
        {"next", next_news}, {"outcome", await_outcome}, {"stop", stop},
        {"tell", tell},      {"wait", wait_for_news},    {"__gc", drop},
        {NULL, NULL},
    };
    luaL_newmetatable(L, BACKGROUND_BOX);
    zkl_lua_set_functions(L, methods);
    lua_pushvalue(L, -1);
    lua_setfield(L, -2, "__index");
    lua_pop(L, 1);
    zkl_lua_set_functions(L, functions);
}
