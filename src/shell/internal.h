/*
 * internal.h - what the files of src/shell share: a client whose runtime is the threads
 * of the process.
 *
 * One mutex a client guards all of it, its session and its link included. It is held
 * while requests are handed to the link, which only queues them, and never while anything is
 * opened or closed: that takes long, or joins threads that may want it.
 *
 * Threads of a client: the timer (timer.c), and the link's. All of them block every signal.
 */
#ifndef ZKL_SHELL_INTERNAL_H
#define ZKL_SHELL_INTERNAL_H

#include <pthread.h>

#include "runtime.h"

struct threaded {
    struct zkl_client client;

    struct threaded *next, **link; /* all clients of the process; guarded in process.c */

    pthread_mutex_t mutex; /* guards all that follows, and the client */
    pthread_cond_t news;   /* the inbox is not empty, or the session is closed */
    pthread_cond_t alarm;  /* the timer's next round is due earlier */

    bool announced; /* threads that wait for `news` are to be woken */
    int pipe[2];    /* -1 until somebody wants a descriptor */
    bool watched;   /* the program has its descriptor: it tells at any time */
    size_t polls;   /* calls of zkl_client_poll(): it tells meanwhile */
    bool piped;     /* a byte is in the pipe */
    int door;       /* the socket that the program connects to; -1: none */
    char door_path[ZKL_SOCKET_PATH];
    zkl_board *board; /* NULL: it joined none */
    uint64_t board_number;
    bool on_board;
    struct threaded *next_posted, **posted; /* on the board, whose mutex guards them */
    int bell;                               /* the program's connection; -1: none */
    bool rung; /* a byte was sent, and zkl_client_heard() not called since */
};

static inline struct threaded *zkl_threaded(const zkl_client *client) {
    return (struct threaded *)client; /* its first member */
}

/* thread.c */
int zkl_process_learn(void (*on_fork)(void)); /* once: zkl_process_is() knows this process, and each
                                                 child, which calls on_fork() first. 0: done */
int zkl_poll_timeout(zkl_time timeout);       /* milliseconds for poll(); -1: for ever */
void zkl_wait_until(struct threaded *self, pthread_cond_t *condition, zkl_time due);

/* inbox.c; the mutex is held */
void zkl_inbox_init(struct threaded *self);
void zkl_inbox_destroy(struct threaded *self);
void zkl_inbox_update(struct threaded *self); /* events came into it, or were taken out */

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
