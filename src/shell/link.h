/*
 * link.h - the carrier of a client's requests, which is libzookeeper (src/zookeeper) or a server
 * inside the process (src/memory).
 *
 * A link lives as long as its client. It connects in threads of its own, and tells the session of
 * connections, answers and events between zkl_client_enter() and zkl_client_leave().
 */
#ifndef ZKL_LINK_H
#define ZKL_LINK_H

#include <pthread.h>

#include "client.h"

struct zkl_link;

struct zkl_link_class {
    /* Copies the options. Opens nothing before work(). NULL: no memory. */
    struct zkl_link *(*create)(struct zkl_client *client, const struct zkl_options *options);
    void (*destroy)(struct zkl_link *link); /* after the session is closed */

    /* The rest is called with the mutex held. */

    /* False: not sent. */
    bool (*send)(struct zkl_link *link, const struct zkl_rpc *rpc);
    /* Drops the expired session, and opens another if the options ask for it. */
    void (*retire)(struct zkl_link *link);
    /*
     * A round of the client, at due() or after zkl_client_wake(). When the client is closing and
     * nothing is open, it calls zkl_session_closed().
     */
    void (*work)(struct zkl_link *link, zkl_time now);
    zkl_time (*due)(struct zkl_link *link, zkl_time now); /* when work() is to run next */
    struct zkl_trouble (*trouble)(const struct zkl_link *link);
};

/* --- for links, with the mutex held -------------------------------------------------------- */

zkl_session *zkl_client_session(const struct zkl_client *client);
/* NULL: a link of another class. Also valid without the mutex. */
struct zkl_link *zkl_client_link(const struct zkl_client *client,
                                 const struct zkl_link_class *class);
/* When a closing client stops waiting for answers; ZKL_NEVER: not closing. */
zkl_time zkl_client_close_by(const struct zkl_client *client);
bool zkl_client_is_closing(const struct zkl_client *client);
/*
 * True if a closing client's link may close. Until zkl_client_close_by() a connected session waits
 * for answers, and a suspended one with claims for a connection.
 */
bool zkl_client_may_close(const struct zkl_client *client, zkl_time now);
void zkl_client_wake(struct zkl_client *client, zkl_time due); /* work() runs by `due` */

/* The mutex alone, without setting the session's time. */
void zkl_lock(struct zkl_client *client);
void zkl_unlock(struct zkl_client *client);

/* --- threads ---------------------------------------------------------------------------------- */

/* Starts a detached thread that blocks every signal. 0, or an errno value. */
int zkl_thread_start(void *(*run)(void *), void *argument);
/* Likewise, with a reference to the client, which the thread drops at its end. */
int zkl_client_start_thread(zkl_client *client, void *(*run)(void *), void *argument);
/*
 * 0 if two more threads can start, else an errno value. zookeeper_init() aborts without them
 * (ZOOKEEPER-5073). Starts two as a trial, so other threads may take the room afterwards.
 */
int zkl_check_thread_room(void);

/* A condition whose waits end by `due`, on the clock of zkl_now(). */
void zkl_condition_init(pthread_cond_t *condition);
void zkl_condition_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, zkl_time due);

#endif
