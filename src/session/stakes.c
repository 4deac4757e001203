/* stakes.c - stakes are counted by whatever refers to them: one, or several as one. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "stake.h"

void zkl_stake_ref(struct stake *stake) {
    zkl_asker_ref(&stake->asker);
}

void zkl_stake_unref(struct stake *stake) {
    zkl_asker_unref(&stake->asker);
}

void zkl_stakes_set(struct stakes *stakes, struct stake *one) {
    zkl_stake_ref(one);
    stakes->one = one;
    stakes->count = 1;
}

bool zkl_stakes_copy(struct stakes *to, const struct stakes *from) {
    struct stakes copy = *from;
    if (from->many) {
        copy.many = malloc(from->count * sizeof(struct stake *));
        if (!copy.many) return false;
        memcpy(copy.many, from->many, from->count * sizeof(struct stake *));
    }
    *to = copy;
    for (size_t i = 0; i < to->count; i++) zkl_stake_ref(zkl_stakes_at(to, i));
    return true;
}

void zkl_stakes_drop(struct stakes *stakes) {
    for (size_t i = 0; i < stakes->count; i++) zkl_stake_unref(zkl_stakes_at(stakes, i));
    free(stakes->many);
    *stakes = (struct stakes){0};
}

struct stake *zkl_stakes_at(const struct stakes *stakes, size_t i) {
    return stakes->many ? stakes->many[i] : stakes->one;
}

bool zkl_stakes_have(const struct stakes *stakes, const struct stake *stake) {
    for (size_t i = 0; i < stakes->count; i++)
        if (zkl_stakes_at(stakes, i) == stake) return true;
    return false;
}
