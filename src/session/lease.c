/* lease.c - acquiring a lock, and the handles on what was granted. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "kept.h"
#include "lease.h"
#include "meter.h"
#include "stake_actions.h"

/* --- acquire --------------------------------------------------------------------------- */

/* The grant that the owner has on the path already, if it has one. */
static struct stake *held_by(const struct zkl_session *session, struct path *path,
                             const char *owner) {
    for (struct stake *stake = path->granted, *next; stake; stake = next) {
        next = stake->next_granted;
        bool had = zkl_claim_holds(&stake->claim) && strcmp(stake->owner, owner) == 0;
        if (had && !zkl_stake_lost(stake, session->now)) return stake;
    }
    return NULL;
}

bool zkl_session_holds(zkl_session *session, const char *path, const char *owner) {
    struct path *used = zkl_path_find(session, path, strlen(path));
    return used && held_by(session, used, owner);
}

/* A reader that wants to write would wait for itself. */
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
    zkl_stakes_set(&request->stakes, stake);
    request->again = true;
    request->lease = true;
    request->lease_kind = options->kind;
    zkl_hold_begin(stake, &request->hold);
    zkl_request_finish(request, ZKL_OK, 0);
}

static bool is_read_write(enum zkl_kind kind) {
    return kind == ZKL_READ || kind == ZKL_WRITE;
}

/*
 * One path has one use: a mutex of one order and one kind of tokens, a read-write lock, or a
 * semaphore of one limit.
 */
static bool is_same_use(const struct zkl_claim *claim, const struct zkl_acquire_options *options) {
    bool same = claim->kind == options->kind ||
                (is_read_write(claim->kind) && is_read_write(options->kind));
    bool counting = options->counting || options->batch || options->keep;
    return same && claim->limit == options->limit && !claim->batch == !options->batch &&
           claim->counting == counting;
}

static struct zkl_conflict use_by(const struct zkl_claim *claim) {
    enum zkl_use use = zkl_use_of(claim->kind);
    if (claim->counting) use = ZKL_USE_COUNTING;
    if (claim->batch) use = ZKL_USE_TURNS;
    return (struct zkl_conflict){.use = use, .limit = claim->limit, .ours = true};
}

/*
 * True: the request is answered, for a claim of this session uses the path otherwise. All wanted
 * claims of a path use it in one way, so the first tells.
 */
static bool is_mixed(struct zkl_request *request, const struct path *path,
                     const struct zkl_acquire_options *options) {
    const struct zkl_claim *claim = path ? path->line.claims : NULL;
    while (claim && !claim->wanted) claim = claim->next;
    if (!claim || is_same_use(claim, options)) return false;
    zkl_request_end_by(request, use_by(claim));
    return true;
}

static bool is_too_much(struct zkl_session *session, const struct zkl_acquire_options *options,
                        size_t count) {
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++) bytes += zkl_stake_cost(session, strlen(options[i].path));
    return !zkl_kept_make_room(session, bytes);
}

/* Why the session takes no acquire now; ZKL_OK: it does. */
static enum zkl_code refusal_of(const struct zkl_session *session,
                                const struct zkl_acquire_options *options) {
    enum zkl_code code = zkl_request_refusal(session);
    if (code != ZKL_OK) return code;
    return options->trying && session->state == ZKL_SESSION_SUSPENDED ? ZKL_TIMEOUT : ZKL_OK;
}

/* Why the session takes no `count` new claims, even if kept nodes go; `code` is refusal_of()'s. */
static enum zkl_code refusal_of_new(struct zkl_session *session, enum zkl_code code,
                                    const struct zkl_acquire_options *options, size_t count) {
    return code == ZKL_OK && is_too_much(session, options, count) ? ZKL_TOO_MANY : code;
}

/* Has the request wait for the stake's grant. */
static void attend(struct zkl_request *request, struct stake *stake) {
    zkl_request_ref(request);
    stake->request = request;
}

/* A new contender. False: out of memory. */
static bool contend(struct zkl_request *request, struct path *path,
                    const struct zkl_acquire_options *options) {
    struct stake *stake = zkl_stake_new(request->session, path, options, request->deadline);
    if (!stake) return false;
    zkl_stakes_set(&request->stakes, stake);
    attend(request, stake);
    zkl_kept_clear_way(path, stake);
    zkl_stake_perform(stake, zkl_claim_start(&stake->claim));
    zkl_kept_take(path);
    return true;
}

/* How many permits of a semaphore the owner holds. */
static int64_t permits_of(const struct zkl_session *session, struct path *path, const char *owner) {
    int64_t permits = 0;
    for (struct stake *stake = path->granted, *next; stake; stake = next) {
        next = stake->next_granted;
        if (!zkl_claim_holds(&stake->claim) || strcmp(stake->owner, owner) != 0) continue;
        if (!zkl_stake_lost(stake, session->now)) permits += stake->claim.permits;
    }
    return permits;
}

/* False: the request is answered, by what the owner has already. */
static bool is_new(struct zkl_request *request, struct path *path,
                   const struct zkl_acquire_options *options) {
    if (options->kind == ZKL_PERMIT) {
        int64_t permits = permits_of(request->session, path, options->owner) + options->permits;
        if (permits <= options->limit) return true;
        zkl_request_finish(request, ZKL_WOULD_DEADLOCK, 0);
        return false;
    }
    struct stake *held = held_by(request->session, path, options->owner);
    if (held) enter_again(request, held, options);
    return !held;
}

/* False: out of memory. */
static bool begin(struct zkl_request *request, const struct zkl_acquire_options *options) {
    request->quiet = options->quiet;
    request->meter = zkl_meter_of(request->session, options->meter);
    request->hold.length = options->max_hold;
    struct path *path = zkl_path_use(request->session, options->path);
    if (!path) return false;
    enum zkl_code code = refusal_of(request->session, options);
    if (code != ZKL_CLOSED && (is_mixed(request, path, options) || !is_new(request, path, options)))
        return true;
    code = refusal_of_new(request->session, code, options, 1);
    if (code == ZKL_OK && request->session->draining) code = ZKL_CLOSED;
    if (code == ZKL_OK) return contend(request, path, options);
    zkl_request_finish(request, code, 0);
    return true;
}

/* The options are as session.h has them. */
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

/* One more part. False: out of memory. */
static bool add_part(struct zkl_request *request, const struct zkl_acquire_options *options) {
    struct stakes *stakes = &request->stakes;
    struct zkl_acquire_options of_part = *options;
    of_part.counting = options->counting || options->keep;
    of_part.keep = 0; /* a part's node goes with the others' */
    of_part.meter = 0;
    struct path *path = zkl_path_use(request->session, options->path);
    struct stake *part =
        path ? zkl_stake_new(request->session, path, &of_part, request->deadline) : NULL;
    if (!part) return false;
    part->part = true;
    zkl_stake_ref(part);
    stakes->many[stakes->count++] = part;
    attend(request, part);
    if (stakes->count == 1) return true;
    part->id = stakes->many[0]->id; /* it is one grant */
    zkl_claim_join(&part->claim, &stakes->many[stakes->count - 2]->claim);
    return true;
}

/* A part that fails at its start may end the others. */
static void start_parts(struct zkl_request *request) {
    for (size_t i = 0; i < request->stakes.count; i++) {
        struct stake *part = request->stakes.many[i];
        struct path *path = part->path;
        if (!part->claim.wanted) continue;
        zkl_kept_clear_way(path, part);
        zkl_stake_perform(part, zkl_claim_start(&part->claim));
        zkl_kept_take(path);
    }
}

static void contend_all(struct zkl_request *request, const struct zkl_acquire_options *options,
                        size_t count) {
    struct stakes *stakes = &request->stakes;
    stakes->many = calloc(count, sizeof(struct stake *));
    bool enough = stakes->many != NULL;
    for (size_t i = 0; enough && i < count; i++) enough = add_part(request, &options[i]);
    if (enough) {
        start_parts(request);
        return;
    }
    zkl_request_finish(request, ZKL_NO_MEMORY, 0);
    if (stakes->count == 0) return;
    struct stake *first = stakes->many[0];
    zkl_stake_perform(first, zkl_claim_cancel(&first->claim, ZKL_NO_MEMORY));
}

/* False: the request is answered, by another use of a path or by what the owner has already. */
static bool are_new(struct zkl_request *request, const struct zkl_acquire_options *options,
                    size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct path *path =
            zkl_path_find(request->session, options[i].path, strlen(options[i].path));
        if (is_mixed(request, path, &options[i])) return false;
        if (!path || !held_by(request->session, path, options[i].owner)) continue;
        zkl_request_finish(request, ZKL_WOULD_DEADLOCK, 0);
        return false;
    }
    return true;
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
        if (code == ZKL_OK && session->draining) code = ZKL_CLOSED;
        if (code != ZKL_OK) zkl_request_finish(request, code, 0);
        else if (are_new(request, options, count)) contend_all(request, options, count);
    }
    return request;
}

/* --- handles ------------------------------------------------------------------------------ */

/* How the lease ended: LOST or RELEASED; OK: it has not. */
static enum zkl_code end_of(const zkl_lease *lease) {
    if (lease->lost) return ZKL_LOST;
    return lease->released ? ZKL_RELEASED : zkl_stakes_ended(&lease->stakes);
}

static zkl_session *session_of(const zkl_lease *lease) {
    return zkl_stakes_at(&lease->stakes, 0)->session;
}

zkl_lease *zkl_request_lease(zkl_request *request) {
    bool granted = zkl_request_contends(request) && request->lease;
    zkl_lease *lease = granted ? calloc(1, sizeof *lease) : NULL;
    if (!lease || !zkl_stakes_copy(&lease->stakes, &request->stakes)) {
        free(lease);
        return NULL;
    }
    zkl_hold_move(zkl_stakes_at(&lease->stakes, 0), &request->hold, &lease->hold);
    request->lease = false;
    lease->kind = request->lease_kind;
    return lease;
}

struct zkl_request *zkl_request_of(const zkl_lease *lease, enum request_kind kind,
                                   zkl_time timeout) {
    struct stakes stakes;
    if (!zkl_stakes_copy(&stakes, &lease->stakes)) return NULL;
    struct zkl_request *request = zkl_request_new(session_of(lease), kind, timeout);
    if (!request) {
        zkl_stakes_drop(&stakes);
        return NULL;
    }
    request->stakes = stakes;
    /* A release has its own answer, and gives up what is lost, too. */
    enum zkl_code ended = kind == REQUEST_RELEASE ? ZKL_OK : end_of(lease);
    if (ended != ZKL_OK) zkl_request_finish(request, ended, 0);
    return request;
}

void zkl_lease_give_up_all(const struct stakes *stakes, enum zkl_kind kind) {
    if (!stakes->many) zkl_stake_give_up(stakes->one, kind);
    for (size_t i = 0; stakes->many && i < stakes->count; i++) {
        struct stake *part = stakes->many[i];
        bool joint = part->joint;
        part->joint = false;
        if (joint) zkl_stake_give_up(part, part->claim.kind);
    }
}

enum zkl_code zkl_lease_release(zkl_lease *lease) {
    if (lease->released) return ZKL_RELEASED;
    enum zkl_code ended = end_of(lease);
    lease->released = true; /* also while the stake is away */
    lease->lost = ended == ZKL_LOST;
    zkl_hold_end(zkl_stakes_at(&lease->stakes, 0), &lease->hold);
    zkl_lease_give_up_all(&lease->stakes, lease->kind);
    return ended;
}

zkl_request *zkl_release_wait(zkl_lease *lease, zkl_time timeout) {
    struct zkl_request *request = zkl_request_of(lease, REQUEST_RELEASE, timeout);
    enum zkl_code code = request ? zkl_lease_release(lease) : ZKL_OK;
    if (request && code != ZKL_OK) zkl_request_finish(request, code, 0);
    else if (request && !request->done) zkl_stake_await_end(request);
    return request;
}

/* The stake that can be downgraded; NULL: it is a multi-lock's, no writer's, or may not be. */
static struct stake *writer_of(const zkl_lease *lease) {
    struct stake *stake = lease->stakes.one;
    bool may = stake && lease->kind == ZKL_WRITE && zkl_claim_may_downgrade(&stake->claim);
    return may ? stake : NULL;
}

/* The handle writes no more; the request is done when no handle does. */
static void downgrade(zkl_lease *lease, struct stake *stake, struct zkl_request *request) {
    lease->kind = ZKL_READ;
    if (--stake->writers > 0) {
        zkl_request_finish(request, ZKL_OK, 0);
        return;
    }
    zkl_request_ref(request);
    stake->downgrading = request;
    zkl_stake_writers_gone(stake);
}

zkl_request *zkl_downgrade(zkl_lease *lease, zkl_time timeout) {
    struct zkl_request *request = zkl_request_of(lease, REQUEST_DOWNGRADE, timeout);
    struct stake *stake = writer_of(lease);
    if (request && !request->done) {
        if (stake) downgrade(lease, stake, request);
        else zkl_request_finish(request, ZKL_UNSUPPORTED, 0);
    }
    return request;
}

void zkl_lease_drop(zkl_lease *lease) {
    zkl_lease_release(lease);
    zkl_stakes_drop(&lease->stakes);
    free(lease);
}

/* The owner has handles on it; it may be away in a condition. */
static bool is_had_by(const struct stake *stake, const char *owner) {
    return stake->handles > 0 && stake->claim.wanted && strcmp(stake->owner, owner) == 0;
}

/* The parts of a multi-lock, which have one id, are next to each other. */
static size_t take_handles(zkl_session *session, const char *owner) {
    size_t taken = 0;
    uint64_t last = 0;
    for (struct stake *stake = session->stakes; stake; stake = stake->next) {
        if (!is_had_by(stake, owner)) continue;
        if (stake->id != last) taken++;
        last = stake->id;
        stake->joint = false;
        stake->handles = 0;
    }
    return taken;
}

/*
 * A grant that the clock has ended is lost, and not given up. A node that is given up may go to
 * another acquire of the owner: that one is not released.
 */
size_t zkl_session_release_all(zkl_session *session, const char *owner) {
    zkl_stakes_feed(session, zkl_claim_tick);
    size_t released = take_handles(session, owner);
    for (struct stake *stake = session->stakes; stake; stake = session->fed) {
        bool was_granted = stake->token != 0 && strcmp(stake->owner, owner) == 0;
        session->fed = stake->next;
        if (was_granted && stake->handles == 0) zkl_stake_handles_gone(stake);
    }
    return released;
}

/* --- waiting in a condition ------------------------------------------------------------------ */

/*
 * The stake that may wait; NULL: the handle is a multi-lock's, or by re-entry that of a part, or a
 * reader's, or another that may not wait.
 */
static struct stake *waits(const zkl_lease *lease) {
    struct stake *stake = lease->stakes.one;
    if (!stake || stake->part) return NULL;
    if (stake->claim.state != ZKL_HELD || lease->kind != stake->claim.kind) return NULL;
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
    struct path *path = zkl_path_use(request->session, folder);
    struct stake *waiter = path ? zkl_stake_new(request->session, path, &options, ZKL_NEVER) : NULL;
    if (!waiter) return false;
    attend(request, stake);
    zkl_stake_perform(waiter, zkl_claim_await(&waiter->claim, &stake->claim, request->deadline));
    return true;
}

zkl_request *zkl_wait(zkl_lease *lease, const char *folder, zkl_time timeout) {
    struct zkl_request *request = zkl_request_of(lease, REQUEST_WAIT, timeout);
    struct stake *stake = waits(lease);
    if (request && !request->done) {
        if (!stake) zkl_request_finish(request, ZKL_UNSUPPORTED, 0);
        else if (!begin_wait(request, stake, folder)) zkl_request_finish(request, ZKL_NO_MEMORY, 0);
    }
    return request;
}

/* --- what a handle tells --------------------------------------------------------------------- */

uint64_t zkl_lease_id(const zkl_lease *lease) {
    return zkl_stakes_at(&lease->stakes, 0)->id;
}

int64_t zkl_lease_token(const zkl_lease *lease) {
    return zkl_stakes_at(&lease->stakes, 0)->token;
}

bool zkl_lease_revoked(const zkl_lease *lease) {
    for (size_t i = 0; i < lease->stakes.count; i++)
        if (zkl_stakes_at(&lease->stakes, i)->revoked) return true;
    return false;
}

void zkl_lease_listen(zkl_lease *lease) {
    const struct zkl_session *session = session_of(lease);
    for (size_t i = 0; i < lease->stakes.count; i++) {
        struct stake *stake = zkl_stakes_at(&lease->stakes, i);
        if (session->state == ZKL_SESSION_CONNECTED)
            zkl_stake_perform(stake, zkl_claim_beat(&stake->claim, session->now));
    }
}

/* The parts of a multi-lock were granted at one moment: the first tells for all. */
enum zkl_lease_state zkl_lease_state(zkl_lease *lease) {
    const struct zkl_session *session = session_of(lease);
    enum zkl_code ended = end_of(lease);
    if (ended != ZKL_OK) return ended == ZKL_LOST ? ZKL_LEASE_LOST : ZKL_LEASE_RELEASED;
    uint32_t epoch = zkl_stakes_at(&lease->stakes, 0)->claim.epoch;
    enum zkl_phase phase = zkl_clock_phase(&session->common.clock, epoch, session->now);
    return phase == ZKL_PHASE_HELD ? ZKL_LEASE_HELD : ZKL_LEASE_SUSPECT;
}

zkl_time zkl_lease_remaining(zkl_lease *lease) {
    const struct zkl_session *session = session_of(lease);
    if (end_of(lease) != ZKL_OK) return 0;
    zkl_time first = ZKL_NEVER;
    for (size_t i = 0; i < lease->stakes.count; i++)
        first = zkl_earlier(first, zkl_stakes_at(&lease->stakes, i)->claim.hold_until);
    uint32_t epoch = zkl_stakes_at(&lease->stakes, 0)->claim.epoch;
    zkl_time left = zkl_clock_remaining(&session->common.clock, epoch, session->now);
    return zkl_earlier(left, first - session->now);
}
