/* events.h - notices for the users, posted for them to take. */
#ifndef ZKL_SESSION_EVENTS_H
#define ZKL_SESSION_EVENTS_H

#include "asker.h"
#include "session.h"

/* A kind of notices. */
struct notice_kind {
    enum zkl_event_kind event;
    size_t offset; /* bytes from the asker to the notice */
    /* Adds to the event what its id does not say; NULL: nothing. */
    void (*describe)(const struct asker *asker, struct zkl_event *event);
};

#define ZKL_NOTICE_OFFSET(type, notice) (offsetof(type, notice) - offsetof(type, asker))

/* A notice for the users, part of its asker, so it needs no memory of its own. */
struct notice {
    struct notice *next, **link;
    const struct notice_kind *kind; /* NULL: it is not posted */
};

/* Posts the notice, which counts its asker until it is taken, or removed; unless it is posted. */
void zkl_events_post(struct zkl_session *session, struct notice *notice,
                     const struct notice_kind *kind);
void zkl_events_remove(struct zkl_session *session, struct notice *notice); /* if it is posted */
void zkl_events_post_state(struct zkl_session *session, enum zkl_session_state state);

#endif
