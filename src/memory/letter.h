/*
 * letter.h - an answer or watch event on its way to a client. A letter copies the tree's result,
 * which lives until the tree's next call. A link's list owns its letters, under the servers' mutex.
 */
#ifndef ZKL_LETTER_H
#define ZKL_LETTER_H

#include "../core/clock.h"
#include "../session/rpc.h"
#include "list.h"

struct zkl_letter {
    struct zkl_list place;
    zkl_time due;
    char *path; /* the event's node; NULL: an answer */
    enum zkl_node_event kind;
    uint64_t id;              /* the answered request's */
    struct zkl_answer answer; /* points into `content` */
    void *content;
};

/* An empty answer. NULL: no memory. */
struct zkl_letter *zkl_letter_new(uint64_t id);

/*
 * Copies an answer of so many `operations`, and cuts a chroot of `hidden` bytes off created paths.
 * Without memory the letter says ZKL_ERROR_MARSHALLING.
 */
void zkl_letter_fill(struct zkl_letter *letter, const struct zkl_answer *answer, size_t operations,
                     size_t hidden);

/* NULL: no memory. */
struct zkl_letter *zkl_letter_of_event(enum zkl_node_event kind, const char *path);

void zkl_letter_free(struct zkl_letter *letter);

#endif
