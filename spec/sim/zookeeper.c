/* zookeeper.c - the ensemble: nodes, views, sessions, requests. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "choice.h"
#include "rules.h"
#include "story.h"
#include "world.h"

/* --- the lock path ------------------------------------------------------------------ */

bool path_at(zxid view) {
    for (int i = world.path_count - 1; i >= 0; i--)
        if (world.paths[i].born <= view) return view < world.paths[i].died;
    return false;
}

static zxid commit(void) {
    world.zxid++;
    return world.zxid;
}

void path_make(void) {
    if (path_at(world.zxid) || world.path_count == PATHS) return;
    world.paths[world.path_count++] = (struct generation){commit(), NEVER};
    world.counter = 0;
    server_see(0, world.zxid);
}

void path_remove(void) {
    world.paths[world.path_count - 1].died = commit();
    server_see(0, world.zxid);
}

/* --- nodes -------------------------------------------------------------------------- */

struct node *node_find(const char *name) {
    for (int i = world.node_count - 1; i >= 0; i--)
        if (strcmp(world.nodes[i].name, name) == 0) return &world.nodes[i];
    return NULL;
}

struct node *node_at(const char *name, zxid view) {
    for (int i = world.node_count - 1; i >= 0; i--)
        if (alive_at(&world.nodes[i], view) && strcmp(world.nodes[i].name, name) == 0)
            return &world.nodes[i];
    return NULL;
}

struct node *node_born(zxid born) {
    EACH_NODE(node) {
        if (node->born == born) return node;
    }
    return NULL;
}

bool nodes_full(void) {
    return world.node_count > NODES - 40; /* whoever is robbed makes another */
}

static struct node *new_node(const char *name, int session, int line, bool contender) {
    struct zkl_name parsed;
    require(world.node_count < NODES, "(the simulator is out of nodes)");
    struct node *node = &world.nodes[world.node_count < NODES ? world.node_count++ : NODES - 1];
    *node = (struct node){.born = commit(), .died = NEVER, .session = session, .line = line};
    node->place = node->born;
    snprintf(node->name, sizeof node->name, "%s", name);
    node->contender = contender;
    if (contender && zkl_name_parse(name, &parsed)) {
        node->kind = parsed.kind;
        node->permits = parsed.permits;
        node->limit = parsed.limit;
    }
    if (is_fixed(name)) node->kind = ZKL_UNFAIR;
    return node;
}

struct node *node_add(const char *name, int session, int line, bool contender) {
    struct node *node = new_node(name, session, line, contender);
    server_see(0, world.zxid);
    return node;
}

/* Create and delete in one commit, or neither: no such writer, or its reader is there already. */
enum zkl_reply node_share(struct node *writer) {
    char name[ZKL_NAME_SIZE];
    zkl_name_downgrade(name, writer->name);
    struct node *reader = node_find(name);
    if (reader && alive(reader)) return ZKL_DONE;
    if (!alive(writer)) return ZKL_ABSENT;
    reader = new_node(name, writer->session, writer->line, true);
    reader->place = writer->place;
    writer->died = reader->born;
    server_see(0, world.zxid);
    return ZKL_DONE;
}

struct node *node_unsignalled(void) {
    struct node *first = NULL;
    EACH_NODE(node) {
        bool waits = alive(node) && node->contender && node->line == CONDITION && !node->changed;
        if (waits && (!first || node->place < first->place)) first = node;
    }
    return first;
}

/* ZOOKEEPER-3249: at its limit the counter sticks, but for creates in one pipeline. */
static const char *numbered(const char *prefix) {
    static char name[2 * ZKL_NAME_SIZE];
    int32_t number = world.counter;
    if (number < INT32_MAX) world.counter++;
    else if (choose(4) == 3) number = -(int32_t)choose(256) - 1;
    snprintf(name, sizeof name, "%s%010" PRId32, prefix, number);
    return name;
}

struct node *node_make(const char *prefix, int session, int line, bool contender) {
    return node_add(numbered(prefix), session, line, contender);
}

struct node *node_wait(const char *prefix, int session, struct node *lock) {
    struct node *waiter = new_node(numbered(prefix), session, CONDITION, true);
    lock->died = waiter->born;
    server_see(0, world.zxid);
    return waiter;
}

void node_remove(struct node *node) {
    node->died = commit();
    server_see(0, world.zxid);
}

void node_change(struct node *node) {
    node->changed = commit();
    if (!node->signal) node->signal = node->changed;
    server_see(0, world.zxid);
}

static bool is_before(const struct node *node, const struct node *other) {
    return alive(node) && node->contender && node->line == other->line &&
           node->place < other->place;
}

struct node *node_before(const struct node *behind, enum zkl_kind kind) {
    struct node *nearest = NULL;
    EACH_NODE(node) {
        if (!is_before(node, behind)) continue;
        if (zkl_kind_is_fixed(kind) != zkl_kind_is_fixed(node->kind)) continue;
        if (!zkl_kinds_exclude(kind, node->kind)) continue;
        if (!nearest || node->place > nearest->place) nearest = node;
    }
    return nearest;
}

int64_t node_taken(const struct node *behind) {
    int64_t taken = 0;
    EACH_NODE(node) {
        if (!is_before(node, behind)) continue;
        taken += node->limit == behind->limit ? node->permits : INT64_C(1) << 40;
    }
    return taken;
}

/* --- servers ------------------------------------------------------------------------ */

static void tell_watchers(int server, struct node *node, enum what what) {
    EACH_CLIENT(c) {
        uint8_t bit = (uint8_t)(1U << index_of(c));
        if (c->server != server || !(node->watched & bit)) continue;
        node->watched &= (uint8_t)~bit;
        network_tell(index_of(c), what, (int)(node - world.nodes));
    }
}

/* What happens next, after `from` and up to `to`, to a node that somebody watches. */
static zxid next_of_watched(zxid from, zxid to) {
    zxid next = to + 1;
    EACH_NODE(node) {
        if (!node->watched) continue;
        if (node->died > from && node->died < next) next = node->died;
        if (node->changed > from && node->changed < next) next = node->changed;
    }
    return next;
}

void server_see(int server, zxid view) {
    struct server *s = &world.servers[server];
    zxid at = s->seen;
    if (view <= at) return;
    s->seen = view;
    while ((at = next_of_watched(at, view)) <= view) {
        EACH_NODE(node) {
            if (node->died == at) tell_watchers(server, node, DELETED);
            else if (node->changed == at && alive_at(node, at))
                tell_watchers(server, node, CHANGED);
        }
    }
}

/* --- sessions ----------------------------------------------------------------------- */

int session_open(zkl_time timeout) {
    require(world.session_count < SESSIONS, "(the simulator is out of sessions)");
    int index = world.session_count < SESSIONS ? world.session_count++ : SESSIONS - 1;
    world.sessions[index] = (struct session){
        .id = ((uint64_t)index + 1) << 32, .timeout = timeout, .touched = world.now, .alive = true};
    commit();
    server_see(0, world.zxid);
    return index;
}

/* Expired or closed: its nodes go in one commit, and its connection is cut. */
void session_end(int index) {
    struct session *session = &world.sessions[index];
    if (!session->alive) return;
    session->alive = false;
    zxid view = commit();
    EACH_NODE(node) {
        if (alive(node) && node->session == index) node->died = view;
    }
    server_see(0, view);
    EACH_CLIENT(c) {
        if (c->session == index && c->server != NOBODY) network_sever(c);
    }
}

/* A packet of the client got to its server. The leader knows at once what it hears itself. */
void session_heard(const struct client *client) {
    if (client->session == NOBODY || !world.sessions[client->session].alive) return;
    world.sessions[client->session].heard = true;
    if (client->server == 0) world.sessions[client->session].touched = world.now;
}

/* Every half tick a follower tells the leader whom it heard since the last time. */
void server_report(int index) {
    world.servers[index].report = world.now + world.setting.tick / 2;
    if (world.servers[index].apart) return;
    EACH_CLIENT(c) {
        if (c->server != index || c->session == NOBODY) continue;
        struct session *session = &world.sessions[c->session];
        if (session->heard) session->touched = world.now;
        session->heard = false;
    }
}

/* What piled up in between comes first: the leader's question whom it heard. */
void server_rejoin(int server) {
    if (!world.servers[server].apart) return;
    tell("server %d is back with the leader", server);
    world.servers[server].apart = false;
    server_report(server);
}

/* The library pings after a third of the timeout in which it sent nothing. */
static zkl_time ping_due(const struct client *client) {
    if (client->life != RUNS || client->server == NOBODY || client->session == NOBODY)
        return ZKL_NEVER;
    return client->sent + world.sessions[client->session].timeout / 3 * 1000 / client->rate;
}

/* The leader rounds up to a tick. */
static zkl_time expiry_due(const struct session *session) {
    if (!session->alive) return ZKL_NEVER;
    return session->touched + session->timeout + (world.setting.grace ? world.setting.tick : 0);
}

static zkl_time earliest(zkl_time due) {
    for (unsigned i = 1; i < world.setting.servers; i++)
        if (world.servers[i].report < due) due = world.servers[i].report;
    EACH_CLIENT(c) {
        if (ping_due(c) < due) due = ping_due(c);
    }
    for (int i = 0; i < world.session_count; i++)
        if (expiry_due(&world.sessions[i]) < due) due = expiry_due(&world.sessions[i]);
    return due;
}

void world_pass(zkl_time time) {
    zkl_time until = world.now + time;
    do {
        zkl_time next = earliest(until);
        if (next < world.now) next = world.now; /* of a process that was stopped: overdue */
        EACH_CLIENT(c) client_run(c, next);
        world.now = next;
        for (unsigned i = 1; i < world.setting.servers; i++)
            if (world.servers[i].report <= world.now) server_report((int)i);
        EACH_CLIENT(c) {
            if (ping_due(c) > world.now) continue;
            c->sent = world.now;
            session_heard(c);
        }
        for (int i = 0; i < world.session_count; i++) {
            if (expiry_due(&world.sessions[i]) > world.now) continue;
            tell("session %d expires", i + 1);
            session_end(i);
        }
        EACH_CLIENT(c) {
            if (c->late[0] && world.now >= c->lands) network_land(c);
        }
    } while (world.now < until);
}

/* --- requests ----------------------------------------------------------------------- */

static void check_fresh(const char *prefix) {
    EACH_NODE(node) {
        require(strncmp(node->name, prefix, strlen(prefix)) != 0, "no nonce is used twice");
    }
}

static void create(const struct client *client, struct item *item) {
    if (!path_at(world.zxid)) {
        item->reply = ZKL_ABSENT;
        return;
    }
    check_fresh(item->name);
    item->node = (int)(node_make(item->name, client->session, item->line, true) - world.nodes);
}

/* Both in one commit. */
static void create_all(const struct client *client, struct item *item) {
    if (!path_at(world.zxid)) {
        item->reply = ZKL_ABSENT;
        return;
    }
    check_fresh(item->name);
    check_fresh(item->other);
    struct node *one = new_node(numbered(item->name), client->session, item->line, true);
    item->node = (int)(one - world.nodes);
    world.zxid--; /* the other's commit is the same */
    new_node(numbered(item->other), client->session, 1 - item->line, true);
    server_see(0, world.zxid);
}

/* There is one node of a fixed name at a time. */
static void create_fixed(const struct client *client, struct item *item) {
    item->taken = path_at(world.zxid) && node_at(item->name, world.zxid);
    if (!path_at(world.zxid)) item->reply = ZKL_ABSENT;
    else if (item->taken) item->reply = ZKL_REFUSED;
    else item->node = (int)(node_add(item->name, client->session, item->line, true) - world.nodes);
}

/* Of whoever has the name now: a stranger's delete of the own is what no client can know in time.
 */
static void remove_fixed(const struct client *client, struct item *item) {
    struct node *node = node_at(item->name, world.zxid), *own = node_born(item->czxid);
    if (!node) {
        item->reply = ZKL_ABSENT;
        return;
    }
    require(node == own || (own && own->robbed), "a name's node is removed by its own claim");
    EACH_WISH(client, wish) {
        bool other = wish - client->wishes != item->wish && zkl_claim_holds(&wish->claim);
        require(!other || wish->claim.czxid != node->born || (own && own->robbed),
                "no claim removes another one's node");
    }
    node->robbed = node != own;
    node_remove(node);
}

static void remove_one(const struct client *client, struct item *item) {
    struct node *node = item->node == NOBODY ? NULL : &world.nodes[item->node];
    if (!node || !alive(node)) {
        item->reply = ZKL_ABSENT;
        return;
    }
    require(node->session == client->session, "nobody's node is removed by another session");
    if (item->unchanged && node->changed) {
        item->reply = ZKL_REFUSED;
        return;
    }
    rules_on_remove(node, &client->wishes[item->wish]);
    node_remove(node);
}

static void begin_wait(const struct client *client, struct item *item) {
    struct node *lock = node_find(item->other);
    item->second = lock && !alive(lock) && path_at(world.zxid);
    if (!path_at(world.zxid) || !lock || !alive(lock)) {
        item->reply = ZKL_ABSENT;
        return;
    }
    require(lock->session == client->session, "nobody's lock is given up by another session");
    item->node = (int)(node_wait(item->name, client->session, lock) - world.nodes);
}

/* Both in one commit, or neither. */
static void pass_on(const struct client *client, struct item *item) {
    struct node *own = item->node == NOBODY ? NULL : &world.nodes[item->node];
    struct node *next = node_find(item->other);
    bool there = own && alive(own);
    if (!there || !next || !alive(next)) item->reply = ZKL_ABSENT;
    else if (next->changed) item->reply = ZKL_REFUSED;
    item->second = there && item->reply != ZKL_DONE;
    if (item->reply != ZKL_DONE) return;
    require(own->session == client->session, "nobody's signal is passed on by another session");
    own->died = next->changed = next->signal = commit();
    server_see(0, world.zxid);
}

static void carry_signal(struct item *item) {
    const struct node *own = item->node == NOBODY ? NULL : &world.nodes[item->node];
    struct node *waiter = node_unsignalled();
    if (!own || !alive(own)) item->reply = ZKL_ABSENT;
    else if (waiter) node_change(waiter);
}

static void share(const struct client *client, struct item *item) {
    struct node *writer = item->node == NOBODY ? NULL : &world.nodes[item->node];
    require(writer && writer->kind == ZKL_WRITE, "only a writer becomes a reader");
    if (!writer) return;
    require(writer->session == client->session, "nobody's node is shared by another session");
    item->reply = node_share(writer);
}

static void mark(const struct client *client, struct item *item) {
    struct node *node = item->node == NOBODY ? NULL : &world.nodes[item->node];
    if (!node || !alive(node)) {
        item->reply = ZKL_ABSENT;
        return;
    }
    require(node->session == client->session, "nobody's node is marked by another session");
    node_change(node);
}

static void get(const struct client *client, zxid view, struct item *item) {
    struct node *fixed = item->name[0] ? node_at(item->name, view) : NULL;
    if (fixed) item->node = (int)(fixed - world.nodes);
    struct node *node = item->node == NOBODY ? NULL : &world.nodes[item->node];
    if (!node || !alive_at(node, view)) item->reply = ZKL_ABSENT;
    else if (item->what != RANK) node->watched |= (uint8_t)(1U << index_of(client));
    item->changed = node && node->changed <= view ? node->changed : 0;
}

static bool is_write(const struct item *item) {
    return item->what == PARENTS || item->what == CREATE || item->what == CREATE_ALL ||
           item->what == SYNC || item->what == REMOVE || item->what == SHARE ||
           item->what == MARK || item->what == WAIT || item->what == PASS || item->what == SIGNAL;
}

bool request_waits(int server, const struct item *item) {
    return is_write(item) && world.servers[server].apart;
}

static bool is_refused(const struct item *item) {
    return world.setting.refusals && item->what != SYNC && choose(12) == 11;
}

/* One that carries out writes answers only when it has seen them itself. */
bool request_carry_out(const struct client *client, int server, struct item *item) {
    if (request_waits(server, item)) return false;
    item->reply = is_refused(item) ? ZKL_REFUSED : ZKL_DONE;
    if (item->reply == ZKL_REFUSED) {
        item->second = item->what == PASS;
        return true;
    }
    switch (item->what) {
    case PARENTS: path_make(); break;
    case CREATE:
        if (is_fixed(item->name)) create_fixed(client, item);
        else create(client, item);
        break;
    case CREATE_ALL: create_all(client, item); break;
    case REMOVE:
        if (is_fixed(item->name)) remove_fixed(client, item);
        else remove_one(client, item);
        break;
    case SHARE: share(client, item); break;
    case MARK: mark(client, item); break;
    case WAIT: begin_wait(client, item); break;
    case PASS: pass_on(client, item); break;
    case SIGNAL: carry_signal(item); break;
    case LIST:
        item->view = world.servers[server].seen;
        if (!path_at(item->view)) item->reply = ZKL_ABSENT;
        break;
    case RANK:
    case OWN:
    case AHEAD: get(client, world.servers[server].seen, item); break;
    case SYNC:
    case DELETED:
    case CHANGED:
    case CUT:
    case BACK:
    case EXPIRED: break;
    }
    if (is_write(item)) server_see(server, world.zxid);
    return true;
}
