/* stage.h - script steps for connection, time and server, as in scripts_test.c. */
#ifndef STAGE_H
#define STAGE_H

#include <sys/resource.h>

#include "../../src/session/internal.h"
#include "told.h"

static struct user *who;     /* the step's user, or NULL */
static struct user *subject; /* the user whose lease or member the step is about */

/* --- words ------------------------------------------------------------------------------------ */

/* The number, or time, after the word. */
static inline int64_t named(const char *name, int64_t otherwise) {
    return word_index(name) ? number(word_index(name) + 1, 0) : otherwise;
}

static inline zkl_time time_named(const char *name, zkl_time otherwise) {
    return word_index(name) ? seconds(word_index(name) + 1, 0) : otherwise;
}

static inline zkl_time timeout(void) {
    return time_named("timeout", ZKL_NEVER);
}

static inline enum zkl_kind kind(size_t i) {
    return (enum zkl_kind)one_of(i, zkl_kind_names, ZKL_PERMIT + 1, "there is no such kind");
}

/* --- the session ------------------------------------------------------------------------------ */

static inline void answer_first(void) {
    struct pending first = pending[0];
    memmove(pending, pending + 1, --pending_count * sizeof *pending);
    answer(&first.rpc);
    take_all();
}

static inline void serves(void) {
    while (pending_count) answer_first();
}

/* Ends the test. Later reports are no outcome. */
static inline void close_all(void) {
    size_t length = strlen(script_outcome);
    if (!session) return;
    for (size_t i = 0; i < user_count; i++) drop_all(&users[i]);
    zkl_session_close(session);
    take_all();
    serves();
    zkl_session_closed(session);
    zkl_session_free(session);
    zkl_tree_free(tree);
    session = NULL;
    user_count = pending_count = 0;
    hears_states = is_deaf = is_mute = false;
    memset(tallies, 0, sizeof tallies);
    script_outcome[length] = '\0';
    silent = true;
}

static bool tells_steps; /* whether the session has steps to report */

static inline void open_one(size_t overhead) {
    close_all();
    open_with(overhead);
    tells_steps = session->tells_steps;
    session->tells_steps = false;
    zkl_session_tick(session);
    take_all();
}

static void script_begin(void) {
    open_one(0);
}

/*
 * open [once | nodes <n> | watches <n> | overhead <bytes>]: `once` does not reopen after an expiry,
 * the rest limit the session's room
 */
static inline void opens(void) {
    size_t count = (size_t)number(2, 1);
    open_one(is(1, "nodes")      ? ZKL_PATHS_MAX / (count + 1)
             : is(1, "watches")  ? ZKL_WATCHES_MAX / count - 200
             : is(1, "overhead") ? count
                                 : 0);
    session->after_expiry = is(1, "once") ? ZKL_EXPIRED : ZKL_OK;
}

/* mute sends nothing from now on; send ends that, and sends the requests that wait */
static inline void sends(void) {
    is_mute = is(0, "mute");
}

/* Takes all events, and says their number and the last state. */
static inline void count_events(void) {
    struct zkl_event event;
    size_t states = 0, steps = 0;
    enum zkl_session_state last = ZKL_SESSION_CONNECTING;
    while (zkl_session_next_event(session, &event)) {
        steps += event.kind == ZKL_EVENT_STEP;
        states += event.kind == ZKL_EVENT_STATE;
        if (event.kind == ZKL_EVENT_STATE) last = event.state;
    }
    say("%zu steps, %zu states to %s", steps, states, session_states[last]);
}

/*
 * deaf takes no more events, hear takes all that waited, hear <n> some; hear count says only their
 * number; after hear states or hear steps these are told, too
 */
static inline void hears(void) {
    hears_states |= word_index("states") > 0;
    if (word_index("steps")) session->tells_steps = tells_steps;
    if (is(1, "count")) count_events();
    else if (isdigit((unsigned char)*at(words - 1))) take_events(number(words - 1, 0));
    else is_deaf = is(0, "deaf");
}

/* tick [<s>] lets time pass and ticks; pass <s> has no tick */
static inline void passes(void) {
    zkl_session_at(session, now += seconds(1, 0));
    if (is(0, "tick")) zkl_session_tick(session);
}

/* run [<s>]: answers everything meanwhile */
static inline void runs(void) {
    for (zkl_time until = now + seconds(1, 10 * ZKL_SECOND); now < until;) {
        serves();
        pass(ZKL_SECOND / 4);
        take_all();
    }
    serves();
}

/* come-back [<times>]: ticks when the session is due, as a shell does */
static inline void comes_back(void) {
    zkl_time from = now;
    for (int64_t i = number(1, 1); i > 0; i--) {
        tick_when_due();
        take_all();
    }
    if (now > from) say("after %.12g", in_seconds(now - from));
}

/*
 * resume [<session>]; flap <times>: cut and resume; ready-from [<s>]: `ready` may ask from then
 * on, or not yet
 */
static inline void connects(void) {
    bool flaps = is(0, "flap");
    if (is(0, "expire")) zkl_tree_expire(tree, ours);
    if (is(0, "resume") && words > 1) join_tree((uint64_t)number(1, 0));
    if (is(0, "cut")) zkl_session_suspended(session);
    else if (is(0, "resume")) zkl_session_connected(session, ours, TIMEOUT);
    else if (is(0, "expire")) zkl_session_expired(session);
    else if (is(0, "reopen")) zkl_session_reopening(session);
    else if (is(0, "refuse")) zkl_session_refused(session);
    else if (is(0, "close")) zkl_session_close(session);
    else if (is(0, "closed")) zkl_session_closed(session);
    else if (is(0, "ready-from"))
        zkl_session_ready_from(session, words > 1 ? now + seconds(1, 0) : ZKL_NEVER);
    for (int64_t i = flaps ? number(1, 1) : 0; i > 0; i--) {
        zkl_session_suspended(session);
        zkl_session_connected(session, ours, TIMEOUT);
    }
}

/* stack [<kilobytes>] limits the stack; without a number the limit ends */
static inline void limits_stack(void) {
    static struct rlimit all;
    if (words > 1) getrlimit(RLIMIT_STACK, &all);
    struct rlimit limit = all;
    if (words > 1) limit.rlim_cur = (rlim_t)number(1, 0) * 1024;
    setrlimit(RLIMIT_STACK, &limit);
}

/* --- the server ------------------------------------------------------------------------------- */

static inline void answers(void) {
    if (pending_count) answer_first();
}

/* Answers until a request begins with these words, and says only that request. */
static inline bool reaches(void) {
    char wanted[SCRIPT_LINE] = "";
    for (size_t i = 1; i < words; i++)
        sprintf(wanted + strlen(wanted), "%s%s", i > 1 ? " " : "", word[i]);
    while (pending_count && strncmp(text_of(&pending[0].rpc), wanted, strlen(wanted)) != 0)
        answer_first();
    for (size_t i = 0; i < pending_count; i++) pending[i].fresh = i == 0;
    return pending_count > 0;
}

/* until <request> takes no time, await <request> does */
static inline void awaits(void) {
    zkl_time from = now;
    bool found = reaches();
    for (int i = 0; i < ROUNDS && !found && is(0, "await"); i++) {
        tick_when_due();
        take_all();
        found = reaches();
    }
    if (!found) say("never");
    if (now > from) say("after %.12g", in_seconds(now - from));
}

/* v<version>; czxid, mzxid, aversion, owner, ctime <number> */
static inline struct zkl_stat stat_of(void) {
    int32_t of_data = 0;
    for (size_t i = 1; i < words; i++)
        if (*word[i] == 'v' && isdigit((unsigned char)word[i][1])) of_data = atoi(word[i] + 1);
    return (struct zkl_stat){.czxid = named("czxid", 5),
                             .mzxid = named("mzxid", 6 + of_data),
                             .version = of_data,
                             .aversion = (int32_t)named("aversion", 0),
                             .owner = (uint64_t)named("owner", ID),
                             .ctime = named("ctime", 0)};
}

static inline void reply_with(const struct zkl_answer *given) {
    uint64_t id = pending[0].rpc.id;
    memmove(pending, pending + 1, --pending_count * sizeof *pending);
    zkl_session_answer(session, id, given);
}

/*
 * done [<stat>], without data; got <data> [<stat>], "" for empty data, - for none; there [<stat>];
 * listed [<name>...]
 */
static inline void replies(void) {
    static const char *const verbs[] = {"done", "done",  "listed", "done",
                                        "got",  "there", "done",   "done"};
    struct zkl_result results[OPS];
    const char *names[SCRIPT_WORDS], *data = is(1, "\"\"") ? "" : at(1);
    const struct zkl_rpc *rpc = &pending[0].rpc;
    const struct zkl_stat stat = stat_of();
    if (!pending_count || !(is(0, "done") || is(0, verbs[rpc->kind])))
        wrong = "it asks for something else";
    if (wrong) return;
    for (size_t i = 0; i < rpc->count; i++) results[i] = (struct zkl_result){.stat = stat};
    for (size_t i = 1; i < words; i++) names[i - 1] = full_of(word[i]);
    bool reads = is(0, "got") && !is(1, "-"), lists = is(0, "listed");
    reply_with(&(struct zkl_answer){.stat = is(0, "done") ? NULL : &stat,
                                    .results = rpc->count ? results : NULL,
                                    .data = reads ? data : NULL,
                                    .size = reads ? (int)strlen(data) : -1,
                                    .names = names,
                                    .count = lists ? (int)words - 1 : 0});
}

static const struct {
    const char *name;
    int error;
} errors[] = {
    {"lost", ZKL_ERROR_CONNECTION_LOSS},
    {"timed-out", ZKL_ERROR_OPERATION_TIMEOUT},
    {"unimplemented", ZKL_ERROR_UNIMPLEMENTED},
    {"no-node", ZKL_ERROR_NO_NODE},
    {"no-auth", ZKL_ERROR_NO_AUTH},
    {"bad-version", ZKL_ERROR_BAD_VERSION},
    {"exists", ZKL_ERROR_NODE_EXISTS},
    {"auth-failed", ZKL_ERROR_AUTH_FAILED},
    {"no-watcher", ZKL_ERROR_NO_WATCHER},
    {"throttled", ZKL_ERROR_THROTTLED},
};

/* The error that the step names; 0: none. */
static inline int error_of_step(void) {
    for (size_t i = 0; i < COUNT(errors); i++)
        if (is(0, errors[i].name)) return errors[i].error;
    return is(0, "error") ? (int)number(1, 0) : 0;
}

/* <error> [at <number>]: `at` is the refused write of a transaction; error <number> */
static inline void fails(int error) {
    size_t refused = is(1, "at") ? (size_t)number(2, 1) : 0;
    if (!pending_count) wrong = "nothing is asked";
    if (wrong) return;
    size_t count = refused ? pending[0].rpc.count : 0;
    struct zkl_result *results = calloc(count + !count, sizeof *results); /* no more than counted */
    for (size_t i = 0; i < count; i++) results[i].error = i + 1 == refused ? error : ZKL_UNANSWERED;
    reply_with(&(struct zkl_answer){.error = error, .results = refused ? results : NULL});
    free(results);
}

/* stray answers no request; unsent, unknown [<number>]: about that pending request, or none */
static inline void fails_to_send(void) {
    size_t i = (size_t)number(1, 1) - 1;
    uint64_t id = i < pending_count && !is(0, "stray") ? pending[i].rpc.id : 999;
    if (id != 999) memmove(&pending[i], &pending[i + 1], (--pending_count - i) * sizeof *pending);
    if (is(0, "unsent")) zkl_session_unsent(session, id);
    else if (is(0, "unknown")) zkl_session_unimplemented(session, id);
    else zkl_session_answer(session, id, &(struct zkl_answer){.error = 0});
}

/* words <error> [<from>]: forty-eight letters of the error's explanation */
static inline void explains(void) {
    const char *text = zkl_error_words((int)number(1, 0));
    say("%.48s", text + number(2, 0));
}

/*
 * stranger <node>... makes nodes of others; ahead <node>... also raises the counter; late <node>...
 * makes nodes of this session, whose creates had no answers
 */
static inline void nodes_come(void) {
    for (size_t i = 1; i < words; i++) {
        int32_t next = atoi(word[i] + stem_of(word[i])) + 1;
        make_node(is(0, "late") ? ours : others, full_of(word[i]));
        if (is(0, "ahead")) zkl_tree_set_counter(tree, folder_of(word[i]), next);
    }
}

/* write <node> [<data>]; gone <node> deletes it */
static inline void others_write(void) {
    struct zkl_op op = {.kind = ZKL_OP_DELETE, .version = -1, .path = full_of(at(1))};
    if (is(0, "write")) op.kind = ZKL_OP_SET, op.data = at(2), op.size = strlen(at(2));
    if (write_by(others, &op) != ZKL_ERROR_NONE) wrong = "there is no such node";
}

/* nodes <folder>: says the folder's nodes at the server */
static inline void names_nodes(void) {
    const char *const *names;
    int count = children_of(at(1), &names);
    for (int i = 0; i < count; i++) say("%s", short_of(names[i]));
    if (count <= 0) say("no nodes");
}

/* created, deleted, changed, children <node>: an event */
static inline void happens(void) {
    static const char *const events[] = {"created", "deleted", "changed", "children"};
    int event = find(at(0), events, COUNT(events));
    zkl_session_event(session, (enum zkl_node_event)event, full_of(at(1)));
}

/* counter <folder> <number>: sets the number of the next node */
static inline void sets_counter(void) {
    zkl_tree_set_counter(tree, at(1), (int32_t)number(2, 0));
}

#endif
