/*
 * watches.h - the watches of a tree's data, and the events that came of them.
 *
 * A watch is of one session and one path, of the node's data or of its children. There is one of
 * each at most, and it ends with its event: the watch becomes the event. So what is told to a
 * session needs no memory that could be missing, and nothing is told that was not asked for.
 */
#ifndef ZKL_MEMORY_WATCHES_H
#define ZKL_MEMORY_WATCHES_H

#include "../session/rpc.h"
#include "list.h"
#include "table.h"

struct zkl_watch {
    struct zkl_entry entry; /* in the table, by the path */
    struct zkl_list link;   /* of its session; later of the events */
    uint64_t session;
    enum zkl_node_event kind; /* of an event */
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

/* Those that sessions have must be gone. */
void zkl_data_watches_clear(struct zkl_data_watches *watches);

/* What is told of a session when it expires, or NULL; the caller has it until then. */
struct zkl_watch *zkl_data_watches_farewell(uint64_t session);
void zkl_data_watches_tell(struct zkl_data_watches *watches, struct zkl_watch *farewell);

/* `own` lists the session's. False: out of memory. */
bool zkl_data_watches_add(struct zkl_data_watches *watches, struct zkl_list *own, uint64_t session,
                          const char *path, bool of_children);

/* False: there was none. */
bool zkl_data_watches_remove(struct zkl_data_watches *watches, uint64_t session, const char *path,
                             bool of_children);

/* Of a session that ended. */
void zkl_data_watches_drop(struct zkl_data_watches *watches, struct zkl_list *own);

/*
 * The node was created, changed or deleted. What is told of its end to one session for its data is
 * not told for its children, too.
 */
void zkl_data_watches_fire(struct zkl_data_watches *watches, const char *path,
                           enum zkl_node_event kind);

/* The next event, until the next call of this; NULL: there is none. */
const struct zkl_watch *zkl_data_watches_next(struct zkl_data_watches *watches);

#endif
