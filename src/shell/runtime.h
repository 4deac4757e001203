/*
 * runtime.h - the time, lock and rounds of a client. There are two runtimes, the threads of this
 * process (threads.c) and a world of virtual time (src/world), each with a struct that begins with
 * a zkl_client.
 */
#ifndef ZKL_RUNTIME_H
#define ZKL_RUNTIME_H

#include <stdatomic.h>
#include <sys/types.h>

#include "link.h"

struct zkl_runtime {
    zkl_time (*now)(const struct zkl_client *client);
    void (*lock)(struct zkl_client *client);
    void (*unlock)(struct zkl_client *client);
    void (*destroy)(struct zkl_client *client); /* after the last reference is dropped */

    /* Called between lock() and unlock(). */
    void (*wake)(struct zkl_client *client); /* `round_due` got earlier */
    void (*news)(struct zkl_client *client); /* the inbox may have changed */
};

struct zkl_client {
    /* Constant after creation. */
    const struct zkl_runtime *runtime;
    const struct zkl_link_class *class;
    unsigned process; /* the only process that may use the client; 0: forked children may, too */

    atomic_uint references; /* by callers, runtime, link, requests, leases and watchers */

    zkl_session *session;
    struct zkl_link *link;
    zkl_time close_by; /* when closing stops waiting for answers; ZKL_NEVER: open */
    zkl_time round_due;
};

/* Fills in a zeroed client. 0, or an errno value; in either case zkl_client_clear() follows. */
int zkl_client_init(struct zkl_client *client, const struct zkl_runtime *runtime,
                    const struct zkl_link_class *class, const struct zkl_options *options,
                    uint64_t seed);
void zkl_client_clear(struct zkl_client *client);

zkl_time zkl_client_now(const struct zkl_client *client);

/* Gives half the time until `due` to pending requests, half to the link. */
void zkl_client_begin_close(struct zkl_client *client, zkl_time due);

/* --- between lock() and unlock() ------------------------------------------------------------- */

/*
 * Runs the session's tick and the link's work. The next `round_due` is at least a millisecond
 * later, so that other threads get the lock.
 */
void zkl_client_round(struct zkl_client *client, zkl_time now);
bool zkl_client_session_is_closed(const struct zkl_client *client);
bool zkl_client_has_events(const struct zkl_client *client);

/* True if `number` is this process's (thread.c). */
bool zkl_process_is(unsigned number);

#endif
