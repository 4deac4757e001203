--- The shop of seed article S1, with 99 buyers for 3 pieces (DEMO-07), customers that click twice
--- (ONE, PAY), and a stock in a database and a cache (REQ-15).

local evidence = require "zklock.seckill.scenario.evidence"
local seed = require "zklock.seckill.seed"
local sql = require "zklock.seckill.store.sql"
local zklock = require "zklock"

local SELF = "zklock.seckill.scenario.s1_crowd:"

local s1 = {}


-- 99 buyers for 3 --------------------------------------------------------------------------------

-- The seed article's program has two defects. It accepts a stock of 0 (BUG-08), and waits only 200
-- ms for the lock, so that buyers leave though there is stock (BUG-09).

local CROWD, PIECES = 99, 3


local function take_off_the_counter(buyer, left)
    if left >= 0 then return buyer:buy(left) end
    buyer.store:set_stock(buyer.product, left)
    buyer:tell "refused"
end


--- A buyer for whom a stock of 0 is enough, because it is not below 0. The buyer takes one off the
--- counter, and only then sees that nothing was left. (The seed article's program tests before it
--- acquires the lock, so its counter ends lower.)
function s1.below_zero(buyer)
    if not buyer:enter() then return end
    local stock = buyer:stock()
    if stock < 0 then
        buyer:tell "refused"
    else
        take_off_the_counter(buyer, stock - buyer.quantity)
    end
    buyer:leave()
end


--- A buyer that holds the lock until all others have given up.
function s1.slow(buyer)
    if not buyer:enter() then return buyer:come "the end of waiting" end
    buyer:try_to_buy()
    buyer:wait_for("the end of waiting", buyer.server.plan.buyers)
    buyer:leave()
end


-- On a slow machine even the first buyer may time out, which proves nothing; the next attempt waits
-- longer.
local function play_crowd(scenario, run, attempt)
    local options = {
        products = { ["lockId_111"] = PIECES }, buyers = CROWD, servers = 2,
        strategy = "zookeeper",
    }
    for name, value in pairs(scenario.sale) do options[name] = value end
    options.timeout = options.timeout * 5 ^ (attempt - 1)
    local sale = run:sale(options)
    return {
        again = sale.sold == 0,
        right = sale.verdict == "right" and scenario.is_as_expected(sale),
        finding = scenario.finding(sale), sales = { sale },
    }
end


-- A shop's SQLite store with these methods added, and the tables that the statements make.
local function store_with(methods, statements)
    local store = {}

    function store.open(place)
        local self = sql.open(place)
        for name, method in pairs(methods) do self[name] = method end
        return self
    end

    function store.create(place)
        sql.create(place):close()
        local self = store.open(place)
        self:execute_all(statements)
        return self
    end

    return store
end


-- customers that click twice ---------------------------------------------------------------------

-- Two requests of a customer on two servers make two orders where one is allowed (ONE), or two
-- payments (PAY). A check before the lock does not help, and a payment needs a lock, too.

local CUSTOMERS, PRICE = 10, 3


local function count_rows(self, table_name, customer)
    return self:number(("SELECT count(*) FROM %s WHERE buyer = %s"):format(table_name,
        self:text(tostring(customer))))
end


local payment_methods = {}

function payment_methods:has_ordered(customer) return count_rows(self, "tb_order", customer) > 0 end
function payment_methods:is_paid(customer) return count_rows(self, "tb_payment", customer) > 0 end

function payment_methods:pay(customer, amount)
    self:execute(("INSERT INTO tb_payment VALUES (%s, %d)"):format(self:text(tostring(customer)),
        amount))
end

function payment_methods:orders()
    local orders, sums = getmetatable(self).orders(self), {} -- without payments
    for _, row in ipairs(self:rows "SELECT buyer, sum(amount) FROM tb_payment GROUP BY buyer") do
        sums[tonumber(row[1])] = tonumber(row[2])
    end
    for _, order in ipairs(orders) do order.paid = sums[order.buyer] end
    return orders
end


--- A shop's SQLite store with payments. An order is paid with all payments of its buyer.
s1.paying_store = store_with(payment_methods, {
    "CREATE TABLE tb_payment (buyer varchar(64), amount bigint)",
})


local function sell_to(customer)
    return function(store, order)
        order.buyer = customer
        return store:sell(order)
    end
end


local function order_once(buyer, customer, checks_before_lock)
    local store = buyer.store
    local has_order = checks_before_lock and store:has_ordered(customer)
    if not buyer:enter() then return end
    if not checks_before_lock then has_order = store:has_ordered(customer) end
    local stock = buyer:stock()
    if has_order then buyer:tell "sold" else buyer:buy_from(stock, sell_to(customer)) end
    buyer:leave()
end


local function pay_once(buyer, customer)
    if buyer.store:is_paid(customer) then return end
    buyer:pause() -- for the bank
    buyer:note(("pays the order of customer %d"):format(customer))
    buyer.store:pay(customer, buyer.server.plan.prices[buyer.product])
end


-- The customer's first request orders; then both pay.
local function order_and_pay(buyer, customer, checks_before_lock)
    local ordered = "ordered-" .. customer
    if buyer.number == customer then
        order_once(buyer, customer, false)
        buyer:come(ordered)
    else
        buyer:await(ordered)
    end
    if checks_before_lock then return pay_once(buyer, customer) end
    local strategy = buyer.strategy
    local hold = assert(strategy:enter("payment-" .. customer, buyer))
    pay_once(buyer, customer)
    strategy:leave(hold)
end


--- A customer's request. Buyers 1 and 2 are requests of customer 1 on two servers, buyers 3 and 4
--- of customer 3. The order is the customer's, so the second request wants nothing itself. The
--- parameter `early` moves the check before the lock.
function s1.click_twice(buyer)
    local customer, parameters = buyer.number - (buyer.number + 1) % 2, buyer.server.parameters
    if buyer.number ~= customer then buyer:want{} end
    local step = parameters.pays and order_and_pay or order_once
    step(buyer, customer, parameters.early)
    if not buyer.told then buyer:tell "sold" end
end


local function play_customers(scenario, run)
    local pays = scenario.parameters.pays
    local sale = run:sale{
        buyers = 2 * CUSTOMERS, servers = 2, strategy = "zookeeper", timeout = 60,
        store = SELF .. "paying_store", purchase = SELF .. "click_twice",
        parameters = scenario.parameters, prices = pays and { [seed.PRODUCT] = PRICE } or nil,
    }
    if sale.failed > 0 then error(("%d were not served"):format(sale.failed), 0) end
    return {
        right = sale.verdict == "right", sales = { sale }, log = evidence.log(sale, "server %d"),
        finding = ("%d orders, %d %s"):format(sale.products[seed.PRODUCT].ordered,
            pays and #evidence.match_notes(sale, "^(pays)") or CUSTOMERS,
            pays and "payments" or "customers"),
    }
end


-- a cache and a database -------------------------------------------------------------------------

-- A writer changes the database and then the cache. Readers in between see a difference, unless a
-- read-write lock excludes them. Readers share it.

local WRITERS, READERS = 4, 12


local cache_methods = {}

function cache_methods:cached(product)
    return self:number("SELECT number FROM cache WHERE id = " .. self:text(product))
end

function cache_methods:set_cached(product, number)
    self:execute(("UPDATE cache SET number = %d WHERE id = %s"):format(number, self:text(product)))
end


--- An SQLite database with stock and orders, and a cache of the stock that only writers update.
s1.cached_store = store_with(cache_methods, {
    "CREATE TABLE cache (id varchar(64) PRIMARY KEY, number int(10))",
    "INSERT INTO cache SELECT id, number FROM tb_commodity_info",
})


local function write_both(buyer)
    if not buyer:enter() then return end
    local left = buyer:stock() - buyer.quantity
    buyer:pause()
    buyer:buy(left)
    buyer:pause()
    buyer.store:set_cached(buyer.product, left)
    buyer:leave()
end


-- Readers arrive one by one, so that some meet a writer.
local function read_both(buyer, reader_number)
    local pause = buyer.server.plan.pause
    buyer:want{}
    zklock.sleep(reader_number * pause / 4)
    if not buyer:enter{ side = "read" } then return end
    buyer:note(("database %d, cache %d"):format(buyer:stock(), buyer.store:cached(buyer.product)))
    zklock.sleep(pause)
    buyer:tell "refused"
    buyer:leave()
end


--- The first buyers write; later ones only read.
function s1.double_write(buyer)
    local reader_number = buyer.number - WRITERS
    if reader_number <= 0 then write_both(buyer) else read_both(buyer, reader_number) end
end


local function both_read(a, b) return a.shared == true and b.shared == true end


local function play_double_write(scenario, run)
    local sale = run:sale{
        buyers = WRITERS + READERS, strategy = scenario.strategy, timeout = 60,
        pause = math.max(run.options.pause, 0.01),
        store = SELF .. "cached_store", purchase = SELF .. "double_write",
    }
    local reads, differing = evidence.match_notes(sale, "^database (%-?%d+), cache (%-?%d+)$"), 0
    for _, read in ipairs(reads) do
        if read[1] ~= read[2] then differing = differing + 1 end
    end
    if sale.sold ~= WRITERS or #reads ~= READERS then
        error(("only %d wrote, and %d read"):format(sale.sold, #reads), 0)
    end
    local shared = evidence.held_at_once(sale, both_read)
    return {
        right = differing == 0, again = scenario.shares and not shared,
        finding = ("%d of %d saw two stocks%s"):format(differing, #reads,
            shared and ", shared reads" or ""),
        sales = { sale }, log = evidence.log(sale, "server %d"),
    }
end


s1.scenarios = {
    {
        id = "DEMO-07a", title = "99 buyers for 3, 0 counts as enough",
        expect = "wrong", zookeeper = true, play = play_crowd,
        explanation = "The program tests whether the stock is below 0, not whether it is 0, so its "
            .. "counter ends below 0, lock or no lock.",
        sale = { purchase = SELF .. "below_zero", timeout = 30 },
        is_as_expected = function() return true end,
        finding = function(sale)
            return ("%d sold, the counter says %d"):format(sale.sold, sale.left)
        end,
    },
    {
        id = "DEMO-07b", title = "99 buyers for 3, 0.2 s of patience",
        expect = "right", zookeeper = true, play = play_crowd,
        explanation = "The first buyer has the lock until all others have given up waiting: "
            .. "nothing is sold twice, but most of the stock is not sold at all.",
        sale = { purchase = SELF .. "slow", timeout = 0.2 },
        is_as_expected = function(sale)
            return sale.failures.timeout == CROWD - 1 and sale.left == PIECES - 1
        end,
        finding = function(sale)
            return ("%d held until %d gave up, %d left"):format(sale.sold, sale.failed, sale.left)
        end,
    },
    {
        id = "DEMO-07c", title = "99 buyers for 3",
        expect = "right", zookeeper = true, play = play_crowd,
        explanation = "Buyers that come while there is stock buy, and all others are told that it "
            .. "is sold out.",
        sale = { pause = 0, timeout = 30 },
        is_as_expected = function(sale)
            return sale.sold == PIECES and sale.refused == CROWD - PIECES
        end,
        finding = function(sale)
            return ("%d sold, %d refused, %d left"):format(sale.sold, sale.refused, sale.left)
        end,
    },
    {
        id = "ONE-01a", title = "one order each, checked too early",
        expect = "wrong", zookeeper = true, race = true, play = play_customers,
        parameters = { early = true },
        explanation = "Both requests of a customer see that there is no order yet, and then wait "
            .. "for the lock: each of them buys.",
    },
    {
        id = "ONE-01b", title = "one order each, checked with the lock",
        expect = "right", zookeeper = true, play = play_customers, parameters = {},
        explanation = "The second request of a customer gets the lock when the order is written, "
            .. "and finds it.",
    },
    {
        id = "PAY-01a", title = "payments sent twice, no lock",
        expect = "wrong", zookeeper = true, race = true, play = play_customers,
        parameters = { pays = true, early = true },
        explanation = "Stock and orders are right, but both requests see an order that is not "
            .. "paid yet, and both pay it.",
    },
    {
        id = "PAY-01b", title = "payments sent twice, a lock each",
        expect = "right", zookeeper = true, play = play_customers, parameters = { pays = true },
        explanation = "A lock for each payment lets the second request see that the order is paid.",
    },
    {
        id = "REQ-15a", title = "cache and database, no lock",
        expect = "wrong", race = true, play = play_double_write, strategy = "none",
        explanation = "Between the write to the database and the write to the cache, readers see "
            .. "two different stocks.",
    },
    {
        id = "REQ-15b", title = "cache and database, read-write lock",
        expect = "right", zookeeper = true, play = play_double_write, strategy = "zookeeper-rw",
        shares = true,
        explanation = "A writer has the lock alone for both writes, and readers, who have it "
            .. "together, see both writes or none.",
    },
}


return s1
