/*
 * asker.h - the base of stakes, requests, watchers, members and rosters, which ask the server and
 * post news for users.
 */
#ifndef ZKL_SESSION_ASKER_H
#define ZKL_SESSION_ASKER_H

#include <assert.h>
#include <stdint.h>

struct asker {
    void (*destroy)(struct asker *asker); /* with the last reference */
    uint64_t id;                          /* in events */
    unsigned references;                  /* held by users, lists, the inbox and calls */
    unsigned calls;                       /* its calls that have no answer */
};

static inline void zkl_asker_ref(struct asker *asker) {
    asker->references++;
}

static inline void zkl_asker_unref(struct asker *asker) {
    assert(asker->references > 0);
    if (--asker->references == 0) asker->destroy(asker);
}

#endif
