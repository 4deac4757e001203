/* tree.c - see tree.h. */
#include <stdlib.h>
#include <string.h>

#include "path.h"
#include "state.h"

/* --- the tree ------------------------------------------------------------------------------ */

struct zkl_tree *zkl_tree_new(zkl_time container_check_period) {
    struct zkl_tree *tree = calloc(1, sizeof *tree);
    if (!tree) return NULL;
    tree->container_check_period = container_check_period;
    tree->first_expiry = ZKL_NEVER;
    zkl_list_init(&tree->sessions);
    zkl_list_init(&tree->emptied);
    zkl_list_init(&tree->deleted);
    bool made = zkl_nodes_init(&tree->nodes);
    made = zkl_data_watches_init(&tree->watches) && made;
    if (zkl_table_init(&tree->sessions_by_id) && made) return tree;
    zkl_tree_free(tree);
    return NULL;
}

void zkl_tree_free(struct zkl_tree *tree) {
    if (!tree) return;
    zkl_tree_reset(tree);
    zkl_nodes_clear(&tree->nodes);
    zkl_data_watches_clear(&tree->watches);
    zkl_table_destroy(&tree->sessions_by_id);
    free(tree->names);
    free(tree->results);
    free(tree);
}

bool zkl_tree_set_counter(struct zkl_tree *tree, const char *path, int32_t number) {
    struct zkl_node *node = zkl_nodes_find(&tree->nodes, path);
    if (!node) return false;
    node->cversion = node->counter = number;
    return true;
}

/* --- sessions ------------------------------------------------------------------------------ */

static struct zkl_tree_session *find_session(const struct zkl_tree *tree, uint64_t id) {
    struct zkl_entry *entry = zkl_table_first(&tree->sessions_by_id, zkl_hash_number(id));
    for (; entry; entry = zkl_table_next(entry)) {
        struct zkl_tree_session *session = ZKL_LISTED(entry, struct zkl_tree_session, entry);
        if (session->id == id) return session;
    }
    return NULL;
}

static void note_sign_of_life(struct zkl_tree *tree, struct zkl_tree_session *session) {
    session->expiry = zkl_tree_later(tree, session->timeout);
    if (session->expiry < tree->first_expiry) tree->first_expiry = session->expiry;
}

uint64_t zkl_tree_open(struct zkl_tree *tree, zkl_time timeout, zkl_time now) {
    zkl_tree_tick(tree, now);
    struct zkl_tree_session *session = calloc(1, sizeof *session);
    if (!session) return 0;
    session->id = tree->last_session_id + 1;
    session->farewell = zkl_data_watches_new_farewell(session->id);
    if (!session->farewell) {
        free(session);
        return 0;
    }
    tree->last_session_id = session->id;
    tree->last_zxid++;
    session->timeout = timeout;
    zkl_list_init(&session->ephemerals);
    zkl_list_init(&session->watches);
    zkl_list_append(&tree->sessions, &session->link);
    zkl_table_insert(&tree->sessions_by_id, &session->entry, zkl_hash_number(session->id));
    note_sign_of_life(tree, session);
    return session->id;
}

/* Events of watches that fired before stay, ahead of the farewell. */
static void end_session(struct zkl_tree *tree, struct zkl_tree_session *session, bool expired) {
    zkl_data_watches_drop(&tree->watches, &session->watches);
    if (expired) zkl_data_watches_post_farewell(&tree->watches, session->farewell);
    else free(session->farewell);
    tree->last_zxid++;
    while (!zkl_list_is_empty(&session->ephemerals)) {
        struct zkl_list *oldest = session->ephemerals.next;
        zkl_transaction_delete(tree, ZKL_LISTED(oldest, struct zkl_node, of_session));
    }
    zkl_list_remove(&session->link);
    zkl_table_remove(&tree->sessions_by_id, &session->entry);
    free(session);
}

void zkl_tree_close(struct zkl_tree *tree, uint64_t id) {
    struct zkl_tree_session *session = find_session(tree, id);
    zkl_transaction_free_deleted(tree);
    if (session) end_session(tree, session, false);
}

void zkl_tree_expire(struct zkl_tree *tree, uint64_t id) {
    struct zkl_tree_session *session = find_session(tree, id);
    zkl_transaction_free_deleted(tree);
    if (session) end_session(tree, session, true);
}

int64_t zkl_tree_last_zxid(const struct zkl_tree *tree) {
    return tree->last_zxid;
}

bool zkl_tree_session_lives(const struct zkl_tree *tree, uint64_t session) {
    return find_session(tree, session) != NULL;
}

bool zkl_tree_retime(struct zkl_tree *tree, uint64_t id, zkl_time timeout, zkl_time now) {
    zkl_tree_tick(tree, now);
    struct zkl_tree_session *session = find_session(tree, id);
    if (!session) return false;
    session->timeout = timeout;
    note_sign_of_life(tree, session);
    return true;
}

bool zkl_tree_has_sessions(const struct zkl_tree *tree) {
    return !zkl_list_is_empty(&tree->sessions);
}

void zkl_tree_reset(struct zkl_tree *tree) {
    while (!zkl_list_is_empty(&tree->sessions))
        end_session(tree, ZKL_LISTED(tree->sessions.next, struct zkl_tree_session, link), true);
    zkl_transaction_free_deleted(tree);
    tree->first_expiry = ZKL_NEVER;
    zkl_list_init(&tree->emptied);
    if (tree->nodes.root) zkl_nodes_empty(&tree->nodes);
}

/* --- time ---------------------------------------------------------------------------------- */

static void expire_silent_sessions(struct zkl_tree *tree) {
    zkl_time first = ZKL_NEVER;
    for (struct zkl_list *link = tree->sessions.next, *next; link != &tree->sessions; link = next) {
        struct zkl_tree_session *session = ZKL_LISTED(link, struct zkl_tree_session, link);
        next = link->next;
        if (session->expiry <= tree->now) end_session(tree, session, true);
        else if (session->expiry < first) first = session->expiry;
    }
    tree->first_expiry = first;
}

/* Containers that lose their last child here wait for the next check. */
static void check_containers(struct zkl_tree *tree) {
    struct zkl_list emptied;
    zkl_list_init(&emptied);
    zkl_list_move(&emptied, &tree->emptied);
    while (!zkl_list_is_empty(&emptied)) {
        tree->last_zxid++;
        zkl_transaction_delete(tree, ZKL_LISTED(emptied.next, struct zkl_node, of_emptied));
    }
}

static bool has_emptied(const struct zkl_tree *tree) {
    return !zkl_list_is_empty(&tree->emptied);
}

void zkl_tree_tick(struct zkl_tree *tree, zkl_time now) {
    if (now > tree->now) tree->now = now;
    zkl_transaction_free_deleted(tree);
    if (tree->first_expiry <= tree->now) expire_silent_sessions(tree);
    if (has_emptied(tree) && tree->container_check_at <= tree->now) check_containers(tree);
}

zkl_time zkl_tree_due(const struct zkl_tree *tree) {
    return has_emptied(tree) && tree->container_check_at < tree->first_expiry
               ? tree->container_check_at
               : tree->first_expiry;
}

bool zkl_tree_next_event(struct zkl_tree *tree, struct zkl_tree_event *event) {
    const struct zkl_watch *watch = zkl_data_watches_next(&tree->watches);
    if (!watch) return false;
    *event = (struct zkl_tree_event){.session = watch->session,
                                     .path = watch->path[0] ? watch->path : NULL,
                                     .kind = watch->kind};
    return true;
}

/* --- writes -------------------------------------------------------------------------------- */

/* Makes room for `count` + 1. False: no memory. */
static bool reserve_results(struct zkl_tree *tree, size_t count) {
    if (count < tree->results_size) return true;
    struct zkl_result *results = realloc(tree->results, (count + 1) * sizeof *results);
    if (!results) return false;
    tree->results = results;
    tree->results_size = count + 1;
    return true;
}

static void carry_out(struct zkl_tree *tree, struct zkl_tree_session *session,
                      const struct zkl_rpc *rpc, struct zkl_answer *answer) {
    answer->error = ZKL_ERROR_SYSTEM;
    if (!reserve_results(tree, rpc->count)) return;
    answer->error = zkl_transaction_run(tree, session, rpc->ops, rpc->count, tree->results);
    answer->results = tree->results;
    if (rpc->kind == ZKL_RPC_WRITE) return;
    for (size_t i = 0; i < rpc->count; i++) { /* in a transaction only SET returns a stat */
        if (rpc->ops[i].kind == ZKL_OP_CREATE) tree->results[i].stat = (struct zkl_stat){0};
    }
}

/* --- reads --------------------------------------------------------------------------------- */

/* Makes room for `count` + 1. False: no memory. */
static bool reserve_names(struct zkl_tree *tree, size_t count) {
    if (count < tree->names_size) return true;
    const char **names = realloc(tree->names, (count + 1) * sizeof *names);
    if (!names) return false;
    tree->names = names;
    tree->names_size = count + 1;
    return true;
}

static void give_names(struct zkl_tree *tree, const struct zkl_node *node,
                       struct zkl_answer *answer) {
    answer->error = ZKL_ERROR_SYSTEM;
    if (!reserve_names(tree, node->child_count)) return;
    const struct zkl_list *link = node->children.next;
    for (size_t i = 0; i < node->child_count; i++, link = link->next)
        tree->names[i] = ZKL_LISTED(link, const struct zkl_node, sibling)->name;
    answer->error = ZKL_ERROR_NONE;
    answer->names = tree->names;
    answer->count = (int)node->child_count;
}

static void give_stat(struct zkl_tree *tree, const struct zkl_node *node,
                      struct zkl_answer *answer) {
    tree->stat = node->stat;
    answer->stat = &tree->stat;
}

static void give_data(struct zkl_tree *tree, const struct zkl_node *node,
                      struct zkl_answer *answer) {
    give_stat(tree, node, answer);
    answer->data = node->data;
    answer->size = node->data ? (int)node->size : -1;
}

/* Only EXISTS watches a missing node. */
static bool add_watch(struct zkl_tree *tree, struct zkl_tree_session *session,
                      const struct zkl_rpc *rpc, const struct zkl_node *node) {
    if (!rpc->watch || !session || (!node && rpc->kind != ZKL_RPC_EXISTS)) return true;
    return zkl_data_watches_add(&tree->watches, &session->watches, session->id, rpc->path,
                                rpc->kind == ZKL_RPC_LIST);
}

static void look_up(struct zkl_tree *tree, struct zkl_tree_session *session,
                    const struct zkl_rpc *rpc, struct zkl_answer *answer) {
    const struct zkl_node *node = zkl_nodes_find(&tree->nodes, rpc->path);
    if (!node) answer->error = ZKL_ERROR_NO_NODE;
    if (!answer->error && rpc->kind == ZKL_RPC_LIST) give_names(tree, node, answer);
    bool found = !answer->error || answer->error == ZKL_ERROR_NO_NODE;
    if (found && !add_watch(tree, session, rpc, node)) answer->error = ZKL_ERROR_SYSTEM;
    if (answer->error || rpc->kind == ZKL_RPC_LIST) return;
    if (rpc->kind == ZKL_RPC_GET) give_data(tree, node, answer);
    else give_stat(tree, node, answer);
}

static void unwatch(struct zkl_tree *tree, uint64_t session, const struct zkl_rpc *rpc,
                    struct zkl_answer *answer) {
    bool of_children = rpc->kind == ZKL_RPC_UNWATCH_CHILDREN;
    if (!zkl_data_watches_remove(&tree->watches, session, rpc->path, of_children))
        answer->error = ZKL_ERROR_NO_WATCHER;
}

/* --- requests ------------------------------------------------------------------------------ */

static bool may_ask(const struct zkl_tree_session *session, uint64_t id,
                    const struct zkl_rpc *rpc) {
    bool reads =
        rpc->kind == ZKL_RPC_LIST || rpc->kind == ZKL_RPC_GET || rpc->kind == ZKL_RPC_EXISTS;
    return session || (id == 0 && reads);
}

void zkl_tree_ask(struct zkl_tree *tree, uint64_t id, const struct zkl_rpc *rpc, zkl_time now,
                  struct zkl_answer *answer) {
    bool writes = rpc->kind == ZKL_RPC_WRITE || rpc->kind == ZKL_RPC_MULTI;
    *answer = (struct zkl_answer){.error = ZKL_ERROR_NONE};
    zkl_tree_tick(tree, now);
    struct zkl_tree_session *session = find_session(tree, id);
    if (session) note_sign_of_life(tree, session);
    if (!may_ask(session, id, rpc)) {
        answer->error = ZKL_ERROR_SESSION_EXPIRED;
        return;
    }
    if (!writes && !zkl_node_path_is_valid(rpc->path, false)) {
        answer->error = ZKL_ERROR_BAD_ARGUMENTS;
        return;
    }
    switch (rpc->kind) {
    case ZKL_RPC_WRITE:
    case ZKL_RPC_MULTI: carry_out(tree, session, rpc, answer); break;
    case ZKL_RPC_LIST:
    case ZKL_RPC_GET:
    case ZKL_RPC_EXISTS: look_up(tree, session, rpc, answer); break;
    case ZKL_RPC_UNWATCH:
    case ZKL_RPC_UNWATCH_CHILDREN: unwatch(tree, id, rpc, answer); break;
    case ZKL_RPC_SYNC: break;
    }
}

/* --- names of children ----------------------------------------------------------------------- */

static char *copy_names(const struct zkl_answer *answer) {
    size_t size = 1;
    for (int i = 0; i < answer->count; i++) size += strlen(answer->names[i]) + 1;
    char *copy = malloc(size), *end = copy;
    for (int i = 0; copy && i < answer->count; i++) {
        size_t length = strlen(answer->names[i]) + 1;
        memcpy(end, answer->names[i], length);
        end += length;
    }
    return copy;
}

int zkl_tree_children(struct zkl_tree *tree, const char *path, zkl_time now, char **names) {
    const struct zkl_rpc rpc = {.kind = ZKL_RPC_LIST, .path = path};
    struct zkl_answer answer;
    zkl_tree_ask(tree, 0, &rpc, now, &answer);
    *names = answer.error ? NULL : copy_names(&answer);
    if (answer.error) return answer.error;
    return *names ? answer.count : ZKL_ERROR_SYSTEM;
}
