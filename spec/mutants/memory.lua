--- memory.lua - defects of src/memory, the server inside the process. Rows are as mutant.lua says.

local TREE = { program = "build/tests-asan/memory/tree_test" }

local function by(spec, ...)
    return { spec = "spec/" .. spec .. "_spec.lua", tests = { ... }, in_memory = true }
end

local rows = {

    -- --- sessions of the tree ---------------------------------------------------------------

    { "memory-ephemerals-stay", "the ephemerals of a session that expires stay",
      at = "end_session", find = "while (!zkl_list_is_empty(&session->ephemerals))",
      replace = "while (!expired && !zkl_list_is_empty(&session->ephemerals))" },
    { "memory-immortal", "a silent session does not expire",
      at = "expire_silent_sessions", find = "session->expiry <= tree->now", replace = "false" },
    { "memory-unheard", "a request does not count as a sign of life",
      at = "zkl_tree_ask", find = "if (session) note_sign_of_life(tree, session);" },

    -- --- watches ------------------------------------------------------------------------------

    { "memory-watch-twice", "a watch that is asked for again is told twice",
      at = "zkl_data_watches_add",
      find = "if (find(watches, session, of_children ? children_of(path) : data_of(path)))" ..
        " return true;" },
    { "memory-watch-silent", "a write to a node fires no watch",
      at = "settle",
      find = "zkl_data_watches_fire(&tree->watches, step->node->path, ZKL_NODE_CHANGED);" },
    { "memory-children-silent", "a watch of a node's children fires only at the node's own end",
      at = "zkl_data_watches_fire",
      find = "if (kind != ZKL_NODE_CHANGED) fire(watches, siblings_of(path), ZKL_NODE_CHILDREN);" },
    { "memory-end-twice",
      "a session that watches a node's data and its children hears of its end twice",
      at = "zkl_data_watches_fire",
      find = "if (kind == ZKL_NODE_DELETED) drop_doubled(watches, path);" },

    -- --- writes -------------------------------------------------------------------------------

    { "memory-number-again", "the number of a deleted node is given again",
      at = "settle_delete", find = "update_emptied(tree, node->parent);",
      replace = "update_emptied(tree, node->parent);" ..
                  "node->parent->counter = --node->parent->cversion;" },
    { "memory-half-a-transaction", "the first operation is not undone when another one fails",
      at = "undo_steps", find = "while (transaction->count > 0)",
      replace = "while (transaction->count > 1)" },
    { "memory-wrong-index", "the error is reported for the first operation, whichever failed",
      at = "report_failure", find = "results[failed].error = error;",
      replace = "results[0].error = error;" },
    { "memory-any-version", "the version of a write is not checked",
      at = "has_version", find = "version == -1 || version == node->stat.version",
      replace = "version >= -1" },

    -- --- containers ---------------------------------------------------------------------------

    { "memory-container-full",
      "a container that was empty for a while is removed with its new child",
      at = "update_emptied",
      find = "if (node->child_count > 0) zkl_list_remove(&node->of_emptied);" },
    { "memory-container-early", "an emptied container is removed at once",
      at = "update_emptied", find = "zkl_tree_later(tree, tree->container_check_period)",
      replace = "tree->now" },
    { "memory-container-stays", "an emptied container is never removed",
      at = "zkl_tree_tick",
      find = "if (has_emptied(tree) && tree->container_check_at <= tree->now) " ..
        "check_containers(tree);",
      replace = "(void)check_containers;" },

    -- --- servers ------------------------------------------------------------------------------

    { "memory-tree-each", "each session has a tree of its own",
      at = "zkl_server_find", find = "strcmp(server->name, name) != 0",
      replace = "(server->running || strcmp(server->name, name) != 0)",
      catch = by("memory", "sessions of one name share a server") },
    { "memory-tree-for-all", "servers of all names have one tree",
      at = "zkl_server_find", find = "strcmp(server->name, name) != 0", replace = "!server->name",
      catch = by("memory", "servers of two names share nothing") },
    { "memory-tree-stays", "a tree outlives its last session",
      at = "has_sessions", find = "zkl_tree_has_sessions(server->tree)",
      replace = "server->running",
      catch = by("memory", "goes with its last session, and comes with the first") },
    { "memory-tree-forked", "a forked child finds the trees of its parent",
      at = "reset_after_fork", find = "servers = NULL;",
      catch = by("fault/process", "a server in memory is not there in the child, which may open") },

    -- --- the link -----------------------------------------------------------------------------

    { "memory-chroot-left-out", "a session with a chroot works in the whole tree",
      at = "send", find = "zkl_chroot_prepend(link->chroot, request)",
      replace = 'zkl_chroot_prepend("", request)',
      catch = by("memory", "a session with a chroot sees a part of the tree, if the part") },
    { "memory-chroot-shown", "the path of a created node is told with the chroot in front",
      at = "ask", find = "zkl_letter_fill(letter, &answer, rpc->count, strlen(link->chroot));",
      replace = "zkl_letter_fill(letter, &answer, rpc->count, 0);",
      catch = by("memory", "a session with a chroot sees a part of the tree, if the part") },
    { "memory-disorder", "the last request arrives first",
      at = "post", find = "zkl_list_append(&link->letters, &letter->place);",
      replace = "zkl_list_append(link->letters.next, &letter->place);",
      catch = by("memory", "a shorter delay keeps answers in order") },

    -- --- faults -------------------------------------------------------------------------------

    { "memory-no-delay", "answers are not delayed",
      at = "zkl_server_post_answer", find = "zkl_now() + link->server->delay",
      replace = "zkl_now()",
      catch = by("memory", "delay is the time of each answer") },
    { "memory-delay-forgotten", "a delay that is set before the first session is forgotten",
      at = "zkl_server_end_if_unneeded", find = "server->delay > 0 && !server->running",
      replace = "false",
      catch = by("memory", "may be set before the first session") },
    { "memory-delay-stays", "answers are delayed after a reset, too",
      at = "zkl_memory_reset", find = "server->delay = 0;",
      catch = by("memory", "reset ends every session and empties the tree, also during a wait") },
    { "memory-cut-lives", "a session that is cut off does not expire",
      at = "cut",
      find = "zkl_tree_retime(link->server->tree, link->session, link->timeout, zkl_now());",
      catch = by("memory", "a session that is cut off expires after its timeout, and hears") },
    { "memory-cut-answers", "an answer that was under way is not lost with the connection",
      at = "take_news", find = "if (news == ZKL_NEWS_SUSPENDED) take_answers(link, lost);",
      catch = by("memory", "a session that is cut off misses an answer, and finds its node") },
    { "memory-heal-forgets", "a session that was healed expires all the same",
      at = "heal",
      find = "zkl_tree_retime(link->server->tree, link->session, ZKL_NEVER, zkl_now());",
      catch = by("memory", "a session that is healed in time does not expire") },
}

for _, row in ipairs(rows) do row.catch = row.catch or TREE end

return rows
