/*
 * claim_fuzz.c - libFuzzer on the event stream of the claim machine: up to three users' claims
 * on one line (and those made for orphans), fed any events with any replies that claim.h's
 * contract permits. The server of this world tells what it likes; it need not be a ZooKeeper
 * (the simulator has one that is: spec/sim/zookeeper.c). The owner keeps its side as src/session
 * does: replies in the order of the requests, the line before the list, ranks counted, the proof
 * before its reply, a request without a connection answered at once as unknown.
 *
 * What must hold after every event:
 *
 *   - a user is answered once, by GRANT or FAIL; LOSE comes once, and after a GRANT only;
 *   - FORGET comes once, last, when the user was answered, and a forgotten claim asks for
 *     nothing more;
 *   - no action without its object: a delete without a counter in the name, a watch on nobody,
 *     a rank with nobody to rank, a create of an earlier attempt's name; of a fixed name, a delete
 *     without a czxid, or of the node that another claim holds;
 *   - a grant has a token and a certain clock, and no contender of the line that excludes it
 *     is ahead of it; of permits, as many as there are, and nobody of another use ahead;
 *   - a writer that shares holds meanwhile, keeps its token and its number, and is told once
 *     what came of it; it becomes a reader only by a reply that says so;
 *   - a node is one claim's at a time, also when it is handed on, and its tokens grow;
 *   - nobody sleeps without an alarm: a claim that is neither held nor forgotten has a request
 *     out, is watched for, or is stalled, which the next heartbeat mends;
 *   - in the end, when all is given up and the server answers, every claim is forgotten; and
 *     no reference to a contender is left (the leak checker).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "permits.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { USERS = 3, CLAIMS = 12, QUEUE = 1024, NAMES = 24 };

#define TIMEOUT (12 * ZKL_SECOND)

static void require(bool holds) {
    if (!holds) abort();
}

/* --- the world ------------------------------------------------------------------------------ */

enum verb { PARENTS, CREATE, SYNC, LIST, RANK, OWN, AHEAD, REMOVE, DOWNGRADE, MARK, BACK };

struct user {
    struct zkl_claim claim; /* the first member: a claim is its user's */
    bool used, forgotten, answered, granted, lost, given_up;
    bool downgrading; /* it asked to be a reader, and was not told yet */
    bool watching;    /* of a fixed name: the node that is there */
    int out[BACK];    /* requests, by verb */
    const struct zkl_contender *watched;
    bool heads; /* it watches a holder, or more */
};

struct request {
    enum verb verb;
    struct user *user; /* NULL: a heartbeat's sync, a late look's list, or BACK */
    struct zkl_contender *contender;
    zkl_time issued;
    bool cut; /* the connection was lost meanwhile */
};

static struct {
    const uint8_t *data;
    size_t size;
    zkl_time now;
    int64_t zxid;
    uint64_t sessions;
    struct zkl_common common;
    struct zkl_line line;
    struct user users[CLAIMS];
    struct request queue[QUEUE]; /* a ring */
    int first, queued;
    bool coming;  /* BACK is in the queue */
    bool doubted; /* a create stayed unknown: the next heartbeat lists, too */
} w;

#define EACH_USER(user)                                                                            \
    for (struct user *user = w.users; user < w.users + CLAIMS; user++)                             \
        if (!user->used) continue;                                                                 \
        else

static uint8_t byte(void) {
    if (w.size == 0) return 0;
    w.size--;
    return *w.data++;
}

static void perform(struct user *user, zkl_actions actions);

static bool connected(void) {
    return w.common.clock.connected;
}

/* --- names and replies ------------------------------------------------------------------------ */

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

/* A node's number: small, or at the end of the counter. */
static int32_t number(uint8_t from) {
    return from < 0xf0 ? from & 0xf : from < 0xf8 ? INT32_MAX : -(int32_t)from;
}

/* The name of an attempt of this session, made or not, of the past or another claim's. */
static void name_attempt(char text[2 * ZKL_NAME_SIZE], const struct zkl_claim *claim,
                         uint64_t nonce, uint8_t from) {
    uint64_t session = w.common.session;
    enum zkl_kind kind = zkl_kind_is_fixed(claim->kind) ? ZKL_MUTEX : claim->kind;
    if (claim->kind != ZKL_PERMIT || !claim->limit) zkl_name_prefix(text, kind, session, nonce);
    else zkl_name_permits(text, claim->permits, claim->limit, session, nonce);
    snprintf(text + strlen(text), 16, "%010" PRId32, number(from));
}

static void pick_name(char text[2 * ZKL_NAME_SIZE]) {
    uint8_t from = byte();
    const struct user *user = &w.users[from / 8 % CLAIMS];
    switch (from % 8) {
    case 0:
    case 1:
    case 2:
    case 3: snprintf(text, ZKL_NAME_SIZE, "%s", strangers[from / 8 % STRANGERS]); break;
    case 4:
    case 5: snprintf(text, ZKL_NAME_SIZE, "%s", user->used ? user->claim.name : ""); break;
    default: name_attempt(text, &user->claim, w.common.nonces - from / 8 % 4, byte()); break;
    }
}

static enum zkl_reply pick_reply(const struct request *request) {
    static const enum zkl_reply replies[] = {ZKL_DONE,   ZKL_DONE,   ZKL_DONE,    ZKL_DONE,
                                             ZKL_ABSENT, ZKL_ABSENT, ZKL_REFUSED, ZKL_UNKNOWN};
    return request->cut ? ZKL_UNKNOWN : replies[byte() % 8];
}

static enum zkl_code pick_code(void) {
    static const enum zkl_code codes[] = {ZKL_AUTH, ZKL_CONFLICT, ZKL_NO_NODE, ZKL_UNSUPPORTED};
    return codes[byte() % 4];
}

/* --- requests --------------------------------------------------------------------------------- */

static void feed(struct request *request, enum zkl_reply reply);

static struct request *nth(int i) {
    return &w.queue[(w.first + i) % QUEUE];
}

/* So many are out that only replies come next. */
static bool crowded(void) {
    return w.queued > QUEUE / 2;
}

static void ask(struct user *user, enum verb verb, struct zkl_contender *contender) {
    struct request request = {.verb = verb, .user = user, .issued = w.now};
    request.contender = contender ? zkl_contender_hold(contender) : NULL;
    if (user) user->out[verb]++;
    require(w.queued < QUEUE);
    if (connected()) *nth(w.queued++) = request;
    else feed(&request, ZKL_UNKNOWN);
}

static bool list_is_out(void) {
    EACH_USER(user) {
        if (user->out[LIST] > 0) return true;
    }
    return false;
}

/* One list serves all that are in LIST. */
static void ask_list(struct user *user) {
    if (user->claim.state != ZKL_LIST || !list_is_out()) ask(user, LIST, NULL);
}

static void ask_ranks(struct user *user) {
    struct zkl_contender *contender = NULL;
    while ((contender = zkl_line_unranked(&w.line, &user->claim, contender))) {
        user->claim.ranks++;
        ask(user, RANK, contender);
    }
}

static void ask_holders(struct user *user) {
    user->heads = false;
    for (size_t i = 0; i < w.line.count && user->claim.state == ZKL_WAIT; i++) {
        struct zkl_contender *holder = w.line.contenders[i];
        if (zkl_line_precedes(&w.line, holder, &user->claim)) ask(user, AHEAD, holder);
    }
}

static void resume_followers(void) {
    for (struct zkl_claim *claim = w.line.claims; claim; claim = claim->next) {
        if (!zkl_claim_follows(claim)) continue;
        perform((struct user *)claim, zkl_claim_resume(claim, w.now));
    }
}

static void forget(struct user *user) {
    require(!user->forgotten && user->claim.state == ZKL_GONE);
    require(user->answered);
    user->forgotten = true;
}

static void answer(struct user *user, bool granted) {
    require(!user->answered);
    user->answered = true;
    user->granted = granted;
    if (!granted) require(user->claim.code != ZKL_OK);
}

static void lose(struct user *user) {
    require(user->granted && !user->lost && !user->given_up);
    require(user->claim.code == ZKL_LOST);
    user->lost = true;
}

static void tell_shared(struct user *user) {
    const struct zkl_claim *claim = &user->claim;
    require(user->downgrading && user->granted && !user->lost && !user->given_up);
    require(claim->state == ZKL_HELD);
    require((claim->kind == ZKL_READ) == (claim->refusal == ZKL_OK));
    user->downgrading = false;
}

static void perform_one(struct user *user, zkl_actions action) {
    struct zkl_claim *claim = &user->claim;
    switch (action) {
    case ZKL_DO_PARENTS: ask(user, PARENTS, NULL); break;
    case ZKL_DO_CREATE: ask(user, CREATE, NULL); break;
    case ZKL_DO_SYNC: ask(user, SYNC, NULL); break;
    case ZKL_DO_LIST: ask_list(user); break;
    case ZKL_DO_RANK: ask_ranks(user); break;
    case ZKL_DO_WATCH_OWN: ask(user, OWN, NULL); break;
    case ZKL_DO_WATCH_AHEAD:
        if (claim->ahead) ask(user, AHEAD, claim->ahead);
        break;
    case ZKL_DO_REMOVE: ask(user, REMOVE, NULL); break;
    case ZKL_DO_DOWNGRADE: ask(user, DOWNGRADE, NULL); break;
    case ZKL_DO_DOUBT: w.doubted = true; break;
    case ZKL_DO_FOLLOW: resume_followers(); break;
    case ZKL_DO_GRANT: answer(user, true); break;
    case ZKL_DO_FAIL: answer(user, false); break;
    case ZKL_DO_LOSE: lose(user); break;
    case ZKL_DO_DOWNGRADED: tell_shared(user); break;
    case ZKL_DO_FORGET: forget(user); break;
    case ZKL_DO_PAUSE:
        if (byte() & 1) perform(user, zkl_claim_wake(claim));
        break;
    case ZKL_DO_HOLDERS: ask_holders(user); break;
    case ZKL_DO_MARK: ask(user, MARK, NULL); break;
    default: require(action == ZKL_DO_QUEUED); break;
    }
}

static bool is_complete_name(const char *text) {
    struct zkl_name name;
    return zkl_name_parse(text, &name);
}

static bool is_fixed(const struct user *user) {
    return zkl_kind_is_fixed(user->claim.kind);
}

/* The node of this czxid is not what another claim of the session holds. */
static void check_removed(const struct user *user) {
    require(user->claim.state == ZKL_LEAVE);
    if (!is_fixed(user)) return;
    require(user->claim.czxid != 0);
    for (struct user *other = w.users; other < w.users + CLAIMS; other++) {
        if (other->used && other != user && is_fixed(other) && zkl_claim_holds(&other->claim))
            require(other->claim.czxid != user->claim.czxid);
    }
}

static void check_created(const struct user *user) {
    const struct zkl_claim *claim = &user->claim;
    require(claim->state == ZKL_CREATE && !is_complete_name(claim->name));
    if (!is_fixed(user)) {
        require(claim->nonce == w.common.nonces);
        return;
    }
    require(strcmp(claim->name, ZKL_NAME_FIXED) == 0 && claim->czxid == 0);
    for (struct user *other = w.users; other < w.users + CLAIMS;
         other++) { /* one at a time: else their nodes could not be told apart */
        if (other->used && other != user && is_fixed(other)) require(other->out[CREATE] == 0);
    }
}

/* The actions of one event, before any of them is carried out. */
static void check_actions(const struct user *user, zkl_actions actions) {
    const struct zkl_claim *claim = &user->claim;
    require(claim->state <= ZKL_GONE);
    require(actions == 0 || !user->forgotten);
    require(actions < ZKL_DO_MARK << 1);
    if (actions & ZKL_DO_HOLDERS) require(claim->state == ZKL_WAIT && claim->heading);
    if (actions & ZKL_DO_MARK) require(claim->state == ZKL_HELD && claim->kind == ZKL_PERMIT);
    if (actions & (ZKL_DO_REMOVE | ZKL_DO_WATCH_OWN))
        require(is_fixed(user) ? strcmp(claim->name, ZKL_NAME_FIXED) == 0
                               : is_complete_name(claim->name));
    if (actions & ZKL_DO_REMOVE) check_removed(user);
    if (actions & ZKL_DO_DOWNGRADE)
        require(claim->state == ZKL_DOWNGRADE && zkl_claim_may_downgrade(claim));
    if (actions & ZKL_DO_CREATE) check_created(user);
    if (is_fixed(user))
        require(!(actions & (ZKL_DO_LIST | ZKL_DO_RANK | ZKL_DO_WATCH_AHEAD | ZKL_DO_DOWNGRADE)));
    if (actions & ZKL_DO_PAUSE) require(is_fixed(user) && claim->pausing);
    if (actions & ZKL_DO_WATCH_AHEAD) require(claim->state == ZKL_WAIT && claim->ahead);
    if (actions & ZKL_DO_RANK) require(zkl_line_unranked(&w.line, claim, NULL) != NULL);
    if (actions & ZKL_DO_FORGET) require(claim->state == ZKL_GONE && !claim->ahead);
    require(!(actions & ZKL_DO_GRANT) || !(actions & (ZKL_DO_FAIL | ZKL_DO_LOSE)));
}

static bool is_handed_on(const struct zkl_claim *claim, const struct zkl_claim *other) {
    return other != claim && claim->batch && other->nonce == claim->nonce;
}

/* Whoever had the node before had a smaller token. */
static void check_token(const struct zkl_claim *claim) {
    EACH_USER(user) {
        if (is_handed_on(claim, &user->claim) && user->granted)
            require(zkl_claim_token(&user->claim) < zkl_claim_token(claim));
    }
}

static void check_grant(const struct zkl_claim *claim) {
    const struct zkl_clock *clock = &w.common.clock;
    require(claim->state == ZKL_HELD && claim->wanted && claim->czxid != 0);
    require(zkl_clock_phase(clock, claim->epoch, w.now) == ZKL_PHASE_HELD);
    check_token(claim);
}

static void perform(struct user *user, zkl_actions actions) {
    check_actions(user, actions);
    if (actions & ZKL_DO_GRANT) check_grant(&user->claim);
    while (actions) {
        zkl_actions lowest = actions & -actions;
        actions &= ~lowest;
        perform_one(user, lowest);
    }
}

static void sweep(void) {
    EACH_USER(user) {
        int out = 0;
        for (int verb = 0; verb < BACK; verb++) out += user->out[verb];
        if (!user->forgotten || out > 0) continue;
        zkl_claim_detach(&user->claim);
        user->used = false;
    }
}

static struct user *new_user(int room, enum zkl_kind kind, zkl_time deadline, bool trying) {
    for (struct user *user = w.users; user < w.users + room; user++) {
        if (user->used) continue;
        *user = (struct user){.used = true};
        zkl_claim_init(&user->claim, &w.common, &w.line, kind, deadline, trying);
        return user;
    }
    return NULL;
}

/* --- replies ------------------------------------------------------------------------------------
 */

static void adopt_orphans(void) {
    struct zkl_contender *orphan;
    while ((orphan = zkl_line_orphan(&w.line, w.common.session))) {
        struct user *user = new_user(CLAIMS, ZKL_MUTEX, ZKL_NEVER, false);
        if (!user) return;
        user->answered = true;
        perform(user, zkl_claim_adopt(&user->claim, orphan));
    }
}

/* Any list; with the own node mostly, for most of what follows needs it. */
static void replace_line(const struct user *user) {
    char text[NAMES][2 * ZKL_NAME_SIZE];
    const char *names[NAMES];
    uint8_t from = byte();
    size_t count = 0;
    for (; count < from % 6; count++) pick_name(text[count]);
    if (user && from < 0xc0) {
        if (is_complete_name(user->claim.name)) strcpy(text[count++], user->claim.name);
        else name_attempt(text[count++], &user->claim, user->claim.nonce, byte());
    }
    size_t distinct = 0; /* the server has no name twice */
    for (size_t i = 0; i < count; i++) {
        bool again = false;
        for (size_t j = 0; j < distinct; j++) again = again || strcmp(names[j], text[i]) == 0;
        if (!again) names[distinct++] = text[i];
    }
    require(zkl_line_replace(&w.line, names, distinct));
}

/* Ahead of the claim and in its way by line.h's order, as far as it is known. */
static bool is_ahead(const struct zkl_claim *claim, const struct zkl_contender *contender) {
    if (claim->kind == ZKL_READ && contender->kind == ZKL_READ) return false;
    if (w.line.exhausted) return contender->czxid != 0 && contender->czxid < claim->czxid;
    return contender->sequence < claim->sequence;
}

/* Who is admitted by a list, a proof, a czxid or an event has nobody ahead in the line. */
static void check_first(const struct zkl_claim *claim) {
    require(!w.line.incomplete);
    if (claim->kind == ZKL_PERMIT) {
        require(!zkl_permits_stranger(&w.line, claim) && zkl_permits_fit(&w.line, claim));
        return;
    }
    for (size_t i = 0; i < w.line.count; i++) require(!is_ahead(claim, w.line.contenders[i]));
}

/* Who waits does so for somebody ahead, between whom and itself nobody is. */
static void check_nearest(const struct zkl_claim *claim) {
    require(claim->ahead->listed && is_ahead(claim, claim->ahead));
    for (size_t i = 0; i < w.line.count; i++) {
        const struct zkl_contender *each = w.line.contenders[i];
        if (w.line.exhausted) require(!is_ahead(claim, each) || each->czxid <= claim->ahead->czxid);
        else require(!is_ahead(claim, each) || each->sequence <= claim->ahead->sequence);
    }
}

static void perform_looking(struct user *user, zkl_actions actions) {
    bool admitted =
        actions & ZKL_DO_GRANT || (actions & ZKL_DO_SYNC && user->claim.state == ZKL_PROVE);
    if (admitted && !is_fixed(user)) check_first(&user->claim);
    if (actions & ZKL_DO_QUEUED && !is_fixed(user)) check_nearest(&user->claim);
    perform(user, actions);
}

/* By a list, a proof or the own czxid: the own node is in the line. */
static void perform_placed(struct user *user, zkl_actions actions) {
    if (actions & (ZKL_DO_GRANT | ZKL_DO_WATCH_AHEAD | ZKL_DO_RANK) && !is_fixed(user))
        require(zkl_line_find(&w.line, user->claim.name) != NULL);
    perform_looking(user, actions);
}

/* It may also ask again for a proof that it wants since long. */
static void perform_resumed(struct user *user, zkl_actions actions) {
    if (actions & ZKL_DO_GRANT && !is_fixed(user)) check_first(&user->claim);
    perform(user, actions);
}

static void feed_list(struct user *asker, enum zkl_reply reply) {
    if (reply == ZKL_DONE) {
        replace_line(asker);
        adopt_orphans();
    }
    if (!asker) return;
    asker->out[LIST]--;
    EACH_USER(user) {
        if (user->forgotten || (user != asker && user->claim.state != ZKL_LIST)) continue;
        perform_placed(user, zkl_claim_listed(&user->claim, reply, pick_code(), w.now));
    }
}

/* A create of a fixed name that landed late. */
static void adopt_fixed(uint64_t owner, int64_t czxid) {
    enum zkl_orphan orphan = zkl_line_fixed_orphan(&w.line, w.common.session, owner, czxid);
    struct user *user =
        orphan == ZKL_ORPHAN ? new_user(CLAIMS, ZKL_UNFAIR, ZKL_NEVER, false) : NULL;
    w.doubted = w.doubted || orphan == ZKL_PERHAPS;
    if (!user) return;
    user->answered = true;
    perform(user, zkl_claim_adopt_fixed(&user->claim, czxid));
}

/* Whosever the node is that has the name. */
static void feed_fixed(struct user *user, enum zkl_reply reply) {
    uint8_t from = byte();
    const struct user *other = &w.users[from / 4 % CLAIMS];
    uint64_t owner = from % 4 < 3 ? w.common.session : 7;
    int64_t czxid = ++w.zxid;
    if (from % 4 == 1 && user->claim.czxid) czxid = user->claim.czxid;
    if (from % 4 == 2 && other->used && is_fixed(other) && other->claim.czxid)
        czxid = other->claim.czxid;
    zkl_actions did = zkl_claim_got_own(&user->claim, reply, pick_code(), czxid, owner, w.now);
    user->watching = reply == ZKL_DONE;
    if (did & ZKL_DO_GRANT) require(owner == w.common.session && reply == ZKL_DONE);
    if (reply == ZKL_DONE) adopt_fixed(owner, czxid);
    perform(user, did);
}

static bool feed_fixed_create(struct user *user, enum zkl_reply reply) {
    if (reply == ZKL_DONE) perform(user, zkl_claim_placed(&user->claim, ++w.zxid, w.now));
    else if (reply == ZKL_REFUSED && byte() < 0xc0) perform(user, zkl_claim_taken(&user->claim));
    else return false;
    return true;
}

static void feed_created(struct user *user, enum zkl_reply reply) {
    if (is_fixed(user) && feed_fixed_create(user, reply)) return;
    char name[2 * ZKL_NAME_SIZE] = "";
    if (reply == ZKL_DONE) name_attempt(name, &user->claim, user->claim.nonce, byte());
    perform(user, zkl_claim_created(&user->claim, reply, pick_code(), name, ++w.zxid));
}

static void feed_ahead(struct user *user, struct zkl_contender *contender, enum zkl_reply reply) {
    zkl_actions did = zkl_claim_got_ahead(&user->claim, contender, reply, pick_code(), w.now);
    if (reply == ZKL_DONE && user->claim.ahead == contender) user->watched = contender;
    if (reply == ZKL_DONE) user->heads = true;
    if (reply == ZKL_DONE && user->claim.kind == ZKL_PERMIT && byte() & 1)
        did |= zkl_claim_ahead_marked(&user->claim, contender, byte());
    perform_looking(user, did);
}

/* A contender has one czxid, whoever asks. */
static void feed_ranked(struct user *user, struct zkl_contender *contender, enum zkl_reply reply) {
    int64_t czxid = contender->czxid ? contender->czxid : 1 + byte();
    perform_looking(user, zkl_claim_ranked(&user->claim, contender, reply, czxid, w.now));
}

static void feed_own(struct user *user, enum zkl_reply reply) {
    if (is_fixed(user)) {
        feed_fixed(user, reply);
        return;
    }
    uint64_t owner = byte() < 0xe0 ? w.common.session : 7;
    int64_t czxid = user->claim.czxid ? user->claim.czxid : ++w.zxid;
    perform_placed(user, zkl_claim_got_own(&user->claim, reply, pick_code(), czxid, owner, w.now));
}

/* Only DONE makes a reader of a writer. */
static void feed_shared(struct user *user, enum zkl_reply reply) {
    struct zkl_claim *claim = &user->claim;
    int64_t token = claim->czxid;
    int32_t sequence = claim->sequence;
    bool was_reader = claim->kind == ZKL_READ;
    zkl_actions did = zkl_claim_downgraded(claim, reply, pick_code());
    require(claim->czxid == token && claim->sequence == sequence);
    require(was_reader || claim->kind != ZKL_READ || reply == ZKL_DONE);
    perform(user, did);
}

static void feed(struct request *request, enum zkl_reply reply) {
    struct user *user = request->user;
    bool proof = request->verb == CREATE || request->verb == SYNC || request->verb == REMOVE ||
                 request->verb == DOWNGRADE || request->verb == MARK;
    if (proof && reply == ZKL_DONE) zkl_clock_prove(&w.common.clock, request->issued, w.now);
    if (request->verb == LIST) feed_list(user, reply);
    if (!user || request->verb == LIST) return;
    struct zkl_claim *claim = &user->claim;
    user->out[request->verb]--;
    switch (request->verb) {
    case PARENTS: zkl_claim_parents(claim, reply, pick_code()); break;
    case CREATE: feed_created(user, reply); break;
    case SYNC: perform_placed(user, zkl_claim_synced(claim, reply, w.now)); break;
    case RANK: feed_ranked(user, request->contender, reply); break;
    case OWN: feed_own(user, reply); break;
    case AHEAD: feed_ahead(user, request->contender, reply); break;
    case REMOVE: perform(user, zkl_claim_removed(claim, reply)); break;
    case DOWNGRADE: feed_shared(user, reply); break;
    case MARK: perform(user, zkl_claim_marked(claim, reply)); break;
    case LIST:
    case BACK: break;
    }
    zkl_contender_drop(request->contender);
}

/* The connection is back, in the same session or in a new one. */
static void come_back(void) {
    w.coming = false;
    if (w.common.clock.timeout == 0) {
        zkl_clock_start(&w.common.clock, TIMEOUT, 0.5, w.now);
        w.common.session = ++w.sessions;
    }
    w.common.clock.connected = true;
    EACH_USER(user) perform_resumed(user, zkl_claim_resume(&user->claim, w.now));
}

static bool deliver(void) {
    if (w.queued == 0) return false;
    struct request request = *nth(0);
    w.first = (w.first + 1) % QUEUE;
    w.queued--;
    if (request.verb == BACK) come_back();
    else feed(&request, pick_reply(&request));
    return true;
}

/* --- events -------------------------------------------------------------------------------------
 */

static void cut(void) {
    for (int i = 0; i < w.queued; i++) nth(i)->cut = true;
    if (!connected()) return;
    w.common.clock.connected = false;
    EACH_USER(user) perform(user, zkl_claim_suspend(&user->claim));
}

static void reconnect(void) {
    if (connected() || w.coming) return;
    w.coming = true;
    *nth(w.queued++) = (struct request){.verb = BACK};
}

static void expire(void) {
    if (w.common.clock.timeout == 0) return;
    for (int i = 0; i < w.queued; i++) nth(i)->cut = true;
    zkl_clock_stop(&w.common.clock);
    w.common.session = 0;
    zkl_line_clear(&w.line);
    EACH_USER(user) perform(user, zkl_claim_expire(&user->claim));
}

/* A watch on a node tells: of every claim that it is about. */
static void watch_event(const struct user *about, bool own, bool deleted) {
    char name[ZKL_NAME_SIZE];
    if (!about->used || (!own && !about->claim.ahead)) return;
    snprintf(name, sizeof name, "%s", own ? about->claim.name : about->claim.ahead->name);
    EACH_USER(user) {
        struct zkl_claim *claim = &user->claim;
        struct zkl_contender *ahead = claim->ahead;
        if (strcmp(claim->name, name) == 0) {
            user->watching = false;
            perform_looking(user,
                            deleted ? zkl_claim_own_deleted(claim) : zkl_claim_own_changed(claim));
        } else if (ahead && strcmp(ahead->name, name) == 0) {
            user->watched = NULL; /* the event used the watch up */
            perform_looking(user, deleted ? zkl_claim_ahead_deleted(claim, ahead, w.now)
                                          : zkl_claim_ahead_changed(claim, ahead));
        } else if (claim->state == ZKL_WAIT && claim->heading && deleted) {
            perform_looking(user,
                            zkl_claim_ahead_deleted(claim, zkl_line_find(&w.line, name), w.now));
        }
    }
}

static void pass(zkl_time time) {
    w.now += time;
    EACH_USER(user) perform(user, zkl_claim_tick(&user->claim, w.now));
    EACH_USER(user) perform(user, time ? zkl_claim_wake(&user->claim) : 0);
}

static void beat(void) {
    if (!connected()) return;
    ask(NULL, SYNC, NULL);
    if (w.doubted) ask(NULL, LIST, NULL);
    w.doubted = false;
    EACH_USER(user) perform_resumed(user, zkl_claim_beat(&user->claim, w.now));
}

/* The clock's end comes first: what it ended is neither given up nor shared. */
static void release(struct user *user) {
    pass(0);
    if (!user->used) return;
    if (zkl_claim_holds(&user->claim)) user->given_up = true;
    perform(user, zkl_claim_release(&user->claim));
}

static void share(struct user *user) {
    pass(0);
    if (!user->used || user->claim.state != ZKL_HELD || !zkl_claim_may_downgrade(&user->claim))
        return;
    user->downgrading = true;
    perform(user, zkl_claim_downgrade(&user->claim));
}

static void yield(struct user *user) {
    if (user->used) perform(user, zkl_claim_yield(&user->claim));
}

static void start(uint8_t how) {
    bool trying = how & 1;
    zkl_time deadline = how & 2 ? w.now + how * (TIMEOUT / 64) : ZKL_NEVER;
    if (trying && !connected()) return;
    struct user *user = new_user(USERS, (enum zkl_kind)(how / 4 % 5), deadline, trying);
    if (user && user->claim.kind == ZKL_PERMIT) zkl_claim_want(&user->claim, 1 + how / 16 % 3, 3);
    if (user && user->claim.kind == ZKL_MUTEX) zkl_claim_batch(&user->claim, how / 32 % 4);
    if (user) perform(user, zkl_claim_start(&user->claim));
}

/* --- what must hold
 * -------------------------------------------------------------------------------- */

/* What keeps the claim going; `stalled` is mended by the next heartbeat. */
static bool has_alarm(const struct user *user) {
    const struct zkl_claim *claim = &user->claim;
    if (claim->stalled) return true;
    switch (claim->state) {
    case ZKL_NEW: return claim->pausing;
    case ZKL_RECOVER_LIST: return user->out[is_fixed(user) ? OWN : LIST] > 0;
    case ZKL_TRY: return user->out[LIST] > 0;
    case ZKL_LIST: return list_is_out();
    case ZKL_CREATE: return user->out[CREATE] > 0;
    case ZKL_RECOVER_SYNC:
    case ZKL_PROVE: return user->out[SYNC] > 0;
    case ZKL_RECOVER_STAT: return user->out[OWN] > 0;
    case ZKL_RANK: return claim->ranks > 0;
    case ZKL_WAIT:
        if (is_fixed(user)) return user->out[OWN] > 0 || user->watching;
        return user->out[AHEAD] > 0 ||
               (claim->heading ? user->heads : user->watched == claim->ahead);
    case ZKL_DOWNGRADE: return user->out[DOWNGRADE] > 0;
    case ZKL_LEAVE: return user->out[REMOVE] > 0;
    case ZKL_FIRST: /* of a multi-lock, and of a condition; there is none here */
    case ZKL_IN_CONDITION:
    case ZKL_SIGNALLED:
    case ZKL_FORWARD:
    case ZKL_HELD:
    case ZKL_GONE: return true;
    }
    return false;
}

static void check_node(const struct zkl_claim *claim) {
    if (claim->nonce == 0 || claim->state == ZKL_GONE) return;
    EACH_USER(user) {
        if (is_handed_on(claim, &user->claim)) require(user->claim.state == ZKL_GONE);
    }
}

static void check(void) {
    EACH_USER(user) {
        const struct zkl_claim *claim = &user->claim;
        require(has_alarm(user));
        require((claim->state == ZKL_GONE) == user->forgotten);
        require(claim->wanted == !(user->answered && (!user->granted || !zkl_claim_holds(claim))));
        require((claim->state == ZKL_WAIT && !is_fixed(user)) == (claim->ahead != NULL));
        check_node(claim);
        require(claim->ranks == (uint32_t)user->out[RANK]);
        if (zkl_claim_holds(claim)) require(user->granted && !user->lost && !user->given_up);
    }
}

/* --- a run
 * ------------------------------------------------------------------------------------------ */

static void step(void) {
    uint8_t op = byte(), which = op / 16;
    struct user *user = &w.users[which % CLAIMS];
    switch (crowded() ? 11 : op % 16) {
    case 0: start(byte()); break;
    case 1: cut(); break;
    case 2: reconnect(); break;
    case 3: watch_event(user, true, byte() & 1); break;
    case 4:
    case 5: watch_event(user, false, op & 1); break;
    case 6: pass((which + 1) * (TIMEOUT / 24)); break;
    case 7: beat(); break;
    case 8: release(user); break;
    case 9:
        if (user->used) perform(user, zkl_claim_cancel(&user->claim, ZKL_INTERRUPTED));
        break;
    case 10:
        if (which == 0) expire();
        else if (which % 2) yield(user);
        else share(user);
        break;
    default: deliver(); break;
    }
    sweep();
    check();
}

/* The user gives all up, the server answers (byte() is 0: DONE): every claim comes to its end. */
static void come_to_rest(void) {
    w.size = 0;
    for (int round = 0; round < 64; round++) {
        reconnect();
        while (deliver()) check();
        bool busy = false;
        EACH_USER(user) {
            busy = true;
            perform(user, zkl_claim_cancel(&user->claim, ZKL_CLOSED));
            release(user);
        }
        if (!busy && connected()) return;
        beat();
        while (deliver()) check();
        sweep();
        pass(TIMEOUT / 24);
        sweep();
    }
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    memset(&w, 0, sizeof w);
    w.data = data;
    w.size = size;
    w.now = 1000 * ZKL_SECOND;
    w.zxid = 1000;
    w.sessions = 0x1000;
    while (w.size > 0) step();
    come_to_rest();
    zkl_line_clear(&w.line);
    return 0;
}
