/*
 * lua.c - a Lua interpreter that is built with a sanitizer.
 *
 *   lua SCRIPT [ARG...]
 *
 * A sanitizer's library has to be loaded first. To preload it into Debian's
 * interpreter would also preload it into every shell, server and tool that a spec
 * starts, so this one takes its place. It runs a script with arguments, makes
 * Ctrl-C an error, prints a traceback, and exits with status 1 after an error.
 */
#include <signal.h>
#include <stdio.h>

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

static lua_State *state;

static void raise_interrupted(lua_State *L, lua_Debug *debug) {
    (void)debug;
    lua_sethook(L, NULL, 0, 0);
    luaL_error(L, "interrupted!");
}

static void on_interrupt(int number) {
    int mask = LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT;
    signal(number, SIG_DFL);
    lua_sethook(state, raise_interrupted, mask, 1);
}

static int add_traceback(lua_State *L) {
    const char *message = lua_tostring(L, 1);
    if (message) luaL_traceback(L, L, message, 1);
    return 1;
}

/* Sets the global `arg`, and pushes the script's arguments. */
static void push_arguments(lua_State *L, int count, char **arguments) {
    lua_createtable(L, count, 2);
    for (int i = 0; i < count; i++) {
        lua_pushstring(L, arguments[i]);
        lua_rawseti(L, -2, i - 1);
    }
    lua_setglobal(L, "arg");
    luaL_checkstack(L, count, "too many arguments");
    for (int i = 2; i < count; i++) lua_pushstring(L, arguments[i]);
}

int main(int argc, char **argv) {
    if (argc < 2) {
        fprintf(stderr, "usage: lua SCRIPT [ARG...]\n");
        return 2;
    }
    lua_State *L = state = luaL_newstate();
    luaL_openlibs(L);
    lua_pushcfunction(L, add_traceback);
    int status = luaL_loadfile(L, argv[1]);
    if (status == LUA_OK) {
        push_arguments(L, argc, argv);
        signal(SIGINT, on_interrupt);
        status = lua_pcall(L, argc - 2, 0, 1);
        signal(SIGINT, SIG_DFL);
    }
    if (status != LUA_OK) fprintf(stderr, "lua: %s\n", lua_tostring(L, -1));
    lua_close(L);
    return status == LUA_OK ? 0 : 1;
}
