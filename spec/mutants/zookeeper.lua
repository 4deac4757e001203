--- zookeeper.lua - defects of src/zookeeper. mutant.lua says what a row is, catch.lua how one
-- is caught.

local function by(spec, ...)
    return { spec = "spec/" .. spec .. "_spec.lua", tests = { ... } }
end

return {

    -- --- one list for all that need one -----------------------------------------------------

    {
        name = "list-each",
        what = "each claim lists for itself, though a list of the path is out",
        at = "list",
        find = "if (stake->claim.state == ZKL_LIST && stake->path->lists > 0) return;",
        replace = "",
        catch = by("requests",
                   "of three readers of a session behind a writer are one list, for all of them"),
    },
    {
        name = "list-one",
        what = "a list is for the claim that asked alone",
        at = "answer_list",
        find = "|| claim->state == ZKL_LIST",
        replace = "",
        catch = by("requests",
                   "of three readers of a session behind a writer are one list, for all of them"),
    },

    -- --- one node of a fixed name --------------------------------------------------------

    {
        name = "unfair-no-stray",
        what = "nobody looks whose the node is that a waiter found",
        at = "answer_own",
        find = "stat && fixed",
        replace = "false",
        catch = by("unfair", "to a create that landed late: who comes next removes that node"),
    },
    {
        name = "unfair-no-late-look",
        what = "the late look lists only, which does not tell whose a node of a fixed name is",
        at = "zkl_stake_new",
        find = "path->fixed = path->fixed || zkl_kind_is_fixed(options->kind);",
        replace = "",
        catch = by("unfair", "to a create is looked after once more, a session timeout later"),
    },
    {
        name = "unfair-check-name",
        what = "a check is content with any node of the name",
        at = "check_got",
        find = "if (another) zkl_stake_perform(stake, zkl_claim_own_deleted(&stake->claim));",
        replace = "",
        catch = by("unfair", "whose node somebody deleted is lost, also if it is made again"),
    },
    {
        name = "unfair-mixed",
        what = "a path is used with an order and without one, by one session",
        at = "is_mixed",
        find = "!claim->wanted ||",
        replace = "options->kind == ZKL_UNFAIR || !claim->wanted ||",
        catch = by("unfair", "is in use as one kind of lock at a time in a session"),
    },
    {
        name = "unfair-no-jitter",
        what = "nobody pauses",
        at = "pause_claim",
        find = "stake->jitter == 0",
        replace = "stake->jitter >= 0",
        catch = by("unfair", "pause before they come, for any part of the jitter"),
    },
    {
        name = "unfair-never-wakes",
        what = "a pause does not end",
        at = "wake",
        find = "now >= ((struct stake *)claim)->wake_at",
        replace = "now < 0",
        catch = by("unfair", "exclude each other also with pauses"),
    },

    -- --- what a server says -------------------------------------------------------------

    {
        name = "reply-believed",
        what = "whatever a server says is taken for what it seems to be",
        at = "complete",
        find = "zkl_reply_sift(call, &answer);",
        replace = "",
        catch = by("fault/malformed", "a list of -1 names"),
    },
    {
        name = "reply-half-done",
        what = "a transaction is done if its code says so, whatever its results say",
        at = "is_transaction",
        find = "if (results[i].error != ZKL_ERROR_NONE) return false;",
        replace = "",
        also = { {
            find = "sequential && !is_created(rpc->ops[i].path, results[i].created, true)",
            replace = "sequential && !results[i].created",
        } },
        catch = by("fault/malformed", "a transaction without results"),
    },

    -- --- seen elsewhere ---------------------------------------------------------------

    {
        name = "BUG-01-herd",
        what = "a deletion wakes every waiter on the path, each as if it were its predecessor's",
        at = "zkl_stake_event",
        find = "waits_for(claim, name)",
        replace = "claim->ahead",
        catch = by("lock", "is had by one at a time, of many waiters of one session"),
    },
    {
        name = "CURATOR-206-expiry",
        what = "nobody is told that the session expired: leases and waits go on",
        at = "forget_all",
        find = "zkl_stakes_feed(session, expire);",
        replace = "",
        catch = by("fault/replies", "loses its leases, ends its waits with expired, and lives on"),
    },
    {
        name = "Menagerie-timeout",
        what = "a wait takes up to twice the time it was given",
        at = "zkl_request_new",
        find = "zkl_session_after(session, timeout)",
        replace = "zkl_session_after(session, timeout > ZKL_NEVER / 2 ? timeout : 2 * timeout)",
        catch = by("lock", "ends at its deadline, and leaves nothing"),
    },
    {
        name = "exists-watch",
        what = "exists instead of get: a node that is gone is watched for ever (Curator, PIT-08)",
        at = "zkl_call_watch",
        find = "ZKL_RPC_GET",
        replace = "ZKL_RPC_EXISTS",
        catch = by("requests", "of queueing are two gets more"),
    },

    -- --- proof of life ----------------------------------------------------------------

    {
        name = "read-as-proof",
        what = "whatever is answered proves the session: a follower that is cut off answers reads",
        at = "is_proof",
        find = "return by_leader && call->kind != CALL_PARENT;",
        replace = "return true || by_leader;",
        catch = by("lease", "counts down while others are looked at"),
    },
    {
        name = "ping-as-proof",
        what = "while the connection lives the lease does: pings are enough",
        at = "zkl_session_tick",
        find = "zkl_clock_attend(&session->common.clock, session->now);",
        replace = [[
    zkl_clock_attend(&session->common.clock, session->now);
    if (session->state == ZKL_SESSION_CONNECTED)
        zkl_clock_prove(&session->common.clock, session->now, session->now);]],
        catch = by("fault/traps", "does not keep a lease alive: it is suspect, then lost"),
    },
    {
        name = "proof-at-answer",
        what = "a proof counts from its answer: who was stopped meanwhile believes too long",
        at = "complete",
        find = "call->issued",
        replace = "answer.now",
        catch = by("lease", "counts from when a check was asked for"),
    },
    {
        name = "proof-after-answer",
        what = "an answer is acted on before it counts as proof",
        at = "complete",
        find = [[
    if (answer.rc == ZKL_ERROR_NONE && is_proof(call))
        zkl_clock_prove(&session->common.clock, call->issued, answer.now);]],
        replace = "",
        also = { {
            find = "deliver(call, &answer);",
            replace = [[
    deliver(call, &answer);
    if (answer.rc == ZKL_ERROR_NONE && is_proof(call))
        zkl_clock_prove(&session->common.clock, call->issued, answer.now);]],
        } },
        catch = by("lock", "is granted after one sync when the clock is not certain"),
    },
    {
        name = "wall-clock",
        what = "leases and deadlines are counted by the wall clock, which jumps",
        at = "zkl_now",
        find = "clock_gettime(CLOCK_BOOTTIME, &time);",
        replace = "clock_gettime(CLOCK_REALTIME, &time);",
        catch = by("lease", "is not counted by the wall clock"),
    },
    {
        name = "no-heartbeat",
        what = "no heartbeat: a lease is certain only until its first proof is old",
        at = "beat",
        find = 'if (call) zkl_call_sync(call, "/");',
        replace = "",
        catch = by("lease", "is renewed while the script is busy, without dispatch"),
    },
    {
        name = "suspended-unnoticed",
        what = "a lease stays certain while the connection is gone",
        at = "zkl_session_suspended",
        find = "session->common.clock.connected = false;",
        replace = "",
        catch = by("lease", "is suspect while the connection is gone"),
    },
    {
        name = "reconnect-as-new",
        what = "a reconnect counts as a new session: every lease is lost by it",
        at = "zkl_session_connected",
        find = "session->common.session == id",
        replace = "false",
        catch = by("fault/replies", "to a heartbeat makes the lease suspect, then held again"),
    },
    {
        name = "rare-heartbeats",
        what = "heartbeats come too rarely to keep a lease certain between them",
        at = "beat_due",
        find = "timeout / 6",
        replace = "timeout / 3",
        catch = by("lease", "is not suspect between two heartbeats"),
    },
    {
        name = "expired-watches",
        what = "the watches of an expired session count on in the next",
        at = "forget_all",
        find = "zkl_watches_clear(&session->watches);",
        replace = "",
        catch = by("watches", "goes with its session, reopened"),
    },

    -- --- requests and replies ---------------------------------------------------------

    {
        name = "wrong-order",
        what = "the actions of a flight go out in the wrong order: the list before its create",
        at = "in_order",
        find = "ZKL_DO_CREATE, ZKL_DO_SYNC, ZKL_DO_LIST,",
        replace = "ZKL_DO_SYNC, ZKL_DO_LIST, ZKL_DO_CREATE,",
        catch = by("lock", "is held by one at a time"),
    },
    {
        name = "loss-as-refusal",
        what = "a lost connection counts as a refusal: the create is not looked for",
        at = "reply_of",
        find = "case ZKL_ERROR_CONNECTION_LOSS:",
        replace = "",
        catch = by("fault/replies", "to a create that was carried out"),
    },
    {
        name = "loss-as-absence",
        what = "a lost reply to a delete counts as its success: the node stays",
        at = "feed",
        find = "zkl_claim_removed(claim, answer->reply)",
        replace = "zkl_claim_removed(claim, ZKL_DONE)",
        catch = by("fault/replies", "to a delete: the node is gone all the same"),
    },
    {
        name = "line-not-replaced",
        what = "a list is looked at, but the line stays what it was",
        at = "answer_list",
        find = "!zkl_line_replace(&path->line, answer->names, (size_t)answer->count))",
        replace = "path->line.serial > 2)",
        catch = by("lock", "is held by one at a time"),
    },
    {
        name = "no-sweep",
        what = "no orphan is looked for in a list",
        at = "answer_list",
        find = "if (reply == ZKL_DONE) zkl_stake_look_for_orphans(path, call->session);",
        replace = "",
        catch = by("fault/replies", "that left a node of this session that nobody knows"),
    },
    {
        name = "no-late-look-made",
        what = "the late look after a doubtful create is never made",
        at = "look",
        find = "look_at(session, path);",
        replace = "path->look_at = 0;",
        catch = by("fault/replies", "to a create is looked after once more"),
    },
    {
        name = "watch-not-set-again",
        what = "an event of the predecessor that is no deletion is dropped: its watch is used up",
        at = "ahead_event",
        find = "return zkl_claim_ahead_changed(&stake->claim, ahead);",
        replace = "return 0;",
        catch = by("fault/replies", "that changes the holder's node, again and again"),
    },
    {
        name = "double-completion",
        what = "a request may be done twice: what came later counts",
        at = "zkl_request_finish",
        find = "if (request->done) return;",
        replace = "",
        also = { {
            at = "zkl_query_answer",
            find = "if (request->done) return;",
            replace = "",
        } },
        catch = by("queue", "ends at its deadline when the server is silent"),
    },
    {
        name = "watch-left",
        what = "a wait that times out leaves the watch on its predecessor",
        at = "zkl_watches_leave",
        find = "drop_others(stake, failed);",
        replace = "drop_others(stake, false);",
        catch = by("watches", "is taken back with one request"),
    },
    {
        name = "wanted-watch-removed",
        what = "a wait that times out removes a watch that another claim of the session needs",
        at = "unwant",
        find = "is_unwanted(watch)",
        replace = "watch->set",
        catch = by("watches", "stays while another claim of the session waits"),
    },
    {
        name = "lost-removal",
        what = "a removal whose answer is lost is taken for done",
        at = "zkl_watches_removed",
        find = "answer->rc == ZKL_ERROR_NONE || answer->rc == ZKL_ERROR_NO_WATCHER",
        replace = "answer->reply != ZKL_REFUSED",
        catch = by("watches", "goes when the connection is lost with its removal"),
    },
    {
        name = "fired-watches-counted",
        what = "a watch that fired is counted as one that is set",
        at = "zkl_session_event",
        find = "zkl_watches_fired(&session->watches, node);",
        replace = "",
        catch = by("watches", "costs no request when what it waits for comes"),
    },
    {
        name = "kept-watch-uncounted",
        what = "a watcher's watch does not count while it is not set: there may be no room later",
        at = "is_counted",
        find = "watch->keepers ||",
        replace = "",
        catch = by("fault/watch", "that is begun without a connection"),
    },
    {
        name = "own-watch-ignored",
        what = "the event of the own node is dropped",
        at = "zkl_stake_event",
        find = [[
        if (strcmp(claim->name, name) == 0) zkl_stake_perform(stake, own_event(stake, event));
        else]],
        replace = "",
        catch = by("fault/replies", "that deletes the holder's node after heartbeats"),
    },
    {
        name = "one-parent",
        what = "of missing parents only the last is made",
        at = "create_parents",
        find = [[
        create_parent(stake, node);
        *slash = '/';]],
        replace = "*slash = '/';",
        catch = by("lock", "makes missing parents"),
    },
    {
        name = "open-acl",
        what = "acl = creator makes nodes that anybody may change",
        at = "acl_of",
        find = "return &ZOO_CREATOR_ALL_ACL;",
        replace = "break;",
        catch = by("connect", "that a lock refuses give"),
    },

    -- --- deadlines, handles, close ----------------------------------------------------

    {
        name = "deadline-while-suspended",
        what = "no deadline is kept while the session is suspended",
        at = "zkl_session_tick",
        find = [[
    zkl_request_overdue(session);
    zkl_stakes_feed(session, zkl_claim_tick);]],
        replace = [[
    if (session->state == ZKL_SESSION_CONNECTED) zkl_request_overdue(session);
    if (session->state == ZKL_SESSION_CONNECTED) zkl_stakes_feed(session, zkl_claim_tick);]],
        also = { {
            at = "zkl_request_due",
            find = "if (each->deadline < due) due = each->deadline;",
            replace = "if (connected && each->deadline < due) due = each->deadline;",
        } },
        catch = by("lock", "ends at its deadline by itself while the session is suspended"),
    },
    {
        name = "hasty-close",
        what = "close does not wait for a lost connection: nodes stay for a session timeout",
        at = "zkl_client_may_close",
        find = "!zkl_session_has_claims(client->session)",
        replace = "true",
        catch = by("session", "while the connection is lost waits for it"),
    },
    {
        name = "no-probe",
        what = "a session that a server refuses for ever, without its data, is waited for",
        at = "wanted_at",
        find = "return link->unconnected_since + zkl_session_timeout(link->session);",
        replace = "return ZKL_NEVER;",
        catch = by("fault/fake", "refuses a session is tried with another"),
    },
    {
        name = "hasty-probe",
        what = "a session is given up as soon as another one connects",
        at = "zkl_probe_ask_due",
        find = "+ zkl_session_timeout(link->session)",
        replace = "",
        catch = by("fault/fake", "takes a session again that it refused keeps it"),
    },
    {
        name = "no-pause",
        what = "a server that ends each session at once is asked for the next at once",
        at = "open_new",
        find = "link->open_at = zkl_now() + RETRY;",
        replace = "",
        catch = by("fault/fake", "is asked for a new one at times only"),
    },
    {
        name = "no-room",
        what = "a handle is opened without room for its threads: libzookeeper aborts",
        at = "open_handle",
        find = "zkl_thread_room()",
        replace = "0",
        catch = by("fault/threads", "but 2, connect says connection and why"),
    },
    {
        name = "late-news",
        what = "of many changes of state the oldest are told, not the latest",
        at = "zkl_events_post_state",
        find = [[
        session->change_first = (session->change_first + 1) % STATE_NEWS;
        session->change_count--;]],
        replace = "",
        catch = by("session", "tells of many changes that nobody took the latest"),
    },

    -- --- readers and writers ----------------------------------------------------------

    {
        name = "exists-is-refused",
        what = "a downgrade that was carried out before is taken for one that is refused",
        at = "answer_share",
        find = "answer->rc == ZKL_ERROR_NODE_EXISTS ? ZKL_DONE :",
        replace = "",
        catch = by("rwlock", "whose request or reply is lost is made, once"),
    },

    -- --- guard and revoke -------------------------------------------------------------

    {
        name = "revoke-overwritten",
        what = "a wish that comes while a writer becomes a reader goes with its node",
        at = "zkl_stake_downgrade",
        find = "stake->version",
        replace = "-1",
        catch = by("revoke", "hears it: its node is replaced only as it knows it"),
    },
    {
        name = "unfair-revoked-early",
        what = "a wish that is seen with the node whose create was lost is not heard",
        at = "answer_own",
        find = "if (fixed) zkl_stake_take_data(stake, answer);",
        replace = "",
        catch = by("unfair", "a revocation ahead of the look is heard"),
    },
    {
        name = "guard-by-old-name",
        what = "a lease that became a reader's is taken for lost when its old node is gone",
        at = "zkl_stake_absent",
        find = [[
    if (claim->state == ZKL_DOWNGRADE || strcmp(last_segment(node), claim->name) != 0)
        return false;]],
        replace = "(void)node;",
        catch = by("guard", "follows a writer that becomes a reader"),
    },
    {
        name = "guard-after-the-end",
        what = "a guard that waits for a connection outlives its lease",
        at = "zkl_stake_tell_loss",
        find = "end_questions(stake);",
        replace = "",
        catch = by("guard", "gives lost when the session expires before it is sent"),
    },

    -- --- the multi-lock ---------------------------------------------------------------

    {
        name = "multi-half-lost",
        what = "a multi-lock that lost a part keeps the others",
        at = "zkl_stake_tell_loss",
        find = "zkl_multi_lost(stake);",
        replace = "",
        catch = by("multi", "is lost, and gives up the others"),
    },
    {
        name = "multi-half-failed",
        what = "when a part fails the others go on waiting",
        at = "zkl_stake_failed",
        find = "zkl_multi_failed(stake);",
        replace = "",
        catch = by("multi", "while it waits contends anew for all"),
    },
    {
        name = "multi-part-waits",
        what = "a part that was entered again waits in a condition; it returns with all parts",
        at = "waits",
        find = "|| stake->part",
        replace = "",
        catch = by("multi", "has no part that waits in a condition"),
    },

    -- --- hosts and the process --------------------------------------------------------

    {
        name = "even-hosts",
        what = "an even number of addresses: half of them are never tried (ZOOKEEPER-2466)",
        at = "zkl_hosts_format",
        find = "count | 1",
        replace = "count",
        catch = by("fault/traps", "does not keep a session from the live one of"),
    },
    {
        name = "fork-unnoticed",
        what = "a forked child takes the parent's session for its own",
        at = "zkl_process_is",
        find = "other == process",
        replace = "other != 0",
        catch = by("fault/process", "every call says forked"),
    },
    {
        name = "signals-unmasked",
        what = "the library's threads take the host's signals",
        at = "create",
        find = "sigfillset",
        replace = "sigemptyset",
        catch = by("fault/process", "are blocked in every thread of the library"),
    },
    {
        name = "no-exit-handler",
        what = "the end of the process does not close sessions: their locks outlive it",
        at = "prepare",
        find = "|| atexit(close_all) != 0",
        replace = "",
        catch = by("fault/process", "releases all locks at once"),
    },
    {
        name = "leaked-descriptors",
        what = "child programs inherit the connection (ZOOKEEPER-2338)",
        at = "close_on_exec",
        find = "fcntl(fd, F_SETFD, FD_CLOEXEC);",
        replace = "(void)fd;",
        catch = by("fault/process", "do not leak into programs that are started"),
    },
    {
        name = "unheard-credentials",
        what = "when the answer to the credentials is lost, connect() waits for it in vain",
        at = "on_credentials",
        find = "if (rc != ZOK && rc != ZAUTHFAILED) atomic_store",
        replace = "if (false) atomic_store",
        catch = by("connect", "are given again when the connection is lost meanwhile"),
    },
    {
        name = "hasty-question",
        what = "once the answer to the credentials was lost, connect() asks right behind them, " ..
               "and a refusal is not heard",
        at = "postpone_first_question",
        find = "zkl_now() + link->first_pause",
        replace = "0",
        catch = by("fault/fake", "also when its first answer was lost"),
    },
    {
        name = "late-question",
        what = "connect() does not say auth when the credentials were refused before it asked",
        at = "zkl_request_refusal",
        find = "if (session->refused) return ZKL_AUTH;",
        replace = "",
        catch = by("connect", "although the server has refused before it is asked"),
    },
    {
        name = "pipe-by-number",
        what = "a pipe is taken for an old one whose number it has",
        at = "pipe_of",
        find = "strtoul(target + 6, NULL, 10)",
        replace = "(unsigned long)fd",
        catch = by("fault/process", "do not leak while a handle is being made by a slow thread"),
    },

    -- --- permits ------------------------------------------------------------------------

    {
        name = "deaf-head",
        what = "who heads hears of the nearest holder only",
        at = "zkl_stake_event",
        find = "claim->state == ZKL_WAIT && claim->heading",
        replace = "false",
        catch = by("semaphore", "are a watch on each holder for the first"),
    },
    {
        name = "late-watch",
        what = "a mark that came before the watch is not seen",
        at = "answer_ahead",
        find = "answer->reply == ZKL_DONE && stat->version > 0",
        replace = "false",
        catch = by("semaphore", "when the mark is late, and came before its watch"),
    },
    {
        name = "mark-wipes",
        what = "a mark wipes the node's data",
        at = "zkl_stake_mark",
        find = "stake->data",
        replace = '""',
        catch = by("semaphore", "keep their node's data when they mark it"),
    },

    -- --- turns ---------------------------------------------------------------------------

    {
        name = "turns-no-batch",
        what = "each claim has a node of its own, whatever the order",
        at = "zkl_stake_new",
        find = "zkl_claim_batch(&stake->claim, options->batch);",
        replace = "",
        catch = by("turns", "has one node a process"),
    },
    {
        name = "turns-token",
        what = "the token is the node's, for all who have it one after the other",
        at = "zkl_multi_grant",
        find = "zkl_claim_token(&part->claim)",
        replace = "part->claim.czxid",
        catch = by("turns", "has tokens of 1024 a node"),
    },
    {
        name = "turns-close",
        what = "at close the lock is handed on to those who are about to be told",
        at = "end_new",
        find = "claim->state == ZKL_NEW",
        replace = "claim->state == ZKL_GONE",
        catch = by("turns", "closed for all, and nobody is granted after"),
    },
    {
        name = "turns-revoked-late",
        what = "what a holder asked of its node is not told to whoever has the node after it",
        at = "answer_heir",
        find = "if (heir) zkl_stake_perform(heir, answer_own(heir, answer));",
        replace = "if (heir && !answer) zkl_stake_perform(heir, 0);",
        catch = by("turns", "when it is revoked while it goes from hand to hand"),
    },
    {
        name = "turns-revoked-before",
        what = "a turn that was revoked before it began is handed on",
        at = "zkl_stake_granted",
        find = "end_turn(stake);",
        replace = "",
        catch = by("turns", "when it was revoked before it began"),
    },
    {
        name = "turns-mixed",
        what = "a session uses one path with turns and without",
        at = "is_same_use",
        find = "&& !claim->batch == !options->batch",
        replace = "",
        catch = by("turns", "where the session uses the path in another order"),
    },
    {
        name = "turns-conflict-text",
        what = "who is refused for a path's turns is told of another order",
        at = "is_mixed",
        find = "claim->batch ? claim->batch : claim->limit",
        replace = "claim->limit",
        catch = by("turns", "where the session uses the path in another order"),
    },
    {
        name = "turns-late",
        what = "who was handed the lock is told at the next heartbeat",
        at = "resume_followers",
        find = "zkl_claim_follows(claim)",
        replace = "claim->state == ZKL_NEW",
        catch = by("requests", "of turns are those of one acquire"),
    },
    {
        name = "turns-condition",
        what = "one of several that have a node between them waits in a condition, and it goes",
        at = "waits",
        find = "|| (lease->kind == ZKL_MUTEX && !stake->claim.batch);",
        replace = "|| lease->kind == ZKL_MUTEX;",
        catch = by("turns", "a condition, and a place in a multi-lock"),
    },
    {
        name = "turns-place",
        what = "who waits for its process' turn is told a place in the line, where it is not",
        at = "place",
        find = "claim->state != ZKL_NEW",
        replace = "claim",
        catch = by("turns", "tells who waits his place in the process"),
    },

    -- --- conditions ---------------------------------------------------------------------

    {
        name = "condition-signal-before-watch",
        what = "a signal that came before the get is not seen in it",
        at = "answer_own",
        find = "if (stat && stat->version > 0) did |= zkl_claim_signalled(&stake->claim);",
        replace = "",
        catch = by("fault/condition", "hears a signal that came before it watched its node"),
    },
    {
        name = "condition-any-version",
        what = "a waiter that gives up deletes its node whatever is in it",
        at = "remove_node",
        find = "stake->claim.waits && !stake->claim.settled ? 0 : -1",
        replace = "-1",
        catch = by("fault/condition", "passes on a signal that comes before its delete"),
    },
    {
        name = "condition-pass-any",
        what = "a signal is passed to somebody who has one",
        at = "zkl_condition_forward",
        find = ".kind = ZKL_OP_SET,",
        replace = ".kind = ZKL_OP_SET, .version = -1,",
        catch = by("condition_end", "goes by those who have one, to the first who has none"),
    },
    {
        name = "signal-not-repeated",
        what = "a signal whose answer is lost is not sent again: perhaps nobody was woken",
        at = "zkl_signal_written",
        find = "list_anew(request);",
        replace = "zkl_request_finish(request, ZKL_OK, 0);",
        catch = by("fault/condition", "is sent again when it may not have arrived"),
    },
    {
        name = "condition-old-token",
        what = "who comes back from a condition has its old token",
        at = "zkl_condition_granted",
        find = "stake->token = zkl_claim_token(&stake->claim);",
        replace = "",
        catch = by("condition", "are all given up, and all had again with the new token"),
    },
    {
        name = "condition-node-left",
        what = "the waiter's node stays when the lock is had again",
        at = "zkl_condition_granted",
        find = "if (waiter) zkl_stake_perform(waiter, zkl_claim_release(&waiter->claim));",
        replace = "(void)waiter;",
        catch = by("condition", "gives the lock up, waits for a signal, and has the lock again"),
    },
    {
        name = "condition-no-reason",
        what = "a refused wait does not tell the server's reason",
        at = "zkl_condition_tell_partner",
        find = "lock->error = waiter->error;",
        replace = "",
        catch = by("fault/condition", "that others protect refuses: auth, and the lease is held"),
    },
    {
        name = "condition-lost-as-parents",
        what = "a lock whose node is gone looks like a folder that is not there",
        at = "zkl_condition_waited",
        find = "zkl_call_refused(call, answer) == 1",
        replace = "zkl_call_refused(call, answer) == 2",
        catch = by("condition_end",
                   "is lost, and leaves nothing, when the lock's node went unseen"),
    },

    {
        name = "condition-writer-stays",
        what = "a lock whose writer was given up meanwhile comes back as a writer's",
        at = "zkl_condition_granted",
        find = "zkl_stake_writers_gone(stake);",
        replace = "",
        catch = by("condition_end", "is over for a writer that was given up meanwhile"),
    },

    -- --- the bell ------------------------------------------------------------------------

    {
        name = "bell-any-peer",
        what = "whoever is quicker gets the connection",
        at = "is_own",
        find = "peer.pid == getpid()",
        replace = "peer.pid > 0",
        catch = by("bell", "is not for another process"),
    },
    {
        name = "bell-no-rest",
        what = "each event rings, heard or not",
        at = "zkl_bell_ring",
        find = "|| client->rung",
        replace = "",
        catch = by("bell", "rings once until it was heard"),
    },
    {
        name = "bell-deaf",
        what = "after the first time it does not ring",
        at = "zkl_client_heard",
        find = "client->rung = false;",
        replace = "",
        catch = by("bell", "rings once until it was heard"),
    },
    {
        name = "bell-stays-rung",
        what = "a new connection does not ring when the old one had rung",
        at = "zkl_client_accept",
        find = "client->rung = false;",
        replace = "",
        catch = by("bell", "may lose its listener"),
    },
    {
        name = "bell-leaves-names",
        what = "the socket's name stays",
        at = "close_door",
        find = "unlink(client->door_path);",
        replace = "",
        catch = by("bell", "nothing of it stays"),
    },
    {
        name = "bell-no-second-folder",
        what = "without a usable $TMPDIR there is no socket",
        at = "zkl_client_listen",
        find = 'if (error) error = open_door(client, "/tmp");',
        replace = "",
        catch = by("bell", "lies in /tmp when"),
    },
}
