--- Two runs side by side: what --json has written, against what is measured now.

local dkjson = require "dkjson"
local markdown = require "bench.markdown"
local rounds = require "bench.contended.rounds"

local BASE = "zklock"


-- Rounds of each client, by the row's label; rows that have times.
local function by_label(rows)
    local labels, found = {}, {}
    for _, row in ipairs(rows) do
        if row.rounds[1].ms and (row.part == "cycles" or row.part == "grants") then
            if not found[row.name] then
                found[row.name] = {}
                labels[#labels + 1] = row.name
            end
            found[row.name][row.client] = row.rounds
        end
    end
    return labels, found
end


local function read(path)
    local file = assert(io.open(path))
    local content = assert(dkjson.decode(file:read("*a")))
    file:close()
    return content.rows
end


local function ratio(clients, name)
    return markdown.number((rounds.ratio(clients[name], clients[BASE])))
end


--- Prints how ratios, and times of zklock, have changed since that file was written.
return function(rows, path)
    local labels, now = by_label(rows)
    local _, before = by_label(read(path))
    local lines = {}
    for _, label in ipairs(labels) do
        local was, is = before[label] or {}, now[label]
        local names = {}
        for name in pairs(is) do names[#names + 1] = name end
        table.sort(names)
        for _, name in ipairs(names) do
            if was[name] and was[BASE] then
                lines[#lines + 1] = { label, name, ratio(was, name), ratio(is, name),
                    markdown.number((rounds.middle(was[name], "ms"))),
                    markdown.number((rounds.middle(is[name], "ms"))) }
            end
        end
    end
    markdown.table({ "against " .. path, "", "time / zklock's, then", "now", "ms, then", "now" },
                   lines)
end
