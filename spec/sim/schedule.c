#include "schedule.h"

#include <string.h>

#include "deeds.h"
#include "flow.h"
#include "moves.h"
#include "rules.h"
#include "setting.h"
#include "story.h"

struct world world;

/* --- the world's beginning and end -------------------------------------------------- */

void world_begin(void) {
    struct setting setting = world.setting;
    memset(&world, 0, sizeof world - sizeof world.clients);
    world.setting = setting;
    world.faults = setting.faults;
    world.began = world.now = setting.boot ? 1000 : 1000 * ZKL_SECOND;
    world.zxid = 1;
    for (unsigned i = 0; i < world.setting.servers; i++)
        world.servers[i] =
            (struct server){.seen = 1, .report = world.now + world.setting.tick / 4 * (i + 1)};
    EACH_CLIENT(c) {
        memset(&c->zk, 0, sizeof *c - offsetof(struct client, zk));
        c->up.count = c->down.count = 0;
    }
}

void world_end(void) {
    EACH_CLIENT(c) client_end(c);
}

/* --- the calm ----------------------------------------------------------------------- */

static void heal(void) {
    for (unsigned i = 1; i < world.setting.servers; i++) server_rejoin((int)i);
    EACH_CLIENT(c) {
        if (c->life == STOPPED) c->life = RUNS;
        if (c->life == RUNS && c->closing) client_close(c);
        if (c->late.count) network_land(c);
    }
}

static void wait_a_beat(void) {
    flow_pass(TIMEOUT / 5);
    flow(true);
    if (!world.broken) rules_after_a_beat();
}

/* True for a living session without a running client. The calm waits for its expiry. */
static bool is_abandoned(int index) {
    if (!world.sessions[index].alive) return false;
    EACH_RUNNING(c) {
        if (c->session == index) return false;
    }
    return true;
}

/* True if an earlier claim of its session waits or holds, and this one waits for it. */
static bool is_behind_another(const struct zkl_claim *claim) {
    bool behind = zkl_kind_is_fixed(claim->kind) || claim->batch;
    if (!behind || claim->state != ZKL_NEW || zkl_claim_is_pausing(claim)) return false;
    for (const struct zkl_claim *each = claim->line->claims; each; each = each->next)
        if (each->state == ZKL_WAIT || (each->state == ZKL_HELD && !each->last_of_turn))
            return true;
    return false;
}

static bool is_settled(const struct client *client, const struct zkl_claim *claim) {
    if (is_behind_another(claim)) return true;
    if (claim->state == ZKL_WAIT && claim->stalled)
        return claim->node.watched && rules_may_lack_watch(client, claim);
    if (claim->stalled || claim->state == ZKL_GONE) return claim->state == ZKL_GONE;
    if (claim->state == ZKL_IN_CONDITION)
        return claim->partner && claim->partner->state == ZKL_WAIT;
    if (claim->state == ZKL_SIGNALLED) return true; /* its lock's claim decides for it */
    bool in_place =
        claim->state == ZKL_WAIT || claim->state == ZKL_FIRST || zkl_claim_holds_or_is_kept(claim);
    if (claim->awaits_list) return false;
    return in_place && claim->node.watched;
}

/* True if it will look for orphans again. */
static bool has_doubts(const struct client *client) {
    for (struct path *path = NULL; (path = zkl_path_next(client->zk, path));)
        if (path->orphan_look_at) return true;
    return false;
}

/* True if only heartbeats go on. */
static bool is_calm(void) {
    for (int i = 0; i < world.session_count; i++)
        if (is_abandoned(i)) return false;
    EACH_RUNNING(c) {
        if (has_doubts(c) || deeds_are_open(c)) return false;
        EACH_STAKE(c, stake) {
            if (!is_settled(c, &stake->claim)) return false;
        }
    }
    return true;
}

static void calm_down(void) {
    int beats = 0;
    tell("-- calm --");
    flow(true);
    while (!is_calm() && beats++ < 40 && !world.broken) wait_a_beat();
    if (beats >= 40) rules_on_unrest();
    require(beats < 40, "it comes to a calm");
    if (!world.broken) rules_in_calm();
}

/* Releases what is held. False: no wish is left. */
static bool release_all(void) {
    bool wanted = false;
    EACH_RUNNING(c) {
        deeds_end(c);
        EACH_WISH(c, wish) {
            wanted = true;
            if (has_lease(wish)) user_release(c, wish);
        }
    }
    return wanted;
}

/* Waits until all wishes have answers. Waiters return, too. */
static void answer_all(void) {
    struct node *waiter;
    int rounds = 0;
    tell("-- every other claim is given up; each holder releases --");
    EACH_NODE(node) {
        if (alive(node) && node->session == NOBODY) node_remove(node);
    }
    while ((waiter = node_unsignalled())) node_write(waiter, SIGNAL);
    flow(true);
    while (release_all() && rounds++ < 100 && !world.broken) wait_a_beat();
    require(rounds < 100, "in a calm time every wish is answered");
}

/* --- a process in bursts, by a CPU quota ------------------------------------------------ */

static bool has_open_request(const struct client *client) {
    EACH_WISH(client, wish) {
        if (wish->request && !zkl_request_done(wish->request)) return true;
    }
    return false;
}

/* Proofs survive stops of 0.15 T (session timeouts), even by a clock that is 5 % fast. */
static void burst(struct client *c) {
    unsigned way = world.setting.bursts - 1;
    zkl_time timeout = zkl_session_timeout(c->zk);
    zkl_time stop = way % 2 ? timeout / 20 * 3 : timeout / 10;
    zkl_time run = way / 2 ? timeout / 20 : timeout / 5;
    c->life = STOPPED;
    c->stopped = true;
    tell("%s is stopped", story_client(c));
    flow_pass(stop);
    c->life = RUNS;
    tell("%s goes on", story_client(c));
    flow_pass(run);
}

static void try_in_bursts(struct client *c) {
    int bursts = 0;
    burst(c);
    move_try(c);
    flow(true);
    while (has_open_request(c) && bursts++ < 20 && !world.broken) burst(c);
    require(bursts < 20,
            "a try is answered, however often its process is stopped for a short time");
}

static void run_in_bursts(void) {
    EACH_RUNNING(c) {
        if (c->closing || c->drain) continue;
        if (zkl_session_connection_state(c->zk) != ZKL_SESSION_CONNECTED) continue;
        try_in_bursts(c);
        return;
    }
}

static bool is_at_rest(void) {
    EACH_RUNNING(c) {
        if (has_doubts(c) || zkl_session_has_claims(c->zk) || c->zk->calls) return false;
        if (c->zk->followers[FOLLOWER_MEMBER]) return false; /* members are still leaving */
        if (c->zk->watches.unwanted_count) return false;     /* a heartbeat removes these watches */
    }
    return true;
}

static void come_to_rest(void) {
    int beats = 0;
    choose_no_more();
    heal();
    calm_down();
    if (world.broken) return;
    answer_all();
    if (world.setting.bursts && !world.broken) {
        run_in_bursts();
        answer_all();
    }
    while (!is_at_rest() && beats++ < 60 && !world.broken) wait_a_beat();
    if (!world.broken) rules_at_rest();
}

/* --- the run ------------------------------------------------------------------------ */

const char *schedule_run(bool (*seen)(void)) {
    bool pruned = false;
    setting_choose();
    for (unsigned steps = 0; steps < world.setting.steps && !pruned; steps++) {
        if (world.broken || choices_at_end() || !move()) break;
        pruned = seen && choices_are_new() && seen();
    }
    if (!pruned && !world.broken) come_to_rest();
    world_end();
    return world.broken;
}
