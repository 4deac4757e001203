--- The check of exercise 5.
---
---     lua5.4 "$(command -v busted)" lua/zklock/seckill/lessons/workshop/5_prove_spec.lua

local shop = require "zklock.seckill.lessons.workshop.shop"

local RIGHT = "lua/zklock/seckill/lessons/workshop/solutions/4_mend.lua"

local WRONG = {
    { "plain", "takes no lock" },
    { "under_zklock", "shows no token to the store" },
    { "lies_when_late", 'tells its buyer "sold" when the store has refused the write' },
    { "lies_when_lost", 'tells its buyer "failed" when the lock is lost, but the bun is sold' },
    { "keeps_one_back", 'tells its buyer "sold out" when one bun is left' },
}

describe("5_prove.lua", function()
    local property = dofile(shop.file "5_prove")

    local function explore(path, seeds)
        return shop.explore(path, shop.with(shop.THREE_BUNS, {
            seeds = seeds, faults = shop.FAULTS, property = property,
        }))
    end

    it("is true of each sale of a right shop", function()
        local result = explore(RIGHT, 1000)
        assert(result.wrong == 0, "The property is false of a sale of a right shop. Which sales "
            .. "does it forget?\n" .. tostring(result))
    end)

    for _, wrong in ipairs(WRONG) do
        local name, does = wrong[1], wrong[2]
        it("finds a shop that " .. does, function()
            local result = explore(shop.purchase(name), 200)
            assert(result.wrong > 0, ("The property is true of 200 sales of a shop that %s "
                .. "(purchases/%s.lua). What does it not say yet?"):format(does, name))
        end)
    end

    it("is true of each sale of your shop", function()
        local result = explore(shop.file "4_mend", 1000)
        assert(result.wrong == 0, "The property is false of a sale of 4_mend.lua: is exercise 4 "
            .. "solved?\n" .. tostring(result))
    end)
end)
