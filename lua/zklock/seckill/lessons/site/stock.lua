--- The stock below a picture's rows, as written and as it should be.

local stock = {}

local HEIGHT, GAP = 96, 14 -- pixels
local LETTERS = 14         -- pixels, height of a number


-- For each write its time, the stock of all products as written, and the stock as it should be.
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

local function stepped(class, list, sale, scale, height_of)
    local lines, at, value = {}, 0, sale.stock
    for _, change in ipairs(list) do
        local x, following = change.at * scale, change[class]
        local y, next_y = height_of(value), height_of(following)
        lines[#lines + 1] = LINE:format(class, at * scale, x, y, y)
        lines[#lines + 1] = LINE:format(class, x, x, y, next_y)
        at, value = change.at, following
    end
    local y = height_of(value)
    lines[#lines + 1] = LINE:format(class, at * scale, sale.finish * scale, y, y)
    return table.concat(lines), value
end


local function numbers(values, height_of)
    local parts, last = {}, 0
    table.sort(values, function(a, b) return a > b end)
    for i, value in ipairs(values) do
        last = math.max(height_of(value), last + LETTERS)
        parts[i] = ('<b style="top:%.0fpx">%d</b>'):format(last, value)
    end
    return table.concat(parts)
end


---@param sale table
---@param words table
---@param scale number  per cent of the width for a second
---@return string html
function stock.row(sale, words, scale)
    local list = changes(sale)
    if not list[1] then return "" end
    local least = math.min(sale.left, list[#list].rightly)
    local function height_of(value)
        return GAP + (HEIGHT - 2 * GAP) * (sale.stock - value) / math.max(1, sale.stock - least)
    end
    local right_line, right_stock = stepped("rightly", list, sale, scale, height_of)
    local written_line, left = stepped("written", list, sale, scale, height_of)
    local values = { sale.stock, left, right_stock ~= left and right_stock or nil }
    return ('<div class="server">%s</div><div class="row stock"><span class="who">%s</span>'
        .. '<svg class="track" height="%d">%s%s</svg></div>'):format(words.stock,
        numbers(values, height_of), HEIGHT, right_line, written_line)
end


return stock
