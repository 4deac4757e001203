/*
 * shortage.h - memory runs out: the linker puts shortage.c between the session and malloc()
 * (--wrap), and a move may have one allocation fail.
 */
#ifndef SHORTAGE_H
#define SHORTAGE_H

#include <stdbool.h>

/* The n-th allocation from now on fails, if it comes before the end. */
void shortage_begin(unsigned n);
void shortage_end(void);

#endif
