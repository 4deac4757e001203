#include "transitions.h"

#include <inttypes.h>
#include <stdio.h>

#include "story.h"

enum { MOST = 1 << 13 };

/* Left out of the table, since they concern other claims or the end. */
static const zkl_actions left_out = ZKL_DO_FOLLOW | ZKL_DO_FORGET;

enum form { LINE, UNFAIR, WAITER };

static struct kind {
    uint64_t key; /* 0: none */
    uint64_t count;
    enum form form;
    struct before before;
    enum event event;
    enum zkl_claim_state state;
    bool stalled;
    zkl_actions did;
} kinds[MOST];

static enum form form_of(const struct zkl_claim *claim) {
    if (zkl_kind_is_fixed(claim->kind)) return UNFAIR;
    return claim->waiting ? WAITER : LINE;
}

static uint64_t key_of(const struct kind *kind) {
    uint64_t key = 1;
    key = key << 2 | kind->form;
    key = key << 5 | kind->before.state;
    key = key << 1 | kind->before.wanted;
    key = key << 7 | kind->event;
    key = key << 5 | kind->state;
    key = key << 1 | kind->stalled;
    return key << 26 | kind->did;
}

static void count(const struct kind *kind) {
    uint64_t i = kind->key * UINT64_C(0x9e3779b97f4a7c15) >> 51;
    while (kinds[i].key && kinds[i].key != kind->key) i = (i + 1) % MOST;
    if (!kinds[i].key) kinds[i] = *kind;
    kinds[i].count++;
}

void transitions_note(const struct zkl_claim *claim, struct before before, enum event event,
                      zkl_actions did) {
    bool stalled = claim->stalled && claim->state != ZKL_GONE;
    did &= ~left_out;
    if (event >= EVENTS || before.state == ZKL_GONE) return;
    if (claim->state == before.state && stalled == before.stalled && !did) return;
    struct kind kind = {.form = form_of(claim),
                        .before = before,
                        .event = event,
                        .state = claim->state,
                        .stalled = stalled,
                        .did = did};
    kind.before.stalled = false;
    kind.key = key_of(&kind);
    count(&kind);
}

void transitions_print(void) {
    static const char *const forms[] = {"line", "unfair", "waiter"};
    for (const struct kind *kind = kinds; kind < kinds + MOST; kind++) {
        if (!kind->key) continue;
        printf("%s\t%s\t%s\t%s\t%s%s%s%s\t%" PRIu64 "\n", forms[kind->form],
               story_state(kind->before.state), coverage_event(kind->event),
               kind->before.wanted ? "wanted" : "not wanted", story_state(kind->state),
               kind->stalled ? "*" : "", kind->did ? " + " : "", story_actions(kind->did),
               kind->count);
    }
}
