/*
 * told.h - the words of an outcome in scripts_test.c, which are answers and news for users, and
 * requests to the server.
 */
#ifndef TOLD_H
#define TOLD_H

#include <ctype.h>

#include "../core/script.h"
#include "server.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* --- names of nodes --------------------------------------------------------------------------- */

enum { DIGITS = 10, NAMES = 8 };

/* Index of the last digits. */
static inline size_t stem_of(const char *name) {
    size_t stem = strlen(name);
    while (stem > 0 && isdigit((unsigned char)name[stem - 1])) stem--;
    return stem;
}

/* Shortens "…/_c_<uuid>-__READ__0000000007" to "…/@r7". */
static inline const char *short_of(const char *path) {
    static const char *const kinds[] = {"", "r", "w", "", "p"};
    static char texts[NAMES][2 * NODE_SIZE];
    static size_t next;
    char *text = texts[next++ % NAMES], whole[2 * NODE_SIZE];
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    struct zkl_name parsed = {.session = 0};
    size_t stem = stem_of(name);
    bool numbered = strlen(name + stem) == DIGITS;
    snprintf(whole, sizeof whole, "%s%s", name, numbered ? "" : "0000000000");
    zkl_name_parse(whole, &parsed);
    const char *whose = parsed.session == zkl_session_id(session) ? "@" : "other-";
    int length = snprintf(text, sizeof texts[0], "%.*s", (int)(name - path), path);
    if (parsed.session) length += sprintf(text + length, "%s%s", whose, kinds[parsed.kind]);
    else length += sprintf(text + length, "%.*s", numbered ? (int)stem : NODE_SIZE, name);
    if (numbered) sprintf(text + length, "%d", atoi(name + stem));
    return text;
}

/* The server's path with this short form, else the text with a padded number. */
static inline const char *full_of(const char *text) {
    static char names[SCRIPT_WORDS][2 * NODE_SIZE];
    static size_t next;
    char *name = names[next++ % SCRIPT_WORDS];
    const char *slash = strrchr(text, '/'), *const *children = NULL;
    int folder = slash ? (int)(slash - text) : 0;
    snprintf(name, sizeof names[0], "%.*s", folder, text);
    for (int i = folder ? children_of(name, &children) : 0; i-- > 0;) {
        snprintf(name + folder, sizeof names[0] - (size_t)folder, "/%s", children[i]);
        if (strcmp(short_of(name), text) == 0) return name;
    }
    size_t stem = stem_of(text);
    bool numbered = stem > 0 && text[stem] && strchr("-_", text[stem - 1]);
    if (!numbered) return text;
    snprintf(name, sizeof names[0], "%.*s%010d", (int)stem, text, atoi(text + stem));
    return name;
}

/* --- users ------------------------------------------------------------------------------------ */

enum { USERS = 5100 };

static struct user {
    char name[24];
    bool numbered;
    bool is_told; /* knows that its request is done */
    bool shows_queue;
    zkl_request *request;
    zkl_lease *lease;
    zkl_member *member;
    zkl_watcher *watcher;
    zkl_roster *roster;
} users[USERS];
static size_t user_count;

static inline struct user *user_of(const char *name) {
    for (size_t i = 0; i < user_count; i++)
        if (strcmp(users[i].name, name) == 0) return &users[i];
    return NULL;
}

static inline struct user *add_user(const char *name) {
    struct user *known = user_of(name), *user = &users[user_count];
    if (known || user_count == USERS) return known;
    memset(user, 0, sizeof *user);
    snprintf(user->name, sizeof user->name, "%.23s", name);
    user_count++;
    return user;
}

static inline void drop_all(struct user *user) {
    if (user->request) zkl_request_drop(user->request);
    if (user->lease) zkl_lease_drop(user->lease);
    if (user->member) zkl_member_drop(user->member);
    if (user->watcher) zkl_watcher_drop(user->watcher);
    if (user->roster) zkl_roster_drop(user->roster);
    user->request = NULL, user->lease = NULL, user->member = NULL;
    user->watcher = NULL, user->roster = NULL;
}

/* --- saying ----------------------------------------------------------------------------------- */

static bool silent; /* the step has said nothing yet */

__attribute__((format(printf, 1, 2))) static inline void say(const char *format, ...) {
    char text[SCRIPT_LINE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (silent) script_separate();
    else script_say(", ");
    silent = false;
    script_say("%s", text);
}

/* Counts equal reports to numbered users. */
static struct tally {
    char text[80];
    unsigned count;
} tallies[8];

static inline void tell(const struct user *user, const char *text) {
    char line[sizeof tallies->text];
    size_t stem = stem_of(user->name), i = 0;
    snprintf(line, sizeof line, "%.*s: %s", (int)(user->numbered ? stem : NODE_SIZE), user->name,
             text);
    if (!user->numbered) say("%s", line);
    if (!user->numbered) return;
    while (i < COUNT(tallies) - 1 && tallies[i].count && strcmp(tallies[i].text, line) != 0) i++;
    strcpy(tallies[i].text, line);
    tallies[i].count++;
}

static inline void say_tallies(void) {
    for (size_t i = 0; i < COUNT(tallies); i++)
        if (tallies[i].count) say("%s %u", tallies[i].text, tallies[i].count);
    memset(tallies, 0, sizeof tallies);
}

/* Unprintable bytes become `~`. */
static inline void say_bytes(const char *data, size_t size) {
    if (size == 0) script_say("\"\"");
    for (size_t i = 0; i < size; i++)
        script_say("%c", isprint((unsigned char)data[i]) ? data[i] : '~');
}

static inline double in_seconds(zkl_time time) {
    return (double)time / (double)ZKL_SECOND;
}

/* --- requests to the server ------------------------------------------------------------------- */

static struct pending {
    struct zkl_rpc rpc;
    bool fresh; /* added by this line */
} pending[USERS];
static size_t pending_count;

static const char *const op_verbs[] = {"set", "create", "delete", "check"};

/* A write that differs from the last only in the node's name shows only the name. */
static inline void write_op(char *text, const struct zkl_op *op, const struct zkl_op *before) {
    static const char *const modes[] = {"plain", "create", "create", "folder"};
    const char *data = op->data ? op->data : "", *path = short_of(op->path);
    bool creates = op->kind == ZKL_OP_CREATE, sets = op->kind == ZKL_OP_SET;
    bool signals = sets && op->size > 0 && strncmp(data, ZKL_SIGNAL_DATA, op->size) == 0;
    bool known = signals || (creates && strncmp(data, "here:1", op->size) == 0);
    size_t folder = (size_t)(strrchr(op->path, '/') - op->path) + 1;
    bool same = before && before->kind == op->kind && strncmp(before->path, op->path, folder) == 0;
    const char *verb = creates ? modes[op->mode] : signals ? "signal" : op_verbs[op->kind];
    if (same) sprintf(text, "%s", path + folder);
    else sprintf(text, "%s %s", verb, path);
    if (!creates && op->version != -1) sprintf(text + strlen(text), " v%" PRId32, op->version);
    if (!known && op->size) sprintf(text + strlen(text), " %.*s", (int)op->size, data);
    for (char *each = text; *each; each++)
        if (!isprint((unsigned char)*each)) *each = '~';
}

static inline const char *text_of(const struct zkl_rpc *rpc) {
    static const char *const verbs[] = {"",    "",       "list",    "sync",
                                        "get", "exists", "unwatch", "unlist"};
    static char text[4 * SCRIPT_LINE];
    text[0] = '\0';
    if (!rpc->ops)
        sprintf(text, "%s%s %s", verbs[rpc->kind], rpc->watch ? "*" : "", short_of(rpc->path));
    if (rpc->ops && strcmp(rpc->path, rpc->ops->path) != 0) strcat(text, "elsewhere: ");
    for (size_t i = 0; i < rpc->count; i++) {
        if (i > 0) strcat(text, " + ");
        write_op(text + strlen(text), &rpc->ops[i], i ? &rpc->ops[i - 1] : NULL);
    }
    return text;
}

static inline bool take_requests(void) {
    size_t before = pending_count;
    const struct zkl_rpc *rpc;
    while ((rpc = zkl_session_next_rpc(session)))
        pending[pending_count++] = (struct pending){.rpc = *rpc, .fresh = true};
    return pending_count > before;
}

/* Requests are said with a line's last step. */
static size_t before_requests; /* length of the line before the requests */

static inline void say_requests(void) {
    before_requests = strlen(script_outcome);
    for (size_t i = 0; i < pending_count; i++)
        if (pending[i].fresh) say("%s", text_of(&pending[i].rpc));
}

static inline void unsay_requests(void) {
    for (size_t i = 0; i < pending_count && !*script_outcome; i++) pending[i].fresh = false;
    if (*script_outcome) script_outcome[before_requests] = '\0';
}

/* --- ends of requests ------------------------------------------------------------------------- */

static bool hears_states, is_deaf, is_mute;

static inline void say_conflict(struct zkl_conflict conflict) {
    static const char *const uses[] = {"",       "fifo",       "counting", "turns",
                                       "unfair", "read-write", "semaphore"};
    if (conflict.use == ZKL_USE_UNKNOWN) return;
    script_say(" %s", uses[conflict.use]);
    if (conflict.limit) script_say(" of %" PRId32, conflict.limit);
    if (conflict.ours) script_say(" ours");
    if (conflict.part) script_say(" in %zu", conflict.part);
}

static inline void say_queue(const zkl_request *request, bool lists) {
    size_t length;
    const struct zkl_queued *queue = zkl_request_queue(request, &length);
    if (!queue && length) script_say(" no queue of %zu", length);
    if (!lists) return;
    for (size_t i = 0; i < length; i++) {
        const struct zkl_queued *one = &queue[i];
        script_say("%s%s %s%s%s%s", i ? " | " : " ", short_of(one->name), zkl_kind_names[one->kind],
                   one->whose != ZKL_ANOTHERS ? " ours" : "",
                   one->whose == ZKL_OURS_KEPT ? " kept" : "", one->reuse ? " counts" : "");
        if (one->token) script_say(" %" PRId64, one->token);
    }
}

/* Says a request's results beside its code, with 36 letters of the server's reason. */
static inline void say_details(const struct user *user) {
    const zkl_request *request = user->request;
    size_t size;
    int32_t of_data;
    const char *data = zkl_request_data(request, &size, &of_data);
    const char *detail = zkl_request_detail(request);
    say_conflict(zkl_request_conflict(request));
    if (zkl_request_refused_op(request)) script_say(" at %zu", zkl_request_refused_op(request));
    for (size_t i = 1; i <= OPS && zkl_request_code(request) == ZKL_OK; i++) {
        int32_t of_op = zkl_request_version(request, i);
        if (of_op) script_say(" v%" PRId32 " by %zu", of_op, i);
    }
    if (zkl_request_signal_count(request))
        script_say(" woke %zu", zkl_request_signal_count(request));
    if (zkl_request_stops(request)) script_say(" stops %" PRIu64, zkl_request_stops(request));
    say_queue(request, user->shows_queue);
    if (!data && size) script_say(" no data of %zu", size);
    if (data) script_say(" ");
    if (data) say_bytes(data, size);
    if (of_data) script_say(" v%" PRId32, of_data);
    if (detail) script_say(" \"%.36s\"", detail);
}

static inline void end(struct user *user) {
    zkl_request *request = user->request;
    enum zkl_code how = zkl_request_code(request);
    char text[40];
    zkl_lease *lease = zkl_request_lease(request);
    zkl_member *member = how == ZKL_OK ? zkl_request_member(request) : NULL;
    snprintf(text, sizeof text, "%s", lease ? "granted" : zkl_code_name(how));
    if (lease && !user->numbered)
        snprintf(text, sizeof text, "granted %" PRId64, zkl_lease_token(lease));
    tell(user, text);
    if (!user->numbered) say_details(user);
    if (zkl_request_lease(request)) script_say(" twice");
    user->request = NULL;
    if (lease) user->lease = lease;
    if (member) user->member = member;
    zkl_request_drop(request);
}

static inline bool take_ends(void) {
    bool any = false;
    for (size_t i = 0; i < user_count; i++) {
        if (!users[i].request || !users[i].is_told) continue;
        end(&users[i]);
        any = true;
    }
    return any;
}

/* --- news ------------------------------------------------------------------------------------- */

static const char *const session_states[] = {"connecting", "connected", "suspended", "expired",
                                             "closed"};

static inline void say_member(const struct user *user) {
    static const char *const states[] = {"joining", "joined", "leaving", "ended"};
    enum zkl_code why;
    const char *detail;
    enum zkl_member_state state = zkl_member_state(user->member, &why, &detail);
    say("%s is %s", user->name, states[state]);
    if (why != ZKL_OK) script_say(" %s", zkl_code_name(why));
}

/* Names all handles on the grant. */
static inline void hear_lease(const struct zkl_event *event) {
    static const char *const phases[] = {"held", "suspect", "lost"};
    const char *gap = "";
    bool revoked = false;
    take_ends();
    say("%s", "");
    for (size_t i = 0; i < user_count; i++) {
        if (!users[i].lease || zkl_lease_id(users[i].lease) != event->id) continue;
        revoked |= zkl_lease_revoked(users[i].lease);
        script_say("%s%s", gap, users[i].name);
        gap = "+";
    }
    script_say(" is %s%s", phases[event->phase], revoked ? " revoked" : "");
}

static inline void hear_step(const struct zkl_step *step) {
    static const char *const kinds[] = {"queued",      "granted",   "suspect", "held",
                                        "lost",        "released",  "revoked", "expired",
                                        "reconnected", "no folders"};
    say("step %s", kinds[step->kind]);
    if (step->path) script_say(" %s %s", step->path, step->owner);
    if (step->token) script_say(" %" PRId64, step->token);
    if (step->took) script_say(" took %g", in_seconds(step->took));
    if (step->position) script_say(" at %zu", step->position);
}

static inline void hear_request(const struct zkl_event *event) {
    char text[40];
    bool any = false;
    for (size_t i = 0; i < user_count; i++) {
        struct user *user = &users[i];
        if (!user->request || zkl_request_id(user->request) != event->id) continue;
        any = true;
        if (event->kind == ZKL_EVENT_REQUEST) user->is_told = true;
        if (event->kind == ZKL_EVENT_REQUEST) return;
        snprintf(text, sizeof text, "queued %zu", event->position);
        tell(user, user->numbered ? "queued" : text);
    }
    if (!any) say("a request of nobody's");
}

static inline void hear_news(const struct zkl_event *event) {
    bool any = false;
    for (size_t i = 0; i < user_count; i++) {
        const struct user *each = &users[i];
        bool watches = each->watcher && zkl_watcher_id(each->watcher) == event->id;
        bool follows = each->roster && zkl_roster_id(each->roster) == event->id;
        bool joins = each->member && zkl_member_id(each->member) == event->id;
        if (watches || follows) say("%s: news", each->name);
        if (joins) say_member(each);
        any |= watches || follows || joins;
    }
    if (!any) say("news of nobody's");
}

static inline void hear(const struct zkl_event *event) {
    switch (event->kind) {
    case ZKL_EVENT_REQUEST:
    case ZKL_EVENT_QUEUED: hear_request(event); break;
    case ZKL_EVENT_LEASE: hear_lease(event); break;
    case ZKL_EVENT_STATE:
        if (hears_states) say("%s", session_states[event->state]);
        break;
    case ZKL_EVENT_WATCHER:
    case ZKL_EVENT_MEMBER:
    case ZKL_EVENT_ROSTER: hear_news(event); break;
    case ZKL_EVENT_STEP:
    case ZKL_EVENT_NONE: break;
    }
}

/* Takes up to `most` events. Steps are said when the session has forgotten them. */
static inline bool take_events(int64_t most) {
    const struct zkl_step *kept[32];
    size_t steps = 0;
    struct zkl_event event;
    int64_t left = most;
    for (; left > 0 && zkl_session_next_event(session, &event); left--) {
        if (event.kind != ZKL_EVENT_STEP) hear(&event);
        if (event.kind != ZKL_EVENT_STEP || steps == COUNT(kept)) continue;
        zkl_session_keep_step(session);
        kept[steps++] = event.step;
    }
    for (size_t i = 0; i < steps; i++) {
        hear_step(kept[i]);
        zkl_step_free(kept[i]);
    }
    return left < most;
}

/* Takes requests, events and results, as a shell does after each event. */
static inline void take_all(void) {
    bool any = true;
    while (any) {
        any = !is_mute && take_requests();
        if (!is_deaf) any |= take_events(INT64_MAX);
        any |= take_ends();
    }
    if (zkl_session_is_idle(session)) pending_count = 0;
}

#endif
