--- An example: a sale that loses its lock in the middle, tested without a server.
---
---     lua5.4 "$(command -v busted)" docs/testing-your-code/sale_spec.lua

package.path = "docs/testing-your-code/?.lua;" .. package.path -- where sale.lua is

local Sale = require "sale"
local zklock = require "zklock"

describe("a sale", function()
    local memory = zklock.memory "shop"
    local session, other -- two servers of the shop

    local function stock()
        return (session:get("/stock/bun"))
    end

    before_each(function()
        memory:reset()
        session = assert(zklock.connect("memory:shop"))
        other = assert(zklock.connect("memory:shop"))
        local lease = assert(session:mutex("/setup"):acquire(1))
        assert(lease:guard{ { "create", "/stock", "" }, { "create", "/stock/bun", "2" } })
        lease:release()
    end)

    after_each(function()
        session:close()
        other:close()
    end)

    it("a sale takes a piece from the stock", function()
        local sale = Sale.new(session, function() end)
        assert.is_true(sale:buy("bun"))
        assert.equal("1", stock())
    end)

    it("a sale that loses its lock while the customer pays sells nothing", function()
        local sale = Sale.new(session, function() memory:expire(session) end)
        local ok, message, code = sale:buy("bun")
        assert.is_nil(ok)
        assert.equal("lost", code, message)
        assert.equal("2", (other:get("/stock/bun")))
    end)

    it("a sale that lost its lock does not overwrite another server's sale", function()
        local hers = Sale.new(other, function() end)
        local ours = Sale.new(session, function()
            memory:expire(session)
            assert(hers:buy("bun"))
        end)
        assert.equal("lost", (select(3, ours:buy("bun"))))
        assert.equal("1", (other:get("/stock/bun")))
    end)

    it("a sale goes on when the connection is lost for a moment only", function()
        local sale = Sale.new(session, function()
            memory:cut(session)
            memory:heal(session)
        end)
        assert.is_true(sale:buy("bun"))
        assert.equal("1", stock())
    end)

    it("a sale leaves no lock behind", function()
        Sale.new(session, function() end):buy("bun")
        session:close()
        assert.same({}, memory:children("/sale/bun"))
    end)

    it("a customer pays nothing if the stock cannot be read", function()
        local sale = Sale.new(session, function() error "paid" end)
        assert.equal("no_node", (select(3, sale:buy("cake"))))
    end)

    it("a sale whose payment fails leaves no lock behind", function()
        local sale = Sale.new(session, function() error "no money" end)
        assert.has_error(function() sale:buy("bun") end)
        assert.is_true(Sale.new(other, function() end):buy("bun"))
    end)
end)
