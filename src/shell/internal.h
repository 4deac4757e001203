/*
 * internal.h - what the files of src/shell share.
 *
 * One mutex a client guards everything of it, the session and the link included. It is held
 * while requests are handed to the link, which only queues them, and never while anything is
 * opened or closed: that takes long, or joins threads that may want it.
 *
 * Threads of a client: the timer (timer.c), and the link's. All of them block every signal.
 */
#ifndef ZKL_SHELL_INTERNAL_H
#define ZKL_SHELL_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "link.h"

struct zkl_client {
    /* Constant after creation. */
    pid_t process;
    const struct zkl_link_class *class;

    atomic_uint references; /* the caller's, the timer's, the link's, requests' and leases' */
    struct zkl_client *next, **place; /* all clients of the process; guarded in process.c */

    pthread_mutex_t mutex; /* guards all that follows */
    pthread_cond_t news;   /* the inbox is not empty, or the session is closed */
    pthread_cond_t alarm;  /* the timer has to look */

    zkl_session *session;
    struct zkl_link *link;
    zkl_time close_by;  /* when not to wait for anything any longer; ZKL_NEVER: it is open */
    zkl_time timer_due; /* when the timer looks next */

    bool announced; /* waiters for news are to be woken */
    int pipe[2];    /* -1 until somebody wants a descriptor */
    bool watched;   /* the host has it: it is to tell at any time */
    size_t polls;   /* zkl_client_poll() under way: it is to tell meanwhile */
    bool piped;     /* a byte is in the pipe */
    int door;       /* where the host is to connect; -1: nowhere */
    char door_path[ZKL_SOCKET_PATH];
    int bell;  /* the connection; -1: none */
    bool rung; /* a byte is in it, or its reader has not said that it came */
};

/* client.c; the mutex is held */
void zkl_client_settle(struct zkl_client *client); /* does what the session wants done */
/* The mutex is not held. */
void zkl_client_begin_close(struct zkl_client *client, zkl_time due);

/* thread.c */
void zkl_wait_until(struct zkl_client *client, pthread_cond_t *condition, zkl_time due);

/* inbox.c; the mutex is held */
void zkl_inbox_init(struct zkl_client *client);
void zkl_inbox_destroy(struct zkl_client *client);
void zkl_inbox_update(struct zkl_client *client); /* it is empty, or not any more */

/* bell.c; the mutex is held */
void zkl_bell_init(struct zkl_client *client);
void zkl_bell_ring(struct zkl_client *client);
void zkl_bell_destroy(struct zkl_client *client);

/* timer.c */
int zkl_timer_start(struct zkl_client *client);

/* process.c */
bool zkl_process_is(pid_t process);
int zkl_process_enlist(struct zkl_client *client);
void zkl_process_delist(struct zkl_client *client);

#endif
