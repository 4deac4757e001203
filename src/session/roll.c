#include <stdlib.h>
#include <string.h>

#include "roll.h"

static bool is_listed(const struct seen *seen, const struct zkl_listed *listed) {
    bool hidden = seen->node == SEEN_HIDDEN;
    if (strcmp(seen->name, listed->name) != 0 || hidden != !listed->data) return false;
    if (hidden) return true;
    bool same = seen->session == listed->session && seen->created == listed->created;
    return same && seen->size == listed->size && memcmp(seen->data, listed->data, seen->size) == 0;
}

bool zkl_roll_shows(const struct zkl_roll *roll, const struct zkl_roster *roster) {
    size_t i = 0;
    if (roll->code != roster->code) return false;
    if (roll->code != ZKL_OK) return roll->detail == zkl_error_words(roster->error);
    if (roll->count != roster->count) return false;
    while (i < roll->count && is_listed(&roster->seen[i], &roll->members[i])) i++;
    return i == roll->count;
}

static char *add(char *at, const char *from, size_t size) {
    memcpy(at, from, size);
    at[size] = '\0';
    return at + size + 1;
}

struct zkl_roll *zkl_roll_new(const struct zkl_roster *roster) {
    size_t count = roster->code == ZKL_OK ? roster->count : 0;
    size_t size = sizeof(struct zkl_roll) + count * sizeof(struct zkl_listed);
    for (size_t i = 0; i < count; i++)
        size += strlen(roster->seen[i].name) + roster->seen[i].size + 2;
    struct zkl_roll *roll = malloc(size);
    if (!roll) return NULL;
    *roll = (struct zkl_roll){size, roster->code, zkl_error_words(roster->error), count};
    char *at = (char *)&roll->members[count];
    for (size_t i = 0; i < count; i++) {
        const struct seen *seen = &roster->seen[i];
        struct zkl_listed *listed = &roll->members[i];
        *listed = (struct zkl_listed){.name = at};
        at = add(at, seen->name, strlen(seen->name));
        if (seen->node == SEEN_HIDDEN) continue;
        listed->data = at;
        listed->size = seen->size;
        listed->session = seen->session;
        listed->created = seen->created;
        at = add(at, seen->data, seen->size);
    }
    return roll;
}

static const char *moved(const char *text, const struct zkl_roll *from, struct zkl_roll *to) {
    return text ? (char *)to + (text - (const char *)from) : NULL;
}

struct zkl_roll *zkl_roll_copy(const struct zkl_roll *roll) {
    struct zkl_roll *copied = malloc(roll->size);
    if (!copied) return NULL;
    memcpy(copied, roll, roll->size);
    for (size_t i = 0; i < roll->count; i++) {
        struct zkl_listed *listed = &copied->members[i];
        listed->name = moved(listed->name, roll, copied);
        listed->data = moved(listed->data, roll, copied);
    }
    return copied;
}
