--- The checker: is a history (history.lua) one that zklock may produce?
--
--   check(events, options) → report
--
-- Each rule is a function of the model (model.lua) and takes O(n log n), and the time for
-- what it reports: violations, and what looks like one and is explained by a fault on record.
--
-- options, all seconds:
--   bound = session timeout    for a hand-off, and for a node to go, while nothing disturbs
--   slack = 0.5                what a call may take beyond its deadline, a notice beyond
--                              its own; a busy machine needs some
--
-- report: { violations = { { rule=, at=, text=, claim= }, … }, explained = { the same },
--           rules = { { name=, text=, violations = count }, … }, model = …,
--           figures = what figures.lua counts }

local downgrade = require "spec.torture.downgrade"
local figures = require "spec.torture.figures"
local kept = require "spec.torture.kept"
local model = require "spec.torture.model"
local reports = require "spec.torture.report"
local turns = require "spec.torture.turns"

local huge, max, min = math.huge, math.max, math.min

local MARGIN = 0.5 -- the session option
local SKEW = model.SKEW

-- These hold whatever the servers lose.
local OURS = { deadline = true, update = true, sound = true }

local rules = {}


local function rule(name, text, check)
    rules[#rules + 1] = { name = name, text = text, check = check }
end


-- --- what several rules need ----------------------------------------------------------

-- Grants of their own, not second handles, by path; each list in order of compare(a, b).
local function grants_by_path(m, compare)
    local by_path = {}
    for _, claim in ipairs(m.claims) do
        if claim.granted and not claim.second then
            by_path[claim.path] = by_path[claim.path] or {}
            table.insert(by_path[claim.path], claim)
        end
    end
    for _, list in pairs(by_path) do table.sort(list, compare) end
    return by_path
end


local function by_grant(a, b) return a.granted < b.granted end
local function by_token(a, b) return a.token < b.token end


-- Later grants of one path, in O(1) a question: the most by compare(a, b) of those put in
-- so far that exclude a claim; readers do not exclude each other, nor do permits.
local Most = {}
Most.__index = Most


local function most(compare)
    return setmetatable({ compare = compare }, Most)
end


function Most:put(claim)
    local function better(old) return (not old or self.compare(claim, old)) and claim or old end
    self.any = better(self.any)
    local shared = claim.kind == "read" or claim.kind == "permit"
    if not shared then self.alone = better(self.alone) end
end


function Most:excluding(claim)
    if claim.kind == "read" or claim.kind == "permit" then return self.alone end
    return self.any
end


-- Was the lock still the claim's own at that moment, as ZooKeeper sees it?
local function alive(claim, at)
    local node = claim.node
    return node ~= nil and at < (node.deleted or huge)
end


-- --- the rules ------------------------------------------------------------------------

-- A node says in its data which claim made it; a second handle is on its first one's, and who
-- takes turns, or comes to a node that is kept, may have that of another claim of the session.
local function made_by(m, node, claim)
    if claim.second then return node.claim ~= nil and node.claim.process == claim.process end
    if claim.batch then return turns.is_own(m, node, claim) end
    if claim.keep and claim.count > 0 then return kept.is_own(m, node, claim) end
    return node.claim == claim
end


local function check_turn(m, report, claim)
    local at, node = claim.granted, claim.node
    if not node then
        report:violation(at, claim, "token %d is of no lock node", claim.token)
    elseif node.path ~= claim.path or not made_by(m, node, claim) then
        report:violation(at, claim, "token %d is of somebody else's node, %s/%s", claim.token,
                         node.path, node.name)
    elseif not claim.second and claim.kind ~= (node.was and "write" or node.kind) then
        report:violation(at, claim, "wants to %s, by the node %s", claim.kind, node.name)
    elseif not node.turn then
        report:violation(at, claim, "granted, and it was never its turn")
    elseif at < node.turn - SKEW then
        report:violation(at, claim, "granted %.3f s before it was its turn", node.turn - at)
    end
end


rule("order", "who is granted has its turn in ZooKeeper's order: alone, with readers, or as many"
     .. " as there are permits", function(m, report)
    for _, claim in ipairs(m.claims) do
        if claim.granted then check_turn(m, report, claim) end
    end
end)


-- Why `newer` may have been granted while `older` still thought that it held the lock.
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


-- A grant that was given up, with its session, before its user had it is nobody's hold.
local function was_had(claim) return claim.state ~= "released" end


-- Nor does a user hold what was lost when the grant came: its process had been stopped.
local function was_held(claim) return was_had(claim) and claim.over > claim.granted end


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


-- Those of a list that still hold at that moment, and those that do not.
local function part(list, until_when, at)
    local still, ended = {}, {}
    for _, claim in ipairs(list) do
        local side = claim[until_when] > at and still or ended
        side[#side + 1] = claim
    end
    return still, ended
end


-- Who holds alone is compared with everybody; readers, who may be many, only when somebody
-- comes who excludes them. So each step is an overlap, or the last one for some claim.
local function judge_overlaps(m, report, grants)
    local alone, readers = {}, {}
    for _, claim in ipairs(grants) do
        local still, ended = part(alone, "alone_until", claim.granted)
        alone = still
        for _, other in ipairs(ended) do readers[#readers + 1] = other end -- some read on
        for _, other in ipairs(alone) do judge_overlap(m, report, other, claim) end
        if claim.kind == "read" then
            readers[#readers + 1] = claim
        else
            readers = part(readers, "over", claim.granted)
            for _, other in ipairs(readers) do judge_overlap(m, report, other, claim) end
            alone[#alone + 1] = claim
        end
        if report:full() then return end
    end
end


-- More permits at once than there are: somebody of those who still hold is to explain it.
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
        still = part(still, "over", claim.granted)
        still[#still + 1] = claim
        judge_sum(m, report, still, claim)
    end
end


rule("overlap", "overlaps in client time are explained by a fault", function(m, report)
    for _, grants in pairs(grants_by_path(m, by_grant)) do
        local judge = grants[1].kind == "permit" and judge_permits or judge_overlaps
        judge(m, report, grants)
    end
end)


rule("token", "tokens are unique, and grow", function(m, report)
    for _, grants in pairs(grants_by_path(m, by_grant)) do
        local invoked, owner, next_grant = {}, {}, 1
        local greatest = most(function(a, b) return a.token > b.token end)
        for i, claim in ipairs(grants) do invoked[i] = claim end
        table.sort(invoked, function(a, b) return a.invoked < b.invoked end)
        for _, claim in ipairs(invoked) do
            while grants[next_grant] and grants[next_grant].granted < claim.invoked do
                greatest:put(grants[next_grant])
                next_grant = next_grant + 1
            end
            local before = greatest:excluding(claim)
            if before and claim.token <= before.token and not kept.is_robbed(m, claim) then
                report:violation(claim.granted, claim, "token %d after a grant with %d",
                                 claim.token, before.token)
            elseif owner[claim.token] then
                report:violation(claim.granted, claim, "token %d is also that of %s", claim.token,
                                 owner[claim.token].id)
            end
            owner[claim.token] = claim
        end
    end
end)


-- Who stood in line before another came has the smaller token; unless it had to queue again. Of
-- nodes that are kept kept.lua knows more.
local function check_arrivals(report, grants)
    local queued, invoked, greatest, next_queued = {}, {}, nil, 1
    for i, claim in ipairs(grants) do
        invoked[i] = claim
        if claim.queued and #claim.nodes < 2 then queued[#queued + 1] = claim end
    end
    table.sort(queued, function(a, b) return a.queued < b.queued end)
    table.sort(invoked, function(a, b) return a.invoked < b.invoked end)
    for _, claim in ipairs(invoked) do
        while queued[next_queued] and queued[next_queued].queued < claim.invoked do
            local ahead = queued[next_queued]
            if not greatest or ahead.token > greatest.token then greatest = ahead end
            next_queued = next_queued + 1
        end
        local inherits = claim.keep and claim.count > 0
        if greatest and greatest.token > claim.token and not inherits then
            report:violation(claim.granted, claim, "came when %s already stood in line, was first",
                             greatest.id)
        end
    end
end


-- A lock without an order has one node of a fixed name.
local function ordered(grants)
    return not (grants[1] and grants[1].node and grants[1].node.name == "lock")
end


rule("fifo", "locks are granted in order of arrival", function(m, report)
    for _, all in pairs(grants_by_path(m, by_token)) do
        local grants = ordered(all) and all or {}
        local behind = most(by_grant)
        for i = #grants, 1, -1 do
            local claim = grants[i]
            local earliest = behind:excluding(claim)
            if earliest and earliest.granted < claim.granted and earliest.token > claim.token
                and claim.state == "held" and not m:taken(claim.node) then
                report:violation(claim.granted, claim, "%s came later and was granted before",
                                 earliest.id)
            end
            behind:put(claim)
        end
        if grants[1] and not grants[1].batch then check_arrivals(report, grants) end
    end
end)


rule("turns", "a turn has a batch of grants if others wait, counted, in order of asking",
     turns.check)


rule("kept", "a kept node is its session's alone, counted, goes after its time, and for others at"
     .. " once; a try has it", kept.check)


-- Was it a reader's node then? (One that cannot become one stays a writer's.)
local function is_shared(node, at)
    return node ~= nil and (node.was and node.shared < at or not node.was and node.kind == "read")
end


local function check_reentry(report, claim, outer)
    if claim.token ~= outer.token then
        if (outer.held_until or 0) >= claim.granted and alive(outer, claim.granted) then
            report:violation(claim.granted, claim, "token %d inside of a hold with %d",
                             claim.token, outer.token)
        end
    elseif claim.kind ~= "read" and is_shared(outer.node, claim.granted) then
        report:violation(claim.granted, claim, "a writer inside of a hold to read")
    end
end


rule("reentry", "a second handle is on the same grant", function(m, report)
    for _, claim in ipairs(m.claims) do
        local outer = claim.inside and m.claim[claim.inside]
        if outer and claim.granted then check_reentry(report, claim, outer) end
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
    local wanted = turns.wanted(m)
    for _, claim in ipairs(m.claims) do
        local node = claim.nodes[#claim.nodes]
        local may_stay = claim.keep and claim.granted -- see the rule "kept"
        if node and not claim.second and not may_stay and claim.over < huge then
            local trouble, over = m.trouble[claim.place], wanted(claim)
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


-- How long a holder may be certain of a node that is gone. Of one that expired, never: its
-- clock was to know before. Of one that was taken, until the news arrives; if nothing can
-- arrive, until its clock runs out.
local function may_be_certain(m, claim, taken, options)
    if not taken then return SKEW end
    local gone = claim.node.deleted
    local trouble = m.trouble[claim.place]:overlapping(gone, gone + options.slack)
    return (trouble and MARGIN * m.timeout or 0) + options.slack
end


-- A node that is gone before the claim gave it up: the holder was to know.
local function check_notice(m, report, claim, options)
    local gone, taken = claim.node.deleted, m:taken(claim.node)
    local allowed = may_be_certain(m, claim, taken, options)
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


rule("notice", "a holder notices its loss in time", function(m, report, options)
    for _, claim in ipairs(m.claims) do
        local node = claim.node
        local gone = node and not claim.second and node.deleted
        if gone and gone + SKEW < claim.given_up and was_had(claim) then
            check_notice(m, report, claim, options)
        end
    end
end)


rule("handoff", "who has its turn gets the lock", function(m, report, options)
    for _, claim in ipairs(m.claims) do
        local node = claim.nodes[#claim.nodes]
        local turn = node and node.turn
        local over = min(claim.granted or huge, claim.given_up)
        if turn and turn > node.created and not claim.batch and not m:taken(node) then
            -- Who has a permit's turn is told by the one ahead, who may be in trouble.
            local trouble = claim.kind == "permit" and m.any_trouble or m.trouble[claim.place]
            local latest = trouble:undisturbed(turn, options.bound)
            local calm = not trouble:overlapping(turn, over)
            if calm and claim.granted then
                report:measure("handoff", max(0, claim.granted - turn))
            end
            if min(over, m.finished) > latest then
                report:violation(turn, claim, "it was its turn for %.3f s, and it was not served",
                                 min(over, m.finished) - turn)
            end
        end
    end
    turns.hand_over(m, report, options)
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


rule("steady", "what a reader reads stays the same while it holds", function(m, report)
    for _, claim in ipairs(m.claims) do
        local taken = claim.node and m:taken(claim.node)
        local gone, before = taken and claim.node.deleted or huge, nil
        for _, read in ipairs(claim.reads) do
            if read.certain and read.at < gone then
                if before and read.element ~= before then
                    report:violation(read.at, claim, "%s became %s while it held", before,
                                     read.element)
                end
                before = read.element
            end
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
    for _, claim in ipairs(m.claims) do
        for _, write in ipairs(claim.writes) do
            if write.accepted ~= (stored[write.element] ~= nil) then
                report:violation(write.at, claim, "%s: the store does not know what it said",
                                 write.element)
            elseif not write.accepted and alive(claim, write.at) then
                report:violation(write.at, claim, "the holder's write %s was refused",
                                 write.element)
            end
        end
    end
end)


-- The elements that are in the set at the end.
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
    for _, claim in ipairs(m.claims) do
        for _, write in ipairs(claim.writes) do
            local is_there = there[claim.path] and there[claim.path][write.element]
            if write.accepted and not is_there then
                report:violation(write.at, claim, "%s was added and is lost", write.element)
            end
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

-- A second handle on a grant is no grant of its own.
local function mark_second_handles(m)
    for _, claim in ipairs(m.claims) do
        local outer = claim.inside and m.claim[claim.inside]
        claim.second = outer ~= nil and claim.granted ~= nil and claim.token == outer.token
    end
end


return function(events, options)
    local m, given = model.build(events), options or {}
    local found, set = reports.new(m), { slack = given.slack or 0.5 }
    set.bound = given.bound or m.timeout
    mark_second_handles(m)
    for _, each in ipairs(rules) do
        found:begin(each.name, each.text, OURS[each.name])
        each.check(m, found, set)
    end
    found.figures = figures.count(m, found)
    return found
end
