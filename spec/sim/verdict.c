#include "verdict.h"

#include <string.h>

/* --- other wishes --------------------------------------------------------------------- */

/* True if the wish waits for the lock, holds it, or will again. */
static bool is_wanted(const struct wish *wish) {
    if (wish->request) return !zkl_request_done(wish->request);
    return has_handle(wish);
}

/* The wish's stake on that path; NULL: none. */
static const struct stake *stake_on(const struct wish *wish, const char *path) {
    EACH_PART(parts_of_wish(wish), part) {
        if (part->path && strcmp(part->path->text, path) == 0) return part;
    }
    return NULL;
}

bool verdict_still_holds(const struct client *client, const struct zkl_claim *claim) {
    const struct zkl_clock *clock = &client->zk->common.clock;
    return zkl_claim_holds(claim) &&
           zkl_clock_phase(clock, claim->epoch, clock_of(client)) != ZKL_PHASE_LOST &&
           clock_of(client) < claim->deadline;
}

static bool is_read_write(enum zkl_kind kind) {
    return kind == ZKL_READ || kind == ZKL_WRITE;
}

static bool is_other_use(const struct zkl_claim *claim, const struct zkl_acquire_options *asked) {
    bool same =
        claim->kind == asked->kind || (is_read_write(claim->kind) && is_read_write(asked->kind));
    bool counting = asked->counting || asked->batch || asked->keep;
    return !same || claim->limit != asked->limit || !claim->batch != !asked->batch ||
           (claim->reuse != ZKL_ONE_GRANT) != counting;
}

static bool is_in_conflict(const struct client *client, const struct zkl_acquire_options *asked) {
    EACH_WISH(client, wish) {
        const struct stake *stake = is_wanted(wish) ? stake_on(wish, asked->path) : NULL;
        if (stake && is_other_use(&stake->claim, asked)) return true;
    }
    return false;
}

static bool is_held_by(const struct client *client, int owner, const struct stake *stake) {
    if (!verdict_still_holds(client, &stake->claim)) return false;
    EACH_WISH(client, wish) {
        bool has = wish->owner == owner && has_lease(wish);
        if (has && zkl_parts_include(&wish->lease->parts, stake)) return true;
    }
    return false;
}

/* The owner's latest grant. After several waits it may hold several. */
static const struct stake *owner_grant(const struct client *client, int owner, const char *path) {
    const struct path *used = zkl_path_find(client->zk, path, strlen(path));
    const struct stake *stake = used ? used->granted : NULL;
    while (stake && !is_held_by(client, owner, stake)) stake = stake->next_granted;
    return stake;
}

/* True if its caller holds the grant for longer than the wish lasts. */
static bool is_held_by_caller(const struct client *client, const struct wish *wish,
                              const struct stake *stake) {
    bool outlasts = stake->claim.deadline >= wish->deadline;
    return wish->caller != NOBODY && outlasts && is_held_by(client, wish->caller, stake);
}

static int64_t owner_permits(const struct client *client, const struct wish *wish,
                             const char *path) {
    int64_t sum = 0;
    EACH_STAKE(client, stake) {
        bool here = strcmp(stake->path->text, path) == 0;
        bool had = here && is_held_by(client, wish->owner, stake);
        if (had || (here && is_held_by_caller(client, wish, stake))) sum += stake->claim.permits;
    }
    return sum;
}

static bool would_deadlock(const struct client *client, const struct wish *wish,
                           const struct zkl_acquire_options *asked) {
    EACH_STAKE(client, stake) {
        const struct zkl_claim *claim = &stake->claim;
        bool writes = claim->kind == ZKL_WRITE && claim->state == ZKL_HELD;
        bool beside = is_read_write(claim->kind) && !writes && asked->kind == ZKL_READ;
        bool here = strcmp(stake->path->text, asked->path) == 0;
        if (here && !beside && is_held_by_caller(client, wish, stake)) return true;
    }
    return false;
}

const struct wish *verdict_fellow(const struct client *client, const struct wish *wish,
                                  const struct stake *stake) {
    EACH_WISH(client, each) {
        if (each != wish && has_handle(each) && zkl_parts_include(&each->lease->parts, stake))
            return each;
    }
    return NULL;
}

/* --- the verdict ------------------------------------------------------------------------ */

/* True if `more` nodes fit. Without `stay`, kept nodes make room. */
static bool nodes_fit(const struct client *client, unsigned more, bool stay) {
    unsigned count = more;
    if (!world.setting.room) return true;
    const struct follower *member = client->zk->followers[FOLLOWER_MEMBER];
    for (; member; member = member->next) count++;
    EACH_STAKE(client, stake) {
        bool goes = !stay && stake->claim.state == ZKL_KEPT && stake->claim.keep > 0;
        count += stake->node == NODE_COUNTED && !goes;
    }
    return count <= 2 * world.setting.room;
}

/* True if its own recent list showed no contender, and the children are watched. */
static bool trusts_its_list(const struct client *client, const struct zkl_claim *claim) {
    const struct zkl_line *line = claim->line;
    zkl_time at = claim->node.list_time, patience = client->zk->common.clock.attend_within;
    bool asked = line->children == ZKL_WATCH_ASKED && claim->batch == 0;
    return asked && at && clock_of(client) - at <= patience && line->count == 1 && !line->changed;
}

/* True if a node is kept for such a wish, and no contender waits. */
static bool inherits(const struct client *client, const struct zkl_acquire_options *asked) {
    if (asked->kind != ZKL_MUTEX || !nodes_fit(client, 1, true)) return false;
    if (!asked->counting && !asked->batch && !asked->keep) return false;
    EACH_STAKE(client, stake) {
        const struct zkl_claim *claim = &stake->claim;
        bool here = strcmp(stake->path->text, asked->path) == 0;
        bool known = !claim->awaits_list || trusts_its_list(client, claim);
        bool kept = claim->state == ZKL_KEPT && claim->keep > 0 && known;
        if (here && kept && !claim->batch == !asked->batch) return true;
    }
    return false;
}

/* A wish that waits since a stop, which no grant survives, gets the kept node first. */
static bool is_behind(const struct client *client, const struct zkl_acquire_options *asked) {
    EACH_STAKE(client, stake) {
        bool here = strcmp(stake->path->text, asked->path) == 0;
        if (here && stake->claim.state == ZKL_NEW && stake->claim.wanted) return true;
    }
    return false;
}

static bool is_crowded(const struct client *client, const struct zkl_acquire_options *asked) {
    int32_t count = 0;
    EACH_STAKE(client, stake) {
        const struct zkl_claim *claim = &stake->claim;
        bool here = strcmp(stake->path->text, asked->path) == 0;
        bool waits = !zkl_claim_holds(claim) && claim->state != ZKL_IN_CONDITION;
        count += here && waits && claim->wanted && claim->announced && !claim->trying;
    }
    return asked->max_waiters && count >= asked->max_waiters;
}

static enum zkl_code session_refusal(const struct client *client,
                                     const struct zkl_acquire_options *asked, unsigned more) {
    bool suspended = zkl_session_connection_state(client->zk) == ZKL_SESSION_SUSPENDED;
    if (client->closing) return ZKL_CLOSED;
    if (asked->trying && suspended) return ZKL_TIMEOUT;
    return nodes_fit(client, more, false) ? ZKL_OK : ZKL_TOO_MANY;
}

/* True if the owner may enter again. Readers do not become writers. */
static bool may_enter(const struct zkl_claim *claim, const struct zkl_acquire_options *asked) {
    bool writable = claim->kind == ZKL_WRITE && claim->state == ZKL_HELD;
    return asked->reentrant && (asked->kind != ZKL_WRITE || writable);
}

/* ZKL_OK: neither the owner nor its caller holds the lock. */
static enum zkl_code code_by_owner(const struct client *client, const struct wish *wish,
                                   const struct zkl_acquire_options *asked, bool *again) {
    if (asked->kind == ZKL_PERMIT) {
        int64_t all = owner_permits(client, wish, asked->path) + asked->permits;
        return all > asked->limit ? ZKL_WOULD_DEADLOCK : ZKL_OK;
    }
    const struct stake *stake = owner_grant(client, wish->owner, asked->path);
    *again = stake && may_enter(&stake->claim, asked);
    if (*again) return ZKL_OK;
    return stake || would_deadlock(client, wish, asked) ? ZKL_WOULD_DEADLOCK : ZKL_OK;
}

static enum zkl_code code_of_one(const struct client *client, const struct wish *wish,
                                 const struct zkl_acquire_options *asked, struct verdict *verdict) {
    enum zkl_code code = session_refusal(client, asked, 1);
    if (code == ZKL_CLOSED) return code;
    if (is_in_conflict(client, asked)) return ZKL_CONFLICT;
    enum zkl_code had = code_by_owner(client, wish, asked, &verdict->again);
    if (had != ZKL_OK || verdict->again) return had;
    return code == ZKL_OK && client->drain ? ZKL_CLOSED : code;
}

static enum zkl_code code_of_many(const struct client *client, const struct wish *wish,
                                  const struct zkl_acquire_options asked[], unsigned count) {
    enum zkl_code code = session_refusal(client, asked, count);
    if (code == ZKL_OK && client->drain) code = ZKL_CLOSED;
    for (unsigned i = 0; i < count && code == ZKL_OK; i++)
        if (is_in_conflict(client, &asked[i])) code = ZKL_CONFLICT;
    for (unsigned i = 0; i < count && code == ZKL_OK; i++) {
        if (owner_grant(client, wish->owner, asked[i].path) ||
            would_deadlock(client, wish, &asked[i]))
            code = ZKL_WOULD_DEADLOCK;
    }
    return code;
}

struct verdict verdict_of(const struct client *client, const struct wish *wish,
                          const struct zkl_acquire_options asked[], unsigned count) {
    struct verdict verdict = {.claims = count_stakes(client)};
    verdict.code = wish->joint ? code_of_many(client, wish, asked, count)
                               : code_of_one(client, wish, asked, &verdict);
    for (unsigned i = 0; i < count && verdict.code == ZKL_OK && !verdict.again; i++)
        if (is_crowded(client, &asked[i])) verdict.code = ZKL_BUSY;
    if (verdict.code == ZKL_OK && count == 1 && !verdict.again)
        verdict.inherits = inherits(client, asked);
    verdict.at_once = verdict.inherits && !is_behind(client, asked);
    return verdict;
}

/* --- the session's answer ----------------------------------------------------------------- */

void verdict_check(const struct client *client, struct wish *wish, const struct verdict *verdict,
                   unsigned count) {
    bool contends = verdict->code == ZKL_OK && !verdict->again;
    const struct zkl_clock *clock = &client->zk->common.clock;
    bool certain = zkl_clock_phase(clock, clock->epoch, clock_of(client)) == ZKL_PHASE_HELD;
    bool done = zkl_request_done(wish->request), ready = verdict->at_once && certain;
    unsigned claims = verdict->claims + (contends && !verdict->inherits ? count : 0);
    wish->verdict = verdict->code;
    wish->again = verdict->again;
    enum zkl_code code = done ? zkl_request_code(wish->request) : ZKL_OK;
    if (contends && done && wish->batch && code == ZKL_BUSY) return; /* see rules_on_busy() */
    if (done && code == ZKL_NO_MEMORY) {
        require(world.shortages, "a wish fails for want of memory only without memory");
        wish->verdict = ZKL_NO_MEMORY;
        wish->again = false;
        return;
    }
    if (ready) require(done && !client->zk->to_send, "a kept node is granted without a request");
    require(done != (contends && !ready),
            "a wish is answered at once if its session knows the answer");
    require(!done || code == verdict->code, "an immediate answer is the right one");
    /* even for a refused wish */
    bool makes_way = verdict->code == ZKL_BUSY || verdict->code == ZKL_TIMEOUT;
    require(count_stakes(client) == claims || (makes_way && count_stakes(client) < claims),
            "an owner that enters again, or is refused, does not contend");
    require(!verdict->again || !client->zk->to_send, "an owner that enters again asks no server");
}
