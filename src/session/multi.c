/*
 * multi.c - a multi-lock. A transaction makes its parts' nodes, and one lease is for all. Each part
 * is a stake; core joins the claims in a ring.
 */
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "multi.h"
#include "stake_actions.h"

/* --- the ring --------------------------------------------------------------------------- */

static struct stake *next_part(const struct stake *stake) {
    return (struct stake *)stake->claim.next_part;
}

bool zkl_multi_is_part(const struct stake *stake) {
    return next_part(stake) != stake;
}

static size_t count_parts(const struct stake *stake) {
    size_t count = 1;
    for (const struct stake *part = next_part(stake); part != stake; part = next_part(part))
        count++;
    return count;
}

/* --- the nodes ---------------------------------------------------------------------------- */

void zkl_multi_create(struct stake *stake) {
    size_t count = count_parts(stake);
    struct zkl_op *ops = calloc(count, sizeof *ops);
    struct stake *part = stake;
    for (size_t i = 0; ops && i < count; i++, part = next_part(part)) {
        zkl_stake_prepare_node(part);
        ops[i] = (struct zkl_op){.kind = ZKL_OP_CREATE,
                                 .mode = ZKL_SEQUENTIAL,
                                 .path = zkl_path_join(part->path->text, part->claim.node.name),
                                 .data = part->data,
                                 .size = strlen(part->data)};
    }
    zkl_stake_transact(stake, STAKE_CREATE_ALL, ops, count);
    free(ops);
}

static void feed_create(struct stake *part, const struct answer *answer, const char *node) {
    if (part->claim.state == ZKL_GONE) return;
    if (answer->reply == ZKL_REFUSED) part->error = answer->rc;
    const char *name = node ? strrchr(node, '/') + 1 : "";
    zkl_stake_perform(part, zkl_claim_created(&part->claim, answer->reply, answer->why, name, 0));
}

/*
 * A part that is fed may end, which takes it out of the ring, and cancel other parts, which stay
 * in the ring until they are fed.
 */
void zkl_multi_answer_create(const struct call *call, const struct answer *answer) {
    struct stake *part = zkl_call_stake(call);
    size_t count = count_parts(part);
    zkl_stake_ref(part);
    for (size_t i = 0; i < count; i++) {
        struct stake *next = next_part(part);
        zkl_stake_ref(next);
        feed_create(part, answer, answer->reply == ZKL_DONE ? answer->results[i].created : NULL);
        zkl_stake_unref(part);
        part = next;
    }
    zkl_stake_unref(part);
}

void zkl_multi_retreat(struct stake *stake) {
    for (struct stake *part = next_part(stake); part != stake; part = next_part(part)) {
        bool retreats = part->claim.state == ZKL_RETREAT && part->claim.stalled;
        zkl_time now = part->session->now;
        if (retreats) zkl_stake_perform(part, zkl_claim_resume(&part->claim, now));
    }
}

/* --- all or none ---------------------------------------------------------------------------- */

void zkl_multi_grant(struct stake *stake) {
    struct stake *part = stake;
    do {
        part->part = PART_HELD;
        zkl_stake_give_handle(part);
        part = next_part(part);
    } while (part != stake);
    zkl_hold_apply(stake);
}

/* The ring is searched anew each time, because the end of a part may end more. */
static struct stake *waiting_part(const struct stake *stake) {
    struct stake *part = next_part(stake);
    while (part != stake && !part->claim.wanted) part = next_part(part);
    return part == stake ? NULL : part;
}

void zkl_multi_cancel_others(struct stake *stake) {
    struct stake *part;
    while ((part = waiting_part(stake)))
        zkl_stake_perform(part, zkl_claim_cancel(&part->claim, stake->claim.code));
}

void zkl_multi_release_others(struct stake *stake) {
    struct stake *part;
    if (stake->part != PART_HELD) return;
    stake->part = PART_UNHELD;
    while ((part = zkl_multi_next_held(stake)) != stake) {
        part->part = PART_UNHELD;
        zkl_stake_release_handle(part, part->claim.kind);
    }
}
