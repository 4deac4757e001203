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

/* The client's mutex is not held. When they return, the session has heard of it. */

/* The name of the server that it is a session of; NULL: of none in this process. */
const char *zkl_memory_name(const zkl_client *client);

/* The server ends the session. False: it has none, or it is over. */
bool zkl_memory_expire(zkl_client *client);
/* The connection is lost, and answers with it; the session lives for its timeout. False: it was. */
bool zkl_memory_cut(zkl_client *client);
/* There is one again. False: it was not cut. */
bool zkl_memory_heal(zkl_client *client);

/* --- a server -------------------------------------------------------------------------------- */

/*
 * Each answer takes that long, from now on until zkl_memory_reset() or the end of the last
 * session; also when the first one is still to come. False: out of memory.
 */
bool zkl_memory_delay(const char *name, zkl_time delay);

/* Every session expires and has heard of it, the tree is empty, answers are not delayed. */
void zkl_memory_reset(const char *name);

/*
 * The names of a node's children, in the order in which they were made, each with its NUL, one
 * after the other; free() them. Returns their number, or an error of rpc.h's. A server that is
 * not there has an empty tree.
 */
int zkl_memory_children(const char *name, const char *path, char **names);

#endif
