/*
 * watches.h - the watches of a session, which owns them. Internal, under the session's lock.
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

/* For a node's children the path has another slash before it, as in //locks/a, and is no node's. */
struct watch {
    struct watch *next;
    unsigned asked;  /* requests that are out for it */
    unsigned owners; /* claims that want it as their own node's */
    unsigned wants;  /* claims that want it as another's */
    unsigned pins;   /* watchers and lock paths; it counts for them even if unset */
    enum watch_state state;
    bool removing; /* the request to remove it is out */
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
    size_t bytes;    /* without claims' own nodes */
    size_t unwanted; /* set, and to be removed */
    size_t leaving;  /* asked for, and no longer wanted */
};

/* Bytes that a watch of another's node would add; 0: it counts already, or is of an own node. */
size_t zkl_watches_need(const struct watches *watches, const char *path);
/* The same for a watch that does not count. */
size_t zkl_watches_cost(const struct watches *watches, size_t path_length);
/* The watch that the stake now wants, and asks for. NULL: out of memory. */
struct watch *zkl_watches_want(struct stake *stake, const char *path, bool own);
/* The same for a watch that the session has already. False: it has none. */
bool zkl_watches_share(struct stake *stake, const char *path);
void zkl_watches_answer(struct watches *watches, struct watch *watch, bool set);
void zkl_watches_fired(struct watches *watches, const char *path);
void zkl_watches_children_fired(struct watches *watches, const char *node);
void zkl_watches_removing(struct watches *watches, const char *path);
/* The stake wants no other nodes now. Their watches stay until a heartbeat. */
void zkl_watches_drop_others(struct stake *stake);
/* The same, except for `ahead` and `lookahead`. If `at_once`, the watches go now, to make room. */
void zkl_watches_narrow(struct stake *stake, bool at_once);
/* The claim is GONE, and wants none any more. */
void zkl_watches_leave(struct stake *stake);
/* For a watcher or a path's children, also in later sessions. NULL: out of memory. */
struct watch *zkl_watches_pin(struct watches *watches, const char *path);
bool zkl_watches_is_pinned(const struct watches *watches, const char *path);
void zkl_watches_ask_pinned(struct watches *watches, struct watch *watch); /* a pinned watch */
void zkl_watches_unpin(struct zkl_session *session, struct watch *watch);
/* If connected, else later. */
void zkl_watches_remove_unwanted(struct zkl_session *session);
/* The session and its stakes are gone. Nothing is set, but pins stay. */
void zkl_watches_clear(struct watches *watches);

#endif
