/* data.h - the users' nodes, beside the lock paths. In an item, `node` is NODES + their number. */
#ifndef DATA_H
#define DATA_H

#include "world.h"

#define EACH_DATUM(datum) for (struct datum *datum = world.data; datum < world.data + DATA; datum++)

enum { WORD = 16 }; /* bytes of a word as text */

/* The first word that members write. All others write lower words. */
enum { MEMBERS_WORD = 1000 };

void data_begin(void);

int datum_at(const char *path); /* NOBODY: the path is of no user's node */
const char *datum_path(int datum);

/* The state at a view, the present state, and the commit that ended a state. */
const struct fact *fact_at(const struct datum *datum, zxid view);
const struct fact *fact_now(const struct datum *datum);
zxid fact_end(const struct datum *datum, const struct fact *fact);
struct zkl_stat fact_stat(const struct fact *fact);
const char *fact_text(const struct fact *fact, char text[WORD]);

/* The error that the operation would get. */
int datum_test(int datum, const struct zkl_op *op);
void datum_apply(int datum, const struct zkl_op *op, int session, zxid at);
void data_end_session(int session, zxid at);

/* True if a user's node came or went after `since`, up to `view`. */
bool data_came_or_went(zxid since, zxid view);

/* The next commit to a watched node after `from`, at most `otherwise`. */
zxid data_next(zxid from, zxid otherwise);
void data_tell(int server, zxid at);                     /* tells watching clients of a commit */
void data_set_watches(struct client *client, zxid view); /* the library sets its watches again */
/* Ends the server's watches with the connection; `everywhere`, also the library's. */
void data_unwatch(const struct client *client, bool everywhere);

#endif
