#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "lease.h"
#include "stake_actions.h"

/* --- handles ------------------------------------------------------------------------------ */

static enum zkl_code end_code_of(const zkl_lease *lease) {
    return lease->end_code != ZKL_OK ? lease->end_code : zkl_parts_end_code(&lease->parts);
}

static zkl_session *session_of(const zkl_lease *lease) {
    return zkl_parts_at(&lease->parts, 0)->session;
}

zkl_lease *zkl_request_lease(zkl_request *request) {
    bool granted = zkl_request_ends_with_claim(request) && request->handle;
    zkl_lease *lease = granted ? calloc(1, sizeof *lease) : NULL;
    if (!lease || !zkl_parts_copy(&lease->parts, &request->parts)) {
        free(lease);
        return NULL;
    }
    zkl_hold_move(zkl_parts_at(&lease->parts, 0), &request->hold, &lease->hold);
    request->handle = REQUEST_NO_HANDLE;
    lease->kind = request->lease_kind;
    return lease;
}

struct zkl_request *zkl_request_new_about_lease(const zkl_lease *lease, enum request_kind kind,
                                                zkl_time timeout) {
    struct parts parts;
    if (!zkl_parts_copy(&parts, &lease->parts)) return NULL;
    struct zkl_request *request = zkl_request_new(session_of(lease), kind, timeout);
    if (!request) {
        zkl_parts_drop(&parts);
        return NULL;
    }
    request->parts = parts;
    /* A release has its own answer, also for a lost lease. */
    enum zkl_code ended = kind == REQUEST_RELEASE ? ZKL_OK : end_code_of(lease);
    if (ended != ZKL_OK) zkl_request_finish(request, ended, 0);
    return request;
}

/* Handles by re-entry keep their own limits, unless a limit of the multi-lock has passed. */
static void release_part(struct stake *part) {
    bool joint = part->part == PART_HELD;
    part->part = PART_UNHELD;
    if (joint) zkl_stake_release_handle(part, part->claim.kind);
    if (!zkl_stake_check_loss(part, part->session->now)) zkl_hold_apply(part);
}

void zkl_parts_release_handle(const struct parts *parts, enum zkl_kind kind) {
    if (!parts->many) zkl_stake_release_handle(parts->one, kind);
    for (size_t i = 0; parts->many && i < parts->count; i++) release_part(parts->many[i]);
}

enum zkl_code zkl_lease_expire(zkl_lease *lease, zkl_time length) {
    struct stake *stake = zkl_parts_at(&lease->parts, 0);
    enum zkl_code ended = end_code_of(lease);
    if (ended != ZKL_OK) return ended;
    zkl_hold_end(stake, &lease->hold);
    lease->hold.length = length;
    zkl_hold_begin(stake, &lease->hold);
    return ZKL_OK;
}

enum zkl_code zkl_lease_release(zkl_lease *lease) {
    if (lease->end_code != ZKL_OK) return ZKL_RELEASED;
    enum zkl_code ended = end_code_of(lease);
    lease->end_code = ended == ZKL_LOST ? ZKL_LOST : ZKL_RELEASED; /* even in a condition */
    zkl_hold_end(zkl_parts_at(&lease->parts, 0), &lease->hold);
    zkl_parts_release_handle(&lease->parts, lease->kind);
    return ended;
}

zkl_request *zkl_release_and_confirm(zkl_lease *lease, zkl_time timeout) {
    struct zkl_request *request = zkl_request_new_about_lease(lease, REQUEST_RELEASE, timeout);
    enum zkl_code code = request ? zkl_lease_release(lease) : ZKL_OK;
    if (request && code != ZKL_OK) zkl_request_finish(request, code, 0);
    else if (request && !zkl_request_done(request)) zkl_stake_await_end(request);
    return request;
}

/* NULL: a multi-lock's handle or no writer's, or sequence numbers are nearly exhausted. */
static struct stake *downgradable_stake(const zkl_lease *lease) {
    struct stake *stake = lease->parts.one;
    bool may = stake && lease->kind == ZKL_WRITE && zkl_claim_may_downgrade(&stake->claim);
    return may ? stake : NULL;
}

static void downgrade(zkl_lease *lease, struct stake *stake, struct zkl_request *request) {
    lease->kind = ZKL_READ;
    if (--stake->writers > 0) {
        zkl_request_finish(request, ZKL_OK, 0);
        return;
    }
    zkl_request_ref(request);
    stake->downgrade = request;
    zkl_stake_downgrade_without_writers(stake);
}

zkl_request *zkl_downgrade(zkl_lease *lease, zkl_time timeout) {
    struct zkl_request *request = zkl_request_new_about_lease(lease, REQUEST_DOWNGRADE, timeout);
    struct stake *stake = downgradable_stake(lease);
    if (request && !zkl_request_done(request)) {
        if (stake) downgrade(lease, stake, request);
        else zkl_request_finish(request, ZKL_UNSUPPORTED, 0);
    }
    return request;
}

void zkl_lease_drop(zkl_lease *lease) {
    zkl_lease_release(lease);
    zkl_parts_drop(&lease->parts);
    free(lease);
}

/* `owner` may be the first words of the stake's owner, as the name of an nginx task is. */
static bool is_owned_by(const struct stake *stake, const char *owner) {
    size_t length = strlen(owner);
    if (strncmp(stake->owner, owner, length) != 0) return false;
    return stake->owner[length] == '\0' || stake->owner[length] == ' ';
}

/* Also while its user waits in a condition. */
static bool is_granted_to(const struct stake *stake, const char *owner) {
    return stake->handles > 0 && stake->claim.wanted && is_owned_by(stake, owner);
}

/* Parts of a multi-lock share one id, and are neighbours in the list. */
static size_t drop_handles(zkl_session *session, const char *owner) {
    size_t grants = 0;
    uint64_t last = 0;
    for (struct stake *stake = session->stakes; stake; stake = stake->next) {
        if (!is_granted_to(stake, owner)) continue;
        if (stake->asker.id != last) grants++;
        last = stake->asker.id;
        stake->handles = 0;
    }
    return grants;
}

/*
 * A grant whose clock ran out is lost, not released. A released node may go to another acquire of
 * the owner, which is not released.
 */
size_t zkl_session_release_all(zkl_session *session, const char *owner) {
    zkl_stake_feed_all(session, zkl_claim_tick);
    size_t released = drop_handles(session, owner);
    for (struct stake *stake = session->stakes; stake; stake = session->next_to_feed) {
        bool was_granted = stake->token != 0 && is_owned_by(stake, owner);
        session->next_to_feed = stake->next;
        if (was_granted && stake->handles == 0) zkl_stake_release_without_handles(stake);
    }
    return released;
}

/* --- answers at once ------------------------------------------------------------------------ */

uint64_t zkl_lease_id(const zkl_lease *lease) {
    return zkl_parts_at(&lease->parts, 0)->asker.id;
}

int64_t zkl_lease_token(const zkl_lease *lease) {
    return zkl_parts_at(&lease->parts, 0)->token;
}

bool zkl_lease_reads(const zkl_lease *lease) {
    return lease->kind == ZKL_READ;
}

bool zkl_lease_waited(const zkl_lease *lease) {
    return zkl_parts_at(&lease->parts, 0)->claim.announced;
}

bool zkl_lease_revoked(const zkl_lease *lease) {
    for (size_t i = 0; i < lease->parts.count; i++)
        if (zkl_stake_is_revoked(zkl_parts_at(&lease->parts, i))) return true;
    return false;
}

void zkl_lease_listen(zkl_lease *lease) {
    const struct zkl_session *session = session_of(lease);
    for (size_t i = 0; i < lease->parts.count; i++) {
        struct stake *stake = zkl_parts_at(&lease->parts, i);
        if (session->state == ZKL_SESSION_CONNECTED)
            zkl_stake_perform(stake, zkl_claim_beat(&stake->claim, session->now));
    }
}

/* Parts were granted at one moment, so the first tells for all. */
enum zkl_lease_state zkl_lease_state(zkl_lease *lease) {
    const struct zkl_session *session = session_of(lease);
    enum zkl_code ended = end_code_of(lease);
    if (ended != ZKL_OK) return ended == ZKL_LOST ? ZKL_LEASE_LOST : ZKL_LEASE_RELEASED;
    uint32_t epoch = zkl_parts_at(&lease->parts, 0)->claim.epoch;
    enum zkl_phase phase = zkl_clock_phase(&session->common.clock, epoch, session->now);
    return phase == ZKL_PHASE_HELD ? ZKL_LEASE_HELD : ZKL_LEASE_SUSPECT;
}

zkl_time zkl_lease_remaining(zkl_lease *lease) {
    const struct zkl_session *session = session_of(lease);
    if (end_code_of(lease) != ZKL_OK) return 0;
    zkl_time first = ZKL_NEVER;
    for (size_t i = 0; i < lease->parts.count; i++)
        first = zkl_earlier(first, zkl_parts_at(&lease->parts, i)->claim.deadline);
    uint32_t epoch = zkl_parts_at(&lease->parts, 0)->claim.epoch;
    zkl_time left = zkl_clock_remaining(&session->common.clock, epoch, session->now);
    return zkl_earlier(left, first - session->now);
}
