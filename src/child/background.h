/*
 * background.h - the background process of `zklock hold`, and its clients.
 *
 * The owner, the process of the command, forks while it has one thread. The background process has
 * a Unix session of its own, so it gets no signals for the owner's group. It closes the owner's
 * standard descriptors at leave(), so readers of the owner's output need not wait for it. A pair of
 * sockets joins the two processes, and shows each the end of the other.
 *
 * Clients send a word to the process's socket, and get an answer. No other user may enter its
 * folder. The socket is a file, because abstract addresses are known in one network namespace only.
 * Each object belongs to its lua_State.
 */
#ifndef ZKL_BACKGROUND_H
#define ZKL_BACKGROUND_H

#include <lua.h>

/* Adds fork() and ask() to the module's table at the top. */
void zkl_background_open(lua_State *L);

#endif
