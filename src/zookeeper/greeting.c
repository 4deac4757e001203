/*
 * greeting.c - asks one server whether it knows a session.
 *
 * A server that knows the session takes it over to the connection that asks, which is closed at
 * once: the session lives on, and libzookeeper has to connect again. A server that does not know it
 * answers with a session timeout of 0.
 */
#include <unistd.h>

#include "internal.h"
#include "wire.h"

enum zkl_greeting zkl_greet(const struct sockaddr_storage *server, const clientid_t *id,
                            uint32_t timeout, zkl_time by) {
    uint64_t met;
    int fd = zkl_wire_connect(server, by);
    if (fd < 0) return ZKL_GREETING_SILENCE;
    bool any = zkl_wire_greet(fd, id, timeout, by, &met);
    close(fd);
    if (!any) return ZKL_GREETING_SILENCE;
    return met == (uint64_t)id->client_id ? ZKL_GREETING_KNOWN : ZKL_GREETING_UNKNOWN;
}
