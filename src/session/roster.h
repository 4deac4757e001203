/* roster.h - folders of members that users want to hear of. */
#ifndef ZKL_SESSION_ROSTER_H
#define ZKL_SESSION_ROSTER_H

#include "follower.h"

/* The last reading of a child's node. */
enum seen_node {
    SEEN_NOTHING,
    SEEN_DATA,
    SEEN_HIDDEN /* it may not be read */
};

/* A child of the folder, as the latest answer showed it. */
struct seen {
    char *name;
    struct watch *watch; /* of its node; pinned */
    bool stale;          /* it is to be read */
    enum seen_node node;
    int64_t czxid, mzxid, created;
    uint64_t session;
    char *data; /* with `size` bytes */
    size_t size;
};

struct zkl_roster {
    struct follower base; /* first; it has ended when it is dropped, or the session closes */
    char *folder;
    struct watch *children; /* the watches of the folder's children, and of the folder: */
    struct watch *itself;   /* it is set while there is no folder; NULL, both: it gave way */
    uint64_t of;            /* the ZooKeeper session that was asked last */
    struct seen *seen;      /* `count` of them, by their names */
    size_t count;
    enum zkl_code code;    /* as of struct zkl_roll */
    int error;             /* the server's error code behind that */
    bool to_list;          /* the names are to be asked for */
    bool listed;           /* they are known, as of the latest list */
    struct zkl_roll *told; /* the last that was told, or is being told; or NULL */
    bool untold;           /* it is being told */
    zkl_time look_at;      /* when the next round is due; ZKL_NEVER: when something comes */
    zkl_time check_at;     /* when to ask for the names at the latest */
};

void zkl_roster_pause(struct zkl_roster *roster); /* it gives way, and tells so */

#endif
