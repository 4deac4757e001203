/*
 * internal.h - what the files of src/session share.
 */
#ifndef ZKL_INTERNAL_H
#define ZKL_INTERNAL_H

#include "../core/claim.h"
#include "../core/hash.h"
#include "session.h"

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
    bool fixed;             /* there was a claim of ZKL_UNFAIR */
    bool fixed_seen;        /* the look got an answer about its name */
    zkl_time look_at;       /* when to look for orphans again; 0: no doubt */
    size_t stakes;
    size_t lists; /* VERB_LIST that are out */
    size_t length;
    char text[];
};

#ifndef PATH_BUCKETS
#define PATH_BUCKETS 256
#endif

/* --- a stake: a claim with its user ----------------------------------------------------- */

struct stake {
    struct zkl_claim claim; /* first: a claim of ours is a stake */
    struct zkl_session *session;
    struct stake *next, **link; /* in session->stakes, until GONE */
    struct path *path;
    struct zkl_request *request; /* the acquire that waits for it, or NULL */
    struct zkl_request *leaving; /* the releases that wait for it to be gone */
    struct zkl_request *sharing; /* the downgrade that waits for it to be a reader, or NULL */
    struct news notice;          /* its phase changed */
    enum zkl_phase phase;        /* as last told */
    int32_t version;             /* of the own node's data, as last seen */
    bool revoked;                /* somebody wrote into it that he wants the lock */
    bool joint;                  /* part of a multi-lock, whose lease has not given it up */
    uint64_t id;
    int64_t token;       /* of the latest grant */
    unsigned handles;    /* not given up */
    unsigned writers;    /* those of them that may write; the node is a writer's meanwhile */
    unsigned references; /* the session's list, handles, request, calls */
    uint32_t starved;    /* verbs, a bit each, for which there was no memory */
    char *data;  /* of the node: the session's identity, and the lock's data in a line of its own */
    char *owner; /* "": nobody's (an orphan) */
    int error;   /* the server's error code of the last refusal */
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
    bool released;      /* given up */
    bool lost;          /* before it was given up: that is final */
};

/* --- requests --------------------------------------------------------------------------- */

enum request_kind {
    REQUEST_READY,
    REQUEST_ACQUIRE,
    REQUEST_CHECK,
    REQUEST_SHARE,
    REQUEST_WAIT,
    REQUEST_RELEASE,
    REQUEST_QUEUE,
    REQUEST_GUARD,
    REQUEST_SIGNAL,
    REQUEST_REVOKE,
    REQUEST_GET
};

struct zkl_request {
    struct zkl_session *session;
    struct zkl_request *next, **link; /* in session->requests, until done */
    struct zkl_request *next_leaving; /* in stake->leaving */
    struct news done_news, queued_news;
    struct stakes stakes; /* ACQUIRE, CHECK, SHARE, WAIT, RELEASE, GUARD, SIGNAL */
    char *path;           /* QUEUE, REVOKE, GET, SIGNAL */
    enum zkl_kind asked;  /* QUEUE: the kind of the lock that asks */
    bool brief;           /* QUEUE: only what names tell */
    struct guard *guard;  /* GUARD; SIGNAL: the writes, after the queue */
    bool all;             /* SIGNAL: not only the first */
    size_t listed;        /* SIGNAL: of the queue, those that were looked at */
    size_t signalled;     /* SIGNAL: waiters that have one by it */
    char *data;           /* GET: of the node, with `size` bytes */
    size_t size;
    int32_t version;
    char *found; /* ZKL_CONFLICT: what the path is used for, if known; else NULL */
    struct zkl_queued *queue;
    size_t queued, position;
    zkl_time deadline;
    uint64_t id;
    unsigned references; /* the caller's, the list's, the inbox's, calls */
    unsigned calls;      /* requests out for it */
    int error;           /* the server's error code behind `code` */
    enum request_kind kind;
    enum zkl_code code;
    enum zkl_kind lease_kind;
    bool done;
    bool lease;      /* a handle of lease_kind is there to be taken */
    zkl_time ask_at; /* a part of its answer was lost: when to ask again; query.c */
};

/* What a guard writes, if its lease's nodes are there. */
struct guard {
    size_t checks, count; /* of the ops; the first of them check the own nodes */
    size_t refused;       /* which of the others, from 1; 0: none */
    bool sent;            /* and not known to be without effect */
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

/* --- calls: requests queued or sent, and not yet answered ------------------------------------ */

enum verb {
    VERB_PARENT, /* create of a missing parent */
    VERB_CREATE,
    VERB_CREATE_ALL, /* of the parts of a multi-lock; it is about one of them */
    VERB_LIST,
    VERB_SYNC,
    VERB_GET_OWN,
    VERB_GET_AHEAD,
    VERB_RANK,
    VERB_SHARE,
    VERB_WAIT,   /* create of a waiter's node, and delete of the lock's */
    VERB_PASS,   /* delete of a waiter's node, and the signal to the next one */
    VERB_REVISE, /* get of the own node, whose data is not what SHARE or MARK took it to be */
    VERB_MARK,
    VERB_REMOVE,
    VERB_BEAT,       /* heartbeat */
    VERB_LOOK_SYNC,  /* sync before the list for orphans */
    VERB_LOOK_FIXED, /* get of the node of the fixed name, before that list */
    VERB_LOOK,       /* list for orphans */
    VERB_READY,      /* get of the chroot */
    VERB_CHECK_SYNC, /* zkl_check: the sync, and the get behind it */
    VERB_CHECK_GET,
    VERB_QUEUE_LIST,
    VERB_QUEUE_GET,
    VERB_GET,
    VERB_REVOKE,
    VERB_GUARD,
    VERB_WATCHER_EXISTS, /* a check, or a look: sets the watch, also if there is no node */
    VERB_WATCHER_GET,    /* a look: reads the node */
    VERB_UNWATCH         /* a watch that nobody wants any more is removed */
};

struct call {
    struct call *next, **link; /* in session->calls, in the order of the requests */
    struct zkl_session *session;
    uint64_t id;
    enum verb verb;
    struct zkl_rpc rpc;
    struct zkl_op op; /* of a WRITE */
    zkl_time issued;
    struct stake *stake;             /* counted, or NULL */
    struct zkl_contender *contender; /* counted, or NULL */
    struct zkl_request *request;     /* counted, or NULL */
    struct zkl_watcher *watcher;     /* counted, or NULL */
    struct path *listed;             /* LIST: counted in its `lists`; NULL: never sent */
    size_t index;                    /* QUEUE_GET: which entry; CHECK_GET: which stake */
    char *node;                      /* what the request is about; NULL: out of memory */
    struct zkl_op *ops;              /* of a MULTI, with their paths, if it owns them; else NULL */
    zkl_time look_at;                /* LOOK...: what path->look_at was set to with it */
    bool watching;                   /* a watch on it is set, if the answer comes */
    bool unsent;                     /* answered as that when those before it are answered */
};

/* What a server's answer looks like to the part that asked; see zkl_reply_sift(). */
struct answer {
    int rc;      /* enum zkl_error */
    bool unsent; /* the request was never sent */
    enum zkl_reply reply;
    enum zkl_code why; /* REFUSED: the code for the user */
    const char *text;  /* data, or the path that a single create made */
    int size;          /* of data */
    const struct zkl_stat *stat;
    const char *const *names;
    int count; /* of them */
    const struct zkl_result *results;
    zkl_time now;
};

/* --- watched paths -------------------------------------------------------------------------- */

struct watch {
    struct watch *next;
    unsigned asked;   /* requests for it that are out */
    unsigned owners;  /* claims that asked for it as their own node's */
    unsigned waiters; /* claims that asked for it as another's */
    unsigned keepers; /* watchers: it counts for them also while it is not set */
    bool set;
    bool removing; /* the request to remove it is out */
    bool lasting;  /* the server refused to remove it */
    char path[];
};

/* A claim's reference to a watch of another's node. */
struct want {
    struct want *next; /* in stake->wants */
    struct watch *watch;
};

#ifndef WATCH_BUCKETS
#define WATCH_BUCKETS 256
#endif

struct watches {
    size_t overhead; /* of a path: its length field, and the chroot */
    struct watch *buckets[WATCH_BUCKETS];
    size_t count;
    size_t bytes;    /* of those that are no claim's own node */
    size_t unwanted; /* set, and to be removed */
};

/* watches.c */
/* Another's node: within the limit. */
bool zkl_watches_may(const struct watches *watches, const char *path);
/* The stake wants the watch, and asks for it. False: out of memory. */
bool zkl_watches_ask(struct stake *stake, const char *path, bool own);
void zkl_watches_answer(struct watches *watches, const char *path, bool set);
void zkl_watches_fired(struct watches *watches, const char *path);
void zkl_watches_removing(struct watches *watches, const char *path);
void zkl_watches_removed(struct watches *watches, const char *path, const struct answer *answer);
/* The stake wants none of other nodes for now; what it asked for stays until a heartbeat. */
void zkl_watches_drop_others(struct stake *stake);
/* The claim is GONE: it wants none any more. */
void zkl_watches_leave(struct stake *stake);
/* For a watcher, also in the sessions that follow. NULL: out of memory. */
struct watch *zkl_watches_keep(struct watches *watches, const char *path);
const struct watch *zkl_watches_kept(const struct watches *watches, const char *path); /* or NULL */
void zkl_watches_ask_for(struct watches *watches, struct watch *watch); /* one that is kept */
void zkl_watches_unkeep(struct zkl_session *session, struct watch *watch);
/* If there is a connection; else later. */
void zkl_watches_remove_unwanted(struct zkl_session *session);
/* The session is gone, and all its stakes: nothing is set, and what is kept stays. */
void zkl_watches_clear(struct watches *watches);

/* --- sessions -------------------------------------------------------------------------------- */

#define STATE_NEWS 16 /* state changes kept for a reader that does not come */

struct zkl_session {
    void *owner;
    char *identity;
    double margin;
    zkl_time now; /* as the shell said last */
    zkl_time due; /* of what came in since the last tick; ZKL_NEVER: nothing */

    enum zkl_session_state state;
    struct zkl_party party;
    bool containers;            /* until a server does not know them */
    bool reopen;                /* after an expiry there will be another; not after a refusal */
    bool refused;               /* the server does not take the credentials */
    zkl_time first_question_at; /* ZKL_NEVER: not before the shell says so */
    bool closing;               /* zkl_session_close() was called */
    zkl_time busy_since;        /* since when there are stakes */
    zkl_time last_beat;

    struct path *paths[PATH_BUCKETS], *idle_paths;
    struct stake *stakes, **stakes_end; /* in order of arrival */
    bool starving;                      /* one of them was starved */
    struct stake *fed;                  /* the one that is fed an event after this one */
    struct call *calls, **calls_end;    /* in order; behind those that are out ... */
    struct call *to_send;               /* ... the first that is not sent */
    struct zkl_request *requests;
    struct zkl_watcher *watchers;
    struct watches watches;
    size_t node_bytes; /* of the stakes' node paths */
    uint64_t last_id;
    uint64_t random; /* of pauses */
    int64_t created; /* czxid of the newest create of this ZooKeeper session */
    struct zkl_stats stats;

    struct news *inbox, **inbox_end;
    enum zkl_session_state changes[STATE_NEWS];
    size_t change_first, change_count;
    bool news; /* events were added, and the shell was not told */
};

/* time.c */
void zkl_session_wake(struct zkl_session *session, zkl_time due); /* no later than that */
zkl_time zkl_session_after(const struct zkl_session *session, zkl_time timeout); /* NEVER stays */

/* events.c */
void zkl_events_init(struct zkl_session *session);
void zkl_events_post(struct zkl_session *session, struct news *news, enum zkl_event_kind kind);
void zkl_events_remove(struct zkl_session *session, struct news *news);
void zkl_events_post_state(struct zkl_session *session, enum zkl_session_state state);

/* request.c, records.c */
/* Why the session takes none; ZKL_OK: it does. */
enum zkl_code zkl_request_refusal(const struct zkl_session *session);
struct zkl_request *zkl_request_new(struct zkl_session *session, enum request_kind kind,
                                    zkl_time timeout);
/* About a lease; done already, if it has ended. */
struct zkl_request *zkl_request_of(const zkl_lease *lease, enum request_kind kind,
                                   zkl_time timeout);
void zkl_request_hold(struct zkl_request *request);
void zkl_request_unhold(struct zkl_request *request);
void zkl_request_forget_queue(struct zkl_request *request); /* QUEUE */
void zkl_request_finish(struct zkl_request *request, enum zkl_code code, int error);
/*
 * Ends it with ZKL_CONFLICT: `where` there is a lock of this kind already; `number`: the limit
 * of its permits, or the batch of its turns, or 0.
 */
void zkl_request_conflict(struct zkl_request *request, const char *where, enum zkl_kind kind,
                          int32_t number);
zkl_time zkl_request_due(const struct zkl_session *session); /* the first of them */
void zkl_request_overdue(struct zkl_session *session, zkl_time now);
void zkl_request_fail_all(struct zkl_session *session, enum zkl_code code);

/* query.c */
void zkl_query_begin(struct zkl_request *request); /* unless it takes none */
void zkl_query_again(struct zkl_request *request); /* in a moment */
void zkl_query_start(struct zkl_request *request);
void zkl_query_start_all(struct zkl_session *session);
void zkl_query_answer(struct call *call, const struct answer *answer);

/* watcher.c */
void zkl_reading_forget(struct reading *reading);
void zkl_watcher_hold(struct zkl_watcher *watcher);
void zkl_watcher_unhold(struct zkl_watcher *watcher);
void zkl_watcher_answer(const struct call *call, const struct answer *answer);
void zkl_watcher_event(struct zkl_session *session, const char *node); /* its watch has fired */
void zkl_watcher_start_all(struct zkl_session *session);               /* looks that are due */
zkl_time zkl_watcher_due(const struct zkl_session *session);           /* the first of them */
void zkl_watcher_end_all(struct zkl_session *session);

/* guard.c */
/* To fill in, as many ops as `count` says; each has its path and data. NULL: out of memory. */
struct guard *zkl_guard_new(size_t checks, size_t count);
void zkl_guard_remove(struct guard *guard, size_t op);
void zkl_guard_send(struct zkl_request *request);
void zkl_guard_answer(struct call *call, const struct answer *answer);
void zkl_guard_free(struct guard *guard);

/* signal.c */
void zkl_signal_next(
    struct zkl_request *request); /* the list is there, or a write was carried out */
void zkl_signal_written(struct zkl_request *request, enum zkl_code code, int error);

/* stake.c */
struct stake *zkl_stake_new(struct zkl_session *session, struct path *path,
                            const struct zkl_wish *wish, zkl_time deadline); /* NULL: no memory */
void zkl_stake_hold(struct stake *stake);
void zkl_stake_unhold(struct stake *stake);
void zkl_stake_forget(struct stake *stake); /* GONE; handles may still ask for its state */
size_t zkl_stake_cost(const struct zkl_session *session, size_t path_length);
bool zkl_stake_lost(struct stake *stake, zkl_time now);
enum zkl_code zkl_stake_ended(struct stake *stake); /* RELEASED, LOST, or OK: it has not */
void zkl_stake_writers_gone(struct stake *stake);   /* if it is so: those who read stay */
void zkl_stake_give_up(struct stake *stake, enum zkl_kind kind); /* one handle of it */
/* The request to release ends when the stakes that nobody holds any more are gone. */
void zkl_stake_await_end(struct zkl_request *request);
/* Tells whoever waits for the grant. */
void zkl_stake_finish(struct stake *stake, enum zkl_code code, int error);
/* The same, with the server's reason if it refused. */
void zkl_stake_refuse(struct stake *stake, enum zkl_code code);
/* Whoever waits for the grant to be a reader's, if anybody does. */
void zkl_stake_finish_sharing(struct stake *stake, enum zkl_code code);
void zkl_stake_granted(struct stake *stake);
void zkl_stake_failed(struct stake *stake); /* claim->code */
void zkl_stake_queued(struct stake *stake);
void zkl_stake_tell_loss(struct stake *stake);
/* The own node's data, each time that it is seen. */
void zkl_stake_take_data(struct stake *stake, const struct answer *answer);
void zkl_stake_resume_all(struct zkl_session *session, zkl_time now);
void zkl_stake_suspend_all(struct zkl_session *session);
void zkl_stake_expire_all(struct zkl_session *session);
void zkl_stake_close_all(struct zkl_session *session);
void zkl_stake_tick_all(struct zkl_session *session, zkl_time now);
void zkl_stake_beat_all(struct zkl_session *session, zkl_time now);
void zkl_stake_wake_all(struct zkl_session *session, zkl_time now); /* pauses that are over */
zkl_time zkl_stake_wake_due(const struct zkl_session *session);     /* the end of the first */
void zkl_stake_notice_all(struct zkl_session *session, zkl_time now);

/* stake_actions.c */
void zkl_stake_perform(struct stake *stake, zkl_actions actions);
/*
 * All or none, about the stake. The paths of the ops are the function's from now on; where one is
 * NULL, or `ops` is, there was no memory for it.
 */
void zkl_stake_transact(struct stake *stake, enum verb verb, const struct zkl_op *ops,
                        size_t count);
void zkl_stake_share(struct stake *stake);
void zkl_stake_mark(struct stake *stake);
void zkl_stake_revise(struct stake *stake); /* somebody wrote into the own node: what? */
void zkl_stake_look_later(struct zkl_session *session, struct path *path);

/* stake_news.c */
void zkl_stake_answer(struct call *call, const struct answer *answer);
void zkl_stake_answer_starved(struct zkl_session *session);
void zkl_stake_event(struct zkl_session *session, enum zkl_node_event event, const char *node);
void zkl_stake_look_for_orphans(struct path *path, struct zkl_session *session);
/* The same after a get of the node of the fixed name. */
void zkl_stake_look_for_stray(struct path *path, struct zkl_session *session,
                              const struct zkl_stat *stat);
/* The one whose node that is; NULL: nobody's. */
struct stake *zkl_stake_of(struct zkl_session *session, const char *node);
/* That node is not there: takes note if it is the stake's. False: it has another name now. */
bool zkl_stake_absent(struct stake *stake, const char *node);

/* multi.c */
void zkl_stakes_set(struct stakes *stakes, struct stake *one);
bool zkl_stakes_copy(struct stakes *to, const struct stakes *from); /* false: no memory */
void zkl_stakes_drop(struct stakes *stakes);
struct stake *zkl_stakes_at(const struct stakes *stakes, size_t i);
bool zkl_stakes_have(const struct stakes *stakes, const struct stake *stake);
enum zkl_code zkl_stakes_ended(const struct stakes *stakes); /* of any, as zkl_stake_ended() */
bool zkl_multi_is_part(const struct stake *stake);
void zkl_multi_create(struct stake *stake); /* the nodes of all parts */
void zkl_multi_created(struct call *call, const struct answer *answer);
void zkl_multi_grant(struct stake *stake); /* the first handle on each part, or on a single stake */
void zkl_multi_failed(struct stake *stake); /* a part: the others need not wait */
void zkl_multi_lost(struct stake *stake);   /* a part: the others are given up */

/* condition.c */
void zkl_condition_create(struct stake *waiter);
void zkl_condition_pass(struct stake *waiter);
void zkl_condition_turn(struct stake *waiter);   /* it matters to the lock's stake */
void zkl_condition_failed(struct stake *stake);  /* its waiter, if any, need not go on */
bool zkl_condition_granted(struct stake *stake); /* false: it was not away */
zkl_actions zkl_condition_waited(const struct call *call, const struct answer *answer);
zkl_actions zkl_condition_passed(const struct call *call, const struct answer *answer);

/* lease.c */
/* Why the session takes no wish now, or not so many; ZKL_OK: it does. */
enum zkl_code zkl_lease_refusal(const struct zkl_session *session, const struct zkl_wish *wishes,
                                size_t count);
/* Has the request wait for the stake's grant. */
void zkl_lease_attend(struct zkl_request *request, struct stake *stake);
void zkl_lease_give_up_all(const struct stakes *stakes, enum zkl_kind kind);
enum zkl_code zkl_lease_ended(const zkl_lease *lease); /* as zkl_stake_ended() */

/* path.c */
struct path *zkl_path_find(struct zkl_session *session, const char *text, size_t length);
struct path *zkl_path_use(struct zkl_session *session, const char *text);   /* NULL: no memory */
struct path *zkl_path_next(struct zkl_session *session, struct path *path); /* NULL: first, last */
void zkl_path_idle(struct zkl_session *session, struct path *path); /* nothing keeps it now */
void zkl_path_tidy(struct zkl_session *session); /* frees the idle ones, unless used again */
char *zkl_path_join(const char *parent, const char *name); /* NULL: no memory */

/* call.c */
struct call *zkl_call_new(struct zkl_session *session, enum verb verb, struct stake *stake,
                          struct zkl_request *request); /* NULL: out of memory */
/* These put it into the queue. It is about parent, or parent/name. */
void zkl_call_create(struct call *call, const char *parent, const char *name, const char *data,
                     enum zkl_node_mode mode);
void zkl_call_delete(struct call *call, const char *parent, const char *name,
                     int32_t version); /* -1: whatever it is */
void zkl_call_set(struct call *call, const char *parent, const char *name, const char *data,
                  int32_t version); /* -1: whatever it is */
/* All or none. It is about the node of the first. The ops stay as they are until the answer. */
void zkl_call_transact(struct call *call, const struct zkl_op *ops, size_t count);
/* The same; it has a copy of them, and their paths are its own from now on. */
void zkl_call_transact_own(struct call *call, const struct zkl_op *ops, size_t count);
void zkl_call_list(struct call *call, const char *parent);
void zkl_call_sync(struct call *call, const char *node);
void zkl_call_get(struct call *call, const char *parent, const char *name);
/* A get with a watch: the own node's of VERB_GET_OWN, else another's. */
void zkl_call_watch(struct call *call, const char *parent, const char *name);
void zkl_call_exists(struct call *call); /* of its watcher's node, with a watch */
void zkl_call_unwatch(struct call *call, const char *node);
void zkl_call_unlink(struct call *call); /* out of the queue */
void zkl_call_free(struct call *call);
void zkl_call_answer_all(struct zkl_session *session); /* none will be: as unknown */
/* Which operation the server refused, from 0; the count: it does not say. */
size_t zkl_call_refused(const struct call *call, const struct answer *answer);

/* reply.c */
void zkl_reply_sift(const struct call *call, struct answer *answer); /* what may be believed */

#endif
