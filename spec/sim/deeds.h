/*
 * deeds.h - what users do beside taking and giving back locks: guarded writes, questions,
 * watchers, a word to a holder, members.
 */
#ifndef DEEDS_H
#define DEEDS_H

#include "world.h"

bool deed_may_begin(const struct client *client);
/* Begins one of those that the setting has, or ends one. */
void deed_begin(struct client *client);

/* A stranger changes a node of the user's. */
bool deed_may_touch(void);
void deed_touch(void);

/* A guard's transaction is sent: which of the guards it is; 0: none. */
unsigned guard_sent(const struct client *client, const struct call *call);

/* What the session tells. False: it is of no deed. */
bool deed_hear_request(const struct client *client, uint64_t id);
void deed_hear_watcher(const struct client *client, uint64_t id);
void deed_hear_member(const struct client *client, uint64_t id);
void deed_hear_roster(const struct client *client, uint64_t id);

void deeds_end(struct client *client); /* those that are left: nobody watches any more */
/* Whether the client has deeds that are to be answered, or to be told of. */
bool deeds_are_open(const struct client *client);
void deed_drop(struct deed *deed);

#endif
