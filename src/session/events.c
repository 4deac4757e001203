/*
 * events.c - what happened, for the users to take.
 *
 * A note is part of the request, stake or watcher it is about, so posting cannot fail; state
 * changes, of which a reader needs the latest few, have a ring of their own.
 */
#include "records.h"

bool zkl_session_has_events(const zkl_session *session) {
    return session->inbox || session->change_count > 0 || session->steps;
}

bool zkl_session_has_news(zkl_session *session) {
    bool news = session->news;
    session->news = false;
    return news;
}

void zkl_events_post(struct zkl_session *session, struct news *news, enum zkl_event_kind kind) {
    if (news->posted) return;
    news->posted = true;
    news->kind = kind;
    news->next = NULL;
    news->link = session->inbox_end;
    *session->inbox_end = news;
    session->inbox_end = &news->next;
    session->news = true;
}

void zkl_events_remove(struct zkl_session *session, struct news *news) {
    if (!news->posted) return;
    *news->link = news->next;
    if (news->next) news->next->link = news->link;
    else session->inbox_end = news->link;
    news->posted = false;
}

void zkl_events_post_state(struct zkl_session *session, enum zkl_session_state state) {
    if (session->change_count == STATE_NEWS) {
        session->change_first = (session->change_first + 1) % STATE_NEWS;
        session->change_count--;
    }
    size_t at = (session->change_first + session->change_count++) % STATE_NEWS;
    session->changes[at] = state;
    session->news = true;
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
        zkl_request_unref(request);
        break;
    case ZKL_EVENT_QUEUED:
        request = CONTAINER(news, struct zkl_request, queued_news);
        event->id = request->id;
        event->position = request->position;
        zkl_request_unref(request);
        break;
    case ZKL_EVENT_LEASE:
        stake = CONTAINER(news, struct stake, notice);
        event->id = stake->id;
        event->phase = stake->phase;
        zkl_stake_unref(stake);
        break;
    case ZKL_EVENT_WATCHER:
        watcher = CONTAINER(news, struct zkl_watcher, news);
        event->id = watcher->id;
        zkl_watcher_unref(watcher);
        break;
    case ZKL_EVENT_STATE:
    case ZKL_EVENT_STEP:
    case ZKL_EVENT_NONE: break;
    }
}

bool zkl_session_next_event(zkl_session *session, struct zkl_event *event) {
    *event = (struct zkl_event){0};
    if (zkl_step_take(session, event)) return true;
    if (session->change_count) {
        event->kind = ZKL_EVENT_STATE;
        event->state = session->changes[session->change_first];
        session->change_first = (session->change_first + 1) % STATE_NEWS;
        session->change_count--;
    } else if (session->inbox) {
        take(session, event);
    }
    return event->kind != ZKL_EVENT_NONE;
}
