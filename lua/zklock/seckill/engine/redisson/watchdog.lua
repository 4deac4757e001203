--- The watchdog renews leases every third of their lease time (CFG-09: 30 s, with 20 s left). It is
--- a coroutine of the zklock.run in which the lock was acquired, and ends with it. In plain Lua
--- outside of a run the caller must call lease:renew().

local core = require "zklock.core"
local tasks = require "zklock.waiting.tasks"
local zklock = require "zklock"


local RENEWALS = 3 -- in a lease time
local ROUNDS = 4   -- of the coroutine between two renewals of a lease


---@class zklock.engine.Watchdog
---@field lease_time number  seconds
---@field due table<zklock.engine.Lease, number>  times of the next renewals; weak keys, so that a
--- dropped lease is not renewed
---@field next_round_at number?  nil if no coroutine goes round
---@field is_run_over fun(): boolean  true after the end of the coroutine's run
---@field number integer  of the coroutine in charge, which is the newest
local Watchdog = {}
Watchdog.__index = Watchdog


local watchdog = {}


---@param lease_time number  seconds
---@return zklock.engine.Watchdog
function watchdog.new(lease_time)
    return setmetatable({
        lease_time = lease_time, due = setmetatable({}, { __mode = "k" }), number = 0,
    }, Watchdog)
end


local function may_renew(lease) return not lease.renewed_with or lease.renewed_with:held() end


-- As in Redisson, nobody is told of a lost lease; the holder must check.
local function renew_those_due(self)
    local now = core.now()
    for lease, due in pairs(self.due) do
        if not lease:held() then
            self.due[lease] = nil
        elseif now >= due and may_renew(lease) then
            local renewed = lease:renew()
            self.due[lease] = renewed and now + self.lease_time / RENEWALS or now
        end
    end
end


local function go_round(self, number)
    local pause = self.lease_time / RENEWALS / ROUNDS
    while self.number == number and next(self.due) do
        self.next_round_at = core.now() + pause
        zklock.sleep(pause)
        if self.number == number then renew_those_due(self) end
    end
    if self.number == number then self.next_round_at = nil end
end


-- The coroutine ends with its run. If its next round is late, it was abandoned.
local function is_going_round(self)
    return self.next_round_at and not self.is_run_over()
        and core.now() < self.next_round_at + self.lease_time / RENEWALS / ROUNDS
end


--- Renews the lease until it ends.
function Watchdog:watch(lease)
    self.due[lease] = core.now() + self.lease_time / RENEWALS
    local is_run_over = tasks.end_of_run()
    if is_going_round(self) or not is_run_over then return end
    self.number, self.is_run_over = self.number + 1, is_run_over
    coroutine.wrap(go_round)(self, self.number)
end


function Watchdog:forget(lease) self.due[lease] = nil end


return watchdog
