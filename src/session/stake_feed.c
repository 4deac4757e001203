/* stake_feed.c - feeds replies and watch events to the claim machine. */
#include <string.h>

#include "children.h"
#include "condition.h"
#include "internal.h"
#include "multi.h"
#include "orphans.h"
#include "stake_actions.h"
#include "stake_feed.h"

/* --- replies --------------------------------------------------------------------------------- */

static bool is_call(const struct call *call, enum stake_call kind) {
    return call->kind == &zkl_stake_calls[kind];
}

static int64_t czxid_of(const struct answer *answer) {
    return answer->stat ? answer->stat->czxid : 0;
}

static void feed_list(struct stake *stake, enum zkl_reply reply, const struct answer *answer) {
    struct zkl_claim *claim = &stake->claim;
    if (reply == ZKL_REFUSED) stake->error = answer->rc;
    zkl_stake_perform(stake, zkl_claim_listed(claim, reply, answer->why, answer->now));
}

/*
 * Feeds the list to each claim that asked or would ask. Replies and events are in order, so a reply
 * after an event, or after a create's reply, shows that change.
 */
static void answer_list(const struct call *call, const struct answer *answer) {
    struct stake *asker = zkl_call_stake(call);
    struct path *path = call->listed;
    enum zkl_reply reply = answer->reply;
    if (!path) { /* never sent */
        feed_list(asker, reply, answer);
        return;
    }
    path->lists_out--;
    zkl_path_mark_idle(call->session, path); /* if it is not used otherwise */
    if (reply == ZKL_DONE && !zkl_line_replace(&path->line, answer->names, (size_t)answer->count))
        reply = ZKL_UNKNOWN;
    if (call->rpc.watch) zkl_path_answer_children(call->session, path, reply);
    if (reply == ZKL_DONE) zkl_orphans_find(call->session, path);
    for (struct zkl_claim *claim = path->line.claims, *next; claim; claim = next) {
        if (zkl_claims_wait_from(claim)) break;
        next = claim->next;
        bool own = claim == &asker->claim && !call->rpc.watch;
        bool asked =
            own || claim->state == ZKL_LIST || claim->looking_ahead || claim == path->line.keeper;
        if (asked) feed_list((struct stake *)claim, reply, answer);
    }
}

static zkl_actions answer_parent(const struct call *call, const struct answer *answer) {
    if (zkl_call_take_parent_answer(call, answer))
        zkl_claim_parents(&zkl_call_stake(call)->claim, answer->reply, answer->why);
    return 0;
}

static const char *last_segment(const char *node) {
    const char *slash = node ? strrchr(node, '/') : NULL;
    return slash ? slash + 1 : "";
}

/* The lock path above the node; NULL: not in use. */
static struct path *path_of(struct zkl_session *session, const char *node) {
    const char *name = last_segment(node);
    return *name ? zkl_path_find(session, node, (size_t)(name - 1 - node)) : NULL;
}

static zkl_actions answer_downgrade(const struct call *call, const struct answer *answer) {
    struct stake *stake = zkl_call_stake(call);
    enum zkl_reply reply = answer->rc == ZKL_ERROR_NODE_EXISTS ? ZKL_DONE : answer->reply;
    bool certain = answer->rc == ZKL_ERROR_UNIMPLEMENTED; /* nor did an earlier downgrade */
    if (certain) stake->claim.refusal = ZKL_OK;
    if (answer->rc != ZKL_ERROR_BAD_VERSION)
        return zkl_claim_downgraded(&stake->claim, reply, answer->why);
    zkl_stake_reread(stake);
    return 0;
}

static zkl_actions answer_mark(const struct call *call, const struct answer *answer) {
    struct stake *stake = zkl_call_stake(call);
    if (answer->rc != ZKL_ERROR_BAD_VERSION) return zkl_claim_marked(&stake->claim, answer->reply);
    zkl_stake_reread(stake);
    return 0;
}

static zkl_actions answer_reread(const struct call *call, const struct answer *answer) {
    struct stake *stake = zkl_call_stake(call);
    bool downgrades = stake->claim.state == ZKL_DOWNGRADE;
    zkl_stake_take_data(stake, answer);
    bool too_often = answer->reply == ZKL_DONE && !zkl_claim_spend_round(&stake->claim);
    enum zkl_reply reply = too_often ? ZKL_UNKNOWN : answer->reply;
    if (reply != ZKL_DONE)
        return downgrades ? zkl_claim_downgraded(&stake->claim, reply, answer->why)
                          : zkl_claim_marked(&stake->claim, reply);
    if (downgrades) zkl_stake_send_downgrade(stake);
    else zkl_stake_send_mark(stake);
    return 0;
}

/* A list that is out was sent after this create, and will show its node. */
static zkl_actions answer_create(const struct call *call, const struct answer *answer) {
    struct stake *stake = zkl_call_stake(call);
    struct zkl_claim *claim = &stake->claim;
    int64_t czxid = czxid_of(answer);
    if (zkl_kind_is_fixed(claim->kind)) {
        if (answer->reply == ZKL_DONE) return zkl_claim_fixed_created(claim, czxid, answer->now);
        if (answer->rc == ZKL_ERROR_NODE_EXISTS) return zkl_claim_fixed_exists(claim);
    }
    zkl_actions actions =
        zkl_claim_created(claim, answer->reply, answer->why, last_segment(answer->text), czxid);
    bool unlisted = claim->state == ZKL_LIST && stake->path->lists_out == 0;
    return unlisted ? actions | ZKL_DO_LIST : actions;
}

static bool says_held(const struct answer *answer) {
    return zkl_data_says_held(answer->text, zkl_answer_size(answer));
}

static bool is_marking(const struct stake *stake) {
    for (const struct call *call = stake->session->calls; call; call = call->next) {
        bool marks = is_call(call, STAKE_MARK) || is_call(call, STAKE_REREAD);
        if (marks && call->asker == &stake->asker) return true;
    }
    return false;
}

static zkl_actions see_own(struct stake *stake, const struct answer *answer) {
    const struct zkl_stat *stat = answer->stat;
    bool fixed = zkl_kind_is_fixed(stake->claim.kind);
    if (!fixed) zkl_stake_take_data(stake, answer);
    uint64_t owner = stat ? stat->owner : 0;
    zkl_actions actions = zkl_claim_got_own(&stake->claim, answer->reply, answer->why,
                                            czxid_of(answer), owner, answer->now);
    if (fixed) zkl_stake_take_data(stake, answer); /* now the claim knows its node */
    if (stat && fixed) zkl_orphans_find_fixed(stake->session, stake->path, stat);
    if (stat && stat->version > 0) actions |= zkl_claim_signalled(&stake->claim);
    if (stat && stake->claim.node.says_held && !says_held(answer) && !is_marking(stake))
        actions |= zkl_claim_mark_overwritten(&stake->claim);
    return actions;
}

static zkl_actions answer_own(const struct call *call, const struct answer *answer) {
    return see_own(zkl_call_stake(call), answer);
}

/* A semaphore's mark may have come before this get. */
static zkl_actions answer_ahead(const struct call *call, const struct answer *answer) {
    struct zkl_claim *claim = &zkl_call_stake(call)->claim;
    const struct zkl_stat *stat = answer->stat;
    bool marked = answer->reply == ZKL_DONE && stat->version > 0;
    zkl_actions actions =
        zkl_claim_got_ahead(claim, call->contender, answer->reply, answer->why, answer->now);
    if (answer->reply == ZKL_DONE && call->contender->reuse == ZKL_MAY_BE_KEPT && says_held(answer))
        actions |= zkl_claim_ahead_is_held(claim, call->contender);
    if (marked && call->contender->kind == ZKL_PERMIT && claim->kind == ZKL_PERMIT)
        actions |= zkl_claim_ahead_marked(claim, call->contender, stat->mzxid);
    return actions;
}

static zkl_actions answer_sync(const struct call *call, const struct answer *answer) {
    return zkl_claim_synced(&zkl_call_stake(call)->claim, answer->reply, answer->now);
}

static zkl_actions answer_rank(const struct call *call, const struct answer *answer) {
    return zkl_claim_ranked(&zkl_call_stake(call)->claim, call->contender, answer->reply,
                            czxid_of(answer), answer->now);
}

static zkl_actions answer_remove(const struct call *call, const struct answer *answer) {
    return zkl_claim_removed(&zkl_call_stake(call)->claim, answer->reply);
}

struct stake *zkl_stake_find(struct zkl_session *session, const char *node) {
    const char *name = last_segment(node);
    struct path *path = path_of(session, node);
    struct zkl_claim *claim = path ? path->line.claims : NULL;
    for (; claim && !zkl_claims_wait_from(claim); claim = claim->next)
        if (strcmp(claim->node.name, name) == 0) return (struct stake *)claim;
    return NULL;
}

/* The get of a node that was handed on goes to the successor. */
static void answer_heir(const struct call *call, const struct answer *answer) {
    bool reused = zkl_call_stake(call)->claim.reuse != ZKL_ONE_GRANT;
    if (!reused || !is_call(call, STAKE_GET_OWN)) return;
    struct stake *next = zkl_stake_find(call->session, call->node);
    if (next) zkl_stake_perform(next, see_own(next, answer));
}

/* LIST and CREATE_ALL are for several claims. */
static zkl_actions (*const feeds[STAKE_CALLS])(const struct call *, const struct answer *) = {
    [STAKE_PARENT] = answer_parent,
    [STAKE_CREATE] = answer_create,
    [STAKE_WAIT] = zkl_condition_answer_wait,
    [STAKE_SYNC] = answer_sync,
    [STAKE_GET_OWN] = answer_own,
    [STAKE_RANK] = answer_rank,
    [STAKE_DOWNGRADE] = answer_downgrade,
    [STAKE_GET_AHEAD] = answer_ahead,
    [STAKE_FORWARD] = zkl_condition_answer_forward,
    [STAKE_REREAD] = answer_reread,
    [STAKE_MARK] = answer_mark,
    [STAKE_REMOVE] = answer_remove,
};

static void answer_one(const struct call *call, const struct answer *answer) {
    struct stake *stake = zkl_call_stake(call);
    if (stake->claim.state == ZKL_GONE) {
        answer_heir(call, answer);
        return;
    }
    if (answer->reply == ZKL_REFUSED && answer->rc != ZKL_ERROR_NODE_EXISTS)
        stake->error = answer->rc;
    zkl_stake_perform(stake, feeds[call->kind - zkl_stake_calls](call, answer));
}

const struct call_kind zkl_stake_calls[STAKE_CALLS] = {
    [STAKE_PARENT] = {.answer = answer_one, .makes_parent = true},
    [STAKE_CREATE] = {.answer = answer_one, .is_sound = zkl_answer_is_creation},
    [STAKE_CREATE_ALL] = {.answer = zkl_multi_answer_create, .is_sound = zkl_answer_is_transaction},
    [STAKE_WAIT] = {.answer = answer_one, .is_sound = zkl_answer_is_transaction},
    [STAKE_SYNC] = {.answer = answer_one},
    [STAKE_LIST] = {.answer = answer_list, .is_sound = zkl_answer_is_list},
    [STAKE_GET_OWN] = {.answer = answer_one, .is_sound = zkl_answer_is_node},
    [STAKE_RANK] = {.answer = answer_one, .is_sound = zkl_answer_is_node},
    [STAKE_DOWNGRADE] = {.answer = answer_one, .is_sound = zkl_answer_is_transaction},
    [STAKE_GET_AHEAD] = {.answer = answer_one, .is_sound = zkl_answer_is_node},
    [STAKE_FORWARD] = {.answer = answer_one, .is_sound = zkl_answer_is_transaction},
    [STAKE_REREAD] = {.answer = answer_one, .is_sound = zkl_answer_is_node},
    [STAKE_MARK] = {.answer = answer_one, .is_sound = zkl_answer_is_version},
    [STAKE_REMOVE] = {.answer = answer_one},
};

/* --- requests for which there was no memory ------------------------------------------------- */

static void answer_unallocated(struct stake *stake) {
    const struct answer lost = {.reply = ZKL_UNKNOWN, .now = stake->session->now};
    uint32_t unallocated = stake->unallocated_calls;
    stake->unallocated_calls = 0;
    for (int i = 0; i < STAKE_CALLS; i++) {
        const struct call call = {.session = stake->session,
                                  .kind = &zkl_stake_calls[i],
                                  .asker = &stake->asker,
                                  .contender = stake->claim.ahead};
        if (unallocated & UINT32_C(1) << i) call.kind->answer(&call, &lost);
    }
}

/* A stake with a call out is answered once it has none, in the order of its requests. */
void zkl_stake_answer_unallocated(struct zkl_session *session) {
    session->has_unallocated = false;
    for (struct stake *stake = session->stakes; stake; stake = session->next_to_feed) {
        session->next_to_feed = stake->next;
        if (!stake->unallocated_calls) continue;
        if (stake->asker.calls > 0) {
            session->has_unallocated = true;
            continue;
        }
        zkl_stake_ref(stake);
        answer_unallocated(stake);
        zkl_stake_unref(stake);
    }
}

/* --- events ----------------------------------------------------------------------------------- */

static zkl_actions feed_own_event(struct stake *stake, enum zkl_node_event event) {
    if (event == ZKL_NODE_DELETED) return zkl_claim_own_deleted(&stake->claim);
    return zkl_claim_own_changed(&stake->claim);
}

/* For a node of this session path->hold_ended_at is more exact. */
static void note_ahead_gone(struct stake *stake, const struct zkl_contender *ahead) {
    bool ours = ahead && zkl_line_is_own(&stake->path->line, ahead);
    if (!ours) stake->ahead_gone_at = stake->session->now;
}

static zkl_actions feed_ahead_event(struct stake *stake, struct zkl_contender *ahead,
                                    enum zkl_node_event event, zkl_time now) {
    if (event == ZKL_NODE_DELETED) note_ahead_gone(stake, ahead);
    if (event == ZKL_NODE_DELETED) return zkl_claim_ahead_deleted(&stake->claim, ahead, now);
    return zkl_claim_ahead_changed(&stake->claim, ahead);
}

void zkl_stake_node_absent(struct stake *stake, const char *node) {
    struct zkl_claim *claim = &stake->claim;
    bool named = strcmp(last_segment(node), claim->node.name) == 0;
    if (named && claim->state != ZKL_DOWNGRADE)
        zkl_stake_perform(stake, zkl_claim_own_deleted(claim));
}

static struct zkl_contender *watched_contender(const struct zkl_claim *claim, const char *name) {
    if (claim->ahead && strcmp(claim->ahead->name, name) == 0) return claim->ahead;
    if (claim->lookahead && strcmp(claim->lookahead->name, name) == 0) return claim->lookahead;
    return NULL;
}

void zkl_stake_event(struct zkl_session *session, enum zkl_node_event event, const char *node) {
    const char *name = last_segment(node);
    struct path *path = path_of(session, node);
    zkl_time now = session->now;
    if (!path) return;
    struct zkl_contender *about = zkl_line_find(&path->line, name);
    if (about) zkl_contender_ref(about);
    for (struct zkl_claim *claim = path->line.claims, *next; claim; claim = next) {
        struct stake *stake = (struct stake *)claim;
        struct zkl_contender *ahead;
        if (zkl_claims_wait_from(claim)) break;
        next = claim->next;
        if (strcmp(claim->node.name, name) == 0)
            zkl_stake_perform(stake, feed_own_event(stake, event));
        else if ((ahead = watched_contender(claim, name)))
            zkl_stake_perform(stake, feed_ahead_event(stake, ahead, event, now));
        else if (claim->state == ZKL_WAIT && claim->holders_list)
            zkl_stake_perform(stake, feed_ahead_event(stake, about, event, now));
    }
    zkl_contender_unref(about);
}
