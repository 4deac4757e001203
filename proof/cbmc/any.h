/*
 * any.h - the language of the proofs. A proof is a main() over arbitrary values. It includes the
 * source that it is about, to reach static functions; docs/proof.md has the property that it shows.
 * A line "cbmc: ..." in its first comment has its own options for cbmc; `run` adds common ones.
 */
#ifndef ANY_H
#define ANY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* CBMC returns any value from these. */
char nondet_char(void);
int nondet_int(void);
int32_t nondet_int32(void);
uint32_t nondet_uint32(void);
int64_t nondet_int64(void);
uint64_t nondet_uint64(void);
size_t nondet_size(void);
bool nondet_bool(void);

void __CPROVER_assume(_Bool condition);
void __CPROVER_assert(_Bool condition, const char *promise);

#define ASSUME(condition) __CPROVER_assume(condition)
#define SHOW(condition, promise) __CPROVER_assert(condition, promise)

#endif
