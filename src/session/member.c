/*
 * member.c - an attempt to join is a create and a get with a watch, in one flight, and the get
 * decides. A node of this ZooKeeper session is ours. For a node of an earlier ZooKeeper session of
 * ours the member waits until it goes. Any other node is a conflict. If a node may not be read, an
 * exists shows its owner.
 *
 * When the watch tells that the own node is gone, the node is made again; after another client's
 * write it is read. As a server may keep an event back (watcher.c), it is also read once a session
 * timeout.
 *
 * Any client may use the name. So the node is written to, and removed, only while it is known as
 * ours, which is until the connection is cut, an event comes, or a write has no answer. Then the
 * member gets it first. No request of ZooKeeper has a condition on the czxid
 * (docs/design/not-prevented.md).
 *
 * The user's newest data are written as soon as they can be, or the node is made with them. A set
 * is answered without waiting for later sets.
 *
 * A create whose reply was lost may be carried out up to a session timeout later. Until then the
 * member looks again, even after it left, or a new member of the path does.
 */
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "member.h"
#include "request.h"
#include "room.h"

/* --- life ----------------------------------------------------------------------------------- */

static void destroy(struct asker *asker) {
    struct zkl_member *member = (struct zkl_member *)asker;
    free(member->path);
    free(member->data);
    free(member->next_data);
    free(member);
}

/* Bytes in the server's list of the session's ephemerals. */
static size_t cost(const struct zkl_session *session, const char *path) {
    return session->watches.overhead + strlen(path);
}

static const struct notice_kind news = {ZKL_EVENT_MEMBER, ZKL_NOTICE_OFFSET(struct follower, news),
                                        NULL};

void zkl_member_post_news(struct zkl_member *member) {
    member->changes++;
    if (!member->join) zkl_events_post(member->base.session, &member->base.news, &news);
}

static void answer_join(struct zkl_member *member) {
    struct zkl_request *request = member->join;
    enum zkl_code code = member->state == ZKL_MEMBER_JOINED ? ZKL_OK : member->code;
    if (request) zkl_request_finish(request, code, member->error);
}

/* Ends the sets of data up to that number, and drops ended sets. */
static void answer_sets(struct zkl_member *member, uint64_t number, enum zkl_code code, int error) {
    struct zkl_request **link = &member->sets, *set;
    while ((set = *link)) {
        if (set->data_number <= number) zkl_request_finish(set, code, error);
        if (!zkl_request_done(set)) {
            link = &set->next_set;
            continue;
        }
        *link = set->next_set;
        zkl_request_unref(set);
    }
}

/* The node got `data`, or they were refused. */
void zkl_member_settle(struct zkl_member *member, enum zkl_code code, int error) {
    member->settled_number = member->data_number;
    answer_sets(member, member->settled_number, code, error);
}

static enum zkl_code end_of(const struct zkl_member *member) {
    return member->code == ZKL_OK ? ZKL_CLOSED : member->code;
}

void zkl_member_change_state(struct zkl_member *member, enum zkl_member_state state) {
    if (member->state == state) return;
    bool leaves = state == ZKL_MEMBER_LEAVING || member->state == ZKL_MEMBER_LEAVING;
    bool over = state == ZKL_MEMBER_LEAVING || state == ZKL_MEMBER_ENDED;
    member->state = state;
    if (!leaves) zkl_member_post_news(member);
    if (state != ZKL_MEMBER_JOINING) answer_join(member);
    if (over) answer_sets(member, member->newest_number, end_of(member), member->error);
}

/* The user is told the first reason. */
void zkl_member_note_reason(struct zkl_member *member, enum zkl_code code, int error) {
    if (member->code != ZKL_OK) return;
    member->code = code;
    member->error = error;
}

void zkl_member_end(struct zkl_member *member, enum zkl_code code, int error) {
    if (member->state == ZKL_MEMBER_ENDED) return;
    struct zkl_session *session = member->base.session;
    zkl_member_note_reason(member, code, error);
    member->act_at = ZKL_NEVER;
    zkl_member_change_state(member, ZKL_MEMBER_ENDED);
    zkl_follower_unlist(&member->base);
    session->node_bytes -= cost(session, member->path);
    zkl_watches_unpin(session, member->watch);
    member->watch = NULL;
    zkl_asker_unref(&member->base.asker);
}

/* --- requests ------------------------------------------------------------------------------- */

void zkl_member_act_after(struct zkl_member *member, zkl_time pause) {
    zkl_time due = member->base.session->now + pause;
    if (member->act_at <= due) return;
    member->act_at = due;
    zkl_session_tick_by(member->base.session, due);
}

/* In case no event comes, or a refusal was taken back. */
void zkl_member_check_later(struct zkl_member *member) {
    zkl_member_act_after(member, member->base.session->common.clock.timeout);
}

/* NULL: out of memory; the member tries again. */
static struct call *new_call(struct zkl_member *member, enum member_call kind) {
    struct call *call =
        zkl_call_new(member->base.session, &zkl_member_calls[kind], &member->base.asker);
    if (!call) {
        zkl_member_act_after(member, MEMBER_PAUSE);
        return NULL;
    }
    member->asked_at = member->base.session->now;
    return call;
}

static void create_parent(void *context, const char *node) {
    struct zkl_member *member = context;
    struct call *call = new_call(member, MEMBER_PARENT);
    if (call) zkl_call_create_parent(call, node);
}

void zkl_member_read(struct zkl_member *member, enum member_call kind, enum zkl_rpc_kind rpc) {
    struct call *call = new_call(member, kind);
    if (call) zkl_call_set_pinned_watch(call, rpc, member->watch);
}

static void read_node(struct zkl_member *member) {
    zkl_member_read(member, MEMBER_GET, ZKL_RPC_GET);
}

static void attempt(struct zkl_member *member) {
    bool missing = member->parents == MEMBER_PARENTS_MISSING ||
                   member->parents == MEMBER_PARENTS_MISSING_AGAIN;
    member->parents = missing ? MEMBER_PARENTS_MADE : MEMBER_PARENTS_THERE;
    member->refusal = ZKL_OK;
    if (missing && !zkl_path_each_parent(member->path, create_parent, member))
        zkl_member_act_after(member, MEMBER_PAUSE);
    struct call *call = new_call(member, MEMBER_CREATE);
    if (!call) return;
    member->node = MEMBER_NODE_UNSEEN;
    zkl_call_create(call, member->path, NULL, member->data, ZKL_EPHEMERAL);
    read_node(member);
}

static void write_data(struct zkl_member *member) {
    struct call *call = new_call(member, MEMBER_SET);
    if (call) zkl_call_set(call, member->path, NULL, member->data, member->version);
}

static void remove_node(struct zkl_member *member) {
    struct call *call = new_call(member, MEMBER_REMOVE);
    if (call) zkl_call_delete(call, member->path, NULL, member->version);
}

/* To be called while no request that refers to the old data is out. */
static void take_newest(struct zkl_member *member) {
    if (!member->next_data) return;
    free(member->data);
    member->data = member->next_data;
    member->next_data = NULL;
    member->data_number = member->newest_number;
}

/* The node is not known as ours until an answer shows it again. */
void zkl_member_lose_sight(struct zkl_member *member) {
    if (member->node == MEMBER_NODE_OURS) member->node = MEMBER_NODE_UNSEEN;
}

void zkl_member_start(struct follower *follower) {
    struct zkl_member *member = (struct zkl_member *)follower;
    if (!zkl_follower_may_ask(follower) || follower->session->now < member->act_at) return;
    bool ours = member->node == MEMBER_NODE_OURS;
    member->act_at = ZKL_NEVER;
    zkl_member_lose_sight(member);
    take_newest(member);
    switch (member->state) {
    case ZKL_MEMBER_JOINING:
        if (ours) write_data(member);
        else attempt(member);
        break;
    case ZKL_MEMBER_JOINED:
        if (ours && member->settled_number < member->data_number) write_data(member);
        else read_node(member);
        break;
    case ZKL_MEMBER_LEAVING:
        if (ours) remove_node(member);
        else read_node(member);
        break;
    case ZKL_MEMBER_ENDED: break;
    }
}

/* Perhaps it is gone only for now, because the answer may be as old as its request. */
void zkl_member_note_absence(struct zkl_member *member) {
    zkl_time now = member->base.session->now, doubt_until = member->doubt_until;
    member->node = MEMBER_NODE_ABSENT;
    if (member->asked_at >= doubt_until) zkl_member_end(member, ZKL_RELEASED, 0);
    else zkl_member_act_after(member, now < doubt_until ? doubt_until - now : 0);
}

/* A member of that path, even if it leaves. */
struct zkl_member *zkl_member_find(const struct zkl_session *session, const char *path) {
    struct follower *each = session->followers[FOLLOWER_MEMBER];
    while (each && strcmp(((struct zkl_member *)each)->path, path) != 0) each = each->next;
    return (struct zkl_member *)each;
}

/* --- the ways in ---------------------------------------------------------------------------- */

static bool has_room(struct zkl_session *session, const char *path) {
    size_t watched = zkl_watches_need(&session->watches, path);
    return zkl_room_make_for_watches(session, ROOM_OF_WATCHERS, watched) &&
           zkl_room_make_for_nodes(session, cost(session, path));
}

static zkl_time due(const struct follower *follower) {
    return ((const struct zkl_member *)follower)->act_at;
}

static void end(struct follower *follower) {
    zkl_member_end((struct zkl_member *)follower, ZKL_CLOSED, 0);
}

static const struct follower_class class = {FOLLOWER_MEMBER,  zkl_member_start,  due,
                                            zkl_member_event, zkl_member_expire, end};

/* NULL: out of memory. */
static struct zkl_member *new_member(struct zkl_session *session, const char *path,
                                     const char *data) {
    struct zkl_member *member = calloc(1, sizeof *member);
    if (!member) return NULL;
    zkl_follower_init(&member->base, session, &class, destroy);
    member->path = strdup(path);
    member->data = strdup(data);
    bool enough = member->path && member->data;
    member->watch = enough ? zkl_watches_pin(&session->watches, path) : NULL;
    if (!member->watch) {
        zkl_asker_unref(&member->base.asker);
        return NULL;
    }
    return member;
}

static void begin(struct zkl_member *member, struct zkl_request *request) {
    struct zkl_session *session = member->base.session;
    zkl_asker_ref(&member->base.asker); /* for the list */
    zkl_follower_enlist(&member->base);
    session->node_bytes += cost(session, member->path);
    member->join = request;
    request->member = member;
    zkl_member_start(&member->base);
}

/* Nodes of the old member are the new member's to find and to remove. */
static void take_over(struct zkl_member *member, struct zkl_member *previous) {
    member->doubt_until = previous->doubt_until;
    member->node = MEMBER_NODE_UNSEEN;
    zkl_member_end(previous, ZKL_RELEASED, 0);
}

static enum zkl_code refusal_of(struct zkl_session *session, const char *path,
                                const struct zkl_member *previous) {
    enum zkl_code code = zkl_session_refusal(session);
    if (code == ZKL_OK && previous && previous->state != ZKL_MEMBER_LEAVING) code = ZKL_CONFLICT;
    if (code == ZKL_OK && !previous && !has_room(session, path)) code = ZKL_TOO_MANY;
    return code;
}

static void join(struct zkl_request *request, const char *path, const char *data) {
    struct zkl_session *session = request->session;
    struct zkl_member *previous = zkl_member_find(session, path);
    enum zkl_code code = refusal_of(session, path, previous);
    struct zkl_member *member = code == ZKL_OK ? new_member(session, path, data) : NULL;
    if (!member) {
        zkl_request_finish(request, code == ZKL_OK ? ZKL_NO_MEMORY : code, 0);
        return;
    }
    if (previous) take_over(member, previous);
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
    if (member) member->join = NULL;
    return member;
}

uint64_t zkl_member_id(const zkl_member *member) {
    return member->base.asker.id;
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
    answer_sets(member, member->settled_number, ZKL_OK, 0); /* drops ended sets */
    free(member->next_data);
    member->next_data = data;
    request->data_number = ++member->newest_number;
    struct zkl_request **end_of_sets = &member->sets;
    while (*end_of_sets) end_of_sets = &(*end_of_sets)->next_set;
    *end_of_sets = request;
    zkl_request_ref(request);
    zkl_member_act_after(member, 0);
    zkl_member_start(&member->base);
}

zkl_request *zkl_member_set(zkl_member *member, const char *data, zkl_time timeout) {
    struct zkl_request *request = zkl_request_new(member->base.session, REQUEST_SET, timeout);
    bool over = member->state == ZKL_MEMBER_LEAVING || member->state == ZKL_MEMBER_ENDED;
    char *copy = request && !over ? strdup(data) : NULL;
    if (copy) set_data(member, request, copy);
    else if (request) zkl_request_finish(request, over ? end_of(member) : ZKL_NO_MEMORY, 0);
    return request;
}

static void leave(struct zkl_member *member) {
    if (member->state == ZKL_MEMBER_ENDED) return;
    zkl_member_change_state(member, ZKL_MEMBER_LEAVING);
    if (member->node == MEMBER_NODE_ABSENT) zkl_member_note_absence(member);
    else if (!member->base.asker.calls) zkl_member_act_after(member, 0);
    zkl_member_start(&member->base);
}

void zkl_member_drop(zkl_member *member) {
    leave(member);
    zkl_events_remove(member->base.session, &member->base.news);
    zkl_asker_unref(&member->base.asker);
}
