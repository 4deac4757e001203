#include "moves.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "choice.h"
#include "deeds.h"
#include "flow.h"
#include "rules.h"
#include "story.h"

const struct move_row move_rows[MOVES] = {
    [MOVE_CARRY] = {"carry", 24},        [MOVE_DELIVER] = {"deliver", 24},
    [MOVE_KEEP] = {"keep", 12},          [MOVE_SEE] = {"see", 10},
    [MOVE_CONNECT] = {"connect", 8},     [MOVE_PASS] = {"pass", 8},
    [MOVE_WISH] = {"wish", 10},          [MOVE_CANCEL] = {"cancel", 2},
    [MOVE_RELEASE] = {"release", 6},     [MOVE_CLOSE] = {"close", 1},
    [MOVE_DOWNGRADE] = {"downgrade", 6}, [MOVE_YIELD] = {"yield", 1},
    [MOVE_WAIT] = {"wait", 20},          [MOVE_SIGNAL] = {"signal", 24},
    [MOVE_INTERRUPT] = {"interrupt", 2}, [MOVE_RELEASE_ALL] = {"release all", 2},
    [MOVE_DEED] = {"deed", 6},           [MOVE_HOLD] = {"hold", 2},
    [MOVE_SEVER] = {"sever", 2},         [MOVE_STOP] = {"stop", 1},
    [MOVE_CONTINUE] = {"continue", 6},   [MOVE_KILL] = {"kill", 1},
    [MOVE_EXPIRE] = {"expire", 1},       [MOVE_APART] = {"apart", 2},
    [MOVE_REJOIN] = {"rejoin", 3},       [MOVE_LAND] = {"land", 4},
    [MOVE_REAP] = {"reap", 2},           [MOVE_ENTER] = {"enter", 3},
    [MOVE_LEAVE] = {"leave", 5},         [MOVE_ROB] = {"rob", 1},
    [MOVE_CHANGE] = {"change", 1},       [MOVE_CLEAR] = {"clear", 1},
    [MOVE_TOUCH] = {"touch", 2}};

uint64_t moves_made[MOVES];

/* --- possible moves ----------------------------------------------------------------------- */

static struct {
    enum move moves[MOVES * CLIENTS];
    int who[MOVES * CLIENTS];
    unsigned weights[MOVES * CLIENTS];
    unsigned count;
} possible;

/* A small case rations time and changes of mind like faults. */
static bool is_fault(enum move move) {
    bool rationed = move == MOVE_PASS || move == MOVE_CANCEL || move == MOVE_INTERRUPT;
    return move >= (enum move)FIRST_FAULT || (rationed && world.setting.plain);
}

static bool is_enabled(enum move move) {
    return world.setting.moves >> move & 1 && (world.faults || !is_fault(move));
}

/* True while a guard or signal is under way. A cut may lose its answer. */
static bool has_writes(struct queue *queue) {
    unsigned i = 0;
    while (i < queue->count && !queue_at(queue, i)->guard && !queue_at(queue, i)->signal) i++;
    return i < queue->count;
}

/* Adds a possible move. `who`: its client or server; -1: none. */
static void add(enum move move, int who) {
    struct client *c = &world.clients[who < 0 ? 0 : who];
    bool likely = move == MOVE_SEVER && (has_writes(&c->up) || has_writes(&c->down));
    possible.moves[possible.count] = move;
    possible.who[possible.count] = who;
    possible.weights[possible.count++] = move_rows[move].weight * (likely ? 12 : 1);
}

/* Evaluates `when` only for moves of the setting. */
#define allow(move, who, when) (is_enabled(move) && (when) ? add(move, who) : (void)0)

static bool is_awaited(const struct wish *wish) {
    return wish->request || wish->doing == WAITS;
}

static bool is_free(const struct wish *wish) {
    return wish->lease && wish->doing == NOTHING;
}

/* A user that waits in the condition may release this handle if its grant has others. */
static bool may_release(const struct wish *wish) {
    bool waits = wish->doing == WAITS && !wish->given_up;
    return has_lease(wish) || wish->away || (waits && stake_of(wish)->handles > 1);
}

static bool may_downgrade(const struct wish *wish) {
    if (!is_free(wish) || wish->kind != ZKL_WRITE || wish->joint) return false;
    const struct zkl_claim *claim = &stake_of(wish)->claim;
    return claim->state == ZKL_HELD && zkl_claim_may_downgrade(claim);
}

/* Somebody may ask the holder to give way, which ends a turn. */
static bool may_yield(const struct wish *wish) {
    if (!has_lease(wish)) return false;
    const struct node *node = node_find(stake_of(wish)->claim.node.name);
    if (!node || !node_may_be_written(node)) return false;
    return !world.setting.plain || wish->batch;
}

/* Readers and parts of multi-locks have no condition. */
static bool may_use_condition(const struct wish *wish) {
    if (world.setting.mix != MIX_CONDITION || !is_free(wish)) return false;
    bool alone = wish->kind == ZKL_MUTEX || wish->kind == ZKL_WRITE;
    return stake_of(wish)->claim.state == ZKL_HELD && alone;
}

static bool is_wish(const struct wish *wish) {
    (void)wish;
    return true;
}

static bool may_connect(const struct client *client) {
    if (client->life != RUNS) return false;
    for (unsigned i = 0; i < world.setting.servers; i++)
        if (network_can_connect(client, (int)i)) return true;
    return false;
}

static void allow_users_of(struct client *c) {
    int who = index_of(c);
    if (!user_has(c, is_wish)) return;
    allow(MOVE_CANCEL, who, user_has(c, is_awaited));
    allow(MOVE_RELEASE, who, user_has(c, may_release));
    allow(MOVE_DOWNGRADE, who, user_has(c, may_downgrade) && !nodes_full());
    allow(MOVE_YIELD, who, user_has(c, may_yield));
    allow(MOVE_WAIT, who, user_has(c, may_use_condition) && user_may_wait(c));
    allow(MOVE_SIGNAL, who, !(world.setting.plain && c->signals) && user_has(c, may_use_condition));
    allow(MOVE_INTERRUPT, who, true);
    allow(MOVE_RELEASE_ALL, who, user_has(c, has_lease));
    allow(MOVE_HOLD, who, user_has(c, has_lease));
}

static void allow_moves_of(struct client *c) {
    int who = index_of(c);
    bool runs = c->life == RUNS, connected = c->server != NOBODY;
    allow(MOVE_CARRY, who,
          connected && c->up.count && !request_waits(c->server, &c->up.items[c->up.first]));
    allow(MOVE_DELIVER, who, runs && c->down.count);
    allow(MOVE_KEEP, who, client_is_due(c));
    allow(MOVE_CONNECT, who, may_connect(c));
    allow(MOVE_WISH, who, user_may_wish(c));
    if (runs) allow_users_of(c);
    allow(MOVE_DEED, who, world.setting.deeds && deed_may_move(c));
    bool may_close = c->closing || c->session != NOBODY;
    allow(MOVE_CLOSE, who, runs && may_close && world.session_count < SESSIONS / 2);
    allow(MOVE_SEVER, who, connected);
    allow(MOVE_STOP, who, runs);
    allow(MOVE_CONTINUE, who, c->life == STOPPED);
    allow(MOVE_KILL, who, c->life != DEAD);
    bool lives = c->session != NOBODY && world.sessions[c->session].alive;
    allow(MOVE_EXPIRE, who, lives && world.session_count < SESSIONS / 2);
    allow(MOVE_LAND, who, c->late.count > 0);
}

static bool is_ours(const struct node *node) {
    return alive(node) && node->session != NOBODY;
}

static bool is_ours_to_write(const struct node *node) {
    return is_ours(node) && node_may_be_written(node);
}

static bool is_strangers(const struct node *node) {
    return alive(node) && node->session == NOBODY;
}

static void find_possible(void) {
    bool path = path_at(world.zxid);
    possible.count = 0;
    EACH_CLIENT(c) allow_moves_of(c);
    for (unsigned i = 1; i < world.setting.servers; i++) {
        const struct server *s = &world.servers[i];
        allow(MOVE_SEE, (int)i, !s->apart && s->seen < world.zxid);
        allow(MOVE_APART, (int)i, !s->apart);
        allow(MOVE_REJOIN, (int)i, s->apart);
    }
    allow(MOVE_PASS, NOBODY, true);
    allow(MOVE_REAP, NOBODY, path && world.path_count < PATHS && !nodes_have(alive));
    allow(MOVE_CLEAR, NOBODY, path && world.path_count < PATHS && !nodes_full());
    allow(MOVE_ENTER, NOBODY, path && !nodes_full());
    allow(MOVE_LEAVE, NOBODY, nodes_have(is_strangers));
    allow(MOVE_ROB, NOBODY, !nodes_full() && nodes_have(is_ours));
    allow(MOVE_CHANGE, NOBODY, nodes_have(is_ours_to_write));
    allow(MOVE_TOUCH, NOBODY, deed_may_touch());
}

/* --- making a move ------------------------------------------------------------------ */

static void see(struct server *s) {
    zxid view = choose(2) ? s->seen + 1 : world.zxid;
    tell("server %d learns of commit %lld", (int)(s - world.servers), (long long)view);
    server_see((int)(s - world.servers), view);
}

static void connect_somewhere(struct client *c) {
    int server = (int)choose(world.setting.servers);
    while (!network_can_connect(c, server)) server = (server + 1) % (int)world.setting.servers;
    unsigned which = world.setting.plain ? 0 : choose(8);
    zkl_time least = 2 * world.setting.tick, timeout = TIMEOUT; /* the servers' minimum */
    if (which == 7) timeout = TIMEOUT / 4 * 3;
    if (which == 6 || timeout < least) timeout = least;
    tell("%s connects to server %d", story_client(c), server);
    network_connect(c, server, timeout);
}

/* A session uses a path as one kind. At times it tries another, and is refused. */
static enum zkl_kind some_of_all(const struct client *c) {
    static const enum zkl_kind kinds[] = {ZKL_READ, ZKL_WRITE, ZKL_MUTEX};
    if (choose(16) == 15) return kinds[choose(3)];
    return c->mutexes ? ZKL_MUTEX : kinds[choose(2)];
}

static enum zkl_kind some_kind(const struct client *c) {
    static const enum zkl_kind kinds[] = {ZKL_READ, ZKL_WRITE};
    switch (world.setting.mix) {
    case MIX_READ_WRITE: return kinds[choose(2)];
    case MIX_MULTI:
    case MIX_CONDITION: return world.setting.plain ? ZKL_MUTEX : some_of_all(c);
    case MIX_ALL: return some_of_all(c);
    case MIX_DOWNGRADE: return index_of(c) == 0 ? ZKL_WRITE : kinds[choose(2)];
    case MIX_UNFAIR: return ZKL_UNFAIR;
    case MIX_PERMITS: return ZKL_PERMIT;
    case MIX_QUARREL: return choose(8) == 7 ? ZKL_MUTEX : ZKL_PERMIT;
    case MIX_MUTEX:
    case MIX_TURNS:
    case MIX_KEPT:
    case MIXES: break;
    }
    return ZKL_MUTEX;
}

static int32_t some_batch(void) {
    unsigned batch = choose(BATCH + 1);
    return batch ? (int32_t)batch : ZKL_BATCH_BY_TIME;
}

/*
 * Up to a third of the clients take no turns, but count grants, for tokens in one order with turns.
 * At times such a client does not count, and is refused.
 */
static void ask_for_turns(const struct client *c, struct desire *desire) {
    desire->batch = world.setting.plain ? world.setting.batch : some_batch();
    if (world.setting.plain || !c->mutexes || index_of(c) % 3 != 1) return;
    desire->batch = 0;
    desire->counting = choose(16) != 15;
}

static zkl_time some_keep(void) {
    static const zkl_time keeps[] = {TIMEOUT / 8, TIMEOUT, 3 * TIMEOUT, 0};
    return world.setting.plain ? 3 * TIMEOUT : keeps[choose(4)];
}

/* A client takes turns always or never. A wish that does not count grants gets no kept node. */
static void ask_to_keep(const struct client *c, struct desire *desire) {
    desire->keep = some_keep();
    if (world.setting.plain) return;
    if (c->mutexes && index_of(c) % 2) desire->batch = some_batch();
    desire->counting = choose(16) != 15;
}

/* In a small case the first client wants all permits, each other client wants 1. */
static struct desire some_desire(const struct client *c) {
    struct desire desire = {.kind = some_kind(c)};
    int32_t limit = world.setting.limit;
    if (world.setting.mix == MIX_TURNS) ask_for_turns(c, &desire);
    if (world.setting.mix == MIX_KEPT) ask_to_keep(c, &desire);
    if (desire.kind != ZKL_PERMIT) return desire;
    if (world.setting.mix == MIX_QUARREL && choose(8) == 7) limit++;
    desire.limit = limit;
    if (world.setting.plain) desire.permits = index_of(c) == 0 ? limit : 1;
    else desire.permits = 1 + (int32_t)choose((unsigned)limit);
    return desire;
}

/* A mutex may be kept, also beside multi-locks, or with a condition. */
static bool may_be_kept(const struct desire *desire, unsigned count) {
    bool mixed = world.setting.mix == MIX_MULTI || world.setting.mix == MIX_CONDITION;
    return mixed && !world.setting.plain && count == 1 && desire->kind == ZKL_MUTEX;
}

static void want(struct client *c, zkl_time timeout, bool trying) {
    bool multi = world.setting.mix == MIX_MULTI;
    bool joint = multi && (world.setting.plain || !choose(2));
    bool both = joint && (world.setting.plain || choose(4) != 3);
    int line = multi && !both ? (int)choose(LINES) : 0;
    unsigned count = both ? LINES : 1;
    struct desire desires[LINES];
    for (unsigned i = 0; i < count; i++) {
        desires[i] = some_desire(c);
        desires[i].joint = joint;
    }
    if (may_be_kept(desires, count) && choose(4) == 3) desires->keep = some_keep();
    user_wish(c, line, desires, count, timeout, trying);
}

void move_try(struct client *client) {
    want(client, ZKL_NEVER, true);
}

static zkl_time some_timeout(void) {
    return !world.setting.plain && choose(2) ? choose(20) * (TIMEOUT / 10) : ZKL_NEVER;
}

static void wish(struct client *c) {
    bool trying = !world.setting.plain && choose(6) == 5;
    want(c, some_timeout(), trying);
}

/* The time until a client's next due work, or until a session's expiry. */
static zkl_time until_next_due(bool of_session) {
    zkl_time due = world.now + TIMEOUT / 6;
    for (int i = 0; of_session && i < world.session_count; i++) {
        const struct session *session = &world.sessions[i];
        zkl_time end = session->touched + session->timeout;
        if (session->alive && end > world.now) due = end;
    }
    EACH_CLIENT(c) {
        zkl_time each = c->life == RUNS && !of_session ? client_next_due(c) : ZKL_NEVER;
        if (each < due) due = each;
    }
    return due - world.now;
}

static void pass(void) {
    static const zkl_time parts[] = {50, 24, 12, 6, 4, 3, 2, 1};
    unsigned which = world.setting.plain ? 0 : choose(12);
    zkl_time time = which < 4 ? until_next_due(which == 3) : TIMEOUT / parts[which - 4];
    tell("%.3f s pass", (double)time / ZKL_SECOND);
    if (world.setting.brisk) flow_pass(time);
    else world_pass(time);
}

static void wait_in_condition(struct client *c) {
    zkl_time timeout = some_timeout();
    user_wait(c, user_some(c, may_use_condition), timeout);
}

/* As in Curator 5.5: the reader gets its writer's number, then the writer goes. */
static void downgrade(const struct node *node) {
    const char *marker = strstr(node->name, "__WRIT__");
    char reader[ZKL_NAME_SIZE];
    if (!marker || !world.setting.downgrades || node_before(node, ZKL_WRITE) || choose(2)) return;
    zkl_name_downgrade(reader, node->name);
    zxid place = node->place;
    node_add(reader, NOBODY, node->line, true)->place = place;
}

static void leave(void) {
    struct node *node = node_some(is_strangers);
    tell("%s goes", story_node((int)(node - world.nodes)));
    if (!nodes_full()) downgrade(node);
    node_remove(node);
}

static bool enter_fixed(void) {
    if (world.setting.mix != MIX_UNFAIR || node_at(ZKL_NAME_FIXED, world.zxid)) return false;
    node_add(ZKL_NAME_FIXED, NOBODY, 0, true);
    tell("another client takes the lock");
    return true;
}

static void enter(void) {
    static const char *const markers[] = {"lock-",    "__WRIT__",  "__READ__",
                                          "__lock__", "__rlock__", "junk-"};
    char name[ZKL_NAME_SIZE];
    enum { JUNK = 5 };
    if (enter_fixed()) return;
    unsigned which = choose(JUNK + 1);
    snprintf(name, sizeof name, "%s%08x%024" PRIx32 "-%s", which < 3 ? "_c_" : "", 0xfedU,
             (uint32_t)world.node_count, markers[which]);
    int line = world.setting.mix == MIX_MULTI ? (int)choose(LINES) : 0;
    struct node *node = node_make(name, NOBODY, line, which < JUNK);
    tell("another client enters: %s", story_node((int)(node - world.nodes)));
}

static void rob(struct node *node) {
    tell("somebody deletes %s", story_node((int)(node - world.nodes)));
    node->robbed = true;
    node_remove(node);
}

/* A second connection with the session's id and password closes it. */
static void end_session(struct client *c) {
    tell("somebody closes %s's session", story_client(c));
    EACH_NODE(node) {
        if (alive(node) && node->session == c->session) node->robbed = true;
    }
    session_end(c->session);
}

static void clear_path(void) {
    tell("somebody deletes the path with its children");
    EACH_NODE(node) {
        if (!alive(node)) continue;
        node->robbed = true;
        node_remove(node);
    }
    path_remove();
}

static void change(void) {
    struct node *node = node_some(is_ours_to_write);
    tell("somebody writes to %s", story_node((int)(node - world.nodes)));
    node_write(node, OTHER);
}

/* A stranger writes Curator's word for a revocation into a holder's node. */
static void revoke(const struct client *c) {
    const struct wish *wish = user_some(c, may_yield);
    tell("somebody asks %s to give way", story_client(c));
    node_write(node_find(stake_of(wish)->claim.node.name), REVOKE);
}

static void make_move(enum move move, int who) {
    struct client *c = &world.clients[who < 0 ? 0 : who];
    struct server *s = &world.servers[who < 0 || who >= SERVERS ? 0 : who];
    switch (move) {
    case MOVE_CARRY: network_carry(c); break;
    case MOVE_DELIVER: client_deliver(c); break;
    case MOVE_KEEP: client_keep(c); break;
    case MOVE_SEE: see(s); break;
    case MOVE_CONNECT: connect_somewhere(c); break;
    case MOVE_PASS: pass(); break;
    case MOVE_WISH: wish(c); break;
    case MOVE_CANCEL: user_cancel(c, user_some(c, is_awaited)); break;
    case MOVE_RELEASE: user_release(c, user_some(c, may_release)); break;
    case MOVE_DOWNGRADE: user_downgrade(c, user_some(c, may_downgrade)); break;
    case MOVE_YIELD: revoke(c); break;
    case MOVE_WAIT: wait_in_condition(c); break;
    case MOVE_SIGNAL: user_signal(c, user_some(c, may_use_condition)); break;
    case MOVE_INTERRUPT: user_interrupt(c, user_some(c, is_wish)->owner); break;
    case MOVE_RELEASE_ALL: user_release_all(c, user_some(c, has_lease)->owner); break;
    case MOVE_DEED: deed_move(c); break;
    case MOVE_HOLD: user_hold(c, user_some(c, has_lease)); break;
    case MOVE_CLOSE: client_close(c); break;
    case MOVE_SEVER: network_sever(c); break;
    case MOVE_STOP:
        c->life = STOPPED;
        c->stopped = true;
        tell("%s is stopped", story_client(c));
        break;
    case MOVE_CONTINUE:
        c->life = RUNS;
        tell("%s goes on", story_client(c));
        break;
    case MOVE_KILL:
        tell("%s is killed", story_client(c));
        network_sever(c);
        client_end(c);
        c->life = DEAD;
        break;
    case MOVE_EXPIRE: end_session(c); break;
    case MOVE_APART:
        s->apart = true;
        tell("server %d is cut off from the leader", who);
        break;
    case MOVE_REJOIN: server_rejoin(who); break;
    case MOVE_LAND: network_land(c); break;
    case MOVE_REAP:
        tell("the empty path is reaped");
        path_remove();
        break;
    case MOVE_ENTER: enter(); break;
    case MOVE_LEAVE: leave(); break;
    case MOVE_ROB: rob(node_some(is_ours)); break;
    case MOVE_CHANGE: change(); break;
    case MOVE_CLEAR: clear_path(); break;
    case MOVE_TOUCH: deed_touch(); break;
    case MOVES: break;
    }
}

bool move(void) {
    find_possible();
    if (!possible.count) return false;
    unsigned which = choose_weighted(possible.weights, possible.count);
    enum move chosen = possible.moves[which];
    if (is_fault(chosen) && world.faults != UNLIMITED) world.faults--;
    moves_made[chosen]++;
    if (world.setting.shortage && choose(4) == 3) world.spare = 1 + choose(10);
    make_move(chosen, possible.who[which]);
    world.spare = 0;
    rules_at_any_time();
    if (world.setting.brisk) flow(false);
    return true;
}
