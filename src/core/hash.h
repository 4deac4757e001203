/* hash.h - FNV-1a, for hash tables. http://www.isthe.com/chongo/tech/comp/fnv/ */
#ifndef ZKL_HASH_H
#define ZKL_HASH_H

#include <stddef.h>
#include <stdint.h>

static inline uint32_t zkl_hash(const char *text, size_t length) {
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)text[i]) * 16777619u;
    return hash;
}

#endif
