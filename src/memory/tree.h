/*
 * tree.h - a ZooKeeper server inside the process: data, and the sessions that share them.
 *
 * A tree answers like a single server of version 3.8, with zxids, versions, ephemerals, sequential
 * nodes, containers, and watches of data and children. It has no thread, clock or connection. The
 * caller passes the time, delivers events, serialises calls and owns the tree. A tree lacks access
 * rights, quotas, a size limit, and the node /zookeeper. Any invalid path is a bad argument, though
 * a server's client refuses most of them.
 *
 * Arguments are copied. Results live until the tree's next call, events until the next
 * zkl_tree_next_event(). A request without memory answers ZKL_ERROR_SYSTEM without effect. Ends of
 * sessions, removals of containers and events need no memory.
 */
#ifndef ZKL_TREE_H
#define ZKL_TREE_H

#include "../core/clock.h"
#include "../session/rpc.h"

struct zkl_tree;

/*
 * A tree with a root only. Containers that lost their last child are removed together,
 * `container_check_period` (a minute in servers) after the first lost its own. NULL: no memory.
 */
struct zkl_tree *zkl_tree_new(zkl_time container_check_period);

void zkl_tree_free(struct zkl_tree *tree);

/* Expires all sessions, and removes all nodes. Zxids and ids go on. */
void zkl_tree_reset(struct zkl_tree *tree);

/* --- sessions --------------------------------------------------------------------------- */

/* Opens a session that expires after a silence of `timeout`. Ids grow. 0: no memory. */
uint64_t zkl_tree_open(struct zkl_tree *tree, zkl_time timeout, zkl_time now);

/*
 * End a session, as its client or the server does, with its watches and, in one transaction, its
 * ephemerals. An event reports an expiry. Unknown sessions are ignored.
 */
void zkl_tree_close(struct zkl_tree *tree, uint64_t session);
void zkl_tree_expire(struct zkl_tree *tree, uint64_t session);

bool zkl_tree_session_lives(const struct zkl_tree *tree, uint64_t session);

/* A sign of life that sets a new timeout; ZKL_NEVER: no expiry. False: expired. */
bool zkl_tree_retime(struct zkl_tree *tree, uint64_t session, zkl_time timeout, zkl_time now);

bool zkl_tree_has_sessions(const struct zkl_tree *tree);

/* Expires silent sessions and removes emptied containers, if due. */
void zkl_tree_tick(struct zkl_tree *tree, zkl_time now);

/* Next tick, perhaps too early, or ZKL_NEVER. */
zkl_time zkl_tree_due(const struct zkl_tree *tree);

/* --- requests --------------------------------------------------------------------------- */

/*
 * Runs a tick, then carries out a session's request, which is also a sign of life. An
 * expired session gets ZKL_ERROR_SESSION_EXPIRED without results. Session 0 may LIST, GET and
 * EXISTS without a watch. LIST orders names by age.
 */
void zkl_tree_ask(struct zkl_tree *tree, uint64_t session, const struct zkl_rpc *rpc, zkl_time now,
                  struct zkl_answer *answer);

/* As zkl_memory_children() (memory_link.h). */
int zkl_tree_children(struct zkl_tree *tree, const char *path, zkl_time now, char **names);

/* --- events ----------------------------------------------------------------------------- */

struct zkl_tree_event {
    uint64_t session; /* may be closed by now */
    const char *path; /* NULL: the session expired */
    enum zkl_node_event kind;
};

/*
 * Takes the oldest event. Take all events after each call, and deliver them before the call's
 * answer, as a server does. False: none.
 */
bool zkl_tree_next_event(struct zkl_tree *tree, struct zkl_tree_event *event);

/* --- tests ------------------------------------------------------------------------------ */

int64_t zkl_tree_last_zxid(const struct zkl_tree *tree);

/*
 * Sets the next sequential number, as requests would need weeks to reach the last. False: no such
 * node.
 */
bool zkl_tree_set_counter(struct zkl_tree *tree, const char *path, int32_t number);

#endif
