/* totals_test.c - sessions' counts, by name and in sum. */
#include "../../src/session/internal.h"
#include "server.h"

static void names(void) {
    TEST("each name gets one meter, up to ZKL_METERS_MAX names of a session") {
        char name[24];
        open_session();
        for (size_t i = 1; i <= ZKL_METERS_MAX; i++) {
            snprintf(name, sizeof name, "%zu", i);
            CHECK_IS(zkl_session_name_meter(session, name), i);
        }
        CHECK_IS(zkl_session_name_meter(session, "7"), 7);
        CHECK_IS(zkl_session_name_meter(session, "one more"), 0);
        struct zkl_totals all = {0}, of_another = {0};
        zkl_totals_add(&all, session);
        close_session();
        open_session();
        CHECK_IS(zkl_session_name_meter(session, "one more"), 1);
        zkl_totals_add(&of_another, session);
        zkl_totals_merge(&all, &of_another);
        CHECK_IS(all.named_count, ZKL_METERS_MAX + 1);
        CHECK(strcmp(all.named[ZKL_METERS_MAX]->name, "one more") == 0);
        zkl_totals_clear(&all);
        CHECK_IS(all.named_count, 0);
        zkl_totals_clear(&of_another);
        close_session();
    }
}

static void numbers(void) {
    TEST("each count of two sessions is added up") {
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

static void ended(void) {
    TEST("an ended session has done what it did, and has nothing") {
        struct zkl_totals all = {0}, done = {0};
        open_session();
        zkl_watcher *watcher = zkl_watch(session, "/a", &(enum zkl_code){0});
        serve();
        zkl_request *request = zkl_get(session, "/b", ZKL_NEVER);
        CHECK(answer_until(ZKL_RPC_GET, 0));
        zkl_totals_add(&all, session);
        zkl_totals_add_ended(&done, session);
        CHECK(all.stats.gets > 0 && all.stats.in_flight > 0 && all.stats.watch_bytes > 0);
        CHECK_IS(all.sessions[ZKL_SESSION_CONNECTED], 1);
        CHECK_IS(done.stats.gets, all.stats.gets);
        CHECK_IS(done.stats.in_flight, 0);
        CHECK_IS(done.stats.watches, 0);
        CHECK_IS(done.stats.watch_bytes, 0);
        CHECK_IS(done.sessions[ZKL_SESSION_CONNECTED], 0);
        answer(asked);
        zkl_request_drop(request);
        zkl_watcher_drop(watcher);
        close_session();
    }
}

static uint64_t stops_of_a_request(zkl_time at) {
    zkl_session_at(session, now = at);
    zkl_request *request = zkl_pause(session, ZKL_SECOND);
    uint64_t stops = zkl_request_stops(request);
    zkl_request_drop(request);
    return stops;
}

static void stops(void) {
    TEST("a stop counts for requests that begin before proofs count again") {
        open_session();
        serve();
        pass(TIMEOUT / 3); /* without a tick */
        zkl_time from = zkl_clock_grants_from(&session->common.clock);
        CHECK(from > now);
        CHECK_IS(stops_of_a_request(from - 1), 1);
        CHECK_IS(stops_of_a_request(from), 0);
        close_session();
    }
}

static void late_answers(void) {
    TEST("a second answer to a request is ignored while another request waits to be sent") {
        const struct zkl_answer lost = {.error = ZKL_ERROR_CONNECTION_LOSS};
        open_session();
        zkl_request *first = zkl_get(session, "/a", ZKL_NEVER);
        CHECK(answer_until(ZKL_RPC_GET, 0));
        uint64_t answered = asked->id;
        answer(asked);
        zkl_request *second = zkl_get(session, "/b", ZKL_NEVER);
        zkl_session_answer(session, answered, &lost);
        CHECK(zkl_request_done(first) && !zkl_request_done(second));
        CHECK(answer_until(ZKL_RPC_GET, 0));
        answer(asked);
        CHECK(zkl_request_done(second));
        zkl_request_drop(first);
        zkl_request_drop(second);
        close_session();
    }
}

int main(void) {
    names();
    numbers();
    ended();
    stops();
    late_answers();
    return check_report();
}
