/*
 * kept.c - hands kept nodes on, and gives them back before a claim that cannot inherit them
 * contends, or to make room (room.c).
 *
 * The claim in line.keeper may still hold. In state KEPT its node may stay only until a list tells
 * whether others wait. is_kept() means a node that stays for the time that its user asked for.
 */
#include "kept.h"

#include <string.h>

#include "children.h"
#include "internal.h"
#include "stake_actions.h"

static bool is_kept(const struct stake *stake) {
    return zkl_claim_is_kept_for_later(&stake->claim);
}

static zkl_time kept_since(const struct stake *kept) {
    return kept->claim.deadline - kept->claim.keep;
}

struct stake *zkl_kept_longest(const struct zkl_session *session) {
    struct stake *longest = NULL;
    for (struct stake *stake = session->stakes; stake; stake = stake->next) {
        if (is_kept(stake) && (!longest || kept_since(stake) < kept_since(longest)))
            longest = stake;
    }
    return longest;
}

zkl_time zkl_kept_due(const struct zkl_session *session) {
    zkl_time due = ZKL_NEVER;
    for (const struct stake *stake = session->stakes; stake; stake = stake->next)
        if (is_kept(stake)) due = zkl_earlier(due, stake->claim.deadline);
    return due;
}

void zkl_kept_give_back(struct stake *kept) {
    zkl_stake_perform(kept, zkl_claim_cancel(&kept->claim, ZKL_RELEASED));
}

void zkl_kept_offer(const struct path *path) {
    struct stake *kept = (struct stake *)path->line.keeper;
    zkl_stake_perform(kept, zkl_claim_offer_kept(&kept->claim, kept->session->now));
}

void zkl_kept_note_contenders(const struct path *path) {
    struct stake *kept = (struct stake *)path->line.keeper;
    if (kept) zkl_stake_perform(kept, zkl_claim_contended(&kept->claim, kept->session->now));
}

void zkl_kept_event(struct zkl_session *session, enum zkl_node_event event, const char *node) {
    struct path *path = zkl_path_find(session, node, strlen(node));
    if (event != ZKL_NODE_CHILDREN && event != ZKL_NODE_DELETED) return;
    zkl_watches_note_children_fired(&session->watches, node);
    if (!path || !path->children_watch) return;
    zkl_path_unwatch_children(session, path);
    path->line.changed = true;
    zkl_kept_note_contenders(path);
}

void zkl_kept_clear_way(const struct path *path, const struct stake *stake) {
    struct stake *kept = (struct stake *)path->line.keeper;
    if (is_kept(kept) && !zkl_claim_inherits(&stake->claim, &kept->claim)) zkl_kept_give_back(kept);
}
