--- A history as records of the report (docs/record.md): one for each path, a lane for each place.
--
--   record.of(report)   of the checker → { record, … }
--
-- A hold is drawn as its client saw it: from the grant until it gave the lock up, or noticed that
-- it may have lost it. So an overlap is red although a fault explains it; the verdict is that of
-- the checker.

local huge, max, min = math.huge, math.max, math.min

local record = {}


local function moment(m, at)
    return at and at < huge and at - m.began or nil
end


-- Claims by path: those that have a node of their own, in the order in which they were made.
local function claims_by_path(m)
    local paths, by_path = {}, {}
    for _, claim in ipairs(m.claims) do
        if not claim.second then
            if not by_path[claim.path] then
                by_path[claim.path] = {}
                paths[#paths + 1] = claim.path
            end
            table.insert(by_path[claim.path], claim)
        end
    end
    table.sort(paths)
    return paths, by_path
end


local function places_of(m)
    local names, index = {}, {}
    for name in pairs(m.places) do names[#names + 1] = name end
    table.sort(names)
    for i, name in ipairs(names) do index[name] = i end
    return names, index
end


-- --- holds ------------------------------------------------------------------------------

local function is_shared(claim)
    return claim.kind == "read" or claim.kind == "permit"
end


local function outcome_of(claim)
    if not claim.granted then return claim.code or "killed" end
    if claim.over == huge then return "killed" end
    return claim.over < claim.given_up and "lost" or "released"
end


local function purchase_of(m, claim, place_index)
    return {
        buyer = claim.id, server = place_index[claim.place], product = claim.path,
        shared = is_shared(claim) or nil, asked = moment(m, claim.invoked),
        granted = moment(m, claim.granted),
        released = claim.granted and moment(m, max(claim.over, claim.granted)),
        token = claim.token and ("%.0f"):format(claim.token), outcome = outcome_of(claim),
    }
end


-- Until when two holds exclude each other: a writer that has become a reader, readers no more.
local function exclusion_ends(older, newer)
    local ends = min(older.over, newer.over)
    if is_shared(newer) then return min(ends, older.alone_until) end
    if is_shared(older) then return min(ends, newer.alone_until) end
    return min(ends, max(older.alone_until, newer.alone_until))
end


local function granted_in_order(claims)
    local order = {}
    for i, claim in ipairs(claims) do
        if claim.granted then order[#order + 1] = i end
    end
    table.sort(order, function(a, b) return claims[a].granted < claims[b].granted end)
    return order
end


local function overlaps_of(m, claims)
    local list, open = {}, {}
    for _, second in ipairs(granted_in_order(claims)) do
        local newer, still = claims[second], { second }
        for _, first in ipairs(open) do
            local older = claims[first]
            if older.over > newer.granted then
                still[#still + 1] = first
                local ends = min(exclusion_ends(older, newer), m.finished)
                if not (is_shared(older) and is_shared(newer)) and ends > newer.granted then
                    list[#list + 1] = { lock = newer.path, from = moment(m, newer.granted),
                                        to = moment(m, ends), first = first, second = second }
                end
            end
        end
        open = still
    end
    return list
end


-- --- the rest ---------------------------------------------------------------------------

-- Those of clients, of all, and of those who meddle with the nodes of this path.
local function faults_of(m, path)
    local list = {}
    for _, fault in ipairs(m.faults) do
        if fault.scope ~= "path" or fault.path == path then
            list[#list + 1] = { at = moment(m, fault.from), ended = moment(m, fault.to),
                                kind = fault.name, target = fault.scope }
        end
    end
    return list
end


local function violations_of(report, path)
    local count = 0
    for _, each in ipairs(report.violations) do
        if not each.path or each.path == path then count = count + 1 end
    end
    return count
end


local function record_of(report, path, claims)
    local m = report.model
    local places, place_index = places_of(m)
    local violations, purchases = violations_of(report, path), {}
    for i, claim in ipairs(claims) do purchases[i] = purchase_of(m, claim, place_index) end
    return {
        name = path, strategy = claims[1].kind, verdict = violations == 0 and "right" or "wrong",
        finding = violations == 0 and ("%d rules hold"):format(#report.rules)
            or ("%d violations of rules"):format(violations),
        buyers = #claims, seconds = moment(m, m.finished), servers = places,
        faults = faults_of(m, path), purchases = purchases, overlaps = overlaps_of(m, claims),
    }
end


--- The records of what the checker has reported.
function record.of(report)
    local records = {}
    local paths, by_path = claims_by_path(report.model)
    for i, path in ipairs(paths) do records[i] = record_of(report, path, by_path[path]) end
    return records
end


return record
