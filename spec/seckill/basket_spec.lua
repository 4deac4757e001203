--- [lua luajit] A purchase of several products, docs/seckill/basket.lua.

local records = require "zklock.seckill.record"
local seckill = require "zklock.seckill"

package.path = "spec/seckill/?.lua;docs/seckill/?.lua;" .. package.path

local HOSTS = os.getenv "ZK_HOSTS"
local LONG = 60 -- seconds, so that no session ends even on a slow machine
local BASKET = { bun = 1, tea = 2 }


-- A sale of five baskets to six buyers.
local function sale(options)
    local all = {
        purchase = "basket", parameters = { basket = BASKET }, products = { bun = 5, tea = 11 },
        buyers = 6, pause = 0.002, session = LONG, timeout = LONG, zookeeper = HOSTS,
    }
    for name, value in pairs(options) do all[name] = value end
    return seckill.sale(all)
end


local function has_sold_five(it_is)
    assert.same({ "right", 5, 1 }, { it_is.verdict, it_is.sold, it_is.refused }, tostring(it_is))
    assert.same({ bun = { stock = 5, left = 0, ordered = 5 },
                  tea = { stock = 11, left = 1, ordered = 10 } }, it_is.products)
end


describe("a basket", function()
    for _, store in ipairs{ "sqlite", "zookeeper" } do
        it("a multi-lock sells a basket whole: " .. store, function()
            local it_is = sale{ store = store }
            has_sold_five(it_is)
            assert.equal("bun + tea", it_is.purchases[1].lock)
            assert.same({}, it_is.overlaps)
        end)
    end

    it("a basket is sold under two locks of a process, and in a simulated sale", function()
        has_sold_five(sale{ strategy = "local", servers = 1 })
        has_sold_five(seckill.sale{ simulated = true, purchase = "basket", buyers = 6,
            parameters = { basket = BASKET }, products = { bun = 5, tea = 11 } })
        assert.equal(0, seckill.explore({ purchase = "basket", buyers = 3,
            parameters = { basket = BASKET }, products = { bun = 2, tea = 5 } },
            { seeds = 30 }).wrong)
    end)

    it("a basket may be of products that are no buyer's own", function()
        local it_is = sale{ strategy = "shared", product = "bun", parameters = {
            basket = { tea = 2 } } }
        assert.same({ "right", 5, 1 }, { it_is.verdict, it_is.sold, it_is.refused },
            tostring(it_is))
    end)

    it("a lock for all products excludes also if a product has its name", function()
        package.loaded.tea_only = function(buyer)
            buyer:want{ tea = 1 }
            if not buyer:enter{ products = { "tea" } } then return end
            local left = buyer:stock "tea" - 1
            buyer:pause()
            buyer:buy_all{ { product = "tea", quantity = 1, left = left } }
            buyer:leave()
        end
        local it_is = seckill.sale{ simulated = true, purchase = "tea_only", lock = "one",
            products = { all = 9, tea = 9 }, buyers = 4 }
        package.loaded.tea_only = nil
        assert.same({ "right", 4 }, { it_is.verdict, it_is.sold }, tostring(it_is))
    end)

    -- Odd buyers want their own product alone.
    it("buyers of a basket and of one product wait for each other", function()
        package.loaded.basket_or_one = function(buyer)
            if buyer.number % 2 == 0 then return require "basket"(buyer) end
            if not buyer:enter() then return end
            buyer:try_to_buy()
            buyer:leave()
        end
        for _, strategy in ipairs{ "zookeeper", "zookeeper-rw" } do
            local found = seckill.explore({ purchase = "basket_or_one", strategy = strategy,
                parameters = { basket = { bun = 1, pie = 1 } }, products = { bun = 9, pie = 9,
                tea = 9 }, buyers = 14, pause = 0.4, timeout = 3, faults = {} }, { seeds = 20 })
            assert.equal(0, found.wrong, tostring(found))
        end
        package.loaded.basket_or_one = nil
    end)

    it('a basket takes the only lock of a sale with lock = "one" (PIT-12)', function()
        local it_is = sale{ lock = "one", buyers = 2 }
        assert.same({ "right", "all" }, { it_is.verdict, it_is.purchases[1].lock })
    end)

    it("the record of a basket has the write of each product", function()
        local purchases = { { product = "bun" } }
        local record = records.in_memory(purchases, {}, 1, 0)
        record:write(1, "written", "8 tea 2")
        record:write(1, "written", "4 bun 3")
        assert.same({ 4, 3 }, { purchases[1].left, purchases[1].pieces })
        local write = purchases[1].writes[1]
        assert.same({ "tea", 8, 2 }, { write.product, write.left, write.quantity })
    end)

    it("a basket needs products on sale, and a strategy and a store for several products",
       function()
        local function fails(pattern, options)
            options.buyers = 1
            assert.matches(pattern, sale(options).notes[1].line)
        end
        fails("want: product \"ale\" is not sold", { parameters = { basket = { ale = 1 } } })
        fails("the strategy row_lock takes one lock at a time", { strategy = "row_lock" })
        fails("the store ledger has no sell_all", { store = "ledger" })
    end)
end)
