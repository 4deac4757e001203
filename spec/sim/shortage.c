#include "shortage.h"

#include <stdlib.h>
#include <string.h>

#include "story.h"
#include "world.h"

/* The linker's names: nobody else declares them. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

static unsigned left; /* allocations to the one that fails; 0: none does */

void shortage_begin(unsigned n) {
    left = n;
}

void shortage_end(void) {
    left = 0;
}

static bool fails(void) {
    if (left == 0 || --left > 0) return false;
    world.shortages++;
    tell("  there is no memory");
    return true;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
char *__real_strdup(const char *text);

void *__wrap_malloc(size_t size) {
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size) {
    return fails() ? NULL : __real_realloc(old, size);
}

char *__wrap_strdup(const char *text) {
    return fails() ? NULL : __real_strdup(text);
}
