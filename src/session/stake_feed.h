/* stake_feed.h - feeds a claim what was heard. */
#ifndef ZKL_SESSION_STAKE_FEED_H
#define ZKL_SESSION_STAKE_FEED_H

#include "call.h"
#include "stake.h"

void zkl_stake_answer(const struct call *call, const struct answer *answer);
void zkl_stake_answer_starved(struct zkl_session *session);
void zkl_stake_event(struct zkl_session *session, enum zkl_node_event event, const char *node);
void zkl_stake_look_for_orphans(struct path *path, struct zkl_session *session);
/* The same after a get of the node of the fixed name. */
void zkl_stake_look_for_fixed_orphan(struct path *path, struct zkl_session *session,
                                     const struct zkl_stat *stat);
/* The stake that has that node; NULL: none. */
struct stake *zkl_stake_of(struct zkl_session *session, const char *node);
/*
 * That node is not there: if it is the stake's, tells its claim. False: it has another name now, or
 * gets one.
 */
bool zkl_stake_absent(struct stake *stake, const char *node);

#endif
