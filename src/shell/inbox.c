/*
 * inbox.c - tells the host that something happened, for its own thread to take.
 *
 * The link's threads and the timer make events, the session has them, the host takes them.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "internal.h"

void zkl_inbox_init(struct zkl_client *client) {
    client->pipe[0] = client->pipe[1] = -1;
    zkl_bell_init(client);
}

static bool is_empty(const struct zkl_client *client) {
    return !zkl_session_has_events(client->session);
}

/* Nobody looks at a descriptor that was neither given away nor is being polled. */
static void fill_pipe(struct zkl_client *client) {
    if (client->piped || !(client->watched || client->polls > 0)) return;
    client->piped = write(client->pipe[1], "", 1) == 1;
}

static void announce(struct zkl_client *client) {
    client->announced = true;
    zkl_bell_ring(client);
    fill_pipe(client);
}

/* The inbox was emptied: the descriptor is to say so. */
static void quieten(struct zkl_client *client) {
    char byte;
    if (!client->piped) return;
    client->piped = read(client->pipe[0], &byte, 1) != 1;
}

void zkl_inbox_update(struct zkl_client *client) {
    bool news = zkl_session_has_news(client->session);
    if (is_empty(client)) quieten(client);
    else if (news) announce(client);
}

bool zkl_client_next(zkl_client *client, struct zkl_event *event, bool *more) {
    zkl_session *session = zkl_client_enter(client);
    bool any = zkl_session_next_event(session, event);
    if (any && event->kind == ZKL_EVENT_STEP) zkl_session_keep_step(session);
    *more = !is_empty(client);
    zkl_client_leave(client);
    return any;
}

bool zkl_client_wait(zkl_client *client, zkl_time timeout) {
    zkl_time due = zkl_due(timeout);
    zkl_lock(client);
    while (is_empty(client) && zkl_now() < due) zkl_wait_until(client, &client->news, due);
    bool any = !is_empty(client);
    zkl_unlock(client);
    return any;
}

void zkl_inbox_destroy(struct zkl_client *client) {
    zkl_bell_destroy(client);
    if (client->pipe[0] < 0) return;
    close(client->pipe[0]);
    close(client->pipe[1]);
}

/* The descriptor; -1: errno. */
static int open_pipe(struct zkl_client *client) {
    if (client->pipe[0] < 0 && pipe2(client->pipe, O_CLOEXEC | O_NONBLOCK) != 0) return -1;
    return client->pipe[0];
}

int zkl_client_fd(zkl_client *client) {
    zkl_lock(client);
    int fd = open_pipe(client);
    if (fd >= 0) client->watched = true;
    if (!is_empty(client)) fill_pipe(client);
    zkl_unlock(client);
    return fd;
}

static int begin_poll(struct zkl_client *client) {
    zkl_lock(client);
    int fd = open_pipe(client);
    if (fd >= 0) client->polls++;
    if (!is_empty(client)) fill_pipe(client);
    zkl_unlock(client);
    return fd;
}

static void end_poll(struct zkl_client *client) {
    zkl_lock(client);
    client->polls--;
    zkl_unlock(client);
}

bool zkl_client_poll(zkl_client *const *clients, size_t count, zkl_time timeout) {
    struct pollfd *polled = calloc(count + 1, sizeof *polled);
    bool forever = timeout / 1000000 >= INT_MAX;
    int milliseconds = forever ? -1 : (int)((timeout + 999999) / 1000000);
    if (!polled) return false;
    for (size_t i = 0; i < count; i++)
        polled[i] = (struct pollfd){.fd = begin_poll(clients[i]), .events = POLLIN};
    int ready = poll(polled, (nfds_t)count, milliseconds);
    for (size_t i = 0; i < count; i++)
        if (polled[i].fd >= 0) end_poll(clients[i]);
    free(polled);
    return ready > 0;
}
