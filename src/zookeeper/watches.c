/*
 * watches.c - the node paths that this session watches or asks to, and their size.
 *
 * libzookeeper keeps one watch a path for one watcher function and context, so
 * a path counts once, however many claims wait for it; a watch that nobody
 * waits for any more stays until it fires. A path counts from the request on:
 * many may be asked for before the first is answered.
 */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

static struct watch **find(const struct watches *watches, const char *path) {
    size_t bucket = zkl_hash(path, strlen(path)) % WATCH_BUCKETS;
    struct watch **link = (struct watch **)&watches->buckets[bucket];
    while (*link && strcmp((*link)->path, path) != 0) link = &(*link)->next;
    return link;
}

/* What a path costs in the SetWatches packet; the server counts it with the chroot. */
static size_t cost(const struct watches *watches, const char *path) {
    return strlen(path) + watches->overhead;
}

bool zkl_watches_may(const struct watches *watches, const char *path) {
    return *find(watches, path) || watches->bytes + cost(watches, path) <= ZKL_PATHS_MAX;
}

static void remove_unused(struct watches *watches, struct watch **link) {
    struct watch *watch = *link;
    if (watch->set || watch->asked) return;
    *link = watch->next;
    watches->count--;
    watches->bytes -= cost(watches, watch->path);
    free(watch);
}

bool zkl_watches_ask(struct watches *watches, const char *path) {
    struct watch **link = find(watches, path);
    if (!*link) {
        size_t size = strlen(path) + 1;
        *link = calloc(1, sizeof **link + size);
        if (!*link) return false;
        memcpy((*link)->path, path, size);
        watches->count++;
        watches->bytes += cost(watches, path);
    }
    (*link)->asked++;
    return true;
}

void zkl_watches_answer(struct watches *watches, const char *path, bool set) {
    struct watch **link = find(watches, path);
    if (!*link) return; /* the session they belonged to is gone */
    if ((*link)->asked) (*link)->asked--;
    if (set) (*link)->set = true;
    remove_unused(watches, link);
}

void zkl_watches_fired(struct watches *watches, const char *path) {
    struct watch **link = find(watches, path);
    if (!*link) return;
    (*link)->set = false;
    remove_unused(watches, link);
}

void zkl_watches_clear(struct watches *watches) {
    for (size_t i = 0; i < WATCH_BUCKETS; i++) {
        struct watch *watch = watches->buckets[i], *next;
        for (; watch; watch = next) {
            next = watch->next;
            free(watch);
        }
        watches->buckets[i] = NULL;
    }
    watches->count = watches->bytes = 0;
}
