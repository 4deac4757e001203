--- A process as a member of the service, with the epoch it acts by and its part in switches.
--- Switches have no coordinator. Each member looks now and then for a next step, and the first to
--- find it takes it.

local clock = require "zklock.waiting.runtime"
local errand = require "zklock.seckill.engine.cerberus.errand"
local failure = require "zklock.seckill.engine.failure"
local left = require("zklock.seckill.engine.cerberus.place").left
local members = require "zklock.seckill.engine.cerberus.members"
local registrations = require "zklock.seckill.engine.cerberus.registration"
local rules = require "zklock.seckill.engine.cerberus.rules"
local zklock = require "zklock"


local PAUSE = 0.005 -- seconds between looks for another coroutine's registration


---@class zklock.engine.Membership
---@field place zklock.engine.Place
---@field order zklock.engine.Order
---@field epoch zklock.engine.Epoch?  as far as known
---@field wish zklock.engine.Wish?    as far as known
---@field present zklock.engine.Registration?  for that epoch
---@field entered zklock.engine.Registration[]  the present one, and past ones still to leave
---@field gone table<string, number>  times when members were found dead
---@field awaits string?  reason why the next step waits
---@field joining zklock.engine.Errand   registers
---@field stepping zklock.engine.Errand  looks for the next step of the switch, and takes it
---@field on_change fun()?  called after a change of epoch
local Member = {}
Member.__index = Member


local member = {}


-- Seconds that locks of the epoch's engines may outlive their process, and their leases.
local function lives_of(self, epoch)
    local life, remains = 0, 0
    for _, name in ipairs(epoch.engines) do
        life = math.max(life, self.order:life(name))
        remains = math.max(remains, self.order:remains(name))
    end
    return { of_process = life, of_lease = remains }
end


--- Notes the epoch if it is newer.
function Member:know(epoch)
    if self.epoch and epoch.number <= self.epoch.number then return end
    self.epoch = epoch
    self.present = nil
end


-- The registration for the present epoch, if it stands.
local function standing(self)
    if self.present and not self.present:stands() then self.present = nil end
    return self.present
end


-- The standing registration, if it counts.
local function counting(self)
    local present = standing(self)
    return present and present.counts and present or nil
end


-- Registers for the epoch known as the present one. The registration is at once among those to
-- leave.
local function enter(self, due)
    local epoch = self.epoch
    local new = registrations.new(self.place, epoch, lives_of(self, epoch), due)
    self.entered[#self.entered + 1] = new
    if epoch == self.epoch then self.present = new end
end


-- Registers, or continues a registration that another coroutine began.
local function register(self, due)
    self:know(self.place:epoch(due))
    if not standing(self) then enter(self, due) end
    local present = self.present
    if not present then return end
    present:enlist(due)
    present.counts = present:is_current(due)
end


--- Registers for the present epoch, if necessary.
---@param due number?
---@return zklock.engine.Registration?  nil if the epoch just changed, or after `due`
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


-- Leaves the epochs in which this process has no lease. First it releases what delays a switch,
-- without waiting for answers. The line in the list stays until all locks have ended, as for a dead
-- process.
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


local function is_alive(self, each, due)
    local line, message = self.place:lock(each.number, each.id):queue(left(due))
    if not line then failure.raise("connection", message) end
    for _, contender in ipairs(line) do
        if contender.data == each.id then return true end
    end
    return false
end


-- The reason why the member still counts; nil if it died and its locks have ended.
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


-- The reason why the next epoch must wait; nil if nobody has a lease of an earlier epoch.
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


local function step(self, due)
    local epoch, wish = self.place:epoch(due), self.place:wish(due)
    self:know(epoch)
    self.wish = wish
    local following, must_wait = rules.following(epoch, self.order.names, wish)
    self.awaits = following and must_wait and before(self, epoch, due) or nil
    if not following or self.awaits then return end
    -- Fails if another member was quicker, or if the switch was set.
    self.place:change(due, function(write)
        write("epoch", rules.text(following), epoch.version, wish)
    end)
    self:know(self.place:epoch(due))
end


--- True if the switch is on its way, as far as known.
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


--- Leaves past epochs and takes the next step of a switch, unless another coroutine does. Steps
--- that ZooKeeper does not answer are repeated the next time.
---@param at_any_rate boolean?  even without a known switch, or beside another coroutine
---@param due number?
---@return nil|boolean ok
---@return string? message
function Member:tend(at_any_rate, due)
    local _, message, code = failure.catch(self.place.root, tend, self, at_any_rate, due)
    return not code, message
end


--- Leaves the switch alone until its next request for a lock. Without a lease it must not delay the
--- switch.
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
