--- Purchases as CSV.

local records = require "zklock.seckill.record"
local utf8 = require "zklock.value.utf8"


local csv = {}

local TIMES = { asked = true, granted = true, released = true, written = true, told = true }
local COLUMNS = { "sale", "buyer", "server", "product", "lock", "shared", "asked", "granted",
                  "released", "token", "left", "written", "outcome", "quantity", "told", "notes" }


local function quoted(text)
    if not text:find '[",\r\n]' then return text end
    return '"' .. text:gsub('"', '""') .. '"'
end


local function field(name, value)
    if value == nil then return "" end
    if TIMES[name] then return ("%.6f"):format(value) end
    return quoted(utf8.plain(tostring(value)))
end


-- The notes of each buyer, by its last request.
local function notes_of(record)
    local of_buyer, notes = {}, {}
    for _, note in ipairs(record.notes or {}) do
        local earlier = of_buyer[note.buyer]
        of_buyer[note.buyer] = earlier and earlier .. "; " .. note.line or note.line
    end
    for _, purchase in ipairs(record.purchases) do notes[purchase] = of_buyer[purchase.buyer] end
    return notes
end


local function add_purchases(lines, record)
    local notes = notes_of(record)
    for _, purchase in ipairs(records.requests(record.purchases)) do
        local fields = {}
        for i, name in ipairs(COLUMNS) do fields[i] = field(name, purchase[name]) end
        fields[1] = field("sale", record.name)
        fields[3] = field("server", record.servers[purchase.server])
        fields[5] = field("lock", purchase.lock or purchase.product)
        fields[#COLUMNS] = field("notes", notes[purchase])
        lines[#lines + 1] = table.concat(fields, ",")
    end
end


function csv.of_records(all)
    local lines = { table.concat(COLUMNS, ",") }
    for _, record in ipairs(all.sales) do add_purchases(lines, record) end
    for _, record in ipairs(all.histories or {}) do add_purchases(lines, record) end
    lines[#lines + 1] = ""
    return table.concat(lines, "\r\n")
end


return csv
