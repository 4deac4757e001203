#include "deeds.h"

#include <stdio.h>
#include <stdlib.h>

#include "choice.h"
#include "data.h"
#include "rules.h"
#include "story.h"

/* --- beginnings ------------------------------------------------------------------------------ */

static struct deed *new_deed(struct client *client, enum deed_kind kind) {
    struct deed *deed = client->deeds;
    while (deed->used) deed++;
    client->deeds_done++;
    *deed = (struct deed){.used = true,
                          .kind = kind,
                          .deadline = ZKL_NEVER,
                          .asked = world.zxid,
                          .seen = client->last,
                          .asker = zkl_session_id(client->zk)};
    return deed;
}

static zkl_time some_timeout(const struct client *client, struct deed *deed) {
    if (world.setting.plain || choose(2)) return ZKL_NEVER;
    zkl_time timeout = choose(20) * (TIMEOUT / 10);
    deed->deadline = clock_of(client) + timeout;
    return timeout;
}

static int32_t some_version(const struct fact *now) {
    unsigned which = world.setting.plain ? 0 : choose(4);
    return which < 2 ? -1 : now->version - (which == 3);
}

/* Writes to one node or both, some invalid. Each writes another word; strangers write 1. */
static size_t some_writes(struct zkl_op ops[DATA], char texts[DATA][WORD]) {
    static const enum zkl_op_kind kinds[] = {ZKL_OP_SET,    ZKL_OP_SET,    ZKL_OP_SET,
                                             ZKL_OP_CREATE, ZKL_OP_DELETE, ZKL_OP_CHECK};
    size_t count = world.setting.plain ? 1 : 1 + choose(DATA);
    int first = count == 1 && !world.setting.plain ? (int)choose(DATA) : 0;
    for (size_t i = 0; i < count; i++) {
        int datum = first + (int)i;
        struct zkl_op *op = &ops[i];
        *op = (struct zkl_op){.kind = kinds[world.setting.plain ? 0 : choose(6)],
                              .path = datum_path(datum),
                              .version = some_version(fact_now(&world.data[datum]))};
        unsigned word = DATA * world.guard_count + (unsigned)i;
        op->size = (size_t)snprintf(texts[i], WORD, "%u", word);
        op->data = texts[i];
    }
    return count;
}

static void guard(struct client *client) {
    char texts[DATA][WORD];
    struct zkl_op ops[DATA];
    struct wish *wish = user_some(client, has_lease);
    struct deed *deed = new_deed(client, DEED_GUARD);
    deed->guard = ++world.guard_count;
    size_t count = some_writes(ops, texts);
    tell("%s writes with its lease: guard %u", story_client(client), deed->guard);
    deed->request = zkl_guard(wish->lease, ops, count, some_timeout(client, deed));
}

static void check(struct client *client) {
    struct wish *wish = user_some(client, has_lease);
    struct deed *deed = new_deed(client, DEED_CHECK);
    tell("%s asks whether its lease stands", story_client(client));
    deed->request = zkl_check(wish->lease, some_timeout(client, deed));
}

static void get(struct client *client) {
    struct deed *deed = new_deed(client, DEED_GET);
    deed->datum = (int)choose(DATA);
    tell("%s asks what is in %s", story_client(client), datum_path(deed->datum));
    deed->request = zkl_get(client->zk, datum_path(deed->datum), some_timeout(client, deed));
}

static void queue(struct client *client) {
    bool two = world.setting.mix == MIX_MULTI || world.setting.mix == MIX_CONDITION;
    enum zkl_kind kind = world.setting.mix == MIX_UNFAIR ? ZKL_UNFAIR : ZKL_MUTEX;
    struct deed *deed = new_deed(client, DEED_QUEUE);
    deed->line = two ? (int)choose(LINES) : 0;
    tell("%s asks who is in the line", story_client(client));
    deed->request = zkl_queue(client->zk, line_path(deed->line), kind, some_timeout(client, deed));
}

/* --- revocation --------------------------------------------------------------------------- */

static bool may_be_asked(const struct node *node) {
    return node->contender && node_may_be_written(node);
}

/* Asks any contender to give way, a holder or not. */
static void revoke(struct client *client) {
    char path[ZKL_NAME_SIZE + 4];
    const struct node *node = node_some(may_be_asked);
    struct deed *deed = new_deed(client, DEED_REVOKE);
    deed->node = (int)(node - world.nodes);
    tell("%s asks %s to give way", story_client(client), story_node(deed->node));
    deed->request = zkl_revoke(client->zk, path_to(node, path), some_timeout(client, deed));
}

/* --- watchers ----------------------------------------------------------------------------- */

/* True if the session had a good reason to refuse a watcher or roster. */
static bool check_refusal(const struct client *client, enum zkl_code why) {
    if (why == ZKL_TOO_MANY) rules_on_no_room_to_watch(client);
    return (why == ZKL_TOO_MANY && world.setting.room) || (why == ZKL_CLOSED && client->closing);
}

static void watch(struct client *client) {
    enum zkl_code why = ZKL_OK;
    struct deed *deed = new_deed(client, DEED_WATCH);
    deed->datum = (int)choose(DATA);
    tell("%s wants to hear of %s", story_client(client), datum_path(deed->datum));
    deed->watcher = zkl_watch(client->zk, datum_path(deed->datum), &why);
    deed->refused = !deed->watcher && check_refusal(client, why);
}

void deed_hear_watcher(const struct client *client, uint64_t id) {
    struct zkl_sight sight;
    EACH_DEED(client, deed) {
        if (!deed->watcher || zkl_watcher_id(deed->watcher) != id) continue;
        if (!zkl_watcher_look(deed->watcher, &sight)) return;
        rules_on_sight(client, deed, &sight);
        if (choose(2)) zkl_watcher_confirm(deed->watcher);
    }
}

/* --- members -------------------------------------------------------------------------------- */

/* A word unlike all others, and above those of non-members. */
static unsigned member_word(const struct client *client, char text[WORD]) {
    unsigned word = MEMBERS_WORD + client->deeds_done;
    snprintf(text, WORD, "%u", word);
    return word;
}

static void join(struct client *client) {
    char text[WORD];
    struct deed *deed = new_deed(client, DEED_JOIN);
    deed->datum = (int)choose(DATA);
    deed->word = member_word(client, text);
    tell("%s joins as %s", story_client(client), datum_path(deed->datum));
    deed->request = zkl_join(client->zk, datum_path(deed->datum), text, some_timeout(client, deed));
    require(zkl_stake_bytes(client->zk) <= ZKL_PATHS_MAX,
            "a session has no more nodes than it may");
}

static unsigned find_members(const struct client *client, struct deed *found[DEEDS]) {
    unsigned count = 0;
    EACH_DEED(client, deed) {
        if (deed->member) found[count++] = deed;
    }
    return count;
}

/* The member has the new data even if the request ends early. */
static void set(struct client *client) {
    char text[WORD];
    struct deed *found[DEEDS];
    struct deed *joined = found[choose(find_members(client, found))];
    struct deed *deed = new_deed(client, DEED_SET);
    deed->join = joined;
    deed->datum = joined->datum;
    deed->word = member_word(client, text);
    tell("%s has other data as %s: %s", story_client(client), datum_path(joined->datum), text);
    deed->request = zkl_member_set(joined->member, text, some_timeout(client, deed));
    const struct zkl_request *request = deed->request;
    bool taken = request && (!zkl_request_done(request) || request->code == ZKL_OK);
    if (taken && joined->word) joined->word = deed->word;
}

static void follow(struct client *client) {
    enum zkl_code why = ZKL_OK;
    struct deed *deed = new_deed(client, DEED_FOLLOW);
    tell("%s wants to hear who is in the folder", story_client(client));
    deed->roster = zkl_members(client->zk, line_path(FOLDER), &why);
    deed->refused = !deed->roster && check_refusal(client, why);
}

void deed_hear_member(const struct client *client, uint64_t id) {
    EACH_DEED(client, deed) {
        if (deed->member && zkl_member_id(deed->member) == id) rules_on_member(client, deed);
    }
}

void deed_hear_roster(const struct client *client, uint64_t id) {
    struct zkl_roll *roll;
    EACH_DEED(client, deed) {
        if (!deed->roster || zkl_roster_id(deed->roster) != id) continue;
        if (!zkl_roster_look(deed->roster, &roll)) return;
        require(roll || world.shortages, "a list is told, unless there is no memory");
        if (!roll) return;
        rules_on_roll(client, deed, roll);
        free(deed->roll);
        deed->roll = roll;
        if (choose(2)) zkl_roster_confirm(deed->roster);
    }
}

/* --- all of them -------------------------------------------------------------------------- */

void deed_drop(struct deed *deed) {
    if (deed->request) zkl_request_drop(deed->request);
    if (deed->watcher) zkl_watcher_drop(deed->watcher);
    if (deed->member) zkl_member_drop(deed->member);
    if (deed->roster) zkl_roster_drop(deed->roster);
    free(deed->roll);
    *deed = (struct deed){0};
}

/* Ends a random deed; a member's sets end with it. */
static void end_some(struct client *client) {
    struct deed *found[DEEDS] = {0};
    unsigned count = 0;
    EACH_DEED(client, deed) found[count++] = deed;
    struct deed *deed = found[choose(count)];
    deed->cancelled = ZKL_INTERRUPTED;
    tell("%s does not want to hear any more", story_client(client));
    EACH_DEED(client, each) {
        if (deed->member && each->join == deed) each->cancelled = ZKL_CLOSED;
    }
    if (!deed->request) deed_drop(deed);
    else zkl_request_cancel(deed->request, ZKL_INTERRUPTED);
}

static unsigned count_deeds(const struct client *client) {
    unsigned count = 0;
    EACH_DEED(client, deed) count++;
    return count;
}

void deeds_end(struct client *client) {
    if (!count_deeds(client)) return;
    client_update_time(client);
    EACH_DEED(client, deed) deed_drop(deed);
    client_settle(client);
}

enum { NEEDS_LEASE = 1U << DEED_GUARD | 1U << DEED_CHECK };

static bool facts_have_room(int most) {
    EACH_DATUM(datum) {
        if (datum->count > most) return false;
    }
    return true;
}

/* The deeds that can begin now, a bit each. */
static unsigned possible_kinds(const struct client *client) {
    unsigned kinds = world.setting.deeds;
    struct deed *members[DEEDS];
    if (count_deeds(client) == DEEDS) return 0;
    if (!user_has(client, has_lease)) kinds &= ~NEEDS_LEASE;
    if (!facts_have_room(FACTS / 4)) kinds &= ~(1U << DEED_JOIN | 1U << DEED_SET);
    if (!find_members(client, members)) kinds &= ~(1U << DEED_SET);
    if (world.guard_count == GUARDS) kinds &= ~(1U << DEED_GUARD);
    if (kinds & 1U << DEED_REVOKE && !nodes_have(may_be_asked)) kinds &= ~(1U << DEED_REVOKE);
    return kinds;
}

/* In a small case a client begins one deed. */
bool deed_may_move(const struct client *client) {
    if (client->life != RUNS || (world.setting.plain && client->deeds_done)) return false;
    return possible_kinds(client) || (!world.setting.plain && count_deeds(client));
}

static void (*const begin[DEED_KINDS])(struct client *) = {
    [DEED_GUARD] = guard, [DEED_CHECK] = check,   [DEED_GET] = get,
    [DEED_QUEUE] = queue, [DEED_REVOKE] = revoke, [DEED_WATCH] = watch,
    [DEED_JOIN] = join,   [DEED_FOLLOW] = follow, [DEED_SET] = set};

static void forget_unbegun(const struct client *client) {
    EACH_DEED(client, deed) {
        if (deed->request || deed->watcher || deed->member || deed->roster) continue;
        require(deed->refused || world.shortages, "a deed begins, unless there is no memory");
        *deed = (struct deed){0};
    }
}

void deed_move(struct client *client) {
    unsigned kinds = possible_kinds(client), count = 0;
    enum deed_kind found[DEED_KINDS];
    for (unsigned kind = 0; kind < DEED_KINDS; kind++)
        if (kinds & 1U << kind) found[count++] = (enum deed_kind)kind;
    bool ends = !count || (count_deeds(client) && choose(6) == 5);
    client_update_time(client);
    if (ends) end_some(client);
    else begin[found[count > 1 ? choose(count) : 0]](client);
    forget_unbegun(client);
    client_settle(client);
}

/* --- strangers ---------------------------------------------------------------------------- */

bool deed_may_touch(void) {
    return world.setting.deeds && facts_have_room(FACTS / 5 - 2);
}

static void touch(int which, enum zkl_op_kind kind) {
    const struct zkl_op op = {.kind = kind, .version = -1, .data = "1", .size = 1};
    tell("somebody's %s of %s", zkl_op_names[kind], datum_path(which));
    datum_apply(which, &op, NOBODY, world_commit());
    server_see(0, world.zxid);
}

/* A remade node has the last content. */
void deed_touch(void) {
    int which = (int)choose(DATA);
    bool there = fact_now(&world.data[which])->word != 0;
    unsigned how = there ? choose(3) : 1;
    if (there) touch(which, how == 2 ? ZKL_OP_SET : ZKL_OP_DELETE);
    if (how == 1) touch(which, ZKL_OP_CREATE);
}

/* --- requests and events ------------------------------------------------------------------ */

unsigned guard_sent(const struct client *client, const struct call *call) {
    if (call->kind != &zkl_guard_call) return 0;
    EACH_DEED(client, deed) {
        if (deed->kind != DEED_GUARD || deed->request != zkl_call_request(call)) continue;
        rules_on_guard(&world.guards[deed->guard], &zkl_call_request(call)->parts);
        return deed->guard;
    }
    return 0;
}

bool deed_hear_request(const struct client *client, uint64_t id) {
    EACH_DEED(client, deed) {
        if (!deed->request || zkl_request_id(deed->request) != id) continue;
        rules_on_deed(client, deed);
        struct zkl_member *member = zkl_request_member(deed->request);
        zkl_request_drop(deed->request);
        deed->request = NULL;
        if (member && !deed->cancelled) deed->member = member;
        else if (member) zkl_member_drop(member);
        if (!deed->member) deed_drop(deed);
        return true;
    }
    return false;
}

bool deeds_are_open(const struct client *client) {
    const struct follower *each = client->zk->followers[FOLLOWER_MEMBER];
    for (; each; each = each->next)
        if (((const struct zkl_member *)each)->state == ZKL_MEMBER_LEAVING) return true;
    EACH_DEED(client, deed) {
        if (deed->request || !rules_is_up_to_date(client, deed)) return true;
    }
    return false;
}
