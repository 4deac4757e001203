/*
 * threads.c - the runtime of a client with threads.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "internal.h"

static zkl_time now(const struct zkl_client *client) {
    (void)client;
    return zkl_now();
}

static void wake(struct zkl_client *client) {
    pthread_cond_signal(&zkl_threaded(client)->alarm);
}

static void news(struct zkl_client *client) {
    zkl_inbox_update(zkl_threaded(client));
}

static void destroy(struct zkl_client *client) {
    struct threaded *self = zkl_threaded(client);
    zkl_inbox_destroy(self);
    zkl_client_clear(client);
    pthread_cond_destroy(&self->news);
    pthread_cond_destroy(&self->alarm);
    pthread_mutex_destroy(&self->mutex);
    free(self);
}

static const struct zkl_runtime threads = {now, zkl_lock, zkl_unlock, destroy, wake, news};

zkl_client *zkl_client_new(const struct zkl_link_class *class, const struct zkl_options *options) {
    struct threaded *self = calloc(1, sizeof *self);
    if (!self) return NULL;
    self->client.process = zkl_process_number();
    pthread_mutex_init(&self->mutex, NULL);
    zkl_condition_init(&self->news);
    zkl_condition_init(&self->alarm);
    zkl_inbox_init(self);
    uint64_t seed = (uint64_t)zkl_now() ^ (uint64_t)getpid() << 40;
    int error = zkl_client_init(&self->client, &threads, class, options, seed);
    if (!error && zkl_process_enlist(self) != 0) error = ENOMEM;
    if (!error) error = zkl_timer_start(self);
    if (!error) return &self->client;
    zkl_process_delist(self);
    zkl_client_drop(&self->client); /* a signal's thread may be closing the client */
    errno = error;
    return NULL;
}

int zkl_client_start_thread(zkl_client *client, void *(*run)(void *), void *argument) {
    zkl_client_ref(client);
    int error = zkl_thread_start(run, argument);
    if (error) zkl_client_drop(client);
    return error;
}

bool zkl_client_close(zkl_client *client, zkl_time bound) {
    struct threaded *self = zkl_threaded(client);
    zkl_time due = zkl_due(bound);
    zkl_client_begin_close(client, due);
    zkl_lock(client);
    while (!zkl_client_session_is_closed(client) && zkl_now() < due)
        zkl_wait_until(self, &self->news, due);
    bool closed = zkl_client_session_is_closed(client);
    zkl_unlock(client);
    return closed;
}
