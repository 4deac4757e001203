--- trace.lua - makes a module Log of Trace.tla from each trace of the simulator.
--
--   build/sim/sim trace 1 100 | lua5.4 proof/tla/trace.lua FOLDER [altered]
--
-- The trace of seed 7 comes to FOLDER/7/Log.tla. spec/sim/trace.h describes its lines; here each
-- line becomes a record, with its values as fields. `altered` makes traces that have to be refused,
-- a trace for each kind of line, with the first line of the kind altered.

package.path = "./?.lua;" .. package.path
local write_log = require "proof.tla.log"

local folder = assert(arg[1], "usage: lua5.4 proof/tla/trace.lua FOLDER [altered] <traces")


local function value(name, text)
    if name == "before" then return "{" .. text:gsub(",", ", ") .. "}" end
    return text:find "^%d+$" and text or '"' .. text .. '"'
end


local function record(line)
    local fields = { ('event |-> "%s"'):format(line:match "^%a+") }
    for name, text in line:gmatch "(%a+)=(%S*)" do
        fields[#fields + 1] = name .. " |-> " .. value(name, text)
    end
    return "[" .. table.concat(fields, ", ") .. "]"
end


local function write(name, records, altered)
    write_log(folder .. "/" .. name, records, altered)
end


-- --- altered ---------------------------------------------------------------------------

-- How a line of its kind is altered to conform no more, by another value or by coming twice.
local ALTERED = {
    create = "number", look = "number", delete = "number", watched = "number", hears = "number",
    list = "id", listed = "id", searched = "id", grant = "token", expire = "session", is = "own",
    learns = "before", want = "twice", created = "twice", removed = "twice", leave = "twice",
    doubt = "twice", gone = "twice",
}


-- A trace for each kind of line that it has, with one of that kind altered.
local function alter(seed, records)
    local seen = {}
    for i, text in ipairs(records) do
        local kind = text:match '^%[event |%-> "(%a+)"'
        local how = ALTERED[kind]
        if how and not seen[kind] then
            seen[kind] = true
            local copy = {}
            for at, each in ipairs(records) do copy[at] = each end
            if how == "twice" then table.insert(copy, i, text)
            elseif how == "token" then copy[i] = text:gsub("token |%-> %d+", "token |-> 0")
            elseif how == "before" then copy[i] = text:gsub("{.-}", "{99}")
            else copy[i] = text:gsub("(" .. how .. " |%-> )(%d+)", "%199%2") end
            write(("%s-%s"):format(seed, kind), copy, i)
        end
    end
end


-- --- all ------------------------------------------------------------------------------

local take = arg[2] == "altered" and alter or write
local seed, records

for line in io.lines() do
    local next_seed = line:match "^seed (%d+)$"
    if next_seed then
        if seed then take(seed, records) end
        seed, records = next_seed, {}
    else
        records[#records + 1] = record(line)
    end
end
take(assert(seed, "there is no trace"), records)
