#include "choice.h"

#include <string.h>

static struct {
    enum { BY_SEED, BY_TAPE, ALL } source;
    uint64_t random;
    struct tape given;     /* the replayed tape; with ALL, the first choices of this run */
    size_t pinned;         /* ALL: number of fixed choices */
    uint16_t limits[TAPE]; /* ALL: the limit of each choice made */
    struct tape made;
    bool ended;
} run;

static void restart(int source) {
    run.source = source;
    run.made.length = 0;
    run.ended = false;
}

void choose_by_seed(uint64_t seed) {
    restart(BY_SEED);
    run.random = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15) | 1;
}

void choose_by_tape(const struct tape *tape) {
    restart(BY_TAPE);
    run.given = *tape;
}

void choose_all(const struct tape *pinned) {
    restart(ALL);
    run.given = *pinned;
    run.pinned = pinned->length;
}

/* Counts like an odometer with the choices' limits as wheels. */
bool choose_next(void) {
    size_t last = run.made.length;
    while (last > run.pinned && run.made.choices[last - 1] + 1 >= run.limits[last - 1]) last--;
    if (last <= run.pinned) return false;
    memcpy(run.given.choices, run.made.choices, last);
    run.given.choices[last - 1]++;
    run.given.length = last;
    restart(ALL);
    return true;
}

/* xorshift64, without its weak low bits. */
static unsigned draw(unsigned limit) {
    run.random ^= run.random << 13;
    run.random ^= run.random >> 7;
    run.random ^= run.random << 17;
    return (unsigned)((run.random >> 32) * limit >> 32);
}

static unsigned record(unsigned choice, unsigned limit) {
    if (run.made.length == TAPE) return choice;
    run.limits[run.made.length] = (uint16_t)limit;
    run.made.choices[run.made.length++] = (uint8_t)choice;
    return choice;
}

static unsigned given_choice(unsigned limit) {
    if (run.made.length >= run.given.length) return 0;
    return run.given.choices[run.made.length] % limit;
}

unsigned choose(unsigned limit) {
    if (run.ended) return 0;
    return record(run.source == BY_SEED ? draw(limit) : given_choice(limit), limit);
}

static unsigned draw_weighted(const unsigned *weights, unsigned count) {
    unsigned sum = 0, i = 0;
    for (unsigned each = 0; each < count; each++) sum += weights[each];
    for (unsigned left = draw(sum); left >= weights[i]; i++) left -= weights[i];
    return i;
}

unsigned choose_weighted(const unsigned *weights, unsigned count) {
    return record(run.source == BY_SEED ? draw_weighted(weights, count) : given_choice(count),
                  count);
}

bool choices_at_end(void) {
    if (run.made.length == TAPE) return true;
    return run.source == BY_TAPE && run.made.length >= run.given.length;
}

bool choices_are_new(void) {
    return run.made.length >= run.given.length;
}

void choose_no_more(void) {
    run.ended = true;
}

const struct tape *choices_made(void) {
    return &run.made;
}
