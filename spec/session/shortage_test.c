/*
 * shortage_test.c - each allocation of a session fails once: all requests end all the same, and
 * nothing is left. The linker puts the functions here in the place of malloc and its like.
 */
#include <stdlib.h>

#include "server.h"

/* The linker's names: nobody else declares them. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

static unsigned left; /* allocations to the one that fails; 0: none does */

static bool fails(void) {
    return left > 0 && --left == 0;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
char *__real_strdup(const char *text);

void *__wrap_malloc(size_t size) {
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
    return fails() ? NULL : __real_calloc(count, size);
}

char *__wrap_strdup(const char *text) {
    return fails() ? NULL : __real_strdup(text);
}

/* --- a life --------------------------------------------------------------------------------- */

/* Each is done, whatever was missing. */
static void await(zkl_request *request) {
    if (!request) return;
    serve();
    CHECK(zkl_request_done(request));
    zkl_request_drop(request);
}

static void ask(void) {
    await(zkl_session_ready(session, ZKL_NEVER));
    await(zkl_get(session, "/a", ZKL_NEVER));
    await(zkl_children(session, "/a", ZKL_NEVER));
    await(zkl_break(session, "/a/lock-0000000001", 0, ZKL_NEVER));
    await(zkl_revoke(session, "/a/lock-0000000001", ZKL_NEVER));
    await(zkl_queue(session, "/a", ZKL_MUTEX, ZKL_NEVER));
    await(zkl_queue(session, "/a", ZKL_UNFAIR, ZKL_NEVER));
    zkl_request *pause = zkl_pause(session, ZKL_NEVER);
    if (pause) zkl_request_drop(pause);
}

static void follow(void) {
    enum zkl_code why;
    zkl_watcher *watcher = zkl_watch(session, "/w", &why);
    zkl_roster *roster = zkl_members(session, "/folder", &why);
    zkl_request *join = zkl_join(session, "/folder/me", "other", ZKL_NEVER);
    serve();
    if (watcher) {
        struct zkl_sight sight;
        zkl_watcher_look(watcher, &sight);
        zkl_session_event(session, ZKL_NODE_CHANGED, "/w");
    }
    if (roster) {
        struct zkl_roll *roll;
        if (zkl_roster_look(roster, &roll)) free(roll);
        zkl_session_event(session, ZKL_NODE_CHILDREN, "/folder");
    }
    await(join);
    if (watcher) zkl_watcher_drop(watcher);
    if (roster) zkl_roster_drop(roster);
    serve();
}

static void use(zkl_lease *lease) {
    const struct zkl_op op = {
        .kind = ZKL_OP_SET, .version = -1, .path = "/g", .data = "x", .size = 1};
    await(zkl_check(lease, ZKL_NEVER));
    await(zkl_guard(lease, &op, 1, ZKL_NEVER));
    await(zkl_signal(lease, "/waiters", true, ZKL_NEVER));
    await(zkl_release_wait(lease, ZKL_NEVER));
    zkl_lease_drop(lease);
}

static void hold(void) {
    const struct zkl_acquire_options options = {.path = "/lock",
                                                .kind = ZKL_MUTEX,
                                                .owner = "me",
                                                .data = "mine",
                                                .timeout = ZKL_NEVER,
                                                .meter = zkl_session_name_meter(session, "name")};
    zkl_request *request = zkl_acquire(session, &options);
    if (!request) return;
    serve();
    CHECK(zkl_request_done(request));
    zkl_lease *lease = zkl_request_lease(request);
    if (lease) use(lease);
    zkl_request_drop(request);
    serve();
}

static void hold_both(void) {
    struct zkl_acquire_options both[] = {
        {.path = "/lock", .kind = ZKL_MUTEX, .owner = "me", .timeout = ZKL_NEVER},
        {.path = "/lock2", .kind = ZKL_MUTEX, .owner = "me", .timeout = ZKL_NEVER}};
    zkl_request *request = zkl_acquire_all(session, both, 2);
    if (!request) return;
    serve();
    CHECK(zkl_request_done(request));
    zkl_lease *lease = zkl_request_lease(request);
    if (lease) zkl_lease_drop(lease);
    zkl_request_drop(request);
    serve();
}

static void live(void) {
    open_session();
    if (!session) return;
    ask();
    follow();
    hold();
    hold_both();
    CHECK(!zkl_session_has_claims(session));
    close_session();
}

int main(void) {
    TEST("each allocation of a session fails once") {
        unsigned n = 0;
        do {
            left = ++n;
            CHECK_CASE("the allocation %u", n);
            live();
        } while (left == 0);
        CHECK(n > 100);
    }
    return check_report();
}
