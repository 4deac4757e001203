/* events.h - notes for the users, posted for them to take. */
#ifndef ZKL_SESSION_EVENTS_H
#define ZKL_SESSION_EVENTS_H

#include "asker.h"
#include "session.h"

/* A kind of notes. */
struct note_kind {
    enum zkl_event_kind event;
    size_t place; /* bytes from the asker to the note */
    /* Adds to the event what its id does not say; NULL: nothing. */
    void (*describe)(const struct asker *asker, struct zkl_event *event);
};

#define ZKL_NOTE_PLACE(type, note) (offsetof(type, note) - offsetof(type, asker))

/* A note for the users, part of its asker, so it needs no memory of its own. */
struct note {
    struct note *next, **link;
    const struct note_kind *kind; /* NULL: it is not posted */
};

/* Posts the note, which counts its asker until it is taken, or removed; unless it is posted. */
void zkl_events_post(struct zkl_session *session, struct note *note, const struct note_kind *kind);
void zkl_events_remove(struct zkl_session *session, struct note *note); /* if it is posted */
void zkl_events_post_state(struct zkl_session *session, enum zkl_session_state state);

#endif
