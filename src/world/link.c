/* link.c - the connection of a client of a world. */
#include <stdlib.h>
#include <string.h>

#include "../memory/chroot.h"
#include "internal.h"

#define LONGEST_RETRY_PAUSE (ZKL_SECOND / 10)

static struct zkl_world *world_of(const struct zkl_link *link) {
    return link->resident->world;
}

static zkl_session *session_of(const struct zkl_link *link) {
    return link->resident->client.session;
}

/* --- life ----------------------------------------------------------------------------------- */

static void for_each_list(struct zkl_link *link, void (*verb)(struct zkl_list *list)) {
    verb(&link->up);
    verb(&link->down);
    verb(&link->missed);
    verb(&link->lost);
    verb(&link->dropped);
}

static void destroy(struct zkl_link *link) {
    for_each_list(link, zkl_packets_free);
    free(link->chroot);
    free(link);
}

static struct zkl_link *create(struct zkl_client *client, const struct zkl_options *options) {
    struct zkl_link *link = calloc(1, sizeof *link);
    if (!link) return NULL;
    link->resident = (struct resident *)client; /* its first member */
    link->timeout = options->timeout;
    link->reopen = options->reopen;
    link->wants_session = true;
    link->notice_at = ZKL_NEVER;
    for_each_list(link, zkl_list_init);
    link->server = zkl_world_server(link->resident->world, options->hosts);
    link->chroot = strdup(options->chroot);
    if (link->server && link->chroot) return link;
    destroy(link);
    return NULL;
}

/* --- packets --------------------------------------------------------------------------------- */

/* Packets keep their order in each direction. `last` is when the packet before this one is due. */
static zkl_time due_after(struct zkl_link *link, const struct zkl_list *list, zkl_time last) {
    struct zkl_world *world = world_of(link);
    if (world->packets_held) return ZKL_NEVER;
    zkl_time due = world->now + zkl_world_draw_delay(world);
    if (list == &link->down) due += link->server->delay;
    return due > last ? due : last;
}

static void dispatch(struct zkl_link *link, struct zkl_list *list, struct packet *packet) {
    bool first = zkl_list_is_empty(list);
    zkl_time last = first ? 0 : ZKL_LISTED(list->previous, struct packet, place)->due;
    packet->sent = world_of(link)->now;
    packet->due = due_after(link, list, last);
    zkl_list_append(list, &packet->place);
    zkl_resident_refresh(link->resident);
}

static void release_list(struct zkl_link *link, struct zkl_list *list) {
    zkl_time last = 0;
    for (struct zkl_list *place = list->next; place != list; place = place->next) {
        last = due_after(link, list, last);
        ZKL_LISTED(place, struct packet, place)->due = last;
    }
}

void zkl_link_release_packets(struct zkl_link *link) {
    release_list(link, &link->up);
    release_list(link, &link->down);
    zkl_resident_refresh(link->resident);
}

void zkl_link_send_down(struct zkl_link *link, struct packet *packet) {
    dispatch(link, &link->down, packet);
    if (packet->kind == PACKET_OPENED)
        while (!zkl_list_is_empty(&link->missed)) {
            struct packet *event = zkl_packet_first(&link->missed);
            zkl_list_remove(&event->place);
            dispatch(link, &link->down, event);
        }
}

void zkl_link_send_event(struct zkl_link *link, struct packet *packet) {
    if (link->online && link->attached) dispatch(link, &link->down, packet);
    else zkl_list_append(&link->missed, &packet->place);
}

static bool send_up(struct zkl_link *link, enum packet_kind kind) {
    struct packet *packet = zkl_packet_new(kind);
    if (packet) dispatch(link, &link->up, packet);
    return packet;
}

static bool send_request(struct zkl_link *link, const struct zkl_rpc *request) {
    if (!link->connected || !world_of(link) || link->resident->dead) return false;
    struct packet *packet = zkl_packet_new(PACKET_REQUEST);
    if (!packet) return false;
    packet->rpc = zkl_chroot_prepend(link->chroot, request);
    packet->letter = packet->rpc ? zkl_letter_new(request->id) : NULL;
    if (!packet->letter) {
        zkl_packet_free(packet);
        return false;
    }
    if (link->online) dispatch(link, &link->up, packet);
    else zkl_list_append(&link->dropped, &packet->place);
    return true;
}

/* --- the end of a connection ------------------------------------------------------------------ */

/* The first packets to the server, a random number, still arrive. */
static void lose_packets_up(struct zkl_link *link) {
    struct zkl_world *world = world_of(link);
    size_t count = 0;
    for (struct zkl_list *place = link->up.next; place != &link->up; place = place->next) count++;
    size_t arriving = (size_t)zkl_world_chance(world, count + 1);
    for (struct zkl_list *place = link->up.next, *next; place != &link->up; place = next) {
        struct packet *packet = ZKL_LISTED(place, struct packet, place);
        next = place->next;
        if (packet->adrift) continue;
        packet->adrift = true;
        if (arriving > 0) {
            arriving--;
            continue;
        }
        zkl_list_remove(place);
        zkl_link_record(link, packet, true, ZKL_NEVER);
        if (packet->rpc) zkl_list_append(&link->dropped, place);
        else zkl_packet_free(packet);
    }
}

static void lose_packets_down(struct zkl_link *link) {
    while (!zkl_list_is_empty(&link->down)) {
        struct packet *packet = zkl_packet_first(&link->down);
        zkl_list_remove(&packet->place);
        zkl_link_record(link, packet, false, ZKL_NEVER);
        if (packet->kind == PACKET_EVENT) zkl_list_append(&link->missed, &packet->place);
        else if (packet->rpc) zkl_list_append(&link->lost, &packet->place);
        else zkl_packet_free(packet);
    }
}

/* Also forgets a session of which the client never learned. */
void zkl_link_break(struct zkl_link *link, zkl_time notice_at) {
    if (!link->online) return;
    link->online = link->attached = false;
    lose_packets_down(link);
    lose_packets_up(link);
    if (zkl_resident_runs(link->resident)) zkl_server_stop_hearing(world_of(link), link);
    if (link->wants_session) link->session = 0;
    link->notice_at = notice_at;
    zkl_resident_refresh(link->resident);
}

static void tell_loss(struct zkl_link *link, struct packet *packet) {
    const struct zkl_answer nothing = {.error = ZKL_ERROR_CONNECTION_LOSS};
    zkl_session_answer(session_of(link), packet->letter->id, &nothing);
}

static void tell_losses(struct zkl_link *link, struct zkl_list *list) {
    while (!zkl_list_is_empty(list)) {
        struct packet *packet = zkl_packet_first(list);
        tell_loss(link, packet);
        zkl_packet_free(packet);
    }
}

/* Call with the client entered. Reports losses in the order of sending. */
void zkl_link_notice_end(struct zkl_link *link) {
    link->notice_at = ZKL_NEVER;
    link->open_at = world_of(link)->now +
                    (zkl_time)zkl_world_chance(world_of(link), (uint64_t)LONGEST_RETRY_PAUSE);
    if (!link->connected) return;
    link->connected = false;
    zkl_session_suspended(session_of(link));
    tell_losses(link, &link->lost);
    for (struct zkl_list *place = link->up.next; place != &link->up; place = place->next) {
        struct packet *packet = ZKL_LISTED(place, struct packet, place);
        if (packet->rpc && !packet->loss_told) tell_loss(link, packet);
        packet->loss_told = true;
    }
    tell_losses(link, &link->dropped);
}

void zkl_link_go_on(struct zkl_link *link, zkl_time stopped_for) {
    if (!link->online) return;
    if (stopped_for > link->timeout / 3 * 2 || !send_up(link, PACKET_PING))
        zkl_link_break(link, world_of(link)->now);
}

/* --- arrivals -------------------------------------------------------------------------------- */

static void forget_session(struct zkl_link *link) {
    for_each_list(link, zkl_packets_free);
    link->session = 0;
    link->connected = link->online = link->attached = link->wants_session = false;
    link->notice_at = ZKL_NEVER;
}

static void deliver(struct zkl_link *link, struct packet *packet) {
    zkl_session *session = session_of(link);
    switch (packet->kind) {
    case PACKET_OPENED:
        link->connected = true;
        link->wants_session = false;
        zkl_session_connected(session, link->session, link->timeout);
        return;
    case PACKET_EXPIRED:
        forget_session(link);
        zkl_session_expired(session);
        return;
    case PACKET_ANSWER:
        zkl_session_answer(session, packet->letter->id, &packet->letter->answer);
        return;
    case PACKET_EVENT:
        zkl_session_event(session, packet->letter->kind, packet->letter->path);
        return;
    case PACKET_CLOSED:
        forget_session(link);
        zkl_session_closed(session);
        return;
    default: return;
    }
}

static void deliver_next(struct zkl_link *link) {
    struct packet *packet = zkl_packet_first(&link->down);
    zkl_list_remove(&packet->place);
    zkl_link_record(link, packet, false, world_of(link)->now);
    deliver(link, packet);
    zkl_packet_free(packet);
}

static zkl_time first_due(const struct zkl_list *list) {
    const struct packet *packet = zkl_packet_first(list);
    return packet ? packet->due : ZKL_NEVER;
}

zkl_time zkl_link_due(const struct zkl_link *link) {
    zkl_time due = first_due(&link->up);
    if (!zkl_resident_runs(link->resident)) return due;
    due = zkl_earlier(due, first_due(&link->down));
    return zkl_earlier(zkl_earlier(due, link->notice_at), link->resident->client.round_due);
}

void zkl_link_carry_out(struct zkl_link *link) {
    struct zkl_world *world = world_of(link);
    zkl_client *client = &link->resident->client;
    zkl_time due = zkl_link_due(link);
    if (first_due(&link->up) == due) {
        struct packet *packet = zkl_packet_first(&link->up);
        zkl_list_remove(&packet->place);
        zkl_link_record(link, packet, true, world->now);
        zkl_server_receive(world, link, packet);
        return;
    }
    if (link->notice_at != due && first_due(&link->down) != due) {
        zkl_client_round(client, world->now);
    } else {
        zkl_client_enter(client);
        if (link->notice_at == due) zkl_link_notice_end(link);
        else deliver_next(link);
        zkl_client_leave(client);
    }
    if (zkl_client_session_is_closed(client)) client->round_due = ZKL_NEVER; /* no more rounds */
}

/* --- opening and closing --------------------------------------------------------------------- */

static void retire(struct zkl_link *link) {
    if (link->wants_session == link->reopen) return;
    link->wants_session = link->reopen;
    link->open_at = 0;
    zkl_client_wake(&link->resident->client, 0);
}

/* A closing client opens no session, but reconnects for an open one. */
static bool wants_connection(const struct zkl_link *link) {
    if (link->online || link->cut || link->notice_at != ZKL_NEVER) return false;
    return link->wants_session ? !zkl_client_is_closing(&link->resident->client)
                               : link->session != 0;
}

static void connect(struct zkl_link *link, zkl_time now) {
    if (link->wants_session) zkl_session_reopening(session_of(link));
    link->online = send_up(link, PACKET_OPEN);
    link->open_at = now + LONGEST_RETRY_PAUSE;
}

static void close_session(struct zkl_link *link, zkl_time now) {
    bool may_wait =
        link->online && link->connected && now < zkl_client_close_by(&link->resident->client);
    if (may_wait && link->end_sent) return;
    link->end_sent = may_wait && send_up(link, PACKET_CLOSE);
    if (link->end_sent) return;
    if (link->online) zkl_link_break(link, ZKL_NEVER);
    link->notice_at = ZKL_NEVER;
    zkl_session_closed(session_of(link));
}

static void work(struct zkl_link *link, zkl_time now) {
    if (zkl_client_may_close(&link->resident->client, now)) close_session(link, now);
    else if (wants_connection(link) && now >= link->open_at) connect(link, now);
}

static zkl_time due(struct zkl_link *link, zkl_time now) {
    const zkl_client *client = &link->resident->client;
    if (zkl_client_may_close(client, now))
        return link->end_sent ? zkl_client_close_by(client) : now;
    zkl_time due = wants_connection(link) ? link->open_at : ZKL_NEVER;
    return zkl_client_is_closing(client) ? zkl_earlier(due, zkl_client_close_by(client)) : due;
}

static struct zkl_trouble get_trouble(const struct zkl_link *link) {
    (void)link;
    return (struct zkl_trouble){.short_timeout = ZKL_NEVER};
}

const struct zkl_link_class zkl_world_link = {create, destroy, send_request, retire,
                                              work,   due,     get_trouble};
