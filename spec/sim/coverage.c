#include "coverage.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "story.h"

uint64_t coverage[EVENTS][STATES];

/* --- the possible cells ------------------------------------------------------------- */

/* The states in which the event can come, a letter each, and the reason against all others. */
static const struct row {
    const char *name, *states, *otherwise;
} rows[EVENTS] = {
    [EVENT_START] = {"start", "N", "a claim starts once"},
    [EVENT_ADOPT] = {"adopt", "N", "an orphan's claim is new"},
    [EVENT_CANCEL] = {"cancel", "NTELSKIRWPGFACQ",
                      "not wanted any more; a holder's wish is not cancelled, it releases"},
    [EVENT_RELEASE] = {"release", "HDC", "only a held lock, or its waiter, is released"},
    [EVENT_DOWNGRADE] = {"downgrade", "H", "only a held lock is downgraded"},
    [EVENT_YIELD] = {"yield", "NELSKIRWPGFHDAQV",
                     "seen in a get of the own node: it may have been asked for by another"},

    [EVENT_OFFER_KEPT] = {"offer kept", "HQ", "only a kept node can be offered; H: at a heartbeat"},

    [EVENT_AWAIT] = {"await", "H", "only a holder waits"},
    [EVENT_PARTNER_CHANGED] =
        {"partner changed", "NELSKIRWPGAV",
         "a waiter's end matters to its lock's claim; else: its node was deleted"},

    [EVENT_PARENTS] = {"parents: ok", "EL",
                       "asked for in CREATE, answered before the create; L: another part had no "
                       "memory to create"},
    {"parents: absent", "", "the simulator's path has one level; spec/core has more"},
    {"parents: refused", "EL", "as above"},
    {"parents: unknown", "EL", "as above"},
    [EVENT_CREATED] = {"created: ok", "E", "CREATE is left by this reply only"},
    {"created: absent", "E", "as above"},
    {"created: refused", "E", "as above"},
    {"created: unknown", "E", "as above"},
    [EVENT_SYNCED] = {"synced: ok", "NELSKIRWPGFHV",
                      "replies come in order: before a later list or get; other than E, L, P, V: "
                      "the second of two, for the first of which there was no memory"},
    {"synced: absent", "", "a sync is of no node"},
    {"synced: refused", "", "a sync is for everybody"},
    {"synced: unknown", "NELSKIRWPGFHV", "as for ok"},
    [EVENT_LISTED] = {"listed: ok", "TELSIRWPGHBQV",
                      "one list is out, and its state is left by its reply, or by another's"},
    {"listed: absent", "TELSIRWPGHBQV",
     "as above; RECOVER_SYNC: it waited for the next connection"},
    {"listed: refused", "TELSIRWPGHBQV", "as above"},
    {"listed: unknown", "TELSIRWPGHBQV", "as above"},
    [EVENT_RANKED] = {"ranked: ok", "ELIRWPGFHV",
                      "asked for in RANK; replies come in order, those after a cut perhaps late"},
    {"ranked: absent", "ELIRWPGFHV", "as above"},
    {"ranked: refused", "ELIRWPGFHV", "as above"},
    {"ranked: unknown", "ELIRWPGFHV", "as above"},
    [EVENT_GOT_OWN] = {"got own: ok", "NELSKIRWPGFHDAQV",
                       "only a try is in TRY, and has no node; CB: nothing is asked of a waiter "
                       "that was signalled"},
    {"got own: absent", "NELSKIRWPGFHDAQV", "as above"},
    {"got own: refused", "NELSKIRWPGFHDAQV", "as above"},
    {"got own: unknown", "NELSKIRWPGFHDAQV", "as above"},
    [EVENT_GOT_AHEAD] =
        {"got ahead: ok", "ELIRWPGFHQV",
         "asked for in WAIT; replies come in order; a claim that heads asks for several"},
    {"got ahead: absent", "ELIRWPGFHDAQV", "as above"},
    {"got ahead: refused", "ELIRWPGFHDAQV", "as above"},
    {"got ahead: unknown", "ELIRWPGFHDAQV", "as above"},
    [EVENT_GOT_LOOKAHEAD] = {"got lookahead: ok", "W", "asked for in WAIT; else it is got ahead"},
    {"got lookahead: absent", "W", "as above"},
    {"got lookahead: refused", "W", "as above"},
    {"got lookahead: unknown", "W", "as above"},
    [EVENT_REMOVED] = {"removed: ok", "GV",
                       "LEAVE and RETREAT are left by this reply, or by expiry"},
    {"removed: absent", "GV", "as above"},
    {"removed: refused", "GV", "as above"},
    {"removed: unknown", "GV", "as above"},
    [EVENT_DOWNGRADED] = {"downgraded: ok", "D", "DOWNGRADE is left by this reply, or by expiry"},
    {"downgraded: absent", "D", "as above"},
    {"downgraded: refused", "D", "as above"},
    {"downgraded: unknown", "D", "as above"},
    [EVENT_MARKED] = {"marked: ok", "HAQV", "asked for in HELD"},
    {"marked: absent", "HAQV", "as above"},
    {"marked: refused", "HAQV", "as above"},
    {"marked: unknown", "HAQV", "as above"},

    [EVENT_FORWARDED] = {"forwarded: ok", "B", "FORWARD is left by this reply, or by expiry"},
    {"forwarded: absent", "B", "as above"},
    {"forwarded: refused", "B", "as above"},
    {"forwarded: unknown", "B", "as above"},
    [EVENT_PASSED_OVER] = {"passed over", "B", "as above"},
    [EVENT_FIXED_EXISTS] = {"fixed exists", "E", "as for created"},
    [EVENT_LOCK_NODE_GONE] = {"lock node gone", "E", "as for created"},
    [EVENT_MARK_OVERWRITTEN] = {"mark overwritten", "LIRWPGFHAQV",
                                "only a holder's node is marked; its successor has it"},
    [EVENT_AHEAD_IS_HELD] = {"ahead is held", "W", "only a try asks, in WAIT"},
    [EVENT_SIGNALLED] = {"signalled", "WV", "asked for in WAIT"},

    [EVENT_OWN_DELETED] = {"own deleted", "ELSKIRWPGFHDACBQV",
                           "the node's name is not known; ELS: unless it is fixed"},
    [EVENT_OWN_CHANGED] = {"own changed", "ELSKIRWPGFHDACBQV", "as above"},
    [EVENT_AHEAD_DELETED] = {"ahead deleted", "WB",
                             "nobody is waited for; B: the waiter that the signal is for"},
    [EVENT_AHEAD_CHANGED] = {"ahead changed", "WB", "as above"},
    [EVENT_LOOKAHEAD_DELETED] = {"lookahead deleted", "W", "only a claim in WAIT has one"},
    [EVENT_LOOKAHEAD_CHANGED] = {"lookahead changed", "W", "as above"},
    [EVENT_CONTENDED] = {"contended", "HQ", "in other states it matters later"},
    [EVENT_WAKE] = {"wake", "N", "a pause is a new beginning"},
    [EVENT_AHEAD_MARKED] = {"ahead marked", "ELIRWPGHQV", "as for got ahead: ok"},
    [EVENT_RESUME] = {"resume", "NTELKIRWPGFHDACBQV", "the cut made RECOVER_SYNC of RECOVER_LIST"},
    [EVENT_SUSPEND] = {"suspend", "NTELSKIRWPGFHDACBQV", ""},
    [EVENT_EXPIRE] = {"expire", "NELKIRWPGFHDABQV",
                      "the cut ended TRY, and made RECOVER_SYNC of RECOVER_LIST; C: with its lock"},
    [EVENT_TICK] = {"tick", "NTELSKIRWPGFHDACBQV", ""},
    [EVENT_DEADLINE] = {"deadline", "NTELSKIRWPGFA", "the deadline is for the grant"},
    [EVENT_RUN_OUT] = {"clock ran out", "HDQ", "there is no lease"},
    [EVENT_KEPT_LONG] = {"kept for long", "Q", "only a kept node has a time for it"},
    [EVENT_BEAT] = {"beat", "NTELSKIRWPGFHDACBQV", ""},
};

/* Letters of all states but GONE, in which a claim is forgotten. */
static const char letters[] = "NTELSKIRWPGFHDACBQV";

static uint32_t states_of(unsigned event) {
    uint32_t states = 0;
    for (const char *each = rows[event].states; *each; each++)
        states |= UINT32_C(1) << (strchr(letters, *each) - letters);
    return states;
}

bool coverage_is_possible(enum event event, enum zkl_claim_state state) {
    static uint32_t states[EVENTS];
    if (!states[event]) states[event] = states_of(event);
    return states[event] >> state & 1;
}

const char *coverage_event_name(enum event event) {
    return rows[event].name;
}

/* --- the table ---------------------------------------------------------------------- */

static void print_count(uint64_t count) {
    if (count >= 10000000) printf("%6" PRIu64 "M", count / 1000000);
    else if (count >= 10000) printf("%6" PRIu64 "k", count / 1000);
    else printf("%7" PRIu64, count);
}

static void print_row(unsigned event) {
    printf("%-20s", rows[event].name);
    for (unsigned state = 0; state < ZKL_GONE; state++) {
        if (coverage_is_possible(event, state)) print_count(coverage[event][state]);
        else printf("%7s", "-");
    }
    printf("  %s\n", rows[event].otherwise);
}

void coverage_print(void) {
    unsigned cells = 0, reached = 0;
    for (unsigned state = 0; state < ZKL_GONE; state++)
        printf("%s%c %s", state ? ", " : "", letters[state], story_state(state));
    printf("\n%-20s", "");
    for (unsigned state = 0; state < ZKL_GONE; state++) printf("%7c", letters[state]);
    printf("  not in the others (-), for:\n");
    for (unsigned event = 0; event < EVENTS; event++) {
        print_row(event);
        for (unsigned state = 0; state < ZKL_GONE; state++) {
            cells += coverage_is_possible(event, state);
            reached += coverage[event][state] != 0;
        }
    }
    printf("%u of %u possible cells were reached\n", reached, cells);
}
