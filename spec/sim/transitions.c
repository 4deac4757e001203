#include "transitions.h"

#include <inttypes.h>
#include <stdio.h>

#include "story.h"

enum { MOST = 1 << 13 };

/* The table leaves these actions out, because they concern other claims or the end. */
static const zkl_actions left_out = ZKL_DO_FOLLOW | ZKL_DO_FORGET;

enum form { LINE, UNFAIR, WAITER };

static struct outcome {
    uint64_t key; /* 0: none */
    uint64_t count;
    enum form form;
    struct before before;
    enum event event;
    enum zkl_claim_state state;
    bool stalled;
    zkl_actions did;
} outcomes[MOST];

static enum form form_of(const struct zkl_claim *claim) {
    if (zkl_kind_is_fixed(claim->kind)) return UNFAIR;
    return claim->as_waiter ? WAITER : LINE;
}

static uint64_t key_of(const struct outcome *outcome) {
    uint64_t key = 1;
    key = key << 2 | outcome->form;
    key = key << 5 | outcome->before.state;
    key = key << 1 | outcome->before.wanted;
    key = key << 7 | outcome->event;
    key = key << 5 | outcome->state;
    key = key << 1 | outcome->stalled;
    return key << 26 | outcome->did;
}

static void count(const struct outcome *outcome) {
    uint64_t i = outcome->key * UINT64_C(0x9e3779b97f4a7c15) >> 51;
    while (outcomes[i].key && outcomes[i].key != outcome->key) i = (i + 1) % MOST;
    if (!outcomes[i].key) outcomes[i] = *outcome;
    outcomes[i].count++;
}

void transitions_note(const struct zkl_claim *claim, struct before before, enum event event,
                      zkl_actions did) {
    bool stalled = claim->stalled && claim->state != ZKL_GONE;
    did &= ~left_out;
    if (event >= EVENTS || before.state == ZKL_GONE) return;
    if (claim->state == before.state && stalled == before.stalled && !did) return;
    struct outcome outcome = {.form = form_of(claim),
                              .before = before,
                              .event = event,
                              .state = claim->state,
                              .stalled = stalled,
                              .did = did};
    outcome.before.stalled = false;
    outcome.key = key_of(&outcome);
    count(&outcome);
}

void transitions_print(void) {
    static const char *const form_names[] = {"line", "unfair", "waiter"};
    for (const struct outcome *outcome = outcomes; outcome < outcomes + MOST; outcome++) {
        if (!outcome->key) continue;
        printf("%s\t%s\t%s\t%s\t%s%s%s%s\t%" PRIu64 "\n", form_names[outcome->form],
               story_state(outcome->before.state), coverage_event_name(outcome->event),
               outcome->before.wanted ? "wanted" : "not wanted", story_state(outcome->state),
               outcome->stalled ? "*" : "", outcome->did ? " + " : "", story_actions(outcome->did),
               outcome->count);
    }
}
