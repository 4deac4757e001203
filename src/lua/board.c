/* board.c - the board of a Lua state and thread, with its sessions that have news. */
#include <errno.h>
#include <string.h>

#include "binding.h"

#define NUMBERS_AT_ONCE 64 /* later calls return the rest */

static zkl_board **check_board(lua_State *L) {
    return luaL_checkudata(L, 1, ZKL_BOARD);
}

int zkl_lua_board(lua_State *L) {
    zkl_board **board = lua_newuserdata(L, sizeof(zkl_board *));
    *board = NULL;
    luaL_getmetatable(L, ZKL_BOARD);
    lua_setmetatable(L, -2);
    *board = zkl_board_new();
    return *board ? 1 : luaL_error(L, "not enough memory");
}

/* board:gone() -> true if a fork or the collector took the board */
static int gone(lua_State *L) {
    const zkl_board *board = *check_board(L);
    lua_pushboolean(L, !board || zkl_board_foreign(board));
    return 1;
}

static int join(lua_State *L) {
    zkl_board *board = *check_board(L);
    zkl_client *client = zkl_lua_check_threaded(L, 2);
    zkl_board_join(board, client, (uint64_t)luaL_checknumber(L, 3));
    return 0;
}

/* board:news() -> nothing, or a list of numbers of sessions */
static int news(lua_State *L) {
    uint64_t numbers[NUMBERS_AT_ONCE];
    size_t count = zkl_board_read(*check_board(L), numbers, NUMBERS_AT_ONCE);
    if (count == 0) return 0;
    lua_createtable(L, (int)count, 0);
    for (size_t i = 0; i < count; i++) {
        lua_pushnumber(L, (lua_Number)numbers[i]);
        lua_rawseti(L, -2, (int)i + 1);
    }
    return 1;
}

static int wait_for_news(lua_State *L) {
    zkl_board_wait(*check_board(L), zkl_lua_time(L, 2));
    return 0;
}

static int collect(lua_State *L) {
    zkl_board **board = check_board(L);
    if (*board) zkl_board_drop(*board);
    *board = NULL;
    return 0;
}

void zkl_lua_open_board(lua_State *L) {
    static const luaL_Reg methods[] = {{"gone", gone},          {"join", join},    {"news", news},
                                       {"wait", wait_for_news}, {"__gc", collect}, {NULL, NULL}};
    zkl_lua_add_methods(L, ZKL_BOARD, methods);
}
