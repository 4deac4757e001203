/*
 * asker.h - the parts of a session that ask the server something and that users hear of: stakes,
 * requests, watchers, members and rosters.
 */
#ifndef ZKL_SESSION_ASKER_H
#define ZKL_SESSION_ASKER_H

#include <assert.h>
#include <stdint.h>

struct asker {
    void (*destroy)(struct asker *asker); /* with the last reference */
    uint64_t id;                          /* in events */
    unsigned references;                  /* users, lists, the inbox and calls hold them */
    unsigned calls;                       /* requests out for it */
};

static inline void zkl_asker_ref(struct asker *asker) {
    asker->references++;
}

static inline void zkl_asker_unref(struct asker *asker) {
    assert(asker->references > 0);
    if (--asker->references == 0) asker->destroy(asker);
}

#endif
