/*
 * binding.h - the Lua face of src/session and src/shell: verbs without policy.
 *
 * Userdata are boxes: `session`, `request`, `lease`, `watcher`, `member`, `roster`. A box is
 * made empty and filled after, so that an error in between leaves a box that can be collected; its
 * content is made when nothing can raise any more. Nothing here blocks but session:wait(),
 * session:close() and poll(); nothing yields. What a user sees is in lua/zklock.
 *
 * Each function may run from a finalizer, and a finalizer at any call that may make a Lua object:
 * at lua_pushstring(), and in some Luas at lua_pushcfunction(). So no mutex is held at such a call,
 * and nothing points to what a verb may free or change: that is copied, or has a reference, while
 * lua_pcall() pushes it. An event that was taken out, unless it is a step, is pushed without such a
 * call, or a later event could be told first.
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
#define ZKL_ACQUIRE_OPTIONS "zklock.acquire_options" /* no box: those of a lock's acquires */

extern const char *const zkl_lua_state_names[ZKL_SESSION_CLOSED + 1]; /* of sessions */

/* Registers the metatables. */
void zkl_lua_open_session(lua_State *L);
void zkl_lua_open_news(lua_State *L);    /* methods of sessions */
void zkl_lua_open_acquire(lua_State *L); /* likewise */
void zkl_lua_open_request(lua_State *L);
void zkl_lua_open_lease(lua_State *L);
void zkl_lua_open_watcher(lua_State *L);
void zkl_lua_open_member(lua_State *L);
void zkl_lua_open_roster(lua_State *L);
void zkl_lua_open_totals(lua_State *L);
void zkl_lua_open_world(lua_State *L);
void zkl_lua_open_board(lua_State *L);
int zkl_lua_board(lua_State *L);           /* the function core.board() */
int zkl_lua_session(lua_State *L);         /* the function core.session(options) */
int zkl_lua_folder(lua_State *L);          /* the function core.folder(folder) */
int zkl_lua_trials(lua_State *L);          /* the function core.trials(host, timeout) */
int zkl_lua_acquire_options(lua_State *L); /* the function core.acquire_options(options) */
int zkl_lua_world(lua_State *L);           /* the function core.world(seed, delay) */
struct zkl_world *zkl_lua_check_world(lua_State *L, int index);
int zkl_lua_poll(lua_State *L);   /* the function core.poll(sessions, seconds) */
int zkl_lua_stats(lua_State *L);  /* the method session:stats() */
int zkl_lua_totals(lua_State *L); /* the function core.totals([world]): of all sessions there */

void zkl_lua_push_memory(lua_State *L); /* the table core.memory */

/* Names of nodes, as zkl_memory_children() gives them; `count` below 0: an error. */
struct zkl_lua_names {
    char *list;
    int count;
};
/* To be called before the names are there: does what may raise. */
void zkl_lua_begin_names(lua_State *L, struct zkl_lua_names *names);
/* Pushes a table of the names, or nil; returns how many values that is. Frees the list. */
int zkl_lua_push_names(lua_State *L, struct zkl_lua_names *names);

/* A metatable whose methods are its own __index. */
void zkl_lua_class(lua_State *L, const char *name, const luaL_Reg *methods);

/* Puts functions into the class's list, from 1 on: to push one from there makes no Lua object. */
void zkl_lua_store(lua_State *L, const char *name, const lua_CFunction *functions, int count);
void zkl_lua_push_stored(lua_State *L, int place); /* in a method */

struct zkl_box {
    zkl_client *client; /* the content's, with a reference; NULL: the box is empty */
    void *held;         /* the request, lease, watcher...; of a session nothing */
};

/* Pushes an empty box. */
struct zkl_box *zkl_lua_box(lua_State *L, const char *name);
void zkl_lua_fill(struct zkl_box *box, zkl_client *client, void *held);
/* Raises if the value is no such box. */
struct zkl_box *zkl_lua_to_box(lua_State *L, int index, const char *name);
/* Raises also if the box is empty, or the parent process's. */
const struct zkl_box *zkl_lua_check(lua_State *L, int index, const char *name);
/* Enters the client of the first argument, a box; returns the box's content. */
void *zkl_lua_enter(lua_State *L, const char *name);
/* The same; NULL, and not entered: the box is empty, as a finalizer may just have emptied it. */
void *zkl_lua_enter_full(lua_State *L, const char *name);
void zkl_lua_leave(lua_State *L);
/* Empties the first argument, a box, and drops its content, unless that is the parent process's. */
int zkl_lua_drop(lua_State *L, const char *name, void (*drop)(void *held));
/* The same for the collector: in a world of virtual time the content is dropped at its end. */
int zkl_lua_collect(lua_State *L, const char *name, void (*drop)(void *held));

zkl_client *zkl_lua_check_client(lua_State *L, int index);   /* a session's */
zkl_client *zkl_lua_check_threaded(lua_State *L, int index); /* the same, but of no world */

/* Pushes an empty box for a request, and enters the client. */
zkl_session *zkl_lua_begin(lua_State *L, zkl_client *client);
/*
 * Fills that box, and leaves the client; raises when there is no memory (request NULL). Pushes the
 * request's id, too: by that its waiter is registered before anything else is called.
 */
int zkl_lua_begun(lua_State *L, zkl_client *client, zkl_request *request);

int zkl_lua_on_misuse(lua_State *L); /* the function core.on_misuse(refuse) */
/* Raise by lua/zklock/value/misuse.lua, which knows the user's line. */
int zkl_lua_misuse(lua_State *L, const char *text);
int zkl_lua_raise_forked(lua_State *L);

#endif
