--- Faults of a sale. At a given time a process is stopped or killed, or a function is called, for
--- example to strike a lock server.
---
---     { at = 0.5, stop = "holder", length = 3 }      { at = 1, kill = "server 2" }
---     { at = 0, run = function(play) … end, held = true, what = "failover", where = "Redis" }
---
--- "holder" is the server of the first buyer that holds a lock at that time or later. It is struck
--- between reading and writing the stock. With `held` the buyer waits there until the function
--- returns. The parent arms such a fault by making a file. The first buyer that renames the file
--- takes the fault, and waits until the file is removed.

local core = require "zklock.core"
local zklock = require "zklock"

local open, remove, rename = io.open, os.remove, os.rename


local POLL = 0.002


local fault = {}


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


--- The fields of faults that servers need.
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


--- The faults that may strike a holder in this server.
function fault.watch(server)
    local pending = {}
    for n, each in ipairs(server.plan.faults) do
        if is_for_holder(each) then pending[#pending + 1] = n end
    end
    return setmetatable({ server = server, pending = pending }, Faults)
end


-- Waits like any buyer; the server's other buyers go on.
local function wait_there(path)
    while exists(path) do zklock.sleep(POLL) end
    return "goes on"
end


-- Blocks the whole server until it is struck. Neither coroutines nor ZooKeeper events run.
local function be_struck(path)
    while exists(path) do core.poll({}, POLL) end
    return "wakes"
end


--- Lets a fault that is due strike the buyer, if it holds a lock.
---@param buyer zklock.seckill.Buyer
---@return "wakes" | "goes on" | nil struck  what the buyer does after a fault
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


--- Like hit, for a buyer that has read the stock. Notes the state of its lock after the fault.
function Faults:strike(buyer)
    local strategy, done = self.server.strategy, self:hit(buyer)
    if done and strategy.state then
        buyer:note(("%s, and its hold is %s"):format(done, strategy:state(buyer.hold)))
    end
end


-- in the parent ---------------------------------------------------------------------------------

---@class zklock.seckill.Fault
---@field at number       seconds since the sale began
---@field kind string     "stop", "kill", or the function's `what`
---@field target string   "server 1", or the function's `where`
---@field ended number?   when the server went on, or the function returned


local function taker(play, n)
    for number = 1, #play.servers do
        if exists(taken(play.folder, n, number)) then return number end
    end
end


local function add(play, n, struck)
    play.struck[#play.struck + 1] = struck
    play.under_way[n] = struck
end


-- Stops or kills a server, and returns when the fault is over. An earlier fault may have killed the
-- server.
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


--- Arms faults that are due at 0, so that they strike the first holder.
function fault.prepare(play)
    for n, plan in ipairs(play.plan.faults) do
        if plan.at == 0 and is_for_holder(plan) then arm(play, n) end
    end
end


-- The number of the server that takes the fault, or nil if the sale ended first.
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


-- The server to strike, and a function that lets its holder go on; nil if it is too late.
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


--- Carries out one fault of the plan, in a task beside the sale.
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
