/* link.c - the link to ZooKeeper. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* --- life ------------------------------------------------------------------------------ */

static void destroy(struct zkl_link *link) {
    pthread_mutex_destroy(&link->opening);
    free(link->servers.list);
    zkl_route_clear(&link->route);
    zkl_route_clear(&link->probe.route);
    for (struct hosts *previous; link->hosts; link->hosts = previous) {
        previous = link->hosts->previous;
        free(link->hosts);
    }
    free(link->chroot);
    free(link->auth_scheme);
    free(link->auth);
    free(link->storage.folder);
    free(link);
}

static bool copy_text(char **to, const char *from) {
    *to = from ? strdup(from) : NULL;
    return !from || *to;
}

static bool copy_options(struct zkl_link *link, const struct zkl_options *options) {
    link->timeout_wanted = options->timeout;
    link->acl = options->acl;
    link->reopen = options->reopen;
    link->grace = options->grace;
    link->hosts = zkl_hosts_new(options->hosts);
    if (!link->hosts) return false;
    if (!copy_text(&link->chroot, options->chroot) ||
        !copy_text(&link->auth_scheme, options->auth_scheme) ||
        !copy_text(&link->auth, options->auth) ||
        !copy_text(&link->storage.folder, options->recover))
        return false;
    link->storage.hosts = link->hosts->text;
    link->storage.chroot = link->chroot;
    return true;
}

static struct zkl_link *create(struct zkl_client *client, const struct zkl_options *options) {
    struct zkl_link *link = calloc(1, sizeof *link);
    if (!link) return NULL;
    link->client = client;
    pthread_mutex_init(&link->opening, NULL);
    link->session = zkl_client_session(client);
    link->wants_handle = true;
    link->trouble.short_timeout = ZKL_NEVER;
    zkl_gate_init(&link->gate);
    zkl_gate_init(&link->probe.gate);
    zkl_choice_init(&link->choice, link, &link->gate, &link->route);
    zkl_choice_init(&link->probe.choice, link, &link->probe.gate, &link->probe.route);
    zkl_route_init(&link->route, (uint64_t)zkl_now() ^ (uintptr_t)link, zkl_now());
    if (copy_options(link, options)) return link;
    destroy(link);
    return NULL;
}

void zkl_link_take_hosts(struct zkl_link *link, struct hosts *hosts,
                         const struct servers *servers) {
    hosts->previous = link->hosts;
    link->hosts = hosts;
    link->storage.hosts = hosts->text;
    zkl_names_take(link, servers);
    zkl_choice_begin(&link->choice);
    zkl_choice_begin(&link->probe.choice);
}

/* --- time ------------------------------------------------------------------------------ */

/* Pace of a closing client's attempts. */
#define CLOSING_PACE (ZKL_SECOND / 4)

/* The gate needs libzookeeper's timeout, which is a probe's wanted one until a server grants it. */
static zkl_time timeout_at(const struct zkl_link *link, const struct gate *gate) {
    zkl_time timeout = zkl_link_timeout(link);
    return gate == &link->gate ? timeout : zkl_earlier(timeout, link->timeout_wanted);
}

static void let_through(zhandle_t *handle, struct choice *choice, zkl_time now) {
    const struct zkl_link *link = choice->link;
    struct gate *gate = choice->gate;
    if (!handle || !zkl_gate_look(gate, timeout_at(link, gate), now)) return;
    if (zkl_client_is_closing(link->client)) zkl_route_hurry(choice->route, now + CLOSING_PACE);
    const struct sockaddr_storage *server = zkl_choice_next(choice, now);
    if (server) zkl_gate_open(gate, handle, server, now);
    else zkl_gate_renew(gate, handle, timeout_at(link, gate));
}

static void work(struct zkl_link *link, zkl_time now) {
    zkl_names_resolve(link, now);
    let_through(link->handle, &link->choice, now);
    let_through(link->probe.handle, &link->probe.choice, now);
    zkl_choice_ask(&link->choice, now);
    zkl_search_work(link, now);
    zkl_probe_ask(link, now);
    zkl_handle_work(link, now);
}

static zkl_time due(struct zkl_link *link, zkl_time now) {
    zkl_time due = zkl_earlier(zkl_search_due(link), zkl_names_due(link));
    due = zkl_earlier(due, zkl_earlier(link->gate.look_at, link->probe.gate.look_at));
    due = zkl_earlier(due, zkl_choice_ask_due(&link->choice));
    return zkl_earlier(due, zkl_earlier(zkl_handle_due(link, now), zkl_probe_ask_due(link)));
}

static struct zkl_trouble get_trouble(const struct zkl_link *link) {
    struct zkl_trouble trouble = link->trouble;
    trouble.complaint = zkl_complaint_about(&link->servers);
    return trouble;
}

int zkl_zookeeper_make_folder(const char *folder) {
    return zkl_session_make_folder(folder);
}

const char zkl_zookeeper_version[] = ZOO_VERSION;

const struct zkl_link_class zkl_zookeeper = {create, destroy, zkl_rpc_send, zkl_handle_retire,
                                             work,   due,     get_trouble};
