--- Two servers sell one bun, as purchases/plain.lua does: a hundred schedules, or that of one seed.
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
