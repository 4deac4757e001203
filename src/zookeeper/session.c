/* session.c - the life of a session: from the wish to connect until it is closed. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

/* --- life ------------------------------------------------------------------------------ */

void zkl_session_hold(struct zkl_session *session) {
    atomic_fetch_add(&session->references, 1);
}

static void destroy(struct zkl_session *session) {
    zkl_inbox_destroy(session);
    zkl_watches_clear(&session->watches);
    zkl_path_tidy(session);
    pthread_cond_destroy(&session->news);
    pthread_cond_destroy(&session->alarm);
    pthread_mutex_destroy(&session->mutex);
    free(session->servers.list);
    free(session->probe.servers.list);
    free(session->hosts);
    free(session->chroot);
    free(session->auth_scheme);
    free(session->auth);
    free(session->identity);
    free(session);
}

void zkl_session_drop(struct zkl_session *session) {
    if (zkl_session_foreign(session)) return;
    if (atomic_fetch_sub(&session->references, 1) == 1) destroy(session);
}

bool zkl_session_foreign(const zkl_session *session) {
    return !zkl_process_is(session->process);
}

static bool copy(char **to, const char *from) {
    *to = from ? strdup(from) : NULL;
    return !from || *to;
}

static bool copy_options(struct zkl_session *session, const struct zkl_options *options) {
    session->timeout_wanted = options->timeout;
    session->margin = options->margin;
    session->acl = options->acl;
    session->reopen = options->reopen;
    session->containers = options->containers;
    return copy(&session->hosts, options->hosts) && copy(&session->chroot, options->chroot) &&
           copy(&session->auth_scheme, options->auth_scheme) &&
           copy(&session->auth, options->auth) && copy(&session->identity, options->identity);
}

static void init_threading(struct zkl_session *session) {
    pthread_condattr_t monotonic;
    pthread_mutex_init(&session->mutex, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&session->news, &monotonic);
    pthread_cond_init(&session->alarm, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

zkl_session *zkl_session_new(const struct zkl_options *options) {
    struct zkl_session *session = calloc(1, sizeof *session);
    if (!session) return NULL;
    atomic_init(&session->references, 1);
    session->process = getpid();
    session->opening = true;
    session->keeper_due = ZKL_NEVER;
    session->denied = ZKL_NEVER;
    session->party.clock.patience = options->timeout / 12;
    session->stakes_end = &session->stakes;
    session->random = (uint64_t)zkl_now() ^ (uint64_t)session->process << 40;
    session->watches.overhead = strlen(options->chroot) + 4;
    init_threading(session);
    zkl_inbox_init(session);
    int error = copy_options(session, options) ? 0 : ENOMEM;
    if (!error && zkl_process_enlist(session) != 0) error = ENOMEM;
    if (!error) error = zkl_keeper_start(session);
    if (!error) return session;
    zkl_process_delist(session);
    destroy(session);
    errno = error;
    return NULL;
}

/* --- states; the mutex is held ----------------------------------------------------------- */

void zkl_session_change(struct zkl_session *session, enum zkl_session_state state) {
    session->state = state;
    zkl_inbox_post_state(session);
}

void zkl_session_connected(struct zkl_session *session, uint64_t id, zkl_time timeout) {
    zkl_time now = zkl_now();
    if (session->party.session == id) {
        session->stats.reconnects++;
        zkl_stake_tick_all(session, now); /* what ran out by the old timeout is lost */
        zkl_clock_retime(&session->party.clock, timeout, session->margin, now);
    } else {
        zkl_clock_start(&session->party.clock, timeout, session->margin, now);
    }
    session->party.session = id;
    session->party.clock.connected = true;
    session->denied = ZKL_NEVER;
    zkl_descriptors_sockets(&session->servers);
    zkl_session_change(session, ZKL_SESSION_CONNECTED);
    zkl_watches_remove_unwanted(session); /* ahead of what is asked for anew */
    zkl_stake_resume_all(session, now);
    zkl_inquiry_start_all(session);
    zkl_watcher_start_all(session);
    session->last_beat = 0; /* a proof at once, for whoever is suspect */
    zkl_keeper_wake(session, 0);
}

void zkl_session_suspended(struct zkl_session *session) {
    if (session->state != ZKL_SESSION_CONNECTED) return;
    session->party.clock.connected = false;
    session->unconnected_since = zkl_now();
    zkl_session_change(session, ZKL_SESSION_SUSPENDED);
    zkl_stake_suspend_all(session);
    zkl_stake_notice_all(session, zkl_now());
    zkl_keeper_wake(session, 0);
}

/* The handle is dead, and all that belonged to its session. */
static void retire(struct zkl_session *session) {
    zkl_clock_stop(&session->party.clock);
    session->party.session = 0;
    session->created = 0;
    session->retired = session->handle;
    session->handle = NULL;
    for (struct path *path = NULL; (path = zkl_path_next(session, path));) {
        zkl_line_clear(&path->line);
        path->look_at = 0;
        zkl_path_idle(session, path);
    }
}

void zkl_session_expired(struct zkl_session *session) {
    if (!session->handle) return;
    session->stats.expiries++;
    retire(session);
    zkl_session_change(session, ZKL_SESSION_EXPIRED);
    zkl_stake_expire_all(session);
    zkl_watches_clear(&session->watches);
    zkl_request_fail_all(session, ZKL_EXPIRED);
    session->opening = session->reopen;
    zkl_keeper_wake(session, 0);
}

void zkl_session_denied(struct zkl_session *session, zkl_time timeout) {
    session->denied = timeout;
    zkl_session_expired(session);
}

void zkl_session_refused(struct zkl_session *session) {
    session->refused = true; /* whoever asks from now on is to hear why */
    zkl_request_fail_all(session, ZKL_AUTH);
    zkl_session_expired(session);
    session->opening = session->reopen = false; /* they would be refused again */
}

void zkl_session_closed(struct zkl_session *session) {
    retire(session);
    session->retired = NULL;
    zkl_stake_expire_all(session);
    zkl_watches_clear(&session->watches);
    zkl_session_change(session, ZKL_SESSION_CLOSED);
    zkl_path_tidy(session);
}

/* --- closing -------------------------------------------------------------------------------- */

/* Half of the time is for what is under way, half for zookeeper_close(). */
void zkl_session_begin_close(struct zkl_session *session, zkl_time due) {
    zkl_time now = zkl_now(), close_by = now + (due - now) / 2;
    zkl_lock(session);
    if (!session->closing) {
        session->closing = true;
        session->close_by = close_by;
        zkl_stake_close_all(session);
        zkl_request_fail_all(session, ZKL_CLOSED);
        zkl_watcher_end_all(session);
    }
    if (close_by < session->close_by) session->close_by = close_by;
    zkl_keeper_wake(session, 0);
    zkl_unlock(session);
}

void zkl_session_close_soon(zkl_session *session, zkl_time bound) {
    zkl_session_begin_close(session, zkl_due(bound));
}

bool zkl_session_ended(zkl_session *session) {
    zkl_lock(session);
    bool ended = session->state == ZKL_SESSION_CLOSED;
    zkl_unlock(session);
    return ended;
}

bool zkl_session_close(zkl_session *session, zkl_time bound) {
    zkl_time due = zkl_due(bound);
    zkl_session_begin_close(session, due);
    zkl_lock(session);
    while (session->state != ZKL_SESSION_CLOSED && zkl_now() < due)
        zkl_wait_until(session, &session->news, due);
    bool closed = session->state == ZKL_SESSION_CLOSED;
    zkl_unlock(session);
    return closed;
}

/* --- what a session tells ------------------------------------------------------------------- */

/*
 * A lease ran out for want of a proof, and there was none since: after a stop of the process
 * libzookeeper may not know yet that the connection is lost.
 */
static bool is_outdated(struct zkl_session *session) {
    const struct zkl_clock *clock = &session->party.clock;
    zkl_time now = zkl_now();
    if (zkl_clock_phase(clock, clock->epoch, now) != ZKL_PHASE_LOST) return false;
    zkl_stake_tick_all(session, now);
    const struct stake *stake = session->stakes;
    while (stake && stake->claim.code != ZKL_LOST) stake = stake->next;
    return stake != NULL;
}

enum zkl_session_state zkl_session_state(zkl_session *session) {
    zkl_lock(session);
    enum zkl_session_state state = session->closing ? ZKL_SESSION_CLOSED : session->state;
    if (state == ZKL_SESSION_CONNECTED && is_outdated(session)) state = ZKL_SESSION_SUSPENDED;
    zkl_unlock(session);
    return state;
}

uint64_t zkl_session_id(zkl_session *session) {
    zkl_lock(session);
    uint64_t id = session->party.session;
    zkl_unlock(session);
    return id;
}

zkl_time zkl_session_timeout(zkl_session *session) {
    zkl_lock(session);
    zkl_time timeout = session->party.clock.timeout;
    zkl_unlock(session);
    return timeout;
}

int zkl_session_trouble(zkl_session *session) {
    zkl_lock(session);
    int error = session->open_error;
    zkl_unlock(session);
    return error;
}

zkl_time zkl_session_denial(zkl_session *session) {
    zkl_lock(session);
    zkl_time timeout = session->denied;
    zkl_unlock(session);
    return timeout;
}

void zkl_session_stats(zkl_session *session, struct zkl_stats *stats) {
    zkl_lock(session);
    *stats = session->stats;
    stats->watches = session->watches.count;
    stats->watch_bytes = session->watches.bytes;
    stats->paths = session->node_bytes;
    zkl_unlock(session);
}
