--- A rule of the checker about writers that become readers. Only a writer that asked becomes a
-- reader. The reader's node takes the writer's place, in time; the answer is true; and the claim
-- writes no more.

local SKEW = require("spec.torture.model").SKEW

local huge, max, min = math.huge, math.max, math.min

-- From this number on a writer cannot become a reader, because numbers end soon.
local SHARE_LIMIT = 2130706431


-- A server may also give a negative number once numbers are exhausted.
local function may_downgrade(name)
    local number = tonumber(name:match("__(%-?%d+)$"))
    return number ~= nil and number >= 0 and number < SHARE_LIMIT
end


-- The reader's node has the writer's uuid, number and place.
local function check_place(report, claim, node)
    if not claim.downgrading then
        report:violation(node.shared, claim, "became a reader, and did not ask for it")
    elseif node.name ~= node.was:gsub("__WRIT__", "__READ__") then
        report:violation(node.shared, claim, "%s lost its place: it became %s", node.was,
                         node.name)
    elseif not may_downgrade(node.was) then
        report:violation(node.shared, claim, "%s became a reader where numbers end", node.was)
    end
end


local function check_answer(report, claim, node)
    if claim.answer == "ok" and (node.shared or huge) > claim.downgraded + SKEW then
        report:violation(claim.downgraded, claim, "was told that it reads, by the node %s",
                         node.name)
    elseif claim.answer == "unsupported" and may_downgrade(node.name) then
        report:violation(claim.downgraded, claim, "was refused, as %s", node.name)
    end
end


local function check_end(m, report, claim, node, options)
    local asked = claim.downgrading
    local calm = m.trouble[claim.place]:undisturbed(asked, options.bound)
    local over = min(node.shared or huge, node.deleted or huge, claim.given_up, m.finished)
    if node.shared and not m.trouble[claim.place]:overlapping(asked, node.shared) then
        report:measure("downgrade", max(0, node.shared - asked))
    end
    if over > calm and may_downgrade(node.name) then
        report:violation(asked, claim, "was a writer still after %.3f s", over - asked)
    end
end


--- Checks every claim of a model, with its node and its writes.
return function(m, report, options)
    for _, claim in ipairs(m.claims) do
        local node = not claim.second and claim.node
        if node and node.shared then check_place(report, claim, node) end
        if node and claim.downgrading then check_end(m, report, claim, node, options) end
        if node and claim.downgraded then check_answer(report, claim, node) end
    end
    for _, write in ipairs(m.writes) do
        if write.at > write.claim.reads_only then
            report:violation(write.at, write.claim, "a reader wrote %s", write.element)
        end
    end
end
