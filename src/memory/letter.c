/* letter.c - see letter.h. All that an answer points to is in one block, `content`. */
#include <stdlib.h>
#include <string.h>

#include "letter.h"

struct zkl_letter *zkl_letter_new(uint64_t id) {
    struct zkl_letter *letter = calloc(1, sizeof *letter);
    if (!letter) return NULL;
    zkl_list_init(&letter->place);
    letter->id = id;
    return letter;
}

struct zkl_letter *zkl_letter_of_event(enum zkl_node_event kind, const char *path) {
    struct zkl_letter *letter = zkl_letter_new(0);
    if (!letter) return NULL;
    letter->kind = kind;
    letter->path = strdup(path);
    if (letter->path) return letter;
    free(letter);
    return NULL;
}

void zkl_letter_free(struct zkl_letter *letter) {
    zkl_list_remove(&letter->place);
    free(letter->path);
    free(letter->content);
    free(letter);
}

/* --- the content of an answer --------------------------------------------------------------- */

/* Pointers into a block to its parts, aligned ones first. `text` is where the next text goes. */
struct block {
    struct zkl_stat *stat;
    struct zkl_result *results;
    const char **names;
    char *text;
};

static size_t count_text(const struct zkl_answer *answer, size_t operations) {
    size_t size = answer->data && answer->size > 0 ? (size_t)answer->size : 0;
    for (int i = 0; answer->names && i < answer->count; i++) size += strlen(answer->names[i]) + 1;
    for (size_t i = 0; answer->results && i < operations; i++)
        if (answer->results[i].created) size += strlen(answer->results[i].created) + 1;
    return size + 1;
}

static void *new_block(struct block *block, const struct zkl_answer *answer, size_t operations) {
    size_t results = answer->results ? operations * sizeof *block->results : 0;
    size_t names = answer->names ? (size_t)answer->count * sizeof *block->names : 0;
    char *start = malloc(sizeof *block->stat + results + names + count_text(answer, operations));
    if (!start) return NULL;
    block->stat = (struct zkl_stat *)(void *)start;
    block->results = (struct zkl_result *)(block->stat + 1);
    block->names = (const char **)(void *)((char *)block->results + results);
    block->text = (char *)block->names + names;
    return start;
}

static const char *copy_bytes(struct block *block, const char *bytes, size_t size) {
    char *copy = block->text;
    memcpy(copy, bytes, size);
    block->text += size;
    return copy;
}

static const char *copy_text(struct block *block, const char *text) {
    return copy_bytes(block, text, strlen(text) + 1);
}

static void copy_results(struct block *block, struct zkl_answer *answer, size_t operations,
                         size_t hidden) {
    const struct zkl_result *from = answer->results;
    for (size_t i = 0; i < operations; i++) {
        block->results[i] = from[i];
        if (from[i].created) block->results[i].created = copy_text(block, from[i].created + hidden);
    }
    answer->results = block->results;
}

static void copy_names(struct block *block, struct zkl_answer *answer) {
    for (int i = 0; i < answer->count; i++) block->names[i] = copy_text(block, answer->names[i]);
    answer->names = block->names;
}

static void copy_stat(struct block *block, struct zkl_answer *answer) {
    *block->stat = *answer->stat;
    answer->stat = block->stat;
}

void zkl_letter_fill(struct zkl_letter *letter, const struct zkl_answer *answer, size_t operations,
                     size_t hidden) {
    struct block block;
    struct zkl_answer *copy = &letter->answer;
    *copy = (struct zkl_answer){.error = ZKL_ERROR_MARSHALLING};
    letter->content = new_block(&block, answer, operations);
    if (!letter->content) return;
    *copy = *answer;
    if (copy->stat) copy_stat(&block, copy);
    if (copy->results) copy_results(&block, copy, operations, hidden);
    if (copy->names) copy_names(&block, copy);
    if (copy->data && copy->size > 0)
        copy->data = copy_bytes(&block, copy->data, (size_t)copy->size);
}
