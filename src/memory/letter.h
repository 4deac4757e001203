/*
 * letter.h - what is on its way from the server to a client: an answer, or the event of a watch.
 *
 * What the tree returns lives until its next call, so a letter has a copy.
 */
#ifndef ZKL_LETTER_H
#define ZKL_LETTER_H

#include "../core/clock.h"
#include "../session/rpc.h"
#include "list.h"

struct zkl_letter {
    struct zkl_list place; /* in a link's letters */
    zkl_time due;          /* when it arrives */
    char *path;            /* of an event's node; NULL: it is an answer */
    enum zkl_node_event kind;
    uint64_t id;              /* of the request that is answered */
    struct zkl_answer answer; /* what it points to is in `content` */
    void *content;
};

/* An answer still to be filled in. NULL: out of memory. */
struct zkl_letter *zkl_letter_new(uint64_t id);

/*
 * Copies the answer to a request with so many operations into the letter; `hidden`: how many bytes
 * of each path its client is not to see. Out of memory: the answer is a marshalling error.
 */
void zkl_letter_fill(struct zkl_letter *letter, const struct zkl_answer *answer, size_t operations,
                     size_t hidden);

/* NULL: out of memory. */
struct zkl_letter *zkl_letter_of_event(enum zkl_node_event kind, const char *path);

void zkl_letter_free(struct zkl_letter *letter);

#endif
