/*
 * client.h - a session with threads and a connection, for any host language.
 *
 * zkl_session *session = zkl_client_enter(client);              locks the client
 * zkl_request *request = zkl_acquire(session, &options);        functions of session.h
 * zkl_client_leave(client);                                     sends, and unlocks
 * if (zkl_client_wait(client, timeout)) zkl_client_next(client, &event, &more);
 *
 * A client counts its references. Each request, lease and watcher holds one.
 *
 * Threads. Any thread of the process that opened the client may call, without holding a lock that
 * another thread awaits between zkl_client_enter() and zkl_client_leave(). Nothing calls back;
 * events wait in the inbox. Only zkl_client_wait(), zkl_client_poll() and zkl_client_close() block,
 * for a bounded time.
 *
 * Fork. A forked child may only call zkl_client_foreign(), and zkl_client_drop(), which does
 * nothing there.
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
    const char *auth;        /* its credentials */
    enum zkl_acl acl;        /* for the nodes it makes */
    bool containers;         /* missing parents become containers, else persistent nodes */
    bool reopen;             /* open a new session after an expiry */
    bool steps;              /* see session.h */
    const char *identity;    /* stored in every lock node */
    const char *recover;     /* folder of recovery.c; NULL: none */
    zkl_time grace;          /* before sessions of dead processes are ended */
};

/* Begins to connect, with a copy of the options. NULL with errno, for lack of memory or threads. */
zkl_client *zkl_client_new(const struct zkl_link_class *class, const struct zkl_options *options);
zkl_client *zkl_client_ref(zkl_client *client);
void zkl_client_drop(zkl_client *client);

/* True in a process that did not open the client. */
bool zkl_client_foreign(const zkl_client *client);

/* Locks the client, sets its session's time, and returns the session. */
zkl_session *zkl_client_enter(zkl_client *client);
void zkl_client_leave(zkl_client *client);

/* The shortest usable session timeout. */
#define ZKL_TIMEOUT_LEAST (ZKL_SECOND / 10)

/* How a server failed to answer. */
enum zkl_complaint {
    ZKL_COMPLAINT_NONE,
    ZKL_COMPLAINT_REFUSED, /* no listener, or unreachable */
    ZKL_COMPLAINT_HUNG_UP, /* closed the connection */
    ZKL_COMPLAINT_SILENT   /* said nothing */
};

/* The reason for a missing connection, and results of `recover`. */
struct zkl_trouble {
    int error;       /* EAI_ code (negative) or errno value that prevents any attempt; 0: none */
    zkl_time denied; /* granted timeout, if too short; ZKL_NEVER: none */
    bool nameless;   /* a server granted the invalid id 0 */
    enum zkl_complaint complaint; /* about the servers */
    int unsaved;                  /* errno value that prevented saving the session; 0: none */
    uint32_t recovered;           /* sessions of dead processes ended */
};
struct zkl_trouble zkl_client_trouble(zkl_client *client);

/*
 * Releases everything, ends every wait with ZKL_CLOSED, and closes the session in the background.
 * Waits for that up to `bound`. True: closed.
 */
bool zkl_client_close(zkl_client *client, zkl_time bound);

/* The same without a wait, for finalizers. */
void zkl_client_close_soon(zkl_client *client, zkl_time bound);
bool zkl_client_ended(zkl_client *client);

/*
 * Makes the signal close all clients of this process, within a second, before its usual effect; a
 * forked child does not delay it. A later handler of the program replaces this. 0, or an errno
 * value.
 */
int zkl_process_close_on(int signal);

/* --- the inbox ------------------------------------------------------------------------ */

/*
 * Takes the next event. False if there is none. `more`: further events wait. The caller frees an
 * event's step with zkl_step_free().
 */
bool zkl_client_next(zkl_client *client, struct zkl_event *event, bool *more);

/* Waits until the inbox is not empty. False: `timeout` passed first. */
bool zkl_client_wait(zkl_client *client, zkl_time timeout);

/* The same for several clients. A signal ends the wait early. */
bool zkl_client_poll(zkl_client *const *clients, size_t count, zkl_time timeout);

/*
 * Numbers of clients with events, for a program with many clients, which owns the board. Dead in a
 * forked child.
 */
typedef struct zkl_board zkl_board;

zkl_board *zkl_board_new(void); /* NULL: no memory */
void zkl_board_drop(zkl_board *board);
bool zkl_board_foreign(const zkl_board *board);
void zkl_board_join(zkl_board *board, zkl_client *client, uint64_t number);
void zkl_client_leave_board(zkl_client *client);
size_t zkl_board_read(zkl_board *board, uint64_t *numbers, size_t most);
/* Waits for a number, or a signal. */
void zkl_board_wait(zkl_board *board, zkl_time timeout);

/* A descriptor that is readable while the inbox is not empty. -1: errno. */
int zkl_client_fd(zkl_client *client);

/*
 * The same for nginx, which can wait only for sockets that it connected itself. zkl_client_listen()
 * gives the path of a Unix socket, in a new folder in $TMPDIR or /tmp; 0, or an errno value.
 * zkl_client_accept() takes this process's connection, if any, and removes socket and folder. Then
 * a byte comes with news, and no second one until zkl_client_heard(), to be called between reading
 * it and emptying the inbox.
 */
#define ZKL_SOCKET_PATH 108 /* bytes, final NUL included */
int zkl_client_listen(zkl_client *client, char path[ZKL_SOCKET_PATH]);
bool zkl_client_accept(zkl_client *client);
void zkl_client_heard(zkl_client *client);
void zkl_client_poke(zkl_client *client); /* sends a byte in any case */

/* Adds the counts of all clients of the process, including ended ones. */
void zkl_process_totals(struct zkl_totals *totals);

#endif
