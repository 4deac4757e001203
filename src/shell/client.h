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
 * Threads. Any thread of the process that opened the client may call, unless it holds a lock for
 * which another thread waits between zkl_client_enter() and zkl_client_leave(). Nothing calls back;
 * events wait in the inbox. Only zkl_client_close() and functions named wait block, for a bounded
 * time.
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
    const char *auth;
    enum zkl_acl acl;     /* on each node that the client creates */
    bool containers;      /* missing parents become containers, else persistent nodes */
    bool reopen;          /* open a new session after an expiry */
    bool steps;           /* see session.h */
    const char *identity; /* stored in every lock node */
    const char *recover;  /* folder of recovery.c; NULL: none */
    zkl_time grace;       /* from finding dead processes' sessions to ending them */
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

#define ZKL_TIMEOUT_LEAST (ZKL_SECOND / 10)

enum zkl_complaint {
    ZKL_COMPLAINT_NONE,
    ZKL_COMPLAINT_REFUSED, /* no listener, or unreachable */
    ZKL_COMPLAINT_HUNG_UP,
    ZKL_COMPLAINT_SILENT
};

/* The reason for a missing connection, and results of `recover`. */
struct zkl_trouble {
    int error; /* EAI_ code (negative) or errno value that prevents any attempt; 0: none */
    zkl_time short_timeout; /* granted by a server, below ZKL_TIMEOUT_LEAST; ZKL_NEVER: none */
    bool id_zero;           /* a server granted the invalid session id 0 */
    enum zkl_complaint complaint; /* about the servers */
    int save_error;               /* errno value that prevented saving the session; 0: none */
    uint32_t recovered;           /* number of ended sessions of dead processes */
};
struct zkl_trouble zkl_client_trouble(zkl_client *client);

/*
 * Releases everything, ends every wait with ZKL_CLOSED, and closes the session in the background.
 * Waits up to `bound` until the session is closed. False: the session is not closed yet.
 */
bool zkl_client_close(zkl_client *client, zkl_time bound);

/* Closes within `bound` in the background, and returns at once, for finalizers. */
void zkl_client_close_soon(zkl_client *client, zkl_time bound);
bool zkl_client_has_closed(zkl_client *client);

/*
 * Makes the signal close all clients of this process, within a second, before its usual effect. In
 * a forked child the signal takes effect at once. A handler that the program installs later
 * replaces this one. 0, or an errno value.
 */
int zkl_process_close_on(int signal);

/*
 * Opens /dev/null for closed standard descriptors. Else a connection gets one of their numbers, and
 * what the program prints goes there. Writing to a closed output stays an error. Each new client
 * does so first.
 */
void zkl_process_open_standard(void);

/* At its exit this process dies of the signal, and with `of_group` its group gets it, too. */
void zkl_process_die_at_exit(int signal, bool of_group);

/* --- the inbox ------------------------------------------------------------------------ */

/*
 * Takes the next event. False if there is none. `more`: further events are in the inbox. The caller
 * frees an event's step with zkl_step_free().
 */
bool zkl_client_next(zkl_client *client, struct zkl_event *event, bool *more);

/* Waits until the inbox is not empty. False: `timeout` passed first. */
bool zkl_client_wait(zkl_client *client, zkl_time timeout);

/*
 * A board lists the clients that have events, by numbers, for a program with many clients. The
 * program owns the board. A forked child may only call zkl_board_foreign() and zkl_board_drop().
 */
typedef struct zkl_board zkl_board;

zkl_board *zkl_board_new(void); /* NULL: no memory */
void zkl_board_drop(zkl_board *board);
bool zkl_board_foreign(const zkl_board *board);
void zkl_board_join(zkl_board *board, zkl_client *client, uint64_t number);
void zkl_client_leave_board(zkl_client *client);
/* Copies up to `size` numbers and returns how many. A client with events stays on the board. */
size_t zkl_board_read(zkl_board *board, uint64_t *numbers, size_t size);
/* Waits until the board lists a client, or a signal comes. */
void zkl_board_wait(zkl_board *board, zkl_time timeout);

/* A descriptor that is readable while the inbox is not empty. -1: errno. */
int zkl_client_fd(zkl_client *client);

/*
 * A substitute for nginx, which can wait only for sockets that it connected itself.
 * zkl_client_listen() gives the path of a Unix socket, in a new folder in $TMPDIR or /tmp; 0, or an
 * errno value. zkl_client_accept() takes this process's connection, if any, and removes socket and
 * folder. From then on a new event sends a byte, unless an earlier byte still waits for
 * zkl_client_heard(). Call zkl_client_heard() after reading the byte, before emptying the inbox.
 */
#define ZKL_SOCKET_PATH 108 /* bytes, final NUL included */
int zkl_client_listen(zkl_client *client, char path[ZKL_SOCKET_PATH]);
bool zkl_client_accept(zkl_client *client);
void zkl_client_heard(zkl_client *client);
void zkl_client_poke(zkl_client *client); /* sends the byte without an event */

/* Adds the counts of all clients of the process, including ended ones. */
void zkl_process_totals(struct zkl_totals *totals);

#endif
