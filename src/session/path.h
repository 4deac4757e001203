/* path.h - lock paths in use. */
#ifndef ZKL_SESSION_PATH_H
#define ZKL_SESSION_PATH_H

#include "records.h"

struct path *zkl_path_find(struct zkl_session *session, const char *text, size_t length);
struct path *zkl_path_use(struct zkl_session *session, const char *text);   /* NULL: no memory */
struct path *zkl_path_next(struct zkl_session *session, struct path *path); /* NULL: first, last */
void zkl_path_idle(struct zkl_session *session, struct path *path); /* nothing keeps it now */
void zkl_path_tidy(struct zkl_session *session); /* frees the idle ones, unless used again */
char *zkl_path_join(const char *parent, const char *name); /* NULL: no memory */

#endif
