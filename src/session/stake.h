/* stake.h - a claim with its user. */
#ifndef ZKL_SESSION_STAKE_H
#define ZKL_SESSION_STAKE_H

#include "call.h"

void zkl_session_drained(struct zkl_session *session); /* perhaps: connection.c */

/* --- stake.c: its life, and what its user is told ------------------------------------------- */

struct stake *zkl_stake_new(struct zkl_session *session, struct path *path,
                            const struct zkl_acquire_options *options,
                            zkl_time deadline); /* NULL: no memory */
void zkl_stake_forget(struct stake *stake);     /* GONE; handles may still ask for its state */
void zkl_stake_note_grant(struct stake *stake); /* it may hold from now on, until it is GONE */
size_t zkl_stake_cost(const struct zkl_session *session, size_t path_length);
void zkl_stake_count_node(struct stake *stake);            /* it makes a node */
size_t zkl_stake_bytes(const struct zkl_session *session); /* of nodes, for new ones to fit in */
/* It waits for its turn, and would make a node for which there is no room: it waits on. */
bool zkl_stake_lacks_room(const struct stake *stake);
bool zkl_stake_lost(struct stake *stake, zkl_time now);
/* Of any of them: LOST, RELEASED, or OK, it has not ended. */
enum zkl_code zkl_stakes_ended(const struct stakes *stakes);
void zkl_stake_writers_gone(struct stake *stake);                /* if it is so: the readers stay */
void zkl_stake_give_up(struct stake *stake, enum zkl_kind kind); /* one handle of it */
void zkl_stake_handles_gone(struct stake *stake);                /* all of them were given up */
/* The request to release ends when the stakes that nobody holds any more are gone. */
void zkl_stake_await_end(struct zkl_request *request);
/* Tells the acquire that waits for the grant; with the server's reason if it refused. */
void zkl_stake_finish(struct stake *stake, enum zkl_code code);
/* The same of the downgrade that waits for the grant to be a reader's, if there is one. */
void zkl_stake_finish_downgrade(struct stake *stake, enum zkl_code code);
void zkl_stake_granted(struct stake *stake);
void zkl_stake_hold_begins(struct stake *stake);
void zkl_stake_hold_ends(struct stake *stake, enum zkl_step_kind how); /* if it holds */
void zkl_stake_failed(struct stake *stake);                            /* claim->code */
void zkl_stake_queued(struct stake *stake);
void zkl_stake_tell_loss(struct stake *stake);
/* The own node's data, each time that it is seen. */
void zkl_stake_take_data(struct stake *stake, const struct answer *answer);
void zkl_stake_notice(struct stake *stake, enum zkl_phase phase); /* what the lease is worth */
/* An event for every claim. It may be gone after that, and with it others (multi.c). */
void zkl_stakes_feed(struct zkl_session *session,
                     zkl_actions (*feed)(struct zkl_claim *claim, zkl_time now));

/* --- hold.c: how long a grant may be held; of a multi-lock its first part ------------------------
 */

void zkl_hold_begin(struct stake *stake, struct hold *hold); /* of `length`, from now on */
void zkl_hold_again(struct stake *stake);                    /* all of them: a new grant */
void zkl_hold_move(struct stake *stake, struct hold *from, struct hold *to);
void zkl_hold_end(struct stake *stake, struct hold *hold); /* the others go on */

/* --- kept.c: nodes that are kept after the last release -----------------------------------------
 */

struct stake *zkl_kept_longest(const struct zkl_session *session); /* NULL: none is kept */
zkl_time zkl_kept_due(const struct zkl_session *session);          /* the first is to end */
void zkl_kept_give_back(struct stake *kept);
void zkl_kept_take(const struct path *path);      /* a claim was started there */
void zkl_kept_contended(const struct path *path); /* others came there, or may have */
void zkl_kept_clear_way(const struct path *path, const struct stake *stake); /* before its start */
/* For more nodes than there are. False: there is none. */
bool zkl_kept_make_room(struct zkl_session *session, size_t bytes);

/* --- stake_actions.c: carries out what the claim asks for ---------------------------------------
 */

void zkl_stake_perform(struct stake *stake, zkl_actions actions);
/*
 * All or none, about the stake. The paths of the ops are the function's from now on; where one is
 * NULL, or `ops` is, there was no memory for it.
 */
void zkl_stake_transact(struct stake *stake, enum call_kind kind, const struct zkl_op *ops,
                        size_t count);
void zkl_stake_downgrade(struct stake *stake);
void zkl_stake_new_node(struct stake *stake); /* nothing was written into it yet */
void zkl_stake_mark(struct stake *stake);
void zkl_stake_revise(struct stake *stake); /* somebody wrote into the own node: what? */
/* To watch that path; what looks ahead gives way. False: there is none. */
bool zkl_stake_make_room(struct zkl_session *session, const char *path);
/* Claims that did not watch what they wait for, with others ahead: those that have come near do. */
void zkl_stake_resume_postponed(struct zkl_session *session, struct path *path);
void zkl_stake_look_later(struct zkl_session *session, struct path *path);

/* --- stake_news.c: feeds the claim what was heard -----------------------------------------------
 */

void zkl_stake_answer(const struct call *call, const struct answer *answer);
void zkl_stake_answer_starved(struct zkl_session *session);
void zkl_stake_event(struct zkl_session *session, enum zkl_node_event event, const char *node);
void zkl_stake_look_for_orphans(struct path *path, struct zkl_session *session);
/* The same after a get of the node of the fixed name. */
void zkl_stake_look_for_fixed_orphan(struct path *path, struct zkl_session *session,
                                     const struct zkl_stat *stat);
/* The stake that has that node; NULL: none. */
struct stake *zkl_stake_of(struct zkl_session *session, const char *node);
/* That node is not there: takes note if it is the stake's. False: it has another name now. */
bool zkl_stake_absent(struct stake *stake, const char *node);

/* --- multi.c: several stakes granted as one ------------------------------------------------------
 */

bool zkl_multi_is_part(const struct stake *stake);
void zkl_multi_create(struct stake *stake); /* the nodes of all parts */
void zkl_multi_created(const struct call *call, const struct answer *answer);
void zkl_multi_grant(struct stake *stake); /* the first handle on each part, or on a single stake */
void zkl_multi_retreat(struct stake *stake); /* a part: the others give their nodes up, too */
void zkl_multi_failed(struct stake *stake);  /* a part: the others need not wait */
void zkl_multi_lost(struct stake *stake);    /* a part: the others are given up */

/* --- condition.c: waiting in a condition ---------------------------------------------------------
 */

void zkl_condition_create(struct stake *waiter);
void zkl_condition_forward(struct stake *waiter);
void zkl_condition_tell_partner(struct stake *waiter); /* it matters to the lock's stake */
void zkl_condition_failed(struct stake *stake);        /* its waiter, if any, need not go on */
bool zkl_condition_granted(struct stake *stake);       /* false: it was not away */
zkl_actions zkl_condition_waited(const struct call *call, const struct answer *answer);
zkl_actions zkl_condition_forwarded(const struct call *call, const struct answer *answer);

#endif
