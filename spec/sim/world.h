/*
 * world.h - a run of the simulator, with a ZooKeeper ensemble, the network, and clients with the
 * real src/session. There is one thread, and one world, which world_begin() renews.
 *
 * Servers commit in one order, counted by zxid. Server 0 leads; its followers show the part that
 * they have seen. A connection is two FIFO queues. Each node keeps its birth and death, so a
 * server's view needs only comparisons. Sources: ZooKeeper's SessionTrackerImpl, Learner.ping,
 * CommitProcessor, DataTree.setWatches, ZOOKEEPER-3249.
 */
#ifndef WORLD_H
#define WORLD_H

#include <string.h>

#include "../../src/session/guard.h" /* read only */
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
    WISHES = 6,
    SHADOWS = 32,
    OPS = 4, /* in a transaction */
    CHANGES = 24,
    DATA = 2,       /* users' nodes */
    FACTS = 160,    /* for each datum */
    FOLDER = LINES, /* the line number of the users' nodes */
    GUARDS = 16,
    SIGNAL_REQUESTS = 64, /* requests that signal */
    DEEDS = 4,            /* per client */
    QUEUE = 256
};

#define NOBODY (-1)
#define UNLIMITED 255U
#define TIMEOUT (8 * ZKL_SECOND) /* the session timeout */

typedef int64_t zxid;
#define NEVER INT64_MAX /* for `died` */

/* --- ZooKeeper ---------------------------------------------------------------------- */

enum content { IDENTITY, REVOKE, SIGNAL, HOLDS, ASKED_HOLDS, OTHER };

struct change {
    zxid at;
    enum content content;
};

struct node {
    char name[ZKL_NAME_SIZE];
    zxid born, died;
    zxid place;  /* in the true order; a downgraded reader has its writer's */
    int session; /* index of its owner; NOBODY: another client */
    enum zkl_kind kind;
    int32_t permits, limit;
    int line;
    bool contender;    /* named like a contender */
    bool robbed;       /* a stranger removed it */
    bool late;         /* its create took a slow way */
    bool asked;        /* a reader whose writer was asked to give way ... */
    bool urged;        /* ... in the writer's last content */
    bool yields;       /* its holder knows of the request */
    bool rivals_known; /* its holder knew of other contenders */
    int32_t grants;
    uint8_t watched; /* bits of clients that the server would tell */
    uint8_t kept;    /* bits of clients whose library keeps the watch */
    int change_count;
    struct change changes[CHANGES]; /* no more than these, see nodes_full() */
};

struct server {
    zxid seen;
    bool apart;      /* cut off from the leader; answers reads */
    zkl_time report; /* next report of live sessions to the leader */
};

struct session {
    uint64_t id;
    zkl_time timeout;
    zkl_time touched; /* last sign of life known to the leader */
    bool alive;
    bool heard; /* its server heard of it since the last report */
};

struct generation { /* The lock paths come, go and count children together. */
    zxid born, died;
};

/* State of a user's node from a commit on. */
struct fact {
    zxid at, born;
    int32_t version;
    unsigned word; /* content; 0: no node */
    int session;   /* index of its owner + 1; 0: none */
};

struct datum {
    int count;
    struct fact facts[FACTS];
    uint8_t watched;       /* bits as in struct node */
    uint8_t kept, awaited; /* bits of libraries with a watch on the node, or on its creation */
};

/* Watchers of a path's children, as in struct datum. */
struct children {
    uint8_t watched, kept;
};

/* A guard, as the rules know it. */
struct guarded {
    unsigned parts; /* locks of the grant it was last sent for */
    zxid places[LINES];
    int lines[LINES];
    int32_t served;
    bool open;        /* unanswered */
    unsigned carried; /* times that it was carried out */
    int error;        /* the last answer's; `refused` is its operation, from 0 */
    unsigned refused;
    bool denied; /* its user heard that nothing was written */
};

/* A request that signals, as the rules know it. */
struct signalling {
    unsigned open; /* writes sent, but not refused */
    bool carried;
    bool denied; /* its user heard that no waiter got a signal */
};

/* --- the network -------------------------------------------------------------------- */

enum item_kind {
    REQUEST, /* with its answer */
    /* watch events */
    DELETED,
    CHANGED,
    CREATED,
    CHILDREN, /* a child of the path came or went */
    ENDED,    /* a watched path is gone */
    /* connection events */
    CUT,
    BACK,
    EXPIRED
};

/* The session owns a request's paths and data until it gets the answer. */
struct item {
    enum item_kind kind;
    uint64_t id;        /* REQUEST: its id */
    struct zkl_rpc rpc; /* REQUEST */
    int error;          /* the answer's */
    unsigned refused;   /* the refused operation, from 0 */
    int node;           /* asked for, or with the event; from NODES on a datum */
    int nodes[OPS];     /* made or written by the operations */
    zxid view;          /* zxid that the server had seen */
    int line;           /* for LIST, CHILDREN, ENDED */
    int session;        /* BACK */
    zkl_time issued;    /* by the client's clock */
    bool arrived;       /* seen by the client's library */
    /* for the rules: */
    int64_t czxid;        /* the asking claim's */
    bool waiter_returned; /* removes a waiter whose lock was granted again */
    bool of_member;       /* writes or removes a member's own node */
    zxid heard;           /* newest zxid that the session knew */
    unsigned guard;       /* its guard; 0: none */
    unsigned signal;      /* its signalling; 0: none */
};

struct queue {
    struct item items[QUEUE];
    unsigned first, count;
};

/* --- clients ------------------------------------------------------------------------ */

enum doing { NOTHING, DOWNGRADES, WAITS, SIGNALS, RELEASES };

/* A user with a lock, or waiting for one. */
struct wish {
    bool used;
    struct zkl_request *request; /* until it is answered */
    struct zkl_lease *lease;     /* afterwards */
    int owner;
    int caller;            /* an owner that waits for this owner; NOBODY: none */
    enum zkl_code verdict; /* immediate answer, or ZKL_OK */
    bool again;            /* a re-entry */
    bool joint;            /* for a multi-lock, even of one path */
    bool away;             /* its user waits by another handle */
    bool given_up;         /* WAITS: this handle was given up meanwhile */
    enum doing doing;
    struct zkl_request *doing_request;
    zxid saw;          /* SIGNALS: zxid known when it asked */
    bool all;          /* SIGNALS: a broadcast */
    unsigned signal;   /* SIGNALS: its number; 0: too many */
    zkl_time deadline; /* the pending wait's, by the client's clock */
    enum zkl_kind kind;
    int32_t limit, batch;
    bool counting;        /* its tokens count a node's grants */
    bool keeps;           /* its node may be kept */
    unsigned max_waiters; /* longest queue it accepts; 0: any */
    zkl_time max_hold;    /* longest hold; 0: no limit */
    bool trying;
    enum zkl_code cancelled;
    bool ended;     /* its lease ended by the client's clock */
    bool outlasted; /* ... and by the end of a hold, which nothing undoes */
    bool revoked;   /* its user heard of a revocation */
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
    DEED_SET, /* a member's data */
    DEED_KINDS
};

/* Anything else a user does. */
struct deed {
    bool used;
    enum deed_kind kind;
    struct zkl_request *request; /* until answered */
    struct zkl_watcher *watcher; /* WATCH */
    struct zkl_member *member;   /* JOIN, afterwards */
    struct zkl_roster *roster;   /* FOLLOW */
    bool refused;                /* for a good reason */
    zkl_time deadline;           /* by the client's clock */
    enum zkl_code cancelled;
    zxid asked, seen;  /* last commit when it asked, and the client's */
    uint64_t asker;    /* id of the asking session; 0: none */
    int datum;         /* GET, WATCH, JOIN, SET */
    unsigned word;     /* JOIN: newest data, 0: refused; SET */
    struct deed *join; /* SET: the member's JOIN */
    int line;          /* QUEUE */
    int node;          /* REVOKE */
    unsigned guard;    /* GUARD: its number */
    /* WATCH, FOLLOW: the last report: */
    bool told;
    enum zkl_code code;
    int fact;              /* index in the datum */
    int facts[DATA];       /* FOLLOW: index in each datum */
    struct zkl_roll *roll; /* FOLLOW, or NULL */
    int session;           /* index of the session then */
};

/* Notes of the rules about a living claim. */
struct shadow {
    const struct zkl_claim *claim;
    zxid told;            /* zxid at which the last predecessor known to be gone went */
    zxid walked;          /* birth of a predecessor it asked for, gone by then; or 0 */
    uint32_t walked_in;   /* serial of its newest list then */
    bool waiter_returned; /* a waiter whose lock was granted again */
};

/* A write on a slow way. */
struct late {
    unsigned count; /* operations; 0: none */
    struct zkl_op ops[OPS];
    char paths[OPS][ZKL_NAME_SIZE + 4];
    char data[OPS][16];
    int session;
    unsigned guard; /* as in struct item */
    zkl_time lands; /* latest arrival */
};

enum life { RUNS, STOPPED, DEAD };

struct client {
    struct queue up, down;
    struct zkl_session *zk; /* NULL: dead. A run begins with zeros from here on */
    struct wish wishes[WISHES];
    struct deed deeds[DEEDS];
    struct shadow shadows[SHADOWS];
    enum life life;
    unsigned wished;
    unsigned open_grants; /* grants whose end no step has reported */
    unsigned waited, signals;
    struct zkl_request *drain; /* the request to drain, before a close; NULL: none */
    bool sends_away;           /* its drain ends all waits */
    bool closing;              /* its session takes its time to close */
    unsigned deeds_done;
    bool mutexes;                 /* with MIX_ALL it wants mutexes, not reads or writes */
    int session;                  /* index; NOBODY: none */
    int server;                   /* NOBODY: not connected */
    bool expiring;                /* the library knows of the session's end, zk does not */
    zxid shown[LINES];            /* view of the last list */
    zkl_time shown_at[LINES];     /* time of that list, by its clock, in this connection */
    bool children_changed[LINES]; /* since that list */
    zkl_time proved;              /* issue time of the newest proof, by the rules' own account */
    zxid last;                    /* newest zxid of its library */
    zxid heard;                   /* newest zxid of its session */
    zkl_time sent;                /* world time of its last packet, for pings */
    int rate;                     /* its clock's, per mille */
    zkl_time offset;              /* its clock's */
    bool stopped;                 /* stopped, unnoticed by its session */
    zkl_time awake;               /* since this time its session counts as awake */
    zkl_time round;               /* world time of its keeper's next round */
    zkl_time due;                 /* client_due(), if asked */
    bool asked_due;
    const struct item *hears; /* the item being delivered */
    struct late late;
};

/* Most grants of a turn while others wait. */
enum { BATCH = ZKL_BATCH_MAX < 4 ? ZKL_BATCH_MAX : 4 };

enum mix {
    MIX_MUTEX,
    MIX_READ_WRITE,
    MIX_ALL,
    MIX_DOWNGRADE, /* the first client writes, all later ones read or write */
    MIX_UNFAIR,
    MIX_MULTI,     /* any kind, on one of two paths or on both at once */
    MIX_CONDITION, /* any kind; the second path is the condition's */
    MIX_TURNS,     /* mutexes handed on within a client */
    MIX_KEPT,      /* mutexes with kept nodes, with turns or without */
    MIX_PERMITS,
    MIX_QUARREL, /* permits, at times with another limit, or a mutex */
    MIXES
};

/* The scope of a run (setting.c). */
struct setting {
    unsigned clients, servers;
    unsigned wishes; /* per client at a time; in a small case, in all */
    unsigned fewer;  /* in a small case, of the first client alone */
    uint64_t moves;  /* a bit for each allowed enum move (moves.h) */
    unsigned owners; /* in a session; 0: one for each wish */
    unsigned room;   /* most watches of others' nodes, and half of most own nodes; 0: enough */
    unsigned faults; /* moves that may be faults */
    unsigned steps;  /* with a seed, moves before the calm */
    enum mix mix;
    int32_t limit;   /* the semaphore's */
    int32_t batch;   /* for turns, in a small case */
    zkl_time tick;   /* the servers', at most half of the timeout */
    bool grace;      /* sessions live up to a tick longer */
    bool brisk;      /* no network delay, so only faults and time matter */
    bool plain;      /* no deadlines; time and changes of mind are rationed */
    bool refusals;   /* by an ACL, at times */
    bool wild;       /* clocks drift by more than 5 %, so only tokens are promised */
    bool downgrades; /* another client's reader may take its writer's number */
    bool limits;     /* some wishes limit the queue or the hold */
    bool lingers;    /* closing sessions may wait until their nodes are gone */
    unsigned deeds;  /* a bit for each allowed enum deed_kind */
    bool shortage;   /* clients run out of memory at times */
    bool lazy;       /* keepers come only when asked */
    bool boot;       /* the machines have just started */
    unsigned bursts; /* pattern of repeated stops at the end; 0: none */
};

struct world {
    struct setting setting;
    zkl_time began, now;
    zxid zxid;
    int32_t counter;
    int node_count, session_count, path_count;
    unsigned faults;           /* left */
    int64_t token[LINES];      /* latest of a mutex or writer, see note_token() */
    int64_t read_token[LINES]; /* largest of a reader */
    int64_t counted[LINES];    /* latest of a counting claim */
    unsigned shortages;
    unsigned spare;     /* allocations before the next failure; 0: no failure */
    bool frees;         /* a client is being freed; no rule judges that */
    const char *broken; /* first broken rule */
    struct server servers[SERVERS];
    struct session sessions[SESSIONS];
    struct generation paths[PATHS];
    struct node nodes[NODES];
    struct datum data[DATA];
    struct children children[LINES + 1]; /* the last is the folder's */
    unsigned guard_count;
    struct guarded guards[GUARDS + 1]; /* the first is unused */
    unsigned signal_count;
    struct signalling signals[SIGNAL_REQUESTS + 1]; /* the first is unused */
    struct client clients[CLIENTS];                 /* the last is shared, see world_begin() */
};

extern struct world world;

#define EACH_CLIENT(c)                                                                             \
    for (struct client *c = world.clients; c < world.clients + world.setting.clients; c++)
#define EACH_RUNNING(c)                                                                            \
    EACH_CLIENT(c)                                                                                 \
    if (c->life != RUNS) continue;                                                                 \
    else
#define EACH_WISH(c, each)                                                                         \
    for (struct wish *each = ((struct client *)(uintptr_t)(c))->wishes;                            \
         each < (c)->wishes + WISHES; each++)                                                      \
        if (!each->used) continue;                                                                 \
        else
#define EACH_DEED(c, each)                                                                         \
    for (struct deed *each = ((struct client *)(uintptr_t)(c))->deeds; each < (c)->deeds + DEEDS;  \
         each++)                                                                                   \
        if (!each->used) continue;                                                                 \
        else
#define EACH_STAKE(c, stake) /* none may end meanwhile */                                          \
    for (struct stake *stake = (c)->zk ? (c)->zk->stakes : NULL; stake; stake = stake->next)
#define EACH_NODE(node)                                                                            \
    for (struct node *node = world.nodes; node < world.nodes + world.node_count; node++)

/* Begins clients and sessions in the chosen setting. */
void world_begin(void);
void world_end(void);

/* Moves the time, with pings, reports and expiries. */
void world_pass(zkl_time time);

/* The first broken rule ends the run. */
void require(bool holds, const char *rule);

static inline int index_of(const struct client *client) {
    return (int)(client - world.clients);
}

/* The client's bit in `watched` and `kept`. */
static inline uint8_t bit_of(const struct client *client) {
    return (uint8_t)(1U << index_of(client));
}

static inline uint64_t id_of(int session) {
    return session == NOBODY ? 0 : world.sessions[session].id;
}

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
int line_at(const char *path);         /* line of the path, or of the path above a node */
const char *line_path(int line);       /* "/a", "/b"; "/u", the folder */
const char *name_in(const char *path); /* name of a node; NULL: the line's path */
const char *path_to(const struct node *node, char room[ZKL_NAME_SIZE + 4]);

struct node *node_find(const char *name);
struct node *node_at(const char *name, zxid view);
struct node *node_born(zxid born);
struct node *node_make(const char *prefix, int session, int line, bool contender); /* sequential */
struct node *node_add(const char *name, int session, int line, bool contender);
struct node *node_unsignalled(void); /* first waiter in the condition without a signal */
void node_remove(struct node *node);
void node_write(struct node *node, enum content content);
bool nodes_full(void);
bool node_may_be_written(const struct node *node);
bool nodes_have(bool (*fits)(const struct node *node));        /* some node fits */
struct node *node_some(bool (*fits)(const struct node *node)); /* a random one, which must exist */
bool node_is_asked(const struct node *node);                   /* was ever asked to give way */
bool node_is_urged(const struct node *node);                   /* by its last content */

/* Last write to the node up to `view`, 0: never; and the number of writes. */
zxid node_changed(const struct node *node, zxid view);
int32_t node_version(const struct node *node, zxid view);

/* True if the node lives, and is ahead in the same line. */
static inline bool node_is_before(const struct node *node, const struct node *other) {
    return alive(node) && node->contender && node->line == other->line &&
           node->place < other->place;
}

/* The nearest contender ahead that excludes this kind. */
struct node *node_before(const struct node *node, enum zkl_kind kind);

/*
 * Adds the permits of living contenders ahead. A contender with another limit, or without permits,
 * exceeds any limit.
 */
int64_t node_permits_ahead(const struct node *node);

/* True if a child came or went after `since`, up to `view`. */
bool line_changed(int line, zxid since, zxid view);

/* A server sees commits up to `view`, and tells watching clients. */
void server_see(int server, zxid view);
void server_report(int server);
void server_rejoin(int server);

zxid world_commit(void); /* next zxid */

int session_open(zkl_time timeout);
void session_end(int session);
void session_heard(const struct client *client);

/* Carries out a request at a server. False: it waits for the leader. */
bool request_carry_out(const struct client *client, int server, struct item *item);
/* Carries out all operations at the leader, or none. */
void request_transact(int session, struct item *item);
bool request_waits(int server, const struct item *item);

/* --- the network (network.c) -------------------------------------------------------- */

struct item *queue_at(struct queue *queue, unsigned i);
struct item *queue_push(struct queue *queue, const struct item *item);
bool queue_pull(struct queue *queue, struct item *item);

bool network_carry(struct client *client); /* a request to the server, with its reply */
void network_sever(struct client *client); /* cuts the connection, with random losses */
void network_connect(struct client *client, int server, zkl_time timeout);
bool network_can_connect(const struct client *client, int server);
void network_forget(struct client *client); /* loses requests that wait for a connection */
void network_land(struct client *client);
void network_push(struct client *client, enum item_kind kind, int node, int line); /* an event */
/* Tells the server's clients in `watched`, once each. */
void network_tell(int server, uint8_t *watched, enum item_kind kind, int node, int line);
void network_arrive(struct client *client, struct item *item);

/* --- clients (client.c) --------------------------------------------------------------- */

void client_begin(struct client *client); /* a process, or its next session */
void client_end(struct client *client);   /* frees it; no rule judges that */
void client_settle(struct client *client);
void client_update_time(struct client *client);
bool client_deliver(struct client *client); /* gives the next answer or event to the session */
void client_keep(struct client *client);    /* does due work */
zkl_time client_due(struct client *client); /* next due work, or ZKL_NEVER */
bool client_is_due(struct client *client);
zkl_time client_next_due(struct client *client);  /* in world time */
zkl_time client_round_due(struct client *client); /* next round of its keeper */
void client_close(struct client *client);         /* begins to close, or ends closing */
/* Loses the pending answer, or the request itself. */
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
    bool joint; /* as a part of a multi-lock, even of one path */
    zkl_time keep;
};
enum { OWNERS = 50 };
/* True if some wish fits; a random fitting wish, or NULL. */
bool user_has(const struct client *client, bool (*fits)(const struct wish *wish));
struct wish *user_some(const struct client *client, bool (*fits)(const struct wish *wish));
bool user_may_wish(const struct client *client);
/* Begins a wish for `count` paths, more than one only as a multi-lock. */
void user_wish(struct client *client, int line, const struct desire *desires, unsigned count,
               zkl_time timeout, bool trying);
void user_cancel(struct client *client, struct wish *wish);
void user_release(struct client *client, struct wish *wish);
void user_downgrade(struct client *client, struct wish *wish);
void user_hold(struct client *client, struct wish *wish); /* changes its end */
bool user_may_wait(const struct client *client);
void user_wait(struct client *client, struct wish *wish, zkl_time timeout);
void user_signal(struct client *client, struct wish *wish);
/* Notes that a signal's write is sent. Returns its number; 0: unknown. */
unsigned user_signal_sent(const struct client *client, const struct call *call);
void user_leave(struct wish *wish);
/* Takes the session's events. False: none. */
bool user_hear(struct client *client);

/* The wish's locks; none for a refused request. */
static inline const struct parts *parts_of_wish(const struct wish *wish) {
    return wish->lease ? &wish->lease->parts : &wish->request->parts;
}

static inline struct stake *const *parts_of(const struct parts *parts) {
    return parts->many ? parts->many : &parts->one;
}

#define EACH_PART(parts, part) /* the stakes */                                                    \
    for (struct stake *const *part##_at = parts_of(parts), *part;                                  \
         part##_at < parts_of(parts) + (parts)->count && (part = *part##_at, true); part##_at++)

static inline struct stake *stake_of(const struct wish *wish) {
    const struct parts *parts = parts_of_wish(wish);
    return parts->count ? zkl_parts_at(parts, 0) : NULL;
}

/* True if it holds a lease, and neither waits in the condition nor releases. */
static inline bool has_lease(const struct wish *wish) {
    return wish->lease && wish->doing != WAITS && wish->doing != RELEASES && !wish->away;
}

/* --- owners (owners.c) ----------------------------------------------------------------- */

void user_interrupt(struct client *client, int owner);   /* any wait */
void user_release_all(struct client *client, int owner); /* any lock */

static inline const char *owner_name(int owner) {
    static char names[OWNERS][2];
    names[owner][0] = (char)('A' + owner);
    return names[owner];
}

/* True if it has a handle, even while away. */
static inline bool has_handle(const struct wish *wish) {
    return wish->lease && wish->doing != RELEASES && !wish->given_up;
}

/* True for another live handle of the same grant, or of a part of it. */
static inline bool is_fellow(const struct wish *wish, const struct wish *other) {
    if (wish == other || !has_handle(wish)) return false;
    EACH_PART(&other->lease->parts, part) {
        if (zkl_parts_include(&wish->lease->parts, part)) return true;
    }
    return false;
}

/* Line number of the condition's path. */
enum { CONDITION = 1 };

#endif
