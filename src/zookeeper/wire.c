/* wire.c - see wire.h. */
#include "wire.h"

#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

/* ConnectRequest, with the length before it. */
struct greeting {
    uint32_t length, version;
    uint64_t last_seen;
    uint32_t timeout; /* milliseconds */
    uint64_t id;
    uint32_t password_length;
    char password[ZKL_PASSWORD_SIZE];
} __attribute__((packed));

/* ConnectResponse, without its length and end. */
struct welcome {
    uint32_t version, timeout;
    uint64_t id;
} __attribute__((packed));

/* Milliseconds. libzookeeper computes with a timeout in an int, and limits the handshake by it. */
#define LONGEST_TIMEOUT ((zkl_time)24 * 3600 * 1000)

int zkl_milliseconds(zkl_time timeout) {
    zkl_time rounded = timeout / (ZKL_SECOND / 1000);
    return rounded > LONGEST_TIMEOUT ? LONGEST_TIMEOUT : (int)rounded;
}

static bool wait_for(int fd, short events, zkl_time by) {
    struct pollfd entry = {.fd = fd, .events = events};
    for (zkl_time remaining; (remaining = by - zkl_now()) > 0;) {
        int ready = poll(&entry, 1, (int)(zkl_earlier(remaining, ZKL_SECOND) / 1000000) + 1);
        if (ready > 0) return true;
        if (ready < 0 && errno != EINTR) return false;
    }
    return false;
}

int zkl_wire_begin(const struct sockaddr_storage *server) {
    int fd = socket(server->ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd >= 0) (void)connect(fd, (const struct sockaddr *)server, zkl_hosts_size(server));
    return fd;
}

static enum zkl_wire finish_connecting(int fd, zkl_time by) {
    struct sockaddr_storage peer;
    socklen_t size = sizeof peer;
    if (!wait_for(fd, POLLOUT, by)) return ZKL_WIRE_SILENT;
    bool is_connected = getpeername(fd, (struct sockaddr *)&peer, &size) == 0;
    return is_connected ? ZKL_WIRE_ANSWERED : ZKL_WIRE_CLOSED;
}

int zkl_wire_connect(const struct sockaddr_storage *server, zkl_time by) {
    int fd = zkl_wire_begin(server);
    if (fd < 0 || finish_connecting(fd, by) == ZKL_WIRE_ANSWERED) return fd;
    close(fd);
    return -1;
}

static bool send_all(int fd, const void *bytes, size_t size) {
    return send(fd, bytes, size, MSG_NOSIGNAL) == (ssize_t)size;
}

static enum zkl_wire read_all(int fd, void *to, size_t size, zkl_time by) {
    for (char *next = to; size > 0;) {
        if (zkl_now() >= by) return ZKL_WIRE_SILENT;
        ssize_t count = recv(fd, next, size, 0);
        if (count == 0 || (count < 0 && errno != EAGAIN)) return ZKL_WIRE_CLOSED;
        if (count < 0 && !wait_for(fd, POLLIN, by)) return ZKL_WIRE_SILENT;
        if (count < 0) continue;
        next += count;
        size -= (size_t)count;
    }
    return ZKL_WIRE_ANSWERED;
}

/* Reads an answer's length and first `size` bytes, and skips the rest. */
static enum zkl_wire read_answer(int fd, void *to, size_t size, zkl_time by) {
    uint32_t length = 0;
    enum zkl_wire said = read_all(fd, &length, sizeof length, by);
    size_t remaining = be32toh(length);
    if (said != ZKL_WIRE_ANSWERED) return said;
    if (remaining < size) return ZKL_WIRE_CLOSED; /* another protocol */
    said = read_all(fd, to, size, by);
    for (remaining -= size; said == ZKL_WIRE_ANSWERED && remaining > 0;) {
        char rest[256];
        size_t part = remaining < sizeof rest ? remaining : sizeof rest;
        said = read_all(fd, rest, part, by);
        remaining -= part;
    }
    return said;
}

bool zkl_wire_greet(int fd, const clientid_t *id, zkl_time timeout, zkl_time by,
                    uint64_t *answered_id) {
    struct greeting greeting = {.length = htobe32(sizeof greeting - sizeof greeting.length),
                                .timeout = htobe32((uint32_t)zkl_milliseconds(timeout)),
                                .id = htobe64((uint64_t)id->client_id),
                                .password_length = htobe32(sizeof greeting.password)};
    struct welcome welcome;
    memcpy(greeting.password, id->passwd, sizeof greeting.password);
    if (!send_all(fd, &greeting, sizeof greeting) ||
        read_answer(fd, &welcome, sizeof welcome, by) != ZKL_WIRE_ANSWERED)
        return false;
    *answered_id = welcome.timeout ? be64toh(welcome.id) : 0;
    return true;
}

/* --- requests ------------------------------------------------------------------------------- */

static void put_bytes(struct packet *packet, const void *bytes, size_t size) {
    memcpy(packet->bytes + packet->size, bytes, size);
    packet->size += size;
}

void zkl_put_number(struct packet *packet, int number) {
    uint32_t sent = htobe32((uint32_t)number);
    put_bytes(packet, &sent, sizeof sent);
}

void zkl_put_flag(struct packet *packet, bool flag) {
    put_bytes(packet, &(char){flag}, 1);
}

void zkl_put_text(struct packet *packet, const char *text) {
    zkl_put_number(packet, (int)strlen(text));
    put_bytes(packet, text, strlen(text));
}

struct packet zkl_packet(int operation) {
    struct packet packet = {0};
    zkl_put_number(&packet, 0); /* for the length */
    zkl_put_number(&packet, 1); /* any number */
    zkl_put_number(&packet, operation);
    return packet;
}

/* The packet's length includes `more` bytes that the caller sends next. */
static bool send_with(int fd, struct packet *packet, size_t more) {
    uint32_t length = htobe32((uint32_t)(packet->size - sizeof length + more));
    memcpy(packet->bytes, &length, sizeof length);
    return send_all(fd, packet->bytes, packet->size);
}

bool zkl_wire_send(int fd, struct packet *packet) {
    return send_with(fd, packet, 0);
}

#define TO_AUTHENTICATE 100

/* Sends the texts outside a packet, because they may be too long for one. */
bool zkl_wire_send_credentials(int fd, const char *scheme, const char *auth) {
    struct packet head = zkl_packet(TO_AUTHENTICATE);
    uint32_t size = htobe32((uint32_t)strlen(auth));
    zkl_put_number(&head, 0); /* no type */
    zkl_put_number(&head, (int)strlen(scheme));
    return send_with(fd, &head, strlen(scheme) + sizeof size + strlen(auth)) &&
           send_all(fd, scheme, strlen(scheme)) && send_all(fd, &size, sizeof size) &&
           send_all(fd, auth, strlen(auth));
}

struct reply {
    uint32_t number;
    uint64_t zxid;
    uint32_t error;
} __attribute__((packed));

enum zkl_wire zkl_wire_hear(int fd, zkl_time by, int *error) {
    struct reply reply;
    enum zkl_wire said = read_answer(fd, &reply, sizeof reply, by);
    if (said == ZKL_WIRE_ANSWERED) *error = (int)be32toh(reply.error);
    return said;
}

enum zkl_wire zkl_wire_ask(int fd, const char *word, zkl_time by, char *text, size_t size) {
    memset(text, 0, size);
    return send_all(fd, word, strlen(word)) ? read_all(fd, text, size - 1, by) : ZKL_WIRE_CLOSED;
}

enum zkl_wire zkl_wire_question(int fd, zkl_time by) {
    char answer[sizeof "imok"];
    enum zkl_wire said = finish_connecting(fd, by);
    if (said != ZKL_WIRE_ANSWERED) return said;
    bool is_silent = zkl_wire_ask(fd, "ruok", by, answer, sizeof answer) == ZKL_WIRE_SILENT;
    return is_silent ? ZKL_WIRE_SILENT : ZKL_WIRE_ANSWERED;
}
