/*
 * follower.h - the base of watchers, members and rosters, which a session keeps up until their
 * users end them. Each asks the server when it is due, one round of requests at a time.
 */
#ifndef ZKL_SESSION_FOLLOWER_H
#define ZKL_SESSION_FOLLOWER_H

#include "call.h"
#include "events.h"

enum follower_kind { FOLLOWER_WATCHER, FOLLOWER_MEMBER, FOLLOWER_ROSTER, FOLLOWER_KINDS };

struct follower {
    struct asker asker; /* first */
    struct zkl_session *session;
    const struct follower_class *class;
    struct follower *next, **link; /* in session->followers; link NULL: ended */
    struct notice news;            /* for its user */
};

struct follower_class {
    enum follower_kind kind;
    void (*start)(struct follower *follower);         /* asks, if due */
    zkl_time (*due)(const struct follower *follower); /* when the next round is due */
    void (*event)(struct follower *follower, enum zkl_node_event event, const char *node);
    /* The ZooKeeper session is gone. `refusal` says why no new one follows, or is ZKL_OK. */
    void (*expire)(struct follower *follower, enum zkl_code refusal);
    void (*end)(struct follower *follower); /* the session closes */
};

/* The caller holds the first reference. */
void zkl_follower_init(struct follower *follower, struct zkl_session *session,
                       const struct follower_class *class, void (*destroy)(struct asker *asker));
void zkl_follower_enlist(struct follower *follower); /* gives it its id */
void zkl_follower_unlist(struct follower *follower);
/* Connected, and none of its requests is out. */
bool zkl_follower_may_ask(const struct follower *follower);

#endif
