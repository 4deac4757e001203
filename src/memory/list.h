/*
 * list.h - circular doubly linked lists with links inside the structs, which the user owns and
 * serialises. A list is itself a link, before the first and after the last.
 *
 *     for (struct zkl_list *at = list.next; at != &list; at = at->next) ... ZKL_LISTED(at, type,
 * member)
 */
#ifndef ZKL_LIST_H
#define ZKL_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct zkl_list {
    struct zkl_list *next, *previous;
};

/* The struct around a link. */
#define ZKL_LISTED(link, type, member) ((type *)(void *)((char *)(link)-offsetof(type, member)))

static inline void zkl_list_init(struct zkl_list *list) {
    list->next = list->previous = list;
}

static inline bool zkl_list_is_empty(const struct zkl_list *list) {
    return list->next == list;
}

/* Puts a hidden link back between its neighbours. */
static inline void zkl_list_restore(struct zkl_list *link) {
    link->previous->next = link->next->previous = link;
}

/* Takes a link out, with its neighbours still named. */
static inline void zkl_list_hide(struct zkl_list *link) {
    link->previous->next = link->next;
    link->next->previous = link->previous;
}

/* Harmless outside any list. */
static inline void zkl_list_remove(struct zkl_list *link) {
    zkl_list_hide(link);
    zkl_list_init(link);
}

static inline void zkl_list_append(struct zkl_list *list, struct zkl_list *link) {
    *link = (struct zkl_list){.next = list, .previous = list->previous};
    zkl_list_restore(link);
}

static inline void zkl_list_move(struct zkl_list *list, struct zkl_list *from) {
    if (zkl_list_is_empty(from)) return;
    from->next->previous = list->previous;
    list->previous->next = from->next;
    from->previous->next = list;
    list->previous = from->previous;
    zkl_list_init(from);
}

#endif
