/*
 * member.c - nodes of this session that are there as long as their users want them.
 *
 * An attempt is a create and a get with a watch, in one flight, and the get decides: a node of this
 * ZooKeeper session is ours, whatever became of the create's reply. So what was lost is made good
 * by another attempt. A node of an earlier ZooKeeper session of ours is waited for: the watch tells
 * when it goes. Any other is a conflict.
 *
 * Of a node that may not be read an exists shows the owner.
 *
 * The watch of the own node tells that it is gone, or was written to: then it is made again, or
 * read once more, for another watch. As a server may keep an event back (watcher.c), it is read
 * once a session timeout, too.
 *
 * Any client may use the name. So the node is written to, and removed, only while it is known as
 * ours: it was seen in this connection, no event came since, and it has the version that it had
 * then. After a cut, an event, or a write without an answer it is looked at first. (No request of
 * ZooKeeper's has a condition on the czxid: docs/design/not-prevented.md.)
 *
 * The user may set other data at any time. The newest are written as soon as they can be, or the
 * node is made with them. That one of several sets is answered does not wait for later ones.
 *
 * A create whose reply was lost may be carried out up to a session timeout later: so long a member
 * looks again after it left. A member that joins under the path meanwhile takes that over. A node
 * that such a create made has another czxid, and perhaps older data.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "member.h"
#include "request.h"
#include "stake_feed.h"

/* How long an attempt waits after one that brought nothing. */
#define PAUSE (ZKL_SECOND / 10)

/* --- life ----------------------------------------------------------------------------------- */

void zkl_member_unref(struct zkl_member *member) {
    assert(member->references > 0);
    if (--member->references > 0) return;
    free(member->path);
    free(member->data);
    free(member->newer);
    free(member);
}

/* What the node costs in the server's list of the session's ephemerals. */
static size_t cost(const struct zkl_session *session, const char *path) {
    return session->watches.overhead + strlen(path);
}

static void post(struct zkl_member *member) {
    member->changes++;
    if (member->request || member->note.posted) return;
    member->references++;
    zkl_events_post(member->session, &member->note, ZKL_EVENT_MEMBER);
}

static void unpost(struct zkl_member *member) {
    if (!member->note.posted) return;
    zkl_events_remove(member->session, &member->note);
    assert(member->references > 1); /* the caller's */
    member->references--;
}

/* The join is done. */
static void answer_join(struct zkl_member *member) {
    struct zkl_request *request = member->request;
    enum zkl_code code = member->state == ZKL_MEMBER_JOINED ? ZKL_OK : member->code;
    if (request) zkl_request_finish(request, code, member->error);
}

/* Ends the sets of data up to that number; those that have ended meanwhile are let go, too. */
static void answer_sets(struct zkl_member *member, uint64_t number, enum zkl_code code, int error) {
    struct zkl_request **link = &member->sets, *set;
    while ((set = *link)) {
        if (set->number <= number) zkl_request_finish(set, code, error);
        if (!set->done) {
            link = &set->next_set;
            continue;
        }
        *link = set->next_set;
        zkl_request_unref(set);
    }
}

/* The node has the current data, or may not be given them. */
static void settle(struct zkl_member *member, enum zkl_code code, int error) {
    member->settled = member->current;
    answer_sets(member, member->settled, code, error);
}

/* Of a member that leaves or has ended. */
static enum zkl_code end_of(const struct zkl_member *member) {
    return member->code == ZKL_OK ? ZKL_CLOSED : member->code;
}

static void change(struct zkl_member *member, enum zkl_member_state state) {
    if (member->state == state) return;
    bool leaves = state == ZKL_MEMBER_LEAVING || member->state == ZKL_MEMBER_LEAVING;
    bool over = state == ZKL_MEMBER_LEAVING || state == ZKL_MEMBER_ENDED;
    member->state = state;
    if (!leaves) post(member);
    if (state != ZKL_MEMBER_JOINING) answer_join(member);
    if (over) answer_sets(member, member->newest, end_of(member), member->error);
}

/* The first reason is the one that its user is told. */
static void conclude(struct zkl_member *member, enum zkl_code code, int error) {
    if (member->code != ZKL_OK) return;
    member->code = code;
    member->error = error;
}

static void end(struct zkl_member *member, enum zkl_code code, int error) {
    if (member->state == ZKL_MEMBER_ENDED) return;
    struct zkl_session *session = member->session;
    conclude(member, code, error);
    member->act_at = ZKL_NEVER;
    change(member, ZKL_MEMBER_ENDED);
    *member->link = member->next;
    if (member->next) member->next->link = member->link;
    session->node_bytes -= cost(session, member->path);
    zkl_watches_unpin(session, member->watch);
    member->watch = NULL;
    zkl_member_unref(member);
}

void zkl_member_end_all(struct zkl_session *session) {
    while (session->members) end(session->members, ZKL_CLOSED, 0);
}

/* --- requests ------------------------------------------------------------------------------- */

static void act_after(struct zkl_member *member, zkl_time pause) {
    zkl_time due = member->session->now + pause;
    if (member->act_at <= due) return;
    member->act_at = due;
    zkl_session_wake(member->session, due);
}

/* The event may not come, or the server may refuse no more. */
static void check_later(struct zkl_member *member) {
    act_after(member, member->session->common.clock.timeout);
}

/* NULL: out of memory; the member tries again. */
static struct call *call_for(struct zkl_member *member, enum call_kind kind) {
    struct call *call = zkl_call_new(member->session, kind, NULL, NULL);
    if (!call) {
        act_after(member, PAUSE);
        return NULL;
    }
    member->references++;
    member->calls++;
    member->asked_at = member->session->now;
    call->member = member;
    return call;
}

static void create_parent(void *context, const char *node) {
    struct zkl_member *member = context;
    struct call *call = call_for(member, CALL_MEMBER_PARENT);
    if (call) zkl_call_create_parent(call, node);
}

static void look(struct zkl_member *member, enum call_kind kind, enum zkl_rpc_kind rpc) {
    struct call *call = call_for(member, kind);
    if (call) zkl_call_set_watch(call, rpc, member->watch);
}

static void read_node(struct zkl_member *member) {
    look(member, CALL_MEMBER_GET, ZKL_RPC_GET);
}

static void attempt(struct zkl_member *member) {
    member->made_parents = member->parents;
    member->parents = false;
    member->refusal = ZKL_OK;
    if (member->made_parents && !zkl_path_each_parent(member->path, create_parent, member))
        act_after(member, PAUSE);
    struct call *call = call_for(member, CALL_MEMBER_CREATE);
    if (!call) return;
    member->node = MEMBER_NODE_UNSEEN;
    zkl_call_create(call, member->path, NULL, member->data, ZKL_EPHEMERAL);
    read_node(member);
}

static void write_data(struct zkl_member *member) {
    struct call *call = call_for(member, CALL_MEMBER_SET);
    if (call) zkl_call_set(call, member->path, NULL, member->data, member->version);
}

static void remove_node(struct zkl_member *member) {
    struct call *call = call_for(member, CALL_MEMBER_REMOVE);
    if (call) zkl_call_delete(call, member->path, NULL, member->version);
}

/* No request is out that refers to the data before. */
static void take_newest(struct zkl_member *member) {
    if (!member->newer) return;
    free(member->data);
    member->data = member->newer;
    member->newer = NULL;
    member->current = member->newest;
}

/* An answer may show it as ours again. */
static void lose_sight(struct zkl_member *member) {
    if (member->node == MEMBER_NODE_OURS) member->node = MEMBER_NODE_UNSEEN;
}

static void start(struct zkl_member *member) {
    struct zkl_session *session = member->session;
    bool may = session->state == ZKL_SESSION_CONNECTED && !member->calls;
    if (!may || session->now < member->act_at) return;
    bool ours = member->node == MEMBER_NODE_OURS;
    member->act_at = ZKL_NEVER;
    lose_sight(member);
    take_newest(member);
    switch (member->state) {
    case ZKL_MEMBER_JOINING:
        if (ours) write_data(member);
        else attempt(member);
        break;
    case ZKL_MEMBER_JOINED:
        if (ours && member->settled < member->current) write_data(member);
        else read_node(member);
        break;
    case ZKL_MEMBER_LEAVING:
        if (ours) remove_node(member);
        else read_node(member);
        break;
    case ZKL_MEMBER_ENDED: break;
    }
}

void zkl_member_start_all(struct zkl_session *session) {
    for (struct zkl_member *each = session->members; each; each = each->next) start(each);
}

zkl_time zkl_member_due(const struct zkl_session *session) {
    zkl_time first = ZKL_NEVER;
    if (session->state != ZKL_SESSION_CONNECTED) return first;
    for (const struct zkl_member *each = session->members; each; each = each->next)
        if (!each->calls) first = zkl_earlier(first, each->act_at);
    return first;
}

/* --- what the server says ------------------------------------------------------------------- */

static bool is_earlier(const struct zkl_session *session, uint64_t id) {
    size_t i = 0;
    while (i < EARLIER && session->earlier[i] != id) i++;
    return id != 0 && i < EARLIER;
}

/* Nothing of it is there, but perhaps later: the answer may be as old as its request. */
static void be_gone(struct zkl_member *member) {
    zkl_time now = member->session->now, doubt_at = member->doubt_at;
    member->node = MEMBER_NODE_ABSENT;
    if (member->asked_at >= doubt_at) end(member, ZKL_RELEASED, 0);
    else act_after(member, now < doubt_at ? doubt_at - now : 0);
}

/* It is over for its user; a create that may still land is looked for. */
static void give_up(struct zkl_member *member, enum zkl_code code, int error) {
    conclude(member, code, error);
    if (member->asked_at < member->doubt_at) {
        post(member);
        change(member, ZKL_MEMBER_LEAVING);
    }
    be_gone(member);
}

/*
 * Other data than the current ones stay if they were written to the node that was joined: they are
 * another client's.
 */
static void see_ours(struct zkl_member *member, const struct zkl_stat *stat, bool other_data) {
    bool connected = member->session->state == ZKL_SESSION_CONNECTED;
    bool anew = member->czxid != stat->czxid;
    member->node = connected ? MEMBER_NODE_OURS : MEMBER_NODE_UNSEEN;
    member->czxid = stat->czxid;
    member->version = stat->version;
    if (member->state == ZKL_MEMBER_JOINED && anew) change(member, ZKL_MEMBER_JOINING);
    bool leaving = member->state == ZKL_MEMBER_LEAVING;
    bool unsettled = member->state == ZKL_MEMBER_JOINING || member->settled < member->current;
    if (leaving || (unsettled && other_data)) {
        act_after(member, 0);
    } else if (unsettled) {
        settle(member, ZKL_OK, 0);
        change(member, ZKL_MEMBER_JOINED);
    }
}

/* A lock of this session may have made a node of that name, too. */
static bool is_ours(const struct zkl_member *member, uint64_t owner) {
    return owner == member->session->common.session &&
           !zkl_stake_of(member->session, member->path);
}

static void see_others(struct zkl_member *member, uint64_t owner) {
    member->node = MEMBER_NODE_ABSENT;
    if (member->state == ZKL_MEMBER_LEAVING) be_gone(member);
    else if (is_earlier(member->session, owner)) change(member, ZKL_MEMBER_JOINING);
    else give_up(member, ZKL_CONFLICT, ZKL_ERROR_NODE_EXISTS);
}

static void see(struct zkl_member *member, const struct zkl_stat *stat, bool other_data) {
    member->refusal = ZKL_OK;
    if (is_ours(member, stat->owner)) see_ours(member, stat, other_data);
    else see_others(member, stat->owner);
    check_later(member);
}

static void see_nothing(struct zkl_member *member) {
    bool at_once = member->state == ZKL_MEMBER_JOINED || (member->parents && !member->made_parents);
    member->node = MEMBER_NODE_ABSENT;
    if (member->state == ZKL_MEMBER_LEAVING) be_gone(member);
    else if (member->refusal != ZKL_OK && member->state == ZKL_MEMBER_JOINING)
        give_up(member, member->refusal, member->refused);
    else {
        change(member, ZKL_MEMBER_JOINING);
        act_after(member, at_once ? 0 : PAUSE);
    }
}

static void answer_get(struct zkl_member *member, const struct answer *answer) {
    const char *data = member->data;
    if (answer->reply == ZKL_UNKNOWN) act_after(member, PAUSE);
    else if (answer->reply == ZKL_DONE)
        see(member, answer->stat, !zkl_answer_has(answer, data, strlen(data)));
    else if (answer->reply == ZKL_ABSENT) see_nothing(member);
    else look(member, CALL_MEMBER_EXISTS, ZKL_RPC_EXISTS);
}

/*
 * What is in it is not known: data that were set are written. A server from 3.8.4 on hides whose a
 * node is: ours may be read, so it is a stranger's.
 */
static void answer_exists(struct zkl_member *member, const struct answer *answer) {
    static const struct zkl_stat strangers = {.owner = 0};
    if (answer->reply == ZKL_DONE)
        see(member, answer->stat, member->settled < member->current);
    else if (answer->reply == ZKL_ABSENT) see_nothing(member);
    else if (answer->rc == ZKL_ERROR_NO_AUTH) see(member, &strangers, false);
    else act_after(member, PAUSE);
}

/* A member that joined under that path, or is leaving it. */
static struct zkl_member *find(const struct zkl_session *session, const char *path) {
    struct zkl_member *member = session->members;
    while (member && strcmp(member->path, path) != 0) member = member->next;
    return member;
}

/* A create may be carried out late: the member that has the name by then looks for that. */
static void doubt(const struct zkl_member *member, zkl_time now) {
    struct zkl_member *heir = find(member->session, member->path);
    if (heir) heir->doubt_at = now + member->session->common.clock.timeout;
}

static void be_refused(struct zkl_member *member, const struct answer *answer) {
    member->refusal = answer->why;
    member->refused = answer->rc;
}

static void answer_create(struct zkl_member *member, const struct answer *answer) {
    if (answer->reply == ZKL_ABSENT) member->parents = true;
    else if (answer->reply == ZKL_REFUSED && answer->rc != ZKL_ERROR_NODE_EXISTS)
        be_refused(member, answer);
}

static void answer_parent(struct zkl_member *member, const struct call *call,
                          const struct answer *answer) {
    bool refused = answer->reply == ZKL_REFUSED || answer->reply == ZKL_ABSENT;
    if (zkl_call_parent_matters(call, answer) && refused) be_refused(member, answer);
}

/* Another write came first, or there is no answer: it is looked at. */
static bool is_in_doubt(const struct answer *answer) {
    return answer->reply == ZKL_UNKNOWN || answer->rc == ZKL_ERROR_BAD_VERSION;
}

/* The event of the own write has used up the watch. */
static void answer_set(struct zkl_member *member, const struct answer *answer) {
    if (answer->reply == ZKL_DONE) {
        see(member, answer->stat, false);
        act_after(member, 0);
    } else if (answer->reply == ZKL_ABSENT) {
        see_nothing(member);
    } else if (is_in_doubt(answer)) {
        act_after(member, PAUSE);
    } else {
        settle(member, answer->why, answer->rc);
        check_later(member);
    }
}

static void answer_remove(struct zkl_member *member, const struct answer *answer) {
    assert(member->state == ZKL_MEMBER_LEAVING);
    if (is_in_doubt(answer)) act_after(member, PAUSE);
    else if (answer->reply == ZKL_REFUSED) check_later(member);
    else be_gone(member);
}

void zkl_member_answer(const struct call *call, const struct answer *answer) {
    struct zkl_member *member = call->member;
    bool is_lost = answer->reply == ZKL_UNKNOWN && !call->unsent;
    if (call->kind == CALL_MEMBER_CREATE && is_lost) doubt(member, answer->now);
    if (member->state == ZKL_MEMBER_ENDED) return;
    switch (call->kind) {
    case CALL_MEMBER_PARENT: answer_parent(member, call, answer); break;
    case CALL_MEMBER_CREATE: answer_create(member, answer); break;
    case CALL_MEMBER_GET: answer_get(member, answer); break;
    case CALL_MEMBER_EXISTS: answer_exists(member, answer); break;
    case CALL_MEMBER_SET: answer_set(member, answer); break;
    default: answer_remove(member, answer); break;
    }
    start(member);
}

static void hear(struct zkl_member *member, enum zkl_node_event event) {
    lose_sight(member);
    if (event == ZKL_NODE_DELETED && member->state == ZKL_MEMBER_JOINED)
        change(member, ZKL_MEMBER_JOINING);
    if (member->state == ZKL_MEMBER_LEAVING) return; /* the answers tell */
    act_after(member, 0);
    start(member);
}

void zkl_member_event(struct zkl_session *session, enum zkl_node_event event, const char *node) {
    const struct watch *watch = zkl_watches_pinned(&session->watches, node);
    for (struct zkl_member *each = session->members, *next; watch && each; each = next) {
        next = each->next;
        if (each->watch == watch) hear(each, event);
    }
}

void zkl_member_suspend_all(struct zkl_session *session) {
    for (struct zkl_member *each = session->members; each; each = each->next) lose_sight(each);
}

static void expire(struct zkl_member *member, enum zkl_code refusal) {
    member->node = MEMBER_NODE_ABSENT;
    member->doubt_at = 0;
    if (member->state == ZKL_MEMBER_LEAVING) end(member, ZKL_RELEASED, 0);
    else if (refusal != ZKL_OK) end(member, refusal, 0);
    else {
        change(member, ZKL_MEMBER_JOINING);
        member->act_at = 0;
    }
}

void zkl_member_expire_all(struct zkl_session *session) {
    enum zkl_code refusal = zkl_request_refusal(session);
    for (struct zkl_member *each = session->members, *next; each; each = next) {
        next = each->next;
        expire(each, refusal);
    }
}

/* --- the ways in ---------------------------------------------------------------------------- */

static bool has_room(const struct zkl_session *session, const char *path) {
    return session->node_bytes + cost(session, path) <= ZKL_PATHS_MAX &&
           zkl_watches_may(&session->watches, path);
}

/* NULL: out of memory. */
static struct zkl_member *new_member(struct zkl_session *session, const char *path,
                                     const char *data) {
    struct zkl_member *member = calloc(1, sizeof *member);
    if (!member) return NULL;
    member->references = 1;
    member->path = strdup(path);
    member->data = strdup(data);
    bool enough = member->path && member->data;
    member->watch = enough ? zkl_watches_pin(&session->watches, path) : NULL;
    if (!member->watch) {
        zkl_member_unref(member);
        return NULL;
    }
    member->session = session;
    member->id = ++session->last_id;
    return member;
}

static void begin(struct zkl_member *member, struct zkl_request *request) {
    struct zkl_session *session = member->session;
    member->references++; /* the list's; the one before is the join's */
    member->link = &session->members;
    member->next = session->members;
    if (member->next) member->next->link = &member->next;
    session->members = member;
    session->node_bytes += cost(session, member->path);
    member->request = request;
    request->member = member;
    start(member);
}

/* What that one left, or may have left, is this one's to find and to remove. */
static void take_over(struct zkl_member *member, struct zkl_member *before) {
    member->doubt_at = before->doubt_at;
    member->node = MEMBER_NODE_UNSEEN;
    end(before, ZKL_RELEASED, 0);
}

static enum zkl_code refusal_of(const struct zkl_session *session, const char *path,
                                const struct zkl_member *before) {
    enum zkl_code code = zkl_request_refusal(session);
    if (code == ZKL_OK && before && before->state != ZKL_MEMBER_LEAVING) code = ZKL_CONFLICT;
    if (code == ZKL_OK && !before && !has_room(session, path)) code = ZKL_TOO_MANY;
    return code;
}

static void join(struct zkl_request *request, const char *path, const char *data) {
    struct zkl_session *session = request->session;
    struct zkl_member *before = find(session, path);
    enum zkl_code code = refusal_of(session, path, before);
    struct zkl_member *member = code == ZKL_OK ? new_member(session, path, data) : NULL;
    if (!member) {
        zkl_request_finish(request, code == ZKL_OK ? ZKL_NO_MEMORY : code, 0);
        return;
    }
    if (before) take_over(member, before);
    begin(member, request);
}

zkl_request *zkl_join(zkl_session *session, const char *path, const char *data, zkl_time timeout) {
    struct zkl_request *request = zkl_request_new(session, REQUEST_JOIN, timeout);
    if (request) join(request, path, data);
    return request;
}

zkl_member *zkl_request_member(zkl_request *request) {
    struct zkl_member *member = request->kind == REQUEST_JOIN ? request->member : NULL;
    if (member) request->member = NULL;
    if (member) member->request = NULL;
    return member;
}

uint64_t zkl_member_id(const zkl_member *member) {
    return member->id;
}

enum zkl_member_state zkl_member_state(const zkl_member *member, enum zkl_code *why,
                                       const char **detail) {
    *why = member->code;
    *detail = zkl_error_words(member->error);
    return member->code == ZKL_OK ? member->state : ZKL_MEMBER_ENDED;
}

unsigned zkl_member_changes(const zkl_member *member) {
    return member->changes;
}

static void set_data(struct zkl_member *member, struct zkl_request *request, char *data) {
    answer_sets(member, member->settled, ZKL_OK, 0); /* lets those go that have ended */
    free(member->newer);
    member->newer = data;
    request->number = ++member->newest;
    struct zkl_request **end_of_sets = &member->sets;
    while (*end_of_sets) end_of_sets = &(*end_of_sets)->next_set;
    *end_of_sets = request;
    zkl_request_ref(request);
    act_after(member, 0);
    start(member);
}

zkl_request *zkl_member_set(zkl_member *member, const char *data, zkl_time timeout) {
    struct zkl_request *request = zkl_request_new(member->session, REQUEST_SET, timeout);
    bool over = member->state == ZKL_MEMBER_LEAVING || member->state == ZKL_MEMBER_ENDED;
    char *copy = request && !over ? strdup(data) : NULL;
    if (copy) set_data(member, request, copy);
    else if (request) zkl_request_finish(request, over ? end_of(member) : ZKL_NO_MEMORY, 0);
    return request;
}

static void leave(struct zkl_member *member) {
    if (member->state == ZKL_MEMBER_ENDED) return;
    change(member, ZKL_MEMBER_LEAVING);
    if (member->node == MEMBER_NODE_ABSENT) be_gone(member);
    else if (!member->calls) act_after(member, 0);
    start(member);
}

void zkl_member_drop(zkl_member *member) {
    leave(member);
    unpost(member);
    zkl_member_unref(member);
}
