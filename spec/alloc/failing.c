/*
 * failing.c - makes one allocation of src/ fail. A build of the module wraps the functions below
 * (--wrap), which spares Lua and libzookeeper. The module then has another entry:
 *
 *   local failing = package.loadlib(<core.so>, "luaopen_failing")()
 *   failing.arm(n)        the n-th allocation from now fails, once
 *   failing.disarm()      no allocation fails
 *   failing.place()       -> the address of the failed call for addr2line, or nil
 *   failing.living()      -> the number of src/'s unfreed allocations
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <lauxlib.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
char *__real_strdup(const char *text);
void __real_free(void *old);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
char *__wrap_strdup(const char *text);
void __wrap_free(void *old);
__attribute__((visibility("default"))) int luaopen_failing(lua_State *L);

static atomic_long countdown; /* 0: no failure */
static atomic_long living;
static _Atomic(void *) place;

/* Whether the caller's allocation must fail. Counts down. */
static bool count_down(void *caller) {
    long left = atomic_load(&countdown);
    while (left > 0 && !atomic_compare_exchange_weak(&countdown, &left, left - 1)) continue;
    if (left != 1) return false;
    atomic_store(&place, caller);
    errno = ENOMEM;
    return true;
}

static void *count_block(void *block) {
    if (block) atomic_fetch_add(&living, 1);
    return block;
}

void *__wrap_malloc(size_t size) {
    return count_down(__builtin_return_address(0)) ? NULL : count_block(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size) {
    return count_down(__builtin_return_address(0)) ? NULL : count_block(__real_calloc(count, size));
}

void *__wrap_realloc(void *old, size_t size) {
    if (count_down(__builtin_return_address(0))) return NULL;
    return old ? __real_realloc(old, size) : count_block(__real_realloc(old, size));
}

char *__wrap_strdup(const char *text) {
    return count_down(__builtin_return_address(0)) ? NULL : count_block(__real_strdup(text));
}

void __wrap_free(void *old) {
    if (old) atomic_fetch_sub(&living, 1);
    __real_free(old);
}

/* --- functions for Lua --------------------------------------------------------------------- */

static int arm(lua_State *L) {
    atomic_store(&place, NULL);
    atomic_store(&countdown, luaL_checkinteger(L, 1));
    return 0;
}

static int disarm(lua_State *L) {
    (void)L;
    atomic_store(&countdown, 0);
    return 0;
}

static int push_place(lua_State *L) {
    Dl_info module;
    char *caller = atomic_load(&place);
    if (!caller || !dladdr(caller, &module)) return 0;
    lua_pushfstring(L, "%p", (void *)(caller - (char *)module.dli_fbase - 1));
    return 1;
}

static int count_living(lua_State *L) {
    lua_pushinteger(L, atomic_load(&living));
    return 1;
}

int luaopen_failing(lua_State *L) {
    static const luaL_Reg functions[] = {{"arm", arm},
                                         {"disarm", disarm},
                                         {"living", count_living},
                                         {"place", push_place},
                                         {NULL, NULL}};
    luaL_newlib(L, functions);
    return 1;
}
