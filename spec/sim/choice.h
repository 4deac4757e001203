/*
 * choice.h - the source of a schedule's choices. Nothing else in the simulator is random. A run's
 * choices are its tape, one byte each. They come from a seed (random exploration), from a tape
 * (replay and shrinking), or from all tapes in turn (a small case). Equal tapes give equal runs.
 */
#ifndef CHOICE_H
#define CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TAPE = 4096 };

struct tape {
    uint8_t choices[TAPE];
    size_t length;
};

void choose_by_seed(uint64_t seed);

/* Takes choices from the tape. After its end each is 0. */
void choose_by_tape(const struct tape *tape);

/*
 * Begins with the first tape that starts like `pinned`. choose_next() goes on, until false. Choices
 * that no run reached are not explored.
 */
void choose_all(const struct tape *pinned);
bool choose_next(void);

/* Chooses a number below `limit`, which is at most 256. */
unsigned choose(unsigned limit);

/* Chooses an index of the weights, which are not all 0. Only choices by a seed heed them. */
unsigned choose_weighted(const unsigned *weights, unsigned count);

/* True if the tape is full, or the replayed tape is used up. */
bool choices_at_end(void);

/* True if this run no longer repeats choices of the run before. */
bool choices_are_new(void);

/* Makes all later choices 0, without a record. */
void choose_no_more(void);

const struct tape *choices_made(void);

#endif
