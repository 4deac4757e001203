/*
 * choice.c - chooses the server to which a handle goes.
 *
 * libzookeeper leaves a silent server only after two thirds of the session timeout. So servers are
 * asked first, each by a thread. While one is silent the next is asked, too, and libzookeeper goes
 * to the first that answers. If none answers for long, it goes to one unasked, as all may be slow.
 */
#include <stdlib.h>

#include "internal.h"
#include "wire.h"

void zkl_choice_init(struct choice *choice, struct zkl_link *link, struct gate *gate,
                     struct zkl_route *route) {
    *choice = (struct choice){.link = link, .gate = gate, .route = route};
}

/* A session that may hold leases waits longer, because a visit to a silent server loses them. */
static zkl_time patience_of(const struct choice *choice) {
    const struct zkl_link *link = choice->link;
    zkl_time third = zkl_link_timeout(link) / 3;
    return zkl_session_id(link->session) ? 2 * third : third;
}

void zkl_choice_begin(struct choice *choice, zkl_time now) {
    choice->search++;
    choice->answered = false;
    choice->ask_at = now;
    choice->unasked_at = now + patience_of(choice);
}

/* --- questions -------------------------------------------------------------------------------- */

#define LONGEST_QUESTION (5 * ZKL_SECOND)

struct question {
    struct choice *choice;
    uint64_t search;
    size_t index;
    struct sockaddr_storage server;
    zkl_time by;
};

/* With the mutex held. */
static void take_answer(const struct question *question, enum zkl_wire said) {
    struct choice *choice = question->choice;
    if (question->search != choice->search) return;
    if (said == ZKL_WIRE_ANSWERED) {
        choice->answered = true;
        choice->index = question->index;
        choice->server = question->server;
    } else if (said == ZKL_WIRE_SILENT) {
        zkl_complaint_note(&question->server, ZKL_COMPLAINT_SILENT);
    } else {
        zkl_complaint_note(&question->server, ZKL_COMPLAINT_REFUSED);
        choice->ask_at = 0;
    }
    /* ZKL_NEVER: libzookeeper is not expected at the gate. */
    if (choice->gate->look_at != ZKL_NEVER) choice->gate->look_at = zkl_now();
}

static void *run_question(void *argument) {
    struct question *question = argument;
    zkl_client *client = question->choice->link->client;
    enum zkl_wire said = zkl_wire_question(&question->server, question->by);
    zkl_client_enter(client);
    take_answer(question, said);
    zkl_client_wake(client, 0);
    zkl_client_leave(client);
    zkl_client_drop(client);
    free(question);
    return NULL;
}

/* False: for lack of memory or a thread. */
static bool ask_server(struct choice *choice, zkl_time now) {
    struct zkl_link *link = choice->link;
    struct question *question = malloc(sizeof *question);
    if (!question) return false;
    zkl_time longest = zkl_earlier(2 * zkl_link_timeout(link) / 3, LONGEST_QUESTION);
    *question =
        (struct question){choice, choice->search, choice->index, choice->server, now + longest};
    zkl_client_ref(link->client);
    if (zkl_thread_start(run_question, question) == 0) return true;
    zkl_client_drop(link->client);
    free(question);
    return false;
}

/* --- turns ------------------------------------------------------------------------------------ */

zkl_time zkl_choice_due(const struct choice *choice) {
    zkl_time turn = zkl_route_due(choice->route);
    if (choice->answered) return 0;
    return turn > choice->ask_at ? turn : choice->ask_at;
}

static void take_next(struct choice *choice, zkl_time now) {
    const struct zkl_link *link = choice->link;
    zkl_time timeout = zkl_link_timeout(link);
    /*
     * zkl_route_next() pauses a tenth of this timeout, or up to half of that longer. So both
     * handles together make, on average, less than one attempt per tenth of the session timeout.
     */
    if (choice == &link->probe.choice) timeout *= 2;
    else if (link->probe.handle) timeout += timeout / 2;
    choice->index = zkl_route_next(choice->route, timeout, now) % link->servers.count;
    choice->server = link->servers.list[choice->index];
    choice->ask_at = now + zkl_route_moment(zkl_link_timeout(link));
}

const struct sockaddr_storage *zkl_choice_next(struct choice *choice, zkl_time now) {
    if (now < zkl_choice_due(choice)) return NULL;
    if (!choice->answered) {
        bool asks = choice->route->count > 1 && now < choice->unasked_at;
        take_next(choice, now);
        if (asks && ask_server(choice, now)) return NULL;
    }
    choice->answered = false;
    choice->unasked_at = now + patience_of(choice);
    return &choice->server;
}
