/* claim_way.c - the way of a claim to the front of its line, from an attempt to the grant. */
#include "claim_steps.h"
#include "permits.h"

/* --- the name of an attempt ------------------------------------------------------------------ */

/* Bits of a node's nonce that tell its reuse. */
static const uint64_t reuse_bits[] = {
    [ZKL_MANY_GRANTS] = ZKL_NONCE_COUNTS, [ZKL_MAY_BE_KEPT] = ZKL_NONCE_KEEPS};

static void name_attempt(struct zkl_claim *claim) {
    uint64_t session = claim->line->common->session;
    struct zkl_node *node = &claim->node;
    node->nonce = ++claim->line->common->last_nonce | reuse_bits[claim->reuse];
    if (zkl_kind_is_fixed(claim->kind)) strcpy(node->name, ZKL_NAME_FIXED);
    else if (claim->kind == ZKL_PERMIT)
        zkl_name_permit_prefix(node->name, claim->permits, claim->limit, session, node->nonce);
    else zkl_name_prefix(node->name, claim->kind, session, node->nonce);
}

/* --- the parts of a multi-lock ------------------------------------------------------------ */

/* The last part to arrive sends the transaction for all. */
static zkl_actions gather(struct zkl_claim *claim) {
    if (!all_parts_are(claim, ZKL_CREATE)) return 0;
    struct zkl_claim *part = claim;
    do {
        name_attempt(part);
        part = part->next_part;
    } while (part != claim);
    return ZKL_DO_CREATE;
}

/* --- the way to the front -------------------------------------------------------------- */

zkl_actions zkl_claim_return_to_new(struct zkl_claim *claim) {
    forget_own(claim);
    forget_node(claim);
    claim->state = ZKL_NEW;
    return stall(claim);
}

zkl_actions zkl_claim_enter(struct zkl_claim *claim) {
    drop_ahead(claim);
    if (!zkl_claim_spend_round(claim)) return zkl_claim_return_to_new(claim);
    claim->state = ZKL_CREATE;
    claim->stalled = claim->needs_no_mark = claim->recheck = false;
    claim->refusal = ZKL_OK;
    claim->last_of_turn = false; /* left from the grant before a wait in a condition */
    forget_node(claim);
    if (is_part(claim)) return gather(claim);
    name_attempt(claim);
    bool lists = !claim->as_waiter && !zkl_kind_is_fixed(claim->kind);
    return lists ? ZKL_DO_CREATE | ZKL_DO_LIST : ZKL_DO_CREATE;
}

/* Its own node is gone, which never means that it is first. */
zkl_actions zkl_claim_requeue(struct zkl_claim *claim) {
    if (is_part(claim) || claim->as_waiter) return fail(claim, ZKL_LOST) | become_gone(claim);
    if (claim->trying) return fail(claim, ZKL_TIMEOUT) | become_gone(claim);
    forget_own(claim);
    return zkl_claim_enter(claim);
}

/*
 * A recheck asks about all contenders ahead in one flight, because one after the other would cost a
 * round trip each. It takes gets, or a list if that has fewer bytes, as a get and its reply are
 * about as long as four names. If only one contender is left, the get that watches it shows whether
 * it is gone.
 */
enum { GETS_MAX = 8, NAMES_A_GET = 4 };

/* Counts up to GETS_MAX + 1. */
static size_t gets_to_recheck(const struct zkl_claim *claim) {
    struct zkl_contender *each = NULL;
    size_t gets = 0;
    while (gets <= GETS_MAX && (each = zkl_line_unranked(claim->line, claim, each))) gets++;
    return gets;
}

/* The claim fits, or heads, and then gets every contender ahead anyway. */
static bool fits_or_is_next(const struct zkl_claim *claim) {
    return claim->kind == ZKL_PERMIT && !claim->line->exhausted &&
           zkl_permits_all_ahead_hold(claim->line, claim);
}

/* Clears `recheck` if no list and no more than one get is needed. */
bool zkl_claim_choose_recheck(struct zkl_claim *claim) {
    size_t gets = claim->recheck && !fits_or_is_next(claim) ? gets_to_recheck(claim) : 0;
    if (gets <= 1) claim->recheck = false;
    return gets > GETS_MAX || (gets > 1 && claim->line->count < gets * NAMES_A_GET);
}

static zkl_actions wait_for(struct zkl_claim *claim, struct zkl_contender *ahead) {
    zkl_actions actions = ZKL_DO_WATCH_AHEAD;
    if (claim->max_waiters && zkl_claim_exceeds_max_waiters(claim))
        return fail(claim, ZKL_BUSY) | give_up_node(claim, 0);
    claim->state = ZKL_WAIT;
    if (!zkl_line_is_own(claim->line, ahead)) claim->node.contended = true;
    claim->holders_list = 0;
    claim->ahead = zkl_contender_ref(ahead);
    if (!claim->node.watched) actions |= ZKL_DO_WATCH_OWN;
    if (!claim->trying) actions |= announce(claim);
    claim->node.watched = claim->announced = true;
    return actions | zkl_lookahead_watch(claim);
}

/* --- permits ---------------------------------------------------------------------------- */

/* The first claim that does not fit. Any contender ahead that goes may let it in. */
static zkl_actions wait_for_any(struct zkl_claim *claim) {
    zkl_actions actions = wait_for(claim, zkl_line_ahead(claim->line, claim));
    claim->holders_list = claim->line->serial;
    return (actions & ~(zkl_actions)ZKL_DO_WATCH_AHEAD) | ZKL_DO_HOLDERS;
}

static zkl_actions advance_permits(struct zkl_claim *claim, zkl_time now) {
    if (zkl_permits_stranger(claim->line, claim)) return fail(claim, ZKL_CONFLICT) | leave(claim);
    if (zkl_permits_fit(claim->line, claim)) {
        zkl_actions actions = admit(claim, now);
        return claim->needs_no_mark || claim->state != ZKL_HELD ? actions : actions | ZKL_DO_MARK;
    }
    if (claim->trying) return fail(claim, ZKL_BUSY) | leave(claim);
    if (zkl_permits_all_ahead_hold(claim->line, claim)) return wait_for_any(claim);
    return wait_for(claim, zkl_line_ahead(claim->line, claim));
}

zkl_actions zkl_claim_list_again(struct zkl_claim *claim) {
    drop_ahead(claim);
    claim->state = ZKL_LIST;
    claim->stalled = !zkl_claim_spend_round(claim);
    return claim->stalled ? 0 : ZKL_DO_LIST;
}

/*
 * The only node ahead may be merely kept. Its session then removes it, or writes ZKL_HELD_WORD, so
 * the try gets its answer.
 */
static bool may_be_let_in(const struct zkl_claim *claim, const struct zkl_contender *ahead) {
    bool is_plain_mutex = claim->kind == ZKL_MUTEX && !is_part(claim);
    return is_plain_mutex && zkl_line_first_keepable(claim->line) == ahead;
}

/* A list for another claim may have shown that the own node is gone. */
static zkl_actions advance(struct zkl_claim *claim, zkl_time now) {
    struct zkl_contender *own = zkl_line_own(claim);
    drop_ahead(claim);
    claim->stalled = false;
    if (!own) return zkl_claim_requeue(claim);
    if (!claim->node.czxid) {
        claim->state = ZKL_RECOVER_STAT;
        return watch_own(claim);
    }
    own->czxid = claim->node.czxid; /* its czxid need not be asked for */
    if (claim->reuse != ZKL_ONE_GRANT &&
        claim->node.czxid > ZKL_BATCH_CZXID_MAX) /* its tokens would be too large */
        return fail(claim, ZKL_UNSUPPORTED) | leave(claim);
    if (claim->line->incomplete || zkl_claim_choose_recheck(claim))
        return zkl_claim_list_again(claim);
    if (zkl_line_unranked(claim->line, claim, NULL)) {
        claim->state = ZKL_RANK;
        return ZKL_DO_RANK;
    }
    if (claim->kind == ZKL_PERMIT) return advance_permits(claim, now);
    struct zkl_contender *ahead = zkl_line_ahead(claim->line, claim);
    if (!ahead) return admit(claim, now);
    if (claim->trying && !may_be_let_in(claim, ahead)) return fail(claim, ZKL_BUSY) | leave(claim);
    return wait_for(claim, ahead);
}

zkl_actions zkl_claim_advance(struct zkl_claim *claim, zkl_time now) {
    struct zkl_contender *watched = claim->lookahead ? zkl_contender_ref(claim->lookahead) : NULL;
    zkl_actions actions = advance(claim, now);
    if (watched && claim->ahead == watched) actions &= ~(zkl_actions)ZKL_DO_WATCH_AHEAD;
    zkl_contender_unref(watched);
    return actions;
}
