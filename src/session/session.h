/*
 * session.h - all decisions for one ZooKeeper session.
 *
 * The session is pure, without threads, clock or I/O. A shell owns it, puts in calls, answers,
 * events and the time, and takes out requests to send and events for users. It lets one thread in
 * at a time, by a mutex. The other headers of src/session are internal, and their functions need
 * that mutex, too.
 *
 *     zkl_session_at(session, now);                  before anything else that is put in
 *     ... any calls ...
 *     while ((rpc = zkl_session_next_rpc(session))) send it, or zkl_session_unsent(rpc->id)
 *     wake the users, if zkl_session_has_events(session)
 *     come back at zkl_session_due(session), for zkl_session_tick(session)
 *
 * Answers are put in in the order of the requests, and watch events among them as the server sent
 * both. Nothing calls back, and no call depends on output that was not yet taken.
 *
 * Requests, leases, watchers, members and rosters belong to the caller that got them, until their
 * ..._drop(). The session has to outlive them.
 */
#ifndef ZKL_SESSION_H
#define ZKL_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../core/clock.h"
#include "../core/code.h"
#include "../core/histogram.h"
#include "../core/name.h"
#include "rpc.h"

typedef struct zkl_session zkl_session;
typedef struct zkl_request zkl_request;
typedef struct zkl_lease zkl_lease;     /* a handle on a grant */
typedef struct zkl_watcher zkl_watcher; /* reports each change of a node */
typedef struct zkl_member zkl_member;   /* keeps a node in existence */
typedef struct zkl_roster zkl_roster;   /* reports each change of a folder of members */

/* --- a session --------------------------------------------------------------------------- */

enum zkl_session_state {
    ZKL_SESSION_CONNECTING, /* not yet connected, or opening anew after an expiry */
    ZKL_SESSION_CONNECTED,
    ZKL_SESSION_SUSPENDED, /* the connection is lost; the session may live */
    ZKL_SESSION_EXPIRED,   /* the server ended it, or lost it */
    ZKL_SESSION_CLOSED
};

struct zkl_settings {
    const char *identity;       /* stored in every lock node */
    zkl_time patience;          /* see clock.h */
    double margin;              /* see clock.h */
    size_t overhead;            /* bytes by which a path is longer at the server */
    enum zkl_node_mode parents; /* mode of missing parents, CONTAINER or PERSISTENT */
    bool reopen;                /* a new session follows an expiry */
    bool steps;                 /* report each step of a lock as an event, too */
    uint64_t seed;
};

/* The identity is copied. NULL: out of memory. */
zkl_session *zkl_session_new(const struct zkl_settings *settings);
void zkl_session_free(zkl_session *session); /* in state CLOSED */

/* --- what the shell puts in ------------------------------------------------------------ */

/* Sets the time, which never goes back. */
void zkl_session_at(zkl_session *session, zkl_time now);

/* The connection is up, with a ZooKeeper session of this id and timeout. */
void zkl_session_connected(zkl_session *session, uint64_t id, zkl_time timeout);
/* From `due` on zkl_session_ready() may ask; ZKL_NEVER: not yet. */
void zkl_session_ready_from(zkl_session *session, zkl_time due);
void zkl_session_suspended(zkl_session *session);
void zkl_session_expired(zkl_session *session);   /* answers requests that are out as unknown */
void zkl_session_refused(zkl_session *session);   /* bad credentials; no session follows */
void zkl_session_reopening(zkl_session *session); /* after an expiry */
/*
 * Until its request is dropped no acquire contends, but gets ZKL_CLOSED; re-entries go on. With
 * `serve_waiters` those that wait may still be granted, else they, and later waits in a condition,
 * get ZKL_CLOSED at once. No node is kept. The request is done when nobody holds or waits.
 */
zkl_request *zkl_session_drain(zkl_session *session, bool serve_waiters, zkl_time timeout);
/* Releases everything, and ends every wait with ZKL_CLOSED. */
void zkl_session_close(zkl_session *session);
void zkl_session_closed(zkl_session *session); /* its connection is closed, too */

void zkl_session_answer(zkl_session *session, uint64_t rpc, const struct zkl_answer *answer);
void zkl_session_unsent(zkl_session *session, uint64_t rpc);        /* could not be sent */
void zkl_session_unimplemented(zkl_session *session, uint64_t rpc); /* unknown to the server */
void zkl_session_event(zkl_session *session, enum zkl_node_event event, const char *node);

/* Sends heartbeats, ends overdue waits and leases, and looks for orphans. */
void zkl_session_tick(zkl_session *session);

/* --- what the shell takes out ------------------------------------------------------------- */

/* The next request to send, constant until its answer; NULL: none. */
const struct zkl_rpc *zkl_session_next_rpc(zkl_session *session);

/* The state as the shell put it in; zkl_session_state() is for users. */
enum zkl_session_state zkl_session_connection_state(const zkl_session *session);
/* Why requests are refused; ZKL_OK: they are not. */
enum zkl_code zkl_session_refusal(const zkl_session *session);

/* When to tick again; after any input it may be sooner. */
zkl_time zkl_session_due(zkl_session *session);
/* The due time that input since the last tick has set. */
zkl_time zkl_session_due_since_tick(const zkl_session *session);
/* When the first of holds, kept nodes, pauses and requests ends. */
zkl_time zkl_session_next_end(const zkl_session *session);
bool zkl_session_take_news(zkl_session *session); /* true once after new events */
bool zkl_session_has_events(const zkl_session *session);
bool zkl_session_makes_containers(const zkl_session *session);
bool zkl_session_is_idle(const zkl_session *session); /* no request waits, and none is out */
bool zkl_session_has_claims(const zkl_session *session);

enum zkl_event_kind {
    ZKL_EVENT_NONE,
    ZKL_EVENT_REQUEST, /* a request is done */
    ZKL_EVENT_QUEUED,  /* an acquire that is not quiet waits in line */
    ZKL_EVENT_LEASE,   /* a grant's phase changed, or its holder was asked to give way */
    ZKL_EVENT_STATE,
    ZKL_EVENT_WATCHER,
    ZKL_EVENT_MEMBER,
    ZKL_EVENT_ROSTER,
    ZKL_EVENT_STEP /* a step of a lock or the session, if the settings ask for steps */
};

enum zkl_step_kind {
    ZKL_STEP_QUEUED,
    ZKL_STEP_GRANTED,
    ZKL_STEP_SUSPECT,
    ZKL_STEP_HELD, /* again, after SUSPECT */
    ZKL_STEP_LOST,
    ZKL_STEP_RELEASED,
    ZKL_STEP_REVOKED, /* the holder was asked to give way */
    ZKL_STEP_EXPIRED,
    ZKL_STEP_RECONNECTED,
    ZKL_STEP_NO_CONTAINERS /* the server has none, and parents are persistent from now on */
};

struct zkl_step {
    enum zkl_step_kind kind;
    zkl_time at;
    const char *path, *owner; /* NULL: a step of the session */
    int64_t token;            /* 0: none */
    zkl_time took;            /* GRANTED: since its acquire; LOST, RELEASED: since its grant */
    size_t position;          /* QUEUED */
};

struct zkl_event {
    enum zkl_event_kind kind;
    uint64_t id;                  /* the request's, grant's, watcher's, member's or roster's */
    size_t position;              /* QUEUED: 2 = next */
    enum zkl_phase phase;         /* LEASE */
    enum zkl_session_state state; /* STATE */
    const struct zkl_step *step;  /* STEP: constant until the next event is taken */
};

/* False: there is none. */
bool zkl_session_next_event(zkl_session *session, struct zkl_event *event);
void zkl_session_keep_step(zkl_session *session); /* the last event's, for zkl_step_free() */
void zkl_step_free(const struct zkl_step *step);  /* needs no session */

/* --- answers at once ------------------------------------------------------------------------ */

enum zkl_session_state zkl_session_state(zkl_session *session); /* as users see it */
uint64_t zkl_session_id(const zkl_session *session);            /* 0: none */
zkl_time zkl_session_timeout(const zkl_session *session);       /* negotiated; 0: none */
zkl_time zkl_session_leases_end(const zkl_session *session);    /* unless proved again */

/*
 * Returns the owners that hold the path's lock and begin with `prefix`, each with its final NUL.
 * The caller frees them. NULL: none, or out of memory.
 */
char *zkl_session_holders(zkl_session *session, const char *path, const char *prefix, int *count);

/* Releases all leases of an owner, and of owners with further words; returns their number. */
size_t zkl_session_release_all(zkl_session *session, const char *owner);

struct zkl_stats {
    uint64_t creates, sets, deletes, lists, gets, exists, syncs; /* requests sent */
    uint64_t grants, losses, waits, timeouts;
    uint64_t reconnects, expiries, orphans;
    uint64_t events;         /* watch events */
    size_t in_flight;        /* requests without an answer */
    size_t claims;           /* contenders of this session, until GONE */
    size_t watches;          /* set, asked for, or pinned */
    size_t watch_bytes;      /* watched paths of others' nodes, up to ZKL_WATCHES_MAX */
    size_t path_bytes;       /* own nodes' paths, made or to be made, up to ZKL_PATHS_MAX */
    uint64_t watch_removals; /* requests sent */
    uint64_t untold;         /* steps dropped, as ZKL_STEPS_MAX waited, or memory was short */
};
void zkl_session_stats(const zkl_session *session, struct zkl_stats *stats);

#define ZKL_STEPS_MAX 4096 /* that wait to be taken */

#define ZKL_OUTCOMES 32 /* more than there are codes */

/* Times and outcomes of the locks of a meter's name, or of all locks. */
struct zkl_meter {
    struct zkl_histogram wait;       /* from an acquire to its grant, without re-entries */
    struct zkl_histogram hold;       /* from a grant to its release or loss */
    struct zkl_histogram hand_over;  /* from the release, as known, to a grant after a wait */
    uint64_t outcomes[ZKL_OUTCOMES]; /* acquires by code */
    uint64_t reentries;
};

#define ZKL_METERS_MAX 100 /* names of a session */

/* The number of this name's meter, from 1. 0: out of memory, or there are ZKL_METERS_MAX names. */
size_t zkl_session_name_meter(zkl_session *session, const char *name);

struct zkl_named_meter {
    struct zkl_meter meter;
    char name[];
};

/* Counts of one session, or of several together. A zeroed struct is empty. */
struct zkl_totals {
    struct zkl_stats stats;
    size_t sessions[ZKL_SESSION_CLOSED + 1];
    struct zkl_histogram round_trip; /* requests to the server */
    struct zkl_meter meter;
    struct zkl_named_meter **named; /* at most ZKL_METERS_MAX of each session */
    size_t named_count;
};

/* Named meters for which there is no memory are left out. */
void zkl_totals_add(struct zkl_totals *totals, zkl_session *session);
void zkl_totals_add_ended(struct zkl_totals *to, const zkl_session *session); /* its deeds alone */
void zkl_totals_merge(struct zkl_totals *to, const struct zkl_totals *from);
void zkl_totals_clear(struct zkl_totals *totals);

/*
 * Limits of a session, in bytes of own nodes' paths, and of watched paths of others' nodes. More
 * than 2 MB of ephemerals poison the log (ZOOKEEPER-4306), and with more than 1 MB of watches a
 * session cannot reconnect (ZOOKEEPER-706). Own nodes may always be watched, so both together have
 * to be less.
 */
#define ZKL_PATHS_MAX ((size_t)512 * 1024)
#define ZKL_WATCHES_MAX ((size_t)256 * 1024)

/* --- requests -------------------------------------------------------------------------- */

/*
 * Each call starts a request, which is done with its answer, at its deadline, or when the session
 * closes. NULL: out of memory.
 */

/* Checks, with one request, the connection, the credentials and the chroot. */
zkl_request *zkl_session_ready(zkl_session *session, zkl_time timeout);

struct zkl_acquire_options {
    const char *path;
    enum zkl_kind kind;
    const char *owner;          /* any text; equal texts are one owner */
    const char *const *callers; /* owners that wait for this acquire, up to a NULL; may be NULL */
    const char *data;           /* shown to others; may be NULL */
    zkl_time timeout;           /* ZKL_NEVER: wait for ever */
    bool trying;                /* do not queue */
    bool reentrant;      /* the owner may re-enter, else ZKL_WOULD_DEADLOCK; not for PERMIT */
    zkl_time jitter;     /* UNFAIR: longest pause after the end of a hold */
    int32_t batch;       /* MUTEX: grants of a turn, or ZKL_BATCH_BY_TIME; 0: no turns */
    bool counting;       /* MUTEX: tokens count grants, as in turns */
    zkl_time keep;       /* MUTEX: how long the node stays after the last release */
    int32_t permits;     /* PERMIT: 1 to limit; each acquire is a grant of its own */
    int32_t limit;       /* PERMIT */
    int32_t max_waiters; /* ZKL_BUSY at once if so many wait already; 0: no limit */
    zkl_time max_hold;   /* longest hold, after which the lock is lost; 0: no limit */
    bool quiet;          /* no event tells that it waits */
    size_t meter;        /* by zkl_session_name_meter(); 0: none; not for several locks */
};
zkl_request *zkl_acquire(zkl_session *session, const struct zkl_acquire_options *options);

/*
 * Acquires all of several locks or none, under one deadline. The options differ in path, kind and
 * data. The lease is for all. ZKL_WOULD_DEADLOCK: the owner or a caller holds one. ZKL_LOST: a node
 * was removed, or its create got lost; try again.
 */
zkl_request *zkl_acquire_all(zkl_session *session, const struct zkl_acquire_options *options,
                             size_t count);

/* Asks the server, in one round trip, whether the lease still stands. */
zkl_request *zkl_check(zkl_lease *lease, zkl_time timeout);

/*
 * The handle only reads from now on. Done at once while another handle writes, else when the server
 * has made the writer's node a reader's. ZKL_UNSUPPORTED: the handle does not write, or sequence
 * numbers are nearly exhausted.
 */
zkl_request *zkl_downgrade(zkl_lease *lease, zkl_time timeout);

/*
 * Gives the lock up and waits in a condition, in one transaction; `folder` has a node for each
 * waiter. ZKL_OK: signalled, and all handles of the grant hold again, with another token. After any
 * other code the handles are released, or, if the wait certainly did not begin (ZKL_AUTH...), hold
 * as before. ZKL_UNSUPPORTED: only writers and mutexes without turns, of single locks, may wait.
 */
zkl_request *zkl_wait(zkl_lease *lease, const char *folder, zkl_time timeout);

/*
 * Signals the first waiter in a condition, or all, while the lease's node exists, else ZKL_LOST. A
 * waiter that is signalled already is passed over. A write whose answer is lost is repeated, so
 * more waiters may wake than zkl_request_signal_count() counts. ZKL_IN_DOUBT: some may wake; after
 * any other failure nobody does.
 */
zkl_request *zkl_signal(zkl_lease *lease, const char *folder, bool all, zkl_time timeout);

/* Releases the handle as zkl_lease_release() does; done when the server has removed the node. */
zkl_request *zkl_release_and_confirm(zkl_lease *lease, zkl_time timeout);

/* Lists the contenders on the path of a lock of this kind. */
zkl_request *zkl_queue(zkl_session *session, const char *path, enum zkl_kind kind,
                       zkl_time timeout);

struct zkl_queued {
    char *name;
    char *data; /* as stored, `size` bytes */
    size_t size;
    enum zkl_kind kind;
    int32_t sequence;
    int32_t permits, limit; /* PERMIT */
    int64_t czxid;
    int64_t token;   /* its last grant's; for another session's node its first grant's */
    int64_t created; /* by the server's clock, milliseconds since 1970; 0: not known */
    uint64_t session;
    enum { ZKL_ANOTHERS, ZKL_OURS, ZKL_OURS_KEPT } whose; /* KEPT: nobody holds it */
    enum zkl_reuse reuse; /* ZKL_MAY_BE_KEPT: held only if its data says ZKL_HELD_WORD */
};

/* Asks the holder of that node to give way, with Curator's word (name.h). */
zkl_request *zkl_revoke(zkl_session *session, const char *node, zkl_time timeout);

/* Removes any contender's node if its data has this version, else ZKL_CONFLICT. */
zkl_request *zkl_break(zkl_session *session, const char *node, int32_t version, zkl_time timeout);

/* Reads the names of a node's children, as data in which each has its final NUL. */
zkl_request *zkl_children(zkl_session *session, const char *path, zkl_time timeout);

/* Reads the data of any node. */
zkl_request *zkl_get(zkl_session *session, const char *path, zkl_time timeout);

/* By kind; NULL at the end. */
extern const char *const zkl_op_names[];

/*
 * Carries out all ops if the lease's node exists, else (ZKL_LOST) none. They are sent once, when
 * connected. ZKL_IN_DOUBT: the answer was lost; after any other failure nothing is written.
 */
zkl_request *zkl_guard(zkl_lease *lease, const struct zkl_op *ops, size_t count, zkl_time timeout);

/*
 * Asks the server nothing. Its user ends it by zkl_request_cancel(), with ZKL_OK if the wait is
 * over. An expiry does not end it.
 */
zkl_request *zkl_pause(zkl_session *session, zkl_time timeout);

uint64_t zkl_request_id(const zkl_request *request); /* small, and reused after the drop */
bool zkl_request_done(const zkl_request *request);
enum zkl_code zkl_request_code(const zkl_request *request); /* when done */
const char *zkl_request_detail(const zkl_request *request); /* the server's reason, or NULL */

/* The present use of a path. */
enum zkl_use {
    ZKL_USE_UNKNOWN,
    ZKL_USE_FIFO,
    ZKL_USE_COUNTING, /* a mutex whose tokens count grants */
    ZKL_USE_TURNS,
    ZKL_USE_UNFAIR,
    ZKL_USE_READ_WRITE,
    ZKL_USE_SEMAPHORE
};
struct zkl_conflict {
    enum zkl_use use;
    int32_t limit; /* SEMAPHORE */
    bool ours;     /* by this session */
    size_t part;   /* the part of a multi-lock that met it, from 1; 0: single lock */
};
struct zkl_conflict zkl_request_conflict(const zkl_request *request); /* after ZKL_CONFLICT */
/* Stops of the process since shortly before the request's begin. */
uint64_t zkl_request_stops(const zkl_request *request);

zkl_lease *zkl_request_lease(zkl_request *request); /* takes the lease; NULL: none */
const struct zkl_queued *zkl_request_queue(const zkl_request *request, size_t *count);
const char *zkl_request_data(const zkl_request *request, size_t *size,
                             int32_t *version);            /* a get's, or the children's names */
size_t zkl_request_refused_op(const zkl_request *request); /* the refused op, from 1; 0: none */
int32_t zkl_request_version(const zkl_request *request, size_t op); /* after that SET; else 0 */
size_t zkl_request_signal_count(const zkl_request *request);
/* Between ref and unref the request stays readable, even if it is dropped. */
void zkl_request_ref(zkl_request *request);
void zkl_request_unref(zkl_request *request);
void zkl_request_cancel(zkl_request *request, enum zkl_code why);
void zkl_request_drop(zkl_request *request); /* cancels it, and releases a lease not taken */

/* --- leases ---------------------------------------------------------------------------- */

enum zkl_lease_state { ZKL_LEASE_HELD, ZKL_LEASE_SUSPECT, ZKL_LEASE_LOST, ZKL_LEASE_RELEASED };

uint64_t zkl_lease_id(const zkl_lease *lease); /* the grant's, shared by its handles */
int64_t zkl_lease_token(const zkl_lease *lease);
bool zkl_lease_reads(const zkl_lease *lease);  /* a reader's, from the begin of a downgrade on */
bool zkl_lease_waited(const zkl_lease *lease); /* for the lock, or a multi-lock's first part */
enum zkl_lease_state zkl_lease_state(zkl_lease *lease);
zkl_time zkl_lease_remaining(zkl_lease *lease); /* how long it is certain to hold */
/* Ends this handle's hold after `length`, more than 0. LOST, RELEASED: it has ended already. */
enum zkl_code zkl_lease_expire(zkl_lease *lease, zkl_time length);
bool zkl_lease_revoked(const zkl_lease *lease);
void zkl_lease_listen(zkl_lease *lease); /* from now on a revocation is heard at once */

/* Returns ZKL_OK, ZKL_LOST or ZKL_RELEASED, without a wait. */
enum zkl_code zkl_lease_release(zkl_lease *lease);
void zkl_lease_drop(zkl_lease *lease);

/* --- watchers --------------------------------------------------------------------------- */

/*
 * Reports a node's state first, and then after each change, even without a connection. Only the
 * last of quick changes is reported. Ends with the session. NULL: out of memory, or `why` is
 * ZKL_TOO_MANY (ZKL_WATCHES_MAX), ZKL_CLOSED or ZKL_EXPIRED.
 */
zkl_watcher *zkl_watch(zkl_session *session, const char *path, enum zkl_code *why);

/* A node's state when the server was asked. */
struct zkl_sight {
    enum zkl_code code; /* ZKL_OK, ZKL_NO_NODE, or why it may not be read */
    const char *detail; /* the server's reason, or NULL */
    const char *data;   /* `size` bytes */
    size_t size;
    int32_t version;
};

uint64_t zkl_watcher_id(const zkl_watcher *watcher);
/*
 * Gets the news, and again until zkl_watcher_confirm(). The sight's pointers are valid until the
 * next call. False: none.
 */
bool zkl_watcher_look(zkl_watcher *watcher, struct zkl_sight *sight);
void zkl_watcher_confirm(zkl_watcher *watcher);
void zkl_watcher_drop(zkl_watcher *watcher); /* ends it */

/* --- members ------------------------------------------------------------------------------ */

/*
 * Keeps an ephemeral node with these data in existence, also after an expiry. Done when the node
 * exists. ZKL_CONFLICT: joined already, or the node is neither this session's nor an earlier one's.
 */
zkl_request *zkl_join(zkl_session *session, const char *path, const char *data, zkl_time timeout);
zkl_member *zkl_request_member(zkl_request *request); /* takes the member; NULL: none */

enum zkl_member_state {
    ZKL_MEMBER_JOINING,
    ZKL_MEMBER_JOINED, /* its node existed when the server last told of it */
    ZKL_MEMBER_LEAVING,
    ZKL_MEMBER_ENDED /* nothing more is asked for; `why`, and the server's words or NULL */
};
uint64_t zkl_member_id(const zkl_member *member);
enum zkl_member_state zkl_member_state(const zkl_member *member, enum zkl_code *why,
                                       const char **detail);
unsigned zkl_member_changes(const zkl_member *member); /* changes of its state */
/*
 * Gives the node other data. Done when the node has these or newer data. The node gets the data
 * even if the request ends before. ZKL_CLOSED: the member leaves.
 */
zkl_request *zkl_member_set(zkl_member *member, const char *data, zkl_time timeout);
void zkl_member_drop(zkl_member *member);

/*
 * Reports a folder's children, as zkl_watch() does a node, first and then after each change of them
 * or their data.
 */
zkl_roster *zkl_members(zkl_session *session, const char *folder, enum zkl_code *why);

struct zkl_listed {
    const char *name, *data; /* `size` bytes of data, or NULL: they may not be read */
    size_t size;
    uint64_t session; /* 0: not ephemeral, or not known */
    int64_t created;  /* by the server's clock, milliseconds since 1970; 0: not known */
};
struct zkl_roll {
    size_t size;                 /* bytes of all this */
    enum zkl_code code;          /* or why there is no list (ZKL_AUTH, ZKL_TOO_MANY, ...) */
    const char *detail;          /* the server's reason, or NULL */
    size_t count;                /* 0 if there is no folder */
    struct zkl_listed members[]; /* sorted by name */
};

uint64_t zkl_roster_id(const zkl_roster *roster);
/*
 * Gets the news, and again until zkl_roster_confirm(). The caller frees the roll; NULL: out of
 * memory. False: none, or not complete yet.
 */
bool zkl_roster_look(zkl_roster *roster, struct zkl_roll **roll);
void zkl_roster_confirm(zkl_roster *roster);
void zkl_roster_drop(zkl_roster *roster); /* ends it */

#endif
