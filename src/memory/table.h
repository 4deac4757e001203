/*
 * table.h - hash tables; the entries are members of what is in them.
 *
 * The user compares the keys: zkl_table_first() and zkl_table_next() give the entries of one hash.
 * To insert and to remove needs no memory that could be missing: a table that cannot grow becomes
 * slow.
 */
#ifndef ZKL_TABLE_H
#define ZKL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../core/hash.h"

struct zkl_entry {
    struct zkl_entry *next; /* in the same bucket */
    uint32_t hash;
};

struct zkl_table {
    struct zkl_entry **buckets;
    size_t size; /* how many buckets, a power of two */
    size_t count;
};

/* False: out of memory. */
bool zkl_table_init(struct zkl_table *table);

/* Frees the table, but no entry: these are the user's. */
void zkl_table_clear(struct zkl_table *table);

/* The hash of a number; that of a text is zkl_hash(). */
uint32_t zkl_hash_number(uint64_t number);

/* An entry of this hash, and the one after it; NULL: none. */
struct zkl_entry *zkl_table_first(const struct zkl_table *table, uint32_t hash);
struct zkl_entry *zkl_table_next(const struct zkl_entry *entry);

void zkl_table_insert(struct zkl_table *table, struct zkl_entry *entry, uint32_t hash);
void zkl_table_remove(struct zkl_table *table, struct zkl_entry *entry);

#endif
