--- The check of exercise 4.
---
---     lua5.4 "$(command -v busted)" lua/zklock/seckill/lessons/workshop/4_mend_spec.lua

local shop = require "zklock.seckill.lessons.workshop.shop"

describe("4_mend.lua", function()
    local path = shop.file "4_mend"

    -- Fails with the first wrong schedule, if there is one.
    local function must_be_right(options, sentence)
        local result = shop.explore(path, shop.with(shop.THREE_BUNS, options))
        assert(result.wrong == 0, ("%s\n%s"):format(sentence, tostring(result)))
    end

    local function all_sold(sale)
        shop.verdict(sale)
        local told = sale.told
        if told.sold ~= 3 or told["sold out"] ~= 1 then
            error(('of four buyers %d were told "sold", %d "sold out"'):format(told.sold,
                told["sold out"]), 0)
        end
    end

    it("sells all buns when nothing fails", function()
        must_be_right({ seeds = 100, property = all_sold, open = 120 }, "It goes wrong although "
            .. "nothing fails. Does one server hold the lock from the read to the write, and "
            .. "release it then?")
    end)

    it("sells no bun twice in any schedule with one stop and no preemption", function()
        must_be_right({ all = { preemptions = 0 }, faults = shop.ONE_STOP }, "It goes wrong when a "
            .. "server is stopped. Is the store shown the token at the read and at the write?")
    end)

    it("sells no bun twice when servers are stopped, killed and cut off", function()
        must_be_right({ seeds = 1000, faults = shop.FAULTS }, "It goes wrong when a server fails. "
            .. "Is the store shown the token at the read and at the write? What is a buyer told "
            .. "whose write is refused?")
    end)
end)
