/*
 * world.h - everything there is in one run of the simulator: a ZooKeeper
 * ensemble, the network, and clients that run the real src/core.
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

#include "claim.h"

enum {
    CLIENTS = 8,
    SERVERS = 3,
    NODES = 120,
    SESSIONS = 40,
    PATHS = 6,
    LINES = 2,
    ROOM = 10,
    QUEUE = 256
};

#define NOBODY (-1)
#define UNLIMITED 255U
#define TIMEOUT (8 * ZKL_SECOND) /* the session timeout */

typedef int64_t zxid;
#define NEVER INT64_MAX /* of a zxid: it lives */

/* --- ZooKeeper ---------------------------------------------------------------------- */

struct node {
    char name[ZKL_NAME_SIZE];
    zxid born, died, changed;
    zxid signal; /* the first change; of who waits in the condition. A stranger may make others */
    zxid place;  /* in the true order: born; of a downgraded reader its writer's */
    int session; /* index of its owner; NOBODY: another client's */
    enum zkl_kind kind;
    int32_t permits, limit;
    int line;        /* which of the paths it is in */
    bool contender;  /* its name is one */
    bool robbed;     /* a stranger removed it */
    bool late;       /* its create was on a slow way */
    int32_t grants;  /* how often it was the node of one */
    uint8_t watched; /* clients whose server would tell them, a bit each */
    uint8_t kept;    /* clients whose library keeps the watch */
};

struct server {
    zxid seen;
    bool apart;      /* cut off from the leader; still answers reads */
    zkl_time report; /* when it tells the leader next whom it heard */
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

/* --- the network -------------------------------------------------------------------- */

enum what {
    /* requests and their replies */
    PARENTS,
    CREATE,
    SYNC,
    LIST,
    RANK,
    OWN,
    AHEAD,
    REMOVE,
    SHARE,
    MARK,
    PASS,       /* delete of a waiter's node, and the signal for the next */
    CREATE_ALL, /* of a multi-lock's two parts */
    WAIT,       /* create of a waiter's node, and delete of the lock's */
    SIGNAL,     /* of the first who has none, if the signaller's node is there */
    /* watch events */
    DELETED,
    CHANGED,
    /* of the connection */
    CUT,
    BACK,
    EXPIRED
};

struct item {
    enum what what;
    enum zkl_reply reply;
    int wish;                        /* whose; NOBODY: the client's own */
    int line;                        /* LIST, CREATE...: which path */
    int node;                        /* asked for, created, or what happened to it */
    zxid view;                       /* what its server had seen */
    zxid changed;                    /* AHEAD: when the node was last written to; 0: never */
    int session;                     /* BACK: in this one */
    zkl_time issued;                 /* by the client's clock */
    zkl_time look;                   /* the client's next look then */
    struct zkl_contender *contender; /* RANK, AHEAD: a reference */
    int64_t czxid;                   /* REMOVE: of the node that is meant */
    bool arrived;                    /* at the client's library */
    bool taken;                      /* CREATE: refused, for there is such a node */
    bool second;                     /* WAIT, PASS: what was refused is the second write */
    bool unchanged;                  /* REMOVE: only if nobody has written to it */
    char name[ZKL_NAME_SIZE];        /* CREATE: the prefix; SHARE: the writer's; or the fixed one */
    char other[ZKL_NAME_SIZE];       /* CREATE_ALL: the prefix of the other part, on the other path;
                                        WAIT: the lock's node; PASS: the next waiter's */
};

struct queue {
    struct item items[QUEUE];
    unsigned first, count;
};

/* --- clients ------------------------------------------------------------------------ */

/* A user's wish to have the lock, and its claim. */
struct wish {
    struct zkl_claim claim;
    bool used, gone;                      /* gone: forgotten by the claim machine */
    enum zkl_code cancelled;              /* why the user, or a close, gave it up */
    bool asked;                           /* a user made it: it is no orphan's */
    bool joint;                           /* it is a part of a multi-lock */
    bool granted, failed, lost, given_up; /* what the user was told, and did */
    bool away;                            /* granted, and waiting in the condition */
    bool taken;                           /* a waiter: its lock was granted again */
    bool ended;                           /* as a lease, by the own clock */
    zkl_time wake;                        /* the end of its pause, by the client's clock */
    zxid told;                            /* when the last predecessor that it was told of went */
    zxid walked;                          /* born: of one that it asked for, gone by then; or 0 */
    uint32_t walked_in;                   /* serial of its newest list then */
    unsigned out;                         /* its requests */
};

enum life { RUNS, STOPPED, DEAD };

struct client {
    struct queue up, down;
    struct zkl_party party; /* from here on all is zero when a run begins */
    struct zkl_line lines[LINES];
    struct wish wishes[ROOM];
    enum life life;
    unsigned wished;          /* how many wishes it had */
    unsigned waited, signals; /* how often it waited in the condition, and signalled */
    int session;              /* index; NOBODY: none */
    int server;               /* connected to; NOBODY: to none */
    bool expiring;            /* the library knows that its session is gone, the claims do not */
    zxid shown[LINES];        /* what the newest list showed */
    unsigned lists[LINES];    /* that wishes have asked for, and that are out */
    zkl_time proved;          /* issue time of the newest proof: the rules' own account of it */
    zxid last;                /* the newest zxid that its library saw */
    zkl_time sent;            /* world time of its last packet, for the library's ping */
    int rate;                 /* of its clock, per mille */
    zkl_time offset;          /* of its clock */
    zkl_time beat, look;      /* by its clock: the last beat; the next look, or ZKL_NEVER */
    char late[ZKL_NAME_SIZE]; /* a write on a slow way, of session `late_of`: a create's
                                 prefix, or the writer's name that is to be a reader's */
    char late_other[ZKL_NAME_SIZE]; /* with a waiter's prefix: the lock's node */
    zkl_time lands;                 /* until then at most */
    int late_of, late_line;
};

enum { BATCH = 4 }; /* grants in a turn at most */

/* What kinds of lock are wished for. */
enum mix {
    MIX_MUTEX,
    MIX_READ_WRITE,
    MIX_ALL,
    MIX_DOWNGRADE, /* the first client's are writers, all others' readers or writers */
    MIX_UNFAIR,
    MIX_MULTI,     /* of all kinds, on two paths: on one of them, or on both at once */
    MIX_CONDITION, /* of all kinds; who waits in the condition is on the second path */
    MIX_TURNS,     /* mutexes that are handed on within a client */
    MIX_PERMITS,
    MIX_QUARREL, /* permits; now and then somebody has another limit, or wants a mutex */
    MIXES
};

/* What this run may contain; chosen first (setting.c). */
struct setting {
    unsigned clients, servers;
    unsigned wishes; /* of a client at a time; in a small case: in all */
    unsigned moves;  /* a bit for each enum move that may happen (moves.h) */
    unsigned faults; /* how many of the moves that are faults may happen */
    unsigned steps;  /* by a seed: moves before the calm */
    enum mix mix;
    int32_t limit;   /* of the semaphore */
    zkl_time tick;   /* of the servers: half of the timeout at most */
    bool grace;      /* sessions live up to a tick longer than their timeout */
    bool brisk;      /* the network has no delay: faults and time make the difference */
    bool plain;      /* wishes have no deadline, time and changes of mind are rationed */
    bool refusals;   /* the server's ACL refuses now and then */
    bool wild;       /* clocks run further than 5 % apart: only tokens are promised */
    bool downgrades; /* another client's reader may take its writer's number */
};

struct world {
    struct setting setting;
    zkl_time now;
    zxid zxid;
    int32_t counter; /* of the path's children */
    int node_count, session_count, path_count;
    unsigned faults;           /* left */
    int64_t token[LINES];      /* of the latest grant to a mutex or writer: see note_token() */
    int64_t read_token[LINES]; /* the largest of a grant to a reader */
    const char *broken;        /* the first rule that did not hold */
    struct server servers[SERVERS];
    struct session sessions[SESSIONS];
    struct generation paths[PATHS];
    struct node nodes[NODES];
    struct client clients[CLIENTS]; /* the last: see world_begin() */
};

extern struct world world;

#define EACH_CLIENT(c)                                                                             \
    for (struct client *c = world.clients; c < world.clients + world.setting.clients; c++)
#define EACH_WISH(c, wish)                                                                         \
    for (struct wish *wish = ((struct client *)(uintptr_t)(c))->wishes; wish < (c)->wishes + ROOM; \
         wish++)                                                                                   \
        if (!wish->used) continue;                                                                 \
        else
#define EACH_LINE(client, line)                                                                    \
    for (const struct zkl_line *line = (client)->lines; line < (client)->lines + LINES; line++)
#define EACH_OWN(client, claim) /* may not end any */                                              \
    EACH_LINE(client, own_line_)                                                                   \
    for (struct zkl_claim *claim = own_line_->claims; claim; claim = claim->next)
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

struct node *node_find(const char *name);
struct node *node_at(const char *name, zxid view); /* of a name that many have had */
struct node *node_born(zxid born);
struct node *node_make(const char *prefix, int session, int line, bool contender); /* sequential */
struct node *node_add(const char *name, int session, int line, bool contender);
enum zkl_reply node_share(struct node *writer); /* the transaction of ZKL_DO_SHARE */
struct node *node_wait(const char *prefix, int session, struct node *lock); /* a waiter's */
struct node *node_unsignalled(void); /* the first who waits in the condition for a signal */
void node_remove(struct node *node);
void node_change(struct node *node);
bool nodes_full(void);

/* The nearest living contender before the node in the true order that excludes this kind. */
struct node *node_before(const struct node *node, enum zkl_kind kind);

/*
 * The permits of all living contenders before the node; of one that is no permit of its
 * limit, more than any.
 */
int64_t node_taken(const struct node *node);

/* A server learns of commits up to `view`, and tells whoever watches. */
void server_see(int server, zxid view);
void server_report(int server);
void server_rejoin(int server);

int session_open(zkl_time timeout);
void session_end(int session);
void session_heard(const struct client *client);

/* Carries out a client's request at a server; false: it waits for the leader. */
bool request_carry_out(const struct client *client, int server, struct item *item);
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
void network_tell(int client, enum what what, int node);
void network_arrive(struct client *client, struct item *item);

/* --- clients (client.c) --------------------------------------------------------------------------
 */

bool client_deliver(struct client *client);             /* the next reply or event to the claims */
void client_run(struct client *client, zkl_time until); /* without a stop */
void client_keep(struct client *client); /* what the time asks for: deadlines, beats, looks */
bool client_is_due(const struct client *client);
zkl_time client_next_due(const struct client *client); /* world time */
struct desire {
    enum zkl_kind kind;
    int32_t permits, limit;
    int32_t batch;
};
void client_wish(struct client *client, int line, struct desire desire, zkl_time deadline,
                 bool trying);
void client_wish_all(struct client *client, const struct desire desires[LINES], zkl_time deadline,
                     bool trying);
void client_cancel(struct client *client, struct wish *wish, enum zkl_code why);
void client_release(struct client *client, struct wish *wish);
void client_share(struct client *client, struct wish *wish);
void client_yield(struct client *client, struct wish *wish);
void client_wait(struct client *client, struct wish *wish, zkl_time deadline);
void client_signal(struct client *client, struct wish *wish);
bool client_may_wait(const struct client *client);
void client_close(struct client *client);
bool client_may_wish(const struct client *client);

static inline int line_of(const struct client *client, const struct zkl_claim *claim) {
    return (int)(claim->line - client->lines);
}

/* The path of the condition; the lock's is the first. */
enum { CONDITION = 1 };

/* The other part of a multi-lock, while it has claims of both. */
static inline struct wish *other_part(const struct wish *wish) {
    struct wish *other = (struct wish *)wish->claim.next_part;
    return other == wish ? NULL : other;
}

/* Of one who is away its waiter, and of that the lock's. */
static inline struct wish *partner_of(const struct wish *wish) {
    return (struct wish *)wish->claim.partner;
}

#endif
