/*
 * client.h - a session with threads and a connection, for any language.
 *
 * How requests get to a server is its link's matter (link.h). Nothing here knows Lua.
 *
 * Threads. Every function may be called from any thread of the process that opened the client.
 * Its caller may hold no lock for which another thread may wait between zkl_client_enter() and
 * zkl_client_leave(). Nothing here calls back: what happened is put into the client's inbox, from
 * which zkl_client_next() takes it in the caller's own thread. The functions of session.h are
 * called between zkl_client_enter() and zkl_client_leave(), which do not block. Only
 * zkl_client_wait(), zkl_client_poll() and zkl_client_close() do, each for a bounded time.
 *
 * Fork. In a forked child a client is dead: only zkl_client_foreign() and zkl_client_drop() may
 * be called there; the latter does nothing.
 *
 * Ownership. A client counts the references to it. Requests, leases and watchers of its session
 * are dropped before the last reference: whoever has one of them has a reference, too.
 */
#ifndef ZKL_CLIENT_H
#define ZKL_CLIENT_H

#include "../session/session.h"
#include "now.h"

typedef struct zkl_client zkl_client;

struct zkl_link_class;

enum zkl_acl { ZKL_ACL_OPEN, ZKL_ACL_CREATOR, ZKL_ACL_READ };

struct zkl_options {
    const char *hosts;       /* host[:port],... without the chroot */
    const char *chroot;      /* "" for none, else an absolute path */
    zkl_time timeout;        /* session timeout asked for, at least ZKL_TIMEOUT_LEAST */
    double margin;           /* see clock.h */
    const char *auth_scheme; /* NULL: none */
    const char *auth;        /* credentials of that scheme */
    enum zkl_acl acl;        /* access rights of the nodes that it makes */
    bool containers;         /* make missing parents as containers, else persistent */
    bool reopen;             /* after an expiry open a new session */
    bool steps;              /* see session.h */
    const char *identity;    /* stored in every lock node */
    const char *recover;     /* NULL, or a folder: see src/zookeeper/recovery.c */
    zkl_time grace;          /* the wait before sessions of dead processes are ended */
};

/* Begins to connect; the options are copied. NULL with errno: out of memory, or of threads. */
zkl_client *zkl_client_new(const struct zkl_link_class *class, const struct zkl_options *options);
zkl_client *zkl_client_ref(zkl_client *client); /* one reference more */
void zkl_client_drop(zkl_client *client);

/* True in a process that did not open the client. */
bool zkl_client_foreign(const zkl_client *client);

/* The client's session, with its time set; the caller alone has it until zkl_client_leave(). */
zkl_session *zkl_client_enter(zkl_client *client);
void zkl_client_leave(zkl_client *client);

/* The shortest session timeout: a session that is granted less is not used. */
#define ZKL_TIMEOUT_LEAST (ZKL_SECOND / 10)

/* In what way a server did not answer. */
enum zkl_complaint {
    ZKL_COMPLAINT_NONE,
    ZKL_COMPLAINT_REFUSED, /* nobody listens there, or it cannot be reached */
    ZKL_COMPLAINT_HUNG_UP, /* it took the connection, and closed it */
    ZKL_COMPLAINT_SILENT   /* it took the connection, and said nothing */
};

/* Why there is no connection, and what became of `recover`. */
struct zkl_trouble {
    int error;       /* why no server can be tried: 0, an EAI_ code (negative) or an errno value */
    zkl_time denied; /* a session timeout that was granted and is too short; ZKL_NEVER: none */
    bool nameless;   /* a server granted the session id 0, which is no session's */
    enum zkl_complaint complaint; /* the last one about its servers */
    int unsaved;        /* why the session could not be saved: an errno value; 0: no failure */
    uint32_t recovered; /* sessions of dead processes that were ended */
};
struct zkl_trouble zkl_client_trouble(zkl_client *client);

/*
 * Releases everything, ends every wait with ZKL_CLOSED and closes the session
 * in the background; waits for that at most `bound`. True: it is closed.
 */
bool zkl_client_close(zkl_client *client, zkl_time bound);

/* The same without waiting: for finalizers, and for programs that may not block. */
void zkl_client_close_soon(zkl_client *client, zkl_time bound);
bool zkl_client_ended(zkl_client *client); /* it is closed, no longer closing */

/*
 * From now on the signal first closes all clients of this process, within a second, and then has
 * its usual effect. A handler that the program installs for it later replaces this. In a forked
 * child the signal has its usual effect at once. 0, or an errno value.
 */
int zkl_process_close_on(int signal);

/* --- the inbox ------------------------------------------------------------------------ */

/*
 * Takes the next event out of the inbox; false when it is empty. `more`: other events are left in
 * it. The caller gives an event's step to zkl_step_free().
 */
bool zkl_client_next(zkl_client *client, struct zkl_event *event, bool *more);

/* Waits until the inbox is not empty. False: `timeout` passed first. */
bool zkl_client_wait(zkl_client *client, zkl_time timeout);

/* The same for the inboxes of several clients; a signal ends it early. */
bool zkl_client_poll(zkl_client *const *clients, size_t count, zkl_time timeout);

/*
 * A board is for a program with many clients. While the inbox of a client that joined it is not
 * empty, the client's number is on it. In a forked child it is dead, as a client is.
 */
typedef struct zkl_board zkl_board;

zkl_board *zkl_board_new(void); /* NULL: no memory */
void zkl_board_drop(zkl_board *board);
bool zkl_board_foreign(const zkl_board *board);
void zkl_board_join(zkl_board *board, zkl_client *client, uint64_t number);
void zkl_client_leave_board(zkl_client *client);
size_t zkl_board_read(zkl_board *board, uint64_t *numbers, size_t most); /* how many */
/* Waits until there is a number on it; a signal ends the wait early. */
void zkl_board_wait(zkl_board *board, zkl_time timeout);

/* A descriptor that is readable while the inbox is not empty. -1: errno. */
int zkl_client_fd(zkl_client *client);

/*
 * The same for a program that can wait only for sockets which it connected itself (nginx).
 * zkl_client_listen() gives the path of a unix socket to connect to, in a folder of its own in
 * $TMPDIR, else in /tmp: 0, or an errno value. zkl_client_accept() takes the connection, if this
 * process made it, and removes socket and folder; false: there is none. From then on a byte comes
 * when the inbox is no longer empty, and no other one until zkl_client_heard() says that it was
 * read: the program calls that before it empties the inbox.
 */
#define ZKL_SOCKET_PATH 108 /* bytes, with the final NUL */
int zkl_client_listen(zkl_client *client, char path[ZKL_SOCKET_PATH]);
bool zkl_client_accept(zkl_client *client);
void zkl_client_heard(zkl_client *client);
void zkl_client_poke(zkl_client *client); /* a byte comes, whatever is in the inbox */

/* Adds what all clients of the process have counted, with those that have ended. */
void zkl_process_totals(struct zkl_totals *totals);

#endif
