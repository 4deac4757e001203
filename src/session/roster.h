/*
 * roster.h - folders whose members users hear of. The user holds the first reference.
 */
#ifndef ZKL_SESSION_ROSTER_H
#define ZKL_SESSION_ROSTER_H

#include "follower.h"

enum seen_node {
    SEEN_NOTHING,
    SEEN_DATA,
    SEEN_HIDDEN /* we may not read it */
};

/* A child of the folder, by the last answer. */
struct seen {
    char *name;
    struct watch *watch; /* pinned */
    bool stale;          /* to be read */
    enum seen_node node;
    int64_t czxid, mzxid, created;
    uint64_t session;
    char *data; /* `size` bytes */
    size_t size;
};

struct zkl_roster {
    struct follower base; /* first; it ends when it is dropped, or the session closes */
    char *folder;
    struct watch *children_watch; /* pinned; both NULL: it gave way */
    struct watch *folder_watch;   /* pinned; set while there is no folder */
    uint64_t asked_session;       /* the ZooKeeper session asked last */
    struct seen *seen;            /* `count` members, sorted by name */
    size_t count;
    enum zkl_code code; /* as in struct zkl_roll */
    int error;          /* the server's error code for `code` */
    bool must_list;     /* the next round lists the folder */
    bool names_known;
    struct zkl_roll *told_roll; /* the last; or NULL */
    bool unconfirmed;           /* the user has looked at `told_roll`, and not confirmed it */
    zkl_time look_at;           /* when the next round is due; ZKL_NEVER: after an event */
    zkl_time check_at;          /* latest time to ask for the names */
};

void zkl_roster_give_way(struct zkl_roster *roster); /* and tells its user */

#endif
