--- The check of exercise 3.
---
---     lua5.4 "$(command -v busted)" lua/zklock/seckill/lessons/workshop/3_break_spec.lua

local shop = require "zklock.seckill.lessons.workshop.shop"

describe("3_break.lua", function()
    local fault = dofile(shop.file "3_break")

    -- Fails with the story unless both buyers are told "sold".
    local function must_break(purchase, sentence)
        local sold
        local story, problem = shop.play(shop.purchase(purchase), {
            servers = 2, stock = 1, fault = fault,
            arrives = function(number) return (number - 1) * 0.1 end,
            property = function(sale) sold = sale.told.sold end,
        })
        assert(not problem, ("3_break.lua ends with an error: %s"):format(tostring(problem)))
        assert(sold == 2, ("%s. This is what happened:\n%s"):format(sentence, story))
    end

    it("breaks a lock that ends by itself after a second", function()
        must_break("under_ttl_lock", "The bun is not sold twice: when does server 1 have the lock, "
            .. "and for how long must it stop, so that server 2 reads before it has written")
    end)

    it("breaks zklock's lock as well, while the store looks at no token", function()
        must_break("under_zklock", "The bun is not sold twice under zklock's lock: ZooKeeper keeps "
            .. "the session of server 1 for up to three seconds without a sign of life")
    end)
end)
