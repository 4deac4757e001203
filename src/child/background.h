/*
 * background.h - the background process of `zklock hold`, and its clients.
 *
 * The owner, the process of the command, forks while it has one thread. The background process has
 * a Unix session of its own, so it gets no signals for the owner's group. At leave() it closes the
 * owner's standard descriptors, so readers of the owner's output need not wait for its end. A pair
 * of sockets joins the two processes, and shows each the end of the other.
 *
 * Clients send a word to a socket of the background process, and get an answer. No other user may
 * enter the socket's folder. The socket is a file, because abstract addresses are known in one
 * network namespace only.
 *
 * Each object belongs to its lua_State.
 */
#ifndef ZKL_BACKGROUND_H
#define ZKL_BACKGROUND_H

#include <lua.h>

/* Adds fork() and ask() to the module's table on top of the stack. */
void zkl_background_open(lua_State *L);

#endif
