--- The scenarios of the sale over HTTP. They are the seed articles' DEMO-01 to DEMO-04 with real
--- requests, a crowd of 200 connections, and a server killed during the sale.

local client = require "zklock.seckill.http.client"
local latency = require "zklock.seckill.http.latency"
local record = require "zklock.seckill.http.record"
local runs = require "zklock.seckill.http.run"
local sales = require "zklock.seckill.sale"
local seed_article = require "zklock.seckill.seed"
local wrk_load = require "zklock.seckill.http.wrk_load"


-- For wrk, a pause that nginx's timers can keep, and a stock that lasts a while.
local CROWD_PAUSE = 0.001
local CROWD_STOCK = 400
local COMBINED_STOCK = 8000 -- for holds of many purchases

local SHOPPERS = 20
local SOLD_BEFORE_THE_KILL = 30 -- pieces, at least
local WAITING_AT_THE_KILL = 5   -- shoppers that wait for the victim, at least
local MOST_REQUESTS = 1000 -- of one shopper, which stops when the product is sold out


local sale = {}


-- answers to buyers ----------------------------------------------------------------------------

local function new_tally()
    return { sold = 0, sold_out = 0, lost = 0, refused = 0, other = 0 }
end


local KINDS = { [200] = "sold", [409] = "sold_out", [504] = "lost" }

local function buy(run, i, tally)
    local status, body = run:buy(i)
    local kind = status and (KINDS[status] or "other") or body
    tally[kind] = tally[kind] + 1
    if kind == "other" then tally.complaint = body:gsub("%s+", " ") end
    return kind
end


-- the verdict ----------------------------------------------------------------------------------

-- A message if the sale is wrong, or nil. A buyer told "sold" must own an order; a buyer without an
-- answer may own an order.
local function problem_of(store, stock, left, ordered, tally, combined)
    if left + ordered ~= stock or left < 0 then
        return ("%d sold and %d left of %d"):format(ordered, left, stock)
    end
    if tally.sold > ordered then return ("%d sold, %d orders"):format(tally.sold, ordered) end
    if ordered > tally.sold + tally.lost then
        return ("%d orders, only %d sold"):format(ordered, tally.sold)
    end
    local grow = combined and store.tokens_never_fall or store.tokens_grow
    if not grow(store, "tb_order") then return "tokens do not grow" end
end


---@param store zklock.seckill.Sql
---@param stock integer  initial stock
---@param tally { sold: integer, lost: integer }  answers to buyers
---@param combined boolean?  a hold may have several orders
---@return zklock.seckill.Played
function sale.judge(store, stock, tally, combined)
    local left, ordered = store:stock(seed_article.PRODUCT), store:ordered(seed_article.PRODUCT)
    local problem = problem_of(store, stock, left, ordered, tally, combined)
    if problem then return { right = false, finding = problem } end
    return { right = true, finding = ("%d sold, %d left"):format(ordered, left) }
end


local function sale_of(scenario, run)
    local known = record.of(run)
    known.left = { [seed_article.PRODUCT] = run.store:stock(seed_article.PRODUCT) }
    known.orders = run.store:orders()
    return sales.of({
        name = scenario.title, strategy = scenario.strategy,
        store = run.options.store == "sqlite" and "sqlite" or "mysql",
        buyers = #known.purchases, servers = scenario.servers, products = run.place.products,
    }, known)
end


-- The run is right if it is right by sale.judge, which checks tokens and lost answers, and by the
-- verdict that every sale gets.
local function judge_run(scenario, run, tally, remark)
    local outcome = sale.judge(run.store, run.place.products[seed_article.PRODUCT], tally,
        scenario.strategy == "combined")
    local own_sale = sale_of(scenario, run)
    if outcome.right and own_sale.verdict == "wrong" then
        outcome.right, outcome.finding = false, own_sale.finding
    end
    outcome.finding = outcome.finding .. (remark or "")
    own_sale.verdict, own_sale.finding = outcome.right and "right" or "wrong", outcome.finding
    outcome.sales = { own_sale }
    outcome.latency = latency.of(own_sale.answer, own_sale.seconds)
    return outcome
end


-- plays ----------------------------------------------------------------------------------------

-- Ten concurrent buyers; buyer i goes to port "808" + (i mod 2), as in the seed article.
local function play_ten_buyers(scenario, run)
    run:serve(scenario.servers, scenario)
    local tally, buyers = new_tally(), {}
    for i = 0, seed_article.BUYERS - 1 do
        buyers[#buyers + 1] = function() buy(run, i, tally) end
    end
    client.run(buyers)
    if tally.sold ~= seed_article.BUYERS then
        error(("only %d of %d buyers were served: %s"):format(tally.sold, seed_article.BUYERS,
            tally.complaint or "no answer"), 0)
    end
    return judge_run(scenario, run, tally)
end


local function play_crowd(scenario, run)
    run:serve(scenario.servers, scenario)
    local ports = {}
    for i, server in ipairs(run.servers) do ports[i] = server.port end
    local tally, times = wrk_load.run(ports, runs.purchase_path(), run.reaper)
    run:wait_until_quiet()
    if tally.sold == 0 then error("nobody was served", 0) end
    local outcome = judge_run(scenario, run, tally)
    outcome.latency = times
    return outcome
end


-- Buys at the servers in turn, until the product is sold out.
local function shop_around(run, first, tally, watch)
    for i = first, first + MOST_REQUESTS do
        watch(i, 1)
        local kind = buy(run, i, tally)
        watch(i, -1)
        if kind == "sold_out" then return end
    end
    error("not sold out: " .. (tally.complaint or "no answer"), 0)
end


-- Returns a function that counts the shoppers waiting for the victim, and kills the victim when
-- enough wait and enough is sold. These shoppers lose their answers; later shoppers are refused.
local function new_victim_watch(run, victim, tally)
    local waiting = 0
    return function(i, change)
        if run:server_of(i) ~= victim then return end
        waiting = waiting + change
        if tally.sold >= SOLD_BEFORE_THE_KILL and waiting >= WAITING_AT_THE_KILL then
            victim:kill()
        end
    end
end


local function play_kill(scenario, run)
    run:serve(scenario.servers, scenario)
    local tally, shoppers = new_tally(), {}
    local watch = new_victim_watch(run, run.servers[#run.servers], tally)
    for i = 1, SHOPPERS do
        shoppers[i] = function() shop_around(run, i, tally, watch) end
    end
    client.run(shoppers)
    run:wait_until_quiet()
    local outcome = judge_run(scenario, run, tally, (", %d answers lost"):format(tally.lost))
    outcome.again = outcome.right and tally.lost == 0 -- no shopper was waiting for the victim
    return outcome
end


-- the scenarios --------------------------------------------------------------------------------

---@class zklock.seckill.http.Scenario: zklock.seckill.Scenario
---@field servers integer
---@field strategy string   "shared" is a lock of each nginx, "combined" zklock's with batches; the
---others are in zklock.seckill.strategies
---@field stock integer?    the seed article's by default
---@field pause number?     --pause by default
---@field wrk boolean?      needs wrk
function sale.scenario(scenario)
    scenario.zookeeper = scenario.strategy:find "^zookeeper" ~= nil
        or scenario.strategy == "combined"
    scenario.race = scenario.expect == "wrong"
    return scenario
end


local function crowd_scenario(scenario)
    scenario.play, scenario.wrk = play_crowd, true
    scenario.servers, scenario.pause = 2, CROWD_PAUSE
    scenario.stock = scenario.stock or CROWD_STOCK
    return sale.scenario(scenario)
end


sale.scenarios = {
    sale.scenario{
        id = "HTTP-01", title = "no lock, one server", expect = "wrong",
        servers = 1, strategy = "none", play = play_ten_buyers,
        explanation = "One nginx serves ten requests at once. All read the same stock, and each "
            .. "writes it back less one: sales are lost.",
    },
    sale.scenario{
        id = "HTTP-02", title = "local lock, one server", expect = "right",
        servers = 1, strategy = "shared", play = play_ten_buyers,
        explanation = "A lock in nginx's shared memory, which all its workers see, is enough as "
            .. "long as there is one nginx.",
    },
    sale.scenario{
        id = "HTTP-03", title = "local lock, two servers", expect = "wrong",
        servers = 2, strategy = "shared", play = play_ten_buyers,
        explanation = "With two nginx there are two such locks, and neither knows of the other.",
    },
    sale.scenario{
        id = "HTTP-04", title = "zklock, two servers", expect = "right",
        servers = 2, strategy = "zookeeper", play = play_ten_buyers,
        explanation = "zklock's lock is one for both nginx, and for all their workers.",
    },
    sale.scenario{
        id = "HTTP-05", title = "zklock, one server killed", expect = "right",
        servers = 2, strategy = "zookeeper", play = play_kill,
        explanation = "One nginx is killed while buyers wait for it. What it held is free when "
            .. "ZooKeeper ends its sessions; the other one sells the rest.",
    },
    crowd_scenario{
        id = "HTTP-06", title = "wrk, no lock", expect = "wrong", strategy = "none",
        explanation = "200 connections without a lock: many more are sold than there were.",
    },
    crowd_scenario{
        id = "HTTP-07", title = "wrk, local lock", expect = "wrong", strategy = "shared",
        explanation = "200 connections, and a lock of each nginx: both sell the same pieces.",
    },
    crowd_scenario{
        id = "HTTP-08", title = "wrk, zklock", expect = "right", strategy = "zookeeper",
        explanation = "200 connections with zklock: each piece is sold once, in order of "
            .. "arrival.",
    },
    crowd_scenario{
        id = "HTTP-09", title = "wrk, zklock in turns", expect = "right",
        strategy = "zookeeper-turns",
        explanation = "The same with order = \"turns\": a worker hands the lock on to its own "
            .. "next request a few times, which takes no round trip.",
    },
    crowd_scenario{
        id = "HTTP-10", title = "wrk, zklock, combined", expect = "right",
        strategy = "combined", stock = COMBINED_STOCK,
        explanation = "The same with lock:combine: what the requests of a worker want is bought "
            .. "in one hold, with one transaction.",
    },
    sale.scenario{
        id = "HTTP-11", title = "combined, one server killed", expect = "right",
        servers = 2, strategy = "combined", play = play_kill,
        explanation = "One nginx is killed in the middle of its batches. A batch is in the store "
            .. "as a whole, or not at all; the other server sells the rest.",
    },
}


return sale
