--- docs/pictures/lanes.lua: the picture of README.md, of two simulated sales, the same each time: a
--- bar for each hold of the lock, a lane for each server, red and hatched where two servers held it
--- at once.
---
---     make
---     LUA_PATH="lua/?.lua;lua/?/init.lua;;" LUA_CPATH="build/5.4/?.so;;" \
---         lua5.4 docs/pictures/lanes.lua >docs/pictures/lanes.svg

local axis = require "zklock.seckill.lessons.site.axis"
local seckill = require "zklock.seckill"

local LEFT, WIDTH, LANE, SALE, FOOT = 90, 720, 22, 86, 64 -- pixels
local HEAD = [[
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="13"
  role="img" aria-labelledby="title">
<title id="title">Who held the lock when, in two sales</title>
<pattern id="two" width="6" height="6" patternUnits="userSpaceOnUse">
<rect width="6" height="6" fill="#c8102e"/>
<path d="M-1,7 7,-1 M-1,1 1,-1 M5,7 7,5" stroke="#fff"/>
</pattern>
<rect width="100%%" height="100%%" fill="#fff"/>
]]
local TITLE = '<text x="8" y="%d" fill="#1f2328">%s: %s</text>\n'
local NAME = '<text x="%.1f" y="%d" fill="#57606a"%s>%s</text>\n'
local BAR = '<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"/>\n'
local LINE = '<path d="M%.1f,%d V%d" stroke="#d8dee4"/>\n'
local MIDDLE = ' text-anchor="middle"'
local HELD, TWO = "#2f6fd0", "url(#two)"


local function bar(from, to, y, scale, fill)
    local width = math.max((to - from) * scale, 0.5)
    io.write(BAR:format(LEFT + from * scale, y, width, LANE - 4, fill))
end


-- A hold, and where it and an overlap of its lock meet.
local function draw_hold(sale, hold, y, scale)
    bar(hold.granted, hold.released, y, scale, HELD)
    for _, each in ipairs(sale.overlaps) do
        local from, to = math.max(hold.granted, each.from), math.min(hold.released, each.to)
        if each.lock == hold.lock and from < to then bar(from, to, y, scale, TWO) end
    end
end


local function draw(sale, top, scale)
    io.write(TITLE:format(top + 18, sale.strategy, tostring(sale):match "^.-: ([^\n]*)"))
    for index = 1, sale.servers do
        local y = top + 6 + index * LANE
        io.write(NAME:format(8, y + 14, "", "server " .. index))
        for _, each in ipairs(sale.purchases) do
            if each.server == index and each.granted and each.released then
                draw_hold(sale, each, y, scale)
            end
        end
    end
end


local function draw_grid(longest, bottom, scale)
    local step = axis.step(longest, 5)
    for i = 0, math.floor(longest / step) do
        local x = LEFT + i * step * scale
        io.write(LINE:format(x, 24, bottom))
        io.write(NAME:format(x, bottom + 16, MIDDLE, ("%g s"):format(i * step)))
    end
    io.write(NAME:format(LEFT + WIDTH / 2, bottom + 34, MIDDLE, "time since the sale began"))
end


local function draw_key(y)
    io.write(BAR:format(LEFT, y, 24, 14, HELD), NAME:format(LEFT + 30, y + 12, "",
        "the server holds the lock"))
    io.write(BAR:format(LEFT + 220, y, 24, 14, TWO), NAME:format(LEFT + 250, y + 12, "",
        "both servers hold it at once"))
end


local sales = seckill.compare({ "local", "zookeeper" }, { buyers = 12, simulated = true })
local longest, bottom = math.max(sales[1].seconds, sales[2].seconds), #sales * SALE
io.write(HEAD:format(LEFT + WIDTH + 8, bottom + FOOT))
draw_grid(longest, bottom, WIDTH / longest)
for index, sale in ipairs(sales) do draw(sale, (index - 1) * SALE, WIDTH / longest) end
draw_key(bottom + FOOT - 20)
io.write "</svg>\n"
