/*
 * roster.c - users hear a folder's members first, and then after each change.
 *
 * A round lists the folder, with a watch of its children, if a child came or went. Then it reads
 * each new member, and each member that its own watch has reported, with another watch. Events
 * meanwhile are for the next round. At the end the list is told if it differs from the last told
 * list, unless a member could not be read yet. So many changes at once are told once.
 *
 * A member that goes has two events, its own and the folder's. The roster waits a moment for the
 * folder's event, as its list shows whether to read the member. If there is no folder, an exists
 * with a watch tells when it is made.
 *
 * As a server may keep an event back (watcher.c), the names are also asked for once a session
 * timeout, and members that could not be read. All members are watched, or none. A roster without
 * room for all (room.c) tells that, and asks again after a session timeout.
 */
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "request.h"
#include "roll.h"
#include "room.h"
#include "roster.h"

/* Pause after a lost answer, and for the folder's event. */
#define PAUSE (ZKL_SECOND / 10)

/* --- life ----------------------------------------------------------------------------------- */

static void destroy(struct asker *asker) {
    struct zkl_roster *roster = (struct zkl_roster *)asker;
    free(roster->told_roll);
    free(roster->folder);
    free(roster);
}

static void forget(struct zkl_roster *roster, struct seen *seen) {
    zkl_watches_unpin(roster->base.session, seen->watch);
    free(seen->name);
    free(seen->data);
}

static void forget_all(struct zkl_roster *roster) {
    for (size_t i = 0; i < roster->count; i++) forget(roster, &roster->seen[i]);
    free(roster->seen);
    roster->seen = NULL;
    roster->count = 0;
}

static void release_watches(struct zkl_roster *roster) {
    forget_all(roster);
    if (roster->children_watch) zkl_watches_unpin(roster->base.session, roster->children_watch);
    if (roster->folder_watch) zkl_watches_unpin(roster->base.session, roster->folder_watch);
    roster->children_watch = roster->folder_watch = NULL;
}

/* --- the last answers ------------------------------------------------------------------------ */

static int compare(const void *name, const void *seen) {
    return strcmp(name, ((const struct seen *)seen)->name);
}

static struct seen *find(const struct zkl_roster *roster, const char *name) {
    if (roster->count == 0) return NULL;
    return bsearch(name, roster->seen, roster->count, sizeof *roster->seen, compare);
}

static struct seen *find_node(const struct zkl_roster *roster, const char *node) {
    bool is_root = strcmp(roster->folder, "/") == 0;
    size_t length = is_root ? 0 : strlen(roster->folder);
    bool below = node && strncmp(node, roster->folder, length) == 0 && node[length] == '/';
    return below ? find(roster, node + length + 1) : NULL;
}

static void set_code(struct zkl_roster *roster, enum zkl_code code, int error) {
    roster->code = code;
    roster->error = error;
}

static bool is_unchanged(const struct seen *seen, const struct answer *answer) {
    bool same = seen->node == SEEN_DATA && seen->czxid == answer->stat->czxid &&
                seen->mzxid == answer->stat->mzxid && seen->session == answer->stat->owner;
    return same && zkl_answer_has(answer, seen->data, seen->size);
}

/* False: out of memory. */
static bool take_data(struct seen *seen, const struct answer *answer) {
    char *data = zkl_answer_copy(answer);
    if (!data) return false;
    free(seen->data);
    seen->data = data;
    seen->size = zkl_answer_size(answer);
    seen->czxid = answer->stat->czxid;
    seen->mzxid = answer->stat->mzxid;
    seen->created = answer->stat->ctime;
    seen->session = answer->stat->owner;
    return true;
}

static bool is_complete(const struct zkl_roster *roster) {
    size_t i = 0;
    while (i < roster->count && roster->seen[i].node != SEEN_NOTHING) i++;
    return i == roster->count && (roster->names_known || roster->code != ZKL_OK);
}

/* Its user has looked at the present list. */
static bool is_told(const struct zkl_roster *roster) {
    return roster->told_roll && zkl_roll_shows(roster->told_roll, roster);
}

static const struct notice_kind news = {ZKL_EVENT_ROSTER, ZKL_NOTICE_OFFSET(struct follower, news),
                                        NULL};

static void post_news(struct zkl_roster *roster) {
    if (is_complete(roster) && !is_told(roster))
        zkl_events_post(roster->base.session, &roster->base.news, &news);
}

/* --- rounds --------------------------------------------------------------------------------- */

static void look_in(struct zkl_roster *roster, zkl_time pause) {
    zkl_time due = roster->base.session->now + pause;
    if (roster->look_at <= due) return;
    roster->look_at = due;
    zkl_session_tick_by(roster->base.session, due);
}

static const struct call_kind list_call, exists_call, get_call;

/* Without memory the next round asks. */
static void ask(struct zkl_roster *roster, const struct call_kind *kind, enum zkl_rpc_kind rpc,
                struct watch *watch) {
    struct call *call = zkl_call_new(roster->base.session, kind, &roster->base.asker);
    if (!call) {
        roster->must_list = true;
        look_in(roster, PAUSE);
        return;
    }
    zkl_call_set_pinned_watch(call, rpc, watch);
}

static void read_stale(struct zkl_roster *roster) {
    for (size_t i = 0; i < roster->count; i++)
        if (roster->seen[i].stale) ask(roster, &get_call, ZKL_RPC_GET, roster->seen[i].watch);
}

/*
 * The next round lists the folder, and reads the hidden members, or all if events may have been
 * missed.
 */
static void mark_stale(struct zkl_roster *roster, bool all) {
    roster->must_list = true;
    roster->look_at = roster->base.session->now;
    for (size_t i = 0; i < roster->count; i++)
        if (all || roster->seen[i].node == SEEN_HIDDEN) roster->seen[i].stale = true;
}

static void try_later(struct zkl_roster *roster) {
    roster->look_at = roster->check_at = ZKL_NEVER;
    look_in(roster, roster->base.session->common.clock.timeout);
}

static void give_up(struct zkl_roster *roster, enum zkl_code code) {
    release_watches(roster);
    set_code(roster, code, 0);
    post_news(roster);
}

void zkl_roster_give_way(struct zkl_roster *roster) {
    if (!roster->children_watch) return;
    give_up(roster, ZKL_TOO_MANY);
    roster->must_list = true;
    try_later(roster);
}

/* Pins the folder's watches. */
static enum zkl_code pin(struct zkl_roster *roster) {
    struct watches *watches = &roster->base.session->watches;
    char *children = zkl_path_join("", roster->folder); /* the form of struct watch */
    if (!children) return ZKL_NO_MEMORY;
    size_t need = zkl_watches_need(watches, children) + zkl_watches_need(watches, roster->folder);
    bool room = zkl_room_make_for_watches(roster->base.session, ROOM_OF_TURNS, need);
    roster->children_watch = room ? zkl_watches_pin(watches, children) : NULL;
    roster->folder_watch = roster->children_watch ? zkl_watches_pin(watches, roster->folder) : NULL;
    free(children);
    if (roster->folder_watch) return ZKL_OK;
    release_watches(roster);
    return room ? ZKL_NO_MEMORY : ZKL_TOO_MANY;
}

static void start(struct follower *follower) {
    struct zkl_roster *roster = (struct zkl_roster *)follower;
    struct zkl_session *session = follower->session;
    if (!zkl_follower_may_ask(follower)) return;
    if (roster->asked_session != session->common.session) mark_stale(roster, true);
    else if (session->now >= roster->check_at) mark_stale(roster, false);
    if (session->now < roster->look_at) return;
    roster->asked_session = session->common.session;
    if (!roster->children_watch && pin(roster) != ZKL_OK) {
        post_news(roster); /* again, if there was no memory to tell it */
        try_later(roster);
        return;
    }
    roster->look_at = ZKL_NEVER;
    roster->check_at = session->now + session->common.clock.timeout;
    bool listing = roster->must_list;
    roster->must_list = false;
    if (listing) ask(roster, &list_call, ZKL_RPC_LIST, roster->children_watch);
    else read_stale(roster);
}

/* --- the names ------------------------------------------------------------------------------ */

static int compare_names(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The names, sorted and each once; NULL: out of memory. */
static const char **sorted_names(const struct answer *answer, size_t *count) {
    size_t given = (size_t)answer->count, kept = 0;
    const char **names = malloc((given + 1) * sizeof *names);
    if (!names) return NULL;
    if (given) memcpy(names, answer->names, given * sizeof *names);
    if (given) qsort(names, given, sizeof *names, compare_names);
    for (size_t i = 0; i < given; i++)
        if (i == 0 || strcmp(names[i], names[i - 1]) != 0) names[kept++] = names[i];
    *count = kept;
    return names;
}

/* Makes a member that is to be read. False: out of memory. */
static bool add_seen(const struct zkl_roster *roster, const char *name, struct seen *seen) {
    char *node = zkl_path_join(roster->folder, name);
    *seen = (struct seen){.stale = true, .name = node ? strdup(name) : NULL};
    seen->watch = seen->name ? zkl_watches_pin(&roster->base.session->watches, node) : NULL;
    if (!seen->watch) free(seen->name);
    free(node);
    return seen->watch != NULL;
}

static void forget_gone(struct zkl_roster *roster, const char **names, size_t count) {
    size_t at = 0, kept = 0;
    for (size_t i = 0; i < roster->count; i++) {
        struct seen *seen = &roster->seen[i];
        while (at < count && strcmp(names[at], seen->name) < 0) at++;
        bool there = at < count && strcmp(names[at], seen->name) == 0;
        if (there) roster->seen[kept++] = *seen;
        else forget(roster, seen);
    }
    roster->count = kept;
}

/* After ZKL_NO_MEMORY the rest is for a later round. */
static enum zkl_code add_new(struct zkl_roster *roster, const char **names, size_t count) {
    struct seen *merged = calloc(count + 1, sizeof *merged);
    bool enough = true;
    size_t old = 0, met = 0;
    if (!merged) return ZKL_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        bool known = old < roster->count && strcmp(names[i], roster->seen[old].name) == 0;
        if (known) merged[met++] = roster->seen[old++];
        else if (enough && (enough = add_seen(roster, names[i], &merged[met]))) met++;
    }
    free(roster->seen);
    roster->seen = merged;
    roster->count = met;
    return enough ? ZKL_OK : ZKL_NO_MEMORY;
}

/* Bytes of watches that do not count yet. If all names are too many, the cost of all. */
static size_t bytes_needed(const struct zkl_roster *roster, const char **names, size_t count) {
    const struct watches *watches = &roster->base.session->watches;
    size_t folder = strlen(roster->folder) + 1, all = 0, bytes = 0;
    for (size_t i = 0; i < count && all <= ZKL_WATCHES_MAX; i++)
        all += zkl_watches_cost(watches, folder + strlen(names[i]));
    for (size_t i = 0; i < count && all <= ZKL_WATCHES_MAX; i++) {
        char *node = find(roster, names[i]) ? NULL : zkl_path_join(roster->folder, names[i]);
        bytes += node ? zkl_watches_need(watches, node) : 0;
        free(node);
    }
    return all <= ZKL_WATCHES_MAX ? bytes : all;
}

/*
 * The folder's watches count, too, so ZKL_WATCHES_MAX bytes never fit. A lookahead that gave way
 * may have watched a member. That watch then counts again.
 */
static enum zkl_code merge(struct zkl_roster *roster, const char **names, size_t count) {
    struct zkl_session *session = roster->base.session;
    forget_gone(roster, names, count);
    size_t bytes = bytes_needed(roster, names, count);
    bool room = bytes < ZKL_WATCHES_MAX && zkl_room_make_for_watches(session, ROOM_OF_TURNS, bytes);
    if (!room || !roster->children_watch)
        return ZKL_TOO_MANY; /* a claim woken meanwhile took the room */
    enum zkl_code code = add_new(roster, names, count);
    return session->watches.bytes > ZKL_WATCHES_MAX ? ZKL_TOO_MANY : code;
}

static void take_names(struct zkl_roster *roster, const struct answer *answer) {
    size_t count;
    const char **names = sorted_names(answer, &count);
    enum zkl_code code = names ? merge(roster, names, count) : ZKL_NO_MEMORY;
    free(names);
    if (code == ZKL_TOO_MANY) {
        zkl_roster_give_way(roster);
        return;
    }
    roster->names_known = code == ZKL_OK;
    roster->must_list = roster->must_list || !roster->names_known;
    if (roster->names_known) set_code(roster, ZKL_OK, 0);
    else look_in(roster, PAUSE);
    read_stale(roster);
}

static void take_missing_folder(struct zkl_roster *roster) {
    roster->names_known = true;
    forget_all(roster);
    set_code(roster, ZKL_OK, 0);
    if (roster->folder_watch->state != WATCH_SET)
        ask(roster, &exists_call, ZKL_RPC_EXISTS, roster->folder_watch);
}

/* --- answers ------------------------------------------------------------------------------- */

static void ask_again(struct zkl_roster *roster, const struct call *call) {
    if (call->kind != &get_call) roster->must_list = true;
    look_in(roster, PAUSE);
}

static void answer_list(struct zkl_roster *roster, const struct answer *answer) {
    if (answer->reply == ZKL_DONE) take_names(roster, answer);
    else if (answer->reply == ZKL_ABSENT) take_missing_folder(roster);
    else set_code(roster, answer->why, answer->rc);
}

/* If the folder was made since the list, it is listed again. */
static void answer_exists(struct zkl_roster *roster, const struct answer *answer) {
    if (answer->reply != ZKL_DONE) return;
    roster->must_list = true;
    look_in(roster, 0);
}

/* If a gone member is made again, the folder has an event. */
static void answer_get(struct zkl_roster *roster, struct seen *seen, const struct answer *answer) {
    if (answer->reply == ZKL_ABSENT) {
        size_t at = (size_t)(seen - roster->seen);
        forget(roster, seen);
        memmove(seen, seen + 1, (--roster->count - at) * sizeof *seen);
        return;
    }
    bool hidden = answer->reply == ZKL_REFUSED;
    bool same = hidden ? seen->node == SEEN_HIDDEN : is_unchanged(seen, answer);
    if (!hidden && !same && !take_data(seen, answer)) {
        look_in(roster, PAUSE);
        return;
    }
    seen->stale = false;
    seen->node = hidden ? SEEN_HIDDEN : SEEN_DATA;
}

static void finish_round(struct zkl_roster *roster) {
    post_news(roster);
    start(&roster->base);
}

static void answer_roster(const struct call *call, const struct answer *answer) {
    struct zkl_roster *roster = (struct zkl_roster *)call->asker;
    struct seen *seen = call->kind == &get_call ? find_node(roster, call->node) : NULL;
    if (!roster->base.link) return;
    if (!roster->children_watch) { /* it gave way since it asked */
        zkl_session_tick_by(roster->base.session, roster->look_at);
        return;
    }
    roster->check_at = answer->now + roster->base.session->common.clock.timeout;
    zkl_session_tick_by(roster->base.session, roster->check_at);
    if (answer->reply == ZKL_UNKNOWN) ask_again(roster, call);
    else if (call->kind == &list_call) answer_list(roster, answer);
    else if (call->kind == &exists_call) answer_exists(roster, answer);
    else if (seen) answer_get(roster, seen, answer);
    if (roster->base.asker.calls == 0) finish_round(roster);
}

static const struct call_kind list_call = {.answer = answer_roster, .is_sound = zkl_answer_is_list};
static const struct call_kind exists_call = {.answer = answer_roster,
                                             .is_sound = zkl_answer_is_stat};
static const struct call_kind get_call = {.answer = answer_roster, .is_sound = zkl_answer_is_node};

static void hear(struct follower *follower, enum zkl_node_event event, const char *node) {
    struct zkl_roster *roster = (struct zkl_roster *)follower;
    bool of_folder = strcmp(node, roster->folder) == 0;
    struct seen *seen = of_folder ? NULL : find_node(roster, node);
    if (of_folder ? event == ZKL_NODE_CHANGED : !seen || event == ZKL_NODE_CHILDREN) return;
    if (!roster->children_watch) return;
    if (seen) seen->stale = true;
    if (!seen || event == ZKL_NODE_DELETED) roster->must_list = true;
    look_in(roster, seen && event == ZKL_NODE_DELETED ? PAUSE : 0);
    start(follower);
}

/* --- as a follower --------------------------------------------------------------------------- */

static zkl_time due(const struct follower *follower) {
    const struct zkl_roster *roster = (const struct zkl_roster *)follower;
    return zkl_earlier(roster->look_at, roster->check_at);
}

static void expire(struct follower *follower, enum zkl_code refusal) {
    if (refusal != ZKL_OK) give_up((struct zkl_roster *)follower, refusal);
}

static void end(struct follower *follower) {
    struct zkl_roster *roster = (struct zkl_roster *)follower;
    if (!follower->link) return;
    zkl_follower_unlist(follower);
    release_watches(roster);
    zkl_events_remove(follower->session, &follower->news);
}

static const struct follower_class class = {FOLLOWER_ROSTER, start, due, hear, expire, end};

/* --- the ways in ---------------------------------------------------------------------------- */

static struct zkl_roster *new_roster(struct zkl_session *session, const char *folder) {
    struct zkl_roster *roster = calloc(1, sizeof *roster);
    if (!roster) return NULL;
    zkl_follower_init(&roster->base, session, &class, destroy);
    roster->must_list = true;
    roster->folder = strdup(folder);
    if (roster->folder) return roster;
    zkl_asker_unref(&roster->base.asker);
    return NULL;
}

zkl_roster *zkl_members(zkl_session *session, const char *folder, enum zkl_code *why) {
    *why = zkl_session_refusal(session);
    struct zkl_roster *roster = *why == ZKL_OK ? new_roster(session, folder) : NULL;
    if (!roster) return NULL;
    *why = pin(roster);
    if (*why == ZKL_OK) {
        zkl_follower_enlist(&roster->base);
        start(&roster->base);
        return roster;
    }
    zkl_asker_unref(&roster->base.asker);
    return NULL;
}

uint64_t zkl_roster_id(const zkl_roster *roster) {
    return roster->base.asker.id;
}

/* --- news ------------------------------------------------------------------------------------- */

/* The present list becomes the told list, and a copy the caller's. NULL: out of memory. */
static struct zkl_roll *tell_present(struct zkl_roster *roster) {
    struct zkl_roll *seen = zkl_roll_new(roster), *copy = seen ? zkl_roll_copy(seen) : NULL;
    free(copy ? roster->told_roll : seen);
    if (copy) roster->told_roll = seen;
    if (copy) roster->unconfirmed = true;
    return copy;
}

bool zkl_roster_look(zkl_roster *roster, struct zkl_roll **roll) {
    bool fresh = roster->base.link && is_complete(roster) && !is_told(roster);
    bool any = roster->base.link && (fresh || roster->unconfirmed);
    *roll = !any ? NULL : fresh ? tell_present(roster) : zkl_roll_copy(roster->told_roll);
    return any;
}

void zkl_roster_confirm(zkl_roster *roster) {
    roster->unconfirmed = false;
}

void zkl_roster_drop(zkl_roster *roster) {
    end(&roster->base);
    zkl_asker_unref(&roster->base.asker);
}
