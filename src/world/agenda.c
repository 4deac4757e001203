/* agenda.c - see agenda.h. */
#include <stdlib.h>

#include "agenda.h"

static void put(struct zkl_agenda *agenda, struct zkl_due *due, size_t index) {
    agenda->heap[index] = due;
    due->index = index;
}

static void rise(struct zkl_agenda *agenda, struct zkl_due *due) {
    size_t index = due->index;
    while (index > 0 && agenda->heap[(index - 1) / 2]->at > due->at) {
        put(agenda, agenda->heap[(index - 1) / 2], index);
        index = (index - 1) / 2;
    }
    put(agenda, due, index);
}

static void sink(struct zkl_agenda *agenda, struct zkl_due *due) {
    size_t index = due->index, below;
    while ((below = 2 * index + 1) < agenda->count) {
        if (below + 1 < agenda->count && agenda->heap[below + 1]->at < agenda->heap[below]->at)
            below++;
        if (agenda->heap[below]->at >= due->at) break;
        put(agenda, agenda->heap[below], index);
        index = below;
    }
    put(agenda, due, index);
}

bool zkl_agenda_add(struct zkl_agenda *agenda, struct zkl_due *due) {
    if (agenda->count == agenda->room) {
        size_t room = agenda->room ? 2 * agenda->room : 16;
        struct zkl_due **heap = realloc(agenda->heap, room * sizeof(struct zkl_due *));
        if (!heap) return false;
        agenda->heap = heap;
        agenda->room = room;
    }
    due->at = ZKL_NEVER;
    put(agenda, due, agenda->count++);
    return true;
}

void zkl_agenda_set(struct zkl_agenda *agenda, struct zkl_due *due, zkl_time at) {
    zkl_time before = due->at;
    due->at = at;
    if (at < before) rise(agenda, due);
    else if (at > before) sink(agenda, due);
}

struct zkl_due *zkl_agenda_first(const struct zkl_agenda *agenda) {
    return agenda->count > 0 ? agenda->heap[0] : NULL;
}
