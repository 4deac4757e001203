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
 * Who leaves removes the node if it was seen as ours. A create whose reply was lost may be carried
 * out up to a session timeout later: so long a member looks again after it left. A member that
 * joins under the path meanwhile takes that over.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "member.h"
#include "request.h"

/* How long an attempt waits after one that brought nothing. */
#define PAUSE (ZKL_SECOND / 10)

/* --- life ----------------------------------------------------------------------------------- */

void zkl_member_unref(struct zkl_member *member) {
    assert(member->references > 0);
    if (--member->references > 0) return;
    free(member->path);
    free(member->data);
    free(member);
}

/* What the node costs in the server's list of the session's ephemerals. */
static size_t cost(const struct zkl_session *session, const char *path) {
    return session->watches.overhead + strlen(path);
}

static void post(struct zkl_member *member) {
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

static void change(struct zkl_member *member, enum zkl_member_state state) {
    if (member->state == state) return;
    bool leaves = state == ZKL_MEMBER_LEAVING || member->state == ZKL_MEMBER_LEAVING;
    member->state = state;
    if (!leaves) post(member);
    if (state != ZKL_MEMBER_JOINING) answer_join(member);
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
    member->unseen = true;
    zkl_call_create(call, member->path, NULL, member->data, ZKL_EPHEMERAL);
    read_node(member);
}

static void set_data(struct zkl_member *member) {
    struct call *call = call_for(member, CALL_MEMBER_SET);
    if (call) zkl_call_set(call, member->path, NULL, member->data, -1);
}

/* Perhaps a stranger made the node since it was seen as ours: then it is that one's. */
static void remove_node(struct zkl_member *member) {
    struct call *call = call_for(member, CALL_MEMBER_REMOVE);
    if (call) zkl_call_delete(call, member->path, NULL, -1);
}

static void start(struct zkl_member *member) {
    struct zkl_session *session = member->session;
    bool may = session->state == ZKL_SESSION_CONNECTED && !member->calls;
    if (!may || session->now < member->act_at) return;
    member->act_at = ZKL_NEVER;
    switch (member->state) {
    case ZKL_MEMBER_JOINING: attempt(member); break;
    case ZKL_MEMBER_JOINED: read_node(member); break;
    case ZKL_MEMBER_LEAVING:
        if (member->ours) remove_node(member);
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
    member->ours = false;
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

/* Data of ours that differ are those of a member that left: its removal was lost. */
static void see_ours(struct zkl_member *member, bool other_data) {
    bool joining = member->state == ZKL_MEMBER_JOINING;
    member->ours = true;
    if (joining && other_data) set_data(member);
    else if (joining) change(member, ZKL_MEMBER_JOINED);
    else if (member->state == ZKL_MEMBER_LEAVING) act_after(member, 0);
}

static void see(struct zkl_member *member, uint64_t owner, bool other_data) {
    struct zkl_session *session = member->session;
    member->unseen = false;
    member->refusal = ZKL_OK;
    if (owner == session->common.session) see_ours(member, other_data);
    else if (member->state == ZKL_MEMBER_LEAVING) be_gone(member);
    else if (is_earlier(session, owner)) change(member, ZKL_MEMBER_JOINING);
    else give_up(member, ZKL_CONFLICT, ZKL_ERROR_NODE_EXISTS);
    check_later(member);
}

static void see_nothing(struct zkl_member *member) {
    bool at_once = member->state == ZKL_MEMBER_JOINED || (member->parents && !member->made_parents);
    member->unseen = false;
    if (member->state == ZKL_MEMBER_LEAVING) be_gone(member);
    else if (member->refusal != ZKL_OK && member->state == ZKL_MEMBER_JOINING)
        give_up(member, member->refusal, member->refused);
    else {
        member->ours = false;
        change(member, ZKL_MEMBER_JOINING);
        act_after(member, at_once ? 0 : PAUSE);
    }
}

static void answer_get(struct zkl_member *member, const struct answer *answer) {
    const char *data = member->data;
    if (answer->reply == ZKL_UNKNOWN) act_after(member, PAUSE);
    else if (answer->reply == ZKL_DONE)
        see(member, answer->stat->owner, !zkl_answer_has(answer, data, strlen(data)));
    else if (answer->reply == ZKL_ABSENT) see_nothing(member);
    else look(member, CALL_MEMBER_EXISTS, ZKL_RPC_EXISTS);
}

/* A server from 3.8.4 on hides whose a node is: ours may be read, so it is a stranger's. */
static void answer_exists(struct zkl_member *member, const struct answer *answer) {
    if (answer->reply == ZKL_DONE) see(member, answer->stat->owner, false);
    else if (answer->reply == ZKL_ABSENT) see_nothing(member);
    else if (answer->rc == ZKL_ERROR_NO_AUTH) see(member, 0, false);
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

/* The event of the own write may have used up the watch. */
static void answer_set(struct zkl_member *member, const struct answer *answer) {
    if (answer->reply == ZKL_DONE && member->state == ZKL_MEMBER_JOINING)
        change(member, ZKL_MEMBER_JOINED);
    act_after(member, answer->reply == ZKL_DONE ? 0 : PAUSE);
}

static void answer_remove(struct zkl_member *member, const struct answer *answer) {
    assert(member->state == ZKL_MEMBER_LEAVING);
    if (answer->reply == ZKL_UNKNOWN) act_after(member, PAUSE);
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
    if (event == ZKL_NODE_DELETED) member->ours = false;
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

static void expire(struct zkl_member *member, enum zkl_code refusal) {
    member->ours = member->unseen = false;
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
    member->unseen = true;
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

static void leave(struct zkl_member *member) {
    if (member->state == ZKL_MEMBER_ENDED) return;
    change(member, ZKL_MEMBER_LEAVING);
    if (!member->ours && !member->unseen) be_gone(member);
    else if (!member->calls) act_after(member, 0);
    start(member);
}

void zkl_member_drop(zkl_member *member) {
    leave(member);
    unpost(member);
    zkl_member_unref(member);
}
