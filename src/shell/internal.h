/*
 * internal.h - a client whose runtime is the threads of the process; for src/shell alone.
 *
 * A client's mutex guards all of it, with session and link. It is held while requests are handed to
 * the link, which only queues them, and never while a connection is opened or closed, which takes
 * long or joins threads that may want it. The client's threads, its timer and its link's, block
 * every signal.
 */
#ifndef ZKL_SHELL_INTERNAL_H
#define ZKL_SHELL_INTERNAL_H

#include <pthread.h>

#include "runtime.h"

struct threaded {
    struct zkl_client client;

    struct threaded *next, **link; /* list of all clients, guarded in process.c */

    pthread_mutex_t mutex; /* guards the client and all below */
    pthread_cond_t news;   /* an event came, or the session is closed */
    pthread_cond_t alarm;  /* the timer's next round is due earlier */

    bool announced; /* wake the waiters of `news` at the next unlock */
    int pipe[2];    /* -1 until a descriptor is wanted */
    bool watched;   /* every event fills the pipe */
    size_t polls;   /* calls of zkl_client_poll(), which also need the pipe */
    bool piped;
    int door; /* listening socket for the program; -1: none */
    char door_path[ZKL_SOCKET_PATH];
    zkl_board *board; /* NULL: none joined */
    uint64_t board_number;
    bool on_board;
    struct threaded *next_posted, **posted; /* list of the board, under its mutex */
    int bell;                               /* connection of the program; -1: none */
    bool rung;                              /* until zkl_client_heard() */
};

static inline struct threaded *zkl_threaded(const zkl_client *client) {
    return (struct threaded *)client; /* `client` is the first member */
}

/* thread.c */
/* To be called once, for zkl_process_is() here and in each child, which calls on_fork() first. */
int zkl_process_learn(void (*on_fork)(void));
int zkl_poll_timeout(zkl_time timeout);
void zkl_wait_until(struct threaded *self, pthread_cond_t *condition, zkl_time due);

/* inbox.c; the mutex is held */
void zkl_inbox_init(struct threaded *self);
void zkl_inbox_destroy(struct threaded *self);
void zkl_inbox_update(struct threaded *self); /* events came or went */

/* board.c; the mutex is held */
void zkl_board_update(struct threaded *self, bool has_events);
void zkl_board_leave(struct threaded *self);

/* bell.c; the mutex is held */
void zkl_bell_init(struct threaded *self);
void zkl_bell_ring(struct threaded *self);
void zkl_bell_destroy(struct threaded *self);

/* timer.c */
int zkl_timer_start(struct threaded *self);

/* process.c */
int zkl_process_enlist(struct threaded *self);
void zkl_process_delist(struct threaded *self);

#endif
