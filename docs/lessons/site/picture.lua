--- A run as a picture: a lane for each server, a row for each buyer, and the stock below them. It
--- is HTML and SVG with places in per cent, so that it is as wide as the page, in its colours, and
--- needs no script; the table behind it has the numbers. (The report of the run, which shows
--- thousands of holds and zooms, is a file beside the page.)

local axis = require "docs.pictures.axis"
local markup = require "docs.lessons.site.markup"
local steps = require "docs.lessons.site.steps"

local picture = {}

local SPACE = "\194\160" -- between a number and its unit: no line ends there
local STOCK_HEIGHT, STOCK_GAP = 96, 14 -- pixels
local LETTERS = 14 -- pixels: the height of a number
local NEAR = 3 -- per cent of the width: signs that are nearer stand side by side
local MARKS = { "①", "②", "③", "④", "⑤", "⑥", "⑦", "⑧", "⑨", "⑩" }


--- Seconds, with as many figures as tell something.
---@param seconds number
---@return string
function picture.duration(seconds)
    if seconds == 0 then return "0" .. SPACE .. "s" end
    if seconds < 0.1 then return ("%.1f%sms"):format(seconds * 1000, SPACE) end
    return ("%.2f%ss"):format(seconds, SPACE)
end


local function moment(seconds) return seconds and ("%.3f%ss"):format(seconds, SPACE) or "–" end


-- rows -------------------------------------------------------------------------------------------

-- What rows there are: a lesson's own, or one for each buyer.
local function rows_of(sale)
    local rows = sale.rows
    local lanes = {}
    for number = 1, sale.servers do lanes[number] = {} end
    for _, row in ipairs(rows) do table.insert(lanes[row.server], row) end
    for _, lane in ipairs(lanes) do
        table.sort(lane, function(a, b)
            local one, other = a.granted or math.huge, b.granted or math.huge
            if one ~= other then return one < other end
            return a.buyer < b.buyer
        end)
    end
    return lanes
end


-- From 0 to 1 of the picture's width; steps of one moment keep apart by their rows.
local function bar(class, scale, from, to, text)
    return ('<i class="%s" style="left:%.2f%%;width:%.2f%%">%s</i>'):format(class, from * scale,
        math.max(0, to - from) * scale, text or "")
end


local function end_of(row, sale)
    return row.released or row.ended or row.granted and sale.finish
end


local function overlaps_of(row, sale, scale)
    local bars = {}
    for _, each in ipairs(sale.overlaps) do
        local from = math.max(row.granted, each.from)
        local to = math.min(end_of(row, sale), each.to)
        if each.lock == (row.lock or row.product) and from < to then
            bars[#bars + 1] = bar("two", scale, from, to)
        end
    end
    return table.concat(bars)
end


local FAULTS = { stop = true, wakes = true, killed = true }

-- Is it a step of that server's, not of one of its buyers? (Without a number: of what all share.)
local function is_of(step, number)
    if not step.purchase then return step.server == number end
    return FAULTS[step.what] and step.purchase.server == number
end


-- The signs of steps in a row; those that would lie upon one another stand side by side.
local function marks_of(marked, scale, is_here)
    local marks, last = {}, nil
    for i, step in ipairs(marked) do
        if is_here(step) then
            local place = step.at * scale
            if last and place - last.place < NEAR then
                last.signs = last.signs .. MARKS[i]
            else
                last = { place = place, signs = MARKS[i] }
                marks[#marks + 1] = last
            end
        end
    end
    for i, mark in ipairs(marks) do
        local class = #mark.signs == #MARKS[1] and ""
            or mark.place < 80 and ' class="several"' or ' class="several leftwards"'
        marks[i] = ('<b%s style="left:%.2f%%">%s</b>'):format(class, mark.place, mark.signs)
    end
    return table.concat(marks)
end


-- Did it commit after it had released the lock?
local function commits_late(row, sale) return sale.commits and row.told > row.released end


-- The class of its bar.
local function hold_of(row) return row.shared and "share" or "hold" end


local function row_of(row, sale, marked, scale)
    local bars = {}
    if row.asked then
        local waited = row.granted or row.gave_up or row.told or sale.finish
        if waited > row.asked then bars[1] = bar("wait", scale, row.asked, waited) end
    end
    if row.granted then
        bars[#bars + 1] = bar(hold_of(row), scale, row.granted, end_of(row, sale),
            row.text)
        bars[#bars + 1] = overlaps_of(row, sale, scale)
        if commits_late(row, sale) then
            bars[#bars + 1] = bar("commit", scale, row.released, row.told)
        end
    end
    bars[#bars + 1] = marks_of(marked, scale, function(step)
        return step.purchase == row and not FAULTS[step.what]
    end)
    local label = row.label and ('<div class="server label">%s</div>'):format(row.label) or ""
    return ('%s<div class="row"><span class="who">%s</span><span class="track">%s</span></div>')
        :format(label, markup.escape(row.buyer), table.concat(bars))
end


-- What happened to a server is a row of its own: its stops, and what the lesson tells of it.
local function server_row(sale, number, marked, words, scale)
    local bars, name = {}, number and "server " .. number
    for _, fault in ipairs(sale.faults) do
        if fault.target == name then
            bars[#bars + 1] = bar("stop", scale, fault.at, fault.ended or sale.finish,
                words[fault.kind == "kill" and "killed" or "stopped"])
        end
    end
    for _, span in ipairs(sale.spans) do
        if span.server == number then
            bars[#bars + 1] = bar("span", scale, span.at, span.ended or sale.finish,
                markup.escape(span.text[words.name]))
        end
    end
    if not bars[1] then return "" end
    bars[#bars + 1] = marks_of(marked, scale, function(step) return is_of(step, number) end)
    return '<div class="row"><span class="who"></span><span class="track">'
        .. table.concat(bars) .. "</span></div>"
end


local function lane(title, lines)
    return ('<div class="lane"><div class="server">%s</div>%s</div>'):format(title,
        table.concat(lines, "\n"))
end


local function lanes_of(sale, marked, words, scale)
    local lanes = {}
    if sale.common then
        lanes[1] = lane(sale.common[words.name], { server_row(sale, nil, marked, words, scale) })
    end
    for number, rows in ipairs(rows_of(sale)) do
        local lines = { server_row(sale, number, marked, words, scale) }
        for _, row in ipairs(rows) do lines[#lines + 1] = row_of(row, sale, marked, scale) end
        lanes[#lanes + 1] = lane(words.server:format(number), lines)
    end
    return table.concat(lanes, "\n")
end


-- time -------------------------------------------------------------------------------------------

local function axis_of(sale, words, scale)
    local ticks, step = {}, axis.step(sale.finish, 3)
    local unit = sale.finish < 0.1 and 0.001 or 1
    for i = 0, math.floor(sale.finish / step) do
        ticks[i + 1] = ('<b style="left:%.2f%%">%g</b>'):format(i * step * scale, i * step / unit)
    end
    return ('<div class="row axis"><span class="who"></span><span class="track">%s</span></div>'
        .. '<div class="unit">%s</div>'):format(table.concat(ticks), words.units[unit])
end


-- stock ------------------------------------------------------------------------------------------

-- When something was written, what is left of all products then, and what should be there.
local function changes(sale)
    local list = {}
    for _, each in ipairs(sale.purchases) do
        if each.written then
            list[#list + 1] = { at = sale.commits and each.told or each.written, left = each.left,
                                product = each.product, quantity = each.quantity or 1 }
        end
    end
    table.sort(list, function(a, b) return a.at < b.at end)
    local left_of, left, rightly = {}, sale.stock, sale.stock
    for name, product in pairs(sale.products) do left_of[name] = product.stock end
    for _, change in ipairs(list) do
        left, rightly = left + change.left - left_of[change.product], rightly - change.quantity
        left_of[change.product] = change.left
        change.written, change.rightly = left, rightly
    end
    return list
end


local LINE = '<line class="%s" x1="%.2f%%" x2="%.2f%%" y1="%.1f" y2="%.1f"/>'

local function stepped(class, list, value_of, first, sale, scale, height_of)
    local lines, at, value = {}, 0, first
    for _, change in ipairs(list) do
        local x, following = change.at * scale, value_of(change)
        local y, next_y = height_of(value), height_of(following)
        lines[#lines + 1] = LINE:format(class, at * scale, x, y, y)
        lines[#lines + 1] = LINE:format(class, x, x, y, next_y)
        at, value = change.at, following
    end
    local y = height_of(value)
    lines[#lines + 1] = LINE:format(class, at * scale, sale.finish * scale, y, y)
    return table.concat(lines), value
end


local function stock(sale, words, scale)
    local list = changes(sale)
    if not list[1] then return "" end
    local least = math.min(sale.left, list[#list].rightly)
    local function height_of(value)
        return STOCK_GAP + (STOCK_HEIGHT - 2 * STOCK_GAP) * (sale.stock - value)
            / math.max(1, sale.stock - least)
    end
    local rightly, should = stepped("rightly", list, function(each) return each.rightly end,
        sale.stock, sale, scale, height_of)
    local written, left = stepped("written", list, function(each) return each.written end,
        sale.stock, sale, scale, height_of)
    local values, numbers, last = { sale.stock, left, should ~= left and should or nil }, {}, 0
    table.sort(values, function(a, b) return a > b end)
    for i, value in ipairs(values) do
        last = math.max(height_of(value), last + LETTERS)
        numbers[i] = ('<b style="top:%.0fpx">%d</b>'):format(last, value)
    end
    return ('<div class="server">%s</div><div class="row stock"><span class="who">%s</span>'
        .. '<svg class="track" height="%d">%s%s</svg></div>'):format(words.stock,
        table.concat(numbers), STOCK_HEIGHT, rightly, written)
end


-- all of it --------------------------------------------------------------------------------------

local function any(list, applies)
    for _, each in ipairs(list) do
        if applies(each) then return true end
    end
end


local function key(sale, marked, words)
    local entries = {}
    local function add(name, applies, word)
        if applies then
            entries[#entries + 1] = ('<li><i class="%s"></i>%s</li>'):format(name,
                words.key[word or name])
        end
    end
    add("wait", sale.waits)
    local word = not sale.waits and "buy" or nil -- nobody is kept out, so nothing is held
    add("hold", any(sale.rows, function(row) return row.granted and not row.shared end), word)
    add("share", any(sale.rows, function(row) return row.shared end), word)
    add("two", sale.overlaps[1])
    add("commit", any(sale.rows, function(row) return commits_late(row, sale) end))
    for _, fault in ipairs(sale.faults) do add(fault.kind, true) end
    if marked[1] then
        entries[#entries + 1] = '<li><b>①</b>' .. words.key.mark .. "</li>"
    end
    add("written", sale.sold > 0)
    add("rightly", sale.apart ~= 0)
    return '<ul class="key">' .. table.concat(entries) .. "</ul>"
end


--- The picture, with its key.
---@param sale table
---@param words table
---@return string html
function picture.of(sale, words)
    local marked, scale = sale.steps, 100 / sale.finish
    local label = words.picture:format(words.verdicts[sale.verdict],
        picture.duration(sale.finish))
    return ('<figure class="run"><div role="img" aria-label="%s">\n%s\n%s\n%s\n</div>%s</figure>')
        :format(markup.escape(label), lanes_of(sale, marked, words, scale),
            stock(sale, words, scale), axis_of(sale, words, scale), key(sale, marked, words))
end


-- Whose step it was: a buyer's, a server's, or that of what all share.
local function who(step, sale, words)
    local purchase = step.purchase
    if purchase then return words.who:format(purchase.server, purchase.buyer) end
    return (step.server and words.server:format(step.server) or sale.common[words.name])
        .. words.colon
end


local function said(step, words)
    local text = step.text and step.text[words.name] or words.steps[step.what]
    return step.count and text:format(step.count) or text
end


--- The steps that the picture marks, as a list; "" if there are none.
---@param sale table
---@param words table
---@return string html
function picture.steps(sale, words)
    local lines = {}
    for i, step in ipairs(sale.steps) do
        lines[i] = ('<li><b>%s</b> <span class="at">%s</span> %s<strong>%s</strong></li>')
            :format(MARKS[i], moment(step.at), who(step, sale, words),
                markup.escape(said(step, words)))
    end
    if not lines[1] then return "" end
    return '<ol class="steps">\n' .. table.concat(lines, "\n") .. "\n</ol>"
end


local COLUMNS = {
    { "buyer", function(row) return row.buyer end },
    { "server", function(row) return row.server end },
    { "lock", function(row) return row.lock end },
    { "asked", function(row) return moment(row.asked) end },
    { "granted", function(row) return moment(row.granted) end },
    { "waited", function(row)
        return row.granted and picture.duration(row.granted - row.asked) or "–"
    end },
    { "read", function(row) return steps.read(row) or "–" end },
    { "wrote", function(row) return row.left or "–" end },
    { "at", function(row) return moment(row.written) end },
    { "released", function(row) return moment(row.released) end },
    { "token", function(row) return row.token or "–" end },
}


local AFTER = 3 -- a lesson's own column stands after buyer and server


local function cells(kind, list)
    local parts = {}
    for i, text in ipairs(list) do
        parts[i] = ("<%s>%s</%s>"):format(kind, markup.escape(text), kind:match "^%a+")
    end
    return "<tr>" .. table.concat(parts) .. "</tr>"
end


--- What each buyer did, as a table that is closed at first, and the waits in a sentence.
---@param sale table
---@param words table
---@param column { title: string, of: fun(row, sale): any }?  a lesson's own
---@return string html
function picture.table(sale, words, column)
    local titles, rows = {}, {}
    for i, each in ipairs(COLUMNS) do titles[i] = words.columns[each[1]] end
    titles[#titles + 1] = words.columns.outcome
    if column then table.insert(titles, AFTER, column.title) end
    for i, row in ipairs(sale.rows) do
        local list = {}
        for n, each in ipairs(COLUMNS) do list[n] = each[2](row) end
        list[#list + 1] = words.outcomes[row.outcome] or row.outcome or "–"
        if column then table.insert(list, AFTER, column.of(row, sale)) end
        rows[i] = cells("td", list)
    end
    return ('%s<details%s><summary>%s</summary><div class="scroll" tabindex="0">'
        .. "<table>\n<thead>%s</thead>\n<tbody>%s</tbody></table></div></details>")
        :format(sale.waits and "<p>" .. words.waits:format(sale.median, sale.longest) .. "</p>\n"
            or "", column and " open" or "",
            words.table, cells('th scope="col"', titles), table.concat(rows, "\n"))
end


return picture
