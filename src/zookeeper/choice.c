/*
 * choice.c - chooses the server to which a handle goes.
 *
 * libzookeeper leaves a silent server only after two thirds of the session timeout. So the first
 * time that a server is chosen after a lost connection, a thread asks it before libzookeeper goes
 * there, and a silent server is skipped. Later libzookeeper goes there at once, because the server
 * may only be slow.
 */
#include "internal.h"
#include "wire.h"

void zkl_choice_init(struct choice *choice, struct zkl_link *link, struct gate *gate,
                     struct zkl_route *route) {
    *choice = (struct choice){.link = link, .gate = gate, .route = route};
}

const struct sockaddr_storage *zkl_choice_take(struct choice *choice) {
    const struct zkl_link *link = choice->link;
    zkl_time timeout = zkl_link_timeout(link);
    /*
     * zkl_route_next() pauses a tenth of this timeout, or up to half of that longer. So both
     * handles together make, on average, less than one attempt per tenth of the session timeout.
     */
    if (choice == &link->probe.choice) timeout *= 2;
    else if (link->probe.handle) timeout += timeout / 2;
    size_t index = zkl_route_next(choice->route, timeout, zkl_now());
    choice->server = link->servers.list[index % link->servers.count];
    choice->hosts = link->hosts;
    return &choice->server;
}

/* --- the question --------------------------------------------------------------------------- */

/* A single server would have to be awaited anyway. */
static bool wants_to_ask(const struct zkl_route *route) {
    return route->count > 1 && !zkl_route_all_tried(route);
}

static void *run_question(void *argument) {
    struct choice *choice = argument;
    zkl_client *client = choice->link->client;
    zkl_client_enter(client);
    uint64_t attempt = choice->route->attempt_number;
    struct sockaddr_storage server = choice->server;
    zkl_time patience = zkl_route_moment(zkl_link_timeout(choice->link));
    zkl_client_leave(client);
    bool answers = zkl_wire_answers(&server, zkl_now() + patience);
    zkl_client_enter(client);
    if (answers) choice->answered_attempt = attempt;
    choice->asking = false;
    /* ZKL_NEVER: libzookeeper has left the gate. */
    if (choice->gate->look_at != ZKL_NEVER) choice->gate->look_at = zkl_now();
    zkl_client_wake(client, 0);
    zkl_client_leave(client);
    zkl_client_drop(client);
    return NULL;
}

static bool start_question(struct choice *choice) {
    zkl_client_ref(choice->link->client);
    choice->asking = zkl_thread_start(run_question, choice) == 0;
    if (!choice->asking) zkl_client_drop(choice->link->client);
    return choice->asking;
}

static bool has_answered(const struct choice *choice) {
    return choice->answered_attempt == choice->route->attempt_number &&
           choice->hosts == choice->link->hosts;
}

zkl_time zkl_choice_due(const struct choice *choice) {
    if (choice->asking) return ZKL_NEVER;
    return has_answered(choice) ? 0 : zkl_route_due(choice->route);
}

const struct sockaddr_storage *zkl_choice_next(struct choice *choice, zkl_time now) {
    if (now < zkl_choice_due(choice)) return NULL;
    bool answered = has_answered(choice), asks = wants_to_ask(choice->route);
    choice->answered_attempt = 0;
    if (answered) return &choice->server;
    const struct sockaddr_storage *server = zkl_choice_take(choice);
    return asks && start_question(choice) ? NULL : server;
}
