/*
 * internal.h - what the files of src/zookeeper share.
 *
 * One mutex a client guards everything of it, the session included. It is held
 * while requests are handed to libzookeeper (which only queues them), and never
 * while zookeeper_close() or getaddrinfo() run: the one joins threads that may
 * want it, the other takes long.
 *
 * Threads of a client: libzookeeper's two for each handle, of which there is a
 * second while the first is doubted (probe.c); the keeper (keeper.c), which has
 * the time; and a short-lived worker (handle.c) for each opening or closing of
 * a handle. All of them block every signal.
 */
#ifndef ZKL_ZOOKEEPER_INTERNAL_H
#define ZKL_ZOOKEEPER_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#ifndef THREADED
#define THREADED
#endif
#include <zookeeper/zookeeper.h>

#include "client.h"

/* Addresses of the hosts, as they were when a handle was opened. */
struct servers {
    struct sockaddr_storage *list;
    size_t count;
};

/* A second handle: is there a server, and does it refuse the first one? See probe.c. */
struct probe {
    zhandle_t *handle; /* NULL: none */
    struct servers servers;
    zkl_time open_at; /* when to try to open another */
    zkl_time since;   /* since when it is connected; 0: it is not */
    bool asked;       /* a request is out on it */
    bool dead;        /* to be replaced */
    bool credentials_given;
};

/* A request that libzookeeper has; rpc.c. */
struct rpc;

struct zkl_client {
    /* Constant after creation. */
    pid_t process;
    zkl_time timeout_wanted;
    char *hosts, *chroot, *auth_scheme, *auth;
    enum zkl_acl acl;
    bool reopen; /* open a new handle after an expiry */

    atomic_uint references; /* the caller's, the keeper's, the worker's, requests' and leases' */
    struct zkl_client *next, **link; /* all clients of the process; guarded in process.c */

    pthread_mutex_t mutex; /* guards all that follows */
    pthread_cond_t news;   /* the inbox is not empty, or the session is closed */
    pthread_cond_t alarm;  /* the keeper has to look */

    zkl_session *session;
    struct rpc *rpcs; /* that are out, or whose answer libzookeeper lost */

    zhandle_t *handle;               /* open; NULL: none, requests cannot be sent */
    zhandle_t *retired;              /* to be closed by the worker */
    struct servers servers;          /* of the handle */
    struct probe probe;              /* beside a handle that is not connected for long */
    bool working;                    /* a worker thread runs */
    bool opening;                    /* a new handle is wanted */
    bool refused;                    /* the credentials: no other handle is wanted */
    bool credentials_given;          /* to this handle */
    atomic_bool credentials_unheard; /* the answer to them was lost; handle.c */
    zkl_time first_pause;            /* ahead of the first question, with the last connection */
    bool closing;                    /* zkl_client_close() was called */
    zkl_time close_by;               /* closing: when not to wait for anything any longer */
    int open_error;                  /* why no handle could be opened: an EAI_ or errno value */
    zkl_time denied;                 /* a server granted that timeout, too short; ZKL_NEVER: none */

    zkl_time keeper_due; /* when the keeper looks next */
    zkl_time work_at;    /* when to try to have a worker again */
    zkl_time open_at;    /* when to try to open again */
    zkl_time sweep_at;   /* not connected: when to look for a new socket */
    zkl_time unconnected_since;

    bool announced; /* waiters for news are to be woken */
    int pipe[2];    /* -1 until zkl_client_fd() is called */
    bool piped;     /* a byte is in the pipe */
    int door;       /* where the host is to connect; -1: nowhere */
    char door_path[ZKL_SOCKET_PATH];
    int bell;  /* the connection; -1: none */
    bool rung; /* a byte is in it, or its reader has not said that it came */
};

/* client.c; the mutex is held */
void zkl_client_settle(struct zkl_client *client); /* does what the session wants done */
/* The mutex is not held. */
void zkl_client_begin_close(struct zkl_client *client, zkl_time due);

/* thread.c */
zkl_time zkl_due(zkl_time timeout); /* that time from now; ZKL_NEVER stays */
void zkl_lock(struct zkl_client *client);
void zkl_unlock(struct zkl_client *client);
void zkl_wait_until(struct zkl_client *client, pthread_cond_t *condition, zkl_time due);
/* A detached thread. 0, or an errno value. */
int zkl_thread_start(void *(*run)(void *), void *argument);
/*
 * 0 if there is room for the two threads of a handle, else an errno value: without them
 * zookeeper_init() aborts (ZOOKEEPER-5073). Two are started, and end when both are there.
 * Whatever else starts threads may take their room in the moment that follows.
 */
int zkl_thread_room(void);

/* inbox.c; the mutex is held */
void zkl_inbox_init(struct zkl_client *client);
void zkl_inbox_destroy(struct zkl_client *client);
void zkl_inbox_update(struct zkl_client *client); /* it is empty, or not any more */

/* bell.c; the mutex is held */
void zkl_bell_init(struct zkl_client *client);
void zkl_bell_ring(struct zkl_client *client);
void zkl_bell_destroy(struct zkl_client *client);

/* rpc.c; the mutex is held, except for zkl_rpc_forget_all() */
void zkl_rpc_send_all(struct zkl_client *client); /* what the session has queued */
void zkl_rpc_forget_all(struct zkl_client *client);

/* keeper.c */
int zkl_keeper_start(struct zkl_client *client);
void zkl_keeper_wake(struct zkl_client *client, zkl_time due); /* the mutex is held */

/* handle.c; the mutex is held */
void zkl_handle_work(struct zkl_client *client, zkl_time now);
zkl_time zkl_handle_due(const struct zkl_client *client, zkl_time now); /* for a worker */
zkl_time zkl_handle_timeout(zhandle_t *handle);                         /* negotiated */

/* probe.c; the mutex is held */
bool zkl_probe_wanted(const struct zkl_client *client, zkl_time now);
void zkl_probe_event(struct zkl_client *client, int state);
void zkl_probe_ask(struct zkl_client *client, zkl_time now);
zkl_time zkl_probe_open_due(const struct zkl_client *client);
zkl_time zkl_probe_ask_due(const struct zkl_client *client);

/* hosts.c */
int zkl_hosts_resolve(const char *hosts, struct servers *servers);
char *zkl_hosts_format(const struct servers *servers, const char *chroot); /* NULL: no memory */

/* descriptors.c */
struct descriptors;
struct descriptors *zkl_descriptors_before(void);
void zkl_descriptors_after(struct descriptors *before); /* closes them on exec */
void zkl_descriptors_sockets(const struct servers *servers);

/* process.c */
bool zkl_process_is(pid_t process);
int zkl_process_enlist(struct zkl_client *client);
void zkl_process_delist(struct zkl_client *client);

#endif
