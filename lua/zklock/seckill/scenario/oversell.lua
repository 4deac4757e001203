--- DEMO-01…06: ten buyers, a stock of 100, and the seed's purchase (S0): read
--- the stock, work out what is left, write it back. 90 must be left.

local store = require "zklock.seckill.store"
local strategies = require "zklock.seckill.strategy"
local zklock = require "zklock"

local unpack = table.unpack or unpack -- luacheck: std max


local BUYERS = 10
local WANTED = 1


local oversell = {}


-- in the demo -----------------------------------------------------------------------------------

-- Buyer i goes to server "808" + (i mod 2), as in the seed.
local function buyers_of(servers, index)
    local buyers = {}
    for buyer = 0, BUYERS - 1 do
        if buyer % #servers == index - 1 then buyers[#buyers + 1] = buyer end
    end
    return table.concat(buyers, ",")
end


-- What the store says. A run in which not all were served proves nothing.
local function judge(records)
    local sold = records:told "sold"
    if sold ~= BUYERS then
        error(("only %d of %d buyers were served"):format(sold, BUYERS), 0)
    end
    local left = records:stock()
    local due = store.STOCK - BUYERS * WANTED
    if not records:tokens_grow "answer" then
        return { right = false, finding = "tokens do not grow" }
    end
    if left ~= due then
        return { right = false, finding = ("stock %d, should be %d"):format(left, due) }
    end
    return { right = true, finding = ("stock %d, %d sold"):format(left, sold) }
end


local function play(scenario, run)
    for index, port in ipairs(scenario.servers) do
        run:start("oversell", port, {
            buyers = buyers_of(scenario.servers, index),
            strategy = scenario.strategy,
            lock = scenario.lock or "",
            timeout = scenario.timeout or "",
            purchase = scenario.purchase or "plain",
        })
    end
    run:open_barrier()
    run:finish()
    return judge(run.store)
end


--- A scenario of this kind.
---@class zklock.seckill.Oversell: zklock.seckill.Scenario
---@field servers string[]     one process each
---@field strategy "none" | "local" | "zookeeper"
---@field lock string?         path of the lock (zookeeper)
---@field timeout number?      seconds for acquire (zookeeper); nil: for ever
---@field purchase "plain" | "release_then_commit" | "commit_then_release" | nil
---@param scenario zklock.seckill.Oversell
function oversell.scenario(scenario)
    scenario.play = play
    scenario.zookeeper = scenario.strategy == "zookeeper"
    return scenario
end


local PRODUCT_LOCK = "/" .. store.PRODUCT -- one lock a product (REQ-11)

oversell.scenarios = {
    oversell.scenario {
        id = "DEMO-01", title = "no lock, one server",
        expect = "wrong", race = true,
        servers = { "8080" }, strategy = "none",
    },
    oversell.scenario {
        id = "DEMO-02", title = "local lock, one server",
        expect = "right",
        servers = { "8080" }, strategy = "local",
    },
    oversell.scenario {
        id = "DEMO-03", title = "local lock, two servers",
        expect = "wrong", race = true,
        servers = { "8080", "8081" }, strategy = "local",
    },
    oversell.scenario {
        id = "DEMO-04", title = "zklock, two servers",
        expect = "right",
        servers = { "8080", "8081" }, strategy = "zookeeper", lock = "/Lock" .. PRODUCT_LOCK,
    },
    oversell.scenario {
        id = "DEMO-05", title = "zklock with a timeout of 3 s",
        expect = "right",
        servers = { "8080", "8081" }, strategy = "zookeeper", lock = "/locks" .. PRODUCT_LOCK,
        timeout = 3,
    },
    oversell.scenario {
        id = "DEMO-06a", title = "zklock, released before the commit",
        expect = "wrong", race = true,
        servers = { "8080", "8081" }, strategy = "zookeeper", lock = "/Lock" .. PRODUCT_LOCK,
        purchase = "release_then_commit",
    },
    oversell.scenario {
        id = "DEMO-06b", title = "zklock, released after the commit",
        expect = "right",
        servers = { "8080", "8081" }, strategy = "zookeeper", lock = "/Lock" .. PRODUCT_LOCK,
        purchase = "commit_then_release",
    },
}


-- in a server -----------------------------------------------------------------------------------

local purchases = {}


-- S0's rule; nil: refused.
local function left_after(stock)
    if stock <= 0 or WANTED > stock then return nil end
    return stock - WANTED
end


local function said(changed)
    return changed and "sold" or "refused"
end


--- S0's purchase without a transaction, the lock around it.
function purchases.plain(request)
    local shelf, hold = request.store, request.hold
    local left = left_after(shelf:stock())
    zklock.sleep(request.pause)
    local answer = said(left and shelf:set_stock(left))
    shelf:tell(request.buyer, request.server, answer, request.strategy:token(hold))
    request.strategy:leave(hold)
end


-- The part of a transaction before its end. The stock is read first: what the
-- next holder reads while this is not committed is the old stock (PIT-04).
local function update(request)
    local shelf = request.store
    local left = left_after(shelf:stock())
    shelf:begin()
    local answer = said(left and shelf:set_stock(left))
    shelf:tell(request.buyer, request.server, answer, request.strategy:token(request.hold))
end


--- The lock inside the transaction (S0 §4.3).
function purchases.release_then_commit(request)
    update(request)
    request.strategy:leave(request.hold)
    zklock.sleep(request.pause)
    request.store:commit()
end


--- The lock around the transaction.
function purchases.commit_then_release(request)
    update(request)
    zklock.sleep(request.pause)
    request.store:commit()
    request.strategy:leave(request.hold)
end


-- One request, with a connection of its own, as from a pool.
local function serve(worker, strategy, buyer)
    local connection = store.open(worker.store.path)
    local hold, _, code = strategy:enter()
    if hold then
        purchases[worker.given.purchase] {
            buyer = buyer, server = worker.name, store = connection,
            strategy = strategy, hold = hold, pause = worker.pause,
        }
    else
        connection:tell(buyer, worker.name, code)
    end
    connection:close()
end


--- A server: every request is a coroutine.
---@param worker zklock.seckill.Worker
function oversell.act(worker)
    local strategy = strategies.open(worker)
    local requests = {}
    for buyer in worker.given.buyers:gmatch "%d+" do
        requests[#requests + 1] = function()
            serve(worker, strategy, buyer)
        end
    end
    worker:wait_for_start()
    zklock.run(unpack(requests))
end


return oversell
