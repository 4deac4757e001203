/*
 * options_fuzz.c - libFuzzer on users' arguments. Bytes become Lua values (tables of known and
 * unknown options, of wrong types, nested; NaN, infinities, texts with NUL, objects) for connect,
 * session:mutex, acquire, release, timeouts, paths and callbacks. The library's Lua checks them
 * with the real module, without a connection. options_judge.lua requires:
 *
 *   - an error blames the user's line, names the option, and says what is allowed, and never comes
 *     from Lua's machine;
 *   - an accepted value is known, allowed and fit for C, with no negative time and no NUL.
 *
 * Run it from the top of the tree.
 */
#include <math.h>
#include <string.h>

#include "../../src/lua/binding.h"
#include "lua_lines.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct {
    const uint8_t *data;
    size_t size;
} input;

static uint8_t byte(void) {
    if (input.size == 0) return 0;
    input.size--;
    return *input.data++;
}

static uint64_t bytes(size_t count) {
    uint64_t value = 0;
    while (count-- > 0) value = value << 8 | byte();
    return value;
}

/* --- values ------------------------------------------------------------------------------- */

static void push_value(lua_State *L, int depth);

static const char *const names[] = {
    "timeout",   "connect_timeout", "auth",     "acl",
    "parents",   "margin",          "reopen",   "identity",
    "on_state",  "order",           "batch",    "data",
    "reentrant", "owner",           "wait",     "on_queued",
    "jitter",    "permits",         "token",    "keep",
    "recover",   "grace",           "tls",      "drain",
    "on_event",  "metrics",         "max_hold", "max_waiters",
};

/* Values that some option takes, or nearly. */
static const char *const words[] = {
    "open",       "creator", "read",   "container", "persistent", "digest:user:password",
    "fifo",       "none",    "turns",  "host:1",    "Timeout",    "/locks/sku-42",
    "/locks/a/b", "/",       "/a//b",  "/a/../b",   "/\xc3\xa4",  "/\xef\xbf\xbf",
    "set",        "create",  "delete", "check",
};

static void push_number(lua_State *L) {
    static const double special[] = {0.0,   -0.0,   0.5,   1e-320,
                                     9.3e9, 1.8e19, 1e300, 0.50000000000001};
    uint8_t from = byte();
    switch (from % 4) {
    case 0: lua_pushinteger(L, from / 4 - 1); break;
    case 1: lua_pushinteger(L, (lua_Integer)bytes(8)); break;
    case 2: lua_pushnumber(L, special[from / 4 % 8]); break;
    default: {
        static const double odd[] = {NAN, INFINITY, -INFINITY, -1};
        double raw;
        uint64_t bits = bytes(8);
        memcpy(&raw, &bits, sizeof raw);
        lua_pushnumber(L, bits ? raw : odd[from / 4 % 4]);
    }
    }
}

static void push_text(lua_State *L) {
    char text[64];
    size_t size = byte() % sizeof text;
    for (size_t i = 0; i < size; i++) text[i] = (char)byte();
    lua_pushlstring(L, text, size);
}

/* Pushes "/xxx...", near the longest length allowed. */
static void push_long_text(lua_State *L) {
    static char text[8192];
    text[0] = '/';
    memset(text + 1, byte(), sizeof text - 1);
    lua_pushlstring(L, text, 4094 + byte() % 4 * 1000);
}

/* NaN and nil cannot be keys. */
static void push_key(lua_State *L, int depth) {
    uint8_t from = byte();
    if (from < 0xe0) {
        lua_pushstring(L, names[from % (sizeof names / sizeof *names)]);
        return;
    }
    push_value(L, depth);
    if (!lua_isnil(L, -1) && lua_compare(L, -1, -1, LUA_OPEQ)) return;
    lua_pop(L, 1);
    lua_pushboolean(L, 1);
}

static void push_table(lua_State *L, int depth) {
    lua_newtable(L);
    for (int fields = byte() % 6; fields > 0; fields--) {
        push_key(L, depth - 1);
        push_value(L, depth - 1);
        lua_rawset(L, -3);
    }
}

static int name_itself(lua_State *L) {
    lua_pushliteral(L, "an \"object\"\n");
    return 1;
}

/* Pushes an object with __tostring, and inherited fields. */
static void push_object(lua_State *L, int depth) {
    push_table(L, depth);
    lua_createtable(L, 0, 2);
    lua_pushcfunction(L, name_itself);
    lua_setfield(L, -2, "__tostring");
    push_table(L, depth);
    lua_setfield(L, -2, "__index");
    lua_setmetatable(L, -2);
}

static void push_value(lua_State *L, int depth) {
    uint8_t from = byte();
    switch (from % 16) {
    case 0: lua_pushnil(L); break;
    case 1: lua_pushboolean(L, from & 16); break;
    case 2:
    case 3:
    case 4: push_number(L); break;
    case 5:
    case 6: push_text(L); break;
    case 7:
    case 8:
    case 9: lua_pushstring(L, words[byte() % (sizeof words / sizeof *words)]); break;
    case 10: push_long_text(L); break;
    case 11: lua_pushcfunction(L, name_itself); break;
    case 12: lua_newthread(L); break;
    case 13: lua_newuserdata(L, 1); break;
    case 14:
        if (depth > 0) push_object(L, depth);
        else lua_pushlightuserdata(L, NULL);
        break;
    default:
        if (depth > 0) push_table(L, depth);
        else lua_pushliteral(L, "timeout");
        break;
    }
}

/* --- the run ------------------------------------------------------------------------------- */

static int to_time(lua_State *L) {
    lua_pushinteger(L, zkl_lua_time(L, 1));
    return 1;
}

static lua_State *start_lua(void) {
    lua_State *L = lua_with_lines("return assert(loadfile 'spec/fuzz/options_judge.lua')");
    lua_pushcfunction(L, to_time);
    lua_call(L, 1, 1);
    return L;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const calls[] = {"connect", "mutex", "acquire",  "release", "timeout",
                                        "path",    "hosts", "callback", "guard",   "permits"};
    static lua_State *L;
    if (!L) L = start_lua();
    input.data = data;
    input.size = size;
    const char *call = calls[byte() % 10];
    lua_settop(L, 1);
    lua_pushvalue(L, 1);
    lua_pushstring(L, call);
    if (strcmp(call, "mutex") == 0) {
        if (byte() % 4) lua_pushliteral(L, "/locks/sku-42");
        else push_value(L, 1);
    }
    push_value(L, 4);
    if (lua_pcall(L, lua_gettop(L) - 2, 0, 0) == LUA_OK) return 0;
    fprintf(stderr, "%s: %s\n", call, lua_tostring(L, -1));
    abort();
}
