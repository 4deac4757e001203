/*
 * setting.h - chooses the scope of a run. A random run has about half the kinds of faults, so that
 * runs differ in kind (swarm testing, Groce et al., ISSTA 2012). Small cases have names.
 */
#ifndef SETTING_H
#define SETTING_H

#include "choice.h"

void setting_choose(void);

/* The tape that pins a small case. False: unknown name. */
bool setting_small(const char *name, struct tape *pinned);

/* Name and description of the i-th small case, or NULL. */
const char *setting_small_name(unsigned i, const char **what);

#endif
