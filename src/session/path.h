/*
 * path.h - the lock paths that a session uses, each with its line.
 *
 *     path = zkl_path_find_or_add(session, "/locks/a");   until zkl_path_free_unused()
 */
#ifndef ZKL_SESSION_PATH_H
#define ZKL_SESSION_PATH_H

#include "../core/line.h"
#include "session.h"

/* The look for an orphan of the name ZKL_NAME_FIXED. */
enum fixed_node {
    FIXED_UNUSED, /* no look, as the path had no unfair claim */
    FIXED_UNSEEN, /* to look for, or the answer was lost */
    FIXED_SEEN
};

enum resuming {
    RESUMING_NONE,
    RESUMING_ONCE, /* ZKL_DO_FOLLOW is resuming claims */
    RESUMING_ANEW  /* and will begin again with the first */
};

struct path {
    struct path *next;      /* in a bucket of session->paths */
    struct path *next_idle; /* in session->idle_paths */
    bool idle;              /* in that list, as it may be unused */
    struct zkl_line line;   /* its claims are stakes */
    struct stake *granted;  /* granted stakes, until GONE; the latest first */
    zkl_time hold_ended_at; /* 0: no hold has ended in this connection */
    /* The last stake that was told its position in turns, or NULL. */
    const struct stake *last_told_stake;
    zkl_time last_told_at;
    size_t last_told_position;
    enum fixed_node fixed_node;
    struct watch *children_watch; /* pinned; NULL: line.children is ZKL_UNWATCHED */
    zkl_time orphan_look_at;      /* when to look for orphans; 0: no create is in doubt */
    size_t stake_count;
    size_t counted_stakes; /* stakes that count in session->node_bytes */
    size_t lists_out;      /* STAKE_LIST calls that are out */
    bool postponed;        /* a claim was not allowed to watch its predecessor yet */
    enum resuming resuming;
    size_t length;
    char text[];
};

/* The backoff of a path that is no longer in use. */
struct old_backoff {
    uint32_t path; /* its hash */
    struct zkl_backoff backoff;
};

enum { OLD_BACKOFFS = 64 };

#ifndef PATH_BUCKETS
#define PATH_BUCKETS 256
#endif

struct path *zkl_path_find(struct zkl_session *session, const char *text, size_t length);
struct path *zkl_path_find_or_add(struct zkl_session *session,
                                  const char *text); /* NULL: out of memory */
/* NULL: before the first, behind the last. */
struct path *zkl_path_next(struct zkl_session *session, struct path *path);
void zkl_path_mark_idle(struct zkl_session *session, struct path *path); /* it may be unused */
void zkl_path_free_unused(struct zkl_session *session);                  /* among idle paths */
/* Visits each node above `path`, from the top down. False: out of memory. */
bool zkl_path_each_parent(const char *path, void (*visit)(void *context, const char *node),
                          void *context);
/* A create may still land, so look for orphans after a session timeout. */
void zkl_path_expect_orphan(struct zkl_session *session, struct path *path);
char *zkl_path_join(const char *parent, const char *name); /* NULL: out of memory */

#endif
