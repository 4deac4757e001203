/*
 * probe.c - finds out whether a handle without a connection can ever reconnect.
 *
 * A server without its data does not report a session as gone. It hangs up each time, because
 * libzookeeper has seen a later transaction, and the session stays suspended for ever. Time proves
 * nothing, because no session expires while an ensemble has no leader.
 *
 * So after a session timeout without a connection a second handle, the probe, is opened. Its
 * session is a transaction, so it connects only with a leader. The server that greets the probe has
 * applied that transaction, and all that the first handle ever saw, unless their data are lost. If
 * a server answers a probe that was connected for a session timeout, and the first handle
 * is still not connected, the first session is over, expired or refused for good. In an outage
 * neither connects, or both do.
 *
 * The worker (handle.c) always closes the probe. If the next session used the probe's handle, it
 * would send requests while the old handle closes.
 */
#include "internal.h"

static zkl_time wanted_at(const struct zkl_link *link) {
    bool suspended = zkl_session_connection_state(link->session) == ZKL_SESSION_SUSPENDED;
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

/* --- the probe's connection -------------------------------------------------------------- */

static void on_connected(struct zkl_link *link) {
    struct probe *probe = &link->probe;
    probe->connected_at = zkl_now();
    probe->dead = !zkl_handle_is_sound(probe->handle);
    /* Some servers ignore clients without credentials. */
    zkl_handle_give_credentials(link, probe->handle, &probe->credentials_given, NULL);
    zkl_gate_ignore(&probe->gate);
    zkl_choice_end(&probe->choice, true);
    zkl_route_connected(&probe->route, zkl_names_key(&probe->gate.server));
}

/* A lost connection ends a probe, as the probe's session might be refused, too. */
void zkl_probe_event(struct zkl_link *link, int state) {
    if (state == ZOO_CONNECTED_STATE) on_connected(link);
    else link->probe.dead = true;
    zkl_client_wake(link->client, 0);
}

/* --- the probe's question ---------------------------------------------------------------- */

zkl_time zkl_probe_ask_due(const struct zkl_link *link) {
    const struct probe *probe = &link->probe;
    if (!probe->handle || probe->dead || !probe->connected_at || probe->awaits_answer)
        return ZKL_NEVER;
    return probe->connected_at + zkl_session_timeout(link->session);
}

/* Runs on the probe's completion thread. */
static void on_answer(int rc, const char *text, const void *context) {
    struct zkl_link *link = (struct zkl_link *)context;
    struct probe *probe = &link->probe;
    (void)text;
    zkl_client_enter(link->client);
    zkl_time now = zkl_now();
    probe->awaits_answer = false;
    bool still_connected = now >= zkl_probe_ask_due(link);
    if (rc == ZOK && still_connected && zkl_probe_wanted(link, now))
        zkl_session_expired(link->session);
    else probe->dead = true;
    zkl_client_wake(link->client, 0);
    zkl_client_leave(link->client);
}

void zkl_probe_ask(struct zkl_link *link, zkl_time now) {
    struct probe *probe = &link->probe;
    if (now < zkl_probe_ask_due(link)) return;
    probe->awaits_answer = zoo_async(probe->handle, "/", on_answer, link) == ZOK;
    if (!probe->awaits_answer) probe->dead = true;
}
