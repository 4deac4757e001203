/* owners.c - an owner's operations on all its waits or locks. */
#include "rules.h"
#include "story.h"
#include "world.h"

/* --- interrupt -------------------------------------------------------------------------- */

static void end(struct zkl_request *request) {
    if (!request) return;
    zkl_request_cancel(request, ZKL_INTERRUPTED);
    require(zkl_request_done(request), "whatever is interrupted is answered at once");
}

/* Ends the owner's waits. Its locks stay. */
void user_interrupt(struct client *client, int owner) {
    tell("%s is interrupted", story_owner(client, owner));
    client_now(client);
    EACH_WISH(client, wish) {
        if (wish->owner != owner) continue;
        if (wish->request || wish->doing == WAITS) wish->cancelled = ZKL_INTERRUPTED;
        end(wish->request);
        end(wish->deed);
    }
    client_settle(client);
}

/* --- release_all ------------------------------------------------------------------------ */

/*
 * True if it holds the lock, or will after a condition, unless the clock ended the grant or the
 * wait.
 */
static bool is_had(const struct client *client, const struct wish *wish, int owner) {
    if (wish->owner != owner || !has_handle(wish)) return false;
    bool away = wish->away || wish->doing == WAITS;
    bool in_time = away && clock_of(client) < stake_of(wish)->claim.deadline;
    return in_time || !rules_has_run_out(client, wish);
}

/* True if another handle of the grant was counted before. */
static bool is_known(const struct client *client, const struct wish *wish, int owner) {
    for (const struct wish *each = client->wishes; each < wish; each++)
        if (each->used && is_had(client, each, owner) &&
            zkl_lease_id(each->lease) == zkl_lease_id(wish->lease))
            return true;
    return false;
}

static size_t count_had(const struct client *client, int owner) {
    size_t count = 0;
    EACH_WISH(client, wish)
    count += is_had(client, wish, owner) && !is_known(client, wish, owner);
    return count;
}

static void part(const struct client *client, struct wish *wish, bool had) {
    enum zkl_lease_state state = zkl_lease_state(wish->lease);
    require(state == ZKL_LEASE_RELEASED || (state == ZKL_LEASE_LOST && !had),
            "an owner that gave up all has nothing");
    enum zkl_code end = clock_of(client) < wish->deadline ? ZKL_RELEASED : ZKL_TIMEOUT;
    require(wish->doing != WAITS || zkl_request_code(wish->deed) == end,
            "an owner that gave up all waits in no condition");
    if (state == ZKL_LEASE_LOST) rules_on_loss(client, wish);
    user_leave(wish);
}

void user_release_all(struct client *client, int owner) {
    bool had[ROOM] = {0};
    client_now(client);
    size_t count = count_had(client, owner);
    EACH_WISH(client, wish) had[wish - client->wishes] = is_had(client, wish, owner);
    tell("%s gives up all that it has: %zu", story_owner(client, owner), count);
    require(zkl_session_release_all(client->zk, owner_name(owner)) == count,
            "what is given up with all is counted, once each");
    EACH_WISH(client, wish) {
        bool leaves = wish->owner == owner && wish->lease && wish->doing != LEAVES;
        if (leaves) part(client, wish, had[wish - client->wishes]);
    }
    client_settle(client);
}
