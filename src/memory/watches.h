/*
 * watches.h - the watches of a tree's data, and the events that came of them.
 *
 * A watch is of one session and one path, of the node's data or of its children. There is one of
 * each at most. It ends when it fires: the watch becomes the event. So an event needs no memory
 * that could be missing, and a session gets none that it did not ask for.
 */
#ifndef ZKL_MEMORY_WATCHES_H
#define ZKL_MEMORY_WATCHES_H

#include "../session/rpc.h"
#include "list.h"
#include "table.h"

struct zkl_watch {
    struct zkl_entry entry; /* in the table, by the path */
    struct zkl_list link;   /* in its session's watches, later in the events */
    uint64_t session;
    enum zkl_node_event kind; /* of the event */
    bool of_children;
    char path[]; /* "": the session expired */
};

struct zkl_data_watches {
    struct zkl_table table;
    struct zkl_list events; /* the oldest first */
    struct zkl_watch *told; /* the event that was taken last, or NULL */
};

/* False: out of memory. */
bool zkl_data_watches_init(struct zkl_data_watches *watches);

/* The watches of sessions must be gone by then. */
void zkl_data_watches_clear(struct zkl_data_watches *watches);

/* The event of a session's expiry; the caller has it until it is told. NULL: out of memory. */
struct zkl_watch *zkl_data_watches_farewell(uint64_t session);
void zkl_data_watches_tell(struct zkl_data_watches *watches, struct zkl_watch *farewell);

/* `own`: the list of the session's watches. False: out of memory. */
bool zkl_data_watches_add(struct zkl_data_watches *watches, struct zkl_list *own, uint64_t session,
                          const char *path, bool of_children);

/* False: there was none. */
bool zkl_data_watches_remove(struct zkl_data_watches *watches, uint64_t session, const char *path,
                             bool of_children);

/* Drops the watches of a session that ended. */
void zkl_data_watches_drop(struct zkl_data_watches *watches, struct zkl_list *own);

/*
 * Fires the watches of a node that was created, changed or deleted. A session that watches its
 * data and its children is told of its end once.
 */
void zkl_data_watches_fire(struct zkl_data_watches *watches, const char *path,
                           enum zkl_node_event kind);

/* The next event; it lives until the next call of this. NULL: there is none. */
const struct zkl_watch *zkl_data_watches_next(struct zkl_data_watches *watches);

#endif
