/*
 * stake.h - a stake, which is a claim with its owner, data and handles, and the requests that wait
 * for it.
 *
 *     stake = zkl_stake_new(session, path, &options, deadline);
 *     zkl_stake_perform(stake, zkl_claim_start(&stake->claim));
 *
 * The session's list holds a reference until the claim is GONE. Handles, requests and calls may
 * hold references for longer.
 */
#ifndef ZKL_SESSION_STAKE_H
#define ZKL_SESSION_STAKE_H

#include "../core/claim.h"
#include "call.h"
#include "events.h"
#include "hold.h"
#include "parts.h"
#include "path.h"

/* Whether the lock is a part of a multi-lock. */
enum stake_part {
    PART_NONE,
    PART_UNHELD,
    PART_HELD /* granted, and not released by its lease */
};

/* Whether its node counts in the session's limit. */
enum stake_node {
    NODE_UNCOUNTED,
    NODE_COUNTED,  /* in session->node_bytes */
    NODE_GIVES_WAY /* also in leaving_bytes */
};

struct stake {
    struct zkl_claim claim; /* first, so that a claim is cast to its stake */
    struct asker asker;     /* counted by the session's list, handles, request and calls */
    struct zkl_session *session;
    struct stake *next, **link; /* in session->stakes, until GONE */
    struct path *path;
    struct stake *next_granted, **granted_link; /* in path->granted; NULL: not in it */
    struct zkl_request *request; /* the acquire, or wait in a condition, that waits for the grant */
    struct zkl_request *releases;  /* releases that wait until the claim is gone */
    struct zkl_request *downgrade; /* the request that waits for the downgrade, or NULL */
    struct notice phase_notice;
    enum zkl_phase phase;
    int32_t version; /* the own node's, as last seen */
    enum stake_node node;
    enum stake_part part;
    uint64_t revoked_nonce;     /* nonce of the node whose holder was asked to give way */
    int64_t token;              /* the latest grant's */
    struct hold *holds;         /* time limits of its handles */
    unsigned handles;           /* not released */
    unsigned writers;           /* handles that may write; above 0 the node is a writer's */
    uint32_t unallocated_calls; /* a bit for each kind of call without memory */
    char *data;                 /* for its node */
    char *marked_data;          /* its data as last written with ZKL_HELD_WORD, or NULL */
    char *owner;                /* "": nobody (an orphan) */
    struct zkl_meter *meter;    /* for its lock's name, or NULL */
    zkl_time queued_at;         /* 0: not told to wait */
    zkl_time ahead_gone_at;     /* when another session's node ahead was deleted; 0: not yet */
    zkl_time granted_at;        /* 0: it does not hold */
    bool measured;              /* its hold counts in meters; of a multi-lock one part's does */
    int error;                  /* the server's error code of the last refusal */
    zkl_time jitter;            /* longest pause of the claim */
    zkl_time wake_at;
    struct watch *own_watch; /* on the node of its name, or NULL */
    struct want *wants;      /* its watches of other nodes */
};

/* The holder of the current node, not of an earlier node, was asked to give way. */
static inline bool zkl_stake_is_revoked(const struct stake *stake) {
    return stake->revoked_nonce && stake->revoked_nonce == stake->claim.node.nonce;
}

/* Kinds of a stake's calls, in the order in which unallocated calls are answered. */
enum stake_call {
    STAKE_PARENT, /* create of a missing parent */
    STAKE_CREATE,
    STAKE_CREATE_ALL, /* creates of all parts' nodes, asked by one part */
    STAKE_WAIT,       /* create of a waiter's node, and delete of the lock's */
    STAKE_SYNC,
    STAKE_LIST, /* counted in call->listed->lists_out; `listed` NULL: it was never sent */
    STAKE_GET_OWN,
    STAKE_RANK,
    STAKE_DOWNGRADE,
    STAKE_GET_AHEAD,
    STAKE_FORWARD, /* delete of a waiter's node, and the signal to the next waiter */
    STAKE_REREAD,  /* get of the own node, after DOWNGRADE or MARK met another version */
    STAKE_MARK,
    STAKE_REMOVE,
    STAKE_CALLS
};

static inline struct stake *zkl_asker_stake(const struct asker *asker) {
    return (struct stake *)((char *)asker - offsetof(struct stake, asker));
}

static inline struct stake *zkl_call_stake(const struct call *call) {
    return zkl_asker_stake(call->asker);
}

struct call *zkl_stake_call_new(struct stake *stake, enum stake_call kind); /* NULL: no memory */
struct stake *zkl_stake_new(struct zkl_session *session, struct path *path,
                            const struct zkl_acquire_options *options,
                            zkl_time deadline); /* NULL: no memory */
void zkl_stake_forget(struct stake *stake);     /* handles may still ask for its state */
size_t zkl_stake_cost(const struct zkl_session *session, size_t path_length);
void zkl_stake_count_node(struct stake *stake); /* in node_bytes */
size_t zkl_stake_bytes(const struct zkl_session *session);
/* It waits for its turn, and no room for its node can be made. */
bool zkl_stake_lacks_room(const struct stake *stake);
/* Feeds the time. True: the lease is lost. */
bool zkl_stake_check_loss(struct stake *stake, zkl_time now);
/* LOST if a part is lost, else RELEASED if a part is released, else OK. */
enum zkl_code zkl_parts_end_code(const struct parts *parts);
void zkl_stake_downgrade_without_writers(struct stake *stake);
void zkl_stake_release_handle(struct stake *stake, enum zkl_kind kind);
void zkl_stake_release_without_handles(struct stake *stake);
/* Finishes the release when all its stakes without handles are gone. */
void zkl_stake_await_end(struct zkl_request *request);
/* Finishes stake->request, with the server's reason for a refusal. */
void zkl_stake_finish(struct stake *stake, enum zkl_code code);
/* Likewise finishes stake->downgrade. */
void zkl_stake_finish_downgrade(struct stake *stake, enum zkl_code code);
void zkl_stake_give_handle(struct stake *stake); /* gives the first handle */
void zkl_stake_tell_grant(struct stake *stake);  /* ZKL_DO_GRANT */
void zkl_stake_begin_hold(struct stake *stake);
void zkl_stake_end_hold(struct stake *stake, enum zkl_step_kind how); /* if it holds */
void zkl_stake_tell_failure(struct stake *stake);                     /* ZKL_DO_FAIL */
void zkl_stake_tell_queued(struct stake *stake);                      /* ZKL_DO_QUEUED */
void zkl_stake_tell_loss(struct stake *stake);
/* Notes the version and a revocation, in an answer about the own node. */
void zkl_stake_take_data(struct stake *stake, const struct answer *answer);
void zkl_stake_tell_phase(struct stake *stake, enum zkl_phase phase);
/* Feeds an event to every claim. Stakes may be gone after that. */
void zkl_stake_feed_all(struct zkl_session *session,
                        zkl_actions (*feed)(struct zkl_claim *claim, zkl_time now));
/* Ends the drain if no claim is wanted any more. */
void zkl_stake_end_drain(struct zkl_session *session);

#endif
