/*
 * claim_state.h - the struct of a claim, its states and actions, and predicates of its fields
 * alone. The owner sets its user's wishes, and the machine (claim.h) the rest.
 */
#ifndef ZKL_CLAIM_STATE_H
#define ZKL_CLAIM_STATE_H

#include "clock.h"
#include "code.h"
#include "line.h"

/* A set of enum zkl_action, for the owner to carry out. */
typedef uint32_t zkl_actions;

enum zkl_action {
    ZKL_DO_PARENTS = 1 << 0, /* create the missing parents of the path */
    ZKL_DO_CREATE = 1 << 1,  /* create2 claim->node.name, ephemeral, and sequential unless
                                zkl_kind_is_fixed(); all parts' nodes of a multi-lock, and with a
                                delete of partner->node.name for a waiter, in one transaction */
    ZKL_DO_SYNC = 1 << 2,    /* sync the path */
    ZKL_DO_LIST = 1 << 3, /* get_children of the path; in LIST, and `looking_ahead`, a list that is
                             out already is shared */
    ZKL_DO_RANK = 1 << 4, /* get of each zkl_line_unranked() */
    ZKL_DO_WATCH_OWN = 1 << 5,   /* get claim->node.name, with a watch */
    ZKL_DO_WATCH_AHEAD = 1 << 6, /* get claim->ahead, with a watch */
    ZKL_DO_REMOVE = 1 << 7,    /* delete claim->node.name; of a waiter that may be signalled only at
                                  version 0; in RETREAT resume the other parts, too */
    ZKL_DO_DOWNGRADE = 1 << 8, /* in one transaction, create zkl_name_downgrade(claim->node.name),
                                  ephemeral, and delete claim->node.name */
    ZKL_DO_FORWARD = 1 << 9,   /* in one transaction, delete claim->node.name and write to
                                  claim->ahead at version 0 */
    ZKL_DO_DOUBT = 1 << 10,    /* a session timeout later, sync and list for zkl_line_orphan() */
    ZKL_DO_FOLLOW = 1 << 11,   /* resume each zkl_claim_follower() of the line */
    ZKL_DO_QUEUED = 1 << 12,   /* tell the user that it waits in line */
    ZKL_DO_GRANT = 1 << 13,    /* tell the user that it holds, with zkl_claim_token() */
    ZKL_DO_FAIL = 1 << 14,     /* tell the user claim->code; first cancel the other parts */
    ZKL_DO_LOSE = 1 << 15,     /* tell the holder of its loss; release the other parts */
    ZKL_DO_DOWNGRADED = 1 << 16,   /* tell the holder that it reads now, or claim->refusal */
    ZKL_DO_STAYED = 1 << 17,       /* tell the holder, who still holds, why it cannot wait in the
                                          condition: claim->refusal */
    ZKL_DO_TELL_PARTNER = 1 << 18, /* zkl_claim_partner_changed() of the partner */
    ZKL_DO_FORGET = 1 << 19,       /* free the claim when none of its requests is out */
    ZKL_DO_PAUSE = 1 << 20,        /* zkl_claim_wake() later; the owner chooses when */
    ZKL_DO_HOLDERS = 1 << 21,      /* get, with a watch, each contender ahead (zkl_line_precedes) */
    ZKL_DO_MARK = 1 << 22, /* write its data to its node, with ZKL_HELD_WORD if `says_held` */
    ZKL_DO_WATCH_LOOKAHEAD = 1 << 23, /* get claim->lookahead, with a watch */
    ZKL_DO_WATCH_CHILDREN = 1 << 24,  /* get_children of the path, with a watch, and set
                                         line->children; if no watch fits, set line->changed */
    ZKL_DO_KEEP = 1 << 25             /* zkl_claim_tick() at claim->deadline */
};

#define ZKL_ALL_ACTIONS ((zkl_actions)(ZKL_DO_KEEP << 1) - 1)

enum zkl_claim_state {
    /*
     * Nothing was asked yet. There is no connection, or no proof would count, or an earlier claim
     * of the session comes first. The claim is `stalled`, except an unfair claim during its pause.
     */
    ZKL_NEW,
    ZKL_TRY,          /* a list is out, to see whether the lock is free */
    ZKL_CREATE,       /* create and list are out; a part without a nonce waits for other parts */
    ZKL_RECOVER_SYNC, /* a create's or downgrade's outcome is unknown; sync and list are out */
    ZKL_RECOVER_LIST, /* the sync is answered; the list will show whether the node exists */
    ZKL_RECOVER_STAT, /* the node was found; a get for its czxid is out */
    ZKL_LIST,         /* the node exists; a list is out */
    ZKL_RANK,    /* gets are out for contenders ahead, for czxids, or to see which still exist */
    ZKL_WAIT,    /* another contender is ahead, and watched */
    ZKL_PROVE,   /* first in line, but the lease clock is not certain; a sync is out */
    ZKL_RETREAT, /* first in line, but no proof would count; its node is being removed; then NEW */
    ZKL_FIRST,   /* first in line, but other parts are not; or it just got a holder's node */
    ZKL_HELD,
    ZKL_DOWNGRADE,    /* a holding writer becomes a reader; create and delete are out */
    ZKL_IN_CONDITION, /* its user waits in a condition */
    ZKL_SIGNALLED,    /* a waiter whose signal came; the lock's claim contends */
    ZKL_FORWARD,      /* a waiter that passes its signal on */
    ZKL_KEPT,         /* given up; its node stays for `keep`, or until a list tells of others */
    ZKL_LEAVE,        /* the node is being removed */
    ZKL_GONE
};

/* The progress of a condition's waiter. */
enum zkl_waiter_progress {
    ZKL_NO_WAITER,
    ZKL_WAITER_CAME,   /* the lock's node is not known to be gone */
    ZKL_WAITER_BEGAN,  /* its node has replaced the lock's */
    ZKL_WAITER_SETTLED /* its signal was taken, or no waiter is left to get it */
};

/* The claim of the same session that a claim in NEW awaits. */
enum zkl_awaits {
    ZKL_AWAITS_NOTHING,
    ZKL_AWAITS_NODE, /* the claim whose kept node it may get */
    ZKL_AWAITS_TURN, /* the claim that queues for both or, if unfair, for all of the session */
    ZKL_AWAITS_PATH  /* an earlier claim, which finds out whether the path exists */
};

enum zkl_reply {
    ZKL_DONE,    /* carried out */
    ZKL_ABSENT,  /* no such node; for a create, no such parent */
    ZKL_REFUSED, /* not carried out, and asking again will not help */
    ZKL_UNKNOWN  /* the reply was lost, so perhaps carried out */
};

/* A node of ours, which may pass from claim to claim. */
struct zkl_node {
    int64_t czxid;        /* 0: not known */
    uint64_t nonce;       /* the nonce of the attempt that makes, or made, the node */
    zkl_time turn_began;  /* time of its first grant */
    zkl_time list_time;   /* answer time of list_serial; 0: none, or others may have come since */
    uint32_t list_serial; /* newest list that showed the node */
    int32_t sequence;
    int32_t grants;           /* to earlier claims with this node */
    bool watched;             /* a get with a watch is out, or was answered */
    bool doubted;             /* the reply to its create, or to an earlier attempt's, was lost */
    bool contended;           /* it was behind another session's node */
    bool says_held;           /* its data is to contain ZKL_HELD_WORD */
    char name[ZKL_NAME_SIZE]; /* in state CREATE still without the counter */
};

struct zkl_claim {
    struct zkl_line *line;
    struct zkl_claim *next, **link; /* in line->claims */

    /* Wishes of its user. */
    enum zkl_kind kind;
    int32_t permits, limit; /* PERMIT; else 0 */
    int32_t batch;          /* grants of a turn if others wait, or ZKL_BATCH_BY_TIME; 0: no turns */
    zkl_time keep;          /* how long its node stays after the release */
    zkl_time deadline; /* waiting, KEPT: of the next grant; HELD, DOWNGRADE: of the release, after
                          which it is lost; ZKL_NEVER: none */
    enum zkl_reuse reuse; /* how often its node is granted; with a batch never ZKL_ONE_GRANT */
    int32_t max_waiters;  /* fails if that many wait already; 0: no limit, or it waits itself */
    bool trying; /* must not queue; ZKL_BUSY if a contender is in its way, else ZKL_TIMEOUT */
    bool wanted; /* its user waits, or holds */

    /* Progress. */
    bool stalled;   /* its request failed; zkl_claim_resume() asks again */
    bool announced; /* DO_QUEUED was given, or a try is in WAIT */
    enum zkl_claim_state state;
    enum zkl_code code;    /* why it failed, or ZKL_LOST */
    enum zkl_code refusal; /* why this attempt's parents could not be made, or it stays a writer,
                              or cannot wait in the condition; from DOWNGRADE on: ZKL_IN_DOUBT once
                              a transaction stayed unknown, until it is known */
    uint32_t rounds; /* attempts and lists since the last heartbeat or watch event (ZKL_ROUNDS) */
    struct zkl_node node;

    /* Contenders ahead. */
    uint32_t rank_gets;          /* gets of DO_RANK that are out */
    struct zkl_contender *ahead; /* a reference; WAIT: its predecessor; FORWARD: the next waiter */
    struct zkl_contender *lookahead; /* WAIT: the predecessor of `ahead`, watched, too
                                        (lookahead.c); a reference, or NULL */
    int64_t mark_zxid;               /* PERMIT: of the newest mark that led to a list */
    uint32_t holders_list; /* WAIT: serial of the list by which it heads (permits.h), or 0 */
    bool recheck;          /* its predecessor went, so other contenders ahead may be gone, too */
    bool looking_ahead;    /* WAIT: its lookahead went, and a list or gets are out */
    bool needs_no_mark;    /* PERMIT: it came last in its list */

    /* The grant. */
    uint32_t epoch;    /* HELD: of the lease clock at the grant */
    bool last_of_turn; /* HELD: its turn ends with this hold */
    bool awaits_list;  /* KEPT, HELD: a list, out or stalled, is to tell whether others wait */

    struct zkl_claim *next_part; /* ring of the parts of a multi-lock, or the claim alone */
    struct zkl_claim *partner;   /* the waiter of a lock's claim, or the lock's claim of a waiter */
    enum zkl_waiter_progress as_waiter; /* ZKL_NO_WAITER: it is no waiter */
};

/*
 * The limit of claim->rounds. Replies may contradict each other, and a claim that asks again at
 * once would ask as fast as the server answers.
 */
#define ZKL_ROUNDS 16

/* False: no round is left, so the claim waits. */
static inline bool zkl_claim_spend_round(struct zkl_claim *claim) {
    return ++claim->rounds <= ZKL_ROUNDS;
}

static inline bool zkl_claim_is_pausing(const struct zkl_claim *claim) {
    return zkl_kind_is_fixed(claim->kind) && claim->state == ZKL_NEW && !claim->stalled;
}

static inline bool zkl_claim_awaits_parts(const struct zkl_claim *claim) {
    return claim->state == ZKL_CREATE && claim->node.nonce == 0;
}

static inline bool zkl_waiter_may_be_signalled(const struct zkl_claim *claim) {
    return claim->as_waiter == ZKL_WAITER_CAME || claim->as_waiter == ZKL_WAITER_BEGAN;
}

/*
 * True if this and all later claims of line->claims wait for their turn, as claims in NEW with a
 * `batch` come last. No list and no event concerns them, so loops stop here.
 */
static inline bool zkl_claims_wait_from(const struct zkl_claim *claim) {
    return claim->batch != 0 && claim->state == ZKL_NEW && claim->line->tries == 0;
}

/* A fencing token counts up to ZKL_BATCH_MAX grants of its node. */
#ifndef ZKL_BATCH_MAX
#define ZKL_BATCH_MAX 1024
#endif
/* A `batch` for turns that end for others after ZKL_QUANTUM. */
#define ZKL_BATCH_BY_TIME (-1)
#define ZKL_QUANTUM (ZKL_SECOND / 5)
#define ZKL_BATCH_CZXID_MAX (INT64_MAX / ZKL_BATCH_MAX)

/* 0: the czxid is too large for a token that counts grants. */
static inline int64_t zkl_token(int64_t czxid, enum zkl_reuse reuse, int32_t grants) {
    if (reuse == ZKL_ONE_GRANT) return czxid;
    return czxid > ZKL_BATCH_CZXID_MAX ? 0 : czxid * ZKL_BATCH_MAX + grants;
}

static inline int64_t zkl_claim_token(const struct zkl_claim *claim) {
    return zkl_token(claim->node.czxid, claim->reuse, claim->node.grants);
}

/* Granted, and neither lost nor given up. */
static inline bool zkl_claim_holds(const struct zkl_claim *claim) {
    return claim->state == ZKL_HELD || (claim->state == ZKL_DOWNGRADE && claim->wanted);
}

static inline bool zkl_claim_holds_or_is_kept(const struct zkl_claim *claim) {
    return zkl_claim_holds(claim) || claim->state == ZKL_KEPT;
}

/* Not only until a list tells of others. */
static inline bool zkl_claim_is_kept_for_later(const struct zkl_claim *claim) {
    return claim->state == ZKL_KEPT && claim->keep > 0;
}

/*
 * A reader with a writer's number has its place by that number alone. Downgrades stop 2^24 numbers
 * early, so that such readers are gone when numbers are exhausted.
 */
#define ZKL_DOWNGRADE_LIMIT (ZKL_SEQUENCE_LIMIT - (1 << 24))

static inline bool zkl_claim_may_downgrade(const struct zkl_claim *claim) {
    return claim->kind == ZKL_WRITE && claim->node.sequence >= 0 &&
           claim->node.sequence < ZKL_DOWNGRADE_LIMIT;
}

/* For ZKL_DO_WATCH_LOOKAHEAD, if the lookahead cannot be watched. */
static inline void zkl_claim_drop_lookahead(struct zkl_claim *claim) {
    zkl_contender_unref(claim->lookahead);
    claim->lookahead = NULL;
}

#endif
