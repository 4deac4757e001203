/*
 * claim.h - the claim machine. A claim is one contender for one lock, from the acquire until
 * nothing of it is left in ZooKeeper. docs/design/claims.md has the rules, kind by kind, and
 * docs/design/states.md the table of transitions.
 *
 * A claim does no I/O, reads no clock and allocates nothing. Each call feeds in one event and
 * returns a set of actions for its caller, the claim's owner, to carry out. In a session the owner
 * is a stake (session/stake_actions.c):
 *
 *     zkl_claim_init(&claim, &line, ZKL_MUTEX, ZKL_NEVER, false);
 *     zkl_claim_start(&claim);                              ZKL_DO_CREATE | ZKL_DO_LIST
 *     zkl_claim_created(&claim, ZKL_DONE, ZKL_OK, name, 7); 0, as the list is out
 *     zkl_claim_listed(&claim, ZKL_DONE, ZKL_OK, now);      ZKL_DO_GRANT, if it is first
 *
 * The owner
 *   - serialises calls, and feeds replies in the order of the requests;
 *   - calls zkl_clock_prove() before it feeds a reply that is a proof;
 *   - replaces the line before it feeds a list, and looks for orphans; feeds the list to the claim
 *     that asked, to line->keeper, and to each claim of the line in LIST or `looking_ahead`;
 *   - adds 1 to claim->rank_gets for each get of DO_RANK;
 *   - feeds zkl_claim_tick() before a release or a re-entry, so that a lease whose clock ran out is
 *     lost;
 *   - for ZKL_UNFAIR, calls zkl_line_fixed_orphan() after each reply to DO_WATCH_OWN, and gets the
 *     node besides the list on DO_DOUBT;
 *   - when a lock's claim gives DO_GRANT or DO_FAIL, first feeds its partner in a condition
 *     zkl_claim_release() or zkl_claim_cancel();
 *   - feeds zkl_claim_offer_kept() to line->keeper when a claim of the line was started,
 *     zkl_claim_contended() when the path's children have changed, and zkl_claim_tick() by the
 *     keeper's deadline.
 *
 * A request that failed for lack of a connection leaves the claim `stalled`; zkl_claim_resume()
 * asks again. A wait in a condition takes two claims, the lock's claim in the lock's line, and the
 * waiter in the condition's line. A create or delete of unknown outcome stays with its claim until
 * the outcome is certain, even after the user was answered.
 *
 * After a stop of the process no proof counts for a while (clock.h). Meanwhile no claim enters a
 * line, and a claim at the front gives its place up and begins anew.
 */
#ifndef ZKL_CLAIM_H
#define ZKL_CLAIM_H

#include "claim_state.h"

/* Appends a new claim to the line, until zkl_claim_detach(). */
void zkl_claim_init(struct zkl_claim *claim, struct zkl_line *line, enum zkl_kind kind,
                    zkl_time deadline, bool trying);
void zkl_claim_detach(struct zkl_claim *claim);

/* Makes a claim in NEW another part of the multi-lock of `first`, also in NEW. */
void zkl_claim_join(struct zkl_claim *part, struct zkl_claim *first);

/* For a new PERMIT; `permits` is 1 to limit. */
void zkl_claim_set_permits(struct zkl_claim *claim, int32_t permits, int32_t limit);

/*
 * Lets a new MUTEX, which is no part and will wait in no condition, take turns (turn.c). If another
 * session waits, a turn ends after `batch` grants, 1 to ZKL_BATCH_MAX, or with ZKL_BATCH_BY_TIME
 * after ZKL_QUANTUM.
 */
void zkl_claim_set_batch(struct zkl_claim *claim, int32_t batch);

/*
 * The node of a new MUTEX, which is no part, stays for `keep` after the release, unless the line
 * pauses from keeping (zkl_backoff). Its tokens count grants (zkl_token).
 */
void zkl_claim_set_keep(struct zkl_claim *claim, zkl_time keep, zkl_time now);

/* The claim of its session, if any, that a claim in NEW waits for before it makes a node. */
enum zkl_awaits zkl_claim_awaits(const struct zkl_claim *claim);
/* The claim is in NEW, and may get the node of `other`. */
bool zkl_claim_inherits(const struct zkl_claim *claim, const struct zkl_claim *other);
/* The first claim from `from` on that ZKL_DO_FOLLOW must resume, or NULL. */
struct zkl_claim *zkl_claim_follower(struct zkl_claim *from);

/* At least `max_waiters` claims wait already, and this claim would wait, too (max_waiters.c). */
bool zkl_claim_exceeds_max_waiters(const struct zkl_claim *claim);

/* Tokens of a new MUTEX count grants (zkl_token), so that they compare with tokens of turns. */
void zkl_claim_count_grants(struct zkl_claim *claim);

/*
 * Sends a lock's claim, in HELD and no part, into a condition. The waiter is a new MUTEX in the
 * condition's line. Returns the waiter's actions.
 */
zkl_actions zkl_claim_enter_condition(struct zkl_claim *waiter, struct zkl_claim *lock,
                                      zkl_time deadline);
/* For the lock's claim when its waiter gave ZKL_DO_TELL_PARTNER. Returns actions for that claim. */
zkl_actions zkl_claim_partner_changed(struct zkl_claim *lock);

/* Puts a new claim in LEAVE, to remove an orphan (zkl_line_orphan). */
zkl_actions zkl_claim_adopt(struct zkl_claim *claim, struct zkl_contender *orphan);

/* As zkl_claim_adopt(), for a node of ZKL_NAME_FIXED (zkl_line_fixed_orphan). */
zkl_actions zkl_claim_adopt_fixed(struct zkl_claim *claim, int64_t czxid);

/* --- its user -------------------------------------------------------------------------- */
zkl_actions zkl_claim_start(struct zkl_claim *claim);
zkl_actions zkl_claim_cancel(struct zkl_claim *claim, enum zkl_code why);
zkl_actions zkl_claim_release(struct zkl_claim *claim, zkl_time now);
/* A claim in HELD will hand its node to no other claim, and a claim in KEPT leaves. */
zkl_actions zkl_claim_yield(struct zkl_claim *claim);
/* The node of a claim in HELD will not stay after the release, and a claim in KEPT leaves. */
zkl_actions zkl_claim_stop_keeping(struct zkl_claim *claim);
/* Another claim of the session wants the node. A claim in KEPT hands it on if no list must tell. */
zkl_actions zkl_claim_offer_kept(struct zkl_claim *kept, zkl_time now);
/* For a claim that zkl_claim_may_downgrade(). */
zkl_actions zkl_claim_downgrade(struct zkl_claim *claim);

/* --- replies; `why` is the reason of a refusal ----------------------------------------- */
/*
 * With ZKL_DONE a name has at most ZKL_NAME_SIZE - 1 bytes, and a czxid is above 0, except for
 * parts of a multi-lock in zkl_claim_created(), as transactions return no czxids.
 */
/* The reply to a parent's create. ZKL_ABSENT for the topmost says that the chroot is missing. */
void zkl_claim_parents(struct zkl_claim *claim, enum zkl_reply reply, enum zkl_code why);
zkl_actions zkl_claim_created(struct zkl_claim *claim, enum zkl_reply reply, enum zkl_code why,
                              const char *name, int64_t czxid);
/* ZKL_UNFAIR: the create was carried out. */
zkl_actions zkl_claim_fixed_created(struct zkl_claim *claim, int64_t czxid, zkl_time now);
/* ZKL_UNFAIR: the node exists already. Other replies go to zkl_claim_created(). */
zkl_actions zkl_claim_fixed_exists(struct zkl_claim *claim);
/* With ZKL_DONE the line was replaced before. */
zkl_actions zkl_claim_listed(struct zkl_claim *claim, enum zkl_reply reply, enum zkl_code why,
                             zkl_time now);
zkl_actions zkl_claim_synced(struct zkl_claim *claim, enum zkl_reply reply, zkl_time now);
/* `owner` is the server's session id for the node. */
zkl_actions zkl_claim_got_own(struct zkl_claim *claim, enum zkl_reply reply, enum zkl_code why,
                              int64_t czxid, uint64_t owner, zkl_time now);
zkl_actions zkl_claim_got_ahead(struct zkl_claim *claim, struct zkl_contender *contender,
                                enum zkl_reply reply, enum zkl_code why, zkl_time now);
/* The get of the contender's node, which may be kept, shows ZKL_HELD_WORD. */
zkl_actions zkl_claim_ahead_is_held(struct zkl_claim *claim, const struct zkl_contender *contender);
/* The get of a PERMIT's node shows a mark, written at this zxid. */
zkl_actions zkl_claim_ahead_marked(struct zkl_claim *claim, struct zkl_contender *contender,
                                   int64_t zxid);
zkl_actions zkl_claim_marked(struct zkl_claim *claim, enum zkl_reply reply);
/* A get of the own node, which `says_held`, lacks ZKL_HELD_WORD, and no mark is out. */
zkl_actions zkl_claim_mark_overwritten(struct zkl_claim *claim);
zkl_actions zkl_claim_ranked(struct zkl_claim *claim, struct zkl_contender *contender,
                             enum zkl_reply reply, int64_t czxid, zkl_time now);
/* ZKL_DONE also if an earlier transaction has made the reader's node. */
zkl_actions zkl_claim_downgraded(struct zkl_claim *claim, enum zkl_reply reply, enum zkl_code why);
/* ZKL_REFUSED for a waiter that may be signalled means that its node was written to. */
zkl_actions zkl_claim_removed(struct zkl_claim *claim, enum zkl_reply reply);
/* A waiter's create was refused because the lock's node is gone. */
zkl_actions zkl_claim_lock_node_gone(struct zkl_claim *claim);
/* A waiter's node was written to, which is the signal. */
zkl_actions zkl_claim_signalled(struct zkl_claim *claim);
/* The reply to ZKL_DO_FORWARD. `write_failed`: the write to the next waiter's node was refused. */
zkl_actions zkl_claim_forwarded(struct zkl_claim *claim, enum zkl_reply reply, bool write_failed);

/* --- watch events ------------------------------------------------------------------- */
zkl_actions zkl_claim_own_deleted(struct zkl_claim *claim);
zkl_actions zkl_claim_own_changed(struct zkl_claim *claim);
/*
 * The line forgets the contender. NULL stands for a contender that it has forgotten. A claim that
 * heads (permits.h) must hear of every contender ahead.
 */
zkl_actions zkl_claim_ahead_deleted(struct zkl_claim *claim, struct zkl_contender *contender,
                                    zkl_time now);
zkl_actions zkl_claim_ahead_changed(struct zkl_claim *claim, struct zkl_contender *contender);
/* For line->keeper, after line->changed was set. */
zkl_actions zkl_claim_contended(struct zkl_claim *keeper, zkl_time now);
/* --- connection and time -------------------------------------------------------------- */
/* The session is connected again, or a stalled claim may try again. */
zkl_actions zkl_claim_resume(struct zkl_claim *claim, zkl_time now);
/* The connection was lost. */
zkl_actions zkl_claim_suspend(struct zkl_claim *claim);
/* The session is over. A waiting claim fails with `why`, a holder has lost the lock. */
zkl_actions zkl_claim_expire(struct zkl_claim *claim, enum zkl_code why);
/* Ends a wait or a hold at its deadline, and a lease whose clock ran out. */
zkl_actions zkl_claim_tick(struct zkl_claim *claim, zkl_time now);
/* A ZKL_DO_PAUSE is over. */
zkl_actions zkl_claim_wake(struct zkl_claim *claim);
/* With each heartbeat. A holder watches its node from its first heartbeat on, or sooner. */
zkl_actions zkl_claim_beat(struct zkl_claim *claim, zkl_time now);

#endif
