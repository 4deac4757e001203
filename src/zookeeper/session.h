/*
 * session.h - ZooKeeper sessions, locks and leases for any host language.
 *
 * This is the only way into src/zookeeper. Nothing here knows Lua.
 *
 * Threads. Every function may be called from any thread of the process that
 * opened the session, holding no lock of its own that a caller of another
 * function might wait for. Nothing here calls back: what happened is put into
 * the session's inbox, from which zkl_session_next() takes it in the caller's
 * own thread. Only zkl_session_wait(), zkl_session_poll() and
 * zkl_session_close() block, each for a bounded time.
 *
 * Fork. In a forked child a session is dead: only the ..._foreign() and
 * ..._drop() functions may be called there; the latter do nothing.
 *
 * Ownership. Sessions, requests and leases are counted; whoever gets one from
 * a function here has a count and gives it back with the ..._drop() function.
 */
#ifndef ZKL_SESSION_H
#define ZKL_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../core/clock.h"
#include "../core/code.h"
#include "../core/name.h"

typedef struct zkl_session zkl_session;
typedef struct zkl_request zkl_request;
typedef struct zkl_lease zkl_lease;     /* one handle on a grant */
typedef struct zkl_watcher zkl_watcher; /* a node that the user wants to hear of */

/* --- sessions ----------------------------------------------------------------------- */

enum zkl_session_state {
    ZKL_SESSION_CONNECTING, /* not yet connected, or opening anew after an expiry */
    ZKL_SESSION_CONNECTED,
    ZKL_SESSION_SUSPENDED, /* the connection is lost, the session may live */
    ZKL_SESSION_EXPIRED,   /* the server ended it, or has lost it */
    ZKL_SESSION_CLOSED
};

enum zkl_acl { ZKL_ACL_OPEN, ZKL_ACL_CREATOR, ZKL_ACL_READ };

struct zkl_options {
    const char *hosts;       /* host[:port],... without the chroot */
    const char *chroot;      /* "" for none, else an absolute path */
    zkl_time timeout;        /* session timeout asked for, at least ZKL_TIMEOUT_LEAST */
    double margin;           /* see clock.h */
    const char *auth_scheme; /* NULL: none */
    const char *auth;        /* credentials of that scheme */
    enum zkl_acl acl;        /* of the nodes made */
    bool containers;         /* make missing parents as containers, else persistent */
    bool reopen;             /* after an expiry open a new session */
    const char *identity;    /* stored in every lock node */
};

/*
 * Begins to connect; the options are copied. NULL with errno when there is no
 * memory, descriptor or thread to be had.
 */
zkl_session *zkl_session_new(const struct zkl_options *options);
void zkl_session_drop(zkl_session *session);

/* True in a process that did not open the session. */
bool zkl_session_foreign(const zkl_session *session);

enum zkl_session_state zkl_session_state(zkl_session *session);
uint64_t zkl_session_id(zkl_session *session);      /* 0: none */
zkl_time zkl_session_timeout(zkl_session *session); /* negotiated; 0: none */

/* Why no connection can be tried: 0, an EAI_ code (negative) or an errno value. */
int zkl_session_trouble(zkl_session *session);

/* What is too short for a session timeout, whoever wishes it. */
#define ZKL_TIMEOUT_LEAST (ZKL_SECOND / 10)
/* The session timeout that a server granted, and that is too short; ZKL_NEVER: none did. */
zkl_time zkl_session_denial(zkl_session *session);

/*
 * Releases everything, ends every wait with ZKL_CLOSED and closes the session
 * in the background; waits for that at most `bound`. True: it is closed.
 */
bool zkl_session_close(zkl_session *session, zkl_time bound);

/* The same without waiting: for finalizers, and for hosts that may not block. */
void zkl_session_close_soon(zkl_session *session, zkl_time bound);
bool zkl_session_ended(zkl_session *session); /* it is closed, not only about to */

/* Gives up every lease of an owner, whoever has handles on it; how many. */
size_t zkl_session_release_all(zkl_session *session, const char *owner);

struct zkl_stats {
    uint64_t creates, sets, deletes, lists, gets, exists, syncs; /* requests sent */
    uint64_t grants, losses, waits, timeouts;
    uint64_t reconnects, expiries, orphans;
    uint64_t events;         /* of watches, received */
    size_t in_flight;        /* requests without an answer yet */
    size_t claims;           /* contenders of this session, from wish to gone */
    size_t watches;          /* node watches set, asked for, or kept for a watcher */
    size_t watch_bytes;      /* of watched paths of others' nodes, limited to ZKL_WATCHES_MAX */
    size_t paths;            /* bytes of ephemeral paths, limited to ZKL_PATHS_MAX */
    uint64_t watch_removals; /* requests sent */
};
void zkl_session_stats(zkl_session *session, struct zkl_stats *stats);

/*
 * Bytes of node paths, and of watched paths of others' nodes, that one session may have. A
 * session with more than 2 MB of ephemerals poisons the log (ZOOKEEPER-4306). One with more
 * than 1 MB of watches cannot reconnect (ZOOKEEPER-706): a claim's own node may always be
 * watched, so both together have to be less.
 */
#define ZKL_PATHS_MAX ((size_t)512 * 1024)
#define ZKL_WATCHES_MAX ((size_t)256 * 1024)

/* --- the inbox ------------------------------------------------------------------------ */

enum zkl_event_kind {
    ZKL_EVENT_NONE,
    ZKL_EVENT_REQUEST, /* a request is done */
    ZKL_EVENT_QUEUED,  /* an acquire waits in line */
    ZKL_EVENT_LEASE,   /* a grant changed its phase (suspect, held, lost), or was revoked */
    ZKL_EVENT_STATE,   /* the session changed its state */
    ZKL_EVENT_WATCHER  /* a watcher has something to tell */
};

struct zkl_event {
    enum zkl_event_kind kind;
    uint64_t id;                  /* of the request, of the grant, or of the watcher */
    size_t position;              /* QUEUED: 2 = next */
    enum zkl_phase phase;         /* LEASE */
    enum zkl_session_state state; /* STATE */
};

/* Takes the next event out of the inbox; false when it is empty. */
bool zkl_session_next(zkl_session *session, struct zkl_event *event);

/* Waits until the inbox is not empty. False: `timeout` passed first. */
bool zkl_session_wait(zkl_session *session, zkl_time timeout);

/* The same for several; returns early on a signal. */
bool zkl_session_poll(zkl_session *const *sessions, size_t count, zkl_time timeout);

/* A descriptor that is readable while the inbox is not empty. -1: errno. */
int zkl_session_fd(zkl_session *session);

/*
 * The same for a host that waits only for sockets which it connected itself (nginx): the path
 * of a unix socket to connect to, in a folder of its own in $TMPDIR, else in /tmp. 0, or an
 * errno value. zkl_session_accept() takes the connection, if it is of this process, and removes
 * socket and folder; false: there is none. From then on a byte comes when the inbox is no longer
 * empty; zkl_session_heard() says that it was read, and only then another comes, so it is called
 * before the inbox is emptied.
 */
#define ZKL_SOCKET_PATH 108 /* bytes, with the final NUL */
int zkl_session_listen(zkl_session *session, char path[ZKL_SOCKET_PATH]);
bool zkl_session_accept(zkl_session *session);
void zkl_session_heard(zkl_session *session);
void zkl_session_poke(zkl_session *session); /* a byte comes, whatever is in the inbox */

/* --- requests -------------------------------------------------------------------------- */

/*
 * Each of these starts a request; it is done when its answer is there, at its
 * deadline, or when the session closes. NULL: out of memory.
 */

/* Connected, credentials and chroot checked with one request. */
zkl_request *zkl_session_ready(zkl_session *session, zkl_time timeout);

struct zkl_wish {
    const char *path;
    enum zkl_kind kind;
    const char *owner; /* any text; equal texts are one owner */
    const char *data;  /* shown to others; may be NULL */
    zkl_time timeout;  /* ZKL_NEVER: wait for ever */
    bool trying;       /* do not queue */
    bool reentrant;    /* else a second acquire by the owner would deadlock; not of a PERMIT */
    zkl_time jitter;   /* UNFAIR: the longest pause after the end of a hold; 0: none */
    int32_t batch;     /* MUTEX: grants of a turn, to ZKL_BATCH_MAX; 0: each has its own node */
    int32_t permits;   /* PERMIT: 1 to limit; each acquire is a grant of its own */
    int32_t limit;     /* PERMIT: of the semaphore */
};
zkl_request *zkl_acquire(zkl_session *session, const struct zkl_wish *wish);

/*
 * All of several or none, under one deadline: their nodes are made at once. The wishes differ
 * in path, kind and data. One lease for all, lost with any of them. ZKL_WOULD_DEADLOCK: the
 * owner holds one of them. ZKL_LOST: the node of one was removed, or was never made because
 * the request got lost: try again.
 */
zkl_request *zkl_acquire_all(zkl_session *session, const struct zkl_wish *wishes, size_t count);

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
 * who waits. ZKL_OK: it was signalled, and the lock is had again by all the lease's handles,
 * with another token. Else they are released or, when the wait for certain did not begin
 * (ZKL_AUTH...), as before. ZKL_UNSUPPORTED: the handle is not of a mutex or writer, or of a
 * multi-lock.
 */
zkl_request *zkl_wait(zkl_lease *lease, const char *folder, zkl_time timeout);

/* Gives the handle up; done when the server has removed the node. */
zkl_request *zkl_release_wait(zkl_lease *lease, zkl_time timeout);

/* The contenders on a path, as a lock of this kind has them; `brief`: only what names tell. */
zkl_request *zkl_queue(zkl_session *session, const char *path, enum zkl_kind kind, bool brief,
                       zkl_time timeout);

struct zkl_queued {
    char *name;
    char *data; /* as stored, with `size` bytes */
    size_t size;
    enum zkl_kind kind;
    int32_t sequence;
    int32_t permits, limit; /* PERMIT */
    int64_t czxid;
    int32_t served; /* of a node of ours: grants of its turn before the latest */
    uint64_t session;
    bool ours;
};

/* Asks the holder whose node that is to give way, with a word of Curator's (name.h). */
zkl_request *zkl_revoke(zkl_session *session, const char *node, zkl_time timeout);

/* What is in any node. */
zkl_request *zkl_get(zkl_session *session, const char *path, zkl_time timeout);

enum zkl_node_mode {
    ZKL_PERSISTENT,
    ZKL_EPHEMERAL, /* it goes with the session */
    ZKL_SEQUENTIAL /* that, and the server adds a number to its name */
};

enum zkl_op_kind { ZKL_OP_SET, ZKL_OP_CREATE, ZKL_OP_DELETE, ZKL_OP_CHECK };

/* "set", "create", "delete", "check", by kind; NULL at the end. */
extern const char *const zkl_op_names[];

struct zkl_op {
    enum zkl_op_kind kind;
    enum zkl_node_mode mode; /* CREATE */
    int32_t version;         /* of the node: the one expected, -1 any; not for CREATE */
    const char *path;
    const char *data; /* SET, CREATE */
    size_t size;
};

/*
 * Carries all of it out if the lease's node exists, else (ZKL_LOST) nothing. Sent once, when
 * there is a connection: without an answer it is open whether it was carried out.
 */
zkl_request *zkl_guard(zkl_lease *lease, const struct zkl_op *ops, size_t count, zkl_time timeout);

bool zkl_request_foreign(const zkl_request *request);
uint64_t zkl_request_id(const zkl_request *request);
bool zkl_request_done(zkl_request *request);
enum zkl_code zkl_request_code(zkl_request *request); /* when done */
const char *zkl_request_detail(zkl_request *request); /* what was found, or the server's
                                                         reason, or NULL */
zkl_lease *zkl_request_lease(zkl_request *request);   /* takes it; NULL: none or taken */
const struct zkl_queued *zkl_request_queue(zkl_request *request, size_t *count);
const char *zkl_request_data(zkl_request *request, size_t *size, int32_t *version); /* get's */
bool zkl_request_sent(zkl_request *request);      /* a guard: perhaps it was carried out */
size_t zkl_request_refused(zkl_request *request); /* which of its ops, from 1; 0: none */
int32_t zkl_request_version(zkl_request *request, size_t op); /* after that one; SET only */
void zkl_request_cancel(zkl_request *request, enum zkl_code why);
void zkl_request_drop(zkl_request *request); /* cancels; releases a lease not taken */

/* --- leases ---------------------------------------------------------------------------- */

enum zkl_lease_state { ZKL_LEASE_HELD, ZKL_LEASE_SUSPECT, ZKL_LEASE_LOST, ZKL_LEASE_RELEASED };

uint64_t zkl_lease_id(const zkl_lease *lease); /* of the grant: shared by its handles */
int64_t zkl_lease_token(const zkl_lease *lease);
zkl_session *zkl_lease_session(const zkl_lease *lease); /* not counted */
enum zkl_lease_state zkl_lease_state(zkl_lease *lease);
zkl_time zkl_lease_remaining(zkl_lease *lease);
bool zkl_lease_revoked(zkl_lease *lease); /* somebody asked for the lock */
void zkl_lease_listen(zkl_lease *lease);  /* to that, from now on, not from the next heartbeat */

/* ZKL_OK, ZKL_LOST or ZKL_RELEASED; does not wait. */
enum zkl_code zkl_lease_release(zkl_lease *lease);
void zkl_lease_drop(zkl_lease *lease); /* releases */

/* --- watchers --------------------------------------------------------------------------- */

/*
 * Hears how a node is, first, and after each change, also if that came while there was no
 * connection, or while the session was opened anew; of changes in quick succession the last. It
 * ends with the session. NULL: out of memory, or `why` is ZKL_TOO_MANY (ZKL_WATCHES_MAX),
 * ZKL_CLOSED or ZKL_EXPIRED.
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
 * What there is to tell, until zkl_watcher_told(): what it points to is constant until the next
 * call of this. False: nothing that differs from what was told last.
 */
bool zkl_watcher_look(zkl_watcher *watcher, struct zkl_sight *sight);
void zkl_watcher_told(zkl_watcher *watcher);
void zkl_watcher_drop(zkl_watcher *watcher); /* it ends */

/* The time that all of this is measured by. */
zkl_time zkl_now(void);

#endif
