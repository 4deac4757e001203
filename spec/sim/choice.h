/*
 * choice.h - where a schedule takes its choices from. Whatever can go one way
 * or another asks choose(); nothing else in the simulator is left to chance.
 *
 * A run's choices are its tape, one byte each. They come from a seed (explore
 * at random), from a tape (replay, and shrink), or from all tapes in turn
 * (explore a small case exhaustively). The same tape gives the same run.
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

/* Choices of the seed from now on. */
void choose_by_seed(uint64_t seed);

/* The tape's choices; after its end, choices_end() is true and each choice is 0. */
void choose_by_tape(const struct tape *tape);

/*
 * The first tape that begins with the `pinned` one, then, by choose_next(), each
 * other: false when there is none left. What the run did not reach is not explored.
 */
void choose_all(const struct tape *pinned);
bool choose_next(void);

/* One of 0 ... limit - 1; limit is 1 to 256. */
unsigned choose(unsigned limit);

/* An index into the weights, whose sum is not 0; a tape and choose_all() ignore the weights. */
unsigned choose_weighted(const unsigned *weights, unsigned count);

bool choices_end(void);

/* This run has left the choices behind that it has in common with the one before. */
bool choices_new(void);

/* From here to the end of the run each choice is 0, and is not recorded. */
void choose_no_more(void);

/* The choices of this run so far. */
const struct tape *choices_made(void);

#endif
