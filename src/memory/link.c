/*
 * link.c - the link to a server inside the process. Requests are carried out when sent. The
 * server's thread delivers the answers. Only a session that is cut off expires by time, because a
 * running client would ping, and a stopped process stops its server, too.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "chroot.h"
#include "memory_link.h"
#include "server.h"

#define REOPEN_PAUSE ZKL_SECOND

/* --- life ----------------------------------------------------------------------------------- */

static void destroy(struct zkl_link *link) {
    free(link->name);
    free(link->chroot);
    free(link);
}

static struct zkl_link *create(struct zkl_client *client, const struct zkl_options *options) {
    struct zkl_link *link = calloc(1, sizeof *link);
    if (!link) return NULL;
    link->client = client;
    link->timeout = options->timeout;
    link->reopen = options->reopen;
    link->wants_session = true;
    zkl_list_init(&link->place);
    zkl_list_init(&link->letters);
    link->name = strdup(options->hosts);
    link->chroot = strdup(options->chroot);
    if (link->name && link->chroot) return link;
    destroy(link);
    return NULL;
}

/* --- letters -------------------------------------------------------------------------------- */

static struct zkl_letter *letter_of(struct zkl_list *place) {
    return ZKL_LISTED(place, struct zkl_letter, place);
}

void zkl_link_drop_letters(struct zkl_link *link) {
    while (!zkl_list_is_empty(&link->letters)) zkl_letter_free(letter_of(link->letters.next));
}

static void take_answers(struct zkl_link *link, struct zkl_list *answers) {
    for (struct zkl_list *place = link->letters.next, *next; place != &link->letters;
         place = next) {
        next = place->next;
        if (letter_of(place)->path) continue;
        zkl_list_remove(place);
        zkl_list_append(answers, place);
    }
    link->last_arrival = 0;
}

static struct zkl_letter *take_due_letter(struct zkl_link *link, zkl_time now) {
    struct zkl_letter *letter = NULL;
    zkl_servers_lock();
    if (!zkl_list_is_empty(&link->letters) && link->connected) {
        letter = letter_of(link->letters.next);
        if (letter->due <= now) zkl_list_remove(&letter->place);
        else letter = NULL;
    }
    zkl_servers_unlock();
    return letter;
}

static void tell_letter(zkl_session *session, const struct zkl_letter *letter) {
    if (letter->path) zkl_session_event(session, letter->kind, letter->path);
    else zkl_session_answer(session, letter->id, &letter->answer);
}

void zkl_link_deliver(struct zkl_link *link, zkl_time now) {
    struct zkl_letter *letter;
    zkl_link_tell_news(link);
    while ((letter = take_due_letter(link, now))) {
        tell_letter(zkl_client_session(link->client), letter);
        zkl_letter_free(letter);
    }
}

/* --- news ----------------------------------------------------------------------------------- */

enum zkl_news zkl_link_news(const struct zkl_link *link) {
    if (link->cut) return link->connected ? ZKL_NEWS_SUSPENDED : ZKL_NEWS_NONE;
    if (!link->session) return ZKL_NEWS_NONE;
    if (link->expired) return ZKL_NEWS_EXPIRED;
    return link->connected ? ZKL_NEWS_NONE : ZKL_NEWS_CONNECTED;
}

static void forget_session(struct zkl_link *link) {
    zkl_link_drop_letters(link);
    link->session = 0;
    link->expired = link->connected = false;
}

/* With both mutexes held. `lost` gets the lost answers. */
static enum zkl_news take_news(struct zkl_link *link, struct zkl_list *lost) {
    enum zkl_news news = zkl_link_news(link);
    if (news == ZKL_NEWS_EXPIRED) forget_session(link);
    if (news == ZKL_NEWS_SUSPENDED) take_answers(link, lost);
    if (news != ZKL_NEWS_NONE) link->connected = news == ZKL_NEWS_CONNECTED;
    return news;
}

static void tell_lost_answers(zkl_session *session, struct zkl_list *lost) {
    const struct zkl_answer nothing = {.error = ZKL_ERROR_CONNECTION_LOSS};
    while (!zkl_list_is_empty(lost)) {
        struct zkl_letter *letter = letter_of(lost->next);
        zkl_session_answer(session, letter->id, &nothing);
        zkl_letter_free(letter);
    }
}

void zkl_link_tell_news(struct zkl_link *link) {
    zkl_session *session = zkl_client_session(link->client);
    struct zkl_list lost;
    zkl_list_init(&lost);
    zkl_servers_lock();
    enum zkl_news news = take_news(link, &lost);
    zkl_servers_unlock();
    switch (news) {
    case ZKL_NEWS_NONE: break;
    case ZKL_NEWS_CONNECTED: zkl_session_connected(session, link->session, link->timeout); break;
    case ZKL_NEWS_SUSPENDED: zkl_session_suspended(session); break;
    case ZKL_NEWS_EXPIRED: zkl_session_expired(session); break;
    }
    tell_lost_answers(session, &lost);
}

/* --- requests ------------------------------------------------------------------------------- */

/* Converts the tree's milliseconds to those since 1970; 0 for the root. */
static int64_t date_of(int64_t made) {
    struct timespec date;
    clock_gettime(CLOCK_REALTIME, &date);
    int64_t now = (int64_t)date.tv_sec * 1000 + date.tv_nsec / 1000000;
    return made ? now - (zkl_now() / 1000000 - made) : 0;
}

/* False: no memory, and no effect. */
static bool ask(struct zkl_link *link, const struct zkl_rpc *rpc, struct zkl_letter *letter) {
    struct zkl_answer answer;
    struct zkl_stat stat;
    struct zkl_server *server = link->server;
    zkl_tree_ask(server->tree, link->session, rpc, zkl_now(), &answer);
    if (answer.stat) {
        stat = *answer.stat;
        stat.ctime = date_of(stat.ctime);
        answer.stat = &stat;
    }
    bool done = answer.error != ZKL_ERROR_SYSTEM;
    if (done) zkl_letter_fill(letter, &answer, rpc->count, strlen(link->chroot));
    zkl_server_post_events(server); /* before the answer */
    if (done) zkl_server_post_answer(link, letter);
    return done;
}

static bool send(struct zkl_link *link, const struct zkl_rpc *request) {
    if (!link->connected) return false;
    struct zkl_rpc *rpc = zkl_chroot_prepend(link->chroot, request);
    struct zkl_letter *letter = rpc ? zkl_letter_new(rpc->id) : NULL;
    bool sent = false;
    if (letter) {
        zkl_servers_lock();
        sent = ask(link, rpc, letter);
        zkl_servers_unlock();
        if (!sent) zkl_letter_free(letter);
    }
    free(rpc);
    return sent;
}

/* --- opening and closing -------------------------------------------------------------------- */

static void retire(struct zkl_link *link) {
    if (!link->session && link->wants_session == link->reopen) return;
    zkl_servers_lock();
    forget_session(link);
    zkl_servers_unlock();
    link->wants_session = link->reopen;
    zkl_client_wake(link->client, 0);
}

/* 0, or an errno value. */
static int open_session(struct zkl_link *link) {
    int error = zkl_server_join(link);
    if (error) return error;
    link->session = zkl_tree_open(link->server->tree, ZKL_NEVER, zkl_now());
    link->last_arrival = 0;
    zkl_server_post_events(link->server); /* opening may have expired other sessions */
    return link->session ? 0 : ENOMEM;
}

static void try_to_open(struct zkl_link *link, zkl_time now) {
    zkl_session_reopening(zkl_client_session(link->client));
    zkl_servers_lock();
    link->error = open_session(link);
    zkl_servers_unlock();
    link->wants_session = link->error != 0;
    link->open_at = now + (link->error ? REOPEN_PAUSE : 0);
    zkl_link_tell_news(link);
}

/* A server does not learn of a cut-off session's end. */
static void close_session(struct zkl_link *link) {
    zkl_servers_lock();
    if (link->session && !link->cut) {
        zkl_tree_close(link->server->tree, link->session);
        zkl_server_post_events(link->server);
    }
    link->session = 0;
    link->connected = link->wants_session = false;
    zkl_server_leave(link);
    zkl_servers_unlock();
    zkl_session_closed(zkl_client_session(link->client));
}

static void work(struct zkl_link *link, zkl_time now) {
    if (zkl_client_may_close(link->client, now)) close_session(link);
    else if (link->wants_session && !link->cut && !zkl_client_is_closing(link->client) &&
             now >= link->open_at)
        try_to_open(link, now);
}

static zkl_time due(struct zkl_link *link, zkl_time now) {
    if (zkl_client_may_close(link->client, now)) return now;
    if (zkl_client_is_closing(link->client)) return zkl_client_close_by(link->client);
    return link->wants_session && !link->cut ? link->open_at : ZKL_NEVER;
}

static struct zkl_trouble get_trouble(const struct zkl_link *link) {
    return (struct zkl_trouble){.error = link->error, .short_timeout = ZKL_NEVER};
}

const struct zkl_link_class zkl_memory = {create, destroy, send, retire, work, due, get_trouble};
