/* room.h - whether the session may make another node or set another watch. */
#ifndef ZKL_SESSION_ROOM_H
#define ZKL_SESSION_ROOM_H

#include "session.h"

/* How far others give way to make room for a watch. Each includes all before it. */
enum zkl_room {
    ROOM_FREE,          /* nothing does, but a watch that nobody wants is removed */
    ROOM_OF_LOOKAHEADS, /* a hand-off costs a request */
    ROOM_OF_KEPT,       /* kept nodes, the longest kept first */
    ROOM_OF_TURNS,      /* the watches of children, which tell a turn of others */
    ROOM_OF_ROSTERS,    /* the newest first; its user hears ZKL_TOO_MANY */
    ROOM_OF_WATCHERS    /* the same */
};

/*
 * Makes room for nodes of so many bytes, and for watches of so many that do not count yet
 * (zkl_stake_cost(), zkl_watches_need()); 0: none. To make room for nodes only kept nodes give way.
 * False: there is too little.
 */
bool zkl_room_make(struct zkl_session *session, enum zkl_room from, size_t nodes, size_t watches);
/* A watch that gave way counts until its request is answered. Then there may be room. */
bool zkl_room_comes(const struct zkl_session *session);

bool zkl_room_fits_nodes(const struct zkl_session *session, size_t bytes);   /* as it is */
bool zkl_room_fits_watches(const struct zkl_session *session, size_t bytes); /* as it is */

/* How others give way, until so many bytes fit (yielding.c); a session refers to it. */
struct zkl_yielding {
    void (*nodes)(struct zkl_session *session, size_t bytes);
    void (*const *watches)(struct zkl_session *session, size_t bytes); /* by enum zkl_room */
};
extern const struct zkl_yielding zkl_yielding;

#endif
