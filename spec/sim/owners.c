/* owners.c - an owner's operations on all its waits or locks. */
#include "rules.h"
#include "story.h"
#include "world.h"

/* --- interrupt -------------------------------------------------------------------------- */

static void interrupt(struct zkl_request *request) {
    if (!request) return;
    zkl_request_cancel(request, ZKL_INTERRUPTED);
    require(zkl_request_done(request), "an interrupted request is answered at once");
}

void user_interrupt(struct client *client, int owner) {
    tell("%s is interrupted", story_owner(client, owner));
    client_update_time(client);
    EACH_WISH(client, wish) {
        if (wish->owner != owner) continue;
        if (wish->request || wish->doing == WAITS) wish->cancelled = ZKL_INTERRUPTED;
        interrupt(wish->request);
        interrupt(wish->doing_request);
    }
    client_settle(client);
}

/* --- release_all ------------------------------------------------------------------------ */

/* True if the owner holds this lock, or will after a wait, and neither ran out of time. */
static bool holds_lock(const struct client *client, const struct wish *wish, int owner) {
    if (wish->owner != owner || !has_handle(wish)) return false;
    bool away = wish->away || wish->doing == WAITS;
    bool in_time = away && clock_of(client) < stake_of(wish)->claim.deadline;
    return in_time || !rules_has_run_out(client, wish);
}

/* True if an earlier handle of the same grant counts. */
static bool is_counted_before(const struct client *client, const struct wish *wish, int owner) {
    for (const struct wish *each = client->wishes; each < wish; each++)
        if (each->used && holds_lock(client, each, owner) &&
            zkl_lease_id(each->lease) == zkl_lease_id(wish->lease))
            return true;
    return false;
}

static size_t count_locks(const struct client *client, int owner) {
    size_t count = 0;
    EACH_WISH(client, wish)
    count += holds_lock(client, wish, owner) && !is_counted_before(client, wish, owner);
    return count;
}

static void leave_given_up(const struct client *client, struct wish *wish, bool held) {
    enum zkl_lease_state state = zkl_lease_state(wish->lease);
    require(state == ZKL_LEASE_RELEASED || (state == ZKL_LEASE_LOST && !held),
            "an owner that released all locks holds none");
    enum zkl_code end = clock_of(client) < wish->deadline ? ZKL_RELEASED : ZKL_TIMEOUT;
    require(wish->doing != WAITS || zkl_request_code(wish->doing_request) == end,
            "an owner that released all locks waits in no condition");
    if (state == ZKL_LEASE_LOST) rules_on_loss(client, wish);
    user_leave(wish);
}

void user_release_all(struct client *client, int owner) {
    bool held[WISHES] = {0};
    client_update_time(client);
    size_t count = count_locks(client, owner);
    EACH_WISH(client, wish) held[wish - client->wishes] = holds_lock(client, wish, owner);
    tell("%s releases all its locks: %zu", story_owner(client, owner), count);
    require(zkl_session_release_all(client->zk, owner_name(owner)) == count,
            "release_all counts each lock once");
    EACH_WISH(client, wish) {
        bool leaves = wish->owner == owner && wish->lease && wish->doing != RELEASES;
        if (leaves) leave_given_up(client, wish, held[wish - client->wishes]);
    }
    client_settle(client);
}
