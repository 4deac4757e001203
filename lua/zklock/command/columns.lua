--- Tables of text, 80 columns wide unless a column with `whole` needs more.

local printable = require "zklock.command.printable"

local ipairs, floor, max = ipairs, math.floor, math.max

local _M = {}


local function character_count(text)
    return select(2, text:gsub("[^\128-\191]", ""))
end


local function shorten(text, width, from_end)
    if character_count(text) <= width then return text end
    local characters = {}
    for each in text:gmatch("[%z\1-\127\194-\244][\128-\191]*") do
        characters[#characters + 1] = each
    end
    local count = #characters
    if from_end then return "…" .. table.concat(characters, "", max(count - width + 2, 1)) end
    return table.concat(characters, "", 1, width - 1) .. "…"
end


local function cell_text(text, column)
    text = shorten(printable.line(text), column.width, column.from_end)
    local space = (" "):rep(column.width - character_count(text))
    return column.right and space .. text or text .. space
end


local function line_text(columns, texts)
    local cells = {}
    for i, column in ipairs(columns) do cells[i] = cell_text(texts[i] or "-", column) end
    return (table.concat(cells, " "):gsub("%s+$", "")) .. "\n"
end


local function fit_columns(columns, rows)
    local fit = {}
    for i, column in ipairs(columns) do
        local width = column.width
        for _, texts in ipairs(column.whole and rows or {}) do
            width = max(width, character_count(texts[i] or ""))
        end
        fit[i] = { width = width, right = column.right, from_end = column.from_end }
    end
    return fit
end


--- row(item, index) returns the texts of a row, and perhaps whole lines below it as `below`. A
-- column is { title, width, right =, from_end =, whole = }. A text longer than its column loses its
-- end, with from_end its beginning, and with whole nothing.
---@return string
function _M.table(columns, list, row)
    local titles, rows = {}, {}
    for i, column in ipairs(columns) do titles[i] = column.title end
    for i, item in ipairs(list) do rows[i] = row(item, i) end
    local fit = fit_columns(columns, rows)
    local lines = { line_text(fit, titles) }
    for i, texts in ipairs(rows) do lines[i + 1] = line_text(fit, texts) .. (texts.below or "") end
    return table.concat(lines)
end


local UNITS = { { 86400, "d" }, { 3600, "h" }, { 60, "min" } }

function _M.duration(seconds)
    seconds = max(seconds, 0)
    for _, unit in ipairs(UNITS) do
        local size, name = unit[1], unit[2]
        if seconds >= 2 * size then return ("%d %s"):format(floor(seconds / size), name) end
    end
    return ("%d s"):format(floor(seconds))
end


function _M.age(since)
    return since and _M.duration(os.time() - since)
end


return _M
