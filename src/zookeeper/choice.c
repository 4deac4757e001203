/*
 * choice.c - chooses the server to which a handle goes.
 *
 * libzookeeper leaves a silent server only after two thirds of the session timeout. So servers are
 * asked first, one after the other, each by a thread, and libzookeeper goes to the first that
 * answers. All may be slow, or deaf, such as a proxy that knows only requests. So libzookeeper may
 * go to a silent server unasked. Without a session it does so soon, and the others are asked
 * meanwhile; if one answers, the handle is given up (handle.c). With a session it does so when the
 * leases end, as nothing is lost by that, or just before if the servers may know no words.
 */
#include <stdlib.h>
#include <unistd.h>

#include "internal.h"
#include "wire.h"

/* Time from one question to the next, while each server has its first turn. */
#define STEP (ZKL_SECOND / 4)
#define LONGEST_QUESTION (5 * ZKL_SECOND)
/* An older answer is out of date. */
#define LONGEST_ANSWER ZKL_SECOND

void zkl_choice_init(struct choice *choice, struct zkl_link *link, struct gate *gate,
                     struct zkl_route *route) {
    *choice = (struct choice){.link = link, .gate = gate, .route = route};
}

static zkl_time moment(const struct choice *choice) {
    return zkl_route_moment(zkl_link_timeout(choice->link));
}

static zkl_time step(const struct choice *choice) {
    return zkl_earlier(STEP, moment(choice));
}

/* --- questions -------------------------------------------------------------------------------- */

struct question {
    struct question *next;
    struct choice *choice;
    bool wanted; /* its search goes on */
    int fd;
    struct target target;
    zkl_time by;
};

/* Ends the question soon. */
static void stop_question(struct question *question) {
    question->wanted = false;
    shutdown(question->fd, SHUT_RDWR);
}

static void stop_asking(struct choice *choice) {
    for (struct question *each = choice->questions; each; each = each->next) stop_question(each);
    choice->answered = false;
}

static bool concerns(const struct question *question, const struct target *target) {
    return zkl_hosts_are_same(&question->target.server, &target->server);
}

/* With the mutex held. */
static void take_answer(const struct question *question, enum zkl_wire said) {
    struct choice *choice = question->choice;
    if (!question->wanted) return;
    if (said == ZKL_WIRE_SILENT) {
        zkl_complaint_note(&question->target.server, ZKL_COMPLAINT_SILENT);
        return;
    }
    if (concerns(question, &choice->silent)) choice->has_silent = false;
    if (said == ZKL_WIRE_ANSWERED) {
        if (concerns(question, &choice->target)) choice->unasked = false;
        choice->answered = true;
        choice->deaf = false;
        choice->answered_at = zkl_now();
        choice->answer = question->target;
    } else {
        choice->ask_at = 0;
        zkl_complaint_note(&question->target.server, ZKL_COMPLAINT_REFUSED);
    }
    /* ZKL_NEVER: libzookeeper is not expected at the gate. */
    if (choice->gate->look_at != ZKL_NEVER) choice->gate->look_at = zkl_now();
}

/* With the mutex held. */
static void end_question(struct question *question) {
    struct question **link = &question->choice->questions;
    while (*link != question) link = &(*link)->next;
    *link = question->next;
    if (question->fd >= 0) close(question->fd);
    free(question);
}

static void *run_question(void *argument) {
    struct question *question = argument;
    zkl_client *client = question->choice->link->client;
    enum zkl_wire said = zkl_wire_question(question->fd, question->by);
    zkl_client_enter(client);
    take_answer(question, said);
    end_question(question);
    zkl_client_wake(client, 0);
    zkl_client_leave(client);
    zkl_client_drop(client);
    return NULL;
}

/* False: for lack of memory, a descriptor or a thread. */
static bool start_question(struct choice *choice, const struct target *target, zkl_time now) {
    struct zkl_link *link = choice->link;
    struct question *question = malloc(sizeof *question);
    if (!question) return false;
    zkl_time longest = zkl_earlier(2 * zkl_link_timeout(link) / 3, LONGEST_QUESTION);
    *question = (struct question){.next = choice->questions,
                                  .choice = choice,
                                  .wanted = true,
                                  .fd = zkl_wire_begin(&target->server),
                                  .target = *target,
                                  .by = now + longest};
    choice->questions = question;
    if (question->fd >= 0 && zkl_client_start_thread(link->client, run_question, question) == 0)
        return true;
    end_question(question);
    return false;
}

static bool ask(struct choice *choice, const struct target *target, zkl_time now) {
    if (!start_question(choice, target, now)) return false;
    choice->asked++;
    choice->asked_at = now;
    choice->ask_at = now + step(choice);
    if (choice->has_silent) return true;
    choice->has_silent = true;
    choice->silent = *target;
    choice->silent_since = now;
    return true;
}

/* --- a search --------------------------------------------------------------------------------- */

void zkl_choice_begin(struct choice *choice) {
    stop_asking(choice);
    choice->asked = 0;
    choice->ask_at = 0;
    choice->has_silent = false;
}

static bool is_listed(const struct choice *choice, const struct target *target) {
    const struct servers *servers = &choice->link->servers;
    for (size_t i = 0; i < servers->count; i++) {
        if (zkl_hosts_are_same(&servers->list[i], &target->server)) return true;
    }
    return false;
}

void zkl_choice_renew(struct choice *choice) {
    for (struct question *each = choice->questions; each; each = each->next) {
        if (!is_listed(choice, &each->target)) stop_question(each);
    }
    if (!is_listed(choice, &choice->answer)) choice->answered = false;
    if (!is_listed(choice, &choice->silent)) choice->has_silent = false;
}

void zkl_choice_end(struct choice *choice, bool connected) {
    stop_asking(choice);
    if (!connected) return;
    choice->deaf = choice->unasked;
    choice->talks = choice->asked > 0 && !choice->unasked;
}

/* --- turns ------------------------------------------------------------------------------------ */

/* A session goes when its leases end, or just before, and after that again and again. */
static zkl_time last_resort_due(const struct choice *choice) {
    const struct zkl_link *link = choice->link;
    zkl_time timeout = zkl_link_timeout(link);
    zkl_time last_moment = zkl_session_leases_end(link->session);
    bool has_leases = last_moment > link->unconnected_since;
    if (!has_leases) last_moment = link->unconnected_since + timeout; /* the session's end */
    if (!choice->talks) last_moment -= step(choice);
    bool in_time = choice->silent_since < last_moment;
    return in_time ? last_moment : choice->silent_since + 2 * timeout / 3;
}

/* When libzookeeper goes to the silent server. */
static zkl_time unasked_due(const struct choice *choice) {
    const struct zkl_link *link = choice->link;
    bool has_session = choice == &link->choice && zkl_session_id(link->session);
    bool all_asked = choice->asked >= choice->route->count;
    if (!choice->has_silent) return ZKL_NEVER;
    if (choice->deaf && all_asked) return choice->asked_at + step(choice);
    if (has_session) return last_resort_due(choice);
    return all_asked ? choice->asked_at + moment(choice) : ZKL_NEVER;
}

static zkl_time turn_due(const struct choice *choice) {
    zkl_time turn = zkl_route_due(choice->route);
    return turn > choice->ask_at ? turn : choice->ask_at;
}

zkl_time zkl_choice_due(const struct choice *choice) {
    return choice->answered ? 0 : zkl_earlier(unasked_due(choice), turn_due(choice));
}

/* With a longer timeout, attempts are not further apart. */
#define LONGEST_TIMEOUT (10 * ZKL_SECOND)

static struct target take_turn(struct choice *choice, zkl_time now) {
    const struct zkl_link *link = choice->link;
    zkl_time timeout = zkl_earlier(zkl_link_timeout(link), LONGEST_TIMEOUT);
    /*
     * zkl_route_next() pauses a tenth of this timeout, or up to half of that longer. So both
     * handles together make, on average, less than one attempt in that time.
     */
    if (choice == &link->probe.choice) timeout *= 2;
    else if (link->probe.handle) timeout += timeout / 2;
    size_t index = zkl_route_next(choice->route, timeout, now) % link->servers.count;
    return (struct target){.server = link->servers.list[index], .index = index};
}

static const struct sockaddr_storage *go(struct choice *choice, const struct target *target,
                                         bool unasked) {
    choice->target = *target;
    choice->answered = false;
    choice->unasked = unasked;
    choice->ask_at = 0;
    return &choice->target.server;
}

const struct sockaddr_storage *zkl_choice_next(struct choice *choice, zkl_time now) {
    if (now > choice->answered_at + LONGEST_ANSWER) choice->answered = false;
    if (now < zkl_choice_due(choice)) return NULL;
    if (choice->answered) return go(choice, &choice->answer, false);
    if (now >= unasked_due(choice)) {
        choice->has_silent = false;
        choice->asked = 0;
        zkl_route_tried(choice->route, zkl_names_key(&choice->silent.server));
        return go(choice, &choice->silent, true);
    }
    struct target turn = take_turn(choice, now);
    bool asks = choice->route->count > 1;
    return asks && ask(choice, &turn, now) ? NULL : go(choice, &turn, false);
}

const struct sockaddr_storage *zkl_choice_unasked(struct choice *choice, zkl_time now) {
    struct target turn = take_turn(choice, now);
    return go(choice, &turn, false);
}

/* --- a first visit that may be in vain -------------------------------------------------------- */

static bool may_be_in_vain(const struct choice *choice) {
    const struct zkl_link *link = choice->link;
    return choice->unasked && link->handle && !zkl_session_id(link->session);
}

bool zkl_choice_is_in_vain(const struct choice *choice) {
    return may_be_in_vain(choice) && choice->answered;
}

zkl_time zkl_choice_ask_due(const struct choice *choice) {
    return may_be_in_vain(choice) ? turn_due(choice) : ZKL_NEVER;
}

void zkl_choice_ask(struct choice *choice, zkl_time now) {
    if (now < zkl_choice_ask_due(choice)) return;
    struct target turn = take_turn(choice, now);
    ask(choice, &turn, now);
}
