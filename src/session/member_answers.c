/*
 * member_answers.c - answers about members' nodes.
 */
#include <assert.h>
#include <string.h>

#include "internal.h"
#include "member.h"
#include "request.h"
#include "stake_feed.h"

static bool is_earlier(const struct zkl_session *session, uint64_t id) {
    size_t i = 0;
    while (i < EARLIER_SESSIONS && session->earlier_sessions[i] != id) i++;
    return id != 0 && i < EARLIER_SESSIONS;
}

/* Its user hears the end, but a create may still land. */
static void give_up(struct zkl_member *member, enum zkl_code code, int error) {
    zkl_member_note_reason(member, code, error);
    if (member->asked_at < member->doubt_until) {
        zkl_member_post_news(member);
        zkl_member_change_state(member, ZKL_MEMBER_LEAVING);
    }
    zkl_member_note_absence(member);
}

/* Once the member has joined, data that another client wrote to its node stay. */
static void see_ours(struct zkl_member *member, const struct zkl_stat *stat, bool other_data) {
    bool anew = member->czxid != stat->czxid;
    member->node = MEMBER_NODE_OURS;
    member->czxid = stat->czxid;
    member->version = stat->version;
    if (member->state == ZKL_MEMBER_JOINED && anew)
        zkl_member_change_state(member, ZKL_MEMBER_JOINING);
    bool leaving = member->state == ZKL_MEMBER_LEAVING;
    bool unsettled =
        member->state == ZKL_MEMBER_JOINING || member->settled_number < member->data_number;
    if (leaving || (unsettled && other_data)) {
        zkl_member_act_after(member, 0);
    } else if (unsettled) {
        zkl_member_settle(member, ZKL_OK, 0);
        zkl_member_change_state(member, ZKL_MEMBER_JOINED);
    }
}

/* The owner alone proves nothing, as a lock's node of this session may have the same path. */
static bool is_ours(const struct zkl_member *member, uint64_t owner) {
    return owner == member->base.session->common.session &&
           !zkl_stake_find(member->base.session, member->path);
}

static void see_stranger(struct zkl_member *member, uint64_t owner) {
    member->node = MEMBER_NODE_ABSENT;
    if (member->state == ZKL_MEMBER_LEAVING) zkl_member_note_absence(member);
    else if (is_earlier(member->base.session, owner))
        zkl_member_change_state(member, ZKL_MEMBER_JOINING);
    else give_up(member, ZKL_CONFLICT, ZKL_ERROR_NODE_EXISTS);
}

static void see(struct zkl_member *member, const struct zkl_stat *stat, bool other_data) {
    member->refusal = ZKL_OK;
    if (is_ours(member, stat->owner)) see_ours(member, stat, other_data);
    else see_stranger(member, stat->owner);
    zkl_member_check_later(member);
}

static void see_nothing(struct zkl_member *member) {
    bool at_once = member->state == ZKL_MEMBER_JOINED || member->parents == MEMBER_PARENTS_MISSING;
    member->node = MEMBER_NODE_ABSENT;
    if (member->state == ZKL_MEMBER_LEAVING) zkl_member_note_absence(member);
    else if (member->refusal != ZKL_OK && member->state == ZKL_MEMBER_JOINING)
        give_up(member, member->refusal, member->refusal_error);
    else {
        zkl_member_change_state(member, ZKL_MEMBER_JOINING);
        zkl_member_act_after(member, at_once ? 0 : MEMBER_PAUSE);
    }
}

static void answer_get(struct zkl_member *member, const struct answer *answer) {
    const char *data = member->data;
    if (answer->reply == ZKL_UNKNOWN) zkl_member_act_after(member, MEMBER_PAUSE);
    else if (answer->reply == ZKL_DONE)
        see(member, answer->stat, !zkl_answer_has(answer, data, strlen(data)));
    else if (answer->reply == ZKL_ABSENT) see_nothing(member);
    else zkl_member_read(member, MEMBER_EXISTS, ZKL_RPC_EXISTS);
}

/*
 * An exists does not show the data, so unsettled data are written again. From 3.8.4 on servers hide
 * the owner of a node that we may not read. We may read our own, so such a node is a stranger's.
 */
static void answer_exists(struct zkl_member *member, const struct answer *answer) {
    static const struct zkl_stat strangers = {.owner = 0};
    if (answer->reply == ZKL_DONE)
        see(member, answer->stat, member->settled_number < member->data_number);
    else if (answer->reply == ZKL_ABSENT) see_nothing(member);
    else if (answer->rc == ZKL_ERROR_NO_AUTH) see(member, &strangers, false);
    else zkl_member_act_after(member, MEMBER_PAUSE);
}

/* The lost create may still be carried out. The path's next member must look for its node. */
static void expect_late_create(const struct zkl_member *member, zkl_time now) {
    struct zkl_member *next = zkl_member_find(member->base.session, member->path);
    if (next) next->doubt_until = now + member->base.session->common.clock.timeout;
}

static void note_refusal(struct zkl_member *member, const struct answer *answer) {
    member->refusal = answer->why;
    member->refusal_error = answer->rc;
}

static void answer_create(struct zkl_member *member, const struct answer *answer) {
    if (answer->reply == ZKL_ABSENT)
        member->parents = member->parents == MEMBER_PARENTS_MADE ? MEMBER_PARENTS_MISSING_AGAIN
                                                                 : MEMBER_PARENTS_MISSING;
    else if (answer->reply == ZKL_REFUSED && answer->rc != ZKL_ERROR_NODE_EXISTS)
        note_refusal(member, answer);
}

static void answer_parent(struct zkl_member *member, const struct call *call,
                          const struct answer *answer) {
    bool refused = answer->reply == ZKL_REFUSED || answer->reply == ZKL_ABSENT;
    if (zkl_call_take_parent_answer(call, answer) && refused) note_refusal(member, answer);
}

/* Another write came first, or there is no answer. */
static bool is_in_doubt(const struct answer *answer) {
    return answer->reply == ZKL_UNKNOWN || answer->rc == ZKL_ERROR_BAD_VERSION;
}

/* The own write fired the watch, so the node is read again at once, with a new watch. */
static void answer_set(struct zkl_member *member, const struct answer *answer) {
    if (answer->reply == ZKL_DONE) {
        see(member, answer->stat, false);
        zkl_member_act_after(member, 0);
    } else if (answer->reply == ZKL_ABSENT) {
        see_nothing(member);
    } else if (is_in_doubt(answer)) {
        zkl_member_act_after(member, MEMBER_PAUSE);
    } else {
        zkl_member_settle(member, answer->why, answer->rc);
        if (member->state == ZKL_MEMBER_LEAVING) zkl_member_act_after(member, 0);
        else zkl_member_check_later(member);
    }
}

static void answer_remove(struct zkl_member *member, const struct answer *answer) {
    assert(member->state == ZKL_MEMBER_LEAVING);
    if (is_in_doubt(answer)) zkl_member_act_after(member, MEMBER_PAUSE);
    else if (answer->reply == ZKL_REFUSED) zkl_member_check_later(member);
    else zkl_member_note_absence(member);
}

static void (*const handlers[MEMBER_CALLS])(struct zkl_member *, const struct answer *) = {
    [MEMBER_CREATE] = answer_create, [MEMBER_GET] = answer_get,
    [MEMBER_EXISTS] = answer_exists, [MEMBER_SET] = answer_set,
    [MEMBER_REMOVE] = answer_remove,
};

static void answer_member(const struct call *call, const struct answer *answer) {
    struct zkl_member *member = (struct zkl_member *)call->asker;
    enum member_call kind = (enum member_call)(call->kind - zkl_member_calls);
    bool is_lost = answer->reply == ZKL_UNKNOWN && !call->unsent_error;
    if (kind == MEMBER_CREATE && is_lost) expect_late_create(member, answer->now);
    if (member->state == ZKL_MEMBER_ENDED) return;
    if (kind == MEMBER_PARENT) answer_parent(member, call, answer);
    else handlers[kind](member, answer);
    zkl_member_start(&member->base);
}

const struct call_kind zkl_member_calls[MEMBER_CALLS] = {
    [MEMBER_PARENT] = {.answer = answer_member, .makes_parent = true},
    [MEMBER_CREATE] = {.answer = answer_member}, /* the get behind it decides */
    [MEMBER_GET] = {.answer = answer_member, .is_sound = zkl_answer_is_node},
    [MEMBER_EXISTS] = {.answer = answer_member, .is_sound = zkl_answer_is_stat},
    [MEMBER_SET] = {.answer = answer_member, .is_sound = zkl_answer_is_version},
    [MEMBER_REMOVE] = {.answer = answer_member},
};

void zkl_member_event(struct follower *follower, enum zkl_node_event event, const char *node) {
    struct zkl_member *member = (struct zkl_member *)follower;
    if (event == ZKL_NODE_CHILDREN || strcmp(member->path, node) != 0) return;
    zkl_member_lose_sight(member);
    if (event == ZKL_NODE_DELETED && member->state == ZKL_MEMBER_JOINED)
        zkl_member_change_state(member, ZKL_MEMBER_JOINING);
    if (member->state == ZKL_MEMBER_LEAVING) return; /* the answers decide */
    zkl_member_act_after(member, 0);
    zkl_member_start(follower);
}

void zkl_member_suspend_all(struct zkl_session *session) {
    for (struct follower *each = session->followers[FOLLOWER_MEMBER]; each; each = each->next)
        zkl_member_lose_sight((struct zkl_member *)each);
}

void zkl_member_expire(struct follower *follower, enum zkl_code refusal) {
    struct zkl_member *member = (struct zkl_member *)follower;
    member->node = MEMBER_NODE_ABSENT;
    member->doubt_until = 0;
    if (member->state == ZKL_MEMBER_LEAVING) zkl_member_end(member, ZKL_RELEASED, 0);
    else if (refusal != ZKL_OK) zkl_member_end(member, refusal, 0);
    else {
        zkl_member_change_state(member, ZKL_MEMBER_JOINING);
        member->act_at = 0;
    }
}
