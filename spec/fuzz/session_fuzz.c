/*
 * session_fuzz.c - libFuzzer on a session, src/session and src/core. The bytes choose requests,
 * answers, watch events, connections and time. Answers are well-formed (reply_fuzz.c has others),
 * but not ZooKeeper's (spec/sim/zookeeper.c has those). session_rules.h has the rules.
 */
#include "session_rules.h"

#include <inttypes.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { OPS = 4, NAMES = 24 };

/* --- requests ------------------------------------------------------------------------------- */

static const struct call *call_of(uint64_t id) {
    const struct call *call = w.session->calls;
    while (call->rpc.id != id) call = call->next;
    return call;
}

static struct sent *sent_at(unsigned i) {
    return &w.sent[(w.first + i) % SENT];
}

static bool is_crowded(void) {
    return w.count > SENT / 2;
}

/* Some requests are not sent. An ended session answers its requests itself. */
static void send_all(void) {
    const struct zkl_rpc *rpc;
    while ((rpc = zkl_session_next_rpc(w.session))) {
        const struct call *call = call_of(rpc->id);
        require(is_connected() && rpc->path && w.count < SENT);
        if (asking_stake(call) && w.session->service != SERVICE_CLOSING)
            check_stakes_rpc(call, rpc);
        if (byte() < 0xfa) *sent_at(w.count++) = (struct sent){.rpc = *rpc};
        else zkl_session_unsent(w.session, rpc->id);
    }
    if (!w.session->common.session) w.count = 0;
}

/* --- reports to users ----------------------------------------------------------------------- */

static void hear_acquire(struct user *user, enum zkl_code code) {
    user->lease = zkl_request_lease(user->request);
    require((user->lease != NULL) == (code == ZKL_OK));
    if (user->lease) check_grant(user, zkl_parts_at(&user->lease->parts, 0)->handles > 1);
}

/* The node stays a writer's while another handle writes. */
static void hear_downgrade(const struct user *user, enum zkl_code code) {
    const struct stake *stake = zkl_parts_at(&user->lease->parts, 0);
    if (!holds_lock(user)) return;
    if (code == ZKL_OK) require(stake->writers > 0 || stake->claim.kind == ZKL_READ);
    if (code == ZKL_AUTH) require(stake->claim.kind == ZKL_WRITE);
}

static void leave(struct user *user) {
    if (user->lease) zkl_lease_drop(user->lease);
    user->lease = NULL;
}

/* Ends with the lock regained, kept (the wait did not begin), or lost. */
static void hear_wait(struct user *user, enum zkl_code code) {
    int64_t before = user->token;
    if (code == ZKL_OK) {
        check_grant(user, false);
        require(user->token != before);
        return;
    }
    if (holds_lock(user)) require(zkl_lease_token(user->lease) == before);
    else leave(user);
}

static void hear_request(struct user *user) {
    enum zkl_code code = zkl_request_code(user->request);
    require(zkl_request_done(user->request));
    switch (user->doing) {
    case ASKS: break;
    case ACQUIRES: hear_acquire(user, code); break;
    case DOWNGRADES: hear_downgrade(user, code); break;
    case WAITS: hear_wait(user, code); break;
    case RELEASES: leave(user); break;
    }
    zkl_request_drop(user->request);
    user->request = NULL;
}

static struct user *user_of(uint64_t id) {
    EACH_USER(user) {
        if (user->request && zkl_request_id(user->request) == id) return user;
    }
    return NULL;
}

static void hear_lease(uint64_t id, enum zkl_phase phase) {
    EACH_USER(user) {
        if (user->lease && zkl_lease_id(user->lease) == id)
            user->told = phase == ZKL_PHASE_LOST || has_ended(user->lease);
    }
}

static void hear_queued(struct user *user, size_t position) {
    require(user && !user->announced && position > 1);
    user->announced = true;
}

static void hear_join(uint64_t id) {
    int i = 0;
    while (i < WATCHERS && !(w.joins[i] && zkl_request_id(w.joins[i]) == id)) i++;
    require(i < WATCHERS && zkl_request_done(w.joins[i]));
    bool joins = zkl_request_code(w.joins[i]) == ZKL_OK;
    w.members[i] = joins ? zkl_request_member(w.joins[i]) : NULL;
    zkl_request_drop(w.joins[i]);
    w.joins[i] = NULL;
}

static bool hear(void) {
    struct zkl_event event;
    if (!zkl_session_next_event(w.session, &event)) return false;
    struct user *user = user_of(event.id);
    switch (event.kind) {
    case ZKL_EVENT_REQUEST:
        if (user) hear_request(user);
        else hear_join(event.id);
        break;
    case ZKL_EVENT_QUEUED: hear_queued(user, event.position); break;
    case ZKL_EVENT_LEASE: hear_lease(event.id, event.phase); break;
    case ZKL_EVENT_STATE:
    case ZKL_EVENT_WATCHER:
    case ZKL_EVENT_MEMBER:
    case ZKL_EVENT_ROSTER:
    case ZKL_EVENT_STEP:
    case ZKL_EVENT_NONE: break;
    }
    return true;
}

static void settle(void) {
    do send_all();
    while (hear());
    check_all();
}

/* --- server answers ------------------------------------------------------------------------- */

static const char *const strangers[] = {
    "_c_11111111-2222-3333-4444-555555555555-lock-0000000001",
    "_c_11111111-2222-3333-4444-555555555556-__WRIT__0000000002",
    "_c_11111111-2222-3333-4444-555555555557-__READ__0000000002",
    "_c_11111111-2222-3333-4444-555555555558-lock-0000000005",
    "_c_11111111-2222-3333-4444-555555555559-lock-2147483647",
    "0123456789abcdef0123456789abcdef__lock__0000000003",
    "x-lock--2147483646",
    "_c_11111111-2222-3333-4444-55555555555a-permit-2-of-3-0000000001",
    "_c_11111111-2222-3333-4444-55555555555b-permit-1-of-3-0000000004",
    "_c_11111111-2222-3333-4444-55555555555c-permit-3-of-3-0000000006",
    "no contender",
};

enum { STRANGERS = sizeof strangers / sizeof *strangers };

/* Picks a node's number, small or at the counter's end. */
static int32_t pick_number(void) {
    uint8_t from = byte();
    return from < 0xf0 ? from & 0x1f : from < 0xf8 ? INT32_MAX : -(int32_t)from;
}

static int pick_error(const struct zkl_rpc *rpc) {
    static const int errors[] = {ZKL_ERROR_NO_NODE,         ZKL_ERROR_NO_NODE,
                                 ZKL_ERROR_NODE_EXISTS,     ZKL_ERROR_BAD_VERSION,
                                 ZKL_ERROR_NO_AUTH,         ZKL_ERROR_CONNECTION_LOSS,
                                 ZKL_ERROR_CONNECTION_LOSS, ZKL_ERROR_UNIMPLEMENTED};
    uint8_t from = byte();
    if (from == 0xff) return ZKL_ERROR_SESSION_EXPIRED;
    bool unwatches = rpc->kind == ZKL_RPC_UNWATCH || rpc->kind == ZKL_RPC_UNWATCH_CHILDREN;
    if (from >= 0xa0 && unwatches) return ZKL_ERROR_NO_WATCHER;
    return from < 0xa0 ? ZKL_ERROR_NONE : errors[from % 8];
}

/* Picks the czxid of the fixed name's node, which may be any claim's. */
static int64_t pick_fixed_czxid(const char *path, uint8_t from) {
    int skip = from / 8 % 4;
    EACH_STAKE(stake) {
        size_t length = stake->path->length;
        bool here = strncmp(path, stake->path->text, length) == 0 && path[length] == '/';
        if (here && stake->claim.node.czxid && skip-- == 1) return stake->claim.node.czxid;
    }
    return ++w.zxid;
}

/* Picks a node's czxid, the same for all sessions. */
static int64_t pick_czxid(const char *path, uint8_t from) {
    const char *name = name_in(path);
    if (strcmp(name, ZKL_NAME_FIXED) == 0) return pick_fixed_czxid(path, from);
    EACH_STAKE(stake) {
        const struct zkl_contender *contender = zkl_line_find(&stake->path->line, name);
        if (strcmp(stake->claim.node.name, name) == 0 && stake->claim.node.czxid)
            return stake->claim.node.czxid;
        if (contender && contender->czxid) return contender->czxid;
    }
    return from % 2 ? 1 + from : ++w.zxid;
}

static struct zkl_stat pick_stat(const char *path) {
    uint8_t from = byte();
    return (struct zkl_stat){.czxid = pick_czxid(path, from),
                             .mzxid = ++w.zxid,
                             .version = from < 0xd0 ? 0 : from % 3,
                             .owner = from % 16 < 15 ? zkl_session_id(w.session) : 7};
}

struct names {
    char text[NAMES][2 * ZKL_NAME_SIZE];
    const char *names[NAMES];
    int count;
};

/* Adds a name once, as the server has none twice. */
static void add_name(struct names *names, const char *name, const char *counter) {
    if (names->count == NAMES) return;
    char *text = names->text[names->count];
    snprintf(text, sizeof *names->text, "%s%s", name, counter);
    for (int i = 0; i < names->count; i++)
        if (strcmp(text, names->names[i]) == 0) return;
    names->names[names->count++] = text;
}

/* Adds a node of this session, from a known, lost or late attempt. */
static void add_attempt(struct names *names, const struct zkl_claim *claim, uint64_t nonce) {
    char prefix[ZKL_NAME_SIZE], counter[16];
    uint64_t session = zkl_session_id(w.session);
    if (claim->kind == ZKL_PERMIT && claim->limit)
        zkl_name_permit_prefix(prefix, claim->permits, claim->limit, session, nonce);
    else zkl_name_prefix(prefix, is_fixed(claim) ? ZKL_MUTEX : claim->kind, session, nonce);
    snprintf(counter, sizeof counter, "%010" PRId32, pick_number());
    add_name(names, prefix, counter);
}

/* Picks mostly the claims' own nodes, which most steps need. */
static void pick_names(struct names *names, const char *path) {
    uint8_t others = byte();
    EACH_STAKE(stake) {
        const struct zkl_claim *claim = &stake->claim;
        if (strcmp(stake->path->text, path) != 0 || byte() >= 0xd0) continue;
        if (is_complete_name(claim->node.name)) add_name(names, claim->node.name, "");
        else if (claim->node.nonce) add_attempt(names, claim, claim->node.nonce);
        if (others >= 0xf0) add_attempt(names, claim, w.session->common.last_nonce - byte() % 4);
    }
    for (int i = 0; i < others % 4; i++) add_name(names, strangers[byte() % STRANGERS], "");
}

struct results {
    struct zkl_result of[OPS];
    char created[OPS][PATH];
};

static void pick_results(struct results *results, const struct zkl_rpc *rpc, int error) {
    size_t refused = error == ZKL_ERROR_NONE ? OPS : byte() % rpc->count;
    require(rpc->count <= OPS);
    for (size_t i = 0; i < rpc->count; i++) {
        const struct zkl_op *op = &rpc->ops[i];
        bool sequential = op->kind == ZKL_OP_CREATE && op->mode == ZKL_SEQUENTIAL;
        struct zkl_result *result = &results->of[i];
        result->error = i < refused    ? ZKL_ERROR_NONE
                        : i == refused ? error
                                       : ZKL_ERROR_RUNTIME_INCONSISTENCY;
        if (error == ZKL_ERROR_CONNECTION_LOSS) result->error = ZKL_UNANSWERED;
        if (error != ZKL_ERROR_NONE) continue;
        result->stat = pick_stat(op->path);
        if (op->kind == ZKL_OP_CREATE) result->stat.czxid = ++w.zxid;
        snprintf(results->created[i], PATH, "%s", op->path);
        if (sequential)
            snprintf(results->created[i], PATH, "%s%010" PRId32, op->path, pick_number());
        result->created = results->created[i];
    }
}

/* Picks data. While the server obeys, a member's node has the member's data. */
static const char *pick_data(const char *path) {
    static const char *const data[] = {"fuzz", "fuzz", ZKL_SIGNAL_DATA, ZKL_REVOKE_DATA};
    const struct zkl_member *member = zkl_member_find(w.session, path);
    uint8_t which = byte() / 64;
    return member && which == 0 ? member->data : data[which];
}

static void answer_with(const struct sent *sent, int error) {
    const struct zkl_rpc *rpc = &sent->rpc;
    struct names names = {.count = 0};
    struct results results;
    const struct zkl_stat stat = pick_stat(rpc->path);
    struct zkl_answer answer = {.error = error, .stat = &stat};
    memset(&results, 0, sizeof results);
    switch (rpc->kind) {
    case ZKL_RPC_WRITE:
    case ZKL_RPC_MULTI:
        pick_results(&results, rpc, error);
        answer.results = results.of;
        break;
    case ZKL_RPC_LIST:
        pick_names(&names, rpc->path);
        answer.names = names.names;
        answer.count = names.count;
        break;
    case ZKL_RPC_GET:
        answer.data = pick_data(rpc->path);
        answer.size = (int)strlen(answer.data);
        break;
    case ZKL_RPC_EXISTS:
    case ZKL_RPC_SYNC:
    case ZKL_RPC_UNWATCH:
    case ZKL_RPC_UNWATCH_CHILDREN: break;
    }
    zkl_session_answer(w.session, sent->rpc.id, &answer);
}

static bool still_exists(const struct stake *stake) {
    EACH_STAKE(each) {
        if (each == stake) return true;
    }
    return false;
}

/* Only the answer to a downgrade makes a reader of a writer, and its node keeps its number. */
static void answer(const struct sent *sent, int error) {
    const struct call *call = call_of(sent->rpc.id);
    const struct stake *stake = asking_stake(call);
    struct zkl_claim before = stake ? stake->claim : (struct zkl_claim){0};
    bool says_so = stake_call_of(call) == STAKE_DOWNGRADE &&
                   (error == ZKL_ERROR_NONE || error == ZKL_ERROR_NODE_EXISTS);
    answer_with(sent, error);
    if (before.kind != ZKL_WRITE || !still_exists(stake) || stake->claim.kind != ZKL_READ) return;
    require(says_so && stake->claim.node.czxid == before.node.czxid);
    require(stake->claim.node.sequence == before.node.sequence);
}

static void connect_again(void) {
    w.coming = false;
    zkl_session_reopening(w.session);
    uint64_t same = zkl_session_id(w.session);
    zkl_session_connected(w.session, same ? same : ++w.sessions,
                          byte() < 0xe0 ? TIMEOUT : TIMEOUT / 2);
}

/* Delivers an answer. False: there was none to send. */
static bool deliver(void) {
    if (w.count == 0 && !w.coming) return false;
    if (w.count == 0) {
        connect_again();
    } else {
        struct sent sent = *sent_at(0);
        w.first = (w.first + 1) % SENT;
        w.count--;
        answer(&sent, sent.cut ? ZKL_ERROR_CONNECTION_LOSS : pick_error(&sent.rpc));
    }
    settle();
    return true;
}

/* --- events --------------------------------------------------------------------------------- */

static void cut_connection(void) {
    for (unsigned i = 0; i < w.count; i++) sent_at(i)->cut = true;
    zkl_session_suspended(w.session);
}

static void expire(void) {
    w.coming = false;
    zkl_session_expired(w.session);
}

static void watch_event(uint8_t from) {
    char path[PATH];
    int skip = from / 4;
    for (int i = 0; i < WATCH_BUCKETS; i++) {
        for (const struct watch *watch = w.session->watches.buckets[i]; watch;
             watch = watch->next) {
            if (watch->state == WATCH_UNSET || skip-- > 0) continue;
            bool of_children = watch->path[1] == '/';
            enum zkl_node_event other = of_children ? ZKL_NODE_CHILDREN : ZKL_NODE_CHANGED;
            snprintf(path, sizeof path, "%s", watch->path + of_children);
            zkl_session_event(w.session, from % 4 ? ZKL_NODE_DELETED : other, path);
            return;
        }
    }
}

static void check_ticked(void) {
    const struct zkl_clock *clock = &w.session->common.clock;
    EACH_STAKE(stake) {
        const struct zkl_claim *claim = &stake->claim;
        if (zkl_claim_holds(claim))
            require(zkl_clock_phase(clock, claim->epoch, w.now) != ZKL_PHASE_LOST);
    }
    EACH_USER(user) {
        if (user->request) require(user->request->deadline > w.now);
    }
}

static void tick(void) {
    zkl_session_at(w.session, w.now);
    zkl_session_tick(w.session);
    settle();
    check_ticked();
}

static zkl_time due(void) {
    zkl_time anew = zkl_session_due_since_tick(w.session), all = zkl_session_due(w.session);
    return zkl_earlier(anew, all);
}

/* Lets time pass, and ticks when one is due, as a shell does. */
static void pass(zkl_time time) {
    zkl_time end = w.now + time, next;
    for (int ticks = 0; (next = due()) <= end; ticks++) {
        require(ticks < 1000);
        if (next > w.now) w.now = next;
        tick();
    }
    w.now = end;
    zkl_session_at(w.session, w.now);
    check_ticked();
}

static void stop(zkl_time time) {
    w.now += time;
    tick();
}

/* --- users ---------------------------------------------------------------------------------- */

static const char *const locks[LOCKS] = {"/a", "/b/c"};

/* Options by the use of the path: mutexes, turns, readers and writers, permits, unfair. */
static struct zkl_acquire_options options_for(int lock, uint8_t how) {
    struct zkl_acquire_options wish = {.path = locks[lock]};
    switch ((how >= 0xf8 ? how : w.uses >> 4 * lock) % 5) {
    case 0:
        wish.counting = lock == 0;
        if (lock == 0 && how & 8) wish.keep = TIMEOUT / 2;
        break;
    case 1:
        wish.batch = how & 8 ? 3 : ZKL_BATCH_BY_TIME;
        if (how & 16) wish.keep = TIMEOUT / 2;
        break;
    case 2: wish.kind = how & 8 ? ZKL_READ : ZKL_WRITE; break;
    case 3:
        wish.kind = ZKL_PERMIT;
        wish.permits = 1 + how / 16 % 3;
        wish.limit = 3;
        break;
    default:
        wish.kind = ZKL_UNFAIR;
        wish.jitter = how & 8 ? TIMEOUT / 8 : 0;
        break;
    }
    return wish;
}

static const char *owner_of(const struct user *user, bool another) {
    static const char *const owners[USERS] = {"A", "B", "C", "D", "E", "F"};
    return owners[(user - w.users + another) % USERS];
}

static struct zkl_acquire_options pick_wish(const struct user *user, int lock) {
    uint8_t how = byte(), when = byte();
    struct zkl_acquire_options wish = options_for(lock, how);
    wish.owner = owner_of(user, when >= 0xe0);
    wish.trying = how & 1;
    wish.reentrant = how & 2;
    wish.timeout = how & 4 ? when * (TIMEOUT / 64) : ZKL_NEVER;
    return wish;
}

/* Parts are mutexes, or read and write. */
static void acquire(struct user *user, uint8_t from) {
    struct zkl_acquire_options wishes[LOCKS] = {pick_wish(user, 0), {0}};
    wishes[1] = wishes[0];
    wishes[1].path = locks[1];
    user->doing = ACQUIRES;
    user->announced = false;
    bool several = from % 4 == 0 && wishes[0].kind <= ZKL_WRITE && !wishes[0].batch;
    if (several) {
        user->request = zkl_acquire_all(w.session, wishes, LOCKS);
        return;
    }
    if (from & 4) wishes[0] = pick_wish(user, 1);
    user->request = zkl_acquire(w.session, wishes);
}

static void ask(struct user *user, uint8_t from) {
    const char *path = locks[from / 4 % LOCKS];
    zkl_time timeout = from * (TIMEOUT / 64);
    const struct zkl_op op = {ZKL_OP_SET, 0, -1, "/stock", "9", 1};
    struct zkl_lease *lease = user->lease;
    user->doing = ASKS;
    switch (from % 7) {
    case 0: user->request = zkl_queue(w.session, path, options_for(0, 0).kind, timeout); break;
    case 1: user->request = zkl_get(w.session, path, timeout); break;
    case 2:
        user->request = lease ? zkl_check(lease, timeout) : zkl_session_ready(w.session, timeout);
        break;
    case 3:
        if (lease) user->request = zkl_signal(lease, "/condition", from & 64, timeout);
        else user->request = zkl_get(w.session, path, timeout);
        break;
    case 4: user->request = zkl_children(w.session, path, timeout); break;
    case 5: user->request = zkl_break(w.session, "/a/lock", from & 1, timeout); break;
    default:
        user->request =
            lease ? zkl_guard(lease, &op, 1, timeout) : zkl_revoke(w.session, "/a/lock", timeout);
        break;
    }
}

static void release_all(const struct user *user) {
    zkl_session_release_all(w.session, owner_of(user, false));
    EACH_USER(other) other->told |= other->lease && has_ended(other->lease);
}

static void use_lease(struct user *user, uint8_t from) {
    zkl_time timeout = from & 8 ? from * (TIMEOUT / 64) : ZKL_NEVER;
    switch (from % 8) {
    case 0:
    case 1:
        user->doing = DOWNGRADES;
        user->request = zkl_downgrade(user->lease, timeout);
        break;
    case 2:
    case 3:
        user->doing = WAITS;
        user->request = zkl_wait(user->lease, "/condition", timeout);
        break;
    case 4:
        user->doing = RELEASES;
        user->request = zkl_release_and_confirm(user->lease, timeout);
        break;
    case 5:
        if (from / 16 == 0) release_all(user);
        else zkl_lease_listen(user->lease);
        break;
    default: leave(user); break;
    }
}

/* Ends a request. A wait is only cancelled, so that its user hears of the lock. */
static void give_up(struct user *user, bool at_once) {
    if (!at_once || user->doing == WAITS) {
        zkl_request_cancel(user->request, ZKL_INTERRUPTED);
        return;
    }
    zkl_request_drop(user->request);
    user->request = NULL;
    if (user->doing == RELEASES) leave(user);
}

static void act(struct user *user) {
    uint8_t from = byte();
    if (user->request) give_up(user, from & 1);
    else if (from >= 0xd0) ask(user, from);
    else if (user->lease) use_lease(user, from);
    else acquire(user, from);
}

static void use_watcher(uint8_t from) {
    struct zkl_watcher **watcher = &w.watchers[from % WATCHERS];
    struct zkl_sight sight;
    enum zkl_code why;
    if (!*watcher) {
        *watcher = zkl_watch(w.session, from & 2 ? "/config" : "/a", &why);
    } else if (from & 4) {
        if (zkl_watcher_look(*watcher, &sight)) zkl_watcher_confirm(*watcher);
    } else {
        zkl_watcher_drop(*watcher);
        *watcher = NULL;
    }
}

static void end_member(int i) {
    if (w.joins[i]) zkl_request_drop(w.joins[i]);
    if (w.members[i]) zkl_member_drop(w.members[i]);
    w.joins[i] = NULL;
    w.members[i] = NULL;
}

static void use_member(uint8_t from) {
    static const char *const data[] = {"", "weight=3"};
    int i = from % WATCHERS;
    if (w.joins[i] || w.members[i]) end_member(i);
    else
        w.joins[i] = zkl_join(w.session, from & 2 ? "/a/0" : "/d/e", data[from / 4 % 2], ZKL_NEVER);
}

static void use_roster(uint8_t from) {
    struct zkl_roster **roster = &w.rosters[from % WATCHERS];
    struct zkl_roll *roll;
    enum zkl_code why;
    if (!*roster) {
        *roster = zkl_members(w.session, from & 2 ? "/a" : "/d", &why);
    } else if (from & 4) {
        if (!zkl_roster_look(*roster, &roll)) return;
        free(roll);
        if (from & 8) zkl_roster_confirm(*roster);
    } else {
        zkl_roster_drop(*roster);
        *roster = NULL;
    }
}

static void end_watchers(void) {
    for (int i = 0; i < WATCHERS; i++) {
        if (w.watchers[i]) zkl_watcher_drop(w.watchers[i]);
        if (w.rosters[i]) zkl_roster_drop(w.rosters[i]);
        w.watchers[i] = NULL;
        w.rosters[i] = NULL;
        end_member(i);
    }
}

/* --- a run ---------------------------------------------------------------------------------- */

static void step(void) {
    uint8_t op = byte(), which = op / 16;
    w.now += ZKL_SECOND / 1000;
    zkl_session_at(w.session, w.now);
    switch (is_crowded() ? 15 : op % 16) {
    case 0:
    case 1:
    case 2:
    case 3: act(&w.users[which % USERS]); break;
    case 4:
        if (which < 8) cut_connection();
        else if (which == 15) expire();
        else if (which == 14) use_member(byte());
        else if (which == 13) use_roster(byte());
        else use_watcher(which);
        break;
    case 5:
    case 6: w.coming = !is_connected(); break;
    case 7:
    case 8: watch_event(byte()); break;
    case 9:
        if (which == 15) stop(TIMEOUT / 4 * (1 + byte() % 8));
        else pass((which + 1) * (TIMEOUT / 24));
        break;
    default: deliver(); break;
    }
    settle();
}

static void give_up_all(void) {
    EACH_USER(user) {
        if (user->request) give_up(user, false);
        settle();
        if (!user->request) leave(user);
    }
    end_watchers();
    settle();
}

static bool is_at_rest(void) {
    bool idle = zkl_session_is_idle(w.session) && !zkl_session_has_claims(w.session);
    return idle && is_connected() && !w.session->followers[FOLLOWER_MEMBER] &&
           w.session->watches.unwanted_count == 0;
}

/* Watches whose removal the server refused earlier (ZOOKEEPER-4799). */
static size_t count_lasting(void) {
    size_t count = 0;
    for (size_t i = 0; i < WATCH_BUCKETS; i++)
        for (const struct watch *each = w.session->watches.buckets[i]; each; each = each->next)
            count += each->state == WATCH_LASTING;
    return count;
}

/* Ends every claim. The server obeys, as byte() is 0. */
static void come_to_rest(void) {
    struct zkl_stats stats;
    for (int round = 0; round == 0 || !is_at_rest(); round++) {
        require(round < 64);
        w.coming = !is_connected();
        while (deliver()) continue;
        give_up_all();
        while (deliver()) continue;
        pass(TIMEOUT / 24);
    }
    zkl_session_stats(w.session, &stats);
    require(!w.session->requests && stats.claims == 0 && stats.in_flight == 0);
    require(stats.path_bytes == 0 && stats.watches == count_lasting());
}

static void close_session(void) {
    EACH_USER(user) user->told = true;
    zkl_session_close(w.session);
    send_all();
    while (hear()) continue;
    for (uint8_t left = byte(); left > 0 && deliver(); left--) continue;
    zkl_session_closed(w.session);
    while (hear()) continue;
    require(!w.session->requests && !w.session->stakes && !w.session->calls);
    EACH_USER(user) {
        if (user->request) zkl_request_drop(user->request);
        leave(user);
    }
    end_watchers();
    zkl_session_free(w.session);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const struct zkl_settings settings = {.identity = "fuzz",
                                          .patience = TIMEOUT / 12,
                                          .margin = 0.5,
                                          .parents = ZKL_CONTAINER,
                                          .reopen = true,
                                          .steps = true,
                                          .seed = 1};
    memset(&w, 0, sizeof w);
    w.data = data;
    w.size = size;
    w.now = 1000 * ZKL_SECOND;
    w.zxid = 1000;
    w.sessions = 0x1000;
    w.uses = byte();
    w.session = zkl_session_new(&settings);
    require(w.session);
    w.coming = true;
    tick();
    bool rests = byte() < 0xd0;
    while (w.size > (rests ? 0 : 32)) step();
    if (rests) come_to_rest();
    close_session();
    return 0;
}
