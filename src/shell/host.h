/*
 * host.h - where a client lives: who gives it the time, the caller alone with it, and rounds.
 *
 * There are two hosts: the threads of this process (threads.h), and a world of virtual time
 * (src/world). Each has a struct of its own that begins with a zkl_client.
 */
#ifndef ZKL_HOST_H
#define ZKL_HOST_H

#include <stdatomic.h>
#include <sys/types.h>

#include "link.h"

struct zkl_host {
    zkl_time (*now)(const struct zkl_client *client);
    void (*lock)(struct zkl_client *client);
    void (*unlock)(struct zkl_client *client);
    void (*destroy)(struct zkl_client *client); /* nobody counts it any more */

    /* The caller is alone with it. */
    void (*wake)(struct zkl_client *client); /* its next round is sooner: `round_due` */
    void (*news)(struct zkl_client *client); /* something came into the inbox, or was taken out */
};

struct zkl_client {
    /* Constant after creation. */
    const struct zkl_host *host;
    const struct zkl_link_class *class;
    pid_t process; /* alone may use it; 0: each that has its memory, as a forked child does */

    atomic_uint references; /* the caller's, the host's, the link's, requests' and leases' */

    zkl_session *session;
    struct zkl_link *link;
    zkl_time close_by;  /* when not to wait for anything any longer; ZKL_NEVER: it is open */
    zkl_time round_due; /* when the next round is */
};

/* Fills one in whose memory is all zero. 0, or an errno value; zkl_client_clear() in any case. */
int zkl_client_init(struct zkl_client *client, const struct zkl_host *host,
                    const struct zkl_link_class *class, const struct zkl_options *options,
                    uint64_t seed);
void zkl_client_clear(struct zkl_client *client);

zkl_time zkl_client_now(const struct zkl_client *client);

/* Everything ends, half of the time is for what is under way, half for the link. */
void zkl_client_begin_close(struct zkl_client *client, zkl_time due);

/* --- the caller is alone with it ------------------------------------------------------------- */

/*
 * The session's tick, and the link's work. Afterwards `round_due` is the time of the next round,
 * a millisecond from now at the soonest: others want to come in, too.
 */
void zkl_client_round(struct zkl_client *client, zkl_time now);
bool zkl_client_is_closed(const struct zkl_client *client);
bool zkl_client_has_events(const struct zkl_client *client); /* the inbox is not empty */

/* process.c: it is this one, and not the one that forked it. */
bool zkl_process_is(pid_t process);

#endif
