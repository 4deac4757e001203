/*
 * runtime.h - the surroundings of a client: a runtime gives it the time, a lock, and rounds.
 *
 * There are two runtimes, the threads of this process (threads.c) and a world of virtual time
 * (src/world). Each has a struct of its own that begins with a zkl_client.
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
    void (*destroy)(struct zkl_client *client); /* its last reference was dropped */

    /* Called between lock() and unlock(). */
    void (*wake)(struct zkl_client *client); /* its next round is due earlier, at `round_due` */
    void (*news)(struct zkl_client *client); /* the inbox may have changed */
};

struct zkl_client {
    /* Constant after creation. */
    const struct zkl_runtime *runtime;
    const struct zkl_link_class *class;
    pid_t process; /* the one that may use it; 0: any that has its memory, a forked child, too */

    atomic_uint references; /* of callers, runtime, link, requests, leases and watchers */

    zkl_session *session;
    struct zkl_link *link;
    zkl_time close_by;  /* when its closing waits for nothing any longer; ZKL_NEVER: it is open */
    zkl_time round_due; /* when the next round is */
};

/*
 * Fills in a client whose memory is all zero. 0, or an errno value; zkl_client_clear() is due in
 * either case.
 */
int zkl_client_init(struct zkl_client *client, const struct zkl_runtime *runtime,
                    const struct zkl_link_class *class, const struct zkl_options *options,
                    uint64_t seed);
void zkl_client_clear(struct zkl_client *client);

zkl_time zkl_client_now(const struct zkl_client *client);

/*
 * Begins to close. Half of the time until `due` is for requests that are under way, half for the
 * link.
 */
void zkl_client_begin_close(struct zkl_client *client, zkl_time due);

/* --- between lock() and unlock() ------------------------------------------------------------- */

/*
 * The session's tick, and the link's work. Afterwards `round_due` is the time of the next round,
 * a millisecond from now at the soonest: other callers need the client, too.
 */
void zkl_client_round(struct zkl_client *client, zkl_time now);
bool zkl_client_is_closed(const struct zkl_client *client);
bool zkl_client_has_events(const struct zkl_client *client); /* the inbox is not empty */

/* That is this process, and not its parent (thread.c). */
bool zkl_process_is(pid_t process);

#endif
