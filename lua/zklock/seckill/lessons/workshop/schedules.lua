--- Runs a hundred schedules of two servers that sell one bun by purchases/plain.lua, or the
-- schedule of one seed.
--
--     lua5.4 lua/zklock/seckill/lessons/workshop/schedules.lua [seed]

local shop = require "zklock.seckill.lessons.workshop.shop"

local path, seed = shop.purchase "plain", tonumber(arg[1])

if seed then
    local story, problem = shop.play(path, shop.with(shop.ONE_BUN, { seed = seed }))
    print(story)
    print(problem or "right")
else
    print(shop.explore(path, shop.with(shop.ONE_BUN, { seeds = 100 })))
end
