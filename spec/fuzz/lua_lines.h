/*
 * lua_lines.h - shows libFuzzer which lines of Lua were reached, because Lua's machine is not
 * instrumented. Lines of one number share a counter, whatever their file.
 *
 *   lua_State *L = lua_with_lines("return require('zklock.value.hosts').split");
 *
 * makes a state with all libraries, zklock.core, the tree's lua/ in its path, and the chunk's value
 * at index 1. Run it from the top of the tree. Lua has its own block of memory, so malloc serves
 * only our C, and unfreed blocks make libFuzzer ask the leak checker.
 */
#ifndef LUA_LINES_H
#define LUA_LINES_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>
#include <lualib.h>

enum { LUA_LINES = 512 };

__attribute__((section("__libfuzzer_extra_counters"))) static uint8_t lua_lines[LUA_LINES];

/* --- memory ------------------------------------------------------------------------------ */

enum { LUA_ORDERS = 40, LUA_BLOCK = 256 << 20 };

struct lua_piece {
    struct lua_piece *next;
};

static struct {
    char *block;
    size_t used;
    struct lua_piece *free[LUA_ORDERS]; /* pieces of 2^n bytes */
} lua_memory;

static inline unsigned lua_order(size_t size) {
    unsigned order = 4;
    while ((size_t)1 << order < size) order++;
    return order;
}

static inline void *lua_take(unsigned order) {
    struct lua_piece *piece = lua_memory.free[order];
    if (piece) {
        lua_memory.free[order] = piece->next;
        return piece;
    }
    size_t size = (size_t)1 << order;
    if (!lua_memory.block) lua_memory.block = (char *)malloc(LUA_BLOCK);
    if (!lua_memory.block || LUA_BLOCK - lua_memory.used < size) return NULL;
    lua_memory.used += size;
    return lua_memory.block + lua_memory.used - size;
}

/* A lua_Alloc. */
static inline void *lua_allocate(void *unused, void *old, size_t old_size, size_t size) {
    unsigned order = lua_order(size);
    (void)unused;
    if (old && size && lua_order(old_size) == order) return old;
    void *piece = size ? lua_take(order) : NULL;
    if (size && !piece) return NULL;
    if (!old) return piece;
    if (piece) memcpy(piece, old, old_size < size ? old_size : size);
    struct lua_piece *freed = (struct lua_piece *)old;
    freed->next = lua_memory.free[lua_order(old_size)];
    lua_memory.free[lua_order(old_size)] = freed;
    return piece;
}

/* --- lines ------------------------------------------------------------------------------- */

static inline void lua_count_line(lua_State *L, lua_Debug *here) {
    lua_getinfo(L, "l", here);
    uint8_t *counter = &lua_lines[(unsigned)here->currentline % LUA_LINES];
    if (*counter < UINT8_MAX) ++*counter;
}

int luaopen_zklock_core(lua_State *L);

static inline lua_State *lua_with_lines(const char *chunk) {
    lua_State *L = lua_newstate(lua_allocate, NULL);
    if (!L) abort();
    luaL_openlibs(L);
    luaL_requiref(L, "zklock.core", luaopen_zklock_core, 0);
    lua_settop(L, 0);
    if (luaL_dostring(L, "package.path = 'lua/?.lua;lua/?/init.lua'") || luaL_dostring(L, chunk)) {
        fprintf(stderr, "%s\n", lua_tostring(L, -1));
        abort();
    }
    lua_sethook(L, lua_count_line, LUA_MASKLINE, 0);
    return L;
}

#endif
