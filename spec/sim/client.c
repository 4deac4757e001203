/*
 * client.c - a process, the shell of a session like src/zookeeper, on the simulated network. user.c
 * has its users.
 */
#include <string.h>

#include "choice.h"
#include "data.h"
#include "deeds.h"
#include "rules.h"
#include "story.h"
#include "trace.h"
#include "world.h"

/* --- life --------------------------------------------------------------------------- */

/* Bytes for each path, many where a session shall have room for few. */
static size_t overhead(void) {
    return world.setting.room ? ZKL_WATCHES_MAX / world.setting.room - 2 * ZKL_NAME_SIZE : 4;
}

void client_begin(struct client *client) {
    const struct zkl_settings settings = {.identity = "simulated",
                                          .patience = TIMEOUT / 12,
                                          .margin = 0.5,
                                          .overhead = overhead(),
                                          .parents = ZKL_CONTAINER,
                                          .reopen = true,
                                          .steps = index_of(client) % 2,
                                          .seed = (uint64_t)index_of(client)};
    world.spare = 0; /* its creation must not fail */
    client->zk = zkl_session_new(&settings);
    client->expiring = client->closing = client->sends_away = false;
    client->drain = NULL;
    client->last = 0;
    client->open_grants = 0;
    client->stopped = false;
    client->awake = 0;
    client_keep(client);
}

void client_end(struct client *client) {
    if (!client->zk) return;
    world.frees = true;
    EACH_WISH(client, wish) {
        wish->signal = 0; /* sent writes go on */
        user_leave(wish);
    }
    EACH_DEED(client, deed) deed_drop(deed);
    if (client->drain) zkl_request_drop(client->drain);
    zkl_session_close(client->zk);
    zkl_session_closed(client->zk);
    zkl_session_free(client->zk);
    client->zk = NULL;
    memset(client->shadows, 0, sizeof client->shadows);
    world.frees = false;
}

/* --- out ---------------------------------------------------------------------------- */

/* The call of a request; NULL: it was answered. */
static const struct call *call_of(const struct client *client, uint64_t id) {
    const struct call *call = client->zk->calls;
    while (call && call->rpc.id != id) call = call->next;
    return call;
}

/* libzookeeper removes only watches that it knows. */
static bool is_unknown_watch(const struct client *client, const struct zkl_rpc *rpc) {
    if (rpc->kind == ZKL_RPC_UNWATCH_CHILDREN)
        return !(world.children[line_at(rpc->path)].kept & bit_of(client));
    if (rpc->kind != ZKL_RPC_UNWATCH) return false;
    int datum = datum_at(rpc->path);
    if (datum != NOBODY)
        return !((world.data[datum].kept | world.data[datum].awaited) & bit_of(client));
    EACH_NODE(node) {
        bool kept = node->kept & bit_of(client);
        if (kept && strcmp(node->name, name_in(rpc->path)) == 0) return false;
    }
    return true;
}

static bool runs_short(const struct call *call) {
    if (!world.setting.shortage || call->kind != &zkl_guard_call || choose(4) != 3) return false;
    world.shortages++;
    return true;
}

/* Sends now or with the next connection. False: the library refuses the request. */
static bool send(struct client *client, const struct zkl_rpc *rpc) {
    const struct call *call = call_of(client, rpc->id);
    const struct stake *stake = asking_stake(call);
    const struct zkl_claim *claim = stake ? &stake->claim : NULL;
    const struct shadow *shadow = claim ? shadow_of(client, claim) : NULL;
    if (client->expiring || is_unknown_watch(client, rpc) || runs_short(call)) return false;
    struct item item = {.kind = REQUEST,
                        .id = rpc->id,
                        .rpc = *rpc,
                        .node = NOBODY,
                        .nodes = {NOBODY, NOBODY, NOBODY, NOBODY},
                        .issued = clock_of(client),
                        .czxid = claim ? claim->node.czxid : 0,
                        .waiter_returned = shadow && shadow->waiter_returned,
                        .of_member = call->kind == &zkl_member_calls[MEMBER_REMOVE] ||
                                     call->kind == &zkl_member_calls[MEMBER_SET],
                        .heard = client->heard,
                        .guard = guard_sent(client, call),
                        .signal = user_signal_sent(client, call)};
    client->sent = world.now;
    session_heard(client); /* servers read at once */
    queue_push(&client->up, &item);
    return true;
}

static void send_all(struct client *client) {
    const struct zkl_rpc *rpc;
    while ((rpc = zkl_session_next_rpc(client->zk)))
        if (!send(client, rpc)) zkl_session_unsent(client->zk, rpc->id);
}

void client_settle(struct client *client) {
    do send_all(client);
    while (user_hear(client));
    client->asked_due = false;
}

/* The client's next due work, cached until its next step. */
zkl_time client_due(struct client *client) {
    if (client->asked_due) return client->due;
    zkl_time due = zkl_session_due(client->zk), anew = zkl_session_due_since_tick(client->zk);
    const struct zkl_clock *clock = &client->zk->common.clock;
    bool far = due >= clock->attended + clock->attend_within / 2;
    if (far && !world.setting.lazy) due = ZKL_NEVER;
    client->due = due < anew ? due : anew;
    client->asked_due = true;
    return client->due;
}

/* --- answers ------------------------------------------------------------------------ */

void item_lose(struct item *item) {
    item->error = ZKL_ERROR_CONNECTION_LOSS;
    item->arrived = true;
}

static struct zkl_stat stat_of(const struct node *node, zxid view) {
    zxid changed = node_changed(node, view);
    return (struct zkl_stat){.czxid = node->born,
                             .mzxid = changed ? changed : node->born,
                             .version = node_version(node, view),
                             .owner = id_of(node->session)};
}

static const char *content_at(const struct node *node, zxid view) {
    static const char *const contents[] = {[IDENTITY] = "simulated",
                                           [REVOKE] = ZKL_REVOKE_DATA,
                                           [SIGNAL] = ZKL_SIGNAL_DATA,
                                           [HOLDS] = "simulated" ZKL_HELD_WORD,
                                           [ASKED_HOLDS] = ZKL_REVOKE_DATA ZKL_HELD_WORD,
                                           [OTHER] = "a stranger's"};
    int32_t version = node_version(node, view);
    return contents[version ? node->changes[version - 1].content : IDENTITY];
}

static void give_answer(struct client *client, const struct item *item, struct zkl_answer answer) {
    answer.error = item->error;
    zkl_session_answer(client->zk, item->id, &answer);
}

static void answer_get(struct client *client, const struct item *item) {
    struct zkl_stat stat;
    const char *data = "";
    char text[WORD];
    if (item->node >= NODES) {
        const struct fact *fact = fact_at(&world.data[item->node - NODES], item->view);
        stat = fact_stat(fact);
        if (item->rpc.kind == ZKL_RPC_GET) data = fact_text(fact, text);
    } else {
        stat = stat_of(&world.nodes[item->node], item->view);
        data = content_at(&world.nodes[item->node], item->view);
    }
    give_answer(client, item,
                (struct zkl_answer){.data = data, .size = (int)strlen(data), .stat = &stat});
}

static int list_names(int line, zxid view, const char *names[NODES]) {
    int count = 0;
    EACH_NODE(node) {
        if (node->line == line && alive_at(node, view)) names[count++] = node->name;
    }
    EACH_DATUM(datum) {
        if (line == FOLDER && fact_at(datum, view)->word)
            names[count++] = name_in(datum_path((int)(datum - world.data)));
    }
    return count;
}

static void answer_list(struct client *client, const struct item *item,
                        const struct call_kind *kind) {
    const char *names[NODES];
    int count = list_names(item->line, item->view, names);
    const struct zkl_answer list = {.names = names, .count = count};
    if (item->line == FOLDER || kind == &zkl_query_calls[QUERY_LIST]) {
        give_answer(client, item, list);
        return;
    }
    zxid shown = client->shown[item->line];
    bool changed = client->children_changed[item->line];
    unsigned shortages = world.shortages;
    client->shown[item->line] = item->view;
    client->shown_at[item->line] = clock_of(client);
    client->children_changed[item->line] = false;
    give_answer(client, item, list);
    if (world.shortages == shortages) return;
    client->shown[item->line] = shown; /* the list was not read */
    client->children_changed[item->line] = changed;
}

/* The error of operation `i`. Operations before the refused one have none. */
static int error_of(const struct item *item, unsigned i) {
    if (item->error == ZKL_ERROR_NONE || i < item->refused) return ZKL_ERROR_NONE;
    return i == item->refused ? item->error : ZKL_ERROR_RUNTIME_INCONSISTENCY;
}

/* Answers a write, whose first operation may be for a parent without a node here. */
static void answer_write(struct client *client, const struct item *item) {
    struct zkl_result results[OPS];
    char created[OPS][ZKL_NAME_SIZE + 4];
    memset(results, 0, sizeof results);
    for (unsigned i = 0; i < item->rpc.count; i++) {
        results[i].error = error_of(item, i);
        if (item->nodes[i] == NOBODY || item->error != ZKL_ERROR_NONE) continue;
        if (item->nodes[i] >= NODES) {
            results[i].stat = fact_stat(fact_at(&world.data[item->nodes[i] - NODES], item->view));
            continue;
        }
        const struct node *node = &world.nodes[item->nodes[i]];
        if (item->rpc.ops[i].kind != ZKL_OP_DELETE) results[i].stat = stat_of(node, item->view);
        if (item->rpc.ops[i].kind == ZKL_OP_CREATE) results[i].created = path_to(node, created[i]);
    }
    give_answer(client, item, (struct zkl_answer){.results = results});
}

/* Answers a lost request. libzookeeper tells nothing of its operations. */
static void answer_lost(struct client *client, const struct item *item) {
    struct zkl_result results[OPS];
    for (int i = 0; i < OPS; i++) results[i] = (struct zkl_result){.error = ZKL_UNANSWERED};
    give_answer(client, item, (struct zkl_answer){.results = results, .size = -1, .count = -1});
}

/* A completed write or sync proves that its session lived when it was sent. */
static bool is_proof(const struct item *item) {
    const struct zkl_rpc *rpc = &item->rpc;
    if (item->error != ZKL_ERROR_NONE) return false;
    if (rpc->kind == ZKL_RPC_SYNC) return true;
    bool write = rpc->kind == ZKL_RPC_WRITE || rpc->kind == ZKL_RPC_MULTI;
    return write && name_in(rpc->path); /* a parent's create is no proof */
}

static void hear_answer(struct client *client, const struct item *item) {
    const struct call *call = call_of(client, item->id);
    bool done = item->error == ZKL_ERROR_NONE;
    if (!call || item->error == ZKL_ERROR_CONNECTION_LOSS) {
        answer_lost(client, item);
        return;
    }
    rules_on_answer(item);
    if (is_proof(item)) rules_on_proof(client, item->issued);
    switch (item->rpc.kind) {
    case ZKL_RPC_GET:
    case ZKL_RPC_EXISTS:
        if (done) answer_get(client, item);
        break;
    case ZKL_RPC_LIST:
        if (done) answer_list(client, item, call->kind);
        break;
    case ZKL_RPC_WRITE:
    case ZKL_RPC_MULTI: answer_write(client, item); return;
    case ZKL_RPC_SYNC:
    case ZKL_RPC_UNWATCH:
    case ZKL_RPC_UNWATCH_CHILDREN: give_answer(client, item, (struct zkl_answer){0}); return;
    }
    if (!done) give_answer(client, item, (struct zkl_answer){.size = -1, .count = -1});
}

/* --- events and the connection ------------------------------------------------------ */

static void note_children(struct client *client, int line) {
    client->children_changed[line] = true;
    EACH_STAKE(client, stake) {
        const struct zkl_claim *claim = &stake->claim;
        struct node *node = zkl_claim_holds_or_is_kept(claim) ? node_find(claim->node.name) : NULL;
        if (node && node->line == line) node->rivals_known = true;
    }
}

static void hear_watch_event(struct client *client, const struct item *item) {
    char path[ZKL_NAME_SIZE + 4];
    static const enum zkl_node_event events[] = {[DELETED] = ZKL_NODE_DELETED,
                                                 [CHANGED] = ZKL_NODE_CHANGED,
                                                 [CREATED] = ZKL_NODE_CREATED,
                                                 [CHILDREN] = ZKL_NODE_CHILDREN,
                                                 [ENDED] = ZKL_NODE_DELETED};
    const char *node = item->node == NOBODY  ? line_path(item->line)
                       : item->node >= NODES ? datum_path(item->node - NODES)
                                             : path_to(&world.nodes[item->node], path);
    if (item->node == NOBODY && item->line != FOLDER) note_children(client, item->line);
    zkl_session_event(client->zk, events[item->kind], node);
}

static void reopen(struct client *client) {
    bool expired = zkl_session_connection_state(client->zk) == ZKL_SESSION_EXPIRED;
    if (expired && !client->closing) zkl_session_reopening(client->zk);
}

static void hear_connection(struct client *client, const struct item *back) {
    const struct session *session = &world.sessions[back->session];
    reopen(client);
    rules_note_ends(client);
    if (zkl_session_id(client->zk) != session->id)
        client->proved = clock_of(client) - session->timeout;
    zkl_session_connected(client->zk, session->id, session->timeout);
}

static void hear_expiry(struct client *client) {
    client->expiring = false;
    client->last = client->heard = 0;
    zkl_session_expired(client->zk);
}

/* Notes ended holds before a step of the session. */
void client_update_time(struct client *client) {
    zkl_session_at(client->zk, clock_of(client));
    rules_note_holds(client);
}

bool client_deliver(struct client *client) {
    struct item item;
    if (client->life != RUNS || !queue_pull(&client->down, &item)) return false;
    tell("%s hears of %s: %s", story_client(client), story_item(&item), story_error(item.error));
    trace_heard(client, &item);
    network_arrive(client, &item);
    client_update_time(client);
    client->hears = &item;
    bool tells = item.kind < CUT && item.error != ZKL_ERROR_CONNECTION_LOSS;
    if (item.kind == BACK || (tells && item.view > client->heard)) client->heard = item.view;
    switch (item.kind) {
    case REQUEST: hear_answer(client, &item); break;
    case DELETED:
    case CHANGED:
    case CREATED:
    case CHILDREN:
    case ENDED: hear_watch_event(client, &item); break;
    case CUT:
        for (int i = 0; i < LINES; i++) client->shown_at[i] = -ZKL_NEVER;
        zkl_session_suspended(client->zk);
        break;
    case BACK: hear_connection(client, &item); break;
    case EXPIRED: hear_expiry(client); break;
    }
    client->hears = NULL;
    trace_delivered(client);
    client_settle(client);
    return true;
}

/* --- time --------------------------------------------------------------------------- */

static zkl_time world_time(const struct client *client, zkl_time due) {
    return (due - client->offset) / client->rate * 1000 + 1000;
}

bool client_is_due(struct client *client) {
    return client->life == RUNS && client_due(client) <= clock_of(client);
}

zkl_time client_next_due(struct client *client) {
    zkl_time due = client_due(client);
    if (due == ZKL_NEVER) return ZKL_NEVER;
    zkl_time at = world_time(client, due);
    return at > world.now ? at : world.now + 1;
}

zkl_time client_round_due(struct client *client) {
    if (client->life != RUNS) return ZKL_NEVER;
    if (!world.setting.lazy) return client->round;
    zkl_time due = client_due(client);
    return due == ZKL_NEVER ? due : world_time(client, due);
}

void client_keep(struct client *client) {
    zkl_time now = clock_of(client);
    client->round = world_time(client, now + client->zk->common.clock.attend_within / 2);
    if (client_is_due(client)) tell("%s's keeper comes round", story_client(client));
    zkl_session_at(client->zk, now);
    reopen(client);
    zkl_session_tick(client->zk);
    client_settle(client);
    rules_on_tick(client, now);
}

/* --- the end ------------------------------------------------------------------------ */

/* Starts no new request. Without `waiters`, also ends all waits. */
static void begin_to_drain(struct client *client, bool waiters) {
    tell("%s drains its session%s", story_client(client), waiters ? "" : ", and sends all away");
    client_update_time(client);
    EACH_WISH(client, wish) {
        bool waits = wish->doing == WAITS && !zkl_request_done(wish->doing_request);
        bool away = waits || wish->away || (wish->request && !zkl_request_done(wish->request));
        if (!waiters && away) wish->cancelled = ZKL_CLOSED;
    }
    client->drain = zkl_session_drain(client->zk, waiters, ZKL_NEVER);
    client->sends_away = client->drain && !waiters;
    EACH_STAKE(client, stake)
    require(!client->drain || stake->claim.state != ZKL_KEPT,
            "a session that drains keeps no node");
    client_settle(client);
}

/* Ends all locks and waits. Removals may take longer. */
static void begin_to_close(struct client *client) {
    tell("%s closes its session", story_client(client));
    client_update_time(client);
    EACH_WISH(client, wish) wish->cancelled = ZKL_CLOSED;
    EACH_DEED(client, deed) deed->cancelled = ZKL_CLOSED;
    zkl_session_close(client->zk);
    client_settle(client);
    client->closing = true;
    EACH_STAKE(client, stake)
    require(stake->claim.state != ZKL_KEPT, "a session that is closed keeps no node");
    EACH_WISH(client, wish) {
        enum zkl_lease_state state = wish->lease ? zkl_lease_state(wish->lease) : ZKL_LEASE_HELD;
        require(state == ZKL_LEASE_RELEASED || state == ZKL_LEASE_LOST,
                "a session that is closed answers every wish, and has no lease");
        require(!wish->doing_request || zkl_request_done(wish->doing_request),
                "a session that is closed answers each request");
        user_leave(wish);
    }
}

/* Ends the closing, perhaps before all answers, which are then unknown. */
static void end_closing(struct client *client) {
    tell("%s's session is closed", story_client(client));
    client_update_time(client);
    if (client->session != NOBODY && client->server != NOBODY) session_end(client->session);
    network_sever(client);
    network_forget(client);
    client->session = NOBODY;
    client->expiring = true;
    while (client_deliver(client)) continue;
    zkl_session_closed(client->zk);
    client_settle(client);
    EACH_DEED(client, deed) require(!deed->request, "a session that is closed answers every deed");
    client_end(client);
    client_begin(client);
}

void client_close(struct client *client) {
    bool begins = !client->closing;
    if (begins && !client->drain && world.setting.lingers && choose(2)) {
        begin_to_drain(client, choose(2));
        return;
    }
    if (begins) begin_to_close(client);
    if (!begins || !world.setting.lingers) end_closing(client);
}
