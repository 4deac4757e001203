/* stake_actions.h - carries out what the core asks for. */
#ifndef ZKL_SESSION_STAKE_ACTIONS_H
#define ZKL_SESSION_STAKE_ACTIONS_H

#include "call.h"

void zkl_stake_perform(struct stake *stake, zkl_actions actions);
/*
 * All or none, about the stake. The paths of the ops are the function's from now on; where one is
 * NULL, or `ops` is, there was no memory for it.
 */
void zkl_stake_transact(struct stake *stake, enum call_kind kind, const struct zkl_op *ops,
                        size_t count);
void zkl_stake_downgrade(struct stake *stake);
void zkl_stake_mark(struct stake *stake);
void zkl_stake_revise(struct stake *stake); /* somebody wrote into the own node: what? */
void zkl_stake_look_later(struct zkl_session *session, struct path *path);

#endif
