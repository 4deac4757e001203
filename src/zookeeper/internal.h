/*
 * internal.h - declarations that the files of src/zookeeper share.
 *
 * Threads of a link: libzookeeper's two for each handle, with a second handle while the first one
 * is in doubt (probe.c); and short-lived ones, for each opening or closing of a handle (handle.c),
 * for resolving names (names.c) and for operations that a server may not know (trial.c). The
 * client's mutex is held while requests are handed to libzookeeper, and never while
 * zookeeper_close() or getaddrinfo() run: the one joins threads that may want it, the other takes
 * long. A link with a folder for its session has one thread more, for a while (recovery.c).
 */
#ifndef ZKL_ZOOKEEPER_INTERNAL_H
#define ZKL_ZOOKEEPER_INTERNAL_H

#include <netdb.h>
#include <stdatomic.h>
#include <sys/socket.h>

#ifndef THREADED
#define THREADED
#endif
#include <zookeeper/zookeeper.h>

#include "../core/route.h"
#include "session_file.h"
#include "zookeeper_link.h"

/* Addresses of the hosts, as they were last resolved. */
struct servers {
    struct sockaddr_storage *list;
    size_t count;
};

/* A host list as it was given. It lives as long as the link, because other threads may read it. */
struct hosts {
    struct hosts *next; /* the one before */
    char text[];
};

/* Where libzookeeper waits between two servers; gate.c. */
struct gate {
    int listener;                    /* -1: closed */
    struct sockaddr_storage address; /* the listener's */
    struct sockaddr_storage server;  /* the last one that libzookeeper was let through to */
    int waiting;                     /* libzookeeper's connection; -1: it is elsewhere */
    zkl_time look_at;                /* whether it waits; ZKL_NEVER: it is connected to a server */
    zkl_time pause;                  /* until the look after that */
};

/* A second handle: is there a server, and does it refuse the first one? See probe.c. */
struct probe {
    zhandle_t *handle; /* NULL: none */
    struct gate gate;
    struct zkl_route route;
    zkl_time open_at; /* when to try to open another */
    zkl_time since;   /* since when it is connected; 0: it is not */
    bool asked;       /* a request is out on it */
    bool dead;        /* to be replaced */
    bool credentials_given;
};

/* The operations that zklock needs; trial.c. */
enum zkl_operation {
    ZKL_OPERATION_CREATE,
    ZKL_OPERATION_CONTAINER,
    ZKL_OPERATION_DELETE,
    ZKL_OPERATION_EXISTS,
    ZKL_OPERATION_GET,
    ZKL_OPERATION_SET,
    ZKL_OPERATION_LIST,
    ZKL_OPERATION_SYNC,
    ZKL_OPERATION_MULTI,
    ZKL_OPERATION_UNWATCH,
    ZKL_OPERATIONS
};

enum zkl_verdict { ZKL_VERDICT_NONE, ZKL_VERDICT_KNOWN, ZKL_VERDICT_UNKNOWN };

struct trial {
    enum zkl_verdict verdict; /* the servers' answer to the operation */
    bool lost;                /* a connection ended at it, and it is to be tried */
};

/* The trials of a link. */
struct trials {
    struct trial of[ZKL_OPERATIONS];
    bool running; /* in a thread */
};

/* A request that libzookeeper has; rpc.c. */
struct rpc;

struct zkl_link {
    /* Constant after creation. */
    struct zkl_client *client;
    zkl_session *session; /* the client's */
    zkl_time timeout_wanted;
    char *chroot, *auth_scheme, *auth;
    enum zkl_acl acl;
    bool reopen;    /* open a new handle after an expiry */
    zkl_time grace; /* the wait before dead sessions are ended */

    struct hosts *hosts;
    struct zkl_session_storage storage; /* where the session is saved; folder NULL: nowhere */

    struct rpc *rpcs; /* requests that are out, or whose answer libzookeeper lost */
    struct trials trials;

    zhandle_t *handle;               /* open; NULL: none, requests cannot be sent */
    zhandle_t *retired;              /* to be closed by the worker */
    struct gate gate;                /* the handle's */
    struct servers servers;          /* in the order of both routes */
    struct zkl_route route;          /* to the handle's next server */
    bool resolving;                  /* a thread resolves the hosts */
    struct probe probe;              /* beside a handle that is not connected for long */
    bool working;                    /* a worker thread runs */
    bool opening;                    /* a new handle is wanted */
    bool refused;                    /* the credentials were refused: no other handle is wanted */
    bool credentials_given;          /* to this handle */
    atomic_bool credentials_unheard; /* the answer to them was lost; handle.c */
    zkl_time first_pause;            /* before the first request, on the last connection */
    struct zkl_trouble trouble;

    struct zkl_session_file *file; /* of the handle's session; NULL: none, or not written */
    bool recovery_begun;

    zkl_time work_at;  /* no worker could be started: when to try again */
    zkl_time open_at;  /* when to try to open again */
    zkl_time sweep_at; /* not connected: when to search for a new socket */
    zkl_time unconnected_since;
};

/* rpc.c; the mutex is held, except for zkl_rpc_forget_all() */
bool zkl_rpc_send(struct zkl_link *link, const struct zkl_rpc *rpc);
void zkl_rpc_forget_all(struct zkl_link *link);

/* handle.c; the mutex is held */
void zkl_handle_retire(struct zkl_link *link); /* its session is over */
void zkl_handle_work(struct zkl_link *link, zkl_time now);
zkl_time zkl_handle_due(const struct zkl_link *link, zkl_time now); /* of a worker */
/* Of a connected handle: its session has an id, and a timeout that is long enough. */
bool zkl_handle_is_sound(zhandle_t *handle);
/*
 * Gives a handle its credentials, when it is first connected: between two attempts to connect it
 * takes none. It repeats them on each later connection. `given`: it has them already; the mutex
 * guards that, unless it is one thread's own. `heard` gets the answer; NULL: nobody does.
 */
void zkl_handle_give_credentials(struct zkl_link *link, zhandle_t *handle, bool *given,
                                 void_completion_t heard);

#define ZKL_GATE_HOST "127.122.107.108"

/* gate.c; the mutex is held. A gate is begun before its handle is opened, and ends after it. */
void zkl_gate_init(struct gate *gate);
int zkl_gate_begin(struct gate *gate); /* 0, or an errno value */
void zkl_gate_end(struct gate *gate);
/* The host list to open a handle with: the server, then the gate. NULL: out of memory. */
char *zkl_gate_list(struct gate *gate, const struct sockaddr_storage *server, const char *chroot);
/* Between the two, libzookeeper keeps the order of a list that it is given. */
void zkl_gate_keep_order(void);
void zkl_gate_any_order(void);
void zkl_gate_look(struct gate *gate, zkl_time now); /* libzookeeper is on its way to the gate */
void zkl_gate_ignore(struct gate *gate);             /* it is connected to a server */
bool zkl_gate_waits(struct gate *gate, zkl_time timeout, zkl_time now); /* to be let through */
void zkl_gate_open(struct gate *gate, zhandle_t *handle, const struct sockaddr_storage *server,
                   zkl_time now);

/* names.c; the mutex is held */
void zkl_names_resolve(struct zkl_link *link, zkl_time now); /* in a thread, when it is due */
zkl_time zkl_names_due(const struct zkl_link *link);
void zkl_names_give(const struct zkl_link *link, struct zkl_route *route);
/* The list belongs to the link from now on. */
void zkl_names_take(struct zkl_link *link, const struct servers *found);

/* probe.c; the mutex is held */
bool zkl_probe_wanted(const struct zkl_link *link, zkl_time now);
void zkl_probe_event(struct zkl_link *link, int state);
void zkl_probe_ask(struct zkl_link *link, zkl_time now);
zkl_time zkl_probe_open_due(const struct zkl_link *link);
zkl_time zkl_probe_ask_due(const struct zkl_link *link);

/* recovery.c; the mutex is not held */
void zkl_recovery_save(struct zkl_link *link, zhandle_t *handle); /* before the session is told */
void zkl_recovery_forget(struct zkl_link *link, bool over);       /* after its handle's end */
void zkl_recovery_move(struct zkl_link *link);                    /* its file names the new hosts */

/* greeting.c; it blocks until `by` */
enum zkl_greeting { ZKL_GREETING_SILENCE, ZKL_GREETING_KNOWN, ZKL_GREETING_UNKNOWN };
enum zkl_greeting zkl_greet(const struct sockaddr_storage *server, const clientid_t *id,
                            zkl_time timeout, zkl_time by);
/* A server that knows the session is told to end it. */
enum zkl_greeting zkl_farewell(const struct zkl_link *link, const struct sockaddr_storage *server,
                               const clientid_t *id, zkl_time by);

/* link.c; the mutex is held */
zkl_time zkl_link_timeout(const struct zkl_link *link); /* of the session, or the one asked for */
const struct sockaddr_storage *zkl_link_choose(const struct zkl_link *link,
                                               struct zkl_route *route); /* not before it is due */
/* Both belong to the link from now on. */
void zkl_link_take_hosts(struct zkl_link *link, struct hosts *hosts, const struct servers *servers);
/* The sockets of the gate's handle. */
void zkl_link_close_on_exec(const struct zkl_link *link, const struct gate *gate);

/* hosts.c */
struct hosts *zkl_hosts_new(const char *text);                   /* for free(); NULL: no memory */
socklen_t zkl_hosts_size(const struct sockaddr_storage *server); /* in bytes */
int zkl_hosts_resolve(const char *hosts, struct servers *servers);
char *zkl_hosts_format(const struct servers *servers, const char *chroot); /* NULL: no memory */
#define ZKL_ADDRESS_SIZE (NI_MAXHOST + NI_MAXSERV + 2)
/* "host:port", as numbers; its length, 0: it has no such form. */
int zkl_hosts_format_one(const struct sockaddr_storage *server, char text[ZKL_ADDRESS_SIZE]);

/* complaint.c */
void zkl_complaint_hear(const char *message); /* a line of libzookeeper's log */
enum zkl_complaint zkl_complaint_about(const struct servers *servers);

/* descriptors.c */
struct descriptors;
struct descriptors *zkl_descriptors_before(void);
void zkl_descriptors_after(struct descriptors *before); /* new pipes: close-on-exec */
void zkl_descriptors_sockets(const struct servers *servers);
/* A socket of this process has that address on its side. */
bool zkl_descriptors_own(const struct sockaddr_storage *address);

#endif
