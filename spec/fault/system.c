/* system.c - a Lua module with system calls that Lua lacks. */
#include <errno.h>
#include <lauxlib.h>
#include <lua.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

int luaopen_system(lua_State *L);

/* --- processes --------------------------------------------------------------------------- */

/* system.fork(seconds) -> pid, or 0 in the child, which dies after that time */
static int do_fork(lua_State *L) {
    unsigned seconds = (unsigned)luaL_checkinteger(L, 1);
    pid_t pid = fork();
    if (pid == 0) alarm(seconds);
    lua_pushinteger(L, pid);
    return 1;
}

/* system.wait(pid) -> exit status; 128 + number of the signal that ended it */
static int do_wait(lua_State *L) {
    pid_t pid = (pid_t)luaL_checkinteger(L, 1);
    int status;
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR) return luaL_error(L, "waitpid");
    }
    lua_pushinteger(L, WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    return 1;
}

static int do_exit(lua_State *L) {
    _exit((int)luaL_checkinteger(L, 1));
    return 0;
}

static int do_setenv(lua_State *L) {
    setenv(luaL_checkstring(L, 1), luaL_checkstring(L, 2), 1);
    return 0;
}

/* --- threads ------------------------------------------------------------------------------- */

static void *call(void *L) {
    lua_pushboolean(L, lua_pcall(L, 0, 1, 0) == 0);
    return NULL;
}

/* system.call(fn) -> ok, result or error of fn() in a new thread, after its end */
static int do_call(lua_State *L) {
    pthread_t thread;
    luaL_checktype(L, 1, LUA_TFUNCTION);
    lua_settop(L, 1);
    if (pthread_create(&thread, NULL, call, L) != 0) return luaL_error(L, "no thread");
    pthread_join(thread, NULL);
    lua_insert(L, -2);
    return 2;
}

/* --- unix sockets -------------------------------------------------------------------------- */

/* system.connect(path) -> descriptor, or -1 */
static int do_connect(lua_State *L) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    strncpy(address.sun_path, luaL_checkstring(L, 1), sizeof address.sun_path - 1);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        close(fd);
        fd = -1;
    }
    lua_pushinteger(L, fd);
    return 1;
}

/* system.read(descriptor) -> number of bytes; -1 for none, 0 after a hang-up */
static int do_read(lua_State *L) {
    char bytes[64];
    lua_pushinteger(L, (lua_Integer)read((int)luaL_checkinteger(L, 1), bytes, sizeof bytes));
    return 1;
}

static int do_close(lua_State *L) {
    close((int)luaL_checkinteger(L, 1));
    return 0;
}

int luaopen_system(lua_State *L) {
    static const luaL_Reg functions[] = {
        {"fork", do_fork},     {"wait", do_wait},   {"exit", do_exit},
        {"setenv", do_setenv}, {"call", do_call},   {"connect", do_connect},
        {"read", do_read},     {"close", do_close}, {NULL, NULL}};
    lua_newtable(L);
    for (const luaL_Reg *each = functions; each->name; each++) {
        lua_pushcfunction(L, each->func);
        lua_setfield(L, -2, each->name);
    }
    return 1;
}
