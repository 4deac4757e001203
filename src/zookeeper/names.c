/*
 * names.c - resolves host names in a thread, because a resolver may hang. The thread holds a
 * reference to the client. Results for a host list that was replaced meanwhile are dropped. A route
 * knows addresses as hashes.
 */
#include <stdlib.h>

#include "../core/hash.h"
#include "internal.h"

static bool wants_addresses(const struct zkl_link *link) {
    if (link->resolving || zkl_client_is_closing(link->client)) return false;
    return link->handle || link->wants_handle;
}

zkl_time zkl_names_due(const struct zkl_link *link) {
    return wants_addresses(link) ? zkl_route_resolve_due(&link->route) : ZKL_NEVER;
}

uint64_t zkl_names_key(const struct sockaddr_storage *address) {
    char text[ZKL_ADDRESS_SIZE];
    int length = zkl_hosts_format_one(address, text);
    return zkl_hash(text, (size_t)length);
}

void zkl_names_tell_route(const struct zkl_link *link, struct zkl_route *route) {
    size_t count = link->servers.count;
    uint64_t *keys = count ? malloc(count * sizeof *keys) : NULL;
    for (size_t i = 0; keys && i < count; i++) keys[i] = zkl_names_key(&link->servers.list[i]);
    zkl_route_resolved(route, keys, keys ? count : 0, zkl_link_timeout(link), zkl_now());
    free(keys);
}

/* `error` 0: the host list was replaced meanwhile. */
static void end_without_addresses(struct zkl_link *link, int error) {
    if (error && link->wants_handle) link->trouble.error = error;
    if (error) zkl_route_resolved(&link->route, NULL, 0, zkl_link_timeout(link), zkl_now());
}

void zkl_names_take(struct zkl_link *link, const struct servers *found) {
    free(link->servers.list);
    link->servers = *found;
    zkl_names_tell_route(link, &link->route);
    if (link->probe.handle) zkl_names_tell_route(link, &link->probe.route);
    zkl_choice_renew(&link->choice);
    zkl_choice_renew(&link->probe.choice);
}

static void *run_resolver(void *argument) {
    struct zkl_link *link = argument;
    struct servers found = {0};
    zkl_lock(link->client);
    const struct hosts *hosts = link->hosts;
    zkl_unlock(link->client);
    int error = zkl_hosts_resolve(hosts->text, &found);
    zkl_client_enter(link->client);
    bool wanted = hosts == link->hosts;
    link->resolving = false;
    if (wanted && !error) zkl_names_take(link, &found);
    else end_without_addresses(link, wanted ? error : 0);
    if (!wanted) free(found.list);
    zkl_client_wake(link->client, 0);
    zkl_client_leave(link->client);
    zkl_client_drop(link->client);
    return NULL;
}

void zkl_names_resolve(struct zkl_link *link, zkl_time now) {
    if (now < zkl_names_due(link)) return;
    link->resolving = true;
    int error = zkl_client_start_thread(link->client, run_resolver, link);
    if (!error) return;
    link->resolving = false;
    end_without_addresses(link, error); /* for lack of a thread */
}
