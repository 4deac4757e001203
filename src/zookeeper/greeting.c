/*
 * greeting.c - asks one server whether it knows a session, and ends it there.
 *
 * A server that knows the session takes it over to the connection that asks. If that is closed at
 * once the session lives on, and libzookeeper has to connect again. A server that does not know it
 * answers with a session timeout of 0.
 */
#include <unistd.h>

#include "internal.h"
#include "wire.h"

/* Ends the connection's session. A server may drop what a client sends without credentials. */
static void end(int fd, const char *scheme, const char *auth, zkl_time by) {
    struct packet packet = zkl_packet(ZKL_WIRE_CLOSE);
    int error;
    if (scheme && !zkl_wire_send_credentials(fd, scheme, auth)) return;
    if (!zkl_wire_send(fd, &packet)) return;
    while (zkl_wire_hear(fd, by, &error) == ZKL_WIRE_ANSWERED) continue;
}

static enum zkl_greeting meet(int fd, const clientid_t *id, uint32_t timeout, zkl_time by) {
    uint64_t met;
    if (!zkl_wire_greet(fd, id, timeout, by, &met)) return ZKL_GREETING_SILENCE;
    return met == (uint64_t)id->client_id ? ZKL_GREETING_KNOWN : ZKL_GREETING_UNKNOWN;
}

enum zkl_greeting zkl_greet(const struct sockaddr_storage *server, const clientid_t *id,
                            uint32_t timeout, zkl_time by) {
    int fd = zkl_wire_connect(server, by);
    if (fd < 0) return ZKL_GREETING_SILENCE;
    enum zkl_greeting said = meet(fd, id, timeout, by);
    close(fd);
    return said;
}

enum zkl_greeting zkl_farewell(const struct zkl_link *link, const struct sockaddr_storage *server,
                               const clientid_t *id, zkl_time by) {
    uint32_t timeout = (uint32_t)(link->timeout_wanted / (ZKL_SECOND / 1000));
    int fd = zkl_wire_connect(server, by);
    if (fd < 0) return ZKL_GREETING_SILENCE;
    enum zkl_greeting said = meet(fd, id, timeout, by);
    if (said == ZKL_GREETING_KNOWN) end(fd, link->auth_scheme, link->auth, by);
    close(fd);
    return said;
}
