/* told_test.c - what users are told beside their answers: steps, places in line, counts. */
#include <stdlib.h>

#include "../../src/core/claim.h"
#include "server.h"

static struct zkl_acquire_options of_owner(const char *owner, enum zkl_kind kind) {
    struct zkl_acquire_options options = options_of("/lock", kind);
    options.owner = owner;
    return options;
}

static zkl_request *acquire(struct zkl_acquire_options options) {
    return zkl_acquire(session, &options);
}

static void end(zkl_lease *lease) {
    zkl_lease_drop(lease);
    serve();
    close_session();
}

/* --- steps ------------------------------------------------------------------------------------ */

static struct told {
    enum zkl_step_kind kind;
    zkl_time took;
    size_t position;
} told[20];
static size_t told_count;

/* Takes what was told of that owner's claims. */
static void take_steps(const char *owner) {
    struct zkl_event event;
    while (zkl_session_next_event(session, &event)) {
        const struct zkl_step *step = event.kind == ZKL_EVENT_STEP ? event.step : NULL;
        if (!step || !step->owner || strcmp(step->owner, owner) != 0) continue;
        told[told_count++ % 20] = (struct told){step->kind, step->took, step->position};
    }
}

static void check_steps(const struct told *wanted, size_t count) {
    CHECK_IS(told_count, count);
    for (size_t i = 0; i < count; i++) {
        CHECK_CASE("step %zu", i);
        CHECK_IS(told[i].kind, wanted[i].kind);
        CHECK_IS(told[i].took, wanted[i].took);
        CHECK_IS(told[i].position, wanted[i].position);
    }
    told_count = 0;
}

/* In steps that are no stop of the process. */
static void go_through(zkl_time time) {
    for (zkl_time until = now + time; now < until;) {
        go_on();
        serve_requests();
    }
}

static void steps(void) {
    TEST("a lock's steps are told with their times") {
        enum { S = 1000000000 };
        static const struct told lives[] = {{ZKL_STEP_QUEUED, 0, 2},
                                            {ZKL_STEP_GRANTED, (zkl_time)2 * S, 0},
                                            {ZKL_STEP_SUSPECT, 0, 0},
                                            {ZKL_STEP_HELD, 0, 0},
                                            {ZKL_STEP_RELEASED, (zkl_time)2 * S, 0}};
        open_session();
        zkl_request *first = acquire(of_owner("you", ZKL_MUTEX));
        serve_requests();
        zkl_lease *other = zkl_request_lease(first);
        zkl_request *second = acquire(of_owner("me", ZKL_MUTEX));
        go_through(2 * ZKL_SECOND);
        zkl_lease_drop(other);
        serve_requests();
        take_steps("me");
        zkl_lease *lease = zkl_request_lease(second);
        zkl_session_suspended(session);
        zkl_session_connected(session, ID, TIMEOUT);
        go_through(2 * ZKL_SECOND);
        zkl_lease_release(lease);
        take_steps("me");
        check_steps(lives, 5);
        zkl_request_drop(first);
        zkl_request_drop(second);
        end(lease);
    }
    TEST("a wish for the lock is told as a step, once somebody holds it") {
        static const struct told before[] = {{ZKL_STEP_QUEUED, 0, 2},
                                             {ZKL_STEP_GRANTED, 0, 0},
                                             {ZKL_STEP_REVOKED, 0, 0}},
                                 after[] = {{ZKL_STEP_REVOKED, 0, 0}};
        open_session();
        zkl_request *first = acquire(of_owner("you", ZKL_MUTEX));
        serve_requests();
        zkl_lease *other = zkl_request_lease(first);
        zkl_request *second = acquire(of_owner("me", ZKL_MUTEX));
        serve_requests();
        node_text = ZKL_REVOKE_DATA;
        zkl_session_event(session, ZKL_NODE_CHANGED, nodes[1]);
        serve_requests();
        node_text = "text";
        zkl_lease_drop(other);
        serve_requests();
        take_steps("me");
        check_steps(before, 3);
        zkl_request_drop(first);
        zkl_request_drop(second);
        serve();
        zkl_lease *lease = taken(acquire(of_owner("me", ZKL_MUTEX)));
        told_count = 0;
        zkl_lease_listen(lease);
        serve_requests();
        node_text = ZKL_REVOKE_DATA;
        zkl_session_event(session, ZKL_NODE_CHANGED, nodes[0]);
        serve_requests();
        CHECK(zkl_lease_revoked(lease));
        take_steps("me");
        check_steps(after, 1);
        end(lease);
    }
}

/* --- places ----------------------------------------------------------------------------------- */

/* Of the newest request that waits; 0: it was told none. */
static size_t place_of(const zkl_request *request) {
    struct zkl_event event;
    size_t place = 0;
    serve_requests();
    while (zkl_session_next_event(session, &event))
        if (event.kind == ZKL_EVENT_QUEUED && event.id == zkl_request_id(request))
            place = event.position;
    return place;
}

static zkl_request *queue_up(const char *owner, int32_t batch) {
    struct zkl_acquire_options options = of_owner(owner, ZKL_MUTEX);
    options.batch = batch;
    return acquire(options);
}

static void places(void) {
    TEST("each waiter is told its place in line") {
        static const char *const owners[] = {"2", "3", "4", "5"};
        enum { WAITERS = sizeof owners / sizeof *owners };
        for (int32_t batch = 0; batch < 2; batch++) {
            zkl_request *waiters[WAITERS];
            open_session();
            zkl_lease *lease = taken(queue_up("1", batch));
            for (size_t i = 0; i < WAITERS; i++) {
                CHECK_CASE("%zu in turns of %" PRId32, i, batch);
                waiters[i] = queue_up(owners[i], batch);
                CHECK_IS(place_of(waiters[i]), i + 2);
            }
            for (size_t i = 0; i < WAITERS; i++) zkl_request_drop(waiters[i]);
            end(lease);
        }
    }
    TEST("behind claims of its session that have nodes a waiter has its place, too") {
        open_session();
        strcpy(nodes[0], "/lock/lock-0000000000");
        strcpy(nodes[1], "/lock/lock-0000000099");
        zkl_request *first = queue_up("1", 1);
        serve_requests();
        delete_node("/lock/lock-0000000000");
        zkl_lease *lease = taken(first);
        zkl_request *second = queue_up("2", 1); /* it has its own node, for the turn ends */
        serve_requests();
        CHECK_IS(made, 2);
        zkl_request *third = queue_up("3", 1);
        CHECK_IS(place_of(third), 3);
        zkl_request_drop(third);
        zkl_request_drop(second);
        end(lease);
    }
    TEST("behind a claim that leaves a waiter is next, and the one behind it is third") {
        open_session();
        zkl_lease *lease = taken(queue_up("1", ZKL_BATCH_BY_TIME));
        zkl_request *second = queue_up("2", ZKL_BATCH_BY_TIME);
        CHECK_IS(place_of(second), 2);
        zkl_lease_drop(lease);
        CHECK(!zkl_request_done(second));
        zkl_request *third = queue_up("3", ZKL_BATCH_BY_TIME);
        CHECK_IS(place_of(third), 3);
        zkl_request_drop(third);
        end(taken(second));
    }
    TEST("after a reconnect all that wait in turns are told the places that they have") {
        static const char *const owners[] = {"1", "2", "3", "4"};
        enum { CLAIMS = sizeof owners / sizeof *owners };
        zkl_request *requests[CLAIMS];
        size_t found[CLAIMS] = {0}, steps_found[CLAIMS] = {0};
        struct zkl_event event;
        open_session();
        zkl_session_suspended(session);
        for (size_t i = 0; i < CLAIMS; i++) requests[i] = queue_up(owners[i], 1);
        zkl_session_connected(session, ID, TIMEOUT);
        serve_requests();
        while (zkl_session_next_event(session, &event))
            for (size_t i = 0; i < CLAIMS; i++) {
                bool step = event.kind == ZKL_EVENT_STEP && event.step->kind == ZKL_STEP_QUEUED;
                if (step && strcmp(event.step->owner, owners[i]) == 0)
                    steps_found[i] = event.step->position;
                if (event.kind == ZKL_EVENT_QUEUED && event.id == zkl_request_id(requests[i]))
                    found[i] = event.position;
            }
        for (size_t i = 0; i < CLAIMS; i++) {
            CHECK_CASE("%zu", i);
            CHECK_IS(found[i], i == 0 ? 0 : i + 1);
            CHECK_IS(steps_found[i], found[i]);
            zkl_request_drop(requests[i]);
        }
        close_session();
    }
}

/* --- counts ----------------------------------------------------------------------------------- */

static void await(zkl_request *request) {
    serve();
    CHECK_IS(zkl_request_code(request), ZKL_OK);
    zkl_request_drop(request);
}

static void live(void) {
    enum zkl_code why;
    const struct zkl_op ops[] = {{.kind = ZKL_OP_SET, .version = -1, .path = "/g", .data = ""},
                                 {.kind = ZKL_OP_CREATE, .path = "/g/1", .data = ""},
                                 {.kind = ZKL_OP_CREATE, .path = "/g/2", .data = ""},
                                 {.kind = ZKL_OP_DELETE, .version = -1, .path = "/g/3"}};
    struct zkl_acquire_options options = of_owner("me", ZKL_MUTEX);
    options.keep = TIMEOUT;
    zkl_lease *lease = taken(acquire(options));
    await(zkl_guard(lease, ops, 4, ZKL_NEVER));
    await(zkl_check(lease, ZKL_NEVER));
    zkl_lease_drop(lease);
    zkl_watcher *watcher = zkl_watch(session, "/w", &why);
    zkl_roster *roster = zkl_members(session, "/folder", &why);
    zkl_request *join = zkl_join(session, "/folder/me", "me", ZKL_NEVER);
    serve();
    zkl_watcher_drop(watcher);
    zkl_roster_drop(roster);
    zkl_request_drop(join);
    serve();
    serve();
}

static void counts(void) {
    TEST("each request that is sent counts, by what it asks for") {
        struct zkl_stats stats;
        open_session();
        live();
        serve_requests();
        zkl_session_stats(session, &stats);
        CHECK(served.creates && served.sets && served.deletes && served.lists && served.gets);
        CHECK(served.exists && served.syncs && served.watch_removals);
        CHECK_IS(stats.creates, served.creates);
        CHECK_IS(stats.sets, served.sets);
        CHECK_IS(stats.deletes, served.deletes);
        CHECK_IS(stats.lists, served.lists);
        CHECK_IS(stats.gets, served.gets);
        CHECK_IS(stats.exists, served.exists);
        CHECK_IS(stats.syncs, served.syncs);
        CHECK_IS(stats.watch_removals, served.watch_removals);
        close_session();
    }
    TEST("a loss, and how long a grant took, are counted") {
        struct zkl_totals totals = {0};
        open_session();
        size_t number = zkl_session_name_meter(session, "name");
        zkl_lease *lease = taken(acquire(of_owner("you", ZKL_MUTEX)));
        struct zkl_acquire_options options = of_owner("me", ZKL_MUTEX);
        options.meter = number;
        options.reentrant = true;
        zkl_time from = now;
        zkl_request *request = acquire(options);
        serve();
        zkl_time waited = now - from;
        zkl_lease_drop(lease);
        serve_requests();
        lease = taken(request);
        zkl_lease_drop(taken(acquire(options)));
        zkl_session_expired(session);
        zkl_totals_add(&totals, session);
        CHECK_IS(totals.stats.losses, 1);
        CHECK_IS(totals.sessions[ZKL_SESSION_EXPIRED], 1);
        const struct zkl_meter *meter = &totals.named[0]->meter;
        CHECK_IS(meter->wait.count, 1);
        CHECK_IS(meter->wait.sum, waited);
        CHECK_IS(meter->outcomes[ZKL_OK], 1);
        CHECK_IS(meter->reentries, 1);
        CHECK_IS(totals.meter.outcomes[ZKL_OK], 2);
        zkl_totals_clear(&totals);
        CHECK_IS(totals.named_count, 0);
        end(lease);
    }
    TEST("what two sessions have counted is added up, each number") {
        enum { NUMBERS = sizeof(struct zkl_stats) / sizeof(uint64_t) };
        uint64_t sums[NUMBERS];
        static struct zkl_totals to, from;
        for (size_t i = 0; i < NUMBERS; i++) {
            memcpy((uint64_t *)&to.stats + i, &(uint64_t){100}, sizeof(uint64_t));
            memcpy((uint64_t *)&from.stats + i, &(uint64_t){i + 1}, sizeof(uint64_t));
        }
        for (size_t i = 0; i < ZKL_OUTCOMES; i++) from.meter.outcomes[i] = i + 1;
        for (size_t i = 0; i <= ZKL_SESSION_CLOSED; i++) from.sessions[i] = i + 1;
        from.meter.reentries = 7;
        zkl_totals_merge(&to, &from);
        zkl_totals_merge(&to, &from);
        memcpy(sums, &to.stats, sizeof sums);
        for (size_t i = 0; i < NUMBERS; i++) CHECK_IS(sums[i], 100 + 2 * (i + 1));
        for (size_t i = 0; i < ZKL_OUTCOMES; i++) CHECK_IS(to.meter.outcomes[i], 2 * (i + 1));
        for (size_t i = 0; i <= ZKL_SESSION_CLOSED; i++) CHECK_IS(to.sessions[i], 2 * (i + 1));
        CHECK_IS(to.meter.reentries, 14);
    }
}

int main(void) {
    steps();
    places();
    counts();
    return check_report();
}
