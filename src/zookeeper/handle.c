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
    struct zkl_session *session = (struct zkl_session *)context;
    if (rc != ZOK && rc != ZAUTHFAILED) atomic_store(&session->credentials_unheard, true);
    if (rc != ZOK) return;
    zkl_lock(session);
    session->first_question_at = 0;
    zkl_inquiry_start_all(session);
    zkl_unlock(session);
}

/*
 * With the first connection of a handle, which repeats them at each later one; between two
 * attempts to connect it takes none.
 */
static void give_credentials(struct zkl_session *session, zhandle_t *handle) {
    if (!session->auth_scheme || session->credentials_given) return;
    int rc = zoo_add_auth(handle, session->auth_scheme, session->auth, (int)strlen(session->auth),
                          on_credentials, session);
    session->credentials_given = rc == ZOK;
}

/*
 * On a connection that does not tell, no refusal for a while is taken for consent. Each time the
 * while is twice as long, so that a refusal is heard in the end, however slow the server is.
 */
#define SHORTEST_PAUSE (ZKL_SECOND / 10)

static void postpone_first_question(struct zkl_session *session) {
    if (!atomic_load(&session->credentials_unheard)) return;
    session->first_pause = session->first_pause ? 2 * session->first_pause : SHORTEST_PAUSE;
    session->first_question_at = zkl_now() + session->first_pause;
}

zkl_time zkl_handle_timeout(zhandle_t *handle) {
    return (zkl_time)zoo_recv_timeout(handle) * (ZKL_SECOND / 1000);
}

static void on_connected(struct zkl_session *session, zhandle_t *handle) {
    zkl_time timeout = zkl_handle_timeout(handle);
    if (timeout < ZKL_TIMEOUT_LEAST) {
        zkl_session_denied(session, timeout);
        return;
    }
    give_credentials(session, handle); /* ahead of all that is asked */
    postpone_first_question(session);
    zkl_session_connected(session, (uint64_t)zoo_client_id(handle)->client_id, timeout);
}

static void on_session_event(struct zkl_session *session, zhandle_t *handle, int state) {
    if (state == ZOO_CONNECTED_STATE) on_connected(session, handle);
    else if (state == ZOO_CONNECTING_STATE) zkl_session_suspended(session);
    else if (state == ZOO_EXPIRED_SESSION_STATE) zkl_session_expired(session);
    else if (state == ZOO_AUTH_FAILED_STATE) zkl_session_refused(session);
}

/* Runs on the completion thread; node events have a watcher of their own (flight.c). */
static void on_event(zhandle_t *handle, int type, int state, const char *node, void *context) {
    struct zkl_session *session = context;
    (void)node;
    if (type != ZOO_SESSION_EVENT) return;
    zkl_lock(session);
    if (session->handle == handle) on_session_event(session, handle, state);
    else if (session->probe.handle == handle) zkl_probe_event(session, state);
    zkl_unlock(session);
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
static int open_at(struct zkl_session *session, const char *hosts, zhandle_t **to) {
    struct descriptors *before = zkl_descriptors_before();
    zkl_lock(session);
    *to = zookeeper_init2(hosts, on_event, milliseconds(session->timeout_wanted), NULL, session,
                          ZOO_NO_LOG_CLIENTENV, discard);
    int error = *to ? 0 : errno ? errno : EIO;
    if (*to) zoo_set_servers_resolution_delay(*to, -1);
    zkl_descriptors_after(before);
    zkl_unlock(session);
    return error;
}

/*
 * Sets `to` and its addresses, of which descriptors.c has to know. 0, or why
 * there is no handle: an EAI_ code (negative) or an errno value.
 */
static int open_handle(struct zkl_session *session, zhandle_t **to, struct servers *addresses) {
    struct servers servers;
    int error = zkl_hosts_resolve(session->hosts, &servers);
    if (error) return error;
    zkl_lock(session);
    free(addresses->list);
    *addresses = servers;
    zkl_unlock(session);
    char *hosts = zkl_hosts_format(&servers, session->chroot); /* only a worker changes them */
    error = hosts ? zkl_thread_room() : ENOMEM;
    if (!error) error = open_at(session, hosts, to);
    free(hosts);
    return error;
}

/* --- the worker; the mutex is held, but while it opens or closes --------------------------- */

/*
 * A session with nodes waits a while for a connection, to close in order. One
 * with replies due waits for them: zookeeper_close() takes the first of them
 * for its own, and the reset that follows may overtake its request.
 */
static bool may_close(const struct zkl_session *session, zkl_time now) {
    if (!session->closing) return false;
    if (now >= session->close_by) return true;
    if (session->state == ZKL_SESSION_SUSPENDED) return !session->stakes;
    return session->state != ZKL_SESSION_CONNECTED || !session->flights;
}

/* The handle to close: one that expired, or when the session ends the last one. */
static zhandle_t *take_old(struct zkl_session *session) {
    zhandle_t *old = session->retired;
    if (!old && may_close(session, zkl_now())) {
        old = session->handle;
        session->handle = NULL;
        session->retired = old; /* its events count no more */
    }
    return old;
}

static void close_old(struct zkl_session *session, zhandle_t *old) {
    zkl_unlock(session);
    zookeeper_close(old);
    zkl_flight_abandon_all(session);
    zkl_lock(session);
    session->retired = NULL;
}

static void open_new(struct zkl_session *session) {
    session->opening = false;
    if (session->state == ZKL_SESSION_EXPIRED) zkl_session_change(session, ZKL_SESSION_CONNECTING);
    session->credentials_given = false;
    atomic_store(&session->credentials_unheard, false);
    session->first_question_at = session->auth_scheme ? ZKL_NEVER : 0;
    session->first_pause = 0;
    zkl_unlock(session);
    int error = open_handle(session, &session->handle, &session->servers);
    zkl_lock(session);
    session->open_error = error;
    session->unconnected_since = zkl_now();
    session->open_at = zkl_now() + RETRY;
    if (error) session->opening = true;
}

static bool is_probe_over(const struct zkl_session *session, zkl_time now) {
    const struct probe *probe = &session->probe;
    return probe->handle && (probe->dead || !zkl_probe_wanted(session, now));
}

static void close_probe(struct zkl_session *session) {
    zhandle_t *old = session->probe.handle;
    session->probe.handle = NULL; /* its events count no more */
    zkl_unlock(session);
    zookeeper_close(old);
    zkl_lock(session);
}

static void open_probe(struct zkl_session *session) {
    struct probe *probe = &session->probe;
    probe->since = 0;
    probe->asked = probe->dead = probe->credentials_given = false;
    zkl_unlock(session);
    open_handle(session, &probe->handle, &probe->servers);
    zkl_lock(session);
    probe->open_at = zkl_now() + RETRY;
}

static void *work(void *argument) {
    struct zkl_session *session = argument;
    zkl_lock(session);
    if (is_probe_over(session, zkl_now())) close_probe(session);
    zhandle_t *old = take_old(session);
    if (old) close_old(session, old);
    zkl_time now = zkl_now();
    if (session->closing && !session->handle) {
        if (!session->probe.handle) zkl_session_closed(session);
    } else if (session->opening && now >= session->open_at) open_new(session);
    else if (now >= zkl_probe_open_due(session)) open_probe(session);
    session->working = false;
    zkl_keeper_wake(session, 0);
    zkl_unlock(session);
    zkl_session_drop(session);
    return NULL;
}

/* When there is something to do, if there is a thread to be had. */
static zkl_time work_due(const struct zkl_session *session, zkl_time now) {
    if (session->retired || may_close(session, now) || is_probe_over(session, now)) return now;
    if (session->closing) return session->close_by;
    if (session->opening) return session->open_at;
    return zkl_probe_open_due(session);
}

zkl_time zkl_handle_due(const struct zkl_session *session, zkl_time now) {
    if (session->working || session->state == ZKL_SESSION_CLOSED) return ZKL_NEVER;
    zkl_time due = work_due(session, now);
    return due > session->work_at ? due : session->work_at;
}

void zkl_handle_work(struct zkl_session *session, zkl_time now) {
    if (now < zkl_handle_due(session, now)) return;
    zkl_session_hold(session);
    session->working = true;
    int error = zkl_thread_start(work, session);
    if (!error) return;
    session->working = false; /* no thread to be had: try again */
    if (session->opening) session->open_error = error;
    session->work_at = now + RETRY;
    zkl_session_drop(session);
}
