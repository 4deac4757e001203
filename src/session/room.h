/*
 * room.h - whether the session may make another node (ZKL_PATHS_MAX) or set another watch
 * (ZKL_WATCHES_MAX).
 *
 *     if (!zkl_room_make_for_nodes(session, bytes)) return ZKL_TOO_MANY;
 */
#ifndef ZKL_SESSION_ROOM_H
#define ZKL_SESSION_ROOM_H

#include "session.h"

/*
 * Watches that may be given up for a new watch. Each includes those above it, which go first
 * (docs/design/watches.md).
 */
enum zkl_room {
    ROOM_FREE,          /* only watches that nobody wants */
    ROOM_OF_LOOKAHEADS, /* watches two places ahead; a hand-off then costs a request */
    ROOM_OF_KEPT,       /* kept nodes, the longest kept first */
    ROOM_OF_TURNS,      /* watches of a lock's children, which tell a turn that others wait */
    ROOM_OF_ROSTERS,    /* the newest first; users hear ZKL_TOO_MANY */
    ROOM_OF_WATCHERS    /* likewise */
};

/* Makes room for new nodes, by giving up kept ones. False: there is too little. */
bool zkl_room_make_for_nodes(struct zkl_session *session, size_t bytes);
/* Makes room for new watches, by giving up those of ROOM_FREE to `most`. */
bool zkl_room_make_for_watches(struct zkl_session *session, enum zkl_room most, size_t bytes);
/* Requests for watches that nobody wants any more are out. Their answers will bring room. */
bool zkl_room_is_coming(const struct zkl_session *session);

bool zkl_room_fits_nodes(const struct zkl_session *session, size_t bytes);
bool zkl_room_fits_watches(const struct zkl_session *session, size_t bytes);

/* Functions that give up nodes or watches until `bytes` fit (yielding.c). */
struct zkl_yielding {
    void (*nodes)(struct zkl_session *session, size_t bytes);
    void (*const *watches)(struct zkl_session *session, size_t bytes); /* by enum zkl_room */
};
extern const struct zkl_yielding zkl_yielding;

#endif
