/* watches.c - see watches.h. */
#include <stdlib.h>
#include <string.h>

#include "watches.h"

#define WATCH_OF(link_) ZKL_LISTED(link_, struct zkl_watch, link)

bool zkl_data_watches_init(struct zkl_data_watches *watches) {
    watches->taken = NULL;
    zkl_list_init(&watches->events);
    return zkl_table_init(&watches->table);
}

void zkl_data_watches_clear(struct zkl_data_watches *watches) {
    while (zkl_data_watches_next(watches)) continue;
    zkl_table_destroy(&watches->table);
}

static struct zkl_watch *new_watch(uint64_t session, const char *path) {
    size_t size = strlen(path) + 1;
    struct zkl_watch *watch = calloc(1, sizeof *watch + size);
    if (!watch) return NULL;
    watch->session = session;
    memcpy(watch->path, path, size);
    return watch;
}

/* --- watches of sessions ------------------------------------------------------------------ */

struct zkl_watch *zkl_data_watches_new_farewell(uint64_t session) {
    return new_watch(session, "");
}

void zkl_data_watches_post_farewell(struct zkl_data_watches *watches, struct zkl_watch *farewell) {
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

/* --- watches of paths --------------------------------------------------------------------- */

/* A path, with data or children. */
struct watched {
    const char *path;
    size_t length;
    bool children;
};

static struct watched data_of(const char *path) {
    return (struct watched){path, strlen(path), false};
}

static struct watched children_of(const char *path) {
    return (struct watched){path, strlen(path), true};
}

static struct watched siblings_of(const char *path) {
    size_t length = (size_t)(strrchr(path, '/') - path);
    return (struct watched){path, length ? length : 1, true};
}

static struct zkl_watch *find_from(struct zkl_entry *entry, struct watched target) {
    for (; entry; entry = zkl_table_next(entry)) {
        struct zkl_watch *watch = ZKL_LISTED(entry, struct zkl_watch, entry);
        bool same = watch->of_children == target.children && strlen(watch->path) == target.length;
        if (same && memcmp(watch->path, target.path, target.length) == 0) return watch;
    }
    return NULL;
}

static struct zkl_watch *first_watch(const struct zkl_data_watches *watches,
                                     struct watched target) {
    return find_from(zkl_table_first(&watches->table, zkl_hash(target.path, target.length)),
                     target);
}

static struct zkl_watch *next_watch(struct zkl_watch *watch, struct watched target) {
    return find_from(zkl_table_next(&watch->entry), target);
}

static struct zkl_watch *find(const struct zkl_data_watches *watches, uint64_t session,
                              struct watched target) {
    struct zkl_watch *watch = first_watch(watches, target);
    while (watch && watch->session != session) watch = next_watch(watch, target);
    return watch;
}

bool zkl_data_watches_add(struct zkl_data_watches *watches, struct zkl_list *own, uint64_t session,
                          const char *path, bool of_children) {
    if (find(watches, session, of_children ? children_of(path) : data_of(path))) return true;
    struct zkl_watch *watch = new_watch(session, path);
    if (!watch) return false;
    watch->of_children = of_children;
    zkl_list_append(own, &watch->link);
    zkl_table_insert(&watches->table, &watch->entry, zkl_hash(path, strlen(path)));
    return true;
}

static void take_out(struct zkl_data_watches *watches, struct zkl_watch *watch) {
    zkl_list_remove(&watch->link);
    zkl_table_remove(&watches->table, &watch->entry);
}

bool zkl_data_watches_remove(struct zkl_data_watches *watches, uint64_t session, const char *path,
                             bool of_children) {
    struct zkl_watch *watch =
        find(watches, session, of_children ? children_of(path) : data_of(path));
    if (!watch) return false;
    take_out(watches, watch);
    free(watch);
    return true;
}

static void fire(struct zkl_data_watches *watches, struct watched target,
                 enum zkl_node_event kind) {
    for (struct zkl_watch *watch = first_watch(watches, target), *following; watch;
         watch = following) {
        following = next_watch(watch, target);
        take_out(watches, watch);
        watch->kind = kind;
        zkl_list_append(&watches->events, &watch->link);
    }
}

/* Drops child watches whose sessions also watch the data. */
static void drop_doubled(struct zkl_data_watches *watches, const char *path) {
    struct watched target = children_of(path);
    for (struct zkl_watch *watch = first_watch(watches, target), *following; watch;
         watch = following) {
        following = next_watch(watch, target);
        if (!find(watches, watch->session, data_of(path))) continue;
        take_out(watches, watch);
        free(watch);
    }
}

void zkl_data_watches_fire(struct zkl_data_watches *watches, const char *path,
                           enum zkl_node_event kind) {
    if (kind == ZKL_NODE_DELETED) drop_doubled(watches, path);
    fire(watches, data_of(path), kind);
    if (kind == ZKL_NODE_DELETED) fire(watches, children_of(path), kind);
    if (kind != ZKL_NODE_CHANGED) fire(watches, siblings_of(path), ZKL_NODE_CHILDREN);
}

const struct zkl_watch *zkl_data_watches_next(struct zkl_data_watches *watches) {
    free(watches->taken);
    watches->taken = NULL;
    if (zkl_list_is_empty(&watches->events)) return NULL;
    watches->taken = WATCH_OF(watches->events.next);
    zkl_list_remove(&watches->taken->link);
    return watches->taken;
}
