/* watcher.h - nodes that users want to hear of. */
#ifndef ZKL_SESSION_WATCHER_H
#define ZKL_SESSION_WATCHER_H

#include "follower.h"

/* A node as an answer showed it, if there was one. */
struct reading {
    bool known;
    enum zkl_code code; /* as of struct zkl_sight */
    int error;          /* the server's error code behind that */
    int64_t czxid, mzxid;
    int32_t version;
    int32_t aversion; /* of the ACL: no part of what is told */
    char *data;       /* with `size` bytes; NULL if it may not be read */
    size_t size;
};

struct zkl_watcher {
    struct follower base; /* first; it has ended when it is dropped, or the session closes */
    char *path;
    struct watch *watch; /* of it; pinned until the end. NULL: it gave way */
    struct reading seen; /* since zkl_watcher_look() was called last */
    struct reading told; /* the last that was told, or is being told */
    bool untold;         /* it is being told */
    zkl_time look_at;    /* when to look; 0: as soon as no watch is set */
    zkl_time check_at;   /* when to check, while there is no need to look */
};

void zkl_watcher_pause(struct zkl_watcher *watcher); /* it gives way, and tells so */

#endif
