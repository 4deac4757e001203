--- Faults of a sale: at a given time a process is stopped for a while, or killed, or a function
--- is called, which does something to another server, of locks perhaps.
---
---     { at = 0.5, stop = "holder", length = 3 }      { at = 1, kill = "server 2" }
---     { at = 0, run = function(play) … end, held = true, what = "failover", where = "Redis" }
---
--- "holder" is the server of the buyer that has a lock then, or of the first that has one
--- afterwards: it is struck between reading the stock and writing it. With `held` the buyer waits
--- there until the function returns. For that the buyers look for a file that the parent makes; the
--- buyer that renames it first is the one, and waits there for what comes.

local core = require "zklock.core"
local zklock = require "zklock"

local open, remove, rename = io.open, os.remove, os.rename


local POLL = 0.002


local fault = {}


-- Names of the files of the n-th fault.
local function armed(folder, n) return ("%s/fault-%d"):format(folder, n) end
local function taken(folder, n, server) return ("%s/fault-%d.%d"):format(folder, n, server) end


local function exists(path)
    local file = open(path)
    if file then file:close() end
    return file ~= nil
end


local function is_for_holder(plan)
    return plan.held or (plan.stop or plan.kill) == "holder"
end


--- What servers have to know of them.
function fault.for_servers(plans)
    local known = {}
    for n, plan in ipairs(plans) do
        known[n] = { stop = plan.stop, kill = plan.kill, held = plan.held }
    end
    return known
end


-- in a server -----------------------------------------------------------------------------------

---@class zklock.seckill.Faults
local Faults = {}
Faults.__index = Faults
fault.Faults = Faults


--- The faults that may strike in this server.
function fault.watch(server)
    local pending = {}
    for n, each in ipairs(server.plan.faults) do
        if is_for_holder(each) then pending[#pending + 1] = n end
    end
    return setmetatable({ server = server, pending = pending }, Faults)
end


-- A buyer waits as it does otherwise, while something happens elsewhere.
local function wait_there(path)
    while exists(path) do zklock.sleep(POLL) end
    return "goes on"
end


-- A server that is to be stopped or killed serves nothing while it waits: neither coroutines nor
-- ZooKeeper's events.
local function be_struck(path)
    while exists(path) do core.poll({}, POLL) end
    return "wakes"
end


--- Called by a buyer that has a lock: it is struck, if a fault is due, whichever lock it has.
---@param buyer zklock.seckill.Buyer
---@return "wakes" | "goes on" | nil struck  what it does then
function Faults:hit(buyer)
    if not buyer.hold then return end
    local folder = self.server.folder
    for i, n in ipairs(self.pending) do
        local path = taken(folder, n, self.server.number)
        if rename(armed(folder, n), path) then
            table.remove(self.pending, i)
            local wait = self.server.plan.faults[n].held and wait_there or be_struck
            return wait(path)
        end
    end
end


--- The same of a buyer that has read the stock, which notes what its lock says after that.
function Faults:strike(buyer)
    local strategy, done = self.server.strategy, self:hit(buyer)
    if done and strategy.state then
        buyer:note(("%s, and its hold is %s"):format(done, strategy:state(buyer.hold)))
    end
end


-- in the parent ---------------------------------------------------------------------------------

---@class zklock.seckill.Fault
---@field at number       seconds since the sale began, when it struck
---@field kind string     "stop", "kill", or what the function does
---@field target string   "server 1", or where it does that
---@field ended number?   when the server went on, or the function returned


-- The number of the server that took the n-th fault.
local function taker(play, n)
    for number = 1, #play.servers do
        if exists(taken(play.folder, n, number)) then return number end
    end
end


local function add(play, n, struck)
    play.struck[#play.struck + 1] = struck
    play.under_way[n] = struck
end


-- Strikes one of the sale's servers. Returns when it is over. Another fault may have ended the
-- server before.
local function strike(play, n, number, done)
    local plan, server = play.plan.faults[n], play.servers[number]
    local struck = {
        at = play:now(), target = "server " .. number, kind = plan.kill and "kill" or "stop",
    }
    if not server.process:signal(plan.kill and "KILL" or "STOP") then return end
    if plan.kill then server.killed = struck.at end
    add(play, n, struck)
    if plan.stop then
        server.stopped = true
        zklock.sleep(plan.length)
    end
    done()
    if plan.kill then return end
    server.stopped = false
    local ended = play:now()
    if server.process:signal "CONT" then struck.ended = ended end
end


-- Calls the fault's function, for the server of that number if it strikes one.
local function run(play, n, number, done)
    local plan = play.plan.faults[n]
    local struck = {
        at = play:now(), target = plan.where or "server " .. number, kind = plan.what,
    }
    add(play, n, struck)
    plan.run(play, number)
    struck.ended = play:now()
    done()
end


local function arm(play, n) assert(open(armed(play.folder, n), "w")):close() end


--- Called before the sale begins: the first holder of a lock meets a fault that is due at 0.
function fault.prepare(play)
    for n, plan in ipairs(play.plan.faults) do
        if plan.at == 0 and is_for_holder(plan) then arm(play, n) end
    end
end


-- The server that a plan means, once there is one; nil: the sale was over before.
local function wait_for_holder(play, n)
    while not play.over do
        local number = taker(play, n)
        if number then return number end
        zklock.sleep(POLL)
    end
    remove(armed(play.folder, n))
end


-- "server 2" → 2
local function number_of(server) return tonumber(server:match "%d+$") end


-- The number of the server to be struck, and what lets a holder go on there; nil: it is too late.
local function struck_by(play, n)
    local plan = play.plan.faults[n]
    if is_for_holder(plan) then
        if plan.at > 0 then arm(play, n) end
        local number = wait_for_holder(play, n)
        return number, function() remove(taken(play.folder, n, number)) end
    end
    local number = number_of(plan.stop or plan.kill)
    return not play.servers[number].ended and number or nil, function() end
end


--- Carries out one fault of the plan; a task beside the sale.
function fault.carry_out(play, n)
    local plan = play.plan.faults[n]
    while play:now() < plan.at and not play.over do zklock.sleep(POLL) end
    if play.over then return end
    if plan.run and not plan.held then
        return run(play, n, plan.cut and number_of(plan.cut), function() end)
    end
    local number, done = struck_by(play, n)
    if not number then return end
    if plan.run then run(play, n, number, done) else strike(play, n, number, done) end
end


return fault
