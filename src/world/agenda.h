/* agenda.h - what is due, the soonest first: a binary heap. */
#ifndef ZKL_AGENDA_H
#define ZKL_AGENDA_H

#include <stdbool.h>
#include <stddef.h>

#include "../core/clock.h"

/* A member of each thing that may be due. */
struct zkl_due {
    zkl_time at;  /* ZKL_NEVER: it is not */
    size_t place; /* in the heap */
};

struct zkl_agenda {
    struct zkl_due **heap;
    size_t count, room;
};

/* Adds one that is not due. False: out of memory. */
bool zkl_agenda_add(struct zkl_agenda *agenda, struct zkl_due *due);
void zkl_agenda_set(struct zkl_agenda *agenda, struct zkl_due *due, zkl_time at);
/* The soonest; NULL: nothing was added. */
struct zkl_due *zkl_agenda_first(const struct zkl_agenda *agenda);

#endif
