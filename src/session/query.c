/*
 * query.c - requests that only ask, or do no harm when repeated. After a lost answer the request is
 * repeated until its deadline.
 */
#include <stdlib.h>
#include <string.h>

#include "guard.h"
#include "internal.h"
#include "lease.h"
#include "query.h"
#include "signal.h"
#include "stake_actions.h"
#include "stake_feed.h"

/* Waits for the answers that are out, and asks for all parts again. */
void zkl_query_again(struct zkl_request *request) {
    enum zkl_code ended = zkl_parts_end_code(&request->parts);
    request->ask_at = request->session->now + ZKL_SECOND / 10;
    if (request->asker.calls) return;
    if (ended != ZKL_OK) zkl_request_finish(request, ended, 0);
    else zkl_session_tick_by(request->session, request->ask_at);
}

/* NULL: out of memory, and the request is asked again. */
static struct call *new_call(struct zkl_request *request, enum query_call kind) {
    struct call *call = zkl_call_new(request->session, &zkl_query_calls[kind], &request->asker);
    if (!call) zkl_query_again(request);
    return call;
}

static void ask_ready(struct zkl_request *request) {
    struct call *call = new_call(request, QUERY_READY);
    if (call) zkl_call_get(call, "/", NULL);
}

/* In one round trip the sync shows that the session lives, and the get that the node exists. */
static void ask_check(struct zkl_request *request) {
    const struct parts *parts = &request->parts;
    enum zkl_code ended = zkl_parts_end_code(parts);
    if (ended != ZKL_OK) {
        zkl_request_finish(request, ended, 0);
        return;
    }
    struct call *sync = new_call(request, QUERY_CHECK_SYNC);
    if (sync) zkl_call_sync(sync, zkl_parts_at(parts, 0)->path->text);
    for (size_t i = 0; sync && i < parts->count && !zkl_request_done(request); i++) {
        const struct stake *stake = zkl_parts_at(parts, i);
        struct call *get = new_call(request, QUERY_CHECK_GET);
        if (!get) return;
        get->index = i;
        zkl_call_get(get, stake->path->text, stake->claim.node.name);
    }
}

static void ask_queue(struct zkl_request *request) {
    struct call *call = new_call(request, QUERY_LIST);
    if (call) zkl_call_list(call, request->path);
}

static void ask_get(struct zkl_request *request) {
    struct call *call = new_call(request, QUERY_GET);
    if (call) zkl_call_get(call, request->path, NULL);
}

static void ask_children(struct zkl_request *request) {
    struct call *call = new_call(request, QUERY_CHILDREN);
    if (call) zkl_call_list(call, request->path);
}

static void ask_to_break(struct zkl_request *request) {
    struct call *call = new_call(request, QUERY_BREAK);
    if (call) zkl_call_delete(call, request->path, NULL, request->version);
}

static void ask_to_give_way(struct zkl_request *request) {
    struct call *call = new_call(request, QUERY_REVOKE);
    if (call) zkl_call_set(call, request->path, NULL, ZKL_REVOKE_DATA, -1);
}

static void ask_fixed(struct zkl_request *request); /* below, with the queue */

static void start(struct zkl_request *request) {
    struct zkl_session *session = request->session;
    if (zkl_request_done(request) || request->asker.calls ||
        session->state != ZKL_SESSION_CONNECTED)
        return;
    if (session->now < request->ask_at) return;
    request->ask_at = 0;
    switch (request->kind) {
    case REQUEST_READY:
        if (session->now >= session->ready_from) ask_ready(request);
        break;
    case REQUEST_CHECK: ask_check(request); break;
    case REQUEST_QUEUE:
        if (zkl_kind_is_fixed(request->lock_kind)) ask_fixed(request);
        else ask_queue(request);
        break;
    case REQUEST_GET: ask_get(request); break;
    case REQUEST_CHILDREN: ask_children(request); break;
    case REQUEST_REVOKE: ask_to_give_way(request); break;
    case REQUEST_BREAK: ask_to_break(request); break;
    case REQUEST_GUARD: zkl_guard_send(request); break;
    case REQUEST_SIGNAL:
        if (request->guard) zkl_guard_send(request);
        else ask_queue(request);
        break;
    case REQUEST_ACQUIRE:
    case REQUEST_DOWNGRADE:
    case REQUEST_WAIT:
    case REQUEST_RELEASE:
    case REQUEST_JOIN:
    case REQUEST_SET:
    case REQUEST_PAUSE:
    case REQUEST_DRAIN: break;
    }
}

void zkl_query_start_due(struct zkl_session *session) {
    for (struct zkl_request *request = session->requests, *next; request; request = next) {
        next = request->next;
        start(request);
    }
}

/* --- the queue, for other programs ------------------------------------------------------------ */

static int compare_sequences(const void *a, const void *b) {
    const struct zkl_queued *left = a, *right = b;
    if (left->sequence != right->sequence) return left->sequence < right->sequence ? -1 : 1;
    return (right->kind == ZKL_READ) - (left->kind == ZKL_READ);
}

static int compare_czxids(const void *a, const void *b) {
    const struct zkl_queued *left = a, *right = b;
    return (left->czxid > right->czxid) - (left->czxid < right->czxid);
}

static bool is_exhausted(const struct zkl_request *request) {
    for (size_t i = 0; i < request->queue_length; i++) {
        if (zkl_sequence_exhausted(request->queue[i].sequence)) return true;
    }
    return false;
}

/*
 * The names alone show the first waiter. A signal to all needs the data, which show the signalled
 * waiters.
 */
static bool needs_names_only(const struct zkl_request *request) {
    return request->kind == REQUEST_SIGNAL && !request->signal_all && !is_exhausted(request);
}

static void use_queue(struct zkl_request *request) {
    if (request->kind == REQUEST_SIGNAL) zkl_signal_next(request);
    else zkl_request_finish(request, ZKL_OK, 0);
}

/* Drops contenders that are gone since the list, and sorts the rest. */
static void finish_queue(struct zkl_request *request) {
    bool names_only = needs_names_only(request);
    size_t kept = 0;
    for (size_t i = 0; i < request->queue_length; i++) {
        if (request->queue[i].czxid || names_only) request->queue[kept++] = request->queue[i];
        else free(request->queue[i].name);
    }
    request->queue_length = kept;
    if (kept)
        qsort(request->queue, kept, sizeof *request->queue,
              is_exhausted(request) ? compare_czxids : compare_sequences);
    use_queue(request);
}

static bool add_entry(struct zkl_request *request, const char *name) {
    struct zkl_name parsed;
    if (!zkl_name_parse(name, &parsed)) return true;
    struct zkl_queued *entry = &request->queue[request->queue_length];
    *entry = (struct zkl_queued){.name = strdup(name),
                                 .kind = parsed.kind,
                                 .sequence = parsed.sequence,
                                 .reuse = parsed.reuse,
                                 .permits = parsed.permits,
                                 .limit = parsed.limit};
    if (!entry->name) return false;
    request->queue_length++;
    return true;
}

static int compare_names(const void *a, const void *b) {
    const struct zkl_queued *left = a, *right = b;
    return strcmp(left->name, right->name);
}

/* A server may list a name twice. */
static void drop_repeated(struct zkl_request *request) {
    size_t kept = 0;
    if (request->queue_length)
        qsort(request->queue, request->queue_length, sizeof *request->queue, compare_names);
    for (size_t i = 0; i < request->queue_length; i++) {
        struct zkl_queued *entry = &request->queue[i];
        if (kept > 0 && strcmp(request->queue[kept - 1].name, entry->name) == 0) free(entry->name);
        else request->queue[kept++] = *entry;
    }
    request->queue_length = kept;
}

static void ask_each(struct zkl_request *request) {
    for (size_t i = 0; i < request->queue_length && !zkl_request_done(request); i++) {
        struct call *call = new_call(request, QUERY_ENTRY);
        if (!call) return;
        call->index = i;
        zkl_call_get(call, request->path, request->queue[i].name);
    }
}

static void ask_fixed(struct zkl_request *request) {
    zkl_request_free_queue(request);
    request->queue = calloc(1, sizeof *request->queue);
    char *name = strdup(ZKL_NAME_FIXED);
    if (!request->queue || !name) {
        free(name);
        zkl_request_finish(request, ZKL_NO_MEMORY, 0);
        return;
    }
    request->queue[0] = (struct zkl_queued){.name = name, .kind = ZKL_MUTEX};
    request->queue_length = 1;
    ask_each(request);
}

static void answer_queue(struct zkl_request *request, const struct call *call,
                         const struct answer *answer) {
    (void)call;
    size_t count = answer->reply == ZKL_DONE ? (size_t)answer->count : 0;
    zkl_request_free_queue(request);
    request->queue = calloc(count + 1, sizeof *request->queue);
    bool enough = request->queue != NULL;
    for (size_t i = 0; i < count && enough; i++) enough = add_entry(request, answer->names[i]);
    if (enough) drop_repeated(request);
    if (!enough) zkl_request_finish(request, ZKL_NO_MEMORY, 0);
    else if (request->queue_length == 0) use_queue(request);
    else if (needs_names_only(request)) finish_queue(request);
    else ask_each(request);
}

/* False: out of memory, and the request has ended. */
static bool keep_data(struct zkl_request *request, char **to, size_t *size,
                      const struct answer *answer) {
    *size = zkl_answer_size(answer);
    *to = zkl_answer_copy(answer);
    if (!*to) zkl_request_finish(request, ZKL_NO_MEMORY, 0);
    return *to != NULL;
}

static void answer_entry(struct zkl_request *request, const struct call *call,
                         const struct answer *answer) {
    struct zkl_queued *entry = &request->queue[call->index];
    if (answer->reply == ZKL_DONE) {
        const struct stake *stake = zkl_stake_find(request->session, call->node);
        entry->czxid = answer->stat->czxid;
        entry->token = zkl_token(entry->czxid, entry->reuse, stake ? stake->claim.node.grants : 0);
        entry->created = answer->stat->ctime;
        entry->session = (uint64_t)answer->stat->owner;
        if (entry->session == request->session->common.session)
            entry->whose = stake && stake->claim.state == ZKL_KEPT ? ZKL_OURS_KEPT : ZKL_OURS;
        if (!keep_data(request, &entry->data, &entry->size, answer)) return;
    }
    if (request->asker.calls == 0) finish_queue(request);
}

/* --- answers ---------------------------------------------------------------------------------- */

static void answer_check(struct zkl_request *request, const struct call *call,
                         const struct answer *answer) {
    struct stake *stake = zkl_parts_at(&request->parts, call->index);
    if (answer->reply == ZKL_ABSENT) {
        zkl_stake_node_absent(stake, call->node);
        zkl_query_again(request); /* by the node's new name, unless the lease ended */
        return;
    }
    bool another =
        zkl_kind_is_fixed(stake->claim.kind) && answer->stat->czxid != stake->claim.node.czxid;
    if (another) zkl_stake_perform(stake, zkl_claim_own_deleted(&stake->claim));
    enum zkl_code ended = zkl_parts_end_code(&request->parts);
    if (ended != ZKL_OK || request->asker.calls == 0) zkl_request_finish(request, ended, 0);
}

static void answer_data(struct zkl_request *request, const struct call *call,
                        const struct answer *answer) {
    (void)call;
    if (!keep_data(request, &request->data, &request->size, answer)) return;
    request->version = answer->stat->version;
    zkl_request_finish(request, ZKL_OK, 0);
}

static void answer_children(struct zkl_request *request, const struct call *call,
                            const struct answer *answer) {
    size_t size = 0;
    (void)call;
    for (int i = 0; i < answer->count; i++) size += strlen(answer->names[i]) + 1;
    char *at = request->data = malloc(size + 1);
    request->size = size;
    for (int i = 0; at && i < answer->count; i++) at = stpcpy(at, answer->names[i]) + 1;
    zkl_request_finish(request, at ? ZKL_OK : ZKL_NO_MEMORY, 0);
}

static void answer_done(struct zkl_request *request, const struct call *call,
                        const struct answer *answer) {
    (void)call;
    (void)answer;
    zkl_request_finish(request, ZKL_OK, 0);
}

static const struct {
    void (*take)(struct zkl_request *request, const struct call *call, const struct answer *answer);
    /* A missing node means that nobody is in line, or the holder is gone. */
    bool may_be_absent;
} handlers[QUERY_CALLS] = {
    [QUERY_READY] = {.take = answer_done},
    [QUERY_CHECK_SYNC] = {.take = NULL}, /* the get behind it decides */
    [QUERY_CHECK_GET] = {answer_check, true},
    [QUERY_LIST] = {answer_queue, true},
    [QUERY_ENTRY] = {answer_entry, true},
    [QUERY_GET] = {.take = answer_data},
    [QUERY_CHILDREN] = {.take = answer_children},
    [QUERY_REVOKE] = {answer_done, true},
    [QUERY_BREAK] = {answer_done, true},
};

static void answer_query(const struct call *call, const struct answer *answer) {
    struct zkl_request *request = zkl_call_request(call);
    size_t kind = (size_t)(call->kind - zkl_query_calls);
    if (zkl_request_done(request)) return;
    bool absent = answer->reply == ZKL_ABSENT && handlers[kind].may_be_absent;
    if (answer->reply == ZKL_UNKNOWN || request->ask_at) zkl_query_again(request);
    else if (answer->reply != ZKL_DONE && !absent)
        zkl_request_finish(request, answer->why, answer->rc);
    else if (handlers[kind].take) handlers[kind].take(request, call, answer);
}

const struct call_kind zkl_query_calls[QUERY_CALLS] = {
    [QUERY_READY] = {.answer = answer_query, .is_sound = zkl_answer_is_data},
    [QUERY_CHECK_SYNC] = {.answer = answer_query},
    [QUERY_CHECK_GET] = {.answer = answer_query, .is_sound = zkl_answer_is_node},
    [QUERY_LIST] = {.answer = answer_query, .is_sound = zkl_answer_is_list},
    [QUERY_ENTRY] = {.answer = answer_query, .is_sound = zkl_answer_is_node},
    [QUERY_GET] = {.answer = answer_query, .is_sound = zkl_answer_is_data},
    [QUERY_CHILDREN] = {.answer = answer_query, .is_sound = zkl_answer_is_list},
    [QUERY_REVOKE] = {.answer = answer_query, .is_sound = zkl_answer_is_version},
    [QUERY_BREAK] = {.answer = answer_query},
};

/* --- the ways in ------------------------------------------------------------------------------ */

void zkl_query_begin(struct zkl_request *request) {
    enum zkl_code code = zkl_session_refusal(request->session);
    if (code != ZKL_OK) zkl_request_finish(request, code, 0);
    else start(request);
}

zkl_request *zkl_session_ready(zkl_session *session, zkl_time timeout) {
    struct zkl_request *request = zkl_request_new(session, REQUEST_READY, timeout);
    if (request) zkl_query_begin(request);
    return request;
}

zkl_request *zkl_check(zkl_lease *lease, zkl_time timeout) {
    struct zkl_request *request = zkl_request_new_about_lease(lease, REQUEST_CHECK, timeout);
    if (request && !zkl_request_done(request)) zkl_query_begin(request);
    return request;
}

static zkl_request *begin_query(zkl_session *session, enum request_kind kind, const char *path,
                                enum zkl_kind asked, int32_t version, zkl_time timeout) {
    struct zkl_request *request = zkl_request_new(session, kind, timeout);
    if (!request) return NULL;
    if (kind == REQUEST_QUEUE) request->lock_kind = asked;
    if (kind == REQUEST_BREAK) request->version = version;
    request->path = strdup(path);
    if (request->path) zkl_query_begin(request);
    else zkl_request_finish(request, ZKL_NO_MEMORY, 0);
    return request;
}

static zkl_request *begin_path_query(zkl_session *session, enum request_kind kind, const char *path,
                                     enum zkl_kind asked, zkl_time timeout) {
    return begin_query(session, kind, path, asked, 0, timeout);
}

zkl_request *zkl_queue(zkl_session *session, const char *path, enum zkl_kind kind,
                       zkl_time timeout) {
    return begin_path_query(session, REQUEST_QUEUE, path, kind, timeout);
}

zkl_request *zkl_get(zkl_session *session, const char *path, zkl_time timeout) {
    return begin_path_query(session, REQUEST_GET, path, ZKL_MUTEX, timeout);
}

zkl_request *zkl_revoke(zkl_session *session, const char *node, zkl_time timeout) {
    return begin_path_query(session, REQUEST_REVOKE, node, ZKL_MUTEX, timeout);
}

zkl_request *zkl_children(zkl_session *session, const char *path, zkl_time timeout) {
    return begin_path_query(session, REQUEST_CHILDREN, path, ZKL_MUTEX, timeout);
}

zkl_request *zkl_break(zkl_session *session, const char *node, int32_t version, zkl_time timeout) {
    return begin_query(session, REQUEST_BREAK, node, ZKL_MUTEX, version, timeout);
}
