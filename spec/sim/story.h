/* story.h - tells a replayed run, one line a step. */
#ifndef STORY_H
#define STORY_H

#include <stdbool.h>

#include "world.h"

extern bool story_told;

__attribute__((format(printf, 1, 2))) void story_line(const char *format, ...);

#define tell(...) (story_told ? story_line(__VA_ARGS__) : (void)0)

/* Short names, such as "client 1", "node 3 (number 0000000002, of client 1)". */
const char *story_client(const struct client *client);
const char *story_owner(const struct client *client, int owner); /* empty for a single owner */
const char *story_node(int node);
const char *story_item(const struct item *item);
const char *story_error(int error);
const char *story_actions(zkl_actions actions);
const char *story_desire(const struct desire *desire);
const char *story_state(enum zkl_claim_state state);

#endif
