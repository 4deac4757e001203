--- A process as a member of the service: by which epoch it acts, and what it does about the switch.
--- Nobody is in charge of a switch: each member looks now and then whether there is a next step,
--- and takes it if it is the first.

local core = require "zklock.core"
local failure = require "zklock.engine.failure"
local left = require("zklock.engine.cerberus.place").left
local members = require "zklock.engine.cerberus.members"
local registrations = require "zklock.engine.cerberus.registration"
local rules = require "zklock.engine.cerberus.rules"
local zklock = require "zklock"


local PAUSE = 0.005 -- seconds, between looks whether another coroutine has registered


---@class zklock.engine.Membership
---@field place zklock.engine.Place
---@field order zklock.engine.Order
---@field epoch zklock.engine.Epoch?  as far as it is known
---@field wish zklock.engine.Wish?    the same
---@field present zklock.engine.Registration?  of that epoch
---@field past zklock.engine.Registration[]    to be left
---@field gone table<string, number>  since when members are known to have died
---@field awaits string?  why the next step is not taken
---@field joining boolean?  a coroutine registers
---@field tending boolean?  a coroutine tends
---@field on_change fun()?  called when the epoch has changed
local Member = {}
Member.__index = Member


local member = {}


-- Seconds for which locks of the epoch's engines may outlive their process.
local function life_of(self, epoch)
    local longest = 0
    for _, name in ipairs(epoch.engines) do longest = math.max(longest, self.order:life(name)) end
    return longest
end


local function retire(self)
    if self.present then self.past[#self.past + 1] = self.present end
    self.present = nil
end


--- Takes note of the epoch, if it is news.
---@param epoch zklock.engine.Epoch
function Member:know(epoch)
    if self.epoch and epoch.number <= self.epoch.number then return end
    self.epoch = epoch
    retire(self)
end


-- Writes the line, and looks whether the registration counts.
local function confirm(self, new, due)
    new:enlist(life_of(self, new.epoch), due)
    return new:is_current(due) and new.epoch.number == self.epoch.number
end


-- A registration that does not come to count is left again.
local function register(self, due)
    self:know(self.place:epoch(due))
    local new = registrations.new(self.place, self.epoch, due)
    local ok, counts = pcall(confirm, self, new, due)
    if ok and counts then
        self.present = new
    else
        self.past[#self.past + 1] = new
    end
    if not ok then error(counts, 0) end
end


-- The registration of the present epoch, if there is one that stands.
local function standing(self)
    if self.present and not self.present:stands() then retire(self) end
    return self.present
end


--- Registers for the present epoch, unless it has done so.
---@param due number?
---@return zklock.engine.Registration?  nil: the epoch has just changed, or the time is over
function Member:join(due)
    while self.joining and not (due and core.now() > due) do zklock.sleep(PAUSE) end
    if standing(self) or self.joining then return self.present end
    self.joining = true
    local ok, problem = pcall(register, self, due)
    self.joining = false
    if not ok then error(problem, 0) end
    return self.present
end


-- Leaves the epochs in which this process has no lock any more.
local function leave_the_past(self, due)
    for i = #self.past, 1, -1 do
        local each = self.past[i]
        if not each:is_used() then
            each:leave(due)
            table.remove(self.past, i)
        end
    end
end


-- Is the member alive, and at work in its epoch?
local function is_alive(self, each, due)
    local line, message = self.place:lock(each.number, each.id):queue(left(due))
    if not line then failure.raise("connection", message) end
    for _, contender in ipairs(line) do
        if contender.data == each.id then return true end
    end
    return false
end


-- Why the member still counts; nil: it died, and its locks have ended.
local function reason_to_wait(self, each, due)
    if is_alive(self, each, due) then
        self.gone[each.id] = nil
        return "a process has locks of an epoch before"
    end
    self.gone[each.id] = self.gone[each.id] or core.now()
    if core.now() >= self.gone[each.id] + each.life then return nil end
    return ("the locks of a process that died, %s, may live on"):format(each.id)
end


local function strike_off(self, id, due)
    self.gone[id] = nil
    self.place:edit("members", function(text) return members.without(text, id) end, due)
end


-- Why the next epoch must wait; nil: nobody has a lease of an epoch before this one.
local function before(self, epoch, due)
    local reason
    for _, each in ipairs(members.parse((self.place:read("members", due)))) do
        if each.number < epoch.number then
            local why = reason_to_wait(self, each, due)
            if not why then strike_off(self, each.id, due) end
            reason = reason or why
        end
    end
    return reason
end


-- Takes the next step of the switch, if there is one.
local function step(self, due)
    local epoch, wish = self.place:epoch(due), self.place:wish(due)
    self:know(epoch)
    self.wish = wish
    local following, must_wait = rules.following(epoch, self.order.names, wish)
    self.awaits = following and must_wait and before(self, epoch, due) or nil
    if not following or self.awaits then return end
    -- Another member may be quicker.
    self.place:change(due, function(write)
        write("epoch", rules.text(following), epoch.version)
    end)
    self:know(self.place:epoch(due))
end


--- Is the switch on its way, as far as it is known?
---@return boolean
function Member:is_switching()
    return self.epoch ~= nil and self.wish ~= nil
        and rules.following(self.epoch, self.order.names, self.wish) ~= nil
end


local function tend(self, at_any_rate, due)
    standing(self)
    if #self.past > 0 then leave_the_past(self, due) end
    if at_any_rate or self:is_switching() then step(self, due) end
end


--- Does what there is to do, unless another coroutine is at it: leaves epochs that are past, and
--- takes the next step of a switch. What ZooKeeper does not answer is done the next time.
---@param at_any_rate boolean?  also if no switch is known to be on its way
---@param due number?
---@return nil|boolean ok
---@return string? message
function Member:tend(at_any_rate, due)
    if self.tending then return true end
    self.tending = true
    local results = { pcall(failure.catch, self.place.root, tend, self, at_any_rate, due) }
    self.tending = false
    if not results[1] then error(results[2], 0) end
    return not results[4], results[3]
end


--- This process does not look after the switch until it asks for its next lock: if it has none
--- now, it must not hold the switch up.
function Member:rest()
    local present = self.present
    if present and not present:is_used() then retire(self) end
end


--- Ends the membership. A process that has a lock stays on the list: the lock's life must pass.
function Member:close()
    retire(self)
    failure.catch(self.place.root, leave_the_past, self)
    self.place:close()
end


---@param place zklock.engine.Place
---@param order zklock.engine.Order
---@return zklock.engine.Membership
function member.new(place, order)
    local self = setmetatable({ place = place, order = order, past = {}, gone = {} }, Member)
    place:watch("epoch", function(text, version)
        local epoch = rules.parse(text)
        if not epoch then return end
        epoch.version = version
        self:know(epoch)
        if self.on_change then self.on_change() end
    end)
    place:watch("cerberus_engine", function(text, version)
        self.wish = { text = text, version = version }
    end)
    return self
end


return member
