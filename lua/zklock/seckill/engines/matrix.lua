--- The table of `engine.has` for all engines.

local engine = require "zklock.seckill.engine"


local COLUMNS = {
    { "fair", "fair" },
    { "reentrant", "twice" },
    { "rwlock", "rw" },
    { "multi", "multi" },
    { "lease", "lease" },
    { "watchdog", "renewed" },
    { "wakes", "woken" },
    { "owned", "owned" },
    { "token", "token" },
}

local NAME, CELL = "%-17s", "%-8s"


local matrix = {}


local function row(name, cell)
    local cells = { NAME:format(name) }
    for _, column in ipairs(COLUMNS) do cells[#cells + 1] = CELL:format(cell(column)) end
    return (table.concat(cells):gsub(" +$", ""))
end


function matrix.table()
    local lines = { row("engine.has", function(column) return column[2] end) }
    for _, name in ipairs(engine.names) do
        local has = engine.has(name)
        lines[#lines + 1] = row(name, function(column) return has[column[1]] and "yes" or "-" end)
    end
    return table.concat(lines, "\n")
end


return matrix
