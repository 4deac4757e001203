/*
 * move.c - moves a live session to other servers.
 *
 * A thread resolves the new names, and greets each server (greeting.c) until one knows the session.
 * Then the link takes the names, and sends a sync. The old server answers "session moved" and hangs
 * up, so libzookeeper comes to the gate, and goes on to a new server.
 */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "internal.h"

#define PAUSE (ZKL_SECOND / 5)    /* between two rounds of greetings */
#define ANSWERS_WITHIN ZKL_SECOND /* time for each server's answer */

struct move {
    struct zkl_link *link;
    zkl_request *request;
    zkl_time due;
    struct hosts *hosts; /* until the link takes it */
    struct servers servers;
};

/* With the mutex held. False: no session now. */
static bool get_session(const struct zkl_link *link, clientid_t *id, zkl_time *timeout) {
    bool found = link->handle && zkl_session_id(link->session) != 0;
    if (found) *id = *zoo_client_id(link->handle);
    if (found) *timeout = zkl_link_timeout(link);
    return found;
}

/* With the mutex held. */
static bool is_over(const struct move *move) {
    return zkl_request_done(move->request) || zkl_client_is_closing(move->link->client);
}

static bool is_over_by_now(const struct move *move) {
    zkl_lock(move->link->client);
    bool over = is_over(move);
    zkl_unlock(move->link->client);
    return over;
}

static enum zkl_greeting greet_until_answered(const struct move *move, const clientid_t *id,
                                              zkl_time timeout) {
    enum zkl_greeting said = ZKL_GREETING_SILENCE;
    for (size_t i = 0; i < move->servers.count && said == ZKL_GREETING_SILENCE; i++) {
        if (is_over_by_now(move)) break;
        zkl_time by = zkl_earlier(move->due, zkl_now() + ANSWERS_WITHIN);
        said = zkl_greet(&move->servers.list[i], id, timeout, by);
    }
    return said;
}

static void on_moved(int rc, const char *text, const void *context) {
    (void)rc;
    (void)text;
    (void)context;
}

/*
 * With the mutex held. Ends the request, so that no other code can follow a move. False: the
 * request is over, or the session has changed.
 */
static bool take_hosts(struct move *move, const clientid_t *id) {
    struct zkl_link *link = move->link;
    clientid_t current;
    zkl_time timeout;
    if (is_over(move)) return false;
    if (!get_session(link, &current, &timeout) || current.client_id != id->client_id) return false;
    zkl_link_take_hosts(link, move->hosts, &move->servers);
    move->hosts = NULL;
    move->servers = (struct servers){0};
    zoo_async(link->handle, "/", on_moved, NULL);
    zkl_client_wake(link->client, 0);
    zkl_request_cancel(move->request, ZKL_OK);
    return true;
}

/* ZKL_TIMEOUT: no answer yet. */
static enum zkl_code move_once(struct move *move) {
    struct zkl_link *link = move->link;
    clientid_t id;
    zkl_time timeout;
    zkl_lock(link->client);
    bool found = get_session(link, &id, &timeout), has_gate = link->gate.listener >= 0;
    zkl_unlock(link->client);
    if (found && !has_gate) return ZKL_UNSUPPORTED;
    free(move->servers.list);
    if (!found || zkl_hosts_resolve(move->hosts->text, &move->servers) != 0) {
        move->servers = (struct servers){0};
        return ZKL_TIMEOUT;
    }
    enum zkl_greeting said = greet_until_answered(move, &id, timeout);
    if (said == ZKL_GREETING_UNKNOWN) return ZKL_CONFLICT;
    if (said == ZKL_GREETING_SILENCE) return ZKL_TIMEOUT;
    zkl_client_enter(link->client);
    bool moved = take_hosts(move, &id);
    zkl_client_leave(link->client);
    if (moved) zkl_recovery_move(link);
    return moved ? ZKL_OK : ZKL_TIMEOUT;
}

static void *run_move(void *argument) {
    struct move *move = argument;
    const struct timespec pause = {.tv_nsec = PAUSE};
    enum zkl_code code = ZKL_TIMEOUT;
    while (code == ZKL_TIMEOUT && !is_over_by_now(move)) {
        code = move_once(move);
        if (code == ZKL_TIMEOUT) nanosleep(&pause, NULL);
    }
    zkl_client *client = move->link->client;
    zkl_client_enter(client);
    if (code != ZKL_TIMEOUT) zkl_request_cancel(move->request, code);
    zkl_request_unref(move->request);
    zkl_client_leave(client);
    free(move->servers.list);
    free(move->hosts);
    free(move);
    zkl_client_drop(client);
    return NULL;
}

/* 0, or an errno value. */
static int start_move(struct zkl_link *link, const char *hosts, zkl_request *request,
                      zkl_time due) {
    struct move *move = calloc(1, sizeof *move);
    struct hosts *text = move ? zkl_hosts_new(hosts) : NULL;
    int error = text ? 0 : ENOMEM;
    if (!error) {
        *move = (struct move){.link = link, .request = request, .due = due, .hosts = text};
        error = zkl_thread_start(run_move, move);
    }
    if (!error) return 0;
    free(text);
    free(move);
    return error;
}

bool zkl_zookeeper_move(zkl_client *client, const char *hosts, zkl_request *request,
                        zkl_time timeout) {
    struct zkl_link *link = zkl_client_link(client, &zkl_zookeeper);
    if (!link) return false;
    if (zkl_request_done(request)) return true;
    zkl_client_ref(client);
    zkl_request_ref(request);
    if (start_move(link, hosts, request, zkl_due(timeout)) == 0) return true;
    zkl_request_unref(request);
    zkl_client_drop(client);
    zkl_request_cancel(request, ZKL_TOO_MANY);
    return true;
}
