/*
 * yielding.c - makes room, in the order of enum zkl_room. Without a connection no watch gives way,
 * because libzookeeper sets it again with all others before its removal can be sent.
 */
#include "children.h"
#include "internal.h"
#include "kept.h"
#include "room.h"
#include "roster.h"
#include "stake.h"
#include "watcher.h"

/* A node that is given back counts no more, as new nodes are asked for after its delete. */
static void give_back_nodes(struct zkl_session *session, size_t bytes) {
    struct stake *kept;
    while (!zkl_room_fits_nodes(session, bytes) && (kept = zkl_kept_longest(session))) {
        kept->node = NODE_GIVES_WAY;
        session->leaving_bytes += zkl_stake_cost(session, kept->path->length);
        zkl_kept_give_back(kept);
    }
}

/* --- room for a watch ------------------------------------------------------------------------- */

static void end_lookaheads(struct zkl_session *session, size_t bytes) {
    struct stake *stake = session->stakes;
    for (; stake && !zkl_room_fits_watches(session, bytes); stake = stake->next) {
        if (!stake->claim.lookahead) continue;
        zkl_claim_drop_lookahead(&stake->claim);
        zkl_watches_narrow(stake, true);
    }
}

static void give_back_kept(struct zkl_session *session, size_t bytes) {
    struct stake *kept;
    while (!zkl_room_fits_watches(session, bytes) && (kept = zkl_kept_longest(session))) {
        zkl_path_unwatch_children(session, kept->path); /* its watch does not count any more */
        zkl_kept_give_back(kept);
    }
}

/* Without this watch nothing tells a turn of others, and it ends after its batch. */
static void end_watches_of_children(struct zkl_session *session, size_t bytes) {
    struct path *path = NULL;
    while (!zkl_room_fits_watches(session, bytes) && (path = zkl_path_next(session, path))) {
        if (path->line.children != ZKL_WATCHED) continue;
        zkl_path_unwatch_children(session, path);
        path->line.changed = true;
        zkl_kept_note_contenders(path);
    }
}

static void rosters_give_way(struct zkl_session *session, size_t bytes) {
    struct follower *each = session->followers[FOLLOWER_ROSTER];
    for (; each && !zkl_room_fits_watches(session, bytes); each = each->next)
        zkl_roster_give_way((struct zkl_roster *)each);
}

static void watchers_give_way(struct zkl_session *session, size_t bytes) {
    struct follower *each = session->followers[FOLLOWER_WATCHER];
    for (; each && !zkl_room_fits_watches(session, bytes); each = each->next)
        zkl_watcher_give_way((struct zkl_watcher *)each);
}

static void remove_unwanted(struct zkl_session *session, size_t bytes) {
    (void)bytes;
    zkl_watches_remove_unwanted(session);
}

static void (*const watches_give_way[])(struct zkl_session *session, size_t bytes) = {
    [ROOM_FREE] = remove_unwanted,        [ROOM_OF_LOOKAHEADS] = end_lookaheads,
    [ROOM_OF_KEPT] = give_back_kept,      [ROOM_OF_TURNS] = end_watches_of_children,
    [ROOM_OF_ROSTERS] = rosters_give_way, [ROOM_OF_WATCHERS] = watchers_give_way,
};

const struct zkl_yielding zkl_yielding = {give_back_nodes, watches_give_way};
