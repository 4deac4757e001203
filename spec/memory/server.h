/*
 * server.h - sessions at a real ZooKeeper, asked like the tree of src/memory. For one thread. Calls
 * wait for answers, and end the program if none comes.
 */
#ifndef SERVER_H
#define SERVER_H

#include "rpc.h"

struct server_session;

struct server_session *server_open(const char *hosts);
void server_close(struct server_session *session);
uint64_t server_session_id(const struct server_session *session);

/* Asks, and waits. The answer lives until the session's next call. */
void server_ask(struct server_session *session, const struct zkl_rpc *rpc,
                struct zkl_answer *answer);

/* Waits for the events of all earlier answers. */
void server_catch_up(struct server_session *session);

struct server_event {
    enum zkl_node_event kind;
    char path[128];
};

/* The number of events since the last server_take_events(). */
size_t server_event_count(struct server_session *session);
/* Takes these events, which live until the next call. */
const struct server_event *server_take_events(struct server_session *session);

#endif
