/* client.c - the functions that a client has in every runtime (runtime.h). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime.h"

/* --- life ------------------------------------------------------------------------------ */

zkl_client *zkl_client_ref(zkl_client *client) {
    atomic_fetch_add(&client->references, 1);
    return client;
}

void zkl_client_drop(zkl_client *client) {
    if (zkl_client_foreign(client)) return;
    if (atomic_fetch_sub(&client->references, 1) == 1) client->runtime->destroy(client);
}

bool zkl_client_foreign(const zkl_client *client) {
    return client->process && !zkl_process_is(client->process);
}

static zkl_session *new_session(const struct zkl_options *options, uint64_t seed) {
    const struct zkl_settings settings = {
        .identity = options->identity,
        .patience = options->timeout / 12,
        .margin = options->margin,
        .overhead = strlen(options->chroot) + 4, /* bytes of chroot and length field */
        .parents = options->containers ? ZKL_CONTAINER : ZKL_PERSISTENT,
        .reopen = options->reopen,
        .steps = options->steps,
        .seed = seed,
    };
    return zkl_session_new(&settings);
}

int zkl_client_init(struct zkl_client *client, const struct zkl_runtime *runtime,
                    const struct zkl_link_class *class, const struct zkl_options *options,
                    uint64_t seed) {
    atomic_init(&client->references, 1);
    client->runtime = runtime;
    client->class = class;
    client->close_by = client->round_due = ZKL_NEVER;
    client->session = new_session(options, seed);
    client->link = client->session ? class->create(client, options) : NULL;
    return client->link ? 0 : ENOMEM;
}

void zkl_client_clear(struct zkl_client *client) {
    if (client->link) client->class->destroy(client->link);
    if (client->session) zkl_session_free(client->session);
}

/* --- in and out ----------------------------------------------------------------------------- */

zkl_time zkl_client_now(const struct zkl_client *client) {
    return client->runtime->now(client);
}

zkl_session *zkl_client_enter(zkl_client *client) {
    client->runtime->lock(client);
    zkl_session_at(client->session, zkl_client_now(client));
    return client->session;
}

static void send_all(struct zkl_client *client) {
    const struct zkl_rpc *rpc;
    while ((rpc = zkl_session_next_rpc(client->session)))
        if (!client->class->send(client->link, rpc)) zkl_session_unsent(client->session, rpc->id);
}

/* Called after each use of the session. Sends requests, sets the next round, reports news. */
static void settle(struct zkl_client *client) {
    zkl_session *session = client->session;
    send_all(client);
    if (zkl_session_connection_state(session) == ZKL_SESSION_EXPIRED)
        client->class->retire(client->link);
    bool drained = zkl_client_is_closing(client) && zkl_session_is_idle(session);
    zkl_client_wake(client, drained ? 0 : zkl_session_due_since_tick(session));
    client->runtime->news(client);
}

void zkl_client_leave(zkl_client *client) {
    settle(client);
    client->runtime->unlock(client);
}

bool zkl_client_has_events(const struct zkl_client *client) {
    return zkl_session_has_events(client->session);
}

bool zkl_client_next(zkl_client *client, struct zkl_event *event, bool *more) {
    zkl_session *session = zkl_client_enter(client);
    bool any = zkl_session_next_event(session, event);
    if (any && event->kind == ZKL_EVENT_STEP) zkl_session_keep_step(session);
    *more = zkl_client_has_events(client);
    zkl_client_leave(client);
    return any;
}

#define MIN_ROUND_GAP (ZKL_SECOND / 1000)

void zkl_client_round(struct zkl_client *client, zkl_time now) {
    zkl_session_at(client->session, now);
    zkl_session_tick(client->session);
    client->class->work(client->link, now);
    settle(client);
    zkl_time due =
        zkl_earlier(zkl_session_due(client->session), client->class->due(client->link, now));
    client->round_due = due < now + MIN_ROUND_GAP ? now + MIN_ROUND_GAP : due;
}

/* --- closing -------------------------------------------------------------------------------- */

void zkl_client_begin_close(struct zkl_client *client, zkl_time due) {
    zkl_session *session = zkl_client_enter(client);
    zkl_time now = zkl_client_now(client), close_by = now + (due - now) / 2;
    if (close_by < client->close_by) client->close_by = close_by;
    zkl_session_close(session);
    zkl_client_wake(client, 0);
    zkl_client_leave(client);
}

void zkl_client_close_soon(zkl_client *client, zkl_time bound) {
    zkl_time now = zkl_client_now(client);
    zkl_client_begin_close(client, bound >= ZKL_NEVER - now ? ZKL_NEVER : now + bound);
}

bool zkl_client_session_is_closed(const struct zkl_client *client) {
    return zkl_session_connection_state(client->session) == ZKL_SESSION_CLOSED;
}

bool zkl_client_has_closed(zkl_client *client) {
    client->runtime->lock(client);
    bool closed = zkl_client_session_is_closed(client);
    client->runtime->unlock(client);
    return closed;
}

struct zkl_trouble zkl_client_trouble(zkl_client *client) {
    client->runtime->lock(client);
    struct zkl_trouble trouble = client->class->trouble(client->link);
    client->runtime->unlock(client);
    return trouble;
}

/* --- for links ------------------------------------------------------------------------------ */

zkl_session *zkl_client_session(const struct zkl_client *client) {
    return client->session;
}

struct zkl_link *zkl_client_link(const struct zkl_client *client,
                                 const struct zkl_link_class *class) {
    return client->class == class ? client->link : NULL;
}

zkl_time zkl_client_close_by(const struct zkl_client *client) {
    return client->close_by;
}

bool zkl_client_is_closing(const struct zkl_client *client) {
    return client->close_by != ZKL_NEVER;
}

bool zkl_client_may_close(const struct zkl_client *client, zkl_time now) {
    if (!zkl_client_is_closing(client)) return false;
    if (now >= client->close_by) return true;
    enum zkl_session_state state = zkl_session_connection_state(client->session);
    if (state == ZKL_SESSION_SUSPENDED) return !zkl_session_has_claims(client->session);
    return state != ZKL_SESSION_CONNECTED || zkl_session_is_idle(client->session);
}

void zkl_client_wake(struct zkl_client *client, zkl_time due) {
    if (due >= client->round_due) return;
    client->round_due = due;
    client->runtime->wake(client);
}
