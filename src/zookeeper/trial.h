/* trial.h - finds operations that a server does not know. For src/zookeeper. */
#ifndef ZKL_ZOOKEEPER_TRIAL_H
#define ZKL_ZOOKEEPER_TRIAL_H

#include "internal.h"

enum zkl_operation zkl_operation_of(const struct zkl_rpc *rpc);
/* Notes an answer, or its loss. With the mutex held. */
void zkl_trials_heed(struct zkl_link *link, enum zkl_operation operation, int rc);
/* Keeps for a new session only the unknown operations, to try again. */
void zkl_trials_renew(struct zkl_link *link);
void zkl_trials_begin(struct zkl_link *link); /* if due, in a thread */
bool zkl_trials_lack(const struct zkl_link *link, enum zkl_operation operation);

#endif
