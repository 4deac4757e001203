/*
 * gate.c - libzookeeper connects to the server of our choice, at the time of our choice.
 *
 * By itself libzookeeper walks a fixed host list. It resolves no name again, returns to a server
 * ten times a second, and tries every other address of an even number (ZOOKEEPER-2466). So a
 * handle's list has one server and the gate, a listening socket of this process. A connection that
 * fails or ends leads to the gate. There libzookeeper waits for a greeting until we put the next
 * server into the list and close the connection.
 *
 * The list changes only while libzookeeper waits at the gate. Then zoo_set_servers() closes no
 * socket in use, because the gate is in both lists, and frees no text in use (ZOOKEEPER-4699),
 * because libzookeeper's thread reads it only between two sockets.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

/* Between looks at the gate. */
#define FIRST_PAUSE (ZKL_SECOND / 1000)
#define LONGEST_PAUSE (ZKL_SECOND / 20)

/* --- the socket ------------------------------------------------------------------------------ */

void zkl_gate_init(struct gate *gate) {
    *gate = (struct gate){
        .listener = -1, .connection = -1, .guest = -1, .reserve = -1, .look_at = ZKL_NEVER};
}

/* shutdown() also ends a forked child's copy. */
static void shut_down(int *descriptor) {
    if (*descriptor < 0) return;
    shutdown(*descriptor, SHUT_RDWR);
    close(*descriptor);
    *descriptor = -1;
}

/* For a guest while no other descriptor is free. */
static void keep_reserve(struct gate *gate) {
    if (gate->reserve < 0) gate->reserve = fcntl(gate->listener, F_DUPFD_CLOEXEC, 0);
}

static void drop_reserve(struct gate *gate) {
    if (gate->reserve >= 0) close(gate->reserve);
    gate->reserve = -1;
}

void zkl_gate_end(struct gate *gate) {
    drop_reserve(gate);
    shut_down(&gate->connection);
    shut_down(&gate->guest);
    shut_down(&gate->listener);
    gate->look_at = ZKL_NEVER;
}

static struct sockaddr_in *ipv4(struct sockaddr_storage *address) {
    return (struct sockaddr_in *)address;
}

int zkl_gate_begin(struct gate *gate) {
    struct sockaddr_storage *address = &gate->address;
    socklen_t size = sizeof(struct sockaddr_in);
    zkl_gate_init(gate);
    memset(address, 0, sizeof *address);
    address->ss_family = AF_INET;
    inet_pton(AF_INET, ZKL_GATE_HOST, &ipv4(address)->sin_addr);
    gate->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (gate->listener < 0 || bind(gate->listener, (struct sockaddr *)address, size) != 0 ||
        listen(gate->listener, 4) != 0 ||
        getsockname(gate->listener, (struct sockaddr *)address, &size) != 0) {
        int error = errno;
        zkl_gate_end(gate);
        return error;
    }
    keep_reserve(gate);
    zkl_gate_expect(gate, zkl_now());
    return 0;
}

static void accept_any(struct gate *gate) {
    socklen_t size = sizeof gate->guest_address;
    gate->guest_address = (struct sockaddr_storage){0};
    gate->guest = accept4(gate->listener, (struct sockaddr *)&gate->guest_address, &size,
                          SOCK_CLOEXEC | SOCK_NONBLOCK);
}

/* Further guests wait until the first is judged. */
static void accept_guest(struct gate *gate) {
    if (gate->guest < 0) accept_any(gate);
    if (gate->guest < 0 && errno == EMFILE) {
        drop_reserve(gate);
        accept_any(gate);
    }
    keep_reserve(gate);
}

void zkl_gate_judge(struct gate *gate, const struct sockaddr_storage *guest, bool ours) {
    if (gate->guest < 0 || !zkl_hosts_are_same(&gate->guest_address, guest)) return;
    if (ours) {
        shut_down(&gate->connection);
        gate->connection = gate->guest;
        gate->guest = -1;
    } else shut_down(&gate->guest);
    if (gate->look_at != ZKL_NEVER) gate->look_at = zkl_now();
}

/* True if libzookeeper still waits. Reads and ignores its bytes. */
static bool is_waiting(struct gate *gate) {
    char sent[256];
    ssize_t count = 1;
    while (gate->connection >= 0 && count > 0) count = read(gate->connection, sent, sizeof sent);
    if (gate->connection >= 0 && (count == 0 || errno != EAGAIN)) shut_down(&gate->connection);
    return gate->connection >= 0;
}

/* --- the list -------------------------------------------------------------------------------- */

/* Three entries, because libzookeeper tries each of an odd number (ZOOKEEPER-2466). */
#define LIST_SIZE ((size_t)3 * (ZKL_ADDRESS_SIZE + 1))

/* Neither a server's address nor the gate's. libzookeeper compares addresses without ports. */
static struct sockaddr_storage nowhere(const struct gate *gate) {
    struct sockaddr_storage address = gate->address;
    ipv4(&address)->sin_addr.s_addr += htonl(1);
    ipv4(&address)->sin_port = htons(1);
    return address;
}

/* `form` has g for the gate, s for the server, n for nowhere. False: an address has no format. */
static bool write_list(char list[LIST_SIZE], const struct gate *gate, const char form[3]) {
    const struct sockaddr_storage none = nowhere(gate);
    for (int i = 0; i < 3; i++) {
        const struct sockaddr_storage *entry = form[i] == 'g'   ? &gate->address
                                               : form[i] == 's' ? &gate->server
                                                                : &none;
        int length = zkl_hosts_write_entry(entry, list);
        if (!length) return false;
        list += length;
        *list++ = i < 2 ? ',' : '\0';
    }
    return true;
}

/*
 * Either libzookeeper keeps the order of all lists of the process, or of none. Callers are counted,
 * as a fork could leave a mutex locked. Another order only leads to the gate more often.
 */
static atomic_int keepers;

void zkl_gate_keep_order(void) {
    atomic_fetch_add(&keepers, 1);
    zoo_deterministic_conn_order(true);
}

void zkl_gate_any_order(void) {
    if (atomic_fetch_sub(&keepers, 1) == 1) zoo_deterministic_conn_order(false);
}

char *zkl_gate_list(struct gate *gate, const struct sockaddr_storage *server, const char *chroot) {
    char *list = calloc(1, LIST_SIZE + strlen(chroot));
    gate->server = *server;
    if (list && write_list(list, gate, "sgg")) return strcat(list, chroot);
    free(list);
    return NULL;
}

/* --- rounds ---------------------------------------------------------------------------------- */

void zkl_gate_expect(struct gate *gate, zkl_time now) {
    if (gate->listener < 0) return;
    gate->pause = FIRST_PAUSE;
    gate->look_at = now + FIRST_PAUSE;
}

void zkl_gate_ignore(struct gate *gate) {
    gate->look_at = ZKL_NEVER;
}

/* The time that libzookeeper has waited, stops of this process included. 0: unknown. */
static zkl_time time_waited(int connection) {
    struct tcp_info info;
    socklen_t size = sizeof info;
    if (getsockopt(connection, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return 0;
    return (zkl_time)info.tcpi_last_data_recv * (ZKL_SECOND / 1000);
}

bool zkl_gate_look(struct gate *gate, zkl_time timeout, zkl_time now) {
    if (now < gate->look_at) return false;
    accept_guest(gate);
    gate->look_at = now + gate->pause;
    gate->pause = zkl_earlier(2 * gate->pause, zkl_earlier(LONGEST_PAUSE, timeout / 12));
    /* libzookeeper soon leaves the gate, and comes again. Until then the list must not change. */
    if (gate->connection >= 0 && time_waited(gate->connection) > timeout / 2)
        shut_down(&gate->connection);
    return is_waiting(gate);
}

void zkl_gate_renew(struct gate *gate, zhandle_t *handle, zkl_time timeout) {
    char list[LIST_SIZE];
    if (time_waited(gate->connection) <= timeout / 3) return;
    zkl_gate_keep_order();
    if (write_list(list, gate, "gng")) zoo_set_servers(handle, list);
    zkl_gate_any_order();
    shut_down(&gate->connection);
}

/*
 * Makes libzookeeper go on to the second entry. It ignores a list with the addresses of its current
 * list, so it first gets a list without any server.
 */
void zkl_gate_open(struct gate *gate, zhandle_t *handle, const struct sockaddr_storage *server,
                   zkl_time now) {
    char between[LIST_SIZE], list[LIST_SIZE];
    gate->server = *server;
    zkl_gate_keep_order();
    if (write_list(between, gate, "gng") && write_list(list, gate, "gsg") &&
        zoo_set_servers(handle, between) == ZOK)
        zoo_set_servers(handle, list);
    zkl_gate_any_order();
    shut_down(&gate->connection);
    keep_reserve(gate);
    zkl_gate_expect(gate, now);
}
