/*
 * internal.h - a client whose runtime is the threads of the process; for src/shell alone.
 *
 * A client's mutex guards the client, its session and its link. The mutex is held while requests
 * are handed to the link, which only queues them. It is not held while a connection is opened or
 * closed, which takes long or joins threads that may wait for the mutex. The threads of a client's
 * timer and link block every signal.
 */
#ifndef ZKL_SHELL_INTERNAL_H
#define ZKL_SHELL_INTERNAL_H

#include <pthread.h>

#include "runtime.h"

struct threaded {
    struct zkl_client client;

    struct threaded *next, **slot; /* list of all clients, guarded in process.c */

    pthread_mutex_t mutex; /* guards the client and all below */
    pthread_cond_t news;   /* an event came, or the session is closed */
    pthread_cond_t alarm;  /* the timer's next round is due earlier */

    bool broadcast_news; /* at the next unlock */
    int pipe[2];         /* -1 until zkl_client_fd(); from then on each event fills the pipe */
    bool pipe_full;      /* the pipe holds its one byte */
    int listener;        /* for the program's connection; -1: none */
    char socket_path[ZKL_SOCKET_PATH];
    zkl_board *board; /* NULL: none joined */
    uint64_t board_number;
    bool on_board;
    struct threaded *next_posted, **posted_slot; /* list of the board, under its mutex */
    int bell;                                    /* connection of the program; -1: none */
    bool rung; /* a byte was sent, and zkl_client_heard() not called since */
};

static inline struct threaded *zkl_threaded(const zkl_client *client) {
    return (struct threaded *)client; /* `client` is the first member */
}

/* thread.c */
/*
 * A number that this process shares with no ancestor; an ended ancestor's id may be its own again.
 * 0: no memory. From the first call on each fork counts.
 */
unsigned zkl_process_number(void);
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
