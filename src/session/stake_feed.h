/* stake_feed.h - feeds a claim what was heard. */
#ifndef ZKL_SESSION_STAKE_FEED_H
#define ZKL_SESSION_STAKE_FEED_H

#include "call.h"
#include "stake.h"

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

extern const struct call_kind zkl_stake_calls[STAKE_CALLS];

/* The stake that asked; the call is a stake's. */
static inline struct stake *zkl_call_stake(const struct call *call) {
    return (struct stake *)((char *)call->asker - offsetof(struct stake, asker));
}

struct call *zkl_stake_call_new(struct stake *stake, enum stake_call kind); /* NULL: no memory */
void zkl_stake_answer_starved(struct zkl_session *session);
void zkl_stake_event(struct zkl_session *session, enum zkl_node_event event, const char *node);
/* The stake that has that node; NULL: none. */
struct stake *zkl_stake_of(struct zkl_session *session, const char *node);
/* The node is not there: if it is the stake's, tells its claim. False: it has another name now. */
bool zkl_stake_absent(struct stake *stake, const char *node);

#endif
