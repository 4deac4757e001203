/*
 * claim.h - the claim machine: one contender for one lock, from the wish to
 * have it until nothing of it is left in ZooKeeper.
 *
 * Events go in as calls, actions come out as a set of bits: what the owner of
 * the claim now has to do, in an order that session/stake_actions.c has. A machine
 * does no I/O, reads no clock, allocates nothing. The owner
 *   - serialises calls, and feeds replies in the order of the requests;
 *   - calls zkl_clock_prove() before it feeds the reply that is the proof;
 *   - replaces the line before it feeds a list, and looks for orphans; feeds the list to the claim
 *     that asked, to each claim of the line that is in LIST or `looking`, and to line->kept;
 *   - counts claim->ranks up for each get of DO_RANK;
 *   - feeds zkl_claim_tick() before it takes a release or a re-entry, so that a
 *     lease that the clock ended is lost first;
 *   - refuses a try itself while the session is suspended;
 *   - looks after each reply to DO_WATCH_OWN of a claim of ZKL_UNFAIR whether the node is
 *     an orphan (zkl_line_fixed_orphan), and with DO_DOUBT gets that node, too;
 *   - feeds the waiter of a lock's claim zkl_claim_release() with that claim's DO_GRANT, and
 *     zkl_claim_cancel() with its DO_FAIL, before anything else.
 *
 * After a stop of the process no proof counts for a while (clock.h). A claim takes no place in line
 * then, and one that comes to the front gives its place to those behind it, and begins anew.
 *
 * A create or delete of unknown outcome stays with its claim until the outcome is certain, also
 * after the user was answered: RECOVER_SYNC, RECOVER_LIST, DOWNGRADE and LEAVE are the janitor.
 *
 * A multi-lock has a claim for each of its locks: its parts, in a ring. Their nodes are
 * made in one transaction, so all of them are in line or none is, and of two multi-locks
 * one is ahead in every line that both are in. A part that is first in line waits for the
 * others in FIRST; with the last of them all are granted. A part whose node is gone fails
 * with ZKL_LOST and does not queue again: it would be behind in one line, ahead in another.
 *
 * A claim of ZKL_UNFAIR (unfair.c) has neither list nor line: RECOVER_SYNC and RECOVER_LIST ask
 * with a get instead of a list, also after a delete of unknown outcome. In WAIT it waits for a node
 * that is not its own, and DO_WATCH_OWN watches that one, for it has the same name.
 *
 * A claim of permits that is granted writes to its node, if a claim behind may have to be told
 * (permits.h): the mark. The claim holds already. `stalled` in HELD means that the mark is to be
 * written again or, if the claim `asks`, the list to be asked for again.
 *
 * A condition (condition.c) has a second claim for each user that waits in it: the waiter, with a
 * node in the condition's own line. One transaction makes that node and deletes the lock's, and the
 * lock's claim is IN_CONDITION. A signal is a write to the waiter's node. The signal stays there
 * until the lock's claim is granted again; if that fails, the waiter passes the signal on.
 *
 * Claims with a `batch` (turn.c) have one node between them: the holder hands it to the session's
 * next claim until the turn ends. The others are in NEW meanwhile.
 *
 * A claim that gave the lock up may be KEPT (keep.c): its node stays for the session's next claim.
 * It stays for a while if the claim has `keep`; in turns, until it is known whether others wait.
 * The owner feeds the claim zkl_claim_take() when a claim of the line was started,
 * zkl_claim_contended() when the children of the path have changed, and zkl_claim_tick() by its
 * deadline.
 *
 * A request that failed for lack of a connection leaves the claim `stalled`;
 * zkl_claim_resume() asks again. The table of transitions is in docs/design/states.md.
 */
#ifndef ZKL_CLAIM_H
#define ZKL_CLAIM_H

#include "claim_state.h"

/* Puts a new claim into the line. It is removed by zkl_claim_detach(). */
void zkl_claim_init(struct zkl_claim *claim, struct zkl_line *line, enum zkl_kind kind,
                    zkl_time deadline, bool trying);
void zkl_claim_detach(struct zkl_claim *claim);

/* Makes a claim that was not started another part of a multi-lock. */
void zkl_claim_join(struct zkl_claim *part, struct zkl_claim *first);

/* How many permits a new PERMIT wants, 1 to limit. */
void zkl_claim_want(struct zkl_claim *claim, int32_t permits, int32_t limit);

/*
 * A new MUTEX, which is no part and will have no waiter, takes turns. A turn ends for another
 * session that waits after `batch` grants, 1 to ZKL_BATCH_MAX, or after some time.
 */
void zkl_claim_batch(struct zkl_claim *claim, int32_t batch);

/*
 * The node of a new MUTEX, which is no part, is kept for that time after the release, unless the
 * lock is to be left to others for now (zkl_backoff). Its tokens count grants. It goes when its
 * user begins to wait in a condition.
 */
void zkl_claim_keep(struct zkl_claim *claim, zkl_time keep, zkl_time now);

/*
 * The one question that a claim in NEW asks of the other claims on its path: whether it makes a
 * node of its own now (ZKL_AWAITS_NOTHING), or comes after another one.
 */
enum zkl_awaits zkl_claim_awaits(const struct zkl_claim *claim);
/* A claim in NEW may have the node of the other one after it. */
bool zkl_claim_inherits(const struct zkl_claim *claim, const struct zkl_claim *other);
/* The next claim, from this one on, that ZKL_DO_FOLLOW is to resume; NULL: none. */
struct zkl_claim *zkl_claim_follower(struct zkl_claim *from);

/*
 * The claim, which has a `max_waiters`, would have to wait, and so many wait already. With a node
 * it counts those ahead of it. Without one it counts its session's claims and, in turns, the
 * others' nodes as the last list had them.
 */
bool zkl_claim_exceeds_max_waiters(const struct zkl_claim *claim);

/* The tokens of a new MUTEX count grants: they compare with those of claims with a batch. */
void zkl_claim_count(struct zkl_claim *claim);

/*
 * The user of a lock's claim in HELD, which is no part, begins to wait in a condition; the
 * waiter is new, of kind MUTEX, in the condition's line. The actions are the waiter's.
 */
zkl_actions zkl_claim_await(struct zkl_claim *waiter, struct zkl_claim *lock, zkl_time deadline);
/* After ZKL_DO_TELL_PARTNER: what became of its waiter. The actions are the lock's claim's. */
zkl_actions zkl_claim_partner_changed(struct zkl_claim *lock);

/* A claim in LEAVE for a node that lost its claim (zkl_line_orphan). */
zkl_actions zkl_claim_adopt(struct zkl_claim *claim, struct zkl_contender *orphan);

/* A claim in LEAVE for a node of ZKL_NAME_FIXED that no claim answers for (zkl_line_fixed_orphan).
 */
zkl_actions zkl_claim_adopt_fixed(struct zkl_claim *claim, int64_t czxid);

/* --- what the user does ------------------------------------------------------------ */
zkl_actions zkl_claim_start(struct zkl_claim *claim);
zkl_actions zkl_claim_cancel(struct zkl_claim *claim, enum zkl_code why);
zkl_actions zkl_claim_release(struct zkl_claim *claim, zkl_time now);
/* A claim in HELD or KEPT: its node will not go to another claim. */
zkl_actions zkl_claim_yield(struct zkl_claim *claim);
/* The node of any claim will not stay after the release, and a claim in KEPT goes. */
zkl_actions zkl_claim_stop_keeping(struct zkl_claim *claim);
/* A claim in KEPT: others of the session want the lock; the first of them gets its node. */
zkl_actions zkl_claim_take(struct zkl_claim *kept, zkl_time now);
/* A writer in HELD, and zkl_claim_may_downgrade(). */
zkl_actions zkl_claim_downgrade(struct zkl_claim *claim);

/* --- replies; `why` says what a refusal was about ------------------------------------ */
/*
 * With ZKL_DONE a czxid is above 0, a name has not more than ZKL_NAME_SIZE - 1 bytes.
 *
 * zkl_claim_created() of a multi-lock is called for each part, with czxid 0: the transaction
 * does not tell it.
 */
/* The reply to one parent's create; ZKL_ABSENT only for the topmost, which has none above it. */
void zkl_claim_parents(struct zkl_claim *claim, enum zkl_reply reply, enum zkl_code why);
zkl_actions zkl_claim_created(struct zkl_claim *claim, enum zkl_reply reply, enum zkl_code why,
                              const char *name, int64_t czxid);
/* Of ZKL_UNFAIR: it was carried out; or there was a node. Other replies: zkl_claim_created(). */
zkl_actions zkl_claim_placed(struct zkl_claim *claim, int64_t czxid, zkl_time now);
zkl_actions zkl_claim_taken(struct zkl_claim *claim);
/* The line was replaced before, if the reply is ZKL_DONE. */
zkl_actions zkl_claim_listed(struct zkl_claim *claim, enum zkl_reply reply, enum zkl_code why,
                             zkl_time now);
zkl_actions zkl_claim_synced(struct zkl_claim *claim, enum zkl_reply reply, zkl_time now);
/* `owner` is the session id that the server has for the node. */
zkl_actions zkl_claim_got_own(struct zkl_claim *claim, enum zkl_reply reply, enum zkl_code why,
                              int64_t czxid, uint64_t owner, zkl_time now);
zkl_actions zkl_claim_got_ahead(struct zkl_claim *claim, struct zkl_contender *contender,
                                enum zkl_reply reply, enum zkl_code why, zkl_time now);
/* After ZKL_DONE to the get of a node that may be kept: its data says ZKL_HELD_WORD. */
zkl_actions zkl_claim_told_held(struct zkl_claim *claim, const struct zkl_contender *contender);
/*
 * After ZKL_DONE to the get of a PERMIT's node: it was written to, at this zxid. The mark may have
 * come before the watch.
 */
zkl_actions zkl_claim_ahead_marked(struct zkl_claim *claim, struct zkl_contender *contender,
                                   int64_t zxid);
zkl_actions zkl_claim_marked(struct zkl_claim *claim, enum zkl_reply reply);
/*
 * After ZKL_DONE to the get of the own node, which is `marked`, while no mark is out: the data does
 * not say ZKL_HELD_WORD. A revocation replaces the data, and with it the word.
 */
zkl_actions zkl_claim_unmarked(struct zkl_claim *claim);
zkl_actions zkl_claim_ranked(struct zkl_claim *claim, struct zkl_contender *contender,
                             enum zkl_reply reply, int64_t czxid, zkl_time now);
/* ZKL_DONE also when the reader's node exists: an earlier transaction was carried out. */
zkl_actions zkl_claim_downgraded(struct zkl_claim *claim, enum zkl_reply reply, enum zkl_code why);
/* ZKL_REFUSED of a waiter that may be signalled: somebody has written to the node. */
zkl_actions zkl_claim_removed(struct zkl_claim *claim, enum zkl_reply reply);
/* A waiter's create was not carried out, for the lock's node is gone. */
zkl_actions zkl_claim_left_nothing(struct zkl_claim *claim);
/* A get of the own node shows that somebody has written to it: the signal. */
zkl_actions zkl_claim_signalled(struct zkl_claim *claim);
/* The reply to ZKL_DO_FORWARD; `next`: what was refused is the write to the next waiter. */
zkl_actions zkl_claim_forwarded(struct zkl_claim *claim, enum zkl_reply reply, bool next);

/* --- watch events ------------------------------------------------------------------- */
zkl_actions zkl_claim_own_deleted(struct zkl_claim *claim);
zkl_actions zkl_claim_own_changed(struct zkl_claim *claim);
/* The line forgets the contender. A claim that heads hears of each; NULL: one not in the line. */
zkl_actions zkl_claim_ahead_deleted(struct zkl_claim *claim, struct zkl_contender *contender,
                                    zkl_time now);
zkl_actions zkl_claim_ahead_changed(struct zkl_claim *claim, struct zkl_contender *contender);
/* Of line->kept, when line->changed was set. */
zkl_actions zkl_claim_contended(struct zkl_claim *kept, zkl_time now);
/* --- connection and time -------------------------------------------------------------- */
/* The connection is back in the same session, or a stalled claim may try again. */
zkl_actions zkl_claim_resume(struct zkl_claim *claim, zkl_time now);
zkl_actions zkl_claim_suspend(struct zkl_claim *claim);
/* Its session is over: `why` is for a waiter, and a holder has lost the lock. */
zkl_actions zkl_claim_expire(struct zkl_claim *claim, enum zkl_code why);
/* Time passed: deadlines, and the end of the lease by the own clock. */
zkl_actions zkl_claim_tick(struct zkl_claim *claim, zkl_time now);
/* The pause of ZKL_DO_PAUSE is over. */
zkl_actions zkl_claim_wake(struct zkl_claim *claim);
/* A heartbeat is being sent: a holder watches its node from its first one on. */
zkl_actions zkl_claim_beat(struct zkl_claim *claim, zkl_time now);

#endif
