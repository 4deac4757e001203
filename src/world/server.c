/* server.c - the servers of a world. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* The default of ZooKeeper's servers. */
#define CONTAINER_CHECK (60 * ZKL_SECOND)

struct server *zkl_world_find_server(const struct zkl_world *world, const char *name) {
    struct server *server = world->servers;
    while (server && strcmp(server->name, name) != 0) server = server->next;
    return server;
}

void zkl_server_free(struct server *server) {
    if (server->tree) zkl_tree_free(server->tree);
    free(server->links);
    free(server->name);
    free(server);
}

struct server *zkl_world_server(struct zkl_world *world, const char *name) {
    struct server *server = zkl_world_find_server(world, name);
    if (server) return server;
    server = calloc(1, sizeof *server);
    if (!server) return NULL;
    server->item.is_server = true;
    server->name = strdup(name);
    server->tree = server->name ? zkl_tree_new(CONTAINER_CHECK) : NULL;
    if (!server->tree || !zkl_agenda_add(&world->agenda, &server->item.due)) {
        zkl_server_free(server);
        return NULL;
    }
    server->next = world->servers;
    world->servers = server;
    return server;
}

/* --- the links of sessions ------------------------------------------------------------------- */

static bool list_link(struct server *server, struct zkl_link *link) {
    size_t place = (size_t)link->session;
    if (place >= server->room) {
        size_t room = 2 * place + 16;
        struct zkl_link **links = realloc(server->links, room * sizeof(struct zkl_link *));
        if (!links) return false;
        memset(links + server->room, 0, (room - server->room) * sizeof(struct zkl_link *));
        server->links = links;
        server->room = room;
    }
    server->links[place] = link;
    return true;
}

/* NULL: the client has another session by now. */
static struct zkl_link *link_of(const struct server *server, uint64_t session) {
    struct zkl_link *link = session < server->room ? server->links[session] : NULL;
    return link && link->session == session ? link : NULL;
}

/* --- silent sessions ------------------------------------------------------------------------- */

static bool is_silent(const struct zkl_link *link) {
    return !zkl_resident_runs(link->resident) || !link->online;
}

void zkl_server_stop_hearing(struct zkl_world *world, struct zkl_link *link) {
    if (!link->session) return;
    zkl_time longest = zkl_earlier(world->now - link->heard_at, link->timeout / 3);
    zkl_time silent_for = (zkl_time)zkl_world_chance(world, (uint64_t)longest + 1);
    zkl_time late = (zkl_time)zkl_world_chance(world, (uint64_t)link->timeout / 2 + 1);
    zkl_tree_retime(link->server->tree, link->session, link->timeout - silent_for + late,
                    world->now);
    zkl_server_settle(world, link->server);
}

static void note_sign_of_life(struct zkl_world *world, struct zkl_link *link) {
    link->heard_at = world->now;
    if (is_silent(link)) zkl_server_stop_hearing(world, link);
    else zkl_tree_retime(link->server->tree, link->session, ZKL_NEVER, world->now);
}

/* --- events ---------------------------------------------------------------------------------- */

/* A session ends if there is no memory for its event. */
static void tell_event(struct server *server, struct zkl_link *link,
                       const struct zkl_tree_event *event) {
    const char *path = event->path + strlen(link->chroot);
    struct packet *packet = zkl_packet_of_event(event->kind, *path ? path : "/");
    if (packet) zkl_link_send_event(link, packet);
    else zkl_tree_expire(server->tree, link->session);
}

/* Ends the connection. The client learns the reason when it reconnects. */
static void tell_expired(struct zkl_world *world, struct zkl_link *link) {
    if (link->attached)
        zkl_link_break(link, world->now + zkl_world_draw_delay(world) + link->server->delay);
}

void zkl_server_settle(struct zkl_world *world, struct server *server) {
    struct zkl_tree_event event;
    while (zkl_tree_next_event(server->tree, &event)) {
        struct zkl_link *link = link_of(server, event.session);
        if (link && event.path) tell_event(server, link, &event);
        else if (link) tell_expired(world, link);
    }
    zkl_agenda_set(&world->agenda, &server->item.due, zkl_tree_due(server->tree));
}

void zkl_server_tick(struct zkl_world *world, struct server *server) {
    int64_t before = zkl_tree_last_zxid(server->tree);
    zkl_tree_tick(server->tree, world->now);
    if (zkl_tree_last_zxid(server->tree) != before) world->changed_at = world->now;
    zkl_server_settle(world, server);
}

/* --- arrivals -------------------------------------------------------------------------------- */

/* False: no memory. */
static bool open_session(struct zkl_world *world, struct zkl_link *link) {
    link->session = zkl_tree_open(link->server->tree, ZKL_NEVER, world->now);
    return link->session != 0 && list_link(link->server, link);
}

/* A lost connection opens no session, as the client would never learn of the session. */
static void open_connection(struct zkl_world *world, struct zkl_link *link, struct packet *packet) {
    if (packet->adrift && !link->session) return;
    bool lives = link->session ? zkl_tree_session_lives(link->server->tree, link->session)
                               : open_session(world, link);
    if (!packet->adrift) link->attached = lives;
    if (lives) note_sign_of_life(world, link);
    packet->kind = lives ? PACKET_OPENED : PACKET_EXPIRED;
}

/* False: no memory, and no effect. */
static bool answer(struct zkl_world *world, struct zkl_link *link, struct packet *packet) {
    struct zkl_answer answer;
    struct zkl_stat stat;
    zkl_tree_ask(link->server->tree, link->session, packet->rpc, world->now, &answer);
    if (answer.stat) {
        stat = *answer.stat;
        if (stat.ctime) stat.ctime += EPOCH - BEGIN_MS;
        answer.stat = &stat;
    }
    if (answer.error == ZKL_ERROR_SYSTEM) return false;
    zkl_letter_fill(packet->letter, &answer, packet->rpc->count, strlen(link->chroot));
    packet->kind = PACKET_ANSWER;
    return true;
}

/* Turns a packet into its answer. False: there is no answer. */
static bool carry_out(struct zkl_world *world, struct zkl_link *link, struct packet *packet) {
    switch (packet->kind) {
    case PACKET_OPEN: open_connection(world, link, packet); return true;
    case PACKET_PING: note_sign_of_life(world, link); return false;
    case PACKET_REQUEST: note_sign_of_life(world, link); return answer(world, link, packet);
    case PACKET_CLOSE:
        zkl_tree_close(link->server->tree, link->session);
        packet->kind = PACKET_CLOSED;
        return true;
    default: return false;
    }
}

/* Without a connection the answer is lost. */
static void send_back(struct zkl_link *link, struct packet *packet, bool answered) {
    bool gone = packet->adrift || !link->online;
    if (!gone && answered) zkl_link_send_down(link, packet);
    else if (packet->rpc && !packet->loss_told) zkl_list_append(&link->lost, &packet->place);
    else zkl_packet_free(packet);
}

void zkl_server_receive(struct zkl_world *world, struct zkl_link *link, struct packet *packet) {
    int64_t before = zkl_tree_last_zxid(link->server->tree);
    bool answered = carry_out(world, link, packet), failed = packet->rpc && !answered;
    if (zkl_tree_last_zxid(link->server->tree) != before) world->changed_at = world->now;
    zkl_server_settle(world, link->server); /* events before the answer */
    send_back(link, packet, answered);
    if (failed) zkl_link_break(link, world->now);
}
