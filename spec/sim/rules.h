/* rules.h - the promises as exact rules for every run. world.broken is the first broken rule. */
#ifndef RULES_H
#define RULES_H

#include "world.h"

/* Reports to users. */
void rules_on_grant(const struct client *client, struct wish *wish);
void rules_on_untaken(const struct wish *wish); /* a grant whose lease no user took */
void rules_on_fail(const struct client *client, const struct wish *wish, enum zkl_code code);
void rules_on_revoked(const struct client *client, const struct wish *wish);
void rules_on_loss(const struct client *client, const struct wish *wish);
void rules_on_entry(const struct client *client, const struct wish *wish); /* a re-entry */
void rules_on_downgraded(const struct client *client, const struct wish *wish, enum zkl_code code);
/* A handle was given up. `lost`: the grant's time had run out before. */
void rules_on_release(const struct wish *wish, enum zkl_code code, bool lost);
bool rules_has_run_out(const struct client *client, const struct wish *wish);
void rules_on_left(const struct client *client, const struct wish *wish); /* its node was removed */
void rules_on_stay(const struct wish *wish, enum zkl_code code); /* a user could not wait */
void rules_on_signalled(const struct wish *wish);
void rules_on_signal_end(const struct wish *wish, enum zkl_code code);
void rules_on_step(struct client *client, const struct zkl_step *step);

/* Deeds (rules_deeds.c): */
void rules_on_open_deed(const struct client *client, const struct deed *deed, zkl_time now);
void rules_on_deed(const struct client *client, const struct deed *deed); /* the deed is answered */
void rules_on_sight(const struct client *client, struct deed *deed, const struct zkl_sight *sight);
void rules_on_member(const struct client *client, const struct deed *deed);
void rules_on_own_write(int datum, int session, const struct item *item); /* a member's write */
void rules_on_roll(const struct client *client, struct deed *deed, const struct zkl_roll *roll);
bool rules_is_up_to_date(const struct client *client,
                         const struct deed *deed); /* the user of the deed knows the newest state */
/* A guard is sent for a grant; its transaction is carried out. */
void rules_on_guard(struct guarded *guard, const struct parts *parts);
void rules_on_guarded(const struct item *item);
void rules_on_signal_given(const struct item *item); /* the leader carries out a signal */
void rules_on_answer(const struct item *item);       /* a sent request is answered */

/* The claim's node or NULL; after a downgrade the reader, even before the claim knows. */
struct node *node_of(const struct zkl_claim *claim);

/* Events for a claim (feeds.c). */
void rules_on_forget(const struct shadow *shadow, const struct zkl_claim *claim);
/* A claim is told that its predecessor went at `at`, and asks for the next. */
void rules_on_end_ahead(const struct client *client, const struct zkl_claim *claim,
                        const struct zkl_contender *ahead, zxid at);
/*
 * A claim with turns or a kept node passed the lock to its client (the claim is GONE) or to others.
 * `kept`: it was in KEPT before.
 */
void rules_on_turn(const struct client *client, const struct zkl_claim *claim, bool kept);
void rules_on_watch(const struct client *client, const struct zkl_claim *claim);
/* A try failed. `unanswered`: at its deadline, or by a lost connection. */
void rules_on_try(const struct client *client, const struct zkl_claim *claim, bool unanswered);
/* A claim has no room for its watches. */
void rules_on_busy(const struct client *client, const struct zkl_claim *claim);
void rules_on_queued(const struct client *client, const struct zkl_claim *claim);
void rules_on_hold(const struct client *client, const struct wish *wish); /* the hold was granted */
bool rules_hold_is_over(const struct client *client, const struct wish *wish);
/* Notes the ends of leases. Call also before the session timeout may change. */
void rules_note_ends(const struct client *client);
void rules_note_holds(const struct client *client); /* notes the ends of holds */
void rules_on_no_room(const struct client *client);
void rules_on_no_room_to_watch(const struct client *client);
void rules_on_no_room_to_join(const struct client *client);
/* A condition's lock enters again. */
void rules_on_return(const struct zkl_claim *waiter);

void rules_on_set_watches(const struct client *client);

/* The leader removes a node alone. `taken`: for a waiter whose lock was granted again. */
void rules_on_remove(const struct node *own, bool taken);

extern uint64_t rules_grants; /* grants so far, in all runs */

/* Call before the clock knows the proof. */
void rules_on_proof(struct client *client, zkl_time issued);

/* After a keeper's round. */
void rules_on_tick(const struct client *client, zkl_time now);

/* After each move. */
void rules_at_any_time(void);

/* In a calm, after a heartbeat. */
void rules_after_a_beat(void);

/* In a calm, while other clients' nodes are there. */
void rules_in_calm(void);

/* True if its client has another claim ahead, so this one needs no watch. */
bool rules_may_lack_watch(const struct client *client, const struct zkl_claim *claim);

/* The run comes to no calm, perhaps because an event is missing. */
void rules_on_unrest(void);

/* After all is given up. */
void rules_at_rest(void);

#endif
