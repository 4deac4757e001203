/* forker.c - a Lua module: fork(), which Lua has not, and what goes with it. */
#include <errno.h>
#include <lauxlib.h>
#include <lua.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* forker.fork(seconds) -> pid, or 0 in the child, which is killed after that time */
static int do_fork(lua_State *L) {
    unsigned seconds = (unsigned)luaL_checkinteger(L, 1);
    pid_t pid = fork();
    if (pid == 0) alarm(seconds);
    lua_pushinteger(L, pid);
    return 1;
}

/* forker.wait(pid) -> exit status; 128 and the number of the signal that ended it */
static int do_wait(lua_State *L) {
    pid_t pid = (pid_t)luaL_checkinteger(L, 1);
    int status;
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR) return luaL_error(L, "waitpid");
    }
    lua_pushinteger(L, WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    return 1;
}

/* forker.exit(status): at once, without atexit() */
static int do_exit(lua_State *L) {
    _exit((int)luaL_checkinteger(L, 1));
    return 0;
}

int luaopen_forker(lua_State *L) {
    static const struct {
        const char *name;
        lua_CFunction function;
    } functions[] = {{"fork", do_fork}, {"wait", do_wait}, {"exit", do_exit}};
    lua_newtable(L);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        lua_pushcfunction(L, functions[i].function);
        lua_setfield(L, -2, functions[i].name);
    }
    return 1;
}
