/* outbox.c - what was posted, as the users take it. */
#include <stddef.h>

#include "internal.h"
#include "member.h"
#include "request.h"
#include "roster.h"
#include "stake.h"
#include "steps.h"
#include "watcher.h"

bool zkl_session_has_events(const zkl_session *session) {
    return session->inbox || session->change_count > 0 || session->steps;
}

bool zkl_session_has_news(zkl_session *session) {
    bool news = session->news;
    session->news = false;
    return news;
}

#define CONTAINER(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

/* Takes the first note out and describes it. */
static void take(struct zkl_session *session, struct zkl_event *event) {
    struct note *note = session->inbox;
    struct zkl_request *request;
    struct stake *stake;
    struct zkl_watcher *watcher;
    struct zkl_member *member;
    struct zkl_roster *roster;
    event->kind = note->kind;
    zkl_events_remove(session, note);
    switch (note->kind) {
    case ZKL_EVENT_REQUEST:
        request = CONTAINER(note, struct zkl_request, done_note);
        event->id = request->id;
        zkl_request_unref(request);
        break;
    case ZKL_EVENT_QUEUED:
        request = CONTAINER(note, struct zkl_request, queued_note);
        event->id = request->id;
        event->position = request->position;
        zkl_request_unref(request);
        break;
    case ZKL_EVENT_LEASE:
        stake = CONTAINER(note, struct stake, notice);
        event->id = stake->id;
        event->phase = stake->phase;
        zkl_stake_unref(stake);
        break;
    case ZKL_EVENT_WATCHER:
        watcher = CONTAINER(note, struct zkl_watcher, note);
        event->id = watcher->id;
        zkl_watcher_unref(watcher);
        break;
    case ZKL_EVENT_MEMBER:
        member = CONTAINER(note, struct zkl_member, note);
        event->id = member->id;
        zkl_member_unref(member);
        break;
    case ZKL_EVENT_ROSTER:
        roster = CONTAINER(note, struct zkl_roster, note);
        event->id = roster->id;
        zkl_roster_unref(roster);
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
