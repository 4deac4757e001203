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

void zkl_parts_set_one(struct parts *parts, struct stake *one) {
    zkl_stake_ref(one);
    parts->one = one;
    parts->count = 1;
}

bool zkl_parts_copy(struct parts *to, const struct parts *from) {
    struct parts copy = *from;
    if (from->many) {
        copy.many = malloc(from->count * sizeof(struct stake *));
        if (!copy.many) return false;
        memcpy(copy.many, from->many, from->count * sizeof(struct stake *));
    }
    *to = copy;
    for (size_t i = 0; i < to->count; i++) zkl_stake_ref(zkl_parts_at(to, i));
    return true;
}

void zkl_parts_drop(struct parts *parts) {
    for (size_t i = 0; i < parts->count; i++) zkl_stake_unref(zkl_parts_at(parts, i));
    free(parts->many);
    *parts = (struct parts){0};
}

struct stake *zkl_parts_at(const struct parts *parts, size_t i) {
    return parts->many ? parts->many[i] : parts->one;
}

bool zkl_parts_include(const struct parts *parts, const struct stake *stake) {
    for (size_t i = 0; i < parts->count; i++)
        if (zkl_parts_at(parts, i) == stake) return true;
    return false;
}
