/*
 * node.h - the nodes of a tree: found by their paths, each in the list of its parent's children.
 *
 * A detached node still knows its place. It can be attached there again when all later changes
 * were taken back, the latest first.
 */
#ifndef ZKL_MEMORY_NODE_H
#define ZKL_MEMORY_NODE_H

#include "../session/rpc.h"
#include "list.h"
#include "table.h"

struct zkl_node {
    struct zkl_entry entry;     /* in the table, by the path */
    struct zkl_node *parent;    /* of the root: NULL */
    struct zkl_list children;   /* the oldest first */
    struct zkl_list sibling;    /* in the parent's children */
    struct zkl_list of_session; /* in its session's ephemerals, or alone */
    struct zkl_list of_emptied; /* in the tree's emptied containers, or alone */
    size_t count;               /* of children */
    char *data;                 /* NULL: none */
    size_t size;                /* of the data */
    struct zkl_stat stat;
    bool container;
    int32_t cversion; /* how many children were made in it; INT32_MAX at most */
    int32_t counter;  /* the number of the next sequential child; other than cversion only while
                         a transaction is carried out */
    const char *name; /* the last part of the path */
    char path[];
};

struct zkl_nodes {
    struct zkl_table table;
    struct zkl_node *root;
};

/* False: out of memory; zkl_nodes_clear() may follow all the same. */
bool zkl_nodes_init(struct zkl_nodes *nodes);
void zkl_nodes_clear(struct zkl_nodes *nodes);

/* Removes all but the root, which is as new. */
void zkl_nodes_empty(struct zkl_nodes *nodes);

struct zkl_node *zkl_nodes_find(const struct zkl_nodes *nodes, const char *path);

/* The parent of a node with this path, whether that node exists or not; NULL: there is none. */
struct zkl_node *zkl_nodes_parent(const struct zkl_nodes *nodes, const char *path);

/* A node in no table yet; `number` is added to its path, unless it is NULL. NULL: out of memory. */
struct zkl_node *zkl_node_new(const char *path, const int32_t *number);
void zkl_node_free(struct zkl_node *node);

void zkl_node_attach(struct zkl_nodes *nodes, struct zkl_node *node, struct zkl_node *parent);
void zkl_node_detach(struct zkl_nodes *nodes, struct zkl_node *node);
void zkl_node_reattach(struct zkl_nodes *nodes, struct zkl_node *node);

/* Copies what is not NULL. False: out of memory. */
bool zkl_data_copy(char **copy, const char *data, size_t size);

#endif
