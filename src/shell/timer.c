/*
 * timer.c - the thread of a client that has the time, for the session's ticks and for the link.
 * The session notices when the process was stopped, because the timer did not come round. It
 * never blocks on the network: what may block is the link's, in threads of its own.
 */
#include "internal.h"

static void work(struct zkl_client *client, zkl_time now) {
    zkl_session_at(client->session, now);
    zkl_session_tick(client->session);
    client->class->work(client->link, now);
    zkl_client_settle(client);
}

/* Between two rounds, whatever is due: others want the mutex, and the processor. */
#define REST (ZKL_SECOND / 1000)

static void *run(void *argument) {
    struct zkl_client *client = argument;
    zkl_lock(client);
    while (zkl_session_connection(client->session) != ZKL_SESSION_CLOSED) {
        zkl_time now = zkl_now();
        work(client, now);
        zkl_time due =
            zkl_earlier(zkl_session_due(client->session), client->class->due(client->link, now));
        client->timer_due = due < now + REST ? now + REST : due;
        zkl_wait_until(client, &client->alarm, client->timer_due);
    }
    zkl_unlock(client);
    zkl_process_delist(client);
    zkl_client_drop(client);
    return NULL;
}

int zkl_timer_start(struct zkl_client *client) {
    int error = zkl_thread_start(run, zkl_client_hold(client));
    if (error) zkl_client_drop(client);
    return error;
}
