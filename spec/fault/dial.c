/*
 * dial.c - a host that waits for sockets, as a library for Lua: connects to a unix socket and
 * counts the bytes that come. Also sets a variable of the environment.
 */
#include <lauxlib.h>
#include <lua.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int luaopen_dial(lua_State *L);

/* dial.connect(path) -> descriptor; -1: it cannot */
static int dial(lua_State *L) {
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

/* dial.read(descriptor) -> how many bytes there were; -1: none, 0: it was hung up */
static int take(lua_State *L) {
    char bytes[64];
    lua_pushinteger(L, (lua_Integer)read((int)luaL_checkinteger(L, 1), bytes, sizeof bytes));
    return 1;
}

static int hang_up(lua_State *L) {
    close((int)luaL_checkinteger(L, 1));
    return 0;
}

static int set(lua_State *L) {
    setenv(luaL_checkstring(L, 1), luaL_checkstring(L, 2), 1);
    return 0;
}

int luaopen_dial(lua_State *L) {
    lua_newtable(L);
    lua_pushcfunction(L, dial);
    lua_setfield(L, -2, "connect");
    lua_pushcfunction(L, take);
    lua_setfield(L, -2, "read");
    lua_pushcfunction(L, hang_up);
    lua_setfield(L, -2, "close");
    lua_pushcfunction(L, set);
    lua_setfield(L, -2, "setenv");
    return 1;
}
