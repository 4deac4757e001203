/* link.c - see link.h */
#define _GNU_SOURCE
#include "link.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* --- operations --- */

enum operation { SET_WATCHES, SET_WATCHES2, PING, CONNECT, OTHER, NAMED };

static const struct {
    const char *name;
    int32_t code;
} operations[] = {
    [SET_WATCHES] = {"setWatches", 101},
    [SET_WATCHES2] = {"setWatches2", 105},
    [PING] = {"ping", 11},
    [CONNECT] = {"connect", -10}, /* the server's code for createSession, never sent */
    [OTHER] = {"other", INT32_MIN},
    [NAMED] = {"create", 1},
    {"delete", 2},
    {"exists", 3},
    {"getData", 4},
    {"setData", 5},
    {"getACL", 6},
    {"getChildren", 8},
    {"sync", 9},
    {"getChildren2", 12},
    {"check", 13},
    {"multi", 14},
    {"create2", 15},
    {"removeWatches", 18},
    {"createContainer", 19},
    {"auth", 100},
    {"closeSession", -11},
};

enum { OPERATIONS = sizeof operations / sizeof operations[0] };
_Static_assert((int)OPERATIONS <= (int)OPERATIONS_MAX, "room to count all operations");

/* Labels of passages: an operation, or one of these. */
enum { EVENT = OPERATIONS, UNCOUNTED };

const char *operation_name(int operation) {
    return operation >= 0 && operation < OPERATIONS ? operations[operation].name : NULL;
}

int operation_of_name(const char *name) {
    for (int i = 0; i < OPERATIONS; i++)
        if (strcmp(operations[i].name, name) == 0) return i;
    return -1;
}

static int operation_of_code(int32_t code) {
    for (int i = 0; i < OPERATIONS; i++)
        if (operations[i].code == code) return i;
    return OTHER;
}

static bool belongs_to_flight(int operation) {
    return operation != PING && operation != SET_WATCHES && operation != SET_WATCHES2;
}

/* --- sockets --- */

static void hang_up(int socket) {
    if (socket >= 0) shutdown(socket, SHUT_WR);
}

static void close_socket(int *socket) {
    if (*socket >= 0) close(*socket);
    *socket = -1;
}

static void reset_socket(int *socket) {
    const struct linger abort_connection = {.l_onoff = 1, .l_linger = 0};
    if (*socket >= 0)
        setsockopt(*socket, SOL_SOCKET, SO_LINGER, &abort_connection, sizeof abort_connection);
    close_socket(socket);
}

static void set_no_delay(int socket) {
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
}

/* --- opening and closing --- */

static void link_connect(struct link *link, const struct sockaddr_in *target) {
    link->server = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    set_no_delay(link->server);
    if (connect(link->server, (const struct sockaddr *)target, sizeof *target) == 0) return;
    if (errno == EINPROGRESS) link->connecting = true;
    else link->down.ending = RESET;
}

static void link_connected(struct link *link) {
    int error = 0;
    getsockopt(link->server, SOL_SOCKET, SO_ERROR, &error, &(socklen_t){sizeof error});
    link->connecting = false;
    if (error != 0) link->down.ending = RESET;
}

struct link *link_open(int client, const struct sockaddr_in *target) {
    struct link *link = calloc(1, sizeof *link);
    if (link == NULL) abort();
    link->client = client;
    set_no_delay(client);
    link_connect(link, target);
    return link;
}

void link_reset(struct link *link) {
    reset_socket(&link->client);
    reset_socket(&link->server);
}

/* RST to the client; the server may read all bytes sent to it. Its answers are
 * read and dropped, because closing with unread data would send it a RST. */
static void link_cut_client(struct link *link) {
    reset_socket(&link->client);
    hang_up(link->server);
    link->up_done = true;
    link->down.sealed = link->down.broken = true;
    fifo_free(&link->down.arrived);
}

bool link_finished(const struct link *link) {
    if (link->client < 0) return link->server < 0 || link->down.ending != GO_ON;
    return link->up_done && link->down_done;
}

void link_free(struct link *link) {
    close_socket(&link->client);
    close_socket(&link->server);
    lane_free(&link->up);
    lane_free(&link->down);
    fifo_free(&link->awaited);
    free(link);
}

/* --- requests and replies --- */

/* An admitted request whose reply has not been admitted. */
struct awaited {
    int32_t xid;
    bool drop_reply;
    uint64_t burst; /* 0: in no flight */
};

/* Counts a request with this operation for all rules. Returns their verdict. */
static enum action apply_rules(struct traffic *traffic, int operation) {
    enum action verdict = traffic->lacks & 1u << operation ? DROP_REQUEST : PASS;
    size_t offset = 0;
    while (offset < fifo_length(&traffic->rules)) {
        struct rule *rule = (struct rule *)fifo_front(&traffic->rules) + offset / sizeof *rule;
        if (rule->operation == operation && --rule->remaining == 0) {
            if (verdict == PASS) verdict = rule->action;
            fifo_remove(&traffic->rules, offset, sizeof *rule);
        } else {
            offset += sizeof *rule;
        }
    }
    return verdict;
}

static uint64_t join_burst(struct traffic *traffic, struct link *link, int operation) {
    if (!belongs_to_flight(operation)) return 0;
    if (!link->burst_open) {
        link->burst_open = true;
        link->burst++;
        traffic->flights++;
    }
    return link->burst;
}

static void ask_for_new_session(unsigned char *frame, size_t length) {
    enum { ID = 20, ID_SIZE = 8, PASSWORD = 32, PASSWORD_SIZE = 16 };
    if (length < PASSWORD + PASSWORD_SIZE) return;
    memset(frame + ID, 0, ID_SIZE);
    memset(frame + PASSWORD, 0, PASSWORD_SIZE);
}

static void admit_request(struct traffic *traffic, struct link *link, size_t length,
                          nanoseconds now) {
    unsigned char *frame = fifo_front(&link->up.arrived);
    if (!link->greeted && traffic->renews) ask_for_new_session(frame, length);
    int operation = link->greeted ? operation_of_code(int32_at(frame, length, 8)) : CONNECT;
    enum action action = link->judged ? PASS : apply_rules(traffic, operation);
    link->held = link->judged = action == HOLD;
    if (link->held) return;

    struct passage passage = {.due = now + traffic->one_way, .length = length, .label = operation};
    struct awaited awaited = {.xid = int32_at(frame, length, 4),
                              .drop_reply = action == DROP_REPLY};
    if (action == CUT_AFTER || action == DROP_REQUEST) passage.sequel = CUT_CLIENT;
    if (action == DROP_REQUEST) {
        passage.length = 0;
        passage.label = UNCOUNTED;
    } else {
        awaited.burst = join_burst(traffic, link, operation);
        fifo_append(&link->awaited, &awaited, sizeof awaited);
    }
    link->greeted = true;
    lane_admit(&link->up, &passage);
}

/* Takes the request that a reply answers. The first reply is to the connect
 * request, the others carry their request's xid. Replies to pings overtake others. */
static bool take_awaited(struct link *link, int32_t xid, struct awaited *taken) {
    const struct awaited *awaited = fifo_front(&link->awaited);
    size_t count = fifo_length(&link->awaited) / sizeof *awaited;
    for (size_t i = 0; i < count; i++) {
        if (link->welcomed && awaited[i].xid != xid) continue;
        *taken = awaited[i];
        fifo_remove(&link->awaited, i * sizeof *awaited, sizeof *awaited);
        return true;
    }
    return false;
}

static void admit_reply(struct traffic *traffic, struct link *link, size_t length,
                        nanoseconds now) {
    int32_t xid = int32_at(fifo_front(&link->down.arrived), length, 4);
    struct awaited awaited = {0};
    struct passage passage = {.due = now + traffic->one_way, .length = length, .label = UNCOUNTED};
    if (link->welcomed && xid == -1) passage.label = EVENT;
    else if (take_awaited(link, xid, &awaited)) passage.burst = awaited.burst;
    if (awaited.drop_reply) {
        passage.length = 0;
        passage.sequel = CUT_CLIENT;
    }
    link->welcomed = true;
    lane_admit(&link->down, &passage);
}

/* Admits the end of the source, when no whole frame is left before it. */
static void admit_ending(struct traffic *traffic, struct lane *lane, nanoseconds now) {
    if (lane->sealed || lane->ending == GO_ON) return;
    struct passage end = {
        .due = now + traffic->one_way, .sequel = lane->ending, .label = UNCOUNTED};
    lane_admit(lane, &end);
}

static void count_passage(struct traffic *traffic, int label) {
    if (label < OPERATIONS) traffic->requests[label]++;
    else if (label == EVENT) traffic->events++;
}

/* Counts a passage that was sent, and carries out its sequel. */
static void finish_passage(struct traffic *traffic, struct link *link, bool up,
                           const struct passage *out) {
    if (!(up ? link->up : link->down).broken) {
        count_passage(traffic, out->label);
        *(up ? &traffic->up_bytes : &traffic->down_bytes) += out->length;
    }
    if (out->burst != 0 && out->burst == link->burst) link->burst_open = false;
    switch (out->sequel) {
    case GO_ON: break;
    case HANG_UP:
        hang_up(up ? link->server : link->client);
        *(up ? &link->up_done : &link->down_done) = true;
        break;
    case CUT_CLIENT: link_cut_client(link); break;
    case RESET: link_reset(link); break;
    }
}

static void run_up(struct traffic *traffic, struct link *link, nanoseconds now) {
    size_t length;
    struct passage out;
    link->up.patient = traffic->deaf;
    while (!link->held && !link->up.sealed && (length = lane_frame(&link->up)) > 0)
        admit_request(traffic, link, length, now);
    if (!link->held) admit_ending(traffic, &link->up, now);
    if (link->connecting) return;
    lane_send(&link->up, link->server, now);
    while (lane_pop(&link->up, now, &out)) finish_passage(traffic, link, true, &out);
}

static void run_down(struct traffic *traffic, struct link *link, nanoseconds now) {
    size_t length;
    struct passage out;
    while (!link->down.sealed && (length = lane_frame(&link->down)) > 0)
        admit_reply(traffic, link, length, now);
    admit_ending(traffic, &link->down, now);
    lane_send(&link->down, link->client, now);
    while (lane_pop(&link->down, now, &out)) finish_passage(traffic, link, false, &out);
}

/* --- driving --- */

void link_read(struct link *link, bool client_ready, bool server_ready) {
    if (client_ready && link->up.ending == GO_ON) lane_read(&link->up, link->client);
    if (server_ready && link->connecting) link_connected(link);
    else if (server_ready && link->down.ending == GO_ON) lane_read(&link->down, link->server);
}

void link_run(struct link *link, struct traffic *traffic, nanoseconds now) {
    if (traffic->up_open && !link_finished(link)) run_up(traffic, link, now);
    if (traffic->down_open && !link_finished(link)) run_down(traffic, link, now);
}

nanoseconds link_due(const struct link *link, const struct traffic *traffic) {
    nanoseconds up = traffic->up_open && !link->connecting ? lane_due(&link->up) : NEVER;
    nanoseconds down = traffic->down_open ? lane_due(&link->down) : NEVER;
    return up < down ? up : down;
}
