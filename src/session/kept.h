/* kept.h - nodes that are kept after the last release. */
#ifndef ZKL_SESSION_KEPT_H
#define ZKL_SESSION_KEPT_H

#include "stake.h"

struct stake *zkl_kept_longest(const struct zkl_session *session); /* NULL: none is kept */
zkl_time zkl_kept_due(const struct zkl_session *session); /* when the first of them is to end */
void zkl_kept_give_back(struct stake *kept);
void zkl_kept_take(const struct path *path);      /* it has one, and a claim was started there */
void zkl_kept_contended(const struct path *path); /* others came to the path, or may have */
/* The same, by an event of the path or of its children. */
void zkl_kept_event(struct zkl_session *session, enum zkl_node_event event, const char *node);
void zkl_kept_clear_way(const struct path *path, const struct stake *stake); /* before its start */

#endif
