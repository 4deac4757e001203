/*
 * server.h - the servers of this process, by name. Each has a tree, its links, and a thread that
 * delivers answers and events in the tree's order.
 *
 * A mutex guards all servers, and some fields of links. It is locked after a client's mutex. A
 * session's news is told once, by the first thread that locks both (the server's thread, the
 * client's timer or a test).
 *
 * A server lives from its first link, or from a delay before that, to its last session's end. A
 * session closed while cut off outlives its link for its timeout. A forked child has no servers, as
 * it lacks their threads.
 */
#ifndef ZKL_SERVER_H
#define ZKL_SERVER_H

#include "../shell/link.h"
#include "letter.h"
#include "tree.h"

struct zkl_server {
    struct zkl_server *next;
    char *name;
    struct zkl_tree *tree;
    struct zkl_list links;
    zkl_time delay; /* for answers */
    pthread_cond_t wake;
    bool running; /* the thread runs, and will free the server */
    bool unlisted;
};

/* News of a connection, for its session. */
enum zkl_news { ZKL_NEWS_NONE, ZKL_NEWS_CONNECTED, ZKL_NEWS_SUSPENDED, ZKL_NEWS_EXPIRED };

struct zkl_link {
    /* Constant. */
    struct zkl_client *client;
    char *name, *chroot;
    zkl_time timeout;
    bool reopen;

    /* Guarded by the client's mutex. */
    bool wants_session;
    zkl_time open_at;
    int error; /* an errno value */

    /* Written under both mutexes, read under either. */
    bool cut;         /* by a test */
    bool connected;   /* as the client was told */
    uint64_t session; /* 0: none */

    /* Guarded by the servers' mutex. */
    struct zkl_server *server; /* NULL: not joined */
    struct zkl_list place;     /* in the server's links */
    bool expired;              /* the session expired, and the client does not know yet */
    struct zkl_list letters;   /* in the tree's order */
    zkl_time last_arrival;     /* when the last letter arrives */
};

void zkl_servers_lock(void);
void zkl_servers_unlock(void);

/* The servers' mutex is held in all of these. */

/* NULL: unknown name. */
struct zkl_server *zkl_server_find(const char *name);
/* NULL: no memory. */
struct zkl_server *zkl_server_find_or_make(const char *name);
void zkl_server_end_if_unneeded(struct zkl_server *server);

/* Joins the link's server, which is made if missing. 0, or an errno value. */
int zkl_server_join(struct zkl_link *link);
void zkl_server_leave(struct zkl_link *link);

/*
 * Call after each change of the tree. Posts the tree's events, and wakes the server's thread.
 * Without memory for an event the event's session expires.
 */
void zkl_server_post_events(struct zkl_server *server);
void zkl_server_post_answer(struct zkl_link *link, struct zkl_letter *letter);

/* NULL: none. */
struct zkl_link *zkl_server_link_with_news(const struct zkl_server *server);

/* link.c, with the client's mutex held, without the servers' */
void zkl_link_tell_news(struct zkl_link *link);             /* to the client */
void zkl_link_deliver(struct zkl_link *link, zkl_time now); /* tells news and due letters */

/* link.c, with the servers' mutex held */
enum zkl_news zkl_link_news(const struct zkl_link *link);
void zkl_link_drop_letters(struct zkl_link *link);

#endif
