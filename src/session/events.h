/* events.h - notes for the users, posted for them to take. */
#ifndef ZKL_SESSION_EVENTS_H
#define ZKL_SESSION_EVENTS_H

#include "session.h"

/* A note for the users, part of what it is about: it needs no memory of its own. */
struct note {
    struct note *next, **link;
    enum zkl_event_kind kind;
    bool posted;
};

void zkl_events_post(struct zkl_session *session, struct note *note, enum zkl_event_kind kind);
void zkl_events_remove(struct zkl_session *session, struct note *note);
void zkl_events_post_state(struct zkl_session *session, enum zkl_session_state state);

#endif
