/* state.h - what a tree is made of. */
#ifndef ZKL_MEMORY_STATE_H
#define ZKL_MEMORY_STATE_H

#include "node.h"
#include "tree.h"
#include "watches.h"

struct zkl_tree_session {
    struct zkl_entry entry; /* in the table, by the id */
    struct zkl_list link;   /* in the tree's sessions */
    uint64_t id;
    zkl_time timeout, expiry;   /* expiry: its end, unless it is heard of before */
    struct zkl_list ephemerals; /* the oldest first */
    struct zkl_list watches;    /* its own */
    struct zkl_watch *farewell; /* zkl_data_watches_farewell() */
};

struct zkl_tree {
    int64_t zxid; /* of the last transaction */
    struct zkl_nodes nodes;
    struct zkl_data_watches watches;

    uint64_t session; /* the last id given */
    struct zkl_table table;
    struct zkl_list sessions; /* the oldest first */
    zkl_time expiry;          /* no session expires before */

    struct zkl_list emptied; /* containers that have lost their last child */
    zkl_time container_check;
    zkl_time check; /* when the emptied are removed, if there are any */
    zkl_time now;   /* the latest time that was said */

    /* the last answer, and nodes deleted meanwhile, to which it may point */
    struct zkl_stat stat;
    const char **names;
    size_t names_size;
    struct zkl_result *results;
    size_t results_size;
    struct zkl_list deleted;
};

static inline zkl_time zkl_tree_later(const struct zkl_tree *tree, zkl_time span) {
    return span < ZKL_NEVER - tree->now ? tree->now + span : ZKL_NEVER;
}

/* --- transaction.c --------------------------------------------------------------------- */

/*
 * Carries out all of the operations, or none; the session is the owner of ephemerals. The results
 * are filled in, each with its error. Returns the error of the operation that failed, if one did.
 */
int zkl_transaction_run(struct zkl_tree *tree, struct zkl_tree_session *session,
                        const struct zkl_op *ops, size_t count, struct zkl_result *results);

/* Deletes the node, which has no children; the tree's zxid is the transaction's already. */
void zkl_transaction_delete(struct zkl_tree *tree, struct zkl_node *node);

/* Frees the deleted nodes. */
void zkl_transaction_forget(struct zkl_tree *tree);

#endif
