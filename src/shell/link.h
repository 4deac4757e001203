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
    bool (*send)(struct zkl_link *link, uint64_t id, const struct zkl_rpc *rpc);
    /* The session is over (expired); another one is opened if that was asked for. */
    void (*retire)(struct zkl_link *link);
    /*
     * Called again and again by the timer, also when due() has come, or after zkl_client_wake():
     * begins what is to be done. When the client is to be closed, and everything is, it says
     * zkl_session_closed().
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
/* When not to wait for anything any longer; ZKL_NEVER: it is not to be closed. */
zkl_time zkl_client_close_by(const struct zkl_client *client);
bool zkl_client_is_closing(const struct zkl_client *client);
/*
 * It is to be closed, and nothing is to be waited for. A session with claims waits a while for a
 * connection, to close in order; one that has asked for something, for the answer.
 */
bool zkl_client_may_close(const struct zkl_client *client, zkl_time now);
void zkl_client_wake(struct zkl_client *client, zkl_time due); /* work() no later than that */

/* The mutex alone, without zkl_session_at(). */
void zkl_lock(struct zkl_client *client);
void zkl_unlock(struct zkl_client *client);

/* --- threads ---------------------------------------------------------------------------------- */

/* A detached thread that no signal is delivered to. 0, or an errno value. */
int zkl_thread_start(void *(*run)(void *), void *argument);
/*
 * 0 if there is room for two threads more, else an errno value: without them zookeeper_init()
 * aborts (ZOOKEEPER-5073). Two are started, and end when both are there. Whatever else starts
 * threads may take their room in the moment that follows.
 */
int zkl_thread_room(void);

/* A condition to wait for until `due` has come, by zkl_now(). */
void zkl_condition_init(pthread_cond_t *condition);
void zkl_condition_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, zkl_time due);

#endif
