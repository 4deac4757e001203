--- A server of a sale, which serves each of its buyers in a coroutine. It is a process or, in a
--- simulated sale, part of a world of virtual time. Its creator sets `faults` and `hang_detector`.

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


local GROUP = 1000 -- buyers in one call of zklock.run, because Lua limits the number of arguments


---@class zklock.seckill.Server
---@field name string       "server 1"
---@field number integer
---@field plan table        the sale's (zklock.seckill.plan), with addresses of ZooKeeper, Redis, …
---@field folder string?    the sale's, shared by its servers; nil in a simulated sale
---@field barriers zklock.seckill.Barriers
---@field timeout number    seconds that a buyer waits for a lock
---@field parameters table  the plan's, for modules of the user
---@field strategy table
---@field store table
---@field record zklock.seckill.Record
---@field faults zklock.seckill.Faults
---@field hang_detector zklock.seckill.HangDetector?  nil in a simulated sale
---@field served integer     number of buyers served
local Server = {}
Server.__index = Server


local server = {}


---@param plan table
---@param number integer
---@param record zklock.seckill.Record
---@param barriers zklock.seckill.Barriers?  by default the barriers of the sale's folder
---@return zklock.seckill.Server
function server.new(plan, number, record, barriers)
    return setmetatable({
        name = "server " .. number, number = number, plan = plan, folder = plan.folder,
        timeout = plan.timeout, parameters = plan.parameters or {}, sessions = {}, served = 0,
        record = record, barriers = barriers or barrier.of_folder(plan.folder),
        open_store = assert(stores.load(plan.store)).open,
    }, Server)
end


--- The ZooKeeper session that all callers of the server share.
---@return zklock.Session
function Server:session()
    self.own_session = self.own_session or self:connect()
    return self.own_session
end


---@return zklock.Session
function Server:connect()
    local session = assert(zklock.connect(self.plan.zookeeper, {
        timeout = self.plan.session, identity = self.name, reopen = self.parameters.reopen,
    }))
    self.sessions[#self.sessions + 1] = session
    return session
end


local function escaped(name)
    return (name:gsub("[^%w%-_/]", function(c) return ("%%%02X"):format(c:byte()) end))
end


--- A path below the sale's root, so that sales on one ensemble do not interfere.
---@param name string
---@return string
function Server:path(name)
    return self.plan.root .. "/" .. escaped(name)
end


--- Opens another connection to the store, as from a pool.
---@return table store
function Server:new_store()
    local store = self.open_store(self.plan.place, self)
    return checked_store.opened(self.plan.store, store)
end


---@param name string  of a barrier
function Server:come(name) self.barriers:come(name) end


--- Waits for `count` arrivals at a barrier, which all servers share.
---@param name string
---@param count integer
---@param sleep fun(seconds: number)
function Server:wait_for(name, count, sleep)
    assert(self.barriers:wait(name, count, self.plan.limit, sleep))
end


-- An error ends only its own buyer, and is recorded. An interrupt ends all.
local function serve(self, purchase, assignment)
    local buyer = buyers.new(self, assignment)
    local ok, problem = pcall(purchase, buyer)
    if not ok then
        buyer:note("error: " .. tostring(problem))
        if not buyer.told then buyer:tell "error" end
    end
    if not buyer.told then buyer:tell "untold" end
    if buyer.hold then pcall(buyer.leave, buyer) end
    if self.hang_detector then self.hang_detector:note_served(buyer) end
    self.served = self.served + 1
    if not ok and is_interrupt(problem) then error(problem, 0) end
end


local function tasks_of(self, purchase)
    local tasks = {}
    for _, assignment in ipairs(self.plan.assignments) do
        if assignment.server == self.number then
            local arrives_at = self.plan.arrival_times[assignment.buyer]
            tasks[#tasks + 1] = function()
                if arrives_at then zklock.sleep(arrives_at) end
                serve(self, purchase, assignment)
            end
        end
    end
    return tasks
end


function Server:open()
    self.store = self:new_store()
    self.strategy = strategies.open(self.plan.strategy, self)
    purchases.check(self)
end


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


function Server:close()
    if self.strategy.close then self.strategy:close() end
    self.store:close()
    for _, session in ipairs(self.sessions) do session:close() end
end


return server
