/* roster.h - folders of members that users want to hear of. */
#ifndef ZKL_SESSION_ROSTER_H
#define ZKL_SESSION_ROSTER_H

#include "call.h"
#include "events.h"

/* A child of the folder, as the latest answer showed it. */
struct seen {
    char *name;
    struct watch *watch; /* of its node; pinned */
    bool stale;          /* it is to be read */
    bool known;          /* it was read, or may not be */
    bool hidden;         /* it may not be read */
    int64_t czxid, mzxid, created;
    uint64_t session;
    char *data; /* with `size` bytes */
    size_t size;
};

struct zkl_roster {
    struct zkl_session *session;
    struct zkl_roster *next, **link; /* in session->rosters, while `open` */
    bool open;                       /* neither dropped, nor the session closing */
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
    struct note note;      /* there is something to tell */
    unsigned calls;        /* requests out for it: a round */
    zkl_time look_at;      /* when the next round is due; ZKL_NEVER: when something comes */
    zkl_time check_at;     /* when to ask for the names at the latest */
    uint64_t id;
    unsigned references; /* the caller's, the inbox's, calls */
};

void zkl_roster_unref(struct zkl_roster *roster);
void zkl_roster_answer(const struct call *call, const struct answer *answer);
void zkl_roster_event(struct zkl_session *session, enum zkl_node_event event, const char *node);
void zkl_roster_start_all(struct zkl_session *session);     /* rounds that are due */
zkl_time zkl_roster_due(const struct zkl_session *session); /* the first of them */
void zkl_roster_pause(struct zkl_roster *roster);           /* it gives way, and tells so */
void zkl_roster_end_all(struct zkl_session *session);

#endif
