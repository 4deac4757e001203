/* link.c - the link to ZooKeeper: its life, and what it does in a round. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* --- life ------------------------------------------------------------------------------ */

static void destroy(struct zkl_link *link) {
    free(link->servers.list);
    free(link->probe.servers.list);
    free(link->hosts);
    free(link->chroot);
    free(link->auth_scheme);
    free(link->auth);
    free(link->place.folder);
    free(link);
}

static bool copy(char **to, const char *from) {
    *to = from ? strdup(from) : NULL;
    return !from || *to;
}

static bool copy_options(struct zkl_link *link, const struct zkl_options *options) {
    link->timeout_wanted = options->timeout;
    link->acl = options->acl;
    link->reopen = options->reopen;
    link->grace = options->grace;
    if (!copy(&link->hosts, options->hosts) || !copy(&link->chroot, options->chroot) ||
        !copy(&link->auth_scheme, options->auth_scheme) || !copy(&link->auth, options->auth) ||
        !copy(&link->place.folder, options->recover))
        return false;
    link->place.hosts = link->hosts;
    link->place.chroot = link->chroot;
    return true;
}

static struct zkl_link *create(struct zkl_client *client, const struct zkl_options *options) {
    struct zkl_link *link = calloc(1, sizeof *link);
    if (!link) return NULL;
    link->client = client;
    link->session = zkl_client_session(client);
    link->opening = true;
    link->trouble.denied = ZKL_NEVER;
    if (copy_options(link, options)) return link;
    destroy(link);
    return NULL;
}

/* --- sockets ---------------------------------------------------------------------------- */

#define SWEEP_SOON (ZKL_SECOND / 20)
#define SWEEP_LATER ZKL_SECOND
#define SWEEP_SOON_FOR (5 * ZKL_SECOND)

static bool is_connecting(const struct zkl_link *link) {
    return link->handle && zkl_session_connection(link->session) != ZKL_SESSION_CONNECTED;
}

/*
 * Makes new sockets close-on-exec (descriptors.c). A socket is known by its peer,
 * so not before it is connected, and the server's greeting may come much later:
 * until then it is searched for again and again.
 */
static void sweep(struct zkl_link *link, zkl_time now) {
    if (!is_connecting(link) || now < link->sweep_at) return;
    zkl_descriptors_sockets(&link->servers);
    zkl_descriptors_sockets(&link->probe.servers);
    bool soon = now < link->unconnected_since + SWEEP_SOON_FOR ||
                now < link->probe.open_at + SWEEP_SOON_FOR;
    link->sweep_at = now + (soon ? SWEEP_SOON : SWEEP_LATER);
}

/* --- time ------------------------------------------------------------------------------ */

static void work(struct zkl_link *link, zkl_time now) {
    sweep(link, now);
    zkl_probe_ask(link, now);
    zkl_handle_work(link, now);
}

static zkl_time due(struct zkl_link *link, zkl_time now) {
    zkl_time sweeps = is_connecting(link) ? link->sweep_at : ZKL_NEVER;
    return zkl_earlier(sweeps, zkl_earlier(zkl_handle_due(link, now), zkl_probe_ask_due(link)));
}

static struct zkl_trouble get_trouble(const struct zkl_link *link) {
    struct zkl_trouble trouble = link->trouble;
    trouble.complaint = zkl_complaint_about(&link->servers);
    return trouble;
}

int zkl_zookeeper_folder(const char *folder) {
    return zkl_session_folder(folder);
}

const char zkl_zookeeper_version[] = ZOO_VERSION;

const struct zkl_link_class zkl_zookeeper = {create, destroy, zkl_rpc_send, zkl_handle_retire,
                                             work,   due,     get_trouble};
