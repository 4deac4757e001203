/*
 * keeper.c - the thread of a client that has the time, for the session's ticks. The session
 * notices when the process was stopped, because the keeper did not come round. It never blocks
 * on the network: what may block is a worker's (handle.c).
 */
#include "internal.h"

void zkl_keeper_wake(struct zkl_client *client, zkl_time due) {
    if (due < client->keeper_due) client->keeper_due = due;
    pthread_cond_signal(&client->alarm);
}

/* --- sockets ---------------------------------------------------------------------------- */

#define SWEEP_SOON (ZKL_SECOND / 20)
#define SWEEP_LATER ZKL_SECOND
#define SWEEP_SOON_FOR (5 * ZKL_SECOND)

static bool is_connecting(const struct zkl_client *client) {
    return client->handle && zkl_session_connection(client->session) != ZKL_SESSION_CONNECTED;
}

/*
 * A socket that waits for its server's welcome, perhaps for long, is told from
 * others only once its peer is known: look for it (descriptors.c).
 */
static void sweep(struct zkl_client *client, zkl_time now) {
    if (!is_connecting(client) || now < client->sweep_at) return;
    zkl_descriptors_sockets(&client->servers);
    zkl_descriptors_sockets(&client->probe.servers);
    bool soon = now < client->unconnected_since + SWEEP_SOON_FOR ||
                now < client->probe.open_at + SWEEP_SOON_FOR;
    client->sweep_at = now + (soon ? SWEEP_SOON : SWEEP_LATER);
}

/* --- the loop ------------------------------------------------------------------------------ */

static zkl_time earlier(zkl_time a, zkl_time b) {
    return a < b ? a : b;
}

static zkl_time next_due(struct zkl_client *client, zkl_time now) {
    zkl_time due = zkl_session_due(client->session);
    if (is_connecting(client)) due = earlier(due, client->sweep_at);
    due = earlier(due, zkl_handle_due(client, now));
    return earlier(due, zkl_probe_ask_due(client));
}

static void work(struct zkl_client *client, zkl_time now) {
    zkl_session_at(client->session, now);
    zkl_session_tick(client->session);
    zkl_client_settle(client);
    sweep(client, now);
    zkl_probe_ask(client, now);
    zkl_handle_work(client, now);
}

/* Between two rounds, whatever is due: others want the mutex, and the processor. */
#define REST (ZKL_SECOND / 1000)

static void *run(void *argument) {
    struct zkl_client *client = argument;
    zkl_lock(client);
    while (zkl_session_connection(client->session) != ZKL_SESSION_CLOSED) {
        zkl_time now = zkl_now();
        work(client, now);
        zkl_time due = next_due(client, now);
        client->keeper_due = due < now + REST ? now + REST : due;
        zkl_wait_until(client, &client->alarm, client->keeper_due);
    }
    zkl_unlock(client);
    zkl_process_delist(client);
    zkl_client_drop(client);
    return NULL;
}

int zkl_keeper_start(struct zkl_client *client) {
    int error = zkl_thread_start(run, zkl_client_hold(client));
    if (error) zkl_client_drop(client);
    return error;
}
