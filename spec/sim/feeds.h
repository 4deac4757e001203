/*
 * feeds.h - the one place where the session feeds its claims, seen from outside: the linker
 * puts feeds.c between src/session and src/core (--wrap). What is fed is counted (coverage.h)
 * and told (story.h), and the rules about a single claim are asked.
 */
#ifndef FEEDS_H
#define FEEDS_H

#include <stdbool.h>

/* Whether that matters: not while what is left of a run is freed. */
void feeds_heed(bool heed);

#endif
