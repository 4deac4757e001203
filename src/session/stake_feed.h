/*
 * stake_feed.h - feeds replies and watch events to claims.
 */
#ifndef ZKL_SESSION_STAKE_FEED_H
#define ZKL_SESSION_STAKE_FEED_H

#include "stake.h"

extern const struct call_kind zkl_stake_calls[STAKE_CALLS]; /* for zkl_session_new() */
/* Answers, as unknown, the calls for which there was no memory. */
void zkl_stake_answer_unallocated(struct zkl_session *session);
void zkl_stake_event(struct zkl_session *session, enum zkl_node_event event, const char *node);
/* The stake with that node, or NULL. */
struct stake *zkl_stake_find(struct zkl_session *session, const char *node);
/* Tells the stake's claim that its node is gone, unless the claim has another node by now. */
void zkl_stake_node_absent(struct stake *stake, const char *node);

#endif
