/* rules_deeds.c - rules for guards, questions, watchers and revocations. */
#include <stdio.h>
#include <string.h>

#include "../../src/session/stake.h"
#include "data.h"
#include "rules.h"
#include "story.h"

/* --- guards ---------------------------------------------------------------------------------- */

/* Notes the places of the grant's nodes. A downgraded reader has its writer's place. */
void rules_on_guard(struct guarded *guard, const struct parts *parts) {
    guard->open = true;
    guard->parts = (unsigned)parts->count;
    for (size_t i = 0; i < parts->count; i++) {
        const struct stake *stake = zkl_parts_at(parts, i);
        const struct node *node = node_of(&stake->claim);
        require(node, "a guard is sent by a claim that has a node");
        guard->places[i] = node ? node->place : 0;
        guard->lines[i] = line_of(stake);
        guard->served = stake->claim.node.grants;
    }
}

static const struct node *node_in_place(int line, zxid place) {
    EACH_NODE(node) {
        if (alive(node) && node->contender && node->line == line && node->place == place)
            return node;
    }
    return NULL;
}

/* True if, by the tokens, a later contender that it excludes was granted; see note_token(). */
static bool was_granted_since(const struct node *own) {
    bool alone = world.token[own->line] / ZKL_BATCH_MAX > own->place;
    bool beside = own->kind == ZKL_READ || own->kind == ZKL_PERMIT;
    return alone || (!beside && world.read_token[own->line] / ZKL_BATCH_MAX > own->place);
}

/* The leader carries out guards in the order of all writes. */
void rules_on_guarded(const struct item *item) {
    struct guarded *guard = &world.guards[item->guard];
    for (unsigned i = 0; i < guard->parts; i++) {
        const struct node *own = node_in_place(guard->lines[i], guard->places[i]);
        require(own, "a guarded write is carried out only while the grant's node is there");
        require(!own || !was_granted_since(own),
                "no holder that the grant excludes got the lock before the write");
    }
    require(!guard->carried, "a guard is carried out once");
    require(!guard->denied, "a guard that was reported as not written is not");
    guard->carried++;
}

static bool is_refusal(const struct guarded *guard, enum zkl_code code) {
    switch (guard->error) {
    case ZKL_ERROR_NO_NODE: return code == ZKL_NO_NODE;
    case ZKL_ERROR_NO_AUTH: return code == ZKL_AUTH;
    case ZKL_ERROR_NODE_EXISTS:
    case ZKL_ERROR_BAD_VERSION: return code == ZKL_CONFLICT;
    default: return false;
    }
}

/* Checks the number of the refused write; 0: the check of an own node failed. */
static void check_refusal(const struct guarded *guard, const struct zkl_request *request) {
    size_t op = guard->refused < guard->parts ? 0 : guard->refused - guard->parts + 1;
    require(is_refusal(guard, zkl_request_code(request)),
            "a guard is refused for the server's reason");
    require(zkl_request_refused_op(request) == op, "a guard says which write was refused");
}

static void check_guard(const struct deed *deed) {
    struct guarded *guard = &world.guards[deed->guard];
    enum zkl_code code = zkl_request_code(deed->request);
    if (code == ZKL_OK) require(guard->carried, "a guard that is reported as written is");
    else if (code == ZKL_IN_DOUBT)
        require(guard->open, "a guard in doubt was sent, and had no answer");
    else require(!guard->carried, "a guard that is reported as not written is not");
    if (code == ZKL_NO_NODE || code == ZKL_AUTH || code == ZKL_CONFLICT)
        check_refusal(guard, deed->request);
    guard->denied = code != ZKL_OK && code != ZKL_IN_DOUBT;
}

void rules_on_answer(const struct item *item) {
    world.guards[item->guard].open = false;
    if (item->signal && item->error != ZKL_ERROR_NONE) world.signals[item->signal].open--;
}

/* --- questions ------------------------------------------------------------------------------- */

static void check_check(const struct deed *deed) {
    if (zkl_request_code(deed->request) != ZKL_OK) return;
    EACH_PART(&deed->request->parts, part) {
        const struct node *own = node_of(&part->claim);
        require(own && own->died > deed->asked, "a lease that stands had its node at the question");
    }
}

/* Goes through the states of the datum after `since`. */
#define EACH_FACT(which, since, fact)                                                              \
    for (const struct fact *fact = world.data[which].facts; fact <= fact_now(&world.data[which]);  \
         fact++)                                                                                   \
        if (fact_end(&world.data[which], fact) <= (since)) continue;                               \
        else

/* True if a server that has seen as much as the client may have shown this. */
static bool was_shown(const struct deed *deed, unsigned word, int32_t version) {
    EACH_FACT(deed->datum, deed->seen, fact) {
        if (fact->word == word && (!word || fact->version == version)) return true;
    }
    return false;
}

static unsigned read_word(const char *data, size_t size) {
    unsigned word = 0;
    for (size_t i = 0; i < size; i++) word = word * 10 + (unsigned)(data[i] - '0');
    return word;
}

static void check_get(const struct deed *deed) {
    enum zkl_code code = zkl_request_code(deed->request);
    int32_t version;
    size_t size;
    const char *data = zkl_request_data(deed->request, &size, &version);
    if (code != ZKL_OK && code != ZKL_NO_NODE) return;
    require(was_shown(deed, code == ZKL_OK ? read_word(data, size) : 0, version),
            "the data that are read were in the node since the question");
}

/* --- the line -------------------------------------------------------------------------------- */

static const struct node *node_told(const struct deed *deed, const struct zkl_queued *entry) {
    for (int i = world.node_count - 1; i >= 0; i--) {
        const struct node *node = &world.nodes[i];
        bool same = node->line == deed->line && strcmp(node->name, entry->name) == 0;
        if (same && (!entry->czxid || node->born == entry->czxid)) return node;
    }
    return NULL;
}

static void check_entry(const struct client *client, const struct deed *deed,
                        const struct zkl_queued *entry) {
    const struct node *node = node_told(deed, entry);
    require(node && node->died > deed->seen, "a contender that a queue tells was in the line");
    if (!node || !entry->czxid) return;
    uint64_t owner = id_of(node->session);
    require(entry->session == owner, "a contender in the line has its owner");
    require((entry->whose != ZKL_ANOTHERS) == (owner && owner == zkl_session_id(client->zk)),
            "a contender that is told to be ours is");
}

static bool is_listed(const struct zkl_queued *queue, size_t count, const struct node *node) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(queue[i].name, node->name) == 0) return true;
    return false;
}

/* True if every server showed the contender during the question. */
static bool was_always_shown(const struct deed *deed, const struct node *node) {
    bool fixed = deed->request->lock_kind == ZKL_UNFAIR;
    bool counts = node->contender && fixed == is_fixed(node->name);
    return counts && alive(node) && node->line == deed->line && node->born <= deed->seen;
}

static bool is_exhausted(const struct zkl_queued *queue, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (zkl_sequence_exhausted(queue[i].sequence)) return true;
    return false;
}

static void check_order(const struct deed *deed, const struct zkl_queued *queue, size_t count) {
    bool exhausted = is_exhausted(queue, count);
    zxid last = 0;
    for (size_t i = 0; i < count; i++) {
        const struct node *node = node_told(deed, &queue[i]);
        zxid rank = !node ? last : exhausted ? node->born : node->place;
        require(rank >= last, "the line is told in its order");
        last = rank;
    }
}

static void check_queue(const struct client *client, const struct deed *deed) {
    size_t count;
    const struct zkl_queued *queue = zkl_request_queue(deed->request, &count);
    if (zkl_request_code(deed->request) != ZKL_OK) return;
    for (size_t i = 0; i < count; i++) check_entry(client, deed, &queue[i]);
    check_order(deed, queue, count);
    EACH_NODE(node) {
        if (was_always_shown(deed, node))
            require(is_listed(queue, count, node),
                    "a contender that is in the line all the time is told");
    }
}

/* --- members --------------------------------------------------------------------------------- */

static bool is_of(const struct client *client, int session) {
    uint64_t id = id_of(session - 1);
    if (id && id == zkl_session_id(client->zk)) return true;
    for (int i = 0; id && i < EARLIER_SESSIONS; i++)
        if (client->zk->earlier_sessions[i] == id) return true;
    return false;
}

static bool is_joined_twice(const struct client *client, const struct deed *joins) {
    EACH_DEED(client, deed) {
        bool other = deed != joins && deed->kind == DEED_JOIN && deed->datum == joins->datum;
        if (other && (deed->member || deed->request)) return true;
    }
    return false;
}

/* True if another member's node existed since the request. */
static bool is_taken(const struct client *client, const struct deed *deed) {
    EACH_FACT(deed->datum, deed->seen, fact) {
        if (fact->word && !is_of(client, fact->session)) return true;
    }
    return is_joined_twice(client, deed);
}

static void check_join(const struct client *client, const struct deed *deed) {
    bool was = false;
    if (zkl_request_code(deed->request) == ZKL_TOO_MANY) rules_on_no_room_to_join(client);
    if (zkl_request_code(deed->request) != ZKL_OK) return;
    EACH_FACT(deed->datum, deed->seen, fact) was = was || is_of(client, fact->session);
    require(was, "a member that has joined had its node since it asked");
}

void rules_on_member(const struct client *client, const struct deed *deed) {
    const char *detail;
    enum zkl_code why;
    enum zkl_member_state state = zkl_member_state(deed->member, &why, &detail);
    bool right = why == ZKL_CONFLICT ? is_taken(client, deed)
                 : why == ZKL_AUTH   ? world.setting.refusals
                                     : why == ZKL_CLOSED && deed->cancelled == why;
    tell("%s is told of its membership: %s", story_client(client),
         state == ZKL_MEMBER_ENDED ? zkl_code_name(why) : "goes on");
    require(state != ZKL_MEMBER_LEAVING, "a member leaves when its user wants it to");
    require(state != ZKL_MEMBER_ENDED || right, "a membership ends for the reason that is given");
}

/*
 * A member's write may reach a foreign node only if a stranger replaced the own node, which existed
 * in the session's last view; where events are kept back, if it ever existed.
 */
void rules_on_own_write(int which, int session, const struct item *item) {
    bool known = false;
    EACH_FACT(which, world.setting.refusals ? 0 : item->heard, fact)
    known = known || fact->session == session + 1;
    require(known, "a member writes to no node of another's, and removes none");
}

/* True if the newest data were written to the node, even if they were overwritten since. */
static bool has_newest(const struct deed *deed) {
    const struct datum *datum = &world.data[deed->datum];
    const struct fact *fact = fact_now(datum), *now = fact;
    if (!deed->word || world.setting.refusals) return true;
    while (fact > datum->facts && fact->born == now->born && fact->word != deed->word) fact--;
    return fact->born == now->born && fact->word == deed->word;
}

static bool member_is_up_to_date(const struct client *client, const struct deed *deed) {
    const char *detail;
    enum zkl_code why;
    enum zkl_member_state state = zkl_member_state(deed->member, &why, &detail);
    int session = fact_now(&world.data[deed->datum])->session - 1;
    if (state == ZKL_MEMBER_ENDED) return true;
    bool there = session != NOBODY && id_of(session) == zkl_session_id(client->zk);
    return state == ZKL_MEMBER_JOINED && there && has_newest(deed);
}

static void check_set(const struct client *client, const struct deed *deed) {
    enum zkl_code code = zkl_request_code(deed->request);
    bool was = false;
    if (deed->join->used && code != ZKL_OK && code != ZKL_TIMEOUT && code != ZKL_INTERRUPTED)
        deed->join->word = 0; /* refused */
    if (code != ZKL_OK) return;
    EACH_FACT(deed->datum, deed->seen, fact)
    was = was || (fact->word >= deed->word && is_of(client, fact->session));
    require(was, "data that are told to be set were in the member's node");
}

/* --- the roster ------------------------------------------------------------------------------- */

static const struct zkl_listed *listed(const struct zkl_roll *roll, int which) {
    for (size_t i = 0; i < roll->count; i++)
        if (strcmp(roll->members[i].name, name_in(datum_path(which))) == 0)
            return &roll->members[i];
    return NULL;
}

/* Index of the first state from `from` on that matches the entry; NOBODY: none. */
static int fact_listed(int which, const struct zkl_listed *entry, int from) {
    const struct datum *datum = &world.data[which];
    for (int i = from; i < datum->count; i++) {
        const struct fact *fact = &datum->facts[i];
        if (!entry && !fact->word) return i;
        if (!entry || !fact->word) continue;
        if (!entry->data) return i; /* its data may not be read */
        bool same = id_of(fact->session - 1) == entry->session;
        if (same && fact->word == read_word(entry->data, entry->size)) return i;
    }
    return NOBODY;
}

static bool is_same(const struct zkl_listed *a, const struct zkl_listed *b) {
    if (strcmp(a->name, b->name) != 0 || !a->data != !b->data || a->size != b->size) return false;
    bool same = a->session == b->session && a->created == b->created;
    return same && (!a->data || memcmp(a->data, b->data, a->size) == 0);
}

static bool is_same_roll(const struct zkl_roll *a, const struct zkl_roll *b) {
    bool same = a->code == b->code && a->detail == b->detail && a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++) same = is_same(&a->members[i], &b->members[i]);
    return same;
}

void rules_on_roll(const struct client *client, struct deed *deed, const struct zkl_roll *roll) {
    bool same_session = deed->told && deed->session == client->session;
    tell("%s is told who is in the folder: %s, %u", story_client(client), zkl_code_name(roll->code),
         (unsigned)roll->count);
    require(deed->cancelled != ZKL_CLOSED, "a session that is closed tells of no folder");
    require(!deed->roll || !is_same_roll(deed->roll, roll),
            "a list that is told differs from the one before");
    for (size_t i = 1; i < roll->count; i++)
        require(strcmp(roll->members[i - 1].name, roll->members[i].name) < 0,
                "the members of a folder are told by their names");
    for (int which = 0; which < DATA && roll->code == ZKL_OK; which++) {
        int from = same_session ? deed->facts[which] : 0;
        int fact = fact_listed(which, listed(roll, which), from);
        require(fact != NOBODY, "a report of a member is true, and not older than the last");
        deed->facts[which] = fact;
    }
    const struct zkl_roster *roster = deed->roster;
    if (roll->code == ZKL_AUTH) require(world.setting.refusals, "a folder may be read");
    else if (roll->code == ZKL_TOO_MANY) {
        require(world.setting.room, "a session has room for a small folder");
        require(!roster->children_watch && !roster->folder_watch && roster->count == 0,
                "a folder that is not told for want of room takes none");
    } else require(roll->code == ZKL_OK, "a folder is told, or why it is not");
    deed->told = true;
    deed->code = roll->code;
    deed->session = client->session;
}

static bool is_seen(const struct zkl_roster *roster, int which) {
    const struct fact *now = fact_now(&world.data[which]);
    size_t i = 0;
    while (i < roster->count && strcmp(roster->seen[i].name, name_in(datum_path(which))) != 0) i++;
    if (i == roster->count || !now->word) return i == roster->count && !now->word;
    return roster->seen[i].mzxid == now->at || world.setting.refusals;
}

/* True if so many bytes fit beside all watches. */
static bool fits(const struct client *client, size_t bytes) {
    return client->zk->watches.bytes + bytes <= ZKL_WATCHES_MAX;
}

/* The folder takes two watches. */
static bool folder_fits(const struct client *client) {
    char children[ZKL_NAME_SIZE + 4];
    const struct watches *watches = &client->zk->watches;
    const char *folder = line_path(FOLDER);
    snprintf(children, sizeof children, "/%s", folder);
    size_t bytes = zkl_watches_need(watches, children) + zkl_watches_need(watches, folder);
    EACH_DATUM(datum) {
        const char *path = datum_path((int)(datum - world.data));
        if (fact_now(datum)->word) bytes += zkl_watches_need(watches, path);
    }
    return fits(client, bytes);
}

static bool roster_is_up_to_date(const struct client *client, const struct deed *deed) {
    if (deed->told && deed->code == ZKL_TOO_MANY) return !folder_fits(client);
    bool seen = deed->told && deed->code == ZKL_OK;
    for (int which = 0; which < DATA; which++) seen = seen && is_seen(deed->roster, which);
    return seen;
}

/* --- any question ---------------------------------------------------------------------------- */

static bool is_of_lease(const struct deed *deed) {
    return deed->kind == DEED_GUARD || deed->kind == DEED_CHECK;
}

static bool is_right_code(const struct client *client, const struct deed *deed,
                          enum zkl_code code) {
    const struct parts *parts = &deed->request->parts;
    bool guards = deed->kind == DEED_GUARD;
    bool fixed = is_of_lease(deed) && zkl_kind_is_fixed(zkl_parts_at(parts, 0)->claim.kind);
    switch (code) {
    case ZKL_OK: return true;
    case ZKL_TIMEOUT: return clock_of(client) >= deed->deadline;
    case ZKL_IN_DOUBT: return guards;
    case ZKL_LOST:
    case ZKL_RELEASED: return is_of_lease(deed) && zkl_parts_end_code(parts) != ZKL_OK;
    case ZKL_EXPIRED: return !is_of_lease(deed) && zkl_session_id(client->zk) == 0;
    case ZKL_AUTH: return world.setting.refusals;
    case ZKL_CLOSED: return client->closing || deed->cancelled == code;
    case ZKL_NO_MEMORY: return world.shortages > 0;
    case ZKL_NO_NODE: return guards || deed->kind == DEED_GET;
    case ZKL_TOO_MANY: return deed->kind == DEED_JOIN && world.setting.room;
    case ZKL_CONFLICT:
        if (deed->kind == DEED_SET) return is_taken(client, deed->join);
        return guards || (deed->kind == DEED_JOIN && is_taken(client, deed));
    case ZKL_UNSUPPORTED: return guards && fixed;
    default: return code == deed->cancelled && code != ZKL_OK;
    }
}

static void check_revocation(const struct deed *deed) {
    const struct node *node = &world.nodes[deed->node];
    bool asked = false;
    for (int i = 0; i < node->change_count; i++)
        asked = asked || node->changes[i].content == REVOKE;
    if (zkl_request_code(deed->request) == ZKL_OK)
        require(asked || !alive(node),
                "a holder that is asked to give way has the word, or is gone");
}

void rules_on_deed(const struct client *client, const struct deed *deed) {
    enum zkl_code code = zkl_request_code(deed->request);
    tell("%s is answered: %s", story_client(client), zkl_code_name(code));
    require(is_right_code(client, deed, code), "a deed fails for the reason that is given");
    switch (deed->kind) {
    case DEED_GUARD: check_guard(deed); break;
    case DEED_CHECK: check_check(deed); break;
    case DEED_GET: check_get(deed); break;
    case DEED_QUEUE: check_queue(client, deed); break;
    case DEED_REVOKE: check_revocation(deed); break;
    case DEED_JOIN: check_join(client, deed); break;
    case DEED_SET: check_set(client, deed); break;
    case DEED_WATCH:
    case DEED_FOLLOW:
    case DEED_KINDS: break;
    }
}

static bool is_lost(const struct parts *parts) {
    EACH_PART(parts, part) {
        if (part->handles && part->claim.code == ZKL_LOST) return true;
    }
    return false;
}

void rules_on_open_deed(const struct client *client, const struct deed *deed, zkl_time now) {
    const struct zkl_request *request = deed->request;
    if (!request) return;
    require(now < deed->deadline, "no deed outlives its deadline");
    bool outlives = deed->kind == DEED_JOIN || deed->kind == DEED_SET;
    require(!deed->asker || outlives || deed->asker == zkl_session_id(client->zk),
            "no deed outlives its session");
    require(request->asker.calls || !is_lost(&request->parts),
            "no deed waits for a lease that is lost");
}

/* --- watchers -------------------------------------------------------------------------------- */

/* Index of the reported state, from `from` on; NOBODY: none. */
static int fact_told(const struct deed *deed, const struct zkl_sight *sight, int from) {
    const struct datum *datum = &world.data[deed->datum];
    const struct reading *told = &deed->watcher->told_reading;
    for (int i = from; i < datum->count; i++) {
        const struct fact *fact = &datum->facts[i];
        if (sight->code == ZKL_NO_NODE && !fact->word) return i;
        bool same = fact->at == told->mzxid && fact->version == sight->version;
        if (sight->code == ZKL_OK && same && fact->word == read_word(sight->data, sight->size))
            return i;
    }
    return NOBODY;
}

/* A report is not older than the last, but the next session's server may have seen less. */
void rules_on_sight(const struct client *client, struct deed *deed, const struct zkl_sight *sight) {
    bool same_session = deed->told && deed->session == client->session;
    bool again = deed->told && deed->code == sight->code;
    int from = same_session ? deed->fact : 0;
    tell("%s is told of %s: %s", story_client(client), datum_path(deed->datum),
         zkl_code_name(sight->code));
    require(deed->cancelled != ZKL_CLOSED, "a session that is closed tells of no node");
    if (sight->code == ZKL_AUTH) {
        require(world.setting.refusals && !again,
                "a user that may not read a node is told so, once");
    } else if (sight->code == ZKL_TOO_MANY) {
        require(world.setting.room && !again && !deed->watcher->watch,
                "a user whose watch gave way is told so, once");
    } else {
        int fact = fact_told(deed, sight, from + (same_session && again));
        require(fact != NOBODY, "a report of a node is true, and not older than the last");
        deed->fact = fact;
    }
    deed->told = true;
    deed->code = sight->code;
    deed->session = client->session;
}

bool rules_is_up_to_date(const struct client *client, const struct deed *deed) {
    const struct datum *datum = &world.data[deed->datum];
    if (deed->member) return member_is_up_to_date(client, deed);
    if (deed->roster) return roster_is_up_to_date(client, deed);
    if (!deed->watcher) return true;
    if (!deed->told) return false;
    if (deed->code == ZKL_TOO_MANY)
        return !fits(client, zkl_watches_need(&client->zk->watches, deed->watcher->path));
    if (!fact_now(datum)->word) return deed->code == ZKL_NO_NODE;
    return deed->code == ZKL_OK && &datum->facts[deed->fact] == fact_now(datum);
}

void rules_on_unrest(void) {
    EACH_RUNNING(c) {
        EACH_DEED(c, deed) {
            require(!deed->request, "in a calm time every deed is answered");
            require(rules_is_up_to_date(c, deed),
                    "in a calm a user that watches a node knows how it is");
        }
    }
}
