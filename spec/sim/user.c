/* user.c - users' calls to a session, and its reports. */
#include <stdio.h>
#include <string.h>

#include "choice.h"
#include "deeds.h"
#include "rules.h"
#include "story.h"
#include "verdict.h"
#include "world.h"

/* --- choosing a wish ------------------------------------------------------------------- */

struct wish *user_some(const struct client *client, bool (*fits)(const struct wish *wish)) {
    struct wish *found[WISHES];
    unsigned count = 0;
    EACH_WISH(client, wish) {
        if (fits(wish)) found[count++] = wish;
    }
    return count ? found[count > 1 ? choose(count) : 0] : NULL;
}

bool user_has(const struct client *client, bool (*fits)(const struct wish *wish)) {
    EACH_WISH(client, wish) {
        if (fits(wish)) return true;
    }
    return false;
}

/* --- without memory -------------------------------------------------------------------- */

static void check_memory(const void *made) {
    require(made || world.shortages, "a request begins, unless there is no memory");
}

/* Notes a request about a lease. Without memory the lease is as before. */
static void begin_doing(struct wish *wish, enum doing doing, struct zkl_request *request) {
    check_memory(request);
    wish->doing = request ? doing : NOTHING;
    wish->doing_request = request;
}

/* --- wishes ------------------------------------------------------------------------- */

static struct wish *free_wish(const struct client *client) {
    for (const struct wish *wish = client->wishes; wish < client->wishes + WISHES; wish++)
        if (!wish->used) return (struct wish *)(uintptr_t)wish;
    return NULL;
}

bool user_may_wish(const struct client *client) {
    if (client->life != RUNS || nodes_full() || !free_wish(client)) return false;
    unsigned used = world.setting.plain ? client->wished : count_stakes(client);
    return used + (index_of(client) > 0 ? world.setting.fewer : 0) < world.setting.wishes;
}

/* A new owner for each wish, or one of a few. */
static int some_owner(const struct client *client) {
    unsigned owners = world.setting.owners;
    if (owners == 0) return (int)(client->wished % OWNERS);
    return owners > 1 ? (int)choose(owners) : 0;
}

static int some_caller(int owner) {
    bool may = world.setting.owners == 2 && !world.setting.plain;
    return may && choose(4) == 3 ? 1 - owner : NOBODY;
}

static bool is_reentrant(void) {
    if (world.setting.owners == 0) return false;
    return world.setting.plain || choose(4) != 3;
}

static struct zkl_acquire_options options_for(const struct client *client, const struct wish *wish,
                                              int line, struct desire desire, zkl_time timeout) {
    static const char *callers[2];
    callers[0] = wish->caller == NOBODY ? NULL : owner_name(wish->caller);
    return (struct zkl_acquire_options){
        .path = line_path(line),
        .kind = desire.kind,
        .owner = owner_name(wish->owner),
        .callers = callers,
        .timeout = timeout,
        .trying = wish->trying,
        .reentrant = is_reentrant(),
        .jitter = world.setting.plain ? 0 : client->wished % 2 * TIMEOUT / 4,
        .batch = desire.batch,
        .counting = desire.counting,
        .keep = desire.keep,
        .max_waiters = (int32_t)wish->max_waiters,
        .max_hold = wish->max_hold,
        .permits = desire.permits,
        .limit = desire.limit};
}

static zkl_time deadline_of(const struct client *client, zkl_time timeout) {
    return timeout == ZKL_NEVER ? ZKL_NEVER : clock_of(client) + timeout;
}

static struct wish *new_wish(struct client *client, struct desire desire, zkl_time timeout,
                             bool trying) {
    struct wish *wish = free_wish(client);
    int owner = some_owner(client);
    *wish = (struct wish){.used = true,
                          .owner = owner,
                          .caller = some_caller(owner),
                          .kind = desire.kind,
                          .limit = desire.limit,
                          .batch = desire.batch,
                          .counting = desire.counting || desire.batch || desire.keep,
                          .keeps = desire.keep > 0 && !desire.joint,
                          .joint = desire.joint,
                          .trying = trying,
                          .deadline = deadline_of(client, timeout)};
    if (world.setting.limits) wish->max_waiters = choose(3);
    if (world.setting.limits && choose(3) == 2) wish->max_hold = TIMEOUT / 4 * (1 + choose(4));
    client->wished++;
    client_update_time(client);
    return wish;
}

/* Begins a wish. Without memory nothing is left of it. */
void user_wish(struct client *client, int line, const struct desire *desires, unsigned count,
               zkl_time timeout, bool trying) {
    struct wish *wish = new_wish(client, desires[0], timeout, trying);
    struct zkl_acquire_options asked[LINES];
    for (unsigned i = 0; i < count; i++)
        asked[i] = options_for(client, wish, line + (int)i, desires[i], timeout);
    struct verdict verdict = verdict_of(client, wish, asked, count);
    const char *locks = count > 1 ? "both: " : wish->joint ? "as a multi-lock " : "";
    tell("%s%s wants %s%s%s%s%s%s", story_owner(client, wish->owner),
         wish->caller == NOBODY ? "" : ", called by the other,", locks, story_desire(desires),
         count > 1 ? ", and " : "", count > 1 ? story_desire(desires + 1) : "",
         trying ? ", now or never" : "", count == 1 && verdict.again ? ", which it has" : "");
    wish->request =
        wish->joint ? zkl_acquire_all(client->zk, asked, count) : zkl_acquire(client->zk, asked);
    check_memory(wish->request);
    if (wish->request) verdict_check(client, wish, &verdict, count);
    else *wish = (struct wish){0};
    client_settle(client);
}

/* --- giving back --------------------------------------------------------------------- */

static void drop(struct zkl_request **request) {
    if (*request) zkl_request_drop(*request);
    *request = NULL;
}

/* Ends what the wish does. A pending signal counts as interrupted. */
static void end_doing(struct wish *wish) {
    if (wish->doing == SIGNALS) {
        zkl_request_cancel(wish->doing_request, ZKL_INTERRUPTED);
        rules_on_signal_end(wish, zkl_request_code(wish->doing_request));
    }
    drop(&wish->doing_request);
    wish->doing = NOTHING;
}

void user_leave(struct wish *wish) {
    end_doing(wish);
    drop(&wish->request);
    if (wish->lease) zkl_lease_drop(wish->lease);
    *wish = (struct wish){0};
}

/* Gives up an acquire or a wait. Some acquires are dropped. */
void user_cancel(struct client *client, struct wish *wish) {
    tell("%s gives up its wish", story_client(client));
    wish->cancelled = ZKL_INTERRUPTED;
    client_update_time(client);
    if (wish->request && world.setting.owners && !world.setting.plain && choose(2))
        user_leave(wish);
    else zkl_request_cancel(wish->request ? wish->request : wish->doing_request, ZKL_INTERRUPTED);
    client_settle(client);
}

/* If the clock has ended the lease, the user hears that it is lost. */
static void release(struct client *client, struct wish *wish) {
    bool lost = rules_has_run_out(client, wish);
    enum zkl_code code = zkl_lease_release(wish->lease);
    if (code == ZKL_LOST) rules_on_loss(client, wish);
    rules_on_release(wish, code, lost && has_lease(wish));
    if (wish->doing == WAITS) wish->given_up = true;
    else user_leave(wish);
}

/* Some users wait until the node is gone. */
void user_release(struct client *client, struct wish *wish) {
    tell("%s releases", story_owner(client, wish->owner));
    client_update_time(client);
    if (wish->doing != WAITS && !world.setting.plain && choose(2)) {
        end_doing(wish);
        begin_doing(wish, RELEASES, zkl_release_and_confirm(wish->lease, ZKL_NEVER));
    } else release(client, wish);
    client_settle(client);
}

/* --- using a lease ------------------------------------------------------------------- */

void user_downgrade(struct client *client, struct wish *wish) {
    tell("%s wants to write no more, only to read", story_client(client));
    client_update_time(client);
    begin_doing(wish, DOWNGRADES, zkl_downgrade(wish->lease, ZKL_NEVER));
    if (wish->doing_request) wish->kind = ZKL_READ; /* whatever the result */
    client_settle(client);
}

void user_hold(struct client *client, struct wish *wish) {
    zkl_time length = TIMEOUT / 4 * (1 + choose(4));
    tell("%s moves the end of its hold", story_client(client));
    client_update_time(client);
    if (zkl_lease_expire(wish->lease, length) == ZKL_OK) {
        wish->max_hold = length;
        rules_on_hold(client, wish);
    }
    client_settle(client);
}

bool user_may_wait(const struct client *client) {
    return !nodes_full() && !(world.setting.plain && client->waited);
}

/* A wait gives up all handles of the grant for its duration. */
void user_wait(struct client *client, struct wish *wish, zkl_time timeout) {
    tell("%s waits in the condition", story_client(client));
    client->waited++;
    wish->deadline = deadline_of(client, timeout);
    wish->trying = false;
    client_update_time(client);
    begin_doing(wish, WAITS, zkl_wait(wish->lease, line_path(CONDITION), timeout));
    EACH_WISH(client, each) {
        bool fellow = wish->doing_request && is_fellow(each, wish);
        if (fellow) each->away = true;
        if (client->sends_away && (fellow || each == wish)) each->cancelled = ZKL_CLOSED;
    }
    client_settle(client);
}

void user_signal(struct client *client, struct wish *wish) {
    tell("%s signals", story_client(client));
    client->signals++;
    client_update_time(client);
    wish->all = !world.setting.plain && choose(2);
    wish->saw = client->last;
    wish->signal = world.signal_count < SIGNAL_REQUESTS ? ++world.signal_count : 0;
    zkl_time timeout = world.setting.plain || choose(2) ? ZKL_NEVER : choose(20) * (TIMEOUT / 10);
    begin_doing(wish, SIGNALS, zkl_signal(wish->lease, line_path(CONDITION), wish->all, timeout));
    client_settle(client);
}

unsigned user_signal_sent(const struct client *client, const struct call *call) {
    if (call->kind != &zkl_guard_call) return 0;
    EACH_WISH(client, wish) {
        if (wish->doing != SIGNALS || wish->doing_request != zkl_call_request(call)) continue;
        world.signals[wish->signal].open++;
        return wish->signal;
    }
    return 0;
}

/* --- reports ------------------------------------------------------------------------- */

static void hear_revocation(const struct client *client, struct wish *wish) {
    if (wish->revoked || !zkl_lease_revoked(wish->lease)) return;
    wish->revoked = true;
    rules_on_revoked(client, wish);
}

static void hear_grant(struct client *client, struct wish *wish) {
    bool listens = world.setting.deeds & 1U << DEED_REVOKE && client->wished % 2;
    rules_on_grant(client, wish);
    wish->revoked = false;
    if (listens) zkl_lease_listen(wish->lease);
    hear_revocation(client, wish);
}

static void hear_acquire(struct client *client, struct wish *wish) {
    enum zkl_code code = zkl_request_code(wish->request);
    if (code != ZKL_OK) {
        rules_on_fail(client, wish, code);
        user_leave(wish);
        return;
    }
    if (world.setting.owners && !world.setting.plain && choose(16) == 15) {
        tell("%s is not there any more to take it", story_client(client));
    } else {
        wish->lease = zkl_request_lease(wish->request);
        check_memory(wish->lease);
    }
    if (!wish->lease) {
        if (!wish->again) rules_on_untaken(wish);
        user_leave(wish); /* releases the lock */
        return;
    }
    drop(&wish->request);
    if (wish->again) {
        rules_on_entry(client, wish);
        hear_revocation(client, wish);
    } else hear_grant(client, wish);
}

static bool still_holds(const struct wish *wish) {
    enum zkl_lease_state state = zkl_lease_state(wish->lease);
    return state == ZKL_LEASE_HELD || state == ZKL_LEASE_SUSPECT;
}

/* All handles hold the lock after a wait, or none. Returns a holding wish, or NULL. */
static struct wish *return_fellows(const struct client *client, struct wish *wish) {
    struct wish *holder = still_holds(wish) ? wish : NULL;
    unsigned handles = !wish->given_up, held = holder != NULL;
    EACH_WISH(client, each) {
        if (!each->away || !is_fellow(each, wish)) continue;
        handles++;
        each->away = false;
        if (still_holds(each)) {
            holder = each;
            held++;
        } else {
            user_leave(each);
        }
    }
    require(held == 0 || held == handles, "a wait ends alike for all handles of a grant");
    return holder;
}

static void hear_loss(struct client *client, struct wish *wish) {
    rules_on_loss(client, wish);
    if (wish->doing == WAITS) return_fellows(client, wish);
    user_leave(wish);
}

/* Ends with the lock regained, kept (the wait did not begin), or lost. */
static void hear_wait(struct client *client, struct wish *wish) {
    enum zkl_code code = zkl_request_code(wish->doing_request);
    struct wish *holder = return_fellows(client, wish);
    if (code == ZKL_OK) hear_grant(client, holder ? holder : wish);
    else if (holder) rules_on_stay(wish, code);
    else rules_on_fail(client, wish, code);
    if (still_holds(wish)) end_doing(wish);
    else user_leave(wish);
}

static void hear_downgrade(const struct client *client, struct wish *wish) {
    enum zkl_code code = zkl_request_code(wish->doing_request);
    bool ended = code == ZKL_LOST || code == ZKL_RELEASED || code == ZKL_CLOSED;
    if (!ended && code != ZKL_INTERRUPTED) rules_on_downgraded(client, wish, code);
    end_doing(wish);
}

static void hear_release(struct client *client, struct wish *wish) {
    enum zkl_code code = zkl_request_code(wish->doing_request);
    if (code == ZKL_LOST) rules_on_loss(client, wish);
    if (code == ZKL_OK) rules_on_left(client, wish);
    user_leave(wish);
}

static void hear_doing(struct client *client, struct wish *wish) {
    switch (wish->doing) {
    case NOTHING: break;
    case DOWNGRADES: hear_downgrade(client, wish); break;
    case WAITS: hear_wait(client, wish); break;
    case SIGNALS:
        if (zkl_request_code(wish->doing_request) == ZKL_OK) rules_on_signalled(wish);
        end_doing(wish);
        break;
    case RELEASES: hear_release(client, wish); break;
    }
}

static bool is_request(const struct zkl_request *request, uint64_t id) {
    return request && zkl_request_id(request) == id;
}

static void hear_request(struct client *client, uint64_t id) {
    if (deed_hear_request(client, id)) return;
    EACH_WISH(client, wish) {
        if (is_request(wish->request, id)) hear_acquire(client, wish);
        else if (is_request(wish->doing_request, id)) hear_doing(client, wish);
        else continue;
        return;
    }
}

/* Users in a wait, or in a release, hear from their requests, and so do their fellows. */
static void hear_lease(struct client *client, uint64_t id) {
    EACH_WISH(client, wish) {
        bool waits = wish->doing == WAITS && !zkl_request_done(wish->doing_request);
        bool hears = wish->lease && !waits && wish->doing != RELEASES && !wish->away;
        if (!hears || zkl_lease_id(wish->lease) != id) continue;
        enum zkl_lease_state state = zkl_lease_state(wish->lease);
        require(state != ZKL_LEASE_RELEASED || wish->cancelled == ZKL_CLOSED,
                "only its user gives a lease up");
        if (state == ZKL_LEASE_LOST) hear_loss(client, wish);
        else hear_revocation(client, wish);
    }
}

bool user_hear(struct client *client) {
    struct zkl_event event;
    if (!zkl_session_next_event(client->zk, &event)) return false;
    if (event.kind == ZKL_EVENT_REQUEST) hear_request(client, event.id);
    if (event.kind == ZKL_EVENT_LEASE) hear_lease(client, event.id);
    if (event.kind == ZKL_EVENT_WATCHER) deed_hear_watcher(client, event.id);
    if (event.kind == ZKL_EVENT_MEMBER) deed_hear_member(client, event.id);
    if (event.kind == ZKL_EVENT_ROSTER) deed_hear_roster(client, event.id);
    if (event.kind == ZKL_EVENT_STEP) rules_on_step(client, event.step);
    return true;
}
