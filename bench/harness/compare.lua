--- Two runs side by side: what --json has written, against what is measured now.

local dkjson = require "dkjson"
local files = require "spec.files"
local markdown = require "bench.markdown"
local rounds = require "bench.harness.rounds"

local number = markdown.number


-- The rounds of a client in a row, by both; and of the first client of each row.
local function rounds_of(notes)
    local found, base = {}, {}
    for _, note in ipairs(notes) do
        base[note.name] = base[note.name] or note.rounds
        found[note.name .. "\n" .. note.client] = note.rounds
    end
    return found, base
end


-- The median of a ratio to the first client of the row, and of the time.
local function figures(rounds_of_it, base)
    return number((rounds.ratio(rounds_of_it, base, "ms"))),
           number((rounds.middle(rounds_of_it, "ms")))
end


--- Prints how ratios and times have changed since that file was written.
return function(notes, path)
    local _, base_now = rounds_of(notes)
    local before, base_before = rounds_of(dkjson.decode(assert(files.read(path))).rows)
    local lines = {}
    for _, note in ipairs(notes) do
        local was = before[note.name .. "\n" .. note.client]
        if was and was[1].ms and note.rounds[1].ms then
            local ratio_was, ms_was = figures(was, base_before[note.name])
            local ratio, ms = figures(note.rounds, base_now[note.name])
            lines[#lines + 1] = { note.name, note.client, ratio_was, ratio, ms_was, ms }
        end
    end
    markdown.table({ "against " .. path, "", "ratio, then", "now", "ms, then", "now" }, lines)
end
