/*
 * flight.c - requests to ZooKeeper that are not yet answered.
 *
 * libzookeeper loses completions when a handle is closed (ZOOKEEPER-3868), so
 * every request is in a table of our own; what is left in it after
 * zookeeper_close() is answered here as unknown. Completions run on
 * libzookeeper's completion thread, in the order of the requests; a request
 * that could not even be handed over is answered at once.
 */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* Reply code of a session that the server forgot; not in libzookeeper's header. */
#define UNKNOWN_SESSION (-12)
#define REQUEST_TIMEOUT (-122)
#define THROTTLED (-127)

struct flight *zkl_flight_new(struct zkl_session *session, enum verb verb, struct stake *stake,
                              struct zkl_request *request) {
    struct flight *flight = calloc(1, sizeof *flight);
    if (!flight) return NULL;
    flight->session = session;
    flight->verb = verb;
    flight->stake = stake;
    flight->request = request;
    if (stake) zkl_stake_hold(stake);
    if (request) {
        zkl_request_hold(request);
        request->flights++;
    }
    flight->link = &session->flights;
    flight->next = session->flights;
    if (flight->next) flight->next->link = &flight->next;
    session->flights = flight;
    session->stats.in_flight++;
    return flight;
}

static void unlink_flight(struct flight *flight) {
    *flight->link = flight->next;
    if (flight->next) flight->next->link = flight->link;
    flight->session->stats.in_flight--;
    if (flight->session->closing && !flight->session->flights)
        zkl_keeper_wake(flight->session, 0); /* it waits for that; handle.c */
}

/* One block of memory, but for the paths. NULL: there is none. */
static struct transaction *new_transaction(size_t count) {
    struct transaction *all = NULL;
    size_t each = sizeof *all->ops + sizeof *all->results + sizeof *all->stats +
                  sizeof *all->created + sizeof *all->asked;
    all = calloc(1, sizeof *all + count * each);
    if (!all) return NULL;
    all->count = count;
    all->ops = (zoo_op_t *)(all + 1);
    all->results = (zoo_op_result_t *)(all->ops + count);
    all->stats = (struct Stat *)(all->results + count);
    all->created = (char **)(all->stats + count);
    all->asked = all->created + count;
    for (size_t i = 0; i < count; i++) all->results[i].err = ZKL_UNANSWERED;
    return all;
}

static void free_transaction(struct transaction *all) {
    for (size_t i = 0; all && i < all->count; i++) {
        free(all->created[i]);
        free(all->asked[i]);
    }
    free(all);
}

static void free_flight(struct flight *flight) {
    free_transaction(flight->transaction);
    if (flight->stake) zkl_stake_unhold(flight->stake);
    if (flight->request) zkl_request_unhold(flight->request);
    if (flight->watcher) zkl_watcher_unhold(flight->watcher);
    zkl_contender_drop(flight->contender);
    free(flight->node);
    free(flight);
}

static enum zkl_reply reply_of(int rc) {
    switch (rc) {
    case ZOK: return ZKL_DONE;
    case ZNONODE: return ZKL_ABSENT;
    case ZCONNECTIONLOSS:
    case ZOPERATIONTIMEOUT:
    case ZRUNTIMEINCONSISTENCY:
    case ZSYSTEMERROR:
    case ZMARSHALLINGERROR:
    case ZINVALIDSTATE:
    case ZSESSIONMOVED:
    case ZSESSIONEXPIRED:
    case ZCLOSING:
    case UNKNOWN_SESSION:
    case REQUEST_TIMEOUT:
    case THROTTLED: return ZKL_UNKNOWN;
    default: return ZKL_REFUSED;
    }
}

static enum zkl_code code_of(int rc) {
    switch (rc) {
    case ZOK: return ZKL_OK;
    case ZNONODE: return ZKL_NO_NODE;
    case ZNOAUTH:
    case ZAUTHFAILED:
    case ZINVALIDACL: return ZKL_AUTH;
    case ZNODEEXISTS:
    case ZBADVERSION:
    case ZNOTEMPTY:
    case ZNOCHILDRENFOREPHEMERALS: return ZKL_CONFLICT;
    default: return ZKL_UNSUPPORTED;
    }
}

/* A write or a sync that the leader carried out shows that the session lives. */
static bool is_proof(enum verb verb) {
    switch (verb) {
    case VERB_CREATE:
    case VERB_CREATE_ALL:
    case VERB_SYNC:
    case VERB_SHARE:
    case VERB_WAIT:
    case VERB_PASS:
    case VERB_MARK:
    case VERB_REMOVE:
    case VERB_BEAT:
    case VERB_LOOK_SYNC:
    case VERB_CHECK_SYNC:
    case VERB_REVOKE:
    case VERB_GUARD: return true;
    case VERB_PARENT:
    case VERB_LIST:
    case VERB_GET_OWN:
    case VERB_GET_AHEAD:
    case VERB_RANK:
    case VERB_REVISE:
    case VERB_LOOK_FIXED:
    case VERB_LOOK:
    case VERB_READY:
    case VERB_CHECK_GET:
    case VERB_QUEUE_LIST:
    case VERB_QUEUE_GET:
    case VERB_GET:
    case VERB_WATCHER_EXISTS:
    case VERB_WATCHER_GET:
    case VERB_UNWATCH: break;
    }
    return false;
}

/* The late look at a path (keeper.c): without an answer it is repeated. */
static void answer_look(const struct flight *flight, const struct answer *answer) {
    struct zkl_session *session = flight->session;
    if (answer->reply == ZKL_UNKNOWN) return; /* perhaps there was no memory for `node` */
    struct path *path = zkl_path_find(session, flight->node, strlen(flight->node));
    if (!path || path->look_at == 0) return;
    if (answer->reply == ZKL_DONE) {
        if (!zkl_line_replace(&path->line, (const char *const *)answer->names->data,
                              (size_t)answer->names->count))
            return;
        zkl_stake_look_for_orphans(path, session);
    }
    if (path->look_at != flight->look_at) return; /* another doubt since */
    if (path->fixed && !path->fixed_seen) return;
    path->look_at = 0;
    zkl_path_idle(session, path);
}

/*
 * The sync ahead of a late look got lost. The list behind it may have waited for the next
 * connection, to a server that lags: it must not end the doubt.
 */
static void answer_look_sync(const struct flight *flight, const struct answer *answer) {
    if (answer->reply == ZKL_DONE || !flight->node) return;
    struct path *path = zkl_path_find(flight->session, flight->node, strlen(flight->node));
    if (path && path->look_at == flight->look_at) path->look_at++;
}

/* The get of the fixed name, between the two: without an answer the look is repeated, too. */
static void answer_look_fixed(const struct flight *flight, const struct answer *answer) {
    size_t tail = strlen("/" ZKL_NAME_FIXED);
    if (!flight->node) return;
    struct path *path = zkl_path_find(flight->session, flight->node, strlen(flight->node) - tail);
    if (!path || path->look_at != flight->look_at) return;
    path->fixed_seen = answer->reply == ZKL_DONE || answer->reply == ZKL_ABSENT;
    if (answer->reply == ZKL_DONE) zkl_stake_look_for_stray(path, flight->session, answer->stat);
}

static void deliver(struct flight *flight, const struct answer *answer) {
    switch (flight->verb) {
    case VERB_PARENT:
    case VERB_CREATE:
    case VERB_LIST:
    case VERB_SYNC:
    case VERB_GET_OWN:
    case VERB_GET_AHEAD:
    case VERB_RANK:
    case VERB_SHARE:
    case VERB_WAIT:
    case VERB_PASS:
    case VERB_REVISE:
    case VERB_MARK:
    case VERB_REMOVE: zkl_stake_answer(flight, answer); break;
    case VERB_CREATE_ALL: zkl_multi_created(flight, answer); break;
    case VERB_LOOK: answer_look(flight, answer); break;
    case VERB_LOOK_FIXED: answer_look_fixed(flight, answer); break;
    case VERB_LOOK_SYNC: answer_look_sync(flight, answer); break;
    case VERB_BEAT: break;
    case VERB_READY:
    case VERB_CHECK_SYNC:
    case VERB_CHECK_GET:
    case VERB_QUEUE_LIST:
    case VERB_QUEUE_GET:
    case VERB_GET:
    case VERB_REVOKE: zkl_inquiry_answer(flight, answer); break;
    case VERB_GUARD: zkl_guard_answer(flight, answer); break;
    case VERB_WATCHER_EXISTS:
    case VERB_WATCHER_GET: zkl_watcher_answer(flight, answer); break;
    case VERB_UNWATCH:
        if (flight->node) zkl_watches_removed(&flight->session->watches, flight->node, answer);
        break;
    }
}

/* The watch that came with it is set; also if the answer is not understood. */
static bool sets_watch(const struct flight *flight, int rc) {
    return rc == ZOK || (rc == ZNONODE && flight->verb == VERB_WATCHER_EXISTS);
}

/* The mutex is held. Frees the flight. */
static void land(struct flight *flight, struct answer *answer) {
    struct zkl_session *session = flight->session;
    bool watched = sets_watch(flight, answer->rc);
    zkl_reply_sift(flight, answer);
    answer->now = zkl_now();
    answer->reply = reply_of(answer->rc);
    answer->why = code_of(answer->rc);
    unlink_flight(flight);
    if (flight->request) flight->request->flights--;
    if (flight->watcher) flight->watcher->flights--;
    if (answer->rc == ZSESSIONEXPIRED || answer->rc == UNKNOWN_SESSION)
        zkl_session_expired(session);
    if (answer->rc == ZOK && is_proof(flight->verb))
        zkl_clock_prove(&session->party.clock, flight->issued, answer->now);
    if (flight->watching) zkl_watches_answer(&session->watches, flight->node, watched);
    deliver(flight, answer);
    free_flight(flight);
    zkl_path_tidy(session);
}

static void complete(const void *data, struct answer answer) {
    struct flight *flight = (struct flight *)data;
    struct zkl_session *session = flight->session;
    zkl_lock(session);
    land(flight, &answer);
    zkl_unlock(session);
}

static void on_string_stat(int rc, const char *text, const struct Stat *stat, const void *data) {
    complete(data, (struct answer){.rc = rc, .text = text, .stat = stat});
}

static void on_stat(int rc, const struct Stat *stat, const void *data) {
    complete(data, (struct answer){.rc = rc, .stat = stat});
}

static void on_void(int rc, const void *data) {
    complete(data, (struct answer){.rc = rc});
}

static void on_string(int rc, const char *text, const void *data) {
    complete(data, (struct answer){.rc = rc, .text = text});
}

static void on_strings(int rc, const struct String_vector *names, const void *data) {
    complete(data, (struct answer){.rc = rc, .names = names});
}

static void on_data(int rc, const char *text, int size, const struct Stat *stat, const void *data) {
    complete(data, (struct answer){.rc = rc, .text = text, .size = size, .stat = stat});
}

/* The one watcher: watches with other functions or contexts cost O(n^2) in libzookeeper. */
static void on_watch(zhandle_t *handle, int type, int state, const char *node, void *context) {
    struct zkl_session *session = context;
    (void)handle;
    (void)state;
    if (type == ZOO_SESSION_EVENT) return; /* handle.c's own watcher gets those */
    zkl_lock(session);
    session->stats.events++;
    zkl_watches_fired(&session->watches, node);
    zkl_stake_event(session, type, node);
    zkl_watcher_event(session, node);
    zkl_path_tidy(session);
    zkl_unlock(session);
}

/* A request that was not handed over has an answer already. */
static void handed_over(struct flight *flight, int rc) {
    if (rc != ZOK) land(flight, &(struct answer){.rc = ZCONNECTIONLOSS, .unsent = true});
}

static zhandle_t *handle_of(struct flight *flight) {
    struct zkl_session *session = flight->session;
    flight->issued = zkl_now();
    return session->state == ZKL_SESSION_CONNECTED ? session->handle : NULL;
}

/* ZOO_PERM_ALL and ZOO_PERM_READ are variables, so they cannot stand in an initialiser. */
#define PERM_ALL 0x1f
#define PERM_READ 0x01

static const struct ACL_vector *acl_of(const struct zkl_session *session) {
    static struct ACL shared_acl[] = {{PERM_ALL, {(char *)"auth", (char *)""}},
                                      {PERM_READ, {(char *)"world", (char *)"anyone"}}};
    static const struct ACL_vector shared = {2, shared_acl};
    switch (session->acl) {
    case ZKL_ACL_OPEN: break;
    case ZKL_ACL_CREATOR: return &ZOO_CREATOR_ALL_ACL;
    case ZKL_ACL_READ: return &shared;
    }
    return &ZOO_OPEN_ACL_UNSAFE;
}

/* flight->node = parent[/name]; NULL when there is no memory or no connection. */
static zhandle_t *address(struct flight *flight, const char *parent, const char *name) {
    zhandle_t *handle = handle_of(flight);
    flight->node = name ? zkl_path_join(parent, name) : strdup(parent);
    return flight->node ? handle : NULL;
}

void zkl_flight_create(struct flight *flight, const char *parent, const char *name,
                       const char *data, int mode) {
    zhandle_t *handle = address(flight, parent, name);
    int rc = ZINVALIDSTATE;
    flight->session->stats.creates++;
    if (handle)
        rc = zoo_acreate2(handle, flight->node, data, (int)strlen(data), acl_of(flight->session),
                          mode, on_string_stat, flight);
    handed_over(flight, rc);
}

void zkl_flight_delete(struct flight *flight, const char *parent, const char *name,
                       int32_t version) {
    zhandle_t *handle = address(flight, parent, name);
    flight->session->stats.deletes++;
    handed_over(flight, handle ? zoo_adelete(handle, flight->node, version, on_void, flight)
                               : ZINVALIDSTATE);
}

void zkl_flight_set(struct flight *flight, const char *parent, const char *name, const char *data,
                    int32_t version) {
    zhandle_t *handle = address(flight, parent, name);
    flight->session->stats.sets++;
    handed_over(flight, handle ? zoo_aset(handle, flight->node, data, (int)strlen(data), version,
                                          on_stat, flight)
                               : ZINVALIDSTATE);
}

/* False: out of memory. */
static bool init_create(struct transaction *all, size_t i, const struct zkl_op *op,
                        const struct zkl_session *session) {
    const int modes[] = {[ZKL_PERSISTENT] = ZOO_PERSISTENT,
                         [ZKL_EPHEMERAL] = ZOO_EPHEMERAL,
                         [ZKL_SEQUENTIAL] = ZOO_EPHEMERAL_SEQUENTIAL};
    size_t size = 0;
    if (op->mode == ZKL_SEQUENTIAL) {
        size = strlen(session->chroot) + strlen(op->path) + sizeof "-2147483648";
        all->created[i] = calloc(1, size);
        all->asked[i] = strdup(op->path);
        if (!all->created[i] || !all->asked[i]) return false;
    }
    zoo_create_op_init(&all->ops[i], op->path, op->data, (int)op->size, acl_of(session),
                       modes[op->mode], all->created[i], (int)size);
    return true;
}

/* False: out of memory. */
static bool init_op(struct transaction *all, size_t i, const struct zkl_op *op,
                    struct zkl_session *session) {
    switch (op->kind) {
    case ZKL_OP_SET:
        session->stats.sets++;
        zoo_set_op_init(&all->ops[i], op->path, op->data, (int)op->size, op->version,
                        &all->stats[i]);
        break;
    case ZKL_OP_CREATE: session->stats.creates++; return init_create(all, i, op, session);
    case ZKL_OP_DELETE:
        session->stats.deletes++;
        zoo_delete_op_init(&all->ops[i], op->path, op->version);
        break;
    case ZKL_OP_CHECK: zoo_check_op_init(&all->ops[i], op->path, op->version); break;
    }
    return true;
}

void zkl_flight_transact(struct flight *flight, const struct zkl_op *ops, size_t count) {
    zhandle_t *handle = address(flight, ops[0].path, NULL);
    struct transaction *all = flight->transaction = new_transaction(count);
    bool ready = handle && all;
    for (size_t i = 0; ready && i < count; i++) ready = init_op(all, i, &ops[i], flight->session);
    handed_over(flight,
                ready ? zoo_amulti(handle, (int)count, all->ops, all->results, on_void, flight)
                      : ZINVALIDSTATE);
}

size_t zkl_flight_refused(const struct flight *flight) {
    const struct transaction *all = flight->transaction;
    size_t i = 0;
    while (i < all->count && (all->results[i].err == ZOK || all->results[i].err == ZKL_UNANSWERED))
        i++;
    return i;
}

const char *zkl_flight_created(const struct flight *flight, size_t op) {
    return flight->transaction->created[op];
}

int32_t zkl_flight_version(const struct flight *flight, size_t op) {
    return flight->transaction->stats[op].version;
}

void zkl_flight_list(struct flight *flight, const char *parent) {
    zhandle_t *handle = address(flight, parent, NULL);
    flight->session->stats.lists++;
    handed_over(flight, handle ? zoo_aget_children(handle, flight->node, 0, on_strings, flight)
                               : ZINVALIDSTATE);
}

void zkl_flight_sync(struct flight *flight, const char *node) {
    zhandle_t *handle = address(flight, node, NULL);
    flight->session->stats.syncs++;
    handed_over(flight,
                handle ? zoo_async(handle, flight->node, on_string, flight) : ZINVALIDSTATE);
}

void zkl_flight_get(struct flight *flight, const char *parent, const char *name) {
    zhandle_t *handle = address(flight, parent, name);
    flight->session->stats.gets++;
    handed_over(flight,
                handle ? zoo_aget(handle, flight->node, 0, on_data, flight) : ZINVALIDSTATE);
}

void zkl_flight_watch(struct flight *flight, const char *parent, const char *name) {
    zhandle_t *handle = address(flight, parent, name);
    flight->session->stats.gets++;
    flight->watching =
        handle && zkl_watches_ask(flight->stake, flight->node, flight->verb == VERB_GET_OWN);
    handed_over(flight, flight->watching ? zoo_awget(handle, flight->node, on_watch,
                                                     flight->session, on_data, flight)
                                         : ZINVALIDSTATE);
}

void zkl_flight_exists(struct flight *flight) {
    struct watch *watch = flight->watcher->watch;
    zhandle_t *handle = address(flight, watch->path, NULL);
    flight->session->stats.exists++;
    flight->watching = handle != NULL;
    if (handle) zkl_watches_ask_for(&flight->session->watches, watch);
    handed_over(flight, handle ? zoo_awexists(handle, flight->node, on_watch, flight->session,
                                              on_stat, flight)
                               : ZINVALIDSTATE);
}

/* libzookeeper declares a pointer to the completion, and takes the completion itself for it. */
void zkl_flight_unwatch(struct flight *flight, const char *node) {
    const union {
        void_completion_t taken;
        void_completion_t *declared;
    } completion = {.taken = on_void};
    zhandle_t *handle = address(flight, node, NULL);
    flight->session->stats.watch_removals++;
    if (handle) zkl_watches_removing(&flight->session->watches, flight->node);
    handed_over(flight, handle ? zoo_aremove_all_watches(handle, flight->node, ZWATCHTYPE_DATA, 0,
                                                         completion.declared, flight)
                               : ZINVALIDSTATE);
}

void zkl_flight_abandon_all(struct zkl_session *session) {
    zkl_lock(session);
    while (session->flights) land(session->flights, &(struct answer){.rc = ZCLOSING});
    zkl_unlock(session);
}
