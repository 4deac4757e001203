/*
 * room.h - whether the session may make another node (ZKL_PATHS_MAX) or set another watch
 * (ZKL_WATCHES_MAX). Internal, under the session's lock.
 *
 *     if (!zkl_room_make(session, ROOM_FREE, bytes, 0)) return ZKL_TOO_MANY;
 */
#ifndef ZKL_SESSION_ROOM_H
#define ZKL_SESSION_ROOM_H

#include "session.h"

/* Watches that give way to a new watch, in this order (docs/design/watches.md). */
enum zkl_room {
    ROOM_FREE,          /* only watches that nobody wants */
    ROOM_OF_LOOKAHEADS, /* lookaheads; a hand-off then costs a request */
    ROOM_OF_KEPT,       /* kept nodes, the longest kept first */
    ROOM_OF_TURNS,      /* watches of children, which tell a turn of others */
    ROOM_OF_ROSTERS,    /* the newest first; users hear ZKL_TOO_MANY */
    ROOM_OF_WATCHERS    /* likewise */
};

/*
 * Makes room for bytes of new nodes, for which only kept nodes give way, and of new watches, for
 * which all up to `from` do. False: there is too little.
 */
bool zkl_room_make(struct zkl_session *session, enum zkl_room from, size_t nodes, size_t watches);
/* A watch that gave way counts until its request is answered, so there may be room then. */
bool zkl_room_comes(const struct zkl_session *session);

bool zkl_room_fits_nodes(const struct zkl_session *session, size_t bytes);   /* as it is now */
bool zkl_room_fits_watches(const struct zkl_session *session, size_t bytes); /* as it is now */

/* How others give way until `bytes` fit (yielding.c). */
struct zkl_yielding {
    void (*nodes)(struct zkl_session *session, size_t bytes);
    void (*const *watches)(struct zkl_session *session, size_t bytes); /* by enum zkl_room */
};
extern const struct zkl_yielding zkl_yielding;

#endif
