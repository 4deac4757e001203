/* faults.c - faults of servers inside the process and their sessions. */
#include <stdlib.h>
#include <string.h>

#include "memory_link.h"
#include "server.h"

static struct zkl_link *link_of(const zkl_client *client) {
    return zkl_client_link(client, &zkl_memory);
}

const char *zkl_memory_server_name(const zkl_client *client) {
    const struct zkl_link *link = link_of(client);
    return link ? link->name : NULL;
}

/* --- a session ------------------------------------------------------------------------------ */

/* Called with the client's and the servers' mutex held, for a link with a server. */
typedef bool fault(struct zkl_link *link);

static bool expire(struct zkl_link *link) {
    if (!zkl_tree_session_lives(link->server->tree, link->session)) return false;
    zkl_tree_expire(link->server->tree, link->session);
    return true;
}

static bool cut(struct zkl_link *link) {
    if (link->cut) return false;
    link->cut = true;
    zkl_tree_retime(link->server->tree, link->session, link->timeout, zkl_now());
    return true;
}

static bool heal(struct zkl_link *link) {
    if (!link->cut) return false;
    link->cut = false;
    zkl_tree_retime(link->server->tree, link->session, ZKL_NEVER, zkl_now());
    return true;
}

static bool inflict(zkl_client *client, fault *chosen) {
    struct zkl_link *link = link_of(client);
    bool changed = false;
    zkl_client_enter(client);
    zkl_servers_lock();
    if (link->server) {
        changed = chosen(link);
        zkl_server_post_events(link->server);
    }
    zkl_servers_unlock();
    zkl_link_tell_news(link);
    zkl_client_wake(client, 0); /* the link may have to open a session */
    zkl_client_leave(client);
    return changed;
}

bool zkl_memory_expire(zkl_client *client) {
    return inflict(client, expire);
}

bool zkl_memory_cut(zkl_client *client) {
    return inflict(client, cut);
}

bool zkl_memory_heal(zkl_client *client) {
    return inflict(client, heal);
}

/* --- a server -------------------------------------------------------------------------------- */

bool zkl_memory_delay(const char *name, zkl_time delay) {
    zkl_servers_lock();
    struct zkl_server *server = delay > 0 ? zkl_server_find_or_make(name) : zkl_server_find(name);
    if (server) {
        server->delay = delay;
        zkl_server_end_if_unneeded(server);
    }
    zkl_servers_unlock();
    return server || delay == 0;
}

static struct zkl_link *ref_link_with_news(const char *name) {
    zkl_servers_lock();
    struct zkl_server *server = zkl_server_find(name);
    struct zkl_link *link = server ? zkl_server_link_with_news(server) : NULL;
    if (link) zkl_client_ref(link->client);
    zkl_servers_unlock();
    return link;
}

/* Tells sessions their news, unless the server's thread was faster. */
static void tell_all_news(const char *name) {
    struct zkl_link *link;
    while ((link = ref_link_with_news(name))) {
        zkl_client *client = link->client;
        zkl_client_enter(client);
        zkl_link_tell_news(link);
        zkl_client_leave(client);
        zkl_client_drop(client);
    }
}

void zkl_memory_reset(const char *name) {
    zkl_servers_lock();
    struct zkl_server *server = zkl_server_find(name);
    if (server) {
        server->delay = 0;
        zkl_tree_reset(server->tree);
        zkl_server_post_events(server);
        zkl_server_end_if_unneeded(server);
    }
    zkl_servers_unlock();
    tell_all_news(name);
}

/* --- the nodes of a tree --------------------------------------------------------------------- */

int zkl_memory_children(const char *name, const char *path, char **names) {
    *names = NULL;
    zkl_servers_lock();
    struct zkl_server *server = zkl_server_find(name);
    int count = strcmp(path, "/") == 0 ? 0 : ZKL_ERROR_NO_NODE;
    if (server) {
        count = zkl_tree_children(server->tree, path, zkl_now(), names);
        zkl_server_post_events(server);
    }
    zkl_servers_unlock();
    return count;
}
