/* table.c - hash tables with chains. */
#include <stdlib.h>

#include "table.h"

#define FIRST_SIZE 64

bool zkl_table_init(struct zkl_table *table) {
    struct zkl_entry **buckets = calloc(FIRST_SIZE, sizeof(struct zkl_entry *));
    *table = (struct zkl_table){.buckets = buckets, .size = buckets ? FIRST_SIZE : 0};
    return buckets != NULL;
}

void zkl_table_destroy(struct zkl_table *table) {
    free(table->buckets);
    *table = (struct zkl_table){0};
}

uint32_t zkl_hash_number(uint64_t number) {
    return (uint32_t)(number * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

static struct zkl_entry **bucket(const struct zkl_table *table, uint32_t hash) {
    return &table->buckets[hash & (table->size - 1)];
}

static struct zkl_entry *find_hash(struct zkl_entry *entry, uint32_t hash) {
    while (entry && entry->hash != hash) entry = entry->next;
    return entry;
}

struct zkl_entry *zkl_table_first(const struct zkl_table *table, uint32_t hash) {
    return find_hash(*bucket(table, hash), hash);
}

struct zkl_entry *zkl_table_next(const struct zkl_entry *entry) {
    return find_hash(entry->next, entry->hash);
}

static void push(struct zkl_table *table, struct zkl_entry *entry) {
    struct zkl_entry **first = bucket(table, entry->hash);
    entry->next = *first;
    *first = entry;
}

static void grow(struct zkl_table *table) {
    struct zkl_table grown = {.size = 2 * table->size, .count = table->count};
    grown.buckets = calloc(grown.size, sizeof(struct zkl_entry *));
    if (!grown.buckets) return;
    for (size_t i = 0; i < table->size; i++) {
        for (struct zkl_entry *entry = table->buckets[i], *next; entry; entry = next) {
            next = entry->next;
            push(&grown, entry);
        }
    }
    free(table->buckets);
    *table = grown;
}

void zkl_table_insert(struct zkl_table *table, struct zkl_entry *entry, uint32_t hash) {
    entry->hash = hash;
    if (table->count >= table->size) grow(table);
    table->count++;
    push(table, entry);
}

void zkl_table_remove(struct zkl_table *table, struct zkl_entry *entry) {
    struct zkl_entry **link = bucket(table, entry->hash);
    while (*link != entry) link = &(*link)->next;
    *link = entry->next;
    table->count--;
}
