/*
 * path.h - the lock paths that a session uses, each with its line. Internal, under the session's
 * lock.
 *
 *     path = zkl_path_use(session, "/locks/a");       until zkl_path_free_unused() frees it unused
 */
#ifndef ZKL_SESSION_PATH_H
#define ZKL_SESSION_PATH_H

#include "../core/line.h"
#include "session.h"

/* The node of ZKL_NAME_FIXED. */
enum fixed_node {
    FIXED_NEVER,  /* the path had no unfair claim */
    FIXED_UNSEEN, /* the look for orphans got no answer about it */
    FIXED_SEEN
};

enum resuming {
    RESUMING_NONE,
    RESUMING_ONCE, /* claims are being resumed */
    RESUMING_ANEW  /* and again, from the first */
};

struct path {
    struct path *next;      /* in a bucket of session->paths */
    struct path *next_idle; /* in session->idle_paths, while `idle` */
    bool idle;              /* perhaps unused */
    struct zkl_line line;   /* its claims are stakes */
    struct stake *granted;  /* granted stakes, until GONE; the latest first */
    zkl_time hold_ended_at; /* end of its last hold; 0: none in this connection */
    /* The last stake that was told its place in turns; or NULL. */
    const struct stake *last_told;
    zkl_time last_told_at;
    size_t last_told_position;
    enum fixed_node fixed;
    struct watch *children;  /* pinned; NULL: line.children is ZKL_UNWATCHED */
    zkl_time orphan_look_at; /* when to look for orphans again; 0: no doubt */
    size_t stakes;
    size_t counted;         /* stakes in session->node_bytes */
    size_t lists;           /* STAKE_LIST calls that are out */
    bool postponed;         /* a claim may not watch its predecessor yet */
    enum resuming resuming; /* resuming claims that waited for others of the session */
    size_t length;
    char text[];
};

/* Memory of a path that is not in use. */
struct old_backoff {
    uint32_t path; /* its hash */
    struct zkl_backoff backoff;
};

enum { OLD_BACKOFFS = 64 };

#ifndef PATH_BUCKETS
#define PATH_BUCKETS 256
#endif

struct path *zkl_path_find(struct zkl_session *session, const char *text, size_t length);
struct path *zkl_path_use(struct zkl_session *session, const char *text); /* NULL: out of memory */
struct path *zkl_path_next(struct zkl_session *session, struct path *path); /* NULL: start, end */
void zkl_path_mark_idle(struct zkl_session *session, struct path *path);    /* perhaps unused */
void zkl_path_free_unused(struct zkl_session *session); /* frees idle paths, if unused */
/* Visits each node above `path`, from the top down. False: out of memory. */
bool zkl_path_each_parent(const char *path, void (*visit)(void *context, const char *node),
                          void *context);
/* A create may still land, so look for orphans after a session timeout. */
void zkl_path_expect_orphan(struct zkl_session *session, struct path *path);
char *zkl_path_join(const char *parent, const char *name); /* NULL: out of memory */

#endif
