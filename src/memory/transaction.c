/*
 * transaction.c - operations that take effect together or not at all. Each takes effect at once,
 * for the next to see, and is recorded as a step. After a failure the steps are undone, latest
 * first. Else they are settled in order: watches fire, ephemerals and containers are listed,
 * and counters move.
 */
#include <stdlib.h>
#include <string.h>

#include "path.h"
#include "state.h"

struct step {
    enum zkl_op_kind kind;
    struct zkl_node *node;
    int32_t cversion; /* CREATE: the parent's, after this step */
    char *old_data;   /* SET; size and stat, too */
    size_t old_size;
    struct zkl_stat old_stat;
};

struct transaction {
    struct zkl_tree *tree;
    struct zkl_tree_session *session;
    struct step *steps;
    size_t count; /* completed */
};

/* Adds 1 as Java does, so INT32_MAX wraps. */
static int32_t next_number(int32_t number) {
    return (int32_t)((uint32_t)number + 1U);
}

static bool has_version(const struct zkl_node *node, int32_t version) {
    return version == -1 || version == node->stat.version;
}

/* --- execution --------------------------------------------------------------------------- */

static struct zkl_node *make_node(const struct transaction *transaction, const struct zkl_op *op,
                                  const struct zkl_node *parent) {
    const int32_t *number = op->mode == ZKL_SEQUENTIAL ? &parent->counter : NULL;
    struct zkl_node *node = zkl_node_new(op->path, number);
    if (!node || !zkl_data_copy(&node->data, op->data, op->size)) {
        zkl_node_free(node);
        return NULL;
    }
    node->size = op->size;
    node->stat.czxid = node->stat.mzxid = transaction->tree->last_zxid;
    node->stat.ctime = transaction->tree->now / (ZKL_SECOND / 1000);
    if (op->mode == ZKL_EPHEMERAL || op->mode == ZKL_SEQUENTIAL)
        node->stat.owner = transaction->session->id;
    node->container = op->mode == ZKL_CONTAINER;
    return node;
}

static int create_node(struct transaction *transaction, const struct zkl_op *op, struct step *step,
                       struct zkl_result *result) {
    struct zkl_nodes *nodes = &transaction->tree->nodes;
    struct zkl_node *parent = zkl_nodes_parent(nodes, op->path);
    if (!parent) return ZKL_ERROR_NO_NODE;
    struct zkl_node *node = make_node(transaction, op, parent);
    if (!node) return ZKL_ERROR_SYSTEM;
    bool exists = zkl_nodes_find(nodes, node->path) != NULL;
    if (exists || parent->stat.owner != 0) {
        zkl_node_free(node);
        return exists ? ZKL_ERROR_NODE_EXISTS : ZKL_ERROR_NO_CHILDREN_FOR_EPHEMERALS;
    }
    zkl_node_attach(nodes, node, parent);
    step->node = node;
    step->cversion = parent->counter = next_number(parent->counter);
    result->created = node->path;
    result->stat = node->stat;
    return ZKL_ERROR_NONE;
}

static int set_data(struct transaction *transaction, const struct zkl_op *op, struct step *step,
                    struct zkl_result *result) {
    struct zkl_node *node = zkl_nodes_find(&transaction->tree->nodes, op->path);
    char *data;
    if (!node) return ZKL_ERROR_NO_NODE;
    if (!has_version(node, op->version)) return ZKL_ERROR_BAD_VERSION;
    if (!zkl_data_copy(&data, op->data, op->size)) return ZKL_ERROR_SYSTEM;
    step->node = node;
    step->old_data = node->data;
    step->old_size = node->size;
    step->old_stat = node->stat;
    node->data = data;
    node->size = op->size;
    node->stat.mzxid = transaction->tree->last_zxid;
    node->stat.version = next_number(node->stat.version);
    result->stat = node->stat;
    return ZKL_ERROR_NONE;
}

static int delete_node(struct transaction *transaction, const struct zkl_op *op,
                       struct step *step) {
    struct zkl_nodes *nodes = &transaction->tree->nodes;
    struct zkl_node *node = zkl_nodes_find(nodes, op->path);
    if (node == nodes->root) return ZKL_ERROR_BAD_ARGUMENTS;
    if (!node) return ZKL_ERROR_NO_NODE;
    if (!has_version(node, op->version)) return ZKL_ERROR_BAD_VERSION;
    if (node->child_count > 0) return ZKL_ERROR_NOT_EMPTY;
    zkl_node_detach(nodes, node);
    step->node = node;
    return ZKL_ERROR_NONE;
}

static int check_node(const struct transaction *transaction, const struct zkl_op *op) {
    const struct zkl_node *node = zkl_nodes_find(&transaction->tree->nodes, op->path);
    if (!node) return ZKL_ERROR_NO_NODE;
    return has_version(node, op->version) ? ZKL_ERROR_NONE : ZKL_ERROR_BAD_VERSION;
}

static int carry_out(struct transaction *transaction, const struct zkl_op *op,
                     struct zkl_result *result) {
    struct step *step = &transaction->steps[transaction->count];
    bool sequential = op->kind == ZKL_OP_CREATE && op->mode == ZKL_SEQUENTIAL;
    if (!zkl_node_path_is_valid(op->path, sequential)) return ZKL_ERROR_BAD_ARGUMENTS;
    step->kind = op->kind;
    switch (op->kind) {
    case ZKL_OP_SET: return set_data(transaction, op, step, result);
    case ZKL_OP_CREATE: return create_node(transaction, op, step, result);
    case ZKL_OP_DELETE: return delete_node(transaction, op, step);
    case ZKL_OP_CHECK: return check_node(transaction, op);
    }
    return ZKL_ERROR_UNIMPLEMENTED;
}

/* --- undo -------------------------------------------------------------------------------- */

static void undo_steps(struct transaction *transaction) {
    struct zkl_nodes *nodes = &transaction->tree->nodes;
    while (transaction->count > 0) {
        struct step *step = &transaction->steps[--transaction->count];
        struct zkl_node *node = step->node;
        switch (step->kind) {
        case ZKL_OP_SET:
            free(node->data);
            node->data = step->old_data;
            node->size = step->old_size;
            node->stat = step->old_stat;
            break;
        case ZKL_OP_CREATE:
            zkl_node_detach(nodes, node);
            node->parent->counter = node->parent->cversion;
            zkl_node_free(node);
            break;
        case ZKL_OP_DELETE: zkl_node_reattach(nodes, node); break;
        case ZKL_OP_CHECK: break;
        }
    }
}

/* As on servers, operations before the failed one get no error, and later ones another error. */
static void report_failure(struct zkl_result *results, size_t count, size_t failed, int error) {
    memset(results, 0, count * sizeof *results);
    results[failed].error = error;
    for (size_t i = failed + 1; i < count; i++) results[i].error = ZKL_ERROR_RUNTIME_INCONSISTENCY;
}

/* --- settling ---------------------------------------------------------------------------- */

/* Lists a container that lost its last child, until it gets a child. */
static void update_emptied(struct zkl_tree *tree, struct zkl_node *node) {
    if (!node->container) return;
    bool listed = !zkl_list_is_empty(&node->of_emptied);
    if (node->child_count > 0) zkl_list_remove(&node->of_emptied);
    if (node->child_count > 0 || listed) return;
    if (zkl_list_is_empty(&tree->emptied))
        tree->container_check_at = zkl_tree_later(tree, tree->container_check_period);
    zkl_list_append(&tree->emptied, &node->of_emptied);
}

/* At INT32_MAX a cversion stays, though the counter wraps in the steps. */
static void settle_create(const struct transaction *transaction, const struct step *step) {
    struct zkl_node *node = step->node, *parent = node->parent;
    if (step->cversion > parent->cversion) parent->cversion = step->cversion;
    parent->counter = parent->cversion;
    update_emptied(transaction->tree, parent);
    if (node->stat.owner != 0)
        zkl_list_append(&transaction->session->ephemerals, &node->of_session);
    zkl_data_watches_fire(&transaction->tree->watches, node->path, ZKL_NODE_CREATED);
}

static void settle_delete(struct zkl_tree *tree, struct zkl_node *node) {
    zkl_list_remove(&node->of_session);
    zkl_list_remove(&node->of_emptied);
    update_emptied(tree, node->parent);
    zkl_data_watches_fire(&tree->watches, node->path, ZKL_NODE_DELETED);
    zkl_list_append(&tree->deleted, &node->sibling);
}

static void settle(const struct transaction *transaction) {
    struct zkl_tree *tree = transaction->tree;
    for (size_t i = 0; i < transaction->count; i++) {
        struct step *step = &transaction->steps[i];
        switch (step->kind) {
        case ZKL_OP_SET:
            free(step->old_data);
            zkl_data_watches_fire(&tree->watches, step->node->path, ZKL_NODE_CHANGED);
            break;
        case ZKL_OP_CREATE: settle_create(transaction, step); break;
        case ZKL_OP_DELETE: settle_delete(tree, step->node); break;
        case ZKL_OP_CHECK: break;
        }
    }
}

/* --- the transaction --------------------------------------------------------------------- */

int zkl_transaction_run(struct zkl_tree *tree, struct zkl_tree_session *session,
                        const struct zkl_op *ops, size_t count, struct zkl_result *results) {
    struct transaction transaction = {.tree = tree, .session = session};
    int error = ZKL_ERROR_NONE;
    transaction.steps = calloc(count + 1, sizeof *transaction.steps);
    tree->last_zxid++; /* failed transactions count, too */
    memset(results, 0, count * sizeof *results);
    for (size_t i = 0; i < count && !error; i++) {
        error =
            transaction.steps ? carry_out(&transaction, &ops[i], &results[i]) : ZKL_ERROR_SYSTEM;
        if (!error) transaction.count++;
        else report_failure(results, count, i, error);
    }
    if (error) undo_steps(&transaction);
    else settle(&transaction);
    free(transaction.steps);
    return error;
}

void zkl_transaction_delete(struct zkl_tree *tree, struct zkl_node *node) {
    zkl_node_detach(&tree->nodes, node);
    settle_delete(tree, node);
}

void zkl_transaction_free_deleted(struct zkl_tree *tree) {
    while (!zkl_list_is_empty(&tree->deleted)) {
        struct zkl_node *node = ZKL_LISTED(tree->deleted.next, struct zkl_node, sibling);
        zkl_list_remove(&node->sibling);
        zkl_node_free(node);
    }
}
