--- The watchdog renews leases every third of their lease time (CFG-09: 30 s, with 20 s left). It is
--- a coroutine of the zklock.run in which the lock was acquired, and ends with it. In plain Lua
--- outside of a run the caller must call lease:renew().

local core = require "zklock.core"
local tasks = require "zklock.waiting.tasks"
local zklock = require "zklock"


local PARTS = 3  -- of the lease time
local LOOKS = 4  -- in each of them


---@class zklock.engine.Watchdog
---@field lease number  seconds
---@field due table<zklock.engine.Lease, number>  weak keys, so that a dropped lease is not renewed
---@field round number?  true after the end of its run
---@field is_over fun(): boolean  has its run ended?
---@field number integer  of the coroutine in charge
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


-- True if it may be renewed now.
local function is_wanted(lease) return not lease.renewed_with or lease.renewed_with:held() end


-- As in Redisson, nobody is told of a lost lease; the holder must check.
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


-- The coroutine ends with its run. A late round also means that it has gone.
local function is_there(self)
    return self.round and not self.is_over()
        and core.now() < self.round + self.lease / PARTS / LOOKS
end


--- Renews the lease until it ends.
function Watchdog:watch(lease)
    self.due[lease] = core.now() + self.lease / PARTS
    local is_over = tasks.end_of_run()
    if is_there(self) or not is_over then return end
    self.number, self.is_over = self.number + 1, is_over
    coroutine.wrap(go_round)(self, self.number)
end


function Watchdog:forget(lease) self.due[lease] = nil end


return watchdog
