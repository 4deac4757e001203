/* moves.h - the possible next moves. A schedule is a row of moves. */
#ifndef MOVES_H
#define MOVES_H

#include "world.h"

enum move {
    /* moves of progress */
    MOVE_CARRY,   /* a request to its server */
    MOVE_DELIVER, /* a reply or event to the session */
    MOVE_KEEP,    /* a client does due work */
    MOVE_SEE,     /* a follower sees the next commit, or all */
    MOVE_CONNECT,
    MOVE_PASS,
    /* moves of users */
    MOVE_WISH,
    MOVE_CANCEL,
    MOVE_RELEASE,
    MOVE_CLOSE, /* a session begins to close, or ends closing */
    MOVE_DOWNGRADE,
    MOVE_YIELD, /* a stranger asks a holder to give way */
    MOVE_WAIT,
    MOVE_SIGNAL,
    MOVE_INTERRUPT, /* ends all waits of an owner */
    MOVE_RELEASE_ALL,
    MOVE_DEED, /* a user's deed, see deeds.h */
    MOVE_HOLD, /* a user changes the end of its hold */
    /* moves that are faults */
    MOVE_SEVER,
    MOVE_STOP,
    MOVE_CONTINUE,
    MOVE_KILL,
    MOVE_EXPIRE, /* a stranger ends a session */
    MOVE_APART,  /* a follower loses its leader */
    MOVE_REJOIN,
    MOVE_LAND, /* a slow write lands */
    MOVE_REAP, /* the empty container is removed */
    /* moves of strangers */
    MOVE_ENTER,  /* a contender or junk comes */
    MOVE_LEAVE,  /* a contender goes, or downgrades */
    MOVE_ROB,    /* deletes our node */
    MOVE_CHANGE, /* writes to our node */
    MOVE_CLEAR,  /* deletes the path */
    MOVE_TOUCH,  /* changes a user's node */
    MOVES
};

enum { FIRST_FAULT = MOVE_SEVER };

struct move_row {
    const char *name;
    unsigned weight;
};
extern const struct move_row move_rows[MOVES];

/* Makes a random possible move. False: none is possible. */
bool move(void);

/* A user tries for a lock, and does not wait. */
void move_try(struct client *client);

extern uint64_t moves_made[MOVES];

#endif
