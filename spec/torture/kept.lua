--- Rules of the checker for a kept lock. A node stays after the last release for its session's next
-- claims, one at a time, until its time is over or a rival contends. The token counts its grants.

local model = require "spec.torture.model"
local turns = require "spec.torture.turns"

local huge, max, min = math.huge, math.max, math.min

local SKEW = model.SKEW
local LAG = 0.5 -- seconds by which the server that answers a try may be late

-- The name of a node that may be kept: ZKL_NONCE_KEEPS (src/core/name.h).
local KEEPING = "^_c_%x+%-%x+%-%x+%-4"

local kept = {}


--- Whether the claim's process made the node, and the node lived when the claim asked, or was
-- taken, of which its session hears a moment later.
function kept.is_own(m, node, claim)
    return turns.is_session_of(m, node, claim)
        and ((node.deleted or huge) > claim.invoked or m:taken(node) ~= nil)
end


--- Whether the claim was granted by a node that a stranger had just taken.
function kept.is_robbed(m, claim)
    local node = claim.keep and claim.node
    return node and m:taken(node) ~= nil and node.deleted <= claim.granted
end


-- Returns from when on the node's keeper must know what was so `at` that moment. After a fault its
-- session needs time to work again.
local function must_be_known_at(m, node, at, options)
    return m.faulty[node.claim.place]:undisturbed(at, max(options.slack, m.timeout))
end


-- Returns the first node behind that waited between the moments and that the keeper must know.
local function known_rival(m, line, node, since, over, options)
    for i = node.place_in_line + 1, #line do
        local other = line[i]
        if other.created >= over then return end
        local known = must_be_known_at(m, node, max(since, other.created), options)
        if known < min(over, other.deleted or huge) then return other end
    end
end


-- --- grants of one node -----------------------------------------------------------------

local function check_heir(m, report, line, claim, options)
    local node = claim.node
    local gone = node.deleted and not m:taken(node) and node.deleted + SKEW < claim.granted
    if gone and claim.state == "held" then
        report:grant(claim, "granted %.3f s after %s was given back", claim.granted - node.deleted,
                     node.name)
    end
    if node.marked and node.marked + SKEW < claim.granted then
        report:grant(claim, "granted after %s had said that it is held", node.name)
    end
    local other = known_rival(m, line, node, 0, claim.granted, options)
    if other and (other.deleted or huge) > claim.granted and not m:taken(node) then
        report:grant(claim, "has a node that was kept, and %s waited", other.name)
    end
end


-- --- while nobody holds it --------------------------------------------------------------

-- After a grant the node stays for its time; if its data says that it is held, not at all.
local function check_rest(m, report, line, claim, heir, options)
    local node, since = claim.node, claim.given_up
    local over = min(heir and heir.granted or huge, node.deleted or huge, m.finished)
    local marked = node.marked and node.marked <= since
    if over > must_be_known_at(m, node, since + (marked and 0 or claim.keep), options) then
        report:violation(since, claim, "its node %s was kept %.3f s, not %.3f", node.name,
                         over - since, marked and 0 or claim.keep)
    end
    local other = known_rival(m, line, node, since, over, options)
    if other then
        report:violation(over, claim, "nobody held %s, and %s waited %.3f s", node.name,
                         other.name, over - max(since, other.created))
    end
end


-- Measures how long an idle node took to go when a rival came.
local function measure_end(m, report, line, claim)
    local node, other = claim.node, line[claim.node.place_in_line + 1]
    local since = other and max(other.created, claim.given_up)
    if not since or not node.deleted or since > node.deleted then return end
    if m.trouble[node.claim.place]:overlapping(since, node.deleted) then return end
    report:measure("end_of_kept", node.deleted - since)
end


local function check_node(m, report, line, turn, options)
    for i, claim in ipairs(turn.grants) do
        local before, heir = turn.grants[i - 1], turn.grants[i + 1]
        turns.check_count(report, claim, before, "node")
        if before then check_heir(m, report, line, claim, options) end
        if not m:taken(turn.node) then
            check_rest(m, report, line, claim, heir, options)
            if not heir then measure_end(m, report, line, claim) end
        end
    end
end


-- --- tries ------------------------------------------------------------------------------

-- Returns the index of the last element whose field is at most the limit, or 0.
local function last_by(list, field, limit)
    local low, high = 0, #list
    while low < high do
        local middle = math.ceil((low + high) / 2)
        if list[middle][field] <= limit then low = middle else high = middle - 1 end
    end
    return low
end


-- Returns the only contender besides the claim between two moments, or nil.
local function only_contender(line, claim, from, to)
    local only
    for i = last_by(line, "created", to), 1, -1 do
        local node = line[i]
        if node.stays_to < from then return only end
        if (node.deleted or huge) >= from and node.claim ~= claim then
            if only then return nil end
            only = node
        end
    end
    return only
end


-- Whether the node was kept, not held by a claim nor about to go, between the two moments.
local function was_kept(node, grants, claim, options)
    local last = last_by(grants, "granted", claim.failed)
    if last == 0 or grants[last].given_up > claim.invoked or node.marked then return false end
    local stays = grants[last + 1] or (node.deleted or huge) > claim.failed + options.slack
    return grants[last].keep > 0 and (stays or #claim.nodes > 0)
end


-- Whether the try found only another session's node that may be kept, and did not ask.
local function has_not_asked(m, node, claim)
    if #claim.nodes > 0 or not node.name:find(KEEPING) then return false end
    return not turns.is_session_of(m, node, claim)
        and not m.faulty[claim.place]:overlapping(claim.invoked - LAG, claim.failed)
end


local function check_try(m, report, line, claim, by_node, options)
    local node = only_contender(line, claim, claim.invoked - LAG, claim.failed)
    if not node or not by_node[node] or m:taken(node) then return end
    if node.created < claim.invoked - LAG and has_not_asked(m, node, claim) then
        return report:violation(claim.failed, claim, "a try found %s, and did not ask", node.name)
    end
    for _, place in ipairs{ claim.place, node.claim.place } do
        if m.trouble[place]:overlapping(claim.invoked, claim.failed) then return end
    end
    if was_kept(node, by_node[node].grants, claim, options) then
        report:violation(claim.failed, claim, "a try found %s, which was only kept, taken",
                         node.name)
    end
end


-- Returns { [path] = its nodes in order }; stays_to is when a node and all nodes ahead were gone.
local function lines_of(m)
    local lines = turns.lines_of(m)
    for _, line in pairs(lines) do
        local last = 0
        for _, node in ipairs(line) do
            last = max(last, node.deleted or huge)
            node.stays_to = last
        end
    end
    return lines
end


--- Checks that a kept node has only its session's grants, and goes after its time and for rivals.
function kept.check(m, report, options)
    local lines, all, by_node = lines_of(m), turns.find(m, "keep")
    for _, turn in ipairs(all) do
        if turn.node.claim then check_node(m, report, lines[turn.node.path], turn, options) end
    end
    for _, claim in ipairs(m.claims) do
        local in_vain = claim.code == "busy" or claim.code == "timeout"
        if claim.keep and claim.trying and in_vain then
            check_try(m, report, lines[claim.path] or {}, claim, by_node, options)
        end
    end
end


return kept
