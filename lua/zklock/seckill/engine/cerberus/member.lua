--- A process as a member of the service, with the epoch it acts by and its part in change-overs
--- between engines. They have no coordinator. Each member sometimes looks for the next step of a
--- change-over, and the first that finds a step takes it.

local clock = require "zklock.waiting.runtime"
local errand = require "zklock.seckill.engine.cerberus.errand"
local failure = require "zklock.seckill.engine.failure"
local answer_timeout = require("zklock.seckill.engine.cerberus.place").answer_timeout
local members = require "zklock.seckill.engine.cerberus.members"
local registrations = require "zklock.seckill.engine.cerberus.registration"
local rules = require "zklock.seckill.engine.cerberus.rules"
local zklock = require "zklock"


local PAUSE = 0.005 -- seconds between looks whether another coroutine has registered


---@class zklock.engine.Membership
---@field place zklock.engine.Place
---@field order zklock.engine.Order
---@field epoch zklock.engine.Epoch?  the latest known
---@field wish zklock.engine.Wish?    the latest known state of the switch
---@field present zklock.engine.Registration?  this process's, for `epoch`
---@field entered zklock.engine.Registration[]  of epochs that this process has not left yet
---@field found_dead_at table<string, number>  times by the dead member's id
---@field awaits string?  reason why the next step of a change-over waits
---@field joining zklock.engine.Errand   registering
---@field stepping zklock.engine.Errand  taking the next step of a change-over
---@field on_change fun()?  called after a change of epoch
local Member = {}
Member.__index = Member


local member = {}


local function longest_lives_of(self, epoch)
    local after_process, after_lease = 0, 0
    for _, name in ipairs(epoch.engines) do
        after_process = math.max(after_process, self.order:life_after_process(name))
        after_lease = math.max(after_lease, self.order:life_after_lease(name))
    end
    return { after_process = after_process, after_lease = after_lease }
end


function Member:know(epoch)
    if self.epoch and epoch.number <= self.epoch.number then return end
    self.epoch = epoch
    self.present = nil
end


local function standing_registration(self)
    if self.present and not self.present:stands() then self.present = nil end
    return self.present
end


local function valid_registration(self)
    local present = standing_registration(self)
    return present and present.counts and present or nil
end


-- Registers for the known epoch, which may change meanwhile.
local function enter(self, due)
    local epoch = self.epoch
    local new = registrations.new(self.place, epoch, longest_lives_of(self, epoch), due)
    self.entered[#self.entered + 1] = new
    if epoch == self.epoch then self.present = new end
end


-- Registers, or continues a registration that another coroutine began.
local function register(self, due)
    self:know(self.place:epoch(due))
    if not standing_registration(self) then enter(self, due) end
    local present = self.present
    if not present then return end
    present:enlist(due)
    present.counts = present:is_current(due)
end


--- Registers for the present epoch, unless this process is registered.
---@param due number?
---@return zklock.engine.Registration?  nil if the epoch just changed, or after `due`
function Member:join(due)
    while self.joining:is_under_way() and not (due and clock.now() > due) do zklock.sleep(PAUSE) end
    if not valid_registration(self) and not self.joining:is_under_way() then
        self.joining:go(register, self, due)
    end
    return valid_registration(self)
end


local function leave(self, registration, due)
    registration:strike_off(due)
    for i, other in ipairs(self.entered) do
        if other == registration then table.remove(self.entered, i) break end
    end
end


-- Leaves the past epochs in which this process uses no lease. Their read locks delay a change-over,
-- so they are released first, without waiting for answers. The line of a registration stays in the
-- list until all its locks have ended, as for a dead process.
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


local function is_alive(self, other, due)
    local read_lock = self.place:lock(other.number, other.id)
    local contenders, message = read_lock:queue(answer_timeout(due))
    if not contenders then failure.raise("connection", message) end
    for _, contender in ipairs(contenders) do
        if contender.data == other.id then return true end
    end
    return false
end


-- Nil if the other member died and its locks have ended.
local function reason_to_wait(self, other, due)
    local id, found_dead_at = other.id, self.found_dead_at
    if is_alive(self, other, due) then
        found_dead_at[id] = nil
        return "a process has locks of an epoch before"
    end
    found_dead_at[id] = found_dead_at[id] or clock.now()
    if clock.now() >= found_dead_at[id] + other.life then return nil end
    return ("the locks of a process that died, %s, may live on"):format(id)
end


local function strike_off(self, id, due)
    self.found_dead_at[id] = nil
    self.place:edit("members", function(text) return members.without(text, id) end, due)
end


-- The reason why the next epoch must wait; nil if nobody has a lease of an epoch before `epoch`.
-- Strikes off dead members whose locks have ended.
local function reason_of_delay(self, epoch, due)
    local first_reason
    for _, other in ipairs(members.parse((self.place:read("members", due)))) do
        if other.number < epoch.number then
            local reason = reason_to_wait(self, other, due)
            if not reason then strike_off(self, other.id, due) end
            first_reason = first_reason or reason
        end
    end
    return first_reason
end


local function step(self, due)
    local epoch, wish = self.place:epoch(due), self.place:wish(due)
    self:know(epoch)
    self.wish = wish
    local following, must_wait = rules.following(epoch, self.order.names, wish)
    self.awaits = following and must_wait and reason_of_delay(self, epoch, due) or nil
    if not following or self.awaits then return end
    -- Writes nothing if another member was quicker, or if the switch was set meanwhile.
    self.place:change(due, function(write)
        write("epoch", rules.text(following), epoch.version, wish)
    end)
    self:know(self.place:epoch(due))
end


--- True if a next step of a change-over is known.
function Member:is_changing_over()
    return self.epoch ~= nil and self.wish ~= nil
        and rules.following(self.epoch, self.order.names, self.wish) ~= nil
end


local function tend(self, must_step, due)
    standing_registration(self)
    leave_the_past(self, due)
    if must_step or self:is_changing_over() and not self.stepping:is_under_way() then
        self.stepping:go(step, self, due)
    end
end


--- Leaves past epochs and takes the next step of a change-over, unless another coroutine does.
--- After a missing answer of ZooKeeper the next call tries again.
---@param must_step boolean?  looks for a step even if none is known, or another coroutine looks
---@param due number?
---@return nil|boolean ok
---@return string? message
function Member:tend(must_step, due)
    local _, message, code = failure.catch(self.place.root, tend, self, must_step, due)
    return not code, message
end


--- Gives up a registration without a lease, so that this process does not delay a change-over. The
--- next request for a lock registers again.
function Member:rest()
    if self.present and not self.present:is_used() then self.present = nil end
end


--- Ends the membership. A process with a lock stays on the list until the lock's life has passed.
function Member:close()
    self.present = nil
    failure.catch(self.place.root, leave_the_past, self)
    self.place:close()
end


function member.new(place, order)
    local self = setmetatable({
        place = place, order = order, entered = {}, found_dead_at = {}, joining = errand(),
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
