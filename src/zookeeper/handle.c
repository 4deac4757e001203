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

#define RETRY_OPEN ZKL_SECOND

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
 * is not for us. It gives them again with the next connection and tells nobody: then the first
 * question does not wait.
 */
static void on_credentials(int rc, const void *context) {
    struct zkl_session *session = (struct zkl_session *)context;
    if (rc != ZAUTHFAILED) atomic_store(&session->credentials_known, true);
    if (rc != ZOK) return;
    zkl_lock(session);
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

static void on_connected(struct zkl_session *session, zhandle_t *handle) {
    give_credentials(session, handle); /* ahead of all that is asked */
    zkl_session_connected(session, (uint64_t)zoo_client_id(handle)->client_id,
                          (zkl_time)zoo_recv_timeout(handle) * (ZKL_SECOND / 1000));
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
    if (!session->handle && session->retired != handle) session->handle = handle;
    if (session->handle == handle) on_session_event(session, handle, state);
    zkl_unlock(session);
}

/* --- opening -------------------------------------------------------------------------- */

/*
 * The session timeout to ask for, in milliseconds. It is also libzookeeper's
 * limit for the handshake, so less than LEAST never connects, and it computes
 * with it in an int. The server has closer limits of its own.
 */
#define LEAST 100
#define MOST ((zkl_time)24 * 3600 * 1000)

static int milliseconds(zkl_time timeout) {
    zkl_time rounded = timeout / (ZKL_SECOND / 1000);
    if (rounded < LEAST) return LEAST;
    return rounded > MOST ? MOST : (int)rounded;
}

/*
 * With the mutex, so that nobody hears of the connection before the pipe is kept
 * from child programs. The addresses are numeric: nothing is resolved here.
 */
static zhandle_t *open_at(struct zkl_session *session, const char *hosts) {
    struct descriptors *before = zkl_descriptors_before();
    zkl_lock(session);
    zhandle_t *handle = zookeeper_init2(hosts, on_event, milliseconds(session->timeout_wanted),
                                        NULL, session, ZOO_NO_LOG_CLIENTENV, discard);
    int error = handle || errno ? errno : EIO;
    if (handle) zoo_set_servers_resolution_delay(handle, -1);
    session->credentials_given = false;
    atomic_store(&session->credentials_known, !session->auth_scheme);
    zkl_descriptors_after(before);
    zkl_unlock(session);
    errno = error;
    return handle;
}

/* Takes the addresses, for descriptors.c and the connect string. NULL: no memory. */
static char *adopt_servers(struct zkl_session *session, struct sockaddr_storage *servers,
                           size_t count) {
    zkl_lock(session);
    free(session->servers);
    session->servers = servers;
    session->server_count = count;
    zkl_unlock(session);
    return zkl_hosts_format(servers, count, session->chroot);
}

/* 0, or why there is no handle: an EAI_ code (negative) or an errno value. */
static int open_handle(struct zkl_session *session) {
    struct sockaddr_storage *servers;
    size_t count;
    int error = zkl_hosts_resolve(session->hosts, &servers, &count);
    if (error) return error;
    char *hosts = adopt_servers(session, servers, count);
    if (!hosts) return ENOMEM;
    zhandle_t *handle = open_at(session, hosts);
    error = handle ? 0 : errno;
    free(hosts);
    zkl_lock(session);
    if (handle && session->retired != handle) session->handle = handle;
    zkl_unlock(session);
    return error;
}

/* --- the worker ------------------------------------------------------------------------- */

/* The handle to close: one that expired, or when the session ends the last one. */
static zhandle_t *take_old(struct zkl_session *session) {
    zhandle_t *old = session->retired;
    if (session->closing && !old) {
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
    zkl_unlock(session);
    int error = open_handle(session);
    zkl_lock(session);
    session->open_error = error;
    session->unconnected_since = zkl_now();
    if (error == 0) return;
    session->opening = true;
    session->open_at = zkl_now() + RETRY_OPEN;
}

static void *work(void *argument) {
    struct zkl_session *session = argument;
    zkl_lock(session);
    zhandle_t *old = take_old(session);
    if (old) close_old(session, old);
    if (session->closing && !session->handle) zkl_session_closed(session);
    else if (session->opening) open_new(session);
    session->working = false;
    zkl_keeper_wake(session, 0);
    zkl_unlock(session);
    zkl_session_drop(session);
    return NULL;
}

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

void zkl_handle_work(struct zkl_session *session) {
    zkl_time now = zkl_now();
    if (session->working || session->state == ZKL_SESSION_CLOSED) return;
    bool wanted = session->retired || may_close(session, now) ||
                  (session->opening && !session->closing && now >= session->open_at);
    if (!wanted) return;
    zkl_session_hold(session);
    session->working = true;
    if (zkl_thread_start(work, session) == 0) return;
    session->working = false; /* no thread to be had: try again */
    session->open_at = session->close_by = now + RETRY_OPEN;
    zkl_session_drop(session);
}
