/*
 * condition.c - waiting in a condition: the stake of a lock is away while another one, the
 * waiter, has a node in the condition's folder. What becomes of them is the core's.
 */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

static struct stake *partner_of(const struct stake *stake) {
    return (struct stake *)stake->claim.partner;
}

/* --- the transactions -------------------------------------------------------------------- */

/* The paths of the ops are the call's from now on. */
static void transact(struct stake *waiter, enum verb verb, struct zkl_op ops[2]) {
    struct call *call = NULL;
    if (ops[0].path && ops[1].path && !waiter->starved)
        call = zkl_call_new(waiter->session, verb, waiter, NULL);
    if (call) {
        zkl_call_transact_own(call, ops, 2);
        return;
    }
    free((char *)ops[0].path);
    free((char *)ops[1].path);
    zkl_stake_starve(waiter, verb);
}

void zkl_condition_create(struct stake *waiter) {
    const struct stake *lock = partner_of(waiter);
    struct zkl_op ops[] = {{.kind = ZKL_OP_CREATE,
                            .mode = ZKL_SEQUENTIAL,
                            .path = zkl_path_join(waiter->path->text, waiter->claim.name),
                            .data = waiter->data,
                            .size = strlen(waiter->data)},
                           {.kind = ZKL_OP_DELETE,
                            .version = -1,
                            .path = zkl_path_join(lock->path->text, lock->claim.name)}};
    transact(waiter, VERB_WAIT, ops);
}

void zkl_condition_pass(struct stake *waiter) {
    const struct zkl_claim *claim = &waiter->claim;
    struct zkl_op ops[] = {{.kind = ZKL_OP_DELETE,
                            .version = -1,
                            .path = zkl_path_join(waiter->path->text, claim->name)},
                           {.kind = ZKL_OP_SET,
                            .path = zkl_path_join(waiter->path->text, claim->ahead->name),
                            .data = ZKL_SIGNAL_DATA,
                            .size = strlen(ZKL_SIGNAL_DATA)}};
    transact(waiter, VERB_PASS, ops);
}

zkl_actions zkl_condition_waited(const struct call *call, const struct answer *answer) {
    struct zkl_claim *claim = &call->stake->claim;
    const char *node = answer->reply == ZKL_DONE ? answer->results[0].created : NULL;
    bool left = answer->reply == ZKL_ABSENT && zkl_call_refused(call, answer) == 1;
    if (left) return zkl_claim_left_nothing(claim);
    return zkl_claim_created(claim, answer->reply, answer->why, node ? strrchr(node, '/') + 1 : "",
                             0);
}

zkl_actions zkl_condition_passed(const struct call *call, const struct answer *answer) {
    return zkl_claim_passed(&call->stake->claim, answer->reply,
                            zkl_call_refused(call, answer) == 1);
}

/* --- what the two have to do with each other ------------------------------------------------ */

void zkl_condition_turn(struct stake *waiter) {
    struct stake *lock = partner_of(waiter);
    if (!lock) return;
    lock->error = waiter->error;
    zkl_stake_perform(lock, zkl_claim_turn(&lock->claim));
}

void zkl_condition_failed(struct stake *stake) {
    struct stake *waiter = partner_of(stake);
    if (waiter) zkl_stake_perform(waiter, zkl_claim_cancel(&waiter->claim, stake->claim.code));
}

bool zkl_condition_granted(struct stake *stake) {
    struct stake *waiter = partner_of(stake);
    if (stake->handles == 0) return false;
    stake->phase = ZKL_PHASE_HELD;
    stake->token = zkl_claim_token(&stake->claim);
    zkl_stake_finish(stake, ZKL_OK, 0);
    if (waiter) zkl_stake_perform(waiter, zkl_claim_release(&waiter->claim));
    return true;
}

/* --- the way in ------------------------------------------------------------------------------ */

/* The one that waits; NULL: a multi-lock's, a reader's, or another that may not. */
static struct stake *waits(const zkl_lease *lease) {
    struct stake *stake = lease->stakes.one;
    if (!stake || stake->claim.state != ZKL_HELD || lease->kind != stake->claim.kind) return NULL;
    bool may = lease->kind == ZKL_WRITE || (lease->kind == ZKL_MUTEX && !stake->claim.batch);
    return may ? stake : NULL;
}

/* False: out of memory. */
static bool begin(struct zkl_request *request, struct stake *stake, const char *folder) {
    const char *data = strchr(stake->data, '\n');
    struct zkl_wish wish = {
        .path = folder, .kind = ZKL_MUTEX, .owner = stake->owner, .data = data ? data + 1 : NULL};
    enum zkl_code code = zkl_lease_refusal(request->session, &wish, 1);
    if (code != ZKL_OK) {
        zkl_request_finish(request, code, 0);
        return true;
    }
    struct path *path = zkl_path_use(request->session, folder);
    struct stake *waiter = path ? zkl_stake_new(request->session, path, &wish, ZKL_NEVER) : NULL;
    if (!waiter) return false;
    zkl_lease_attend(request, stake);
    zkl_stake_perform(waiter, zkl_claim_await(&waiter->claim, &stake->claim, request->deadline));
    return true;
}

zkl_request *zkl_wait(zkl_lease *lease, const char *folder, zkl_time timeout) {
    struct zkl_request *request = zkl_request_of(lease, REQUEST_WAIT, timeout);
    struct stake *stake = waits(lease);
    if (request && !request->done) {
        if (!stake) zkl_request_finish(request, ZKL_UNSUPPORTED, 0);
        else if (!begin(request, stake, folder)) zkl_request_finish(request, ZKL_NO_MEMORY, 0);
    }
    return request;
}
