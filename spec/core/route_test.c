/* route_test.c - the choice of the next server, and its time. */
#include "route.h"

#include <string.h>

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

static uint64_t latest; /* key of the latest attempt */

static uint64_t next(void) {
    latest = route.servers[zkl_route_next(&route, T, now)].key;
    return latest;
}

/* Connects for a while, and loses the connection. */
static void lose(void) {
    zkl_route_connected(&route, latest);
    now += T;
    zkl_route_lost(&route, T, now);
}

/* The servers that three attempts in a row reach, a bit each. */
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
        zkl_route_connected(&route, latest);
        CHECK_IS(zkl_route_resolve_due(&route), ZKL_NEVER);
        CHECK_IS(zkl_route_due(&route), ZKL_NEVER);
    }
    TEST("names are resolved ten times a second at most, and once a second at least") {
        zkl_route_resolved(&route, NULL, 0, ZKL_SECOND / 10, now);
        CHECK_IS(zkl_route_resolve_due(&route), now + ZKL_SECOND / 10);
        zkl_route_resolved(&route, NULL, 0, 1000 * ZKL_SECOND, now);
        CHECK_IS(zkl_route_resolve_due(&route), now + ZKL_SECOND);
    }
    TEST(
        "names are resolved at once after a lost connection, and attempts wait a moment for them") {
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

static void moments(void) {
    TEST("a moment is a tenth of the session timeout, but 0.1 s at least and 1 s at most") {
        CHECK_IS(zkl_route_moment(5 * ZKL_SECOND), ZKL_SECOND / 2);
        CHECK_IS(zkl_route_moment(ZKL_SECOND / 2), ZKL_SECOND / 10);
        CHECK_IS(zkl_route_moment(100 * ZKL_SECOND), ZKL_SECOND);
    }
}

static void order(void) {
    TEST("each server is tried at once, also after each loss") {
        for (int i = 0; i < 20; i++) {
            CHECK_CASE("%d", i);
            three_servers();
            CHECK_IS(reached_at_once(), 1u << 1 | 1u << 2 | 1u << 3);
            CHECK(!is_due());
            lose();
        }
    }
    TEST("the first server is drawn from all addresses") {
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
    TEST("a new address is tried at once, and no other") {
        three_servers();
        reached_at_once();
        resolved(3, (uint64_t[]){1, 4, 3});
        CHECK(is_due());
        CHECK_IS(next(), 4);
        CHECK(!is_due());
    }
}

static void turns_taken(void) {
    TEST("an address that was tried out of turn comes after all others") {
        three_servers();
        uint64_t first = next(), second = next(), third = next();
        zkl_route_tried(&route, first);
        for (int i = 0; i < 3; i++) {
            now = zkl_route_due(&route);
            CHECK_IS(next(), i == 0 ? second : i == 1 ? third : first);
        }
    }
    TEST("an address that is not listed changes nothing when it was tried") {
        one_server();
        zkl_route_tried(&route, 2);
        CHECK_IS(next(), 1);
        CHECK(!is_due());
    }
}

static void pace(void) {
    TEST("attempts at tried servers are a tenth of the session timeout apart, or a little more") {
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

/* --- changing addresses ----------------------------------------------------------------------- */

#define SERVERS 3
#define MOMENT (ZKL_SECOND / 1000)

/* A network with a server for each name. Attempts at old addresses may take long. */
static struct {
    uint64_t chance, addresses;       /* number of addresses so far */
    uint64_t of_name[SERVERS];        /* as the resolver tells them */
    uint64_t of_server[SERVERS];      /* as they are in fact */
    bool silent, hangs;               /* old addresses are `silent`, the resolver `hangs` */
    uint64_t tried;                   /* address of the present attempt; 0: none */
    zkl_time attempt_ends, answer_at; /* ZKL_NEVER: not asked */
} net;

static uint64_t below(uint64_t limit) {
    net.chance ^= net.chance << 13;
    net.chance ^= net.chance >> 7;
    net.chance ^= net.chance << 17;
    return net.chance % limit;
}

static bool is_there(uint64_t address) {
    for (int i = 0; i < SERVERS; i++)
        if (net.of_server[i] == address) return true;
    return false;
}

static void change(void) {
    switch (below(4)) {
    case 0: net.of_server[below(SERVERS)] = ++net.addresses; break;
    case 1:
        for (int i = 0; i < SERVERS; i++) net.of_server[i] = ++net.addresses;
        break;
    case 2: memcpy(net.of_name, net.of_server, sizeof net.of_name); break;
    default: net.hangs = below(2); break;
    }
    net.silent = below(2);
    if (route.state == ZKL_ROUTE_CONNECTED && !is_there(latest)) zkl_route_lost(&route, T, now);
}

static void calm_down(void) {
    memcpy(net.of_name, net.of_server, sizeof net.of_name);
    net.hangs = false;
}

/* Works like the link. Returns the next due time. */
static zkl_time work(void) {
    if (now >= zkl_route_resolve_due(&route) && net.answer_at == ZKL_NEVER)
        net.answer_at = now + MOMENT;
    if (now >= net.answer_at && !net.hangs) {
        resolved(SERVERS, net.of_name);
        net.answer_at = ZKL_NEVER;
    }
    if (net.tried && now >= net.attempt_ends) {
        if (is_there(net.tried)) zkl_route_connected(&route, latest);
        net.tried = 0;
    }
    if (!net.tried && is_due()) {
        net.tried = next();
        net.attempt_ends = now + (net.silent && !is_there(net.tried) ? T / 3 : MOMENT);
    }
    zkl_time due = net.tried ? net.attempt_ends : zkl_route_due(&route);
    due = zkl_earlier(due, net.hangs ? ZKL_NEVER : net.answer_at);
    return net.answer_at == ZKL_NEVER ? zkl_earlier(due, zkl_route_resolve_due(&route)) : due;
}

static void run_until(zkl_time end) {
    for (zkl_time due; (due = work()) < end;)
        if (due > now) now = due;
    now = end;
}

static void moves(void) {
    TEST("a session survives changes of addresses if the network is calm afterwards") {
        for (uint64_t seed = 1; seed <= 2000; seed++) {
            CHECK_CASE("seed %d", (int)seed);
            begin();
            memset(&net, 0, sizeof net);
            net.chance = seed * UINT64_C(0x9e3779b97f4a7c15);
            net.answer_at = ZKL_NEVER;
            for (int i = 0; i < SERVERS; i++) net.of_server[i] = ++net.addresses;
            calm_down();
            run_until(now + T);
            CHECK_IS(route.state, ZKL_ROUTE_CONNECTED);
            for (uint64_t changes = 1 + below(8); changes > 0; changes--) {
                change();
                run_until(now + (zkl_time)below(T));
            }
            calm_down();
            run_until(now + 2 * T / 3);
            CHECK_IS(route.state, ZKL_ROUTE_CONNECTED);
        }
    }
}

int main(void) {
    check_before(begin);
    names();
    moments();
    order();
    turns_taken();
    pace();
    moves();
    TEST("a route may be cleared twice") {
        one_server();
        zkl_route_clear(&route);
    }
    zkl_route_clear(&route);
    return check_report();
}
