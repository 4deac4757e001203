--- compare.lua - compares the simulator's outcomes with the table of docs/design/states.md:
--
--   sim transitions 1 100000 | lua spec/sim/compare.lua docs/design/states.md
--
-- Every outcome of an event has to be in the table. Rows without an outcome are printed. Some of
-- them are rare (spec/core/claim_table_test.c shows them), but four fifths must occur.

local files = require "spec.files"
local states = require "spec.sim.states"

local page = assert(files.read((assert(arg[1], "usage: compare.lua FILE"))))

local read = states.read(page)

local has_node = {}
for state in ("RECOVER_STAT LIST RANK WAIT PROVE RETREAT FIRST HELD KEPT"):gmatch "%S+" do
    has_node[state] = true
end


-- --- allowed outcomes ------------------------------------------------------------------------

local function key_of(form, state, event)
    return ("%s | %s | %s"):format(form, state, event)
end


local rows = {}
for _, row in ipairs(read.rows) do rows[key_of(row.form, row.state, row.event)] = row end

-- Adds the texts of a cell to the set, if there is such a row, and returns the set.
local function cell(form, state, event, column, set)
    local row = rows[key_of(form, state, event)]
    return row and states.expand(read, form, row[column], set) or set
end


-- Rules that the page states in words for every state, as event = row.
local as = {
    tick = { "cancel", "clock ran out", "kept for long" },
    deadline = { "cancel" },
    suspend = { "suspend", "cancel" },
    beat = { "beat", "resume" },
    start = { "start", "await" },
}

local function expired(form, column)
    if form == "waiter" then return { ["GONE + tell partner"] = true } end
    return column == "wanted" and { ["GONE + fail"] = true, ["GONE + lose"] = true }
        or { GONE = true }
end


-- Returns the outcomes that the table allows, as a set.
local function allowed(form, state, event, column)
    if event == "expire" then return expired(form, column) end
    local set = {}
    for _, each in ipairs(as[event] or { event }) do cell(form, state, each, column, set) end
    if event == "own changed" and not rows[key_of(form, state, event)] and has_node[state] then
        set[state .. " + watch own"] = true
        set[state .. "* + watch own"] = true
    end
    return set
end


-- --- seen outcomes ---------------------------------------------------------------------------

local passed, failed = 0, 0

local function check(is_right, format, ...)
    if is_right then passed = passed + 1 else failed = failed + 1 end
    if not is_right then print(format:format(...)) end
end


local seen = {} -- { [row's key] = { wanted = { [text] = true }, unwanted = ... } }

for line in io.lines() do
    local form, state, event, wanted, outcome, count =
        line:match "^(.-)\t(.-)\t(.-)\t(.-)\t(.-)\t(%d+)$"
    local column = wanted == "wanted" and "wanted" or "unwanted"
    local text = states.normal(outcome)
    for _, each in ipairs(as[event] or { event }) do
        local key = key_of(form, state, each)
        seen[key] = seen[key] or { wanted = {}, unwanted = {} }
        seen[key][column][text] = true
    end
    check(allowed(form, state, event, column)[text], "not in the table: %s, %s: %s (%s times)",
          key_of(form, state, event), wanted, text, count)
end


-- --- unseen outcomes --------------------------------------------------------------------------

local function was_seen(key, row, column, outcome)
    for text in pairs(states.expand(read, row.form, { outcome }, {})) do
        if seen[key] and seen[key][column][text] then return true end
    end
    return false
end


local missing, all = {}, 0
for key, row in pairs(rows) do
    for _, column in ipairs{ "wanted", "unwanted" } do
        for i, outcome in ipairs(row[column]) do
            all = all + 1
            if not was_seen(key, row, column, outcome) then
                missing[#missing + 1] = ("not seen: %s, %s: the outcome %d"):format(key, column, i)
            end
        end
    end
end
table.sort(missing)
print(table.concat(missing, "\n"))
check(#missing < all / 5, "%d of %d outcomes of the table were not seen", #missing, all)

print(("%d passed, %d failed"):format(passed, failed))
os.exit(failed == 0 and passed > 0)
