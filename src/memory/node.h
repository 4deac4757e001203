/*
 * node.h - the nodes of a tree, by path, each in its parent's list. The tree owns them; its caller
 * serialises calls. A detached node can return to its place after later changes were undone, latest
 * first.
 */
#ifndef ZKL_MEMORY_NODE_H
#define ZKL_MEMORY_NODE_H

#include "../session/rpc.h"
#include "list.h"
#include "table.h"

struct zkl_node {
    struct zkl_entry entry;     /* by path */
    struct zkl_node *parent;    /* NULL: the root */
    struct zkl_list children;   /* oldest first */
    struct zkl_list sibling;    /* in the parent's children */
    struct zkl_list of_session; /* in its session's ephemerals, or in none */
    struct zkl_list of_emptied; /* in the tree's emptied containers, or in none */
    size_t child_count;
    char *data; /* NULL: none */
    size_t size;
    struct zkl_stat stat;
    bool container;
    int32_t cversion; /* number of children ever made, at most INT32_MAX */
    int32_t counter;  /* next sequential number; between transactions equal to `cversion` */
    const char *name;
    char path[];
};

struct zkl_nodes {
    struct zkl_table table;
    struct zkl_node *root;
};

/* False: no memory, but zkl_nodes_clear() works. */
bool zkl_nodes_init(struct zkl_nodes *nodes);
void zkl_nodes_clear(struct zkl_nodes *nodes);

/* Removes all but the root, which is as new. */
void zkl_nodes_empty(struct zkl_nodes *nodes);

struct zkl_node *zkl_nodes_find(const struct zkl_nodes *nodes, const char *path);

/* The parent of the node with this path, which need not exist. NULL: none. */
struct zkl_node *zkl_nodes_parent(const struct zkl_nodes *nodes, const char *path);

/* A detached node, with `number`, unless NULL, at the end of its path. NULL: no memory. */
struct zkl_node *zkl_node_new(const char *path, const int32_t *number);
void zkl_node_free(struct zkl_node *node);

void zkl_node_attach(struct zkl_nodes *nodes, struct zkl_node *node, struct zkl_node *parent);
void zkl_node_detach(struct zkl_nodes *nodes, struct zkl_node *node);
void zkl_node_reattach(struct zkl_nodes *nodes, struct zkl_node *node);

/* Copies the data, or NULL. False: no memory. */
bool zkl_data_copy(char **copy, const char *data, size_t size);

#endif
