--- An example: flash sales as tests, with busted.
---
---     lua5.4 "$(command -v busted)" docs/seckill/sale_spec.lua
---
--- (`busted` alone runs with the Lua that it was installed for.)

local seckill = require "zklock.seckill"

package.path = "docs/seckill/?.lua;" .. package.path -- where row_lock.lua and ledger.lua are


describe("the autumn sale", function()
    local options = {
        buyers = 20, servers = 2, products = { bun = 15 }, pause = 0.005, session = 20,
    }

    -- The options with others instead of some.
    local function with(others)
        local changed = {}
        for name, value in pairs(options) do changed[name] = value end
        for name, value in pairs(others) do changed[name] = value end
        return changed
    end

    it("the sale sells the whole stock and no more", function()
        local sale = seckill.sale(with{ strategy = "zookeeper" })
        assert.equal("right", sale.verdict, sale.finding)
        assert.equal(15, sale.sold)
        assert.equal(5, sale.refused)
        assert.equal(0, sale.left)
    end)

    it("the sale serves all buyers within half a minute", function()
        local sale = seckill.sale(with{ strategy = "zookeeper", timeout = 30 })
        assert.equal(0, sale.failed)
        assert.is_true(sale.wait:quantile(0.99) < 30)
    end)

    it("the sale oversells without a lock", function()
        local sale = seckill.sale(with{ strategy = "none" })
        assert.equal("wrong", sale.verdict)
        assert.is_true(#sale.overlaps > 0)
    end)

    it("the sale is right with our own lock and our own store", function()
        local sale = seckill.sale(with{ strategy = "row_lock", store = "ledger" })
        assert.equal("right", sale.verdict, sale.finding)
        assert.equal(15, sale.sold)
    end)

    it("the sale survives a server that dies while it holds the lock #slow", function()
        local sale = seckill.sale(with{
            strategy = "zookeeper", session = 1, faults = { { at = 0, kill = "holder" } },
        })
        assert.equal("right", sale.verdict, sale.finding)
        assert.is_true(sale.failures.unanswered > 0)
    end)
end)
