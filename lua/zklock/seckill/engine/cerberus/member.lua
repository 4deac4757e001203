--- A process as a member of the service: by which epoch it acts, and what it does about the switch.
--- Nobody is in charge of a switch: each member looks now and then whether there is a next step,
--- and takes it if it is the first.

local clock = require "zklock.waiting.runtime"
local errand = require "zklock.seckill.engine.cerberus.errand"
local failure = require "zklock.seckill.engine.failure"
local left = require("zklock.seckill.engine.cerberus.place").left
local members = require "zklock.seckill.engine.cerberus.members"
local registrations = require "zklock.seckill.engine.cerberus.registration"
local rules = require "zklock.seckill.engine.cerberus.rules"
local zklock = require "zklock"


local PAUSE = 0.005 -- seconds, between looks whether another coroutine has registered


---@class zklock.engine.Membership
---@field place zklock.engine.Place
---@field order zklock.engine.Order
---@field epoch zklock.engine.Epoch?  as far as it is known
---@field wish zklock.engine.Wish?    the same
---@field present zklock.engine.Registration?  of that epoch
---@field entered zklock.engine.Registration[]  those not left yet: the present one, and past ones
---@field gone table<string, number>  since when members are known to have died
---@field awaits string?  why the next step is not taken
---@field joining zklock.engine.Errand   to register
---@field stepping zklock.engine.Errand  to look for the next step of the switch, and take it
---@field on_change fun()?  called when the epoch has changed
local Member = {}
Member.__index = Member


local member = {}


-- Seconds for which locks of the epoch's engines may outlive their process, and their leases.
local function lives_of(self, epoch)
    local life, remains = 0, 0
    for _, name in ipairs(epoch.engines) do
        life = math.max(life, self.order:life(name))
        remains = math.max(remains, self.order:remains(name))
    end
    return { of_process = life, of_lease = remains }
end


--- Takes note of the epoch, if it is news.
function Member:know(epoch)
    if self.epoch and epoch.number <= self.epoch.number then return end
    self.epoch = epoch
    self.present = nil
end


-- The registration of the present epoch, if there is one that stands.
local function standing(self)
    if self.present and not self.present:stands() then self.present = nil end
    return self.present
end


-- The same, and it counts.
local function counting(self)
    local present = standing(self)
    return present and present.counts and present or nil
end


-- A registration of the epoch that is known to be the present one. From its first moment it is
-- among those to be left.
local function enter(self, due)
    local epoch = self.epoch
    local new = registrations.new(self.place, epoch, lives_of(self, epoch), due)
    self.entered[#self.entered + 1] = new
    if epoch == self.epoch then self.present = new end
end


-- One that another coroutine began is gone on with.
local function register(self, due)
    self:know(self.place:epoch(due))
    if not standing(self) then enter(self, due) end
    local present = self.present
    if not present then return end
    present:enlist(due)
    present.counts = present:is_current(due)
end


--- Registers for the present epoch, unless it has done so.
---@param due number?
---@return zklock.engine.Registration?  nil: the epoch has just changed, or the time is over
function Member:join(due)
    while self.joining:is_under_way() and not (due and clock.now() > due) do zklock.sleep(PAUSE) end
    if not counting(self) and not self.joining:is_under_way() then
        self.joining:go(register, self, due)
    end
    return counting(self)
end


local function leave(self, each, due)
    each:strike_off(due)
    for i, other in ipairs(self.entered) do
        if other == each then table.remove(self.entered, i) break end
    end
end


-- Leaves the epochs in which this process has no lease any more: first what holds a switch up, as
-- that waits for no answer. The line stays until all locks have ended, as of a process that died.
local function leave_the_past(self, due)
    local past = {}
    for _, each in ipairs(self.entered) do
        if each ~= self.present and not each:is_used() then
            each.lease:release()
            past[#past + 1] = each
        end
    end
    for _, each in ipairs(past) do
        if each:is_over() and not each.leaving:is_under_way() then
            each.leaving:go(leave, self, each, due)
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
    self.gone[each.id] = self.gone[each.id] or clock.now()
    if clock.now() >= self.gone[each.id] + each.life then return nil end
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
    -- Another member may be quicker, or the switch may have been set.
    self.place:change(due, function(write)
        write("epoch", rules.text(following), epoch.version, wish)
    end)
    self:know(self.place:epoch(due))
end


--- Is the switch on its way, as far as it is known?
function Member:is_switching()
    return self.epoch ~= nil and self.wish ~= nil
        and rules.following(self.epoch, self.order.names, self.wish) ~= nil
end


local function tend(self, at_any_rate, due)
    standing(self)
    leave_the_past(self, due)
    if at_any_rate or self:is_switching() and not self.stepping:is_under_way() then
        self.stepping:go(step, self, due)
    end
end


--- Does what there is to do, unless another coroutine is at it: leaves epochs that are past, and
--- takes the next step of a switch. What ZooKeeper does not answer is done the next time.
---@param at_any_rate boolean?  also if no switch is known to be on its way, or another is at it
---@param due number?
---@return nil|boolean ok
---@return string? message
function Member:tend(at_any_rate, due)
    local _, message, code = failure.catch(self.place.root, tend, self, at_any_rate, due)
    return not code, message
end


--- This process does not look after the switch until it asks for its next lock: if it has none
--- now, it must not hold the switch up.
function Member:rest()
    if self.present and not self.present:is_used() then self.present = nil end
end


--- Ends the membership. A process that has a lock stays on the list: the lock's life must pass.
function Member:close()
    self.present = nil
    failure.catch(self.place.root, leave_the_past, self)
    self.place:close()
end


function member.new(place, order)
    local self = setmetatable({
        place = place, order = order, entered = {}, gone = {}, joining = errand(),
        stepping = errand(),
    }, Member)
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
