/*
 * children.h - the watch of a lock path's children, which tells of new contenders.
 */
#ifndef ZKL_SESSION_CHILDREN_H
#define ZKL_SESSION_CHILDREN_H

#include "../core/claim_state.h"
#include "path.h"

struct stake;

/*
 * Sends a list with the watch. Without room or memory for it the line counts as changed. False: out
 * of memory.
 */
bool zkl_path_watch_children(struct path *path, struct stake *stake);
/* Takes the answer of that list. */
void zkl_path_answer_children(struct zkl_session *session, struct path *path, enum zkl_reply reply);
void zkl_path_unwatch_children(struct zkl_session *session,
                               struct path *path); /* if it is watched */

#endif
