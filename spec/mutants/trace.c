/*
 * trace.c - records the lines of lua/zklock that each test of a spec executes, with its child
 * processes.
 *
 *   TRACE        a shared file of bytes, one for each line of TRACE_FILES in each segment. Each
 *                test has a segment. Segment 0 precedes them, the last has setups that tests
 *                share. Killed children leave their records.
 *   TRACE_FILES  lines "first name" in the order of bytes; `first` is the byte before line 1
 *
 * LUA_INIT_5_4 loads this library into each Lua 5.4 (drawn.lua); trace.lua reports the tests.
 */

#include <fcntl.h>
#include <lauxlib.h>
#include <lua.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { FILES = 1000, SEGMENTS = 500, NAME = 100 };

static struct {
    size_t first;
    char name[NAME];
} files[FILES];

static struct {
    size_t segment;
    char executed[];
} * trace;

static size_t count, lines;

static int compare(const void *name, const void *file) {
    return strcmp(name, (const char *)file + sizeof files[0].first);
}

static void on_line(lua_State *L, lua_Debug *at) {
    if (!lua_getinfo(L, "Sl", at) || at->currentline <= 0) return;
    const char *name = strstr(at->source, "lua/zklock/");
    if (!name || *at->source != '@') return;
    char *file = bsearch(name, files, count, sizeof files[0], compare);
    if (!file) return;
    size_t line = *(size_t *)file + (size_t)at->currentline;
    trace->executed[trace->segment * lines + line] = 1;
}

static int set_segment(lua_State *L) {
    size_t segment = (size_t)luaL_checkinteger(L, 1);
    trace->segment = segment < SEGMENTS ? segment : 0;
    return 0;
}

static bool read_files(void) {
    FILE *list = fopen(getenv("TRACE_FILES"), "r");
    if (!list) return false;
    while (count < FILES && fscanf(list, "%zu %99s", &files[count].first, files[count].name) == 2)
        count++;
    fclose(list);
    lines = count > 0 ? files[--count].first : 0; /* the last entry is nameless */
    return lines > 0;
}

static bool open_trace(void) {
    size_t size = sizeof *trace + SEGMENTS * lines;
    int file = open(getenv("TRACE"), O_RDWR | O_CLOEXEC);
    if (file < 0) return false;
    trace = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    return trace != MAP_FAILED;
}

int luaopen_trace(lua_State *L) {
    if (!read_files() || !open_trace()) return 0;
    lua_sethook(L, on_line, LUA_MASKLINE, 0);
    lua_pushcfunction(L, set_segment);
    lua_setglobal(L, "TRACE_SEGMENT");
    return 0;
}
