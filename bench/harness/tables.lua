--- Tables of results (world.lua), as in docs/performance.md. A line of a grid has a `label`, a
-- `result`, and the name of a `figure`, by default "ms". The function `cell` returns a cell's text
-- from a contender's figures, those of the line's first contender, the figure's name, and the row.

local clients = require "bench.harness.clients"
local markdown = require "bench.markdown"
local rounds = require "bench.harness.rounds"

local number, range = markdown.number, markdown.range

local tables = {}


local function label_of(name) return clients[name] and clients[name].label or name end


-- The contenders of all lines, each once. A missing client has no column.
local function names_of(lines)
    local names, seen = {}, {}
    for _, line in ipairs(lines) do
        for _, name in ipairs(line.result.names) do
            if not seen[name] then names[#names + 1] = name end
            seen[name] = true
        end
    end
    return names
end


--- A line for each result, with its row's label.
function tables.lines(results, figure)
    local lines = {}
    for i, result in ipairs(results) do
        lines[i] = { label = result.row.label, result = result, figure = figure }
    end
    return lines
end


--- Prints a grid with a column for each contender.
function tables.grid(title, lines, cell)
    local names, head, rows = names_of(lines), { title }, {}
    for i, name in ipairs(names) do head[i + 1] = label_of(name) end
    for i, line in ipairs(lines) do
        local result, row = line.result, { line.label }
        local base = result.figures[result.names[1]]
        for k, name in ipairs(names) do
            local figures = result.figures[name]
            row[k + 1] = figures and cell(figures, base, line.figure or "ms", result.row) or "—"
        end
        rows[i] = row
    end
    markdown.table(head, rows)
end


--- The ratio of a figure to the first contender's in the same round, and the figure's median.
function tables.ratio(figures, base, name)
    local value = number((rounds.median_of(figures, name)))
    return figures == base and "1; " .. value
        or range(rounds.ratio(figures, base, name)) .. "; " .. value
end


--- The median and the range of a figure.
function tables.value(figures, _, name) return range(rounds.median_of(figures, name)) end


-- A count is shown without a decimal point.
local function text(value) return value % 1 == 0 and ("%d"):format(value) or number(value) end


--- Prints a table with a line for each contender of each result. `columns`: the figures' titles and
-- names, in pairs.
function tables.list(title, results, columns)
    local head, rows = { title, "client" }, {}
    for i = 1, #columns, 2 do head[#head + 1] = columns[i] end
    for _, result in ipairs(results) do
        for _, name in ipairs(result.names) do
            local row = { result.row.label, label_of(name) }
            for i = 2, #columns, 2 do
                row[#row + 1] = text((rounds.median_of(result.figures[name], columns[i])))
            end
            rows[#rows + 1] = row
        end
    end
    markdown.table(head, rows)
end


return tables
