/*
 * parts.h - references to a stake, or to all parts of a multi-lock.
 *
 *     for (size_t i = 0; i < parts->count; i++) zkl_parts_at(parts, i)
 */
#ifndef ZKL_SESSION_PARTS_H
#define ZKL_SESSION_PARTS_H

#include "session.h"

struct stake;

/* The stakes of a request or a lease, with a reference to each. */
struct parts {
    size_t count;
    struct stake *one;
    struct stake **many; /* NULL: a single lock */
};

void zkl_stake_ref(struct stake *stake);
void zkl_stake_unref(struct stake *stake);
void zkl_parts_set_one(struct parts *parts, struct stake *one);  /* in empty `parts` */
bool zkl_parts_copy(struct parts *to, const struct parts *from); /* False: out of memory. */
void zkl_parts_drop(struct parts *parts);
struct stake *zkl_parts_at(const struct parts *parts, size_t i);
bool zkl_parts_include(const struct parts *parts, const struct stake *stake);

#endif
