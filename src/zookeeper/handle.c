/*
 * handle.c - opens and closes libzookeeper's handles, and follows their state.
 *
 * zookeeper_init() may resolve names, and zookeeper_close() joins threads for seconds. A worker
 * thread calls them, without the mutex. After an expiry it closes the handle, frees its lost
 * requests, and opens another if the options say so.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trial.h"
#include "wire.h"

/* Pause between two openings. */
#define REOPEN_PAUSE ZKL_SECOND

/*
 * Runs on the network thread. A server that refuses credentials answers and hangs up. A pending
 * request would turn that hang-up into a reset, which may destroy the answer. So the first request
 * waits until the credentials are accepted. A refusal is also a session event.
 *
 * For a lost answer libzookeeper calls this with its own lock held, so the client's mutex must not
 * be locked. libzookeeper resends the credentials on later connections, and then reports only
 * refusals. (Adding them again would report acceptance behind a request.)
 */
static void on_credentials(int rc, const void *context) {
    struct zkl_link *link = (struct zkl_link *)context;
    if (rc != ZOK && rc != ZAUTHFAILED) atomic_store(&link->credentials_answer_lost, true);
    if (rc != ZOK) return;
    zkl_session_ready_from(zkl_client_enter(link->client), 0);
    zkl_client_leave(link->client);
}

void zkl_handle_give_credentials(struct zkl_link *link, zhandle_t *handle, bool *given,
                                 void_completion_t heard) {
    if (!link->auth_scheme || *given) return;
    *given = zoo_add_auth(handle, link->auth_scheme, link->auth, (int)strlen(link->auth), heard,
                          link) == ZOK;
}

/*
 * After a lost answer, a pause without a refusal means acceptance. The pause doubles with each
 * connection, for slow servers.
 */
#define SHORTEST_PAUSE (ZKL_SECOND / 10)

static void postpone_first_request(struct zkl_link *link) {
    if (!atomic_load(&link->credentials_answer_lost)) return;
    link->first_request_pause =
        link->first_request_pause ? 2 * link->first_request_pause : SHORTEST_PAUSE;
    zkl_session_ready_from(link->session, zkl_now() + link->first_request_pause);
}

static zkl_time timeout_of(zhandle_t *handle) {
    return (zkl_time)zoo_recv_timeout(handle) * (ZKL_SECOND / 1000);
}

static uint64_t id_of(zhandle_t *handle) {
    return (uint64_t)zoo_client_id(handle)->client_id;
}

bool zkl_handle_is_sound(zhandle_t *handle) {
    return timeout_of(handle) >= ZKL_TIMEOUT_LEAST && id_of(handle) != 0;
}

static void on_connected(struct zkl_link *link, zhandle_t *handle) {
    zkl_time timeout = timeout_of(handle);
    link->trouble.short_timeout = timeout < ZKL_TIMEOUT_LEAST ? timeout : ZKL_NEVER;
    link->trouble.id_zero = id_of(handle) == 0;
    if (!zkl_handle_is_sound(handle)) {
        zkl_session_expired(link->session);
        return;
    }
    zkl_handle_give_credentials(link, handle, &link->credentials_given, on_credentials);
    postpone_first_request(link);
    zkl_gate_ignore(&link->gate);
    zkl_choice_end(&link->choice, true);
    zkl_route_connected(&link->route, zkl_names_key(&link->gate.server));
    zkl_session_connected(link->session, id_of(handle), timeout);
    zkl_trials_begin(link);
}

static void on_suspended(struct zkl_link *link) {
    if (zkl_session_connection_state(link->session) != ZKL_SESSION_CONNECTED) return;
    zkl_time now = zkl_now();
    link->unconnected_since = now;
    zkl_route_lost(&link->route, zkl_link_timeout(link), now);
    zkl_choice_begin(&link->choice);
    zkl_gate_expect(&link->gate, now);
    zkl_client_wake(link->client, 0);
    zkl_session_suspended(link->session);
}

static void on_refused(struct zkl_link *link) {
    link->credentials_refused = true;
    zkl_session_refused(link->session);
}

static void on_session_event(struct zkl_link *link, zhandle_t *handle, int state) {
    if (state == ZOO_CONNECTED_STATE) on_connected(link, handle);
    else if (state == ZOO_CONNECTING_STATE) on_suspended(link);
    else if (state == ZOO_EXPIRED_SESSION_STATE) zkl_session_expired(link->session);
    else if (state == ZOO_AUTH_FAILED_STATE) on_refused(link);
}

/*
 * After a connection nothing of the handle may be inherited by a child program. So the event waits
 * for the end of init_handle(), and for a search.
 */
static void wait_for_close_on_exec(struct zkl_link *link) {
    pthread_mutex_lock(&link->opening);
    pthread_mutex_unlock(&link->opening);
    zkl_lock(link->client);
    zkl_search(link);
    zkl_unlock(link->client);
}

/* Runs on the completion thread. rpc.c watches nodes. */
static void on_event(zhandle_t *handle, int type, int state, const char *node, void *context) {
    struct zkl_link *link = context;
    (void)node;
    if (type != ZOO_SESSION_EVENT) return;
    if (state == ZOO_CONNECTED_STATE) wait_for_close_on_exec(link);
    /* before the session creates its first node, as a crash may follow */
    if (state == ZOO_CONNECTED_STATE && zkl_handle_is_sound(handle))
        zkl_recovery_save(link, handle);
    zkl_client_enter(link->client);
    if (link->handle == handle) on_session_event(link, handle, state);
    else if (link->probe.handle == handle) zkl_probe_event(link, state);
    zkl_client_leave(link->client);
}

/* --- opening -------------------------------------------------------------------------- */

/* The addresses are numeric. 0, or an errno value. */
static int init_handle(struct zkl_link *link, const char *hosts, zhandle_t **to) {
    struct descriptors *before = zkl_descriptors_note_pipes();
    pthread_mutex_lock(&link->opening);
    zkl_lock(link->client); /* no event comes before `to` is set */
    *to = zookeeper_init2(hosts, on_event, zkl_milliseconds(link->timeout_wanted), NULL, link,
                          ZOO_NO_LOG_CLIENTENV, zkl_complaint_hear);
    int error = *to ? 0 : errno ? errno : EIO;
    if (*to) zoo_set_servers_resolution_delay(*to, -1);
    zkl_unlock(link->client);
    zkl_descriptors_close_new_pipes_on_exec(before);
    pthread_mutex_unlock(&link->opening);
    return error;
}

/* Without a gate libzookeeper walks all servers, the chosen one first. The mutex is held. */
static char *first_host_list(const struct choice *choice) {
    const struct zkl_link *link = choice->link;
    if (zkl_gate_begin(choice->gate) == 0)
        return zkl_gate_list(choice->gate, &choice->target.server, link->chroot);
    return zkl_hosts_format(&link->servers, choice->target.index, link->chroot);
}

/* Opens a handle at the chosen server, without the mutex. 0, or an errno value. */
static int open_handle(const struct choice *choice, zhandle_t **to) {
    struct zkl_link *link = choice->link;
    zkl_lock(link->client);
    char *hosts = first_host_list(choice);
    zkl_unlock(link->client);
    int error = hosts ? zkl_check_thread_room() : ENOMEM;
    zkl_gate_keep_order();
    if (!error) error = init_handle(link, hosts, to);
    zkl_gate_any_order();
    free(hosts);
    if (!error) return 0;
    zkl_lock(link->client);
    zkl_gate_end(choice->gate);
    zkl_unlock(link->client);
    return error;
}

/* --- the end ---------------------------------------------------------------------------------- */

void zkl_handle_retire(struct zkl_link *link) {
    if (!link->handle) return;
    link->retired = link->handle;
    link->handle = NULL;
    link->wants_handle = link->reopen && !link->credentials_refused;
    zkl_route_lost(&link->route, zkl_link_timeout(link), zkl_now());
    zkl_choice_begin(&link->choice);
    zkl_client_wake(link->client, 0);
}

/* --- the worker, with the mutex held except to open or close ------------------------------- */

/*
 * Takes the expired handle, one in vain, or that of a client that may close. A closing client first
 * waits for its replies, because zookeeper_close() takes any reply for the answer to its close
 * request, which a reset could then overtake.
 */
static zhandle_t *take_old_handle(struct zkl_link *link) {
    zhandle_t *old = link->retired;
    bool in_vain = zkl_choice_is_in_vain(&link->choice);
    if (!old && (in_vain || zkl_client_may_close(link->client, zkl_now()))) {
        old = link->handle;
        link->handle = NULL;
        link->retired = old; /* its events are ignored now */
        if (in_vain) link->wants_handle = true;
        if (in_vain) link->open_at = 0;
    }
    return old;
}

/* zookeeper_close() waits so long for the server's answer, and does not tell whether one came. */
#define ANSWERS_CLOSE_WITHIN (3 * ZKL_SECOND / 2)

/* True if the session is over, too. */
static bool close_for_good(zhandle_t *handle) {
    int state = zoo_state(handle);
    zkl_time begin = zkl_now();
    zookeeper_close(handle);
    bool answered = zkl_now() - begin < ANSWERS_CLOSE_WITHIN;
    return state == ZOO_EXPIRED_SESSION_STATE || (state == ZOO_CONNECTED_STATE && answered);
}

static void close_old_handle(struct zkl_link *link, zhandle_t *old) {
    zkl_client_leave(link->client);
    zkl_recovery_forget(link, close_for_good(old));
    zkl_rpc_forget_all(link);
    zkl_client_enter(link->client);
    zkl_gate_end(&link->gate);
    link->retired = NULL;
}

static void open_new_handle(struct zkl_link *link) {
    if (!zkl_choice_next(&link->choice, zkl_now())) return;
    link->wants_handle = false;
    zkl_session_reopening(link->session);
    zkl_trials_renew(link);
    link->credentials_given = false;
    atomic_store(&link->credentials_answer_lost, false);
    link->first_request_pause = 0;
    zkl_session_ready_from(link->session, link->auth_scheme ? ZKL_NEVER : 0);
    zkl_client_leave(link->client);
    int error = open_handle(&link->choice, &link->handle);
    zkl_client_enter(link->client);
    link->trouble.error = error;
    link->unconnected_since = zkl_now();
    link->open_at = zkl_now() + REOPEN_PAUSE;
    if (error) link->wants_handle = true;
}

static bool is_probe_over(const struct zkl_link *link, zkl_time now) {
    const struct probe *probe = &link->probe;
    return probe->handle && (probe->dead || !zkl_probe_wanted(link, now));
}

static void close_probe(struct zkl_link *link) {
    zhandle_t *old = link->probe.handle;
    link->probe.handle = NULL; /* its events are ignored now */
    zkl_choice_end(&link->probe.choice, false);
    zkl_client_leave(link->client);
    zookeeper_close(old);
    zkl_client_enter(link->client);
    zkl_gate_end(&link->probe.gate);
}

static void open_probe(struct zkl_link *link) {
    struct probe *probe = &link->probe;
    probe->connected_at = 0;
    probe->awaits_answer = probe->dead = probe->credentials_given = false;
    zkl_route_clear(&probe->route);
    zkl_route_init(&probe->route, link->route.random_state, zkl_now());
    zkl_names_tell_route(link, &probe->route);
    if (probe->route.count > 0) { /* else memory was lacking */
        zkl_choice_begin(&probe->choice);
        zkl_choice_unasked(&probe->choice, zkl_now());
        zkl_client_leave(link->client);
        open_handle(&probe->choice, &probe->handle);
        zkl_client_enter(link->client);
    }
    probe->open_at = zkl_now() + REOPEN_PAUSE;
}

/* New handles use newly resolved addresses. */
static zkl_time opening_due(const struct zkl_link *link) {
    if (!link->wants_handle || link->route.state != ZKL_ROUTE_FRESH) return ZKL_NEVER;
    zkl_time due = zkl_choice_due(&link->choice);
    return due > link->open_at ? due : link->open_at;
}

static void *run_worker(void *argument) {
    struct zkl_link *link = argument;
    zkl_client_enter(link->client);
    if (is_probe_over(link, zkl_now())) close_probe(link);
    zhandle_t *old = take_old_handle(link);
    if (old) close_old_handle(link, old);
    zkl_time now = zkl_now();
    if (zkl_client_is_closing(link->client) && !link->handle) {
        zkl_choice_end(&link->choice, false);
        if (!link->probe.handle) zkl_session_closed(link->session);
    } else if (now >= opening_due(link)) open_new_handle(link);
    else if (now >= zkl_probe_open_due(link)) open_probe(link);
    link->worker_runs = false;
    zkl_client_wake(link->client, 0);
    zkl_client_leave(link->client);
    zkl_client_drop(link->client);
    return NULL;
}

static zkl_time worker_due(const struct zkl_link *link, zkl_time now) {
    if (link->retired || zkl_choice_is_in_vain(&link->choice) ||
        zkl_client_may_close(link->client, now) || is_probe_over(link, now))
        return now;
    if (zkl_client_is_closing(link->client)) return zkl_client_close_by(link->client);
    if (link->wants_handle) return opening_due(link);
    return zkl_probe_open_due(link);
}

zkl_time zkl_handle_due(const struct zkl_link *link, zkl_time now) {
    if (link->worker_runs || zkl_session_connection_state(link->session) == ZKL_SESSION_CLOSED)
        return ZKL_NEVER;
    zkl_time due = worker_due(link, now);
    return due > link->work_at ? due : link->work_at;
}

void zkl_handle_work(struct zkl_link *link, zkl_time now) {
    if (now < zkl_handle_due(link, now)) return;
    link->worker_runs = true;
    int error = zkl_client_start_thread(link->client, run_worker, link);
    if (!error) return;
    link->worker_runs = false; /* for lack of a thread */
    if (link->wants_handle) link->trouble.error = error;
    link->work_at = now + REOPEN_PAUSE;
}
