/* watches.h - watched paths. */
#ifndef ZKL_SESSION_WATCHES_H
#define ZKL_SESSION_WATCHES_H

#include "session.h"

struct stake;

enum watch_state {
    WATCH_UNSET,
    WATCH_SET,
    WATCH_LASTING /* set, and it cannot be removed */
};

/*
 * The watch of a node's children has the node's path with a slash before it, as in //locks/a: that
 * is no node's path.
 */
struct watch {
    struct watch *next;
    unsigned asked;     /* requests for it that are out */
    unsigned owners;    /* claims that asked for it as their own node's */
    unsigned followers; /* claims that asked for it as another's */
    unsigned pins;      /* watchers, and lock paths: it counts for them also while it is not set */
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
    size_t overhead; /* of a path: its length field, and the chroot */
    struct watch *buckets[WATCH_BUCKETS];
    size_t count;
    size_t bytes;    /* of those that are no claim's own node */
    size_t unwanted; /* set, and to be removed */
    size_t leaving;  /* asked for, and not wanted any more */
};

/* How many bytes more the watch of another's node costs; 0: it counts already, or is own. */
size_t zkl_watches_need(const struct watches *watches, const char *path);
/* The same of one that does not count. */
size_t zkl_watches_cost(const struct watches *watches, size_t path_length);
/* The watch, which the stake wants, and asks for. NULL: out of memory. */
struct watch *zkl_watches_ask(struct stake *stake, const char *path, bool own);
/* The same without a request, for the session has the watch already. False: it has not. */
bool zkl_watches_follow(struct stake *stake, const char *path);
void zkl_watches_answer(struct watches *watches, struct watch *watch, bool set);
void zkl_watches_fired(struct watches *watches, const char *path);
void zkl_watches_children_fired(struct watches *watches, const char *node); /* of its children */
void zkl_watches_removing(struct watches *watches, const char *path);
/* The stake wants none of other nodes for now; what it asked for stays until a heartbeat. */
void zkl_watches_drop_others(struct stake *stake);
/* The same, but for its claim's `ahead` and `lookahead`; `at_once`: to make room. */
void zkl_watches_narrow(struct stake *stake, bool at_once);
/* The claim is GONE: it wants none any more. */
void zkl_watches_leave(struct stake *stake);
/* For a watcher, also in later sessions, or for a path's children. NULL: out of memory. */
struct watch *zkl_watches_pin(struct watches *watches, const char *path);
bool zkl_watches_is_pinned(const struct watches *watches, const char *path);
void zkl_watches_ask_for(struct watches *watches, struct watch *watch); /* one that is pinned */
void zkl_watches_unpin(struct zkl_session *session, struct watch *watch);
/* If there is a connection; else later. */
void zkl_watches_remove_unwanted(struct zkl_session *session);
/* The session is gone, and all its stakes: nothing is set, and what is pinned stays. */
void zkl_watches_clear(struct watches *watches);

#endif
