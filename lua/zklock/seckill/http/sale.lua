--- The scenarios of the sale over HTTP: DEMO-01 to DEMO-04 with real requests, a crowd of 200
--- connections, and a server that is killed in the middle.

local client = require "zklock.seckill.http.client"
local dependency = require "zklock.seckill.dependency"
local latency = require "zklock.seckill.http.latency"
local runs = require "zklock.seckill.http.run"
local store = require "zklock.seckill.store"
local wrk_load = require "zklock.seckill.http.wrk_load"


local BUYERS = 10 -- the seed's

-- Under wrk: a pause that nginx's timers can keep, and a stock that lasts a while.
local CROWD_PAUSE = 0.001
local CROWD_STOCK = 400

-- A server is killed when so many are sold at least, and so many wait for its answer.
local SHOPPERS = 20
local SOLD_BEFORE_THE_KILL = 30
local WAITING_AT_THE_KILL = 5
local MOST_REQUESTS = 1000 -- of one shopper, who stops when it is sold out


local sale = {}


-- what buyers are told -------------------------------------------------------------------------

local function new_tally()
    return { sold = 0, sold_out = 0, lost = 0, refused = 0, other = 0, times = {} }
end


local KINDS = { [200] = "sold", [409] = "sold_out" }

-- One purchase, and what came of it.
local function buy(run, i, told)
    local now = dependency.load("socket").gettime
    local begun = now()
    local status, body = run:buy(i)
    local kind = status and (KINDS[status] or "other") or body
    told[kind] = told[kind] + 1
    if kind == "other" then told.complaint = body:gsub("%s+", " ") end
    if status then told.times[#told.times + 1] = now() - begun end
    return kind
end


local function measured(told, begun)
    local times = latency.of(told.times)
    if not times then return nil end
    times.answers = #told.times
    times.seconds = dependency.load("socket").gettime() - begun
    return times
end


-- the verdict ----------------------------------------------------------------------------------

-- Why it is wrong; nil: it is right. Who was told "sold" has an order; who was told
-- nothing may have one.
local function fault(shop, stock, left, ordered, told)
    if left + ordered ~= stock or left < 0 then
        return ("%d sold and %d left of %d"):format(ordered, left, stock)
    end
    if told.sold > ordered then return ("%d sold, %d orders"):format(told.sold, ordered) end
    if ordered > told.sold + told.lost then
        return ("%d orders, only %d sold"):format(ordered, told.sold)
    end
    if not shop:tokens_grow "tb_order" then return "tokens do not grow" end
end


--- What the store says.
---@param shop zklock.seckill.Shop
---@param stock integer  at first
---@param told { sold: integer, lost: integer }  what buyers know
---@return zklock.seckill.Outcome
function sale.judge(shop, stock, told)
    local left, ordered = shop:left(store.PRODUCT), shop:ordered(store.PRODUCT)
    local problem = fault(shop, stock, left, ordered, told)
    if problem then return { right = false, finding = problem } end
    return { right = true, finding = ("%d sold, %d left"):format(ordered, left) }
end


-- plays ----------------------------------------------------------------------------------------

-- Ten buyers at once; buyer i goes to server "808" + (i mod 2), as in the seed.
local function ten(scenario, run)
    run:serve(scenario.servers, scenario)
    local told, buyers = new_tally(), {}
    for i = 0, BUYERS - 1 do
        buyers[#buyers + 1] = function() buy(run, i, told) end
    end
    local begun = dependency.load("socket").gettime()
    client.run(buyers)
    if told.sold ~= BUYERS then
        error(("only %d of %d buyers were served: %s"):format(told.sold, BUYERS,
            told.complaint or "no answer"), 0)
    end
    local outcome = sale.judge(run.shop, store.STOCK, told)
    outcome.latency = measured(told, begun)
    return outcome
end


-- Two hundred connections.
local function crowd(scenario, run)
    run:serve(scenario.servers, scenario)
    local ports = {}
    for i, server in ipairs(run.servers) do ports[i] = server.port end
    local told, times = wrk_load.run(ports, runs.path(), run.reaper)
    run:settle()
    if told.sold == 0 then error("nobody was served", 0) end
    local outcome = sale.judge(run.shop, scenario.stock, told)
    outcome.latency = times
    return outcome
end


-- Buys at one server after the other, until there is nothing left.
local function shop_around(run, first, told, watch)
    for i = first, first + MOST_REQUESTS do
        watch(i, 1)
        local kind = buy(run, i, told)
        watch(i, -1)
        if kind == "sold_out" then return end
    end
    error("not sold out: " .. (told.complaint or "no answer"), 0)
end


-- Kills the server in the middle of the sale. Whoever waited for its answer loses it, and is
-- refused there from now on.
local function killer(run, victim, told)
    local waiting = 0
    return function(i, change)
        if run:server_of(i) ~= victim then return end
        waiting = waiting + change
        if told.sold >= SOLD_BEFORE_THE_KILL and waiting >= WAITING_AT_THE_KILL then
            victim:kill()
        end
    end
end


local function kill_one(scenario, run)
    run:serve(scenario.servers, scenario)
    local told, shoppers = new_tally(), {}
    local watch = killer(run, run.servers[#run.servers], told)
    for i = 1, SHOPPERS do
        shoppers[i] = function() shop_around(run, i, told, watch) end
    end
    local begun = dependency.load("socket").gettime()
    client.run(shoppers)
    run:settle()
    local outcome = sale.judge(run.shop, store.STOCK, told)
    outcome.again = outcome.right and told.lost == 0 -- nothing was under way there
    outcome.latency = measured(told, begun)
    outcome.finding = ("%s, %d answers lost"):format(outcome.finding, told.lost)
    return outcome
end


-- the scenarios --------------------------------------------------------------------------------

--- A scenario of this kind.
---@class zklock.seckill.Sale: zklock.seckill.Scenario
---@field servers integer
---@field strategy "none" | "shared" | "zookeeper"
---@field order string?   of "zookeeper"; default: "fifo"
---@field stock integer?  default: the seed's
---@field pause number?   default: that of the options
---@field wrk boolean?    needs wrk
---@param scenario zklock.seckill.Sale
function sale.scenario(scenario)
    scenario.zookeeper = scenario.strategy == "zookeeper"
    scenario.race = scenario.expect == "wrong"
    return scenario
end


local function crowd_of(scenario)
    scenario.play, scenario.wrk = crowd, true
    scenario.servers, scenario.stock, scenario.pause = 2, CROWD_STOCK, CROWD_PAUSE
    return sale.scenario(scenario)
end


sale.scenarios = {
    sale.scenario {
        id = "HTTP-01", title = "no lock, one server (DEMO-01)", expect = "wrong",
        servers = 1, strategy = "none", play = ten,
    },
    sale.scenario {
        id = "HTTP-02", title = "local lock, one server (DEMO-02)", expect = "right",
        servers = 1, strategy = "shared", play = ten,
    },
    sale.scenario {
        id = "HTTP-03", title = "local lock, two servers (DEMO-03)", expect = "wrong",
        servers = 2, strategy = "shared", play = ten,
    },
    sale.scenario {
        id = "HTTP-04", title = "zklock, two servers (DEMO-04)", expect = "right",
        servers = 2, strategy = "zookeeper", play = ten,
    },
    sale.scenario {
        id = "HTTP-05", title = "zklock, one server killed", expect = "right",
        servers = 2, strategy = "zookeeper", play = kill_one,
    },
    crowd_of { id = "HTTP-06", title = "wrk, no lock", expect = "wrong", strategy = "none" },
    crowd_of { id = "HTTP-07", title = "wrk, local lock", expect = "wrong", strategy = "shared" },
    crowd_of { id = "HTTP-08", title = "wrk, zklock", expect = "right", strategy = "zookeeper" },
    crowd_of {
        id = "HTTP-09", title = "wrk, zklock in turns", expect = "right",
        strategy = "zookeeper", order = "turns",
    },
}


return sale
