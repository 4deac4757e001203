--- [lua luajit] A sale's verdict. For each rule of zklock.seckill.verdict there are sales that
--- break it and sales that keep it, as docs/seckill.md promises.

local is_refused = require "spec.seckill.refused"
local memory = require "zklock.seckill.store.memory"
local seckill = require "zklock.seckill"
local verdicts = require "zklock.seckill.verdict"
local zklock = require "zklock"

package.path = "spec/seckill/?.lua;docs/seckill/?.lua;" .. package.path


local function with(options, others)
    local all = {}
    for name, value in pairs(options) do all[name] = value end
    for name, value in pairs(others) do all[name] = value end
    return all
end


-- A sale in virtual time. Its purchase, store and strategy may be given as modules.
local function sale(options)
    options = with({ simulated = true, buyers = 4, products = { bun = 10 } }, options)
    for _, kind in ipairs{ "purchase", "store", "strategy" } do
        if options[kind] and type(options[kind]) ~= "string" then
            package.loaded["the_" .. kind] = options[kind]
            options[kind] = "the_" .. kind
        end
    end
    return seckill.sale(options)
end


-- purchases ------------------------------------------------------------------------------------

-- A purchase that calls fn with the lock held.
local function holding(fn)
    return function(buyer)
        if not buyer:enter() then return end
        fn(buyer, buyer:stock())
        buyer:leave()
    end
end

local function telling(outcome)
    return holding(function(buyer, stock)
        buyer:write(stock - 1)
        buyer:tell(outcome)
    end)
end

local function tells(outcome) return holding(function(buyer) buyer:tell(outcome) end) end

local function buying(times)
    return function(buyer)
        for _ = 1, times do
            if not buyer:enter() then return end
            buyer:try_to_buy()
            buyer:leave()
        end
    end
end

-- A purchase of each of these wishes, with `buy`.
local function wishing(wishes, buy)
    return function(buyer)
        for _, wish in ipairs(wishes) do
            buyer:want(wish)
            local product, quantity = next(wish)
            if not buyer:enter{ products = { product } } then return end
            buy(buyer, product, quantity)
            buyer:leave()
        end
    end
end

local function buy_wish(buyer, product, quantity)
    local left = buyer:stock(product) - quantity
    if left < 0 then return buyer:tell "refused" end
    buyer:buy_all{ { product = product, quantity = quantity, left = left } }
end

-- A purchase of these wishes, or of its own product so often, in one hold.
local function in_one_hold(wishes)
    return holding(function(buyer)
        for _, wish in ipairs(wishes) do
            if wish.bun or wish.tea then buyer:want(wish) end
            local product, quantity = next(wish)
            buy_wish(buyer, product or buyer.product, quantity or buyer.quantity)
        end
    end)
end

-- The first buyer holds the lock for so long that the second gives up, and buys again later.
local function holding_long(buyer)
    if buyer.number == 2 then zklock.sleep(0.5) end
    for _ = 1, 3 - buyer.number do
        if not buyer:enter() then return end
        buyer:try_to_buy()
        zklock.sleep(5)
        buyer:leave()
        zklock.sleep(5)
    end
end

local function paying(factor)
    return holding(function(buyer, stock)
        buyer:buy(stock - 1, function(store, order)
            order.paid = order.paid and factor * order.paid
            return store:sell(order)
        end)
    end)
end

local TWO = { bun = 10, tea = 10 }

-- A purchase that writes `count` of its two wanted orders, and then fails.
local function part(count)
    return holding(function(buyer)
        buyer:want{ bun = 1, tea = 2 }
        local orders = { buyer:order(buyer:stock "bun" - 1, "bun", 1),
                         buyer:order(buyer:stock "tea" - 2, "tea", 2) }
        buyer.store:sell_all{ orders[1], count == 2 and orders[2] or nil }
        if count == 2 then buyer:tell "sold" else error "no more" end
    end)
end

-- The first buyer buys the only piece, and gives it back after the refusals of later buyers.
local cancelling = function(buyer)
    if buyer.number > 1 then buyer:await("bought") end
    if not buyer:enter() then return end
    buyer:try_to_buy()
    buyer:leave()
    buyer:come "bought"
    if buyer.number > 1 then return end
    buyer:await("refused")
    local tables = buyer.store.tables
    tables.stock.bun, tables.orders[1] = 1, nil
    buyer:gave_back(1)
    buyer:want{}
    buyer:tell "cancelled"
end

local function then_comes(place, purchase)
    return function(buyer)
        purchase(buyer)
        if buyer.number > 1 then buyer:come(place) end
    end
end


-- stores and strategies ------------------------------------------------------------------------

-- A store with an earlier order of that buyer.
local function with_order_of(buyer)
    local store = { open = memory.open }
    function store.create(place)
        local made = memory.create(place)
        place.tables.stock.bun = place.tables.stock.bun - 1
        place.tables.orders[1] = { buyer = buyer, product = "bun", quantity = 1 }
        return made
    end
    return store
end

local forgetful = { open = memory.open }

function forgetful.create(place)
    local made = memory.create(place)
    return setmetatable({
        stock = function(_, product) return place.products[product] end,
        orders = function() return {} end,
    }, { __index = made })
end

-- A lock that admits buyers with an even number, and calls `enter` for odd numbers.
local function lock(enter)
    local strategy = { simulated = true }
    strategy.__index = strategy
    function strategy.open() return setmetatable({}, strategy) end
    function strategy:leave() self.is_held = false end
    function strategy:enter(_, buyer)
        if buyer.number % 2 == 1 then return enter(buyer) end
        while self.is_held do zklock.sleep(0.001) end
        self.is_held = true
        return self
    end
    return strategy
end

local function says(code, seconds)
    return lock(function()
        zklock.sleep(seconds or 10)
        return nil, "not now", code
    end)
end

local fails = lock(function()
    zklock.sleep(0.01)
    error "a broken lock"
end)


-- rules ----------------------------------------------------------------------------------------

local KILLS = { { kill = "server 1" }, { kill = "server 2" } }
local STOP = { { at = 0, stop = "holder", length = 30 } }
local ONE = { servers = 1, strategy = "local" }
local CHANCE = { kill = true, stop = true, cut = true, expire = true } -- seed 10 kills the server

-- Sales that break each rule, with their findings, and sales that keep it.
local RULES = {
    ["no product is oversold"] = {
        { "4 sold of 1 piece: 3 more than there were", {
            strategy = "none", products = { bun = 1 } } },
        right = { { products = { bun = 1 } } },
    },
    ["sold and left pieces add up to the stock"] = {
        { "4 sold and 9 left of 10 pieces: 3 sold, and still in stock", { strategy = "none" } },
        { "0 sold and 9 left of 10 pieces: 1 gone, and not sold", {
            purchase = function(buyer)
                buyer:enter()
                buyer.store.tables.stock.bun = 9
                buyer:tell "sold"
                buyer:leave()
            end,
        } },
        { "pie: 1 sold and 10 left of 10 pieces: 1 sold, and still in stock; tea: 1 sold and 9 "
            .. "left of 9 pieces: 1 sold, and still in stock", {
            products = { bun = 10, pie = 10, tea = 9 }, buyers = 3, servers = 1,
            purchase = holding(function(buyer, stock)
                buyer:buy(stock - (buyer.product == "bun" and 1 or 0))
            end),
        } },
        right = { {}, { quantity = 3 }, { products = { bun = 3, tea = 1 } } },
    },
    ["each order is of a buyer who asked"] = {
        { "1 order is of nobody who asked", { store = with_order_of(9) } },
        { "1 order is of nobody who asked", { store = with_order_of(nil) } },
        { "1 order is of nobody who asked", {
            store = with_order_of(1), faults = { { kill = "server 1" } } } },
        right = { { faults = { { at = 0.03, kill = "server 1" } } } },
    },
    ["each order is paid at the sale's price"] = {
        { "4 orders are paid at another price", { prices = { bun = 3 }, purchase = paying(2) } },
        { "4 orders are paid at another price", { prices = { bun = 3 }, purchase = paying(0) } },
        right = { { prices = { bun = 3 }, quantity = 2 }, { purchase = paying(2) } },
    },
    ["each answer \"sold\" has an order"] = {
        { "4 buyers were told \"sold\", without an order", { purchase = tells "sold" } },
        { "4 buyers were told \"sold\", without an order", { store = forgetful } },
        { "4 buyers were told \"sold\", without an order", { orders = 2,
            purchase = function(buyer)
                buying(1)(buyer)
                tells "sold"(buyer)
            end } },
        { "4 buyers were told \"sold\", without an order", { orders = 2, products = TWO,
            lock = "one", purchase = wishing({ { bun = 1 }, { tea = 1 } },
                function(buyer, product, quantity)
                    if product == "tea" then buyer:tell "sold" end
                    if product == "bun" then buy_wish(buyer, product, quantity) end
                end) } },
        right = {
            { orders = 2, purchase = buying(2) },
            { orders = 2, products = TWO, purchase = wishing({ { bun = 1 }, { tea = 1 } },
                buy_wish) },
            { orders = 2, products = TWO, lock = "one",
              purchase = in_one_hold{ { bun = 1 }, { tea = 2 } } },
            { purchase = holding(function(buyer, stock)
                buyer:buy(stock - 1)
                buyer:tell "sold"
            end) },
        },
    },
    ["a buyer that cannot have bought has no order"] = {
        { "4 buyers were told \"refused\", with an order", { purchase = telling "refused" } },
        { "4 buyers were told \"timeout\", with an order", { purchase = telling "timeout" } },
        { "4 buyers were told \"late\", with an order", { purchase = telling "late" } },
        right = { { products = { bun = 1 } } },
    },
    ["no buyer has more orders than purchases"] = {
        { "4 buyers were charged more often than they were told", {
            purchase = holding(function(buyer, stock)
                buyer:write(stock - 1)
                buyer:buy(stock - 2)
            end) } },
        right = { { orders = 2, purchase = buying(2) }, { orders = 2, buyers = 3,
            products = { bun = 5 }, purchase = in_one_hold{ {}, {} } } },
    },
    ["no buyer exceeds the sale's limit of orders"] = {
        { "4 buyers were sold more orders than the sale allows", { purchase = buying(2) } },
        right = { { orders = 2, purchase = buying(2) },
            { purchase = function(buyer)
                buying(1)(buyer)
                tells "refused"(buyer) -- it already has its order
            end } },
    },
    ["a purchase orders all wanted products or none"] = {
        { "4 buyers were sold a part of what they asked for", {
            products = TWO, lock = "one", purchase = part(1) } },
        right = { { products = TWO, lock = "one", purchase = part(2) } },
    },
    ["each order is of a wanted product"] = {
        { "4 buyers were sold another product", {
            products = TWO, product = "tea", lock = "one",
            purchase = holding(function(buyer)
                buyer.product = "bun"
                buyer:try_to_buy()
            end) } },
        right = { { products = TWO, product = "tea" } },
    },
    ["each order has the wanted quantity"] = {
        { "4 buyers were sold another quantity", {
            purchase = holding(function(buyer, stock)
                buyer.quantity = 2
                buyer:buy(stock - 2)
            end) } },
        { "4 buyers were sold another quantity", {
            quantity = 2, purchase = holding(function(buyer, stock)
                buyer.quantity = 1
                buyer:buy(stock - 1)
            end) } },
        right = { { quantity = 2 }, { orders = 2,
            purchase = wishing({ { bun = 2 }, { bun = 1 } }, buy_wish) } },
    },
    ["no buyer is refused while the stock is enough"] = {
        { "4 buyers were told \"refused\", and enough was left", { purchase = tells "refused" } },
        { "2 buyers were told \"refused\", and enough was left", {
            quantity = 2, purchase = function(buyer)
                local sells = buyer.number > 2 and buying(1) or tells "refused"
                sells(buyer)
            end } },
        { "2 buyers were told \"refused\", and enough was left", {
            products = { bun = 2 }, purchase = function(buyer)
                if buyer.number > 2 then
                    buyer:wait_for("lie", 4) -- both arrive, too
                    return buying(1)(buyer)
                end
                tells "refused"(buyer)
                buyer:come "lie"
            end } },
        right = {
            { products = { bun = 5 }, quantity = 2 },
            { products = { bun = 1 }, orders = 2, buyers = 2, purchase = function(buyer)
                buying(1)(buyer)
                zklock.sleep(3 - buyer.number) -- the buyer without a piece asks first
                buying(1)(buyer)
            end },
            { products = { bun = 1 }, strategy = "local", servers = 1,
              purchase = then_comes("refused", cancelling) },
            { purchase = function(buyer)
                buyer:want{}
                buyer:tell "refused"
            end },
        },
    },
    ["each failure has a cause"] = {
        { "4 buyers failed without a cause", { purchase = holding(error) } },
        { "4 buyers failed without a cause", { purchase = function() end } },
        { "4 buyers failed without a cause", { purchase = tells "timeout" } },
        { "4 buyers failed without a cause", { purchase = tells "late" } },
        { "2 buyers failed without a cause", { strategy = fails } },
        { "2 buyers failed without a cause", { strategy = says("timeout", 0.001) } },
        { "2 buyers failed without a cause", { strategy = fails, faults = {
            { at = 0, stop = "server 2", length = 1 } } } },
        right = {
            { faults = STOP, timeout = 60 },
            { faults = { { at = 0, stop = "server 1", length = 1 } }, strategy = fails },
        },
    },
    ["the sale meets its option `expect`"] = {
        { "expected 0 failed and not 1, 3 sold and not 2", { expect = { sold = 3, failed = 0 },
            products = { bun = 3 }, buyers = 3, timeout = 0.03 } },
        { "expected answer p99 of at most 0.001 s and not 0.0", {
            expect = { answer = { p99 = 0.001 } } } },
        { "expected wait max of at most 1 s and not none", {
            expect = { wait = { max = 1 } },
            purchase = function(buyer) buyer:tell "refused" end } },
        right = { { products = { bun = 3 }, expect = { sold = 3, refused = 1, failed = 0,
            answer = { p99 = 60, mean = 30 }, wait = { p50 = 60 }, hold = { max = 60 } } } },
    },
    ["a buyer that waits gets the lock or an answer"] = {
        { "2 buyers waited in vain", { strategy = says "timeout" } },
        { "2 buyers waited in vain", { strategy = says "closed" } },
        { "2 buyers waited in vain", { strategy = says() } },
        right = { ONE, { strategy = "local", servers = 1, timeout = 0.05, pause = 0.02 },
            { buyers = 2, orders = 2, timeout = 2, purchase = holding_long } },
    },
    ["some buyer is served"] = {
        { "no buyer was served", { faults = KILLS } },
        { "no buyer was served", { strategy = says "busy", buyers = 1, products = { bun = 0 } } },
        right = { { faults = { KILLS[1] } }, { buyers = 1, seed = 10, faults = CHANCE } },
    },
    ["each fault ends"] = {
        { "the fault pulling of plug did not end", { simulated = false, servers = 1,
            strategy = "local", limit = 1, faults = { { what = "pulling", where = "plug",
                run = function() zklock.sleep(1000) end } } } },
        right = { { faults = STOP, timeout = 60 } },
    },
}


describe("the verdict", function()
    for _, rule in ipairs(verdicts.rules) do
        it("sales break and keep the rule that " .. rule.name, function()
            local cases = assert(RULES[rule.name], "no sale breaks it")
            for _, case in ipairs(cases) do
                local it_is = sale(case[2])
                assert.is_truthy(it_is.finding:find(case[1], 1, true), it_is.finding)
                assert.equal(rule.verdict, it_is.verdict, it_is.finding)
            end
            for _, options in ipairs(cases.right) do
                local it_is = sale(options)
                assert.equal("right", it_is.verdict, it_is.finding)
            end
        end)
    end
end)


describe("buyers that waited in vain", function()
    local KILL = { at = 0, kind = "kill", target = "server 1" }
    local DEAD = { server = 1, granted = 1, ended = 2 } -- a killed holder

    -- The number of buyers that waited in vain in a sale with these purchases, each of a bun.
    local function count_in(plan, left, faults, ...)
        for i, each in ipairs{ ... } do
            each.server, each.quantity, each.buyer = each.server or 2, each.quantity or 1, i
            each.product, each.lock, each.asked = "bun", each.lock or "bun", each.asked or 0
            each.outcome = each.outcome or each.released and "sold" or "unanswered"
        end
        local outcome = { purchases = { ... }, orders = {}, faults = faults, seconds = 20 }
        local _, finding = verdicts.of(plan, outcome,
            { bun = { left = left, ordered = 0, stock = 0 } })
        return tonumber(finding:match "(%d+) buyers? waited in vain" or 0)
    end

    local function count(...) return count_in({}, ...) end

    local function waits(told, more)
        return with({ outcome = "timeout", told = told }, more or {})
    end

    it("buyers wait in vain for the lock that a dead holder left (PIT-13)", function()
        assert.equal(2, count(5, { KILL }, DEAD, waits(10), waits(11)))
        assert.equal(0, count(5, {}, { granted = 1, released = 9.9 }, waits(10), waits(10)))
        assert.equal(1, count(5, {}, { granted = 1, released = 2 }, waits(10)))
    end)

    it("buyers wait in vain when the lock was free for long, or for some time until the end",
       function()
        local first, next_one = { granted = 1, released = 7 }, { granted = 11, released = 12 }
        assert.equal(1, count(5, {}, first, waits(10)))
        assert.equal(0, count(5, {}, first, next_one, waits(10)))
        first.released = 4
        assert.equal(1, count(5, {}, first, next_one, waits(10)))
    end)

    it("buyers of little patience wait in vain if the lock stays free for longer than a hand-off",
       function()
        local function tries(at, code)
            return waits(at + 0.002, { asked = at, outcome = code or "busy" })
        end
        local function hold(from) return { granted = from, released = from + 1 } end
        assert.equal(0, count(5, {}, hold(1), tries(2.001), tries(2.5)))
        assert.equal(0, count(5, {}, hold(1), hold(9), tries(8.999), tries(5, "timeout")))
        assert.equal(2, count(5, {}, hold(1), tries(3), tries(4, "timeout")))
        assert.equal(2, count(5, { KILL }, DEAD, tries(3), tries(4)))
    end)

    it("a hand-off, and a first grant, take longer in a world of slow messages", function()
        local function count_slow(delay, ...)
            return count_in({ random_faults = { delay = delay } }, 5, {},
                { granted = 1, released = 2 }, ...)
        end
        assert.equal(1, count_slow(0.001, waits(4)))
        assert.equal(0, count_slow(0.2, waits(4)))
        assert.equal(1, count_slow(0.2, waits(5)))
        assert.equal(0, count_slow(0.1, waits(9, { asked = 8.6 })))
        assert.equal(1, count_slow(0.1, waits(9, { asked = 8.4 })))
    end)

    it("buyers do not wait in vain while a holder, even a stopped one, holds the lock", function()
        assert.equal(0, count(5, {}, { granted = 1, released = 30, outcome = "late" }, waits(10)))
        assert.equal(0, count(5, { { at = 0, kind = "stop", target = "server 1" } },
            { server = 1, granted = 1, ended = 2, outcome = "error" }, waits(10)))
        assert.equal(0, count(5, {}, { granted = 1, released = 9.5 }, { granted = 2, released = 3 },
            waits(10)))
    end)

    it("buyers that were killed, or that want more than is left, do not wait in vain", function()
        assert.equal(0, count(1, { KILL }, DEAD, waits(10, { quantity = 2 })))
        assert.equal(0, count(5, { KILL }, DEAD, waits(10, { server = 1 })))
        local later = { at = 12, kind = "kill", target = "server 2" }
        assert.equal(1, count(5, { later }, waits(10), waits(nil)))
        assert.equal(0, count(5, {}, waits(10, { outcome = "error" })))
        assert.equal(0, count(5, {}, waits(10, { wants = {} })))
    end)

    it("buyers of a server that was cut off do not wait in vain", function()
        local cut = { at = 9, kind = "cut", target = "server 2" }
        assert.equal(2, count(5, { cut }, waits(10), waits(10, { server = 1 }), waits(8)))
    end)

    it("buyers of a server whose session ended do not wait in vain, and those of a stopped one do "
        .. "if the lock is free for long after the stop", function()
        local function of_fault(kind, ended, outcome)
            local fault = { at = 1, ended = ended, kind = kind, target = "server 2" }
            local others = waits(10, { server = 1, outcome = "sold", granted = 0, released = 0.1 })
            return count(5, { fault }, others, waits(10, { outcome = outcome }))
        end
        assert.equal(0, of_fault("expire", nil, "expired"))
        assert.equal(0, of_fault("stop", 9, "expired"))
        assert.equal(0, of_fault("stop", 10, "timeout"))
        assert.equal(0, of_fault("stop", nil, "timeout"))
        assert.equal(1, of_fault("stop", 4, "timeout"))
    end)

    it("buyers of a server whose cut or expiry is long over wait in vain like others", function()
        local function of_fault(kind, ended, outcome)
            local fault = { at = 1, ended = ended, kind = kind, target = "server 2" }
            return count_in({ lock_remains = 3 }, 5, { fault }, waits(10, { outcome = outcome }))
        end
        for _, outcome in ipairs{ "timeout", "busy" } do
            assert.equal(0, of_fault("cut", 8, outcome))
            assert.equal(1, of_fault("cut", 5, outcome))
            assert.equal(1, of_fault("stop", 5, outcome))
            assert.equal(1, of_fault("expire", nil, outcome))
        end
        assert.equal(0, of_fault("cut", 5, "expired"))
    end)

    it("a server that is struck soon after a wait may have got the lock", function()
        local function count_before(at)
            local fault = { at = at, kind = "kill", target = "server 1" }
            return count_in({ lock_remains = 3 }, 5, { fault }, waits(10))
        end
        assert.equal(0, count_before(10.1))
        assert.equal(1, count_before(11))
    end)

    -- A waiter of the other server is next, and the session that has its node is not over.
    it("buyers do not wait in vain behind a server that is stopped, cut off or killed", function()
        local function count_after(plan, kind, ended, ...)
            local fault = { at = 1, ended = ended, kind = kind, target = "server 1" }
            return count_in(plan, 5, { fault }, { granted = 0, released = 0.5 }, ...)
        end
        local zookeeper = { lock_remains = 3 }
        assert.equal(0, count_after(zookeeper, "stop", 9, waits(4)))
        assert.equal(1, count_after(zookeeper, "stop", 9, waits(4), waits(10)))
        assert.equal(0, count_after(zookeeper, "cut", 2, waits(4.5))) -- ends before the cut
        assert.equal(1, count_after(zookeeper, "cut", 2, waits(3), waits(5)))
        assert.equal(0, count_after(zookeeper, "kill", nil, waits(4)))
        assert.equal(1, count_after(zookeeper, "kill", nil, waits(4), waits(6)))
        local function waiter(told) return waits(told, { server = 1, asked = 0.9 }) end
        local queue = { lock_queue = true }
        assert.equal(0, count_after(queue, "stop", 9, waits(8), waiter(9.1)))
        assert.equal(1, count_after(queue, "stop", 9, waits(8), waiter(0.95)))
        queue.lock_remains = 3
        assert.equal(0, count_after(queue, "stop", 9, waits(8), waiter(9.1)))
        assert.equal(1, count_after({}, "stop", 9, waits(8), waiter(9.1)))
        assert.equal(1, count_after({}, "stop", 9, waits(8)))
        assert.equal(1, count_after({}, "kill", nil, waits(4)))
    end)

    it("buyers do not wait in vain while a stopped server takes or releases the lock", function()
        local function count_beside(request, plan)
            request.server = 1
            local stop = { at = 1, ended = 9, kind = "stop", target = "server 1" }
            return count_in(plan or {}, 5, { stop }, waits(8), request)
        end
        assert.equal(0, count_beside{ asked = 0.9, granted = 9.1, released = 9.2 })
        assert.equal(0, count_beside{ granted = 0.1, released = 0.9 })
        assert.equal(1, count_beside({ granted = 0.1, released = 0.9 }, { lock_remains = 3 }))
        assert.equal(1, count_beside{ asked = 8, granted = 9.1, released = 9.2 })
        assert.equal(1, count_beside{ asked = 0.9, granted = 12, released = 13 })
        assert.equal(1, count_beside{ granted = 0.1, released = 0.2 })
    end)

    it("buyers do not wait in vain during an outage of ZooKeeper, and soon after it", function()
        local function count_after(kind, ended, others, ...)
            local faults = { { at = 1, ended = ended, kind = kind, target = "zookeeper" }, others }
            return count_in({ lock_remains = 2 }, 5, faults, { granted = 0, released = 0.5 }, ...)
        end
        assert.equal(0, count_after("pause", 6, nil, waits(5), waits(8)))
        assert.equal(1, count_after("pause", 6, nil, waits(10)))
        assert.equal(1, count_after("kill", 1, nil, waits(3), waits(10)))
        local restart = { at = 8, ended = 9, kind = "restart", target = "zookeeper" }
        assert.equal(0, count_after("kill", 1, restart, waits(7), waits(10)))
        assert.equal(1, count_after("kill", 1, restart, waits(13)))
        restart.at, restart.ended = 1.5, 2
        local second = { at = 9, ended = 10, kind = "restart", target = "zookeeper" }
        assert.equal(1, count_in({}, 5, {
            { at = 1, ended = 1, kind = "kill", target = "zookeeper" }, restart, second,
        }, waits(8)))
    end)

    it("a wait for several locks is in vain if all of them were free", function()
        local function count_after(released, ...)
            return count(5, {}, { granted = 1, released = released, lock = "pie + tea" }, ...)
        end
        assert.equal(0, count_after(9.9, waits(10, { lock = "tea" })))
        assert.equal(0, count_after(9.9, waits(10, { lock = "bun + tea" })))
        assert.equal(1, count_after(2, waits(10, { lock = "bun + tea" })))
        assert.equal(1, count_after(9.9, waits(10)))
    end)

    -- A buyer of several locks is in the queue of each, also of those that are free.
    it("buyers do not wait in vain behind one that waits for several locks", function()
        local function count_behind(...)
            return count(5, {}, { granted = 1, released = 9.9, lock = "tea" }, waits(10), ...)
        end
        local function both(asked, more)
            return waits(10, with({ lock = "bun + tea", asked = asked }, more or {}))
        end
        assert.equal(0, count_behind(both(0)))
        assert.equal(1, count_behind(both(0, { told = 8 })))
        assert.equal(1, count_behind(both(5)))
        assert.equal(0, count_behind(both(0.2, { lock = "bun + pie" }),
            both(0.1, { lock = "pie + tea" })))
    end)

    it("buyers of a hung sale wait in vain, whatever is left", function()
        assert.equal(2, count(0, {}, { granted = 1 }, { asked = 2 }))
    end)

    it("an earlier hold of another buyer is a cause of a failure", function()
        local function purchase(number, more)
            return with({ buyer = number, server = number, product = "bun", lock = "bun",
                quantity = 1, asked = 0 }, more)
        end
        local late = purchase(1, { granted = 1, told = 4, outcome = "late" })
        local other = purchase(2, { granted = 9, released = 10, told = 9, outcome = "refused" })
        local outcome = { purchases = { late, other }, orders = {}, faults = {}, seconds = 10 }
        local products = { bun = { left = 0, ordered = 0, stock = 0 } }
        assert.equal("wrong", (verdicts.of({}, outcome, products)))
        other.earlier = { purchase(2, { granted = 2, released = 3 }) }
        assert.equal("right", (verdicts.of({}, outcome, products)))
        other.earlier[1].lock = "tea"
        assert.equal("wrong", (verdicts.of({}, outcome, products)))
        other.earlier[1].lock = "bun + tea"
        assert.equal("right", (verdicts.of({}, outcome, products)))
    end)

    it("a sale is stuck when a holder was killed and its lock stays (PIT-13) #slow", function()
        local it_is = sale{ simulated = false, strategy = "shared", buyers = 6, timeout = 3,
            products = { bun = 100 }, faults = { { at = 0, kill = "holder" } } }
        assert.same({ "stuck", 0, 6 }, { it_is.verdict, it_is.sold, it_is.failed })
        assert.equal("0 sold and 100 left of 100 pieces; 3 buyers waited in vain; 6 of 6 buyers "
            .. "failed (3 timeout, 3 unanswered)", it_is.finding)
        assert.matches("^shared: STUCK, ", tostring(it_is))
        assert.equal("stuck", it_is:record().verdict)
    end)
end)


describe("the expectation of a script", function()
    local function refused(expect, pattern, options)
        is_refused(pattern, seckill.sale, with({ expect = expect, products = { bun = 3 } },
            options or {}))
    end

    it("a simulated sale may have expectations, too", function()
        local options = { buyers = 2, products = { bun = 1 }, expect = { sold = 0 }, faults = {} }
        local found = seckill.explore(options, { seeds = 3 })
        assert.equal(3, found.wrong)
        assert.matches("expected 0 sold and not 1", found.first.finding)
        options.expect = { sold = 1, refused = 1 }
        assert.equal(0, seckill.explore(options, { seeds = 3 }).wrong)
    end)

    it("a malformed expectation is refused before the sale", function()
        refused(1, "expect is a table of counts of buyers .*, not 1")
        refused({}, "expect is a table of counts of buyers .*, not table")
        refused({ bought = 1 }, "it has no \"bought\"")
        refused({ sold = -1 }, "sold must be a whole number from 0 to 10, not %-1")
        refused({ answer = 1 }, "answer is a table of the most seconds, by p50, .*, not 1")
        refused({ answer = {} }, "answer is a table")
        refused({ wait = { p0 = 1 } }, "wait is a table .*, not \"p0\"")
        refused({ hold = { max = 0 } }, "max must be above 0, not 0")
    end)

    it("an impossible expectation is refused", function()
        refused({ sold = 11 }, "sold must be a whole number from 0 to 10, not 11")
        refused({ sold = 3, failed = 8 }, "can never be met: .* are 11 of 10 buyers")
        refused({ sold = 3, failed = 0, refused = 6 }, "can never be met: .* are 9 of 10 buyers")
        refused({ sold = 4 }, "can never be met: sold = 4, and the stock serves 3 at most")
        refused({ sold = 2 }, "sold = 2, and the stock serves 1 at most", { quantity = 2 })
        refused({ answer = { max = 0.01 } }, "an answer after 0.01 s at most, and each buyer paus")
        assert.equal("right", sale{ products = { bun = 2 }, expect = { sold = 4 }, orders = 1,
            purchase = function(buyer)
                buyer:want{}
                buyer:tell "sold"
            end }.verdict)
    end)
end)
