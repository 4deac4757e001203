/*
 * roll.h - lists of a roster's members for its user, each in one piece of memory, for free().
 */
#ifndef ZKL_SESSION_ROLL_H
#define ZKL_SESSION_ROLL_H

#include "roster.h"

struct zkl_roll *zkl_roll_new(const struct zkl_roster *roster); /* NULL: out of memory */
struct zkl_roll *zkl_roll_copy(const struct zkl_roll *roll);    /* NULL: out of memory */
/* The roll shows the roster's present list. */
bool zkl_roll_shows(const struct zkl_roll *roll, const struct zkl_roster *roster);

#endif
