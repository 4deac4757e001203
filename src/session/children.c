#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "children.h"
#include "internal.h"
#include "room.h"
#include "stake_actions.h"

void zkl_path_unwatch_children(struct zkl_session *session, struct path *path) {
    struct watch *watch = path->children_watch;
    path->children_watch = NULL;
    path->line.children = ZKL_UNWATCHED;
    if (watch) zkl_watches_unpin(session, watch);
}

bool zkl_path_watch_children(struct path *path, struct stake *stake) {
    struct zkl_session *session = stake->session;
    struct watches *watches = &session->watches;
    char *children = zkl_path_join("", path->text);
    bool room = children && zkl_room_make_for_watches(session, ROOM_OF_KEPT,
                                                      zkl_watches_need(watches, children));
    path->children_watch = room ? zkl_watches_pin(watches, children) : NULL;
    struct call *call = path->children_watch ? zkl_stake_call_new(stake, STAKE_LIST) : NULL;
    bool enough = call || (children && !room);
    free(children);
    if (call) {
        call->listed = path;
        path->lists_out++;
        zkl_call_set_pinned_watch(call, ZKL_RPC_LIST, path->children_watch);
    } else {
        zkl_path_unwatch_children(session, path);
        path->line.changed = true;
    }
    return enough;
}

/*
 * After a refused list the next would be refused, too. If there was no memory for the list its
 * contenders are not known. So the line counts as changed.
 */
void zkl_path_answer_children(struct zkl_session *session, struct path *path,
                              enum zkl_reply reply) {
    if (!path->children_watch) return;
    bool set = path->children_watch->state != WATCH_UNSET;
    if (set) path->line.children = ZKL_WATCHED;
    else zkl_path_unwatch_children(session, path);
    if (reply == ZKL_REFUSED || (set && reply != ZKL_DONE)) path->line.changed = true;
}
