/*
 * trial.c - finds operations that a server does not know. ClickHouse Keeper closes the connection
 * when it gets such an operation.
 *
 * An operation that ended a connection and never had an answer is tried alone in its own session,
 * after an answered read. If the server closes the connection twice, it does not know the
 * operation. Then the link itself answers "unimplemented", as other servers do. Keeper resumes no
 * session, so the result outlives the session. The next session tries again.
 */
#include "trial.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "wire.h"

/* --- requests in ZooKeeper's form ------------------------------------------------------------- */

/* A node without a parent, so nothing changes. */
#define NOWHERE "/zklock-no-such-node/x"

enum { DATA_WATCHES = 2, CONTAINER = 4, CHECK = 13, PERM_ALL = 0x1f };

static const struct {
    const char *name;
    int number; /* in the protocol */
} operations[ZKL_OPERATIONS] = {
    [ZKL_OPERATION_CREATE] = {"create2", 15},  [ZKL_OPERATION_CONTAINER] = {"createContainer", 19},
    [ZKL_OPERATION_DELETE] = {"delete", 2},    [ZKL_OPERATION_EXISTS] = {"exists", 3},
    [ZKL_OPERATION_GET] = {"getData", 4},      [ZKL_OPERATION_SET] = {"setData", 5},
    [ZKL_OPERATION_LIST] = {"getChildren", 8}, [ZKL_OPERATION_SYNC] = {"sync", 9},
    [ZKL_OPERATION_MULTI] = {"multi", 14},     [ZKL_OPERATION_UNWATCH] = {"removeWatches", 18},
};

static void put_create(struct packet *packet, int flags) {
    zkl_put_text(packet, "");
    zkl_put_number(packet, 1); /* entry of the ACL */
    zkl_put_number(packet, PERM_ALL);
    zkl_put_text(packet, "world");
    zkl_put_text(packet, "anyone");
    zkl_put_number(packet, flags);
}

static void put_part(struct packet *packet, int type, bool last) {
    zkl_put_number(packet, type);
    zkl_put_flag(packet, last);
    zkl_put_number(packet, -1); /* no error */
}

static void put_check(struct packet *packet, const char *path) {
    put_part(packet, CHECK, false);
    zkl_put_text(packet, path);
    zkl_put_number(packet, -1); /* any version */
    put_part(packet, -1, true);
}

static void put_body(struct packet *packet, enum zkl_operation operation, const char *path) {
    if (operation == ZKL_OPERATION_MULTI) {
        put_check(packet, path);
        return;
    }
    zkl_put_text(packet, path);
    switch (operation) {
    case ZKL_OPERATION_CREATE: put_create(packet, 0); break;
    case ZKL_OPERATION_CONTAINER: put_create(packet, CONTAINER); break;
    case ZKL_OPERATION_SET: zkl_put_text(packet, "");             /* fall through */
    case ZKL_OPERATION_DELETE: zkl_put_number(packet, -1); break; /* any version */
    case ZKL_OPERATION_UNWATCH: zkl_put_number(packet, DATA_WATCHES); break;
    case ZKL_OPERATION_EXISTS:
    case ZKL_OPERATION_GET:
    case ZKL_OPERATION_LIST: zkl_put_flag(packet, false); break; /* no watch */
    case ZKL_OPERATION_SYNC:
    case ZKL_OPERATION_MULTI:
    case ZKL_OPERATIONS: break;
    }
}

/* --- one try ---------------------------------------------------------------------------------- */

static enum zkl_wire ask_server(int fd, enum zkl_operation operation, const char *path, zkl_time by,
                                int *error) {
    struct packet packet = zkl_packet(operations[operation].number);
    put_body(&packet, operation, path);
    return zkl_wire_send(fd, &packet) ? zkl_wire_hear(fd, by, error) : ZKL_WIRE_CLOSED;
}

#define TRY_WITHIN ZKL_SECOND

static enum zkl_verdict try_once(const struct sockaddr_storage *server,
                                 enum zkl_operation operation, zkl_time timeout) {
    static const clientid_t nobody = {0};
    zkl_time by = zkl_now() + TRY_WITHIN;
    uint64_t session = 0;
    int fd = zkl_wire_connect(server, by), error = 0;
    enum zkl_wire said = ZKL_WIRE_SILENT;
    if (fd < 0) return ZKL_VERDICT_NONE;
    if (zkl_wire_greet(fd, &nobody, timeout, by, &session) && session != 0 &&
        ask_server(fd, ZKL_OPERATION_EXISTS, "/", by, &error) == ZKL_WIRE_ANSWERED && error == 0)
        said = ask_server(fd, operation, NOWHERE, by, &error);
    struct packet packet = zkl_packet(ZKL_WIRE_END_SESSION);
    if (session != 0) zkl_wire_send(fd, &packet);
    close(fd);
    if (said == ZKL_WIRE_SILENT) return ZKL_VERDICT_NONE;
    bool known = said == ZKL_WIRE_ANSWERED && error != ZUNIMPLEMENTED;
    return known ? ZKL_VERDICT_SUPPORTED : ZKL_VERDICT_UNSUPPORTED;
}

static enum zkl_verdict try_twice(const struct sockaddr_storage *server,
                                  enum zkl_operation operation, zkl_time timeout) {
    enum zkl_verdict first = try_once(server, operation, timeout);
    return first == ZKL_VERDICT_UNSUPPORTED ? try_once(server, operation, timeout) : first;
}

/* --- trials of a link ------------------------------------------------------------------------- */

static enum zkl_operation operation_of_write(const struct zkl_op *op) {
    switch (op->kind) {
    case ZKL_OP_SET: return ZKL_OPERATION_SET;
    case ZKL_OP_DELETE: return ZKL_OPERATION_DELETE;
    case ZKL_OP_CREATE:
    case ZKL_OP_CHECK: break;
    }
    return op->mode == ZKL_CONTAINER ? ZKL_OPERATION_CONTAINER : ZKL_OPERATION_CREATE;
}

enum zkl_operation zkl_operation_of(const struct zkl_rpc *rpc) {
    switch (rpc->kind) {
    case ZKL_RPC_WRITE: return operation_of_write(rpc->ops);
    case ZKL_RPC_MULTI: return ZKL_OPERATION_MULTI;
    case ZKL_RPC_LIST: return ZKL_OPERATION_LIST;
    case ZKL_RPC_SYNC: return ZKL_OPERATION_SYNC;
    case ZKL_RPC_GET: return ZKL_OPERATION_GET;
    case ZKL_RPC_EXISTS: return ZKL_OPERATION_EXISTS;
    case ZKL_RPC_UNWATCH:
    case ZKL_RPC_UNWATCH_CHILDREN: break;
    }
    return ZKL_OPERATION_UNWATCH;
}

/* An operation to try. ZKL_OPERATIONS: none. */
static enum zkl_operation next_suspected(const struct trials *trials) {
    enum zkl_operation each = 0;
    while (each < ZKL_OPERATIONS && !trials->by_operation[each].suspected) each++;
    return each;
}

/* With the mutex held. Silence proves nothing. */
static void note_verdict(struct trials *trials, enum zkl_operation operation,
                         enum zkl_verdict result) {
    struct trial *trial = &trials->by_operation[operation];
    trial->suspected = false;
    bool is_new = result != ZKL_VERDICT_NONE && trial->verdict != ZKL_VERDICT_SUPPORTED;
    if (is_new) trial->verdict = result;
}

static void *run_trials(void *argument) {
    struct zkl_link *link = argument;
    enum zkl_operation operation;
    zkl_client_enter(link->client);
    while ((operation = next_suspected(&link->trials)) != ZKL_OPERATIONS &&
           !zkl_client_is_closing(link->client)) {
        struct sockaddr_storage server = link->gate.server;
        zkl_time timeout = zkl_link_timeout(link);
        zkl_client_leave(link->client);
        enum zkl_verdict result = try_twice(&server, operation, timeout);
        zkl_client_enter(link->client);
        note_verdict(&link->trials, operation, result);
    }
    link->trials.running = false;
    zkl_client_leave(link->client);
    zkl_client_drop(link->client);
    return NULL;
}

void zkl_trials_begin(struct zkl_link *link) {
    struct trials *trials = &link->trials;
    if (trials->running || link->gate.listener < 0 || next_suspected(trials) == ZKL_OPERATIONS)
        return;
    trials->running = zkl_client_start_thread(link->client, run_trials, link) == 0;
}

void zkl_trials_renew(struct zkl_link *link) {
    for (struct trial *each = link->trials.by_operation;
         each < link->trials.by_operation + ZKL_OPERATIONS; each++) {
        each->suspected = each->verdict == ZKL_VERDICT_UNSUPPORTED;
        if (!each->suspected) each->verdict = ZKL_VERDICT_NONE;
    }
}

static bool is_loss(int rc) {
    return rc == ZCONNECTIONLOSS || rc == ZOPERATIONTIMEOUT;
}

static bool is_servers_answer(int rc) {
    return rc == ZOK || (rc < ZAPIERROR && rc != ZSESSIONEXPIRED && rc != ZCLOSING);
}

void zkl_trials_heed(struct zkl_link *link, enum zkl_operation operation, int rc) {
    struct trial *trial = &link->trials.by_operation[operation];
    if (is_servers_answer(rc)) *trial = (struct trial){.verdict = ZKL_VERDICT_SUPPORTED};
    if (trial->verdict != ZKL_VERDICT_NONE || !is_loss(rc)) return;
    trial->suspected = true;
    zkl_trials_begin(link);
}

bool zkl_trials_lack(const struct zkl_link *link, enum zkl_operation operation) {
    return link->trials.by_operation[operation].verdict == ZKL_VERDICT_UNSUPPORTED;
}

/* --- trials of a server --------------------------------------------------------------------- */

_Static_assert(ZKL_OPERATIONS == ZKL_TRIALS, "each operation has its trial");

size_t zkl_zookeeper_try(const char *host, zkl_time timeout, struct zkl_known known[ZKL_TRIALS]) {
    struct servers servers = {0};
    enum zkl_verdict said = ZKL_VERDICT_NONE;
    size_t answering = 0;
    if (zkl_hosts_resolve(host, &servers) != 0) return 0;
    for (; answering < servers.count && said == ZKL_VERDICT_NONE; answering++)
        said = try_twice(&servers.list[answering], ZKL_OPERATION_EXISTS, timeout);
    for (enum zkl_operation each = 0; each < ZKL_OPERATIONS; each++) {
        if (said != ZKL_VERDICT_NONE) said = try_twice(&servers.list[answering - 1], each, timeout);
        known[each] = (struct zkl_known){operations[each].name, said == ZKL_VERDICT_SUPPORTED,
                                         said != ZKL_VERDICT_NONE};
    }
    free(servers.list);
    return ZKL_OPERATIONS;
}

void zkl_zookeeper_ask(const char *host, const char *word, zkl_time by,
                       char text[ZKL_WORD_ANSWER]) {
    struct servers servers = {0};
    *text = '\0';
    if (zkl_hosts_resolve(host, &servers) != 0) return;
    for (size_t i = 0; i < servers.count && !*text; i++) {
        int fd = zkl_wire_connect(&servers.list[i], by);
        if (fd < 0) continue;
        zkl_wire_ask(fd, word, by, text, ZKL_WORD_ANSWER);
        close(fd);
    }
    free(servers.list);
}
