/*
 * orphans.h - nodes of this session that no claim has, because a create whose reply was lost may be
 * carried out later.
 */
#ifndef ZKL_SESSION_ORPHANS_H
#define ZKL_SESSION_ORPHANS_H

#include "path.h"
#include "rpc.h"

/* The line has taken in a list. Each orphan in it gets a claim that removes it. */
void zkl_orphans_find(struct zkl_session *session, struct path *path);
/* The same of the node of the fixed name, which a get showed. */
void zkl_orphans_find_fixed(struct zkl_session *session, struct path *path,
                            const struct zkl_stat *stat);
void zkl_orphans_look(struct zkl_session *session); /* where that is due */
zkl_time zkl_orphans_due(struct zkl_session *session);

#endif
