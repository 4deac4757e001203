/*
 * network.c - connections, with requests up, replies and events down, in order, and cuts.
 *
 * Items arrive at the client's library, which keeps the watches and sets them again, before they
 * are delivered to claims. Source: libzookeeper's handle_error, free_completions, send_set_watches.
 */
#include <stdio.h>
#include <string.h>

#include "choice.h"
#include "data.h"
#include "rules.h"
#include "story.h"
#include "trace.h"
#include "world.h"

/* --- queues ------------------------------------------------------------------------- */

struct item *queue_at(struct queue *queue, unsigned i) {
    return &queue->items[(queue->first + i) % QUEUE];
}

struct item *queue_push(struct queue *queue, const struct item *item) {
    require(queue->count < QUEUE, "(the simulator's queue is full)");
    if (queue->count == QUEUE) queue->count--;
    struct item *last = queue_at(queue, queue->count++);
    *last = *item;
    return last;
}

bool queue_pull(struct queue *queue, struct item *item) {
    if (!queue->count) return false;
    *item = *queue_at(queue, 0);
    queue->first = (queue->first + 1) % QUEUE;
    queue->count--;
    return true;
}

/* --- while connected ---------------------------------------------------------------------- */

void network_push(struct client *client, enum item_kind kind, int node, int line) {
    struct item item = {.kind = kind, .node = node, .line = line};
    if (client->server != NOBODY) item.view = world.servers[client->server].seen;
    item.arrived = kind == CUT || kind == EXPIRED; /* made by the library */
    queue_push(&client->down, &item);
}

/* Without read access a client gets no event, and its watch is gone (ZOOKEEPER-4799). */
static bool keeps_back(int node) {
    return node >= NODES && world.setting.refusals && choose(6) == 5;
}

void network_tell(int server, uint8_t *watched, enum item_kind kind, int node, int line) {
    EACH_CLIENT(c) {
        uint8_t bit = bit_of(c);
        if (c->server != server || !(*watched & bit)) continue;
        *watched &= (uint8_t)~bit;
        if (!keeps_back(node)) network_push(c, kind, node, line);
    }
}

bool network_carry(struct client *client) {
    struct item item;
    if (client->server == NOBODY || !client->up.count) return false;
    if (request_waits(client->server, queue_at(&client->up, 0))) return false;
    queue_pull(&client->up, &item);
    request_carry_out(client, client->server, &item);
    trace_carried(client, &item);
    tell("%s's %s gets to its server: %s", story_client(client), story_item(&item),
         story_error(item.error));
    if (item.rpc.kind != ZKL_RPC_LIST) item.view = world.servers[client->server].seen;
    queue_push(&client->down, &item);
    return true;
}

static bool is_event(const struct item *item) {
    return item->kind > REQUEST && item->kind < CUT;
}

static void forget_watch(struct datum *datum, uint8_t bit) {
    datum->kept &= (uint8_t)~bit;
    datum->awaited &= (uint8_t)~bit;
}

static void note_watch_of_datum(const struct item *item, struct datum *datum, uint8_t bit) {
    bool done = item->error == ZKL_ERROR_NONE;
    if (item->rpc.watch && done) datum->kept |= bit;
    bool awaits = item->rpc.watch && item->rpc.kind == ZKL_RPC_EXISTS;
    if (awaits && item->error == ZKL_ERROR_NO_NODE) datum->awaited |= bit;
    if (item->rpc.kind == ZKL_RPC_UNWATCH && done) forget_watch(datum, bit);
}

static void note_watch_of_children(const struct item *item, uint8_t bit) {
    struct children *children = &world.children[line_at(item->rpc.path)];
    if (item->error != ZKL_ERROR_NONE) return;
    if (item->rpc.kind == ZKL_RPC_LIST) children->kept |= bit;
    else children->kept &= (uint8_t)~bit;
}

/* The library keeps or drops a watch by the answer. */
static void note_watch(struct client *client, const struct item *item) {
    uint8_t bit = bit_of(client);
    enum zkl_rpc_kind kind = item->rpc.kind;
    bool ends = kind == ZKL_RPC_UNWATCH || kind == ZKL_RPC_UNWATCH_CHILDREN;
    if (!item->rpc.watch && !ends) return;
    if (kind == ZKL_RPC_LIST || kind == ZKL_RPC_UNWATCH_CHILDREN) {
        note_watch_of_children(item, bit);
        return;
    }
    int datum = datum_at(item->rpc.path);
    if (datum != NOBODY) {
        note_watch_of_datum(item, &world.data[datum], bit);
        return;
    }
    if (item->error != ZKL_ERROR_NONE) return;
    if (item->rpc.kind == ZKL_RPC_GET && item->rpc.watch) world.nodes[item->node].kept |= bit;
    if (item->rpc.kind != ZKL_RPC_UNWATCH) return;
    EACH_NODE(node) {
        if (strcmp(node->name, name_in(item->rpc.path)) == 0) node->kept &= (uint8_t)~bit;
    }
}

static void note_event(const struct item *item, uint8_t bit) {
    if (item->node == NOBODY) world.children[item->line].kept &= (uint8_t)~bit;
    else if (item->node < NODES) world.nodes[item->node].kept &= (uint8_t)~bit;
    else forget_watch(&world.data[item->node - NODES], bit);
}

/* The library's thread sees the item. */
void network_arrive(struct client *client, struct item *item) {
    if (item->arrived) return;
    item->arrived = true;
    if (item->error != ZKL_ERROR_CONNECTION_LOSS && !is_event(item) && item->view > client->last)
        client->last = item->view;
    if (item->kind == REQUEST) note_watch(client, item);
    else if (is_event(item)) note_event(item, bit_of(client));
}

/* --- a cut -------------------------------------------------------------------------------- */

/*
 * The latest arrival of a late write is before the session timeout, after which the client looks
 * for it. A wild clock may look too early.
 */
static zkl_time longest_delay(const struct client *client) {
    zkl_time longest = world.sessions[client->session].timeout / 10 * 9;
    return world.setting.wild ? longest / client->rate * 1000 : longest;
}

static bool may_be_late(const struct item *item) {
    const struct zkl_rpc *rpc = &item->rpc;
    bool writes = rpc->kind == ZKL_RPC_WRITE || rpc->kind == ZKL_RPC_MULTI;
    return item->guard || (writes && rpc->ops->kind == ZKL_OP_CREATE && name_in(rpc->path));
}

/*
 * A lost request may still reach the leader. A late delete is harmless, except for a fixed name,
 * where it could remove another client's node; only waiting helps (docs/design/not-prevented.md).
 */
static void send_late(struct client *client, const struct item *item) {
    struct late *late = &client->late;
    if (!may_be_late(item)) return;
    if (late->count || choose(2) == 0) return;
    tell("the cut's first lost request, the %s, is still on its way", story_item(item));
    late->count = (unsigned)item->rpc.count;
    for (unsigned i = 0; i < late->count; i++) {
        late->ops[i] = item->rpc.ops[i];
        snprintf(late->paths[i], sizeof late->paths[i], "%s", item->rpc.ops[i].path);
        late->ops[i].path = late->paths[i];
        size_t size = datum_at(late->paths[i]) == NOBODY ? 0 : late->ops[i].size;
        if (size) memcpy(late->data[i], late->ops[i].data, size);
        late->ops[i].data = late->data[i];
        late->ops[i].size = size;
    }
    late->session = client->session;
    late->guard = item->guard;
    late->lands = world.now + longest_delay(client);
}

/* Carries out some requests, without replies. */
static void lose_requests(struct client *client, int server) {
    bool living = world.sessions[client->session].alive;
    unsigned count = client->up.count, applied = living ? choose(count + 1) : 0;
    struct item item;
    for (unsigned i = 0; i < count && queue_pull(&client->up, &item); i++) {
        if (i < applied && !request_carry_out(client, server, &item)) applied = i;
        if (i < applied) {
            tell("%s's %s is carried out (%s), its reply is lost", story_client(client),
                 story_item(&item), story_error(item.error));
            trace_carried(client, &item);
        } else tell("%s's %s is lost", story_client(client), story_item(&item));
        if (i == applied && living && !world.servers[server].apart) send_late(client, &item);
        item_lose(&item);
        queue_push(&client->down, &item);
    }
}

/* Loses the last replies. Lost events come again with the reconnect. */
static void lose_replies(struct client *client) {
    unsigned count = client->down.count, fresh = 0, kept = 0;
    for (unsigned i = 0; i < count; i++) fresh += !queue_at(&client->down, i)->arrived;
    unsigned heard = count - fresh + choose(fresh + 1);
    for (unsigned i = 0; i < count; i++) {
        struct item *item = queue_at(&client->down, i);
        if (i < heard) network_arrive(client, item);
        else if (is_event(item)) continue;
        else if (item->kind == REQUEST) item_lose(item);
        *queue_at(&client->down, kept++) = *item;
    }
    client->down.count = kept;
}

static bool is_lost(const struct item *item) {
    return item->kind == REQUEST && item->error == ZKL_ERROR_CONNECTION_LOSS;
}

/* The library notices the cut after all that it heard, and before the replies that it makes up. */
static void notice_cut(struct client *client) {
    unsigned i = client->down.count;
    network_push(client, CUT, NOBODY, 0);
    for (; i > 0 && is_lost(queue_at(&client->down, i - 1)); i--) {
        struct item notice = *queue_at(&client->down, i);
        *queue_at(&client->down, i) = *queue_at(&client->down, i - 1);
        *queue_at(&client->down, i - 1) = notice;
    }
    for (i = 0; i < client->down.count; i++) queue_at(&client->down, i)->arrived = true;
}

void network_sever(struct client *client) {
    uint8_t bit = bit_of(client);
    int server = client->server;
    if (server == NOBODY) return;
    tell("%s's connection to server %d is cut", story_client(client), server);
    lose_replies(client);
    notice_cut(client);
    client->server = NOBODY; /* so later events do not reach the client */
    lose_requests(client, server);
    EACH_NODE(node) node->watched &= (uint8_t)~bit;
    for (int line = 0; line <= FOLDER; line++) world.children[line].watched &= (uint8_t)~bit;
    data_unwatch(client, false);
}

/* --- a reconnect -------------------------------------------------------------------- */

/* Servers that have seen less turn the client away. Only the leader knows its session. */
bool network_can_connect(const struct client *client, int server) {
    const struct server *s = &world.servers[server];
    bool over = client->expiring || (client->closing && client->session == NOBODY);
    return client->server == NOBODY && !over && !s->apart && s->seen >= client->last;
}

static void set_watches_of_children(struct client *client, zxid view) {
    for (int line = 0; line <= FOLDER; line++) {
        struct children *children = &world.children[line];
        if (!(children->kept & bit_of(client))) continue;
        if (line != FOLDER && !path_at(view)) network_push(client, ENDED, NOBODY, line);
        else if (line_changed(line, client->last, view))
            network_push(client, CHILDREN, NOBODY, line);
        else children->watched |= bit_of(client);
    }
}

/* Sets the watches again. The server reports dead nodes at once. */
static void set_watches(struct client *client) {
    uint8_t bit = bit_of(client);
    zxid view = world.servers[client->server].seen;
    rules_on_set_watches(client);
    EACH_NODE(node) {
        if (!(node->kept & bit)) continue;
        bool gone = !alive_at(node, view) && !node_at(node->name, view);
        bool other = !alive_at(node, view) || node_changed(node, view) > client->last;
        if (other) network_push(client, gone ? DELETED : CHANGED, (int)(node - world.nodes), 0);
        else node->watched |= bit;
    }
    set_watches_of_children(client, view);
    data_set_watches(client, view);
}

void network_forget(struct client *client) {
    struct item item;
    while (queue_pull(&client->up, &item)) {
        item_lose(&item);
        queue_push(&client->down, &item);
    }
}

/*
 * A client may give up a living session, as if a server had lost its data. A client with wishes
 * does not, because a user would be told that its node is gone.
 */
static bool gives_up_session(const struct client *client) {
    bool may = world.setting.deeds & 1U << DEED_JOIN && client->session != NOBODY;
    EACH_WISH(client, wish) may = false;
    return may && client->zk && !client->zk->stakes && choose(4) == 3;
}

void network_connect(struct client *client, int server, zkl_time timeout) {
    bool expired = client->session != NOBODY && !world.sessions[client->session].alive;
    client->sent = world.now;
    if (expired || gives_up_session(client)) {
        client->session = NOBODY;
        client->expiring = true;
        network_push(client, EXPIRED, NOBODY, 0);
        network_forget(client);
        return;
    }
    if (choose(2)) network_forget(client); /* an earlier attempt failed */
    client->server = server;
    if (client->session == NOBODY) {
        client->session = session_open(timeout);
        trace_opened(client);
        EACH_NODE(node) node->kept &= (uint8_t)~bit_of(client);
        for (int line = 0; line <= FOLDER; line++)
            world.children[line].kept &= (uint8_t)~bit_of(client);
        data_unwatch(client, true);
    }
    world.sessions[client->session].timeout = timeout;
    world.sessions[client->session].touched = world.now;
    struct item back = {.kind = BACK,
                        .node = NOBODY,
                        .view = world.servers[server].seen,
                        .session = client->session,
                        .issued = clock_of(client),
                        .arrived = true};
    queue_push(&client->down, &back);
    set_watches(client);
}

void network_land(struct client *client) {
    struct late *late = &client->late;
    struct item item = {.rpc = {.kind = ZKL_RPC_MULTI,
                                .path = late->paths[0],
                                .ops = late->ops,
                                .count = late->count},
                        .error = ZKL_ERROR_SESSION_EXPIRED,
                        .guard = late->guard};
    if (world.sessions[late->session].alive && !nodes_full())
        request_transact(late->session, &item);
    trace_landed(client, &item);
    for (unsigned i = 0; i < late->count && item.error == ZKL_ERROR_NONE && !late->guard; i++)
        if (item.nodes[i] < NODES) world.nodes[item.nodes[i]].late = true;
    tell("a late write lands: %s",
         item.error != ZKL_ERROR_NONE ? "in vain" : story_node(item.nodes[0]));
    late->count = 0;
}
