/*
 * choice_test.c - the choice of a server, in simulated time, among servers that serve, refuse and
 * fall silent at random. libzookeeper's part is a visit to a server, which it leaves after two
 * thirds of the session timeout, or at once if it is refused.
 */
#define _DEFAULT_SOURCE /* for internal.h's NI_MAXHOST */
#include <limits.h>

#include "../../src/zookeeper/choice.c"
#include "check.h"

#define START (100 * ZKL_SECOND)
#define ROUND_TRIP (ZKL_SECOND / 500)
#define TICK (ZKL_SECOND / 100)

enum { MOST_SERVERS = 3, PHASES = 3, MOST_QUESTIONS = 256 };

enum state { SERVES, REFUSES, SILENT, STATES };

static struct server {
    enum state states[PHASES];
    zkl_time until[PHASES]; /* each state, ascending */
} servers[MOST_SERVERS];

static struct {
    void *(*run)(void *);
    void *argument;
    zkl_time due;
    enum zkl_wire said;
} asked[MOST_QUESTIONS];

static size_t asked_count;
static enum zkl_wire said_now; /* to the question that ends */

static struct zkl_link own_link;
static struct sockaddr_storage addresses[MOST_SERVERS];
static zkl_time now, timeout;
static bool has_session;

/* --- servers ---------------------------------------------------------------------------------- */

struct answer {
    zkl_time at;
    enum zkl_wire said; /* SILENT: never anything */
};

static struct answer answer_of(const struct server *server) {
    zkl_time begin = now;
    for (int i = 0; i < PHASES; i++) {
        enum state state = server->states[i];
        enum zkl_wire said = state == SERVES ? ZKL_WIRE_ANSWERED : ZKL_WIRE_CLOSED;
        if (server->until[i] > now && state != SILENT)
            return (struct answer){begin + ROUND_TRIP, said};
        if (server->until[i] > begin) begin = server->until[i];
    }
    return (struct answer){ZKL_NEVER, ZKL_WIRE_SILENT};
}

/* When the server begins to serve for good; ZKL_NEVER: it does not. */
static zkl_time serves_from(const struct server *server) {
    zkl_time from = ZKL_NEVER;
    for (int i = PHASES - 1; i >= 0 && server->states[i] == SERVES; i--)
        from = i > 0 ? server->until[i - 1] : START;
    return from;
}

/* --- all that choice.c calls ------------------------------------------------------------------ */

zkl_time zkl_now(void) {
    return now;
}

zkl_time zkl_session_timeout(const zkl_session *session) {
    (void)session;
    return has_session ? timeout : 0;
}

uint64_t zkl_session_id(const zkl_session *session) {
    (void)session;
    return has_session;
}

zkl_time zkl_session_leases_end(const zkl_session *session) {
    (void)session;
    return START + timeout;
}

zkl_session *zkl_client_enter(zkl_client *client) {
    (void)client;
    return NULL;
}

void zkl_client_leave(zkl_client *client) {
    (void)client;
}

void zkl_client_drop(zkl_client *client) {
    (void)client;
}

void zkl_client_wake(zkl_client *client, zkl_time due) {
    (void)client;
    (void)due;
}

void zkl_complaint_note(const struct sockaddr_storage *server, enum zkl_complaint complaint) {
    (void)server;
    (void)complaint;
}

bool zkl_hosts_are_same(const struct sockaddr_storage *a, const struct sockaddr_storage *b) {
    return memcmp(a, b, sizeof *a) == 0;
}

uint64_t zkl_names_key(const struct sockaddr_storage *address) {
    return ((const struct sockaddr_in *)address)->sin_port;
}

/* No descriptor, so shutdown() and close() do nothing. */
int zkl_wire_begin(const struct sockaddr_storage *server) {
    (void)server;
    return INT_MAX;
}

enum zkl_wire zkl_wire_question(int fd, zkl_time by) {
    (void)fd;
    (void)by;
    return said_now;
}

/* The thread runs when its question ends. */
int zkl_client_start_thread(zkl_client *client, void *(*run)(void *), void *argument) {
    (void)client;
    const struct question *question = argument;
    struct answer answer = answer_of(&servers[question->target.index]);
    bool in_time = answer.at <= question->by;
    asked[asked_count].run = run;
    asked[asked_count].argument = argument;
    asked[asked_count].due = in_time ? answer.at : question->by;
    asked[asked_count++].said = in_time ? answer.said : ZKL_WIRE_SILENT;
    return 0;
}

static void end_questions(bool all) {
    for (size_t i = 0; i < asked_count; i++) {
        if (!asked[i].run || (!all && asked[i].due > now)) continue;
        said_now = asked[i].said;
        asked[i].run(asked[i].argument);
        asked[i].run = NULL;
    }
}

/* --- a search --------------------------------------------------------------------------------- */

static void begin_search(size_t count, uint64_t seed) {
    uint64_t keys[MOST_SERVERS];
    now = START;
    asked_count = 0;
    own_link = (struct zkl_link){.timeout_wanted = timeout, .unconnected_since = START};
    own_link.servers = (struct servers){.list = addresses, .count = count};
    for (size_t i = 0; i < count; i++) {
        struct sockaddr_in own = {.sin_family = AF_INET, .sin_port = (in_port_t)(i + 1)};
        memcpy(&addresses[i], &own, sizeof own);
        keys[i] = zkl_names_key(&addresses[i]);
    }
    zkl_choice_init(&own_link.choice, &own_link, &own_link.gate, &own_link.route);
    own_link.choice.talks = has_session;
    own_link.gate.look_at = now;
    zkl_route_init(&own_link.route, seed, now);
    zkl_route_resolved(&own_link.route, keys, count, timeout, now);
}

/* Where libzookeeper is. */
struct visit {
    bool at_gate;
    zkl_time ends;
    bool connects; /* then */
};

/* A server that falls silent between its answer and the visit is left out (not-prevented.md). */
static struct visit visit_to(size_t index) {
    struct answer answer = own_link.choice.unasked ? answer_of(&servers[index])
                                                   : (struct answer){now, ZKL_WIRE_ANSWERED};
    zkl_time leaves = now + 2 * timeout / 3;
    bool in_time = answer.at <= leaves;
    return (struct visit){.ends = in_time ? answer.at : leaves,
                          .connects = in_time && answer.said == ZKL_WIRE_ANSWERED};
}

static void leave_gate(struct visit *visit) {
    while (visit->at_gate && zkl_choice_due(&own_link.choice) <= now) {
        if (zkl_choice_next(&own_link.choice, now)) *visit = visit_to(own_link.choice.target.index);
    }
}

/* As a first handle that is in vain is replaced. */
static void ask_meanwhile(struct visit *visit) {
    zkl_choice_ask(&own_link.choice, now);
    if (zkl_choice_is_in_vain(&own_link.choice)) visit->at_gate = true;
}

/* The time of the connection; ZKL_NEVER: none by then. */
static zkl_time connected_by(zkl_time by, size_t count, uint64_t seed) {
    struct visit visit = {.at_gate = true};
    begin_search(count, seed);
    bool connected = false;
    for (; now < by && !connected; now += TICK) {
        end_questions(false);
        if (!visit.at_gate && visit.ends <= now) {
            connected = visit.connects;
            visit.at_gate = true;
            if (connected) break;
        }
        leave_gate(&visit);
        own_link.handle = visit.at_gate ? NULL : (void *)&own_link;
        if (!visit.at_gate) ask_meanwhile(&visit);
    }
    zkl_choice_end(&own_link.choice, connected);
    end_questions(true);
    zkl_route_clear(&own_link.route);
    return connected ? now : ZKL_NEVER;
}

/* --- tests ------------------------------------------------------------------------------------ */

static uint64_t random_state;

static uint64_t below(uint64_t limit) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (random_state >> 16) % limit;
}

static void draw_servers(size_t count, zkl_time within) {
    for (size_t i = 0; i < count; i++) {
        zkl_time at = START;
        for (int k = 0; k < PHASES; k++) {
            at += (zkl_time)below((uint64_t)within / 2);
            servers[i].states[k] = (enum state)below(STATES);
            servers[i].until[k] = k == PHASES - 1 ? ZKL_NEVER : at;
        }
    }
}

/* The earliest time from which a server serves for good. */
static zkl_time served_from(size_t count) {
    zkl_time from = ZKL_NEVER;
    for (size_t i = 0; i < count; i++) from = zkl_earlier(from, serves_from(&servers[i]));
    return from;
}

/* The longest time that a server served before `by` in vain. */
static zkl_time longest_missed(size_t count, zkl_time by, uint64_t seeds) {
    zkl_time longest = 0;
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        random_state = seed;
        draw_servers(count, by - START);
        zkl_time served = by - served_from(count);
        if (served > longest && connected_by(by, count, seed) == ZKL_NEVER) longest = served;
    }
    return longest;
}

/* Between two questions there is a tenth of the timeout, a second at most, or half of it longer. */
static void check_reached(zkl_time within) {
    zkl_time longest = 0;
    static const zkl_time timeouts[] = {2 * ZKL_SECOND, 10 * ZKL_SECOND, 30 * ZKL_SECOND};
    EACH(timeouts, i) {
        timeout = timeouts[i];
        zkl_time pause = 3 * zkl_earlier(timeout / 10, ZKL_SECOND) / 2;
        for (size_t count = 2; count <= MOST_SERVERS; count++) {
            zkl_time by = START + (within ? within : timeout);
            zkl_time missed = longest_missed(count, by, 5000);
            CHECK_CASE("%zu servers, timeout %d s", count, (int)(timeout / ZKL_SECOND));
            CHECK(missed <= (zkl_time)count * pause);
            longest = missed > longest ? missed : longest;
        }
    }
    CHECK(longest > 0); /* so there are hard schedules */
}

int main(void) {
    TEST("a session reaches a server that serves for a pause per server before the leases end") {
        has_session = true;
        check_reached(0);
    }
    TEST("a first connection reaches a server that serves for a pause per server in five seconds") {
        has_session = false;
        check_reached(5 * ZKL_SECOND);
    }
    return check_report();
}
