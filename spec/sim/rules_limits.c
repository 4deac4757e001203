/* rules_limits.c - rules for tries, max_waiters and max_hold. */
#include "rules.h"
#include "verdict.h"

/* --- facts of a list -------------------------------------------------------------------------- */

/* The two nodes of a downgrade have one number. */
static bool is_before(const struct node *node, const struct node *other) {
    if (node->place != other->place) return node->place < other->place;
    return node->kind == ZKL_READ && other->kind == ZKL_WRITE;
}

static bool precedes(const struct node *node, const struct node *other, zxid view) {
    return node->contender && node->line == other->line && alive_at(node, view) &&
           is_before(node, other);
}

/* True if, in this view, no contender ahead kept this one out. */
static bool held(const struct node *own, zxid view) {
    int64_t taken = own->permits;
    EACH_NODE(node) {
        if (!precedes(node, own, view)) continue;
        if (own->kind != ZKL_PERMIT && zkl_kinds_exclude(own->kind, node->kind)) return false;
        if (own->kind == ZKL_PERMIT && node->kind != ZKL_PERMIT) return false;
        taken += node->permits;
    }
    return own->kind != ZKL_PERMIT || taken <= own->limit;
}

/* --- tries ------------------------------------------------------------------------------------ */

/* True if the newest list showed a node ahead that excludes the claim; if it has none, any node. */
static bool is_taken(const struct client *client, const struct zkl_claim *claim, int line) {
    const struct node *own = node_of(claim);
    zxid view = client->shown[line];
    int64_t permits = claim->permits;
    EACH_NODE(node) {
        bool there = node->contender && node->line == line && alive_at(node, view);
        if (!there || node == own || (own && !is_before(node, own))) continue;
        if (claim->kind != ZKL_PERMIT && zkl_kinds_exclude(claim->kind, node->kind)) return true;
        permits += node->permits;
    }
    return permits > claim->limit;
}

/* The answer being delivered shows another claim's node of the fixed name. */
static bool is_name_taken(const struct client *client, const struct zkl_claim *claim) {
    const struct item *answer = client->hears;
    const struct node *node = answer ? node_at(ZKL_NAME_FIXED, answer->view) : NULL;
    return node && node->born != claim->node.czxid;
}

static bool is_robbed(const struct zkl_claim *claim) {
    bool fixed = zkl_kind_is_fixed(claim->kind);
    const struct node *own = fixed ? node_of(claim) : node_find(claim->node.name);
    return own && !alive(own);
}

/* Without memory a list shows only some contenders. */
void rules_on_try(const struct client *client, const struct zkl_claim *claim, bool unanswered) {
    int line = line_of((const struct stake *)claim);
    if (claim->code == ZKL_BUSY && !world.shortages)
        require(zkl_kind_is_fixed(claim->kind) ? is_name_taken(client, claim)
                                               : is_taken(client, claim, line),
                "a try is told that the lock is taken if an answer showed it");
    if (claim->code == ZKL_TIMEOUT)
        require(unanswered || is_robbed(claim), "a try that is answered does not time out");
}

/* --- max_waiters ------------------------------------------------------------------------------ */

static unsigned waited_ahead(const struct node *own, zxid view) {
    unsigned count = 0;
    EACH_NODE(node)
    if (precedes(node, own, view) && !held(node, view)) count++;
    return count;
}

/* Counts its session's waiters; with turns, also waiters of others that the list showed. */
static unsigned waited(const struct client *client, const struct zkl_claim *claim, int line) {
    unsigned count = 0;
    EACH_STAKE(client, stake) {
        const struct zkl_claim *each = &stake->claim;
        bool waits = each->wanted && !zkl_claim_holds(each) && each->state != ZKL_IN_CONDITION;
        count += each != claim && each->line == claim->line && waits;
    }
    EACH_NODE(node) {
        bool other = node->contender && node->line == line && node->session != client->session;
        bool known = claim->batch && alive_at(node, client->shown[line]);
        if (other && known && !held(node, client->shown[line])) count++;
    }
    return count;
}

void rules_on_busy(const struct client *client, const struct zkl_claim *claim) {
    const struct node *own = node_of(claim);
    int line = line_of((const struct stake *)claim);
    require(claim->max_waiters > 0, "only a wish with max_waiters is told that the lock is busy");
    require(!claim->announced, "a claim that was told to wait is not sent away");
    /* only a living session knows its last list */
    if (client->session == NOBODY || !world.sessions[client->session].alive || world.shortages)
        return;
    unsigned count =
        own ? waited_ahead(own, client->shown[own->line]) : waited(client, claim, line);
    require(count >= (unsigned)claim->max_waiters, "the lock is busy only if max_waiters wait");
}

/* Counts living nodes only. The counter's last numbers hide the holders. */
void rules_on_queued(const struct client *client, const struct zkl_claim *claim) {
    const struct node *own = node_of(claim);
    const struct stake *stake = (const struct stake *)claim;
    bool placed = own && claim->state == ZKL_WAIT && !claim->line->exhausted;
    EACH_WISH(client, wish) {
        bool minds = wish->max_waiters && wish->request && wish->request == stake->request;
        if (minds && placed)
            require(waited_ahead(own, world.zxid) < wish->max_waiters,
                    "a wish is not told to wait behind max_waiters others");
    }
}

/* --- max_hold --------------------------------------------------------------------------------- */

static bool share_part(const struct wish *wish, const struct wish *other) {
    EACH_PART(parts_of_wish(wish), part) {
        if (zkl_parts_include(parts_of_wish(other), part)) return true;
    }
    return false;
}

/* Handles on the parts of a multi-lock are of one grant while its lease is held. */
static bool share_grant(const struct client *client, const struct wish *wish,
                        const struct wish *other) {
    EACH_WISH(client, each) {
        bool joins = each->joint && has_handle(each);
        if (joins && share_part(each, wish) && share_part(each, other)) return true;
    }
    return share_part(wish, other);
}

bool rules_hold_is_over(const struct client *client, const struct wish *wish) {
    EACH_WISH(client, each) {
        const struct hold *hold = each->lease ? &each->lease->hold : NULL;
        if (!hold || !hold->link || clock_of(client) < hold->until) continue;
        if (share_grant(client, wish, each)) return true;
    }
    return false;
}

void rules_on_hold(const struct client *client, const struct wish *wish) {
    const struct hold *hold = &wish->lease->hold;
    require((hold->link != NULL) == (wish->max_hold > 0), "a hold ends if that was asked for");
    if (!hold->link) return;
    require(hold->until == clock_of(client) + wish->max_hold ||
                (world.setting.owners && hold->until <= clock_of(client) + wish->max_hold),
            "a hold is counted from the grant");
}
