/*
 * link.h - what carries a client's requests to a server: libzookeeper (src/zookeeper), or a
 * server inside the process (src/memory).
 *
 * A link is made with its client and freed with it. It opens and closes connections, by itself
 * and in threads of its own; it tells the session of them, and gives it the answers and events,
 * between zkl_client_enter() and zkl_client_leave().
 */
#ifndef ZKL_LINK_H
#define ZKL_LINK_H

#include <pthread.h>

#include "client.h"

struct zkl_link;

struct zkl_link_class {
    /* The options are copied. NULL: out of memory. Nothing is opened before the first work(). */
    struct zkl_link *(*create)(struct zkl_client *client, const struct zkl_options *options);
    void (*destroy)(struct zkl_link *link); /* the session is closed */

    /* The mutex is held in all that follows. */

    /* False: it was not sent. */
    bool (*send)(struct zkl_link *link, const struct zkl_rpc *rpc);
    /* The session is over (expired); another one is opened if that was asked for. */
    void (*retire)(struct zkl_link *link);
    /*
     * Called in each round of the client, so at due() and after zkl_client_wake(): begins what
     * is to be done. When the client is closing, and nothing of the link is open any more, it
     * calls zkl_session_closed().
     */
    void (*work)(struct zkl_link *link, zkl_time now);
    zkl_time (*due)(struct zkl_link *link, zkl_time now);
    struct zkl_trouble (*trouble)(const struct zkl_link *link);
};

/* --- for links; the mutex is held ---------------------------------------------------------- */

zkl_session *zkl_client_session(const struct zkl_client *client);
/* NULL: the client's link is of another class. Constant: the mutex need not be held. */
struct zkl_link *zkl_client_link(const struct zkl_client *client,
                                 const struct zkl_link_class *class);
/* When closing waits for nothing any longer; ZKL_NEVER: the client is not closing. */
zkl_time zkl_client_close_by(const struct zkl_client *client);
bool zkl_client_is_closing(const struct zkl_client *client);
/*
 * The client is closing, and its link need not wait any longer. Until zkl_client_close_by() a
 * connected session waits for its answers, and a suspended one with claims for a connection.
 */
bool zkl_client_may_close(const struct zkl_client *client, zkl_time now);
void zkl_client_wake(struct zkl_client *client, zkl_time due); /* work() is called by then */

/* Only the mutex: the session is not told the time. */
void zkl_lock(struct zkl_client *client);
void zkl_unlock(struct zkl_client *client);

/* --- threads ---------------------------------------------------------------------------------- */

/* Starts a detached thread that blocks every signal. 0, or an errno value. */
int zkl_thread_start(void *(*run)(void *), void *argument);
/*
 * 0 if two more threads can be started, else an errno value: without them zookeeper_init() aborts
 * (ZOOKEEPER-5073). Two are started, and end when both run. Others may take that room in the moment
 * that follows.
 */
int zkl_thread_room(void);

/* A condition whose waits end at `due`, by zkl_now(), at the latest. */
void zkl_condition_init(pthread_cond_t *condition);
void zkl_condition_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, zkl_time due);

#endif
