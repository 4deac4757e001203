/*
 * greeting.c - asks a server whether it knows a session, and may end the session there.
 *
 * A server that knows the session moves it to the asking connection. When that connection closes,
 * the session lives on, and libzookeeper must reconnect. Other servers answer with timeout 0.
 */
#include <unistd.h>

#include "internal.h"
#include "wire.h"

/* Sends credentials first, because without them servers may ignore a close. */
static void close_session(int fd, const char *scheme, const char *auth, zkl_time by) {
    struct packet packet = zkl_packet(ZKL_WIRE_END_SESSION);
    int error;
    if (scheme && !zkl_wire_send_credentials(fd, scheme, auth)) return;
    if (!zkl_wire_send(fd, &packet)) return;
    while (zkl_wire_hear(fd, by, &error) == ZKL_WIRE_ANSWERED) continue;
}

/* With `leaver`, ends a known session. */
static enum zkl_greeting greet_and_maybe_end(const struct zkl_link *leaver,
                                             const struct sockaddr_storage *server,
                                             const clientid_t *id, zkl_time timeout, zkl_time by) {
    uint64_t answered_id;
    int fd = zkl_wire_connect(server, by);
    if (fd < 0) return ZKL_GREETING_SILENCE;
    bool answered = zkl_wire_greet(fd, id, timeout, by, &answered_id);
    bool known = answered && answered_id == (uint64_t)id->client_id;
    if (known && leaver) close_session(fd, leaver->auth_scheme, leaver->auth, by);
    close(fd);
    if (!answered) return ZKL_GREETING_SILENCE;
    return known ? ZKL_GREETING_KNOWN : ZKL_GREETING_UNKNOWN;
}

enum zkl_greeting zkl_greet(const struct sockaddr_storage *server, const clientid_t *id,
                            zkl_time timeout, zkl_time by) {
    return greet_and_maybe_end(NULL, server, id, timeout, by);
}

enum zkl_greeting zkl_farewell(const struct zkl_link *link, const struct sockaddr_storage *server,
                               const clientid_t *id, zkl_time by) {
    return greet_and_maybe_end(link, server, id, link->timeout_wanted, by);
}
