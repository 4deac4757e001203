/* watcher.h - nodes that users want to hear of. */
#ifndef ZKL_SESSION_WATCHER_H
#define ZKL_SESSION_WATCHER_H

#include "call.h"

void zkl_watcher_answer(const struct call *call, const struct answer *answer);
void zkl_watcher_event(struct zkl_session *session, const char *node); /* its watch has fired */
void zkl_watcher_start_all(struct zkl_session *session);               /* looks that are due */
zkl_time zkl_watcher_due(const struct zkl_session *session);           /* the first of them */
void zkl_watcher_end_all(struct zkl_session *session);

#endif
