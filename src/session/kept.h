/* kept.h - nodes that are kept after the last release. */
#ifndef ZKL_SESSION_KEPT_H
#define ZKL_SESSION_KEPT_H

#include "stake.h"

struct stake *zkl_kept_longest(const struct zkl_session *session); /* NULL: none is kept */
zkl_time zkl_kept_due(const struct zkl_session *session);
void zkl_kept_give_back(struct stake *kept); /* removes the node, so that others may hold */
/* Another claim was started. Hands the node on, if it may. */
void zkl_kept_offer(const struct path *path);
void zkl_kept_note_contenders(const struct path *path); /* contenders have come, or may have */
/* For an event of a lock path, by which contenders may have come. */
void zkl_kept_event(struct zkl_session *session, enum zkl_node_event event, const char *node);
/* The stake starts. Gives back a node that it cannot inherit. */
void zkl_kept_clear_way(const struct path *path, const struct stake *stake);

#endif
