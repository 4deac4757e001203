/*
 * events.h - the inbox of a session.
 *
 *     zkl_events_post(session, &stake->phase_notice, &phase_notice);
 */
#ifndef ZKL_SESSION_EVENTS_H
#define ZKL_SESSION_EVENTS_H

#include "asker.h"
#include "session.h"

struct notice_kind {
    enum zkl_event_kind event;
    size_t offset; /* bytes from the asker to the notice */
    /* Adds details to the event; NULL: none. */
    void (*describe)(const struct asker *asker, struct zkl_event *event);
};

#define ZKL_NOTICE_OFFSET(type, notice) (offsetof(type, notice) - offsetof(type, asker))

/* News of an asker for its user. It is part of the asker, so posting needs no memory. */
struct notice {
    struct notice *next, **link;
    const struct notice_kind *kind; /* NULL: not posted */
};

/* Posts the notice, unless it is posted. It refers to its asker until taken or removed. */
void zkl_events_post(struct zkl_session *session, struct notice *notice,
                     const struct notice_kind *kind);
void zkl_events_remove(struct zkl_session *session, struct notice *notice); /* if posted */
void zkl_events_post_state(struct zkl_session *session, enum zkl_session_state state);

#endif
