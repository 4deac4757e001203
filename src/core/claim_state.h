/*
 * claim_state.h - a claim: how far it has come, what its owner may have to do, and what can be told
 * by its fields alone. claim.h says what the fields mean to each other.
 */
#ifndef ZKL_CLAIM_STATE_H
#define ZKL_CLAIM_STATE_H

#include "clock.h"
#include "code.h"
#include "line.h"

/* A set of what the owner has to do: bits of enum zkl_action. */
typedef uint32_t zkl_actions;

enum zkl_action {
    ZKL_DO_PARENTS = 1 << 0,          /* create the missing parents of the path */
    ZKL_DO_CREATE = 1 << 1,           /* create2, ephemeral: claim->node.name; sequential,
                                         unless zkl_kind_is_fixed(claim->kind); of a multi-lock
                                         those of all parts, in one transaction; of a waiter in
                                         one transaction with the delete of partner->node.name */
    ZKL_DO_SYNC = 1 << 2,             /* sync the path */
    ZKL_DO_LIST = 1 << 3,             /* get_children of the path; in LIST, and to look ahead,
                                         only if no other list of the path is out; in CREATE
                                         the owner may put it off until the node is there */
    ZKL_DO_RANK = 1 << 4,             /* get of each zkl_line_unranked() */
    ZKL_DO_WATCH_OWN = 1 << 5,        /* get with watch: claim->node.name */
    ZKL_DO_WATCH_AHEAD = 1 << 6,      /* get with watch: claim->ahead */
    ZKL_DO_REMOVE = 1 << 7,           /* delete claim->node.name; of a waiter that may
                                         be signalled only while nobody has written to it (version
                                         0); of a part in RETREAT resume the other parts, too */
    ZKL_DO_DOWNGRADE = 1 << 8,        /* one transaction: create
                                         zkl_name_downgrade(claim->node.name), ephemeral, and
                                         delete claim->node.name */
    ZKL_DO_FORWARD = 1 << 9,          /* one transaction: delete claim->node.name, and write to
                                         claim->ahead while nobody has (version 0) */
    ZKL_DO_DOUBT = 1 << 10,           /* sync and list the path once more, a session timeout
                                         from now, for zkl_line_orphan() */
    ZKL_DO_FOLLOW = 1 << 11,          /* resume each zkl_claim_follower() of the line, in order */
    ZKL_DO_QUEUED = 1 << 12,          /* tell the user: waiting in line */
    ZKL_DO_GRANT = 1 << 13,           /* tell the user: granted, token zkl_claim_token() */
    ZKL_DO_FAIL = 1 << 14,            /* tell the user: not granted, claim->code; cancel the other
                                         parts of a multi-lock before anything else */
    ZKL_DO_LOSE = 1 << 15,            /* tell the holder: lost; release the other parts */
    ZKL_DO_DOWNGRADED = 1 << 16,      /* tell the holder: it is a reader now, or claim->refusal */
    ZKL_DO_STAYED = 1 << 17,          /* tell the holder: the wait did not begin, claim->refusal */
    ZKL_DO_TELL_PARTNER = 1 << 18,    /* of a waiter: zkl_claim_partner_changed() */
    ZKL_DO_FORGET = 1 << 19,          /* GONE: free it when none of its requests is out */
    ZKL_DO_PAUSE = 1 << 20,           /* zkl_claim_wake() after a pause of any length, or none */
    ZKL_DO_HOLDERS = 1 << 21,         /* WAIT: get with watch: each contender that
                                         zkl_line_precedes() the claim */
    ZKL_DO_MARK = 1 << 22,            /* HELD: write its data to claim->node.name again; if the
                                         node is `marked` with ZKL_HELD_WORD behind */
    ZKL_DO_WATCH_LOOKAHEAD = 1 << 23, /* get with watch: claim->lookahead; or, if there is no room
                                        for it, zkl_claim_overlook() */
    ZKL_DO_WATCH_CHILDREN = 1 << 24,  /* get_children of the path, with a watch, and set
                                         line->children; if there is no room for the watch, set
                                         line->changed */
    ZKL_DO_KEEP = 1 << 25             /* KEPT: zkl_claim_tick() at claim->deadline */
};

#define ZKL_ALL_ACTIONS ((zkl_actions)(ZKL_DO_KEEP << 1) - 1)

/* The life of a claim. */
enum zkl_claim_state {
    /*
     * Nothing was asked yet: there is no connection; or no proof would count yet; or an earlier
     * claim of the session comes first: it is finding out whether the path exists, and would lose
     * its place, or it has a node that this claim will have after it. Such a claim is `stalled`;
     * one without an order that is not makes a pause.
     */
    ZKL_NEW,
    ZKL_TRY,          /* a list is out: is the lock free? (a try writes nothing if not) */
    ZKL_CREATE,       /* create and list are out, in one flight; a part of a multi-lock may wait for
                         the others: its attempt has no nonce yet */
    ZKL_RECOVER_SYNC, /* the create's outcome is unknown: sync and list are out, the sync is not
                         yet answered */
    ZKL_RECOVER_LIST, /* the sync is answered; the list will tell whether the node is there */
    ZKL_RECOVER_STAT, /* the node was found; a get is out for its czxid */
    ZKL_LIST,         /* the node exists; a list is out */
    ZKL_RANK,         /* gets are out for contenders ahead: for their czxids, when numbers are
                         exhausted; or to see which of them are still there */
    ZKL_WAIT,         /* another contender is ahead, and is watched */
    ZKL_PROVE,        /* first in line, but the lease clock is not certain: a sync is out */
    ZKL_RETREAT,      /* first in line, but no proof would count yet: its node is being removed, for
                         those behind it; then NEW */
    ZKL_FIRST,        /* first in line, but not every part of the multi-lock is; or it has the node
                         that another claim held, and was not granted yet */
    ZKL_HELD,         /* granted */
    ZKL_DOWNGRADE,    /* a writer becomes a reader; create and delete are out, in one transaction.
                         It holds meanwhile. */
    ZKL_IN_CONDITION, /* its user waits in a condition */
    ZKL_SIGNALLED,    /* a waiter: its signal came, and the lock's claim contends */
    ZKL_FORWARD,      /* a waiter that passes its signal on to another one: a list, or the
                         transaction that passes it on, is out */
    ZKL_KEPT,         /* given up; its node stays for the session's next claim */
    ZKL_LEAVE,        /* not wanted any more; the node is being removed */
    ZKL_GONE          /* nothing of it is left */
};

/* Whether a claim is a condition's waiter, and how far it has come. */
enum zkl_waiting {
    ZKL_NO_WAITER,
    ZKL_WAITER_CAME,   /* the lock's node is there, or was when last heard of */
    ZKL_WAITER_BEGAN,  /* the lock's node is gone */
    ZKL_WAITER_SETTLED /* its signal was taken, or nobody is to have it */
};

/* The claim of its session that one in NEW comes after, and why. */
enum zkl_awaits {
    ZKL_AWAITS_NOTHING, /* it needs a node of its own */
    ZKL_AWAITS_NODE,    /* the node that is kept, which it gets unless others wait */
    ZKL_AWAITS_TURN,    /* another claim, for both or, without an order, for all */
    ZKL_AWAITS_PATH     /* an earlier claim, which finds out whether the path exists */
};

/* How the server answered a request. */
enum zkl_reply {
    ZKL_DONE,    /* it was carried out */
    ZKL_ABSENT,  /* there is no such node (create: no such parent) */
    ZKL_REFUSED, /* it was not carried out, and asking again will not help */
    ZKL_UNKNOWN  /* the reply was lost: carried out or not */
};

/* A node of ours: what is true of it whichever claim has it. */
struct zkl_node {
    int64_t czxid;       /* 0: not known */
    uint64_t nonce;      /* of the attempt that makes or made it */
    zkl_time turn_began; /* its first grant */
    zkl_time listed_at;  /* when the list that came with it was answered; 0: never, or what was
                            asked since got lost */
    uint32_t listed;     /* serial of the list that came with it */
    int32_t sequence;
    int32_t grants;           /* how often it was granted to claims before this one */
    bool watched;             /* or the get is out */
    bool doubted;             /* its create, or one of an attempt before, stayed unknown */
    bool contended;           /* it waited behind another session's */
    bool marked;              /* it is to say that it is held */
    char name[ZKL_NAME_SIZE]; /* CREATE: without the counter */
};

struct zkl_claim {
    struct zkl_line *line;
    struct zkl_claim *next, **link; /* in line->claims */

    /* What its user wants. */
    enum zkl_kind kind;
    int32_t permits, limit; /* PERMIT; else 0 */
    int32_t batch;          /* when its turn ends for others: after so many grants, or
                               ZKL_BATCH_BY_TIME; 0: it takes no turns */
    zkl_time keep;          /* how long its node stays after the release; 0: it does not */
    zkl_time deadline;      /* for the grant; HELD, DOWNGRADE: for the release, after which it is
                               lost; KEPT: for the next grant; ZKL_NEVER: none */
    enum zkl_reuse reuse;   /* its node's; not ZKL_ONE_GRANT with a batch */
    int32_t max_waiters; /* it fails if so many wait already; 0: no limit, or it was told to wait */
    bool trying;         /* must not queue: ZKL_BUSY once an answer shows a contender in its way,
                            ZKL_TIMEOUT if none does */
    bool wanted;         /* its user still waits for it or holds it */

    /* How far it has come. */
    bool stalled;   /* its request failed; zkl_claim_resume() asks again */
    bool announced; /* DO_QUEUED was given */
    enum zkl_claim_state state;
    enum zkl_code code;    /* why it failed, or ZKL_LOST */
    enum zkl_code refusal; /* why its parents could not be made, why it stays a writer, or cannot
                              wait; DOWNGRADE: ZKL_IN_DOUBT once a transaction stayed unknown */
    uint32_t rounds;       /* attempts and lists since the last heartbeat or watch event */
    struct zkl_node node;

    /* Who is ahead. */
    uint32_t ranks;              /* gets for czxids that are out */
    struct zkl_contender *ahead; /* WAIT: the contender that is watched; FORWARD: the waiter that
                                    is to have the signal; a reference */
    struct zkl_contender *lookahead; /* WAIT: the predecessor of `ahead`, which is watched, too
                                        (lookahead.c); a reference, or NULL */
    int64_t heard;   /* PERMIT: zxid of the newest mark after which a list was asked for */
    uint32_t headed; /* WAIT: serial of the list by which it heads: each contender ahead is
                        watched, `ahead` is only one of them; 0: it does not head */
    bool recheck;    /* its predecessor went: others ahead may be gone, too */
    bool looking;    /* WAIT: a list, or gets, are out, for its lookahead went */
    bool unseen;     /* PERMIT: nobody can have seen it wait: zkl_permits_unseen() */

    /* Its grant. */
    uint32_t epoch; /* HELD: of the lease clock at the grant */
    bool ends;      /* HELD: its turn ends with this grant */
    bool asks;      /* KEPT, or HELD with a node that may be kept: a list is to tell whether
                       others wait; it is out, or the claim is stalled */

    struct zkl_claim *next_part; /* of a multi-lock, in a ring; itself: it is no part */
    struct zkl_claim *partner;   /* of a lock's claim: its waiter; of a waiter: the lock's claim */
    enum zkl_waiting waiting;
};

/*
 * How many attempts and lists replies may cause until the next heartbeat or watch event. A server's
 * replies may contradict each other, and a claim that asks again at once would ask as fast as the
 * server answers. zkl_claim_asks_too_often() counts one more; true: it is one too many, and the
 * claim waits.
 */
#define ZKL_ROUNDS 16

static inline bool zkl_claim_asks_too_often(struct zkl_claim *claim) {
    return ++claim->rounds > ZKL_ROUNDS;
}

/* The claim, of ZKL_UNFAIR, makes a pause: until zkl_claim_wake(). */
static inline bool zkl_claim_is_pausing(const struct zkl_claim *claim) {
    return zkl_kind_is_fixed(claim->kind) && claim->state == ZKL_NEW && !claim->stalled;
}

/* The claim, a part of a multi-lock, waits for the other parts: its create is not sent. */
static inline bool zkl_claim_awaits_parts(const struct zkl_claim *claim) {
    return claim->state == ZKL_CREATE && claim->node.nonce == 0;
}

/* A waiter's node may have a signal that nobody has taken. */
static inline bool zkl_waiter_may_be_signalled(const struct zkl_claim *claim) {
    return claim->waiting == ZKL_WAITER_CAME || claim->waiting == ZKL_WAITER_BEGAN;
}

/*
 * From this claim on all claims wait for their turn: no list and no event is for any of them. Of
 * the claims on a path those with a `batch` in NEW come last, but for tries.
 */
static inline bool zkl_claims_wait_from(const struct zkl_claim *claim) {
    return claim->batch != 0 && claim->state == ZKL_NEW && claim->line->tries == 0;
}

/* The fencing token. That of a node with many grants counts them, too. */
#ifndef ZKL_BATCH_MAX
#define ZKL_BATCH_MAX 1024
#endif
/* Instead of a number of grants: a turn ends for others after ZKL_QUANTUM. */
#define ZKL_BATCH_BY_TIME (-1)
#define ZKL_QUANTUM (ZKL_SECOND / 5)
#define ZKL_BATCH_CZXID_MAX (INT64_MAX / ZKL_BATCH_MAX)

/* 0: the czxid is too large for a token that counts. */
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

/* The claim holds, or is KEPT: what is true of a holder's node is true of its node. */
static inline bool zkl_claim_has_node(const struct zkl_claim *claim) {
    return zkl_claim_holds(claim) || claim->state == ZKL_KEPT;
}

/* Given up, and its node stays for a time. */
static inline bool zkl_claim_is_kept(const struct zkl_claim *claim) {
    return claim->state == ZKL_KEPT && claim->keep > 0;
}

/*
 * A reader with a writer's number has its place by that number alone. So it has to be gone when
 * numbers are exhausted: no such reader is made this near to the end.
 */
#define ZKL_DOWNGRADE_LIMIT (ZKL_SEQUENCE_LIMIT - (1 << 24))

static inline bool zkl_claim_may_downgrade(const struct zkl_claim *claim) {
    return claim->kind == ZKL_WRITE && claim->node.sequence >= 0 &&
           claim->node.sequence < ZKL_DOWNGRADE_LIMIT;
}

/*
 * The reply to ZKL_DO_WATCH_LOOKAHEAD: the lookahead is not watched. The claim asks about the
 * others ahead when its predecessor goes.
 */
static inline void zkl_claim_overlook(struct zkl_claim *claim) {
    zkl_contender_unref(claim->lookahead);
    claim->lookahead = NULL;
}

#endif
