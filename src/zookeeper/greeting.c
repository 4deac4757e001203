/*
 * greeting.c - asks one server whether it knows a session, with ZooKeeper's own greeting, on a
 * socket of its own.
 *
 * A server that knows the session takes it over to that socket, which is closed at once: the
 * session lives on, and libzookeeper has to connect again. A server that does not know it answers
 * with a session timeout of 0.
 */
#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

/* ConnectRequest and ConnectResponse, as ZooKeeper writes them, each after its length. */
struct greeting {
    uint32_t length, version;
    uint64_t last_seen;
    uint32_t timeout; /* milliseconds */
    uint64_t id;
    uint32_t password_length;
    char password[ZKL_PASSWORD_SIZE];
} __attribute__((packed));

struct answer {
    uint32_t length, version, timeout;
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

/* All of the answer, or nothing. */
static bool read_answer(int fd, struct answer *answer, zkl_time by) {
    char *end = (char *)answer;
    for (size_t left = sizeof *answer; left > 0;) {
        ssize_t count = recv(fd, end, left, 0);
        if (count == 0) return false;
        if (count < 0 && (errno != EAGAIN || !wait_for(fd, POLLIN, by))) return false;
        if (count < 0) continue;
        end += count;
        left -= (size_t)count;
    }
    return true;
}

static enum zkl_greeting exchange(int fd, const struct sockaddr_storage *server,
                                  const clientid_t *id, uint32_t timeout, zkl_time by) {
    struct greeting greeting = {.length = htobe32(sizeof greeting - sizeof greeting.length),
                                .timeout = htobe32(timeout),
                                .id = htobe64((uint64_t)id->client_id),
                                .password_length = htobe32(sizeof greeting.password)};
    struct answer answer;
    memcpy(greeting.password, id->passwd, sizeof greeting.password);
    if (!connect_to(fd, server, by) ||
        send(fd, &greeting, sizeof greeting, MSG_NOSIGNAL) != (ssize_t)sizeof greeting ||
        !read_answer(fd, &answer, by))
        return ZKL_GREETING_SILENCE;
    bool known = answer.id == greeting.id && be32toh(answer.timeout) > 0;
    return known ? ZKL_GREETING_KNOWN : ZKL_GREETING_UNKNOWN;
}

enum zkl_greeting zkl_greet(const struct sockaddr_storage *server, const clientid_t *id,
                            uint32_t timeout, zkl_time by) {
    int fd = socket(server->ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return ZKL_GREETING_SILENCE;
    enum zkl_greeting said = exchange(fd, server, id, timeout, by);
    close(fd);
    return said;
}
