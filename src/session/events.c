/*
 * inbox.c - what happened, for the host's own thread to take.
 *
 * ZooKeeper's threads and the keeper post; the host takes. A note is part of
 * the request or stake it is about, so posting cannot fail; state changes, of
 * which a reader needs the latest few, have a ring of their own.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "internal.h"

void zkl_events_init(struct zkl_session *session) {
    session->inbox_end = &session->inbox;
    session->pipe[0] = session->pipe[1] = -1;
    zkl_bell_init(session);
}

static bool empty(const struct zkl_session *session) {
    return !session->inbox && session->change_count == 0;
}

static void announce(struct zkl_session *session) {
    session->announced = true;
    zkl_bell_ring(session);
    if (session->pipe[1] < 0 || session->piped) return;
    session->piped = write(session->pipe[1], "", 1) == 1;
}

/* The inbox was emptied: the descriptor is to say so. */
static void quieten(struct zkl_session *session) {
    char byte;
    if (!session->piped) return;
    session->piped = read(session->pipe[0], &byte, 1) != 1;
}

void zkl_events_post(struct zkl_session *session, struct news *news, enum zkl_event_kind kind) {
    if (news->posted) return;
    news->posted = true;
    news->kind = kind;
    news->next = NULL;
    news->link = session->inbox_end;
    *session->inbox_end = news;
    session->inbox_end = &news->next;
    announce(session);
}

void zkl_events_remove(struct zkl_session *session, struct news *news) {
    if (!news->posted) return;
    *news->link = news->next;
    if (news->next) news->next->link = news->link;
    else session->inbox_end = news->link;
    news->posted = false;
    if (empty(session)) quieten(session);
}

void zkl_events_post_state(struct zkl_session *session) {
    if (session->change_count == STATE_NEWS) {
        session->change_first = (session->change_first + 1) % STATE_NEWS;
        session->change_count--;
    }
    size_t at = (session->change_first + session->change_count++) % STATE_NEWS;
    session->changes[at] = session->state;
    announce(session);
}

#define CONTAINER(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

/* Takes the first note out and describes it. */
static void take(struct zkl_session *session, struct zkl_event *event) {
    struct news *news = session->inbox;
    struct zkl_request *request;
    struct stake *stake;
    struct zkl_watcher *watcher;
    event->kind = news->kind;
    zkl_events_remove(session, news);
    switch (news->kind) {
    case ZKL_EVENT_REQUEST:
        request = CONTAINER(news, struct zkl_request, done_news);
        event->id = request->id;
        zkl_request_unhold(request);
        break;
    case ZKL_EVENT_QUEUED:
        request = CONTAINER(news, struct zkl_request, queued_news);
        event->id = request->id;
        event->position = request->position;
        zkl_request_unhold(request);
        break;
    case ZKL_EVENT_LEASE:
        stake = CONTAINER(news, struct stake, notice);
        event->id = stake->id;
        event->phase = stake->phase;
        zkl_stake_unhold(stake);
        break;
    case ZKL_EVENT_WATCHER:
        watcher = CONTAINER(news, struct zkl_watcher, news);
        event->id = watcher->id;
        zkl_watcher_unhold(watcher);
        break;
    case ZKL_EVENT_STATE:
    case ZKL_EVENT_NONE: break;
    }
}

bool zkl_session_next(zkl_session *session, struct zkl_event *event) {
    *event = (struct zkl_event){0};
    zkl_lock(session);
    if (session->change_count) {
        event->kind = ZKL_EVENT_STATE;
        event->state = session->changes[session->change_first];
        session->change_first = (session->change_first + 1) % STATE_NEWS;
        session->change_count--;
    } else if (session->inbox) {
        take(session, event);
    }
    if (empty(session)) quieten(session);
    zkl_unlock(session);
    return event->kind != ZKL_EVENT_NONE;
}

bool zkl_session_wait(zkl_session *session, zkl_time timeout) {
    zkl_time due = zkl_due(timeout);
    zkl_lock(session);
    while (empty(session) && zkl_now() < due) zkl_wait_until(session, &session->news, due);
    bool any = !empty(session);
    zkl_unlock(session);
    return any;
}

/* Nobody will read what is left: gives back the references of the notes. */
void zkl_events_destroy(struct zkl_session *session) {
    struct zkl_event unread;
    while (zkl_session_next(session, &unread)) continue;
    zkl_bell_destroy(session);
    if (session->pipe[0] < 0) return;
    close(session->pipe[0]);
    close(session->pipe[1]);
}

static int open_pipe(struct zkl_session *session) {
    if (session->pipe[0] >= 0) return 0;
    if (pipe2(session->pipe, O_CLOEXEC | O_NONBLOCK) != 0) return -1;
    if (!empty(session)) announce(session);
    return 0;
}

int zkl_session_fd(zkl_session *session) {
    zkl_lock(session);
    int fd = open_pipe(session) == 0 ? session->pipe[0] : -1;
    zkl_unlock(session);
    return fd;
}

bool zkl_session_poll(zkl_session *const *sessions, size_t count, zkl_time timeout) {
    struct pollfd *polled = calloc(count + 1, sizeof *polled);
    bool forever = timeout / 1000000 >= INT_MAX;
    int milliseconds = forever ? -1 : (int)((timeout + 999999) / 1000000);
    if (!polled) return false;
    for (size_t i = 0; i < count; i++)
        polled[i] = (struct pollfd){.fd = zkl_session_fd(sessions[i]), .events = POLLIN};
    int ready = poll(polled, (nfds_t)count, milliseconds);
    free(polled);
    return ready > 0;
}
