/* events.h - notes for the users. */
#ifndef ZKL_SESSION_EVENTS_H
#define ZKL_SESSION_EVENTS_H

#include "records.h"

void zkl_events_init(struct zkl_session *session);
void zkl_events_post(struct zkl_session *session, struct news *news, enum zkl_event_kind kind);
void zkl_events_remove(struct zkl_session *session, struct news *news);
void zkl_events_post_state(struct zkl_session *session, enum zkl_session_state state);

#endif
