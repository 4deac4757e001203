/*
 * watcher.c - users hear a node's state first, and then after each change.
 *
 * A look is an exists, which sets the watch even without a node, and a get behind it. An event
 * ahead of the get's answer has used up that watch, even if the answer shows the change, and leads
 * to another look. So while the watch is set the last answer shows the node. libzookeeper sets
 * watches again when it reconnects. After an expiry there is another look, or the last news if no
 * session follows.
 *
 * A server swallows the event of a node that the session may not read, and uses the watch up
 * (ZOOKEEPER-4799); a change of the ACL has no event at all. So once a session timeout an exists
 * with a watch checks, and leads to a look if it shows a change.
 *
 * A reading is told if it differs as a whole from the last told reading. By its version alone a
 * node that was made again looks like the old node, and so may its zxids after the loss of all
 * data.
 */
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "request.h"
#include "room.h"
#include "watcher.h"

/* Pause after a lost answer. */
#define PAUSE (ZKL_SECOND / 10)

/* --- readings ---------------------------------------------------------------------------- */

static void forget_reading(struct reading *reading) {
    free(reading->data);
    *reading = (struct reading){0};
}

static bool equal(const struct reading *a, const struct reading *b) {
    if (!b->known || a->code != b->code || a->error != b->error) return false;
    if (a->czxid != b->czxid || a->mzxid != b->mzxid || a->version != b->version) return false;
    return a->size == b->size && (a->size == 0 || memcmp(a->data, b->data, a->size) == 0);
}

static bool shows(const struct answer *answer, const struct reading *read) {
    const struct zkl_stat *stat = answer->stat;
    if (!stat) return read->code == ZKL_NO_NODE;
    if (read->code != ZKL_OK || stat->aversion != read->aversion) return false;
    return stat->czxid == read->czxid && stat->mzxid == read->mzxid;
}

/* False: out of memory. */
static bool read_answer(struct reading *reading, const struct answer *answer) {
    *reading = (struct reading){.known = true, .code = answer->why};
    if (answer->reply == ZKL_REFUSED) reading->error = answer->rc;
    if (answer->reply != ZKL_DONE) return true;
    reading->czxid = answer->stat->czxid;
    reading->mzxid = answer->stat->mzxid;
    reading->version = answer->stat->version;
    reading->aversion = answer->stat->aversion;
    reading->size = zkl_answer_size(answer);
    reading->data = zkl_answer_copy(answer);
    return reading->data != NULL;
}

/* --- life ---------------------------------------------------------------------------------- */

static const struct notice_kind news = {ZKL_EVENT_WATCHER, ZKL_NOTICE_OFFSET(struct follower, news),
                                        NULL};

static void post(struct zkl_watcher *watcher) {
    zkl_events_post(watcher->base.session, &watcher->base.news, &news);
}

static void destroy(struct asker *asker) {
    struct zkl_watcher *watcher = (struct zkl_watcher *)asker;
    forget_reading(&watcher->new_reading);
    forget_reading(&watcher->told_reading);
    free(watcher->path);
    free(watcher);
}

static void unpin(struct zkl_watcher *watcher) {
    if (watcher->watch) zkl_watches_unpin(watcher->base.session, watcher->watch);
    watcher->watch = NULL;
}

/* --- looks ----------------------------------------------------------------------------------- */

static void look_in(struct zkl_watcher *watcher, zkl_time pause) {
    zkl_time due = watcher->base.session->now + pause;
    if (watcher->look_at && watcher->look_at <= due) return;
    watcher->look_at = due;
    zkl_session_tick_by(watcher->base.session, due);
}

static const struct call_kind exists_call, get_call, check_call;

/* NULL: out of memory. */
static struct call *new_call(struct zkl_watcher *watcher, const struct call_kind *kind) {
    return zkl_call_new(watcher->base.session, kind, &watcher->base.asker);
}

static void look(struct zkl_watcher *watcher) {
    struct call *call = new_call(watcher, &exists_call);
    watcher->look_at = 0;
    if (call) zkl_call_set_pinned_watch(call, ZKL_RPC_EXISTS, watcher->watch);
    if (call) call = new_call(watcher, &get_call);
    if (call) zkl_call_get(call, watcher->path, NULL);
    else look_in(watcher, PAUSE);
}

static void check(struct zkl_watcher *watcher) {
    struct call *call = new_call(watcher, &check_call);
    if (call) zkl_call_set_pinned_watch(call, ZKL_RPC_EXISTS, watcher->watch);
    else look_in(watcher, PAUSE);
}

/* Without a watch `look_at` is set. */
static bool has_to_look(const struct zkl_watcher *watcher) {
    return watcher->look_at || watcher->watch->state == WATCH_UNSET;
}

/* 0: now. */
static zkl_time due(const struct follower *follower) {
    const struct zkl_watcher *watcher = (const struct zkl_watcher *)follower;
    return has_to_look(watcher) ? watcher->look_at : watcher->check_at;
}

static void try_later(struct zkl_watcher *watcher) {
    watcher->look_at = 0;
    look_in(watcher, watcher->base.session->common.clock.timeout);
}

static void give_up(struct zkl_watcher *watcher, enum zkl_code code) {
    unpin(watcher);
    forget_reading(&watcher->new_reading);
    watcher->new_reading = (struct reading){.known = true, .code = code};
    if (!equal(&watcher->new_reading, &watcher->told_reading)) post(watcher);
}

void zkl_watcher_give_way(struct zkl_watcher *watcher) {
    if (!watcher->watch) return;
    give_up(watcher, ZKL_TOO_MANY);
    try_later(watcher);
}

/* ZKL_OK without a watch means no memory. */
static enum zkl_code pin(struct zkl_watcher *watcher) {
    struct watches *watches = &watcher->base.session->watches;
    size_t need = zkl_watches_need(watches, watcher->path);
    if (!zkl_room_make_for_watches(watcher->base.session, ROOM_OF_TURNS, need)) return ZKL_TOO_MANY;
    watcher->watch = zkl_watches_pin(watches, watcher->path);
    return ZKL_OK;
}

static void start(struct follower *follower) {
    struct zkl_watcher *watcher = (struct zkl_watcher *)follower;
    if (!zkl_follower_may_ask(follower) || follower->session->now < due(follower)) return;
    if (!watcher->watch) pin(watcher);
    if (!watcher->watch) {
        try_later(watcher);
        return;
    }
    if (has_to_look(watcher)) look(watcher);
    else check(watcher);
}

/* --- answers --------------------------------------------------------------------------------- */

/* It replaces a reading at which the user has not looked. */
static void see(struct zkl_watcher *watcher, const struct answer *answer) {
    struct reading reading;
    if (!read_answer(&reading, answer)) {
        look_in(watcher, PAUSE);
        return;
    }
    forget_reading(&watcher->new_reading);
    watcher->new_reading = reading;
    if (!equal(&reading, &watcher->told_reading)) post(watcher);
}

static void answer_exists(struct zkl_watcher *watcher, const struct call *call,
                          const struct answer *answer) {
    const struct reading *last =
        watcher->new_reading.known ? &watcher->new_reading : &watcher->told_reading;
    if (answer->reply == ZKL_REFUSED) look_in(watcher, watcher->base.session->common.clock.timeout);
    else if (call->kind == &check_call && !shows(answer, last)) look_in(watcher, 0);
}

static void answer_look(const struct call *call, const struct answer *answer) {
    struct zkl_watcher *watcher = (struct zkl_watcher *)call->asker;
    if (!watcher->base.link) return;
    if (!watcher->watch) { /* it gave way since it asked */
        zkl_session_tick_by(watcher->base.session, watcher->look_at);
        return;
    }
    if (answer->reply == ZKL_UNKNOWN) look_in(watcher, PAUSE);
    else if (call->kind == &get_call) see(watcher, answer);
    else answer_exists(watcher, call, answer);
    watcher->check_at = answer->now + watcher->base.session->common.clock.timeout;
    zkl_session_tick_by(watcher->base.session, watcher->check_at);
    start(&watcher->base);
}

static const struct call_kind exists_call = {.answer = answer_look, .is_sound = zkl_answer_is_stat};
static const struct call_kind check_call = {.answer = answer_look, .is_sound = zkl_answer_is_stat};
static const struct call_kind get_call = {.answer = answer_look, .is_sound = zkl_answer_is_data};

static void hear(struct follower *follower, enum zkl_node_event event, const char *node) {
    struct zkl_watcher *watcher = (struct zkl_watcher *)follower;
    bool about = event != ZKL_NODE_CHILDREN && strcmp(watcher->path, node) == 0;
    if (!about || !watcher->watch) return;
    look_in(watcher, 0);
    start(follower);
}

/* --- as a follower --------------------------------------------------------------------------- */

static void expire(struct follower *follower, enum zkl_code refusal) {
    if (refusal != ZKL_OK) give_up((struct zkl_watcher *)follower, refusal);
}

static void end(struct follower *follower) {
    struct zkl_watcher *watcher = (struct zkl_watcher *)follower;
    if (!follower->link) return;
    zkl_follower_unlist(follower);
    unpin(watcher);
    zkl_events_remove(follower->session, &follower->news);
}

static const struct follower_class class = {FOLLOWER_WATCHER, start, due, hear, expire, end};

/* --- the ways in ------------------------------------------------------------------------------ */

static struct zkl_watcher *new_watcher(struct zkl_session *session, const char *path) {
    struct zkl_watcher *watcher = calloc(1, sizeof *watcher);
    if (!watcher) return NULL;
    zkl_follower_init(&watcher->base, session, &class, destroy);
    watcher->look_at = session->now;
    watcher->path = strdup(path);
    if (watcher->path) return watcher;
    zkl_asker_unref(&watcher->base.asker);
    return NULL;
}

zkl_watcher *zkl_watch(zkl_session *session, const char *path, enum zkl_code *why) {
    *why = zkl_session_refusal(session);
    struct zkl_watcher *watcher = *why == ZKL_OK ? new_watcher(session, path) : NULL;
    if (!watcher) return NULL;
    *why = pin(watcher);
    if (watcher->watch) {
        zkl_follower_enlist(&watcher->base);
        start(&watcher->base);
        return watcher;
    }
    zkl_asker_unref(&watcher->base.asker);
    return NULL;
}

uint64_t zkl_watcher_id(const zkl_watcher *watcher) {
    return watcher->base.asker.id;
}

/* The newest reading becomes the told reading, unless both are equal. */
static void tell_last(struct zkl_watcher *watcher) {
    if (watcher->new_reading.known && !equal(&watcher->new_reading, &watcher->told_reading)) {
        forget_reading(&watcher->told_reading);
        watcher->told_reading = watcher->new_reading;
        watcher->unconfirmed = true;
    } else {
        if (watcher->new_reading.known)
            watcher->told_reading.aversion = watcher->new_reading.aversion;
        forget_reading(&watcher->new_reading);
    }
    watcher->new_reading = (struct reading){0};
}

bool zkl_watcher_look(zkl_watcher *watcher, struct zkl_sight *sight) {
    const struct reading *told = &watcher->told_reading;
    tell_last(watcher);
    *sight = (struct zkl_sight){told->code, zkl_error_words(told->error), told->data, told->size,
                                told->version};
    return watcher->base.link && watcher->unconfirmed;
}

void zkl_watcher_confirm(zkl_watcher *watcher) {
    watcher->unconfirmed = false;
}

void zkl_watcher_drop(zkl_watcher *watcher) {
    end(&watcher->base);
    zkl_asker_unref(&watcher->base.asker);
}
