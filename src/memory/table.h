/*
 * table.h - hash tables with entries inside the structs, which the user owns and compares.
 * Insertion never fails; a table that cannot grow becomes slow.
 *
 *     for (e = zkl_table_first(table, hash); e; e = zkl_table_next(e)) ...
 */
#ifndef ZKL_TABLE_H
#define ZKL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../core/hash.h"

struct zkl_entry {
    struct zkl_entry *next; /* same bucket */
    uint32_t hash;
};

struct zkl_table {
    struct zkl_entry **buckets;
    size_t size; /* buckets, a power of two */
    size_t count;
};

/* False: no memory. */
bool zkl_table_init(struct zkl_table *table);

void zkl_table_destroy(struct zkl_table *table);

/* For texts use zkl_hash(). */
uint32_t zkl_hash_number(uint64_t number);

struct zkl_entry *zkl_table_first(const struct zkl_table *table, uint32_t hash);
struct zkl_entry *zkl_table_next(const struct zkl_entry *entry);

void zkl_table_insert(struct zkl_table *table, struct zkl_entry *entry, uint32_t hash);
void zkl_table_remove(struct zkl_table *table, struct zkl_entry *entry);

#endif
