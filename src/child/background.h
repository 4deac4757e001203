/*
 * background.h - the background process of `zklock hold`, and its clients.
 *
 * The owner forks it while having one thread. It has a Unix session of its own, and the owner's
 * standard descriptors only until leave(). So it misses signals for the owner's group, and readers
 * of the owner's output do not wait for it. A pair of sockets joins the two, and shows each the
 * other's end.
 *
 * Clients send a word to its socket, and get an answer. No other user may enter the socket's
 * folder. The socket is a file, because abstract addresses are known in one network namespace only.
 * Each object belongs to its lua_State.
 */
#ifndef ZKL_BACKGROUND_H
#define ZKL_BACKGROUND_H

#include <lua.h>

/* Adds fork() and ask() to the module's table at the top. */
void zkl_background_open(lua_State *L);

#endif
