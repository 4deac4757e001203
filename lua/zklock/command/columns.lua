--- Tables of text, 80 columns wide.

local printable = require "zklock.command.printable"

local ipairs, floor, max = ipairs, math.floor, math.max

local _M = {}


-- Characters of UTF-8.
local function length(text)
    return select(2, text:gsub("[^\128-\191]", ""))
end


-- So many of them, from the beginning or from the end.
local function cut(text, width, from_end)
    if length(text) <= width then return text end
    local characters = {}
    for each in text:gmatch("[%z\1-\127\194-\244][\128-\191]*") do
        characters[#characters + 1] = each
    end
    local count = #characters
    if from_end then return "…" .. table.concat(characters, "", max(count - width + 2, 1)) end
    return table.concat(characters, "", 1, width - 1) .. "…"
end


local function cell(text, column)
    text = cut(printable.line(text), column.width, column.from_end)
    local space = (" "):rep(column.width - length(text))
    return column.right and space .. text or text .. space
end


--- A row; the columns are { title, width, right =, from_end = }, the last may be of any length.
function _M.row(columns, texts)
    local cells = {}
    for i, column in ipairs(columns) do cells[i] = cell(texts[i] or "-", column) end
    return (table.concat(cells, " "):gsub("%s+$", "")) .. "\n"
end


---@return string
function _M.head(columns)
    local titles = {}
    for i, column in ipairs(columns) do titles[i] = column.title end
    return _M.row(columns, titles)
end


--- A head, and what row(item, place) gives for each of the list.
---@return string
function _M.table(columns, list, row)
    local rows = { _M.head(columns) }
    for i, item in ipairs(list) do rows[i + 1] = row(item, i) end
    return table.concat(rows)
end


local UNITS = { { 86400, "d" }, { 3600, "h" }, { 60, "min" } }

--- Seconds, for people.
function _M.duration(seconds)
    seconds = max(seconds, 0)
    for _, unit in ipairs(UNITS) do
        local size, name = unit[1], unit[2]
        if seconds >= 2 * size then return ("%d %s"):format(floor(seconds / size), name) end
    end
    return ("%d s"):format(floor(seconds))
end


--- How long ago that was; nil: it is not known.
function _M.age(since)
    return since and _M.duration(os.time() - since)
end


return _M
