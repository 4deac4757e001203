/* shortage.c - failing allocations of the session, on a move, by the linker (--wrap). */
#include <stdlib.h>
#include <string.h>

#include "story.h"
#include "world.h"

/* Only the linker knows these names. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

static bool fails(void) {
    if (world.spare == 0 || --world.spare > 0) return false;
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
