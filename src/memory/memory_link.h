/*
 * memory_link.h - the link to a server inside the process, for zkl_client_new(&zkl_memory, ...),
 * and faults for tests.
 *
 * The link uses the options `hosts` (the server's name), `chroot`, `timeout` (granted as asked) and
 * `reopen`. Credentials and access rights have no effect.
 */
#ifndef ZKL_MEMORY_LINK_H
#define ZKL_MEMORY_LINK_H

#include "../shell/link.h"

extern const struct zkl_link_class zkl_memory;

/* --- faults of one session ------------------------------------------------------------------ */

/* Call these without the client's mutex. Each returns after the session was told. */

/* The server's name. NULL: not in this process. */
const char *zkl_memory_server_name(const zkl_client *client);

/* Expires the session. False: there is none. */
bool zkl_memory_expire(zkl_client *client);
/*
 * Ends the connection and loses pending answers. The session lives for its timeout. False: already
 * cut.
 */
bool zkl_memory_cut(zkl_client *client);
/* Allows a connection again. False: not cut. */
bool zkl_memory_heal(zkl_client *client);

/* --- a server -------------------------------------------------------------------------------- */

/*
 * Delays each answer until zkl_memory_reset() or the last session's end. May be called before the
 * first session. False: no memory.
 */
bool zkl_memory_delay(const char *name, zkl_time delay);

/* Expires all sessions, empties the tree, and ends the delay. */
void zkl_memory_reset(const char *name);

/*
 * Sets `names` to the names of a node's children, oldest first, each with its NUL, for free().
 * Returns their number, or an error of rpc.h. An unknown server's tree is empty.
 */
int zkl_memory_children(const char *name, const char *path, char **names);

#endif
