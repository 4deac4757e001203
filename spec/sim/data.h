/*
 * data.h - nodes of users, beside the lock paths.
 *
 * An item's `node` of NODES and more is one of them.
 */
#ifndef DATA_H
#define DATA_H

#include "world.h"

#define EACH_DATUM(datum) for (struct datum *datum = world.data; datum < world.data + DATA; datum++)

enum { WORD = 16 }; /* bytes that a word takes as text */

/* The first word of members. Others write lower ones. */
enum { MEMBERS_WORD = 1000 };

void data_begin(void);

int datum_at(const char *path); /* NOBODY: it is of no such node */
const char *datum_path(int datum);

/* How it was in that view, how it is, and until when it was so. */
const struct fact *fact_at(const struct datum *datum, zxid view);
const struct fact *fact_now(const struct datum *datum);
zxid fact_end(const struct datum *datum, const struct fact *fact);
struct zkl_stat fact_stat(const struct fact *fact);
const char *fact_text(const struct fact *fact, char text[WORD]);

/* An operation would be carried out, or why not; and it is. */
int datum_test(int datum, const struct zkl_op *op);
void datum_apply(int datum, const struct zkl_op *op, int session, zxid at);
void data_end_session(int session, zxid at); /* its nodes go */

/* A node came or went after the one commit, and up to the other. */
bool data_came_or_went(zxid since, zxid view);

/* A server that comes to see a commit tells the clients that watch. */
zxid data_next(zxid from, zxid otherwise);
void data_tell(int server, zxid at);
void data_set_watches(struct client *client, zxid view); /* after a reconnect */
/* The server's, which go with the connection; `everywhere`: the library's, too. */
void data_unwatch(const struct client *client, bool everywhere);

#endif
