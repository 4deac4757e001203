/* trial.h - operations that a server does not know. */
#ifndef ZKL_ZOOKEEPER_TRIAL_H
#define ZKL_ZOOKEEPER_TRIAL_H

#include "internal.h"

enum zkl_operation zkl_operation_of(const struct zkl_rpc *rpc);
/* The mutex is held. An operation was answered, or is lost. */
void zkl_trials_heed(struct zkl_link *link, enum zkl_operation operation, int rc);
/* Another session begins; its servers may have been replaced. */
void zkl_trials_renew(struct zkl_link *link);
void zkl_trials_begin(struct zkl_link *link); /* in a thread, if one is due */
bool zkl_trials_lack(const struct zkl_link *link, enum zkl_operation operation);

#endif
