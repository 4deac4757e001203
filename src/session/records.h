/*
 * records.h - what a session keeps: paths, stakes, requests, watchers; how they are counted, and
 * how a request begins and ends.
 */
#ifndef ZKL_SESSION_RECORDS_H
#define ZKL_SESSION_RECORDS_H

#include "../core/claim.h"
#include "session.h"
#include "watches.h"

/* --- events ---------------------------------------------------------------------------- */

/* A note for the users, part of what it is about: it needs no memory of its own. */
struct news {
    struct news *next, **link;
    enum zkl_event_kind kind;
    bool posted;
};

/* --- a lock path in use ----------------------------------------------------------------- */

struct path {
    struct path *next;      /* in a bucket of session->paths */
    struct path *next_idle; /* in session->idle_paths, while `idle` */
    bool idle;              /* perhaps not used any more; zkl_path_tidy() looks */
    struct zkl_line line;   /* its `claims` are the stakes' */
    struct stake *granted;  /* those that were, until GONE; the latest first */
    zkl_time given_up_at;   /* the latest hold of this session ended; 0: none since it connected */
    /* The latest that waits for its turn, and was told its place; or NULL. */
    const struct stake *told;
    zkl_time told_at;
    size_t told_place;
    bool fixed;             /* there was a claim of ZKL_UNFAIR */
    bool fixed_seen;        /* the look got an answer about its name */
    struct watch *children; /* a reference; NULL: of line.children ZKL_UNWATCHED */
    zkl_time look_at;       /* when to look for orphans again; 0: no doubt */
    size_t stakes;
    size_t counted; /* of them, those in session->node_bytes */
    size_t lists;   /* CALL_LIST that are out */
    bool postponed; /* perhaps a claim does not watch its predecessor yet */
    size_t length;
    char text[];
};

/* What is remembered of a path that is not in use; of two in one place the latest. */
struct memory {
    uint32_t path; /* its hash */
    struct zkl_restraint restraint;
};

enum { MEMORIES = 64 };

#ifndef PATH_BUCKETS
#define PATH_BUCKETS 256
#endif

/* --- a stake: a claim with its user ----------------------------------------------------- */

/* For how long a handle may be held: part of the handle, or of the request that has it. */
struct hold {
    struct hold *next, **link; /* in stake->holds; NULL: it has not begun, or has ended */
    zkl_time length;           /* 0: for ever */
    zkl_time until;
};

struct stake {
    struct zkl_claim claim; /* first: a claim of ours is a stake */
    struct zkl_session *session;
    struct stake *next, **link; /* in session->stakes, until GONE */
    struct path *path;
    struct stake *next_granted, **granted_link; /* in path->granted; NULL: it was not */
    struct zkl_request *request;                /* the acquire that waits for it, or NULL */
    struct zkl_request *leaving;                /* the releases that wait for it to be gone */
    struct zkl_request *downgrading; /* the downgrade that waits for it to be a reader, or NULL */
    struct news notice;              /* its phase changed */
    enum zkl_phase phase;            /* as last told */
    int32_t version;                 /* of the own node's data, as last seen */
    bool counted;                    /* its node is in session->node_bytes */
    bool revoked;                    /* somebody wrote into it that he wants the lock */
    bool part;                       /* of a multi-lock */
    bool leaves_room;                /* its node was kept, and goes for the sake of another one */
    bool joint;                      /* part of a multi-lock, whose lease has not given it up */
    uint64_t id;
    int64_t token;       /* of the latest grant */
    struct hold *holds;  /* of its handles, those that end */
    unsigned handles;    /* not given up */
    unsigned writers;    /* those of them that may write; the node is a writer's meanwhile */
    unsigned references; /* the session's list, handles, request, calls */
    uint32_t starved;    /* kinds of calls, a bit each, for which there was no memory */
    char *data; /* of the node: the session's identity, and the lock's data in a line of its own */
    char *marked_data;       /* as it was last written with ZKL_HELD_WORD, or NULL */
    char *owner;             /* "": nobody's (an orphan) */
    struct zkl_meter *meter; /* of its lock's name, or NULL */
    zkl_time queued_at;      /* when it was first told that it waits; 0: never */
    zkl_time way_free_at;    /* another session's node ahead went; 0: not since it waits */
    zkl_time granted_at;     /* 0: it does not hold */
    bool measured;           /* its hold counts; of the parts of a multi-lock one does */
    int error;               /* the server's error code of the last refusal */
    zkl_time jitter;         /* the longest pause of the claim; 0: none */
    zkl_time wake_at;        /* the end of its pause, while it is pausing */
    struct watch *own_watch; /* of the node of its name, if it asked for one */
    struct want *wants;      /* watches of other nodes that it asked for */
};

/* What a request or a lease is about: one stake, or the parts of a multi-lock. Counted. */
struct stakes {
    size_t count;
    struct stake *one;
    struct stake **many; /* NULL: it is one */
};

struct zkl_lease {
    struct stakes stakes;
    enum zkl_kind kind; /* of the handle, not of the grant; not of a multi-lock's */
    struct hold hold;
    bool released; /* given up */
    bool lost;     /* before it was given up: that is final */
};

/* --- requests --------------------------------------------------------------------------- */

enum request_kind {
    REQUEST_READY,
    REQUEST_ACQUIRE,
    REQUEST_CHECK,
    REQUEST_DOWNGRADE,
    REQUEST_WAIT,
    REQUEST_RELEASE,
    REQUEST_QUEUE,
    REQUEST_GUARD,
    REQUEST_SIGNAL,
    REQUEST_REVOKE,
    REQUEST_BREAK,
    REQUEST_GET,
    REQUEST_CHILDREN,
    REQUEST_PAUSE,
    REQUEST_DRAIN
};

/* It is asked while the lease stands: one that is lost answers it. */
static inline bool zkl_request_needs_lease(enum request_kind kind) {
    return kind == REQUEST_CHECK || kind == REQUEST_GUARD || kind == REQUEST_SIGNAL;
}

struct zkl_request {
    struct zkl_session *session;
    struct zkl_request *next, **link; /* in session->requests, until done */
    struct zkl_request *next_leaving; /* in stake->leaving */
    struct news done_news, queued_news;
    struct stakes stakes; /* ACQUIRE, CHECK, DOWNGRADE, WAIT, RELEASE, GUARD, SIGNAL */
    char *path;           /* QUEUE, REVOKE, BREAK, GET, CHILDREN, SIGNAL */
    enum zkl_kind asked;  /* QUEUE: the kind of the lock that asks */
    bool brief;           /* SIGNAL: only what names tell of the queue */
    struct guard *guard;  /* GUARD; SIGNAL: the writes, after the queue */
    bool all;             /* SIGNAL: not only the first */
    size_t listed;        /* SIGNAL: of the queue, those that were looked at */
    size_t signalled;     /* SIGNAL: waiters that have one by it */
    unsigned effects;     /* GUARD, SIGNAL: transactions sent, and not known to have none */
    char *data;           /* GET: of the node, with `size` bytes; CHILDREN: the names */
    size_t size;
    int32_t version; /* GET: of the data; BREAK: the one expected */
    char *found;     /* ZKL_CONFLICT: what the path is used for, if known; else NULL */
    struct zkl_queued *queue;
    size_t queued, position;
    struct hold hold; /* ACQUIRE: of the handle, until that is taken */
    zkl_time begun, deadline;
    struct zkl_meter *meter; /* ACQUIRE: of the lock's name, or NULL */
    uint64_t id;
    unsigned references; /* the caller's, the list's, the inbox's, calls */
    unsigned calls;      /* requests out for it */
    int error;           /* the server's error code behind `code` */
    enum request_kind kind;
    enum zkl_code code;
    enum zkl_kind lease_kind;
    bool done;
    bool lease;      /* a handle of lease_kind is there to be taken */
    bool quiet;      /* ACQUIRE: its user does not ask for its place */
    bool again;      /* ACQUIRE: its owner had the lock already */
    zkl_time ask_at; /* a part of its answer was lost: when to ask again; query.c */
};

/* What a guard writes, if its lease's nodes are there. */
struct guard {
    size_t checks, count; /* of the ops; the first of them check the own nodes */
    size_t refused;       /* which of the others, from 1; 0: none */
    struct zkl_op ops[];
};

/* --- watchers ------------------------------------------------------------------------------- */

/* A node as an answer showed it, if there was one. */
struct reading {
    bool known;
    enum zkl_code code; /* as of struct zkl_sight */
    int error;          /* the server's error code behind that */
    int64_t czxid, mzxid;
    int32_t version;
    int32_t aversion; /* of the ACL: no part of what is told */
    char *data;       /* with `size` bytes; NULL if it may not be read */
    size_t size;
};

struct zkl_watcher {
    struct zkl_session *session;
    struct zkl_watcher *next, **link; /* in session->watchers, while `open` */
    bool open;                        /* neither dropped, nor the session closing */
    struct watch *watch;              /* of its path; kept while `open` */
    struct news news;                 /* there may be something to tell */
    struct reading seen;              /* since it was asked last what there is to tell */
    struct reading told;              /* the last that was told, or is being told */
    bool untold;                      /* it is being told */
    unsigned calls;                   /* requests out for it */
    zkl_time look_at;                 /* when to look; 0: once no watch is set */
    zkl_time check_at;                /* when to check, while there is no need to look */
    bool checking;                    /* the exists that is out is no look's */
    uint64_t id;
    unsigned references; /* the caller's, the inbox's, calls */
};

/* --- sessions -------------------------------------------------------------------------------- */

/* Numbers from 1 to `count`, each of a request or free. */
struct numbers {
    uint64_t count, *free; /* `free_count` of them, with room for `room` */
    size_t free_count, room;
};

#define STATE_NEWS 16 /* state changes kept for a reader that does not come */

struct zkl_session {
    char *identity;
    double margin;
    zkl_time now; /* as the shell said last */
    zkl_time due; /* of what came in since the last tick; ZKL_NEVER: nothing */

    enum zkl_session_state state;
    struct zkl_common common;
    bool containers;            /* until a server does not know them */
    bool reopen;                /* after an expiry there will be another; not after a refusal */
    bool refused;               /* the server does not take the credentials */
    zkl_time first_question_at; /* ZKL_NEVER: not before the shell says so */
    bool draining;              /* zkl_session_drain() was called */
    bool closing;               /* zkl_session_close() was called */
    zkl_time busy_since;        /* since when there are stakes */
    zkl_time last_beat;

    struct path *paths[PATH_BUCKETS], *idle_paths;
    struct memory memories[MEMORIES];
    struct stake *stakes, **stakes_end; /* in order of arrival */
    bool starving;                      /* one of them was starved */
    struct stake *fed;                  /* the one that is fed an event after this one */
    struct call *calls, **calls_end;    /* in order; behind those that are out ... */
    struct call *to_send;               /* ... the first that is not sent */
    struct zkl_request *requests;
    struct zkl_watcher *watchers;
    struct watches watches;
    size_t node_bytes;    /* of the paths of nodes that stakes have, or may make; see stake.c */
    size_t leaving_bytes; /* of those, of nodes that go for the sake of others */
    uint64_t last_id;
    struct numbers numbers; /* of requests */
    uint64_t random;        /* of pauses */
    int64_t created;        /* czxid of the newest create of this ZooKeeper session */
    struct zkl_stats stats;
    struct zkl_totals totals; /* but for what `stats` and `state` tell */
    bool tells_steps;
    struct step *steps, **steps_end; /* not taken yet, `step_count` of them */
    struct step *step_told;          /* the one that was taken last, or NULL */
    size_t step_count;

    struct news *inbox, **inbox_end;
    enum zkl_session_state changes[STATE_NEWS];
    size_t change_first, change_count;
    bool news; /* events were added, and the shell was not told */
};

/* --- path.c: lock paths in use --------------------------------------------------------------- */

struct path *zkl_path_find(struct zkl_session *session, const char *text, size_t length);
struct path *zkl_path_use(struct zkl_session *session, const char *text);   /* NULL: no memory */
struct path *zkl_path_next(struct zkl_session *session, struct path *path); /* NULL: first, last */
void zkl_path_idle(struct zkl_session *session, struct path *path); /* nothing keeps it now */
void zkl_path_tidy(struct zkl_session *session); /* frees the idle ones, unless used again */
char *zkl_path_join(const char *parent, const char *name); /* NULL: no memory */
/*
 * Watches the children with a list, for the stake. Without room or memory they may have changed.
 * False: there was no memory.
 */
bool zkl_path_watch(struct path *path, struct stake *stake);
/* That list is answered. */
void zkl_path_watched(struct zkl_session *session, struct path *path, enum zkl_reply reply);
void zkl_path_unwatch(struct zkl_session *session, struct path *path); /* if it is watched */
/* To watch that node: watches of children give way. False: there is no room. */
bool zkl_path_make_room(struct zkl_session *session, const char *node);
void zkl_path_event(struct zkl_session *session, enum zkl_node_event event, const char *node);

/* --- events.c: notes for the users ---------------------------------------------------------- */

void zkl_events_post(struct zkl_session *session, struct news *news, enum zkl_event_kind kind);
void zkl_events_remove(struct zkl_session *session, struct news *news);
void zkl_events_post_state(struct zkl_session *session, enum zkl_session_state state);

/* --- meter.c: how long things take ----------------------------------------------------------- */

struct zkl_meter *zkl_meter_of(const struct zkl_session *session, size_t number); /* 0: NULL */
void zkl_meter_acquired(const struct zkl_request *request); /* with its code */
void zkl_meter_granted(const struct stake *stake);
void zkl_meter_held(const struct stake *stake, zkl_time held);

/* --- steps.c: what is told of each step ------------------------------------------------------ */

/* The step, to be completed; NULL: there is no room, or no memory. */
struct zkl_step *zkl_step_add(const struct stake *stake, enum zkl_step_kind kind, zkl_time took);
/* The same; also NULL: nobody asked for steps. */
static inline struct zkl_step *zkl_step_note(const struct stake *stake, enum zkl_step_kind kind,
                                             zkl_time took) {
    return stake->session->tells_steps ? zkl_step_add(stake, kind, took) : NULL;
}
void zkl_step_note_session(struct zkl_session *session, enum zkl_step_kind kind);
bool zkl_step_take(struct zkl_session *session, struct zkl_event *event); /* false: there is none */

/* --- records.c ------------------------------------------------------------------------------ */

void zkl_session_wake(struct zkl_session *session, zkl_time due); /* no later than that */
zkl_time zkl_session_after(const struct zkl_session *session, zkl_time timeout); /* NEVER stays */

void zkl_stake_ref(struct stake *stake);
void zkl_stake_unref(struct stake *stake);
void zkl_stakes_set(struct stakes *stakes, struct stake *one);
bool zkl_stakes_copy(struct stakes *to, const struct stakes *from); /* false: no memory */
void zkl_stakes_drop(struct stakes *stakes);
struct stake *zkl_stakes_at(const struct stakes *stakes, size_t i);
bool zkl_stakes_have(const struct stakes *stakes, const struct stake *stake);

/* Why the session takes none; ZKL_OK: it does. */
enum zkl_code zkl_request_refusal(const struct zkl_session *session);
struct zkl_request *zkl_request_new(struct zkl_session *session, enum request_kind kind,
                                    zkl_time timeout);
void zkl_request_forget_queue(struct zkl_request *request); /* QUEUE */
void zkl_request_finish(struct zkl_request *request, enum zkl_code code, int error);
/*
 * Ends it with ZKL_CONFLICT: `where` there is a lock of this kind already; `number`: the limit
 * of its permits; of a mutex an enum mutex_use.
 */
enum mutex_use { USE_FIFO, USE_COUNTING, USE_TURNS };
void zkl_request_conflict(struct zkl_request *request, const char *where, enum zkl_kind kind,
                          int32_t number);

void zkl_guard_free(struct guard *guard);
void zkl_op_forget(const struct zkl_op *op); /* its path and data */

void zkl_reading_forget(struct reading *reading);
void zkl_watcher_ref(struct zkl_watcher *watcher);
void zkl_watcher_unref(struct zkl_watcher *watcher);

#endif
