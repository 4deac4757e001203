/*
 * list.h - circular doubly linked lists, whose links are members of the listed structs. Callers
 * lock. A list is itself a link, between the last and the first.
 *
 *     for (struct zkl_list *at = list.next; at != &list; at = at->next)
 *         use(ZKL_LISTED(at, struct item, place));
 */
#ifndef ZKL_LIST_H
#define ZKL_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct zkl_list {
    struct zkl_list *next, *previous;
};

/* From a link to the struct that contains it. */
#define ZKL_LISTED(link, type, member) ((type *)(void *)((char *)(link)-offsetof(type, member)))

static inline void zkl_list_init(struct zkl_list *list) {
    list->next = list->previous = list;
}

static inline bool zkl_list_is_empty(const struct zkl_list *list) {
    return list->next == list;
}

/* Undoes zkl_list_hide(), if neither the link nor its neighbours changed since. */
static inline void zkl_list_restore(struct zkl_list *link) {
    link->previous->next = link->next->previous = link;
}

/* Takes a link out, but keeps its pointers, for zkl_list_restore(). */
static inline void zkl_list_hide(struct zkl_list *link) {
    link->previous->next = link->next;
    link->next->previous = link->previous;
}

/* Does nothing to a link that was only initialised, or was removed before. */
static inline void zkl_list_remove(struct zkl_list *link) {
    zkl_list_hide(link);
    zkl_list_init(link);
}

static inline void zkl_list_append(struct zkl_list *list, struct zkl_list *link) {
    *link = (struct zkl_list){.next = list, .previous = list->previous};
    zkl_list_restore(link);
}

/* Appends all links of `from`, and empties it. */
static inline void zkl_list_move(struct zkl_list *list, struct zkl_list *from) {
    if (zkl_list_is_empty(from)) return;
    from->next->previous = list->previous;
    list->previous->next = from->next;
    from->previous->next = list;
    list->previous = from->previous;
    zkl_list_init(from);
}

#endif
