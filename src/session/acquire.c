/*
 * acquire.c - acquires of a new claim, by re-entry and of several locks, and waits in a condition.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "kept.h"
#include "lease.h"
#include "meter.h"
#include "room.h"
#include "stake_actions.h"

/* --- acquire --------------------------------------------------------------------------- */

/* The first grant from `stake` on that is not lost, or NULL. It may end stakes. */
static struct stake *next_held(const struct zkl_session *session, struct stake *stake) {
    for (struct stake *next; stake; stake = next) {
        next = stake->next_granted;
        if (zkl_claim_holds(&stake->claim) && !zkl_stake_check_loss(stake, session->now)) break;
    }
    return stake;
}

#define EACH_HELD(session, path)                                                                   \
    for (struct stake *stake = next_held(session, (path)->granted); stake;                         \
         stake = next_held(session, stake->next_granted))

static struct stake *held_by(const struct zkl_session *session, struct path *path,
                             const char *owner) {
    EACH_HELD(session, path) {
        if (strcmp(stake->owner, owner) == 0) return stake;
    }
    return NULL;
}

static bool begins_with(const char *text, const char *prefix) {
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* The texts stand behind each other, each with its NUL. */
char *zkl_session_holders(zkl_session *session, const char *path, const char *prefix, int *count) {
    struct path *used = zkl_path_find(session, path, strlen(path));
    char *texts = NULL, *end;
    size_t size = 0;
    *count = 0;
    if (!used) return NULL;
    EACH_HELD(session, used) {
        if (begins_with(stake->owner, prefix)) size += strlen(stake->owner) + 1;
    }
    texts = end = size ? malloc(size) : NULL;
    if (!texts) return NULL;
    EACH_HELD(session, used) {
        if (!begins_with(stake->owner, prefix)) continue;
        end = stpcpy(end, stake->owner) + 1;
        ++*count;
    }
    return texts;
}

/* An owner that reads and wants to write would wait for itself. */
static bool may_enter_again(const struct stake *stake, const struct zkl_acquire_options *options) {
    const struct zkl_claim *claim = &stake->claim;
    bool writable = claim->kind == ZKL_WRITE && claim->state == ZKL_HELD;
    return options->reentrant && (options->kind != ZKL_WRITE || writable);
}

static void enter_again(struct zkl_request *request, struct stake *stake,
                        const struct zkl_acquire_options *options) {
    if (!may_enter_again(stake, options)) {
        zkl_request_finish(request, ZKL_WOULD_DEADLOCK, 0);
        return;
    }
    stake->handles++;
    if (options->kind == ZKL_WRITE) stake->writers++;
    zkl_parts_set_one(&request->parts, stake);
    request->handle = REQUEST_HANDLE_AGAIN;
    request->lease_kind = options->kind;
    if (stake->part) request->meter = NULL; /* the grant counts for no name */
    zkl_hold_begin(stake, &request->hold);
    zkl_request_finish(request, ZKL_OK, 0);
}

static bool is_read_write(enum zkl_kind kind) {
    return kind == ZKL_READ || kind == ZKL_WRITE;
}

/*
 * A path has one use, which is a mutex of one order and kind of tokens, a read-write lock, or a
 * semaphore of one limit.
 */
static bool is_same_use(const struct zkl_claim *claim, const struct zkl_acquire_options *options) {
    bool same = claim->kind == options->kind ||
                (is_read_write(claim->kind) && is_read_write(options->kind));
    bool counting = options->counting || options->batch || options->keep;
    return same && claim->limit == options->limit && !claim->batch == !options->batch &&
           (claim->reuse != ZKL_ONE_GRANT) == counting;
}

static struct zkl_conflict conflict_with_claim(const struct zkl_claim *claim, size_t part) {
    enum zkl_use use = zkl_use_of(claim->kind);
    if (claim->reuse != ZKL_ONE_GRANT) use = ZKL_USE_COUNTING;
    if (claim->batch) use = ZKL_USE_TURNS;
    return (struct zkl_conflict){.use = use, .limit = claim->limit, .ours = true, .part = part};
}

/*
 * True: the request is answered, because a claim of this session uses the path otherwise. Any
 * wanted claim tells the use.
 */
static bool refused_other_use(struct zkl_request *request, const struct path *path,
                              const struct zkl_acquire_options *options, size_t part) {
    const struct zkl_claim *claim = path ? path->line.claims : NULL;
    while (claim && !claim->wanted) claim = claim->next;
    if (!claim || is_same_use(claim, options)) return false;
    zkl_request_finish_conflict(request, conflict_with_claim(claim, part));
    return true;
}

static bool lacks_room(struct zkl_session *session, const struct zkl_acquire_options *options,
                       size_t count) {
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++) bytes += zkl_stake_cost(session, strlen(options[i].path));
    return !zkl_room_make_for_nodes(session, bytes);
}

static enum zkl_code refusal_of(const struct zkl_session *session,
                                const struct zkl_acquire_options *options) {
    enum zkl_code code = zkl_session_refusal(session);
    if (code != ZKL_OK) return code;
    return options->trying && session->state == ZKL_SESSION_SUSPENDED ? ZKL_TIMEOUT : ZKL_OK;
}

/* `code`, or ZKL_TOO_MANY without room for `count` new claims. May give up kept nodes for them. */
static enum zkl_code refusal_of_new(struct zkl_session *session, enum zkl_code code,
                                    const struct zkl_acquire_options *options, size_t count) {
    return code == ZKL_OK && lacks_room(session, options, count) ? ZKL_TOO_MANY : code;
}

static void attach_request(struct zkl_request *request, struct stake *stake) {
    zkl_request_ref(request);
    stake->request = request;
}

static void start(struct stake *stake) {
    struct path *path = stake->path;
    if (path->line.keeper) zkl_kept_clear_way(path, stake);
    zkl_stake_perform(stake, zkl_claim_start(&stake->claim));
    if (path->line.keeper) zkl_kept_offer(path);
}

/* False: out of memory. */
static bool contend(struct zkl_request *request, struct path *path,
                    const struct zkl_acquire_options *options) {
    struct stake *stake = zkl_stake_new(request->session, path, options, request->deadline);
    if (!stake) return false;
    zkl_parts_set_one(&request->parts, stake);
    attach_request(request, stake);
    start(stake);
    return true;
}

/* True: the holder is a caller, and holds at least until the acquire's deadline. */
static bool is_held_by_caller(const struct stake *stake, const struct zkl_request *request,
                              const struct zkl_acquire_options *options) {
    if (stake->claim.deadline < request->deadline) return false;
    for (const char *const *caller = options->callers; caller && *caller; caller++) {
        if (strcmp(stake->owner, *caller) == 0) return true;
    }
    return false;
}

static int64_t held_permits(const struct zkl_request *request, struct path *path,
                            const struct zkl_acquire_options *options) {
    int64_t permits = 0;
    EACH_HELD(request->session, path) {
        bool own = strcmp(stake->owner, options->owner) == 0;
        if (own || is_held_by_caller(stake, request, options)) permits += stake->claim.permits;
    }
    return permits;
}

static bool only_reads(const struct zkl_claim *claim) {
    return claim->kind == ZKL_READ || (claim->kind == ZKL_WRITE && claim->state != ZKL_HELD);
}

/* A caller's grant excludes this acquire. */
static bool would_wait_for_caller(const struct zkl_request *request, struct path *path,
                                  const struct zkl_acquire_options *options) {
    EACH_HELD(request->session, path) {
        bool shares = only_reads(&stake->claim) && options->kind == ZKL_READ;
        if (!shares && is_held_by_caller(stake, request, options)) return true;
    }
    return false;
}

/* The acquire would wait for a grant that stays until the acquire ends. */
static bool would_deadlock(const struct zkl_request *request, struct path *path,
                           const struct zkl_acquire_options *options) {
    if (options->kind != ZKL_PERMIT) return would_wait_for_caller(request, path, options);
    return held_permits(request, path, options) + options->permits > options->limit;
}

/* True: grants of the owner or its callers have answered the request. */
static bool answered_by_grants(struct zkl_request *request, struct path *path,
                               const struct zkl_acquire_options *options) {
    bool enters = options->kind != ZKL_PERMIT;
    struct stake *held = enters ? held_by(request->session, path, options->owner) : NULL;
    if (held) {
        enter_again(request, held, options);
        return true;
    }
    if (!would_deadlock(request, path, options)) return false;
    zkl_request_finish(request, ZKL_WOULD_DEADLOCK, 0);
    return true;
}

/* False: out of memory. */
static bool begin(struct zkl_request *request, const struct zkl_acquire_options *options) {
    request->quiet = options->quiet;
    request->meter = zkl_meter_of(request->session, options->meter);
    request->hold.length = options->max_hold;
    struct path *path = zkl_path_find_or_add(request->session, options->path);
    if (!path) return false;
    enum zkl_code code = refusal_of(request->session, options);
    if (code != ZKL_CLOSED && (refused_other_use(request, path, options, 0) ||
                               answered_by_grants(request, path, options)))
        return true;
    code = refusal_of_new(request->session, code, options, 1);
    if (code == ZKL_OK && request->session->service != SERVICE_OPEN) code = ZKL_CLOSED;
    if (code == ZKL_OK) return contend(request, path, options);
    zkl_request_finish(request, code, 0);
    return true;
}

static void check_options(const struct zkl_acquire_options *options) {
    assert(*options->path == '/' && options->owner);
    assert(options->kind == ZKL_PERMIT ? options->permits > 0 && options->permits <= options->limit
                                       : options->permits == 0 && options->limit == 0);
    assert(options->batch >= ZKL_BATCH_BY_TIME && options->batch <= ZKL_BATCH_MAX);
    assert(options->batch == 0 || options->kind == ZKL_MUTEX);
    assert(options->max_waiters >= 0 && options->max_hold >= 0);
    assert(options->keep == 0 || (options->keep > 0 && options->kind == ZKL_MUTEX));
    (void)options;
}

zkl_request *zkl_acquire(zkl_session *session, const struct zkl_acquire_options *options) {
    check_options(options);
    struct zkl_request *request = zkl_request_new(session, REQUEST_ACQUIRE, options->timeout);
    bool begun = request && begin(request, options);
    if (request && !begun) zkl_request_finish(request, ZKL_NO_MEMORY, 0);
    return request;
}

/* --- several at once ------------------------------------------------------------------------ */

/* False: out of memory. */
static bool add_part(struct zkl_request *request, const struct zkl_acquire_options *options) {
    struct parts *parts = &request->parts;
    struct zkl_acquire_options part_options = *options;
    part_options.counting = options->counting || options->keep;
    part_options.keep = 0; /* a part's node goes with the other nodes */
    part_options.meter = 0;
    struct path *path = zkl_path_find_or_add(request->session, options->path);
    struct stake *part =
        path ? zkl_stake_new(request->session, path, &part_options, request->deadline) : NULL;
    if (!part) return false;
    part->part = PART_UNHELD;
    zkl_stake_ref(part);
    parts->many[parts->count++] = part;
    attach_request(request, part);
    if (parts->count == 1) return true;
    part->asker.id = parts->many[0]->asker.id; /* they are one grant */
    zkl_claim_join(&part->claim, &parts->many[parts->count - 2]->claim);
    return true;
}

/* A part that fails may end later parts. */
static void start_parts(struct zkl_request *request) {
    for (size_t i = 0; i < request->parts.count; i++) {
        struct stake *part = request->parts.many[i];
        if (part->claim.wanted) start(part);
    }
}

static void contend_all(struct zkl_request *request, const struct zkl_acquire_options *options,
                        size_t count) {
    struct parts *parts = &request->parts;
    parts->many = calloc(count, sizeof(struct stake *));
    bool enough = parts->many != NULL;
    for (size_t i = 0; enough && i < count; i++) enough = add_part(request, &options[i]);
    if (enough) {
        start_parts(request);
        return;
    }
    zkl_request_finish(request, ZKL_NO_MEMORY, 0);
    if (parts->count == 0) return;
    struct stake *first = parts->many[0];
    zkl_stake_perform(first, zkl_claim_cancel(&first->claim, ZKL_NO_MEMORY));
}

/* True: a use of a path, or a grant on it, has answered the request. */
static bool all_answered(struct zkl_request *request, const struct zkl_acquire_options *options,
                         size_t count) {
    struct zkl_session *session = request->session;
    for (size_t i = 0; i < count; i++) {
        const struct path *path = zkl_path_find(session, options[i].path, strlen(options[i].path));
        if (refused_other_use(request, path, &options[i], i + 1)) return true;
    }
    for (size_t i = 0; i < count; i++) {
        struct path *path = zkl_path_find(session, options[i].path, strlen(options[i].path));
        bool stuck = path && (held_by(session, path, options[i].owner) ||
                              would_wait_for_caller(request, path, &options[i]));
        if (!stuck) continue;
        zkl_request_finish(request, ZKL_WOULD_DEADLOCK, 0);
        return true;
    }
    return false;
}

zkl_request *zkl_acquire_all(zkl_session *session, const struct zkl_acquire_options *options,
                             size_t count) {
    assert(count > 0);
    for (size_t i = 0; i < count; i++) check_options(&options[i]);
    struct zkl_request *request = zkl_request_new(session, REQUEST_ACQUIRE, options[0].timeout);
    if (request) {
        enum zkl_code code = refusal_of_new(session, refusal_of(session, options), options, count);
        request->quiet = options[0].quiet;
        request->hold.length = options[0].max_hold;
        if (code == ZKL_OK && session->service != SERVICE_OPEN) code = ZKL_CLOSED;
        if (code != ZKL_OK) zkl_request_finish(request, code, 0);
        else if (!all_answered(request, options, count)) contend_all(request, options, count);
    }
    return request;
}

/* --- waiting in a condition ------------------------------------------------------------------ */

/*
 * NULL: the handle is a multi-lock's, a re-entry's on its part, a reader's, or of another kind that
 * may not wait in a condition.
 */
static struct stake *stake_that_may_wait(const zkl_lease *lease) {
    struct stake *stake = lease->parts.one;
    if (!stake || stake->part || lease->kind != stake->claim.kind) return NULL;
    bool may = lease->kind == ZKL_WRITE || (lease->kind == ZKL_MUTEX && !stake->claim.batch);
    return may ? stake : NULL;
}

/* False: out of memory. */
static bool begin_wait(struct zkl_request *request, struct stake *stake, const char *folder) {
    const char *data = strchr(stake->data, '\n');
    struct zkl_acquire_options options = {
        .path = folder, .kind = ZKL_MUTEX, .owner = stake->owner, .data = data ? data + 1 : NULL};
    enum zkl_code code = refusal_of(request->session, &options);
    code = refusal_of_new(request->session, code, &options, 1);
    if (code != ZKL_OK) {
        zkl_request_finish(request, code, 0);
        return true;
    }
    struct path *path = zkl_path_find_or_add(request->session, folder);
    struct stake *waiter = path ? zkl_stake_new(request->session, path, &options, ZKL_NEVER) : NULL;
    if (!waiter) return false;
    attach_request(request, stake);
    zkl_stake_perform(waiter,
                      zkl_claim_enter_condition(&waiter->claim, &stake->claim, request->deadline));
    if (request->session->service == SERVICE_TO_HOLDERS) zkl_request_cancel(request, ZKL_CLOSED);
    return true;
}

zkl_request *zkl_wait(zkl_lease *lease, const char *folder, zkl_time timeout) {
    struct zkl_request *request = zkl_request_new_about_lease(lease, REQUEST_WAIT, timeout);
    struct stake *stake = stake_that_may_wait(lease);
    if (request && !zkl_request_done(request)) {
        if (!stake) zkl_request_finish(request, ZKL_UNSUPPORTED, 0);
        else if (!begin_wait(request, stake, folder)) zkl_request_finish(request, ZKL_NO_MEMORY, 0);
    }
    return request;
}
