/* lease.c - acquiring a lock, and the handles on what was granted. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* --- acquire --------------------------------------------------------------------------- */

/* The grant that the owner has on the path already, if it has one. */
static struct stake *held_by(struct path *path, const char *owner) {
    zkl_time now = zkl_now();
    for (struct zkl_claim *claim = path->line.claims; claim; claim = claim->next) {
        struct stake *stake = (struct stake *)claim;
        if (zkl_claim_holds(claim) && strcmp(stake->owner, owner) == 0)
            return zkl_stake_lost(stake, now) ? NULL : stake;
    }
    return NULL;
}

/* A reader that wants to write would wait for itself. */
static bool may_enter_again(const struct stake *stake, const struct zkl_wish *wish) {
    const struct zkl_claim *claim = &stake->claim;
    bool writable = claim->kind == ZKL_WRITE && claim->state == ZKL_HELD;
    return wish->reentrant && (wish->kind != ZKL_WRITE || writable);
}

static void enter_again(struct zkl_request *request, struct stake *stake,
                        const struct zkl_wish *wish) {
    if (!may_enter_again(stake, wish)) {
        zkl_request_finish(request, ZKL_WOULD_DEADLOCK, 0);
        return;
    }
    stake->handles++;
    if (wish->kind == ZKL_WRITE) stake->writers++;
    zkl_stake_hold(stake);
    request->stake = stake;
    request->lease = true;
    request->lease_kind = wish->kind;
    zkl_request_finish(request, ZKL_OK, 0);
}

static bool is_read_write(enum zkl_kind kind) {
    return kind == ZKL_READ || kind == ZKL_WRITE;
}

/*
 * One path is a mutex, a read-write lock, or a semaphore of one limit: a claim of this
 * session that uses it otherwise, or NULL.
 */
static const struct zkl_claim *other_use(const struct path *path, const struct zkl_wish *wish) {
    for (const struct zkl_claim *claim = path->line.claims; claim; claim = claim->next) {
        bool same =
            claim->kind == wish->kind || (is_read_write(claim->kind) && is_read_write(wish->kind));
        if (claim->wanted && (!same || claim->limit != wish->limit)) return claim;
    }
    return NULL;
}

/* Why the session takes no wish now; ZKL_OK: it does. */
static enum zkl_code refusal(const struct zkl_session *session, const struct zkl_wish *wish) {
    if (session->closing) return ZKL_CLOSED;
    if (session->state == ZKL_SESSION_EXPIRED && !session->reopen) return ZKL_EXPIRED;
    if (wish->trying && session->state == ZKL_SESSION_SUSPENDED) return ZKL_TIMEOUT;
    if (session->node_bytes + zkl_stake_cost(session, strlen(wish->path)) > ZKL_PATHS_MAX)
        return ZKL_TOO_MANY;
    return ZKL_OK;
}

/* A new contender. False: out of memory. */
static bool contend(struct zkl_request *request, struct path *path, const struct zkl_wish *wish) {
    struct stake *stake = zkl_stake_new(request->session, path, wish, request->deadline);
    if (!stake) return false;
    zkl_stake_hold(stake);
    zkl_request_hold(request);
    request->stake = stake;
    stake->request = request;
    zkl_stake_perform(stake, zkl_claim_start(&stake->claim));
    return true;
}

/* Those that the owner has of a semaphore. */
static int64_t permits_of(struct path *path, const char *owner) {
    zkl_time now = zkl_now();
    int64_t permits = 0;
    for (struct zkl_claim *claim = path->line.claims, *next; claim; claim = next) {
        struct stake *stake = (struct stake *)claim;
        next = claim->next;
        if (!zkl_claim_holds(claim) || strcmp(stake->owner, owner) != 0) continue;
        if (!zkl_stake_lost(stake, now)) permits += claim->permits;
    }
    return permits;
}

/* False: the request is answered, by what the owner has already. */
static bool is_new(struct zkl_request *request, struct path *path, const struct zkl_wish *wish) {
    if (wish->kind == ZKL_PERMIT) {
        if (permits_of(path, wish->owner) + wish->permits <= wish->limit) return true;
        zkl_request_finish(request, ZKL_WOULD_DEADLOCK, 0);
        return false;
    }
    struct stake *held = held_by(path, wish->owner);
    if (held) enter_again(request, held, wish);
    return !held;
}

/* False: out of memory. */
static bool begin(struct zkl_request *request, const struct zkl_wish *wish) {
    struct path *path = zkl_path_use(request->session, wish->path);
    if (!path) return false;
    enum zkl_code code = refusal(request->session, wish);
    const struct zkl_claim *other = code == ZKL_CLOSED ? NULL : other_use(path, wish);
    if (other) {
        zkl_request_conflict(request, "this session uses it as", other->kind, other->limit);
        return true;
    }
    if (code != ZKL_CLOSED && !is_new(request, path, wish)) return true;
    if (code == ZKL_OK) return contend(request, path, wish);
    zkl_request_finish(request, code, 0);
    return true;
}

zkl_request *zkl_acquire(zkl_session *session, const struct zkl_wish *wish) {
    zkl_lock(session);
    struct zkl_request *request = zkl_request_new(session, REQUEST_ACQUIRE, wish->timeout);
    bool begun = request && begin(request, wish);
    if (request && !begun) zkl_request_finish(request, ZKL_TOO_MANY, ZSYSTEMERROR);
    zkl_path_tidy(session);
    zkl_unlock(session);
    return request;
}

/* --- handles ------------------------------------------------------------------------------ */

/* Nobody writes any more: those who read keep the place, and let other readers in. */
static void share(struct stake *stake) {
    if (stake->writers == 0 && zkl_claim_may_share(&stake->claim))
        zkl_stake_perform(stake, zkl_claim_share(&stake->claim));
}

void zkl_lease_give_up(struct stake *stake, enum zkl_kind kind) {
    if (stake->handles == 0) return;
    stake->handles--;
    if (kind == ZKL_WRITE) stake->writers--;
    if (stake->handles > 0) share(stake);
    else zkl_stake_perform(stake, zkl_claim_release(&stake->claim));
}

/* The mutex is held. */
static enum zkl_code release(zkl_lease *lease) {
    struct stake *stake = lease->stake;
    if (lease->released || stake->handles == 0) return ZKL_RELEASED;
    bool was_lost = zkl_stake_lost(stake, zkl_now());
    lease->released = true;
    zkl_lease_give_up(stake, lease->kind);
    return was_lost ? ZKL_LOST : ZKL_OK;
}

enum zkl_code zkl_lease_release(zkl_lease *lease) {
    struct zkl_session *session = lease->stake->session;
    zkl_lock(session);
    enum zkl_code code = release(lease);
    zkl_unlock(session);
    return code;
}

zkl_request *zkl_release_wait(zkl_lease *lease, zkl_time timeout) {
    struct stake *stake = lease->stake;
    struct zkl_session *session = stake->session;
    zkl_lock(session);
    struct zkl_request *request = zkl_request_new(session, REQUEST_RELEASE, timeout);
    if (request) {
        request->stake = stake;
        zkl_stake_hold(stake);
        enum zkl_code code = release(lease);
        if (code != ZKL_OK || stake->handles > 0 || stake->claim.state == ZKL_GONE) {
            zkl_request_finish(request, code, 0);
        } else {
            zkl_request_hold(request);
            request->next_leaving = stake->leaving;
            stake->leaving = request;
        }
    }
    zkl_unlock(session);
    return request;
}

enum zkl_code zkl_lease_ended(const zkl_lease *lease) {
    struct stake *stake = lease->stake;
    if (lease->released || stake->handles == 0) return ZKL_RELEASED;
    return zkl_stake_lost(stake, zkl_now()) ? ZKL_LOST : ZKL_OK;
}

/* Why the handle cannot be downgraded; ZKL_OK: it can. */
static enum zkl_code not_shared(const zkl_lease *lease) {
    enum zkl_code ended = zkl_lease_ended(lease);
    if (ended != ZKL_OK) return ended;
    bool may = lease->kind == ZKL_WRITE && zkl_claim_may_share(&lease->stake->claim);
    return may ? ZKL_OK : ZKL_UNSUPPORTED;
}

zkl_request *zkl_downgrade(zkl_lease *lease, zkl_time timeout) {
    struct stake *stake = lease->stake;
    struct zkl_session *session = stake->session;
    zkl_lock(session);
    struct zkl_request *request = zkl_request_new(session, REQUEST_SHARE, timeout);
    enum zkl_code code = not_shared(lease);
    if (request && code == ZKL_OK) {
        request->stake = stake;
        zkl_stake_hold(stake);
        lease->kind = ZKL_READ;
        if (--stake->writers == 0) {
            zkl_request_hold(request);
            stake->sharing = request;
        }
        share(stake);
    }
    if (request && (code != ZKL_OK || stake->writers > 0)) zkl_request_finish(request, code, 0);
    zkl_unlock(session);
    return request;
}

void zkl_lease_drop(zkl_lease *lease) {
    struct zkl_session *session = lease->stake->session;
    if (zkl_session_foreign(session)) return;
    zkl_lock(session);
    release(lease);
    zkl_stake_unhold(lease->stake);
    zkl_unlock(session);
    free(lease);
    zkl_session_drop(session);
}

size_t zkl_session_release_all(zkl_session *session, const char *owner) {
    size_t released = 0;
    zkl_lock(session);
    for (struct stake *stake = session->stakes, *next; stake; stake = next) {
        next = stake->next;
        if (!zkl_claim_holds(&stake->claim) || strcmp(stake->owner, owner) != 0) continue;
        released++;
        stake->handles = 1;
        zkl_lease_give_up(stake, ZKL_READ);
    }
    zkl_path_tidy(session);
    zkl_unlock(session);
    return released;
}

/* --- what a handle tells --------------------------------------------------------------------- */

uint64_t zkl_lease_id(const zkl_lease *lease) {
    return lease->stake->id;
}

int64_t zkl_lease_token(const zkl_lease *lease) {
    return lease->stake->claim.czxid;
}

zkl_session *zkl_lease_session(const zkl_lease *lease) {
    return lease->stake->session;
}

enum zkl_lease_state zkl_lease_state(zkl_lease *lease) {
    struct stake *stake = lease->stake;
    enum zkl_lease_state state = ZKL_LEASE_RELEASED;
    zkl_lock(stake->session);
    zkl_time now = zkl_now();
    if (!lease->released && stake->handles > 0) {
        if (zkl_stake_lost(stake, now)) state = ZKL_LEASE_LOST;
        else if (zkl_clock_phase(&stake->session->party.clock, stake->claim.epoch, now) ==
                 ZKL_PHASE_HELD)
            state = ZKL_LEASE_HELD;
        else state = ZKL_LEASE_SUSPECT;
    }
    zkl_unlock(stake->session);
    return state;
}

zkl_time zkl_lease_remaining(zkl_lease *lease) {
    struct stake *stake = lease->stake;
    zkl_time remaining = 0;
    zkl_lock(stake->session);
    if (!lease->released && stake->handles > 0 && zkl_claim_holds(&stake->claim))
        remaining =
            zkl_clock_remaining(&stake->session->party.clock, stake->claim.epoch, zkl_now());
    zkl_unlock(stake->session);
    return remaining;
}
