/* packet.c - the packets between clients and servers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

struct packet *zkl_packet_new(enum packet_kind kind) {
    struct packet *packet = calloc(1, sizeof *packet);
    if (!packet) return NULL;
    zkl_list_init(&packet->place);
    packet->kind = kind;
    return packet;
}

struct packet *zkl_packet_of_event(enum zkl_node_event kind, const char *path) {
    struct packet *packet = zkl_packet_new(PACKET_EVENT);
    if (!packet) return NULL;
    packet->letter = zkl_letter_of_event(kind, path);
    if (packet->letter) return packet;
    zkl_packet_free(packet);
    return NULL;
}

struct packet *zkl_packet_first(const struct zkl_list *list) {
    return zkl_list_is_empty(list) ? NULL : ZKL_LISTED(list->next, struct packet, place);
}

void zkl_packet_free(struct packet *packet) {
    zkl_list_remove(&packet->place);
    if (packet->letter) zkl_letter_free(packet->letter);
    free(packet->rpc);
    free(packet);
}

void zkl_packets_free(struct zkl_list *list) {
    while (!zkl_list_is_empty(list)) zkl_packet_free(zkl_packet_first(list));
}

/* --- in words ------------------------------------------------------------------------------- */

static const char *rpc_verb(const struct zkl_rpc *rpc) {
    switch (rpc->kind) {
    case ZKL_RPC_WRITE: return zkl_op_names[rpc->ops->kind];
    case ZKL_RPC_MULTI: return "a transaction at";
    case ZKL_RPC_LIST: return "list";
    case ZKL_RPC_SYNC: return "sync";
    case ZKL_RPC_GET: return "get";
    case ZKL_RPC_EXISTS: return "exists";
    case ZKL_RPC_UNWATCH: return "unwatch";
    case ZKL_RPC_UNWATCH_CHILDREN: return "unwatch children of";
    }
    return "";
}

static const char *event_words(enum zkl_node_event kind) {
    switch (kind) {
    case ZKL_NODE_CREATED: return "was created";
    case ZKL_NODE_DELETED: return "was deleted";
    case ZKL_NODE_CHANGED: return "was changed";
    case ZKL_NODE_CHILDREN: return "has other children";
    }
    return "";
}

static void describe_request(const struct packet *packet, size_t hidden, char text[200]) {
    snprintf(text, 200, "%s%s %s", rpc_verb(packet->rpc), packet->rpc->watch ? " and watch" : "",
             packet->rpc->path + hidden);
}

/* With the created node's path, if any. */
static void describe_answer(const struct packet *packet, size_t hidden, char text[200]) {
    const struct zkl_answer *answer = &packet->letter->answer;
    const char *created = answer->results && !answer->error ? answer->results->created : NULL;
    const char *error = zkl_error_words(answer->error);
    snprintf(text, 200, "answer to %s %s%s%s", rpc_verb(packet->rpc),
             created ? created : packet->rpc->path + hidden, error ? ": " : "", error ? error : "");
}

void zkl_packet_describe(const struct packet *packet, size_t hidden, char text[200]) {
    static const char *const words[] = {
        [PACKET_OPEN] = "connect", [PACKET_OPENED] = "connected", [PACKET_EXPIRED] = "expired",
        [PACKET_PING] = "ping",    [PACKET_CLOSE] = "close",      [PACKET_CLOSED] = "closed",
    };
    if (packet->kind == PACKET_REQUEST) describe_request(packet, hidden, text);
    else if (packet->kind == PACKET_ANSWER) describe_answer(packet, hidden, text);
    else if (packet->kind == PACKET_EVENT)
        snprintf(text, 200, "%s %s", packet->letter->path, event_words(packet->letter->kind));
    else snprintf(text, 200, "%s", words[packet->kind]);
}
