--- history.lua - makes modules Log of History.tla from a history of the torture, one for each path.
--
--   lua5.4 proof/tla/history.lua HISTORY FOLDER
--
-- The log of the path /torture/a comes to FOLDER/torture-a/Log.tla. For each row of ALTERED there
-- is also a log that has to be refused, because the middle line of the row's kind is altered.

local history = require "spec.torture.history"
local model = require "spec.torture.model"
local write = require "proof.tla.log"

local huge, min = math.huge, math.min

local m = model.build(history.read{ arg[1] })


local function micros(at)
    return ("%.0f"):format((min(at, m.finished) - m.began) * 1e6)
end


local ALONE = { mutex = true, write = true } -- until it is a reader's

-- Returns fields of a node or a hold: from when and until when it is there, and until when it
-- excludes readers, too.
local function span(event, kind, from, to, shared)
    return ('event |-> "%s", from |-> %s, until |-> %s, alone |-> %s'):format(event, micros(from),
        micros(to), ALONE[kind] and micros(min(to, shared)) or 0)
end


-- --- the lines --------------------------------------------------------------------------

local lines = {} -- { path = { { zxid, token, text }, … } }

local function add(path, zxid, token, format, ...)
    lines[path] = lines[path] or {}
    table.insert(lines[path], { zxid, token, "[" .. format:format(...) .. "]" })
end


local function add_node(node)
    local by = m.sessions[node.session] or "-"
    local shared = node.was and node.shared or huge
    local kind = node.was and "write" or node.kind
    add(node.path, node.zxid, 0, '%s, zxid |-> %d, permits |-> %d, by |-> "%s"',
        span("node", kind, node.created, node.deleted or huge, shared), node.zxid,
        node.permits or 0, by)
end


-- Whether the claim holds for certain, by a grant of its own and not by a second handle.
local function is_hold(claim)
    local outer = m.claim[claim.inside]
    return claim.held_until and not (outer and outer.token == claim.token)
end


local function add_hold(claim)
    local node = claim.node and claim.node.path == claim.path and claim.node or { zxid = 0 }
    local to = min(claim.held_until, m:taken(node) and node.deleted or huge)
    add(claim.path, node.zxid, claim.token, '%s, shared |-> %s, zxid |-> %d, token |-> %d, '
        .. 'permits |-> %d, limit |-> %d, by |-> "%s", claim |-> "%s"',
        span("hold", claim.kind, min(claim.granted, to), to, claim.reads_only),
        ALONE[claim.kind] and "FALSE" or "TRUE", node.zxid, claim.token, claim.permits or 0,
        node.limit or 0, claim.process, claim.id)
end


for _, node in ipairs(m.nodes) do add_node(node) end
for _, claim in ipairs(m.claims) do if is_hold(claim) then add_hold(claim) end end
for path, journal in pairs(m.journal) do
    for i, each in ipairs(journal) do
        add(path, huge, i, 'event |-> "stored", token |-> %d, element |-> "%s", read |-> "%s"',
            each.token, each.element, each.read)
    end
end


-- --- the logs ---------------------------------------------------------------------------

local LATE = "2000000000"
local ALTERED = {
    { "hold", "from", "0" }, { "hold", "until", LATE }, { "hold", "token", "0" },
    { "hold", "permits", "99" }, { "hold", "zxid", "1" }, { "hold", "by", '"c0.1"' },
    { "node", "until", LATE }, { "stored", "token", "0" }, { "stored", "read", '"c0"' },
}

-- The records are a mutex's or a semaphore's, which has permits.
local function write_altered(folder, records, of_permits)
    for _, how in ipairs(ALTERED) do
        local event, field, found = how[1], how[2], {}
        for i, text in ipairs(records) do
            if text:find('"' .. event .. '"', 1, true) then found[#found + 1] = i end
        end
        local at = found[#found // 2]
        if at and (field == "permits") == of_permits then
            local text = records[at]
            records[at] = text:gsub(field .. " |%-> [^,%]]+", field .. " |-> " .. how[3])
            write(("%s-%s-%s"):format(folder, event, field), records, at)
            records[at] = text
        end
    end
end


-- No order explains a path on which the servers lost writes.
for path in pairs(m.lost_writes) do lines[path] = nil end

for path, all in pairs(lines) do
    table.sort(all, function(a, b) return a[1] < b[1] or a[1] == b[1] and a[2] < b[2] end)
    local records = {}
    for i, each in ipairs(all) do records[i] = each[3] end
    local folder = arg[2] .. path:gsub("/", "-"):gsub("^-", "/")
    write(folder, records)
    if path == "/torture/b" then write_altered(folder, records, false) end
    if path == "/torture/gate" then write_altered(folder, records, true) end
end
