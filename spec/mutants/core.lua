--- core.lua - defects of src/core, and the defects of src/session that the simulator catches. Rows
-- are as mutant.lua says.
--
-- A name tells where the defect was seen. BUG-... was in an application's own lock, CURATOR-... in
-- Curator (its issue), and a client's name in that client. The rest are our own.

return {

    -- --- applications' own locks ------------------------------------------------------

    { "BUG-01", "a deletion wakes every waiter, also those that wait for another node",
      at = "zkl_claim_ahead_deleted",
      find = "if (!looks_ahead && !is_waiting_for(claim, contender)) return 0;",
      replace = "if (claim->state != ZKL_WAIT) return 0;",
      also = { { find = "ahead_gone(claim, contender, now)",
                 replace = "ahead_gone(claim, claim->ahead, now)" } } },
    { "look-at-nobody", "a waiting claim does not watch its predecessor's predecessor",
      at = "zkl_lookahead_watch", find = "return ZKL_DO_WATCH_LOOKAHEAD;", replace = "return 0;" },
    { "look-once", "a claim that has looked ahead looks no further",
      at = "zkl_lookahead_answered", find = "ask_who_is_ahead(claim) : zkl_lookahead_watch(claim)",
      replace = "ask_who_is_ahead(claim) : 0" },
    { "look-twice", "a claim whose predecessor goes during its look asks once more",
      at = "ahead_gone", find = "if (claim->looking_ahead) {", replace = "if (0) {" },
    { "look-ended-watch", "a claim counts on a watch that is being removed, or has fired",
      at = "zkl_watches_share", find = "watch->state == WATCH_UNSET || watch->removing",
      replace = "0" },
    { "look-never-again",
      "a watch that was not set for lack of room, or whose reply got lost, is never set",
      at = "zkl_lookahead_again", find = "return missing ? zkl_lookahead_watch(claim) : 0;",
      replace = "return missing && 0 ? zkl_lookahead_watch(claim) : 0;" },
    { "look-unheard", "a claim is not told of the end of its lookahead",
      at = "watched_contender",
      find = "claim->lookahead && strcmp(claim->lookahead->name, name) == 0",
      replace = "0 && name" },
    { "look-unwatched", "a claim that watches its predecessor again drops its lookahead's watch",
      at = "watch_ahead", find = "zkl_watches_narrow(stake, false);",
      replace = "zkl_watches_drop_others(stake);" },
    { "BUG-02",
      "each answer asks anew, so requests pile up, as calls do where a wait is a recursion",
      at = "zkl_claim_got_ahead", find = "case ZKL_DONE: break;",
      replace = "case ZKL_DONE: return ZKL_DO_WATCH_AHEAD;" },
    { "BUG-03-try", "a failed try leaves its node in the line",
      at = "advance",
      find = "return fail(claim, ZKL_BUSY) | leave(claim);",
      replace = "return fail(claim, ZKL_BUSY) | become_gone(claim);" },
    { "BUG-03-deadline", "a wait that ends by its deadline leaves its node in the line",
      at = "zkl_claim_cancel",
      find = [[
        return fail(claim, why) | give_up_node(claim, 0);
    case ZKL_RECOVER_STAT:]],
      replace = [[
        return fail(claim, why) | become_gone(claim);
    case ZKL_RECOVER_STAT:]] },
    { "BUG-07", "names are compared as text, numbers and all",
      at = "compare",
      find = "if (sequence != other->sequence) return sequence < other->sequence ? -1 : 1;" },
    { "BUG-11-missing", "a claim whose node is not in the list takes the lock",
      at = "advance", find = "zkl_claim_requeue(claim)", replace = "admit(claim, now)" },
    { "BUG-11-vanished",
      "a claim whose predecessor vanished before its watch was set takes the lock",
      at = "zkl_claim_got_ahead",
      find = "case ZKL_ABSENT: return ahead_gone(claim, contender, now);",
      replace = "case ZKL_ABSENT: return admit(claim, now);" },
    { "BUG-11-error", "a claim that cannot read its predecessor takes the lock",
      at = "zkl_claim_got_ahead",
      find = "case ZKL_REFUSED: return fail(claim, why) | leave(claim);",
      replace = "case ZKL_REFUSED: return admit(claim, now);" },
    { "BUG-12", "a claim whose predecessor is gone is granted, whoever else is ahead",
      at = "ahead_gone",
      find = [[
    claim->recheck = !claim->holders_list;
    return zkl_claim_advance(claim, now);]],
      replace = "return admit(claim, now);" },
    { "BUG-13-waiter", "a waiter is not told that its session expired",
      at = "zkl_claim_expire",
      find = "else if (claim->wanted) actions = fail(claim, why);" },
    { "BUG-13-holder", "a holder is not told that its session expired",
      at = "zkl_claim_expire",
      find = [[
    if (zkl_claim_holds(claim)) actions = lose(claim);
    else]] },
    { "BUG-13-latch", "a watch that was used up by a change is not set again",
      at = "zkl_claim_ahead_changed", find = "return ZKL_DO_WATCH_AHEAD;", replace = "return 0;" },
    { "BUG-16", "a session removes any unknown node as an orphan, without asking whose it is",
      at = "zkl_line_orphan", find = "zkl_line_is_own(line, contender) &&" },
    { "BUG-16-lost", "a release after the lease was lost still deletes the node",
      at = "zkl_claim_release", find = "if (claim->state != ZKL_HELD) return 0;" },

    -- --- Curator ----------------------------------------------------------------------

    { "CURATOR-604", "a node of the previous session is adopted, and granted",
      at = "own_read",
      find = "if (owner != claim->line->common->session) return zkl_claim_requeue(claim);" },
    { "CURATOR-264",
      "a create whose reply is lost is made again while the first may have succeeded: two nodes",
      at = "not_created",
      find = [[
        claim->state = ZKL_RECOVER_SYNC;
        claim->stalled = claim->node.doubted = true;
        return ZKL_DO_DOUBT;]],
      replace = "return zkl_claim_enter(claim);" },
    { "CURATOR-206", "the next session revives the leases of the ended one",
      at = "zkl_claim_expire", find = "if (claim->state == ZKL_GONE) return 0;",
      replace = "if (claim->state == ZKL_GONE || claim->state == ZKL_HELD) return 0;" },
    { "CURATOR-498", "a lost create's node is found by its nonce alone, also another session's",
      at = "zkl_line_find_nonce", find = "zkl_line_is_own(line, contender) &&" },

    -- --- other clients ----------------------------------------------------------------

    { "kazoo-leak-A", "a delete whose reply is lost is not repeated (kazoo #732)",
      at = "zkl_claim_removed",
      find = "if (reply == ZKL_DONE || reply == ZKL_ABSENT)",
      replace = "if (reply != ZKL_REFUSED)" },
    { "kazoo-leak-B", "a found node is removed by another name than its own, and stays",
      at = "recovery_listed", find = "set_node_name(claim, found->name);" },
    { "go-zookeeper-self-orphan",
      "a create whose reply is lost is reported as failed, and its node forgotten",
      at = "not_created",
      find = [[
        claim->state = ZKL_RECOVER_SYNC;
        claim->stalled = claim->node.doubted = true;
        return ZKL_DO_DOUBT;]],
      replace = "return (claim->wanted ? fail(claim, ZKL_CONNECTION) : 0) | become_gone(claim);" },
    { "C-recipe-shared-node",
      "a lost create's node is found by its session alone, so two claims own one node",
      at = "zkl_line_find_nonce", find = "&& contender->nonce == nonce" },
    { "etcd-11456-node", "after a wait nobody checks whether the own node still exists",
      at = "own_gone", find = "if (is_in_line(claim))", replace = [[
    bool stays = claim->state == ZKL_WAIT || claim->state == ZKL_PROVE;
    if (is_in_line(claim) && !stays)]] },
    { "etcd-11456-session", "after a wait nobody checks whether the session still lives",
      at = "admit", find = "!is_certain(claim, now)", replace = "false" },
    { "Menagerie-index", "a claim that is not in the line counts as its first (index -1)",
      at = "zkl_line_ahead", find = "return at ? line->contenders[at - 1] : NULL;",
      replace = "return at > 1 ? line->contenders[at - 1] : NULL;" },

    -- --- our own: names and the line --------------------------------------------------

    { "serial-numbers",
      "numbers past their end are compared as serial numbers (RFC 1982), not by czxid",
      at = "numbers_exhausted", find = "if (zkl_sequence_exhausted(each->sequence)) return true;",
      also = { { at = "compare",
          find = "if (sequence != other->sequence) return sequence < other->sequence ? -1 : 1;",
          replace = [[
    if (sequence != other->sequence)
        return (int32_t)((uint32_t)sequence - (uint32_t)other->sequence);]] } } },
    { "frozen-counter", "equal numbers past the limit are ordered by name",
      at = "zkl_line_replace", find = "numbers_exhausted(line)", replace = "false" },
    { "no-orphans", "a node of ours that no claim answers for is never removed",
      at = "zkl_line_orphan", find = "if (line->common->session == 0)" },
    { "foreign-children", "a child that is no contender is waited for",
      at = "parse_counter",
      find = [[
    if (!find_marker(text, length - width, &name->kind) &&
        !parse_permits(text, length - width, name))
        return false;]],
      replace = [[
    if (!find_marker(text, length - width, &name->kind))
        parse_permits(text, length - width, name);]] },

    -- --- our own: the claim -----------------------------------------------------------

    { "list-without-create",
      "a list that came with a lost create counts as the search for its node",
      at = "zkl_claim_listed",
      find = "case ZKL_RECOVER_LIST: return recovery_listed(claim, reply, why);", replace = [[
    case ZKL_RECOVER_SYNC:
    case ZKL_RECOVER_LIST: return recovery_listed(claim, reply, why);]] },
    { "no-sync", "a lost create is looked for without a sync, so a server that lags hides its node",
      at = "zkl_claim_resume", find = "case ZKL_RECOVER_SYNC: return ZKL_DO_SYNC | ZKL_DO_LIST;",
      replace = "case ZKL_RECOVER_SYNC: claim->state = ZKL_RECOVER_LIST; return ZKL_DO_LIST;" },
    { "ungranted", "a list that comes late takes a grant back",
      at = "zkl_claim_listed", find = "case ZKL_HELD:",
      replace = "case ZKL_HELD: return own_listed(claim, reply, why, now);" },
    { "nonce-reused", "the attempt after a lost one has the same nonce",
      at = "zkl_claim_enter",
      find = [[
    forget_node(claim);
    if (is_part(claim)) return gather(claim);
    name_attempt(claim);]],
      replace = [[
    uint64_t last = claim->node.nonce;
    forget_node(claim);
    if (is_part(claim)) return gather(claim);
    name_attempt(claim);
    if (last) claim->node.nonce = last;
    if (last && claim->kind != ZKL_PERMIT)
        zkl_name_prefix(claim->node.name, claim->kind, claim->line->common->session, last);]] },
    { "lost-delete-event",
      "after a reconnect a deletion is handled as before, though its order tells nothing",
      at = "zkl_claim_suspend",
      find = [[
    if (claim->state == ZKL_WAIT || claim->state == ZKL_RANK) claim->line->incomplete = true;]] },
    { "deadline-while-stalled", "the deadline is not checked while there is no connection",
      at = "zkl_claim_tick", find = "now >= claim->deadline",
      replace = "now >= claim->deadline && !claim->stalled" },
    { "stranded-followers",
      "claims that let the first on a path go alone are forgotten when it fails",
      at = "zkl_claim_created", find = "return actions | make_way(claim);",
      replace = "    return claim->line->path_exists ? actions | make_way(claim) : actions;" },
    { "no-late-look", "a create that stayed unknown is not looked for a session timeout later",
      at = "not_created", find = "return ZKL_DO_DOUBT;", replace = "return 0;" },
    { "forgotten-cancel", "a cancelled claim whose create is on its way is forgotten at once",
      at = "zkl_claim_cancel", find = "case ZKL_RECOVER_LIST:",
      replace = "case ZKL_RECOVER_LIST: return fail(claim, why) | become_gone(claim);" },
    { "stale-news", "news of a former predecessor counts for the present one",
      at = "zkl_claim_got_ahead", find = "!is_waiting_for(claim, contender)",
      replace = "claim->state != ZKL_WAIT" },

    { "part-unlisted", "a multi-lock is granted though a list lacks the node of one of its parts",
      at = "admit", find = "is_part(claim) && !all_parts_have_nodes(claim)",
      replace = "0 && !all_parts_have_nodes(claim)" },
    { "part-alone", "a multi-lock of one lock is not given up by its release",
      at = "zkl_multi_grant", find = "part->part = PART_HELD;",
      replace = "if (zkl_multi_is_part(part)) part->part = PART_HELD;" },

    -- --- our own: readers and writers -------------------------------------------------

    { "reader-behind-readers", "a reader waits for the readers ahead of it",
      at = "zkl_line_ahead",
      find = [[
        while (at > 0 && !zkl_kinds_exclude(claim->kind, line->contenders[at - 1]->kind)) at--;]] },
    { "reader-passes-mutex", "a reader passes over a mutex that is ahead of it",
      at = "zkl_line_ahead",
      find = "!zkl_kinds_exclude(claim->kind, line->contenders[at - 1]->kind)",
      replace = "claim->kind == ZKL_READ && line->contenders[at - 1]->kind != ZKL_WRITE" },
    { "reader-tries-first", "a reader's try checks the holder only, not a writer that waits",
      at = "zkl_line_is_free",
      find = "if (zkl_kinds_exclude(kind, line->contenders[i]->kind)) return false;",
      replace = "if (i == 0 && zkl_kinds_exclude(kind, line->contenders[i]->kind)) return false;" },
    { "share-absent", "a writer whose node is gone becomes a reader",
      at = "zkl_claim_downgraded",
      find = "case ZKL_ABSENT: return (claim->wanted ? lose(claim) : 0) | become_gone(claim);",
      replace = "case ZKL_ABSENT: become_reader(claim); break;" },
    { "share-unknown-done", "a writer counts as a reader although the reply is lost",
      at = "zkl_claim_downgraded", find = "claim->refusal = ZKL_IN_DOUBT; return stall(claim);",
      replace = "become_reader(claim); break;" },
    { "first-refused", "a claim about to be first waits on, though it may not watch its node",
      at = "is_in_line", find = "|| state == ZKL_PROVE || state == ZKL_FIRST" },
    { "first-unheard", "a claim that is first waits on, though the answer to its watch was lost",
      at = "zkl_claim_got_own", find = "|| claim->state == ZKL_FIRST" },
    { "share-unknown-refused",
      "a writer stays a writer, although a lost reply may have made it a reader",
      at = "zkl_claim_downgraded", find = "claim->refusal = ZKL_IN_DOUBT; return stall(claim);",
      replace = "claim->refusal = ZKL_CONNECTION; break;" },
    { "share-refused-again",
      "a refusal after a lost reply counts, though the first request may have been carried out",
      at = "zkl_claim_downgraded",
      find = [[
        if (claim->refusal == ZKL_IN_DOUBT)
            return claim->wanted ? stall(claim) : look_for_name(claim);]] },
    { "share-late", "a writer that leaves is gone, though a late transaction made it a reader",
      at = "zkl_claim_removed", find = "if (reply == ZKL_ABSENT && claim->refusal == ZKL_IN_DOUBT)",
      replace = "if (false)" },
    { "share-old-name", "a release while a writer becomes a reader removes the writer's node only",
      at = "zkl_claim_release", find = "if (claim->state == ZKL_DOWNGRADE) claim->wanted = false;",
      replace = "if (claim->state == ZKL_DOWNGRADE) return leave(claim);" },
    { "share-own-deleted",
      "a writer that becomes a reader takes the deletion of its old node for a loss",
      at = "own_gone", find = "if (claim->state == ZKL_HELD)",
      replace = "if (claim->state == ZKL_HELD || claim->state == ZKL_DOWNGRADE)" },

    -- --- our own: the lease clock -----------------------------------------------------

    { "ping-as-proof", "pings keep the lease certain, as long as the connection lives",
      at = "zkl_session_tick", find = "zkl_clock_attend(&session->common.clock, session->now);",
      replace = [[
    zkl_clock_attend(&session->common.clock, session->now);
    if (session->state == ZKL_SESSION_CONNECTED)
        zkl_clock_prove(&session->common.clock, session->now, session->now);]] },
    { "proof-at-reply", "a proof counts from its reply, not from its request",
      at = "zkl_clock_prove", find = "if (issued <= clock->proof) return;",
      replace = [[
    issued = now;
    if (issued <= clock->proof) return;]] },
    { "held-unconnected", "a lease stays certain while the connection is gone",
      at = "zkl_clock_phase", find = "clock->connected &&" },
    { "unnoticed-stop", "a proof counts although the process was stopped just before it",
      at = "certain_for", find = "if (clock->proof < zkl_clock_grants_from(clock)) return 0;" },
    { "clog", "after a stop a claim enters the line, though no grant of it could be used",
      at = "zkl_claim_start", find = "if (!may_enter(claim)) return stall(claim);" },
    { "clog-front", "after a stop a claim that is first keeps its place until a proof counts",
      at = "prove", find = "if (!may_enter(claim)) return retreat(claim);" },
    { "clog-part", "after a stop only one part of a multi-lock gives up its place",
      at = "retreat", find = "part = part->next_part;\n    } while (part != claim);",
      replace = "part = part->next_part;\n    } while (false);" },
    { "clog-orphan", "a part of a multi-lock gives its place up before it has found its node",
      at = "retreat", find = "if (other_part_seeks_node(claim)) {", replace = "if (false) {" },
    { "clog-answer", "a claim whose sync shows a stop keeps its place until the next heartbeat",
      at = "proven", find = "may_enter(claim) ? stall(claim) : retreat(claim)",
      replace = "stall(claim)" },
    { "hasty-try", "a try soon after a stop fails at once",
      at = "zkl_claim_start", find = "if (!may_enter(claim)) return stall(claim);",
      replace = [[
    if (!may_enter(claim) && claim->trying) return fail(claim, ZKL_TIMEOUT) | become_gone(claim);
    if (!may_enter(claim)) return stall(claim);]] },
    { "untold-turn",
      "on a new path a claim that waits for its turn is told so later, and too many wait",
      at = "zkl_claim_awaits",
      find = "if (waits && !claim->trying)",
      replace = [[
    if (!line->path_exists && is_path_being_opened(claim)) return ZKL_AWAITS_PATH;
    if (waits && !claim->trying)]] },
    { "kept-back-forgotten", "a watch whose event was kept back no longer counts, and is set again",
      at = "answer_removal", find = "answer->rc == ZKL_ERROR_NONE",
      replace = "answer->rc == ZKL_ERROR_NONE || answer->rc == ZKL_ERROR_NO_WATCHER" },
    { "slow-beats",
      "heartbeats after a stop stay as rare as before, so the next stop breaks the chain",
      at = "beat_due", find = "since + clock->attend_within / 2",
      replace = "since + clock->timeout / 6" },
    { "sleepy-expiry", "a session that expired asks for no tick, and takes the pause for a stop",
      at = "zkl_session_due", find = "if (!is_over(session) || reopens)",
      replace = "if (!is_over(session) && (reopens || true))" },
    { "busy-session", "a request to the session puts off its check of the clock",
      at = "zkl_session_due", find = "clock->attended + clock->attend_within / 2",
      replace = "session->now + clock->attend_within / 2" },
    { "late-drain", "a drain checks whether it is over before the heartbeat that ends a claim",
      at = "zkl_session_tick",
      find = "zkl_stake_end_drain(session); /* whatever ended a claim */" },
    { "deposed-leader", "answers that came late continue the chain of proofs",
      at = "zkl_clock_prove", find = "if (now - issued > clock->timeout / 4) steady_since = now;" },
    { "longer-timeout", "a chain of proofs goes on when the server gives a longer timeout",
      at = "set_timeout",
      find = "if (timeout > clock->timeout) clock->steady_since = clock->proof;" },
    { "epoch-again", "an epoch returns after a session has ended, and revives its leases",
      at = "zkl_clock_end", find = "clock->epoch++;", replace = "clock->epoch--;" },

    -- --- one node of a fixed name ------------------------------------------------------

    { "unfair-late-grant", "a waiter takes a create that landed late for its own",
      at = "get_found",
      find = "if (claim->state == ZKL_RECOVER_LIST)",
      replace = [[
    bool late = claim->state == ZKL_WAIT && ours && no_other_claim_has(claim->line, claim, czxid);
    if (claim->state == ZKL_RECOVER_LIST || late)]] },
    { "unfair-stray", "a create that landed late stays until the session ends",
      at = "zkl_line_fixed_orphan", find = "return ZKL_ORPHAN;",
      replace = "return ZKL_NO_ORPHAN;" },
    { "unfair-perhaps", "a session removes a node that its claim may own without knowing",
      at = "zkl_line_fixed_orphan", find = "return ZKL_PERHAPS_ORPHAN;", replace = "continue;" },
    { "unfair-no-sync", "a get that is answered before its sync shows that there is no node",
      at = "zkl_unfair_got_own",
      find = "if (claim->state != ZKL_RECOVER_LIST) return zkl_unfair_own_gone(claim);",
      replace = [[
        if (claim->state != ZKL_RECOVER_LIST && claim->state != ZKL_RECOVER_SYNC)
            return zkl_unfair_own_gone(claim);]] },

    -- --- permits -----------------------------------------------------------------------

    { "mark-unseen-by-list",
      "a claim that a list granted before its czxid was known writes no mark",
      at = "recovery_listed", find = "claim->state = ZKL_RECOVER_STAT;",
      replace = [[
    claim->state = ZKL_RECOVER_STAT;
    claim->needs_no_mark = true;]] },
    { "head-unranked", "a claim that heads ignores contenders ahead whose czxids it does not know",
      at = "still_waits",
      find = [[
    if (!claim->holders_list || zkl_line_unranked(claim->line, claim, NULL)) return false;]],
      replace = [[
    if (!claim->holders_list) return false;
    claim->line->exhausted = false;]] },
    { "permits-31-bits", "the sum of permits overflows",
      at = "permits_ahead", find = "return sum;", replace = "return (int32_t)(uint32_t)sum;" },
    { "limit-off-by-one", "one permit more than the limit is granted",
      at = "zkl_permits_fit", find = "<= claim->limit", replace = "<= claim->limit + 1" },
    { "small-passes-big", "a small request passes a big one that waits",
      at = "permits_ahead", find = "is_ahead(line, line->contenders[i], claim)",
      replace = [[
        is_ahead(line, line->contenders[i], claim) &&
            sum + line->contenders[i]->permits <= claim->limit]] },
    { "conflict-stays", "a conflict leaves its node in the line",
      at = "advance_permits", find = "fail(claim, ZKL_CONFLICT) | leave(claim)",
      replace = "fail(claim, ZKL_CONFLICT) | become_gone(claim)" },

    -- --- conditions -----------------------------------------------------------------

    { "longer-timeout-revives",
      "a longer timeout, negotiated at a reconnect, revives a lease that ran out",
      at = "zkl_clock_retime",
      find = "if (ran_out(clock, now)) zkl_clock_start(clock, timeout, margin, now); else",
      replace = "(void)now;" },
    { "longer-timeout-proves",
      "a longer timeout makes certain a lease without proof, or one that ran out",
      at = "zkl_clock_retime",
      find = [[
    if (ran_out(clock, now)) zkl_clock_start(clock, timeout, margin, now);
    else set_timeout(clock, timeout, margin);]],
      replace = [[
    if (ran_out(clock, now)) clock->epoch++;
    set_timeout(clock, timeout, margin);]] },
    { "refused-in-doubt",
      "a refusal after a lost reply leaves the lock held, as if nothing had happened",
      at = "was_refused", find = "&& !waiter->node.doubted" },
    { "signal-swallowed", "a deadline that meets a signal swallows it (Menagerie)",
      at = "zkl_claim_removed",
      find = [[
    if (reply == ZKL_REFUSED && zkl_waiter_may_be_signalled(claim))
        return zkl_waiter_forward(claim);]],
      replace = "if (reply == ZKL_REFUSED && claim->as_waiter) return become_gone(claim);" },
    { "signal-not-passed-on",
      "a signal whose waiter does not get the lock back in time goes with its node",
      at = "zkl_claim_cancel",
      find = "case ZKL_SIGNALLED: return fail(claim, why) | zkl_waiter_forward(claim);",
      replace = [[
    case ZKL_SIGNALLED:
        claim->as_waiter = ZKL_WAITER_SETTLED;
        return fail(claim, why) | leave(claim);]] },
    { "signal-over-signal", "a signal is given to a waiter that has one, so one of two is lost",
      at = "add", find = ".kind = ZKL_OP_SET,", replace = ".kind = ZKL_OP_SET, .version = -1," },
    { "early-list", "the search for the next waiter is not repeated",
      at = "zkl_claim_resume",
      find = [[
    case ZKL_LIST:
    case ZKL_FORWARD: return ZKL_DO_LIST;]],
      replace = [[
    case ZKL_LIST: return ZKL_DO_LIST;
    case ZKL_FORWARD: return 0;]] },

    -- --- batches ----------------------------------------------------------------------

    { "batch-unlisted", "a holder hands on a node that the latest list lacks",
      at = "zkl_turn_successor", find = "zkl_line_own(claim) != NULL", replace = "true" },
    { "batch-assumes", "a node that did not wait behind another session's ends its turn",
      at = "forget_node", find = "{.doubted =",
      replace = "{.contended = claim->node.contended, .doubted =" },
    { "batch-for-itself", "another node of the own session ends the turn",
      at = "zkl_line_may_have_others", find = "!zkl_line_is_own(line, line->contenders[i])",
      replace = "line->contenders[i]->session != 0" },
    { "batch-first-alone",
      "while two claims hold, only the first is asked if its turn is over",
      at = "zkl_turn_awaited", find = "actions = zkl_turn_watch(each, 0);",
      replace = "return zkl_turn_watch(each, 0);" },
    { "quantum-not-handed-on", "a successor does not know when its turn began",
      at = "hand_over", find = "next->node = claim->node;",
      replace = "next->node = claim->node; next->node.turn_began = 0;" },
    { "batch-counts-on", "a new node goes on with the count of the node before",
      at = "forget_node", find = "{.doubted =",
      replace = "{.grants = claim->node.grants, .doubted =" },
    { "batch-other-attempt", "a node that is handed on without its nonce is taken for an orphan",
      at = "hand_over", find = "next->node = claim->node;",
      replace = "next->node = claim->node; next->node.nonce = 0;" },
    { "batch-unwatched", "the successor believes that its node is watched",
      at = "hand_over", find = "next->node.watched = false;",
      replace = "next->node.watched = claim->node.watched;" },
    { "batch-undoubted",
      "the doubt is not handed on with the node, so a node that lands late stays",
      at = "hand_over", find = "next->node = claim->node;",
      replace = "next->node = claim->node; next->node.doubted = false;" },
    { "batch-place-lost", "a claim that gives up does not hand on its place",
      at = "zkl_claim_cancel",
      find = "case ZKL_PROVE: return fail(claim, why) | give_up_node(claim, 0);",
      replace = "case ZKL_PROVE: return fail(claim, why) | leave(claim);" },
    { "batch-no-order", "a later claim goes first after a lost connection",
      at = "zkl_claim_awaits", find = "claim->batch != 0 && is_behind(claim)",
      replace = "false" },
    { "batch-token-overflow", "tokens of a very large czxid overflow",
      at = "advance", find = "ZKL_BATCH_CZXID_MAX", replace = "INT64_MAX - 1" },

    -- --- kept locks -------------------------------------------------------------------

    { "kept-stalled", "a list that got lost before the release keeps the next claim waiting",
      at = "become_kept", find = "claim->wanted = claim->stalled = false;",
      replace = "claim->wanted = false;" },
    { "kept-erased", "a mark that a revocation overwrote on a kept node is not written again",
      at = "see_own", find = "actions |= zkl_claim_mark_overwritten(&stake->claim);",
      replace = "actions |= 0;",
      catch = { spec = "spec/kept_spec.lua",
                tests = { "a try fails with busy after zklock or Curator asked the holder to" } } },
    { "counts-untold", "a node of a lock with tokens of turns does not say so",
      at = "zkl_claim_count_grants",
      find = "if (claim->reuse == ZKL_ONE_GRANT) claim->reuse = ZKL_MANY_GRANTS;",
      catch = { spec = "spec/queue_spec.lua",
                tests = { "the queue shows tokens of turns, too" } } },
    { "kept-said-in-turns", "a successor does not know that its node says that it is held",
      at = "hand_over", find = "next->node = claim->node;",
      replace = "next->node = claim->node; next->node.says_held = false;" },

    -- --- guards, questions, watchers, revocations ----------------------------------------

    { "guard-unguarded", "a guard writes whether or not the lease's node exists",
      at = "zkl_guard_send", find = "guard->ops, guard->count",
      replace = "guard->ops + 1, guard->count - 1" },
    { "guard-repeated", "a guard whose answer was lost is sent again",
      at = "answer_guard", find = "finish(request, ZKL_IN_DOUBT, answer->rc);",
      replace = "zkl_query_again(request);", rare = true },
    { "doubt-untold", "a request that may have written, or signalled, ends as if it had not",
      at = "zkl_request_finish", find = "code != ZKL_OK && request->effects",
      replace = "false" },
    { "doubt-forgotten", "a signal whose answer was lost is forgotten once it is sent anew",
      at = "list_anew", find = "request->visited = 0;",
      replace = "request->visited = request->effects = 0;", rare = true },
    { "drain-waits-on", "a wait in a condition goes on that begins during a drain without waiters",
      at = "begin_wait", find = "request->session->service == SERVICE_TO_HOLDERS",
      replace = "false" },
    { "check-without-sync", "a check asks only the follower, which may not know of the loss",
      at = "ask_check",
      find = "if (sync) zkl_call_sync(sync, zkl_parts_at(parts, 0)->path->text);",
      replace = [[
    const struct stake *own = zkl_parts_at(parts, 0);
    if (sync) zkl_call_get(sync, own->path->text, own->claim.node.name);]] },
    { "watch-never-checked", "a watch that the server dropped without an event is never set again",
      at = "answer_exists",
      find = "else if (call->kind == &check_call && !shows(answer, last)) look_in(watcher, 0);",
      replace = "else (void)last;" },
    { "member-left-unseen", "a member that leaves forgets a create whose node nobody has seen",
      at = "leave", find = "member->node == MEMBER_NODE_ABSENT",
      replace = "member->node != MEMBER_NODE_OURS" },
    { "member-blind", "a member that was cut off writes to its name, whoever owns the node by then",
      at = "zkl_member_suspend_all", find = "zkl_member_lose_sight((struct zkl_member *)each);",
      replace = "(void)each;", catch = { program = "build/tests-asan/session/scripts_test" } },
    { "member-forgets-set", "a set while a request is out is forgotten",
      at = "take_newest", find = "member->data_number = member->newest_number;",
      replace = "member->settled_number = member->data_number = member->newest_number;" },
    { "member-hidden", "a node that may not be read counts as a conflict, even the own node",
      at = "answer_get", find = "else zkl_member_read(member, MEMBER_EXISTS, ZKL_RPC_EXISTS);",
      replace = "else if (member->state == ZKL_MEMBER_JOINING) " ..
                "zkl_member_end(member, ZKL_CONFLICT, answer->rc);" },
    { "revoke-of-waiters", "a revocation that reaches a waiter is forgotten when it holds",
      at = "zkl_stake_give_handle", find = "stake->handles = 1;",
      replace = [[
        stake->handles = 1;
        stake->revoked_nonce = 0;]] },
    { "turns-revoked", "a turn that was revoked is handed on",
      at = "zkl_stake_take_data", find = "end_turn_if_revoked(stake);" },

    -- --- a server's answers -------------------------------------------------------------

    { "name-twice",
      "a name that a list has twice is in the line twice, and its czxid is read for ever",
      at = "zkl_line_replace", find = "filled = drop_repeated(list, filled);",
      also = { { at = "drop_repeated", find = "static size_t drop_repeated(",
          replace = [[
size_t drop_repeated(struct zkl_contender **list, size_t count);
size_t drop_repeated(]] } } },
    { "never-tires", "a failed attempt is followed by the next at once, for ever",
      at = "zkl_claim_spend_round", find = "return ++claim->rounds <= ZKL_ROUNDS;",
      replace = "return ++claim->rounds != 0;" },

    -- --- an owner's handles -----------------------------------------------------------

    { "BUG-16-other-owner", "the release of one handle gives up the hold of all handles",
      at = "end_code_of", find = "lease->end_code != ZKL_OK ? lease->end_code :" },
    { "upgrade", "a reader that wants to write enters again, beside the other readers",
      at = "may_enter_again", find = "&& (options->kind != ZKL_WRITE || writable)",
      replace = "|| writable" },
    { "clock-not-asked", "a handle tells its last reported state, without asking the clock",
      at = "end_code", find = "zkl_stake_check_loss(stake, stake->session->now)",
      replace = "stake->claim.state == ZKL_GONE" },
    { "silent-loss", "a release does not tell that the lease had been lost",
      at = "zkl_lease_release", find = "return ended;", replace = "return ZKL_OK;" },
    { "lost-is-released", "a lost lease calls itself released once it was given up",
      at = "zkl_lease_release", find = "ended == ZKL_LOST ? ZKL_LOST :" },
    { "condition-waits-on", "a waiter in a condition waits on when its last handle is given up",
      at = "zkl_stake_release_without_handles",
      find = "else zkl_stake_perform(stake, zkl_claim_cancel(&stake->claim, ZKL_RELEASED));" },
    { "condition-not-of-owner", "release_all leaves the owner's waits in conditions",
      at = "is_granted_to", find = "stake->handles > 0 && stake->claim.wanted",
      replace = "zkl_claim_holds(&stake->claim)" },
    { "enters-anew", "an owner that holds the lock contends for it again, and waits for itself",
      at = "answered_by_grants", find = "if (held) {", replace = "if (held && !held) {" },
    { "release-all-next",
      "release_all also gives up the lock that a waiter of the owner gets meanwhile",
      at = "zkl_session_release_all", find = "was_granted && stake->handles == 0",
      replace = "was_granted", rare = true },
    { "release-all-lost", "release_all counts a grant that the clock had ended as released",
      at = "zkl_session_release_all", find = "zkl_stake_feed_all(session, zkl_claim_tick);",
      rare = true },

    -- --- limits -----------------------------------------------------------------------

    { "watches-unlimited",
      "any number of paths is watched, so the session cannot reconnect (ZOOKEEPER-706)",
      at = "zkl_room_fits_watches", find = "session->watches.bytes + bytes <= ZKL_WATCHES_MAX",
      replace = "true" },
    { "own-watch-limited", "a holder's node is not watched when no room is left for others' nodes",
      at = "watch_own", find = "struct call *call = new_call(stake, STAKE_GET_OWN, NULL);",
      replace = [[
    struct call *call = NULL;
    bool may = make_room_to_watch(stake, claim->node.name, ROOM_FREE);
    if (may) call = new_call(stake, STAKE_GET_OWN, NULL);]] },
    { "busy-turns", "in turns others' nodes are not counted",
      at = "zkl_claim_exceeds_max_waiters",
      find = "here += count_other_sessions(claim);",
      replace = "here += 0 * count_other_sessions(claim);" },

    -- --- measures -----------------------------------------------------------------------

    { "histogram-coarse", "a time is counted in a bucket twice as wide",
      at = "bucket_of", find = "(size_t)(units >> doublings)",
      replace = "((size_t)(units >> doublings) & ~(size_t)1)" },

    -- --- ends of waits, and of sessions -----------------------------------------------

    { "try-mute", "a try whose list shows that the lock is taken says timeout",
      at = "try_listed", find = "fail(claim, ZKL_BUSY)", replace = "fail(claim, ZKL_TIMEOUT)" },
    { "try-mute-race", "a try that finds a node before its own says timeout",
      at = "advance", find = "fail(claim, ZKL_BUSY)", replace = "fail(claim, ZKL_TIMEOUT)" },
    { "try-mute-permits", "a try that loses the race for permits says timeout",
      at = "advance_permits", find = "fail(claim, ZKL_BUSY)",
      replace = "fail(claim, ZKL_TIMEOUT)" },
    { "try-mute-unfair", "a try that finds the fixed name taken says timeout",
      at = "wait_for_end", find = "fail(claim, ZKL_BUSY)", replace = "fail(claim, ZKL_TIMEOUT)" },
    { "try-mute-held", "a try that hears that a kept lock is held says timeout",
      at = "zkl_claim_ahead_is_held", find = "fail(claim, ZKL_BUSY)",
      replace = "fail(claim, ZKL_TIMEOUT)" },
    { "try-guesses", "a try that loses its connection says busy",
      at = "zkl_claim_suspend", find = "zkl_claim_cancel(claim, ZKL_TIMEOUT)",
      replace = "zkl_claim_cancel(claim, ZKL_BUSY)" },
    { "try-guesses-robbed", "a try whose node somebody removed says busy",
      at = "zkl_claim_requeue", find = "fail(claim, ZKL_TIMEOUT)",
      replace = "fail(claim, ZKL_BUSY)" },
    { "interrupt-acquires-only", "an interrupt ends the waits for a lock, and no others",
      at = "zkl_request_cancel", find = "else zkl_request_finish(request, why, 0);",
      replace = "else if (why != ZKL_INTERRUPTED) zkl_request_finish(request, why, 0);" },
    { "drain-keeps", "a session that drains goes on to keep nodes",
      at = "zkl_claim_stop_keeping", find = "return claim->state == ZKL_KEPT ?",
      replace = "return claim->state == ZKL_GONE ?" },
}
