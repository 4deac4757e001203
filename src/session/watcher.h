/* watcher.h - nodes that users want to hear of. */
#ifndef ZKL_SESSION_WATCHER_H
#define ZKL_SESSION_WATCHER_H

#include "call.h"
#include "events.h"

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
    struct zkl_session *session;
    struct zkl_watcher *next, **link; /* in session->watchers, while `open` */
    bool open;                        /* neither dropped, nor the session closing */
    char *path;
    struct watch *watch; /* of it; pinned while `open`. NULL: it gave way */
    struct note note;    /* there may be something to tell */
    struct reading seen; /* since zkl_watcher_look() was called last */
    struct reading told; /* the last that was told, or is being told */
    bool untold;         /* it is being told */
    unsigned calls;      /* requests out for it */
    zkl_time look_at;    /* when to look; 0: as soon as no watch is set */
    zkl_time check_at;   /* when to check, while there is no need to look */
    bool checking;       /* the exists that is out is a check's, not a look's */
    uint64_t id;
    unsigned references; /* the caller's, the inbox's, calls */
};

void zkl_watcher_ref(struct zkl_watcher *watcher);
void zkl_watcher_unref(struct zkl_watcher *watcher);
void zkl_watcher_answer(const struct call *call, const struct answer *answer);
void zkl_watcher_event(struct zkl_session *session, const char *node); /* its watch has fired */
void zkl_watcher_start_all(struct zkl_session *session);               /* looks that are due */
zkl_time zkl_watcher_due(const struct zkl_session *session);           /* the first of them */
void zkl_watcher_pause(struct zkl_watcher *watcher); /* it gives way, and tells so */
void zkl_watcher_end_all(struct zkl_session *session);

#endif
