/* message.c - a record of a world's packets, arrived or lost. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define FIRST_ROOM 64

void zkl_world_keep_messages(struct zkl_world *world, size_t limit) {
    world->messages.limit = limit;
}

size_t zkl_world_messages(const struct zkl_world *world, const struct zkl_world_message **list) {
    *list = world->messages.list;
    return world->messages.count;
}

static bool make_room(struct messages *messages) {
    if (messages->count < messages->room) return true;
    size_t room = messages->room ? 2 * messages->room : FIRST_ROOM;
    struct zkl_world_message *list = realloc(messages->list, room * sizeof *list);
    if (!list) return false;
    messages->list = list;
    messages->room = room;
    return true;
}

void zkl_link_record(const struct zkl_link *link, const struct packet *packet, bool up,
                     zkl_time arrived) {
    struct zkl_world *world = link->resident->world;
    if (!world || packet->kind == PACKET_PING) return;
    struct messages *messages = &world->messages;
    if (messages->count == messages->limit || !make_room(messages)) return;
    struct zkl_world_message *message = &messages->list[messages->count++];
    message->client_number = link->resident->number;
    message->up = up;
    message->sent = packet->sent - BEGIN;
    message->arrived = arrived == ZKL_NEVER ? ZKL_NEVER : arrived - BEGIN;
    zkl_packet_describe(packet, strlen(link->chroot), message->text);
}
