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
    struct zkl_watch *farewell; /* the event of its expiry */
};

struct zkl_tree {
    int64_t last_zxid;
    struct zkl_nodes nodes;
    struct zkl_data_watches watches;

    uint64_t last_session_id;
    struct zkl_table sessions_by_id;
    struct zkl_list sessions; /* oldest first */
    zkl_time first_expiry;    /* no session expires before */

    struct zkl_list emptied; /* containers without their last child */
    zkl_time container_check_period;
    zkl_time container_check_at;
    zkl_time now; /* the latest known */

    /* the last answer's parts, and deleted nodes to which it may point */
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
 * Carries out all operations or none, with a result for each. New ephemerals belong to `session`.
 * Returns the failed operation's error, if any.
 */
int zkl_transaction_run(struct zkl_tree *tree, struct zkl_tree_session *session,
                        const struct zkl_op *ops, size_t count, struct zkl_result *results);

/* Deletes a node without children. The caller has advanced the zxid. */
void zkl_transaction_delete(struct zkl_tree *tree, struct zkl_node *node);

/* Call when the last answer is no longer used. */
void zkl_transaction_free_deleted(struct zkl_tree *tree);

#endif
