/* trial.h - finds operations that a server does not know. For src/zookeeper. */
#ifndef ZKL_ZOOKEEPER_TRIAL_H
#define ZKL_ZOOKEEPER_TRIAL_H

#include "internal.h"

enum zkl_operation zkl_operation_of(const struct zkl_rpc *rpc);
/* The rest is called with the mutex held. */
/* Notes an answer. If a lost connection took the answer, tries the operation. */
void zkl_trials_heed(struct zkl_link *link, enum zkl_operation operation, int rc);
/* For a new session. Operations that were unsupported are tried again. */
void zkl_trials_renew(struct zkl_link *link);
void zkl_trials_begin(struct zkl_link *link); /* if due, in a thread */
/* True if trials have shown that the servers do not know the operation. */
bool zkl_trials_lack(const struct zkl_link *link, enum zkl_operation operation);

#endif
