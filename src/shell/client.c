/* client.c - the life of a client: from the wish to connect until it is closed. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

/* --- life ------------------------------------------------------------------------------ */

zkl_client *zkl_client_hold(zkl_client *client) {
    atomic_fetch_add(&client->references, 1);
    return client;
}

static void destroy(struct zkl_client *client) {
    zkl_inbox_destroy(client);
    if (client->link) client->class->destroy(client->link);
    if (client->session) zkl_session_free(client->session);
    pthread_cond_destroy(&client->news);
    pthread_cond_destroy(&client->alarm);
    pthread_mutex_destroy(&client->mutex);
    free(client);
}

void zkl_client_drop(zkl_client *client) {
    if (zkl_client_foreign(client)) return;
    if (atomic_fetch_sub(&client->references, 1) == 1) destroy(client);
}

bool zkl_client_foreign(const zkl_client *client) {
    return !zkl_process_is(client->process);
}

static zkl_session *new_session(struct zkl_client *client, const struct zkl_options *options) {
    const struct zkl_settings settings = {
        .identity = options->identity,
        .patience = options->timeout / 12,
        .margin = options->margin,
        .overhead = strlen(options->chroot) + 4, /* and a path's length field */
        .containers = options->containers,
        .reopen = options->reopen,
        .steps = options->steps,
        .seed = (uint64_t)zkl_now() ^ (uint64_t)client->process << 40,
    };
    return zkl_session_new(&settings);
}

zkl_client *zkl_client_new(const struct zkl_link_class *class, const struct zkl_options *options) {
    struct zkl_client *client = calloc(1, sizeof *client);
    if (!client) return NULL;
    atomic_init(&client->references, 1);
    client->process = getpid();
    client->class = class;
    client->close_by = client->timer_due = ZKL_NEVER;
    pthread_mutex_init(&client->mutex, NULL);
    zkl_condition_init(&client->news);
    zkl_condition_init(&client->alarm);
    zkl_inbox_init(client);
    client->session = new_session(client, options);
    client->link = client->session ? class->create(client, options) : NULL;
    int error = client->link ? 0 : ENOMEM;
    if (!error && zkl_process_enlist(client) != 0) error = ENOMEM;
    if (!error) error = zkl_timer_start(client);
    if (!error) return client;
    zkl_process_delist(client);
    destroy(client);
    errno = error;
    return NULL;
}

/* --- in and out ----------------------------------------------------------------------------- */

zkl_session *zkl_client_enter(zkl_client *client) {
    zkl_lock(client);
    zkl_session_at(client->session, zkl_now());
    return client->session;
}

/* What the session has queued. */
static void send_all(struct zkl_client *client) {
    struct zkl_rpc rpc;
    uint64_t id;
    while (zkl_session_next_rpc(client->session, &id, &rpc))
        if (!client->class->send(client->link, id, &rpc)) zkl_session_unsent(client->session, id);
}

void zkl_client_settle(struct zkl_client *client) {
    zkl_session *session = client->session;
    send_all(client);
    if (zkl_session_connection(session) == ZKL_SESSION_EXPIRED) client->class->retire(client->link);
    bool may_close = zkl_client_is_closing(client) && zkl_session_is_idle(session);
    zkl_client_wake(client, may_close ? 0 : zkl_session_due_anew(session));
    zkl_inbox_update(client);
}

void zkl_client_leave(zkl_client *client) {
    zkl_client_settle(client);
    zkl_unlock(client);
}

/* --- closing -------------------------------------------------------------------------------- */

/* Half of the time is for what is under way, half for the link. */
void zkl_client_begin_close(struct zkl_client *client, zkl_time due) {
    zkl_session *session = zkl_client_enter(client);
    zkl_time now = zkl_now(), close_by = now + (due - now) / 2;
    if (close_by < client->close_by) client->close_by = close_by;
    zkl_session_close(session);
    zkl_client_wake(client, 0);
    zkl_client_leave(client);
}

void zkl_client_close_soon(zkl_client *client, zkl_time bound) {
    zkl_client_begin_close(client, zkl_due(bound));
}

static bool is_closed(const struct zkl_client *client) {
    return zkl_session_connection(client->session) == ZKL_SESSION_CLOSED;
}

bool zkl_client_ended(zkl_client *client) {
    zkl_lock(client);
    bool ended = is_closed(client);
    zkl_unlock(client);
    return ended;
}

bool zkl_client_close(zkl_client *client, zkl_time bound) {
    zkl_time due = zkl_due(bound);
    zkl_client_begin_close(client, due);
    zkl_lock(client);
    while (!is_closed(client) && zkl_now() < due) zkl_wait_until(client, &client->news, due);
    bool closed = is_closed(client);
    zkl_unlock(client);
    return closed;
}

struct zkl_trouble zkl_client_trouble(zkl_client *client) {
    zkl_lock(client);
    struct zkl_trouble trouble = client->class->trouble(client->link);
    zkl_unlock(client);
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
    enum zkl_session_state state = zkl_session_connection(client->session);
    if (state == ZKL_SESSION_SUSPENDED) return !zkl_session_has_claims(client->session);
    return state != ZKL_SESSION_CONNECTED || zkl_session_is_idle(client->session);
}

void zkl_client_wake(struct zkl_client *client, zkl_time due) {
    if (due >= client->timer_due) return;
    client->timer_due = due;
    pthread_cond_signal(&client->alarm);
}
