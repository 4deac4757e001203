--- The interface of lua-resty-lock (resty.lock), with locks across machines (docs/resty-lock.md).
--
-- An object owns its lock, so any light thread of the worker may unlock it. Nothing else refers to
-- the lease, so collecting the object gives the lock up.

local Session = require "zklock.object.session"
local check = require "zklock.value.check"
local key_reader = require "zklock.value.lock_key"
local misuse = require "zklock.value.misuse"
local path_rules = require "zklock.value.path"
local strict_methods = require "zklock.value.strict_methods"
local runtime = require "zklock.waiting.runtime"

local now = runtime.now
local getmetatable, setmetatable = getmetatable, setmetatable
local tonumber, type = tonumber, type
local max, min = math.max, math.min
local refuse, show = misuse.refuse, misuse.show

local ROOT = "/resty_lock/"
local KEY_SIZE = 65535 -- bytes, as in resty.lock
local LEAST = 0.001 -- seconds, the least wait that lock() returns, as in resty.lock
local FOR_EVER = 1e9 -- seconds

---@class zklock.RestyLock
---@field session zklock.Session
---@field folder string
---@field timeout number seconds
---@field exptime number seconds
---@field lease? zklock.Lease the latest; it may have ended
local RestyLock = {}
RestyLock.__index = RestyLock
RestyLock.__name = "zklock.resty_lock"


-- As in resty.lock, false counts as nil, and text of a number counts as a number.
local function check_number(value, name)
    local as_number = value and tonumber(value)
    if value == false or as_number and as_number == as_number then return end
    refuse("%s must be a number, not %s", name, show(value))
end

local function check_exptime(value, name)
    if value ~= false then check.duration(value, name) end
end

---@class zklock.RestyLockOptions
---@field timeout? number|string|false seconds to wait, default 5, at most exptime; 0 or less: try
---@field exptime? number|false seconds to hold, default 30; 0 for no limit
---@field step? number|string|false ignored, as are ratio and max_step
---@field ratio? number|string|false
---@field max_step? number|string|false

local fields = {
    timeout = check_number,
    exptime = check_exptime,
    step = check_number,
    ratio = check_number,
    max_step = check_number,
}

local DEFAULT_EXPTIME = 30
local DEFAULT_TIMEOUT = 5 -- as in resty.lock, even if exptime is shorter

local LOCK_OPTIONS = { reentrant = false }

-- resty.lock's words for these failures. Other failures give zklock's message.
local REASONS = { timeout = "timeout", busy = "timeout", would_deadlock = "locked",
                lost = "unlocked", released = "unlocked" }

local key_of = key_reader(1)


-- As in a shared dictionary, 0 is no limit.
local function hold_limit(exptime)
    return exptime == 0 and FOR_EVER or min(exptime, FOR_EVER)
end


local function path_of(self, key)
    if not key then return nil, "nil key" end
    if key == "" then return nil, "empty key" end
    if type(key) == "string" and #key > KEY_SIZE then return nil, "key too long" end
    return self.folder .. key_of(key)
end


local function is_locked(self)
    local state = self.lease and self.lease:state()
    return state == "held" or state == "suspect"
end


--- Waits for the lock of a key.
---@param key string|integer
---@return number? elapsed seconds waited; exactly 0 if the lock was free
---@return string? why "timeout", "locked" (this object holds a lock), "nil key", or a message
function RestyLock:lock(key)
    local path, why = path_of(self, key)
    if not path then return nil, why end
    if is_locked(self) then return nil, "locked" end
    local begun = now()
    local lease, message, code = self.session:mutex(path, LOCK_OPTIONS):acquire{
        timeout = self.timeout, max_hold = self.exptime, owner = self,
    }
    if not lease then return nil, REASONS[code] or message end
    if is_locked(self) then -- another light thread came first
        lease:release()
        return nil, "locked"
    end
    self.lease = lease
    return lease.handle:waited() and max(now() - begun, LEAST) or 0
end


--- Gives the lock up. Never waits.
---@return 1? ok
---@return string? why "unlocked": it was not locked, or the lock had expired or was lost
function RestyLock:unlock()
    if not self.lease then return nil, "unlocked" end
    local ok, message, code = self.lease:release()
    if ok then return 1 end
    return nil, REASONS[code] or message
end


--- Makes the lock expire so many seconds from now.
---@param time? number seconds; default: the exptime of new()
---@return true? ok
---@return string? why "unlocked": it was not locked, or the lock had expired or was lost
function RestyLock:expire(time)
    if time then check.duration(time, "the time") end
    if not self.lease then return nil, "unlocked" end
    local ok, message, code = self.lease:expire(time and hold_limit(time) or self.exptime)
    if ok then return true end
    return nil, REASONS[code] or message
end


function RestyLock:__tostring()
    return ("zklock.resty_lock (%s)"):format(self.lease and self.lease.path or self.folder)
end


strict_methods(RestyLock, RestyLock, "resty_lock")


--- Sets the session of all locks of this worker.
---@param session zklock.Session
function RestyLock.use(session)
    if getmetatable(session) ~= Session then
        refuse("use takes a session, not %s", show(session))
    end
    runtime.current().resty_session = session
end


--- An object for one lock at a time.
---@param name string folder of the locks; in resty.lock, a dictionary
---@param opts? zklock.RestyLockOptions|false
---@return zklock.RestyLock? lock
---@return string? why "closed": use() was not called
function RestyLock.new(_, name, opts)
    check.name(name, "the name")
    opts = check.complete(opts or nil, fields, {}, "the options of new")
    local session = runtime.current().resty_session
    if not session then return nil, "closed" end
    local exptime = hold_limit(opts.exptime or DEFAULT_EXPTIME)
    local timeout = tonumber(opts.timeout or nil)
    return setmetatable({
        session = session,
        folder = ROOT .. path_rules.escape(name) .. "/",
        timeout = timeout and max(min(timeout, exptime), 0) or DEFAULT_TIMEOUT,
        exptime = exptime,
    }, RestyLock)
end


return RestyLock
