/*
 * watches.c - the nodes that this session watches, or asks to watch, and their cost
 * (docs/design/watches.md).
 *
 * libzookeeper has one watch a path, so a path counts once, however many claims want it. It counts
 * from the request on, because many may be asked for before the first is answered. It counts until
 * the request to remove it is sent, because the server reads requests in order. A removal that is
 * lost is sent again before anything else is asked for.
 *
 * A claim wants its watches until it is gone. Watches of a failed claim are removed at once,
 * because their nodes may stay for long. A holder's are removed at the next heartbeat, unless their
 * events come first.
 *
 * A watcher pins the watch of its path until it ends, and a lock path pins the watch of its
 * children.
 * A pinned watch always counts, also between two sessions, so that there is room to set it again.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "../core/hash.h"
#include "call.h"
#include "internal.h"
#include "stake.h"

/* --- the table ------------------------------------------------------------------------------ */

static bool is_of_children(const char *path) {
    return path[0] == '/' && path[1] == '/';
}

/* The watch of a node's children is in the same bucket as the node's own. */
static struct watch **bucket(const struct watches *watches, const char *node) {
    return (struct watch **)&watches->buckets[zkl_hash(node, strlen(node)) % WATCH_BUCKETS];
}

static struct watch **find(const struct watches *watches, const char *path) {
    struct watch **link = bucket(watches, is_of_children(path) ? path + 1 : path);
    while (*link && strcmp((*link)->path, path) != 0) link = &(*link)->next;
    return link;
}

/* Cost in the SetWatches packet; the server counts the chroot, too. */
size_t zkl_watches_cost(const struct watches *watches, size_t path_length) {
    return path_length + watches->overhead;
}

static size_t cost(const struct watches *watches, const char *path) {
    return zkl_watches_cost(watches, strlen(path));
}

static bool is_counted(const struct watch *watch) {
    return watch->requests_out || watch->pins || (watch->state != WATCH_UNSET && !watch->removing);
}

static bool is_wanted(const struct watch *watch) {
    return watch->owners || watch->wants || watch->pins;
}

static bool is_unwanted(const struct watch *watch) {
    bool idle = !watch->requests_out && !is_wanted(watch);
    return watch->state == WATCH_SET && idle && !watch->removing;
}

/* To be removed, if the request that is out sets it. */
static bool is_leaving(const struct watch *watch) {
    return watch->requests_out && !is_wanted(watch);
}

/* To be called before a change of the watch. */
static void uncount(struct watches *watches, const struct watch *watch) {
    if (is_unwanted(watch)) watches->unwanted_count--;
    if (is_leaving(watch)) watches->leaving_count--;
    if (!is_counted(watch)) return;
    watches->count--;
    if (!watch->owners) watches->bytes -= cost(watches, watch->path);
}

/* To be called after the change. */
static void count(struct watches *watches, const struct watch *watch) {
    if (is_unwanted(watch)) watches->unwanted_count++;
    if (is_leaving(watch)) watches->leaving_count++;
    if (!is_counted(watch)) return;
    watches->count++;
    if (!watch->owners) watches->bytes += cost(watches, watch->path);
}

static void free_unused(struct watches *watches, struct watch *watch) {
    if (watch->state != WATCH_UNSET || watch->requests_out || is_wanted(watch)) return;
    *find(watches, watch->path) = watch->next;
    free(watch);
}

static struct watch *find_or_add(struct watches *watches, const char *path) {
    struct watch **link = find(watches, path), *watch = *link;
    size_t size = strlen(path) + 1;
    if (watch) return watch;
    watch = *link = calloc(1, sizeof *watch + size);
    if (watch) memcpy(watch->path, path, size);
    return watch;
}

size_t zkl_watches_need(const struct watches *watches, const char *path) {
    const struct watch *watch = *find(watches, path);
    return watch && (is_counted(watch) || watch->owners) ? 0 : cost(watches, path);
}

/* --- answers and events ----------------------------------------------------------------------- */

void zkl_watches_note_answer(struct watches *watches, struct watch *watch, bool set) {
    uncount(watches, watch);
    if (watch->requests_out) watch->requests_out--;
    if (set) watch->state = WATCH_SET;
    count(watches, watch);
    free_unused(watches, watch);
}

static void note_fired(struct watches *watches, struct watch *watch) {
    if (!watch) return;
    uncount(watches, watch);
    watch->state = WATCH_UNSET;
    count(watches, watch);
    free_unused(watches, watch);
}

void zkl_watches_note_fired(struct watches *watches, const char *path) {
    note_fired(watches, *find(watches, path));
}

static bool is_of_children_of(const struct watch *watch, const char *node) {
    return is_of_children(watch->path) && strcmp(watch->path + 1, node) == 0;
}

void zkl_watches_note_children_fired(struct watches *watches, const char *node) {
    struct watch *watch = *bucket(watches, node);
    while (watch && !is_of_children_of(watch, node)) watch = watch->next;
    note_fired(watches, watch);
}

void zkl_watches_note_removal(struct watches *watches, const char *path) {
    struct watch *watch = *find(watches, path);
    assert(watch);
    uncount(watches, watch);
    watch->removing = true;
    count(watches, watch);
}

/*
 * After a lost answer the watch may be set, and is removed again. After ZKL_ERROR_NO_WATCHER
 * without an event the server kept that back (ZOOKEEPER-4799), and libzookeeper goes on setting the
 * watch.
 */
static void answer_removal(const struct call *call, const struct answer *answer) {
    struct watches *watches = &call->session->watches;
    struct watch *watch = call->node ? *find(watches, call->node) : NULL;
    if (!watch) return;
    uncount(watches, watch);
    watch->removing = false;
    if (answer->rc == ZKL_ERROR_NONE) watch->state = WATCH_UNSET;
    else if (answer->reply == ZKL_REFUSED && watch->state == WATCH_SET)
        watch->state = WATCH_LASTING;
    count(watches, watch);
    free_unused(watches, watch);
}

static const struct call_kind removal = {.answer = answer_removal};

void zkl_watches_clear(struct watches *watches) {
    watches->count = watches->bytes = watches->unwanted_count = watches->leaving_count = 0;
    for (size_t i = 0; i < WATCH_BUCKETS; i++) {
        for (struct watch *watch = watches->buckets[i], *next; watch; watch = next) {
            next = watch->next;
            watch->requests_out = watch->owners = watch->wants = 0;
            watch->state = WATCH_UNSET;
            watch->removing = false;
            count(watches, watch);
            free_unused(watches, watch);
        }
    }
}

/* --- wishes of claims and watchers ------------------------------------------------------------ */

static void remove_watch(struct zkl_session *session, const struct watch *watch) {
    if (session->service == SERVICE_CLOSING || session->state != ZKL_SESSION_CONNECTED) return;
    struct call *call = zkl_call_new(session, &removal, NULL);
    if (call) zkl_call_unwatch(call, watch->path);
}

void zkl_watches_remove_unwanted(struct zkl_session *session) {
    if (session->watches.unwanted_count == 0) return;
    for (size_t i = 0; i < WATCH_BUCKETS; i++) {
        for (struct watch *watch = session->watches.buckets[i]; watch; watch = watch->next)
            if (is_unwanted(watch)) remove_watch(session, watch);
    }
}

/* `users` is the watch's count that goes down. */
static void unwant(struct zkl_session *session, struct watch *watch, unsigned *users,
                   bool at_once) {
    assert(*users > 0);
    uncount(&session->watches, watch);
    --*users;
    count(&session->watches, watch);
    if (at_once && is_unwanted(watch)) remove_watch(session, watch);
    free_unused(&session->watches, watch);
}

static void drop_own(struct stake *stake, bool at_once) {
    struct watch *watch = stake->own_watch;
    if (watch) unwant(stake->session, watch, &watch->owners, at_once);
    stake->own_watch = NULL;
}

static void drop_others(struct stake *stake, bool at_once) {
    while (stake->wants) {
        struct want *want = stake->wants;
        struct watch *watch = want->watch;
        stake->wants = want->next;
        free(want);
        unwant(stake->session, watch, &watch->wants, at_once);
    }
}

void zkl_watches_drop_others(struct stake *stake) {
    drop_others(stake, false);
}

static bool is_of(const struct watch *watch, const struct zkl_contender *contender) {
    return contender && strcmp(strrchr(watch->path, '/') + 1, contender->name) == 0;
}

void zkl_watches_narrow(struct stake *stake, bool at_once) {
    for (struct want **link = &stake->wants, *want; (want = *link);) {
        struct watch *watch = want->watch;
        if (is_of(watch, stake->claim.ahead) || is_of(watch, stake->claim.lookahead)) {
            link = &want->next;
            continue;
        }
        *link = want->next;
        free(want);
        unwant(stake->session, watch, &watch->wants, at_once);
    }
}

/* A node of an unfair lock may be another's, and stay. */
void zkl_watches_leave(struct stake *stake) {
    bool failed = stake->claim.code != ZKL_OK;
    drop_own(stake, failed && zkl_kind_is_fixed(stake->claim.kind));
    drop_others(stake, failed);
}

static bool wants(const struct stake *stake, const struct watch *watch) {
    const struct want *want = stake->wants;
    while (want && want->watch != watch) want = want->next;
    return want != NULL;
}

/* False: out of memory. */
static bool want(struct stake *stake, struct watch *watch) {
    if (wants(stake, watch)) return true;
    struct want *added = malloc(sizeof *added);
    if (!added) return false;
    *added = (struct want){stake->wants, watch};
    stake->wants = added;
    watch->wants++;
    return true;
}

static void want_own(struct stake *stake, struct watch *watch) {
    if (stake->own_watch == watch) return;
    drop_own(stake, false);
    stake->own_watch = watch;
    watch->owners++;
}

struct watch *zkl_watches_want(struct stake *stake, const char *path, bool own) {
    struct watches *watches = &stake->session->watches;
    struct watch *watch = find_or_add(watches, path);
    if (!watch) return NULL;
    uncount(watches, watch);
    bool wanted = own || want(stake, watch);
    if (own) want_own(stake, watch);
    if (wanted) watch->requests_out++;
    count(watches, watch);
    free_unused(watches, watch);
    return wanted ? watch : NULL;
}

bool zkl_watches_share(struct stake *stake, const char *path) {
    struct watches *watches = &stake->session->watches;
    struct watch *watch = *find(watches, path);
    if (!watch || watch->state == WATCH_UNSET || watch->removing) return false;
    uncount(watches, watch);
    bool wanted = want(stake, watch);
    count(watches, watch);
    return wanted;
}

struct watch *zkl_watches_pin(struct watches *watches, const char *path) {
    struct watch *watch = find_or_add(watches, path);
    if (!watch) return NULL;
    uncount(watches, watch);
    watch->pins++;
    count(watches, watch);
    return watch;
}

bool zkl_watches_is_pinned(const struct watches *watches, const char *path) {
    const struct watch *watch = *find(watches, path);
    return watch && watch->pins;
}

void zkl_watches_ask_pinned(struct watches *watches, struct watch *watch) {
    uncount(watches, watch);
    watch->requests_out++;
    count(watches, watch);
}

void zkl_watches_unpin(struct zkl_session *session, struct watch *watch) {
    unwant(session, watch, &watch->pins, true);
}
