/* world.c - see world.h. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* --- chance ---------------------------------------------------------------------------------- */

/* SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014). */
static uint64_t next_random(uint64_t *state) {
    uint64_t number = *state += UINT64_C(0x9e3779b97f4a7c15);
    number = (number ^ (number >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    number = (number ^ (number >> 27)) * UINT64_C(0x94d049bb133111eb);
    return number ^ (number >> 31);
}

uint64_t zkl_world_draw(struct zkl_world *world, unsigned stream, uint64_t bound) {
    return next_random(&world->random[stream]) % bound;
}

uint64_t zkl_world_chance(struct zkl_world *world, uint64_t bound) {
    return zkl_world_draw(world, ZKL_WORLD_STREAMS, bound);
}

zkl_time zkl_world_draw_delay(struct zkl_world *world) {
    return 1 + (zkl_time)zkl_world_chance(world, (uint64_t)world->longest_delay);
}

static void set_seed(struct zkl_world *world, uint64_t seed) {
    for (size_t i = 0; i <= ZKL_WORLD_STREAMS; i++) world->random[i] = next_random(&seed);
}

/* --- life ------------------------------------------------------------------------------------ */

struct zkl_world *zkl_world_new(uint64_t seed, zkl_time delay) {
    struct zkl_world *world = calloc(1, sizeof *world);
    if (!world) return NULL;
    set_seed(world, seed);
    world->now = world->changed_at = BEGIN;
    world->longest_delay = delay > 0 ? delay : 1;
    world->residents_end = &world->residents;
    zkl_list_init(&world->news);
    return world;
}

static void leave_world(struct resident *resident) {
    zkl_client *client = &resident->client;
    if (!zkl_client_session_is_closed(client)) {
        zkl_session_close(zkl_client_enter(client));
        zkl_session_closed(client->session);
        resident->dead = true;
        zkl_client_leave(client);
    }
    resident->ended_at = resident->world->now;
    zkl_list_remove(&resident->place);
    for (struct deferred *each = resident->deferred, *following; each; each = following) {
        following = each->next;
        zkl_client_enter(client);
        each->drop(each->object);
        zkl_client_leave(client);
        free(each);
    }
    resident->world = NULL;
}

void zkl_world_free(struct zkl_world *world) {
    for (struct resident *each = world->residents; each; each = each->next) leave_world(each);
    for (struct resident *each = world->residents, *following; each; each = following) {
        following = each->next;
        zkl_client_drop(&each->client);
    }
    for (struct server *each = world->servers, *following; each; each = following) {
        following = each->next;
        zkl_server_free(each);
    }
    free(world->numbered);
    free(world->messages.list);
    free(world->agenda.heap);
    free(world);
}

zkl_time zkl_world_now(const struct zkl_world *world) {
    return world->now - BEGIN;
}

zkl_time zkl_world_date(zkl_time time) {
    return EPOCH * (ZKL_SECOND / 1000) + time - BEGIN;
}

zkl_time zkl_world_date_now(const struct zkl_world *world) {
    return zkl_world_date(world->now);
}

zkl_time zkl_world_changed_at(const struct zkl_world *world) {
    return world->changed_at - BEGIN;
}

zkl_time zkl_world_next_end(const struct zkl_world *world) {
    zkl_time first = ZKL_NEVER;
    for (const struct resident *each = world->residents; each; each = each->next)
        if (!each->dead) first = zkl_earlier(first, zkl_session_next_end(each->client.session));
    return first == ZKL_NEVER ? ZKL_NEVER : first - BEGIN;
}

/* --- the runtime of a world's clients -------------------------------------------------------- */

static struct resident *resident_of(const zkl_client *client) {
    return (struct resident *)client; /* its first member */
}

static zkl_time now(const struct zkl_client *client) {
    const struct resident *resident = resident_of(client);
    return resident->world ? resident->world->now : resident->ended_at;
}

void zkl_resident_refresh(struct resident *resident) {
    struct zkl_world *world = resident->world;
    if (world)
        zkl_agenda_set(&world->agenda, &resident->item.due, zkl_link_due(resident->client.link));
}

static void lock(struct zkl_client *client) {
    (void)client; /* a world has one thread */
}

static void unlock(struct zkl_client *client) {
    zkl_resident_refresh(resident_of(client));
}

static void destroy(struct zkl_client *client) {
    zkl_client_clear(client);
    free(client);
}

static void wake(struct zkl_client *client) {
    (void)client; /* unlock() sets the due time */
}

static void news(struct zkl_client *client) {
    struct resident *resident = resident_of(client);
    if (!resident->world || resident->dead || !zkl_client_has_events(client)) return;
    if (zkl_list_is_empty(&resident->place))
        zkl_list_append(&resident->world->news, &resident->place);
}

static const struct zkl_runtime runtime = {now, lock, unlock, destroy, wake, news};

/* --- clients --------------------------------------------------------------------------------- */

static bool make_room(struct zkl_world *world) {
    if (world->count < world->room) return true;
    size_t room = world->room ? 2 * world->room : 16;
    struct resident **numbered = realloc(world->numbered, room * sizeof(struct resident *));
    if (!numbered) return false;
    world->numbered = numbered;
    world->room = room;
    return true;
}

zkl_client *zkl_world_client(struct zkl_world *world, uint32_t process,
                             const struct zkl_options *options) {
    struct resident *resident = make_room(world) ? calloc(1, sizeof *resident) : NULL;
    if (!resident) return NULL;
    resident->world = world;
    resident->process = process;
    zkl_list_init(&resident->place);
    uint64_t seed = next_random(&world->random[ZKL_WORLD_STREAMS]);
    int error = zkl_client_init(&resident->client, &runtime, &zkl_world_link, options, seed);
    if (error || !zkl_agenda_add(&world->agenda, &resident->item.due)) {
        destroy(&resident->client);
        return NULL;
    }
    resident->client.round_due = world->now;
    world->numbered[world->count++] = resident;
    resident->number = (uint32_t)world->count;
    *world->residents_end = resident;
    world->residents_end = &resident->next;
    zkl_resident_refresh(resident);
    return zkl_client_ref(&resident->client);
}

bool zkl_world_is_client(const zkl_client *client) {
    return client->runtime == &runtime;
}

uint32_t zkl_world_number(const zkl_client *client) {
    if (!zkl_world_is_client(client) || !resident_of(client)->world) return 0;
    return resident_of(client)->number;
}

bool zkl_world_has(const struct zkl_world *world, const zkl_client *client) {
    return zkl_world_is_client(client) && resident_of(client)->world == world;
}

const char *zkl_world_server_name(const zkl_client *client) {
    return client->link->server->name;
}

bool zkl_world_defer(zkl_client *client, void *object, void (*drop)(void *object)) {
    if (!zkl_world_is_client(client) || !resident_of(client)->world) return false;
    struct resident *resident = resident_of(client);
    struct deferred *deferred = malloc(sizeof *deferred);
    if (!deferred) return false;
    *deferred = (struct deferred){.next = resident->deferred, .object = object, .drop = drop};
    resident->deferred = deferred;
    return true;
}

void zkl_world_totals(struct zkl_world *world, struct zkl_totals *totals) {
    for (struct resident *each = world->residents; each; each = each->next) {
        zkl_totals_add(totals, zkl_client_enter(&each->client));
        zkl_client_leave(&each->client);
    }
}

/* --- time ------------------------------------------------------------------------------------ */

static void carry_out(struct zkl_world *world, struct zkl_due *due) {
    struct item *item = ZKL_LISTED(due, struct item, due);
    if (due->at > world->now) world->now = due->at;
    if (item->is_server) {
        zkl_server_tick(world, ZKL_LISTED(item, struct server, item));
        return;
    }
    struct resident *resident = ZKL_LISTED(item, struct resident, item);
    zkl_link_carry_out(resident->client.link);
    zkl_resident_refresh(resident);
}

static uint32_t take_news(struct zkl_world *world) {
    if (zkl_list_is_empty(&world->news)) return 0;
    struct resident *resident = ZKL_LISTED(world->news.next, struct resident, place);
    zkl_list_remove(&resident->place);
    return resident->number;
}

uint32_t zkl_world_advance(struct zkl_world *world, zkl_time until, size_t steps) {
    zkl_time limit = until >= ZKL_NEVER - BEGIN ? ZKL_NEVER : until + BEGIN;
    for (; steps > 0; steps--) {
        uint32_t number = take_news(world);
        if (number) return number;
        struct zkl_due *first = zkl_agenda_first(&world->agenda);
        if (!first || first->at > limit || first->at == ZKL_NEVER) {
            if (limit != ZKL_NEVER && limit > world->now) world->now = limit;
            return 0;
        }
        carry_out(world, first);
    }
    return take_news(world);
}

/* --- processes ------------------------------------------------------------------------------- */

void zkl_world_stop(struct zkl_world *world, uint32_t process) {
    for (struct resident *each = world->residents; each; each = each->next) {
        if (each->process != process || each->stopped || each->dead) continue;
        each->stopped = true;
        each->stopped_at = world->now;
        if (each->client.link->online) zkl_server_stop_hearing(world, each->client.link);
        zkl_resident_refresh(each);
    }
}

void zkl_world_go_on(struct zkl_world *world, uint32_t process) {
    for (struct resident *each = world->residents; each; each = each->next) {
        if (each->process != process || !each->stopped) continue;
        each->stopped = false;
        zkl_link_go_on(each->client.link, world->now - each->stopped_at);
        zkl_resident_refresh(each);
    }
}

void zkl_world_kill(struct zkl_world *world, uint32_t process) {
    for (struct resident *each = world->residents; each; each = each->next) {
        if (each->process != process || each->dead) continue;
        zkl_link_break(each->client.link, ZKL_NEVER);
        each->dead = true;
        zkl_list_remove(&each->place);
        zkl_resident_refresh(each);
    }
}

/* --- the network, and servers ----------------------------------------------------------------- */

bool zkl_world_cut(zkl_client *client, bool silently) {
    struct zkl_link *link = client->link;
    struct zkl_world *world = resident_of(client)->world;
    if (link->cut || zkl_client_session_is_closed(client)) return false;
    link->cut = true;
    if (silently) {
        uint64_t unnoticed_for = zkl_world_chance(world, (uint64_t)link->timeout / 3 * 2);
        zkl_link_break(link, world->now + (zkl_time)unnoticed_for);
    } else if (link->online) {
        zkl_client_enter(client);
        zkl_link_break(link, ZKL_NEVER);
        zkl_link_notice_end(link);
        zkl_client_leave(client);
    }
    return true;
}

/* If the connection has ended, the client notices now. */
bool zkl_world_heal(zkl_client *client) {
    struct resident *resident = resident_of(client);
    struct zkl_link *link = client->link;
    if (!link->cut) return false;
    link->cut = false;
    if (link->notice_at != ZKL_NEVER) link->notice_at = resident->world->now;
    client->round_due = resident->world->now;
    zkl_resident_refresh(resident);
    return true;
}

bool zkl_world_expire(zkl_client *client) {
    struct zkl_link *link = client->link;
    struct zkl_world *world = resident_of(client)->world;
    if (!zkl_tree_session_lives(link->server->tree, link->session)) return false;
    zkl_tree_expire(link->server->tree, link->session);
    world->changed_at = world->now;
    zkl_server_settle(world, link->server);
    return true;
}

bool zkl_world_delay(struct zkl_world *world, const char *name, zkl_time delay) {
    struct server *server = zkl_world_server(world, name);
    if (server) server->delay = delay;
    return server;
}

void zkl_world_reset(struct zkl_world *world, const char *name) {
    struct server *server = zkl_world_find_server(world, name);
    if (!server) return;
    server->delay = 0;
    zkl_tree_reset(server->tree);
    world->changed_at = world->now;
    zkl_server_settle(world, server);
}

int zkl_world_children(struct zkl_world *world, const char *name, const char *path, char **names) {
    struct server *server = zkl_world_find_server(world, name);
    *names = NULL;
    if (!server) return strcmp(path, "/") == 0 ? 0 : ZKL_ERROR_NO_NODE;
    return zkl_tree_children(server->tree, path, world->now, names);
}

/* --- single steps --------------------------------------------------------------------- */

static struct packet *packet_of(const struct zkl_world *world, uint32_t number, bool up) {
    struct resident *resident = world->numbered[number - 1];
    struct zkl_link *link = resident->client.link;
    if (!up && !zkl_resident_runs(resident)) return NULL;
    return zkl_packet_first(up ? &link->up : &link->down);
}

void zkl_world_hold(struct zkl_world *world) {
    world->packets_held = true;
}

void zkl_world_reseed(struct zkl_world *world, uint64_t seed) {
    set_seed(world, seed);
    if (!world->packets_held) return;
    world->packets_held = false;
    for (struct resident *each = world->residents; each; each = each->next)
        zkl_link_release_packets(each->client.link);
}

uint32_t zkl_world_settle(struct zkl_world *world) {
    return zkl_world_advance(world, zkl_world_now(world), SIZE_MAX);
}

zkl_time zkl_world_due(const struct zkl_world *world) {
    const struct zkl_due *first = zkl_agenda_first(&world->agenda);
    return first && first->at != ZKL_NEVER ? first->at - BEGIN : ZKL_NEVER;
}

enum zkl_world_next zkl_world_under_way(const struct zkl_world *world, uint32_t number, bool up) {
    const struct packet *packet = packet_of(world, number, up);
    if (!packet) return ZKL_WORLD_NOTHING;
    bool is_last = packet->kind == PACKET_EXPIRED || packet->kind == PACKET_CLOSED;
    return is_last ? ZKL_WORLD_SESSION_END : ZKL_WORLD_PACKET;
}

bool zkl_world_packet(const struct zkl_world *world, uint32_t number, bool up, char text[200]) {
    const struct packet *packet = packet_of(world, number, up);
    if (packet) {
        const char *chroot = world->numbered[number - 1]->client.link->chroot;
        zkl_packet_describe(packet, strlen(chroot), text);
    }
    return packet;
}

void zkl_world_hasten(struct zkl_world *world, uint32_t number, bool up) {
    struct packet *packet = packet_of(world, number, up);
    if (packet) packet->due = world->now;
    zkl_resident_refresh(world->numbered[number - 1]);
}
