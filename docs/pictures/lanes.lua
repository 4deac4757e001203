--- docs/pictures/lanes.lua: the picture of README.md, of two sales that happen meanwhile: a bar for
--- each hold of the lock, a lane for each server, red where two servers held it at once.
---
---     make
---     LUA_PATH="lua/?.lua;lua/?/init.lua;;" LUA_CPATH="build/5.4/?.so;;" \
---         lua5.4 docs/pictures/lanes.lua >docs/pictures/lanes.svg

local seckill = require "zklock.seckill"

local LEFT, WIDTH, LANE, SALE = 90, 720, 22, 92 -- pixels
local HEAD = [[
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="13">
<rect width="100%%" height="100%%" fill="#fff"/>
]]
local TITLE = '<text x="8" y="%d" fill="#1f2328">%s: %s</text>\n'
local NAME = '<text x="8" y="%d" fill="#57606a">%s</text>\n'
local BAR = '<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"/>\n'
local BLUE, RED = "#2f6fd0", "#c8102e"


local function bar(from, to, y, scale, color)
    local width = math.max((to - from) * scale, 0.5)
    io.write(BAR:format(LEFT + from * scale, y, width, LANE - 4, color))
end


local function draw(sale, top, scale)
    io.write(TITLE:format(top + 18, sale.strategy, tostring(sale):match "^.-: ([^\n]*)"))
    for index = 1, sale.servers do
        local y = top + 6 + index * LANE
        io.write(NAME:format(y + 14, "server " .. index))
        for _, each in ipairs(sale.purchases) do
            if each.server == index and each.granted and each.released then
                bar(each.granted, each.released, y, scale, BLUE)
            end
        end
        for _, each in ipairs(sale.overlaps) do bar(each.from, each.to, y, scale, RED) end
    end
end


local sales = seckill.compare({ "local", "zookeeper" }, { buyers = 12 })
local longest = math.max(sales[1].seconds, sales[2].seconds)
io.write(HEAD:format(LEFT + WIDTH + 8, #sales * SALE))
for index, sale in ipairs(sales) do draw(sale, (index - 1) * SALE, WIDTH / longest) end
io.write "</svg>\n"
