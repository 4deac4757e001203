/*
 * events.c - what happened is posted, for the users to take.
 *
 * A note is part of the request, stake or watcher it is about, so posting cannot fail; state
 * changes, of which a reader needs the latest few, have a ring of their own.
 */
#include "events.h"
#include "internal.h"

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
