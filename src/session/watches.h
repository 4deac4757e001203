/*
 * watches.h - the watches of a session, which owns them.
 *
 *     if (zkl_watches_need(watches, path) <= room) watch = zkl_watches_want(stake, path, false);
 */
#ifndef ZKL_SESSION_WATCHES_H
#define ZKL_SESSION_WATCHES_H

#include "session.h"

struct stake;

enum watch_state {
    WATCH_UNSET,
    WATCH_SET,
    WATCH_LASTING /* set, and cannot be removed */
};

/* The path of a watch of a node's children begins with two slashes, as in //locks/a. */
struct watch {
    struct watch *next;
    unsigned requests_out; /* that set it */
    unsigned owners;       /* claims that want it as their own node's */
    unsigned wants;        /* claims that want it to watch another's node */
    unsigned pins;         /* by followers and lock paths; it counts even if unset */
    enum watch_state state;
    bool removing; /* the request that removes it is out */
    char path[];
};

/* A claim's reference to a watch of another's node. */
struct want {
    struct want *next; /* in stake->wants */
    struct watch *watch;
};

#ifndef WATCH_BUCKETS
#define WATCH_BUCKETS 256
#endif

struct watches {
    size_t overhead; /* for a path's length field and the chroot */
    struct watch *buckets[WATCH_BUCKETS];
    size_t count;
    size_t bytes;          /* without watches of claims' own nodes */
    size_t unwanted_count; /* watches that are set, to be removed */
    size_t leaving_count;  /* watches asked for, and no longer wanted */
};

/* Bytes that a watch of another's node would add; 0: it counts already, or is of an own node. */
size_t zkl_watches_need(const struct watches *watches, const char *path);

size_t zkl_watches_cost(const struct watches *watches, size_t path_length);
/* Adds a want for a watch that the caller asks for. NULL: out of memory. */
struct watch *zkl_watches_want(struct stake *stake, const char *path, bool own);
/* Adds a want for a watch that is set. False: there is none. */
bool zkl_watches_share(struct stake *stake, const char *path);
void zkl_watches_note_answer(struct watches *watches, struct watch *watch, bool set);
void zkl_watches_note_fired(struct watches *watches, const char *path);
void zkl_watches_note_children_fired(struct watches *watches, const char *node);
void zkl_watches_note_removal(struct watches *watches, const char *path);
/* The stake wants no watches of others' nodes any more. They stay until a heartbeat. */
void zkl_watches_drop_others(struct stake *stake);
/* Likewise, but keeps those of `ahead` and `lookahead`. If `at_once` they go now, to make room. */
void zkl_watches_narrow(struct stake *stake, bool at_once);
/* The stake wants no watch any more. */
void zkl_watches_leave(struct stake *stake);
/* For a follower or a path's children, also in later ZooKeeper sessions. NULL: out of memory. */
struct watch *zkl_watches_pin(struct watches *watches, const char *path);
bool zkl_watches_is_pinned(const struct watches *watches, const char *path);
void zkl_watches_ask_pinned(struct watches *watches, struct watch *watch);
void zkl_watches_unpin(struct zkl_session *session, struct watch *watch);
/* Without a connection it is left for later. */
void zkl_watches_remove_unwanted(struct zkl_session *session);
/* The ZooKeeper session and its stakes are gone. No watch is set, but pins stay. */
void zkl_watches_clear(struct watches *watches);

#endif
