/*
 * timer.c - the thread of a client's rounds. A late round shows the session that the process was
 * stopped. The timer never blocks on the network, for which the link has threads of its own.
 */
#include "internal.h"

static void *run_rounds(void *argument) {
    struct threaded *self = argument;
    zkl_client *client = &self->client;
    zkl_lock(client);
    while (!zkl_client_session_is_closed(client)) {
        zkl_client_round(client, zkl_now());
        zkl_wait_until(self, &self->alarm, client->round_due);
    }
    zkl_unlock(client);
    zkl_process_delist(self);
    zkl_client_drop(client);
    return NULL;
}

int zkl_timer_start(struct threaded *self) {
    zkl_client *client = zkl_client_ref(&self->client);
    int error = zkl_thread_start(run_rounds, self);
    if (error) zkl_client_drop(client);
    return error;
}
