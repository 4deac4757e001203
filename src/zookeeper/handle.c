/*
 * handle.c - opens and closes libzookeeper's handles, and hears their state.
 *
 * zookeeper_init() may resolve names, zookeeper_close() joins threads and may
 * wait for seconds: both are done by a worker thread, without the mutex. A
 * handle is never used again once it expired: the worker closes it, answers
 * what it lost, and opens another if the session is to live on.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* Between two attempts, also between two sessions, however soon the first one ends. */
#define RETRY ZKL_SECOND

/* libzookeeper chats on stderr; what matters comes as an event or a code. */
static void discard(const char *message) {
    (void)message;
}

/*
 * Runs on the network thread. A server that refuses credentials answers so and hangs up; a
 * question on its way then makes a reset of that, which may destroy the answer. So the first
 * question waits until they are accepted. A refusal is a session event, too.
 *
 * When the answer is lost, libzookeeper calls this with a lock of its own held, so the mutex
 * is not for us. It gives them again with each later connection, and tells of a refusal only.
 * (To give them a second time, so as to be told, is to send something behind them.)
 */
static void on_credentials(int rc, const void *context) {
    struct zkl_client *client = (struct zkl_client *)context;
    if (rc != ZOK && rc != ZAUTHFAILED) atomic_store(&client->credentials_unheard, true);
    if (rc != ZOK) return;
    zkl_session_ask_from(zkl_client_enter(client), 0);
    zkl_client_leave(client);
}

/*
 * With the first connection of a handle, which repeats them at each later one; between two
 * attempts to connect it takes none.
 */
static void give_credentials(struct zkl_client *client, zhandle_t *handle) {
    if (!client->auth_scheme || client->credentials_given) return;
    int rc = zoo_add_auth(handle, client->auth_scheme, client->auth, (int)strlen(client->auth),
                          on_credentials, client);
    client->credentials_given = rc == ZOK;
}

/*
 * On a connection that does not tell, no refusal for a while is taken for consent. Each time the
 * while is twice as long, so that a refusal is heard in the end, however slow the server is.
 */
#define SHORTEST_PAUSE (ZKL_SECOND / 10)

static void postpone_first_question(struct zkl_client *client) {
    if (!atomic_load(&client->credentials_unheard)) return;
    client->first_pause = client->first_pause ? 2 * client->first_pause : SHORTEST_PAUSE;
    zkl_session_ask_from(client->session, zkl_now() + client->first_pause);
}

zkl_time zkl_handle_timeout(zhandle_t *handle) {
    return (zkl_time)zoo_recv_timeout(handle) * (ZKL_SECOND / 1000);
}

static void on_connected(struct zkl_client *client, zhandle_t *handle) {
    zkl_time timeout = zkl_handle_timeout(handle);
    if (timeout < ZKL_TIMEOUT_LEAST) {
        client->denied = timeout;
        zkl_session_expired(client->session);
        return;
    }
    client->denied = ZKL_NEVER;
    give_credentials(client, handle); /* ahead of all that is asked */
    postpone_first_question(client);
    zkl_descriptors_sockets(&client->servers);
    zkl_session_connected(client->session, (uint64_t)zoo_client_id(handle)->client_id, timeout);
}

static void on_suspended(struct zkl_client *client) {
    if (zkl_session_connection(client->session) != ZKL_SESSION_CONNECTED) return;
    client->unconnected_since = zkl_now();
    zkl_session_suspended(client->session);
}

static void on_refused(struct zkl_client *client) {
    client->refused = true;
    zkl_session_refused(client->session);
}

static void on_session_event(struct zkl_client *client, zhandle_t *handle, int state) {
    if (state == ZOO_CONNECTED_STATE) on_connected(client, handle);
    else if (state == ZOO_CONNECTING_STATE) on_suspended(client);
    else if (state == ZOO_EXPIRED_SESSION_STATE) zkl_session_expired(client->session);
    else if (state == ZOO_AUTH_FAILED_STATE) on_refused(client);
}

/* Runs on the completion thread; node events have a watcher of their own (rpc.c). */
static void on_event(zhandle_t *handle, int type, int state, const char *node, void *context) {
    struct zkl_client *client = context;
    (void)node;
    if (type != ZOO_SESSION_EVENT) return;
    zkl_client_enter(client);
    if (client->handle == handle) on_session_event(client, handle, state);
    else if (client->probe.handle == handle) zkl_probe_event(client, state);
    zkl_client_leave(client);
}

/* --- opening -------------------------------------------------------------------------- */

/*
 * The session timeout to ask for, in milliseconds. It is also libzookeeper's
 * limit for the handshake, and it computes with it in an int. The server has
 * closer limits of its own.
 */
#define MOST ((zkl_time)24 * 3600 * 1000)

static int milliseconds(zkl_time timeout) {
    zkl_time rounded = timeout / (ZKL_SECOND / 1000);
    return rounded > MOST ? MOST : (int)rounded;
}

/*
 * Sets `to`. With the mutex, so that nobody hears of the connection before the
 * pipe is kept from child programs, and `to` is set. The addresses are numeric:
 * nothing is resolved here. 0, or an errno value.
 */
static int open_at(struct zkl_client *client, const char *hosts, zhandle_t **to) {
    struct descriptors *before = zkl_descriptors_before();
    zkl_lock(client);
    *to = zookeeper_init2(hosts, on_event, milliseconds(client->timeout_wanted), NULL, client,
                          ZOO_NO_LOG_CLIENTENV, discard);
    int error = *to ? 0 : errno ? errno : EIO;
    if (*to) zoo_set_servers_resolution_delay(*to, -1);
    zkl_descriptors_after(before);
    zkl_unlock(client);
    return error;
}

/*
 * Sets `to` and its addresses, of which descriptors.c has to know. 0, or why
 * there is no handle: an EAI_ code (negative) or an errno value.
 */
static int open_handle(struct zkl_client *client, zhandle_t **to, struct servers *addresses) {
    struct servers servers;
    int error = zkl_hosts_resolve(client->hosts, &servers);
    if (error) return error;
    zkl_lock(client);
    free(addresses->list);
    *addresses = servers;
    zkl_unlock(client);
    char *hosts = zkl_hosts_format(&servers, client->chroot); /* only a worker changes them */
    error = hosts ? zkl_thread_room() : ENOMEM;
    if (!error) error = open_at(client, hosts, to);
    free(hosts);
    return error;
}

/* --- the worker; the mutex is held, but while it opens or closes --------------------------- */

/*
 * A session with nodes waits a while for a connection, to close in order. One
 * with replies due waits for them: zookeeper_close() takes the first of them
 * for its own, and the reset that follows may overtake its request.
 */
static bool may_close(const struct zkl_client *client, zkl_time now) {
    if (!client->closing) return false;
    if (now >= client->close_by) return true;
    enum zkl_session_state state = zkl_session_connection(client->session);
    if (state == ZKL_SESSION_SUSPENDED) return !zkl_session_has_claims(client->session);
    return state != ZKL_SESSION_CONNECTED || zkl_session_is_idle(client->session);
}

/* The handle to close: one that expired, or when the session ends the last one. */
static zhandle_t *take_old(struct zkl_client *client) {
    zhandle_t *old = client->retired;
    if (!old && may_close(client, zkl_now())) {
        old = client->handle;
        client->handle = NULL;
        client->retired = old; /* its events count no more */
    }
    return old;
}

static void close_old(struct zkl_client *client, zhandle_t *old) {
    zkl_client_leave(client);
    zookeeper_close(old);
    zkl_rpc_forget_all(client);
    zkl_client_enter(client);
    client->retired = NULL;
}

static void open_new(struct zkl_client *client) {
    client->opening = false;
    zkl_session_reopening(client->session);
    client->credentials_given = false;
    atomic_store(&client->credentials_unheard, false);
    client->first_pause = 0;
    zkl_session_ask_from(client->session, client->auth_scheme ? ZKL_NEVER : 0);
    zkl_client_leave(client);
    int error = open_handle(client, &client->handle, &client->servers);
    zkl_client_enter(client);
    client->open_error = error;
    client->unconnected_since = zkl_now();
    client->open_at = zkl_now() + RETRY;
    if (error) client->opening = true;
}

static bool is_probe_over(const struct zkl_client *client, zkl_time now) {
    const struct probe *probe = &client->probe;
    return probe->handle && (probe->dead || !zkl_probe_wanted(client, now));
}

static void close_probe(struct zkl_client *client) {
    zhandle_t *old = client->probe.handle;
    client->probe.handle = NULL; /* its events count no more */
    zkl_client_leave(client);
    zookeeper_close(old);
    zkl_client_enter(client);
}

static void open_probe(struct zkl_client *client) {
    struct probe *probe = &client->probe;
    probe->since = 0;
    probe->asked = probe->dead = probe->credentials_given = false;
    zkl_client_leave(client);
    open_handle(client, &probe->handle, &probe->servers);
    zkl_client_enter(client);
    probe->open_at = zkl_now() + RETRY;
}

static void *work(void *argument) {
    struct zkl_client *client = argument;
    zkl_client_enter(client);
    if (is_probe_over(client, zkl_now())) close_probe(client);
    zhandle_t *old = take_old(client);
    if (old) close_old(client, old);
    zkl_time now = zkl_now();
    if (client->closing && !client->handle) {
        if (!client->probe.handle) zkl_session_closed(client->session);
    } else if (client->opening && now >= client->open_at) open_new(client);
    else if (now >= zkl_probe_open_due(client)) open_probe(client);
    client->working = false;
    zkl_keeper_wake(client, 0);
    zkl_client_leave(client);
    zkl_client_drop(client);
    return NULL;
}

/* When there is something to do, if there is a thread to be had. */
static zkl_time work_due(const struct zkl_client *client, zkl_time now) {
    if (client->retired || may_close(client, now) || is_probe_over(client, now)) return now;
    if (client->closing) return client->close_by;
    if (client->opening) return client->open_at;
    return zkl_probe_open_due(client);
}

zkl_time zkl_handle_due(const struct zkl_client *client, zkl_time now) {
    if (client->working || zkl_session_connection(client->session) == ZKL_SESSION_CLOSED)
        return ZKL_NEVER;
    zkl_time due = work_due(client, now);
    return due > client->work_at ? due : client->work_at;
}

void zkl_handle_work(struct zkl_client *client, zkl_time now) {
    if (now < zkl_handle_due(client, now)) return;
    zkl_client_hold(client);
    client->working = true;
    int error = zkl_thread_start(work, client);
    if (!error) return;
    client->working = false; /* no thread to be had: try again */
    if (client->opening) client->open_error = error;
    client->work_at = now + RETRY;
    zkl_client_drop(client);
}
