--- An engine makes locks on servers of its kind, such as Redis, for clients in several processes.
--- All engines have this interface, and return "unsupported" for missing features.

local Lock = require "zklock.seckill.engine.lock"
local CHECK_LOCK = require "zklock.seckill.engine.checked"
local failure = require "zklock.seckill.engine.failure"
local misuse = require "zklock.value.misuse"
local options = require "zklock.seckill.engine.options"
local owners = require "zklock.waiting.owner"
local strict_methods = require "zklock.value.strict_methods"


--- Features of an engine.
---@class zklock.engine.Has
---@field fair boolean?        fair locks are granted in order of requests
---@field reentrant boolean?   an owner can acquire its lock again
---@field rwlock boolean?      read-write locks
---@field condition boolean?   a holder can wait for a condition
---@field multi boolean?       several locks as one
---@field lease boolean?       locks expire
---@field watchdog boolean?    locks are renewed while their holder lives
---@field wakes boolean?       a release wakes waiters; else they poll
---@field owned boolean?       only the holder can release a lock
---@field token boolean?       leases have a fencing token
---@field switch boolean?      a switch chooses among several engines

---@class zklock.engine.Engine
---@field name string
---@field has zklock.engine.Has
---@field options table
---@field way table  the engine's own part: has, fields, defaults, multi, longest_name (in bytes),
--- the functions validate, open, close and switch, and those of zklock.seckill.engine.lock
---@field requests table<zklock.engine.Request, true>  running acquires; weak, because a coroutine
--- may be dropped with its request
local Engine = { __name = "zklock.engine" }
Engine.__index = Engine


local MUTEX = { fair = options.flag, lease = options.seconds(0.001) }
local RWLOCK = { lease = options.seconds(0.001) }


local function unsupported(self, feature)
    return failure.of("unsupported", self.name, "it has no " .. feature)
end


---@param name string
---@param given { fair: boolean?, lease: number? }?
---@return zklock.engine.Lock? lock
---@return string? message
---@return string? code  "unsupported"
function Engine:mutex(name, given)
    options.text(name, "the name of a lock")
    if #name > (self.way.longest_name or math.huge) then
        misuse.refuse("the name of a lock of %s has at most %d bytes, not %d", self.name,
            self.way.longest_name, #name)
    end
    given = options.complete(given, MUTEX, {}, "the options of mutex")
    if given.fair and not self.has.fair then return unsupported(self, "fair locks") end
    if given.lease and not self.has.lease then return unsupported(self, "lease time") end
    return Lock.new(self, name, given.fair and "fair" or "mutex", given)
end


local RWLock = { __name = "zklock.engine.rwlock" }
RWLock.__index = RWLock

function RWLock:read() return self.reader end
function RWLock:write() return self.writer end

strict_methods(RWLock, RWLock, "rwlock")


---@param name string
---@param given { lease: number? }?
---@return table? rwlock
---@return string? message
---@return string? code  "unsupported"
function Engine:rwlock(name, given)
    options.text(name, "the name of a lock")
    given = options.complete(given, RWLOCK, {}, "the options of rwlock")
    if not self.has.rwlock then return unsupported(self, "read-write locks") end
    return setmetatable({
        reader = Lock.new(self, name, "read", given), writer = Lock.new(self, name, "write", given),
    }, RWLock)
end


local function check_parts(self, locks)
    if type(locks) ~= "table" or not locks[1] then
        misuse.refuse("multi takes a list of one lock or more")
    end
    for i, lock in ipairs(locks) do
        if getmetatable(lock) ~= Lock or lock.engine ~= self or lock.kind == "multi" then
            misuse.refuse("lock %d of multi must be a lock of this engine, and not several", i)
        end
    end
end


---@param locks zklock.engine.Lock[]
---@return zklock.engine.Lock? lock
---@return string? message
---@return string? code  "unsupported"
function Engine:multi(locks)
    if not self.has.multi then return unsupported(self, "multi-locks") end
    check_parts(self, locks)
    local names = {}
    for i, lock in ipairs(locks) do names[i] = lock.name end
    local multi = Lock.new(self, table.concat(names, " + "), "multi", {})
    multi.way, multi.parts = self.way.multi, locks
    return multi
end


--- Checks that the server answers, by one try for a lock that nobody holds for long.
---@return true? ok
---@return string? message
---@return string? code  "connection"
function Engine:check()
    local lease, message, code = self:mutex(CHECK_LOCK):acquire(0)
    if lease then lease, message, code = lease:release() end
    if lease or code == "busy" or code == "lost" then return true end
    return nil, message, code == "timeout" and "connection" or code
end


--- Ends the owner's waits with "interrupted".
---@param owner any?  the running coroutine by default
---@return integer count  of those waits
function Engine:interrupt(owner)
    local key, count = owners.key(owner), 0
    for request in pairs(self.requests) do
        if request.owner == key and not request.interrupted then
            request.interrupted, count = true, count + 1
            if self.way.wake then self.way.wake(request) end
        end
    end
    return count
end


--- Sets the switch; see zklock.seckill.engine.cerberus.
---@param value string      an engine's name; any other text means the next in the order
---@param timeout number?   seconds to wait for all processes to follow
---@return true? done
---@return string? message
---@return string? code  "timeout", "connection", "unsupported"
function Engine:switch(value, timeout)
    if not self.has.switch then return unsupported(self, "switch") end
    return self.way.switch(self, value, timeout)
end


--- Closes the connections. The engine decides whether held locks stay (docs/engines.md).
function Engine:close() self.way.close(self) end


function Engine:__tostring() return ("zklock.engine (%s)"):format(self.name) end


strict_methods(Engine, Engine, "engine")


---@param name string
---@param way table
---@param given table  options with defaults
function Engine.new(name, way, given)
    return setmetatable({
        name = name, way = way, has = way.has, options = given,
        requests = setmetatable({}, { __mode = "k" }),
    }, Engine)
end


return Engine
