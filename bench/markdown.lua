--- Tables in Markdown, as in docs/performance/engines.md, and numbers for their cells.

local markdown = {}


--- Prints a table, whose rows have as many cells as the head.
function markdown.table(head, rows)
    local rule = {}
    for i = 1, #head do rule[i] = "---" end
    print("\n| " .. table.concat(head, " | ") .. " |")
    print("| " .. table.concat(rule, " | ") .. " |")
    for _, row in ipairs(rows) do print("| " .. table.concat(row, " | ") .. " |") end
    io.stdout:flush()
end


--- A number with two or three significant digits, or all digits before the point.
function markdown.number(value)
    local size = math.abs(value)
    if size > 0 and size < 0.1 then return ("%.2g"):format(value) end
    if size >= 100 then return ("%.0f"):format(value) end
    return (size >= 10 and "%.1f" or "%.2f"):format(value)
end


function markdown.range(value, least, most)
    local number = markdown.number
    return ("%s (%s to %s)"):format(number(value), number(least), number(most))
end


function markdown.milliseconds(seconds) return markdown.number(1000 * seconds) end


return markdown
