/*
 * list.h - circular doubly linked lists; the links are members of what is listed.
 *
 * A list is a link of its own, which is between the last and the first. A link that is in no
 * list is alone: a list of nothing.
 */
#ifndef ZKL_LIST_H
#define ZKL_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct zkl_list {
    struct zkl_list *next, *previous;
};

/* The struct that a link is a member of. */
#define ZKL_LISTED(link, type, member) ((type *)(void *)((char *)(link)-offsetof(type, member)))

static inline void zkl_list_init(struct zkl_list *list) {
    list->next = list->previous = list;
}

static inline bool zkl_list_is_empty(const struct zkl_list *list) {
    return list->next == list;
}

/* Puts a link between the neighbours that it names, where it was before zkl_list_hide(). */
static inline void zkl_list_restore(struct zkl_list *link) {
    link->previous->next = link->next->previous = link;
}

/* Takes a link out of its list; it still names its neighbours. */
static inline void zkl_list_hide(struct zkl_list *link) {
    link->previous->next = link->next;
    link->next->previous = link->previous;
}

/* Nothing happens to a link that is alone. */
static inline void zkl_list_remove(struct zkl_list *link) {
    zkl_list_hide(link);
    zkl_list_init(link);
}

static inline void zkl_list_append(struct zkl_list *list, struct zkl_list *link) {
    *link = (struct zkl_list){.next = list, .previous = list->previous};
    zkl_list_restore(link);
}

/* Moves all of `from` to the end of `list`. */
static inline void zkl_list_move(struct zkl_list *list, struct zkl_list *from) {
    if (zkl_list_is_empty(from)) return;
    from->next->previous = list->previous;
    list->previous->next = from->next;
    from->previous->next = list;
    list->previous = from->previous;
    zkl_list_init(from);
}

#endif
