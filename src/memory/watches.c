/* watches.c - the watches of a tree's data, and the events that came of them. */
#include <stdlib.h>
#include <string.h>

#include "watches.h"

#define WATCH_OF(link_) ZKL_LISTED(link_, struct zkl_watch, link)

bool zkl_data_watches_init(struct zkl_data_watches *watches) {
    watches->told = NULL;
    zkl_list_init(&watches->events);
    return zkl_table_init(&watches->table);
}

void zkl_data_watches_clear(struct zkl_data_watches *watches) {
    while (zkl_data_watches_next(watches)) continue;
    zkl_table_clear(&watches->table);
}

static struct zkl_watch *new_watch(uint64_t session, const char *path) {
    size_t size = strlen(path) + 1;
    struct zkl_watch *watch = calloc(1, sizeof *watch + size);
    if (!watch) return NULL;
    watch->session = session;
    memcpy(watch->path, path, size);
    return watch;
}

/* --- of sessions -------------------------------------------------------------------------- */

struct zkl_watch *zkl_data_watches_farewell(uint64_t session) {
    return new_watch(session, "");
}

void zkl_data_watches_tell(struct zkl_data_watches *watches, struct zkl_watch *farewell) {
    zkl_list_append(&watches->events, &farewell->link);
}

void zkl_data_watches_drop(struct zkl_data_watches *watches, struct zkl_list *own) {
    while (!zkl_list_is_empty(own)) {
        struct zkl_watch *watch = WATCH_OF(own->next);
        zkl_list_remove(&watch->link);
        zkl_table_remove(&watches->table, &watch->entry);
        free(watch);
    }
}

/* --- of paths ----------------------------------------------------------------------------- */

/* The first from this entry on that is of the path. */
static struct zkl_watch *of_path(struct zkl_entry *entry, const char *path) {
    for (; entry; entry = zkl_table_next(entry)) {
        struct zkl_watch *watch = ZKL_LISTED(entry, struct zkl_watch, entry);
        if (strcmp(watch->path, path) == 0) return watch;
    }
    return NULL;
}

static struct zkl_watch *find(const struct zkl_data_watches *watches, uint64_t session,
                              const char *path) {
    uint32_t hash = zkl_hash(path, strlen(path));
    struct zkl_watch *watch = of_path(zkl_table_first(&watches->table, hash), path);
    while (watch && watch->session != session) watch = of_path(zkl_table_next(&watch->entry), path);
    return watch;
}

bool zkl_data_watches_add(struct zkl_data_watches *watches, struct zkl_list *own, uint64_t session,
                          const char *path) {
    if (find(watches, session, path)) return true;
    struct zkl_watch *watch = new_watch(session, path);
    if (!watch) return false;
    zkl_list_append(own, &watch->link);
    zkl_table_insert(&watches->table, &watch->entry, zkl_hash(path, strlen(path)));
    return true;
}

bool zkl_data_watches_remove(struct zkl_data_watches *watches, uint64_t session, const char *path) {
    struct zkl_watch *watch = find(watches, session, path);
    if (!watch) return false;
    zkl_list_remove(&watch->link);
    zkl_table_remove(&watches->table, &watch->entry);
    free(watch);
    return true;
}

void zkl_data_watches_fire(struct zkl_data_watches *watches, const char *path,
                           enum zkl_node_event kind) {
    uint32_t hash = zkl_hash(path, strlen(path));
    struct zkl_watch *watch = of_path(zkl_table_first(&watches->table, hash), path), *next;
    for (; watch; watch = next) {
        next = of_path(zkl_table_next(&watch->entry), path);
        zkl_table_remove(&watches->table, &watch->entry);
        zkl_list_remove(&watch->link);
        watch->kind = kind;
        zkl_list_append(&watches->events, &watch->link);
    }
}

const struct zkl_watch *zkl_data_watches_next(struct zkl_data_watches *watches) {
    free(watches->told);
    watches->told = NULL;
    if (zkl_list_is_empty(&watches->events)) return NULL;
    watches->told = WATCH_OF(watches->events.next);
    zkl_list_remove(&watches->told->link);
    return watches->told;
}
