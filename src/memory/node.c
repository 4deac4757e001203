/* node.c - see node.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node.h"

#define NUMBER_SIZE 12 /* "-2147483648" and its NUL */

bool zkl_data_copy(char **copy, const char *data, size_t size) {
    *copy = NULL;
    if (!data) return true;
    *copy = malloc(size + 1);
    if (!*copy) return false;
    memcpy(*copy, data, size);
    return true;
}

/* --- one node ----------------------------------------------------------------------------- */

struct zkl_node *zkl_node_new(const char *path, const int32_t *number) {
    size_t size = strlen(path) + NUMBER_SIZE;
    struct zkl_node *node = calloc(1, sizeof *node + size);
    if (!node) return NULL;
    if (number) snprintf(node->path, size, "%s%010" PRId32, path, *number);
    else snprintf(node->path, size, "%s", path);
    node->name = strrchr(node->path, '/') + 1;
    zkl_list_init(&node->children);
    zkl_list_init(&node->sibling);
    zkl_list_init(&node->of_session);
    zkl_list_init(&node->of_emptied);
    return node;
}

void zkl_node_free(struct zkl_node *node) {
    if (!node) return;
    free(node->data);
    free(node);
}

/* --- all nodes ---------------------------------------------------------------------------- */

static struct zkl_node *find(const struct zkl_nodes *nodes, const char *path, size_t length) {
    struct zkl_entry *entry = zkl_table_first(&nodes->table, zkl_hash(path, length));
    for (; entry; entry = zkl_table_next(entry)) {
        struct zkl_node *node = ZKL_LISTED(entry, struct zkl_node, entry);
        if (strncmp(node->path, path, length) == 0 && node->path[length] == '\0') return node;
    }
    return NULL;
}

struct zkl_node *zkl_nodes_find(const struct zkl_nodes *nodes, const char *path) {
    return find(nodes, path, strlen(path));
}

struct zkl_node *zkl_nodes_parent(const struct zkl_nodes *nodes, const char *path) {
    size_t length = (size_t)(strrchr(path, '/') - path);
    return length == 0 ? nodes->root : find(nodes, path, length);
}

static void insert(struct zkl_nodes *nodes, struct zkl_node *node) {
    zkl_table_insert(&nodes->table, &node->entry, zkl_hash(node->path, strlen(node->path)));
}

void zkl_node_attach(struct zkl_nodes *nodes, struct zkl_node *node, struct zkl_node *parent) {
    node->parent = parent;
    parent->child_count++;
    zkl_list_append(&parent->children, &node->sibling);
    insert(nodes, node);
}

void zkl_node_detach(struct zkl_nodes *nodes, struct zkl_node *node) {
    node->parent->child_count--;
    zkl_list_hide(&node->sibling);
    zkl_table_remove(&nodes->table, &node->entry);
}

void zkl_node_reattach(struct zkl_nodes *nodes, struct zkl_node *node) {
    node->parent->child_count++;
    zkl_list_restore(&node->sibling);
    insert(nodes, node);
}

bool zkl_nodes_init(struct zkl_nodes *nodes) {
    *nodes = (struct zkl_nodes){0};
    if (!zkl_table_init(&nodes->table)) return false;
    nodes->root = zkl_node_new("/", NULL);
    if (!nodes->root || !zkl_data_copy(&nodes->root->data, "", 0)) return false;
    insert(nodes, nodes->root);
    return true;
}

void zkl_nodes_empty(struct zkl_nodes *nodes) {
    struct zkl_node *root = nodes->root, *node = root;
    for (;;) {
        if (!zkl_list_is_empty(&node->children)) {
            node = ZKL_LISTED(node->children.next, struct zkl_node, sibling);
            continue;
        }
        if (node == root) break;
        struct zkl_node *parent = node->parent;
        zkl_node_detach(nodes, node);
        zkl_node_free(node);
        node = parent;
    }
    root->size = 0;
    root->stat = (struct zkl_stat){0};
    root->cversion = root->counter = 0;
}

void zkl_nodes_clear(struct zkl_nodes *nodes) {
    if (nodes->root) zkl_nodes_empty(nodes);
    zkl_node_free(nodes->root);
    zkl_table_destroy(&nodes->table);
}
