/*
 * call.c - requests to ZooKeeper that are not yet answered.
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

struct call *zkl_call_new(struct zkl_session *session, enum verb verb, struct stake *stake,
                              struct zkl_request *request) {
    struct call *call = calloc(1, sizeof *call);
    if (!call) return NULL;
    call->session = session;
    call->verb = verb;
    call->stake = stake;
    call->request = request;
    if (stake) zkl_stake_hold(stake);
    if (request) {
        zkl_request_hold(request);
        request->calls++;
    }
    call->link = &session->calls;
    call->next = session->calls;
    if (call->next) call->next->link = &call->next;
    session->calls = call;
    session->stats.in_flight++;
    return call;
}

static void unlink_flight(struct call *call) {
    *call->link = call->next;
    if (call->next) call->next->link = call->link;
    call->session->stats.in_flight--;
    if (call->session->closing && !call->session->calls)
        zkl_session_wake(call->session, 0); /* it waits for that; handle.c */
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

static void free_flight(struct call *call) {
    free_transaction(call->transaction);
    if (call->stake) zkl_stake_unhold(call->stake);
    if (call->request) zkl_request_unhold(call->request);
    if (call->watcher) zkl_watcher_unhold(call->watcher);
    zkl_contender_drop(call->contender);
    free(call->node);
    free(call);
}

static enum zkl_reply reply_of(int rc) {
    switch (rc) {
    case ZKL_ERROR_NONE: return ZKL_DONE;
    case ZNONODE: return ZKL_ABSENT;
    case ZCONNECTIONLOSS:
    case ZOPERATIONTIMEOUT:
    case ZRUNTIMEINCONSISTENCY:
    case ZKL_ERROR_SYSTEM:
    case ZKL_ERROR_MARSHALLING:
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
    case ZKL_ERROR_NONE: return ZKL_OK;
    case ZNONODE: return ZKL_NO_NODE;
    case ZNOAUTH:
    case ZAUTHFAILED:
    case ZINVALIDACL: return ZKL_AUTH;
    case ZKL_ERROR_NODE_EXISTS:
    case ZKL_ERROR_BAD_VERSION:
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
static void answer_look(const struct call *call, const struct answer *answer) {
    struct zkl_session *session = call->session;
    if (answer->reply == ZKL_UNKNOWN) return; /* perhaps there was no memory for `node` */
    struct path *path = zkl_path_find(session, call->node, strlen(call->node));
    if (!path || path->look_at == 0) return;
    if (answer->reply == ZKL_DONE) {
        if (!zkl_line_replace(&path->line, (const char *const *)answer->names->data,
                              (size_t)answer->names->count))
            return;
        zkl_stake_look_for_orphans(path, session);
    }
    if (path->look_at != call->look_at) return; /* another doubt since */
    if (path->fixed && !path->fixed_seen) return;
    path->look_at = 0;
    zkl_path_idle(session, path);
}

/*
 * The sync ahead of a late look got lost. The list behind it may have waited for the next
 * connection, to a server that lags: it must not end the doubt.
 */
static void answer_look_sync(const struct call *call, const struct answer *answer) {
    if (answer->reply == ZKL_DONE || !call->node) return;
    struct path *path = zkl_path_find(call->session, call->node, strlen(call->node));
    if (path && path->look_at == call->look_at) path->look_at++;
}

/* The get of the fixed name, between the two: without an answer the look is repeated, too. */
static void answer_look_fixed(const struct call *call, const struct answer *answer) {
    size_t tail = strlen("/" ZKL_NAME_FIXED);
    if (!call->node) return;
    struct path *path = zkl_path_find(call->session, call->node, strlen(call->node) - tail);
    if (!path || path->look_at != call->look_at) return;
    path->fixed_seen = answer->reply == ZKL_DONE || answer->reply == ZKL_ABSENT;
    if (answer->reply == ZKL_DONE) zkl_stake_look_for_stray(path, call->session, answer->stat);
}

static void deliver(struct call *call, const struct answer *answer) {
    switch (call->verb) {
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
    case VERB_REMOVE: zkl_stake_answer(call, answer); break;
    case VERB_CREATE_ALL: zkl_multi_created(call, answer); break;
    case VERB_LOOK: answer_look(call, answer); break;
    case VERB_LOOK_FIXED: answer_look_fixed(call, answer); break;
    case VERB_LOOK_SYNC: answer_look_sync(call, answer); break;
    case VERB_BEAT: break;
    case VERB_READY:
    case VERB_CHECK_SYNC:
    case VERB_CHECK_GET:
    case VERB_QUEUE_LIST:
    case VERB_QUEUE_GET:
    case VERB_GET:
    case VERB_REVOKE: zkl_inquiry_answer(call, answer); break;
    case VERB_GUARD: zkl_guard_answer(call, answer); break;
    case VERB_WATCHER_EXISTS:
    case VERB_WATCHER_GET: zkl_watcher_answer(call, answer); break;
    case VERB_UNWATCH:
        if (call->node) zkl_watches_removed(&call->session->watches, call->node, answer);
        break;
    }
}

/* The watch that came with it is set; also if the answer is not understood. */
static bool sets_watch(const struct call *call, int rc) {
    return rc == ZKL_ERROR_NONE || (rc == ZNONODE && call->verb == VERB_WATCHER_EXISTS);
}

/* The mutex is held. Frees the call. */
static void land(struct call *call, struct answer *answer) {
    struct zkl_session *session = call->session;
    bool watched = sets_watch(call, answer->rc);
    zkl_reply_sift(call, answer);
    answer->now = zkl_now();
    answer->reply = reply_of(answer->rc);
    answer->why = code_of(answer->rc);
    unlink_flight(call);
    if (call->request) call->request->calls--;
    if (call->watcher) call->watcher->calls--;
    if (answer->rc == ZSESSIONEXPIRED || answer->rc == UNKNOWN_SESSION)
        zkl_session_expired(session);
    if (answer->rc == ZKL_ERROR_NONE && is_proof(call->verb))
        zkl_clock_prove(&session->party.clock, call->issued, answer->now);
    if (call->watching) zkl_watches_answer(&session->watches, call->node, watched);
    deliver(call, answer);
    free_flight(call);
    zkl_path_tidy(session);
}

static void complete(const void *data, struct answer answer) {
    struct call *call = (struct call *)data;
    struct zkl_session *session = call->session;
    zkl_lock(session);
    land(call, &answer);
    zkl_unlock(session);
}

static void on_string_stat(int rc, const char *text, const struct zkl_stat *stat, const void *data) {
    complete(data, (struct answer){.rc = rc, .text = text, .stat = stat});
}

static void on_stat(int rc, const struct zkl_stat *stat, const void *data) {
    complete(data, (struct answer){.rc = rc, .stat = stat});
}

static void on_void(int rc, const void *data) {
    complete(data, (struct answer){.rc = rc});
}

static void on_string(int rc, const char *text, const void *data) {
    complete(data, (struct answer){.rc = rc, .text = text});
}

static void on_strings(int rc, const struct names *names, const void *data) {
    complete(data, (struct answer){.rc = rc, .names = names});
}

static void on_data(int rc, const char *text, int size, const struct zkl_stat *stat, const void *data) {
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
static void handed_over(struct call *call, int rc) {
    if (rc != ZKL_ERROR_NONE) land(call, &(struct answer){.rc = ZCONNECTIONLOSS, .unsent = true});
}

static zhandle_t *handle_of(struct call *call) {
    struct zkl_session *session = call->session;
    call->issued = zkl_now();
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

/* call->node = parent[/name]; NULL when there is no memory or no connection. */
static zhandle_t *address(struct call *call, const char *parent, const char *name) {
    zhandle_t *handle = handle_of(call);
    call->node = name ? zkl_path_join(parent, name) : strdup(parent);
    return call->node ? handle : NULL;
}

void zkl_call_create(struct call *call, const char *parent, const char *name,
                       const char *data, int mode) {
    zhandle_t *handle = address(call, parent, name);
    int rc = ZINVALIDSTATE;
    call->session->stats.creates++;
    if (handle)
        rc = zoo_acreate2(handle, call->node, data, (int)strlen(data), acl_of(call->session),
                          mode, on_string_stat, call);
    handed_over(call, rc);
}

void zkl_call_delete(struct call *call, const char *parent, const char *name,
                       int32_t version) {
    zhandle_t *handle = address(call, parent, name);
    call->session->stats.deletes++;
    handed_over(call, handle ? zoo_adelete(handle, call->node, version, on_void, call)
                               : ZINVALIDSTATE);
}

void zkl_call_set(struct call *call, const char *parent, const char *name, const char *data,
                    int32_t version) {
    zhandle_t *handle = address(call, parent, name);
    call->session->stats.sets++;
    handed_over(call, handle ? zoo_aset(handle, call->node, data, (int)strlen(data), version,
                                          on_stat, call)
                               : ZINVALIDSTATE);
}

/* False: out of memory. */
static bool init_create(struct transaction *all, size_t i, const struct zkl_op *op,
                        const struct zkl_session *session) {
    const int modes[] = {[ZKL_PERSISTENT] = ZKL_PERSISTENT,
                         [ZKL_EPHEMERAL] = ZKL_EPHEMERAL,
                         [ZKL_SEQUENTIAL] = ZKL_SEQUENTIAL};
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

void zkl_call_transact(struct call *call, const struct zkl_op *ops, size_t count) {
    zhandle_t *handle = address(call, ops[0].path, NULL);
    struct transaction *all = call->transaction = new_transaction(count);
    bool ready = handle && all;
    for (size_t i = 0; ready && i < count; i++) ready = init_op(all, i, &ops[i], call->session);
    handed_over(call,
                ready ? zoo_amulti(handle, (int)count, all->ops, all->results, on_void, call)
                      : ZINVALIDSTATE);
}

size_t zkl_call_refused(const struct call *call) {
    const struct transaction *all = call->transaction;
    size_t i = 0;
    while (i < all->count && (all->results[i].err == ZKL_ERROR_NONE || all->results[i].err == ZKL_UNANSWERED))
        i++;
    return i;
}

const char *zkl_call_created(const struct call *call, size_t op) {
    return call->transaction->created[op];
}

int32_t zkl_call_version(const struct call *call, size_t op) {
    return call->transaction->stats[op].version;
}

void zkl_call_list(struct call *call, const char *parent) {
    zhandle_t *handle = address(call, parent, NULL);
    call->session->stats.lists++;
    handed_over(call, handle ? zoo_aget_children(handle, call->node, 0, on_strings, call)
                               : ZINVALIDSTATE);
}

void zkl_call_sync(struct call *call, const char *node) {
    zhandle_t *handle = address(call, node, NULL);
    call->session->stats.syncs++;
    handed_over(call,
                handle ? zoo_async(handle, call->node, on_string, call) : ZINVALIDSTATE);
}

void zkl_call_get(struct call *call, const char *parent, const char *name) {
    zhandle_t *handle = address(call, parent, name);
    call->session->stats.gets++;
    handed_over(call,
                handle ? zoo_aget(handle, call->node, 0, on_data, call) : ZINVALIDSTATE);
}

void zkl_call_watch(struct call *call, const char *parent, const char *name) {
    zhandle_t *handle = address(call, parent, name);
    call->session->stats.gets++;
    call->watching =
        handle && zkl_watches_ask(call->stake, call->node, call->verb == VERB_GET_OWN);
    handed_over(call, call->watching ? zoo_awget(handle, call->node, on_watch,
                                                     call->session, on_data, call)
                                         : ZINVALIDSTATE);
}

void zkl_call_exists(struct call *call) {
    struct watch *watch = call->watcher->watch;
    zhandle_t *handle = address(call, watch->path, NULL);
    call->session->stats.exists++;
    call->watching = handle != NULL;
    if (handle) zkl_watches_ask_for(&call->session->watches, watch);
    handed_over(call, handle ? zoo_awexists(handle, call->node, on_watch, call->session,
                                              on_stat, call)
                               : ZINVALIDSTATE);
}

/* libzookeeper declares a pointer to the completion, and takes the completion itself for it. */
void zkl_call_unwatch(struct call *call, const char *node) {
    const union {
        void_completion_t taken;
        void_completion_t *declared;
    } completion = {.taken = on_void};
    zhandle_t *handle = address(call, node, NULL);
    call->session->stats.watch_removals++;
    if (handle) zkl_watches_removing(&call->session->watches, call->node);
    handed_over(call, handle ? zoo_aremove_all_watches(handle, call->node, ZWATCHTYPE_DATA, 0,
                                                         completion.declared, call)
                               : ZINVALIDSTATE);
}

void zkl_call_abandon_all(struct zkl_session *session) {
    zkl_lock(session);
    while (session->calls) land(session->calls, &(struct answer){.rc = ZCLOSING});
    zkl_unlock(session);
}
