/*
 * steps.c - a step has a copy of its texts, and at most ZKL_STEPS_MAX wait to be taken.
 */
#include <stdlib.h>
#include <string.h>

#include "steps.h"

struct step {
    struct zkl_step step; /* first, for zkl_step_free() */
    struct step *next;
    char texts[]; /* path, owner */
};

static struct step *new_step(struct zkl_session *session, const char *path, const char *owner) {
    size_t path_size = path ? strlen(path) + 1 : 0, owner_size = owner ? strlen(owner) + 1 : 0;
    struct step *step = session->step_count < ZKL_STEPS_MAX
                            ? calloc(1, sizeof *step + path_size + owner_size)
                            : NULL;
    if (!step) {
        session->stats.untold++;
        return NULL;
    }
    step->step.at = session->now;
    if (path) step->step.path = memcpy(step->texts, path, path_size);
    if (owner) step->step.owner = memcpy(step->texts + path_size, owner, owner_size);
    *session->steps_end = step;
    session->steps_end = &step->next;
    session->step_count++;
    session->news = true;
    return step;
}

struct zkl_step *zkl_step_add(const struct stake *stake, enum zkl_step_kind kind, zkl_time took) {
    struct step *step = new_step(stake->session, stake->path->text, stake->owner);
    if (!step) return NULL;
    step->step.kind = kind;
    step->step.took = took;
    step->step.token = kind == ZKL_STEP_QUEUED ? 0 : stake->token;
    return &step->step;
}

void zkl_step_tell_session(struct zkl_session *session, enum zkl_step_kind kind) {
    struct step *step = session->tells_steps ? new_step(session, NULL, NULL) : NULL;
    if (step) step->step.kind = kind;
}

bool zkl_step_take(struct zkl_session *session, struct zkl_event *event) {
    struct step *step = session->steps;
    free(session->taken_step);
    session->taken_step = step;
    if (!step) return false;
    session->steps = step->next;
    if (!session->steps) session->steps_end = &session->steps;
    session->step_count--;
    event->kind = ZKL_EVENT_STEP;
    event->step = &step->step;
    return true;
}

void zkl_session_keep_step(zkl_session *session) {
    session->taken_step = NULL;
}

void zkl_step_free(const struct zkl_step *step) {
    free((struct step *)step);
}
