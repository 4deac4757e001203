/* stake.h - a claim with its user. */
#ifndef ZKL_SESSION_STAKE_H
#define ZKL_SESSION_STAKE_H

#include "call.h"

struct stake *zkl_stake_new(struct zkl_session *session, struct path *path,
                            const struct zkl_acquire_options *options,
                            zkl_time deadline); /* NULL: no memory */
void zkl_stake_forget(struct stake *stake);     /* GONE; handles may still ask for its state */
size_t zkl_stake_cost(const struct zkl_session *session, size_t path_length);
bool zkl_stake_lost(struct stake *stake, zkl_time now);
enum zkl_code zkl_stake_ended(struct stake *stake); /* RELEASED, LOST, or OK: it has not */
void zkl_stake_writers_gone(struct stake *stake);   /* if it is so: the readers stay */
void zkl_stake_give_up(struct stake *stake, enum zkl_kind kind); /* one handle of it */
/* The request to release ends when the stakes that nobody holds any more are gone. */
void zkl_stake_await_end(struct zkl_request *request);
/* Tells the acquire that waits for the grant. */
void zkl_stake_finish(struct stake *stake, enum zkl_code code, int error);
/* The same, with the server's reason if it refused. */
void zkl_stake_refuse(struct stake *stake, enum zkl_code code);
/* Tells the downgrade that waits for the grant to be a reader's, if there is one. */
void zkl_stake_finish_downgrade(struct stake *stake, enum zkl_code code);
void zkl_stake_granted(struct stake *stake);
void zkl_stake_failed(struct stake *stake); /* claim->code */
void zkl_stake_queued(struct stake *stake);
void zkl_stake_tell_loss(struct stake *stake);
/* The own node's data, each time that it is seen. */
void zkl_stake_take_data(struct stake *stake, const struct answer *answer);
void zkl_stake_resume_all(struct zkl_session *session, zkl_time now);
void zkl_stake_suspend_all(struct zkl_session *session);
void zkl_stake_expire_all(struct zkl_session *session);
void zkl_stake_close_all(struct zkl_session *session);
void zkl_stake_tick_all(struct zkl_session *session, zkl_time now);
void zkl_stake_beat_all(struct zkl_session *session, zkl_time now);
void zkl_stake_wake_all(struct zkl_session *session, zkl_time now); /* pauses that are over */
zkl_time zkl_stake_wake_due(const struct zkl_session *session);     /* the end of the first */
void zkl_stake_notice_all(struct zkl_session *session, zkl_time now);
enum zkl_code zkl_stakes_ended(const struct stakes *stakes); /* of any, as zkl_stake_ended() */

#endif
