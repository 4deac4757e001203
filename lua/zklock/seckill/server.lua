--- A server of a sale, seen from inside. Run as
---     lua server.lua FILE NUMBER
--- with the plan of the sale in FILE, it serves its buyers, each a coroutine.

local barrier = require "zklock.seckill.barrier"
local buyers = require "zklock.seckill.buyer"
local core = require "zklock.core"
local faults = require "zklock.seckill.fault"
local is_interrupt = require "zklock.seckill.is_interrupt"
local json_file = require "zklock.seckill.json_file"
local purchases = require "zklock.seckill.purchases"
local records = require "zklock.seckill.record"
local stores = require "zklock.seckill.stores"
local strategies = require "zklock.seckill.strategies"
local zklock = require "zklock"


local LOOK = 0.005 -- seconds between looks whether all are served


---@class zklock.seckill.Server
---@field name string       "server 1"
---@field number integer
---@field plan table        the sale's; see zklock.seckill.plan
---@field folder string     of the sale; all its servers share it
---@field timeout number    seconds for which a buyer waits for a lock
---@field parameters table  the plan's, for strategies and purchases of the user's own
---@field strategy table
---@field store table
---@field record zklock.seckill.Record
---@field faults zklock.seckill.Faults
---@field served integer     how many of its buyers it is done with
local Server = {}
Server.__index = Server


--- The server's ZooKeeper session: one, which all callers share.
---@return zklock.Session
function Server:session()
    self.own_session = self.own_session or self:connect()
    return self.own_session
end


--- Another session.
---@return zklock.Session
function Server:connect()
    local session = assert(zklock.connect(self.plan.zookeeper, {
        timeout = self.plan.session, identity = self.name,
    }))
    self.sessions[#self.sessions + 1] = session
    return session
end


-- A name as a part of a path: what a path cannot hold is escaped.
local function escaped(name)
    return (name:gsub("[^%w%-_/]", function(c) return ("%%%02X"):format(c:byte()) end))
end


--- A path below the sale's own, so that two sales on one ensemble do not meet.
---@param name string
---@return string
function Server:path(name)
    return self.plan.root .. "/" .. escaped(name)
end


--- A connection of its own to the store, as from a pool.
---@return table store
function Server:new_store()
    return self.open_store(self.plan.place, self)
end


--- Comes to the place of that name, for which all servers can wait.
---@param place string
function Server:come(place) barrier.come(self.folder .. "/" .. place) end


--- Waits until so many have come to the place of that name, in all servers.
---@param place string
---@param count integer
---@param sleep fun(seconds: number)
function Server:wait_for(place, count, sleep)
    assert(barrier.wait(self.folder .. "/" .. place, count, self.plan.limit, sleep))
end


-- Whatever happens to one buyer is that buyer's alone, and does not go uncounted; but Ctrl-C is
-- meant for all.
local function serve(server, purchase, wish)
    local buyer = buyers.new(server, wish)
    local ok, problem = pcall(purchase, buyer)
    if not ok then
        if is_interrupt(problem) then server.interrupt = problem end
        buyer:note("error: " .. tostring(problem))
        if not buyer.told then buyer:tell "error" end
    end
    if not buyer.told then buyer:tell "untold" end
    if buyer.hold then pcall(buyer.leave, buyer) end
end


local function own_wishes(plan, number)
    local wishes = {}
    for _, wish in ipairs(plan.wishes) do
        if wish.server == number then wishes[#wishes + 1] = wish end
    end
    return wishes
end


local function serve_all(server, purchase, wishes)
    for _, wish in ipairs(wishes) do
        if server.interrupt then error(server.interrupt, 0) end
        coroutine.wrap(function()
            serve(server, purchase, wish)
            server.served = server.served + 1
        end)()
    end
    while server.served < #wishes do
        if server.interrupt then error(server.interrupt, 0) end
        zklock.sleep(LOOK)
    end
end


local function run(file_name, number)
    local plan = json_file.read(file_name)
    math.randomseed(plan.seed * 1000 + number)
    local server = setmetatable({
        name = "server " .. number, number = number, plan = plan, folder = plan.folder,
        timeout = plan.timeout, parameters = plan.parameters or {}, sessions = {}, served = 0,
        record = records.create(plan.folder, number),
        open_store = assert(stores.load(plan.store)).open,
    }, Server)
    server.store = server:new_store()
    server.strategy = strategies.open(plan.strategy, server)
    server.faults = faults.watch(server)
    local purchase = assert(purchases.load(plan.purchase))
    server:come "start"
    server:wait_for("start", plan.servers + 1, function(seconds) core.poll({}, seconds) end)
    zklock.run(serve_all, server, purchase, own_wishes(plan, number))
    if server.strategy.close then server.strategy:close() end
    server.store:close()
    for _, session in ipairs(server.sessions) do session:close() end
end


io.stdout:setvbuf "line"
local ok, message = pcall(run, arg[1], tonumber(arg[2]))
print(ok and "done" or "error " .. (tostring(message):gsub("%s+", " ")))
os.exit(ok and 0 or 1, true)
