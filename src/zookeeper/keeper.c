/*
 * keeper.c - the thread of a session that has the time: heartbeats, deadlines,
 * the end of leases by the own clock, late looks for orphans. It notices when the
 * process was stopped, because it did not come round itself. It never blocks on
 * the network: what may block is a worker's (handle.c).
 */
#include "internal.h"

void zkl_keeper_wake(struct zkl_session *session, zkl_time due) {
    if (due < session->keeper_due) session->keeper_due = due;
    pthread_cond_signal(&session->alarm);
}

/* --- heartbeats -------------------------------------------------------------------------- */

static zkl_time beat_due(const struct zkl_session *session) {
    bool busy = session->stakes || (session->watches.unwanted && !session->closing);
    if (!busy || session->state != ZKL_SESSION_CONNECTED) return ZKL_NEVER;
    zkl_time since =
        session->last_beat > session->busy_since ? session->last_beat : session->busy_since;
    return since + session->party.clock.timeout / 6;
}

static void beat(struct zkl_session *session, zkl_time now) {
    if (now < beat_due(session)) return;
    session->last_beat = now;
    struct flight *flight = zkl_flight_new(session, VERB_BEAT, NULL, NULL);
    if (flight) zkl_flight_sync(flight, "/");
    zkl_stake_beat_all(session, now);
    zkl_watches_remove_unwanted(session);
}

/* --- looks for orphans --------------------------------------------------------------------- */

static zkl_time look_due(struct zkl_session *session) {
    zkl_time due = ZKL_NEVER;
    struct path *path = NULL;
    if (session->state != ZKL_SESSION_CONNECTED) return due;
    while ((path = zkl_path_next(session, path))) {
        if (path->look_at && path->look_at < due) due = path->look_at;
    }
    return due;
}

/* A sync and a list; the answer ends the doubt (flight.c). */
static void look_at(struct zkl_session *session, struct path *path, zkl_time now) {
    struct flight *sync = zkl_flight_new(session, VERB_LOOK_SYNC, NULL, NULL);
    struct flight *fixed =
        path->fixed ? zkl_flight_new(session, VERB_LOOK_FIXED, NULL, NULL) : NULL;
    bool enough = sync && (fixed || !path->fixed);
    struct flight *list = enough ? zkl_flight_new(session, VERB_LOOK, NULL, NULL) : NULL;
    path->look_at = now + session->party.clock.timeout; /* if there is no answer */
    path->fixed_seen = false;
    if (sync) sync->look_at = path->look_at;
    if (fixed) fixed->look_at = path->look_at;
    if (list) list->look_at = path->look_at;
    if (sync) zkl_flight_sync(sync, path->text);
    if (fixed) zkl_flight_get(fixed, path->text, ZKL_NAME_FIXED);
    if (list) zkl_flight_list(list, path->text);
}

static void look(struct zkl_session *session, zkl_time now) {
    struct path *path = NULL;
    if (session->state != ZKL_SESSION_CONNECTED) return;
    while ((path = zkl_path_next(session, path))) {
        if (path->look_at && now >= path->look_at) look_at(session, path, now);
    }
}

/* --- sockets ---------------------------------------------------------------------------- */

#define SWEEP_SOON (ZKL_SECOND / 20)
#define SWEEP_LATER ZKL_SECOND
#define SWEEP_SOON_FOR (5 * ZKL_SECOND)

static bool is_connecting(const struct zkl_session *session) {
    return session->handle && session->state != ZKL_SESSION_CONNECTED;
}

/*
 * A socket that waits for its server's welcome, perhaps for long, is told from
 * others only once its peer is known: look for it (descriptors.c).
 */
static void sweep(struct zkl_session *session, zkl_time now) {
    if (!is_connecting(session) || now < session->sweep_at) return;
    zkl_descriptors_sockets(&session->servers);
    zkl_descriptors_sockets(&session->probe.servers);
    bool soon = now < session->unconnected_since + SWEEP_SOON_FOR ||
                now < session->probe.open_at + SWEEP_SOON_FOR;
    session->sweep_at = now + (soon ? SWEEP_SOON : SWEEP_LATER);
}

/* --- the loop ------------------------------------------------------------------------------ */

static zkl_time earlier(zkl_time a, zkl_time b) {
    return a < b ? a : b;
}

static zkl_time next_due(struct zkl_session *session, zkl_time now) {
    zkl_time due = earlier(beat_due(session), look_due(session));
    if (session->stakes) due = earlier(due, zkl_clock_next(&session->party.clock, now));
    due = earlier(due, zkl_stake_wake_due(session));
    due = earlier(due, zkl_watcher_due(session));
    for (const struct zkl_request *each = session->requests; each; each = each->next) {
        due = earlier(due, each->deadline);
        if (each->ask_at && !each->flights && session->state == ZKL_SESSION_CONNECTED)
            due = earlier(due, each->ask_at);
    }
    if (session->state == ZKL_SESSION_CONNECTED && session->first_question_at > now)
        due = earlier(due, session->first_question_at);
    if (is_connecting(session)) due = earlier(due, session->sweep_at);
    due = earlier(due, zkl_handle_due(session, now));
    due = earlier(due, zkl_probe_ask_due(session));
    if (session->handle) due = earlier(due, now + session->party.clock.patience / 2);
    return due;
}

static void work(struct zkl_session *session, zkl_time now) {
    zkl_clock_attend(&session->party.clock, now);
    zkl_request_overdue(session, now);
    zkl_stake_tick_all(session, now);
    zkl_stake_wake_all(session, now);
    zkl_stake_notice_all(session, now);
    beat(session, now);
    look(session, now);
    sweep(session, now);
    zkl_inquiry_start_all(session);
    zkl_watcher_start_all(session);
    zkl_probe_ask(session, now);
    zkl_handle_work(session, now);
    zkl_path_tidy(session);
}

/* Between two rounds, whatever is due: others want the mutex, and the processor. */
#define REST (ZKL_SECOND / 1000)

static void *run(void *argument) {
    struct zkl_session *session = argument;
    zkl_lock(session);
    while (session->state != ZKL_SESSION_CLOSED) {
        zkl_time now = zkl_now();
        work(session, now);
        zkl_time due = next_due(session, now);
        session->keeper_due = due < now + REST ? now + REST : due;
        zkl_wait_until(session, &session->alarm, session->keeper_due);
    }
    zkl_unlock(session);
    zkl_process_delist(session);
    zkl_session_drop(session);
    return NULL;
}

int zkl_keeper_start(struct zkl_session *session) {
    zkl_session_hold(session);
    int error = zkl_thread_start(run, session);
    if (error) zkl_session_drop(session);
    return error;
}
