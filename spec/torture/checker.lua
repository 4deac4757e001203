--- The checker says whether zklock may produce a history (history.lua).
--
--   check(events, options) → report
--
-- Each rule is a function of the model (model.lua). It takes O(n log n), and the time for its
-- findings, which are violations, and overlaps that a fault of the history explains.
--
-- options, all seconds:
--   bound = session timeout    for a hand-off, and for a node to go, while nothing disturbs
--   slack = 0.5                for a call or a notice beyond its deadline; a busy machine needs
--                              more
--
-- report: { violations = { { rule=, at=, text=, claim= }, … }, explained = { the same },
--           rules = { { name=, text=, violations = count }, … }, model = …,
--           figures = the counts of figures.lua }

local downgrade = require "spec.torture.downgrade"
local figures = require "spec.torture.figures"
local kept = require "spec.torture.kept"
local model = require "spec.torture.model"
local reports = require "spec.torture.report"
local turns = require "spec.torture.turns"

local huge, max, min = math.huge, math.max, math.min

local MARGIN = 0.5 -- the session option
local SKEW = model.SKEW

-- Rules that hold whatever the servers lose.
local OURS = { deadline = true, update = true, sound = true }

local rules = {}


local function rule(name, text, check)
    rules[#rules + 1] = { name = name, text = text, check = check }
end


local function rule_of_claims(name, text, check)
    rule(name, text, function(m, report, options)
        for _, claim in ipairs(m.claims) do check(m, report, claim, options) end
    end)
end


-- --- helpers of several rules ---------------------------------------------------------

local function by(field)
    return function(a, b) return a[field] < b[field] end
end


local function in_order(claims, field)
    local list = {}
    for _, claim in ipairs(claims) do
        if claim[field] then list[#list + 1] = claim end
    end
    table.sort(list, by(field))
    return list
end


-- Calls check(m, report, grants) for each path's grants, without second handles.
local function rule_of_paths(name, text, field, check)
    rule(name, text, function(m, report)
        local by_path = {}
        for _, claim in ipairs(in_order(m.claims, field)) do
            if not claim.second then model.put(by_path, claim.path, claim) end
        end
        for _, grants in pairs(by_path) do check(m, report, grants) end
    end)
end


-- Keeps the best grant of a path. Returns put(claim), and excluding(claim), which returns the best
-- grant so far that excludes the claim, in O(1).
local function best(is_better)
    local best_of_all, best_exclusive
    local function put(claim)
        if not best_of_all or is_better(claim, best_of_all) then best_of_all = claim end
        if not claim.is_shared and (not best_exclusive or is_better(claim, best_exclusive)) then
            best_exclusive = claim
        end
    end
    return put, function(claim)
        if claim.is_shared then return best_exclusive end
        return best_of_all
    end
end


-- Whether ZooKeeper still had the claim's node at that moment.
local function alive(claim, at)
    local node = claim.node
    return node ~= nil and at < (node.deleted or huge)
end


-- --- the rules ------------------------------------------------------------------------

-- A node's data names the claim that made it. A second handle uses the first handle's node, and a
-- claim in turns, or on a kept node, may use a node of another claim of the session.
local function made_by(m, node, claim)
    if claim.second then return node.claim ~= nil and node.claim.process == claim.process end
    if claim.batch then return turns.is_own(m, node, claim) end
    if claim.keep and claim.count > 0 then return kept.is_own(m, node, claim) end
    return node.claim == claim
end


rule_of_claims("order", "a claim is granted in its turn, by ZooKeeper's order: alone, with readers,"
    .. " or while permits are left", function(m, report, claim)
    local at, node = claim.granted, claim.node
    if not at then
        return
    elseif not node then
        report:grant(claim, "token %d is of no lock node", claim.token)
    elseif node.path ~= claim.path or not made_by(m, node, claim) then
        report:grant(claim, "token %d is of somebody else's node, %s/%s", claim.token, node.path,
                     node.name)
    elseif not claim.second and claim.kind ~= (node.was and "write" or node.kind) then
        report:grant(claim, "wants to %s, by the node %s", claim.kind, node.name)
    elseif not node.turn then
        report:grant(claim, "granted, and it was never its turn")
    elseif at < node.turn - SKEW then
        report:grant(claim, "granted %.3f s before it was its turn", node.turn - at)
    end
end)


-- Returns why `newer` may have been granted while `older` still thought that it held the lock.
local function why_overlap(m, older, newer)
    local start = max(older.granted, newer.granted)
    local taken = older.node and older.node.deleted and older.node.deleted <= start
        and m:taken(older.node)
    if taken then return taken end
    local certain = older.held_until or older.granted
    if start < certain then return nil end
    local stop = m.stops[older.process]:overlapping(certain, start)
    return stop and stop.what or m:taken_part(older.node)
end


-- False for a grant that its closing session released before the user got it.
local function reached_user(claim) return claim.state ~= "released" end


-- False, too, for a grant that was lost when it came, because its process had been stopped.
local function was_held(claim) return reached_user(claim) and claim.over > claim.granted end


local function judge_overlap(m, report, a, b)
    if not (was_held(a) and was_held(b)) then return end
    local older, newer = a, b
    if a.token > b.token then older, newer = b, a end
    local why = why_overlap(m, older, newer)
    local at = max(a.granted, b.granted)
    if why then
        report:explain(at, older, "%s was granted in its time: %s", newer.id, why)
    else
        report:violation(at, older, "%s was granted %.3f s before its end, no fault explains it",
                         newer.id, min(a.over, b.over) - at)
    end
end


-- Splits a list into the claims whose `until_when` is behind that moment, and all others.
local function split(list, until_when, at)
    local still, ended = {}, {}
    for _, claim in ipairs(list) do
        local side = claim[until_when] > at and still or ended
        side[#side + 1] = claim
    end
    return still, ended
end


-- Compares exclusive claims with all claims, but readers, which may be many, only with exclusive
-- ones. So each comparison finds an overlap, or is the last for a claim.
local function judge_overlaps(m, report, grants)
    local alone, readers = {}, {}
    for _, claim in ipairs(grants) do
        local still, ended = split(alone, "alone_until", claim.granted)
        alone = still
        for _, other in ipairs(ended) do readers[#readers + 1] = other end -- some read on
        for _, other in ipairs(alone) do judge_overlap(m, report, other, claim) end
        if claim.kind == "read" then
            readers[#readers + 1] = claim
        else
            readers = split(readers, "over", claim.granted)
            for _, other in ipairs(readers) do judge_overlap(m, report, other, claim) end
            alone[#alone + 1] = claim
        end
        if report:full() then return end
    end
end


-- When more permits are held than exist, one of the claims that still hold must explain it.
local function judge_sum(m, report, still, newer)
    local sum, limit = 0, newer.node and newer.node.limit or 0
    for _, claim in ipairs(still) do sum = sum + claim.permits end
    if sum <= limit then return end
    for _, older in ipairs(still) do
        local why = older ~= newer and why_overlap(m, older, newer)
        if why then
            return report:explain(newer.granted, older, "%s was granted in its time: %s",
                                  newer.id, why)
        end
    end
    report:violation(newer.granted, newer, "%d of %d permits are held, no fault explains it", sum,
                     limit)
end


local function judge_permits(m, report, grants)
    local still = {}
    for _, claim in ipairs(grants) do
        still = split(still, "over", claim.granted)
        still[#still + 1] = claim
        judge_sum(m, report, still, claim)
    end
end


rule_of_paths("overlap", "overlaps in client time are explained by a fault", "granted",
    function(m, report, grants)
    local judge = grants[1].kind == "permit" and judge_permits or judge_overlaps
    judge(m, report, grants)
end)


rule_of_paths("token", "tokens are unique, and grow", "granted", function(m, report, grants)
    local owner, next_grant = {}, 1
    local put, excluding = best(function(a, b) return a.token > b.token end)
    for _, claim in ipairs(in_order(grants, "invoked")) do
        while grants[next_grant] and grants[next_grant].granted < claim.invoked do
            put(grants[next_grant])
            next_grant = next_grant + 1
        end
        local before = excluding(claim)
        if before and claim.token <= before.token and not kept.is_robbed(m, claim) then
            report:grant(claim, "token %d after a grant with %d", claim.token, before.token)
        elseif owner[claim.token] then
            report:grant(claim, "token %d is also that of %s", claim.token, owner[claim.token].id)
        end
        owner[claim.token] = claim
    end
end)


-- No claim is granted before a claim that excludes it and has a smaller token.
local function check_grants(m, report, grants)
    local put, excluding = best(by("granted"))
    for i = #grants, 1, -1 do
        local claim = grants[i]
        local earliest = excluding(claim)
        if earliest and earliest.granted < claim.granted and earliest.token > claim.token
            and claim.state == "held" and not m:taken(claim.node) then
            report:grant(claim, "%s came later and was granted before", earliest.id)
        end
        put(claim)
    end
end


-- A claim that stood in line before another was invoked has the smaller token, unless it had to
-- queue again. kept.lua checks claims that inherit a kept node.
local function check_arrivals(report, grants)
    local queued, next_queued, greatest = in_order(grants, "queued"), 1, nil
    for _, claim in ipairs(in_order(grants, "invoked")) do
        while queued[next_queued] and queued[next_queued].queued < claim.invoked do
            local ahead = queued[next_queued]
            local once = #ahead.nodes < 2
            if once and not (greatest and greatest.token >= ahead.token) then greatest = ahead end
            next_queued = next_queued + 1
        end
        local inherits = claim.keep and claim.count > 0
        if greatest and greatest.token > claim.token and not inherits then
            report:grant(claim, "came when %s already stood in line, was first", greatest.id)
        end
    end
end


rule_of_paths("fifo", "locks are granted in order of arrival", "token", function(m, report, grants)
    local first = grants[1]
    if first.node and first.node.name == "lock" then return end -- it has no order
    check_grants(m, report, grants)
    if not first.batch then check_arrivals(report, grants) end
end)


rule("turns", "a turn has a batch of grants if others wait, counted, in order of asking",
     turns.check)


rule("kept", "a kept node serves its session alone, counts its grants, and goes in time, for others"
     .. " at once; a try gets it", kept.check)


-- Whether it was a reader's node then. A downgrade where numbers end leaves a writer's node.
local function was_readers(node, at)
    return node ~= nil and (node.was and node.shared < at or not node.was and node.kind == "read")
end


rule_of_claims("reentry", "a second handle is on the same grant", function(m, report, claim)
    local outer, at = claim.inside and m.claim[claim.inside], claim.granted
    if not outer or not at then
        return
    elseif claim.token == outer.token then
        if claim.kind ~= "read" and was_readers(outer.node, at) then
            report:grant(claim, "a writer inside of a hold to read")
        end
    elseif (outer.held_until or 0) >= at and alive(outer, at) then
        report:grant(claim, "token %d inside of a hold with %d", claim.token, outer.token)
    end
end)


rule("deadline", "every call ends at its deadline", function(m, report, options)
    for _, call in ipairs(m.calls) do
        local begun, limit = tonumber(call.begun), tonumber(call.limit)
        local took = call.at - begun - m.stops[call.process]:covered(begun, call.at)
        report:measure("late", max(0, took - limit))
        if took > limit + options.slack then
            report:violation(call.at, m.claim[call.claim], "%s after %.3f s, limit %g",
                             call.event, took, limit)
        end
    end
end)


rule("gone", "a node goes when its claim has ended", function(m, report, options)
    local wanted_until = turns.wanted_until(m)
    for _, claim in ipairs(m.claims) do
        local node = claim.nodes[#claim.nodes]
        local may_stay = claim.keep and claim.granted -- see the rule "kept"
        if node and not claim.second and not may_stay and claim.over < huge then
            local trouble, over = m.trouble[claim.place], wanted_until(claim)
            local latest = trouble:undisturbed(over, options.bound)
            if latest <= over + options.bound and node.deleted then
                report:measure("release", max(0, node.deleted - over))
            end
            if (node.deleted or m.finished) > latest then
                report:violation(over, claim, "its node %s stayed %.3f s", node.name,
                                 (node.deleted or m.finished) - over)
            end
        end
    end
end)


-- Returns the seconds for which a holder may be certain of a node that is gone: none after an
-- expiry, which its clock foretells; after a theft, until the news arrives or, if none can arrive,
-- until its clock runs out.
local function certain_for(m, claim, taken, options)
    if not taken then return SKEW end
    local gone = claim.node.deleted
    local trouble = m.trouble[claim.place]:overlapping(gone, gone + options.slack)
    return (trouble and MARGIN * m.timeout or 0) + options.slack
end


-- A holder must learn that its node is gone before the release.
local function check_notice(m, report, claim, options)
    local gone, taken = claim.node.deleted, m:taken(claim.node)
    local allowed = certain_for(m, claim, taken, options)
    local stopped = m.stops[claim.process]
    local certain = claim.held_until or was_held(claim) and claim.granted or gone
    local excused = taken and stopped:covered(gone, certain) or 0
    if certain > gone + allowed + excused then
        report:violation(certain, claim, "certain of its lock %.3f s after its node was gone",
                         certain - gone)
    end
    local told = min(claim.noticed or huge, claim.given_up)
    if told == huge then
        return report:violation(gone, claim, "its node went, and it never noticed")
    end
    local delay = told - gone - stopped:covered(gone, told)
    report:measure(taken and "taken" or "expired", max(0, delay))
    if delay > max(allowed, options.slack) then
        report:violation(told, claim, "noticed %.3f s after its node was gone", delay)
    end
end


rule_of_claims("notice", "a holder notices its loss in time", function(m, report, claim, options)
    local gone = claim.node and not claim.second and claim.node.deleted
    if gone and gone + SKEW < claim.given_up and reached_user(claim) then
        check_notice(m, report, claim, options)
    end
end)


local function check_service(m, report, claim, options)
    local node = claim.nodes[#claim.nodes]
    local turn, over = node and node.turn, min(claim.granted or huge, claim.given_up)
    if not turn or turn <= node.created or claim.batch or m:taken(node) then return end
    -- A permit's turn may depend on a waiter ahead that is in trouble.
    local trouble = claim.kind == "permit" and m.any_trouble or m.trouble[claim.place]
    if claim.granted and not trouble:overlapping(turn, over) then
        report:measure("handoff", max(0, claim.granted - turn))
    end
    if min(over, m.finished) > trouble:undisturbed(turn, options.bound) then
        report:violation(turn, claim, "it was its turn for %.3f s, and it was not served",
                         min(over, m.finished) - turn)
    end
end


rule("handoff", "a claim whose turn it is gets the lock", function(m, report, options)
    for _, claim in ipairs(m.claims) do check_service(m, report, claim, options) end
    turns.check_hand_overs(m, report, options)
end)


rule("moves", "no session expires because an address changed", function(m, report)
    for _, event in ipairs(m.states) do
        local from = event.at - 2 * m.timeout
        if event.state == "expired" and not m.harm[event.place]:overlapping(from, event.at) then
            report:violation(event.at, nil, "the session of %s expired", event.process)
        end
    end
end)


rule("downgrade", "a writer becomes a reader in its place, and reads", downgrade)


rule_of_claims("steady", "a reader reads the same value while it holds",
    function(m, report, claim)
    local gone, before = m:taken(claim.node) and claim.node.deleted or huge, nil
    for _, read in ipairs(claim.reads) do
        if read.certain and read.at < gone then
            if before and read.element ~= before then
                report:violation(read.at, claim, "%s became %s while it held", before, read.element)
            end
            before = read.element
        end
    end
end)


rule("fence", "the store takes no stale write, and refuses no holder", function(m, report)
    local stored = {}
    for path, journal in pairs(m.journal) do
        local greatest = 0
        for _, write in ipairs(journal) do
            stored[write.element] = write
            if write.token < greatest then
                report:violation(m.finished, nil, "%s: %s was written with token %d after %d", path,
                                 write.element, write.token, greatest)
            end
            greatest = max(greatest, write.token)
        end
    end
    for _, write in ipairs(m.writes) do
        local element, at = write.element, write.at
        if write.accepted ~= (stored[element] ~= nil) then
            report:violation(at, write.claim, "%s: the store does not know what it said", element)
        elseif not write.accepted and alive(write.claim, at) then
            report:violation(at, write.claim, "the holder's write %s was refused", element)
        end
    end
end)


local function survivors(journal)
    local read, there = {}, {}
    for _, write in ipairs(journal) do read[write.element] = write.read end
    local element = #journal > 0 and journal[#journal].element
    while element and read[element] and not there[element] do
        there[element] = true
        element = read[element]
    end
    return there
end


rule("update", "no update that the store took is lost, whoever was late", function(m, report)
    local there = {}
    for path, journal in pairs(m.journal) do there[path] = survivors(journal) end
    for _, write in ipairs(m.writes) do
        local claim = write.claim
        local is_there = there[claim.path] and there[claim.path][write.element]
        if write.accepted and not is_there then
            report:violation(write.at, claim, "%s was added and is lost", write.element)
        end
    end
end)


rule("own", "nobody takes another's node", function(m, report)
    for _, node in pairs(m.nodes) do
        local by_other = node.cause == "delete" and node.by ~= node.session
        if by_other and not m:taken(node) then
            report:violation(node.deleted, node.claim, "%s/%s of session %s was deleted by %s",
                             node.path, node.name, node.session, node.by)
        end
    end
end)


rule("residue", "nothing is left behind", function(m, report)
    local left = m.residue
    if not left then return report:violation(m.finished, nil, "nobody looked what is left") end
    if tonumber(left.nodes) > 0 then
        report:violation(left.at, nil, "%s lock nodes", left.nodes)
    end
    if tonumber(left.watches) > 0 then
        report:violation(left.at, nil, "%s watches", left.watches)
    end
end)


rule("sound", "no errors, and every claim and process came to an end", function(m, report)
    for _, event in ipairs(m.errors) do
        report:violation(event.at, nil, "%s: %s", event.process, event.message)
    end
    for process, last in pairs(m.last) do
        if not m.ended[process] and not m.killed[process] then
            report:violation(last, nil, "%s did not end in order", process)
        end
    end
    local served = false
    for _, claim in ipairs(m.claims) do
        served = served or claim.granted ~= nil
        if claim.over == huge or not (claim.granted or claim.failed or m.killed[claim.process]) then
            report:violation(claim.invoked, claim, "it never ended")
        end
    end
    if not served then report:violation(m.finished, nil, "nobody was ever granted a lock") end
end)


-- --- all together ---------------------------------------------------------------------

return function(events, options)
    local m, given = model.build(events), options or {}
    local set = { slack = given.slack or 0.5, bound = given.bound or m.timeout }
    local found = reports.new(m)
    for _, each in ipairs(rules) do
        found:begin(each.name, each.text, OURS[each.name])
        each.check(m, found, set)
    end
    found.figures = figures.count(m, found)
    return found
end
