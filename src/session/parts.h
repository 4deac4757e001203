/* parts.h - references to stakes: one, or the parts of a multi-lock together. */
#ifndef ZKL_SESSION_PARTS_H
#define ZKL_SESSION_PARTS_H

#include "session.h"

struct stake;

/* What a request or a lease is about: one stake, or the parts of a multi-lock. Counted. */
struct parts {
    size_t count;
    struct stake *one;
    struct stake **many; /* NULL: it is one */
};

void zkl_stake_ref(struct stake *stake);
void zkl_stake_unref(struct stake *stake);
void zkl_parts_set(struct parts *parts, struct stake *one);
bool zkl_parts_copy(struct parts *to, const struct parts *from); /* false: no memory */
void zkl_parts_drop(struct parts *parts);
struct stake *zkl_parts_at(const struct parts *parts, size_t i);
bool zkl_parts_have(const struct parts *parts, const struct stake *stake);

#endif
