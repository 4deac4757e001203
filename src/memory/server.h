/*
 * server.h - the servers of this process, by name: a tree each, the links to it, and a thread
 * that brings answers and events to their clients, in the order of the tree.
 *
 * One mutex guards all servers, and the fields of a link that are said to be under it. It is taken
 * last: a thread that holds it takes no client's mutex, and one that holds a client's may take it.
 * News for a session are taken from the link with both held, so they are told once, by the thread
 * that comes first: the server's thread, the client's timer, or a tester's call.
 *
 * A server begins with the first link that joins it, or with a delay that is set before, and goes
 * with its last session. A session whose client closed it while it was cut off outlives the link
 * for its timeout. A forked child has no servers: their threads are not there.
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
    zkl_time delay;      /* of each answer */
    pthread_cond_t bell; /* the thread has something to do */
    bool running;        /* its thread runs, and frees it */
    bool over;           /* it is no longer listed */
};

/* What a session is to be told of its connection. */
enum zkl_news { ZKL_NEWS_NONE, ZKL_NEWS_CONNECTED, ZKL_NEWS_SUSPENDED, ZKL_NEWS_EXPIRED };

struct zkl_link {
    /* Constant after creation. */
    struct zkl_client *client;
    char *name, *chroot;
    zkl_time timeout;
    bool reopen;

    /* The client's mutex guards these. */
    bool opening;     /* a session is wanted */
    zkl_time open_at; /* when to try to open one */
    int error;        /* why none could be opened: an errno value */

    /* To change these takes both mutexes, to read them one. */
    bool cut;         /* by the tester */
    bool connected;   /* the client was told so */
    uint64_t session; /* 0: none */

    /* The servers' mutex guards these. */
    struct zkl_server *server; /* NULL: it has not joined, or has left */
    struct zkl_list place;     /* in the server's links */
    bool expired;              /* the session expired; the client was not told yet */
    struct zkl_list letters;   /* to the client, in the order of the tree */
    zkl_time arrival;          /* of the last letter */
};

void zkl_servers_lock(void);
void zkl_servers_unlock(void);

/* The servers' mutex is held in all that follows. */

/* NULL: there is none of that name. */
struct zkl_server *zkl_server_find(const char *name);
/* The same, made if need be. NULL: out of memory. */
struct zkl_server *zkl_server_need(const char *name);
/* Ends the server, if nothing needs it. */
void zkl_server_tidy(struct zkl_server *server);

/* Adds the link to its server, which is made if need be. 0, or an errno value. */
int zkl_server_join(struct zkl_link *link);
/* Removes the link from its server; letters on their way to it are lost. */
void zkl_server_leave(struct zkl_link *link);

/*
 * To be called after each change of the tree: sends its events on their way, and wakes the thread.
 * A session for whose event there is no memory ends.
 */
void zkl_server_post_events(struct zkl_server *server);
void zkl_server_post_answer(struct zkl_link *link, struct zkl_letter *letter);

/* A link that has news for its client; NULL: none. */
struct zkl_link *zkl_server_link_with_news(const struct zkl_server *server);

/* link.c; the client's mutex is held, the servers' is not */
void zkl_link_tell(struct zkl_link *link);                  /* its news */
void zkl_link_deliver(struct zkl_link *link, zkl_time now); /* its news, and letters that are due */

/* link.c; the servers' mutex is held */
enum zkl_news zkl_link_news(const struct zkl_link *link);
void zkl_link_drop_letters(struct zkl_link *link);

#endif
