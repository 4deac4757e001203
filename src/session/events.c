/*
 * events.c - the inbox of a session, from which users take their events.
 *
 * State changes have a ring of their own, because a user needs only the latest few.
 */
#include "events.h"

#include "internal.h"
#include "steps.h"

static struct asker *asker_of(struct notice *notice, const struct notice_kind *kind) {
    return (struct asker *)((char *)notice - kind->offset);
}

void zkl_events_post(struct zkl_session *session, struct notice *notice,
                     const struct notice_kind *kind) {
    if (notice->kind) return;
    zkl_asker_ref(asker_of(notice, kind));
    notice->kind = kind;
    notice->next = NULL;
    notice->link = session->inbox_end;
    *session->inbox_end = notice;
    session->inbox_end = &notice->next;
    session->news = true;
}

void zkl_events_remove(struct zkl_session *session, struct notice *notice) {
    const struct notice_kind *kind = notice->kind;
    if (!kind) return;
    *notice->link = notice->next;
    if (notice->next) notice->next->link = notice->link;
    else session->inbox_end = notice->link;
    notice->kind = NULL;
    zkl_asker_unref(asker_of(notice, kind));
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

/* --- for users -------------------------------------------------------------------------------- */

bool zkl_session_has_events(const zkl_session *session) {
    return session->inbox || session->change_count > 0 || session->steps;
}

bool zkl_session_take_news(zkl_session *session) {
    bool news = session->news;
    session->news = false;
    return news;
}

static void take_state(struct zkl_session *session, struct zkl_event *event) {
    event->kind = ZKL_EVENT_STATE;
    event->state = session->changes[session->change_first];
    session->change_first = (session->change_first + 1) % STATE_NEWS;
    session->change_count--;
}

static void take_notice(struct zkl_session *session, struct notice *notice,
                        struct zkl_event *event) {
    const struct notice_kind *kind = notice->kind;
    struct asker *asker = asker_of(notice, kind);
    event->kind = kind->event;
    event->id = asker->id;
    if (kind->describe) kind->describe(asker, event);
    zkl_events_remove(session, notice);
}

bool zkl_session_next_event(zkl_session *session, struct zkl_event *event) {
    *event = (struct zkl_event){0};
    if (zkl_step_take(session, event)) return true;
    if (session->change_count) take_state(session, event);
    else if (session->inbox) take_notice(session, session->inbox, event);
    return event->kind != ZKL_EVENT_NONE;
}
