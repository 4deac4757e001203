/*
 * orphans.h - looks for nodes of this session without a claim, from creates whose replies were
 * lost, and makes claims that remove them.
 */
#ifndef ZKL_SESSION_ORPHANS_H
#define ZKL_SESSION_ORPHANS_H

#include "path.h"
#include "rpc.h"

/* Call it after zkl_line_replace(). Each orphan in the list gets a claim that removes it. */
void zkl_orphans_find(struct zkl_session *session, struct path *path);
/* Likewise for a node of the fixed name, after a get. */
void zkl_orphans_find_fixed(struct zkl_session *session, struct path *path,
                            const struct zkl_stat *stat);
/* Looks at paths where a create is in doubt, when that is due. */
void zkl_orphans_look(struct zkl_session *session);
zkl_time zkl_orphans_due(struct zkl_session *session);

#endif
