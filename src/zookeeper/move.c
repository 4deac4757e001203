/*
 * move.c - moves a live session to other servers.
 *
 * A thread resolves the new names, and greets each server (greeting.c) until one knows the session.
 * Then the link takes the names, and sends a sync. The old server answers "session moved" and hangs
 * up, so libzookeeper comes to the gate, and goes on to a new server.
 *
 * After a session timeout without a connection all leases are lost, and the session has probably
 * expired. Then the link takes the names also if a server does not know the session.
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

/* With the mutex held. True if another session may come after one that a server does not know. */
static bool may_be_replaced(const struct zkl_link *link) {
    return link->reopen && zkl_probe_wanted(link, zkl_now());
}

/*
 * With the mutex held. Ends the request with success, so that no other code can follow.
 * ZKL_TIMEOUT: the request is over, or the session has changed.
 */
static enum zkl_code take_hosts(struct move *move, const clientid_t *id, enum zkl_greeting said) {
    struct zkl_link *link = move->link;
    clientid_t current;
    zkl_time timeout;
    bool found = get_session(link, &current, &timeout);
    if (is_over(move) || (found ? current.client_id : 0) != id->client_id) return ZKL_TIMEOUT;
    if (found && said == ZKL_GREETING_UNKNOWN && !may_be_replaced(link)) return ZKL_CONFLICT;
    zkl_link_take_hosts(link, move->hosts, &move->servers);
    move->hosts = NULL;
    move->servers = (struct servers){0};
    if (found) zoo_async(link->handle, "/", on_moved, NULL);
    zkl_client_wake(link->client, 0);
    zkl_request_cancel(move->request, ZKL_OK);
    return ZKL_OK;
}

/* ZKL_TIMEOUT: no answer yet. Without a session no server is asked. */
static enum zkl_code move_once(struct move *move) {
    struct zkl_link *link = move->link;
    clientid_t id = {0};
    zkl_time timeout;
    zkl_lock(link->client);
    bool found = get_session(link, &id, &timeout);
    bool lacks_gate = link->handle && link->gate.listener < 0;
    zkl_unlock(link->client);
    if (lacks_gate) return ZKL_UNSUPPORTED;
    free(move->servers.list);
    if (zkl_hosts_resolve(move->hosts->text, &move->servers) != 0) {
        move->servers = (struct servers){0};
        return ZKL_TIMEOUT;
    }
    enum zkl_greeting said =
        found ? greet_until_answered(move, &id, timeout) : ZKL_GREETING_UNKNOWN;
    if (said == ZKL_GREETING_SILENCE) return ZKL_TIMEOUT;
    zkl_client_enter(link->client);
    enum zkl_code code = take_hosts(move, &id, said);
    zkl_client_leave(link->client);
    if (code == ZKL_OK) zkl_recovery_move(link);
    return code;
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
        error = zkl_client_start_thread(link->client, run_move, move);
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
    zkl_request_ref(request);
    int error = start_move(link, hosts, request, zkl_due(timeout));
    if (error == 0) return true;
    zkl_request_unref(request);
    zkl_request_cancel(request, error == ENOMEM ? ZKL_NO_MEMORY : ZKL_TOO_MANY);
    return true;
}
