/* stake_actions.h - carries out what a claim asks for. */
#ifndef ZKL_SESSION_STAKE_ACTIONS_H
#define ZKL_SESSION_STAKE_ACTIONS_H

#include "stake.h"

void zkl_stake_perform(struct stake *stake, zkl_actions actions);
/*
 * One transaction, for the stake: all ops or none. It takes over the ops' paths; where one is NULL,
 * or `ops` is, there was no memory for it.
 */
void zkl_stake_transact(struct stake *stake, enum stake_call kind, const struct zkl_op *ops,
                        size_t count);
void zkl_stake_downgrade(struct stake *stake);
void zkl_stake_new_node(struct stake *stake); /* nothing was written to it yet */
void zkl_stake_mark(struct stake *stake);
void zkl_stake_revise(struct stake *stake); /* reads the own node, to which somebody wrote */
/* Claims far from the front did not watch what they wait for: those that have come near do. */
void zkl_stake_resume_postponed(struct zkl_session *session, struct path *path);

#endif
