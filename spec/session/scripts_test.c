/*
 * scripts_test.c - runs spec/session/scripts. script.h has their form, stage.h the steps of session
 * and server, told.h the outcomes.
 *
 * A test begins with a connected session. The name before a step is its user. A user has one
 * request at a time, and later its lease, member, watcher or roster. A user may ask about another
 * user's lease or member, as in `g: guard w set /g`. The name is also the owner of an acquire,
 * unless `as` gives another, with a `.` for a space.
 *
 * An outcome has the reports to users, then the requests of this line that are still pending at the
 * server. An answer is for the first pending request. `answer` and `serve` take it from the server
 * in memory, which other answers do not change. `*` sets a watch, `unwatch` and `unlist` remove it;
 * `+` joins writes; `folder` makes a container, `plain` a persistent node.
 *
 * `@7` is this session's mutex node number 7, `@w7` a writer's, `@r7` a reader's, `@p7` a permit's,
 * `@` a future one; `other-7` is another session's. Times are in seconds. The session timeout is
 * 12.
 */
#include <stddef.h>

#include "stage.h"

/* --- acquires --------------------------------------------------------------------------------- */

static void begin(zkl_request *request) {
    who->request = request;
    who->is_told = false;
    who->shows_queue = is(0, "queue");
}

static const char *owner_at(size_t i) {
    for (char *dot; i < words && (dot = strchr(word[i], '.'));) *dot = ' ';
    return at(i);
}

static struct zkl_acquire_options options_in_words(void) {
    static const char *callers[8];
    size_t of = word_index("callers"), owner = word_index("as"), meter = word_index("meter"),
           count = 0;
    for (char *each = of ? strtok(word[of + 1], ",") : NULL; each; each = strtok(NULL, ","))
        callers[count++] = each;
    callers[count] = NULL;
    return (struct zkl_acquire_options){
        .kind = kind(1),
        .owner = owner ? owner_at(owner + 1) : who->name,
        .callers = callers,
        .timeout = timeout(),
        .trying = word_index("try") > 0,
        .reentrant = word_index("again") > 0,
        .counting = word_index("counting") > 0,
        .quiet = word_index("quiet") > 0,
        .jitter = time_named("jitter", 0),
        .keep = time_named("keep", 0),
        .max_hold = time_named("hold", 0),
        .batch = (int32_t)named("batch", 0),
        .permits = (int32_t)named("permits", 0),
        .limit = (int32_t)named("limit", 0),
        .max_waiters = (int32_t)named("waiters", 0),
        .meter = meter ? zkl_session_name_meter(session, at(meter + 1)) : 0,
    };
}

static void acquire(void) {
    struct zkl_acquire_options each[4];
    bool as_one = is(1, "all");
    size_t paths = 0;
    if (as_one) word++, words--;
    if (who->request || who->lease) wrong = "there is a request, or a lease";
    if (wrong) return;
    for (size_t i = 0; i < COUNT(each); i++) each[i] = i ? each[0] : options_in_words();
    for (size_t i = 2; *at(i) == '/' && paths < COUNT(each); i++) each[paths++].path = word[i];
    if (paths == 0) wrong = "a path is missing";
    if (wrong) return;
    for (size_t i = paths; i < COUNT(each); i++) each[i].max_hold = 1; /* never read */
    if (as_one || paths > 1) begin(zkl_acquire_all(session, each, paths));
    else begin(zkl_acquire(session, each));
}

/*
 * acquire [all] <kind> <path>... [<option>...], with `all` or several paths as a multi-lock; with
 * `times <n>` n numbered users acquire
 */
static void acquires(void) {
    int64_t most = named("times", 0);
    const char *name = who->name;
    if (most == 0) acquire();
    for (int64_t i = 0; i < most && !wrong; i++) {
        char numbered[60];
        snprintf(numbered, sizeof numbered, "%s%" PRId64, name, i);
        who = add_user(numbered);
        if (!who) wrong = "there are too many";
        if (!who) return;
        who->numbered = true;
        if (!who->request && !who->lease) acquire();
    }
}

/* Acquires, and answers everything. */
static void takes(void) {
    acquires();
    take_all();
    serves();
}

/* turns <count>: numbered users release in turn, up to the first that is not granted */
static void take_turns(void) {
    int64_t left = number(1, 1);
    for (size_t i = 0; left > 0 && i < user_count; i++) {
        struct user *one = &users[i];
        if (!one->numbered || (!one->lease && !one->request)) continue;
        if (!one->lease) return;
        drop_all(one);
        take_all();
        serves();
        left--;
    }
}

/* --- other requests --------------------------------------------------------------------------- */

/* <op> <path> [v<version>] [=<data>]... */
static size_t read_ops(struct zkl_op *ops) {
    struct zkl_op *op = ops;
    size_t length = 0;
    for (size_t i = 1; i < words && length < OPS; i++) {
        int verb = find(word[i], op_verbs, COUNT(op_verbs));
        bool writes = verb == ZKL_OP_SET || verb == ZKL_OP_CREATE;
        if (verb >= 0) {
            op = &ops[length++];
            *op = (struct zkl_op){.kind = (enum zkl_op_kind)verb, .version = -1};
            op->data = writes ? "" : NULL;
        } else if (*word[i] == '/') op->path = word[i];
        else if (*word[i] == 'v') op->version = atoi(word[i] + 1);
        else if (*word[i] == '=') op->data = word[i] + 1, op->size = strlen(op->data);
    }
    return length;
}

/* guard <op>...; signal <folder> [all]; wait <folder> */
static void asks_for_lease(void) {
    zkl_lease *lease = subject->lease;
    struct zkl_op ops[OPS];
    if (is(0, "check")) begin(zkl_check(lease, timeout()));
    else if (is(0, "downgrade")) begin(zkl_downgrade(lease, timeout()));
    else if (is(0, "release-and-confirm")) begin(zkl_release_and_confirm(lease, timeout()));
    else if (is(0, "wait")) begin(zkl_wait(lease, at(1), timeout()));
    else if (is(0, "signal")) begin(zkl_signal(lease, at(1), is(2, "all"), timeout()));
    else begin(zkl_guard(lease, ops, read_ops(ops), timeout()));
}

/* queue <path> [<kind>]; break <node> <version>; drain [waiters]; join <path> <data> */
static void asks_session(void) {
    if (is(0, "ready")) begin(zkl_session_ready(session, timeout()));
    else if (is(0, "pause")) begin(zkl_pause(session, timeout()));
    else if (is(0, "drain")) begin(zkl_session_drain(session, is(1, "waiters"), timeout()));
    else if (is(0, "get")) begin(zkl_get(session, at(1), timeout()));
    else if (is(0, "names")) begin(zkl_children(session, at(1), timeout()));
    else if (is(0, "join")) begin(zkl_join(session, at(1), at(2), timeout()));
    else if (is(0, "revoke")) begin(zkl_revoke(session, full_of(at(1)), timeout()));
    else if (is(0, "break"))
        begin(zkl_break(session, full_of(at(1)), (int32_t)number(2, 0), timeout()));
    else begin(zkl_queue(session, at(1), words > 2 ? kind(2) : ZKL_MUTEX, timeout()));
}

static void sets(void) {
    begin(zkl_member_set(subject->member, at(1), timeout()));
}

/* release; listen; end-in <s>: the hold ends then */
static void uses_lease(void) {
    enum zkl_code how = ZKL_OK;
    if (is(0, "release")) how = zkl_lease_release(subject->lease);
    else if (is(0, "listen")) zkl_lease_listen(subject->lease);
    else how = zkl_lease_expire(subject->lease, seconds(1, 0));
    if (how != ZKL_OK) say("%s", zkl_code_name(how));
}

/* cancel times the user's request out; drop drops it, or else all that the user has */
static void cancels(void) {
    if (who->request) zkl_request_cancel(who->request, ZKL_TIMEOUT);
    else wrong = "there is no request";
}

static void drops(void) {
    if (who->request) zkl_request_drop(who->request);
    if (!who->request) drop_all(who);
    who->request = NULL;
}

/* release-all <owner>, or the first words of owners' names */
static void releases_all(void) {
    say("%zu released", zkl_session_release_all(session, owner_at(1)));
}

/* --- watchers and rosters --------------------------------------------------------------------- */

/* watch <path>; members <folder> */
static void follows(void) {
    enum zkl_code why;
    if (is(0, "watch")) who->watcher = zkl_watch(session, at(1), &why);
    else who->roster = zkl_members(session, at(1), &why);
    if (why != ZKL_OK || (!who->watcher && !who->roster)) tell(who, zkl_code_name(why));
}

static void look_at_node(void) {
    struct zkl_sight sight;
    bool any = zkl_watcher_look(who->watcher, &sight);
    say("%s: %s", who->name, any ? zkl_code_name(sight.code) : "nothing");
    if (!any) return;
    if (sight.code == ZKL_OK) script_say(" ");
    if (sight.code == ZKL_OK) say_bytes(sight.data, sight.size);
    if (sight.version) script_say(" v%" PRId32, sight.version);
    if (sight.detail) script_say(" \"%s\"", sight.detail);
}

static void say_listed(const struct zkl_listed *one) {
    script_say(" %s=", short_of(one->name));
    if (one->data) say_bytes(one->data, one->size);
    else script_say("?");
    if (one->session != ID) script_say(" of %" PRIu64, one->session);
    if (one->created) script_say(" at %" PRId64, one->created);
}

static void look_at_folder(void) {
    struct zkl_roll *roll = NULL;
    bool any = zkl_roster_look(who->roster, &roll);
    say("%s: %s", who->name, any ? zkl_code_name(roll->code) : "nothing");
    for (size_t i = 0; any && i < roll->count; i++) say_listed(&roll->members[i]);
    if (any && roll->detail) script_say(" \"%s\"", roll->detail);
    free(roll);
}

/* peek shows the news, told confirms it, look does both */
static void looks(void) {
    bool peeks = !is(0, "told"), tells = !is(0, "peek");
    if (!who->watcher && !who->roster) wrong = "there is no watcher";
    if (who->watcher && peeks) look_at_node();
    if (who->watcher && tells) zkl_watcher_confirm(who->watcher);
    if (who->roster && peeks) look_at_folder();
    if (who->roster && tells) zkl_roster_confirm(who->roster);
}

/* --- shown values ----------------------------------------------------------------------------- */

static const struct {
    const char *name;
    size_t offset;
} counters[] = {
#define COUNTER(name, field)                                                                       \
    { name, offsetof(struct zkl_stats, field) }
    COUNTER("creates", creates),   COUNTER("sets", sets),
    COUNTER("deletes", deletes),   COUNTER("lists", lists),
    COUNTER("gets", gets),         COUNTER("exists", exists),
    COUNTER("syncs", syncs),       COUNTER("unwatches", watch_removals),
    COUNTER("losses", losses),     COUNTER("timeouts", timeouts),
    COUNTER("expiries", expiries), COUNTER("events", events),
    COUNTER("watches", watches),   COUNTER("paths", path_bytes),
    COUNTER("untold", untold),     COUNTER("orphans", orphans),
};

static bool say_counter(const char *name) {
    struct zkl_stats stats;
    zkl_session_stats(session, &stats);
    for (size_t i = 0; i < COUNT(counters); i++) {
        const void *counter = (const char *)&stats + counters[i].offset;
        if (strcmp(name, counters[i].name) != 0) continue;
        say("%s %" PRIu64, name, *(const uint64_t *)counter);
        return true;
    }
    return false;
}

static void say_number(const char *name, uint64_t value) {
    if (value) say("%s %" PRIu64, name, value);
}

static void say_meter(const struct zkl_meter *meter) {
    for (size_t i = 0; i < ZKL_OUTCOMES; i++)
        say_number(zkl_code_name((enum zkl_code)i), meter->outcomes[i]);
    say_number("again", meter->reentries);
    say_number("waits", meter->wait.count);
    if (meter->wait.sum) script_say(" of %g", in_seconds((zkl_time)meter->wait.sum));
    say_number("holds", meter->hold.count);
    say_number("hand-overs", meter->hand_over.count);
    if (meter->hand_over.sum) script_say(" of %g", in_seconds((zkl_time)meter->hand_over.sum));
}

/* meter [<name>]; totals [round-trips], which are sessions by state, and losses */
static void measures(void) {
    struct zkl_totals totals = {0};
    zkl_totals_add(&totals, session);
    const struct zkl_meter *meter = is(0, "meter") ? &totals.meter : NULL;
    for (size_t i = 0; words > 1 && i < totals.named_count; i++)
        if (is(1, totals.named[i]->name)) meter = &totals.named[i]->meter;
    if (meter) say_meter(meter);
    for (size_t i = 0; !meter && i < COUNT(session_states); i++)
        say_number(session_states[i], totals.sessions[i]);
    if (!meter) say_number("losses", totals.stats.losses);
    if (is(1, "round-trips")) say_number("round-trips", totals.round_trip.count);
    zkl_totals_clear(&totals);
}

static void say_due(const char *name, zkl_time due) {
    if (due == ZKL_NEVER) say("%s never", name);
    else if (due <= now) say("%s now", name);
    else say("%s %.12g", name, in_seconds(due - now));
}

/* holders <path> [<prefix>] */
static void names_holders(void) {
    int length;
    char *texts = zkl_session_holders(session, at(1), at(2), &length), *text = texts;
    say("%d", length);
    for (int i = 0; i < length; i++, text += strlen(text) + 1) script_say(" %s", text);
    if (!texts) script_say(" none");
    free(texts);
}

/* wants <node>: the number of claims that want a watch of another's node */
static void counts_wants(void) {
    const char *path = full_of(at(1));
    for (size_t i = 0; i < WATCH_BUCKETS; i++)
        for (const struct watch *each = session->watches.buckets[i]; each; each = each->next)
            if (strcmp(each->path, path) == 0) say("wants %u", each->wants);
}

static void show_session(const char *what) {
    if (say_counter(what)) return;
    if (strcmp(what, "claims") == 0) say("claims %d", zkl_session_has_claims(session));
    else if (strcmp(what, "due") == 0) say_due("due", zkl_session_due_since_tick(session));
    else if (strcmp(what, "next") == 0) say_due("next", zkl_session_due(session));
    else if (strcmp(what, "end") == 0) say_due("end", zkl_session_leases_end(session));
    else if (strcmp(what, "state") == 0) say("%s", session_states[zkl_session_state(session)]);
    else if (strcmp(what, "connection") == 0)
        say("connection %s", session_states[zkl_session_connection_state(session)]);
    else if (strcmp(what, "news") == 0) say("news %d", zkl_session_take_news(session));
    else if (strcmp(what, "unread") == 0) say("unread %d", zkl_session_has_events(session));
    else if (*what == '/')
        say("%s", zkl_path_find(session, what, strlen(what)) ? "known" : "unknown");
    else wrong = "there is no such thing";
}

static void show_lease(zkl_lease *lease, const char *what) {
    static const char *const states[] = {"held", "suspect", "lost", "released"};
    if (strcmp(what, "state") == 0) say("%s is %s", who->name, states[zkl_lease_state(lease)]);
    else if (strcmp(what, "token") == 0) say("token %" PRId64, zkl_lease_token(lease));
    else if (strcmp(what, "remaining") == 0)
        say("remaining %.12g", in_seconds(zkl_lease_remaining(lease)));
    else if (strcmp(what, "revoked") == 0) say("revoked %d", zkl_lease_revoked(lease));
    else if (strcmp(what, "waited") == 0) say("waited %d", zkl_lease_waited(lease));
    else show_session(what);
}

static uint64_t id_of(const struct user *user) {
    if (user->request) return zkl_request_id(user->request);
    if (user->member) return zkl_member_id(user->member);
    if (user->watcher) return zkl_watcher_id(user->watcher);
    return user->roster ? zkl_roster_id(user->roster) : 0;
}

/* show <what>... of the user's lease, member or request, or of the session */
static void shows(void) {
    for (size_t i = 1; i < words && !wrong; i++) {
        if (who && who->lease) show_lease(who->lease, word[i]);
        else if (who && who->member && is(i, "state")) say_member(who);
        else if (who && who->member && is(i, "changes"))
            say("changes %u", zkl_member_changes(who->member));
        else if (who && is(i, "id")) say("id %" PRIu64, id_of(who));
        else if (who && who->request && is(i, "stops"))
            say("stops %" PRIu64, zkl_request_stops(who->request));
        else show_session(word[i]);
    }
}

/* --- a step ----------------------------------------------------------------------------------- */

enum about { SESSION, USER, LEASE, MEMBER };
static const struct {
    enum about about;
    void (*play)(void);
    const char *names; /* between spaces */
} verbs[] = {
    {SESSION, answers, " answer "},
    {SESSION, awaits, " await until "},
    {SESSION, comes_back, " come-back "},
    {SESSION, connects, " close closed cut expire flap ready-from refuse reopen resume "},
    {SESSION, counts_wants, " wants "},
    {SESSION, sets_counter, " counter "},
    {SESSION, explains, " words "},
    {SESSION, happens, " changed children created deleted "},
    {SESSION, hears, " deaf hear "},
    {SESSION, fails_to_send, " stray unknown unsent "},
    {SESSION, limits_stack, " stack "},
    {SESSION, measures, " meter totals "},
    {SESSION, names_holders, " holders "},
    {SESSION, names_nodes, " nodes "},
    {SESSION, nodes_come, " ahead late stranger "},
    {SESSION, opens, " open "},
    {SESSION, others_write, " gone write "},
    {SESSION, passes, " pass tick "},
    {SESSION, releases_all, " release-all "},
    {SESSION, replies, " done got listed there "},
    {SESSION, runs, " run "},
    {SESSION, sends, " mute send "},
    {SESSION, serves, " serve "},
    {SESSION, shows, " show "},
    {USER, acquires, " acquire "},
    {USER, asks_session, " break drain get join names pause queue ready revoke "},
    {USER, cancels, " cancel "},
    {USER, drops, " drop "},
    {USER, follows, " members watch "},
    {USER, looks, " look peek told "},
    {USER, take_turns, " turns "},
    {USER, takes, " take "},
    {LEASE, asks_for_lease, " check downgrade guard release-and-confirm signal wait "},
    {LEASE, uses_lease, " end-in listen release "},
    {MEMBER, sets, " set "},
};

/* The subject is the lease or member of the first word, else of the step's user. */
static void choose_subject(enum about about) {
    struct user *other = user_of(at(1));
    subject = who;
    if (other && (about == LEASE ? !!other->lease : !!other->member)) {
        subject = other;
        word++, words--;
        word[0] = word[-1];
    }
    if (!subject || (about == LEASE ? !subject->lease : !subject->member)) wrong = "there is none";
}

static void play(size_t verb) {
    enum about about = verbs[verb].about;
    if (about != SESSION && !who) wrong = "whose step is it?";
    if (about == LEASE || about == MEMBER) choose_subject(about);
    if (!wrong) verbs[verb].play();
}

static void script_play(const char *name) {
    char wanted[SCRIPT_LINE];
    size_t verb = 0;
    silent = true;
    who = *name ? add_user(name) : NULL;
    unsay_requests();
    snprintf(wanted, sizeof wanted, " %s ", word[0]);
    while (verb < COUNT(verbs) && !strstr(verbs[verb].names, wanted)) verb++;
    int error = error_of_step();
    if (error) fails(error);
    else if (verb < COUNT(verbs)) play(verb);
    else wrong = "there is no such step";
    if (wrong) return;
    take_all();
    say_tallies();
    say_requests();
}

int main(int argc, char **argv) {
    int status = script_main(argc, argv, "spec/session/scripts/*.txt");
    close_all();
    return status;
}
