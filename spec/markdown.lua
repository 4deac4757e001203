--- Tables in Markdown.

local markdown = {}


--- Returns the tables of a text, each a list of lines of cells, of which the first is the head.
---@param text string
---@return string[][][]
function markdown.tables(text)
    local found, current = {}, nil
    for line in (text .. "\n"):gmatch "([^\n]*)\n" do
        if not line:find "^|" then
            current = nil
        elseif not line:find "^|[%s|:-]*$" then
            if not current then
                current = {}
                found[#found + 1] = current
            end
            local cells = {}
            for cell in line:sub(2):gmatch "%s*(.-)%s*|" do cells[#cells + 1] = cell end
            current[#current + 1] = cells
        end
    end
    return found
end


--- Returns the rows of all tables, heads too, by their first cell, each a list of its other cells.
---@param text string
---@return table<string, string[][]>
function markdown.rows(text)
    local rows = {}
    for _, lines in ipairs(markdown.tables(text)) do
        for _, cells in ipairs(lines) do
            local label = table.remove(cells, 1)
            rows[label] = rows[label] or {}
            table.insert(rows[label], cells)
        end
    end
    return rows
end


return markdown
