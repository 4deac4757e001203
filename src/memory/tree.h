/*
 * tree.h - a ZooKeeper server inside the process: the data, and the sessions that share it.
 *
 * It answers as a server of version 3.8 does, alone and with one client's request at a time:
 * transactions with their zxids, versions, ephemerals, numbers of sequential nodes, containers,
 * watches of data and of children. It has no thread, no clock and no connection: its caller says
 * what time it is, takes the events to the sessions, and serialises the calls.
 *
 * What a server has and this has not: lists of access rights (everybody may all), quotas, a
 * limit to the size of a request, the node /zookeeper. A path that no node may have is a bad
 * argument of every request; a server's client refuses most of them itself.
 *
 * Ownership. What a function returns is the tree's, and lives until the next call with this tree;
 * an event lives until the next zkl_tree_next_event(). What a function is given, it copies.
 *
 * Memory. A request that there is no memory for is answered with ZKL_ERROR_SYSTEM and changes
 * nothing. The end of a session, the removal of containers and events need none.
 */
#ifndef ZKL_TREE_H
#define ZKL_TREE_H

#include "../core/clock.h"
#include "../session/rpc.h"

struct zkl_tree;

/*
 * An empty tree, with the root alone. A check removes all containers that have lost their last
 * child; it comes `container_check` after the first of them did so. (Servers check each minute.)
 * NULL: out of memory.
 */
struct zkl_tree *zkl_tree_new(zkl_time container_check);

/* NULL is ignored. */
void zkl_tree_free(struct zkl_tree *tree);

/* Every session expires, and every node is removed; zxids and session ids go on. */
void zkl_tree_reset(struct zkl_tree *tree);

/* --- sessions --------------------------------------------------------------------------- */

/*
 * A new session, which expires when nothing was heard of it for `timeout`. Its id is above that
 * of all before it. 0: out of memory.
 */
uint64_t zkl_tree_open(struct zkl_tree *tree, zkl_time timeout, zkl_time now);

/*
 * Ends a session, as its client or as the server does: its watches go, and its ephemerals in one
 * transaction. The client of a session that expires is told by an event. A session that is not
 * there is ignored.
 */
void zkl_tree_close(struct zkl_tree *tree, uint64_t session);
void zkl_tree_expire(struct zkl_tree *tree, uint64_t session);

bool zkl_tree_alive(const struct zkl_tree *tree, uint64_t session);

/* The session was heard of, as by a ping. False: it has expired. */
bool zkl_tree_touch(struct zkl_tree *tree, uint64_t session, zkl_time now);

/* The same, with a new timeout from now on; ZKL_NEVER: it does not expire. */
bool zkl_tree_retime(struct zkl_tree *tree, uint64_t session, zkl_time timeout, zkl_time now);

bool zkl_tree_has_sessions(const struct zkl_tree *tree);

/* Does what is due: sessions expire, containers are removed. */
void zkl_tree_tick(struct zkl_tree *tree, zkl_time now);

/* When to tick next; it may be early. ZKL_NEVER: nothing is to come. */
zkl_time zkl_tree_due(const struct zkl_tree *tree);

/* --- requests --------------------------------------------------------------------------- */

/*
 * Carries out a session's request, at once; the session counts as heard of. What is due is done
 * before, so the session may have expired: ZKL_ERROR_SESSION_EXPIRED, with no results.
 * Session 0, which nobody has, may LIST, GET and EXISTS without a watch.
 *
 * Names in the answer to a LIST are in the order in which the nodes were made.
 */
void zkl_tree_ask(struct zkl_tree *tree, uint64_t session, const struct zkl_rpc *rpc, zkl_time now,
                  struct zkl_answer *answer);

/*
 * The names of a node's children, each with its NUL, one after the other; free() them. Returns
 * their number, or an error.
 */
int zkl_tree_children(struct zkl_tree *tree, const char *path, zkl_time now, char **names);

/* --- events ----------------------------------------------------------------------------- */

struct zkl_tree_event {
    uint64_t session; /* the one to tell; it may be closed by now */
    const char *path; /* NULL: the session has expired */
    enum zkl_node_event kind;
};

/*
 * The next event of all sessions, in the order in which they came about. To be taken after every
 * call that changes anything, and told before the answer of that call: a server does so.
 * False: there is none.
 */
bool zkl_tree_next_event(struct zkl_tree *tree, struct zkl_tree_event *event);

/* --- tests ------------------------------------------------------------------------------ */

/* The number of the last transaction. */
int64_t zkl_tree_zxid(const struct zkl_tree *tree);

/*
 * The next sequential child of the node gets this number: it takes weeks to get near the end of
 * the counter by requests. False: there is no such node.
 */
bool zkl_tree_set_counter(struct zkl_tree *tree, const char *path, int32_t number);

#endif
