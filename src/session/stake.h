/* stake.h - a claim with its user: its life, and what its user is told. */
#ifndef ZKL_SESSION_STAKE_H
#define ZKL_SESSION_STAKE_H

#include "../core/claim.h"
#include "call.h"
#include "events.h"
#include "hold.h"
#include "parts.h"
#include "path.h"

enum stake_part {
    STAKE_ALONE,
    STAKE_PART, /* of a multi-lock */
    STAKE_JOINT /* the same, granted, and its lease has not given it up */
};

/* The room of its node. */
enum stake_node {
    NODE_UNCOUNTED,
    NODE_COUNTED,  /* in session->node_bytes */
    NODE_GIVES_WAY /* the same, and in leaving_bytes: it was kept, and goes to make room */
};

struct stake {
    struct zkl_claim claim; /* first: a claim of ours is a stake */
    struct asker asker;     /* counted by the session's list, handles, request and calls */
    struct zkl_session *session;
    struct stake *next, **link; /* in session->stakes, until GONE */
    struct path *path;
    struct stake *next_granted, **granted_link; /* in path->granted; NULL: it was not */
    struct zkl_request *request;                /* the acquire that waits for it, or NULL */
    struct zkl_request *leaving;                /* the releases that wait for it to be gone */
    struct zkl_request *downgrading; /* the downgrade that waits for it to be a reader, or NULL */
    struct notice phase_notice;      /* its phase changed */
    enum zkl_phase phase;            /* as last told */
    int32_t version;                 /* of the own node's data, as last seen */
    enum stake_node node;
    enum stake_part part;
    uint64_t revoked;   /* nonce of a node whose data ask the holder to give way */
    int64_t token;      /* of the latest grant */
    struct hold *holds; /* of its handles that may be held for a limited time */
    unsigned handles;   /* not given up */
    unsigned writers;   /* those of them that may write; the node is a writer's meanwhile */
    uint32_t starved;   /* kinds of calls, a bit each, for which there was no memory */
    char *data; /* of the node: the session's identity, and the lock's data in a line of its own */
    char *marked_data;       /* its data as last written with ZKL_HELD_WORD, or NULL */
    char *owner;             /* "": nobody's (an orphan) */
    struct zkl_meter *meter; /* of its lock's name, or NULL */
    zkl_time queued_at;      /* when it was first told that it waits; 0: never */
    zkl_time ahead_gone_at;  /* when another session's node ahead went; 0: not since it waits */
    zkl_time granted_at;     /* 0: it does not hold */
    bool measured;           /* its hold counts; of a multi-lock that of one part does */
    int error;               /* the server's error code of the last refusal */
    zkl_time jitter;         /* the longest pause of the claim; 0: none */
    zkl_time wake_at;        /* the end of its pause, while it is pausing */
    struct watch *own_watch; /* of the node of its name, if it asked for one */
    struct want *wants;      /* watches of other nodes that it asked for */
};

/* A claim may have another node by now, its own or one that was handed to it. */
static inline bool zkl_stake_revoked(const struct stake *stake) {
    return stake->revoked && stake->revoked == stake->claim.node.nonce;
}

/* The kinds of a stake's calls, in the order in which lost answers are told. */
enum stake_call {
    STAKE_PARENT, /* create of a missing parent */
    STAKE_CREATE,
    STAKE_CREATE_ALL, /* create of the nodes of all parts of a multi-lock; one part asks */
    STAKE_WAIT,       /* create of a waiter's node, and delete of the lock's */
    STAKE_SYNC,
    STAKE_LIST, /* call->listed: counted in its `lists`; NULL: it was never sent */
    STAKE_GET_OWN,
    STAKE_RANK,
    STAKE_DOWNGRADE,
    STAKE_GET_AHEAD,
    STAKE_FORWARD, /* delete of a waiter's node, and the signal to the next one */
    STAKE_REVISE,  /* get of the own node, whose data is not what DOWNGRADE or MARK took it to be */
    STAKE_MARK,
    STAKE_REMOVE,
    STAKE_CALLS
};

/* The asker is a stake's. */
static inline struct stake *zkl_asker_stake(const struct asker *asker) {
    return (struct stake *)((char *)asker - offsetof(struct stake, asker));
}

/* The stake that asked; the call is a stake's. */
static inline struct stake *zkl_call_stake(const struct call *call) {
    return zkl_asker_stake(call->asker);
}

struct call *zkl_stake_call_new(struct stake *stake, enum stake_call kind); /* NULL: no memory */
struct stake *zkl_stake_new(struct zkl_session *session, struct path *path,
                            const struct zkl_acquire_options *options,
                            zkl_time deadline); /* NULL: no memory */
void zkl_stake_forget(struct stake *stake);     /* GONE; handles may still ask for its state */
size_t zkl_stake_cost(const struct zkl_session *session, size_t path_length);
void zkl_stake_count_node(struct stake *stake);            /* for the node that it makes */
size_t zkl_stake_bytes(const struct zkl_session *session); /* of nodes, less those that go */
/* It waits for its turn, and would make a node for which there is no room: it waits on. */
bool zkl_stake_lacks_room(const struct stake *stake);
bool zkl_stake_lost(struct stake *stake, zkl_time now);
/* How the parts have ended: LOST or RELEASED, if any has; OK: none has. */
enum zkl_code zkl_parts_ended(const struct parts *parts);
void zkl_stake_writers_gone(struct stake *stake); /* if none writes: the readers stay */
void zkl_stake_give_up(struct stake *stake, enum zkl_kind kind); /* one handle of it */
void zkl_stake_handles_gone(struct stake *stake);                /* all of them were given up */
/* The request to release ends when the stakes that nobody holds any more are gone. */
void zkl_stake_await_end(struct zkl_request *request);
/* Tells the acquire that waits for the grant; with the server's reason if it refused. */
void zkl_stake_finish(struct stake *stake, enum zkl_code code);
/* The same of the downgrade that waits for the grant to be a reader's, if there is one. */
void zkl_stake_finish_downgrade(struct stake *stake, enum zkl_code code);
void zkl_stake_grant(struct stake *stake); /* its first handle */
void zkl_stake_granted(struct stake *stake);
void zkl_stake_hold_begins(struct stake *stake);
void zkl_stake_hold_ends(struct stake *stake, enum zkl_step_kind how); /* if it holds */
void zkl_stake_failed(struct stake *stake);                            /* claim->code */
void zkl_stake_queued(struct stake *stake);
void zkl_stake_tell_loss(struct stake *stake);
/* Takes in the own node's data, each time that it is seen. */
void zkl_stake_take_data(struct stake *stake, const struct answer *answer);
void zkl_stake_tell_phase(struct stake *stake, enum zkl_phase phase); /* what the lease is worth */
/* Feeds an event to every claim. The stake may be gone after that, and with it others (multi.c). */
void zkl_stake_feed_all(struct zkl_session *session,
                        zkl_actions (*feed)(struct zkl_claim *claim, zkl_time now));
/* Ends the drain if no claim is wanted any more. */
void zkl_stake_end_drain(struct zkl_session *session);

#endif
