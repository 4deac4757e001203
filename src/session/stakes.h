/* stakes.h - stakes are counted by whatever refers to them: one, or several together. */
#ifndef ZKL_SESSION_STAKES_H
#define ZKL_SESSION_STAKES_H

#include "session.h"

struct stake;

/* What a request or a lease is about: one stake, or the parts of a multi-lock. Counted. */
struct stakes {
    size_t count;
    struct stake *one;
    struct stake **many; /* NULL: it is one */
};

void zkl_stake_ref(struct stake *stake);
void zkl_stake_unref(struct stake *stake);
void zkl_stakes_set(struct stakes *stakes, struct stake *one);
bool zkl_stakes_copy(struct stakes *to, const struct stakes *from); /* false: no memory */
void zkl_stakes_drop(struct stakes *stakes);
struct stake *zkl_stakes_at(const struct stakes *stakes, size_t i);
bool zkl_stakes_have(const struct stakes *stakes, const struct stake *stake);

#endif
