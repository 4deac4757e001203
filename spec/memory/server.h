/*
 * server.h - sessions with a real ZooKeeper, asked in the same form as the tree of src/memory.
 *
 * The functions are the caller's one thread's; they wait for answers, and end the program when
 * none comes.
 */
#ifndef SERVER_H
#define SERVER_H

#include "rpc.h"

struct server_session;

struct server_session *server_open(const char *hosts);
void server_close(struct server_session *session);
uint64_t server_session_id(const struct server_session *session);

/* The answer is the session's, until its next call. */
void server_ask(struct server_session *session, const struct zkl_rpc *rpc,
                struct zkl_answer *answer);

/* All events of what the server has answered to anybody by now have come. */
void server_catch_up(struct server_session *session);

struct server_event {
    enum zkl_node_event kind;
    char path[128];
};

/* How many have come since they were taken last; taking gives them, until the next call. */
size_t server_events(struct server_session *session);
const struct server_event *server_take_events(struct server_session *session);

#endif
