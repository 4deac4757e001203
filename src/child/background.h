/*
 * background.h - the process that `zklock hold` leaves in the background, and those that ask it.
 *
 * It is forked while its owner has one thread. It has a Unix session of its own and no descriptor
 * of its owner's but the standard ones, until leave() gives those up, too. So it gets no signal
 * that is for the owner's group, and nobody who reads from the owner waits for it. The two are
 * joined by a pair of sockets. The end of the owner's socket means that the owner is gone, the end
 * of the other one that the process is.
 *
 * Others ask it by a socket in a folder of its own, which no other user may enter: a word, and an
 * answer. It is a file, for an abstract address would be known in one network namespace only.
 */
#ifndef ZKL_BACKGROUND_H
#define ZKL_BACKGROUND_H

#include <lua.h>

/* Adds fork() and ask() to the module's table at the top. */
void zkl_background_open(lua_State *L);

#endif
