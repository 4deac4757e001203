/*
 * internal.h - declarations for src/zookeeper.
 *
 * A link's threads are two of libzookeeper's for each handle (a second handle is the probe,
 * probe.c), short-lived ones that open and close handles (handle.c), resolve names (names.c), ask a
 * server whether it answers (choice.c), look for sockets (search.c) or try operations (trial.c),
 * and one that ends dead sessions (recovery.c). The client's mutex is held while requests are
 * handed to libzookeeper, and never during zookeeper_close(), which joins threads that may wait for
 * the mutex, or getaddrinfo() and a search, which take long.
 */
#ifndef ZKL_ZOOKEEPER_INTERNAL_H
#define ZKL_ZOOKEEPER_INTERNAL_H

#include <netdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>

#ifndef THREADED
#define THREADED
#endif
#include <zookeeper/zookeeper.h>

#include "../core/route.h"
#include "session_file.h"
#include "zookeeper_link.h"

/* Resolved addresses. */
struct servers {
    struct sockaddr_storage *list;
    size_t count;
};

/* A host list as given. Replaced lists live as long as the link, for threads that still read. */
struct hosts {
    struct hosts *previous;
    char text[];
};

/* Where libzookeeper waits between two servers (gate.c). */
struct gate {
    int listener;                    /* -1: closed */
    struct sockaddr_storage address; /* the listener's */
    struct sockaddr_storage server;  /* the last to which the gate sent libzookeeper */
    int connection;                  /* libzookeeper's, at the gate; -1: none */
    int guest;                       /* a connection of libzookeeper or a stranger; -1: none */
    struct sockaddr_storage guest_address;
    int reserve;      /* a descriptor to give up for `guest`; -1: none */
    zkl_time look_at; /* next zkl_gate_look(); ZKL_NEVER: libzookeeper is at a server */
    zkl_time pause;   /* from `look_at` to the look after it */
};

struct target {
    struct sockaddr_storage server;
    size_t index; /* in the link's list */
};

/* The next server of a handle (choice.c). */
struct choice {
    struct zkl_link *link; /* constant, as the next two */
    struct gate *gate;
    struct zkl_route *route;
    struct question *questions; /* without an answer */
    size_t asked;         /* questions of this search since libzookeeper went somewhere unasked */
    zkl_time asked_at;    /* the latest of them */
    zkl_time ask_at;      /* earliest time of the next question */
    struct target target; /* libzookeeper goes, or went, there */
    bool answered;        /* another is to be used: */
    struct target answer; /* the one that answered last */
    zkl_time answered_at;
    bool has_silent;       /* a server has not answered yet: */
    struct target silent;  /* the one of the longest silence */
    zkl_time silent_since; /* its question */
    bool unasked;          /* libzookeeper went to `target`, which has not answered */
    bool deaf;             /* so it did before the latest connection */
    bool talks;            /* the server of the latest connection had answered */
};

/* A second handle, to see whether a server refuses the first (probe.c). */
struct probe {
    zhandle_t *handle;
    struct gate gate;
    struct zkl_route route;
    struct choice choice;
    zkl_time open_at;
    zkl_time connected_at; /* 0: not connected */
    bool awaits_answer;
    bool dead; /* to be replaced */
    bool credentials_given;
};

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

/* The servers' answer to a tried operation. */
enum zkl_verdict { ZKL_VERDICT_NONE, ZKL_VERDICT_SUPPORTED, ZKL_VERDICT_UNSUPPORTED };

struct trial {
    enum zkl_verdict verdict;
    bool suspected; /* a connection ended at the operation, so it is to be tried */
};

struct trials {
    struct trial by_operation[ZKL_OPERATIONS];
    bool running; /* in a thread */
};

struct rpc;

struct zkl_link {
    /* Constant. */
    struct zkl_client *client;
    zkl_session *session; /* the client's */
    zkl_time timeout_wanted;
    char *chroot, *auth_scheme, *auth;
    enum zkl_acl acl;
    bool reopen;
    zkl_time grace;

    struct hosts *hosts;
    struct zkl_session_storage storage; /* folder NULL: none */

    struct rpc *rpcs; /* pending, or lost by libzookeeper */
    struct trials trials;

    pthread_mutex_t opening; /* held while a handle is made (handle.c) */
    zhandle_t *handle;       /* NULL: nothing can be sent */
    zhandle_t *retired;      /* to be closed */
    struct gate gate;        /* `handle`'s */
    struct servers servers;  /* indexed by both routes */
    struct zkl_route route;  /* `handle`'s */
    struct choice choice;    /* `handle`'s */
    bool resolving;          /* in a thread */
    struct probe probe;      /* beside a handle without a connection */
    bool worker_runs;        /* handle.c */
    bool wants_handle;
    bool credentials_refused; /* so no other handle is wanted */
    bool credentials_given;
    atomic_bool credentials_answer_lost;
    zkl_time first_request_pause; /* after the last connection (handle.c); 0: none */
    struct zkl_trouble trouble;

    struct {
        bool running; /* in a thread */
        zkl_time due; /* the next search, until there is a connection */
    } search;         /* search.c */

    struct zkl_session_file *file; /* NULL: none, or not written */
    bool recovery_begun;

    zkl_time work_at; /* earliest start of the next worker */
    zkl_time open_at; /* earliest opening of the next handle */
    zkl_time unconnected_since;
};

/* The session timeout that was granted, else the wanted one. With the mutex held. */
static inline zkl_time zkl_link_timeout(const struct zkl_link *link) {
    zkl_time granted = zkl_session_timeout(link->session);
    return granted ? granted : link->timeout_wanted;
}

/* rpc.c, with the mutex held; zkl_rpc_forget_all(): without */
bool zkl_rpc_send(struct zkl_link *link, const struct zkl_rpc *rpc);
void zkl_rpc_forget_all(struct zkl_link *link);

/* handle.c, with the mutex held */
void zkl_handle_retire(struct zkl_link *link);
void zkl_handle_work(struct zkl_link *link, zkl_time now);
zkl_time zkl_handle_due(const struct zkl_link *link, zkl_time now);
/* True if the handle's session has an id and a long enough timeout. */
bool zkl_handle_is_sound(zhandle_t *handle);
/*
 * Gives a connected handle its credentials, which libzookeeper repeats on later connections.
 * Sets `given` on success, and does nothing if it is set. `heard` gets the answer, unless NULL.
 */
void zkl_handle_give_credentials(struct zkl_link *link, zhandle_t *handle, bool *given,
                                 void_completion_t heard);

#define ZKL_GATE_HOST "127.122.107.108"

/* gate.c, with the mutex held. A gate begins before its handle, and ends after it. */
void zkl_gate_init(struct gate *gate);
int zkl_gate_begin(struct gate *gate); /* 0, or an errno value */
void zkl_gate_end(struct gate *gate);
/* Notes the server, and returns a handle's first list, of server and gate. NULL: no memory. */
char *zkl_gate_list(struct gate *gate, const struct sockaddr_storage *server, const char *chroot);
/* Between the two calls libzookeeper keeps the order of lists. */
void zkl_gate_keep_order(void);
void zkl_gate_any_order(void);
void zkl_gate_expect(struct gate *gate, zkl_time now); /* libzookeeper lost its server */
void zkl_gate_ignore(struct gate *gate);               /* libzookeeper is connected */
/* Accepts a guest, if due. True: libzookeeper waits at the gate. */
bool zkl_gate_look(struct gate *gate, zkl_time timeout, zkl_time now);
/* If libzookeeper has waited long, makes it come again, so that it does not leave for a server. */
void zkl_gate_renew(struct gate *gate, zhandle_t *handle, zkl_time timeout);
/* Takes the guest with this address for libzookeeper, if it is `ours`, or hangs up. */
void zkl_gate_judge(struct gate *gate, const struct sockaddr_storage *guest, bool ours);
/* Sends libzookeeper from the gate to the server. */
void zkl_gate_open(struct gate *gate, zhandle_t *handle, const struct sockaddr_storage *server,
                   zkl_time now);

/* choice.c, with the mutex held */
void zkl_choice_init(struct choice *choice, struct zkl_link *link, struct gate *gate,
                     struct zkl_route *route);
void zkl_choice_begin(struct choice *choice); /* a search for another server */
void zkl_choice_renew(struct choice *choice); /* forgets servers that have left the list */
void zkl_choice_end(struct choice *choice, bool connected); /* the search */
zkl_time zkl_choice_due(const struct choice *choice);       /* when to call the next function */
/* The server for libzookeeper. NULL: none yet; when it is due, the next one is asked. */
const struct sockaddr_storage *zkl_choice_next(struct choice *choice, zkl_time now);
/* The server whose turn it is, without a question; not before zkl_route_due(). */
const struct sockaddr_storage *zkl_choice_unasked(struct choice *choice, zkl_time now);
/* While the first handle is at a server unasked, the others are asked. */
void zkl_choice_ask(struct choice *choice, zkl_time now);
zkl_time zkl_choice_ask_due(const struct choice *choice);
bool zkl_choice_is_in_vain(const struct choice *choice); /* another has answered */

/* names.c, with the mutex held */
/* Resolves the names in a thread, if due. */
void zkl_names_resolve(struct zkl_link *link, zkl_time now);
zkl_time zkl_names_due(const struct zkl_link *link);
uint64_t zkl_names_key(const struct sockaddr_storage *address); /* as routes know it */
void zkl_names_tell_route(const struct zkl_link *link, struct zkl_route *route);
/* Owns the list of `found` from now on. */
void zkl_names_take(struct zkl_link *link, const struct servers *found);

/* probe.c, with the mutex held */
bool zkl_probe_wanted(const struct zkl_link *link, zkl_time now);
void zkl_probe_event(struct zkl_link *link, int state);
void zkl_probe_ask(struct zkl_link *link, zkl_time now);
zkl_time zkl_probe_open_due(const struct zkl_link *link);
zkl_time zkl_probe_ask_due(const struct zkl_link *link);

/* recovery.c, without the mutex */
/* Writes the session's file, before the session is connected. */
void zkl_recovery_save(struct zkl_link *link, zhandle_t *handle);
/* After zookeeper_close(). `over`: the session ended, too, so its file is removed. */
void zkl_recovery_forget(struct zkl_link *link, bool over);
void zkl_recovery_move(struct zkl_link *link);

/* greeting.c, blocking until `by` at most */
enum zkl_greeting { ZKL_GREETING_SILENCE, ZKL_GREETING_KNOWN, ZKL_GREETING_UNKNOWN };
enum zkl_greeting zkl_greet(const struct sockaddr_storage *server, const clientid_t *id,
                            zkl_time timeout, zkl_time by);
/* Also ends a known session. */
enum zkl_greeting zkl_farewell(const struct zkl_link *link, const struct sockaddr_storage *server,
                               const clientid_t *id, zkl_time by);

/* link.c, with the mutex held */
/* Owns both from now on. */
void zkl_link_take_hosts(struct zkl_link *link, struct hosts *hosts, const struct servers *servers);

/* search.c, with the mutex held */
void zkl_search(struct zkl_link *link);                    /* gives up the mutex meanwhile */
void zkl_search_work(struct zkl_link *link, zkl_time now); /* in a thread, if due */
zkl_time zkl_search_due(const struct zkl_link *link);

/* hosts.c */
struct hosts *zkl_hosts_new(const char *text); /* for free(); NULL: no memory */
/* True if address and port are the same, in whatever form. */
bool zkl_hosts_are_same(const struct sockaddr_storage *a, const struct sockaddr_storage *b);
socklen_t zkl_hosts_size(const struct sockaddr_storage *server);
int zkl_hosts_resolve(const char *hosts, struct servers *servers);
/* Begins with one of the servers. NULL: no memory. */
char *zkl_hosts_format(const struct servers *servers, size_t first, const char *chroot);
#define ZKL_ADDRESS_SIZE (NI_MAXHOST + NI_MAXSERV + sizeof "[::ffff:]:")
/* Write "host:port" in numbers, in the form of libzookeeper's log and list. Their length, or 0. */
int zkl_hosts_format_one(const struct sockaddr_storage *server, char text[ZKL_ADDRESS_SIZE]);
int zkl_hosts_write_entry(const struct sockaddr_storage *server, char text[ZKL_ADDRESS_SIZE]);

/* complaint.c */
void zkl_complaint_hear(const char *message);
void zkl_complaint_note(const struct sockaddr_storage *server, enum zkl_complaint complaint);
enum zkl_complaint zkl_complaint_about(const struct servers *servers);

/* descriptors.c */
struct descriptors;
struct descriptors *zkl_descriptors_note_pipes(void);
/* Frees `noted`. */
void zkl_descriptors_close_new_pipes_on_exec(struct descriptors *noted);
void zkl_descriptors_close_sockets_on_exec(const struct servers *servers);
bool zkl_descriptors_has_socket_at(const struct sockaddr_storage *own_address);

#endif
