/*
 * events.c - what happened is posted, for the users to take.
 *
 * A note is part of the request, stake or watcher it is about, so posting cannot fail; state
 * changes, of which a reader needs the latest few, have a ring of their own.
 */
#include <assert.h>

#include "events.h"
#include "internal.h"

void zkl_events_post(struct zkl_session *session, struct note *note, enum zkl_event_kind kind) {
    assert(!note->posted);
    note->posted = true;
    note->kind = kind;
    note->next = NULL;
    note->link = session->inbox_end;
    *session->inbox_end = note;
    session->inbox_end = &note->next;
    session->news = true;
}

void zkl_events_remove(struct zkl_session *session, struct note *note) {
    assert(note->posted);
    *note->link = note->next;
    if (note->next) note->next->link = note->link;
    else session->inbox_end = note->link;
    note->posted = false;
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
