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

/* With a `leaver` a session that is known is ended, by its credentials. */
static enum zkl_greeting visit(const struct zkl_link *leaver, const struct sockaddr_storage *server,
                               const clientid_t *id, zkl_time timeout, zkl_time by) {
    uint64_t met;
    int fd = zkl_wire_connect(server, by);
    if (fd < 0) return ZKL_GREETING_SILENCE;
    bool any = zkl_wire_greet(fd, id, timeout, by, &met);
    bool known = any && met == (uint64_t)id->client_id;
    if (known && leaver) end(fd, leaver->auth_scheme, leaver->auth, by);
    close(fd);
    if (!any) return ZKL_GREETING_SILENCE;
    return known ? ZKL_GREETING_KNOWN : ZKL_GREETING_UNKNOWN;
}

enum zkl_greeting zkl_greet(const struct sockaddr_storage *server, const clientid_t *id,
                            zkl_time timeout, zkl_time by) {
    return visit(NULL, server, id, timeout, by);
}

enum zkl_greeting zkl_farewell(const struct zkl_link *link, const struct sockaddr_storage *server,
                               const clientid_t *id, zkl_time by) {
    return visit(link, server, id, link->timeout_wanted, by);
}
