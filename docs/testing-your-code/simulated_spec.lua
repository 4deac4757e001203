--- An example: a shop whose servers are simulated, under a thousand schedules with faults.
---
---     lua5.4 "$(command -v busted)" docs/testing-your-code/simulated_spec.lua

local zklock = require "zklock"

local FAULTS = { stop = true, kill = true, cut = true, delay = 0.05 }

-- Two servers that sell one bun; `buy` is what each does with its lease.
local function shop(buy)
    return function(world) -- called anew for each seed
        local store = { stock = 1, sold = 0, token = 0 }
        for n = 1, 2 do
            world:process("server " .. n, function()
                local session = assert(zklock.connect("memory:shop", { timeout = 10 }))
                session:mutex("/locks/bun"):with(60, buy, store)
            end)
        end
        world:finally(function() assert(store.sold <= 1, "oversold") end)
    end
end

local function trusting(_, store)
    if store.stock == 0 then return end
    zklock.sleep(0.02) -- the payment
    store.stock, store.sold = store.stock - 1, store.sold + 1
end

-- The store is shown the token before the stock is read, and again when it is written.
local function careful(lease, store)
    local token = lease.token
    if token < store.token then return end
    store.token = token
    if store.stock == 0 then return end
    zklock.sleep(0.02)
    if token < store.token then return end
    store.stock, store.sold = store.stock - 1, store.sold + 1
end

describe("a shop with a lock", function()
    it("the shop sells a bun twice when a holder is stopped for longer than its session", function()
        local result = assert(zklock.simulate(shop(trusting), { seeds = 1000, faults = FAULTS }))
        assert.is_true(result.wrong > 0)
        assert.matches("oversold", result.first.problem)
        assert.matches("is stopped for", result.first.story)
    end)

    it("the shop sells a bun once, whatever happens, when the store checks the token", function()
        local result = assert(zklock.simulate(shop(careful), { seeds = 1000, faults = FAULTS }))
        assert.equal(0, result.wrong, tostring(result))
    end)
end)
