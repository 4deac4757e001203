/*
 * watcher.h - nodes whose changes users hear of. The user holds the first reference.
 */
#ifndef ZKL_SESSION_WATCHER_H
#define ZKL_SESSION_WATCHER_H

#include "follower.h"

/* A node as an answer showed it. */
struct reading {
    bool known;
    enum zkl_code code; /* as in struct zkl_sight */
    int error;          /* the server's error code for `code` */
    int64_t czxid, mzxid;
    int32_t version;
    int32_t aversion; /* the ACL's; not told */
    char *data;       /* `size` bytes; NULL unless `code` is ZKL_OK */
    size_t size;
};

struct zkl_watcher {
    struct follower base; /* first; it ends when it is dropped, or the session closes */
    char *path;
    struct watch *watch;         /* pinned until the end; NULL: it gave way */
    struct reading new_reading;  /* newer than `told_reading`, if known */
    struct reading told_reading; /* the last that the user was given */
    bool unconfirmed;            /* the user has not confirmed `told_reading` */
    zkl_time look_at;            /* next look (exists, get); 0: none, unless the watch is unset */
    zkl_time check_at;           /* next check, unless a look is due before */
};

void zkl_watcher_give_way(struct zkl_watcher *watcher); /* and tells its user */

#endif
