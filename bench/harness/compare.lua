--- Compares this run with the file that an earlier run has written (--json).

local dkjson = require "dkjson"
local files = require "spec.files"
local markdown = require "bench.markdown"
local rounds = require "bench.harness.rounds"

local number = markdown.number


-- The rounds by row and client, and those of the first client by row.
local function rounds_of(notes)
    local found, base = {}, {}
    for _, note in ipairs(notes) do
        base[note.name] = base[note.name] or note.rounds
        found[note.name .. "\n" .. note.client] = note.rounds
    end
    return found, base
end


-- The medians of the ratio to the row's first client, and of the time.
local function figures(client_rounds, base)
    return number((rounds.ratio(client_rounds, base, "ms"))),
           number((rounds.median_of(client_rounds, "ms")))
end


--- Prints the ratios and times of both runs.
return function(notes, path)
    local _, base_now = rounds_of(notes)
    local before, base_before = rounds_of(dkjson.decode(assert(files.read(path))).rows)
    local lines = {}
    for _, note in ipairs(notes) do
        local earlier = before[note.name .. "\n" .. note.client]
        if earlier and earlier[1].ms and note.rounds[1].ms then
            local ratio_then, ms_then = figures(earlier, base_before[note.name])
            local ratio, ms = figures(note.rounds, base_now[note.name])
            lines[#lines + 1] = { note.name, note.client, ratio_then, ratio, ms_then, ms }
        end
    end
    markdown.table({ "against " .. path, "", "ratio, then", "now", "ms, then", "now" }, lines)
end
