/*
 * setting.h - what a run may contain. At random each kind of fault is in every
 * second run only, so that runs differ in kind, not only in detail (swarm testing,
 * Groce et al., ISSTA 2012). Small cases for exhaustive runs have names.
 */
#ifndef SETTING_H
#define SETTING_H

#include "choice.h"

/* Chooses world.setting, and begins the world. */
void setting_choose(void);

/* The tape that pins a small case; false: there is none of this name. */
bool setting_small(const char *name, struct tape *pinned);

/* The i-th small case's name and what it is, or NULL. */
const char *setting_small_name(unsigned i, const char **what);

#endif
