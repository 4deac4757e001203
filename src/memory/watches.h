/*
 * watches.h - the watches of a tree, and the events of fired watches. The tree owns both; its
 * caller serialises calls.
 *
 * A watch has a session and a path, for data or children, and is unique. When it fires it becomes
 * the event, so events need no memory.
 */
#ifndef ZKL_MEMORY_WATCHES_H
#define ZKL_MEMORY_WATCHES_H

#include "../session/rpc.h"
#include "list.h"
#include "table.h"

struct zkl_watch {
    struct zkl_entry entry; /* by path */
    struct zkl_list link;   /* list of its session; after firing, of events */
    uint64_t session;
    enum zkl_node_event kind; /* the event's */
    bool of_children;
    char path[]; /* "": the session expired */
};

struct zkl_data_watches {
    struct zkl_table table;
    struct zkl_list events;  /* oldest first */
    struct zkl_watch *taken; /* the event that was returned last */
};

/* False: no memory. */
bool zkl_data_watches_init(struct zkl_data_watches *watches);

/* Call after all sessions have ended. */
void zkl_data_watches_clear(struct zkl_data_watches *watches);

/* The event of a session's expiry. The caller owns it until it is posted. NULL: no memory. */
struct zkl_watch *zkl_data_watches_new_farewell(uint64_t session);
void zkl_data_watches_post_farewell(struct zkl_data_watches *watches, struct zkl_watch *farewell);

/* `own` is the list of the session's watches. False: no memory. */
bool zkl_data_watches_add(struct zkl_data_watches *watches, struct zkl_list *own, uint64_t session,
                          const char *path, bool of_children);

/* False: no such watch. */
bool zkl_data_watches_remove(struct zkl_data_watches *watches, uint64_t session, const char *path,
                             bool of_children);

/* Frees an ended session's watches. */
void zkl_data_watches_drop(struct zkl_data_watches *watches, struct zkl_list *own);

/*
 * Fires the watches of a created, changed or deleted node and of its parent's children. A session
 * that watches data and children learns of the node's end once.
 */
void zkl_data_watches_fire(struct zkl_data_watches *watches, const char *path,
                           enum zkl_node_event kind);

/* Takes the oldest event, which lives until the next call. NULL: none. */
const struct zkl_watch *zkl_data_watches_next(struct zkl_data_watches *watches);

#endif
