/*
 * probe.c - finds out whether a handle that does not connect again ever will.
 *
 * A server that has lost its data, or never had them, does not say that a session is
 * gone: libzookeeper has seen a later transaction than the server has, so the server
 * hangs up, each time, and the session stays suspended for ever. Time alone proves
 * nothing: while an ensemble has no leader, no session expires.
 *
 * So after a session timeout without a connection a second handle is opened, the
 * probe. It connects only if there is a leader: its session is a transaction. The
 * server that greets it has carried out that transaction, and so all that the first handle
 * ever saw, unless they are lost: it does not merely lag. When the probe has been connected
 * for a session timeout, a server answers it then, and the first handle is still not
 * connected, the first session is over: refused for good, or expired by that leader. It
 * is given up like any that expired. In an outage the probe does not connect, or both
 * handles do.
 *
 * The probe could be the next session's handle. But it has to be closed in order in all
 * other cases, and a handle that is taken over while another is closed would need
 * requests of its own; so it is closed in this case, too. The worker opens and closes it
 * (handle.c).
 */
#include "internal.h"

static zkl_time wanted_at(const struct zkl_link *link) {
    bool suspended = zkl_session_connection(link->session) == ZKL_SESSION_SUSPENDED;
    if (!suspended || zkl_client_is_closing(link->client)) return ZKL_NEVER;
    return link->unconnected_since + zkl_session_timeout(link->session);
}

bool zkl_probe_wanted(const struct zkl_link *link, zkl_time now) {
    return now >= wanted_at(link);
}

zkl_time zkl_probe_open_due(const struct zkl_link *link) {
    zkl_time wanted = wanted_at(link);
    if (link->probe.handle) return ZKL_NEVER;
    return wanted > link->probe.open_at ? wanted : link->probe.open_at;
}

/* --- what it hears ----------------------------------------------------------------------- */

static void on_connected(struct zkl_link *link) {
    struct probe *probe = &link->probe;
    probe->since = zkl_now();
    probe->dead = !zkl_handle_is_sound(probe->handle);
    /* Some servers answer no client without credentials. */
    zkl_handle_give_credentials(link, probe->handle, &probe->credentials_given, NULL);
    zkl_gate_ignore(&probe->gate);
    zkl_route_connected(&probe->route);
    zkl_link_close_on_exec(link, &probe->gate);
}

/* A probe that loses its connection is replaced: its session might be refused as well. */
void zkl_probe_event(struct zkl_link *link, int state) {
    if (state == ZOO_CONNECTED_STATE) on_connected(link);
    else link->probe.dead = true;
    zkl_client_wake(link->client, 0);
}

/* --- what it asks ------------------------------------------------------------------------ */

zkl_time zkl_probe_ask_due(const struct zkl_link *link) {
    const struct probe *probe = &link->probe;
    if (!probe->handle || probe->dead || !probe->since || probe->asked) return ZKL_NEVER;
    return probe->since + zkl_session_timeout(link->session);
}

/* Runs on the probe's completion thread. */
static void on_answer(int rc, const char *text, const void *context) {
    struct zkl_link *link = (struct zkl_link *)context;
    struct probe *probe = &link->probe;
    (void)text;
    zkl_client_enter(link->client);
    zkl_time now = zkl_now();
    probe->asked = false;
    bool connected_since = now >= zkl_probe_ask_due(link);
    if (rc == ZOK && connected_since && zkl_probe_wanted(link, now))
        zkl_session_expired(link->session);
    else probe->dead = true;
    zkl_client_wake(link->client, 0);
    zkl_client_leave(link->client);
}

void zkl_probe_ask(struct zkl_link *link, zkl_time now) {
    struct probe *probe = &link->probe;
    if (now < zkl_probe_ask_due(link)) return;
    probe->asked = zoo_async(probe->handle, "/", on_answer, link) == ZOK;
    if (!probe->asked) probe->dead = true;
}
