--- left.lua - conditions of src/core and src/session that no test covers. A row has the file, the
-- function, the text of the decision, and of the condition if that is another; and `why` it cannot
-- be covered, or what has to happen that `yet` no test does.

return {

    -- What follows from another condition, or defends against what no caller does.

    { "src/core/batch.c", "trusts_its_list",
      "claim->keep > 0 && claim->batch == 0 && asked && recent && is_alone(claim)",
      condition = "is_alone(claim)",
      why =
        "With others in line the turn is over, so no heir asks, and a claim that is kept has "
        .. "left." },
    { "src/core/claim.c", "zkl_claim_cancel",
      "case ZKL_FORWARD",
      why =
        "Nobody wants a claim in this state any more, and the first lines of the function "
        .. "return for it." },
    { "src/core/claim.c", "zkl_claim_cancel",
      "case ZKL_KEPT",
      why = "The first line of the function returns for it." },
    { "src/core/claim.c", "zkl_claim_cancel",
      "case ZKL_LEAVE",
      why =
        "Nobody wants a claim in this state any more, and the first lines of the function "
        .. "return for it." },
    { "src/core/claim.c", "zkl_claim_cancel",
      "case ZKL_GONE",
      why =
        "Nobody wants a claim in this state any more, and the first lines of the function "
        .. "return for it." },
    { "src/core/claim.c", "zkl_claim_resume",
      "case ZKL_CREATE",
      why = "A create is never stalled: a lost one goes on in RECOVER_SYNC." },
    { "src/core/claim.c", "zkl_claim_resume",
      "case ZKL_RECOVER_LIST",
      why = "This state is never stalled: a lost list goes on in RECOVER_SYNC." },
    { "src/core/claim.c", "zkl_claim_resume",
      "case ZKL_IN_CONDITION",
      why = "The claim has no request of its own out here, so none can stall it." },
    { "src/core/claim.c", "zkl_claim_resume",
      "case ZKL_SIGNALLED",
      why = "The claim has no request out here, so none can stall it." },
    { "src/core/claim.h", "zkl_claim_awaits_parts",
      "claim->state == ZKL_CREATE && claim->node.nonce == 0",
      condition = "claim->state == ZKL_CREATE",
      why =
        "Both callers ask of a claim in CREATE; it is part of the word that the header "
        .. "gives." },
    { "src/core/claim_replies.c", "not_created",
      "case ZKL_DONE",
      why = "Its callers have handled a create that was carried out." },
    { "src/core/condition.c", "was_refused",
      "waiter->refusal != ZKL_OK && waiter->waiting == ZKL_WAITER_CAME && !waiter->node.doubted",
      condition = "waiter->waiting == ZKL_WAITER_CAME",
      why =
        "A refusal of the create is noted only while the lock's node is there, and a create "
        .. "that is carried out clears it." },
    { "src/core/condition.c", "zkl_waiter_take",
      "claim->partner",
      why = "A waiter that is signalled has its lock's claim until one of them is gone." },
    { "src/core/condition.c", "first_behind",
      "i < line->count",
      why = "Its caller has found the own node in this line." },
    { "src/core/unfair.c", "is_other",
      "each != claim && zkl_kind_is_fixed(each->kind) && each->state != ZKL_GONE",
      condition = "zkl_kind_is_fixed(each->kind)",
      why = "A session uses a path in one way (is_same_use), so no other kind is beside it." },
    { "src/session/answers.c", "reply_of",
      "case ZKL_ERROR_UNKNOWN_SESSION",
      why =
        "An answer that says so ends the session, and is given to nobody "
        .. "(zkl_session_answer)." },
    { "src/session/answers.c", "answer_look",
      "!path || path->look_at == 0",
      condition = "!path",
      why =
        "A path that is to be looked at is not freed (zkl_path_tidy), and the session's end "
        .. "answers each look as unknown." },
    { "src/session/answers.c", "answer_look",
      "!path || path->look_at == 0",
      condition = "path->look_at == 0",
      why =
        "Only the last of a look's answers clears it, and a look waits for the answers to "
        .. "the one before." },
    { "src/session/answers.c", "answer_look_sync",
      "path && path->look_at == call->look_at",
      condition = "path",
      why = "A path that is to be looked at is not freed (zkl_path_tidy)." },
    { "src/session/answers.c", "answer_look_fixed",
      "!path || path->look_at != call->look_at",
      condition = "!path",
      why = "A path that is to be looked at is not freed (zkl_path_tidy)." },
    { "src/session/call.c", "zkl_call_watch",
      "node && is_connected(call->session) && zkl_watches_ask(call->stake, node, "
        .. "call->kind == CALL_GET_OWN)",
      condition = "is_connected(call->session)",
      why = "Claims ask for watches only with a connection; the call would be marked as unsent." },
    { "src/session/call.c", "zkl_call_set_watch",
      "node && is_connected(call->session)",
      condition = "is_connected(call->session)",
      why = "Watchers, members and rosters ask only with a connection." },
    { "src/session/condition.c", "zkl_condition_waited",
      "node && lock",
      condition = "lock",
      why = "The lock's claim is in the condition until its waiter has begun." },
    { "src/session/condition.c", "zkl_condition_granted",
      "waiter",
      why = "A claim that comes back has the waiter that was signalled until it is granted." },
    { "src/session/events.c", "zkl_events_post",
      "note->posted",
      why =
        "Each of its callers has looked before; a note that is in the list twice would break "
        .. "the list." },
    { "src/session/events.c", "zkl_events_remove",
      "!note->posted",
      why =
        "Each of its callers has looked before; to take out what is not in the list would "
        .. "break the list." },
    { "src/session/lease.c", "zkl_release_wait",
      "request && !request->done",
      condition = "!request->done",
      why =
        "A request for a release is not answered before the release; one that is must not be "
        .. "awaited." },
    { "src/session/member.c", "end",
      "member->state == ZKL_MEMBER_ENDED",
      why =
        "Its callers have a member that has not ended; the references would be given back "
        .. "twice." },
    { "src/session/member.c", "start",
      "case ZKL_MEMBER_ENDED",
      why = "A member that has ended is not in the session's list, and is due never." },
    { "src/session/member.c", "see_nothing",
      "member->refusal != ZKL_OK && member->state == ZKL_MEMBER_JOINING",
      condition = "member->state == ZKL_MEMBER_JOINING",
      why = "A refusal is noted of a create alone, which is made in JOINING." },
    { "src/session/member.c", "answer_remove",
      "member->state != ZKL_MEMBER_LEAVING",
      why = "Nothing leads out of LEAVING but the end." },
    { "src/session/outbox.c", "take",
      "case ZKL_EVENT_STATE",
      why = "Changes of the state have a ring of their own, and no note." },
    { "src/session/outbox.c", "take",
      "case ZKL_EVENT_STEP",
      why = "Steps have a list of their own, and no note." },
    { "src/session/outbox.c", "take",
      "case ZKL_EVENT_NONE",
      why = "No note is of this kind." },
    { "src/session/query.c", "ask_check",
      "sync && i < stakes->count && !request->done",
      condition = "!request->done",
      why = "A get for which there is no memory leaves the loop by itself." },
    { "src/session/query.c", "start",
      "request->done || request->calls || session->state != ZKL_SESSION_CONNECTED",
      condition = "request->done",
      why = "A request that is done is not in the session's list; its callers ask for others." },
    { "src/session/query.c", "ask_each",
      "i < request->queued && !request->done",
      condition = "!request->done",
      why = "A get for which there is no memory leaves the loop by itself." },
    { "src/session/roster.c", "zkl_roster_answer",
      "seen",
      why = "While a member is asked about no list is, so it stays." },
    { "src/session/roster.c", "zkl_members",
      "children && zkl_watches_may(&session->watches, children) && "
        .. "zkl_watches_may(&session->watches, folder)",
      condition = "zkl_watches_may(&session->watches, folder)",
      why =
        "The folder's path is shorter than that of its children's watch: if there is room "
        .. "for this one, there is for that one." },
    { "src/session/stake.c", "zkl_stake_note_grant",
      "stake->granted_link",
      why = "A stake is granted once, as its claim comes back from a condition by another way." },
    { "src/session/stake.c", "zkl_stake_failed",
      "request && !request->done && stranger",
      condition = "request",
      why = "A claim that conflicts was never granted, so its request waits for it." },
    { "src/session/stake.c", "zkl_stake_hold_begins",
      "stake->request",
      why = "Whoever is granted has a request that waits for the grant." },
    { "src/session/stake.c", "zkl_stake_queued",
      "!stake->queued_at",
      why =
        "A claim is told once that it waits (announce), and the grant has cleared the time "
        .. "before it waits anew." },
    { "src/session/stake.c", "zkl_stake_queued",
      "!request || request->quiet || request->position",
      condition = "!request",
      why = "Whoever waits in line has a request that waits for the grant." },
    { "src/session/stake_actions.c", "watch_holders",
      "i < line->count && claim->state == ZKL_WAIT",
      condition = "claim->state == ZKL_WAIT",
      why = "What ends the claim leaves the loop by itself." },
    { "src/session/stake_actions.c", "zkl_stake_resume_postponed",
      "claim->state == ZKL_WAIT && claim->stalled && !zkl_kind_is_fixed(claim->kind)",
      condition = "!zkl_kind_is_fixed(claim->kind)",
      why = "Only watches of a predecessor are postponed, and where nobody queues there is none." },
    { "src/session/stake_actions.c", "first_of",
      "i < ACTIONS && !(actions & in_order[i])",
      condition = "i < ACTIONS",
      why = "There is an action, and each has its place, as is asserted." },
    { "src/session/stake_feed.c", "path_of",
      "*name",
      why =
        "A node that a server tells of, or that was asked for, has a name "
        .. "(zkl_session_event)." },
    { "src/session/stake_feed.c", "feed",
      "default",
      why = "The other kinds of calls are not a stake's." },
    { "src/session/watches.c", "is_of_children",
      "path[0] == '/' && path[1] == '/'",
      condition = "path[0] == '/'",
      why = "Every path begins with a slash." },
    { "src/session/watches.c", "zkl_watches_answer",
      "!watch",
      why =
        "A watch that was asked for stays until the answer; the session's end answers all "
        .. "before it forgets them." },
    { "src/session/watches.c", "zkl_watches_answer",
      "watch->asked",
      why = "A watch that was asked for says so until the answer." },
    { "src/session/watches.c", "zkl_watches_removing",
      "!watch",
      why = "Its caller has found the watch that is to be removed." },

    -- What could be covered.

    { "src/core/batch.c", "trusts_its_list",
      "claim->line->children == ZKL_WATCH_ASKED && !claim->stalled",
      condition = "!claim->stalled",
      yet =
        "A mark has to be lost while the watch of the children is out for the second time, "
        .. "after all others have gone." },
    { "src/session/connection.c", "resume",
      "zkl_stake_lacks_room((struct stake *)claim)",
      yet =
        "A claim that waits for its turn has to come to a node while half a megabyte of "
        .. "other nodes leave no room." },
    { "src/session/connection.c", "beat_claim",
      "zkl_stake_lacks_room((struct stake *)claim)",
      yet =
        "A claim that waits for its turn has to come to a node while half a megabyte of "
        .. "other nodes leave no room." },
    { "src/session/connection.c", "look_at",
      "sync && (fixed || !path->fixed)",
      condition = "fixed",
      yet =
        "Memory has to be missing for the get of the fixed name, of a path whose create was "
        .. "lost." },
    { "src/session/connection.c", "look_at",
      "sync && (fixed || !path->fixed)",
      condition = "!path->fixed",
      yet =
        "Memory has to be missing for the get of the fixed name, of a path whose create was "
        .. "lost." },
    { "src/session/multi.c", "zkl_multi_retreat",
      "part->claim.state == ZKL_RETREAT && part->claim.stalled",
      condition = "part->claim.state == ZKL_RETREAT",
      yet = "The delete of one part has to be lost, and that of another one answered." },
    { "src/session/stake.c", "zkl_stake_lacks_room",
      "waits && zkl_stake_bytes(stake->session) + cost > ZKL_PATHS_MAX",
      condition = "waits",
      yet =
        "A claim that waits for its turn has to come to a node while half a megabyte of "
        .. "other nodes leave no room." },
    { "src/session/stake.c", "zkl_stake_lacks_room",
      "waits && zkl_stake_bytes(stake->session) + cost > ZKL_PATHS_MAX",
      condition = "zkl_stake_bytes(stake->session) + cost > ZKL_PATHS_MAX",
      yet =
        "A claim that waits for its turn has to come to a node while half a megabyte of "
        .. "other nodes leave no room." },
    { "src/session/stake_actions.c", "zkl_stake_revise",
      "call",
      yet = "Memory has to be missing for the read after a write that met another one." },
    { "src/session/stake_actions.c", "resume_followers",
      "zkl_stake_lacks_room((struct stake *)claim)",
      yet =
        "A claim that waits for its turn has to come to a node while half a megabyte of "
        .. "other nodes leave no room." },
    { "src/session/stake_feed.c", "zkl_stake_look_for_orphans",
      "!stake",
      yet = "Memory has to be missing for the claim that removes an orphan." },
    { "src/session/stake_feed.c", "answer_revise",
      "answer->reply == ZKL_DONE && zkl_claim_asks_too_often(&stake->claim)",
      condition = "zkl_claim_asks_too_often(&stake->claim)",
      yet = "Somebody has to write to a holder's node between each two of seventeen requests." },
    { "src/session/stake_feed.c", "answer_revise",
      "answer->reply == ZKL_DONE && zkl_claim_asks_too_often(&stake->claim)",
      condition = "answer->reply == ZKL_DONE",
      yet = "Somebody has to write to a holder's node between each two of seventeen requests." },
    { "src/session/stake_feed.c", "answer_revise",
      "tired",
      yet = "Somebody has to write to a holder's node between each two of seventeen requests." },
    { "src/session/stake_feed.c", "says_held",
      "answer->size > 0 && zkl_data_says_held(answer->text, (size_t)answer->size)",
      condition = "answer->size > 0",
      yet = "Somebody has to empty the data of a node that says that it is held." },
    { "src/session/stake_feed.c", "note_free_way",
      "ahead && zkl_line_is_own(&stake->path->line, ahead)",
      condition = "ahead",
      yet = "A server has to tell of the end of a holder that no list has shown." },
}
