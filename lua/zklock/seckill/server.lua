--- A server of a sale, seen from inside: it serves its buyers, each a coroutine. It is a process,
--- or one of a world of virtual time in a simulated sale: what differs there is handed to it.

local barrier = require "zklock.seckill.barrier"
local buyers = require "zklock.seckill.buyer"
local checked_store = require "zklock.seckill.checked_store"
local is_interrupt = require "zklock.value.is_interrupt"
local purchases = require "zklock.seckill.purchases"
local stores = require "zklock.seckill.stores"
local strategies = require "zklock.seckill.strategies"
local zklock = require "zklock"

local min = math.min
local unpack = table.unpack or unpack -- luacheck: std max


local GROUP = 1000 -- buyers: a call has only so many arguments


---@class zklock.seckill.Server
---@field name string       "server 1"
---@field number integer
---@field plan table        the sale's, with where things are; see zklock.seckill.plan
---@field folder string?    of the sale; all its servers share it; nil in a simulated sale
---@field places zklock.seckill.Places
---@field timeout number    seconds for which a buyer waits for a lock
---@field parameters table  the plan's, for strategies and purchases of the user's own
---@field strategy table
---@field store table
---@field record zklock.seckill.Record
---@field faults zklock.seckill.Faults
---@field hang_detector zklock.seckill.HangDetector?  nil in a simulated sale: the world detects
---@field served integer     how many of its buyers it is done with
local Server = {}
Server.__index = Server


local server = {}


--- The server of that number.
---@param plan table
---@param number integer
---@param record zklock.seckill.Record
---@param places zklock.seckill.Places?  default: those of the sale's folder
---@return zklock.seckill.Server
function server.new(plan, number, record, places)
    return setmetatable({
        name = "server " .. number, number = number, plan = plan, folder = plan.folder,
        timeout = plan.timeout, parameters = plan.parameters or {}, sessions = {}, served = 0,
        record = record, places = places or barrier.places(plan.folder),
        open_store = assert(stores.load(plan.store)).open,
    }, Server)
end


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
        timeout = self.plan.session, identity = self.name, reopen = self.parameters.reopen,
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
    local store = self.open_store(self.plan.place, self)
    return checked_store.opened(self.plan.store, store)
end


--- Comes to the place of that name, for which all servers can wait.
---@param place string
function Server:come(place) self.places:come(place) end


--- Waits until so many have come to the place of that name, in all servers.
---@param place string
---@param count integer
---@param sleep fun(seconds: number)
function Server:wait_for(place, count, sleep)
    assert(self.places:wait(place, count, self.plan.limit, sleep))
end


-- Whatever happens to one buyer is that buyer's alone, and does not go uncounted; but Ctrl-C is
-- meant for all.
local function serve(self, purchase, wish)
    local buyer = buyers.new(self, wish)
    local ok, problem = pcall(purchase, buyer)
    if not ok then
        buyer:note("error: " .. tostring(problem))
        if not buyer.told then buyer:tell "error" end
    end
    if not buyer.told then buyer:tell "untold" end
    if buyer.hold then pcall(buyer.leave, buyer) end
    if self.hang_detector then self.hang_detector:done(buyer) end
    self.served = self.served + 1
    if not ok and is_interrupt(problem) then error(problem, 0) end
end


-- A task for each of its buyers.
local function tasks_of(self, purchase)
    local tasks = {}
    for _, wish in ipairs(self.plan.wishes) do
        if wish.server == self.number then
            tasks[#tasks + 1] = function()
                if wish.at then zklock.sleep(wish.at) end
                serve(self, purchase, wish)
            end
        end
    end
    return tasks
end


--- Opens what it sells with.
function Server:open()
    self.store = self:new_store()
    self.strategy = strategies.open(self.plan.strategy, self)
end


--- Serves all of its buyers, as they come.
function Server:serve()
    local tasks = tasks_of(self, assert(purchases.load(self.plan.purchase)))
    local groups = {}
    for first = 1, #tasks, GROUP do
        local last = min(first + GROUP - 1, #tasks)
        groups[#groups + 1] = function() zklock.run(unpack(tasks, first, last)) end
    end
    if not groups[1] then return end
    if self.hang_detector then return self.hang_detector:carry_out(#tasks, groups) end
    zklock.run(unpack(groups))
end


--- Closes all.
function Server:close()
    if self.strategy.close then self.strategy:close() end
    self.store:close()
    for _, session in ipairs(self.sessions) do session:close() end
end


return server
