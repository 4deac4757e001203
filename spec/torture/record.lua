--- Makes records of the report (docs/record.md) from a history, a record for each path, with a lane
--- for each place.
--
--   record.of(report)   of the checker → { record, … }
--
-- A hold is drawn as its client saw it, from the grant until it released the lock or noticed that
-- it may have lost it. So an overlap is red although a fault explains it; the checker gives the
-- verdict.

local model = require "spec.torture.model"
local overlaps = require "zklock.seckill.overlaps"

local huge, max, min = math.huge, math.max, math.min

local SHOWN = 5 -- violations told in words

local record = {}


local function moment(m, at)
    return at and at < huge and at - m.began or nil
end


local function sorted_keys(places)
    local keys = {}
    for key in pairs(places) do keys[#keys + 1] = key end
    table.sort(keys)
    return keys
end


-- Returns the claims of each path with a node of their own, in the order of their calls.
local function claims_by_path(m)
    local by_path = {}
    for _, claim in ipairs(m.claims) do
        if not claim.second then model.put(by_path, claim.path, claim) end
    end
    return sorted_keys(by_path), by_path
end


local function places_of(m)
    local names, index = sorted_keys(m.places), {}
    for i, name in ipairs(names) do index[name] = i end
    return names, index
end


-- --- holds ------------------------------------------------------------------------------

local function outcome_of(claim)
    if not claim.granted then return claim.code or "killed" end
    if claim.over == huge then return "killed" end
    return claim.over < claim.given_up and "lost" or "released"
end


local function purchase_of(m, claim, place_index)
    return {
        buyer = claim.id, server = place_index[claim.place], product = claim.path,
        shared = claim.is_shared or nil, asked = moment(m, claim.invoked),
        granted = moment(m, claim.granted),
        released = claim.granted and moment(m, max(claim.over, claim.granted)),
        token = claim.token and ("%.0f"):format(claim.token), outcome = outcome_of(claim),
    }
end


-- Returns the holds for the check of overlaps. A writer that becomes a reader has two, the second
-- shared.
local function exclusions_of(m, claims)
    local holds = {}
    local function add(claim, from, to, shared)
        holds[#holds + 1] = { lock = claim.path, shared = shared, granted = moment(m, from),
                              released = moment(m, min(to, m.finished)) }
    end
    for _, claim in ipairs(claims) do
        if claim.granted and claim.is_shared then
            add(claim, claim.granted, claim.over, true)
        elseif claim.granted then
            add(claim, claim.granted, claim.alone_until)
            add(claim, max(claim.granted, claim.alone_until), claim.over, true)
        end
    end
    return holds
end


-- --- the rest ---------------------------------------------------------------------------

-- Returns the faults of clients, of all, and on the nodes of this path.
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


-- Returns the rules' verdict on a path, and the first violations in words.
local function judgement_of(report, path)
    local texts = {}
    for _, each in ipairs(report.violations) do
        if not each.path or each.path == path then
            texts[#texts + 1] = ("; %s at %.3f s, %s: %s"):format(each.rule,
                each.at - report.model.began, each.claim or "all", each.text)
        end
    end
    if #texts == 0 then return "right", ("%d rules hold"):format(#report.rules) end
    return "wrong", ("%d violations of rules"):format(#texts)
        .. table.concat(texts, "", 1, min(#texts, SHOWN))
end


local function record_of(report, path, claims)
    local m = report.model
    local places, place_index = places_of(m)
    local verdict, finding = judgement_of(report, path)
    local purchases = {}
    for i, claim in ipairs(claims) do purchases[i] = purchase_of(m, claim, place_index) end
    return {
        name = path, strategy = claims[1].kind, verdict = verdict, finding = finding,
        buyers = #claims, seconds = moment(m, m.finished), servers = places,
        faults = faults_of(m, path), purchases = purchases,
        overlaps = overlaps.of(exclusions_of(m, claims)),
    }
end


function record.of(report)
    local records = {}
    local paths, by_path = claims_by_path(report.model)
    for i, path in ipairs(paths) do records[i] = record_of(report, path, by_path[path]) end
    return records
end


return record
