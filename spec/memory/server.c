/* server.c - see server.h. Uses libzookeeper's asynchronous calls. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <zookeeper/zookeeper.h>

#include "server.h"

enum { OPS = 16, EVENTS = 256, PATH_SIZE = 256, TIMEOUT_MS = 30000, PATIENCE_SECONDS = 60 };

/* An answer, and all data to which it points. */
struct reply {
    struct zkl_answer answer;
    struct zkl_stat stat;
    char *data;
    char **names;
    struct zkl_result results[OPS];
    char created[OPS][PATH_SIZE];
};

struct server_session {
    zhandle_t *handle;
    pthread_mutex_t lock;
    pthread_cond_t news;
    bool connected, answered;
    struct reply reply;
    struct zoo_op ops[OPS]; /* operations of the pending MULTI */
    zoo_op_result_t results[OPS];
    struct Stat stats[OPS];
    struct server_event events[EVENTS], taken[EVENTS];
    size_t event_count;
};

__attribute__((noreturn)) static void give_up(const char *what) {
    fprintf(stderr, "differential: %s\n", what);
    exit(2);
}

static void await(struct server_session *session, const bool *flag, const char *what) {
    struct timespec deadline;
    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_sec += PATIENCE_SECONDS;
    pthread_mutex_lock(&session->lock);
    while (!*flag) {
        if (pthread_cond_timedwait(&session->news, &session->lock, &deadline)) give_up(what);
    }
    pthread_mutex_unlock(&session->lock);
}

static void raise_flag(struct server_session *session, bool *flag) {
    pthread_mutex_lock(&session->lock);
    *flag = true;
    pthread_cond_signal(&session->news);
    pthread_mutex_unlock(&session->lock);
}

/* --- events ------------------------------------------------------------------------------ */

static void on_event(zhandle_t *handle, int type, int state, const char *path, void *context) {
    struct server_session *session = context;
    (void)handle;
    if (type == ZOO_SESSION_EVENT) {
        if (state == ZOO_CONNECTED_STATE) raise_flag(session, &session->connected);
        return;
    }
    pthread_mutex_lock(&session->lock);
    if (session->event_count == EVENTS) give_up("too many events");
    struct server_event *event = &session->events[session->event_count++];
    event->kind = type == ZOO_CREATED_EVENT   ? ZKL_NODE_CREATED
                  : type == ZOO_DELETED_EVENT ? ZKL_NODE_DELETED
                  : type == ZOO_CHILD_EVENT   ? ZKL_NODE_CHILDREN
                                              : ZKL_NODE_CHANGED;
    snprintf(event->path, sizeof event->path, "%s", path);
    pthread_mutex_unlock(&session->lock);
}

size_t server_event_count(struct server_session *session) {
    pthread_mutex_lock(&session->lock);
    size_t count = session->event_count;
    pthread_mutex_unlock(&session->lock);
    return count;
}

const struct server_event *server_take_events(struct server_session *session) {
    pthread_mutex_lock(&session->lock);
    memcpy(session->taken, session->events, sizeof session->taken);
    session->event_count = 0;
    pthread_mutex_unlock(&session->lock);
    return session->taken;
}

/* --- answers ----------------------------------------------------------------------------- */

static void forget_reply(struct reply *reply) {
    for (int i = 0; i < reply->answer.count; i++) free(reply->names[i]);
    free(reply->names);
    free(reply->data);
    *reply = (struct reply){0};
}

static struct zkl_stat stat_of(const struct Stat *stat) {
    return (struct zkl_stat){.czxid = stat->czxid,
                             .mzxid = stat->mzxid,
                             .version = stat->version,
                             .aversion = stat->aversion,
                             .owner = (uint64_t)stat->ephemeralOwner};
}

static void finish(const void *data, int error, const struct Stat *stat) {
    struct server_session *session = (struct server_session *)data;
    struct reply *reply = &session->reply;
    reply->answer.error = reply->results[0].error = error;
    if (stat) {
        reply->stat = reply->results[0].stat = stat_of(stat);
        reply->answer.stat = &reply->stat;
    }
    raise_flag(session, &session->answered);
}

static void on_void(int error, const void *data) {
    finish(data, error, NULL);
}

static void on_stat(int error, const struct Stat *stat, const void *data) {
    finish(data, error, error ? NULL : stat);
}

static void on_string(int error, const char *value, const void *data) {
    (void)value;
    finish(data, error, NULL);
}

static void on_created(int error, const char *path, const struct Stat *stat, const void *data) {
    struct reply *reply = &((struct server_session *)data)->reply;
    if (!error) {
        snprintf(reply->created[0], PATH_SIZE, "%s", path);
        reply->results[0].created = reply->created[0];
    }
    finish(data, error, error ? NULL : stat);
}

static void on_data(int error, const char *value, int size, const struct Stat *stat,
                    const void *data) {
    struct reply *reply = &((struct server_session *)data)->reply;
    if (!error) {
        reply->answer.size = size;
        reply->data = malloc(size > 0 ? (size_t)size : 1);
        if (size > 0) memcpy(reply->data, value, (size_t)size);
        reply->answer.data = reply->data;
    }
    finish(data, error, error ? NULL : stat);
}

static void on_names(int error, const struct String_vector *names, const void *data) {
    struct reply *reply = &((struct server_session *)data)->reply;
    if (!error) {
        reply->names = calloc((size_t)names->count + 1, sizeof *reply->names);
        for (int i = 0; i < names->count; i++) reply->names[i] = strdup(names->data[i]);
        reply->answer.names = (const char *const *)reply->names;
        reply->answer.count = names->count;
    }
    finish(data, error, NULL);
}

static void on_multi(int error, const void *data) {
    struct server_session *session = (struct server_session *)data;
    for (int i = 0; i < OPS; i++) {
        struct zkl_result *result = &session->reply.results[i];
        result->error = session->results[i].err;
        if (error) continue;
        result->stat = stat_of(&session->stats[i]);
        if (session->reply.created[i][0]) result->created = session->reply.created[i];
    }
    session->reply.answer.error = error;
    raise_flag(session, &session->answered);
}

/* --- requests ---------------------------------------------------------------------------- */

static int mode_of(enum zkl_node_mode mode) {
    switch (mode) {
    case ZKL_EPHEMERAL: return ZOO_EPHEMERAL;
    case ZKL_SEQUENTIAL: return ZOO_EPHEMERAL_SEQUENTIAL;
    case ZKL_CONTAINER: return ZOO_CONTAINER;
    case ZKL_PERSISTENT: break;
    }
    return 0;
}

static int size_of(const struct zkl_op *op) {
    return op->data ? (int)op->size : -1;
}

static int send_multi(struct server_session *session, const struct zkl_rpc *rpc) {
    memset(session->stats, 0, sizeof session->stats);
    memset(session->results, 0, sizeof session->results);
    for (size_t i = 0; i < rpc->count; i++) {
        const struct zkl_op *op = &rpc->ops[i];
        zoo_op_t *out = &session->ops[i];
        switch (op->kind) {
        case ZKL_OP_SET:
            zoo_set_op_init(out, op->path, op->data, size_of(op), op->version, &session->stats[i]);
            break;
        case ZKL_OP_CREATE:
            zoo_create_op_init(out, op->path, op->data, size_of(op), &ZOO_OPEN_ACL_UNSAFE,
                               mode_of(op->mode), session->reply.created[i], PATH_SIZE);
            break;
        case ZKL_OP_DELETE: zoo_delete_op_init(out, op->path, op->version); break;
        case ZKL_OP_CHECK: zoo_check_op_init(out, op->path, op->version); break;
        }
    }
    return zoo_amulti(session->handle, (int)rpc->count, session->ops, session->results, on_multi,
                      session);
}

/* A lone check goes in a transaction, libzookeeper's only way to send it. */
static int send_write(struct server_session *session, const struct zkl_rpc *rpc) {
    const struct zkl_op *op = rpc->ops;
    switch (op->kind) {
    case ZKL_OP_SET:
        return zoo_aset(session->handle, op->path, op->data, size_of(op), op->version, on_stat,
                        session);
    case ZKL_OP_CREATE:
        return zoo_acreate2(session->handle, op->path, op->data, size_of(op), &ZOO_OPEN_ACL_UNSAFE,
                            mode_of(op->mode), on_created, session);
    case ZKL_OP_DELETE:
        return zoo_adelete(session->handle, op->path, op->version, on_void, session);
    case ZKL_OP_CHECK: break;
    }
    return send_multi(session, rpc);
}

static int send_request(struct server_session *session, const struct zkl_rpc *rpc) {
    /* libzookeeper takes a completion, but declares a pointer to it */
    const union {
        void_completion_t taken;
        void_completion_t *declared;
    } unwatched = {.taken = on_void};
    watcher_fn watcher = rpc->watch ? on_event : NULL;
    zhandle_t *handle = session->handle;
    switch (rpc->kind) {
    case ZKL_RPC_WRITE: return send_write(session, rpc);
    case ZKL_RPC_MULTI: return send_multi(session, rpc);
    case ZKL_RPC_LIST:
        return zoo_awget_children(handle, rpc->path, watcher, session, on_names, session);
    case ZKL_RPC_SYNC: return zoo_async(handle, rpc->path, on_string, session);
    case ZKL_RPC_GET: return zoo_awget(handle, rpc->path, watcher, session, on_data, session);
    case ZKL_RPC_EXISTS: return zoo_awexists(handle, rpc->path, watcher, session, on_stat, session);
    case ZKL_RPC_UNWATCH:
        return zoo_aremove_all_watches(handle, rpc->path, ZWATCHTYPE_DATA, 0, unwatched.declared,
                                       session);
    case ZKL_RPC_UNWATCH_CHILDREN:
        return zoo_aremove_all_watches(handle, rpc->path, ZWATCHTYPE_CHILD, 0, unwatched.declared,
                                       session);
    }
    return ZUNIMPLEMENTED;
}

void server_ask(struct server_session *session, const struct zkl_rpc *rpc,
                struct zkl_answer *answer) {
    forget_reply(&session->reply);
    session->answered = false;
    int error = send_request(session, rpc);
    if (error) finish(session, error, NULL); /* refused by libzookeeper itself */
    await(session, &session->answered, "no answer");
    if (rpc->kind == ZKL_RPC_WRITE || rpc->kind == ZKL_RPC_MULTI)
        session->reply.answer.results = session->reply.results;
    *answer = session->reply.answer;
}

void server_catch_up(struct server_session *session) {
    struct zkl_answer answer;
    server_ask(session, &(struct zkl_rpc){.kind = ZKL_RPC_EXISTS, .path = "/"}, &answer);
}

/* --- sessions ---------------------------------------------------------------------------- */

struct server_session *server_open(const char *hosts) {
    struct server_session *session = calloc(1, sizeof *session);
    if (!session) give_up("out of memory");
    pthread_mutex_init(&session->lock, NULL);
    pthread_cond_init(&session->news, NULL);
    zoo_set_debug_level(ZOO_LOG_LEVEL_ERROR);
    session->handle = zookeeper_init(hosts, on_event, TIMEOUT_MS, NULL, session, 0);
    if (!session->handle) give_up("no handle");
    await(session, &session->connected, "no connection");
    return session;
}

void server_close(struct server_session *session) {
    zookeeper_close(session->handle);
    forget_reply(&session->reply);
    pthread_cond_destroy(&session->news);
    pthread_mutex_destroy(&session->lock);
    free(session);
}

uint64_t server_session_id(const struct server_session *session) {
    return (uint64_t)zoo_client_id(session->handle)->client_id;
}
