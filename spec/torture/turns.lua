--- Rules of the checker for locks whose processes take turns. A turn is a node, which the session's
-- claims hold one after the other. When others wait, a turn ends after a batch of grants. The token
-- counts the grants.

local intervals = require "spec.torture.intervals"
local model = require "spec.torture.model"

local huge, max, min = math.huge, math.max, math.min

local turns = {}


--- Returns the turns, each { node, grants in the order of their counts }, as a list and by node.
-- With the field "keep" it returns kept nodes instead.
function turns.find(m, field)
    local list, by_node = {}, {}
    for _, claim in ipairs(m.claims) do
        if claim[field or "batch"] and claim.granted and claim.node and not claim.second then
            local turn = by_node[claim.node]
            if not turn then
                turn = { node = claim.node, grants = {} }
                by_node[claim.node], list[#list + 1] = turn, turn
            end
            table.insert(turn.grants, claim)
        end
    end
    for _, turn in ipairs(list) do
        table.sort(turn.grants, function(a, b)
            if a.count ~= b.count then return a.count < b.count end
            return a.granted < b.granted
        end)
    end
    return list, by_node
end


--- Reports a grant if an earlier grant of its node is missing; else returns true. The rule "token"
-- reports equal numbers.
function turns.check_count(report, claim, before, what)
    if claim.count <= (before and before.count + 1 or 0) then return true end
    report:grant(claim, "grant %d of its %s, after %s", claim.count + 1, what,
                 before and ("grant %d"):format(before.count + 1) or "none")
end


local function check_grant(report, claim, before)
    local counted = turns.check_count(report, claim, before, "turn")
    if counted and before and before.invoked > claim.invoked then
        report:grant(claim, "asked before %s and came after it, in one turn", before.id)
    end
end


--- Returns { [path] = its nodes in order }, and sets each node's `place_in_line`.
function turns.lines_of(m)
    local lines = {}
    for _, node in ipairs(m.nodes) do
        model.put(lines, node.path, node)
        node.place_in_line = #lines[node.path]
    end
    return lines
end


-- Returns a node behind the claim's, of another session, that waits at the claim's grant, and has
-- for so long that the holder before had to know.
local function known_rival(m, line, claim, options)
    for i = claim.node.place_in_line + 1, #line do
        local node = line[i]
        local known = m.trouble[claim.place]:undisturbed(node.created, options.bound)
        if known >= claim.granted then return end
        local waits = (node.deleted or huge) > claim.granted
        if waits and node.session ~= claim.node.session then return node end
    end
end


--- Checks that a turn's grants are counted from the first one, in order of asking, and are no more
-- than a batch when others wait.
function turns.check(m, report, options)
    local lines = turns.lines_of(m)
    for _, turn in ipairs(turns.find(m)) do
        for i, claim in ipairs(turn.grants) do
            check_grant(report, claim, turn.grants[i - 1])
            local over = claim.count >= claim.batch
            local other = over and known_rival(m, lines[turn.node.path], claim, options)
            if other then
                report:grant(claim, "grant %d of a turn of %d, and %s waited", claim.count + 1,
                             claim.batch, other.name)
            end
        end
    end
end


function turns.is_session_of(m, node, claim)
    local owner = m.sessions[node.session] or node.claim and node.claim.process
    return owner == claim.process
end


--- Whether the claim's process made the node, and the node lived when the claim asked.
function turns.is_own(m, node, claim)
    return turns.is_session_of(m, node, claim) and (node.deleted or huge) > claim.invoked
end


--- Returns a function that says until when a claim's process wanted its node.
function turns.wanted_until(m)
    local spans, wanted_by = {}, {}
    local function key(claim) return claim.process .. " " .. claim.path end
    for _, claim in ipairs(m.claims) do
        if claim.batch then
            local span = { from = claim.invoked, to = min(claim.over, m.finished), what = "" }
            model.put(spans, key(claim), span)
        end
    end
    for each, list in pairs(spans) do wanted_by[each] = intervals.new(list) end
    return function(claim)
        if not claim.batch then return claim.over end
        return wanted_by[key(claim)]:undisturbed(min(claim.over, m.finished), 0)
    end
end


-- Checks a gap, in which nobody holds by the node, until the `heir` is granted or the node goes.
local function check_gap(m, report, gap, options)
    local node, since, heir, trouble = gap.node, gap.since, gap.heir, m.trouble[gap.place]
    local over = min(heir and heir.granted or huge, node.deleted or huge)
    if gap.measure and heir and not trouble:overlapping(since, over) then
        report:measure(gap.measure, max(0, over - since))
    end
    if min(over, m.finished) > trouble:undisturbed(since, options.bound) then
        report:violation(since, gap.claim, "its turn, %s, was nobody's for %.3f s", node.name,
                         min(over, m.finished) - since)
    end
end


-- Returns the gap before the first grant, a hand-off between nodes if the node waited, and the gap
-- after each grant, a hand-over within the turn if the heir waited.
local function gaps_of(node, grants)
    local claim = node.claim
    local gaps = { { node = node, since = node.turn, claim = claim, place = claim.place,
                     heir = grants[1], measure = node.turn > node.created and "handoff" } }
    for i, each in ipairs(grants) do
        local heir = grants[i + 1]
        gaps[i + 1] = { node = node, since = each.over, claim = each, place = each.place,
                        heir = heir, measure = heir and heir.invoked < each.over and "within_turn" }
    end
    return gaps
end


--- Checks that each turn goes on or ends, in time.
function turns.check_hand_overs(m, report, options)
    local _, by_node = turns.find(m)
    for _, node in ipairs(m.nodes) do
        local in_turns = node.claim and node.claim.batch and node.turn
        if in_turns and not m:taken(node) then
            local grants = by_node[node] and by_node[node].grants or {}
            for _, gap in ipairs(gaps_of(node, grants)) do check_gap(m, report, gap, options) end
        end
    end
end


return turns
