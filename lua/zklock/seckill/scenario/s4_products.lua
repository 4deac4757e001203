--- Several products, in seed article S4. 1000 buyers of two products (DEMO-12); one lock for all
--- products (PIT-12); a row lock without an index, which locks all rows (PIT-15); and the price of
--- a fair lock (PIT-24).

local evidence = require "zklock.seckill.scenario.evidence"
local purchases = require "zklock.seckill.purchases"
local seckill = require "zklock.seckill"
local zklock = require "zklock"

local SELF = "zklock.seckill.scenario.s4_products:"
local FIRST, SECOND = "10000001", "10000002"

local s4 = {}


-- 1000 buyers, two stocks of 10 000 -------------------------------------------------------------

-- Each stock must fall by 500; without a lock it falls by less, 499 or 498 (NUM-03). The seed
-- article's stock is in one process with threads that start in sequence and seldom meet. So without
-- a lock buyers arrive in sequence, too, in virtual time; if all came at once, all would read the
-- same stock.

local BUYERS, STOCK = 1000, 10000


local function sold_of(sale)
    return STOCK - sale.products[FIRST].left, STOCK - sale.products[SECOND].left
end


local function play_products(scenario, run)
    local options = {
        buyers = BUYERS, products = { [FIRST] = STOCK, [SECOND] = STOCK },
        strategy = scenario.strategy, pause = 0, timeout = 60,
    }
    for name, value in pairs(scenario.simulated or {}) do options[name] = value end
    local sale = options.simulated and seckill.sale(options) or run:sale(options)
    evidence.require_served(sale, BUYERS)
    return {
        right = sale.verdict == "right", sales = { sale },
        finding = ("stocks went down by %d and %d"):format(sold_of(sale)),
    }
end


--- A purchase without a pause, as in S4. No other buyer of the server runs between its read and
--- its write.
function s4.without_pause(buyer)
    if not buyer:enter() then return end
    buyer:buy_from(buyer:stock())
    buyer:leave()
end


-- The seed article's lock on Redis, SETNX with EXPIRE. With 30 s of patience each stock falls by
-- 500. With the seed article's 2 s (CFG-11) most buyers give up, because polling slows the holder
-- down.
local function play_redis(scenario, run)
    local sale = run:sale{
        buyers = BUYERS, products = { [FIRST] = STOCK, [SECOND] = STOCK },
        product = function(i) return i <= BUYERS / 2 and FIRST or SECOND end,
        strategy = "redis-expire", purchase = scenario.purchase, pause = 0,
        timeout = scenario.patience,
    }
    local told_sold = { [FIRST] = 0, [SECOND] = 0 }
    for _, purchase in ipairs(sale.purchases) do
        local product = purchase.product
        if purchase.outcome == "sold" then told_sold[product] = told_sold[product] + 1 end
    end
    local first, second = sold_of(sale)
    if sale.sold + (sale.failures.timeout or 0) ~= BUYERS then
        error(("only %d of %d buyers were served, and not for want of time")
            :format(sale.sold, BUYERS), 0)
    end
    return {
        right = sale.verdict == "right" and first == told_sold[FIRST]
            and second == told_sold[SECOND],
        again = scenario.must_serve_all and sale.sold ~= BUYERS, sales = { sale },
        finding = ("down by %d and %d, %d gave up"):format(first, second, sale.failed),
    }
end


-- one lock, or one each --------------------------------------------------------------------------

-- A single lock for two products makes their buyers wait for each other; a lock for each product
-- (REQ-11) does not.

local function sale_with(run, lock)
    return run:sale{
        name = lock == "one" and "one lock" or "a lock each",
        products = { [FIRST] = 100, [SECOND] = 100 }, buyers = 40, lock = lock,
        strategy = "zookeeper", pause = math.max(run.options.pause, 0.01), timeout = 60,
    }
end


local function grants_per_second(sale) return sale.wait:count() / sale.seconds end

local function have_different_products(a, b) return a.product ~= b.product end


local function play_one_lock(_, run)
    local shared, separate = sale_with(run, "one"), sale_with(run, "product")
    local right = shared.verdict == "right" and separate.verdict == "right"
        and shared.sold == shared.buyers and separate.sold == separate.buyers
        and not evidence.held_at_once(shared, have_different_products)
        and evidence.held_at_once(separate, have_different_products)
    return {
        right = right, sales = { shared, separate },
        finding = ("one lock %.0f/s, a lock each %.0f/s"):format(grants_per_second(shared),
            grants_per_second(separate)),
    }
end


-- an index ---------------------------------------------------------------------------------------

-- SELECT … FOR UPDATE finds its row by an index. Without an index InnoDB reads, and locks, all rows
-- of the table, so a buyer of another product waits, too.

-- Seconds that the second buyer waits in vain, and longest wait otherwise.
local IN_VAIN, ENOUGH = 1, 30


local function hold_until_tried(buyer)
    buyer:await("known")
    if not buyer:enter() then return end
    buyer:come "held"
    buyer:try_to_buy()
    buyer:await("tried")
    buyer:leave()
end


local function try_while_held(buyer)
    if not buyer:enter() then return end
    buyer:leave()
    buyer:come "known"
    buyer:await("held")
    local entered = buyer:enter()
    buyer:come "tried"
    if not entered then return end
    buyer:try_to_buy()
    buyer:leave()
end


--- Two buyers of two products, with a lock each, in two servers. The first holds its lock until the
--- second holds its own lock or gave up. Before that the second acquires its lock once, to create
--- the row.
function s4.two_locks(buyer)
    local role = buyer.number == 1 and hold_until_tried or try_while_held
    role(buyer)
end


local function have_different_locks(a, b) return a.lock ~= b.lock end


local function play_index(scenario, run)
    local sale = run:sale{
        products = { [FIRST] = 100, [SECOND] = 100 }, buyers = 2, servers = 2,
        product = function(i) return i == 1 and FIRST or SECOND end,
        strategy = scenario.strategy, parameters = { engine = scenario.engine },
        purchase = SELF .. "two_locks",
        timeout = scenario.expect == "wrong" and IN_VAIN or ENOUGH,
    }
    local first, second = sale.purchases[1], sale.purchases[2]
    if first.outcome ~= "sold" or sale.verdict == "wrong" then
        error("the first did not buy: " .. sale.finding, 0)
    end
    local blocked = second.outcome == "timeout" and second.told < first.released
    local both = second.outcome == "sold" and evidence.held_at_once(sale, have_different_locks)
    if blocked then
        evidence.convict(sale, "a buyer waited in vain for the lock of another product")
    end
    local outcome = evidence.outcome(sale, both,
        blocked and ("waited %g s for another product"):format(IN_VAIN)
        or both and "both at once" or "neither stopped nor at once")
    outcome.again = not (blocked or both)
    return outcome
end


-- the price of a fair lock -----------------------------------------------------------------------

-- A fair lock costs a queue, and speed. Each engine's fair lock is compared with the unordered one
-- by grants a second, and by the most overtakes of a buyer. Both must sell right; costs and
-- fairness are only shown. (On a slow machine buyers of two servers may reach the lock in an order
-- other than that of their requests.)

local QUEUE = 60

-- Seconds between arrivals, and of holding the lock.
local APART, PAUSE = 0.003, 0.002


--- Buyers that arrive faster than they are served, in a known order, so that a queue grows.
function s4.one_by_one(buyer)
    zklock.sleep((buyer.number - 1) * APART)
    purchases.load "plain"(buyer)
end


local function queue_with(run, strategy)
    local sale = run:sale{
        strategy = strategy, buyers = QUEUE, servers = 4, pause = PAUSE, timeout = 60,
        purchase = SELF .. "one_by_one",
    }
    evidence.require_served(sale, QUEUE)
    return sale
end


local function play_price(scenario, run)
    local fair, unfair = queue_with(run, scenario.fair), queue_with(run, scenario.unfair)
    return {
        right = fair.verdict == "right" and unfair.verdict == "right",
        finding = ("%.0f/s, %d overtakes; unfair %.0f/s, %d"):format(grants_per_second(fair),
            fair.fairness.overtakes, grants_per_second(unfair), unfair.fairness.overtakes),
        sales = { fair, unfair },
    }
end


s4.scenarios = {
    {
        id = "DEMO-12a", title = "1000 buyers, 2 products, no lock",
        expect = "wrong", play = play_products, strategy = "none",
        simulated = { simulated = true, arrivals = 20, seed = 4 },
        explanation = "500 buyers of each product were told that they have bought, but the stock "
            .. "went down by less: of 20 that come in a second, few meet.",
    },
    {
        id = "DEMO-12b", title = "1000 buyers, 2 products, a lock each",
        expect = "right", zookeeper = true, play = play_products, strategy = "zookeeper",
        explanation = "With a lock for each product every one of 1000 purchases is counted, and "
            .. "buyers of different products do not wait for each other.",
    },
    {
        id = "PIT-12", title = "two products: one lock, or one each",
        expect = "right", zookeeper = true, play = play_one_lock,
        explanation = "Both sell right, but with one lock for all a buyer waits also for buyers of "
            .. "another product.",
    },
}

s4.of_engines = {
    {
        id = "DEMO-12c", title = "1000 buyers, Redis, 30 s of patience",
        expect = "right", play = play_redis, patience = 30, must_serve_all = true,
        purchase = SELF .. "without_pause",
        explanation = "With SETNX and EXPIRE every one of 1000 purchases is counted, as long as "
            .. "nobody dies and nobody is late.",
    },
    {
        id = "DEMO-12d", title = "1000 buyers, Redis, 2 s of patience",
        expect = "right", play = play_redis, patience = 2, purchase = "plain",
        explanation = "Hundreds of polling buyers slow the holder down; a buyer that polls in "
            .. "vain for two seconds gives up, though there is stock.",
    },
    {
        id = "PIT-15a", title = "FOR UPDATE without an index",
        expect = "wrong", play = play_index, strategy = "sql-pessimistic",
        engine = { index = false },
        explanation = "The database looks at every row to find the one, and locks every row that "
            .. "it looks at.",
    },
    {
        id = "PIT-15b", title = "FOR UPDATE with an index",
        expect = "right", play = play_index, strategy = "sql-pessimistic",
        explanation = "Only the row of the product is locked.",
    },
    {
        id = "PIT-15c", title = "locks of two products with zklock",
        expect = "right", zookeeper = true, play = play_index, strategy = "zookeeper",
        explanation = "Locks of different names have nothing to do with each other.",
    },
    {
        id = "PIT-24a", title = "redisson, fair and not",
        expect = "right", play = play_price, fair = "redisson-fair", unfair = "redisson",
        explanation = "The fair lock keeps a list of its waiters, and wakes the first of them; "
            .. "the other lock wakes all.",
    },
    {
        id = "PIT-24b", title = "zklock, order fifo and none",
        expect = "right", zookeeper = true, play = play_price, fair = "zookeeper",
        unfair = "zookeeper-none",
        explanation = "In order of arrival each waits for the one before it; without an order all "
            .. "wait for one node.",
    },
}


return s4
