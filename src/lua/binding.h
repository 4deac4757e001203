/*
 * binding.h - the Lua face of src/session and src/shell, verbs without policy for lua/zklock.
 *
 * Userdata are boxes, owned by Lua, each for one thread at a time. A box is pushed empty, and
 * filled when nothing can raise any more, so an error leaves a collectable box. Only the methods
 * wait() and close(), and core.sleep(), block. Nothing yields.
 *
 * A finalizer may run at any call that may make a Lua object (lua_pushstring(), in some Luas
 * lua_pushcfunction()), and may call any verb. So no mutex is held at such a call. Data that a verb
 * could free or change are copied or referenced while lua_pcall() pushes them. An event is pushed
 * without such a call, unless it is a step, so that no later event overtakes it.
 */
#ifndef ZKL_BINDING_H
#define ZKL_BINDING_H

#include "../shell/client.h"
#include "values.h"

#define ZKL_SESSION_BOX "zklock.session"
#define ZKL_REQUEST_BOX "zklock.request"
#define ZKL_LEASE_BOX "zklock.lease"
#define ZKL_WATCHER_BOX "zklock.watcher"
#define ZKL_MEMBER_BOX "zklock.member"
#define ZKL_ROSTER_BOX "zklock.roster"
#define ZKL_WORLD "zklock.world"
#define ZKL_BOARD "zklock.board"
#define ZKL_ACQUIRE_OPTIONS "zklock.acquire_options" /* not a box */

extern const char *const zkl_lua_state_names[ZKL_SESSION_CLOSED + 1];

void zkl_lua_open_session(lua_State *L);
void zkl_lua_open_news(lua_State *L);
void zkl_lua_open_acquire(lua_State *L);
void zkl_lua_open_request(lua_State *L);
void zkl_lua_open_lease(lua_State *L);
void zkl_lua_open_watcher(lua_State *L);
void zkl_lua_open_member(lua_State *L);
void zkl_lua_open_roster(lua_State *L);
void zkl_lua_open_totals(lua_State *L);
void zkl_lua_open_world(lua_State *L);
void zkl_lua_open_board(lua_State *L);

int zkl_lua_stats(lua_State *L); /* session:stats() */

/* Functions of the module, core.board() and so on. */
int zkl_lua_board(lua_State *L);
int zkl_lua_session(lua_State *L);
int zkl_lua_folder(lua_State *L);
int zkl_lua_trials(lua_State *L);
int zkl_lua_ask(lua_State *L);
int zkl_lua_acquire_options(lua_State *L);
int zkl_lua_world(lua_State *L);
int zkl_lua_totals(lua_State *L);

struct zkl_world *zkl_lua_check_world(lua_State *L, int index);

void zkl_lua_push_memory(lua_State *L);

/* Names of nodes, see zkl_memory_children(). `count` below 0: an error. */
struct zkl_lua_names {
    char *list;
    int count;
};
/* Call before the list is filled; may raise. */
void zkl_lua_begin_names(lua_State *L, struct zkl_lua_names *names);
/*
 * Pushes a table of the names, or nil for an error, and frees the list. Raises without memory.
 * Returns 1.
 */
int zkl_lua_push_names(lua_State *L, struct zkl_lua_names *names);

/* Adds methods to a class, a metatable that is its own __index. Makes the class if missing. */
void zkl_lua_add_methods(lua_State *L, const char *name, const luaL_Reg *methods);

/*
 * Stores functions in the class's list, from 1 on, because pushing them from there makes no Lua
 * object.
 */
void zkl_lua_store(lua_State *L, const char *name, const lua_CFunction *functions, int count);
void zkl_lua_push_stored(lua_State *L, int place); /* call in a method of the class */

struct zkl_box {
    zkl_client *client; /* counted; NULL: empty box */
    void *object;       /* NULL in a session's box */
};

struct zkl_box *zkl_lua_push_box(lua_State *L, const char *name);
void zkl_lua_fill(struct zkl_box *box, zkl_client *client, void *object);
/* Raises for other values. */
struct zkl_box *zkl_lua_to_box(lua_State *L, int index, const char *name);
/* Raises also for an empty box or the parent process's. */
const struct zkl_box *zkl_lua_check(lua_State *L, int index, const char *name);
/* Pushes why the box is of no use: "forked", or `collected` if it is empty. Else returns 0. */
int zkl_lua_push_gone(lua_State *L, const struct zkl_box *box, enum zkl_code collected);
/* Enters the client of the first argument, a box. Returns the box's object. */
void *zkl_lua_enter(lua_State *L, const char *name);
/* Returns NULL, and enters nothing, if a finalizer has emptied the box. */
void *zkl_lua_enter_full(lua_State *L, const char *name);
void zkl_lua_leave(lua_State *L);
/* Empties the first argument, a box, and drops its object, unless the parent process owns it. */
int zkl_lua_drop(lua_State *L, const char *name, void (*drop)(void *object));
/* As zkl_lua_drop(), for the collector. In a world the object waits for the world's end. */
int zkl_lua_collect(lua_State *L, const char *name, void (*drop)(void *object));

zkl_client *zkl_lua_check_client(lua_State *L, int index);   /* a session's */
zkl_client *zkl_lua_check_threaded(lua_State *L, int index); /* raises in a world */
/* Returns the first argument's client, or NULL if the collector has emptied the box. */
zkl_client *zkl_lua_full_client(lua_State *L);

/* Pushes an empty box for a request, and enters the client. */
zkl_session *zkl_lua_begin_request(lua_State *L, zkl_client *client);
/*
 * Fills the box of zkl_lua_begin_request(), leaves the client, and pushes the request's id, under
 * which a waiter registers before any other call. Returns 2. Raises if the request is NULL, for
 * lack of memory.
 */
int zkl_lua_push_request(lua_State *L, zkl_client *client, zkl_request *request);

int zkl_lua_on_misuse(lua_State *L);
/* Raise through lua/zklock/value/misuse.lua, which knows the user's line. */
int zkl_lua_raise_misuse(lua_State *L, const char *text);
int zkl_lua_raise_forked(lua_State *L);

#endif
