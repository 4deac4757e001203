/*
 * recovery.c - ends the sessions of crashed processes, so that waiters need not wait for the
 * session timeout. Each live session is saved in a file (session_file.h).
 *
 * A thread, begun with the first connection, greets a server with a dead session's id and password,
 * and ends the session, up to ROUNDS times, until a server does not know the session. Then the
 * thread removes the file. connect() does not wait for the thread.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "internal.h"

/* --- ending a dead session ------------------------------------------------------------------- */

#define PAUSE_SLICE (ZKL_SECOND / 20) /* between looks whether the client closes */
#define ANSWERS_WITHIN ZKL_SECOND
#define ROUNDS 3

static bool is_closing(const struct zkl_link *link) {
    zkl_lock(link->client);
    bool closing = zkl_client_is_closing(link->client);
    zkl_unlock(link->client);
    return closing;
}

/* False: the client is closing. */
static bool pause_unless_closing(const struct zkl_link *link, zkl_time pause) {
    const struct timespec slice = {.tv_nsec = PAUSE_SLICE};
    zkl_time begin = zkl_now();
    while (zkl_now() - begin < pause && !is_closing(link)) nanosleep(&slice, NULL);
    return !is_closing(link);
}

static struct zkl_session_storage storage_of(const struct zkl_link *link) {
    zkl_lock(link->client);
    struct zkl_session_storage storage = link->storage;
    zkl_unlock(link->client);
    return storage;
}

static enum zkl_greeting ask_until_answered(const struct zkl_link *link, const clientid_t *id,
                                            zkl_time pause) {
    struct servers servers = {0};
    enum zkl_greeting said = ZKL_GREETING_SILENCE;
    if (zkl_hosts_resolve(storage_of(link).hosts, &servers) != 0) servers.count = 0;
    for (size_t i = 0; i < servers.count && said == ZKL_GREETING_SILENCE; i++) {
        if (!pause_unless_closing(link, i > 0 ? pause : 0)) break;
        said = zkl_farewell(link, &servers.list[i], id, zkl_now() + ANSWERS_WITHIN);
    }
    free(servers.list);
    return said;
}

/* Asks until a server answers or the client closes, as sessions survive an outage. */
static enum zkl_greeting try_to_end(const struct zkl_link *link, const clientid_t *id) {
    zkl_time pace = zkl_earlier(link->timeout_wanted / 10, ZKL_SECOND);
    enum zkl_greeting said = ask_until_answered(link, id, 0);
    while (said == ZKL_GREETING_SILENCE && pause_unless_closing(link, pace))
        said = ask_until_answered(link, id, pace);
    return said;
}

static void end_session(struct zkl_link *link, struct zkl_session_file *file) {
    clientid_t id = {.client_id = (int64_t)file->key.id};
    memcpy(id.passwd, file->key.password, sizeof id.passwd);
    enum zkl_greeting said;
    int times_ended = 0;
    while ((said = try_to_end(link, &id)) == ZKL_GREETING_KNOWN && ++times_ended < ROUNDS) continue;
    if (said != ZKL_GREETING_UNKNOWN) {
        zkl_session_file_leave(file);
        return;
    }
    zkl_lock(link->client);
    if (times_ended) link->trouble.recovered++; /* else it had expired */
    zkl_unlock(link->client);
    zkl_session_file_remove(file);
}

static void *run_recovery(void *argument) {
    struct zkl_link *link = argument;
    const struct zkl_session_storage storage = storage_of(link);
    struct zkl_dead_file *dead = zkl_session_list_dead(&storage), *next;
    bool grace_over = dead && pause_unless_closing(link, link->grace);
    for (; dead; dead = next) {
        struct zkl_session_file *file =
            grace_over ? zkl_session_file_adopt(&storage, dead->name) : NULL;
        if (file) end_session(link, file);
        next = dead->next;
        free(dead);
    }
    zkl_client_drop(link->client);
    return NULL;
}

/* --- saving the own session ------------------------------------------------------------------- */

/* Once per client, with the mutex held. For lack of a thread again on the next connection. */
static void begin_recovery(struct zkl_link *link) {
    if (link->recovery_begun) return;
    link->recovery_begun = zkl_client_start_thread(link->client, run_recovery, link) == 0;
}

void zkl_recovery_save(struct zkl_link *link, zhandle_t *handle) {
    const clientid_t *id = zoo_client_id(handle);
    struct zkl_session_key key = {.id = (uint64_t)id->client_id};
    zkl_lock(link->client);
    bool is_own = link->storage.folder && link->handle == handle;
    if (is_own) begin_recovery(link);
    bool wanted = is_own && !link->file; /* so after a failure, as on a full disk, again */
    zkl_unlock(link->client);
    if (!wanted) return;
    memcpy(key.password, id->passwd, sizeof key.password);
    const struct zkl_session_storage storage = storage_of(link);
    struct zkl_session_file *file = zkl_session_file_write(&storage, &key);
    int error = file ? 0 : errno;
    zkl_lock(link->client);
    link->file = file;
    link->trouble.save_error = error;
    zkl_unlock(link->client);
}

/* A session whose close no server answered may live on, for the next process to end. */
void zkl_recovery_forget(struct zkl_link *link, bool over) {
    zkl_lock(link->client);
    struct zkl_session_file *file = link->file;
    link->file = NULL;
    zkl_unlock(link->client);
    if (over) zkl_session_file_remove(file);
    else zkl_session_file_leave(file);
}

/* Writes a file with the new hosts. If that fails, the old one stays. */
void zkl_recovery_move(struct zkl_link *link) {
    zkl_lock(link->client);
    bool saved = link->file;
    struct zkl_session_key key = saved ? link->file->key : (struct zkl_session_key){0};
    const struct zkl_session_storage storage = link->storage;
    zkl_unlock(link->client);
    if (!saved) return;
    struct zkl_session_file *file = zkl_session_file_write(&storage, &key), *unused = file;
    int error = file ? 0 : errno;
    zkl_lock(link->client);
    bool current = link->file && link->file->key.id == key.id; /* the session has not ended */
    if (current && file) {
        unused = link->file;
        link->file = file;
    }
    if (current) link->trouble.save_error = error;
    zkl_unlock(link->client);
    if (unused) zkl_session_file_remove(unused);
}
