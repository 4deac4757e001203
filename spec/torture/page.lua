--- The page: a history as one HTML file that needs no network: page.html with the data put
-- in. Moments are milliseconds since the beginning.

local figures = require "spec.torture.figures"

local huge, max, min = math.huge, math.max, math.min

local page = {}

local CLASSES = { -- of faults, by the colour they get
    { "server", "^leader", "^follower" },
    { "process", "stop", "^kill", "^wall" },
    { "nodes", "node", "parent", "junk", "expired" },
    { "network", "" },
}


-- --- JSON -----------------------------------------------------------------------------

local ESCAPES = { ['"'] = '\\"', ["\\"] = "\\\\", ["<"] = "\\u003c" }

local function text(value)
    return '"' .. tostring(value):gsub('["\\<]', ESCAPES):gsub("%c", function(control)
        return ("\\u%04x"):format(control:byte())
    end) .. '"'
end


-- Each value of a list by encode(value, index).
local function array(list, encode)
    local parts = {}
    for i, value in ipairs(list) do parts[i] = encode(value, i) end
    return "[" .. table.concat(parts, ",") .. "]"
end


-- Fields in the order given: { name, JSON, name, JSON, … }.
local function object(fields)
    local parts = {}
    for i = 1, #fields, 2 do parts[#parts + 1] = text(fields[i]) .. ":" .. fields[i + 1] end
    return "{" .. table.concat(parts, ",") .. "}"
end


-- --- what is shown ----------------------------------------------------------------------

local function class_of(fault)
    for _, class in ipairs(CLASSES) do
        for i = 2, #class do
            if fault.name:find(class[i]) then return class[1] end
        end
    end
end


local function moment(m, at)
    return ("%.1f"):format((min(at, m.finished) - m.began) * 1000)
end


-- A place's claims on a path, each in the first lane that is free.
local function allot_lanes(claims)
    local ends = {}
    for _, claim in ipairs(claims) do
        local finish, lane = min(claim.given_up, huge), 1
        while ends[lane] and ends[lane] > claim.invoked do lane = lane + 1 end
        ends[lane] = finish
        claim.lane = lane
    end
    return #ends
end


local function claim_json(m, claim)
    local certain_until = claim.granted and moment(m, claim.over) or "-1"
    return "[" .. table.concat({
        claim.lane - 1,
        moment(m, claim.invoked),
        claim.granted and moment(m, claim.granted) or "-1",
        certain_until,
        moment(m, claim.given_up),
        text(claim.id),
        text(claim.granted and ("token %.0f"):format(claim.token) or claim.code or "killed"),
        claim.granted and claim.reads_only < huge
            and moment(m, max(claim.reads_only, claim.granted)) or "-1",
        text(claim.kind),
    }, ",") .. "]"
end


local function by_place(m, path)
    local rows, names = {}, {}
    for _, claim in ipairs(m.claims) do
        if claim.path == path and not claim.second then
            if not rows[claim.place] then
                rows[claim.place] = {}
                names[#names + 1] = claim.place
            end
            table.insert(rows[claim.place], claim)
        end
    end
    table.sort(names)
    return rows, names
end


local function path_json(m, path)
    local rows, names = by_place(m, path)
    return object{ "path", text(path), "rows", array(names, function(name)
        local claims = rows[name]
        local lanes = allot_lanes(claims)
        return object{ "place", text(name), "lanes", tostring(lanes),
                       "claims", array(claims, function(claim) return claim_json(m, claim) end) }
    end) }
end


local function paths_of(m)
    local paths, seen = {}, {}
    for _, claim in ipairs(m.claims) do
        if not seen[claim.path] then
            seen[claim.path] = true
            paths[#paths + 1] = claim.path
        end
    end
    table.sort(paths)
    return paths
end


local function fault_json(m, fault)
    return "[" .. table.concat({
        moment(m, fault.from), moment(m, fault.to), text(fault.name), text(fault.scope),
        text(fault.path or ""), text(class_of(fault)) }, ",") .. "]"
end


local function entry_json(m, each)
    return "[" .. table.concat({
        moment(m, each.at), text(each.rule), text(each.path or ""), text(each.claim or ""),
        text(each.text) }, ",") .. "]"
end


local function data(report, facts)
    local m = report.model
    return object{
        "length", moment(m, m.finished),
        "figures", array(figures.rows(report, facts), function(row)
            return array({ row[1], row[2], table.concat(row[3] or {}, ", ") }, text)
        end),
        "rules", array(report.rules, function(rule)
            return "[" .. text(rule.name) .. "," .. text(rule.text) .. "," .. rule.violations .. "]"
        end),
        "paths", array(paths_of(m), function(path) return path_json(m, path) end),
        "faults", array(m.faults, function(fault) return fault_json(m, fault) end),
        "violations", array(report.violations, function(each) return entry_json(m, each) end),
        "explained", array(report.explained, function(each) return entry_json(m, each) end),
    }
end


--- Writes the page of a report to a file.
function page.write(file_name, report, facts)
    local template = assert(io.open("spec/torture/page.html"))
    local html = template:read("*a")
    template:close()
    local head, tail = html:match("^(.-)/%*DATA%*/null(.*)$")
    local file = assert(io.open(file_name, "w"))
    file:write(head, data(report, facts), tail)
    file:close()
end


return page
