--- core.lua - defects of src/core, and of src/session those that the simulator catches.
-- mutant.lua says what a row is.
--
-- Named after where the defect was seen: BUG-... in locks that applications wrote for themselves,
-- CURATOR-... in Curator (its issue), the others in the client that they name. The rest are our
-- own.

return {

    -- --- applications' own locks ------------------------------------------------------

    {
        name = "BUG-01",
        what = "a deletion wakes every waiter, also one that waits for somebody else",
        at = "zkl_claim_ahead_deleted",
        find = [[
    if (!awaits(claim, contender)) return 0;
    claim->rounds = 0;
    return ahead_gone(claim, contender, now);]],
        replace = [[
    if (claim->state != ZKL_WAIT) return 0;
    return ahead_gone(claim, claim->ahead, now);]],
    },
    {
        name = "walk",
        what = "whoever was ahead is asked for one after the other, a round trip each",
        at = "ahead_gone",
        find = "claim->recheck = !claim->heading;",
        replace = "",
    },
    {
        name = "recheck-for-ever",
        what = "the others ahead are asked for again and again, though they are there",
        at = "zkl_claim_ranked",
        find = "claim->recheck = false;",
        replace = "",
    },
    {
        name = "recheck-after-list",
        what = "a list, too, leaves the others ahead to be asked for",
        at = "own_listed",
        find = "claim->recheck = false;",
        replace = "",
    },
    {
        name = "recheck-refused",
        what = "a contender ahead that may not be read fails the claim, though it need not be read",
        at = "zkl_claim_ranked",
        find = "&& claim->line->exhausted",
        replace = "",
    },
    {
        name = "recheck-near",
        what = "a claim of permits looks again, though it would watch all that are ahead",
        at = "rechecks_by_list",
        find = "&& !is_near(claim)",
        replace = "",
    },
    {
        name = "recheck-cut",
        what = "a claim that looked at others when the connection was lost does not list",
        at = "zkl_claim_suspend",
        find = "if (claim->state == ZKL_WAIT || claim->state == ZKL_RANK)",
        replace = "if (claim->state == ZKL_WAIT)",
    },
    {
        name = "BUG-02",
        what = "each answer asks anew: requests pile up, as calls do where a wait is a recursion",
        at = "zkl_claim_got_ahead",
        find = "case ZKL_DONE: break;",
        replace = "case ZKL_DONE: return ZKL_DO_WATCH_AHEAD;",
    },
    {
        name = "BUG-03-try",
        what = "a failed try leaves its node in the line",
        at = "zkl_claim_advance",
        find = "if (claim->trying) return fail(claim, ZKL_TIMEOUT) | leave(claim);",
        replace = "if (claim->trying) return fail(claim, ZKL_TIMEOUT) | gone(claim);",
    },
    {
        name = "BUG-03-deadline",
        what = "a wait that ends by its deadline leaves its node in the line",
        at = "zkl_claim_cancel",
        find = [[
        return fail(claim, why) | zkl_batch_leave(claim);
    case ZKL_RECOVER_STAT:]],
        replace = [[
        return fail(claim, why) | gone(claim);
    case ZKL_RECOVER_STAT:]],
    },
    {
        name = "BUG-07",
        what = "names are compared as text, numbers and all",
        at = "compare",
        find = "if (sequence != other->sequence) return sequence < other->sequence ? -1 : 1;",
        replace = "",
    },
    {
        name = "BUG-11-missing",
        what = "the own node is not in the list: taken for the lock",
        at = "zkl_claim_advance",
        find = "zkl_claim_requeue(claim)",
        replace = "admit(claim, now)",
    },
    {
        name = "BUG-11-vanished",
        what = "the predecessor vanished before it could be watched: taken for the lock",
        at = "zkl_claim_got_ahead",
        find = "case ZKL_ABSENT: return ahead_gone(claim, contender, now);",
        replace = "case ZKL_ABSENT: return admit(claim, now);",
    },
    {
        name = "BUG-11-error",
        what = "the predecessor cannot be looked at: taken for the lock",
        at = "zkl_claim_got_ahead",
        find = "case ZKL_REFUSED: return fail(claim, why) | leave(claim);",
        replace = "case ZKL_REFUSED: return admit(claim, now);",
    },
    {
        name = "BUG-12",
        what = "the predecessor is gone: granted without a look who else is ahead",
        at = "ahead_gone",
        find = [[
    claim->recheck = !claim->heading;
    return zkl_claim_advance(claim, now);]],
        replace = "return admit(claim, now);",
    },
    {
        name = "BUG-13-waiter",
        what = "a waiter is not told that its session expired",
        at = "zkl_claim_expire",
        find = "else if (claim->wanted) actions = fail(claim, ZKL_EXPIRED);",
        replace = "",
    },
    {
        name = "BUG-13-holder",
        what = "a holder is not told that its session expired",
        at = "zkl_claim_expire",
        find = [[
    if (zkl_claim_holds(claim)) actions = lose(claim);
    else]],
        replace = "",
    },
    {
        name = "BUG-13-latch",
        what = "a watch that was used up by a change is not set again",
        at = "zkl_claim_ahead_changed",
        find = "return ZKL_DO_WATCH_AHEAD;",
        replace = "return 0;",
    },
    {
        name = "BUG-16",
        what = "a node is removed without asking whose it is: any unknown one counts as an orphan",
        at = "zkl_line_orphan",
        find = "contender->session == session &&",
        replace = "",
    },
    {
        name = "BUG-16-lost",
        what = "a release after the lease was lost deletes all the same",
        at = "zkl_claim_release",
        find = "if (claim->state != ZKL_HELD) return 0;",
        replace = "",
    },

    -- --- Curator ----------------------------------------------------------------------

    {
        name = "CURATOR-604",
        what = "a node of the previous session is adopted, and granted",
        at = "known",
        find = "if (owner != claim->common->session) return zkl_claim_requeue(claim);",
        replace = "",
    },
    {
        name = "CURATOR-264",
        what = "a create whose reply is lost is made again while the first may stand: two nodes",
        at = "not_created",
        find = [[
        claim->state = ZKL_RECOVER_SYNC;
        claim->stalled = claim->doubted = true;
        return ZKL_DO_DOUBT;]],
        replace = "return enter(claim);",
    },
    {
        name = "CURATOR-206",
        what = "a lease outlives its session: the next one revives it",
        at = "zkl_claim_expire",
        find = "if (claim->state == ZKL_GONE) return 0;",
        replace = "if (claim->state == ZKL_GONE || claim->state == ZKL_HELD) return 0;",
    },
    {
        name = "CURATOR-498",
        what = "a lost create's node is found by its nonce alone: another session's will do",
        at = "zkl_line_find_nonce",
        find = "contender->session == session &&",
        replace = "",
    },

    -- --- other clients ----------------------------------------------------------------

    {
        name = "kazoo-leak-A",
        what = "a delete whose reply is lost is not repeated (kazoo #732)",
        at = "zkl_claim_removed",
        find = "if (reply == ZKL_DONE || reply == ZKL_ABSENT) return gone(claim);",
        replace = "if (reply != ZKL_REFUSED) return gone(claim);",
    },
    {
        name = "kazoo-leak-B",
        what = "a found node is given up by another name than its own, and stays",
        at = "seek_listed",
        find = "own(claim, found->name);",
        replace = "",
    },
    {
        name = "go-zookeeper-self-orphan",
        what = "a create whose reply is lost is reported as failed, and its node forgotten",
        at = "not_created",
        find = [[
        claim->state = ZKL_RECOVER_SYNC;
        claim->stalled = claim->doubted = true;
        return ZKL_DO_DOUBT;]],
        replace = "return (claim->wanted ? fail(claim, ZKL_CONNECTION) : 0) | gone(claim);",
    },
    {
        name = "C-recipe-shared-node",
        what = "a lost create's node is found by its session alone: two claims own one node",
        at = "zkl_line_find_nonce",
        find = "&& contender->nonce == nonce",
        replace = "",
    },
    {
        name = "etcd-11456-node",
        what = "after a wait nobody looks whether the own node still stands",
        at = "own_gone",
        find = "if (is_in_line(claim))",
        replace = [[
    bool stays = claim->state == ZKL_WAIT || claim->state == ZKL_PROVE;
    if (is_in_line(claim) && !stays)]],
    },
    {
        name = "etcd-11456-session",
        what = "after a wait nobody asks whether the session still lives",
        at = "admit",
        find = "!certain(claim, now)",
        replace = "false",
    },
    {
        name = "Menagerie-index",
        what = "a claim that is not in the line counts as its first (index -1)",
        at = "zkl_line_ahead",
        find = "return at ? line->contenders[at - 1] : NULL;",
        replace = "return at > 1 ? line->contenders[at - 1] : NULL;",
    },

    -- --- our own: names and the line --------------------------------------------------

    {
        name = "serial-numbers",
        what = "numbers past their end are compared as serial numbers (RFC 1982), not by czxid",
        at = "numbers_exhausted",
        find = "if (zkl_sequence_exhausted(here->sequence)) return true;",
        replace = "",
        also = { {
            at = "compare",
            find = "if (sequence != other->sequence) return sequence < other->sequence ? -1 : 1;",
            replace = [[
    if (sequence != other->sequence)
        return (int32_t)((uint32_t)sequence - (uint32_t)other->sequence);]],
        } },
    },
    {
        name = "frozen-counter",
        what = "equal numbers past the limit are ordered by name",
        at = "zkl_line_replace",
        find = "numbers_exhausted(line)",
        replace = "false",
    },
    {
        name = "newer-first",
        what = "by czxid, the farthest one ahead is watched, not the nearest",
        at = "zkl_line_ahead",
        find = "contender->czxid > nearest->czxid",
        replace = "contender->czxid < nearest->czxid",
    },
    {
        name = "claimed-orphan",
        what = "a node of a claim that lives is taken for an orphan",
        at = "zkl_line_replace",
        find = "if (list[i]->seen > line->serial) list[i]->claimed = is_claimed(line, list[i]);",
        replace = "",
    },
    {
        name = "no-orphans",
        what = "a node of ours that no claim answers for is never removed",
        at = "zkl_line_orphan",
        find = "if (session == 0)",
        replace = "",
    },
    {
        name = "downgraded-writer",
        what = "behind a writer that went, its downgraded reader is overlooked",
        at = "zkl_line_forget",
        find = "if (contender->kind == ZKL_WRITE) line->incomplete = true;",
        replace = "",
    },
    {
        name = "foreign-children",
        what = "a child that is no contender is waited for",
        at = "parse_counter",
        find = [[
    if (!find_marker(text, length - width, &name->kind) &&
        !parse_permits(text, length - width, name))
        return false;]],
        replace = [[
    if (!find_marker(text, length - width, &name->kind))
        parse_permits(text, length - width, name);]],
    },
    {
        name = "negative-numbers",
        what = "the sign of a number past the limit is dropped",
        at = "parse_counter",
        find = "(negative ? -value : value)",
        replace = "value",
    },

    -- --- our own: the claim -----------------------------------------------------------

    {
        name = "list-without-create",
        what = "the list that came with a lost create counts as the look after it",
        at = "zkl_claim_listed",
        find = "case ZKL_RECOVER_LIST: return seek_listed(claim, reply, why);",
        replace = [[
    case ZKL_RECOVER_SYNC:
    case ZKL_RECOVER_LIST: return seek_listed(claim, reply, why);]],
    },
    {
        name = "no-sync",
        what = "no sync before a lost create is looked for: a server that lags hides it",
        at = "zkl_claim_resume",
        find = "case ZKL_RECOVER_SYNC: return ZKL_DO_SYNC | ZKL_DO_LIST;",
        replace = "case ZKL_RECOVER_SYNC: claim->state = ZKL_RECOVER_LIST; return ZKL_DO_LIST;",
    },
    {
        name = "ungranted",
        what = "a list that comes late takes a grant back",
        at = "zkl_claim_listed",
        find = "case ZKL_LIST: return own_listed(claim, reply, why, now);",
        replace = [[
    case ZKL_HELD:
    case ZKL_LIST: return own_listed(claim, reply, why, now);]],
    },
    {
        name = "nonce-reused",
        what = "the attempt after a lost one has the same nonce",
        at = "zkl_claim_enter",
        find = "claim->nonce = ++claim->common->nonces;",
        replace = "if (!claim->nonce) claim->nonce = ++claim->common->nonces;",
    },
    {
        name = "lost-delete-event",
        what = "after a reconnect a deletion counts as before, though its order says nothing",
        at = "zkl_claim_suspend",
        find = [[
    if (claim->state == ZKL_WAIT || claim->state == ZKL_RANK) claim->line->incomplete = true;]],
        replace = "",
    },
    {
        name = "deadline-while-stalled",
        what = "the deadline is not looked at while there is no connection",
        at = "zkl_claim_tick",
        find = "now >= claim->deadline",
        replace = "now >= claim->deadline && !claim->stalled",
    },
    {
        name = "overtaking",
        what = "on a path that is not known to exist, claims do not wait for the first",
        at = "zkl_claim_start",
        find = "|| follows(claim)",
        replace = "",
    },
    {
        name = "stranded-followers",
        what = "claims that let the first on a path go alone are forgotten when it fails",
        at = "zkl_claim_created",
        find = "return actions | make_way(claim);",
        replace = [[
    return claim->line->opened ? actions | make_way(claim) : actions;]],
    },
    {
        name = "unwatched-holder",
        what = "a holder never watches its node",
        at = "zkl_claim_beat",
        find = [[
    if (claim->state != ZKL_HELD || claim->own_watched) return 0;
    claim->own_watched = true;
    return ZKL_DO_WATCH_OWN;]],
        replace = "return 0;",
    },
    {
        name = "no-second-doubt",
        what = "a release does not look for what a lost create may have left",
        at = "zkl_claim_release",
        find = "if (claim->doubted && removing && !zkl_kind_is_fixed(claim->kind))",
        replace = "if (false)",
    },
    {
        name = "no-late-look",
        what = "a create that stayed unknown is not looked for a session timeout later",
        at = "not_created",
        find = "return ZKL_DO_DOUBT;",
        replace = "return 0;",
    },
    {
        name = "forgotten-cancel",
        what = "a cancelled claim whose create is on its way is forgotten at once",
        at = "zkl_claim_cancel",
        find = "case ZKL_RECOVER_LIST:",
        replace = "case ZKL_RECOVER_LIST: return fail(claim, why) | gone(claim);",
    },

    {
        name = "found-unranked",
        what = "a node that was found takes its place before the czxids are known",
        at = "seek_listed",
        find = "claim->listed = claim->line->serial;",
        replace = "",
    },
    {
        name = "old-refusal",
        what = "a refusal of parents that did not matter ends a later attempt",
        at = "create_answered",
        find = "claim->refusal = ZKL_OK;",
        replace = "",
    },
    {
        name = "stale-news",
        what = "what is learned of a former predecessor counts for the present one",
        at = "zkl_claim_got_ahead",
        find = "!awaits(claim, contender)",
        replace = "claim->state != ZKL_WAIT",
    },
    {
        name = "always-one-by-one",
        what = "a path is never known to exist: claims enter one after the other",
        at = "zkl_claim_created",
        find = "claim->line->opened = reply == ZKL_DONE;",
        replace = "",
    },

    -- --- our own: readers and writers -------------------------------------------------

    {
        name = "reader-behind-readers",
        what = "a reader waits for the readers ahead of it",
        at = "zkl_line_ahead",
        find = [[
        while (at > 0 && !zkl_kinds_exclude(claim->kind, line->contenders[at - 1]->kind)) at--;]],
        replace = "",
    },
    {
        name = "reader-passes-mutex",
        what = "a reader passes over a mutex that is ahead of it",
        at = "zkl_line_ahead",
        find = "!zkl_kinds_exclude(claim->kind, line->contenders[at - 1]->kind)",
        replace = "claim->kind == ZKL_READ && line->contenders[at - 1]->kind != ZKL_WRITE",
    },
    {
        name = "exhausted-kinds",
        what = "past the end of the counter a reader waits for readers",
        at = "zkl_line_ahead",
        find = "if (!zkl_kinds_exclude(claim->kind, contender->kind)) continue;",
        replace = "",
    },
    {
        name = "reader-tries-first",
        what = "a reader's try looks at the holder only, not at a writer that waits",
        at = "zkl_line_is_free",
        find = "if (zkl_kinds_exclude(kind, line->contenders[i]->kind)) return false;",
        replace = "if (i == 0 && zkl_kinds_exclude(kind, line->contenders[i]->kind)) return false;",
    },
    {
        name = "share-lets-go",
        what = "a writer that becomes a reader holds nothing until the reply",
        at = "zkl_claim_holds",
        find = "|| (claim->state == ZKL_DOWNGRADE && claim->wanted)",
        replace = "",
    },
    {
        name = "share-absent",
        what = "a writer whose node is gone becomes a reader",
        at = "zkl_claim_downgraded",
        find = "case ZKL_ABSENT: return (claim->wanted ? lose(claim) : 0) | gone(claim);",
        replace = "case ZKL_ABSENT: become_reader(claim); break;",
    },
    {
        name = "share-unknown-done",
        what = "a writer counts as a reader although the reply is lost",
        at = "zkl_claim_downgraded",
        find = "claim->unsettled = true; return stall(claim);",
        replace = "become_reader(claim); break;",
    },
    {
        name = "first-refused",
        what = "who is about to be first waits on, though it would not hear that its node is gone",
        at = "is_in_line",
        find = "|| state == ZKL_PROVE || state == ZKL_FIRST",
        replace = "",
    },
    {
        name = "first-unheard",
        what = "who is first waits on, though the answer of its watch was lost",
        at = "zkl_claim_got_own",
        find = "|| claim->state == ZKL_FIRST",
        replace = "",
    },
    {
        name = "share-unknown-refused",
        what = "a writer counts as one although a lost reply may have made it a reader",
        at = "zkl_claim_downgraded",
        find = "claim->unsettled = true; return stall(claim);",
        replace = "claim->refusal = ZKL_CONNECTION; break;",
    },
    {
        name = "share-refused-again",
        what = "a refusal after a lost reply counts, though the first may have been carried out",
        at = "zkl_claim_downgraded",
        find = "if (claim->unsettled) return stall(claim);",
        replace = "",
    },
    {
        name = "share-old-name",
        what = "a release while a writer becomes a reader removes the writer's node only",
        at = "zkl_claim_release",
        find = "if (claim->state == ZKL_DOWNGRADE) claim->wanted = false;",
        replace = "if (claim->state == ZKL_DOWNGRADE) return leave(claim);",
    },
    {
        name = "share-past-limit",
        what = "a writer becomes a reader near the end of the counter, and loses its place",
        at = "zkl_claim_may_downgrade",
        find = "&& claim->sequence < ZKL_DOWNGRADE_LIMIT",
        replace = "",
    },
    {
        name = "share-own-deleted",
        what = "the deletion of the writer's node, which is its own doing, is taken for a loss",
        at = "own_gone",
        find = "if (claim->state == ZKL_HELD)",
        replace = "if (claim->state == ZKL_HELD || claim->state == ZKL_DOWNGRADE)",
    },
    {
        name = "share-unwatched",
        what = "the reader's node is not watched, for the writer's was",
        at = "zkl_claim_downgraded",
        find = "claim->own_watched = false;",
        replace = "",
    },

    -- --- our own: the lease clock -----------------------------------------------------

    {
        name = "proof-at-reply",
        what = "a proof counts from its reply, not from its request",
        at = "zkl_clock_prove",
        find = "if (issued <= clock->proof) return;",
        replace = [[
    issued = now;
    if (issued <= clock->proof) return;]],
    },
    {
        name = "revived-lease",
        what = "a proof revives a lease that the clock had ended",
        at = "zkl_clock_prove",
        find = "if (ran_out(clock, now)) clock->epoch++;",
        replace = "",
    },
    {
        name = "held-unconnected",
        what = "a lease stays certain while the connection is gone",
        at = "zkl_clock_phase",
        find = "clock->connected &&",
        replace = "",
    },
    {
        name = "first-grant",
        what = "the first grant after an idle time counts like any other",
        at = "certain_for",
        find = "clock->margin < lone ? clock->margin : lone",
        replace = "clock->margin",
    },
    {
        name = "unnoticed-stop",
        what = "a proof counts although the process was stopped just before it",
        at = "certain_for",
        find = "if (clock->proof - clock->awake_since < reported) return 0;",
        replace = "",
    },
    {
        name = "short-chain",
        what = "a gap between proofs does not begin the chain anew",
        at = "zkl_clock_prove",
        find = "if (issued - clock->proof > clock->timeout / 5) chain = issued;",
        replace = "",
    },
    {
        name = "deposed-leader",
        what = "answers that came late carry on the chain of proofs",
        at = "zkl_clock_prove",
        find = "if (now - issued > clock->timeout / 4) chain = now;",
        replace = "",
    },
    {
        name = "longer-timeout",
        what = "a chain of proofs counts on when the server gives a longer timeout",
        at = "set_timeout",
        find = "if (timeout > clock->timeout) clock->steady_since = clock->proof;",
        replace = "",
    },
    {
        name = "epoch-again",
        what = "an epoch comes back after a session has ended: its leases are revived",
        at = "zkl_clock_stop",
        find = "clock->epoch++;",
        replace = "clock->epoch--;",
    },
    {
        name = "old-proof",
        what = "a proof of the previous session counts in the next",
        at = "zkl_clock_start",
        find = "clock->proof = clock->steady_since = clock->certain = issued - timeout;",
        replace = "",
    },
    {
        name = "clock-never-ends",
        what = "a lease is suspect for ever, never lost by the own clock",
        at = "zkl_claim_tick",
        find = [[
    if (zkl_clock_phase(&claim->common->clock, claim->epoch, now) != ZKL_PHASE_LOST) return 0;]],
        replace = "return 0;",
    },

    -- --- multi-locks ------------------------------------------------------------------

    {
        name = "part-granted-alone",
        what = "a part of a multi-lock is granted before the others are first in line",
        at = "admit",
        find = "if (is_part(claim) && !all_are(claim, ZKL_FIRST)) return watch_own(claim);",
        replace = "",
    },
    {
        name = "part-requeued",
        what = "a part of a multi-lock queues again alone: opposite orders deadlock",
        at = "zkl_claim_requeue",
        find = "is_part(claim) ||",
        replace = "",
    },
    {
        name = "parts-one-by-one",
        what = "the parts of a multi-lock enter one after another",
        at = "gather",
        find = "if (!all_are(claim, ZKL_CREATE)) return 0;",
        replace = "",
    },
    {
        name = "part-unwanted",
        what = "a multi-lock is granted though one of its parts was given up",
        at = "all_are",
        find = "!part->wanted ||",
        replace = "part->wanted &&",
    },
    {
        name = "part-not-watched",
        what = "a part that is first in line does not watch its node",
        at = "create_answered",
        find = "watch_own(claim) |",
        replace = "",
    },
    {
        name = "part-not-looked-again",
        what = "a part that was first in line trusts in that after a lost connection",
        at = "zkl_claim_suspend",
        find = [[
    if (claim->state != ZKL_FIRST) return 0;
    claim->state = ZKL_LIST;]],
        replace = "return 0;",
    },
    {
        name = "part-blocks-the-path",
        what = "claims that follow a part whose create is not sent wait for ever when it fails",
        at = "zkl_claim_cancel",
        find = "| make_way(claim)",
        replace = "",
    },

    -- --- one node of a fixed name ------------------------------------------------------

    {
        name = "unfair-blind-delete",
        what = "a delete of unknown outcome is repeated: perhaps of the next one's node",
        at = "zkl_claim_removed",
        find = [[
    if (reply == ZKL_UNKNOWN && zkl_kind_is_fixed(claim->kind)) claim->state = ZKL_RECOVER_SYNC;]],
        replace = "",
    },
    {
        name = "unfair-foreign",
        what = "after a lost reply any node of the name is taken for the own one",
        at = "found",
        find = "owner == claim->common->session",
        replace = "owner != 0",
    },
    {
        name = "unfair-own-other",
        what = "a delete is repeated if the node is the session's, be it another claim's",
        at = "sought",
        find = "czxid == claim->czxid",
        replace = "czxid != 0",
    },
    {
        name = "unfair-confused",
        what = "after a lost reply another claim's node is taken for the own one",
        at = "is_free_for",
        find = "each->czxid == czxid",
        replace = "each->czxid == 1",
    },
    {
        name = "unfair-two-unsure",
        what = "two claims of a session create at once",
        at = "follows",
        find = "if (is_unsure(each)) return true;",
        replace = "",
    },
    {
        name = "unfair-late-grant",
        what = "a waiter takes a create that landed late for its own",
        at = "found",
        find = "if (claim->state == ZKL_RECOVER_LIST) return sought(claim, ours, czxid, now);",
        replace = [[
    bool late = claim->state == ZKL_WAIT && ours && is_free_for(claim->line, claim, czxid);
    if (claim->state == ZKL_RECOVER_LIST || late) return sought(claim, ours, czxid, now);]],
    },
    {
        name = "unfair-stray",
        what = "a create that landed late stays until the session ends",
        at = "zkl_line_fixed_orphan",
        find = "return ZKL_ORPHAN;",
        replace = "return ZKL_ANSWERED;",
    },
    {
        name = "unfair-perhaps",
        what = "a node that a claim may have without knowing is removed",
        at = "zkl_line_fixed_orphan",
        find = "return ZKL_PERHAPS;",
        replace = "continue;",
    },
    {
        name = "unfair-replaced",
        what = "a holder whose name another one has goes on",
        at = "found",
        find = "ours && czxid == claim->czxid ? 0 : zkl_unfair_own_gone(claim)",
        replace = "0",
    },
    {
        name = "unfair-no-sync",
        what = "a get that is answered before its sync tells that there is no node",
        at = "zkl_unfair_got_own",
        find = "if (claim->state != ZKL_RECOVER_LIST) return zkl_unfair_own_gone(claim);",
        replace = [[
        if (claim->state != ZKL_RECOVER_LIST && claim->state != ZKL_RECOVER_SYNC)
            return zkl_unfair_own_gone(claim);]],
    },
    {
        name = "unfair-wait-removes",
        what = "a wait that ends removes the node, which is another's",
        at = "zkl_claim_cancel",
        find = "if (zkl_kind_is_fixed(claim->kind)) return fail(claim, why) | gone(claim);",
        replace = "",
    },
    {
        name = "unfair-no-follow",
        what = "who waits in the same session is not told when its turn has come",
        at = "gone",
        find = "zkl_kind_is_fixed(claim->kind) ||",
        replace = "",
    },
    {
        name = "unfair-local-herd",
        what = "each waiter of a session asks for itself",
        at = "follows",
        find = "if (!claim->trying && stands_for_all(each)) return true;",
        replace = "",
    },
    {
        name = "unfair-refused-delete",
        what = "a create goes behind a delete that was refused",
        at = "stands_for_all",
        find = "|| claim->stalled",
        replace = "",
    },
    {
        name = "unfair-short-pause",
        what = "a heartbeat ends a pause: all come at once again",
        at = "zkl_unfair_own_gone",
        find = "claim->stalled = false;",
        replace = "claim->stalled = true;",
    },

    -- --- permits -----------------------------------------------------------------------

    {
        name = "mark-unsent",
        what = "who is granted after a wait does not tell the next one",
        at = "advance_permits",
        find = "claim->unseen || claim->state != ZKL_HELD ? actions : actions | ZKL_DO_MARK;",
        replace = "actions;",
    },
    {
        name = "mark-once",
        what = "a mark whose reply is lost is not repeated",
        at = "zkl_claim_marked",
        find = "reply == ZKL_UNKNOWN ? stall(claim) : 0",
        replace = "0",
    },
    {
        name = "mark-before-watch",
        what = "a mark that came before the watch is not seen",
        at = "zkl_claim_ahead_marked",
        find = "claim->heading || zxid <= claim->heard",
        replace = "zxid > 0",
    },
    {
        name = "mark-again",
        what = "one mark is answered with one list after the other",
        at = "zkl_claim_ahead_marked",
        find = "claim->heard = zxid;",
        replace = "",
    },
    {
        name = "mark-too-early",
        what = "who fits by its first list tells nobody, though others may have seen it wait",
        at = "zkl_permits_unseen",
        find = "last->sequence <= claim->sequence",
        replace = "last",
    },
    {
        name = "mark-unseen-by-list",
        what = "who was granted by its list before its czxid was known tells nobody",
        at = "seek_listed",
        find = "claim->state = ZKL_RECOVER_STAT;",
        replace = [[
    claim->state = ZKL_RECOVER_STAT;
    claim->unseen = true;]],
    },
    {
        name = "head-watches-one",
        what = "who heads watches its predecessor only",
        at = "wait_for_any",
        find = "return (actions & ~(zkl_actions)ZKL_DO_WATCH_AHEAD) | ZKL_DO_HOLDERS;",
        replace = "return actions;",
    },
    {
        name = "head-forgets",
        what = "who heads does not watch a holder again that wrote to its node",
        at = "watch_again",
        find = "if (!contender)",
        replace = "",
    },
    {
        name = "head-asks-one-again",
        what = "who heads asks again for one holder only when gets were lost",
        at = "zkl_claim_resume",
        find = "if (claim->heading) return zkl_claim_advance(claim, now);",
        replace = "",
    },
    {
        name = "head-unranked",
        what = "who heads counts those ahead whose czxids it does not know as nobody",
        at = "still_waits",
        find = "if (!claim->heading || zkl_line_unranked(claim->line, claim, NULL)) return false;",
        replace = [[
    if (!claim->heading) return false;
    claim->line->exhausted = false;]],
    },
    {
        name = "head-off-by-one",
        what = "who is behind exactly as many permits as there are does not head",
        at = "zkl_permits_head",
        find = "<= claim->limit",
        replace = "< claim->limit",
    },
    {
        name = "permits-uncounted",
        what = "each holder counts as one permit",
        at = "taken",
        find = "sum += line->contenders[i]->permits",
        replace = "sum += 1",
    },
    {
        name = "permits-31-bits",
        what = "the sum of permits overflows",
        at = "taken",
        find = "return sum;",
        replace = "return (int32_t)(uint32_t)sum;",
    },
    {
        name = "limit-off-by-one",
        what = "one permit more than there are",
        at = "zkl_permits_fit",
        find = "<= claim->limit",
        replace = "<= claim->limit + 1",
    },
    {
        name = "small-passes-big",
        what = "a small request passes a big one that waits",
        at = "taken",
        find = "is_ahead(line, line->contenders[i], claim)",
        replace = [[
        is_ahead(line, line->contenders[i], claim) &&
            sum + line->contenders[i]->permits <= claim->limit]],
    },
    {
        name = "other-limit",
        what = "a limit that is not its own is nobody's concern",
        at = "advance_permits",
        find = "if (stranger) return zkl_claim_conflict(claim, stranger) | leave(claim);",
        replace = "",
    },
    {
        name = "conflict-stays",
        what = "a conflict leaves its node in the line",
        at = "advance_permits",
        find = "zkl_claim_conflict(claim, stranger) | leave(claim)",
        replace = "zkl_claim_conflict(claim, stranger) | gone(claim)",
    },
    {
        name = "try-writes",
        what = "a try for permits that are taken writes",
        at = "try_permits",
        find = [[
    if (!zkl_permits_fit(claim->line, claim)) return fail(claim, ZKL_TIMEOUT) | gone(claim);]],
        replace = "",
    },

    -- --- conditions -----------------------------------------------------------------

    {
        name = "longer-timeout-revives",
        what = "a longer timeout, negotiated at a reconnect, brings back what ran out",
        at = "zkl_clock_retime",
        find = "if (ran_out(clock, now)) clock->epoch++;",
        replace = "(void)now;",
    },
    {
        name = "refused-in-doubt",
        what = "a refusal after a lost reply leaves the lock held, as if nothing had happened",
        at = "was_refused",
        find = "&& !waiter->doubted",
        replace = "",
    },
    {
        name = "expiry-is-a-signal",
        what = "a waiter whose node is gone counts as signalled (Menagerie)",
        at = "zkl_claim_partner_changed",
        find = "waiter->state == ZKL_SIGNALLED",
        replace = "waiter->state >= ZKL_SIGNALLED",
    },
    {
        name = "signal-swallowed",
        what = "a deadline that meets a signal takes it along (Menagerie)",
        at = "zkl_claim_removed",
        find = [[
    if (reply == ZKL_REFUSED && claim->waits && !claim->settled)
        return zkl_waiter_forward(claim);]],
        replace = "if (reply == ZKL_REFUSED && claim->waits) return gone(claim);",
    },
    {
        name = "signal-not-passed-on",
        what = "a signal whose lock is not had again in time goes with its node",
        at = "zkl_claim_cancel",
        find = "case ZKL_SIGNALLED: return fail(claim, why) | zkl_waiter_forward(claim);",
        replace = [[
    case ZKL_SIGNALLED: claim->settled = true; return fail(claim, why) | leave(claim);]],
    },
    {
        name = "signal-taken-twice",
        what = "a signal that was taken is passed on as well",
        at = "zkl_waiter_take",
        find = "claim->settled = true;",
        replace = "",
    },
    {
        name = "signal-without-lock",
        what = "a signal is written whether its giver has the lock or not",
        at = "next_writes",
        find = "zkl_guard_new(request->stakes.count, most)",
        replace = "zkl_guard_new(0, most)",
    },
    {
        name = "signal-over-signal",
        what = "a signal is given to somebody who has one: of two, one is lost",
        at = "add",
        find = ".kind = ZKL_OP_SET,",
        replace = ".kind = ZKL_OP_SET, .version = -1,",
    },
    {
        name = "broadcast-to-few",
        what = "a broadcast ends with the first transaction",
        at = "zkl_signal_next",
        find = "request->signalled && !request->all",
        replace = "request->signalled",
    },
    {
        name = "signal-to-itself",
        what = "who passes a signal on may have it again",
        at = "next_heir",
        find = "&& each != own",
        replace = "",
    },
    {
        name = "signal-to-those-ahead",
        what = "a signal is passed to those ahead, too, who have theirs",
        at = "first_behind",
        find = "if (line->contenders[i] == own) return i + 1;",
        replace = "if (line->contenders[i] == own) return 0;",
    },
    {
        name = "signal-by-number",
        what = "a signal is passed on by numbers that tell no order",
        at = "first_behind",
        find = "if (line->exhausted) return 0;",
        replace = "",
    },
    {
        name = "signal-lost-with-reply",
        what = "who may still have the signal is passed over",
        at = "zkl_claim_forwarded",
        find = "drop_ahead(claim);",
        replace = "",
    },
    {
        name = "called-twice",
        what = "each write to a waiter's node is a signal",
        at = "zkl_claim_signalled",
        find = "|| claim->state != ZKL_WAIT",
        replace = "",
    },
    {
        name = "wait-of-a-try",
        what = "who was granted by a try gives the wait up with the connection",
        at = "zkl_claim_await",
        find = "lock->trying = lock->stalled = false;",
        replace = "lock->stalled = false;",
    },
    {
        name = "wait-without-deadline",
        what = "the wait has the deadline of the acquire",
        at = "zkl_claim_await",
        find = "lock->deadline = deadline;",
        replace = "",
    },
    {
        name = "stays-unwatched",
        what = "who could not wait believes that its node is watched",
        at = "stay",
        find = "lock->own_watched = false;",
        replace = "",
    },
    {
        name = "waits-with-lock",
        what = "a wait that is given up leaves the lock's node",
        at = "zkl_claim_partner_changed",
        find = "(waiter->left ? gone(lock) : leave(lock))",
        replace = "gone(lock)",
    },
    {
        name = "away-for-ever",
        what = "a wait that begins too late leaves the lock's claim away",
        at = "zkl_waiter_began",
        find = "| ZKL_DO_TELL_PARTNER",
        replace = "",
    },
    {
        name = "lock-left-twice",
        what = "the lock's node, which is gone, is deleted again",
        at = "zkl_waiter_began",
        find = "claim->left = true;",
        replace = "",
    },
    {
        name = "partner-dangles",
        what = "a claim that is freed is still somebody's partner",
        at = "zkl_claim_detach",
        find = "if (claim->partner) claim->partner->partner = NULL;",
        replace = "",
    },
    {
        name = "waits-once",
        what = "the end of one wait cuts the next one off from its lock",
        at = "zkl_waiter_take",
        find = "if (claim->partner) claim->partner->partner = NULL;",
        replace = "",
    },
    {
        name = "orphan-takes-signal",
        what = "a waiter's node that landed late is removed with its signal",
        at = "zkl_claim_adopt",
        find = "claim->waits = claim->line->condition;",
        replace = "",
    },
    {
        name = "early-list",
        what = "the look for the next waiter is not asked again",
        at = "zkl_claim_resume",
        find = [[
    case ZKL_LIST:
    case ZKL_FORWARD: return ZKL_DO_LIST;]],
        replace = [[
    case ZKL_LIST: return ZKL_DO_LIST;
    case ZKL_FORWARD: return 0;]],
    },

    -- --- batches ----------------------------------------------------------------------

    {
        name = "batch-unlisted",
        what = "a holder hands on a node that the latest list lacks",
        at = "may_hand_over",
        find = "&& zkl_line_find(claim->line, claim->name)",
        replace = "",
    },
    {
        name = "batch-one-more",
        what = "a batch has one grant more than it says",
        at = "ends_batch",
        find = "claim->served + 1",
        replace = "claim->served",
    },
    {
        name = "batch-uncounted",
        what = "the grants of a node are not counted: two have one token",
        at = "hand_over",
        find = "claim->served + held",
        replace = "claim->served",
    },
    {
        name = "batch-counts-on",
        what = "a new node counts on where the one before was",
        at = "zkl_claim_enter",
        find = "claim->served = 0;",
        replace = "",
    },
    {
        name = "batch-other-attempt",
        what = "the heir has the node, but not its nonce: it is taken for an orphan",
        at = "hand_over",
        find = "heir->nonce = claim->nonce;",
        replace = "",
    },
    {
        name = "batch-place-granted",
        what = "the heir of a place is granted as if that were the lock",
        at = "hand_over",
        find = "held &&",
        replace = "",
    },
    {
        name = "batch-unlooked",
        what = "after a lost connection the heir does not look whether the node is there",
        at = "hand_over",
        find = "&& connected(claim)",
        replace = "",
    },
    {
        name = "batch-unwatched",
        what = "the heir believes that its node is watched",
        at = "hand_over",
        find = "heir->own_watched = false;",
        replace = "heir->own_watched = claim->own_watched;",
    },
    {
        name = "batch-undoubted",
        what = "with the node the doubt is not handed on: what landed late stays",
        at = "hand_over",
        find = "heir->doubted = claim->doubted;",
        replace = "",
    },
    {
        name = "batch-heir-asleep",
        what = "the heir is not told that it has the node",
        at = "zkl_batch_leave",
        find = "return connected(claim) ? ZKL_DO_FORGET | ZKL_DO_FOLLOW : ZKL_DO_FORGET;",
        replace = "return ZKL_DO_FORGET;",
    },
    {
        name = "batch-place-lost",
        what = "who gives up does not hand its place on",
        at = "zkl_claim_cancel",
        find = "case ZKL_PROVE: return fail(claim, why) | zkl_batch_leave(claim);",
        replace = "case ZKL_PROVE: return fail(claim, why) | leave(claim);",
    },
    {
        name = "batch-passes-over",
        what = "an earlier one that has a node of its own is passed over",
        at = "successor",
        find = "if (is_under_way(each)) return NULL;",
        replace = "",
    },
    {
        name = "batch-no-order",
        what = "who comes later goes first after a lost connection",
        at = "goes_first",
        find = "if (earlier && may_succeed(claim)) return true;",
        replace = "(void)earlier;",
    },
    {
        name = "batch-late-entry",
        what = "the next one enters only when the batch has gone",
        at = "admit",
        find = "| (ends_batch(claim) ? make_way_in_batch(claim) : 0)",
        replace = "",
    },
    {
        name = "batch-stranded",
        what = "who follows one that fails or leaves is not told",
        at = "make_way_in_batch",
        find = "claim->batch > 0",
        replace = "claim->batch < 0",
    },
    {
        name = "batch-yield-late",
        what = "who yields hands its node on all the same",
        at = "zkl_claim_yield",
        find = "claim->batch = claim->served + 1;",
        replace = "",
    },
    {
        name = "batch-token-czxid",
        what = "all grants of a node have one token",
        at = "zkl_claim_token",
        find = "+ claim->served",
        replace = "",
    },
    {
        name = "batch-token-overflow",
        what = "tokens of a very large czxid overflow",
        at = "zkl_claim_advance",
        find = "ZKL_BATCH_CZXID_MAX",
        replace = "INT64_MAX - 1",
    },

    -- --- guards, questions, watchers, revocations ----------------------------------------

    {
        name = "ghosts-in-line",
        what = "the queue shows who went between its list and its look",
        at = "queue_complete",
        find = "request->queue[i].czxid || all",
        replace = "request",
    },
    {
        name = "guard-unguarded",
        what = "a guard writes whether or not the lease's node exists",
        at = "zkl_guard_send",
        find = "guard->ops, guard->count",
        replace = "guard->ops + 1, guard->count - 1",
    },
    {
        name = "guard-repeated",
        what = "a guard whose answer was lost is sent again",
        at = "zkl_guard_answer",
        find = "end(request, ZKL_TIMEOUT, answer->rc);",
        replace = "zkl_query_again(request);",
    },
    {
        name = "check-without-sync",
        what = "a check asks the follower alone: it may not know of the loss",
        at = "ask_check",
        find = "if (sync) zkl_call_sync(sync, zkl_stakes_at(stakes, 0)->path->text);",
        replace = [[
    const struct stake *own = zkl_stakes_at(stakes, 0);
    if (sync) zkl_call_get(sync, own->path->text, own->claim.name);]],
    },
    {
        name = "check-of-session",
        what = "a check looks at the session alone, not at the node",
        at = "check_got",
        find = "answer->reply == ZKL_ABSENT",
        replace = "false",
    },
    {
        name = "watch-after-close",
        what = "what a watch has to tell is told after the session was closed",
        at = "zkl_session_close",
        find = "zkl_watcher_end_all(session);",
        replace = "",
    },
    {
        name = "watch-by-version",
        what = "a node that was deleted and made again is taken for the old one",
        at = "equal",
        find = "a->czxid != b->czxid || a->mzxid != b->mzxid ||",
        replace = "",
    },
    {
        name = "watch-never-checked",
        what = "a watch that the server used up without a word is never set again",
        at = "answer_exists",
        find = "else if (watcher->checking && !shows(answer, last)) look_again(watcher, 0);",
        replace = "else (void)last;",
    },
    {
        name = "expired-queries",
        what = "a query that was under way when the session expired is not answered",
        at = "zkl_session_expired",
        find = "zkl_request_fail_all(session, ZKL_EXPIRED);",
        replace = "",
    },
    {
        name = "revoke-by-any-word",
        what = "whoever writes into a holder's node revokes it",
        at = "zkl_stake_take_data",
        find = "memcmp(answer->text, mark, strlen(mark)) == 0",
        replace = "true",
    },
    {
        name = "revoke-of-waiters",
        what = "a wish that reaches a waiter is forgotten when it holds",
        at = "zkl_multi_grant",
        find = "part->phase = ZKL_PHASE_HELD;",
        replace = [[
        part->phase = ZKL_PHASE_HELD;
        part->revoked = false;]],
    },
    {
        name = "turns-revoked",
        what = "a turn that was revoked is handed on",
        at = "zkl_stake_take_data",
        find = "end_turn(stake);",
        replace = "",
    },
    {
        name = "starved-untold",
        what = "a claim for whose request there was no memory is not told so: it waits for ever",
        at = "starve",
        find = "stake->session->starving = true;",
        replace = "",
    },
    {
        name = "starved-goes-on",
        what = "what a claim asks for after a request without memory is sent",
        at = "call_for",
        find = "stake->starved ? NULL :",
        replace = "",
    },

    -- --- what a server says -------------------------------------------------------------

    {
        name = "name-twice",
        what = "a name that a list has twice is in the line twice: its czxid is read for ever",
        at = "zkl_line_replace",
        find = "filled = drop_repeated(list, filled);",
        replace = "",
        also = { {
            at = "drop_repeated",
            find = "static size_t drop_repeated(",
            replace = [[
size_t drop_repeated(struct zkl_contender **list, size_t count);
size_t drop_repeated(]],
        } },
    },
    {
        name = "never-tires",
        what = "an attempt that came to nothing is followed by the next at once, for ever",
        at = "zkl_claim_tires",
        find = "return ++claim->rounds > ZKL_ROUNDS;",
        replace = "return ++claim->rounds == 0;",
    },

    -- --- an owner's handles -----------------------------------------------------------

    {
        name = "BUG-16-other-owner",
        what = "a handle that was released gives up the other handles' hold",
        at = "end_of",
        find = "lease->released ? ZKL_RELEASED :",
        replace = "",
    },
    {
        name = "first-handle",
        what = "the node goes with the first handle that is given up, not with the last",
        at = "zkl_stake_give_up",
        find = [[
    if (stake->handles > 0) zkl_stake_writers_gone(stake);
    else]],
        replace = "",
    },
    {
        name = "any-owner-enters",
        what = "whoever asks enters a lock that its session holds",
        at = "held_by",
        find = "&& strcmp(stake->owner, owner) == 0",
        replace = "",
    },
    {
        name = "upgrade",
        what = "a reader that wants to write enters again, beside the other readers",
        at = "may_enter_again",
        find = "&& (options->kind != ZKL_WRITE || writable)",
        replace = "|| writable",
    },
    {
        name = "early-reader",
        what = "the node becomes a reader's while the owner still writes by another handle",
        at = "zkl_stake_writers_gone",
        find = "stake->writers == 0 &&",
        replace = "",
    },
    {
        name = "multi-re-entered",
        what = "an owner that holds a lock waits for itself in a multi-lock with it",
        at = "are_new",
        find = "if (!path || !held_by(request->session, path, options[i].owner)) continue;",
        replace = "if (path || !path) continue;",
    },
    {
        name = "own-permits",
        what = "an owner's permits do not count: it waits for itself",
        at = "permits_of",
        find = "permits += claim->permits",
        replace = "permits += 0",
    },
    {
        name = "mixed-kinds",
        what = "a session uses one path as a mutex and as a read-write lock",
        at = "is_mixed",
        find = "!claim->wanted || is_same_use(claim, options)",
        replace = "is_same_use(claim, options) || true",
    },
    {
        name = "mixed-limits",
        what = "a session uses one path as semaphores of two limits",
        at = "is_same_use",
        find = "claim->limit == options->limit &&",
        replace = "",
    },
    {
        name = "clock-not-asked",
        what = "a handle tells what it was told last, not what the clock says",
        at = "end_of",
        find = "zkl_stake_lost(stake, stake->session->now)",
        replace = "stake->claim.state == ZKL_GONE",
    },
    {
        name = "silent-loss",
        what = "a release does not tell that the lease had been lost",
        at = "zkl_lease_release",
        find = "return ended;",
        replace = "return ZKL_OK;",
    },
    {
        name = "lost-is-released",
        what = "a lease that was lost calls itself released once it was given up",
        at = "end_of",
        find = "if (lease->lost) return ZKL_LOST;",
        replace = "",
    },
    {
        name = "condition-waits-on",
        what = "who waits goes on when its last handle is given up",
        at = "zkl_stake_handles_gone",
        find = "else zkl_stake_perform(stake, zkl_claim_cancel(&stake->claim, ZKL_RELEASED));",
        replace = "",
    },
    {
        name = "condition-not-of-owner",
        what = "release_all leaves who waits",
        at = "is_had_by",
        find = "stake->handles > 0 && stake->claim.wanted",
        replace = "zkl_claim_holds(&stake->claim)",
    },
    {
        name = "enters-anew",
        what = "an owner that holds the lock contends for it again, and waits for itself",
        at = "is_new",
        find = "if (held) enter_again(request, held, options);",
        replace = "held = NULL;",
    },
    {
        name = "release-all-next",
        what = "release_all gives up also what a waiter of the owner was handed meanwhile",
        at = "zkl_session_release_all",
        find = "was_granted && stake->handles == 0",
        replace = "was_granted",
    },
    {
        name = "release-all-lost",
        what = "release_all calls released what the clock had ended before",
        at = "zkl_session_release_all",
        find = "zkl_stakes_feed(session, zkl_claim_tick);",
        replace = "",
    },

    -- --- limits -----------------------------------------------------------------------

    {
        name = "watches-unlimited",
        what = "any number of paths is watched: the session cannot reconnect (ZOOKEEPER-706)",
        at = "zkl_watches_may",
        find = "watches->bytes + cost(watches, path) <= ZKL_WATCHES_MAX",
        replace = "true",
    },
    {
        name = "own-watch-limited",
        what = "a holder's node is not watched when the session may watch no more of others",
        at = "watch_own",
        find = "struct call *call = call_for(stake, CALL_GET_OWN, NULL);",
        replace = [[
    struct call *call = NULL;
    if (may_watch(stake, claim->name)) call = call_for(stake, CALL_GET_OWN, NULL);]],
    },
    {
        name = "chroot-not-counted",
        what = "the chroot is not counted in the size of what is watched",
        at = "cost",
        find = "+ watches->overhead",
        replace = "",
    },
    {
        name = "nodes-unlimited",
        what = "a session has any number of nodes: it poisons the server's log (ZOOKEEPER-4306)",
        at = "refusal_of",
        find = "is_too_much(session, options, count) ? ZKL_TOO_MANY : ZKL_OK",
        replace = "ZKL_OK",
    },
    {
        name = "nodes-counted-on",
        what = "a node that is gone counts on in the limit",
        at = "zkl_stake_forget",
        find = "session->node_bytes -= zkl_stake_cost(session, stake->path->length);",
        replace = "",
    },

    -- --- ends of waits, and of sessions -----------------------------------------------

    {
        name = "waiting-try",
        what = "a try waits while the session is suspended",
        at = "refusal_of",
        find = [[
    if (options->trying && session->state == ZKL_SESSION_SUSPENDED) return ZKL_TIMEOUT;]],
        replace = "",
    },
    {
        name = "dropped-wait",
        what = "a wait whose request was dropped goes on",
        at = "zkl_request_drop",
        find = "zkl_request_cancel(request, ZKL_INTERRUPTED);",
        replace = "",
    },
    {
        name = "dropped-lease",
        what = "a grant that nobody took when its request was dropped is kept",
        at = "zkl_request_drop",
        find = "if (request->lease) zkl_lease_give_up_all(&request->stakes, request->lease_kind);",
        replace = "",
    },
    {
        name = "waiters-not-closed",
        what = "close does not wake waiters",
        at = "zkl_session_close",
        find = "zkl_stakes_feed(session, end);",
        replace = "",
    },
    {
        name = "interrupt-acquires-only",
        what = "an interrupt ends the waits for a lock, and no others",
        at = "zkl_request_cancel",
        find = "else zkl_request_finish(request, why, 0);",
        replace = "else if (why != ZKL_INTERRUPTED) zkl_request_finish(request, why, 0);",
    },
    {
        name = "questions-not-closed",
        what = "close leaves what was asked without an answer",
        at = "zkl_session_close",
        find = "zkl_request_fail_all(session, ZKL_CLOSED);",
        replace = "",
    },
}
