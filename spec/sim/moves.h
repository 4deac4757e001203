/*
 * moves.h - what can happen next. A schedule is a row of moves: one of those that
 * are possible now is chosen, and made.
 */
#ifndef MOVES_H
#define MOVES_H

#include "world.h"

enum move {
    /* what goes on by itself */
    MOVE_CARRY,   /* a request gets to its server */
    MOVE_DELIVER, /* a reply or an event gets to the session */
    MOVE_KEEP,    /* a client does at once what the time asks for */
    MOVE_SEE,     /* a follower learns of the next commit, or of all */
    MOVE_CONNECT,
    MOVE_PASS, /* time passes */
    /* what users do */
    MOVE_WISH,
    MOVE_CANCEL,
    MOVE_RELEASE,
    MOVE_CLOSE,       /* a session begins to close, or comes to the end of it */
    MOVE_DOWNGRADE,   /* a writer becomes a reader */
    MOVE_YIELD,       /* somebody asks a holder to give way */
    MOVE_WAIT,        /* a holder waits in the condition */
    MOVE_SIGNAL,      /* a holder signals it */
    MOVE_INTERRUPT,   /* an owner ends all its waits */
    MOVE_RELEASE_ALL, /* or gives up all that it has */
    MOVE_DEED,        /* a user writes, asks or watches: deeds.h */
    MOVE_HOLD,        /* a holder moves the end of its hold, or sets one */
    /* faults */
    MOVE_SEVER,    /* a connection is cut */
    MOVE_STOP,     /* a process is stopped */
    MOVE_CONTINUE, /* and goes on */
    MOVE_KILL,
    MOVE_EXPIRE, /* a session ends before its time: somebody closed it */
    MOVE_APART,  /* a follower is cut off from the leader */
    MOVE_REJOIN,
    MOVE_LAND, /* a create or a downgrade that was on a slow way */
    MOVE_REAP, /* the empty container goes, and its counter with it */
    /* other people */
    MOVE_ENTER,  /* another client's node, or junk */
    MOVE_LEAVE,  /* it goes, or is downgraded */
    MOVE_ROB,    /* somebody deletes a node of ours */
    MOVE_CHANGE, /* or writes to it */
    MOVE_CLEAR,  /* somebody deletes the path with all its children */
    MOVE_TOUCH,  /* somebody changes a node of the user's */
    MOVES
};

enum { FIRST_FAULT = MOVE_SEVER };

struct move_row {
    const char *name;
    unsigned weight; /* how likely it is */
};
extern const struct move_row move_rows[MOVES];

/* Chooses a move of those that are possible and makes it; false: there is none. */
bool move(void);

/* The client wants a lock now or never. */
void move_try(struct client *client);

/* How often each was made. */
extern uint64_t moves_made[MOVES];

#endif
