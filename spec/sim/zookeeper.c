/* zookeeper.c - the ensemble. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "choice.h"
#include "data.h"
#include "rules.h"
#include "story.h"
#include "trace.h"
#include "world.h"

/* --- the lock path ------------------------------------------------------------------ */

bool path_at(zxid view) {
    for (int i = world.path_count - 1; i >= 0; i--)
        if (world.paths[i].born <= view) return view < world.paths[i].died;
    return false;
}

zxid world_commit(void) {
    world.zxid++;
    return world.zxid;
}

void path_make(void) {
    if (path_at(world.zxid) || world.path_count == PATHS) return;
    world.paths[world.path_count++] = (struct generation){world_commit(), NEVER};
    world.counter = 0;
    server_see(0, world.zxid);
}

void path_remove(void) {
    world.paths[world.path_count - 1].died = world_commit();
    server_see(0, world.zxid);
}

/* --- names of nodes ------------------------------------------------------------------- */

int line_at(const char *path) {
    if (path[1] == 'u') return FOLDER;
    return path[1] == 'b';
}

const char *line_path(int line) {
    static const char *const paths[LINES + 1] = {"/a", "/b", "/u"};
    return paths[line];
}

const char *name_in(const char *path) {
    const char *slash = strchr(path + 1, '/');
    return slash ? slash + 1 : NULL;
}

const char *path_to(const struct node *node, char room[ZKL_NAME_SIZE + 4]) {
    snprintf(room, ZKL_NAME_SIZE + 4, "%s/%s", line_path(node->line), node->name);
    return room;
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
    return world.node_count > NODES - 40; /* a robbed claim makes another */
}

/* True if a stranger may write, with room left for the session's own mark. */
bool node_may_be_written(const struct node *node) {
    return alive(node) && node->change_count < CHANGES / 3;
}

bool nodes_have(bool (*fits)(const struct node *node)) {
    EACH_NODE(node) {
        if (fits(node)) return true;
    }
    return false;
}

struct node *node_some(bool (*fits)(const struct node *node)) {
    unsigned count = 0;
    EACH_NODE(node) count += fits(node);
    unsigned left = choose(count);
    EACH_NODE(node) {
        if (fits(node) && left-- == 0) return node;
    }
    return NULL;
}

static struct node *new_node(const char *name, int session, int line, bool contender, zxid born) {
    struct zkl_name parsed;
    require(world.node_count < NODES, "(the simulator is out of nodes)");
    struct node *node = &world.nodes[world.node_count < NODES ? world.node_count++ : NODES - 1];
    memset(node, 0, offsetof(struct node, changes));
    node->born = node->place = born;
    node->died = NEVER;
    node->session = session;
    node->line = line;
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
    struct node *node = new_node(name, session, line, contender, world_commit());
    server_see(0, world.zxid);
    return node;
}

struct node *node_unsignalled(void) {
    struct node *first = NULL;
    EACH_NODE(node) {
        bool waits =
            alive(node) && node->contender && node->line == CONDITION && !node->change_count;
        if (waits && (!first || node->place < first->place)) first = node;
    }
    return first;
}

/* ZOOKEEPER-3249: the counter sticks at its limit, except for creates in one pipeline. */
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

void node_remove(struct node *node) {
    node->died = world_commit();
    server_see(0, world.zxid);
}

static void change(struct node *node, enum content content, zxid at) {
    require(node->change_count < CHANGES, "(the simulator is out of changes)");
    if (node->change_count == CHANGES) return;
    node->changes[node->change_count++] = (struct change){at, content};
}

void node_write(struct node *node, enum content content) {
    change(node, content, world_commit());
    server_see(0, world.zxid);
}

static bool says_asked(enum content content) {
    return content == REVOKE || content == ASKED_HOLDS;
}

bool node_is_asked(const struct node *node) {
    for (int i = 0; i < node->change_count; i++)
        if (says_asked(node->changes[i].content)) return true;
    return node->asked;
}

bool node_is_urged(const struct node *node) {
    int count = node->change_count;
    return count ? says_asked(node->changes[count - 1].content) : node->urged;
}

int32_t node_version(const struct node *node, zxid view) {
    int32_t version = node->change_count;
    while (version > 0 && node->changes[version - 1].at > view) version--;
    return version;
}

zxid node_changed(const struct node *node, zxid view) {
    int32_t version = node_version(node, view);
    return version ? node->changes[version - 1].at : 0;
}

struct node *node_before(const struct node *behind, enum zkl_kind kind) {
    struct node *nearest = NULL;
    EACH_NODE(node) {
        if (!node_is_before(node, behind)) continue;
        if (zkl_kind_is_fixed(kind) != zkl_kind_is_fixed(node->kind)) continue;
        if (!zkl_kinds_exclude(kind, node->kind)) continue;
        if (!nearest || node->place > nearest->place) nearest = node;
    }
    return nearest;
}

int64_t node_permits_ahead(const struct node *behind) {
    int64_t taken = 0;
    EACH_NODE(node) {
        if (!node_is_before(node, behind)) continue;
        taken += node->limit == behind->limit ? node->permits : INT64_C(1) << 40;
    }
    return taken;
}

/* --- servers ------------------------------------------------------------------------ */

static void tell_of_node(int server, struct node *node, zxid at) {
    bool changed = node_changed(node, at) == at && alive_at(node, at);
    if (!node->watched || (node->died != at && !changed)) return;
    enum item_kind kind = node->died == at ? DELETED : CHANGED;
    network_tell(server, &node->watched, kind, (int)(node - world.nodes), 0);
}

/* True if children came or went. A remade path has new children. */
bool line_changed(int line, zxid since, zxid view) {
    if (line == FOLDER) return data_came_or_went(since, view);
    EACH_NODE(node) {
        if (node->line != line) continue;
        bool came = node->born > since && node->born <= view;
        if (came || (node->died > since && node->died <= view)) return true;
    }
    return false;
}

static void tell_of_line(int server, int line, zxid at) {
    uint8_t *watched = &world.children[line].watched;
    bool ended = false;
    if (!*watched) return;
    for (int i = 0; i < world.path_count && line != FOLDER; i++)
        ended = ended || world.paths[i].died == at;
    if (ended || line_changed(line, at - 1, at))
        network_tell(server, watched, ended ? ENDED : CHILDREN, NOBODY, line);
}

/* The next change after `from`, at most `otherwise`. */
static zxid next_change(const struct node *node, zxid from, zxid otherwise) {
    for (int i = 0; i < node->change_count; i++)
        if (node->changes[i].at > from)
            return node->changes[i].at < otherwise ? node->changes[i].at : otherwise;
    return otherwise;
}

/* The next commit to a watched node, after `from` and up to `to`. */
static zxid next_of_watched(zxid from, zxid to) {
    zxid next = to + 1;
    for (int i = 0; i < world.path_count; i++)
        if (world.paths[i].died > from && world.paths[i].died < next) next = world.paths[i].died;
    EACH_NODE(node) {
        bool listed = world.children[node->line].watched;
        if (listed && node->born > from && node->born < next) next = node->born;
        if (listed && node->died > from && node->died < next) next = node->died;
        if (!node->watched) continue;
        if (node->died > from && node->died < next) next = node->died;
        next = next_change(node, from, next);
    }
    return data_next(from, next);
}

void server_see(int server, zxid view) {
    struct server *s = &world.servers[server];
    zxid at = s->seen;
    if (view <= at) return;
    s->seen = view;
    while ((at = next_of_watched(at, view)) <= view) {
        EACH_NODE(node) tell_of_node(server, node, at);
        for (int line = 0; line < LINES; line++) tell_of_line(server, line, at);
        data_tell(server, at);
        tell_of_line(server, FOLDER, at);
    }
}

/* --- sessions ----------------------------------------------------------------------- */

int session_open(zkl_time timeout) {
    require(world.session_count < SESSIONS, "(the simulator is out of sessions)");
    int index = world.session_count < SESSIONS ? world.session_count++ : SESSIONS - 1;
    world.sessions[index] = (struct session){
        .id = ((uint64_t)index + 1) << 32, .timeout = timeout, .touched = world.now, .alive = true};
    world_commit();
    server_see(0, world.zxid);
    return index;
}

void session_end(int index) {
    struct session *session = &world.sessions[index];
    if (!session->alive) return;
    trace_ended(index);
    session->alive = false;
    zxid view = world_commit();
    EACH_NODE(node) {
        if (alive(node) && node->session == index) node->died = view;
    }
    data_end_session(index, view);
    server_see(0, view);
    EACH_CLIENT(c) {
        if (c->session == index && c->server != NOBODY) network_sever(c);
    }
}

/* A server hears a client. The leader knows at once of its own clients. */
void session_heard(const struct client *client) {
    if (client->session == NOBODY || !world.sessions[client->session].alive) return;
    world.sessions[client->session].heard = true;
    if (client->server == 0) world.sessions[client->session].touched = world.now;
}

/* A follower reports the sessions that it heard, every half tick. */
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

/* A follower returns. First it answers the leader's question for live sessions. */
void server_rejoin(int server) {
    if (!world.servers[server].apart) return;
    tell("server %d is back with the leader", server);
    world.servers[server].apart = false;
    server_report(server);
}

/* The library pings after a third of the timeout without packets. */
static zkl_time ping_due(const struct client *client) {
    if (client->life != RUNS || client->server == NOBODY || client->session == NOBODY)
        return ZKL_NEVER;
    return client->sent + world.sessions[client->session].timeout / 3 * 1000 / client->rate;
}

/* A session's expiry, rounded up to a tick. */
static zkl_time expiry_due(const struct session *session) {
    if (!session->alive) return ZKL_NEVER;
    return session->touched + session->timeout + (world.setting.grace ? world.setting.tick : 0);
}

static zkl_time earliest(zkl_time due) {
    for (unsigned i = 1; i < world.setting.servers; i++)
        if (world.servers[i].report < due) due = world.servers[i].report;
    EACH_CLIENT(c) {
        if (ping_due(c) < due) due = ping_due(c);
        if (client_round_due(c) < due) due = client_round_due(c);
    }
    for (int i = 0; i < world.session_count; i++)
        if (expiry_due(&world.sessions[i]) < due) due = expiry_due(&world.sessions[i]);
    return due;
}

void world_pass(zkl_time time) {
    zkl_time until = world.now + time;
    do {
        zkl_time next = earliest(until);
        if (next < world.now) next = world.now; /* overdue, after a stop of the process */
        world.now = next;
        EACH_CLIENT(c) {
            if (client_round_due(c) <= world.now) client_keep(c);
        }
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
            if (c->late.count && world.now >= c->late.lands) network_land(c);
        }
    } while (world.now < until);
}

/* --- writes --------------------------------------------------------------------------- */

static void check_fresh(const char *prefix) {
    EACH_NODE(node) {
        require(strncmp(node->name, prefix, strlen(prefix)) != 0, "no nonce is used twice");
    }
}

static int test_create(const struct zkl_op *op) {
    const char *name = name_in(op->path);
    bool there = path_at(world.zxid);
    if (!name) return there ? ZKL_ERROR_NODE_EXISTS : ZKL_ERROR_NONE;
    if (!there) return ZKL_ERROR_NO_NODE;
    if (op->mode == ZKL_SEQUENTIAL) check_fresh(name);
    bool taken = op->mode != ZKL_SEQUENTIAL && node_at(name, world.zxid);
    return taken ? ZKL_ERROR_NODE_EXISTS : ZKL_ERROR_NONE;
}

static int test(const struct zkl_op *op) {
    int datum = datum_at(op->path);
    if (datum != NOBODY) return datum_test(datum, op);
    if (op->kind == ZKL_OP_CREATE) return test_create(op);
    const struct node *node = node_at(name_in(op->path), world.zxid);
    if (!node) return ZKL_ERROR_NO_NODE;
    bool other = op->version != -1 && op->version != node->change_count;
    return other ? ZKL_ERROR_BAD_VERSION : ZKL_ERROR_NONE;
}

/* Gives a reader its writer's place, and the requests to give way. */
static void take_place(struct node *reader) {
    char name[ZKL_NAME_SIZE];
    EACH_NODE(node) {
        if (node->kind != ZKL_WRITE || !alive(node)) continue;
        zkl_name_downgrade(name, node->name);
        if (strcmp(name, reader->name) != 0) continue;
        reader->place = node->place;
        reader->asked = node_is_asked(node);
        reader->urged = node_is_urged(node);
        return;
    }
    require(is_fixed(reader->name), "only a writer becomes a reader");
}

static struct node *create(const struct zkl_op *op, int session, zxid at) {
    const char *name = name_in(op->path);
    bool sequential = op->mode == ZKL_SEQUENTIAL;
    struct node *node =
        new_node(sequential ? numbered(name) : name, session, line_at(op->path), true, at);
    if (!sequential) take_place(node);
    return node;
}

/* Removes the node that now has the name. A client cannot know in time of a stranger's delete. */
static void remove_fixed(struct node *node, int session, const struct item *item) {
    const struct node *own = node_born(item->czxid);
    require(node == own || (own && own->robbed), "a name's node is removed by its own claim");
    EACH_CLIENT(c) {
        if (c->session != session) continue;
        EACH_STAKE(c, stake) {
            bool other = zkl_claim_holds(&stake->claim) && stake->claim.node.czxid != item->czxid;
            require(!other || stake->claim.node.czxid != node->born || (own && own->robbed),
                    "no claim removes another one's node");
        }
    }
    node->robbed = node != own;
}

static void remove_one(struct node *node, int session, const struct item *item, zxid at) {
    bool alone = item->rpc.count == 1;
    if (is_fixed(node->name)) remove_fixed(node, session, item);
    else require(node->session == session, "nobody's node is removed by another session");
    if (alone) rules_on_remove(node, item->waiter_returned);
    node->died = at;
}

static enum content content_of(const struct zkl_op *op) {
    static const char signal[] = ZKL_SIGNAL_DATA;
    bool asks = zkl_data_asks_to_give_way(op->data, op->size);
    if (zkl_data_says_held(op->data, op->size)) return asks ? ASKED_HOLDS : HOLDS;
    if (op->size == strlen(signal) && memcmp(op->data, signal, op->size) == 0) return SIGNAL;
    return asks ? REVOKE : IDENTITY;
}

/* Signals come with proof of the lock, or with the end of its node. */
static void signal(const struct node *node, const struct zkl_rpc *rpc) {
    require(node->line == CONDITION, "only a waiter in the condition is signalled");
    require(node->change_count == 0, "a waiter that has a signal is given no other");
    require(rpc->count > 1 && rpc->ops->kind != ZKL_OP_SET, "only a holder's node signals");
}

static void set(struct node *node, const struct zkl_op *op, int session, const struct item *item,
                zxid at) {
    enum content content = content_of(op);
    if (content == SIGNAL) signal(node, &item->rpc);
    else if (content != REVOKE)
        require(node->session == session, "nobody's node is marked by another session");
    require(says_asked(content) || !node_is_urged(node),
            "the wish that a holder give way stays in its node");
    change(node, content, at);
}

/* Returns the index of the node or datum. */
static int apply(const struct zkl_op *op, int session, struct item *item, zxid at) {
    int datum = datum_at(op->path);
    if (datum != NOBODY) {
        if (item->of_member) rules_on_own_write(datum, session, item);
        datum_apply(datum, op, session, at);
        return NODES + datum;
    }
    struct node *node = op->kind == ZKL_OP_CREATE ? create(op, session, at)
                                                  : node_at(name_in(op->path), world.zxid - 1);
    if (op->kind == ZKL_OP_DELETE) remove_one(node, session, item, at);
    else if (op->kind == ZKL_OP_SET) set(node, op, session, item, at);
    return (int)(node - world.nodes);
}

void request_transact(int session, struct item *item) {
    const struct zkl_rpc *rpc = &item->rpc;
    require(rpc->count <= OPS, "(a transaction is larger than the simulator knows)");
    for (unsigned i = 0; i < rpc->count; i++) {
        item->error = test(&rpc->ops[i]);
        item->refused = i;
        if (item->error != ZKL_ERROR_NONE) return;
    }
    if (!name_in(rpc->path)) {
        path_make();
        return;
    }
    zxid at = world_commit();
    for (unsigned i = 0; i < rpc->count; i++)
        item->nodes[i] = apply(&rpc->ops[i], session, item, at);
    if (item->guard) rules_on_guarded(item);
    if (item->signal) rules_on_signal_given(item);
    server_see(0, world.zxid);
}

/* --- requests ----------------------------------------------------------------------- */

static void get_datum(const struct client *client, zxid view, struct item *item, int which) {
    struct datum *datum = &world.data[which];
    item->node = NODES + which;
    bool there = fact_at(datum, view)->word != 0;
    bool awaits = item->rpc.kind == ZKL_RPC_EXISTS;
    if (item->rpc.watch && (there || awaits)) datum->watched |= bit_of(client);
    if (!there) item->error = ZKL_ERROR_NO_NODE;
}

static void get(const struct client *client, zxid view, struct item *item) {
    int datum = datum_at(item->rpc.path);
    if (datum != NOBODY) {
        get_datum(client, view, item, datum);
        return;
    }
    struct node *node = node_at(name_in(item->rpc.path), view);
    item->node = node ? (int)(node - world.nodes) : NOBODY;
    if (!node) item->error = ZKL_ERROR_NO_NODE;
    else if (item->rpc.watch) node->watched |= bit_of(client);
}

static void unwatch(const struct client *client, struct item *item) {
    uint8_t bit = bit_of(client);
    const char *name = name_in(item->rpc.path);
    int which = datum_at(item->rpc.path);
    struct datum *datum = which == NOBODY ? NULL : &world.data[which];
    bool set = datum && datum->watched & bit;
    item->error = set ? ZKL_ERROR_NONE : ZKL_ERROR_NO_WATCHER;
    if (set) datum->watched &= (uint8_t)~bit;
    EACH_NODE(node) {
        if (!(node->watched & bit) || strcmp(node->name, name) != 0) continue;
        node->watched &= (uint8_t)~bit;
        item->error = ZKL_ERROR_NONE;
    }
}

static void unwatch_children(const struct client *client, struct item *item) {
    struct children *children = &world.children[line_at(item->rpc.path)];
    bool set = children->watched & bit_of(client);
    item->error = set ? ZKL_ERROR_NONE : ZKL_ERROR_NO_WATCHER;
    children->watched &= (uint8_t)~bit_of(client);
}

static void list(const struct client *client, zxid view, struct item *item) {
    item->view = view;
    item->line = line_at(item->rpc.path);
    if (item->line != FOLDER && !path_at(view)) item->error = ZKL_ERROR_NO_NODE;
    else if (item->rpc.watch) world.children[item->line].watched |= bit_of(client);
}

static bool is_write(const struct zkl_rpc *rpc) {
    return rpc->kind == ZKL_RPC_WRITE || rpc->kind == ZKL_RPC_MULTI || rpc->kind == ZKL_RPC_SYNC;
}

bool request_waits(int server, const struct item *item) {
    return is_write(&item->rpc) && world.servers[server].apart;
}

/* True if an ACL may refuse it. Not for a sync or unwatch, nor for reads of a missing node. */
static bool may_be_refused(const struct zkl_rpc *rpc, zxid view) {
    int datum = datum_at(rpc->path);
    switch (rpc->kind) {
    case ZKL_RPC_GET:
        if (datum != NOBODY) return fact_at(&world.data[datum], view)->word != 0;
        return node_at(name_in(rpc->path), view) != NULL;
    case ZKL_RPC_LIST: return line_at(rpc->path) == FOLDER || path_at(view);
    case ZKL_RPC_WRITE:
    case ZKL_RPC_MULTI: return true;
    case ZKL_RPC_SYNC:
    case ZKL_RPC_UNWATCH:
    case ZKL_RPC_UNWATCH_CHILDREN:
    case ZKL_RPC_EXISTS: break;
    }
    return false;
}

/* Carries out a request at a server, which answers a write when it has seen it. */
static bool carry_out(const struct client *client, int server, struct item *item) {
    const struct zkl_rpc *rpc = &item->rpc;
    if (request_waits(server, item)) return false;
    bool risks = world.setting.refusals && may_be_refused(rpc, world.servers[server].seen);
    item->error = risks && choose(12) == 11 ? ZKL_ERROR_NO_AUTH : ZKL_ERROR_NONE;
    if (item->error != ZKL_ERROR_NONE) {
        item->refused = rpc->count > 1 ? choose((unsigned)rpc->count) : 0;
        return true;
    }
    switch (rpc->kind) {
    case ZKL_RPC_WRITE:
    case ZKL_RPC_MULTI: request_transact(client->session, item); break;
    case ZKL_RPC_LIST: list(client, world.servers[server].seen, item); break;
    case ZKL_RPC_GET:
    case ZKL_RPC_EXISTS: get(client, world.servers[server].seen, item); break;
    case ZKL_RPC_UNWATCH: unwatch(client, item); break;
    case ZKL_RPC_UNWATCH_CHILDREN: unwatch_children(client, item); break;
    case ZKL_RPC_SYNC: break;
    }
    if (is_write(rpc)) server_see(server, world.zxid);
    return true;
}

bool request_carry_out(const struct client *client, int server, struct item *item) {
    struct guarded *guard = &world.guards[item->guard];
    if (!carry_out(client, server, item)) return false;
    guard->error = item->error;
    guard->refused = item->refused;
    return true;
}
