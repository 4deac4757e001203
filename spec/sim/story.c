#include "story.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "data.h"

bool story_told;

void story_line(const char *format, ...) {
    va_list arguments;
    printf("%8.3f s  ", (double)(world.now - world.began) / ZKL_SECOND);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
}

enum { TEXT = 160 };

/* A static text that survives some more calls, for lines with several names. */
static char *buffer(void) {
    static char buffers[8][TEXT];
    static unsigned next;
    return buffers[next++ % 8];
}

const char *story_client(const struct client *client) {
    char *text = buffer();
    snprintf(text, TEXT, "client %d", index_of(client) + 1);
    return text;
}

const char *story_owner(const struct client *client, int owner) {
    char *text = buffer();
    if (!world.setting.owners) return story_client(client);
    snprintf(text, TEXT, "client %d's owner %c", index_of(client) + 1, 'A' + owner);
    return text;
}

static int client_of(int session) {
    EACH_CLIENT(c) {
        if (c->session == session) return index_of(c) + 1;
    }
    return 0;
}

const char *story_node(int index) {
    char *text = buffer();
    if (index < 0) return "no known node";
    if (index >= NODES) return datum_path(index - NODES);
    const struct node *node = &world.nodes[index];
    const char *tail = strlen(node->name) > 18 ? node->name + strlen(node->name) - 18 : node->name;
    if (node->session == NOBODY) snprintf(text, TEXT, "another client's ...%.63s", tail);
    else if (!client_of(node->session)) snprintf(text, TEXT, "an ended session's ...%.63s", tail);
    else snprintf(text, TEXT, "client %d's ...%.63s", client_of(node->session), tail);
    return text;
}

static const char *story_write(const struct zkl_rpc *rpc) {
    char *text = buffer();
    size_t length = 0;
    for (size_t i = 0; i < rpc->count && length < TEXT; i++) {
        bool of_path = rpc->ops[i].kind == ZKL_OP_CREATE && !name_in(rpc->ops[i].path);
        length += (size_t)snprintf(text + length, TEXT - length, "%s%s%s", i ? " and " : "",
                                   zkl_op_names[rpc->ops[i].kind], of_path ? " of the path" : "");
    }
    return text;
}

const char *story_item(const struct item *item) {
    static const char *const requests[] = {[ZKL_RPC_LIST] = "list",
                                           [ZKL_RPC_SYNC] = "sync",
                                           [ZKL_RPC_GET] = "get",
                                           [ZKL_RPC_EXISTS] = "exists",
                                           [ZKL_RPC_UNWATCH] = "end of a watch",
                                           [ZKL_RPC_UNWATCH_CHILDREN] =
                                               "end of a watch of children"};
    static const char *const names[] = {[DELETED] = "the deletion of",
                                        [CHANGED] = "the change of",
                                        [CREATED] = "the creation of a node",
                                        [CHILDREN] = "other children of the path",
                                        [ENDED] = "the end of the path",
                                        [CUT] = "the cut",
                                        [BACK] = "the connection",
                                        [EXPIRED] = "the session's expiry"};
    char *text = buffer();
    const struct zkl_rpc *rpc = &item->rpc;
    bool about = item->kind == DELETED || item->kind == CHANGED;
    bool writes = rpc->kind == ZKL_RPC_WRITE || rpc->kind == ZKL_RPC_MULTI;
    if (item->kind == REQUEST && item->error == ZKL_ERROR_CONNECTION_LOSS) return "a request";
    if (item->kind == REQUEST) return writes ? story_write(rpc) : requests[rpc->kind];
    snprintf(text, TEXT, "%s%s%s", names[item->kind], about ? " " : "",
             about ? story_node(item->node) : "");
    return text;
}

const char *story_error(int error) {
    return error == ZKL_ERROR_NONE ? "done" : zkl_error_words(error);
}

const char *story_desire(const struct desire *desire) {
    static const char *const names[] = {"the lock", "to read", "to write", "the lock, in no order"};
    char *text = buffer();
    const char *keeps = desire->keep ? ", to keep it" : "";
    if (desire->batch > 0) snprintf(text, TEXT, "the lock, %d a turn%s", (int)desire->batch, keeps);
    if (desire->batch < 0) snprintf(text, TEXT, "the lock, by turns of some time%s", keeps);
    if (desire->batch) return text;
    if (desire->keep) return "the lock, to keep it";
    if (desire->counting) return "the lock, with the tokens of turns";
    if (desire->kind != ZKL_PERMIT) return names[desire->kind];
    snprintf(text, TEXT, "%d of %d permits", (int)desire->permits, (int)desire->limit);
    return text;
}

const char *story_state(enum zkl_claim_state state) {
    static const char *const names[] = {
        "NEW",          "TRY",     "CREATE", "RECOVER_SYNC", "RECOVER_LIST",
        "RECOVER_STAT", "LIST",    "RANK",   "WAIT",         "PROVE",
        "RETREAT",      "FIRST",   "HELD",   "DOWNGRADE",    "IN_CONDITION",
        "SIGNALLED",    "FORWARD", "KEPT",   "LEAVE",        "GONE"};
    return names[state];
}

const char *story_actions(zkl_actions actions) {
    static const char *const names[] = {
        "parents",        "create", "sync",      "list",    "rank",       "watch own",
        "watch ahead",    "remove", "downgrade", "forward", "doubt",      "follow",
        "queued",         "grant",  "fail",      "lose",    "downgraded", "stayed",
        "tell partner",   "forget", "pause",     "holders", "mark",       "watch lookahead",
        "watch children", "keep"};
    char *text = buffer();
    size_t length = 0;
    *text = '\0';
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        if (!(actions & 1U << i)) continue;
        length +=
            (size_t)snprintf(text + length, TEXT - length, "%s%s", length ? ", " : "", names[i]);
    }
    return text;
}
