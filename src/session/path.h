/* path.h - the lock paths that a session uses. */
#ifndef ZKL_SESSION_PATH_H
#define ZKL_SESSION_PATH_H

#include "../core/line.h"
#include "session.h"

struct path {
    struct path *next;      /* in a bucket of session->paths */
    struct path *next_idle; /* in session->idle_paths, while `idle` */
    bool idle;              /* perhaps not used any more; zkl_path_tidy() looks */
    struct zkl_line line;   /* its `claims` are the stakes' */
    struct stake *granted;  /* those that were, until GONE; the latest first */
    zkl_time given_up_at;   /* the latest hold of this session ended; 0: none since it connected */
    /* The latest that waits for its turn, and was told its place; or NULL. */
    const struct stake *told;
    zkl_time told_at;
    size_t told_place;
    bool fixed;             /* there was a claim of ZKL_UNFAIR */
    bool fixed_seen;        /* the look got an answer about its name */
    struct watch *children; /* a reference; NULL: of line.children ZKL_UNWATCHED */
    zkl_time look_at;       /* when to look for orphans again; 0: no doubt */
    size_t stakes;
    size_t counted; /* of them, those in session->node_bytes */
    size_t lists;   /* CALL_LIST that are out */
    bool postponed; /* perhaps a claim does not watch its predecessor yet */
    size_t length;
    char text[];
};

/* What is remembered of a path that is not in use; of two in one place the latest. */
struct remembered {
    uint32_t path; /* its hash */
    struct zkl_restraint restraint;
};

enum { REMEMBERED = 64 };

#ifndef PATH_BUCKETS
#define PATH_BUCKETS 256
#endif

struct path *zkl_path_find(struct zkl_session *session, const char *text, size_t length);
struct path *zkl_path_use(struct zkl_session *session, const char *text);   /* NULL: no memory */
struct path *zkl_path_next(struct zkl_session *session, struct path *path); /* NULL: first, last */
void zkl_path_idle(struct zkl_session *session, struct path *path); /* nothing keeps it now */
void zkl_path_tidy(struct zkl_session *session); /* frees the idle ones, unless used again */
char *zkl_path_join(const char *parent, const char *name); /* NULL: no memory */

#endif
