/* wire.h - ZooKeeper's protocol on a socket of our own. */
#ifndef ZKL_ZOOKEEPER_WIRE_H
#define ZKL_ZOOKEEPER_WIRE_H

#include "internal.h"

enum zkl_wire { ZKL_WIRE_ANSWERED, ZKL_WIRE_CLOSED, ZKL_WIRE_SILENT };

/* Each blocks until `by`. */
int zkl_wire_connect(const struct sockaddr_storage *server, zkl_time by); /* -1: there is none */
bool zkl_wire_send(int fd, const void *bytes, size_t size);
/* The first `size` bytes of the next answer, after its length; the rest is passed over. */
enum zkl_wire zkl_wire_read(int fd, void *to, size_t size, zkl_time by);
/*
 * The first message of a connection. False: no answer. `met` is the session, 0: the server does not
 * know it. An `id` of zeros asks for a new session.
 */
bool zkl_wire_greet(int fd, const clientid_t *id, uint32_t timeout, zkl_time by, uint64_t *met);

#endif
