/*
 * any.h - what the proofs are written in: an arbitrary value, what is assumed, what is shown.
 *
 * A harness is a main() over arbitrary values; it includes the source that it is about, so that
 * it reaches what is static there. The first lines of its comment are what docs/proof.md has of
 * it. A line "cbmc: ..." in that comment has options for cbmc; `run` has those of all.
 */
#ifndef ANY_H
#define ANY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* CBMC takes any value for the result of a function of such a name. */
char nondet_char(void);
int nondet_int(void);
int32_t nondet_int32(void);
uint32_t nondet_uint32(void);
int64_t nondet_int64(void);
uint64_t nondet_uint64(void);
size_t nondet_size(void);
bool nondet_bool(void);

#define ASSUME(condition) __CPROVER_assume(condition)
#define SHOW(condition, promise) __CPROVER_assert(condition, promise)

#endif
