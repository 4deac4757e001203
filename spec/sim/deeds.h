/*
 * deeds.h - users' deeds besides locks, such as guarded writes, questions, watchers, revocations
 * and members.
 */
#ifndef DEEDS_H
#define DEEDS_H

#include "world.h"

bool deed_may_move(const struct client *client);
/* Begins a deed that the setting allows, or ends one. */
void deed_move(struct client *client);

/* A stranger changes a user's node. */
bool deed_may_touch(void);
void deed_touch(void);

/* Notes a sent guard, and returns its number; 0: not a guard. */
unsigned guard_sent(const struct client *client, const struct call *call);

/* Takes a request's result. False: the request is no deed's. */
bool deed_hear_request(const struct client *client, uint64_t id);
void deed_hear_watcher(const struct client *client, uint64_t id);
void deed_hear_member(const struct client *client, uint64_t id);
void deed_hear_roster(const struct client *client, uint64_t id);

void deeds_end(struct client *client);
bool deeds_are_open(const struct client *client);
void deed_drop(struct deed *deed);

#endif
