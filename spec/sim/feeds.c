/*
 * feeds.c - a layer between src/session and src/core, by the linker (--wrap). It counts claims'
 * events (coverage.h), tells them (story.h), and checks rules for single claims.
 */
#include <stddef.h>

#include "coverage.h"
#include "rules.h"
#include "story.h"
#include "trace.h"
#include "transitions.h"

/* Only the linker knows these names. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

static int depth; /* calls within the core are not counted */

static struct client *client_of(const struct zkl_claim *claim) {
    const char *common = (const char *)claim->line->common;
    EACH_CLIENT(client) {
        if ((char *)client->zk == common - offsetof(struct zkl_session, common)) return client;
    }
    return NULL;
}

static bool is_counted(void) {
    return !world.frees && depth == 0;
}

static void count_event(const struct zkl_claim *claim, enum event event) {
    if (!is_counted()) return;
    coverage[event][claim->state]++;
    require(coverage_is_possible(event, claim->state),
            "no event comes in a state in which it is impossible");
}

/* Counts the event before the core gets it. end() checks claims that are GONE. */
static void begin(const struct zkl_claim *claim, enum event event) {
    if (event < EVENTS && claim->state != ZKL_GONE) count_event(claim, event);
    depth++;
}

/* True if the claim passed the lock to its session or to others, and had no other reason to end. */
static bool gave_up(const struct zkl_claim *claim, struct before before, enum event event) {
    bool kept = before.state == ZKL_KEPT && event != EVENT_EXPIRE && event != EVENT_KEPT_LONG &&
                event != EVENT_RUN_OUT && event != EVENT_CANCEL && event != EVENT_YIELD;
    bool released = before.state == ZKL_HELD && event == EVENT_RELEASE;
    return (kept || released) && claim->state != ZKL_KEPT && (claim->batch || claim->keep);
}

static zkl_actions end(const struct zkl_claim *claim, struct before before, enum event event,
                       zkl_actions did) {
    depth--;
    if (!is_counted()) return did;
    transitions_note(claim, before, event, did);
    trace_fed(client_of(claim), claim, before, event, did);
    if (did)
        tell("  %s, then %s: %s", story_state(before.state), story_state(claim->state),
             story_actions(did));
    require(before.state != ZKL_GONE || !did, "a claim that is gone does nothing");
    bool unanswered = event == EVENT_DEADLINE || event == EVENT_SUSPEND;
    bool failed = did & ZKL_DO_FAIL && event != EVENT_CANCEL; /* CANCEL: another part failed */
    bool tried = claim->trying && before.state != ZKL_NEW;
    if (failed && tried) rules_on_try(client_of(claim), claim, unanswered);
    if (failed && !tried && claim->code == ZKL_BUSY) rules_on_busy(client_of(claim), claim);
    if (did & ZKL_DO_QUEUED) rules_on_queued(client_of(claim), claim);
    if (gave_up(claim, before, event))
        rules_on_turn(client_of(claim), claim, before.state == ZKL_KEPT);
    if (did & ZKL_DO_WATCH_AHEAD && !claim->holders_list) rules_on_watch(client_of(claim), claim);
    return did;
}

/* --- the life of a claim ------------------------------------------------------------- */

void __real_zkl_claim_init(struct zkl_claim *, struct zkl_line *, enum zkl_kind, zkl_time, bool);
void __wrap_zkl_claim_init(struct zkl_claim *claim, struct zkl_line *line, enum zkl_kind kind,
                           zkl_time deadline, bool trying) {
    __real_zkl_claim_init(claim, line, kind, deadline, trying);
    struct shadow *shadow = shadow_of(client_of(claim), NULL);
    require(shadow, "(the simulator is out of shadows)");
    if (shadow) *shadow = (struct shadow){.claim = claim};
}

void __real_zkl_claim_detach(struct zkl_claim *);
void __wrap_zkl_claim_detach(struct zkl_claim *claim) {
    struct shadow *shadow = shadow_of(client_of(claim), claim);
    if (!world.frees) rules_on_forget(shadow, claim);
    if (shadow) shadow->claim = NULL;
    trace_forgotten(claim);
    __real_zkl_claim_detach(claim);
}

/* --- events -------------------------------------------------------------------------- */

/* Wraps a function of the core. `met`: its event; EVENTS: none. */
#define FEED(name, met, parameters, arguments)                                                     \
    zkl_actions __real_zkl_claim_##name parameters;                                                \
    zkl_actions __wrap_zkl_claim_##name parameters {                                               \
        struct before before = before_of(claim);                                                   \
        enum event event = met;                                                                    \
        begin(claim, event);                                                                       \
        return end(claim, before, event, __real_zkl_claim_##name arguments);                       \
    }

#define CLAIM struct zkl_claim *claim
#define REPLIED(first) ((enum event)((unsigned)(first) + (unsigned)reply))

static enum event cancel_event(const struct zkl_claim *claim, enum zkl_code why) {
    if (claim->state == ZKL_KEPT) return EVENT_CANCEL;
    if (!claim->wanted) return EVENTS;
    if (why == ZKL_TOO_MANY) rules_on_no_room(client_of(claim));
    return why == ZKL_TIMEOUT && !claim->as_waiter ? EVENT_DEADLINE : EVENT_CANCEL;
}

/* Marks a waiter whose lock was granted again; see struct shadow. */
static enum event release_event(const struct zkl_claim *claim) {
    struct shadow *shadow = shadow_of(client_of(claim), claim);
    bool returned = claim->as_waiter && claim->partner && claim->partner->state == ZKL_HELD;
    if (shadow && returned) shadow->waiter_returned = true;
    return EVENT_RELEASE;
}

static enum event tick_event(const struct zkl_claim *claim, zkl_time now) {
    if (!zkl_claim_holds_or_is_kept(claim))
        return claim->wanted && now >= claim->deadline ? EVENT_DEADLINE : EVENT_TICK;
    if (claim->state == ZKL_KEPT && now >= claim->deadline) return EVENT_KEPT_LONG;
    enum zkl_phase phase = zkl_clock_phase(&claim->line->common->clock, claim->epoch, now);
    return phase == ZKL_PHASE_LOST || now >= claim->deadline ? EVENT_RUN_OUT : EVENT_TICK;
}

FEED(start, EVENT_START, (CLAIM), (claim))
FEED(adopt, EVENT_ADOPT, (CLAIM, struct zkl_contender *orphan), (claim, orphan))
FEED(adopt_fixed, EVENT_ADOPT, (CLAIM, int64_t czxid), (claim, czxid))
FEED(cancel, cancel_event(claim, why), (CLAIM, enum zkl_code why), (claim, why))
FEED(release, release_event(claim), (CLAIM, zkl_time now), (claim, now))
FEED(yield, EVENT_YIELD, (CLAIM), (claim))
FEED(offer_kept, EVENT_OFFER_KEPT, (CLAIM, zkl_time now), (claim, now))
FEED(contended, EVENT_CONTENDED, (CLAIM, zkl_time now), (claim, now))
FEED(downgrade, EVENT_DOWNGRADE, (CLAIM), (claim))
FEED(resume, EVENT_RESUME, (CLAIM, zkl_time now), (claim, now))
FEED(suspend, EVENT_SUSPEND, (CLAIM), (claim))
FEED(expire, EVENT_EXPIRE, (CLAIM, enum zkl_code why), (claim, why))
FEED(tick, tick_event(claim, now), (CLAIM, zkl_time now), (claim, now))
FEED(wake, EVENT_WAKE, (CLAIM), (claim))
FEED(beat, EVENT_BEAT, (CLAIM, zkl_time now), (claim, now))

/* --- replies -------------------------------------------------------------------------- */

void __real_zkl_claim_parents(struct zkl_claim *, enum zkl_reply, enum zkl_code);
void __wrap_zkl_claim_parents(struct zkl_claim *claim, enum zkl_reply reply, enum zkl_code why) {
    count_event(claim, REPLIED(EVENT_PARENTS));
    __real_zkl_claim_parents(claim, reply, why);
}

static void note_end(const struct zkl_claim *claim, const struct zkl_contender *ahead,
                     enum zkl_reply reply) {
    const struct item *item = client_of(claim)->hears;
    if (!is_counted() || !item || reply != ZKL_ABSENT) return;
    zxid at = item->kind == DELETED ? world.nodes[item->node].died : item->view;
    rules_on_end_ahead(client_of(claim), claim, ahead, at);
}

/* The event of an answer about the predecessor, or about the lookahead. */
static enum event ahead_event(const struct zkl_claim *claim, const struct zkl_contender *contender,
                              enum zkl_reply reply, enum event ahead, enum event lookahead) {
    note_end(claim, contender, reply);
    return contender && claim->lookahead == contender ? lookahead : ahead;
}

static enum event forwarded_event(enum zkl_reply reply, bool next) {
    if (next && reply != ZKL_DONE && reply != ZKL_UNKNOWN) return EVENT_PASSED_OVER;
    return REPLIED(EVENT_FORWARDED);
}

FEED(created, REPLIED(EVENT_CREATED),
     (CLAIM, enum zkl_reply reply, enum zkl_code why, const char *name, int64_t czxid),
     (claim, reply, why, name, czxid))
FEED(fixed_created, EVENT_CREATED, (CLAIM, int64_t czxid, zkl_time now), (claim, czxid, now))
FEED(fixed_exists, EVENT_FIXED_EXISTS, (CLAIM), (claim))
FEED(listed, REPLIED(EVENT_LISTED), (CLAIM, enum zkl_reply reply, enum zkl_code why, zkl_time now),
     (claim, reply, why, now))
FEED(synced, REPLIED(EVENT_SYNCED), (CLAIM, enum zkl_reply reply, zkl_time now),
     (claim, reply, now))
FEED(got_own, REPLIED(EVENT_GOT_OWN),
     (CLAIM, enum zkl_reply reply, enum zkl_code why, int64_t czxid, uint64_t owner, zkl_time now),
     (claim, reply, why, czxid, owner, now))
FEED(got_ahead, REPLIED(ahead_event(claim, contender, reply, EVENT_GOT_AHEAD, EVENT_GOT_LOOKAHEAD)),
     (CLAIM, struct zkl_contender *contender, enum zkl_reply reply, enum zkl_code why,
      zkl_time now),
     (claim, contender, reply, why, now))
FEED(ahead_marked, EVENT_AHEAD_MARKED, (CLAIM, struct zkl_contender *contender, int64_t at),
     (claim, contender, at))
FEED(marked, REPLIED(EVENT_MARKED), (CLAIM, enum zkl_reply reply), (claim, reply))
FEED(mark_overwritten, EVENT_MARK_OVERWRITTEN, (CLAIM), (claim))
FEED(ranked, REPLIED(EVENT_RANKED),
     (CLAIM, struct zkl_contender *contender, enum zkl_reply reply, int64_t czxid, zkl_time now),
     (claim, contender, reply, czxid, now))
FEED(downgraded, REPLIED(EVENT_DOWNGRADED), (CLAIM, enum zkl_reply reply, enum zkl_code why),
     (claim, reply, why))
FEED(removed, REPLIED(EVENT_REMOVED), (CLAIM, enum zkl_reply reply), (claim, reply))
FEED(lock_node_gone, EVENT_LOCK_NODE_GONE, (CLAIM), (claim))
FEED(ahead_is_held, claim->trying && claim->state == ZKL_WAIT ? EVENT_AHEAD_IS_HELD : EVENTS,
     (CLAIM, const struct zkl_contender *contender), (claim, contender))
/* Only waiters take this write for a signal. */
FEED(signalled, claim->as_waiter ? EVENT_SIGNALLED : EVENTS, (CLAIM), (claim))
FEED(forwarded, forwarded_event(reply, next), (CLAIM, enum zkl_reply reply, bool next),
     (claim, reply, next))

/* --- watch events --------------------------------------------------------------------- */

FEED(own_deleted, EVENT_OWN_DELETED, (CLAIM), (claim))
FEED(own_changed, EVENT_OWN_CHANGED, (CLAIM), (claim))
FEED(ahead_deleted,
     ahead_event(claim, contender, ZKL_ABSENT, EVENT_AHEAD_DELETED, EVENT_LOOKAHEAD_DELETED),
     (CLAIM, struct zkl_contender *contender, zkl_time now), (claim, contender, now))
FEED(ahead_changed,
     ahead_event(claim, contender, ZKL_DONE, EVENT_AHEAD_CHANGED, EVENT_LOOKAHEAD_CHANGED),
     (CLAIM, struct zkl_contender *contender), (claim, contender))

/* --- a condition, with two claims ------------------------------------------------------- */

zkl_actions __real_zkl_claim_enter_condition(struct zkl_claim *, struct zkl_claim *, zkl_time);
zkl_actions __wrap_zkl_claim_enter_condition(struct zkl_claim *claim, struct zkl_claim *lock,
                                             zkl_time deadline) {
    struct before before = before_of(claim);
    count_event(lock, EVENT_AWAIT);
    begin(claim, EVENTS);
    return end(claim, before, EVENT_AWAIT, __real_zkl_claim_enter_condition(claim, lock, deadline));
}

zkl_actions __real_zkl_claim_partner_changed(struct zkl_claim *);
zkl_actions __wrap_zkl_claim_partner_changed(struct zkl_claim *claim) {
    struct before before = before_of(claim);
    begin(claim, EVENT_PARTNER_CHANGED);
    zkl_actions did =
        end(claim, before, EVENT_PARTNER_CHANGED, __real_zkl_claim_partner_changed(claim));
    if (did & ZKL_DO_CREATE && is_counted()) rules_on_return(claim->partner);
    return did;
}
