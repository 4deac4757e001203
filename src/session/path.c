#include <stdlib.h>
#include <string.h>

#include "../core/hash.h"
#include "internal.h"
#include "path.h"

static struct path **bucket(struct zkl_session *session, const char *text, size_t length) {
    return &session->paths[zkl_hash(text, length) % PATH_BUCKETS];
}

struct path *zkl_path_find(struct zkl_session *session, const char *text, size_t length) {
    for (struct path *path = *bucket(session, text, length); path; path = path->next) {
        if (path->length == length && memcmp(path->text, text, length) == 0) return path;
    }
    return NULL;
}

/* --- backoffs of paths that are no longer in use --------------------------------------------- */

static struct old_backoff *backoff_slot(struct zkl_session *session, const struct path *path) {
    return &session->old_backoffs[zkl_hash(path->text, path->length) % OLD_BACKOFFS];
}

static void restore_backoff(struct zkl_session *session, struct path *path) {
    const struct old_backoff *last = backoff_slot(session, path);
    if (last->path == zkl_hash(path->text, path->length)) path->line.backoff = last->backoff;
}

static void save_backoff(struct zkl_session *session, const struct path *path) {
    const struct zkl_backoff *backoff = &path->line.backoff;
    if (backoff->gave_back || backoff->length)
        *backoff_slot(session, path) =
            (struct old_backoff){zkl_hash(path->text, path->length), path->line.backoff};
}

/* --- in use ----------------------------------------------------------------------------------- */

struct path *zkl_path_find_or_add(struct zkl_session *session, const char *text) {
    size_t length = strlen(text);
    struct path *path = zkl_path_find(session, text, length);
    if (path) return path;
    path = calloc(1, sizeof *path + length + 1);
    if (!path) return NULL;
    struct path **first = bucket(session, text, length);
    memcpy(path->text, text, length + 1);
    path->length = length;
    path->line.common = &session->common;
    path->next = *first;
    *first = path;
    restore_backoff(session, path);
    /* zkl_path_free_unused() frees the path unless it is in use by then. */
    zkl_path_mark_idle(session, path);
    return path;
}

struct path *zkl_path_next(struct zkl_session *session, struct path *path) {
    size_t at = 0;
    if (path) {
        if (path->next) return path->next;
        at = zkl_hash(path->text, path->length) % PATH_BUCKETS + 1;
    }
    while (at < PATH_BUCKETS && !session->paths[at]) at++;
    return at < PATH_BUCKETS ? session->paths[at] : NULL;
}

void zkl_path_mark_idle(struct zkl_session *session, struct path *path) {
    if (path->idle) return;
    path->idle = true;
    path->next_idle = session->idle_paths;
    session->idle_paths = path;
}

static void free_path(struct zkl_session *session, struct path *path) {
    struct path **link = bucket(session, path->text, path->length);
    while (*link != path) link = &(*link)->next;
    *link = path->next;
    save_backoff(session, path);
    zkl_line_clear(&path->line);
    free(path);
}

void zkl_path_free_unused(struct zkl_session *session) {
    struct path *path;
    while ((path = session->idle_paths)) {
        session->idle_paths = path->next_idle;
        path->idle = false;
        if (path->stake_count + path->lists_out == 0 && path->orphan_look_at == 0)
            free_path(session, path);
    }
}

void zkl_path_expect_orphan(struct zkl_session *session, struct path *path) {
    path->orphan_look_at = session->now + session->common.clock.timeout;
    zkl_session_tick_by(session, path->orphan_look_at);
}

char *zkl_path_join(const char *parent, const char *name) {
    size_t size = strlen(parent) + 1 + strlen(name) + 1;
    char *joined = malloc(size);
    if (!joined) return NULL;
    strcpy(joined, strcmp(parent, "/") == 0 ? "" : parent);
    strcat(joined, "/");
    return strcat(joined, name);
}

bool zkl_path_each_parent(const char *path, void (*visit)(void *context, const char *node),
                          void *context) {
    char *node = strdup(path), *slash = node;
    if (!node) return false;
    while ((slash = strchr(slash + 1, '/'))) {
        *slash = '\0';
        visit(context, node);
        *slash = '/';
    }
    free(node);
    return true;
}
