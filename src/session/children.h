/* children.h - the watch of a path's children, which tells that others have come. */
#ifndef ZKL_SESSION_CHILDREN_H
#define ZKL_SESSION_CHILDREN_H

#include "../core/claim_state.h"
#include "path.h"

struct stake;

/*
 * Sends a list with a watch of the children, for the stake. Without room or memory they may have
 * changed. False: there was no memory.
 */
bool zkl_path_watch(struct path *path, struct stake *stake);
/* That list is answered. */
void zkl_path_watched(struct zkl_session *session, struct path *path, enum zkl_reply reply);
void zkl_path_unwatch(struct zkl_session *session, struct path *path); /* if it is watched */

#endif
