#include "orphans.h"

#include <string.h>

#include "call.h"
#include "internal.h"
#include "stake_actions.h"

/* --- orphans in a list --------------------------------------------------------------------- */

void zkl_orphans_find(struct zkl_session *session, struct path *path) {
    static const struct zkl_acquire_options no_owner = {.owner = ""};
    struct zkl_contender *orphan;
    while ((orphan = zkl_line_orphan(&path->line))) {
        struct stake *stake = zkl_stake_new(session, path, &no_owner, ZKL_NEVER);
        if (!stake) {
            zkl_path_expect_orphan(session, path); /* the next list shows it again */
            return;
        }
        session->stats.orphans++;
        zkl_stake_perform(stake, zkl_claim_adopt(&stake->claim, orphan));
    }
}

void zkl_orphans_find_fixed(struct zkl_session *session, struct path *path,
                            const struct zkl_stat *stat) {
    static const struct zkl_acquire_options no_owner = {.owner = "", .kind = ZKL_UNFAIR};
    enum zkl_orphan orphan = zkl_line_fixed_orphan(&path->line, stat->owner, stat->czxid);
    if (orphan == ZKL_NO_ORPHAN) return;
    struct stake *stake =
        orphan == ZKL_ORPHAN ? zkl_stake_new(session, path, &no_owner, ZKL_NEVER) : NULL;
    if (!stake) {
        zkl_path_expect_orphan(session, path);
        return;
    }
    session->stats.orphans++;
    zkl_stake_perform(stake, zkl_claim_adopt_fixed(&stake->claim, stat->czxid));
}

/* --- late looks ------------------------------------------------------------------------------ */

static void answer_late_list(const struct call *call, const struct answer *answer) {
    struct zkl_session *session = call->session;
    /* There may have been no memory for `node`, and a refusal may be taken back. */
    if (answer->reply == ZKL_UNKNOWN || answer->reply == ZKL_REFUSED) return;
    struct path *path = zkl_path_find(session, call->node, strlen(call->node));
    if (!path || path->orphan_look_at == 0) return;
    if (answer->reply == ZKL_DONE) {
        if (!zkl_line_replace(&path->line, answer->names, (size_t)answer->count)) return;
        zkl_orphans_find(session, path);
    }
    if (path->orphan_look_at != call->orphan_look_at) return; /* another create is in doubt since */
    if (path->fixed_node == FIXED_UNSEEN) return;
    path->orphan_look_at = 0;
    zkl_path_mark_idle(session, path);
}

/* The list behind a lost sync may be from a server that lags, so it must not end the doubt. */
static void answer_late_sync(const struct call *call, const struct answer *answer) {
    if (answer->reply == ZKL_DONE || !call->node) return;
    struct path *path = zkl_path_find(call->session, call->node, strlen(call->node));
    if (path && path->orphan_look_at == call->orphan_look_at) path->orphan_look_at++;
}

static void answer_late_fixed(const struct call *call, const struct answer *answer) {
    size_t tail = strlen("/" ZKL_NAME_FIXED);
    if (!call->node) return;
    struct path *path = zkl_path_find(call->session, call->node, strlen(call->node) - tail);
    if (!path || path->orphan_look_at != call->orphan_look_at) return;
    bool tells = answer->reply == ZKL_DONE || answer->reply == ZKL_ABSENT;
    path->fixed_node = tells ? FIXED_SEEN : FIXED_UNSEEN;
    if (answer->reply == ZKL_DONE) zkl_orphans_find_fixed(call->session, path, answer->stat);
}

static const struct call_kind sync_call = {.answer = answer_late_sync};
static const struct call_kind fixed_call = {.answer = answer_late_fixed,
                                            .is_sound = zkl_answer_is_node};
static const struct call_kind list_call = {.answer = answer_late_list,
                                           .is_sound = zkl_answer_is_list};

static struct call *new_call(struct zkl_session *session, const struct path *path,
                             const struct call_kind *kind) {
    struct call *call = zkl_call_new(session, kind, NULL);
    if (call) call->orphan_look_at = path->orphan_look_at;
    return call;
}

/* Without memory for the get the list does not end the doubt. */
static void ask_for_orphans(struct zkl_session *session, struct path *path) {
    path->orphan_look_at = session->now + session->common.clock.timeout; /* if this look is lost */
    if (path->fixed_node) path->fixed_node = FIXED_UNSEEN;
    struct call *sync = new_call(session, path, &sync_call);
    struct call *fixed = path->fixed_node ? new_call(session, path, &fixed_call) : NULL;
    struct call *list = sync ? new_call(session, path, &list_call) : NULL;
    if (sync) zkl_call_sync(sync, path->text);
    if (fixed) zkl_call_get(fixed, path->text, ZKL_NAME_FIXED);
    if (list) zkl_call_list(list, path->text);
}

void zkl_orphans_look(struct zkl_session *session) {
    struct path *path = NULL;
    if (session->state != ZKL_SESSION_CONNECTED) return;
    while ((path = zkl_path_next(session, path))) {
        if (path->orphan_look_at && session->now >= path->orphan_look_at)
            ask_for_orphans(session, path);
    }
}

zkl_time zkl_orphans_due(struct zkl_session *session) {
    zkl_time due = ZKL_NEVER;
    struct path *path = NULL;
    if (session->state != ZKL_SESSION_CONNECTED) return due;
    while ((path = zkl_path_next(session, path))) {
        if (path->orphan_look_at && path->orphan_look_at < due) due = path->orphan_look_at;
    }
    return due;
}
