--- The picture of a run, with a lane for each server, a row for each buyer, and the stock below.
--- Its HTML and SVG use per cent, so that it adapts to the page's width and needs no script. The
--- table behind it has the numbers. (The report beside the page shows thousands of holds, and
--- zooms.)

local axis = require "zklock.seckill.lessons.site.axis"
local holds = require "zklock.seckill.lessons.site.holds"
local markup = require "zklock.seckill.lessons.site.markup"
local signs = require "zklock.seckill.lessons.site.signs"
local stock = require "zklock.seckill.lessons.site.stock"
local times = require "zklock.seckill.lessons.site.times"

local picture = {}

local NEAR = 4.4 -- per cent of the width; a sign on a telephone


-- rows -------------------------------------------------------------------------------------------

local function rows_by_server(sale)
    local lanes = {}
    for number = 1, sale.servers do lanes[number] = {} end
    for _, row in ipairs(sale.rows) do table.insert(lanes[row.server], row) end
    for _, lane in ipairs(lanes) do
        table.sort(lane, function(a, b)
            local one, other = a.granted or math.huge, b.granted or math.huge
            if one ~= other then return one < other end
            return a.buyer < b.buyer
        end)
    end
    return lanes
end


local function bar(class, scale, from, to, text)
    return ('<i class="%s" style="left:%.2f%%;width:%.2f%%">%s</i>'):format(class, from * scale,
        math.max(0, to - from) * scale, text or "")
end


local FAULTS = { stop = true, wakes = true, killed = true }

-- True for a step of that server rather than of a buyer; without a number, for a step of all.
local function is_of_server(step, number)
    if not step.purchase then return step.server == number end
    return FAULTS[step.what] and step.purchase.server == number
end


-- Groups of signs; signs that would overlap stand side by side.
local function groups_of(marked, scale, is_here)
    local groups, last = {}, nil
    for i, step in ipairs(marked) do
        if is_here(step) then
            local x = step.at * scale
            if not (last and x - last.left < NEAR * last.count) then
                last = { left = x, count = 0, signs = "", ticks = "" }
                groups[#groups + 1] = last
            end
            last.count, last.signs, last.right = last.count + 1, last.signs .. signs.marks[i], x
            last.ticks = last.ticks .. bar("tick", scale, step.at, step.at)
        end
    end
    return groups
end


-- The signs of steps above the bars, with a line down from each at its time.
local function marks_of(marked, scale, is_here)
    local groups = groups_of(marked, scale, is_here)
    for i, group in ipairs(groups) do
        local class, x = "", group.left
        if group.count > 1 and x < 80 then class = ' class="several"'
        elseif group.count > 1 then class, x = ' class="several leftwards"', group.right end
        groups[i] = ('%s<b%s style="left:%.2f%%">%s</b>'):format(group.ticks, class, x,
            group.signs)
    end
    return table.concat(groups)
end


-- A row with name, bars, signs above, and a sign at the end.
local function row_html(name, bars, marks, told)
    return ('<div class="row%s"><span class="who">%s</span><span class="track">%s%s</span>'
        .. '<span class="told">%s</span></div>'):format(marks ~= "" and " marked" or "", name,
        table.concat(bars), marks, told or "")
end


local function commits_late(row, sale) return sale.commits and row.told > row.released end


local function buyer_row(row, sale, marked, scale)
    local bars = {}
    if row.asked then
        local waited_until = row.granted or row.gave_up_at or row.told or sale.finish
        if waited_until > row.asked then
            bars[1] = bar("wait", scale, row.asked, waited_until)
        end
    end
    if row.granted then
        for i, part in ipairs(holds.parts(row, sale)) do
            bars[#bars + 1] = bar(part.what, scale, part.from, part.to, i == 1 and row.text)
        end
        if commits_late(row, sale) then
            bars[#bars + 1] = bar("commit", scale, row.released, row.told)
        end
    end
    local marks = marks_of(marked, scale, function(step)
        return step.purchase == row and not FAULTS[step.what]
    end)
    local label = row.label and ('<div class="server label">%s</div>'):format(row.label) or ""
    return label .. row_html(markup.escape(row.buyer), bars, marks, signs.told(row.outcome))
end


-- A server's row with its stops, and the lesson's notes about it.
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
    return row_html("", bars, marks_of(marked, scale, function(step)
        return is_of_server(step, number)
    end))
end


local function lane(title, lines)
    return ('<div class="lane"><div class="server">%s</div>%s</div>'):format(title,
        table.concat(lines, "\n"))
end


local function lanes_of(sale, words, scale)
    local lanes, marked = {}, sale.steps
    if sale.common then
        lanes[1] = lane(sale.common[words.name], { server_row(sale, nil, marked, words, scale) })
    end
    for number, rows in ipairs(rows_by_server(sale)) do
        local lines = { server_row(sale, number, marked, words, scale) }
        for _, row in ipairs(rows) do lines[#lines + 1] = buyer_row(row, sale, marked, scale) end
        lanes[#lanes + 1] = lane(words.server:format(number), lines)
    end
    return table.concat(lanes, "\n")
end


local function axis_of(sale, words, scale)
    local ticks, step = {}, axis.step(sale.finish, 3)
    for i = 0, math.floor(sale.finish / step) do
        ticks[i + 1] = ('<b style="left:%.2f%%">%g</b>'):format(i * step * scale, i * step)
    end
    return ('<div class="row axis"><span class="who"></span><span class="track">%s</span></div>'
        .. '<div class="unit">%s</div>'):format(table.concat(ticks), words.unit)
end


-- the key ----------------------------------------------------------------------------------------

-- The meaning of the signs at the ends of rows, each with the outcomes that it stands for.
local function key_of_outcomes(sale, words)
    local entries, seen = {}, {}
    for _, sign in ipairs(signs.order) do
        local outcomes = {}
        for _, row in ipairs(sale.rows) do
            if signs.told(row.outcome) == sign and not seen[row.outcome] then
                seen[row.outcome] = true
                outcomes[#outcomes + 1] = words.outcomes[row.outcome] or row.outcome
            end
        end
        if outcomes[1] then
            entries[#entries + 1] = ("<li><b>%s</b>%s</li>"):format(sign,
                markup.escape(table.concat(outcomes, words.comma)))
        end
    end
    return table.concat(entries)
end


-- The order of the key's entries, by class of a bar or line.
local CLASSES = { "wait", "hold", "share", "two", "dead", "commit", "stop", "written", "rightly" }


local function word_of(class, sale, words)
    if class == "two" then return words.key[holds.meaning(sale)] end
    local is_hold = class == "hold" or class == "share"
    if is_hold and not sale.has_waits then return words.key.buy end
    if class == "written" and sale.commits then return words.key.committed end
    return words.key[class]
end


local function is_shown(class, drawn, sale)
    if class == "rightly" then return sale.apart ~= 0 end
    if class == "stop" then return sale.faults[1] ~= nil end
    return drawn:find(('class="%s"'):format(class), 1, true)
end


local function key_of(drawn, sale, words)
    local entries = {}
    for _, class in ipairs(CLASSES) do
        if is_shown(class, drawn, sale) then
            local word = class == "stop" and sale.faults[1].kind or class
            entries[#entries + 1] = ('<li><i class="%s"></i>%s</li>'):format(class,
                word_of(word, sale, words))
        end
    end
    if sale.steps[1] then entries[#entries + 1] = "<li><b>①</b>" .. words.key.mark .. "</li>" end
    return '<ul class="key">' .. table.concat(entries) .. key_of_outcomes(sale, words) .. "</ul>"
end


function picture.of(sale, words)
    local scale = 100 / sale.finish
    local drawn = lanes_of(sale, words, scale) .. "\n" .. stock.row(sale, words, scale)
    local label = words.picture:format(words.verdicts[sale.verdict],
        times.duration(sale.finish))
    return ('<figure class="run"><div role="img" aria-label="%s">\n%s\n%s\n</div>%s</figure>')
        :format(markup.escape(label), drawn, axis_of(sale, words, scale),
            key_of(drawn, sale, words))
end


return picture
