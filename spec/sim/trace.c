#include "trace.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { ATTEMPTS = 64, AHEAD = NODES };

/* A client's knowledge, as its last line `is` has it. */
struct view {
    const char *state;
    unsigned session, attempt;
    int own;
    int count;
    int before[AHEAD]; /* numbers of the nodes ahead of its own */
};

static struct traced {
    const struct zkl_claim *claim; /* its user's claim, never an orphan's */
    unsigned session, attempt;
    uint64_t nonces[ATTEMPTS];
    bool granted; /* granted, and not given up since */
    bool certain;
    bool looked[NODES]; /* its watch of the node is set */
    bool hears;         /* it was told of a node's end */
    struct view view;
} traced[CLIENTS];

/* The client of a session, and the session's number there. */
static struct {
    int client;
    unsigned session;
} sessions[SESSIONS];

bool trace_written;

void trace_begin(void) {
    memset(traced, 0, sizeof traced);
    for (int i = 0; i < CLIENTS; i++) {
        traced[i].session = 1;
        traced[i].view = (struct view){.state = "idle", .session = 1};
    }
}

static struct traced *traced_of(const struct client *client) {
    return &traced[index_of(client)];
}

__attribute__((format(printf, 3, 4))) static void write_line(const char *event, int client,
                                                             const char *format, ...) {
    va_list arguments;
    printf("%s client=%d", event, client + 1);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
}

/* --- a client's knowledge ----------------------------------------------------------- */

static const char *wanted_state(const struct zkl_claim *claim, bool certain) {
    switch (claim->state) {
    case ZKL_CREATE:
    case ZKL_RECOVER_SYNC:
    case ZKL_RECOVER_LIST: return claim->wanted ? "create" : "drop";
    case ZKL_RECOVER_STAT: return "found";
    case ZKL_LIST: return claim->node.list_serial ? "ask" : "list";
    case ZKL_RANK: return "ask";
    case ZKL_WAIT: return "wait";
    case ZKL_PROVE: return "prove";
    case ZKL_HELD: return certain ? "held" : "suspect";
    case ZKL_RETREAT:
    case ZKL_LEAVE: return "leave";
    case ZKL_NEW:
    case ZKL_TRY:
    case ZKL_GONE: return "idle";
    default: return "other";
    }
}

static bool has_place(const char *state) {
    return strstr("found ask wait prove held suspect", state) != NULL;
}

/* True if its user wants or holds the lock, after an attempt. */
static bool is_active(const char *state) {
    return has_place(state) || strstr("create list", state) != NULL;
}

static int number_of(int32_t sequence) {
    return (int)sequence + 1;
}

static void see_before(const struct zkl_claim *claim, struct view *view) {
    const struct zkl_line *in = claim->line;
    bool waits = claim->ahead != NULL;
    for (size_t i = 0; i < in->count; i++) {
        const struct zkl_contender *each = in->contenders[i];
        if (each->sequence >= claim->node.sequence) break;
        if (each == claim->ahead) waits = false;
        view->before[view->count++] = number_of(each->sequence);
    }
    if (waits) view->before[view->count++] = number_of(claim->ahead->sequence);
}

static struct view view_of(const struct traced *of) {
    struct view view = {.state = "idle", .session = of->session, .attempt = of->attempt};
    const struct zkl_claim *claim = of->claim;
    if (!claim) return view;
    view.state = wanted_state(claim, of->certain);
    bool knows = strcmp(view.state, "list") == 0 || strcmp(view.state, "leave") == 0;
    if (knows || has_place(view.state)) view.own = number_of(claim->node.sequence);
    if (has_place(view.state)) see_before(claim, &view);
    return view;
}

static bool is_before_same(const struct view *a, const struct view *b) {
    return a->count == b->count &&
           memcmp(a->before, b->before, (size_t)a->count * sizeof *a->before) == 0;
}

static bool is_same(const struct view *a, const struct view *b) {
    return strcmp(a->state, b->state) == 0 && a->session == b->session &&
           a->attempt == b->attempt && a->own == b->own && is_before_same(a, b);
}

static const char *before_text(const struct view *view) {
    static char text[8 * AHEAD];
    size_t length = 0;
    *text = '\0';
    for (int i = 0; i < view->count; i++)
        length += (size_t)snprintf(text + length, sizeof text - length, "%s%d", i ? "," : "",
                                   view->before[i]);
    return text;
}

static void write_is(const struct client *client) {
    struct traced *of = traced_of(client);
    struct view view = view_of(of);
    if (is_same(&view, &of->view) && !of->hears) return;
    of->view = view;
    of->hears = false;
    write_line("is", index_of(client), " state=%s session=%u attempt=%u own=%d before=%s",
               view.state, view.session, view.attempt, view.own, before_text(&view));
}

/* --- certainty ---------------------------------------------------------------------- */

static bool is_certain(const struct client *client, const struct zkl_claim *claim) {
    if (!client->zk || !claim) return false;
    return zkl_clock_phase(&client->zk->common.clock, claim->epoch, clock_of(client)) ==
           ZKL_PHASE_HELD;
}

/* Writes a line for each holder whose certainty changed since the last line. */
static void note_certainty(const struct client *but) {
    EACH_CLIENT(c) {
        struct traced *of = traced_of(c);
        bool holds = of->claim ? of->claim->state == ZKL_HELD : of->certain;
        if (c == but || !of->granted || !holds) continue;
        bool certain = is_certain(c, of->claim);
        if (certain == of->certain) continue;
        of->certain = certain;
        write_line(certain ? "prove" : "doubt", index_of(c), "%s", "");
    }
}

/* --- servers ------------------------------------------------------------------------ */

static unsigned attempt_of(const struct traced *of, uint64_t nonce) {
    unsigned attempt = of->attempt;
    while (attempt > 0 && of->nonces[attempt % ATTEMPTS] != nonce) attempt--;
    return attempt;
}

static struct zkl_name parsed(const char *name) {
    struct zkl_name parsed = {.sequence = NOBODY};
    zkl_name_parse(name, &parsed);
    return parsed;
}

static int number_in(const char *name) {
    return number_of(parsed(name).sequence);
}

static void trace_create(const struct client *client, const struct node *node) {
    write_line("create", index_of(client), " session=%u attempt=%u number=%d",
               sessions[node->session].session,
               attempt_of(traced_of(client), parsed(node->name).nonce), number_in(node->name));
}

static bool is_look(const struct client *client, const struct item *item) {
    const struct call *call = client->zk->calls;
    if (item->rpc.kind != ZKL_RPC_GET || item->error != ZKL_ERROR_NONE) return false;
    while (call && call->rpc.id != item->id) call = call->next;
    return call && call->kind == &zkl_stake_calls[STAKE_GET_AHEAD];
}

void trace_carried(const struct client *client, const struct item *item) {
    const struct zkl_rpc *rpc = &item->rpc;
    if (!trace_written) return;
    note_certainty(NULL);
    bool done = item->error == ZKL_ERROR_NONE;
    if (is_look(client, item)) {
        traced_of(client)->looked[item->node] = true;
        write_line("look", index_of(client), " number=%d", number_in(world.nodes[item->node].name));
    }
    if (rpc->kind == ZKL_RPC_LIST && done)
        write_line("list", index_of(client), " id=%" PRIu64, item->id);
    if (rpc->kind != ZKL_RPC_WRITE || !name_in(rpc->path)) return;
    if (rpc->ops->kind == ZKL_OP_CREATE && done) trace_create(client, &world.nodes[item->nodes[0]]);
    if (rpc->ops->kind == ZKL_OP_DELETE)
        write_line("delete", index_of(client), " number=%d", number_in(name_in(rpc->path)));
}

void trace_landed(const struct client *client, const struct item *item) {
    if (!trace_written || item->error != ZKL_ERROR_NONE) return;
    note_certainty(NULL);
    trace_create(client, &world.nodes[item->nodes[0]]);
}

void trace_opened(const struct client *client) {
    sessions[client->session].client = index_of(client);
    sessions[client->session].session = traced_of(client)->session;
}

void trace_ended(int session) {
    if (!trace_written) return;
    note_certainty(NULL);
    write_line("expire", sessions[session].client, " session=%u", sessions[session].session);
}

/* --- clients ------------------------------------------------------------------------ */

static bool awaits(const struct zkl_claim *claim, int number) {
    bool waits = claim && claim->state == ZKL_WAIT && claim->ahead;
    return waits && number_of(claim->ahead->sequence) == number;
}

void trace_heard(const struct client *client, const struct item *item) {
    struct traced *of = traced_of(client);
    if (!trace_written) return;
    if (item->kind == EXPIRED) {
        note_certainty(NULL);
        write_line("expired", index_of(client), "%s", "");
        of->session++;
        of->granted = of->certain = false;
        memset(of->looked, 0, sizeof of->looked);
    }
    if (item->kind != DELETED || item->node >= NODES || !of->looked[item->node]) return;
    of->looked[item->node] = false;
    of->hears = true;
    note_certainty(NULL);
    int number = number_in(world.nodes[item->node].name);
    write_line("hears", index_of(client), " number=%d awaits=%s", number,
               awaits(of->claim, number) ? "yes" : "no");
}

void trace_delivered(const struct client *client) {
    if (trace_written && traced_of(client)->hears) write_is(client);
}

static bool is_lost(struct before before, enum event event, const struct view *was) {
    enum event unknown = event - (unsigned)ZKL_UNKNOWN;
    bool listed = strcmp(was->state, "list") == 0;
    switch (before.state) {
    case ZKL_CREATE: return unknown == EVENT_CREATED;
    case ZKL_RECOVER_SYNC: return unknown == EVENT_SYNCED;
    case ZKL_RECOVER_LIST: return unknown == EVENT_LISTED;
    case ZKL_LIST: return unknown == EVENT_LISTED && listed;
    case ZKL_WAIT: return unknown == EVENT_GOT_AHEAD;
    case ZKL_RETREAT:
    case ZKL_LEAVE: return unknown == EVENT_REMOVED;
    default: return false;
    }
}

/* Writes a line for an answer, if Lock.tla has it. */
static void trace_answer(const struct client *client, struct before before, enum event event,
                         const struct view *was) {
    int who = index_of(client);
    uint64_t id = client->hears ? client->hears->id : 0;
    bool removes = before.state == ZKL_LEAVE || before.state == ZKL_RETREAT;
    if (is_lost(before, event, was)) write_line("lost", who, "%s", "");
    if (event == EVENT_CREATED && before.state == ZKL_CREATE) write_line("created", who, "%s", "");
    if (event == EVENT_LISTED && before.state == ZKL_RECOVER_LIST)
        write_line("searched", who, " id=%" PRIu64, id);
    if (event == EVENT_LISTED && strcmp(was->state, "list") == 0)
        write_line("listed", who, " id=%" PRIu64, id);
    bool watched = event == EVENT_GOT_AHEAD || event == EVENT_GOT_LOOKAHEAD;
    if (client->hears && watched)
        write_line("watched", who, " number=%d", number_in(world.nodes[client->hears->node].name));
    bool removed = event == EVENT_REMOVED || event == EVENT_REMOVED + (unsigned)ZKL_ABSENT;
    if (removes && removed) write_line("removed", who, "%s", "");
}

/* Writes a line for a new attempt. All but the first follow a search. */
static void trace_attempt(const struct client *client, const struct zkl_claim *claim,
                          struct before before) {
    struct traced *of = traced_of(client);
    bool is_new = of->attempt == 0 || of->nonces[of->attempt % ATTEMPTS] != claim->node.nonce;
    if (claim->state != ZKL_CREATE || !is_new) return;
    of->nonces[++of->attempt % ATTEMPTS] = claim->node.nonce;
    if (before.state != ZKL_RECOVER_LIST) write_line("want", index_of(client), "%s", "");
}

void trace_fed(const struct client *client, const struct zkl_claim *claim, struct before before,
               enum event event, zkl_actions did) {
    struct traced *of = traced_of(client);
    if (!trace_written) return;
    if (event == EVENT_START) of->claim = claim;
    if (of->claim != claim) return;
    if (event == EVENT_EXPIRE) write_is(client); /* after the line `expired` */
    note_certainty(client);
    trace_answer(client, before, event, &of->view);
    struct view view = view_of(of);
    bool had_place = has_place(of->view.state) && has_place(view.state);
    if (had_place && !is_before_same(&view, &of->view))
        write_line("learns", index_of(client), " before=%s", before_text(&view));
    if (did & ZKL_DO_GRANT) {
        write_line("grant", index_of(client), " token=%" PRId64, zkl_claim_token(claim));
        of->granted = of->certain = true;
    }
    bool gone = event == EVENT_OWN_DELETED || event == EVENT_GOT_OWN + (unsigned)ZKL_ABSENT;
    bool again = claim->state == ZKL_CREATE && gone;
    if (is_active(of->view.state) && (!is_active(view.state) || again))
        write_line(gone ? "gone" : "leave", index_of(client), "%s", "");
    if (claim->state != ZKL_HELD) of->granted = of->certain = false;
    trace_attempt(client, claim, before);
    write_is(client);
}

void trace_forgotten(const struct zkl_claim *claim) {
    for (struct traced *of = traced; of < traced + CLIENTS; of++)
        if (of->claim == claim) of->claim = NULL;
}
