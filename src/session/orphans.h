/*
 * orphans.h - looks for nodes of this session without a claim, from creates whose replies were
 * lost, and makes claims that remove them. Internal, under the session's lock.
 */
#ifndef ZKL_SESSION_ORPHANS_H
#define ZKL_SESSION_ORPHANS_H

#include "path.h"
#include "rpc.h"

/* After a list was taken into the line. Each orphan in it gets a claim that removes it. */
void zkl_orphans_find(struct zkl_session *session, struct path *path);
/* The same for a node of the fixed name, after a get. */
void zkl_orphans_find_fixed(struct zkl_session *session, struct path *path,
                            const struct zkl_stat *stat);
void zkl_orphans_look(struct zkl_session *session); /* at paths where it is due */
zkl_time zkl_orphans_due(struct zkl_session *session);

#endif
