/*
 * network.c - connections: requests on their way up, replies and events on their
 * way down, both in order, and what a cut does to them.
 *
 * The client's library sees an item (it arrives) before the claims do (it is
 * delivered); the library keeps the watches, and sets them again when it
 * reconnects. Source: libzookeeper's handle_error, free_completions,
 * send_set_watches.
 */
#include <stdio.h>
#include <string.h>

#include "choice.h"
#include "story.h"
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

/* --- while connected ---------------------------------------------------------------------------
 */

static void push(struct client *client, enum what what, int node) {
    struct item item = {.what = what, .wish = NOBODY, .node = node, .reply = ZKL_DONE};
    if (client->server != NOBODY) item.view = world.servers[client->server].seen;
    item.arrived = what == CUT || what == EXPIRED; /* the library's own */
    queue_push(&client->down, &item);
}

void network_tell(int client, enum what what, int node) {
    push(&world.clients[client], what, node);
}

bool network_carry(struct client *client) {
    struct item item;
    if (client->server == NOBODY || !client->up.count) return false;
    if (request_waits(client->server, queue_at(&client->up, 0))) return false;
    queue_pull(&client->up, &item);
    request_carry_out(client, client->server, &item);
    tell("%s's %s gets to its server: %s", story_client(client), story_what(&item),
         story_reply(item.reply));
    if (item.what != LIST) item.view = world.servers[client->server].seen;
    queue_push(&client->down, &item);
    return true;
}

static bool is_event(const struct item *item) {
    return item->what == DELETED || item->what == CHANGED;
}

/* The library's own thread sees the item. */
void network_arrive(struct client *client, struct item *item) {
    bool set = item->reply == ZKL_DONE && (item->what == OWN || item->what == AHEAD);
    uint8_t bit = (uint8_t)(1U << index_of(client));
    if (item->arrived) return;
    item->arrived = true;
    if (item->reply != ZKL_UNKNOWN && !is_event(item) && item->view > client->last)
        client->last = item->view;
    if (item->node == NOBODY) return;
    struct node *node = &world.nodes[item->node];
    if (set) node->kept |= bit;
    else if (is_event(item)) node->kept &= (uint8_t)~bit;
}

/* --- a cut -------------------------------------------------------------------------------------
 */

/*
 * The client looks for it a session timeout later, by its clock. One that runs too fast for
 * the promise would look too early.
 */
static zkl_time slow_way(const struct client *client) {
    zkl_time longest = world.sessions[client->session].timeout / 10 * 9;
    return world.setting.wild ? longest / client->rate * 1000 : longest;
}

/*
 * The last of what was sent may still get to the leader, by a server that has lost its client.
 * A delete that comes late does nothing new; but one of a fixed name could take another's
 * node, and nobody can help that but by waiting: docs/left-alone.md.
 */
static void delay(struct client *client, const struct item *item) {
    if (item->what != CREATE && item->what != SHARE && item->what != WAIT) return;
    if (client->late[0] || choose(2) == 0) return;
    tell("the cut's first lost request, the %s, is still on its way", story_what(item));
    memcpy(client->late, item->name, sizeof client->late);
    client->late_other[0] = '\0';
    if (item->what == WAIT) memcpy(client->late_other, item->other, sizeof client->late_other);
    client->late_of = client->session;
    client->late_line = item->line;
    client->lands = world.now + slow_way(client);
}

/* Some of what is on its way up is still carried out; no reply to it gets back. */
static void lose_requests(struct client *client, int server) {
    bool living = world.sessions[client->session].alive;
    unsigned count = client->up.count, applied = living ? choose(count + 1) : 0;
    struct item item;
    for (unsigned i = 0; i < count && queue_pull(&client->up, &item); i++) {
        if (i < applied && !request_carry_out(client, server, &item)) applied = i;
        if (i < applied)
            tell("%s's %s is carried out (%s), its reply is lost", story_client(client),
                 story_what(&item), story_reply(item.reply));
        else tell("%s's %s is lost", story_client(client), story_what(&item));
        if (i == applied && living && !world.servers[server].apart) delay(client, &item);
        item.reply = ZKL_UNKNOWN;
        item.arrived = true;
        queue_push(&client->down, &item);
    }
}

/* The last replies on their way down are lost; lost events are made up for at the reconnect. */
static void lose_replies(struct client *client) {
    unsigned count = client->down.count, fresh = 0, kept = 0;
    for (unsigned i = 0; i < count; i++) fresh += !queue_at(&client->down, i)->arrived;
    unsigned heard = count - fresh + choose(fresh + 1);
    for (unsigned i = 0; i < count; i++) {
        struct item *item = queue_at(&client->down, i);
        if (i < heard) network_arrive(client, item);
        else if (is_event(item)) continue;
        else if (item->what != CUT) item->reply = ZKL_UNKNOWN;
        *queue_at(&client->down, kept++) = *item;
    }
    client->down.count = kept;
}

/*
 * The library sees the cut after all it heard: the notice of it goes before the
 * replies that it makes up.
 */
static void notice_cut(struct client *client) {
    unsigned i = client->down.count;
    push(client, CUT, NOBODY);
    for (; i > 0 && queue_at(&client->down, i - 1)->reply == ZKL_UNKNOWN; i--) {
        struct item notice = *queue_at(&client->down, i);
        *queue_at(&client->down, i) = *queue_at(&client->down, i - 1);
        *queue_at(&client->down, i - 1) = notice;
    }
    for (i = 0; i < client->down.count; i++) queue_at(&client->down, i)->arrived = true;
}

void network_sever(struct client *client) {
    uint8_t bit = (uint8_t)(1U << index_of(client));
    int server = client->server;
    if (server == NOBODY) return;
    tell("%s's connection to server %d is cut", story_client(client), server);
    lose_replies(client);
    notice_cut(client);
    client->server = NOBODY; /* what is still carried out tells it nothing */
    lose_requests(client, server);
    EACH_NODE(node) node->watched &= (uint8_t)~bit;
}

/* --- a reconnect -------------------------------------------------------------------- */

/* A server that has seen less than the client turns it away; only the leader knows its session. */
bool network_can_connect(const struct client *client, int server) {
    const struct server *s = &world.servers[server];
    return client->server == NOBODY && !client->expiring && !s->apart && s->seen >= client->last;
}

/* The library sends its watches; the server tells at once which of the nodes are gone. */
static void set_watches(struct client *client) {
    uint8_t bit = (uint8_t)(1U << index_of(client));
    zxid view = world.servers[client->server].seen;
    EACH_NODE(node) {
        if (!(node->kept & bit)) continue;
        bool gone = !alive_at(node, view), again = gone && node_at(node->name, view);
        if (gone) push(client, again ? CHANGED : DELETED, (int)(node - world.nodes));
        else if (node->changed > client->last && node->changed <= view)
            push(client, CHANGED, (int)(node - world.nodes));
        else node->watched |= bit;
    }
}

/* What waited for the next connection is given up. */
void network_forget(struct client *client) {
    struct item item;
    while (queue_pull(&client->up, &item)) {
        item.reply = ZKL_UNKNOWN;
        item.arrived = true;
        queue_push(&client->down, &item);
    }
}

static bool is_expired(const struct client *client) {
    return client->session != NOBODY && !world.sessions[client->session].alive;
}

void network_connect(struct client *client, int server, zkl_time timeout) {
    client->sent = world.now;
    if (is_expired(client)) {
        client->session = NOBODY;
        client->expiring = true;
        push(client, EXPIRED, NOBODY);
        network_forget(client);
        return;
    }
    if (choose(2)) network_forget(client); /* an attempt failed before this one */
    client->server = server;
    if (client->session == NOBODY) {
        client->session = session_open(timeout);
        EACH_NODE(node) node->kept &= (uint8_t) ~(1U << index_of(client));
    }
    world.sessions[client->session].timeout = timeout;
    world.sessions[client->session].touched = world.now;
    struct item back = {.what = BACK,
                        .wish = NOBODY,
                        .node = NOBODY,
                        .session = client->session,
                        .issued = clock_of(client),
                        .arrived = true};
    queue_push(&client->down, &back);
    set_watches(client);
}

/* A waiter's and its lock's node: both, or neither. */
static struct node *land_wait(const struct client *client) {
    struct node *lock = node_find(client->late_other);
    return lock && alive(lock) ? node_wait(client->late, client->late_of, lock) : NULL;
}

/* A whole name is that of a writer, which is to become a reader; or the fixed one. */
void network_land(struct client *client) {
    const char *name = client->late;
    struct node *node = is_fixed(name) ? node_at(name, world.zxid) : node_find(name);
    if (world.sessions[client->late_of].alive && path_at(world.zxid) && !nodes_full()) {
        if (client->late_other[0]) node = land_wait(client);
        else if (is_fixed(name) && !node)
            node = node_add(name, client->late_of, client->late_line, true);
        else if (is_fixed(name)) node = NULL; /* refused: it is taken */
        else if (node) node_share(node);
        else node = node_make(name, client->late_of, client->late_line, true);
        tell("what was on a slow way lands: %s",
             node ? story_node((int)(node - world.nodes)) : "in vain");
        if (node) node->late = true;
    }
    client->late[0] = '\0';
}
