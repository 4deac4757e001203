--- The watchdog: renews leases before they end, every third of their lease time (CFG-09: 30 s,
--- with 20 s left). It is a coroutine, so it works where others do: in zklock.run, as long as the
--- run in which the lock was acquired lasts. In plain Lua outside of it nothing runs beside the
--- caller: the caller renews, with lease:renew().

local core = require "zklock.core"
local tasks = require "zklock.waiting.tasks"
local zklock = require "zklock"


local PARTS = 3  -- of the lease time
local LOOKS = 4  -- in each of them


---@class zklock.engine.Watchdog
---@field lease number  seconds
---@field due table<zklock.engine.Lease, number>  weak: a lease that nobody has is not renewed
---@field round number?  when the coroutine looks again
---@field is_over fun(): boolean  has its run ended?
---@field number integer  of the coroutine that is in charge
local Watchdog = {}
Watchdog.__index = Watchdog


local watchdog = {}


---@param lease number  seconds
---@return zklock.engine.Watchdog
function watchdog.new(lease)
    return setmetatable({
        lease = lease, due = setmetatable({}, { __mode = "k" }), number = 0,
    }, Watchdog)
end


-- May it be renewed now?
local function is_wanted(lease) return not lease.renewed_with or lease.renewed_with:held() end


-- As in Redisson nobody is told of a lease that is lost: the holder must ask.
local function renew_those_due(self)
    local now = core.now()
    for lease, due in pairs(self.due) do
        if not lease:held() then
            self.due[lease] = nil
        elseif now >= due and is_wanted(lease) then
            local renewed = lease:renew()
            self.due[lease] = renewed and now + self.lease / PARTS or now
        end
    end
end


local function go_round(self, number)
    local pause = self.lease / PARTS / LOOKS
    while self.number == number and next(self.due) do
        self.round = core.now() + pause
        zklock.sleep(pause)
        if self.number == number then renew_those_due(self) end
    end
    if self.number == number then self.round = nil end
end


-- A coroutine ends with its run. Also if the next round is late, there is no coroutine any more.
local function is_there(self)
    return self.round and not self.is_over()
        and core.now() < self.round + self.lease / PARTS / LOOKS
end


--- Renews the lease from now on, until it is over.
function Watchdog:watch(lease)
    self.due[lease] = core.now() + self.lease / PARTS
    local is_over = tasks.end_of_run()
    if is_there(self) or not is_over then return end
    self.number, self.is_over = self.number + 1, is_over
    coroutine.wrap(go_round)(self, self.number)
end


function Watchdog:forget(lease) self.due[lease] = nil end


return watchdog
