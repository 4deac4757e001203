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
        file = "src/zookeeper/stake_actions.c",
        find = "    if (stake->claim.state == ZKL_LIST && stake->path->lists > 0) return;\n",
        replace = "",
        catch = by("requests",
                   "of three readers of a session behind a writer are one list, for all of them"),
    },
    {
        name = "list-one",
        what = "a list is for the claim that asked alone",
        file = "src/zookeeper/stake_news.c",
        find = "claim == &flight->stake->claim || claim->state == ZKL_LIST;",
        replace = "claim == &flight->stake->claim;",
        catch = by("requests",
                   "of three readers of a session behind a writer are one list, for all of them"),
    },

    -- --- one node of a fixed name --------------------------------------------------------

    {
        name = "unfair-no-stray",
        what = "nobody looks whose the node is that a waiter found",
        file = "src/zookeeper/stake_news.c",
        find = "if (stat && zkl_kind_is_fixed(stake->claim.kind))",
        replace = "if (false)",
        catch = by("unfair", "to a create that landed late: who comes next removes that node"),
    },
    {
        name = "unfair-no-late-look",
        what = "the late look lists only, which does not tell whose a node of a fixed name is",
        file = "src/zookeeper/stake.c",
        find = "    path->fixed = path->fixed || zkl_kind_is_fixed(wish->kind);\n",
        replace = "",
        catch = by("unfair", "to a create is looked after once more, a session timeout later"),
    },
    {
        name = "unfair-check-name",
        what = "a check is content with any node of the name",
        file = "src/zookeeper/inquiry.c",
        find = "    if (another) zkl_stake_perform(stake, zkl_claim_own_deleted(&stake->claim));\n",
        replace = "",
        catch = by("unfair", "whose node somebody deleted is lost, also if it is made again"),
    },
    {
        name = "unfair-mixed",
        what = "a path is used with an order and without one, by one session",
        file = "src/zookeeper/lease.c",
        find = "if (claim->wanted && !same) return claim;",
        replace = "if (wish->kind != ZKL_UNFAIR && claim->wanted && !same) return claim;",
        catch = by("unfair", "is in use as one kind of lock at a time in a session"),
    },
    {
        name = "unfair-no-jitter",
        what = "nobody pauses",
        file = "src/zookeeper/stake_actions.c",
        find = "if (stake->jitter == 0) return zkl_claim_wake(&stake->claim);",
        replace = "if (stake->jitter >= 0) return zkl_claim_wake(&stake->claim);",
        catch = by("unfair", "pause before they come, for any part of the jitter"),
    },
    {
        name = "unfair-never-wakes",
        what = "a pause does not end",
        file = "src/zookeeper/stake.c",
        find = "bool over = claim->pausing && now >= ((struct stake *)claim)->wake_at;",
        replace = "bool over = claim->pausing && now < 0;",
        catch = by("unfair", "exclude each other also with pauses"),
    },

    -- --- what a server says -------------------------------------------------------------

    {
        name = "reply-believed",
        what = "whatever a server says is taken for what it seems to be",
        file = "src/zookeeper/flight.c",
        find = "    zkl_reply_sift(flight, answer);\n",
        replace = "",
        catch = by("fault/malformed", "a list of -1 names"),
    },
    {
        name = "reply-half-done",
        what = "a transaction is done if its code says so, whatever its results say",
        file = "src/zookeeper/reply.c",
        find = "        if (all->results[i].err != ZOK) return false;\n",
        replace = "",
        also = { {
            find = "sequential && !is_created(all->asked[i], all->created[i], true)",
            replace = "sequential && !all->created[i]",
        } },
        catch = by("fault/malformed", "a transaction without results"),
    },

    -- --- seen elsewhere ---------------------------------------------------------------

    {
        name = "BUG-01-herd",
        what = "a deletion wakes every waiter on the path, each as if it were its predecessor's",
        file = "src/zookeeper/stake_news.c",
        find = "else if (waits_for(claim, name))",
        replace = "else if (claim->ahead)",
        catch = by("lock", "is had by one at a time, of many waiters of one session"),
    },
    {
        name = "BUG-16-other-owner",
        what = "a handle that was released gives up the other handles' hold",
        file = "src/zookeeper/lease.c",
        find = "return lease->released ? ZKL_RELEASED : zkl_stakes_ended(&lease->stakes);",
        replace = "return zkl_stakes_ended(&lease->stakes);",
        catch = by("owner", "gives up each handle once; the node goes with the last"),
    },
    {
        name = "CURATOR-206-expiry",
        what = "nobody is told that the session expired: leases and waits go on",
        file = "src/zookeeper/session.c",
        find = [[
    zkl_session_change(session, ZKL_SESSION_EXPIRED);
    zkl_stake_expire_all(session);
]],
        replace = "    zkl_session_change(session, ZKL_SESSION_EXPIRED);\n",
        catch = by("fault/replies", "loses its leases, ends its waits with expired, and lives on"),
    },
    {
        name = "Menagerie-timeout",
        what = "a wait takes up to twice the time it was given",
        file = "src/zookeeper/request.c",
        find = "request->deadline = zkl_due(timeout);",
        replace = "request->deadline = zkl_due(timeout > ZKL_NEVER / 2 ? timeout : 2 * timeout);",
        catch = by("lock", "ends at its deadline, and leaves nothing"),
    },
    {
        name = "exists-watch",
        what = "exists instead of get: a node that is gone is watched for ever (Curator, PIT-08)",
        file = "src/zookeeper/flight.c",
        find = [[
zoo_awget(handle, flight->node, on_watch,
                                                     flight->session, on_data, flight)]],
        replace = [[
zoo_awexists(handle, flight->node, on_watch,
                                                     flight->session, on_stat, flight)]],
        catch = by("requests", "of queueing are two gets more"),
    },

    -- --- proof of life ----------------------------------------------------------------

    {
        name = "read-as-proof",
        what = "whatever is answered proves the session: a follower that is cut off answers reads",
        file = "src/zookeeper/flight.c",
        find = "    case VERB_UNWATCH: break;\n    }\n    return false;",
        replace = "    case VERB_UNWATCH: break;\n    }\n    return true;",
        catch = by("lease", "counts down while others are looked at"),
    },
    {
        name = "ping-as-proof",
        what = "while the connection lives the lease does: pings are enough",
        file = "src/zookeeper/keeper.c",
        find = "static void work(struct zkl_session *session, zkl_time now) {\n",
        replace = "static void work(struct zkl_session *session, zkl_time now) {\n" ..
            "    if (session->state == ZKL_SESSION_CONNECTED)\n" ..
            "        zkl_clock_prove(&session->party.clock, now, now);\n",
        catch = by("fault/traps", "does not keep a lease alive: it is suspect, then lost"),
    },
    {
        name = "proof-at-answer",
        what = "a proof counts from its answer: who was stopped meanwhile believes too long",
        file = "src/zookeeper/flight.c",
        find = "zkl_clock_prove(&session->party.clock, flight->issued, answer->now);",
        replace = "zkl_clock_prove(&session->party.clock, answer->now, answer->now);",
        catch = by("lease", "counts from when a check was asked for"),
    },
    {
        name = "proof-after-answer",
        what = "an answer is acted on before it counts as proof",
        file = "src/zookeeper/flight.c",
        find = "    if (answer->rc == ZOK && is_proof(flight->verb))\n" ..
            "        zkl_clock_prove(&session->party.clock, flight->issued, answer->now);\n",
        replace = "",
        also = { {
            find = "    deliver(flight, answer);\n",
            replace = "    deliver(flight, answer);\n" ..
                "    if (answer->rc == ZOK && is_proof(flight->verb))\n" ..
                "        zkl_clock_prove(&session->party.clock, flight->issued, answer->now);\n",
        } },
        catch = by("lock", "is granted after one sync when the clock is not certain"),
    },
    {
        name = "wall-clock",
        what = "leases and deadlines are counted by the wall clock, which jumps",
        file = "src/zookeeper/thread.c",
        find = "clock_gettime(CLOCK_BOOTTIME, &time);",
        replace = "clock_gettime(CLOCK_REALTIME, &time);",
        catch = by("lease", "is not counted by the wall clock"),
    },
    {
        name = "no-heartbeat",
        what = "no heartbeat: a lease is certain only until its first proof is old",
        file = "src/zookeeper/keeper.c",
        find = [[
    if (flight) zkl_flight_sync(flight, "/");
    zkl_stake_beat_all(session, now);]],
        replace = "    zkl_stake_beat_all(session, now);",
        catch = by("lease", "is renewed while the script is busy, without dispatch"),
    },
    {
        name = "suspended-unnoticed",
        what = "a lease stays certain while the connection is gone",
        file = "src/zookeeper/session.c",
        find = "    session->party.clock.connected = false;\n    session->unconnected_since",
        replace = "    session->unconnected_since",
        catch = by("lease", "is suspect while the connection is gone"),
    },
    {
        name = "reconnect-as-new",
        what = "a reconnect counts as a new session: every lease is lost by it",
        file = "src/zookeeper/session.c",
        find = "    if (session->party.session == id) {",
        replace = "    if (false) {",
        catch = by("fault/replies", "to a heartbeat makes the lease suspect, then held again"),
    },
    {
        name = "rare-heartbeats",
        what = "heartbeats come too rarely to keep a lease certain between them",
        file = "src/zookeeper/keeper.c",
        find = "return since + session->party.clock.timeout / 6;",
        replace = "return since + session->party.clock.timeout / 3;",
        catch = by("lease", "is not suspect between two heartbeats"),
    },
    {
        name = "clock-not-asked",
        what = "a handle tells what it was told last, not what the clock says",
        file = "src/zookeeper/stake.c",
        find = "    if (zkl_stake_lost(stake, zkl_now())) return ZKL_LOST;",
        replace = "    if (stake->claim.state == ZKL_GONE) return ZKL_LOST;",
        catch = by("lease", "that the clock ended stays lost"),
    },
    {
        name = "expired-inquiries",
        what = "an inquiry that was under way when the session expired is not answered",
        file = "src/zookeeper/session.c",
        find = [[
    zkl_request_fail_all(session, ZKL_EXPIRED);
]],
        replace = "",
        catch = by("fault/replies", "ends what is asked, and watches nothing"),
    },
    {
        name = "expired-watches",
        what = "the watches of an expired session count on in the next",
        file = "src/zookeeper/session.c",
        find = [[
    zkl_watches_clear(&session->watches);
    zkl_request_fail_all(session, ZKL_EXPIRED);
]],
        replace = "    zkl_request_fail_all(session, ZKL_EXPIRED);\n",
        catch = by("watches", "goes with its session, reopened"),
    },

    -- --- requests and replies ---------------------------------------------------------

    {
        name = "wrong-order",
        what = "the actions of a flight go out in the wrong order: the list before its create",
        file = "src/zookeeper/stake_actions.c",
        find = "zkl_actions lowest = actions & -actions;",
        replace = "zkl_actions lowest = 1;\n        while (actions >> 1 >= lowest) lowest <<= 1;",
        catch = by("lock", "is held by one at a time"),
    },
    {
        name = "loss-as-refusal",
        what = "a lost connection counts as a refusal: the create is not looked for",
        file = "src/zookeeper/flight.c",
        find = "    case ZCONNECTIONLOSS:\n    case ZOPERATIONTIMEOUT:",
        replace = "    case ZOPERATIONTIMEOUT:",
        catch = by("fault/replies", "to a create that was carried out"),
    },
    {
        name = "loss-as-absence",
        what = "a lost reply to a delete counts as its success: the node stays",
        file = "src/zookeeper/stake_news.c",
        find = "case VERB_REMOVE: return zkl_claim_removed(claim, answer->reply);",
        replace = "case VERB_REMOVE: return zkl_claim_removed(claim, ZKL_DONE);",
        catch = by("fault/replies", "to a delete: the node is gone all the same"),
    },
    {
        name = "line-not-replaced",
        what = "a list is looked at, but the line stays what it was",
        file = "src/zookeeper/stake_news.c",
        find = [[
        !zkl_line_replace(&path->line, (const char *const *)answer->names->data,
                          (size_t)answer->names->count))]],
        replace = "        path->line.serial > 2)",
        catch = by("lock", "is held by one at a time"),
    },
    {
        name = "no-sweep",
        what = "no orphan is looked for in a list",
        file = "src/zookeeper/stake_news.c",
        find = "    if (reply == ZKL_DONE) zkl_stake_look_for_orphans(path, flight->session);\n",
        replace = "",
        catch = by("fault/replies", "that left a node of this session that nobody knows"),
    },
    {
        name = "no-late-look-made",
        what = "the late look after a doubtful create is never made",
        file = "src/zookeeper/keeper.c",
        find = "if (path->look_at && now >= path->look_at) look_at(session, path, now);",
        replace = "if (path->look_at && now >= path->look_at) path->look_at = 0;",
        catch = by("fault/replies", "to a create is looked after once more"),
    },
    {
        name = "watch-not-set-again",
        what = "an event of the predecessor that is no deletion is dropped: its watch is used up",
        file = "src/zookeeper/stake_news.c",
        find = "    return zkl_claim_ahead_changed(&stake->claim, ahead);",
        replace = "    return 0;",
        catch = by("fault/replies", "that changes the holder's node, again and again"),
    },
    {
        name = "double-completion",
        what = "a request may be done twice: what came later counts",
        file = "src/zookeeper/request.c",
        find = "    if (request->done) return;\n    request->done = true;",
        replace = "    request->done = true;",
        also = { {
            file = "src/zookeeper/inquiry.c",
            find = [[
    struct zkl_request *request = flight->request;
    if (request->done) return;
]],
            replace = "    struct zkl_request *request = flight->request;\n",
        } },
        catch = by("queue", "ends at its deadline when the server is silent"),
    },
    {
        name = "watches-unlimited",
        what = "any number of paths is watched: the session cannot reconnect (ZOOKEEPER-706)",
        file = "src/zookeeper/watches.c",
        find = "return watches->bytes + cost(watches, path) <= ZKL_WATCHES_MAX;",
        replace = "return true;",
        catch = by("fault/traps", "is refused more watches than it could set again"),
    },
    {
        name = "own-watch-limited",
        what = "a holder's node is not watched when the session may watch no more of others",
        file = "src/zookeeper/stake_actions.c",
        find = [[
    struct flight *flight = flight_for(stake, VERB_GET_OWN, NULL);
    if (!flight) return;
    if (claim->state]],
        replace = [[
    struct flight *flight = NULL;
    if (may_watch(stake, claim->name)) flight = flight_for(stake, VERB_GET_OWN, NULL);
    if (!flight) return;
    if (claim->state]],
        catch = by("watches", "hears that its node was deleted"),
    },
    {
        name = "watch-left",
        what = "a wait that times out leaves the watch on its predecessor",
        file = "src/zookeeper/watches.c",
        find = "    drop_others(stake, failed);",
        replace = "    drop_others(stake, false);",
        catch = by("watches", "is taken back with one request"),
    },
    {
        name = "wanted-watch-removed",
        what = "a wait that times out removes a watch that another claim of the session needs",
        file = "src/zookeeper/watches.c",
        find = "if (at_once && is_unwanted(watch)) remove_watch(session, watch);",
        replace = "if (at_once && watch->set) remove_watch(session, watch);",
        catch = by("watches", "stays while another claim of the session waits"),
    },
    {
        name = "lost-removal",
        what = "a removal whose answer is lost is taken for done",
        file = "src/zookeeper/watches.c",
        find = "if (answer->rc == ZOK || answer->rc == ZNOWATCHER) watch->set = false;",
        replace = "if (answer->reply != ZKL_REFUSED) watch->set = false;",
        catch = by("watches", "goes when the connection is lost with its removal"),
    },
    {
        name = "chroot-not-counted",
        what = "the chroot is not counted in the size of what is watched",
        file = "src/zookeeper/watches.c",
        find = "return strlen(path) + watches->overhead;",
        replace = "return strlen(path);",
        catch = by("regress", "counts the chroot in what it watches, too"),
    },
    {
        name = "fired-watches-counted",
        what = "a watch that fired is counted as one that is set",
        file = "src/zookeeper/flight.c",
        find = [[
    zkl_watches_fired(&session->watches, node);
]],
        replace = "",
        catch = by("watches", "costs no request when what it waits for comes"),
    },
    {
        name = "watch-after-close",
        what = "what a watch has to tell is told after the session was closed",
        file = "src/zookeeper/session.c",
        find = "        zkl_watcher_end_all(session);\n",
        replace = "",
        catch = by("watch", "tells nothing that was to be told when the session was closed"),
    },
    {
        name = "watch-by-version",
        what = "a node that was deleted and made again is taken for the old one",
        file = "src/zookeeper/watcher.c",
        find = "if (a->czxid != b->czxid || a->mzxid != b->mzxid || a->version",
        replace = "if (a->version",
        catch = by("watch", "tells that a node was made again"),
    },
    {
        name = "kept-watch-uncounted",
        what = "a watcher's watch does not count while it is not set: there may be no room later",
        file = "src/zookeeper/watches.c",
        find = "return watch->asked || watch->keepers || (watch->set",
        replace = "return watch->asked || (watch->set",
        catch = by("fault/watch", "that is begun without a connection"),
    },
    {
        name = "watch-never-checked",
        what = "a watch that the server used up without a word is never set again",
        file = "src/zookeeper/watcher.c",
        find = "else if (watcher->checking && !shows(answer, last)) look_again(watcher, 0);",
        replace = "else (void)last;",
        catch = by("watch", "is found when it was made so"),
    },
    {
        name = "own-watch-ignored",
        what = "the event of the own node is dropped",
        file = "src/zookeeper/stake_news.c",
        find = [[
if (strcmp(claim->name, name) == 0) zkl_stake_perform(stake, own_event(stake, type));
        else if]],
        replace = "if",
        catch = by("fault/replies", "that deletes the holder's node after heartbeats"),
    },
    {
        name = "one-parent",
        what = "of missing parents only the last is made",
        file = "src/zookeeper/stake_actions.c",
        find = [[
        create_parent(stake, node);
        *slash = '/';]],
        replace = "        *slash = '/';",
        catch = by("lock", "makes missing parents"),
    },
    {
        name = "check-without-sync",
        what = "a check asks the follower alone: it may not know of the loss",
        file = "src/zookeeper/inquiry.c",
        find = "    if (sync) zkl_flight_sync(sync, zkl_stakes_at(stakes, 0)->path->text);",
        replace = "    if (sync) zkl_flight_get(sync, zkl_stakes_at(stakes, 0)->path->text, NULL);",
        catch = by("requests", "of a check are one sync and one get"),
    },
    {
        name = "check-of-session",
        what = "a check looks at the session alone, not at the node",
        file = "src/zookeeper/inquiry.c",
        find = "if (answer->reply == ZKL_ABSENT && !zkl_stake_absent(stake, flight->node)) {",
        replace = "if (false && !zkl_stake_absent(stake, flight->node)) {",
        catch = by("lease", "is lost when its node was deleted: check knows at once"),
    },
    {
        name = "open-acl",
        what = "acl = creator makes nodes that anybody may change",
        file = "src/zookeeper/flight.c",
        find = "case ZKL_ACL_CREATOR: return &ZOO_CREATOR_ALL_ACL;",
        replace = "case ZKL_ACL_CREATOR: break;",
        catch = by("connect", "that a lock refuses give"),
    },

    -- --- deadlines, handles, close ----------------------------------------------------

    {
        name = "deadline-while-suspended",
        what = "no deadline is kept while the session is suspended",
        file = "src/zookeeper/keeper.c",
        find = "    zkl_request_overdue(session, now);\n    zkl_stake_tick_all(session, now);",
        replace = [[
    if (session->state == ZKL_SESSION_CONNECTED) zkl_request_overdue(session, now);
    if (session->state == ZKL_SESSION_CONNECTED) zkl_stake_tick_all(session, now);]],
        also = { {
            find = "        due = earlier(due, each->deadline);",
            replace = [[
        if (session->state == ZKL_SESSION_CONNECTED) due = earlier(due, each->deadline);]],
        } },
        catch = by("lock", "ends at its deadline by itself while the session is suspended"),
    },
    {
        name = "first-handle",
        what = "the node goes with the first handle that is given up, not with the last",
        file = "src/zookeeper/lease.c",
        find = "if (stake->handles > 0) share(stake);\n    else if (zkl_claim_holds",
        replace = "if (zkl_claim_holds",
        catch = by("owner", "gives up each handle once; the node goes with the last"),
    },
    {
        name = "any-owner-enters",
        what = "whoever asks enters a lock that its session holds",
        file = "src/zookeeper/lease.c",
        find = "if (zkl_claim_holds(claim) && strcmp(stake->owner, owner) == 0)",
        replace = "if (zkl_claim_holds(claim))",
        catch = by("owner", "may be any value"),
    },
    {
        name = "silent-loss",
        what = "a release does not tell that the lease had been lost",
        file = "src/zookeeper/lease.c",
        find = [[
    zkl_lease_give_up_all(&lease->stakes, lease->kind);
    return ended;]],
        replace = [[
    zkl_lease_give_up_all(&lease->stakes, lease->kind);
    return ZKL_OK;]],
        catch = by("lease", "that the clock ended stays lost"),
    },
    {
        name = "lost-is-released",
        what = "a lease that was lost calls itself released once it was given up",
        file = "src/zookeeper/lease.c",
        find = "if (lease->lost) return ZKL_LOST;",
        replace = "",
        catch = by("lease", "that was lost says so to the end"),
    },
    {
        name = "waiting-try",
        what = "a try waits while the session is suspended",
        file = "src/zookeeper/lease.c",
        find = [[
if (wishes->trying && session->state == ZKL_SESSION_SUSPENDED) return ZKL_TIMEOUT;]],
        replace = "",
        catch = by("lock", "of 0 fails at once while the session is suspended"),
    },
    {
        name = "dropped-wait",
        what = "a wait whose request was dropped goes on",
        file = "src/zookeeper/request.c",
        find = [[
    end(request, ZKL_INTERRUPTED);
]],
        replace = "",
        catch = by("handles", "ends a wait whose coroutine was dropped"),
    },
    {
        name = "dropped-lease",
        what = "a grant that nobody took when its request was dropped is kept",
        file = "src/zookeeper/request.c",
        find = [[
    if (request->lease) zkl_lease_give_up_all(&request->stakes, request->lease_kind);
    request->lease = false;]],
        replace = "    request->lease = false;",
        catch = by("run", "that raises when the lock is had already gives it back"),
    },
    {
        name = "waiters-not-closed",
        what = "close does not wake waiters",
        file = "src/zookeeper/session.c",
        find = "        zkl_stake_close_all(session);\n",
        replace = "",
        catch = by("session", "wakes every waiter with"),
    },
    {
        name = "hasty-close",
        what = "close does not wait for a lost connection: nodes stay for a session timeout",
        file = "src/zookeeper/handle.c",
        find = "if (session->state == ZKL_SESSION_SUSPENDED) return !session->stakes;",
        replace = "if (session->state == ZKL_SESSION_SUSPENDED) return true;",
        catch = by("session", "while the connection is lost waits for it"),
    },
    {
        name = "no-probe",
        what = "a session that a server refuses for ever, without its data, is waited for",
        file = "src/zookeeper/probe.c",
        find = "    return session->unconnected_since + session->party.clock.timeout;",
        replace = "    return ZKL_NEVER;",
        catch = by("fault/fake", "refuses a session is tried with another"),
    },
    {
        name = "hasty-probe",
        what = "a session is given up as soon as another one connects",
        file = "src/zookeeper/probe.c",
        find = "    return probe->since + session->party.clock.timeout;",
        replace = "    return probe->since;",
        catch = by("fault/fake", "takes a session again that it refused keeps it"),
    },
    {
        name = "no-pause",
        what = "a server that ends each session at once is asked for the next at once",
        file = "src/zookeeper/handle.c",
        find = "    session->open_at = zkl_now() + RETRY;\n",
        replace = "",
        catch = by("fault/fake", "is asked for a new one at times only"),
    },
    {
        name = "no-room",
        what = "a handle is opened without room for its threads: libzookeeper aborts",
        file = "src/zookeeper/handle.c",
        find = "error = hosts ? zkl_thread_room() : ENOMEM;",
        replace = "error = hosts ? 0 : ENOMEM;",
        catch = by("fault/threads", "but 2, connect says connection and why"),
    },
    {
        name = "late-news",
        what = "of many changes of state the oldest are told, not the latest",
        file = "src/zookeeper/inbox.c",
        find = [[
        session->change_first = (session->change_first + 1) % STATE_NEWS;
        session->change_count--;
    }
    size_t]],
        replace = [[
    }
    size_t]],
        catch = by("session", "tells of many changes that nobody took the latest"),
    },
    {
        name = "ghosts-in-line",
        what = "the queue shows who went between its list and its look",
        file = "src/zookeeper/inquiry.c",
        find = "if (request->queue[i].czxid || request->brief) request",
        replace = "if (request) request",
        catch = by("queue", "leaves out who went between the list and the look"),
    },

    -- --- readers and writers ----------------------------------------------------------

    {
        name = "upgrade",
        what = "a reader that wants to write enters again, beside the other readers",
        file = "src/zookeeper/lease.c",
        find = "return wish->reentrant && (wish->kind != ZKL_WRITE || writable);",
        replace = "return wish->reentrant || writable;",
        catch = by("rwlock", "does not let a reader write"),
    },
    {
        name = "mixed-kinds",
        what = "a session uses one path as a mutex and as a read-write lock",
        file = "src/zookeeper/lease.c",
        find = "*other = other_use(path, wish);",
        replace = "*other = NULL;\n    (void)path;\n    (void)wish;\n    (void)other_use;",
        catch = by("rwlock", "and a mutex on one path are a conflict in one session"),
    },
    {
        name = "early-reader",
        what = "the node becomes a reader's while the owner still writes by another handle",
        file = "src/zookeeper/lease.c",
        find = "if (stake->writers == 0 && zkl_claim_may_share(&stake->claim))",
        replace = "if (zkl_claim_may_share(&stake->claim))",
        catch = by("rwlock", "waits until the owner has nothing to write any more"),
    },
    {
        name = "exists-is-refused",
        what = "a downgrade that was carried out before is taken for one that is refused",
        file = "src/zookeeper/stake_news.c",
        find = "answer->rc == ZNODEEXISTS ? ZKL_DONE : answer->reply;",
        replace = "answer->reply;",
        catch = by("rwlock", "whose request or reply is lost is made, once"),
    },

    -- --- guard and revoke -------------------------------------------------------------

    {
        name = "guard-unguarded",
        what = "a guard writes whether or not the lease's node exists",
        file = "src/zookeeper/guard.c",
        find = "zkl_flight_transact(flight, guard->ops, guard->count);",
        replace = "zkl_flight_transact(flight, guard->ops + 1, guard->count - 1);",
        catch = by("guard", "of a stale holder gives lost, and nothing was written"),
    },
    {
        name = "guard-repeated",
        what = "a guard whose answer was lost is sent again",
        file = "src/zookeeper/guard.c",
        find = "        zkl_request_finish(request, ZKL_TIMEOUT, answer->rc);",
        replace = "        zkl_inquiry_again(request);",
        catch = by("guard", "is not sent again when its answer is lost"),
    },
    {
        name = "guard-by-old-name",
        what = "a lease that became a reader's is taken for lost when its old node is gone",
        file = "src/zookeeper/stake_news.c",
        find = "if (claim->state == ZKL_SHARE || strcmp(last_segment(node), claim->name) != 0) " ..
            "return false;",
        replace = "(void)node;",
        catch = by("guard", "follows a writer that becomes a reader"),
    },
    {
        name = "guard-after-the-end",
        what = "a guard that waits for a connection outlives its lease",
        file = "src/zookeeper/stake.c",
        find = "    zkl_inquiry_lost(stake);\n",
        replace = "",
        catch = by("guard", "gives lost when the session expires before it is sent"),
    },
    {
        name = "revoke-overwritten",
        what = "a wish that comes while a writer becomes a reader goes with its node",
        file = "src/zookeeper/stake_actions.c",
        find = "{ZKL_OP_DELETE, 0, stake->version, writer, NULL, 0},",
        replace = "{ZKL_OP_DELETE, 0, -1, writer, NULL, 0},",
        catch = by("revoke", "hears it: its node is replaced only as it knows it"),
    },
    {
        name = "revoke-by-any-word",
        what = "whoever writes into a holder's node revokes it",
        file = "src/zookeeper/stake.c",
        find = "    stake->revoked = memcmp(answer->text, mark, strlen(mark)) == 0;",
        replace = "    stake->revoked = true;",
        catch = by("revoke", "by other clients' means is heard, other words are not"),
    },
    {
        name = "revoke-of-waiters",
        what = "a wish that reaches a waiter is forgotten when it holds",
        file = "src/zookeeper/multi.c",
        find = "        part->phase = ZKL_PHASE_HELD;",
        replace = "        part->phase = ZKL_PHASE_HELD;\n        part->revoked = false;",
        catch = by("revoke", "of a waiter is seen when it holds"),
    },

    -- --- the multi-lock ---------------------------------------------------------------

    {
        name = "multi-half-lost",
        what = "a multi-lock that lost a part keeps the others",
        file = "src/zookeeper/stake.c",
        find = "    zkl_multi_lost(stake);\n",
        replace = "",
        catch = by("multi", "is lost, and gives up the others"),
    },
    {
        name = "multi-half-failed",
        what = "when a part fails the others go on waiting",
        file = "src/zookeeper/stake.c",
        find = "    zkl_multi_failed(stake);\n",
        replace = "",
        catch = by("multi", "while it waits contends anew for all"),
    },
    {
        name = "multi-re-entered",
        what = "an owner that holds a lock waits for itself in a multi-lock with it",
        file = "src/zookeeper/lease.c",
        find = "if (!path || !held_by(path, wishes[i].owner)) continue;",
        replace = "if (path || !path) continue;",
        catch = by("multi", "would wait for its own owner"),
    },

    -- --- hosts and the process --------------------------------------------------------

    {
        name = "even-hosts",
        what = "an even number of addresses: half of them are never tried (ZOOKEEPER-2466)",
        file = "src/zookeeper/hosts.c",
        find = "size_t entries = count | 1;",
        replace = "size_t entries = count;",
        catch = by("fault/traps", "does not keep a session from the live one of"),
    },
    {
        name = "fork-unnoticed",
        what = "a forked child takes the parent's session for its own",
        file = "src/zookeeper/process.c",
        find = "    return other == process;",
        replace = "    return other != 0;",
        catch = by("fault/process", "every call says forked"),
    },
    {
        name = "signals-unmasked",
        what = "the library's threads take the host's signals",
        file = "src/zookeeper/thread.c",
        find = "    sigfillset(&all);",
        replace = "    sigemptyset(&all);",
        catch = by("fault/process", "are blocked in every thread of the library"),
    },
    {
        name = "no-exit-handler",
        what = "the end of the process does not close sessions: their locks outlive it",
        file = "src/zookeeper/process.c",
        find = " || atexit(close_all) != 0) return -1;",
        replace = ") return -1;",
        catch = by("fault/process", "releases all locks at once"),
    },
    {
        name = "leaked-descriptors",
        what = "child programs inherit the connection (ZOOKEEPER-2338)",
        file = "src/zookeeper/descriptors.c",
        find = "    fcntl(fd, F_SETFD, FD_CLOEXEC);",
        replace = "    (void)fd;",
        catch = by("fault/process", "do not leak into programs that are started"),
    },
    {
        name = "unheard-credentials",
        what = "when the answer to the credentials is lost, connect() waits for it in vain",
        file = "src/zookeeper/handle.c",
        find = "if (rc != ZOK && rc != ZAUTHFAILED) atomic_store",
        replace = "if (false) atomic_store",
        catch = by("connect", "are given again when the connection is lost meanwhile"),
    },
    {
        name = "hasty-question",
        what = "once the answer to the credentials was lost, connect() asks right behind them, " ..
               "and a refusal is not heard",
        file = "src/zookeeper/handle.c",
        find = "session->first_question_at = zkl_now() + session->first_pause;",
        replace = "session->first_question_at = 0;",
        catch = by("fault/fake", "also when its first answer was lost"),
    },
    {
        name = "late-question",
        what = "connect() does not say auth when the credentials were refused before it asked",
        file = "src/zookeeper/inquiry.c",
        find = "if (session->refused) return ZKL_AUTH;",
        replace = "",
        catch = by("connect", "although the server has refused before it is asked"),
    },
    {
        name = "pipe-by-number",
        what = "a pipe is taken for an old one whose number it has",
        file = "src/zookeeper/descriptors.c",
        find = "return strtoul(target + 6, NULL, 10);",
        replace = "return (unsigned long)fd;",
        catch = by("fault/process", "do not leak while a handle is being made by a slow thread"),
    },

    -- --- permits ------------------------------------------------------------------------

    {
        name = "deaf-head",
        what = "who heads hears of the nearest holder only",
        file = "src/zookeeper/stake_news.c",
        find = "else if (claim->state == ZKL_WAIT && claim->heading)",
        replace = "else if (false)",
        catch = by("semaphore", "are a watch on each holder for the first"),
    },
    {
        name = "late-watch",
        what = "a mark that came before the watch is not seen",
        file = "src/zookeeper/stake_news.c",
        find = "bool marked = answer->reply == ZKL_DONE && stat->version > 0;",
        replace = "bool marked = false;",
        catch = by("semaphore", "when the mark is late, and came before its watch"),
    },
    {
        name = "mark-wipes",
        what = "a mark wipes the node's data",
        file = "src/zookeeper/stake_actions.c",
        find = "const char *data = stake->revoked ? ZKL_REVOKE_DATA : stake->data;",
        replace = 'const char *data = stake->revoked ? ZKL_REVOKE_DATA : "";',
        catch = by("semaphore", "keep their node's data when they mark it"),
    },
    {
        name = "own-permits",
        what = "an owner's permits do not count: it waits for itself",
        file = "src/zookeeper/lease.c",
        find = "if (!zkl_stake_lost(stake, now)) permits += claim->permits;",
        replace = "if (!zkl_stake_lost(stake, now)) permits += 0;",
        catch = by("semaphore", "gets would_deadlock for what can never be"),
    },
    {
        name = "mixed-limits",
        what = "a session uses one path as semaphores of two limits",
        file = "src/zookeeper/lease.c",
        find = "same = same && claim->limit == wish->limit &&",
        replace = "same = same &&",
        catch = by("semaphore", "are a conflict with a semaphore of another limit"),
    },

    -- --- turns ---------------------------------------------------------------------------

    {
        name = "turns-no-batch",
        what = "each claim has a node of its own, whatever the order",
        file = "src/zookeeper/stake.c",
        find = "    zkl_claim_batch(&stake->claim, wish->batch);\n",
        replace = "",
        catch = by("turns", "has one node a process"),
    },
    {
        name = "turns-token",
        what = "the token is the node's, for all who have it one after the other",
        file = "src/zookeeper/multi.c",
        find = "part->token = zkl_claim_token(&part->claim);",
        replace = "part->token = part->claim.czxid;",
        catch = by("turns", "has tokens of 1024 a node"),
    },
    {
        name = "turns-close",
        what = "at close the lock is handed on to those who are about to be told",
        file = "src/zookeeper/stake.c",
        find = "return claim->batch && claim->state == ZKL_NEW ?",
        replace = "return claim->batch && claim->state == ZKL_GONE ?",
        catch = by("turns", "closed for all, and nobody is granted after"),
    },
    {
        name = "turns-revoked",
        what = "a turn that was revoked is handed on",
        file = "src/zookeeper/stake.c",
        find = "    post_notice(stake);\n    end_turn(stake);\n",
        replace = "    post_notice(stake);\n",
        catch = by("turns", "when it is revoked: the other process is next"),
    },
    {
        name = "turns-revoked-late",
        what = "what a holder asked of its node is not told to whoever has the node after it",
        file = "src/zookeeper/stake_news.c",
        find = "if (heir) zkl_stake_perform(heir, answer_own(heir, answer));",
        replace = "if (heir && !answer) zkl_stake_perform(heir, 0);",
        catch = by("turns", "when it is revoked while it goes from hand to hand"),
    },
    {
        name = "turns-revoked-before",
        what = "a turn that was revoked before it began is handed on",
        file = "src/zookeeper/stake.c",
        find = "    end_turn(stake); /* somebody asked for it before it held */\n",
        replace = "",
        catch = by("turns", "when it was revoked before it began"),
    },
    {
        name = "turns-mixed",
        what = "a session uses one path with turns and without",
        file = "src/zookeeper/lease.c",
        find = " && !claim->batch == !wish->batch;",
        replace = ";",
        catch = by("turns", "where the session uses the path in another order"),
    },
    {
        name = "turns-conflict-text",
        what = "who is refused for a path's turns is told of another order",
        file = "src/zookeeper/lease.c",
        find = "other->batch ? other->batch : other->limit",
        replace = "other->limit",
        catch = by("turns", "where the session uses the path in another order"),
    },
    {
        name = "turns-late",
        what = "who was handed the lock is told at the next heartbeat",
        file = "src/zookeeper/stake_actions.c",
        find = "if (zkl_claim_follows(claim))",
        replace = "if (claim->state == ZKL_NEW)",
        catch = by("requests", "of turns are those of one acquire"),
    },
    {
        name = "turns-condition",
        what = "one of several that have a node between them waits in a condition, and it goes",
        file = "src/zookeeper/condition.c",
        find = " || (lease->kind == ZKL_MUTEX && !stake->claim.batch);",
        replace = " || lease->kind == ZKL_MUTEX;",
        catch = by("turns", "a condition, and a place in a multi-lock"),
    },
    {
        name = "turns-place",
        what = "who waits for its process' turn is told a place in the line, where it is not",
        file = "src/zookeeper/stake.c",
        find = "if (claim->state != ZKL_NEW) return zkl_line_count_ahead",
        replace = "if (claim) return zkl_line_count_ahead",
        catch = by("turns", "tells who waits his place in the process"),
    },

    -- --- conditions ---------------------------------------------------------------------

    {
        name = "condition-signal-before-watch",
        what = "a signal that came before the get is not seen in it",
        file = "src/zookeeper/stake_news.c",
        find = [[
    if (stat && stat->version > 0) did |= zkl_claim_called(&stake->claim);
]],
        replace = "",
        catch = by("fault/condition", "hears a signal that came before it watched its node"),
    },
    {
        name = "condition-any-version",
        what = "a waiter that gives up deletes its node whatever is in it",
        file = "src/zookeeper/stake_actions.c",
        find = "stake->claim.waits && !stake->claim.settled ? 0 : -1",
        replace = "-1",
        catch = by("fault/condition", "passes on a signal that comes before its delete"),
    },
    {
        name = "condition-pass-any",
        what = "a signal is passed to somebody who has one",
        file = "src/zookeeper/condition.c",
        find = [[
                           {.kind = ZKL_OP_SET,
]],
        replace = [[
                           {.kind = ZKL_OP_SET,
                            .version = -1,
]],
        catch = by("condition_end", "goes by those who have one, to the first who has none"),
    },
    {
        name = "condition-old-token",
        what = "who comes back from a condition has its old token",
        file = "src/zookeeper/condition.c",
        find = [[
    stake->token = zkl_claim_token(&stake->claim);
]],
        replace = "",
        catch = by("condition", "are all given up, and all had again with the new token"),
    },
    {
        name = "condition-node-left",
        what = "the waiter's node stays when the lock is had again",
        file = "src/zookeeper/condition.c",
        find = [[
    if (waiter) zkl_stake_perform(waiter, zkl_claim_release(&waiter->claim));
]],
        replace = [[
    (void)waiter;
]],
        catch = by("condition", "gives the lock up, waits for a signal, and has the lock again"),
    },
    {
        name = "condition-no-reason",
        what = "a refused wait does not tell the server's reason",
        file = "src/zookeeper/condition.c",
        find = [[
    lock->error = waiter->error;
]],
        replace = "",
        catch = by("fault/condition", "that others protect refuses: auth, and the lease is held"),
    },
    {
        name = "condition-lost-as-parents",
        what = "a lock whose node is gone looks like a folder that is not there",
        file = "src/zookeeper/condition.c",
        find = "refused(flight) == 1) return zkl_claim_left",
        replace = "refused(flight) == 2) return zkl_claim_left",
        catch = by("condition_end",
                   "is lost, and leaves nothing, when the lock's node went unseen"),
    },
    {
        name = "condition-waits-on",
        what = "who waits goes on when its last handle is given up",
        file = "src/zookeeper/lease.c",
        find = [[
    else zkl_stake_perform(stake, zkl_claim_cancel(&stake->claim, ZKL_RELEASED)); /* it is away */
]],
        replace = "",
        catch = by("condition_end", "ends with its last handle"),
    },
    {
        name = "condition-not-of-owner",
        what = "release_all leaves who waits",
        file = "src/zookeeper/lease.c",
        find = "return stake->handles > 0 && stake->claim.wanted && strcmp",
        replace = "return zkl_claim_holds(&stake->claim) && strcmp",
        catch = by("condition_end", "ends with all else of its owner"),
    },

    -- --- the bell ------------------------------------------------------------------------

    {
        name = "bell-any-peer",
        what = "whoever is quicker gets the connection",
        file = "src/zookeeper/bell.c",
        find = "           peer.pid == getpid();",
        replace = "           peer.pid > 0;",
        catch = by("bell", "is not for another process"),
    },
    {
        name = "bell-no-rest",
        what = "each event rings, heard or not",
        file = "src/zookeeper/bell.c",
        find = "if (session->bell < 0 || session->rung) return;",
        replace = "if (session->bell < 0) return;",
        catch = by("bell", "rings once until it was heard"),
    },
    {
        name = "bell-deaf",
        what = "after the first time it does not ring",
        file = "src/zookeeper/bell.c",
        find = "    zkl_lock(session);\n    session->rung = false;\n",
        replace = "    zkl_lock(session);\n",
        catch = by("bell", "rings once until it was heard"),
    },
    {
        name = "bell-stays-rung",
        what = "a new connection does not ring when the old one had rung",
        file = "src/zookeeper/bell.c",
        find = "        session->rung = false;\n",
        replace = "",
        catch = by("bell", "may lose its listener"),
    },
    {
        name = "bell-leaves-names",
        what = "the socket's name stays",
        file = "src/zookeeper/bell.c",
        find = "    unlink(session->door_path);\n",
        replace = "",
        catch = by("bell", "nothing of it stays"),
    },
    {
        name = "bell-no-second-folder",
        what = "without a usable $TMPDIR there is no socket",
        file = "src/zookeeper/bell.c",
        find = "if (error) error = open_door(session, \"/tmp\");",
        replace = "",
        catch = by("bell", "lies in /tmp when"),
    },
}
