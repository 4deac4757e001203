/*
 * rules.h - what must hold, whatever happens: the promise, made exact.
 *
 * Each rule is a sentence; the first that does not hold is world.broken.
 */
#ifndef RULES_H
#define RULES_H

#include "world.h"

/* When a user is told something. */
void rules_on_grant(const struct client *client, struct wish *wish);
void rules_on_untaken(const struct wish *wish); /* a grant: there is no memory for its lease */
void rules_on_fail(const struct client *client, const struct wish *wish, enum zkl_code code);
void rules_on_revoked(const struct client *client, const struct wish *wish);
void rules_on_loss(const struct client *client, const struct wish *wish);
void rules_on_entry(const struct client *client, const struct wish *wish); /* its owner had it */
void rules_on_downgraded(const struct client *client, const struct wish *wish, enum zkl_code code);
/* A handle was given up; `lost`: by the own clock, before. */
void rules_on_release(const struct wish *wish, enum zkl_code code, bool lost);
bool rules_has_run_out(const struct client *client, const struct wish *wish);
void rules_on_left(const struct client *client, const struct wish *wish); /* waited for the end */
void rules_on_stay(const struct wish *wish, enum zkl_code code);          /* it could not wait */
void rules_on_signalled(const struct wish *wish);
void rules_on_signal_end(const struct wish *wish, enum zkl_code code); /* however it went */
void rules_on_step(struct client *client, const struct zkl_step *step);

/* Of deeds (rules_deeds.c): */
void rules_on_open_deed(const struct client *client, const struct deed *deed, zkl_time now);
void rules_on_deed(const struct client *client, const struct deed *deed); /* it is answered */
void rules_on_sight(const struct client *client, struct deed *deed, const struct zkl_sight *sight);
void rules_on_member(const struct client *client, const struct deed *deed);
void rules_on_own_write(int datum, int session, const struct item *item); /* a member's */
void rules_on_roll(const struct client *client, struct deed *deed, const struct zkl_roll *roll);
bool rules_is_up_to_date(const struct client *client,
                         const struct deed *deed); /* its user knows how its node is */
/* A guard is sent for a grant; its transaction is carried out. */
void rules_on_guard(struct guarded *guard, const struct parts *parts);
void rules_on_guarded(const struct item *item);
void rules_on_signal_given(const struct item *item); /* at the leader */
void rules_on_answer(const struct item *item);       /* what was sent has an answer */

/* A claim's node, if it has one; of a writer perhaps its reader, before the claim knows. */
struct node *node_of(const struct zkl_claim *claim);

/* When the session feeds a claim (feeds.c). It forgets it: */
void rules_on_forget(const struct shadow *shadow, const struct zkl_claim *claim);
/* Its predecessor was gone at this zxid, and it is told; it asks for another one. */
void rules_on_end_ahead(const struct client *client, const struct zkl_claim *claim,
                        const struct zkl_contender *ahead, zxid at);
/*
 * A claim that takes turns, or keeps its node, gave it up, `kept` or not before: to another of its
 * client (it is GONE), or to others.
 */
void rules_on_turn(const struct client *client, const struct zkl_claim *claim, bool kept);
void rules_on_watch(const struct client *client, const struct zkl_claim *claim);
/* It is a try that fails: at its deadline, or since the connection is lost (`unanswered`), or not.
 */
void rules_on_try(const struct client *client, const struct zkl_claim *claim, bool unanswered);
/* What it has to watch does not fit: */
void rules_on_busy(const struct client *client, const struct zkl_claim *claim);
void rules_on_queued(const struct client *client, const struct zkl_claim *claim);
void rules_on_hold(const struct client *client, const struct wish *wish); /* it was granted */
bool rules_held_for_long(const struct client *client, const struct wish *wish);
/* Of leases, by now; also before the session timeout may change. */
void rules_note_ends(const struct client *client);
void rules_note_holds(const struct client *client); /* of these, by the ends of holds */
void rules_on_no_room(const struct client *client);
/* There is no room for a watcher or roster that begins, or for a member that joins. */
void rules_on_unheard(const struct client *client);
void rules_on_unjoined(const struct client *client);
/* Of the condition: a lock's claim enters again. */
void rules_on_return(const struct zkl_claim *waiter);

/* A client's library sets its watches again. */
void rules_on_set_watches(const struct client *client);

/* At the leader: a node goes alone; `taken`: it is a waiter's whose lock was granted again. */
void rules_on_remove(const struct node *own, bool taken);

extern uint64_t rules_grants; /* so far, in all runs */

/* Before the clock hears of a proof that was issued then. */
void rules_on_proof(struct client *client, zkl_time issued);

/* After a client's keeper went round. */
void rules_on_tick(const struct client *client, zkl_time now);

/* After each move. */
void rules_at_any_time(void);

/* In a calm, when a heartbeat's traffic has come to its end. */
void rules_after_a_beat(void);

/* In a calm, when nothing is under way any more, with other clients' nodes still there. */
void rules_in_calm(void);

/* A claim in WAIT need not watch the node that it waits for: another one of its client is ahead. */
bool rules_may_be_unwatching(const struct client *client, const struct zkl_claim *claim);

/* It comes to no calm: perhaps since somebody was not told. */
void rules_on_unrest(void);

/* At the end, when everything was given up. */
void rules_at_rest(void);

#endif
