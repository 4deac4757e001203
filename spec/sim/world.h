/*
 * world.h - everything there is in one run of the simulator: a ZooKeeper
 * ensemble, the network, and clients whose sessions are the real src/session.
 *
 * Servers commit in one order, counted by zxid; server 0 leads, the others show
 * what they have seen of it. A connection is two queues, in order (FIFO). Each
 * node remembers when it was made and when it went, so that any server's view is
 * a matter of comparing numbers. Sources: ZooKeeper's SessionTrackerImpl,
 * Learner.ping, CommitProcessor, DataTree.setWatches, ZOOKEEPER-3249.
 *
 * One world at a time, made anew for each run by world_begin().
 */
#ifndef WORLD_H
#define WORLD_H

#include <string.h>

#include "../../src/session/guard.h" /* to look, never to change */
#include "../../src/session/internal.h"
#include "../../src/session/lease.h"
#include "../../src/session/member.h"
#include "../../src/session/query.h"
#include "../../src/session/roster.h"
#include "../../src/session/watcher.h"
#include "asked.h"

enum {
    CLIENTS = 8,
    SERVERS = 3,
    NODES = 120,
    SESSIONS = 40,
    PATHS = 6,
    LINES = 2,
    ROOM = 6,
    SHADOWS = 32,
    OPS = 4, /* of a transaction */
    CHANGES = 24,
    DATA = 2,       /* nodes of users */
    FACTS = 160,    /* of each */
    FOLDER = LINES, /* as a line: that of the nodes of users */
    GUARDS = 16,
    CALLS = 64, /* requests that signal, of those that are known */
    DEEDS = 4,  /* of a client at a time */
    QUEUE = 256
};

#define NOBODY (-1)
#define UNLIMITED 255U
#define TIMEOUT (8 * ZKL_SECOND) /* the session timeout */

typedef int64_t zxid;
#define NEVER INT64_MAX /* of a zxid: it lives */

/* --- ZooKeeper ---------------------------------------------------------------------- */

/* What is in a node. */
enum content { IDENTITY, REVOKE, SIGNAL, HOLDS, ASKED_HOLDS, OTHER };

struct change {
    zxid at;
    enum content content;
};

struct node {
    char name[ZKL_NAME_SIZE];
    zxid born, died;
    zxid place;  /* in the true order: born; of a downgraded reader its writer's */
    int session; /* index of its owner; NOBODY: another client's */
    enum zkl_kind kind;
    int32_t permits, limit;
    int line;        /* which of the paths it is in */
    bool contender;  /* its name is one */
    bool robbed;     /* a stranger removed it */
    bool late;       /* its create was on a slow way */
    bool asked;      /* of a reader: its writer was asked to give way, ... */
    bool urged;      /* ... and that was the last word in its node */
    bool yields;     /* its holder knows that it was asked */
    bool stirred;    /* its holder knew of others, or that some came or went */
    int32_t grants;  /* how often it was the node of one */
    uint8_t watched; /* clients whose server would tell them, a bit each */
    uint8_t kept;    /* clients whose library keeps the watch */
    int change_count;
    struct change changes[CHANGES]; /* the first ones only: see nodes_full() */
};

struct server {
    zxid seen;
    bool apart;      /* cut off from the leader; still answers reads */
    zkl_time report; /* when it tells the leader next which sessions it heard */
};

struct session {
    uint64_t id;
    zkl_time timeout;
    zkl_time touched; /* the last touch that the leader knows of */
    bool alive;
    bool heard; /* by its server, since that server's last report */
};

struct generation { /* of the lock paths, which come and go together, and count together */
    zxid born, died;
};

/* A node of the user's, from a commit on. */
struct fact {
    zxid at, born;
    int32_t version;
    unsigned word; /* what is in it; 0: it is not there */
    int session;   /* the index of its owner, and 1; 0: none */
};

struct datum {
    int count;
    struct fact facts[FACTS];
    uint8_t watched;       /* clients whose server would tell them, a bit each */
    uint8_t kept, awaited; /* whose library keeps the watch: on a node, on one that is to come */
};

/* Who watches the children of a path: as of a datum. */
struct children {
    uint8_t watched, kept;
};

/* What the rules know of a guard. */
struct guarded {
    unsigned parts; /* of the grant that it was last sent for: */
    zxid places[LINES];
    int lines[LINES];
    int32_t served;
    bool open;        /* it was sent, and no answer was had */
    unsigned carried; /* out, so often */
    int error;        /* of the server's last answer, and which operation it refused, from 0 */
    unsigned refused;
    bool denied; /* its user was told that nothing was written */
};

/* And of a request that signals. */
struct signalling {
    unsigned open; /* its writes that were sent, but for those that were refused */
    bool carried;  /* one was carried out */
    bool denied;   /* its user was told that nobody has a signal by it */
};

/* --- the network -------------------------------------------------------------------- */

enum what {
    REQUEST, /* and its answer */
    /* watch events */
    DELETED,
    CHANGED,
    CREATED,
    CHILDREN, /* of a path: one came or went */
    ENDED,    /* a path whose children are watched */
    /* of the connection */
    CUT,
    BACK,
    EXPIRED
};

/*
 * A request's paths and data are the session's own: it keeps them until the answer is put in,
 * and the simulator reads them until then.
 */
struct item {
    enum what what;
    uint64_t id;        /* REQUEST: the session's */
    struct zkl_rpc rpc; /* REQUEST */
    int error;          /* of the answer */
    unsigned refused;   /* by an operation: which one, from 0 */
    int node;           /* asked for, or what happened to it; NODES and more: see data.h */
    int nodes[OPS];     /* of the operations: made or written to */
    zxid view;          /* what its server had seen */
    int line;           /* LIST, CHILDREN, ENDED: which path */
    int session;        /* BACK: in this one */
    zkl_time issued;    /* by the client's clock */
    bool arrived;       /* at the client's library */
    /* for the rules: */
    int64_t czxid;   /* of the claim that asks, as it knows it */
    bool taken;      /* it is a waiter's whose lock was granted again */
    bool of_member;  /* it is a member's write to its node, or its removal */
    zxid heard;      /* the newest that its session was told of */
    unsigned guard;  /* which of the guards it is; 0: none */
    unsigned signal; /* of which of the requests that signal it is; 0: none */
};

struct queue {
    struct item items[QUEUE];
    unsigned first, count;
};

/* --- clients ------------------------------------------------------------------------ */

enum doing { NOTHING, SHARES, WAITS, SIGNALS, LEAVES };

/* A user that wants the lock, or has it. */
struct wish {
    bool used;
    struct zkl_request *request; /* until it is answered */
    struct zkl_lease *lease;     /* after that */
    int owner;                   /* which of the client's */
    int caller;                  /* an owner that waits for this one; NOBODY: none */
    enum zkl_code verdict;       /* what the session had to say at once, or ZKL_OK */
    bool again;                  /* its owner had the lock already */
    bool away;                   /* another handle of its grant waits in the condition */
    bool parted;                 /* WAITS: its handle was given up meanwhile */
    enum doing doing;            /* what it does with it */
    struct zkl_request *deed;    /* and its request */
    zxid saw;                    /* SIGNALS: what its client had seen when it asked */
    bool all;                    /* SIGNALS: a broadcast */
    unsigned signal;             /* SIGNALS: which; 0: there were too many */
    zkl_time deadline;           /* by the client's clock; of the wait that is out */
    enum zkl_kind kind;
    int32_t limit, batch;
    bool counting;        /* its tokens count the grants of a node */
    bool keeps;           /* its node may stay after it */
    unsigned max_waiters; /* it will not wait behind so many; 0: behind any number */
    zkl_time max_hold;    /* it has the lock so long at most; 0: for ever */
    bool trying;
    enum zkl_code cancelled; /* why the user, or a close, gave it up */
    bool ended;              /* as a lease, by the own clock */
    bool outlasted;          /* and by the end of a hold, after which nothing makes it certain */
    bool revoked;            /* its user was told that somebody wants the lock */
};

enum deed_kind {
    DEED_GUARD,
    DEED_CHECK,
    DEED_GET,
    DEED_QUEUE,
    DEED_REVOKE,
    DEED_WATCH,
    DEED_JOIN,
    DEED_FOLLOW,
    DEED_SET, /* the data of a member */
    DEED_KINDS
};

/* What else a user does. */
struct deed {
    bool used;
    enum deed_kind kind;
    struct zkl_request *request; /* until it is answered */
    struct zkl_watcher *watcher; /* WATCH */
    struct zkl_member *member;   /* JOIN, after the request */
    struct zkl_roster *roster;   /* FOLLOW */
    bool refused;                /* there is none, for a reason that is so */
    zkl_time deadline;           /* by the client's clock */
    enum zkl_code cancelled;     /* why the user, or a close, gave it up */
    zxid asked, seen;            /* the last commit when it was asked, and the client's */
    uint64_t asker;              /* the id of the session that asked, if there was one; or 0 */
    int datum;                   /* GET, WATCH, JOIN, SET */
    unsigned word;               /* JOIN: the member's newest data, 0: they were refused; SET */
    struct deed *of;             /* SET: the member's */
    int line;                    /* QUEUE */
    int node;                    /* REVOKE */
    unsigned guard;              /* GUARD: which */
    /* WATCH, FOLLOW: what was told last: */
    bool told;
    enum zkl_code code;
    int fact;              /* which of its node's */
    int facts[DATA];       /* FOLLOW: of each node's */
    struct zkl_roll *roll; /* FOLLOW: that list, or NULL */
    int session;           /* in this one */
};

/* What the rules remember of a claim, as long as there is one. */
struct shadow {
    const struct zkl_claim *claim;
    zxid told;          /* when the last predecessor that it was told of went */
    zxid walked;        /* born: of one that it asked for, gone by then; or 0 */
    uint32_t walked_in; /* serial of its newest list then */
    bool taken;         /* a waiter: its lock was granted again */
};

/* A write on a slow way. */
struct late {
    unsigned count; /* of operations; 0: there is none */
    struct zkl_op ops[OPS];
    char paths[OPS][ZKL_NAME_SIZE + 4];
    char data[OPS][16];
    int session;
    unsigned guard; /* as of an item */
    zkl_time lands; /* until then at most */
};

enum life { RUNS, STOPPED, DEAD };

struct client {
    struct queue up, down;
    struct zkl_session *zk; /* NULL: dead. From here on all is zero when a run begins */
    struct wish wishes[ROOM];
    struct deed deeds[DEEDS];
    struct shadow shadows[SHADOWS];
    enum life life;
    unsigned wished;           /* how many wishes it had */
    unsigned held;             /* grants of whose end no step was told */
    unsigned waited, signals;  /* how often it waited in the condition, and signalled */
    struct zkl_request *drain; /* its session drains before it closes; or NULL */
    bool closing;              /* its session closes, and takes its time for it */
    unsigned deeds_done;       /* so many deeds were begun */
    bool mutexes;              /* of all kinds it wants mutexes, not to read or write */
    int session;               /* index; NOBODY: none */
    int server;                /* connected to; NOBODY: to none */
    bool expiring;             /* the library knows that its session is gone, zk does not */
    zxid shown[LINES];         /* what the newest list showed */
    zkl_time shown_at[LINES];  /* when, by its clock; in this connection */
    bool stirred[LINES];       /* since then it was told that the children are others */
    zkl_time proved;           /* issue time of the newest proof: the rules' own account of it */
    zxid last;                 /* the newest zxid that its library saw */
    zxid heard;                /* the newest that its session was told of */
    zkl_time sent;             /* world time of its last packet, for the library's ping */
    int rate;                  /* of its clock, per mille */
    zkl_time offset;           /* of its clock */
    bool stopped;              /* it was, and its session has not noticed yet */
    zkl_time awake;            /* since when its session takes it for awake */
    zkl_time round;            /* world time: by then its keeper comes round in any case */
    zkl_time due;              /* client_due(), if it was asked */
    bool asked_due;
    const struct item *hears; /* what is being put in */
    struct late late;
};

/* Grants of a turn when others wait, at most. */
enum { BATCH = ZKL_BATCH_MAX < 4 ? ZKL_BATCH_MAX : 4 };

/* What kinds of lock are wished for. */
enum mix {
    MIX_MUTEX,
    MIX_READ_WRITE,
    MIX_ALL,
    MIX_DOWNGRADE, /* the first client's are writers, all others' readers or writers */
    MIX_UNFAIR,
    MIX_MULTI,     /* of all kinds, on two paths: on one of them, or on both at once */
    MIX_CONDITION, /* of all kinds; waiters in the condition are on the second path */
    MIX_TURNS,     /* mutexes that are handed on within a client */
    MIX_KEPT,      /* mutexes whose nodes stay after the last release, in turns or not */
    MIX_PERMITS,
    MIX_QUARREL, /* permits; now and then somebody has another limit, or wants a mutex */
    MIXES
};

/* What this run may contain; chosen first (setting.c). */
struct setting {
    unsigned clients, servers;
    unsigned wishes; /* of a client at a time; in a small case: in all */
    unsigned fewer;  /* in a small case: of them, that only the first client has */
    uint64_t moves;  /* a bit for each enum move that may happen (moves.h) */
    unsigned owners; /* in a session; 0: each wish has one of its own */
    unsigned room;   /* others' nodes that a session may watch, and half of its own; 0: enough */
    unsigned faults; /* how many of the moves that are faults may happen */
    unsigned steps;  /* by a seed: moves before the calm */
    enum mix mix;
    int32_t limit;   /* of the semaphore */
    int32_t batch;   /* of turns, in a small case */
    zkl_time tick;   /* of the servers: half of the timeout at most */
    bool grace;      /* sessions live up to a tick longer than their timeout */
    bool brisk;      /* the network has no delay: faults and time make the difference */
    bool plain;      /* wishes have no deadline, time and changes of mind are rationed */
    bool refusals;   /* the server's ACL refuses now and then */
    bool wild;       /* clocks run further than 5 % apart: only tokens are promised */
    bool downgrades; /* another client's reader may take its writer's number */
    bool limits;     /* some wishes do not wait behind many, or hold for a while only */
    bool lingers;    /* a session that closes waits until its nodes are gone, or not */
    unsigned deeds;  /* what else users do: a bit for each enum deed_kind */
    bool shortage;   /* clients run out of memory now and then */
    bool lazy;       /* keepers come round when they were asked to, and not before */
    bool boot;       /* the machines have just started */
    unsigned bursts; /* how a process is stopped again and again in the end; 0: not */
};

struct world {
    struct setting setting;
    zkl_time began, now;
    zxid zxid;
    int32_t counter; /* of the path's children */
    int node_count, session_count, path_count;
    unsigned faults;           /* left */
    int64_t token[LINES];      /* of the latest grant to a mutex or writer: see note_token() */
    int64_t read_token[LINES]; /* the largest of a grant to a reader */
    int64_t counted[LINES];    /* the latest of a claim whose tokens count grants */
    unsigned shortages;        /* allocations that failed */
    unsigned spare;            /* allocations to the next one that fails; 0: none does */
    bool frees;                /* a client is freed, and no rule has a say in that */
    const char *broken;        /* the first rule that did not hold */
    struct server servers[SERVERS];
    struct session sessions[SESSIONS];
    struct generation paths[PATHS];
    struct node nodes[NODES];
    struct datum data[DATA];
    struct children children[LINES + 1]; /* the last: of the folder */
    unsigned guard_count;
    struct guarded guards[GUARDS + 1]; /* the first is none */
    unsigned signal_count;
    struct signalling signals[CALLS + 1]; /* the first is none */
    struct client clients[CLIENTS];       /* the last: see world_begin() */
};

extern struct world world;

#define EACH_CLIENT(c)                                                                             \
    for (struct client *c = world.clients; c < world.clients + world.setting.clients; c++)
#define EACH_RUNNING(c)                                                                            \
    EACH_CLIENT(c)                                                                                 \
    if (c->life != RUNS) continue;                                                                 \
    else
#define EACH_WISH(c, each)                                                                         \
    for (struct wish *each = ((struct client *)(uintptr_t)(c))->wishes; each < (c)->wishes + ROOM; \
         each++)                                                                                   \
        if (!each->used) continue;                                                                 \
        else
#define EACH_DEED(c, each)                                                                         \
    for (struct deed *each = ((struct client *)(uintptr_t)(c))->deeds; each < (c)->deeds + DEEDS;  \
         each++)                                                                                   \
        if (!each->used) continue;                                                                 \
        else
#define EACH_STAKE(c, stake) /* may not end any */                                                 \
    for (struct stake *stake = (c)->zk ? (c)->zk->stakes : NULL; stake; stake = stake->next)
#define EACH_NODE(node)                                                                            \
    for (struct node *node = world.nodes; node < world.nodes + world.node_count; node++)

/* Clients and their sessions begin; the setting was chosen. */
void world_begin(void);
void world_end(void);

/* Time passes: pings, reports and expiries happen at their time. */
void world_pass(zkl_time time);

/* A rule of the promise: the first one that does not hold ends the run. */
void require(bool holds, const char *rule);

static inline int index_of(const struct client *client) {
    return (int)(client - world.clients);
}

/* For it in `watched` and `kept`. */
static inline uint8_t bit_of(const struct client *client) {
    return (uint8_t)(1U << index_of(client));
}

/* The id of a session by its index. */
static inline uint64_t id_of(int session) {
    return session == NOBODY ? 0 : world.sessions[session].id;
}

/* The time by a client's own clock. */
static inline zkl_time clock_of(const struct client *client) {
    return world.now / 1000 * client->rate + client->offset;
}

/* --- ZooKeeper (zookeeper.c) -------------------------------------------------------- */

static inline bool alive_at(const struct node *node, zxid view) {
    return node->born <= view && view < node->died;
}

static inline bool is_fixed(const char *name) {
    return strcmp(name, ZKL_NAME_FIXED) == 0;
}

static inline bool alive(const struct node *node) {
    return node->died == NEVER;
}

bool path_at(zxid view);
void path_make(void);
void path_remove(void);
int line_at(const char *path);         /* of a path, or of a node in it */
const char *line_path(int line);       /* "/a", "/b"; "/u", the folder */
const char *name_in(const char *path); /* a node's; NULL: it is a line's path */
const char *path_to(const struct node *node, char room[ZKL_NAME_SIZE + 4]);

struct node *node_find(const char *name);
struct node *node_at(const char *name, zxid view); /* of a name that many have had */
struct node *node_born(zxid born);
struct node *node_make(const char *prefix, int session, int line, bool contender); /* sequential */
struct node *node_add(const char *name, int session, int line, bool contender);
struct node *node_unsignalled(void); /* the first waiter in the condition without a signal */
void node_remove(struct node *node);
void node_write(struct node *node, enum content content);
bool nodes_full(void);
bool node_may_be_written(const struct node *node);
bool nodes_have(bool (*fits)(const struct node *node));        /* one such node at least */
struct node *node_some(bool (*fits)(const struct node *node)); /* any of them, there is one */
bool node_is_asked(const struct node *node);                   /* to give way, ever */
bool node_is_urged(const struct node *node);                   /* and nothing was written since */

/* When it was written to last, up to that view, and how often; 0: never. */
zxid node_changed(const struct node *node, zxid view);
int32_t node_version(const struct node *node, zxid view);

/* It is a living contender before the other one in its line, in the true order. */
static inline bool node_is_before(const struct node *node, const struct node *other) {
    return alive(node) && node->contender && node->line == other->line &&
           node->place < other->place;
}

/* The nearest of those before the node that excludes this kind. */
struct node *node_before(const struct node *node, enum zkl_kind kind);

/*
 * The permits of all living contenders before the node; of one that is no permit of its
 * limit, more than any.
 */
int64_t node_taken(const struct node *node);

/* A child came or went after the one commit, and up to the other. */
bool line_changed(int line, zxid since, zxid view);

/* A server learns of commits up to `view`, and tells the clients that watch. */
void server_see(int server, zxid view);
void server_report(int server);
void server_rejoin(int server);

zxid world_commit(void); /* the next one */

int session_open(zkl_time timeout);
void session_end(int session);
void session_heard(const struct client *client);

/* Carries out a client's request at a server; false: it waits for the leader. */
bool request_carry_out(const struct client *client, int server, struct item *item);
/* All of the item's operations, or none, by that session, at the leader. */
void request_transact(int session, struct item *item);
bool request_waits(int server, const struct item *item);

/* --- the network (network.c) -------------------------------------------------------- */

struct item *queue_at(struct queue *queue, unsigned i);
struct item *queue_push(struct queue *queue, const struct item *item);
bool queue_pull(struct queue *queue, struct item *item);

bool network_carry(struct client *client); /* one request to the server, its reply on its way */
void network_sever(struct client *client); /* the connection is cut; what is lost is chosen */
void network_connect(struct client *client, int server, zkl_time timeout);
bool network_can_connect(const struct client *client, int server);
void network_forget(struct client *client); /* requests that wait for a connection are unknown */
void network_land(struct client *client);   /* the write on a slow way lands */
void network_push(struct client *client, enum what what, int node, int line); /* on its way down */
/* The server's clients with a bit in `watched` are told, once. */
void network_tell(int server, uint8_t *watched, enum what what, int node, int line);
void network_arrive(struct client *client, struct item *item);

/* --- clients (client.c) --------------------------------------------------------------- */

void client_begin(struct client *client); /* a new process, or a new session of it */
void client_end(struct client *client);   /* what is left of it is freed, and nobody hears of it */
void client_settle(struct client *client);
void client_now(struct client *client);
bool client_deliver(struct client *client); /* the next answer or event to the session */
void client_keep(struct client *client);    /* what the time asks for */
zkl_time client_due(struct client *client); /* when it has something to do; ZKL_NEVER */
bool client_is_due(struct client *client);
zkl_time client_next_due(struct client *client);  /* world time */
zkl_time client_round_due(struct client *client); /* when its keeper comes round in any case */
void client_close(struct client *client);         /* begins to, or comes to the end of it */
/* The answer that is out to this request was lost, or the request was. */
void item_lose(struct item *item);

static inline unsigned count_stakes(const struct client *client) {
    unsigned count = 0;
    EACH_STAKE(client, stake) count++;
    return count;
}

static inline int line_of(const struct stake *stake) {
    return stake->path->text[1] - 'a';
}

static inline struct shadow *shadow_of(const struct client *client, const struct zkl_claim *claim) {
    struct shadow *shadow = ((struct client *)(uintptr_t)client)->shadows;
    while (shadow < client->shadows + SHADOWS && shadow->claim != claim) shadow++;
    return shadow < client->shadows + SHADOWS ? shadow : NULL;
}

/* --- users (user.c) -------------------------------------------------------------------- */

struct desire {
    enum zkl_kind kind;
    int32_t permits, limit;
    int32_t batch;
    bool counting;
    zkl_time keep;
};
enum { OWNERS = 50 };
/* One such wish at least; any of them, or NULL. */
bool user_has(const struct client *client, bool (*fits)(const struct wish *wish));
struct wish *user_some(const struct client *client, bool (*fits)(const struct wish *wish));
bool user_may_wish(const struct client *client);
/* For one path, or for as many as there are desires. */
void user_wish(struct client *client, int line, const struct desire *desires, unsigned count,
               zkl_time timeout, bool trying);
void user_cancel(struct client *client, struct wish *wish);
void user_release(struct client *client, struct wish *wish);
void user_downgrade(struct client *client, struct wish *wish);
void user_hold(struct client *client, struct wish *wish); /* moves the end of its hold */
bool user_may_wait(const struct client *client);
void user_wait(struct client *client, struct wish *wish, zkl_time timeout);
void user_signal(struct client *client, struct wish *wish);
/* A write of a signal is sent: of which; 0: of none that is known. */
unsigned user_signal_sent(const struct client *client, const struct call *call);
void user_leave(struct wish *wish); /* gives back all that it has */
/* Takes what the session tells; false: that was nothing. */
bool user_hear(struct client *client);

/* Its parts; a request that was refused has none. */
static inline const struct parts *parts_of_wish(const struct wish *wish) {
    return wish->lease ? &wish->lease->parts : &wish->request->parts;
}

static inline struct stake *const *parts_of(const struct parts *parts) {
    return parts->many ? parts->many : &parts->one;
}

#define EACH_PART(parts, part) /* a stake each */                                                  \
    for (struct stake *const *part##_at = parts_of(parts), *part;                                  \
         part##_at < parts_of(parts) + (parts)->count && (part = *part##_at, true); part##_at++)

static inline struct stake *stake_of(const struct wish *wish) {
    const struct parts *parts = parts_of_wish(wish);
    return parts->count ? zkl_parts_at(parts, 0) : NULL;
}

static inline bool is_joint(const struct wish *wish) {
    return parts_of_wish(wish)->count > 1;
}

/* It has a lease, and has it now: it neither waits in the condition nor gives it up. */
static inline bool has_lease(const struct wish *wish) {
    return wish->lease && wish->doing != WAITS && wish->doing != LEAVES && !wish->away;
}

/* --- owners (owners.c) ----------------------------------------------------------------- */

void user_interrupt(struct client *client, int owner);   /* whatever it waits for */
void user_release_all(struct client *client, int owner); /* whatever it has */

static inline const char *owner_name(int owner) {
    static char names[OWNERS][2];
    names[owner][0] = (char)('A' + owner);
    return names[owner];
}

/* It has one, also if it is away. */
static inline bool has_handle(const struct wish *wish) {
    return wish->lease && wish->doing != LEAVES && !wish->parted;
}

/* Another handle of its grant, or of a part of it, which is not being given up. */
static inline bool is_fellow(const struct wish *wish, const struct wish *of) {
    if (wish == of || !has_handle(wish)) return false;
    EACH_PART(&of->lease->parts, part) {
        if (zkl_parts_have(&wish->lease->parts, part)) return true;
    }
    return false;
}

/* The path of the condition; the lock's is the first. */
enum { CONDITION = 1 };

#endif
