/*
 * keep.h - the table of releases, by which keep.c decides about the node of a claim that gives up
 * the lock, or its place on the way.
 *
 *     zkl_releases[ZKL_FOR_NEXT][ZKL_TURN_GOES_ON]     ZKL_NODE_HANDED_ON
 */
#ifndef ZKL_KEEP_H
#define ZKL_KEEP_H

/* The claim of the session that the node is for. */
enum zkl_purpose {
    ZKL_FOR_NONE,
    ZKL_FOR_LATER, /* a claim that may come, so the node may be kept */
    ZKL_FOR_NEXT,  /* the successor, which waits (zkl_turn_successor) */
    ZKL_PURPOSES
};

enum zkl_turn {
    ZKL_TURN_GOES_ON, /* no other session waits, or its time has not come */
    ZKL_TURN_UNSURE,  /* only a list can tell whether another session waits */
    ZKL_TURN_OVER,    /* another session is next, or the node has no more tokens */
    ZKL_TURNS
};

enum zkl_release {
    ZKL_NODE_REMOVED,
    ZKL_NODE_KEPT,        /* for claim->keep; if others may have come, a list tells meanwhile */
    ZKL_NODE_AWAITS_LIST, /* the claim is KEPT until the list is answered */
    ZKL_NODE_HANDED_ON
};

extern const enum zkl_release zkl_releases[ZKL_PURPOSES][ZKL_TURNS];

#endif
