/*
 * steps.h - reports each step of a lock. The session owns steps until its user takes them.
 */
#ifndef ZKL_SESSION_STEPS_H
#define ZKL_SESSION_STEPS_H

#include "internal.h"
#include "stake.h"

/* A step to be completed; NULL: no room, or no memory. */
struct zkl_step *zkl_step_add(const struct stake *stake, enum zkl_step_kind kind, zkl_time took);
/* Adds such a step if the settings ask for steps. */
static inline struct zkl_step *zkl_step_tell(const struct stake *stake, enum zkl_step_kind kind,
                                             zkl_time took) {
    return stake->session->tells_steps ? zkl_step_add(stake, kind, took) : NULL;
}
void zkl_step_tell_session(struct zkl_session *session, enum zkl_step_kind kind);
bool zkl_step_take(struct zkl_session *session, struct zkl_event *event); /* if there is any */

#endif
