#include "story.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool story_told;

void story_line(const char *format, ...) {
    va_list arguments;
    printf("%8.3f s  ", (double)(world.now - 1000 * ZKL_SECOND) / ZKL_SECOND);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
}

enum { TEXT = 160 };

/* Static text that lives for some more calls: a line names several things. */
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

static int client_of(int session) {
    EACH_CLIENT(c) {
        if (c->session == session) return index_of(c) + 1;
    }
    return 0;
}

const char *story_node(int index) {
    char *text = buffer();
    if (index < 0) return "no known node";
    const struct node *node = &world.nodes[index];
    const char *tail = strlen(node->name) > 18 ? node->name + strlen(node->name) - 18 : node->name;
    if (node->session == NOBODY) snprintf(text, TEXT, "another client's ...%.63s", tail);
    else if (!client_of(node->session)) snprintf(text, TEXT, "an ended session's ...%.63s", tail);
    else snprintf(text, TEXT, "client %d's ...%.63s", client_of(node->session), tail);
    return text;
}

const char *story_what(const struct item *item) {
    static const char *const names[] = {[PARENTS] = "create of the path",
                                        [CREATE] = "create",
                                        [SYNC] = "sync",
                                        [LIST] = "list",
                                        [RANK] = "get (czxid) of",
                                        [OWN] = "get (own) of",
                                        [AHEAD] = "get (ahead) of",
                                        [REMOVE] = "delete of",
                                        [SHARE] = "downgrade of",
                                        [MARK] = "mark of",
                                        [PASS] = "passing on of",
                                        [WAIT] = "wait",
                                        [SIGNAL] = "signal by",
                                        [CREATE_ALL] = "creates",
                                        [DELETED] = "the deletion of",
                                        [CHANGED] = "the change of",
                                        [CUT] = "the cut",
                                        [BACK] = "the connection",
                                        [EXPIRED] = "the session's expiry"};
    char *text = buffer();
    bool about = item->node != NOBODY && item->what >= RANK && item->what <= CHANGED;
    snprintf(text, TEXT, "%s%s%s", names[item->what], about ? " " : "",
             about ? story_node(item->node) : "");
    return text;
}

const char *story_reply(enum zkl_reply reply) {
    static const char *const names[] = {"done", "absent", "refused", "unknown"};
    return names[reply];
}

const char *story_desire(const struct desire *desire) {
    static const char *const names[] = {"the lock", "to read", "to write", "the lock, in no order"};
    char *text = buffer();
    if (desire->batch) snprintf(text, TEXT, "the lock, %d a turn", (int)desire->batch);
    if (desire->batch) return text;
    if (desire->kind != ZKL_PERMIT) return names[desire->kind];
    snprintf(text, TEXT, "%d of %d permits", (int)desire->permits, (int)desire->limit);
    return text;
}

const char *story_state(enum zkl_claim_state state) {
    static const char *const names[] = {"NEW",   "TRY",  "ENTER",  "LOOK",  "SEEK",  "KNOW",
                                        "LIST",  "RANK", "WAIT",   "PROVE", "FIRST", "HELD",
                                        "SHARE", "AWAY", "CALLED", "PASS",  "LEAVE", "GONE"};
    return names[state];
}

const char *story_actions(zkl_actions actions) {
    static const char *const names[] = {"create the path",
                                        "create",
                                        "sync",
                                        "list",
                                        "rank",
                                        "watch own",
                                        "watch ahead",
                                        "delete",
                                        "share",
                                        "pass on",
                                        "doubt",
                                        "followers go on",
                                        "queued",
                                        "GRANT",
                                        "FAIL",
                                        "LOSE",
                                        "SHARED",
                                        "STAYED",
                                        "turn",
                                        "forget",
                                        "pause",
                                        "watch holders",
                                        "mark"};
    char *text = buffer();
    size_t length = 0;
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        if (!(actions & 1U << i)) continue;
        length +=
            (size_t)snprintf(text + length, TEXT - length, "%s%s", length ? ", " : "", names[i]);
    }
    return text;
}
