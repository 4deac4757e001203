--- core.lua - defects of src/core. mutant.lua says what a row is.
--
-- Named after where the defect was seen: BUG-... in locks that applications wrote for themselves,
-- CURATOR-... in Curator (its issue), the others in the client that they name. The rest are our
-- own.

return {

    -- --- applications' own locks ------------------------------------------------------

    {
        name = "BUG-01",
        what = "a deletion wakes every waiter, also one that waits for somebody else",
        file = "src/core/claim_replies.c",
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
        file = "src/core/claim_replies.c",
        find = "claim->recheck = !claim->heading; /* a claim that heads watches each */",
        replace = "",
    },
    {
        name = "recheck-for-ever",
        what = "the others ahead are asked for again and again, though they are there",
        file = "src/core/claim_replies.c",
        find = "    claim->recheck = false;\n    return zkl_claim_advance(claim, now);",
        replace = "    return zkl_claim_advance(claim, now);",
    },
    {
        name = "recheck-after-list",
        what = "a list, too, leaves the others ahead to be asked for",
        file = "src/core/claim_replies.c",
        find = "        claim->recheck = false;\n        claim->unseen",
        replace = "        claim->unseen",
    },
    {
        name = "recheck-refused",
        what = "a contender ahead that may not be read fails the claim, though it need not be read",
        file = "src/core/claim_replies.c",
        find = "if (reply == ZKL_REFUSED && claim->line->exhausted)",
        replace = "if (reply == ZKL_REFUSED)",
    },
    {
        name = "recheck-near",
        what = "a claim of permits looks again, though it would watch all that are ahead",
        file = "src/core/claim_way.c",
        find = "claim->recheck && !is_near(claim) ?",
        replace = "claim->recheck ?",
    },
    {
        name = "recheck-cut",
        what = "a claim that looked at others when the connection was lost does not list",
        file = "src/core/claim.c",
        find = "if (claim->state == ZKL_WAIT || claim->state == ZKL_RANK)",
        replace = "if (claim->state == ZKL_WAIT)",
    },
    {
        name = "BUG-02",
        what = "each answer asks anew: requests pile up, as calls do where a wait is a recursion",
        file = "src/core/claim_replies.c",
        find = "case ZKL_DONE: break; /* watched: its event will come */",
        replace = "case ZKL_DONE: return ZKL_DO_WATCH_AHEAD;",
    },
    {
        name = "BUG-03-try",
        what = "a failed try leaves its node in the line",
        file = "src/core/claim_way.c",
        find = [[
    if (!ahead) return admit(claim, now);
    if (claim->trying) return fail(claim, ZKL_TIMEOUT) | leave(claim);]],
        replace = [[
    if (!ahead) return admit(claim, now);
    if (claim->trying) return fail(claim, ZKL_TIMEOUT) | gone(claim);]],
    },
    {
        name = "BUG-03-deadline",
        what = "a wait that ends by its deadline leaves its node in the line",
        file = "src/core/claim.c",
        find = "return fail(claim, why) | zkl_batch_leave(claim);\n    case ZKL_KNOW:",
        replace = "return fail(claim, why) | gone(claim);\n    case ZKL_KNOW:",
    },
    {
        name = "BUG-07",
        what = "names are compared as text, numbers and all",
        file = "src/core/line.c",
        find = "    if (sequence != other->sequence) return sequence < other->sequence ? -1 : 1;\n",
        replace = "",
    },
    {
        name = "BUG-11-missing",
        what = "the own node is not in the list: taken for the lock",
        file = "src/core/claim_way.c",
        find = "if (!own) return zkl_claim_requeue(claim);",
        replace = "if (!own) return admit(claim, now);",
    },
    {
        name = "BUG-11-vanished",
        what = "the predecessor vanished before it could be watched: taken for the lock",
        file = "src/core/claim_replies.c",
        find = "case ZKL_ABSENT: return ahead_gone(claim, contender, now);",
        replace = "case ZKL_ABSENT: return admit(claim, now);",
    },
    {
        name = "BUG-11-error",
        what = "the predecessor cannot be looked at: taken for the lock",
        file = "src/core/claim_replies.c",
        find = [[
    case ZKL_REFUSED: return fail(claim, why) | leave(claim);
    case ZKL_UNKNOWN: return stall(claim);
    }
    return 0;
}

/* A get that is refused]],
        replace = [[
    case ZKL_REFUSED: return admit(claim, now);
    case ZKL_UNKNOWN: return stall(claim);
    }
    return 0;
}

/* A get that is refused]],
    },
    {
        name = "BUG-12",
        what = "the predecessor is gone: granted without a look who else is ahead",
        file = "src/core/claim_replies.c",
        find = [[
    claim->recheck = !claim->heading; /* a claim that heads watches each */
    return zkl_claim_advance(claim, now);]],
        replace = [[
    return admit(claim, now);]],
    },
    {
        name = "BUG-13-waiter",
        what = "a waiter is not told that its session expired",
        file = "src/core/claim.c",
        find = "    else if (claim->wanted) actions = fail(claim, ZKL_EXPIRED);\n",
        replace = "",
    },
    {
        name = "BUG-13-holder",
        what = "a holder is not told that its session expired",
        file = "src/core/claim.c",
        find = "if (zkl_claim_holds(claim)) actions = lose(claim);\n    else if",
        replace = "if",
    },
    {
        name = "BUG-13-latch",
        what = "a watch that was used up by a change is not set again",
        file = "src/core/claim_replies.c",
        find = "return ZKL_DO_WATCH_AHEAD; /* the event used the watch up */",
        replace = "return 0;",
    },
    {
        name = "BUG-16",
        what = "a node is removed without asking whose it is: any unknown one counts as an orphan",
        file = "src/core/line.c",
        find = "if (contender->session == session && !contender->claimed) return contender;",
        replace = "if (!contender->claimed) return contender;",
    },
    {
        name = "BUG-16-lost",
        what = "a release after the lease was lost deletes all the same",
        file = "src/core/claim.c",
        find = [[
    if (claim->state != ZKL_HELD) return 0;
    zkl_actions actions = zkl_batch_leave(claim);]],
        replace = "    zkl_actions actions = zkl_batch_leave(claim);",
    },

    -- --- Curator ----------------------------------------------------------------------

    {
        name = "CURATOR-604",
        what = "a node of the previous session is adopted, and granted",
        file = "src/core/claim_replies.c",
        find = "    if (owner != claim->party->session) return zkl_claim_requeue(claim);\n",
        replace = "",
    },
    {
        name = "CURATOR-264",
        what = "a create whose reply is lost is made again while the first may stand: two nodes",
        file = "src/core/claim_steps.h",
        find = [[
        claim->state = ZKL_LOOK;
        claim->stalled = claim->doubted = true;
        return ZKL_DO_DOUBT;]],
        replace = [[
        return enter(claim);]],
    },
    {
        name = "CURATOR-206",
        what = "a lease outlives its session: the next one revives it",
        file = "src/core/claim.c",
        find = "zkl_actions actions = 0;\n    if (claim->state == ZKL_GONE) return 0;",
        replace = [[
zkl_actions actions = 0;
    if (claim->state == ZKL_GONE || claim->state == ZKL_HELD) return 0;]],
    },
    {
        name = "CURATOR-498",
        what = "a lost create's node is found by its nonce alone: another session's will do",
        file = "src/core/line.c",
        find = "if (contender->session == session && contender->nonce == nonce) return contender;",
        replace = "if (contender->nonce == nonce) return contender;",
    },

    -- --- other clients ----------------------------------------------------------------

    {
        name = "kazoo-leak-A",
        what = "a delete whose reply is lost is not repeated (kazoo #732)",
        file = "src/core/claim_replies.c",
        find = "if (reply == ZKL_DONE || reply == ZKL_ABSENT) return gone(claim);",
        replace = "if (reply != ZKL_REFUSED) return gone(claim);",
    },
    {
        name = "kazoo-leak-B",
        what = "a found node is given up by another name than its own, and stays",
        file = "src/core/claim_replies.c",
        find = "    own(claim, found->name);\n",
        replace = "",
    },
    {
        name = "go-zookeeper-self-orphan",
        what = "a create whose reply is lost is reported as failed, and its node forgotten",
        file = "src/core/claim_steps.h",
        find = [[
        claim->state = ZKL_LOOK;
        claim->stalled = claim->doubted = true;
        return ZKL_DO_DOUBT;]],
        replace = [[
        return (claim->wanted ? fail(claim, ZKL_CONNECTION) : 0) | gone(claim);]],
    },
    {
        name = "C-recipe-shared-node",
        what = "a lost create's node is found by its session alone: two claims own one node",
        file = "src/core/line.c",
        find = "if (contender->session == session && contender->nonce == nonce) return contender;",
        replace = "if (contender->session == session) return contender;",
    },
    {
        name = "etcd-11456-node",
        what = "after a wait nobody looks whether the own node still stands",
        file = "src/core/claim_replies.c",
        find = [[
    case ZKL_WAIT:
    case ZKL_PROVE: return zkl_claim_requeue(claim);
    case ZKL_HELD:]],
        replace = [[
        return zkl_claim_requeue(claim);
    case ZKL_WAIT:
    case ZKL_PROVE: break;
    case ZKL_HELD:]],
    },
    {
        name = "etcd-11456-session",
        what = "after a wait nobody asks whether the session still lives",
        file = "src/core/claim_steps.h",
        find = "    if (!certain(claim, now)) {",
        replace = "    if (false) {",
    },
    {
        name = "Menagerie-index",
        what = "a claim that is not in the line counts as its first (index -1)",
        file = "src/core/line.c",
        find = "return at ? line->contenders[at - 1] : NULL;",
        replace = "return at > 1 ? line->contenders[at - 1] : NULL;",
    },

    -- --- our own: names and the line --------------------------------------------------

    {
        name = "serial-numbers",
        what = "numbers past their end are compared as serial numbers (RFC 1982), not by czxid",
        file = "src/core/line.c",
        find = "if (zkl_sequence_exhausted(here->sequence)) return true;",
        replace = "",
        also = {
            {
                find = [[
if (sequence != other->sequence) return sequence < other->sequence ? -1 : 1;]],
                replace = "if (sequence != other->sequence)\n" ..
                    "        return (int32_t)((uint32_t)sequence - (uint32_t)other->sequence);",
            },
        },
    },
    {
        name = "frozen-counter",
        what = "equal numbers past the limit are ordered by name",
        file = "src/core/line.c",
        find = "    line->exhausted = numbers_exhausted(line);",
        replace = "    line->exhausted = false;",
    },
    {
        name = "newer-first",
        what = "by czxid, the farthest one ahead is watched, not the nearest",
        file = "src/core/line.c",
        find = "if (!nearest || contender->czxid > nearest->czxid) nearest = contender;",
        replace = "if (!nearest || contender->czxid < nearest->czxid) nearest = contender;",
    },
    {
        name = "claimed-orphan",
        what = "a node of a claim that lives is taken for an orphan",
        file = "src/core/line.c",
        find = "if (list[i]->seen > line->serial) list[i]->claimed = is_claimed(line, list[i]);",
        replace = "",
    },
    {
        name = "no-orphans",
        what = "a node of ours that no claim answers for is never removed",
        file = "src/core/line.c",
        find = "if (session == 0) return NULL;",
        replace = "return NULL;",
    },
    {
        name = "downgraded-writer",
        what = "behind a writer that went, its downgraded reader is overlooked",
        file = "src/core/line.c",
        find = "    if (contender->kind == ZKL_WRITE) line->incomplete = true;\n",
        replace = "",
    },
    {
        name = "foreign-children",
        what = "a child that is no contender is waited for",
        file = "src/core/name.c",
        find = [[
    if (!find_marker(text, length - width, &name->kind) &&
        !parse_permits(text, length - width, name))
        return false;
]],
        replace = [[
    if (!find_marker(text, length - width, &name->kind))
        parse_permits(text, length - width, name);
]],
    },
    {
        name = "negative-numbers",
        what = "the sign of a number past the limit is dropped",
        file = "src/core/name.c",
        find = "name->sequence = (int32_t)(negative ? -value : value);",
        replace = "name->sequence = (int32_t)value;",
    },

    -- --- our own: the claim -----------------------------------------------------------

    {
        name = "list-without-create",
        what = "the list that came with a lost create counts as the look after it",
        file = "src/core/claim_replies.c",
        find = "    case ZKL_SEEK: return seek_listed(claim, reply, why);",
        replace = "    case ZKL_LOOK:\n    case ZKL_SEEK: return seek_listed(claim, reply, why);",
        also = { { find = [[
    case ZKL_ENTER:
    case ZKL_LOOK:
    case ZKL_KNOW:
    case ZKL_RANK:]],
                   replace = "    case ZKL_ENTER:\n    case ZKL_KNOW:\n    case ZKL_RANK:" } },
    },
    {
        name = "no-sync",
        what = "no sync before a lost create is looked for: a server that lags hides it",
        file = "src/core/claim.c",
        find = "case ZKL_LOOK: return ZKL_DO_SYNC | ZKL_DO_LIST;",
        replace = "case ZKL_LOOK: claim->state = ZKL_SEEK; return ZKL_DO_LIST;",
    },
    {
        name = "ungranted",
        what = "a list that comes late takes a grant back",
        file = "src/core/claim_replies.c",
        find = "    case ZKL_LIST: return own_listed(claim, reply, why, now);",
        replace = [[
    case ZKL_HELD:
    case ZKL_LIST: return own_listed(claim, reply, why, now);]],
        also = { { find = [[
    case ZKL_PROVE:
    case ZKL_HELD:
    case ZKL_SHARE:
    case ZKL_AWAY:
    case ZKL_CALLED:
    case ZKL_LEAVE:
    case ZKL_GONE: break;
    }
    return 0;
}

zkl_actions zkl_claim_synced(]],
                   replace = [[
    case ZKL_PROVE:
    case ZKL_SHARE:
    case ZKL_AWAY:
    case ZKL_CALLED:
    case ZKL_LEAVE:
    case ZKL_GONE: break;
    }
    return 0;
}

zkl_actions zkl_claim_synced(]], } },
    },
    {
        name = "nonce-reused",
        what = "the attempt after a lost one has the same nonce",
        file = "src/core/claim_way.c",
        find = "claim->nonce = ++claim->party->nonces;",
        replace = "if (!claim->nonce) claim->nonce = ++claim->party->nonces;",
    },
    {
        name = "lost-delete-event",
        what = "after a reconnect a deletion counts as before, though its order says nothing",
        file = "src/core/claim.c",
        find = "if (claim->state == ZKL_WAIT || claim->state == ZKL_RANK) " ..
            "claim->line->incomplete = true;",
        replace = "",
    },
    {
        name = "deadline-while-stalled",
        what = "the deadline is not looked at while there is no connection",
        file = "src/core/claim.c",
        find = "return now >= claim->deadline ? zkl_claim_cancel(claim, ZKL_TIMEOUT) : 0;",
        replace = [[
return now >= claim->deadline && !claim->stalled ? zkl_claim_cancel(claim, ZKL_TIMEOUT) : 0;]],
    },
    {
        name = "overtaking",
        what = "on a path that is not known to exist, claims do not wait for the first",
        file = "src/core/claim.c",
        find = "if (!connected(claim) || follows(claim)) return stall(claim);",
        replace = "if (!connected(claim)) return stall(claim);",
    },
    {
        name = "stranded-followers",
        what = "claims that let the first on a path go alone are forgotten when it fails",
        file = "src/core/claim_replies.c",
        find = "return actions | make_way(claim);",
        replace = [[
return claim->line->opened && has_followers(claim) ? actions | ZKL_DO_FOLLOW : actions;]],
    },
    {
        name = "unwatched-holder",
        what = "a holder never watches its node",
        file = "src/core/claim.c",
        find = [[
if (claim->state != ZKL_HELD || claim->own_watched) return 0;
    claim->own_watched = true;
    return ZKL_DO_WATCH_OWN;]],
        replace = "return 0;",
    },
    {
        name = "no-second-doubt",
        what = "a release does not look for what a lost create may have left",
        file = "src/core/claim.c",
        find = "if (claim->doubted && removing && !zkl_kind_is_fixed(claim->kind))",
        replace = "if (false)",
    },
    {
        name = "no-late-look",
        what = "a create that stayed unknown is not looked for a session timeout later",
        file = "src/core/claim_steps.h",
        find = "        return ZKL_DO_DOUBT;",
        replace = "        return 0;",
    },
    {
        name = "forgotten-cancel",
        what = "a cancelled claim whose create is on its way is forgotten at once",
        file = "src/core/claim.c",
        find = [[
    case ZKL_LOOK:
    case ZKL_SEEK:
    case ZKL_AWAY: return fail(claim, why);]],
        replace = [[
    case ZKL_LOOK:
    case ZKL_SEEK: return fail(claim, why) | gone(claim);
    case ZKL_AWAY: return fail(claim, why);]],
    },

    {
        name = "found-unranked",
        what = "a node that was found takes its place before the czxids are known",
        file = "src/core/claim_replies.c",
        find = "    own(claim, found->name);\n    claim->listed = claim->line->serial;\n",
        replace = "    own(claim, found->name);\n",
    },
    {
        name = "old-refusal",
        what = "a refusal of parents that did not matter ends a later attempt",
        file = "src/core/claim_replies.c",
        find = "    claim->czxid = czxid;\n    claim->refusal = ZKL_OK;\n",
        replace = "    claim->czxid = czxid;\n",
    },
    {
        name = "stale-news",
        what = "what is learned of a former predecessor counts for the present one",
        file = "src/core/claim_replies.c",
        find = [[
    if (!awaits(claim, contender)) return 0;
    switch (reply) {]],
        replace = [[
    if (claim->state != ZKL_WAIT) return 0;
    switch (reply) {]],
    },
    {
        name = "always-one-by-one",
        what = "a path is never known to exist: claims enter one after the other",
        file = "src/core/claim_replies.c",
        find = "    claim->line->opened = reply == ZKL_DONE;\n",
        replace = "",
    },

    -- --- our own: readers and writers -------------------------------------------------

    {
        name = "reader-behind-readers",
        what = "a reader waits for the readers ahead of it",
        file = "src/core/line.c",
        find = [[
        while (at > 0 && !zkl_kinds_exclude(claim->kind, line->contenders[at - 1]->kind)) at--;
]],
        replace = "",
    },
    {
        name = "reader-passes-mutex",
        what = "a reader passes over a mutex that is ahead of it",
        file = "src/core/line.c",
        find = "!zkl_kinds_exclude(claim->kind, line->contenders[at - 1]->kind)",
        replace = "claim->kind == ZKL_READ && line->contenders[at - 1]->kind != ZKL_WRITE",
    },
    {
        name = "exhausted-kinds",
        what = "past the end of the counter a reader waits for readers",
        file = "src/core/line.c",
        find = "        if (!zkl_kinds_exclude(claim->kind, contender->kind)) continue;\n",
        replace = "",
    },
    {
        name = "reader-tries-first",
        what = "a reader's try looks at the holder only, not at a writer that waits",
        file = "src/core/line.c",
        find = "if (zkl_kinds_exclude(kind, line->contenders[i]->kind)) return false;",
        replace = "if (i == 0 && zkl_kinds_exclude(kind, line->contenders[i]->kind)) return false;",
    },
    {
        name = "share-lets-go",
        what = "a writer that becomes a reader holds nothing until the reply",
        file = "src/core/claim.h",
        find = [[
return claim->state == ZKL_HELD || (claim->state == ZKL_SHARE && claim->wanted);]],
        replace = "return claim->state == ZKL_HELD;",
    },
    {
        name = "share-absent",
        what = "a writer whose node is gone becomes a reader",
        file = "src/core/claim_replies.c",
        find = "case ZKL_ABSENT: return (claim->wanted ? lose(claim) : 0) | gone(claim);",
        replace = "case ZKL_ABSENT: become_reader(claim); break;",
    },
    {
        name = "share-unknown-done",
        what = "a writer counts as a reader although the reply is lost",
        file = "src/core/claim_replies.c",
        find = "case ZKL_UNKNOWN: claim->unsettled = true; return stall(claim);",
        replace = "case ZKL_UNKNOWN: become_reader(claim); break;",
    },
    {
        name = "first-refused",
        what = "who is about to be first waits on, though it would not hear that its node is gone",
        file = "src/core/claim_replies.c",
        find = "return claim->state >= ZKL_KNOW && claim->state <= ZKL_FIRST;",
        replace = "return claim->state >= ZKL_KNOW && claim->state <= ZKL_WAIT;",
    },
    {
        name = "share-unknown-refused",
        what = "a writer counts as one although a lost reply may have made it a reader",
        file = "src/core/claim_replies.c",
        find = "case ZKL_UNKNOWN: claim->unsettled = true; return stall(claim);",
        replace = "case ZKL_UNKNOWN: claim->refusal = ZKL_CONNECTION; break;",
    },
    {
        name = "share-refused-again",
        what = "a refusal after a lost reply counts, though the first may have been carried out",
        file = "src/core/claim_replies.c",
        find = "        if (claim->unsettled) return stall(claim);\n",
        replace = "",
    },
    {
        name = "share-old-name",
        what = "a release while a writer becomes a reader removes the writer's node only",
        file = "src/core/claim.c",
        find = "if (claim->state == ZKL_SHARE) claim->wanted = false; /* once its name is known */",
        replace = "if (claim->state == ZKL_SHARE) return leave(claim);",
    },
    {
        name = "share-past-limit",
        what = "a writer becomes a reader near the end of the counter, and loses its place",
        file = "src/core/claim.h",
        find = "claim->sequence >= 0 && claim->sequence < ZKL_SHARE_LIMIT;",
        replace = "claim->sequence >= 0;",
    },
    {
        name = "share-own-deleted",
        what = "the deletion of the writer's node, which is its own doing, is taken for a loss",
        file = "src/core/claim_replies.c",
        find = "    case ZKL_HELD: return lose(claim) | gone(claim);",
        replace = "    case ZKL_HELD:\n    case ZKL_SHARE: return lose(claim) | gone(claim);",
        also = { { find = "    case ZKL_SHARE: /* the transaction's own reply decides */\n",
                   replace = "" } },
    },
    {
        name = "share-unwatched",
        what = "the reader's node is not watched, for the writer's was",
        file = "src/core/claim_replies.c",
        find = "    claim->own_watched = false; /* the next heartbeat's */\n",
        replace = "",
    },

    -- --- our own: the lease clock -----------------------------------------------------

    {
        name = "proof-at-reply",
        what = "a proof counts from its reply, not from its request",
        file = "src/core/clock.c",
        find = "    if (issued <= clock->proof) return;",
        replace = "    issued = now;\n    if (issued <= clock->proof) return;",
    },
    {
        name = "revived-lease",
        what = "a proof revives a lease that the clock had ended",
        file = "src/core/clock.c",
        find = "    if (ran_out(clock, now)) clock->epoch++;\n",
        replace = "",
    },
    {
        name = "held-unconnected",
        what = "a lease stays certain while the connection is gone",
        file = "src/core/clock.c",
        find = "if (clock->connected && now < clock->certain) return ZKL_PHASE_HELD;",
        replace = "if (now < clock->certain) return ZKL_PHASE_HELD;",
    },
    {
        name = "first-grant",
        what = "the first grant after an idle time counts like any other",
        file = "src/core/clock.c",
        find = "return clock->margin < lone ? clock->margin : lone;",
        replace = "return clock->margin;",
    },
    {
        name = "unnoticed-stop",
        what = "a proof counts although the process was stopped just before it",
        file = "src/core/clock.c",
        find = "if (clock->proof - clock->awake_since < reported) return 0;",
        replace = "",
    },
    {
        name = "short-chain",
        what = "a gap between proofs does not begin the chain anew",
        file = "src/core/clock.c",
        find = "    if (issued - clock->proof > clock->timeout / 5) chain = issued;\n",
        replace = "",
    },
    {
        name = "deposed-leader",
        what = "answers that came late carry on the chain of proofs",
        file = "src/core/clock.c",
        find = "    if (now - issued > clock->timeout / 4) chain = now;\n",
        replace = "",
    },
    {
        name = "longer-timeout",
        what = "a chain of proofs counts on when the server gives a longer timeout",
        file = "src/core/clock.c",
        find = [[
    if (timeout > clock->timeout) clock->steady_since = clock->proof; /* too short a chain now */
]],
        replace = "",
    },
    {
        name = "epoch-again",
        what = "an epoch comes back after a session has ended: its leases are revived",
        file = "src/core/clock.c",
        find = "    clock->connected = false;\n    clock->epoch++;",
        replace = "    clock->connected = false;\n    clock->epoch--;",
    },
    {
        name = "old-proof",
        what = "a proof of the previous session counts in the next",
        file = "src/core/clock.c",
        find = "    clock->proof = clock->steady_since = clock->certain = issued - timeout;\n",
        replace = "",
    },
    {
        name = "clock-never-ends",
        what = "a lease is suspect for ever, never lost by the own clock",
        file = "src/core/claim.c",
        find = [[
    if (zkl_clock_phase(&claim->party->clock, claim->epoch, now) != ZKL_PHASE_LOST) return 0;]],
        replace = "    return 0;",
    },

    -- --- multi-locks ------------------------------------------------------------------

    {
        name = "part-granted-alone",
        what = "a part of a multi-lock is granted before the others are first in line",
        file = "src/core/claim_steps.h",
        find = "    if (is_part(claim) && !all_are(claim, ZKL_FIRST)) return watch_own(claim);",
        replace = "",
    },
    {
        name = "part-requeued",
        what = "a part of a multi-lock queues again alone: opposite orders deadlock",
        file = "src/core/claim_way.c",
        find = "    if (is_part(claim) || claim->waits) return fail(claim, ZKL_LOST)",
        replace = "    if (claim->waits) return fail(claim, ZKL_LOST)",
    },
    {
        name = "parts-one-by-one",
        what = "the parts of a multi-lock enter one after another",
        file = "src/core/claim_way.c",
        find = "    if (!all_are(claim, ZKL_ENTER)) return 0;\n",
        replace = "",
    },
    {
        name = "part-unwanted",
        what = "a multi-lock is granted though one of its parts was given up",
        file = "src/core/claim_steps.h",
        find = "if (!part->wanted || part->state != state) return false;",
        replace = "if (part->wanted && part->state != state) return false;",
    },
    {
        name = "part-not-watched",
        what = "a part that is first in line does not watch its node",
        file = "src/core/claim_replies.c",
        find = "    return is_part(claim) ? watch_own(claim) | ZKL_DO_LIST : 0;",
        replace = "    return is_part(claim) ? ZKL_DO_LIST : 0;",
    },
    {
        name = "part-not-looked-again",
        what = "a part that was first in line trusts in that after a lost connection",
        file = "src/core/claim.c",
        find = "    if (claim->state != ZKL_FIRST) return 0;\n    claim->state = ZKL_LIST;",
        replace = "    return 0;",
    },
    {
        name = "part-blocks-the-path",
        what = "claims that follow a part whose create is not sent wait for ever when it fails",
        file = "src/core/claim.c",
        find = "return fail(claim, why) | gone(claim) | make_way(claim);",
        replace = "return fail(claim, why) | gone(claim);",
    },

    -- --- one node of a fixed name ------------------------------------------------------

    {
        name = "unfair-blind-delete",
        what = "a delete of unknown outcome is repeated: perhaps of the next one's node",
        file = "src/core/claim_replies.c",
        find = [[
    if (reply == ZKL_UNKNOWN && zkl_kind_is_fixed(claim->kind)) claim->state = ZKL_LOOK;
]],
        replace = "",
    },
    {
        name = "unfair-foreign",
        what = "after a lost reply any node of the name is taken for the own one",
        file = "src/core/unfair.c",
        find = "    bool ours = owner == claim->party->session;\n",
        replace = "    bool ours = owner != 0;\n",
    },
    {
        name = "unfair-own-other",
        what = "a delete is repeated if the node is the session's, be it another claim's",
        file = "src/core/unfair.c",
        find = "claim->czxid ? czxid == claim->czxid",
        replace = "claim->czxid ? czxid != 0",
    },
    {
        name = "unfair-confused",
        what = "after a lost reply another claim's node is taken for the own one",
        file = "src/core/unfair.c",
        find = "if (is_other(claim, each) && each->czxid == czxid) return false;",
        replace = "if (is_other(claim, each) && each->czxid == 1) return false;",
    },
    {
        name = "unfair-two-unsure",
        what = "two claims of a session create at once",
        file = "src/core/unfair.c",
        find = "        if (is_unsure(each)) return true;\n",
        replace = "",
    },
    {
        name = "unfair-late-grant",
        what = "a waiter takes a create that landed late for its own",
        file = "src/core/unfair.c",
        find = "if (claim->state == ZKL_SEEK) return sought(claim, ours, czxid, now);",
        replace = [[
bool late = claim->state == ZKL_WAIT && ours && is_free_for(claim->line, claim, czxid);
    if (claim->state == ZKL_SEEK || late) return sought(claim, ours, czxid, now);]],
    },
    {
        name = "unfair-stray",
        what = "a create that landed late stays until the session ends",
        file = "src/core/unfair.c",
        find = "    return ZKL_STRAY;",
        replace = "    return ZKL_ANSWERED;",
    },
    {
        name = "unfair-perhaps",
        what = "a node that a claim may have without knowing is removed",
        file = "src/core/unfair.c",
        find = "return ZKL_PERHAPS;",
        replace = "continue;",
    },
    {
        name = "unfair-replaced",
        what = "a holder whose name another one has goes on",
        file = "src/core/unfair.c",
        find = "return ours && czxid == claim->czxid ? 0 : zkl_unfair_own_gone(claim);",
        replace = "return 0;",
    },
    {
        name = "unfair-no-sync",
        what = "a get that is answered before its sync tells that there is no node",
        file = "src/core/unfair.c",
        find = "        if (claim->state != ZKL_SEEK) return zkl_unfair_own_gone(claim);",
        replace = [[
        if (claim->state != ZKL_SEEK && claim->state != ZKL_LOOK)
            return zkl_unfair_own_gone(claim);]],
    },
    {
        name = "unfair-wait-removes",
        what = "a wait that ends removes the node, which is another's",
        file = "src/core/claim.c",
        find = "if (zkl_kind_is_fixed(claim->kind)) return fail(claim, why) | gone(claim);",
        replace = "",
    },
    {
        name = "unfair-no-follow",
        what = "who waits in the same session is not told when its turn has come",
        file = "src/core/claim_steps.h",
        find = "zkl_kind_is_fixed(claim->kind) || claim->batch > 0;",
        replace = "claim->batch > 0;",
    },
    {
        name = "unfair-local-herd",
        what = "each waiter of a session asks for itself",
        file = "src/core/unfair.c",
        find = "if (!claim->trying && stands_for_all(each)) return true;",
        replace = "",
    },
    {
        name = "unfair-refused-delete",
        what = "a create goes behind a delete that was refused",
        file = "src/core/unfair.c",
        find = "return claim->state != ZKL_LEAVE || claim->stalled;",
        replace = "return claim->state != ZKL_LEAVE;",
    },
    {
        name = "unfair-short-pause",
        what = "a heartbeat ends a pause: all come at once again",
        file = "src/core/unfair.c",
        find = "        claim->stalled = false;\n        claim->pausing = true;",
        replace = "        claim->stalled = true;\n        claim->pausing = true;",
    },

    -- --- permits -----------------------------------------------------------------------

    {
        name = "mark-unsent",
        what = "who is granted after a wait does not tell the next one",
        file = "src/core/claim_way.c",
        find = "claim->unseen || claim->state != ZKL_HELD ? actions : actions | ZKL_DO_MARK;",
        replace = "actions;",
    },
    {
        name = "mark-once",
        what = "a mark whose reply is lost is not repeated",
        file = "src/core/claim_replies.c",
        find = "return reply == ZKL_UNKNOWN ? stall(claim) : 0;",
        replace = "return 0;",
    },
    {
        name = "mark-before-watch",
        what = "a mark that came before the watch is not seen",
        file = "src/core/claim_replies.c",
        find = "|| claim->heading || zxid <= claim->heard) return 0;",
        replace = "|| zxid > 0) return 0;",
    },
    {
        name = "mark-again",
        what = "one mark is answered with one list after the other",
        file = "src/core/claim_replies.c",
        find = "    claim->heard = zxid;\n",
        replace = "",
    },
    {
        name = "mark-too-early",
        what = "who fits by its first list tells nobody, though others may have seen it wait",
        file = "src/core/permits.c",
        find = "return last->sequence <= claim->sequence && zkl_permits_fit(line, claim);",
        replace = "return last && zkl_permits_fit(line, claim);",
    },
    {
        name = "mark-unseen-by-list",
        what = "who was granted by its list before its czxid was known tells nobody",
        file = "src/core/claim_replies.c",
        find = "    if (!claim->wanted) return leave(claim);\n    claim->state = ZKL_KNOW;\n",
        replace = [[
    if (!claim->wanted) return leave(claim);
    claim->state = ZKL_KNOW;
    claim->unseen = true;
]],
    },
    {
        name = "head-watches-one",
        what = "who heads watches its predecessor only",
        file = "src/core/claim_way.c",
        find = "    return (actions & ~(zkl_actions)ZKL_DO_WATCH_AHEAD) | ZKL_DO_HOLDERS;",
        replace = "    return actions;",
    },
    {
        name = "head-forgets",
        what = "who heads does not watch a holder again that wrote to its node",
        file = "src/core/claim_replies.c",
        find = "    if (!contender) return 0;\n",
        replace = "    return 0;\n",
    },
    {
        name = "head-asks-one-again",
        what = "who heads asks again for one holder only when gets were lost",
        file = "src/core/claim.c",
        find = "        if (claim->heading) return zkl_claim_advance(claim, now);\n",
        replace = "",
    },
    {
        name = "head-unranked",
        what = "who heads counts those ahead whose czxids it does not know as nobody",
        file = "src/core/claim_replies.c",
        find = [[
    if (!claim->heading || zkl_line_unranked(claim->line, claim, NULL)) return false;
]],
        replace = "    if (!claim->heading) return false;\n    claim->line->exhausted = false;\n",
    },
    {
        name = "head-off-by-one",
        what = "who is behind exactly as many permits as there are does not head",
        file = "src/core/permits.c",
        find = "return taken(line, claim) <= claim->limit;",
        replace = "return taken(line, claim) < claim->limit;",
    },
    {
        name = "permits-uncounted",
        what = "each holder counts as one permit",
        file = "src/core/permits.c",
        find = "sum += line->contenders[i]->permits;",
        replace = "sum += 1;",
    },
    {
        name = "permits-31-bits",
        what = "the sum of permits overflows",
        file = "src/core/permits.c",
        find = "    return sum;\n",
        replace = "    return (int32_t)(uint32_t)sum;\n",
    },
    {
        name = "limit-off-by-one",
        what = "one permit more than there are",
        file = "src/core/permits.c",
        find = "return taken(line, claim) + claim->permits <= claim->limit;",
        replace = "return taken(line, claim) + claim->permits <= claim->limit + 1;",
    },
    {
        name = "small-passes-big",
        what = "a small request passes a big one that waits",
        file = "src/core/permits.c",
        find = "        if (is_ahead(line, line->contenders[i], claim)) sum",
        replace = [[
        if (is_ahead(line, line->contenders[i], claim) &&
            sum + line->contenders[i]->permits <= claim->limit)
            sum]],
    },
    {
        name = "other-limit",
        what = "a limit that is not its own is nobody's concern",
        file = "src/core/claim_way.c",
        find = "    if (stranger) return zkl_claim_conflict(claim, stranger) | leave(claim);\n",
        replace = "",
    },
    {
        name = "conflict-stays",
        what = "a conflict leaves its node in the line",
        file = "src/core/claim_way.c",
        find = "zkl_claim_conflict(claim, stranger) | leave(claim);",
        replace = "zkl_claim_conflict(claim, stranger) | gone(claim);",
    },
    {
        name = "try-writes",
        what = "a try for permits that are taken writes",
        file = "src/core/claim_replies.c",
        find = [[
    if (!zkl_permits_fit(claim->line, claim)) return fail(claim, ZKL_TIMEOUT) | gone(claim);
]],
        replace = "",
    },

    -- --- conditions -----------------------------------------------------------------

    {
        name = "longer-timeout-revives",
        what = "a longer timeout, negotiated at a reconnect, brings back what ran out",
        file = "src/core/clock.c",
        find = "if (ran_out(clock, now)) clock->epoch++; /* by the old one */",
        replace = "(void)now;",
    },
    {
        name = "refused-in-doubt",
        what = "a refusal after a lost reply leaves the lock held, as if nothing had happened",
        file = "src/core/condition.c",
        find = " && !waiter->doubted;",
        replace = ";",
    },
    {
        name = "expiry-is-a-signal",
        what = "a waiter whose node is gone counts as signalled (Menagerie)",
        file = "src/core/condition.c",
        find = "if (lock->wanted && waiter->state == ZKL_CALLED) return zkl_claim_enter(lock);",
        replace = "if (lock->wanted && waiter->state >= ZKL_CALLED) return zkl_claim_enter(lock);",
    },
    {
        name = "signal-swallowed",
        what = "a deadline that meets a signal takes it along (Menagerie)",
        file = "src/core/claim_replies.c",
        find = "    if (reply == ZKL_REFUSED && claim->waits && !claim->settled) " ..
               "return zkl_waiter_pass(claim);",
        replace = "if (reply == ZKL_REFUSED && claim->waits) return gone(claim);",
    },
    {
        name = "signal-not-passed-on",
        what = "a signal whose lock is not had again in time goes with its node",
        file = "src/core/claim.c",
        find = "case ZKL_CALLED: return fail(claim, why) | zkl_waiter_pass(claim);",
        replace = "case ZKL_CALLED: claim->settled = true; return fail(claim, why) | leave(claim);",
    },
    {
        name = "signal-taken-twice",
        what = "a signal that was taken is passed on as well",
        file = "src/core/condition.c",
        find = [[
    claim->partner = NULL;
    claim->settled = true;]],
        replace = "    claim->partner = NULL;",
    },
    {
        name = "signal-to-itself",
        what = "who passes a signal on may have it again",
        file = "src/core/condition.c",
        find = "else if (!tried && each != own) return each;",
        replace = "else if (!tried) return each;",
    },
    {
        name = "signal-to-those-ahead",
        what = "a signal is passed to those ahead, too, who have theirs",
        file = "src/core/condition.c",
        find = "        if (line->contenders[i] == own) return i + 1;",
        replace = "        if (line->contenders[i] == own) return 0;",
    },
    {
        name = "signal-by-number",
        what = "a signal is passed on by numbers that tell no order",
        file = "src/core/condition.c",
        find = [[
    if (line->exhausted) return 0;
]],
        replace = "",
    },
    {
        name = "signal-lost-with-reply",
        what = "who may still have the signal is passed over",
        file = "src/core/condition.c",
        find = [[
    drop_ahead(claim); /* it may still have the signal */
]],
        replace = "",
    },
    {
        name = "called-twice",
        what = "each write to a waiter's node is a signal",
        file = "src/core/condition.c",
        find = "if (!claim->waits || claim->state != ZKL_WAIT) return 0;",
        replace = "if (!claim->waits) return 0;",
    },
    {
        name = "wait-of-a-try",
        what = "who was granted by a try gives the wait up with the connection",
        file = "src/core/condition.c",
        find = "lock->trying = lock->stalled = false;",
        replace = "lock->stalled = false;",
    },
    {
        name = "wait-without-deadline",
        what = "the wait has the deadline of the acquire",
        file = "src/core/condition.c",
        find = [[
    lock->deadline = deadline;
]],
        replace = "",
    },
    {
        name = "stays-unwatched",
        what = "who could not wait believes that its node is watched",
        file = "src/core/condition.c",
        find = [[
    lock->own_watched = false; /* its event may have been taken for the transaction's */
]],
        replace = "",
    },
    {
        name = "waits-with-lock",
        what = "a wait that is given up leaves the lock's node",
        file = "src/core/condition.c",
        find = "return actions | (waiter->left ? gone(lock) : leave(lock));",
        replace = "return actions | gone(lock);",
    },
    {
        name = "away-for-ever",
        what = "a wait that begins too late leaves the lock's claim away",
        file = "src/core/condition.c",
        find = [[
    if (!claim->wanted) return leave(claim) | ZKL_DO_TURN;
]],
        replace = [[
    if (!claim->wanted) return leave(claim);
]],
    },
    {
        name = "lock-left-twice",
        what = "the lock's node, which is gone, is deleted again",
        file = "src/core/condition.c",
        find = [[
    claim->left = true;
    if (!claim->wanted)]],
        replace = "    if (!claim->wanted)",
    },
    {
        name = "partner-dangles",
        what = "a claim that is freed is still somebody's partner",
        file = "src/core/claim.c",
        find = [[
    if (claim->partner) claim->partner->partner = NULL;
    struct]],
        replace = "    struct",
    },
    {
        name = "waits-once",
        what = "the end of one wait cuts the next one off from its lock",
        file = "src/core/condition.c",
        find = [[
    if (claim->partner) claim->partner->partner = NULL; /* it may wait again */
]],
        replace = "",
    },
    {
        name = "orphan-takes-signal",
        what = "a waiter's node that landed late is removed with its signal",
        file = "src/core/claim.c",
        find = [[
    claim->waits = claim->line->condition;
]],
        replace = "",
    },
    {
        name = "early-list",
        what = "the look for the next waiter is not asked again",
        file = "src/core/claim.c",
        find = [[
    case ZKL_LIST:
    case ZKL_PASS: return ZKL_DO_LIST;]],
        replace = [[
    case ZKL_LIST: return ZKL_DO_LIST;
    case ZKL_PASS: return 0;]],
    },

    -- --- batches ----------------------------------------------------------------------

    {
        name = "batch-unlisted",
        what = "a holder hands on a node that the latest list lacks",
        file = "src/core/batch.c",
        find = "    return !ends_batch(claim) && zkl_line_find(claim->line, claim->name);",
        replace = "    return !ends_batch(claim);",
    },
    {
        name = "batch-one-more",
        what = "a batch has one grant more than it says",
        file = "src/core/claim_steps.h",
        find = "return claim->served + 1 >= claim->batch;",
        replace = "return claim->served >= claim->batch;",
    },
    {
        name = "batch-uncounted",
        what = "the grants of a node are not counted: two have one token",
        file = "src/core/batch.c",
        find = "heir->served = claim->served + held;",
        replace = "heir->served = claim->served;",
    },
    {
        name = "batch-counts-on",
        what = "a new node counts on where the one before was",
        file = "src/core/claim_way.c",
        find = "    claim->served = 0;\n",
        replace = "",
    },
    {
        name = "batch-other-attempt",
        what = "the heir has the node, but not its nonce: it is taken for an orphan",
        file = "src/core/batch.c",
        find = "    heir->nonce = claim->nonce;\n",
        replace = "",
    },
    {
        name = "batch-place-granted",
        what = "the heir of a place is granted as if that were the lock",
        file = "src/core/batch.c",
        find = "held && connected(claim) ? ZKL_FIRST : ZKL_LIST;",
        replace = "connected(claim) ? ZKL_FIRST : ZKL_LIST;",
    },
    {
        name = "batch-unlooked",
        what = "after a lost connection the heir does not look whether the node is there",
        file = "src/core/batch.c",
        find = "held && connected(claim) ? ZKL_FIRST : ZKL_LIST;",
        replace = "held ? ZKL_FIRST : ZKL_LIST;",
    },
    {
        name = "batch-unwatched",
        what = "the heir believes that its node is watched",
        file = "src/core/batch.c",
        find = "    heir->own_watched = false;\n",
        replace = "    heir->own_watched = claim->own_watched;\n",
    },
    {
        name = "batch-undoubted",
        what = "with the node the doubt is not handed on: what landed late stays",
        file = "src/core/batch.c",
        find = "    heir->doubted = claim->doubted;\n",
        replace = "",
    },
    {
        name = "batch-heir-asleep",
        what = "the heir is not told that it has the node",
        file = "src/core/batch.c",
        find = "return connected(claim) ? ZKL_DO_FORGET | ZKL_DO_FOLLOW : ZKL_DO_FORGET;",
        replace = "return ZKL_DO_FORGET;",
    },
    {
        name = "batch-place-lost",
        what = "who gives up does not hand its place on",
        file = "src/core/claim.c",
        find = "    case ZKL_PROVE: return fail(claim, why) | zkl_batch_leave(claim);",
        replace = "    case ZKL_PROVE: return fail(claim, why) | leave(claim);",
    },
    {
        name = "batch-passes-over",
        what = "an earlier one that has a node of its own is passed over",
        file = "src/core/batch.c",
        find = "        if (is_under_way(each)) return NULL;\n",
        replace = "",
    },
    {
        name = "batch-no-order",
        what = "who comes later goes first after a lost connection",
        file = "src/core/batch.c",
        find = "    if (earlier && may_succeed(claim)) return true;\n",
        replace = "    (void)earlier;\n",
    },
    {
        name = "batch-late-entry",
        what = "the next one enters only when the batch has gone",
        file = "src/core/claim_steps.h",
        find = "return ZKL_DO_GRANT | (ends_batch(claim) ? make_way_in_batch(claim) : 0);",
        replace = "return ZKL_DO_GRANT;",
    },
    {
        name = "batch-stranded",
        what = "who follows one that fails or leaves is not told",
        file = "src/core/claim_steps.h",
        find = "return claim->batch > 0 ? make_way(claim) : 0;",
        replace = "return claim->batch < 0 ? make_way(claim) : 0;",
    },
    {
        name = "batch-yield-late",
        what = "who yields hands its node on all the same",
        file = "src/core/batch.c",
        find = "    claim->batch = claim->served + 1;\n",
        replace = "",
    },
    {
        name = "batch-token-czxid",
        what = "all grants of a node have one token",
        file = "src/core/claim.h",
        find = "claim->batch ? claim->czxid * ZKL_BATCH_MAX + claim->served : claim->czxid;",
        replace = "claim->batch ? claim->czxid * ZKL_BATCH_MAX : claim->czxid;",
    },
    {
        name = "batch-token-overflow",
        what = "tokens of a very large czxid overflow",
        file = "src/core/claim_way.c",
        find = "claim->czxid > ZKL_BATCH_CZXID_MAX)",
        replace = "claim->czxid > INT64_MAX - 1)",
    },

    -- --- what a server says -------------------------------------------------------------

    {
        name = "name-twice",
        what = "a name that a list has twice is in the line twice: its czxid is read for ever",
        file = "src/core/line.c",
        find = "    filled = drop_repeated(list, filled);\n",
        replace = "",
        also = { {
            find = "static size_t drop_repeated(",
            replace = "size_t drop_repeated(struct zkl_contender **list, size_t count);\n" ..
                "size_t drop_repeated(",
        } },
    },
    {
        name = "never-tires",
        what = "an attempt that came to nothing is followed by the next at once, for ever",
        file = "src/core/claim.h",
        find = "return ++claim->rounds > ZKL_ROUNDS;",
        replace = "return ++claim->rounds == 0;",
    },
}
