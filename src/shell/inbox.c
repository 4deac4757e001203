/* inbox.c - wakes the program when the inbox gets events. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "internal.h"

void zkl_inbox_init(struct threaded *self) {
    self->pipe[0] = self->pipe[1] = -1;
    zkl_bell_init(self);
}

static bool is_empty(const struct threaded *self) {
    return !zkl_client_has_events(&self->client);
}

static void fill_pipe(struct threaded *self) {
    if (self->pipe_full || self->pipe[1] < 0) return;
    self->pipe_full = write(self->pipe[1], "", 1) == 1;
}

static void wake_program(struct threaded *self) {
    self->broadcast_news = true;
    zkl_bell_ring(self);
    fill_pipe(self);
}

static void empty_pipe(struct threaded *self) {
    char byte;
    if (!self->pipe_full) return;
    self->pipe_full = read(self->pipe[0], &byte, 1) != 1;
}

void zkl_inbox_update(struct threaded *self) {
    bool has_news = zkl_session_take_news(self->client.session);
    zkl_board_update(self, !is_empty(self));
    if (is_empty(self)) empty_pipe(self);
    else if (has_news) wake_program(self);
}

bool zkl_client_wait(zkl_client *client, zkl_time timeout) {
    struct threaded *self = zkl_threaded(client);
    zkl_time due = zkl_due(timeout);
    zkl_lock(client);
    while (is_empty(self) && zkl_now() < due) zkl_wait_until(self, &self->news, due);
    bool any = !is_empty(self);
    zkl_unlock(client);
    return any;
}

void zkl_inbox_destroy(struct threaded *self) {
    zkl_board_leave(self);
    zkl_bell_destroy(self);
    if (self->pipe[0] < 0) return;
    close(self->pipe[0]);
    close(self->pipe[1]);
}

/* If pipe2() fails, the pipe's ends stay -1. */
int zkl_client_fd(zkl_client *client) {
    struct threaded *self = zkl_threaded(client);
    zkl_lock(client);
    bool opened = self->pipe[0] >= 0 || pipe2(self->pipe, O_CLOEXEC | O_NONBLOCK) == 0;
    if (opened && !is_empty(self)) fill_pipe(self);
    int fd = self->pipe[0];
    zkl_unlock(client);
    return fd;
}
