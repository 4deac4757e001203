/*
 * recovery.c - spares others the session timeout after a crash: a session is in a file while its
 * process lives (session_file.h), and the next process ends the sessions of dead ones.
 *
 * A thread of its own, begun with the first connection, ends them: connect() does not wait for it.
 * It connects with the dead session's id and password, and closes the session; it does so again,
 * ROUNDS times at most, until a server says that there is no such session, for zookeeper_close()
 * does not tell whether the server heard. Only then is the file removed; else it is left for the
 * next process.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "internal.h"

/* --- ending a dead session ------------------------------------------------------------------- */

#define SLICE (ZKL_SECOND / 20) /* how often it checks whether the client is closing */
#define ROUNDS 3

/* One attempt to connect with a dead session. */
struct attempt {
    struct zkl_link *link;
    zhandle_t *handle;
    struct servers servers;
    pthread_mutex_t mutex; /* guards `state` */
    pthread_cond_t news;
    int state; /* ZOO_CONNECTED_STATE, ZOO_EXPIRED_SESSION_STATE; 0: nothing was heard yet */
    bool credentials_given; /* used by the completion thread alone */
};

static bool is_closing(const struct zkl_link *link) {
    zkl_lock(link->client);
    bool closing = zkl_client_is_closing(link->client);
    zkl_unlock(link->client);
    return closing;
}

/* Runs on the handle's completion thread. */
static void on_event(zhandle_t *handle, int type, int state, const char *node, void *context) {
    struct attempt *attempt = context;
    bool connected = state == ZOO_CONNECTED_STATE;
    (void)node;
    if (type != ZOO_SESSION_EVENT || (!connected && state != ZOO_EXPIRED_SESSION_STATE)) return;
    /* Before the close: some servers drop what a client sends without credentials. */
    if (connected)
        zkl_handle_give_credentials(attempt->link, handle, &attempt->credentials_given, NULL);
    pthread_mutex_lock(&attempt->mutex);
    attempt->state = state;
    pthread_cond_signal(&attempt->news);
    pthread_mutex_unlock(&attempt->mutex);
}

/* Waits until a server answers, or the client is closing: an outage ends no session. */
static int await(struct attempt *attempt) {
    pthread_mutex_lock(&attempt->mutex);
    while (!attempt->state && !is_closing(attempt->link))
        zkl_condition_wait(&attempt->news, &attempt->mutex, zkl_now() + SLICE);
    int state = attempt->state;
    pthread_mutex_unlock(&attempt->mutex);
    return state;
}

/* Closes the session, if a server still has it. Returns what the server said; 0: nothing. */
static int try_to_end(struct zkl_link *link, const clientid_t *id) {
    struct attempt attempt = {.link = link, .mutex = PTHREAD_MUTEX_INITIALIZER};
    int state = 0;
    zkl_condition_init(&attempt.news);
    if (zkl_handle_open(link, id, on_event, &attempt, &attempt.handle, &attempt.servers) == 0) {
        state = await(&attempt);
        if (state == ZOO_CONNECTED_STATE) zkl_descriptors_sockets(&attempt.servers);
        zookeeper_close(attempt.handle);
    }
    free(attempt.servers.list);
    pthread_cond_destroy(&attempt.news);
    pthread_mutex_destroy(&attempt.mutex);
    return state;
}

static void end_session(struct zkl_link *link, struct zkl_session_file *file) {
    clientid_t id = {.client_id = (int64_t)file->key.id};
    memcpy(id.passwd, file->key.password, sizeof id.passwd);
    int closed = 0, state; /* rounds in which the session was there, and was closed */
    while ((state = try_to_end(link, &id)) == ZOO_CONNECTED_STATE && ++closed < ROUNDS) continue;
    if (state != ZOO_EXPIRED_SESSION_STATE) {
        zkl_session_file_leave(file);
        return;
    }
    zkl_lock(link->client);
    if (closed) link->trouble.recovered++; /* else it had expired by itself */
    zkl_unlock(link->client);
    zkl_session_file_remove(file);
}

static struct zkl_session_place place_of(const struct zkl_link *link) {
    zkl_lock(link->client);
    struct zkl_session_place place = link->place;
    zkl_unlock(link->client);
    return place;
}

/* False: the client is being closed. */
static bool wait_for_grace(const struct zkl_link *link) {
    const struct timespec slice = {.tv_nsec = SLICE};
    zkl_time begin = zkl_now();
    while (zkl_now() - begin < link->grace && !is_closing(link)) nanosleep(&slice, NULL);
    return zkl_now() - begin >= link->grace;
}

static void *recover(void *argument) {
    struct zkl_link *link = argument;
    const struct zkl_session_place place = place_of(link);
    struct zkl_session_file *file = zkl_session_files_dead(&place), *next;
    bool in_time = file && wait_for_grace(link);
    for (; file; file = next) {
        next = file->next;
        if (in_time) end_session(link, file);
        else zkl_session_file_leave(file);
    }
    zkl_client_drop(link->client);
    return NULL;
}

/* --- saving the own session ------------------------------------------------------------------- */

/* The mutex is held. The thread is started once a client. */
static void begin_recovery(struct zkl_link *link) {
    if (link->recovery_begun) return;
    zkl_client_hold(link->client); /* the thread's reference */
    link->recovery_begun = zkl_thread_start(recover, link) == 0;
    if (!link->recovery_begun) zkl_client_drop(link->client);
}

/* The mutex is held. A save that failed, as on a full disk, is repeated with each connection. */
static bool is_to_be_saved(const struct zkl_link *link, const zhandle_t *handle) {
    return link->place.folder && link->handle == handle && !link->file;
}

void zkl_recovery_save(struct zkl_link *link, zhandle_t *handle) {
    const clientid_t *id = zoo_client_id(handle);
    struct zkl_session_key key = {.id = (uint64_t)id->client_id};
    zkl_lock(link->client);
    bool wanted = is_to_be_saved(link, handle);
    zkl_unlock(link->client);
    if (!wanted) return;
    memcpy(key.password, id->passwd, sizeof key.password);
    const struct zkl_session_place place = place_of(link);
    struct zkl_session_file *file = zkl_session_file_write(&place, &key);
    int error = file ? 0 : errno;
    zkl_lock(link->client);
    link->file = file;
    link->trouble.unsaved = error;
    begin_recovery(link);
    zkl_unlock(link->client);
}

/* A session that was not connected when it was closed lives on: the next process may end it. */
void zkl_recovery_forget(struct zkl_link *link, bool over) {
    zkl_lock(link->client);
    struct zkl_session_file *file = link->file;
    link->file = NULL;
    zkl_unlock(link->client);
    if (over) zkl_session_file_remove(file);
    else zkl_session_file_leave(file);
}

/* The old file stays if the new one cannot be written. */
void zkl_recovery_move(struct zkl_link *link) {
    zkl_lock(link->client);
    struct zkl_session_file *old = link->file;
    struct zkl_session_key key = old ? old->key : (struct zkl_session_key){0};
    const struct zkl_session_place place = link->place;
    zkl_unlock(link->client);
    if (!old) return;
    struct zkl_session_file *file = zkl_session_file_write(&place, &key);
    int error = file ? 0 : errno;
    zkl_lock(link->client);
    bool ours = link->file == old; /* its handle has not ended meanwhile */
    if (ours && file) link->file = file;
    if (ours) link->trouble.unsaved = error;
    zkl_unlock(link->client);
    if (file) zkl_session_file_remove(ours ? old : file);
}
