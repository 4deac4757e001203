/*
 * token.c - fencing tokens. On a path they grow strictly, from node to node and with each grant of
 * a node, without overflow. A czxid too large for that gives 0. The order between tokens that count
 * grants and other tokens is not shown.
 *
 * Bounds:
 *   czxid     all of 64 bits, above 0; ZooKeeper begins with 1
 *   grants    from any number below ZKL_BATCH_MAX; a new node has 0
 *   line      lists its own contender or not, at random
 *
 * cbmc: --unsigned-overflow-check --pointer-overflow-check
 */
#include "../../src/core/keep.c"
#include "../../src/core/turn.c"

#include "any.h"

static struct zkl_contender contender;

struct zkl_contender *zkl_line_own(const struct zkl_claim *claim) {
    (void)claim;
    return nondet_bool() ? &contender : NULL;
}

bool zkl_line_may_have_others(const struct zkl_line *line) {
    (void)line;
    return nondet_bool();
}

static bool is_grants_number(int32_t grants) {
    return grants >= 0 && grants < ZKL_BATCH_MAX;
}

static void show_order(void) {
    int64_t czxid = nondet_int64(), other = nondet_int64();
    int32_t grants = nondet_int32(), others = nondet_int32();
    bool counting = nondet_bool();
    enum zkl_reuse reuse = counting ? ZKL_MANY_GRANTS : ZKL_ONE_GRANT;
    ASSUME(czxid > 0 && other > 0 && is_grants_number(grants) && is_grants_number(others));
    int64_t token = zkl_token(czxid, reuse, grants);
    if (counting && czxid > ZKL_BATCH_CZXID_MAX) {
        SHOW(token == 0, "a czxid that is too large gives no token");
        return;
    }
    SHOW(token > 0, "a token is above 0");
    if (counting && other > ZKL_BATCH_CZXID_MAX) return;
    bool later = czxid < other || (czxid == other && grants < others && counting);
    SHOW(!later || token < zkl_token(other, reuse, others), "a later grant has a larger token");
}

static void show_hand_over(void) {
    struct zkl_line line;
    struct zkl_common common;
    struct zkl_claim claim, next;
    struct zkl_contender *listed = &contender;
    line.contenders = &listed;
    line.common = &common;
    line.claims = &next;
    claim.line = next.line = &line;
    claim.next = next.next = NULL;
    claim.next_part = &claim;
    next.next_part = &next;
    common.clock.connected = nondet_bool();
    claim.last_of_turn = nondet_bool();
    ASSUME(claim.reuse != ZKL_ONE_GRANT && next.reuse != ZKL_ONE_GRANT);
    ASSUME(is_grants_number(claim.node.grants));
    ASSUME(claim.node.czxid > 0 && claim.node.czxid <= ZKL_BATCH_CZXID_MAX);
    ASSUME(claim.node.turn_began >= 0);
    zkl_time now = nondet_int64();
    ASSUME(now >= claim.node.turn_began);
    ASSUME(claim.node.list_time >= 0 && now >= claim.node.list_time);
    int64_t token = zkl_claim_token(&claim);
    bool granted = is_held_or_kept(&claim);
    if (zkl_turn_successor(&claim) != &next || turn_of(&claim, now) == ZKL_TURN_OVER) return;
    hand_over(&claim, &next);
    SHOW(is_grants_number(next.node.grants), "a node has no more grants than it has tokens");
    SHOW(!granted || zkl_claim_token(&next) > token, "the successor has a larger token");
    SHOW(granted || zkl_claim_token(&next) == token, "without a grant the token is still unused");
}

int main(void) {
    show_order();
    show_hand_over();
    return 0;
}
