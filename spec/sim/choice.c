#include "choice.h"

#include <string.h>

static struct {
    enum { BY_SEED, BY_TAPE, ALL } source;
    uint64_t random;
    struct tape given;     /* the tape; with ALL, the first choices of this run */
    size_t pinned;         /* ALL: fixed choices */
    uint16_t limits[TAPE]; /* ALL: of each choice made */
    struct tape made;
    bool over;
} now;

static void restart(int source) {
    now.source = source;
    now.made.length = 0;
    now.over = false;
}

void choose_by_seed(uint64_t seed) {
    restart(BY_SEED);
    now.random = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15) | 1;
}

void choose_by_tape(const struct tape *tape) {
    restart(BY_TAPE);
    now.given = *tape;
}

void choose_all(const struct tape *pinned) {
    restart(ALL);
    now.given = *pinned;
    now.pinned = pinned->length;
}

/* Counts like an odometer with the choices' limits as wheels. */
bool choose_next(void) {
    size_t last = now.made.length;
    while (last > now.pinned && now.made.choices[last - 1] + 1 >= now.limits[last - 1]) last--;
    if (last <= now.pinned) return false;
    memcpy(now.given.choices, now.made.choices, last);
    now.given.choices[last - 1]++;
    now.given.length = last;
    restart(ALL);
    return true;
}

/* xorshift64, without its weak low bits. */
static unsigned draw(unsigned limit) {
    now.random ^= now.random << 13;
    now.random ^= now.random >> 7;
    now.random ^= now.random << 17;
    return (unsigned)((now.random >> 32) * limit >> 32);
}

static unsigned record(unsigned choice, unsigned limit) {
    if (now.made.length == TAPE) return choice;
    now.limits[now.made.length] = (uint16_t)limit;
    now.made.choices[now.made.length++] = (uint8_t)choice;
    return choice;
}

static unsigned given(unsigned limit) {
    if (now.made.length >= now.given.length) return 0;
    return now.given.choices[now.made.length] % limit;
}

unsigned choose(unsigned limit) {
    if (now.over) return 0;
    return record(now.source == BY_SEED ? draw(limit) : given(limit), limit);
}

static unsigned draw_weighted(const unsigned *weights, unsigned count) {
    unsigned sum = 0, i = 0;
    for (unsigned each = 0; each < count; each++) sum += weights[each];
    for (unsigned left = draw(sum); left >= weights[i]; i++) left -= weights[i];
    return i;
}

unsigned choose_weighted(const unsigned *weights, unsigned count) {
    return record(now.source == BY_SEED ? draw_weighted(weights, count) : given(count), count);
}

bool choices_end(void) {
    if (now.made.length == TAPE) return true;
    return now.source == BY_TAPE && now.made.length >= now.given.length;
}

bool choices_new(void) {
    return now.made.length >= now.given.length;
}

void choose_no_more(void) {
    now.over = true;
}

const struct tape *choices_made(void) {
    return &now.made;
}
