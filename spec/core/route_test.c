/* route_test.c - which server is tried next, and when. */
#include "route.h"

#include "check.h"

#define T (10 * ZKL_SECOND)
#define TENTH (T / 10)
#define START (100 * ZKL_SECOND)

static struct zkl_route route;
static zkl_time now;

static void begin(void) {
    zkl_route_clear(&route);
    now = START;
    zkl_route_init(&route, 7, now);
}

static void resolved(size_t count, const uint64_t *keys) {
    zkl_route_resolved(&route, keys, count, T, now);
}

static void one_server(void) {
    resolved(1, (uint64_t[]){1});
}

static void three_servers(void) {
    resolved(3, (uint64_t[]){1, 2, 3});
}

static bool is_due(void) {
    return zkl_route_due(&route) <= now;
}

static uint64_t next(void) {
    return route.stops[zkl_route_next(&route, T, now)].key;
}

/* The connection is there for a while, and then lost. */
static void lose(void) {
    zkl_route_connected(&route);
    now += T;
    zkl_route_lost(&route, T, now);
}

/* A bit for each server that three attempts in a row reach. */
static unsigned reached_at_once(void) {
    unsigned reached = 0;
    for (int i = 0; i < 3 && is_due(); i++) reached |= 1u << next();
    return reached;
}

static void names(void) {
    TEST("names are resolved at first, and no server is tried before") {
        CHECK_IS(zkl_route_resolve_due(&route), now);
        CHECK_IS(zkl_route_due(&route), ZKL_NEVER);
        one_server();
        CHECK(is_due());
    }
    TEST("names are resolved again until there is a connection") {
        one_server();
        CHECK_IS(zkl_route_resolve_due(&route), now + TENTH);
        zkl_route_connected(&route);
        CHECK_IS(zkl_route_resolve_due(&route), ZKL_NEVER);
        CHECK_IS(zkl_route_due(&route), ZKL_NEVER);
    }
    TEST("names are resolved ten times a second at most, and once a second at least") {
        zkl_route_resolved(&route, NULL, 0, ZKL_SECOND / 10, now);
        CHECK_IS(zkl_route_resolve_due(&route), now + ZKL_SECOND / 10);
        zkl_route_resolved(&route, NULL, 0, 1000 * ZKL_SECOND, now);
        CHECK_IS(zkl_route_resolve_due(&route), now + ZKL_SECOND);
    }
    TEST("a lost connection asks for the names at once, and waits a moment for them") {
        one_server();
        lose();
        CHECK_IS(zkl_route_resolve_due(&route), now);
        CHECK_IS(zkl_route_due(&route), now + ZKL_SECOND);
        one_server();
        CHECK(is_due());
    }
    TEST("the old addresses are tried while the names resolve to nothing") {
        one_server();
        lose();
        resolved(0, NULL);
        CHECK(!is_due());
        now = zkl_route_due(&route);
        CHECK_IS(next(), 1);
    }
}

static void order(void) {
    TEST("each server is tried at once") {
        three_servers();
        CHECK_IS(reached_at_once(), 1u << 1 | 1u << 2 | 1u << 3);
        CHECK(!is_due());
    }
    TEST("each server is tried at once after each loss") {
        three_servers();
        for (int i = 0; i < 20; i++) {
            CHECK_CASE("%d", i);
            lose();
            three_servers();
            CHECK_IS(reached_at_once(), 1u << 1 | 1u << 2 | 1u << 3);
            CHECK(!is_due());
        }
    }
    TEST("the first server is any of them") {
        unsigned first = 0;
        for (int i = 0; i < 50; i++) {
            lose();
            three_servers();
            first |= 1u << next();
        }
        CHECK_IS(first, 1u << 1 | 1u << 2 | 1u << 3);
    }
    TEST("the server of the lost connection is tried after the others") {
        three_servers();
        for (int i = 0; i < 50; i++) {
            CHECK_CASE("%d", i);
            uint64_t lost = next();
            lose();
            three_servers();
            CHECK(next() != lost);
            CHECK(next() != lost);
            CHECK_IS(next(), lost);
            now = zkl_route_due(&route);
        }
    }
    TEST("tried servers take turns, though the names are resolved in between") {
        three_servers();
        reached_at_once();
        for (int round = 0; round < 50; round++) {
            unsigned reached = 0;
            for (int i = 0; i < 3; i++) {
                resolved(3, (uint64_t[]){3, 1, 2});
                now = zkl_route_due(&route);
                reached |= 1u << next();
            }
            CHECK_CASE("%d", round);
            CHECK_IS(reached, 1u << 1 | 1u << 2 | 1u << 3);
        }
    }
    TEST("a server that came is tried at once, and no other") {
        three_servers();
        reached_at_once();
        resolved(3, (uint64_t[]){1, 4, 3});
        CHECK(is_due());
        CHECK_IS(next(), 4);
        CHECK(!is_due());
    }
}

static void pace(void) {
    TEST("tried servers are tried again one in each tenth of the session timeout, or later") {
        zkl_time least = ZKL_NEVER, most = 0;
        one_server();
        next();
        for (int i = 0; i < 1000; i++) {
            zkl_time pause = zkl_route_due(&route) - now;
            if (pause < least) least = pause;
            if (pause > most) most = pause;
            now = zkl_route_due(&route);
            next();
        }
        CHECK(least >= TENTH && least < TENTH * 11 / 10);
        CHECK(most <= TENTH * 3 / 2 && most > TENTH * 14 / 10);
    }
    TEST("the same addresses, resolved again, keep the pace") {
        one_server();
        next();
        zkl_time due = zkl_route_due(&route);
        now += TENTH / 2;
        one_server();
        CHECK_IS(zkl_route_due(&route), due);
    }
    TEST("an attempt can be hurried, and not delayed") {
        one_server();
        next();
        zkl_route_hurry(&route, now + 1);
        CHECK_IS(zkl_route_due(&route), now + 1);
        zkl_route_hurry(&route, now + 2);
        CHECK_IS(zkl_route_due(&route), now + 1);
    }
    TEST("the shortest session timeout has a pace, too") {
        one_server();
        zkl_route_next(&route, 1, now);
        CHECK(!is_due());
    }
}

int main(void) {
    check_before(begin);
    names();
    order();
    pace();
    zkl_route_clear(&route);
    return check_report();
}
