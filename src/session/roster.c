/*
 * roster.c - folders of members that the user wants to hear of: who is there, then each change.
 *
 * What is known is kept by rounds. A round lists the folder, with a watch of its children, if one
 * came or went, and reads each member that is new, or whose own watch has fired, with another
 * watch. What comes meanwhile is for the next round. At the end of a round that changed something
 * the list is told, unless a member in it could not be read yet: so a herd of changes is told once.
 *
 * A member that goes has two events, its own and the folder's. The first one waits a moment for
 * the second: then the list shows whether it is to be read, or gone.
 *
 * If there is no folder, an exists with a watch tells when it is made.
 *
 * In another ZooKeeper session everything is asked for anew, and told if it differs. As a server
 * may keep an event back (watcher.c), the names are asked for once a session timeout, too, and
 * what could not be read; not what could, for that would be a request for each member.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "request.h"
#include "roster.h"

/* How long a round waits after an answer that was lost, and for the event of the folder. */
#define PAUSE (ZKL_SECOND / 10)

/* --- life ----------------------------------------------------------------------------------- */

void zkl_roster_unref(struct zkl_roster *roster) {
    assert(roster->references > 0);
    if (--roster->references > 0) return;
    free(roster->folder);
    free(roster);
}

static void forget(struct zkl_roster *roster, struct seen *seen) {
    zkl_watches_unpin(roster->session, seen->watch);
    free(seen->name);
    free(seen->data);
}

static void forget_all(struct zkl_roster *roster) {
    for (size_t i = 0; i < roster->count; i++) forget(roster, &roster->seen[i]);
    free(roster->seen);
    roster->seen = NULL;
    roster->count = 0;
}

static void post(struct zkl_roster *roster) {
    if (roster->note.posted) return;
    roster->references++;
    zkl_events_post(roster->session, &roster->note, ZKL_EVENT_ROSTER);
}

static void end(struct zkl_roster *roster) {
    struct zkl_session *session = roster->session;
    if (!roster->open) return;
    roster->open = false;
    *roster->link = roster->next;
    if (roster->next) roster->next->link = roster->link;
    forget_all(roster);
    zkl_watches_unpin(session, roster->children);
    zkl_watches_unpin(session, roster->itself);
    if (!roster->note.posted) return;
    zkl_events_remove(session, &roster->note);
    zkl_roster_unref(roster);
}

void zkl_roster_end_all(struct zkl_session *session) {
    while (session->rosters) end(session->rosters);
}

/* --- what is seen --------------------------------------------------------------------------- */

static int compare(const void *name, const void *seen) {
    return strcmp(name, ((const struct seen *)seen)->name);
}

static struct seen *find(const struct zkl_roster *roster, const char *name) {
    if (roster->count == 0) return NULL;
    return bsearch(name, roster->seen, roster->count, sizeof *roster->seen, compare);
}

/* The member whose node that is; NULL: none. */
static struct seen *find_node(const struct zkl_roster *roster, const char *node) {
    bool is_root = strcmp(roster->folder, "/") == 0;
    size_t length = is_root ? 0 : strlen(roster->folder);
    bool below = node && strncmp(node, roster->folder, length) == 0 && node[length] == '/';
    return below ? find(roster, node + length + 1) : NULL;
}

/* While there is no list to tell, its changes are not told. */
static void note_change(struct zkl_roster *roster) {
    if (roster->code == ZKL_OK) roster->changed = true;
}

static void settle(struct zkl_roster *roster, enum zkl_code code, int error) {
    if (roster->code != code || roster->error != error) roster->changed = true;
    roster->code = code;
    roster->error = error;
}

static bool equal(const struct seen *seen, const struct answer *answer) {
    bool same = seen->known && !seen->hidden && seen->czxid == answer->stat->czxid &&
                seen->mzxid == answer->stat->mzxid && seen->session == answer->stat->owner;
    return same && zkl_answer_has(answer, seen->data, seen->size);
}

/* False: out of memory. */
static bool take(struct seen *seen, const struct answer *answer) {
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
    while (i < roster->count && roster->seen[i].known) i++;
    return i == roster->count && (roster->listed || roster->code != ZKL_OK);
}

/* --- rounds --------------------------------------------------------------------------------- */

static void look_after(struct zkl_roster *roster, zkl_time pause) {
    zkl_time due = roster->session->now + pause;
    if (roster->look_at <= due) return;
    roster->look_at = due;
    zkl_session_wake(roster->session, due);
}

/* Asks with a watch. Out of memory: in the next round. */
static void ask(struct zkl_roster *roster, enum call_kind kind, enum zkl_rpc_kind rpc,
                struct watch *watch) {
    struct call *call = zkl_call_new(roster->session, kind, NULL, NULL);
    if (!call) {
        roster->to_list = true;
        look_after(roster, PAUSE);
        return;
    }
    roster->references++;
    roster->calls++;
    call->roster = roster;
    zkl_call_set_watch(call, rpc, watch);
}

static void read_stale(struct zkl_roster *roster) {
    for (size_t i = 0; i < roster->count; i++)
        if (roster->seen[i].stale) ask(roster, CALL_ROSTER_GET, ZKL_RPC_GET, roster->seen[i].watch);
}

/* Everything is to be asked for: it may have been missed, or could not be read. */
static void doubt(struct zkl_roster *roster, bool all) {
    roster->to_list = true;
    roster->look_at = roster->session->now;
    for (size_t i = 0; i < roster->count; i++)
        if (all || roster->seen[i].hidden) roster->seen[i].stale = true;
}

static zkl_time due_of(const struct zkl_roster *roster) {
    if (roster->calls) return ZKL_NEVER;
    return zkl_earlier(roster->look_at, roster->check_at);
}

static void start(struct zkl_roster *roster) {
    struct zkl_session *session = roster->session;
    if (session->state != ZKL_SESSION_CONNECTED || roster->calls) return;
    if (roster->of != session->common.session) doubt(roster, true);
    else if (session->now >= roster->check_at) doubt(roster, false);
    if (session->now < roster->look_at) return;
    roster->of = session->common.session;
    roster->look_at = ZKL_NEVER;
    roster->check_at = session->now + session->common.clock.timeout;
    bool listing = roster->to_list;
    roster->to_list = false;
    if (listing) ask(roster, CALL_ROSTER_LIST, ZKL_RPC_LIST, roster->children);
    else read_stale(roster);
}

void zkl_roster_start_all(struct zkl_session *session) {
    for (struct zkl_roster *each = session->rosters; each; each = each->next) start(each);
}

zkl_time zkl_roster_due(const struct zkl_session *session) {
    zkl_time first = ZKL_NEVER;
    if (session->state != ZKL_SESSION_CONNECTED) return first;
    for (const struct zkl_roster *each = session->rosters; each; each = each->next)
        first = zkl_earlier(first, due_of(each));
    return first;
}

/* --- the names ------------------------------------------------------------------------------ */

static int compare_names(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* A copy of the names, sorted; NULL: out of memory. A server may say one twice. */
static const char **sort(const struct answer *answer, size_t *count) {
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

/* A member to be read. ZKL_OK, ZKL_TOO_MANY or ZKL_NO_MEMORY. */
static enum zkl_code meet(const struct zkl_roster *roster, const char *name, struct seen *seen) {
    struct watches *watches = &roster->session->watches;
    char *node = zkl_path_join(roster->folder, name);
    bool may = node && zkl_watches_may(watches, node);
    *seen = (struct seen){.stale = true, .name = may ? strdup(name) : NULL};
    seen->watch = seen->name ? zkl_watches_pin(watches, node) : NULL;
    enum zkl_code code = seen->watch ? ZKL_OK : node && !may ? ZKL_TOO_MANY : ZKL_NO_MEMORY;
    if (!seen->watch) free(seen->name);
    free(node);
    return code;
}

/*
 * Those that are known and not in the list are forgotten first: they make room. What there is no
 * room for is met at a later round.
 */
static enum zkl_code merge(struct zkl_roster *roster, const char **names, size_t count) {
    struct seen *merged = calloc(count + 1, sizeof *merged);
    enum zkl_code code = ZKL_OK;
    size_t at = 0, kept = 0, met = 0;
    if (!merged) return ZKL_NO_MEMORY;
    for (size_t i = 0; i < roster->count; i++) {
        while (at < count && strcmp(names[at], roster->seen[i].name) < 0) at++;
        bool there = at < count && strcmp(names[at], roster->seen[i].name) == 0;
        if (there) roster->seen[kept++] = roster->seen[i];
        else forget(roster, &roster->seen[i]);
        if (!there) note_change(roster);
    }
    for (size_t i = 0, old = 0; i < count; i++) {
        if (old < kept && strcmp(names[i], roster->seen[old].name) == 0) {
            merged[met++] = roster->seen[old++];
            continue;
        }
        enum zkl_code why = code == ZKL_OK ? meet(roster, names[i], &merged[met]) : code;
        if (why == ZKL_OK) met++;
        else code = why;
    }
    if (met > kept) note_change(roster);
    free(roster->seen);
    roster->seen = merged;
    roster->count = met;
    return code;
}

static void take_names(struct zkl_roster *roster, const struct answer *answer) {
    size_t count;
    const char **names = sort(answer, &count);
    enum zkl_code code = names ? merge(roster, names, count) : ZKL_NO_MEMORY;
    free(names);
    if (code == ZKL_NO_MEMORY) {
        roster->to_list = true;
        roster->listed = false;
        look_after(roster, PAUSE);
    } else {
        if (!roster->listed) note_change(roster);
        roster->listed = true;
        settle(roster, code, 0);
    }
    read_stale(roster);
}

/* There is no folder. */
static void take_none(struct zkl_roster *roster) {
    if (!roster->listed || roster->count) note_change(roster);
    roster->listed = true;
    forget_all(roster);
    settle(roster, ZKL_OK, 0);
    if (!roster->itself->set) ask(roster, CALL_ROSTER_EXISTS, ZKL_RPC_EXISTS, roster->itself);
}

/* --- what the server says ------------------------------------------------------------------- */

static void lose(struct zkl_roster *roster, const struct call *call) {
    if (call->kind != CALL_ROSTER_GET) roster->to_list = true;
    look_after(roster, PAUSE);
}

static void answer_list(struct zkl_roster *roster, const struct answer *answer) {
    if (answer->reply == ZKL_DONE) take_names(roster, answer);
    else if (answer->reply == ZKL_ABSENT) take_none(roster);
    else settle(roster, answer->why, answer->rc);
}

/* The folder was made since it was listed. */
static void answer_exists(struct zkl_roster *roster, const struct answer *answer) {
    if (answer->reply != ZKL_DONE) return;
    roster->to_list = true;
    look_after(roster, 0);
}

/* One that is gone goes from the list; the folder's event brings the next one. */
static void answer_get(struct zkl_roster *roster, struct seen *seen, const struct answer *answer) {
    if (answer->reply == ZKL_ABSENT) {
        size_t at = (size_t)(seen - roster->seen);
        if (seen->known) note_change(roster);
        forget(roster, seen);
        memmove(seen, seen + 1, (--roster->count - at) * sizeof *seen);
        return;
    }
    bool hidden = answer->reply == ZKL_REFUSED;
    bool same = hidden ? seen->hidden : equal(seen, answer);
    if (!hidden && !same && !take(seen, answer)) {
        look_after(roster, PAUSE);
        return;
    }
    seen->stale = false;
    seen->known = true;
    seen->hidden = hidden;
    if (!same) note_change(roster);
}

static void finish_round(struct zkl_roster *roster) {
    if ((roster->changed || roster->untold) && is_complete(roster)) post(roster);
    start(roster);
}

void zkl_roster_answer(const struct call *call, const struct answer *answer) {
    struct zkl_roster *roster = call->roster;
    struct seen *seen = call->kind == CALL_ROSTER_GET ? find_node(roster, call->node) : NULL;
    if (!roster->open) return;
    roster->check_at = answer->now + roster->session->common.clock.timeout;
    zkl_session_wake(roster->session, roster->check_at);
    if (answer->reply == ZKL_UNKNOWN) lose(roster, call);
    else if (call->kind == CALL_ROSTER_LIST) answer_list(roster, answer);
    else if (call->kind == CALL_ROSTER_EXISTS) answer_exists(roster, answer);
    else if (seen) answer_get(roster, seen, answer);
    if (roster->calls == 0) finish_round(roster);
}

static void hear(struct zkl_roster *roster, enum zkl_node_event event, const char *node) {
    bool of_folder = strcmp(node, roster->folder) == 0;
    struct seen *seen = of_folder ? NULL : find_node(roster, node);
    if (of_folder ? event == ZKL_NODE_CHANGED : !seen || event == ZKL_NODE_CHILDREN) return;
    if (seen) seen->stale = true;
    if (!seen || event == ZKL_NODE_DELETED) roster->to_list = true;
    look_after(roster, seen && event == ZKL_NODE_DELETED ? PAUSE : 0);
    start(roster);
}

void zkl_roster_event(struct zkl_session *session, enum zkl_node_event event, const char *node) {
    for (struct zkl_roster *each = session->rosters; each; each = each->next)
        hear(each, event, node);
}

/* --- the ways in ---------------------------------------------------------------------------- */

static struct zkl_roster *new_roster(const char *folder) {
    struct zkl_roster *roster = calloc(1, sizeof *roster);
    if (!roster) return NULL;
    roster->references = 1;
    roster->folder = strdup(folder);
    if (roster->folder) return roster;
    zkl_roster_unref(roster);
    return NULL;
}

/* False: out of memory; none is pinned. */
static bool pin(struct zkl_roster *roster, struct zkl_session *session, const char *children) {
    roster->children = zkl_watches_pin(&session->watches, children);
    roster->itself = roster->children ? zkl_watches_pin(&session->watches, roster->folder) : NULL;
    if (roster->children && !roster->itself) zkl_watches_unpin(session, roster->children);
    return roster->itself != NULL;
}

static zkl_roster *begin(zkl_session *session, const char *folder, const char *children) {
    struct zkl_roster *roster = new_roster(folder);
    if (!roster || !pin(roster, session, children)) {
        if (roster) zkl_roster_unref(roster);
        return NULL;
    }
    roster->session = session;
    roster->open = true;
    roster->to_list = true;
    roster->id = ++session->last_id;
    roster->link = &session->rosters;
    roster->next = session->rosters;
    if (roster->next) roster->next->link = &roster->next;
    session->rosters = roster;
    start(roster);
    return roster;
}

zkl_roster *zkl_members(zkl_session *session, const char *folder, enum zkl_code *why) {
    char *children = zkl_path_join("", folder); /* as of struct watch */
    *why = zkl_session_refusal(session);
    bool may = children && zkl_watches_may(&session->watches, children) &&
               zkl_watches_may(&session->watches, folder);
    if (*why == ZKL_OK && children && !may) *why = ZKL_TOO_MANY;
    zkl_roster *roster = children && *why == ZKL_OK ? begin(session, folder, children) : NULL;
    free(children);
    return roster;
}

uint64_t zkl_roster_id(const zkl_roster *roster) {
    return roster->id;
}

/* --- what it tells -------------------------------------------------------------------------- */

static char *add(char *at, const char *from, size_t size) {
    memcpy(at, from, size);
    at[size] = '\0';
    return at + size + 1;
}

/* In one piece of memory; NULL: there is none. */
static struct zkl_roll *copy(const struct zkl_roster *roster) {
    size_t count = roster->code == ZKL_OK ? roster->count : 0;
    size_t size = sizeof(struct zkl_roll) + count * sizeof(struct zkl_listed);
    for (size_t i = 0; i < count; i++)
        size += strlen(roster->seen[i].name) + roster->seen[i].size + 2;
    struct zkl_roll *roll = malloc(size);
    if (!roll) return NULL;
    *roll = (struct zkl_roll){roster->code, zkl_error_words(roster->error), count};
    char *at = (char *)&roll->members[count];
    for (size_t i = 0; i < count; i++) {
        const struct seen *seen = &roster->seen[i];
        struct zkl_listed *listed = &roll->members[i];
        *listed = (struct zkl_listed){.name = at};
        at = add(at, seen->name, strlen(seen->name));
        if (seen->hidden) continue;
        listed->data = at;
        listed->size = seen->size;
        listed->session = seen->session;
        listed->created = seen->created;
        at = add(at, seen->data, seen->size);
    }
    return roll;
}

bool zkl_roster_look(zkl_roster *roster, struct zkl_roll **roll) {
    bool any = roster->open && (roster->changed || roster->untold) && is_complete(roster);
    *roll = any ? copy(roster) : NULL;
    if (*roll) roster->changed = false;
    if (*roll) roster->untold = true;
    return any;
}

void zkl_roster_told(zkl_roster *roster) {
    roster->untold = false;
}

void zkl_roster_drop(zkl_roster *roster) {
    end(roster);
    zkl_roster_unref(roster);
}
