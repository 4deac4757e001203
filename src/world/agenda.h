/* agenda.h - a binary heap of due times, with entries inside the user's structs, for one thread. */
#ifndef ZKL_AGENDA_H
#define ZKL_AGENDA_H

#include <stdbool.h>
#include <stddef.h>

#include "../core/clock.h"

struct zkl_due {
    zkl_time at;  /* ZKL_NEVER: not due */
    size_t index; /* in the heap */
};

struct zkl_agenda {
    struct zkl_due **heap;
    size_t count, room;
};

/* Adds an entry that is not due. False: no memory. */
bool zkl_agenda_add(struct zkl_agenda *agenda, struct zkl_due *due);
void zkl_agenda_set(struct zkl_agenda *agenda, struct zkl_due *due, zkl_time at);
/* The earliest entry, perhaps not due. NULL: empty. */
struct zkl_due *zkl_agenda_first(const struct zkl_agenda *agenda);

#endif
