/*
 * roster.h - folders of members that users follow. The user holds the reference. Internal, under
 * the session's lock.
 */
#ifndef ZKL_SESSION_ROSTER_H
#define ZKL_SESSION_ROSTER_H

#include "follower.h"

enum seen_node {
    SEEN_NOTHING,
    SEEN_DATA,
    SEEN_HIDDEN /* it may not be read */
};

/* A child of the folder, by the last answer. */
struct seen {
    char *name;
    struct watch *watch; /* on its node; pinned */
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
    struct watch *children_watch; /* on the folder's children; pinned; both NULL: it gave way */
    struct watch *folder_watch;   /* on the folder; set while there is none */
    uint64_t asked_session;       /* the ZooKeeper session asked last */
    struct seen *seen;            /* `count` members, sorted by name */
    size_t count;
    enum zkl_code code;    /* as in struct zkl_roll */
    int error;             /* the server's error code for `code` */
    bool must_list;        /* the names are to be asked for */
    bool names_known;      /* the names are known */
    struct zkl_roll *told; /* last told, or being told; or NULL */
    bool telling;          /* `told` is being told */
    zkl_time look_at;      /* when the next round is due; ZKL_NEVER: with an event */
    zkl_time check_at;     /* latest time to ask for the names */
};

void zkl_roster_give_way(struct zkl_roster *roster); /* gives way, and tells so */

#endif
