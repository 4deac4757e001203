/* state.h - the parts of a tree, for tree.c and transaction.c. */
#ifndef ZKL_MEMORY_STATE_H
#define ZKL_MEMORY_STATE_H

#include "node.h"
#include "tree.h"
#include "watches.h"

struct zkl_tree_session {
    struct zkl_entry entry; /* in the table, by id */
    struct zkl_list link;   /* list of the tree */
    uint64_t id;
    zkl_time timeout, expiry;   /* a sign of life moves `expiry` */
    struct zkl_list ephemerals; /* oldest first */
    struct zkl_list watches;
    struct zkl_watch *farewell; /* see zkl_data_watches_farewell() */
};

struct zkl_tree {
    int64_t zxid; /* last transaction */
    struct zkl_nodes nodes;
    struct zkl_data_watches watches;

    uint64_t session; /* the last id */
    struct zkl_table table;
    struct zkl_list sessions; /* oldest first */
    zkl_time expiry;          /* no session expires before this */

    struct zkl_list emptied; /* containers without their last child */
    zkl_time container_check;
    zkl_time check; /* next removal of the emptied */
    zkl_time now;   /* the latest known */

    /* the last answer, and deleted nodes that it may point to */
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
 * Carries out all operations or none, for `session` as owner of ephemerals, with a result for each.
 * Returns the failed operation's error, if any.
 */
int zkl_transaction_run(struct zkl_tree *tree, struct zkl_tree_session *session,
                        const struct zkl_op *ops, size_t count, struct zkl_result *results);

/* The node has no child. The zxid is advanced before. */
void zkl_transaction_delete(struct zkl_tree *tree, struct zkl_node *node);

void zkl_transaction_forget(struct zkl_tree *tree);

#endif
