/* server.c - see server.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "server.h"

/* The default of ZooKeeper's servers. */
#define CONTAINER_CHECK (60 * ZKL_SECOND)

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct zkl_server *servers;

void zkl_servers_lock(void) {
    pthread_mutex_lock(&mutex);
}

void zkl_servers_unlock(void) {
    pthread_mutex_unlock(&mutex);
}

/* A parent's thread may have held the mutex, and a child has no thread of a server. */
static void reset_after_fork(void) {
    pthread_mutex_init(&mutex, NULL);
    servers = NULL;
}

static bool prepare_forks(void) {
    static bool prepared;
    if (!prepared) prepared = pthread_atfork(NULL, NULL, reset_after_fork) == 0;
    return prepared;
}

/* --- by name -------------------------------------------------------------------------------- */

struct zkl_server *zkl_server_find(const char *name) {
    struct zkl_server *server = servers;
    while (server && strcmp(server->name, name) != 0) server = server->next;
    return server;
}

static void free_server(struct zkl_server *server) {
    if (server->tree) pthread_cond_destroy(&server->wake);
    zkl_tree_free(server->tree);
    free(server->name);
    free(server);
}

static struct zkl_server *new_server(const char *name) {
    struct zkl_server *server = prepare_forks() ? calloc(1, sizeof *server) : NULL;
    if (!server) return NULL;
    zkl_list_init(&server->links);
    server->name = strdup(name);
    server->tree = server->name ? zkl_tree_new(CONTAINER_CHECK) : NULL;
    if (!server->tree) {
        free_server(server);
        return NULL;
    }
    zkl_condition_init(&server->wake);
    server->next = servers;
    servers = server;
    return server;
}

struct zkl_server *zkl_server_find_or_make(const char *name) {
    struct zkl_server *server = zkl_server_find(name);
    return server ? server : new_server(name);
}

static void wake_thread(struct zkl_server *server) {
    pthread_cond_signal(&server->wake);
}

static void end_server(struct zkl_server *server) {
    struct zkl_server **slot = &servers;
    while (*slot != server) slot = &(*slot)->next;
    *slot = server->next;
    server->unlisted = true;
    if (server->running) wake_thread(server);
    else free_server(server);
}

static bool has_sessions(const struct zkl_server *server) {
    return !zkl_list_is_empty(&server->links) || zkl_tree_has_sessions(server->tree);
}

/* A server with a delay waits for its first session. */
void zkl_server_end_if_unneeded(struct zkl_server *server) {
    bool awaited = server->delay > 0 && !server->running;
    if (!server->unlisted && !awaited && !has_sessions(server)) end_server(server);
}

/* --- letters -------------------------------------------------------------------------------- */

static struct zkl_link *link_of(struct zkl_list *place) {
    return ZKL_LISTED(place, struct zkl_link, place);
}

static struct zkl_link *find_link(const struct zkl_server *server, uint64_t session) {
    struct zkl_list *place = server->links.next;
    while (place != &server->links && link_of(place)->session != session) place = place->next;
    return place == &server->links ? NULL : link_of(place);
}

static void post(struct zkl_link *link, struct zkl_letter *letter, zkl_time due) {
    if (due > link->last_arrival) link->last_arrival = due;
    letter->due = link->last_arrival;
    zkl_list_append(&link->letters, &letter->place);
    wake_thread(link->server);
}

static void post_event(struct zkl_link *link, const struct zkl_tree_event *event) {
    const char *path = event->path + strlen(link->chroot);
    struct zkl_letter *letter = zkl_letter_of_event(event->kind, *path ? path : "/");
    if (letter) post(link, letter, zkl_now());
    else zkl_tree_expire(link->server->tree, link->session);
}

void zkl_server_post_events(struct zkl_server *server) {
    struct zkl_tree_event event;
    while (zkl_tree_next_event(server->tree, &event)) {
        struct zkl_link *link = find_link(server, event.session);
        if (link && event.path) post_event(link, &event);
        else if (link) link->expired = true;
    }
    wake_thread(server); /* the tree's next tick may be earlier now */
}

void zkl_server_post_answer(struct zkl_link *link, struct zkl_letter *letter) {
    post(link, letter, zkl_now() + link->server->delay);
}

/* --- the thread ----------------------------------------------------------------------------- */

struct zkl_link *zkl_server_link_with_news(const struct zkl_server *server) {
    struct zkl_list *place = server->links.next;
    while (place != &server->links && !zkl_link_news(link_of(place))) place = place->next;
    return place == &server->links ? NULL : link_of(place);
}

/* Next delivery; none on a cut connection. */
static zkl_time link_due(const struct zkl_link *link) {
    if (zkl_link_news(link)) return 0;
    if (!link->connected || zkl_list_is_empty(&link->letters)) return ZKL_NEVER;
    return ZKL_LISTED(link->letters.next, struct zkl_letter, place)->due;
}

/* NULL: none. */
static struct zkl_link *first_due(const struct zkl_server *server, zkl_time *due) {
    struct zkl_link *first = NULL;
    *due = ZKL_NEVER;
    for (struct zkl_list *place = server->links.next; place != &server->links;
         place = place->next) {
        zkl_time link_time = link_due(link_of(place));
        if (link_time >= *due) continue;
        *due = link_time;
        first = link_of(place);
    }
    return first;
}

/* The timer holds a reference to a listed link's client, so another may be taken. */
static void deliver(struct zkl_link *link, zkl_time now) {
    struct zkl_client *client = zkl_client_ref(link->client);
    zkl_servers_unlock();
    zkl_client_enter(client);
    zkl_link_deliver(link, now);
    zkl_client_leave(client);
    zkl_client_drop(client);
    zkl_servers_lock();
}

static void serve_once(struct zkl_server *server) {
    zkl_time now = zkl_now(), due;
    struct zkl_link *link = first_due(server, &due);
    zkl_time tree_due = zkl_tree_due(server->tree);
    if (link && due <= now) deliver(link, now);
    else zkl_condition_wait(&server->wake, &mutex, due < tree_due ? due : tree_due);
}

static void *run_server(void *argument) {
    struct zkl_server *server = argument;
    zkl_servers_lock();
    while (!server->unlisted) {
        serve_once(server);
        zkl_tree_tick(server->tree, zkl_now());
        zkl_server_post_events(server);
        zkl_server_end_if_unneeded(server);
    }
    zkl_servers_unlock();
    free_server(server);
    return NULL;
}

/* --- links ---------------------------------------------------------------------------------- */

static int start_thread(struct zkl_server *server) {
    if (server->running) return 0;
    int error = zkl_thread_start(run_server, server);
    server->running = !error;
    return error;
}

int zkl_server_join(struct zkl_link *link) {
    if (link->server) return 0;
    struct zkl_server *server = zkl_server_find_or_make(link->name);
    if (!server) return ENOMEM;
    int error = start_thread(server);
    if (error) {
        zkl_server_end_if_unneeded(server);
        return error;
    }
    link->server = server;
    zkl_list_append(&server->links, &link->place);
    return 0;
}

void zkl_server_leave(struct zkl_link *link) {
    struct zkl_server *server = link->server;
    if (!server) return;
    zkl_link_drop_letters(link);
    zkl_list_remove(&link->place);
    link->server = NULL;
    zkl_server_end_if_unneeded(server);
}
