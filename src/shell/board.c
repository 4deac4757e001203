/*
 * board.c - lists the clients with events, so that a program need not look at each client.
 *
 * A board's mutex is locked after a client's.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "internal.h"

struct zkl_board {
    unsigned process;
    pthread_mutex_t mutex;         /* guards all below */
    size_t references;             /* the program's, and each client's */
    struct threaded *first, **end; /* list of the clients with events */
    int pipe[2];                   /* -1 until a thread waits */
    size_t waiting_threads;
    bool pipe_full;
};

zkl_board *zkl_board_new(void) {
    unsigned process = zkl_process_number();
    struct zkl_board *board = process ? calloc(1, sizeof *board) : NULL;
    if (!board) return NULL;
    board->process = process;
    board->references = 1;
    board->end = &board->first;
    board->pipe[0] = board->pipe[1] = -1;
    pthread_mutex_init(&board->mutex, NULL);
    return board;
}

bool zkl_board_foreign(const zkl_board *board) {
    return !zkl_process_is(board->process);
}

void zkl_board_drop(zkl_board *board) {
    if (zkl_board_foreign(board)) return;
    pthread_mutex_lock(&board->mutex);
    size_t remaining = --board->references;
    pthread_mutex_unlock(&board->mutex);
    if (remaining > 0) return;
    if (board->pipe[0] >= 0) {
        close(board->pipe[0]);
        close(board->pipe[1]);
    }
    pthread_mutex_destroy(&board->mutex);
    free(board);
}

/* --- the board, with its mutex held ----------------------------------------------------------- */

static void fill_pipe(struct zkl_board *board) {
    if (!board->pipe_full && board->first && board->waiting_threads > 0)
        board->pipe_full = write(board->pipe[1], "", 1) == 1;
}

static void post(struct zkl_board *board, struct threaded *self) {
    self->next_posted = NULL;
    self->posted_slot = board->end;
    *board->end = self;
    board->end = &self->next_posted;
    fill_pipe(board);
}

static void take_down(struct zkl_board *board, struct threaded *self) {
    char byte;
    *self->posted_slot = self->next_posted;
    if (self->next_posted) self->next_posted->posted_slot = self->posted_slot;
    else board->end = self->posted_slot;
    if (!board->first && board->pipe_full) board->pipe_full = read(board->pipe[0], &byte, 1) != 1;
}

/* --- clients, with the client's mutex held ---------------------------------------------------- */

void zkl_board_update(struct threaded *self, bool has_events) {
    struct zkl_board *board = self->board;
    if (!board || has_events == self->on_board) return;
    self->on_board = has_events;
    pthread_mutex_lock(&board->mutex);
    if (has_events) post(board, self);
    else take_down(board, self);
    pthread_mutex_unlock(&board->mutex);
}

void zkl_board_leave(struct threaded *self) {
    struct zkl_board *board = self->board;
    if (!board) return;
    zkl_board_update(self, false);
    self->board = NULL;
    zkl_board_drop(board);
}

void zkl_board_join(zkl_board *board, zkl_client *client, uint64_t number) {
    struct threaded *self = zkl_threaded(client);
    zkl_lock(client);
    zkl_board_leave(self);
    pthread_mutex_lock(&board->mutex);
    board->references++;
    pthread_mutex_unlock(&board->mutex);
    self->board = board;
    self->board_number = number;
    zkl_board_update(self, zkl_client_has_events(client));
    zkl_unlock(client);
}

void zkl_client_leave_board(zkl_client *client) {
    zkl_lock(client);
    zkl_board_leave(zkl_threaded(client));
    zkl_unlock(client);
}

/* --- the program ------------------------------------------------------------------------------ */

size_t zkl_board_read(zkl_board *board, uint64_t *numbers, size_t size) {
    size_t count = 0;
    pthread_mutex_lock(&board->mutex);
    for (struct threaded *each = board->first; each && count < size; each = each->next_posted)
        numbers[count++] = each->board_number;
    pthread_mutex_unlock(&board->mutex);
    return count;
}

static int begin_wait(zkl_board *board) {
    pthread_mutex_lock(&board->mutex);
    bool opened = board->pipe[0] >= 0 || pipe2(board->pipe, O_CLOEXEC | O_NONBLOCK) == 0;
    board->waiting_threads += opened;
    if (opened) fill_pipe(board);
    pthread_mutex_unlock(&board->mutex);
    return opened ? board->pipe[0] : -1;
}

void zkl_board_wait(zkl_board *board, zkl_time timeout) {
    struct pollfd polled = {.fd = begin_wait(board), .events = POLLIN};
    poll(&polled, 1, zkl_poll_timeout(timeout));
    if (polled.fd < 0) return;
    pthread_mutex_lock(&board->mutex);
    board->waiting_threads--;
    pthread_mutex_unlock(&board->mutex);
}
