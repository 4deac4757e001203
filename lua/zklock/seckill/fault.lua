--- Faults of a sale. At a given time a server is stopped or killed, or a function is called, for
--- example to strike Redis.
---
---     { at = 0.5, stop = "holder", length = 3 }      { at = 1, kill = "server 2" }
---     { at = 0, run = function(play) … end, held = true, what = "failover", where = "Redis" }
---
--- "holder" is the server of the first buyer that holds a lock at that time or later. The fault
--- strikes between the buyer's reading and writing of the stock. With `held` the buyer waits there
--- until the function returns. The parent process arms a fault for a holder by making a file. The
--- first buyer that renames the file takes the fault, and waits until the file is removed.

local core = require "zklock.core"
local zklock = require "zklock"

local open, remove, rename = io.open, os.remove, os.rename


local POLL = 0.002 -- seconds


local fault = {}


-- `n` is the number of a fault in the plan.
local function armed_path(folder, n) return ("%s/fault-%d"):format(folder, n) end
local function taken_path(folder, n, server) return ("%s/fault-%d.%d"):format(folder, n, server) end


local function exists(path)
    local file = open(path)
    if file then file:close() end
    return file ~= nil
end


local function is_for_holder(planned)
    return planned.held or (planned.stop or planned.kill) == "holder"
end


--- The fields of planned faults that servers need.
function fault.for_servers(planned_faults)
    local list = {}
    for n, planned in ipairs(planned_faults) do
        list[n] = { stop = planned.stop, kill = planned.kill, held = planned.held }
    end
    return list
end


-- in a server -----------------------------------------------------------------------------------

---@class zklock.seckill.Faults
---@field pending integer[]  numbers of the faults that may still strike a holder in this server
local Faults = {}
Faults.__index = Faults
fault.Faults = Faults


--- Returns the faults that may strike a holder in this server.
function fault.of_server(server)
    local pending = {}
    for n, each in ipairs(server.plan.faults) do
        if is_for_holder(each) then pending[#pending + 1] = n end
    end
    return setmetatable({ server = server, pending = pending }, Faults)
end


local function wait_until_removed(path)
    while exists(path) do zklock.sleep(POLL) end
    return "goes on"
end


-- Blocks the whole server, its coroutines and ZooKeeper events.
local function block_until_removed(path)
    while exists(path) do core.sleep(POLL) end
    return "wakes"
end


--- Lets a due fault strike the buyer, if the buyer holds a lock.
---@param buyer zklock.seckill.Buyer
---@return "wakes" | "goes on" | nil reaction  of the buyer to a fault
function Faults:strike(buyer)
    if not buyer.hold then return end
    local folder = self.server.folder
    for i, n in ipairs(self.pending) do
        local path = taken_path(folder, n, self.server.number)
        if rename(armed_path(folder, n), path) then
            table.remove(self.pending, i)
            local is_held = self.server.plan.faults[n].held
            return (is_held and wait_until_removed or block_until_removed)(path)
        end
    end
end


--- Like strike. Notes the state of the buyer's hold after the fault.
function Faults:strike_and_note(buyer)
    local strategy, reaction = self.server.strategy, self:strike(buyer)
    if reaction and strategy.state then
        buyer:note(("%s, and its hold is %s"):format(reaction, strategy:state(buyer.hold)))
    end
end


-- in the parent ---------------------------------------------------------------------------------

---@class zklock.seckill.Fault
---@field at number       seconds since the sale began
---@field kind string     "stop", "kill", or the function's `what`
---@field target string   "server 1", or the function's `where`
---@field ended number?   when the server went on, or the function returned; of faults that overlap
---the last end


local function server_that_took(play, n)
    for number = 1, #play.servers do
        if exists(taken_path(play.folder, n, number)) then return number end
    end
end


local function note_struck(play, n, struck)
    play.struck[#play.struck + 1] = struck
    play.under_way[n] = struck
end


-- Waits for the length of a fault, and ends its effect. Faults with the same effect that overlap
-- end together, with the last. Returns the time of that end; nil if the server is gone.
---@param effect string            "stop server 2"
---@param finish fun(): boolean?  returns false if the server is gone
local function last(play, effect, length, finish)
    local shared = play.effects[effect] or { count = 0 }
    play.effects[effect], shared.count = shared, shared.count + 1
    zklock.sleep(length)
    shared.count = shared.count - 1
    if shared.count == 0 then
        play.effects[effect] = nil
        local now = play:now()
        shared.ended = finish() ~= false and now or nil
        shared.over = true
    end
    while not shared.over do zklock.sleep(POLL) end
    return shared.ended
end


local function stop_of(number) return "stop server " .. number end


--- True while a fault has stopped the server.
function fault.is_stopped(play, number) return play.effects[stop_of(number)] ~= nil end


-- Stops or kills a server, and returns when the fault is over. Does nothing if an earlier fault has
-- killed the server.
local function signal_server(play, n, number, let_go_on)
    local planned, server = play.plan.faults[n], play.servers[number]
    local struck = {
        at = play:now(), target = "server " .. number, kind = planned.kill and "kill" or "stop",
    }
    if not server.process:signal(planned.kill and "KILL" or "STOP") then return end
    if planned.kill then server.killed_at = struck.at end
    note_struck(play, n, struck)
    if planned.stop then
        struck.ended = last(play, stop_of(number), planned.length, function()
            return server.process:signal "CONT"
        end)
    end
    let_go_on()
end


local function call_function(play, n, number, let_go_on)
    local planned = play.plan.faults[n]
    local struck = {
        at = play:now(), target = planned.where or "server " .. number, kind = planned.what,
    }
    note_struck(play, n, struck)
    planned.run(play, number)
    if planned.finish then
        struck.ended = last(play, planned.effect .. " " .. struck.target, planned.length,
            function() planned.finish(play, number) end)
    else
        struck.ended = play:now()
    end
    let_go_on()
end


local function arm(play, n) assert(open(armed_path(play.folder, n), "w")):close() end


--- Arms faults that are due at 0, so that they strike the first holder.
function fault.prepare(play)
    for n, planned in ipairs(play.plan.faults) do
        if planned.at == 0 and is_for_holder(planned) then arm(play, n) end
    end
end


-- Returns the number of the server that takes the fault, or nil if the sale ended first.
local function wait_for_holder(play, n)
    while not play.over do
        local number = server_that_took(play, n)
        if number then return number end
        zklock.sleep(POLL)
    end
    remove(armed_path(play.folder, n))
end


-- "server 2" → 2
local function number_of(server) return tonumber(server:match "%d+$") end


-- Returns the number of the server to strike, and a function that lets the holder go on; nil if the
-- server or the sale ended first.
local function wait_for_victim(play, n)
    local planned = play.plan.faults[n]
    if is_for_holder(planned) then
        if planned.at > 0 then arm(play, n) end
        local number = wait_for_holder(play, n)
        return number, function() remove(taken_path(play.folder, n, number)) end
    end
    local number = number_of(planned.stop or planned.kill or planned.cut)
    return not play.servers[number].ended and number or nil, function() end
end


--- Carries out a planned fault, in a task beside the sale.
function fault.carry_out(play, n)
    local planned = play.plan.faults[n]
    while play:now() < planned.at and not play.over do zklock.sleep(POLL) end
    if play.over then return end
    if planned.run and not (planned.held or planned.cut) then
        return call_function(play, n, nil, function() end)
    end
    local number, let_go_on = wait_for_victim(play, n)
    if not number then return end
    local carry_out = planned.run and call_function or signal_server
    carry_out(play, n, number, let_go_on)
end


return fault
