/*
 * memory_link.h - the link to a server inside the process, and the faults that a tester asks of it.
 *
 * Of zkl_options the link takes `hosts` (the server's name), the chroot, the timeout, which is
 * granted as it is asked for, and `reopen`. Credentials and access rights mean nothing here.
 */
#ifndef ZKL_MEMORY_LINK_H
#define ZKL_MEMORY_LINK_H

#include "../shell/link.h"

extern const struct zkl_link_class zkl_memory;

/* --- faults of one session ------------------------------------------------------------------ */

/* The client's mutex is not held. When these return, the session has been told. */

/* The name of the client's server; NULL: it is none in this process. */
const char *zkl_memory_name(const zkl_client *client);

/* The server ends the client's session. False: the client has none, or it is over. */
bool zkl_memory_expire(zkl_client *client);
/* The connection is lost, with answers under way; the session lives for its timeout. False: it
 * was cut already. */
bool zkl_memory_cut(zkl_client *client);
/* The client may connect again. False: it was not cut. */
bool zkl_memory_heal(zkl_client *client);

/* --- a server -------------------------------------------------------------------------------- */

/*
 * Each answer of the server takes that long, from now on until zkl_memory_reset() or the end of its
 * last session; its first session may be still to come. False: out of memory.
 */
bool zkl_memory_delay(const char *name, zkl_time delay);

/* Every session expires and is told, the tree is emptied, answers are no longer delayed. */
void zkl_memory_reset(const char *name);

/*
 * The names of a node's children, in the order in which they were made, each with its NUL, one
 * after the other; free() them. Returns their number, or an error of rpc.h's. A server that is
 * not there has an empty tree.
 */
int zkl_memory_children(const char *name, const char *path, char **names);

#endif
