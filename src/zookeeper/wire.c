/*
 * wire.c - ZooKeeper's protocol on a socket of our own, beside libzookeeper's: its greeting, and
 * what is sent and read after it. Each call blocks until `by`.
 */
#include "wire.h"

#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

/* ConnectRequest, as ZooKeeper writes it, after its length. */
struct greeting {
    uint32_t length, version;
    uint64_t last_seen;
    uint32_t timeout; /* milliseconds */
    uint64_t id;
    uint32_t password_length;
    char password[ZKL_PASSWORD_SIZE];
} __attribute__((packed));

/* ConnectResponse */
struct welcome {
    uint32_t version, timeout;
    uint64_t id;
} __attribute__((packed));

/* False: it is not ready by then. */
static bool wait_for(int fd, short events, zkl_time by) {
    struct pollfd entry = {.fd = fd, .events = events};
    for (zkl_time left; (left = by - zkl_now()) > 0;) {
        int ready = poll(&entry, 1, (int)(zkl_earlier(left, ZKL_SECOND) / 1000000) + 1);
        if (ready > 0) return true;
        if (ready < 0 && errno != EINTR) return false;
    }
    return false;
}

static bool connect_to(int fd, const struct sockaddr_storage *server, zkl_time by) {
    if (connect(fd, (const struct sockaddr *)server, zkl_hosts_size(server)) == 0) return true;
    int error = errno;
    socklen_t error_size = sizeof error;
    return error == EINPROGRESS && wait_for(fd, POLLOUT, by) &&
           getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &error_size) == 0 && error == 0;
}

int zkl_wire_connect(const struct sockaddr_storage *server, zkl_time by) {
    int fd = socket(server->ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect_to(fd, server, by)) return fd;
    close(fd);
    return -1;
}

bool zkl_wire_send(int fd, const void *bytes, size_t size) {
    return send(fd, bytes, size, MSG_NOSIGNAL) == (ssize_t)size;
}

static enum zkl_wire read_all(int fd, void *to, size_t size, zkl_time by) {
    for (char *next = to; size > 0;) {
        ssize_t count = recv(fd, next, size, 0);
        if (count == 0 || (count < 0 && errno != EAGAIN)) return ZKL_WIRE_CLOSED;
        if (count < 0 && !wait_for(fd, POLLIN, by)) return ZKL_WIRE_SILENT;
        if (count < 0) continue;
        next += count;
        size -= (size_t)count;
    }
    return ZKL_WIRE_ANSWERED;
}

enum zkl_wire zkl_wire_read(int fd, void *to, size_t size, zkl_time by) {
    uint32_t length;
    enum zkl_wire said = read_all(fd, &length, sizeof length, by);
    size_t left = be32toh(length);
    if (said != ZKL_WIRE_ANSWERED) return said;
    if (left < size) return ZKL_WIRE_CLOSED; /* it speaks another protocol */
    said = read_all(fd, to, size, by);
    for (left -= size; said == ZKL_WIRE_ANSWERED && left > 0;) {
        char rest[256];
        size_t part = left < sizeof rest ? left : sizeof rest;
        said = read_all(fd, rest, part, by);
        left -= part;
    }
    return said;
}

bool zkl_wire_greet(int fd, const clientid_t *id, uint32_t timeout, zkl_time by, uint64_t *met) {
    struct greeting greeting = {.length = htobe32(sizeof greeting - sizeof greeting.length),
                                .timeout = htobe32(timeout),
                                .id = htobe64((uint64_t)id->client_id),
                                .password_length = htobe32(sizeof greeting.password)};
    struct welcome welcome;
    memcpy(greeting.password, id->passwd, sizeof greeting.password);
    if (!zkl_wire_send(fd, &greeting, sizeof greeting) ||
        zkl_wire_read(fd, &welcome, sizeof welcome, by) != ZKL_WIRE_ANSWERED)
        return false;
    *met = welcome.timeout ? be64toh(welcome.id) : 0;
    return true;
}
