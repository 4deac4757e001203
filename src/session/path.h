/* path.h - the lock paths that a session uses. */
#ifndef ZKL_SESSION_PATH_H
#define ZKL_SESSION_PATH_H

#include "../core/line.h"
#include "session.h"

/* The node of the fixed name, which a claim of ZKL_UNFAIR makes. */
enum fixed_node {
    FIXED_NEVER,  /* there was no such claim */
    FIXED_UNSEEN, /* the look for orphans got no answer about it */
    FIXED_SEEN
};

enum follow {
    FOLLOW_NONE,
    FOLLOW_RUNS, /* they are being resumed */
    FOLLOW_ANEW  /* and have to be again, from the first */
};

struct path {
    struct path *next;      /* in a bucket of session->paths */
    struct path *next_idle; /* in session->idle_paths, while `idle` */
    bool idle;              /* perhaps not used any more; zkl_path_tidy() looks */
    struct zkl_line line;   /* its `claims` are the stakes' */
    struct stake *granted;  /* stakes that were granted, until GONE; the latest first */
    zkl_time given_up_at;   /* when its latest hold ended; 0: none since the session connected */
    /* The stake that was told last that it waits for its turn, and at what position; or NULL. */
    const struct stake *told;
    zkl_time told_at;
    size_t told_position;
    enum fixed_node fixed;
    struct watch *children; /* pinned; NULL: line.children is ZKL_UNWATCHED */
    zkl_time look_at;       /* when to look for orphans again; 0: no doubt */
    size_t stakes;
    size_t counted;     /* of them, those in session->node_bytes */
    size_t lists;       /* STAKE_LIST calls that are out */
    bool postponed;     /* perhaps a claim does not watch its predecessor yet */
    enum follow follow; /* of claims that waited for another one of the session */
    size_t length;
    char text[];
};

/* What is remembered of a path that is not in use; of two in one slot the latest. */
struct remembered {
    uint32_t path; /* its hash */
    struct zkl_backoff backoff;
};

enum { REMEMBERED = 64 };

#ifndef PATH_BUCKETS
#define PATH_BUCKETS 256
#endif

struct path *zkl_path_find(struct zkl_session *session, const char *text, size_t length);
struct path *zkl_path_use(struct zkl_session *session, const char *text);   /* NULL: no memory */
struct path *zkl_path_next(struct zkl_session *session, struct path *path); /* NULL: start, end */
void zkl_path_idle(struct zkl_session *session, struct path *path); /* perhaps it is unused */
void zkl_path_tidy(struct zkl_session *session); /* frees the idle ones, unless used again */
/* Visits every node above `path`, from the top down. False: out of memory. */
bool zkl_path_each_parent(const char *path, void (*visit)(void *context, const char *node),
                          void *context);
/* Orphans are looked for after a session timeout, because a create may still land. */
void zkl_path_look_later(struct zkl_session *session, struct path *path);
char *zkl_path_join(const char *parent, const char *name); /* NULL: no memory */

#endif
