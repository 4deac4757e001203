/*
 * stake_actions.h - carries out the actions of a stake's claim.
 *
 *     zkl_stake_perform(stake, zkl_claim_start(&stake->claim));
 */
#ifndef ZKL_SESSION_STAKE_ACTIONS_H
#define ZKL_SESSION_STAKE_ACTIONS_H

#include "stake.h"

void zkl_stake_perform(struct stake *stake, zkl_actions actions);
/*
 * Sends all ops in one transaction, and owns their paths. If a path or `ops` is NULL there was no
 * memory for it.
 */
void zkl_stake_transact(struct stake *stake, enum stake_call kind, const struct zkl_op *ops,
                        size_t count);
void zkl_stake_send_downgrade(struct stake *stake);
void zkl_stake_prepare_node(struct stake *stake); /* before its create */
void zkl_stake_send_mark(struct stake *stake);
/* Reads the own node, to repeat our write after a foreign write. */
void zkl_stake_reread(struct stake *stake);
/* Lets claims that have come near the front watch their predecessors. */
void zkl_stake_resume_postponed(struct zkl_session *session, struct path *path);

#endif
