--- A picture in words and numbers, with the steps that it marks, and a row for each buyer.

local buyers = require "zklock.seckill.lessons.site.buyers"
local markup = require "zklock.seckill.lessons.site.markup"
local signs = require "zklock.seckill.lessons.site.signs"
local times = require "zklock.seckill.lessons.site.times"

local tables = {}


-- The owner of a step, a buyer, a server, or all together.
local function owner_of(step, sale, words)
    local purchase = step.purchase
    if purchase then return words.who:format(purchase.server, purchase.buyer) end
    return (step.server and words.server:format(step.server) or sale.common[words.name])
        .. words.colon
end


local function step_text(step, words)
    local text = step.text and step.text[words.name] or words.steps[step.what]
    return step.detail and text:format(step.detail) or text
end


function tables.steps(sale, words)
    local lines = {}
    for i, step in ipairs(sale.steps) do
        lines[i] = ('<li><b>%s</b> <span class="at">%s</span> %s<strong>%s</strong></li>')
            :format(signs.marks[i], times.moment(step.at), owner_of(step, sale, words),
                markup.escape(step_text(step, words)))
    end
    if not lines[1] then return "" end
    return '<ol class="steps">\n' .. table.concat(lines, "\n") .. "\n</ol>"
end


local function waited(row)
    local seconds = buyers.waited(row)
    return seconds and times.duration(seconds) or "–"
end


local function has_lock(sale) return sale.has_waits end -- without a lock nobody waits

-- Words for the titles, the cell of a row, and whether a sale has the column.
local COLUMNS = {
    { "buyer", function(row) return row.buyer end },
    { "server", function(row) return row.server end },
    { "lock", function(row) return row.lock end, has_lock },
    { "asked", function(row) return times.moment(row.asked) end },
    { "granted", function(row) return times.moment(row.granted) end, has_lock },
    { "waited", waited, has_lock },
    { "read", function(row) return row.read or "–" end },
    { "wrote", function(row) return row.left or "–" end },
    { "at", function(row) return times.moment(row.written) end },
    { "committed", function(row) return times.moment(row.told) end,
      function(sale) return sale.commits end },
    { "released", function(row) return times.moment(row.released) end, has_lock },
    { "token", function(row) return row.token or "–" end, function(sale) return sale.tokens end },
}


local AFTER = 3 -- a lesson's own column comes after buyer and server


-- The columns of a sale: { title, of = fun(row) }.
local function columns_of(sale, words, own)
    local list = {}
    for _, each in ipairs(COLUMNS) do
        if not each[3] or each[3](sale) then
            list[#list + 1] = { title = words.columns[each[1]], of = each[2] }
        end
    end
    list[#list + 1] = { title = words.columns.outcome, of = function(row)
        return words.outcomes[row.outcome] or row.outcome or "–"
    end }
    if own then table.insert(list, AFTER, own) end
    return list
end


local function line(kind, columns, text_of)
    local parts = {}
    for i, column in ipairs(columns) do
        parts[i] = ("<%s>%s</%s>"):format(kind, markup.escape(text_of(column)), kind:match "^%a+")
    end
    return "<tr>" .. table.concat(parts) .. "</tr>"
end


--- A table of the buyers, closed at first, with their waits in a sentence.
---@param sale table
---@param words table
---@param own { title: string, of: fun(row, sale): any }?  the lesson's column
---@return string html
function tables.purchases(sale, words, own)
    local columns, rows = columns_of(sale, words, own), {}
    for i, row in ipairs(sale.rows) do
        rows[i] = line("td", columns, function(column) return column.of(row, sale) end)
    end
    local waits = sale.has_waits
        and "<p>" .. words.waits:format(sale.median, sale.longest) .. "</p>\n" or ""
    return ('%s<details%s><summary>%s</summary><div class="scroll" tabindex="0">'
        .. "<table>\n<thead>%s</thead>\n<tbody>%s</tbody></table></div></details>")
        :format(waits, own and " open" or "", words.table,
            line('th scope="col"', columns, function(column) return column.title end),
            table.concat(rows, "\n"))
end


return tables
