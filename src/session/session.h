/*
 * session.h - what a ZooKeeper session decides: locks, leases, conditions, guards, watchers.
 *
 * This is pure: no thread, no clock, no I/O. A shell owns the session. It puts in what happens
 * - the calls of its users, the state of the connection, answers, watch events, the time - and
 * takes out what is to be done: requests to send, and events for the users.
 *
 *     zkl_session_at(session, now);                  before anything else that is put in
 *     ... any calls ...
 *     while ((rpc = zkl_session_next_rpc(session))) send it, or zkl_session_unsent(rpc->id)
 *     wake the users, if zkl_session_has_events(session)
 *     come back at zkl_session_due(session), for zkl_session_tick(session)
 *
 * Answers are put in in the order of the requests, and the events of watches in the order in
 * which the server sent both. Nothing here calls back, and no call depends on what was not yet
 * taken out.
 *
 * A shell with several threads lets only one of them in at a time. Requests, leases and watchers
 * belong to the caller that got them, until they are given back with the ..._drop() function;
 * the session has to outlive them.
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
typedef struct zkl_lease zkl_lease;     /* one handle on a grant */
typedef struct zkl_watcher zkl_watcher; /* a node that the user wants to hear of */
typedef struct zkl_member zkl_member;   /* a node that is there as long as the user wants it */
typedef struct zkl_roster zkl_roster;   /* a folder of members that the user wants to hear of */

/* --- a session --------------------------------------------------------------------------- */

enum zkl_session_state {
    ZKL_SESSION_CONNECTING, /* not yet connected, or opening anew after an expiry */
    ZKL_SESSION_CONNECTED,
    ZKL_SESSION_SUSPENDED, /* the connection is lost, the session may live */
    ZKL_SESSION_EXPIRED,   /* the server ended it, or has lost it */
    ZKL_SESSION_CLOSED
};

struct zkl_settings {
    const char *identity;       /* stored in every lock node */
    zkl_time patience;          /* see clock.h */
    double margin;              /* see clock.h */
    size_t overhead;            /* bytes that the server counts for a path beside its length here */
    enum zkl_node_mode parents; /* missing parents are made as CONTAINER, or as PERSISTENT */
    bool reopen;                /* after an expiry there will be a new session */
    bool steps;                 /* tell each step of a lock as an event, too */
    uint64_t seed;              /* of random pauses */
};

/* The identity is copied. NULL: out of memory. */
zkl_session *zkl_session_new(const struct zkl_settings *settings);
void zkl_session_free(zkl_session *session); /* one that is closed */

/* --- what the shell puts in ------------------------------------------------------------ */

/* The time is `now`, until the next call. It never goes back. */
void zkl_session_at(zkl_session *session, zkl_time now);

/* There is a connection, by the session of this id, with this timeout. */
void zkl_session_connected(zkl_session *session, uint64_t id, zkl_time timeout);
/* The first question, zkl_session_ready()'s, may be asked from `due` on; ZKL_NEVER: not yet. */
void zkl_session_ask_from(zkl_session *session, zkl_time due);
void zkl_session_suspended(zkl_session *session);
void zkl_session_expired(zkl_session *session); /* all that is out is answered as unknown */
void zkl_session_refused(zkl_session *session); /* the credentials: no session follows */
void zkl_session_reopening(zkl_session *session);
/*
 * From now on no acquire begins to contend: it gets ZKL_CLOSED; but an owner may enter again. With
 * `waiters` the acquires that wait may still be granted, else they get ZKL_CLOSED at once. The
 * request is done when nobody holds or waits. No node is kept.
 */
zkl_request *zkl_session_drain(zkl_session *session, bool waiters, zkl_time timeout);
/* Releases everything, and ends every wait with ZKL_CLOSED. */
void zkl_session_close(zkl_session *session);
void zkl_session_closed(zkl_session *session); /* its connection is closed, too */

void zkl_session_answer(zkl_session *session, uint64_t rpc, const struct zkl_answer *answer);
void zkl_session_unsent(zkl_session *session, uint64_t rpc);  /* it could not be sent */
void zkl_session_unknown(zkl_session *session, uint64_t rpc); /* the servers do not know it */
void zkl_session_event(zkl_session *session, enum zkl_node_event event, const char *node);

/* Heartbeats, deadlines, the end of leases by the clock, late looks for orphans. */
void zkl_session_tick(zkl_session *session);

/* --- what the shell takes out ------------------------------------------------------------- */

/* The next request to send, constant until it is answered; NULL: none. */
const struct zkl_rpc *zkl_session_next_rpc(zkl_session *session);

enum zkl_session_state zkl_session_connection(const zkl_session *session); /* as it was put in */
enum zkl_code zkl_session_refusal(const zkl_session *session); /* why requests are refused */

/* When to call zkl_session_tick() again; it may be sooner after whatever is put in. */
zkl_time zkl_session_due(zkl_session *session);
zkl_time zkl_session_due_anew(const zkl_session *session); /* the same by news since a tick */
zkl_time zkl_session_ends_at(const zkl_session *session);  /* the first hold, pause or request */
bool zkl_session_has_news(zkl_session *session);           /* true once after events were added */
bool zkl_session_has_events(const zkl_session *session);
bool zkl_session_makes_containers(const zkl_session *session); /* for missing parents */
bool zkl_session_is_idle(const zkl_session *session); /* nothing is to be sent or answered */
bool zkl_session_has_claims(const zkl_session *session);

enum zkl_event_kind {
    ZKL_EVENT_NONE,
    ZKL_EVENT_REQUEST, /* a request is done */
    ZKL_EVENT_QUEUED,  /* an acquire that is not quiet waits in line */
    ZKL_EVENT_LEASE,   /* a grant changed its phase (suspect, held, lost), or was revoked */
    ZKL_EVENT_STATE,   /* the session changed its state */
    ZKL_EVENT_WATCHER, /* a watcher has something to tell */
    ZKL_EVENT_MEMBER,  /* a member's state has changed */
    ZKL_EVENT_ROSTER,  /* a roster has something to tell */
    ZKL_EVENT_STEP     /* a step of a lock, or of the session; only if the settings ask for them */
};

enum zkl_step_kind {
    ZKL_STEP_QUEUED,
    ZKL_STEP_GRANTED,
    ZKL_STEP_SUSPECT,
    ZKL_STEP_HELD, /* again, after it was suspect */
    ZKL_STEP_LOST,
    ZKL_STEP_RELEASED,
    ZKL_STEP_REVOKED, /* somebody asked the holder to give way */
    ZKL_STEP_EXPIRED, /* the session */
    ZKL_STEP_RECONNECTED,
    ZKL_STEP_NO_CONTAINERS /* parents are persistent from now on, as the server has none */
};

struct zkl_step {
    enum zkl_step_kind kind;
    zkl_time at;
    const char *path, *owner; /* NULL: it is a step of the session */
    int64_t token;            /* 0: none */
    zkl_time took;            /* GRANTED: since its acquire; LOST, RELEASED: since its grant */
    size_t position;          /* QUEUED */
};

struct zkl_event {
    enum zkl_event_kind kind;
    uint64_t id;                  /* of the request, grant, watcher, member or roster */
    size_t position;              /* QUEUED: 2 = next */
    enum zkl_phase phase;         /* LEASE */
    enum zkl_session_state state; /* STATE */
    const struct zkl_step *step;  /* STEP: constant until the next event is taken */
};

/* Takes the next event; false when there is none. */
bool zkl_session_next_event(zkl_session *session, struct zkl_event *event);
/* The step of the latest event is the caller's from now on, to be given to zkl_step_free(). */
void zkl_session_keep_step(zkl_session *session);
void zkl_step_free(const struct zkl_step *step); /* needs no session */

/* --- what it tells ------------------------------------------------------------------------- */

enum zkl_session_state zkl_session_state(zkl_session *session); /* as its users are to see it */
uint64_t zkl_session_id(const zkl_session *session);            /* 0: none */
zkl_time zkl_session_timeout(const zkl_session *session);       /* negotiated; 0: none */

/* Owners of grants on the path, not lost, whose texts begin so; to be freed. NULL: none. */
char *zkl_session_holders(zkl_session *session, const char *path, const char *prefix, int *count);

/* Gives up every lease of an owner, with all their handles; returns how many. */
size_t zkl_session_release_all(zkl_session *session, const char *owner);

struct zkl_stats {
    uint64_t creates, sets, deletes, lists, gets, exists, syncs; /* requests sent */
    uint64_t grants, losses, waits, timeouts;
    uint64_t reconnects, expiries, orphans;
    uint64_t events;         /* of watches, received */
    size_t in_flight;        /* requests without an answer yet */
    size_t claims;           /* contenders of this session, from the acquire until they are gone */
    size_t watches;          /* node watches set, asked for, or pinned by a watcher */
    size_t watch_bytes;      /* of watched paths of others' nodes, at most ZKL_WATCHES_MAX */
    size_t paths;            /* bytes of own nodes' paths, made or to be made, to ZKL_PATHS_MAX */
    uint64_t watch_removals; /* requests sent */
    uint64_t untold;         /* steps left out: ZKL_STEPS_MAX wait to be taken, or no memory */
};
void zkl_session_stats(const zkl_session *session, struct zkl_stats *stats);

#define ZKL_STEPS_MAX 4096 /* that wait to be taken */

#define ZKL_OUTCOMES 32 /* more than there are codes */

/* Times and outcomes of the locks that share the meter's name, or of all locks of a session. */
struct zkl_meter {
    struct zkl_histogram wait; /* from an acquire to its grant; a re-entry has none */
    struct zkl_histogram hold; /* from a grant until it was given up or lost */
    /* Of grants that were waited for: since the session knew that the lock was given up. */
    struct zkl_histogram hand_over;
    uint64_t outcomes[ZKL_OUTCOMES]; /* of acquires, by code; ZKL_OK: a grant */
    uint64_t reentries;
};

#define ZKL_METERS_MAX 100 /* names */

/*
 * The number of the meter of that name, from 1; the same for the same name. 0: out of memory, or
 * there are ZKL_METERS_MAX names.
 */
size_t zkl_session_name_meter(zkl_session *session, const char *name);

struct zkl_named_meter {
    struct zkl_meter meter;
    char name[];
};

/* What one session has counted, or several together. All zero: nothing. */
struct zkl_totals {
    struct zkl_stats stats;
    size_t sessions[ZKL_SESSION_CLOSED + 1]; /* how many are in each state */
    struct zkl_histogram round_trip;         /* of requests to the server, until the answer */
    struct zkl_meter meter;                  /* of all acquires */
    struct zkl_named_meter *named[ZKL_METERS_MAX];
    size_t named_count;
};

/* The meters of names for which there is no memory, or no place, are left out. */
void zkl_totals_add(struct zkl_totals *totals, zkl_session *session);
void zkl_totals_merge(struct zkl_totals *to, const struct zkl_totals *from);
void zkl_totals_clear(struct zkl_totals *totals); /* frees its names */

/*
 * Bytes of node paths, and of watched paths of others' nodes, that one session may have. A
 * session with more than 2 MB of ephemerals poisons the log (ZOOKEEPER-4306). One with more
 * than 1 MB of watches cannot reconnect (ZOOKEEPER-706): a claim's own node may always be
 * watched, so both together have to be less.
 */
#define ZKL_PATHS_MAX ((size_t)512 * 1024)
#define ZKL_WATCHES_MAX ((size_t)256 * 1024)

/* --- requests -------------------------------------------------------------------------- */

/*
 * Each of these starts a request; it is done when its answer is there, at its
 * deadline, or when the session closes. NULL: out of memory.
 */

/*
 * Checks with one request that there is a connection, and that the server takes the credentials and
 * has the chroot.
 */
zkl_request *zkl_session_ready(zkl_session *session, zkl_time timeout);

struct zkl_acquire_options {
    const char *path;
    enum zkl_kind kind;
    const char *owner;          /* any text; equal texts are one owner */
    const char *const *callers; /* owners that wait for this acquire, to a NULL; NULL: none */
    const char *data;           /* shown to others; may be NULL */
    zkl_time timeout;           /* ZKL_NEVER: wait for ever */
    bool trying;                /* do not queue */
    bool reentrant;  /* the owner may enter again, else ZKL_WOULD_DEADLOCK; not of a PERMIT */
    zkl_time jitter; /* UNFAIR: the longest pause after the end of a hold; 0: none */
    int32_t batch;   /* MUTEX: grants of a turn, to ZKL_BATCH_MAX, or ZKL_BATCH_BY_TIME; 0: each has
                        its own node */
    bool counting;   /* MUTEX: tokens count grants, as in turns; with turns or without */
    zkl_time keep;   /* MUTEX: the node stays for so long after the last release; 0: it goes */
    int32_t permits; /* PERMIT: 1 to limit; each acquire is a grant of its own */
    int32_t limit;   /* PERMIT: of the semaphore */
    int32_t max_waiters; /* ZKL_BUSY at once if so many wait already; 0: no limit */
    zkl_time max_hold;   /* how long after the grant it is lost, and its node goes; 0: it is not */
    bool quiet;          /* no event tells that it waits in line */
    size_t meter;        /* zkl_session_name_meter()'s; 0: the session's only; not of several */
};
zkl_request *zkl_acquire(zkl_session *session, const struct zkl_acquire_options *options);

/*
 * Acquires all of several locks or none, under one deadline: their nodes are made at once. The
 * options differ in path, kind and data. One lease is for all locks, and lost with any of them.
 * ZKL_WOULD_DEADLOCK: the owner holds one of them, or a caller. ZKL_LOST: the node of one was
 * removed, or was never made because the request got lost: try again.
 */
zkl_request *zkl_acquire_all(zkl_session *session, const struct zkl_acquire_options *options,
                             size_t count);

/* Asks the server, in one round trip, whether the lease still stands. */
zkl_request *zkl_check(zkl_lease *lease, zkl_time timeout);

/*
 * The handle only reads from now on. Done when no handle of the grant writes any more and
 * the server has made the writer's node a reader's; at once while another handle writes.
 * ZKL_UNSUPPORTED: it does not write, or numbers are nearly exhausted (claim.h).
 */
zkl_request *zkl_downgrade(zkl_lease *lease, zkl_time timeout);

/*
 * Gives the lock up and waits in a condition, in one transaction; `folder` has a node for each
 * waiter. ZKL_OK: the wait was signalled, and all handles of the grant have the lock again, with
 * another token. After any other code the handles are released; or as before, when the wait for
 * certain did not begin (ZKL_AUTH...). ZKL_UNSUPPORTED: the handle is neither a writer's nor that
 * of a mutex without turns, or it is a multi-lock's or of its part.
 */
zkl_request *zkl_wait(zkl_lease *lease, const char *folder, zkl_time timeout);

/*
 * Signals the first waiter in a condition, or all waiters, if the lease's node exists, else
 * (ZKL_LOST) no more of them; zkl_request_signalled() says how many. A waiter that has a signal
 * already is passed over. A write whose answer is lost is made again; so more waiters may be woken
 * than are counted. ZKL_IN_DOUBT: the request did not come to its end, and some may be woken; after
 * any other code but ZKL_OK nobody is.
 */
zkl_request *zkl_signal(zkl_lease *lease, const char *folder, bool all, zkl_time timeout);

/* Gives the handle up; done when the server has removed the node. */
zkl_request *zkl_release_wait(zkl_lease *lease, zkl_time timeout);

/* Lists the contenders on the path of a lock of this kind. */
zkl_request *zkl_queue(zkl_session *session, const char *path, enum zkl_kind kind,
                       zkl_time timeout);

struct zkl_queued {
    char *name;
    char *data; /* as stored, with `size` bytes */
    size_t size;
    enum zkl_kind kind;
    int32_t sequence;
    int32_t permits, limit; /* PERMIT */
    int64_t czxid;
    int64_t token;   /* of its latest grant; of another session's node, of its first */
    int64_t created; /* by the server's clock, milliseconds since 1970; 0: not known */
    uint64_t session;
    enum { ZKL_ANOTHERS, ZKL_OURS, ZKL_OURS_KEPT } whose; /* KEPT: nobody holds it */
    enum zkl_reuse reuse; /* perhaps nobody holds one that may be kept, unless its data says
                             ZKL_HELD_WORD */
};

/* Asks the holder of that node to give way, with a word of Curator's (name.h). */
zkl_request *zkl_revoke(zkl_session *session, const char *node, zkl_time timeout);

/*
 * Removes the node of a contender, whoever made it, if its data has that version. ZKL_OK: it is
 * gone; ZKL_CONFLICT: it has another version.
 */
zkl_request *zkl_break(zkl_session *session, const char *node, int32_t version, zkl_time timeout);

/* Reads the names of any node's children, as data: each with its final NUL. */
zkl_request *zkl_children(zkl_session *session, const char *path, zkl_time timeout);

/* Reads the data of any node. */
zkl_request *zkl_get(zkl_session *session, const char *path, zkl_time timeout);

/* "set", "create", "delete", "check", by kind; NULL at the end. */
extern const char *const zkl_op_names[];

/*
 * Carries out all of the ops if the lease's node exists, else (ZKL_LOST) none. They are sent once,
 * when there is a connection. ZKL_IN_DOUBT: they were sent, and no answer was had; after any other
 * code but ZKL_OK nothing is written.
 */
zkl_request *zkl_guard(zkl_lease *lease, const struct zkl_op *ops, size_t count, zkl_time timeout);

/* Asks the server for nothing: zkl_request_cancel() ends it, with ZKL_OK if what its user waited
 * for has come. An expiry does not end it. */
zkl_request *zkl_pause(zkl_session *session, zkl_time timeout);

uint64_t zkl_request_id(const zkl_request *request); /* small: used again after the drop */
bool zkl_request_done(const zkl_request *request);
enum zkl_code zkl_request_code(const zkl_request *request); /* when done */
const char *zkl_request_detail(const zkl_request *request); /* the server's reason, or NULL */

/* What a path is used for already. */
enum zkl_use {
    ZKL_USE_UNKNOWN,
    ZKL_USE_FIFO,     /* a mutex */
    ZKL_USE_COUNTING, /* a mutex whose tokens are those of turns */
    ZKL_USE_TURNS,
    ZKL_USE_UNFAIR,
    ZKL_USE_READ_WRITE,
    ZKL_USE_SEMAPHORE
};
struct zkl_conflict {
    enum zkl_use use;
    int32_t limit; /* SEMAPHORE */
    bool ours;     /* by this session */
    size_t part;   /* the part of a multi-lock that finds it, from 1; 0 for a single lock */
};
struct zkl_conflict zkl_request_conflict(const zkl_request *request); /* after ZKL_CONFLICT */
uint64_t zkl_request_stops(const zkl_request *request); /* the process's, since just before it */

zkl_lease *zkl_request_lease(zkl_request *request); /* takes the lease; NULL: none */
const struct zkl_queued *zkl_request_queue(const zkl_request *request, size_t *count);
const char *zkl_request_data(const zkl_request *request, size_t *size,
                             int32_t *version);         /* get's, children's */
size_t zkl_request_refused(const zkl_request *request); /* which op was refused, from 1; 0: none */
int32_t zkl_request_version(const zkl_request *request, size_t op); /* after that op; SET only */
size_t zkl_request_signalled(const zkl_request *request);
/* Between the two the request stays as it is, also when it is dropped meanwhile. */
void zkl_request_ref(zkl_request *request);
void zkl_request_unref(zkl_request *request);
void zkl_request_cancel(zkl_request *request, enum zkl_code why);
void zkl_request_drop(zkl_request *request); /* cancels; releases a lease not taken */

/* --- leases ---------------------------------------------------------------------------- */

enum zkl_lease_state { ZKL_LEASE_HELD, ZKL_LEASE_SUSPECT, ZKL_LEASE_LOST, ZKL_LEASE_RELEASED };

uint64_t zkl_lease_id(const zkl_lease *lease); /* of the grant: shared by its handles */
int64_t zkl_lease_token(const zkl_lease *lease);
bool zkl_lease_waited(const zkl_lease *lease); /* others had the lock; a multi-lock's first part */
enum zkl_lease_state zkl_lease_state(zkl_lease *lease);
zkl_time zkl_lease_remaining(zkl_lease *lease);
/* The hold of this handle ends so long from now, more than 0; LOST or RELEASED: it has ended. */
enum zkl_code zkl_lease_expire(zkl_lease *lease, zkl_time length);
bool zkl_lease_revoked(const zkl_lease *lease); /* somebody asked for the lock */
void zkl_lease_listen(zkl_lease *lease);        /* hears of a revocation at once */

/* ZKL_OK, ZKL_LOST or ZKL_RELEASED; does not wait. */
enum zkl_code zkl_lease_release(zkl_lease *lease);
void zkl_lease_drop(zkl_lease *lease); /* releases */

/* --- watchers --------------------------------------------------------------------------- */

/*
 * Tells how a node is, first, and after each change, also one that came while there was no
 * connection, or while the session was opened anew; of changes in quick succession only the last.
 * The watcher ends with the session. NULL: out of memory, or `why` is ZKL_TOO_MANY
 * (ZKL_WATCHES_MAX), ZKL_CLOSED or ZKL_EXPIRED.
 */
zkl_watcher *zkl_watch(zkl_session *session, const char *path, enum zkl_code *why);

/* How a node was when the server was asked. */
struct zkl_sight {
    enum zkl_code code; /* ZKL_OK; ZKL_NO_NODE: it is not there; else why it may not be read */
    const char *detail; /* the server's reason for that, or NULL */
    const char *data;   /* `size` bytes */
    size_t size;
    int32_t version; /* of the data */
};

uint64_t zkl_watcher_id(const zkl_watcher *watcher);
/*
 * What there is to tell, until zkl_watcher_told(): what the sight points to is constant until the
 * next call of this function. False: nothing that differs from what was told last.
 */
bool zkl_watcher_look(zkl_watcher *watcher, struct zkl_sight *sight);
void zkl_watcher_told(zkl_watcher *watcher);
void zkl_watcher_drop(zkl_watcher *watcher); /* it ends */

/* --- members ------------------------------------------------------------------------------ */

/* Makes an ephemeral node with these data, and again when it is gone, also after an expiry. Done
   when it is there. ZKL_CONFLICT: a second join, or a node of that path that no earlier ZooKeeper
   session of this session made. */
zkl_request *zkl_join(zkl_session *session, const char *path, const char *data, zkl_time timeout);
zkl_member *zkl_request_member(zkl_request *request); /* takes the member; NULL: none */

enum zkl_member_state {
    ZKL_MEMBER_JOINING, /* its node is made, or made again */
    ZKL_MEMBER_JOINED,  /* its node was there when the server told of it last */
    ZKL_MEMBER_LEAVING, /* its node is removed */
    ZKL_MEMBER_ENDED    /* nothing more is asked for: `why`, and the server's words or NULL */
};
uint64_t zkl_member_id(const zkl_member *member);
enum zkl_member_state zkl_member_state(const zkl_member *member, enum zkl_code *why,
                                       const char **detail);
unsigned zkl_member_changes(const zkl_member *member); /* how often the state has changed */
/* Gives the node other data; done when it has them, or newer ones of another call. However the
   request ends, the node is given them, and is made again with them. ZKL_CLOSED: it leaves. */
zkl_request *zkl_member_set(zkl_member *member, const char *data, zkl_time timeout);
void zkl_member_drop(zkl_member *member); /* it leaves */

/* Tells which children a folder has, first, and after each change of them or of their data; of
   changes in quick succession only the last. It ends with the session. NULL: as of zkl_watch(). */
zkl_roster *zkl_members(zkl_session *session, const char *folder, enum zkl_code *why);

struct zkl_listed {
    const char *name, *data; /* the data have `size` bytes; NULL: they may not be read */
    size_t size;
    uint64_t session; /* 0: the node belongs to none, or it is not known */
    int64_t created;  /* by the server's clock, milliseconds since 1970; 0: not known */
};
struct zkl_roll {
    size_t size;                 /* the size of all this, in bytes */
    enum zkl_code code;          /* ZKL_OK; or why there is no list: ZKL_AUTH, ZKL_TOO_MANY, ... */
    const char *detail;          /* the server's reason for that, or NULL */
    size_t count;                /* 0 if there is no folder */
    struct zkl_listed members[]; /* by their names */
};

uint64_t zkl_roster_id(const zkl_roster *roster);
/* What there is to tell, until zkl_roster_told(): the caller's, for free(); NULL: out of memory.
   False: nothing new, or not all is known yet. */
bool zkl_roster_look(zkl_roster *roster, struct zkl_roll **roll);
void zkl_roster_told(zkl_roster *roster);
void zkl_roster_drop(zkl_roster *roster); /* it ends */

#endif
