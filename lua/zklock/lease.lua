--- A lease: the right to be in the critical section, while it lasts.

local failure = require "zklock.failure"
local options = require "zklock.options"
local receiver = require "zklock.receiver"
local wait = require "zklock.wait"

local ipairs, pairs = ipairs, pairs
local pcall, setmetatable = pcall, setmetatable

---@class zklock.Lease
---@field token integer the fencing token: it grows with every exclusive grant
local Lease = { __name = "zklock.lease" }
local methods = {}


-- The token is looked up late: above 2^53 it raises where numbers are doubles.
function Lease:__index(key)
    if key == "token" then return self.handle:token() end
    return methods[key]
end


function Lease.new(lock, handle)
    return setmetatable({
        handle = handle,
        session = lock.session,
        path = lock.path,
    }, Lease)
end


---@return string digits exact on every Lua
function methods:token_string()
    return self.handle:token_string()
end


--- From the lease clock, without a packet.
---@return "held"|"suspect"|"lost"|"released"
function methods:state()
    return self.handle:state()
end


---@return boolean
function methods:held()
    return self.handle:state() == "held"
end


---@return number seconds for which "held" is certain without further contact
function methods:remaining()
    return self.handle:remaining()
end


local function take_code(request, path)
    local code, detail = request.handle:result()
    if code == "ok" then return true end
    return failure(code, path, detail)
end


--- Asks the server, in one round trip.
---@param timeout? number seconds, default: the session timeout
---@return true? ok
---@return string? message
---@return string? code
function methods:check(timeout)
    local session = self.session
    if session:forked() then return failure("forked", self.path) end
    timeout = options.timeout(timeout, session:timeout())
    return session:await(self.handle:check(timeout), timeout, take_code, self.path)
end


local function take_downgrade(request, path)
    local code, detail = request.handle:result()
    if code == "ok" then return true end
    if code == "unsupported" then
        detail = detail or "only a write lease can be downgraded, with a number below 2130706431"
    end
    return failure(code, path, detail)
end


--- A write lease becomes a read lease: other readers come in, writers do not. Its token
-- stays. When the owner holds it twice, the lock stays a writer's until both have.
---@param timeout? number seconds, default: the session timeout
---@return true? ok
---@return string? message
---@return string? code "unsupported", "lost", "released", "timeout"
function methods:downgrade(timeout)
    local session = self.session
    if session:forked() then return failure("forked", self.path) end
    local refusal, code = wait.refusal()
    if refusal then return nil, refusal, code end
    timeout = options.timeout(timeout, session:timeout())
    return session:await(self.handle:downgrade(timeout), timeout, take_downgrade, self.path)
end


--- Gives the lock up. Does not wait for the server, unless { wait = seconds }.
---@param opts? table
---@return true? ok
---@return string? message
---@return string? code "lost", "released", or with `wait` "timeout"
function methods:release(opts)
    local session = self.session
    local limit = options.release(opts).wait
    if session:forked() then return failure("forked", self.path) end
    if limit then
        return session:await(self.handle:release_wait(limit), limit, take_code, self.path)
    end
    local code = self.handle:release()
    if code == "ok" then return true end
    return failure(code, self.path)
end


-- A scope ends: nobody asks how it went.
function methods:close()
    if not self.session:forked() then self.handle:release() end
end

Lease.__close = methods.close


-- Tells each callback what it was not yet told: the state as it is now, for an
-- event may be old when it is delivered.
function methods:tell()
    local state = self.handle:state()
    if state == "released" then return end
    local untold = {} -- a callback may register another
    for fn, told in pairs(self.callbacks) do
        if told ~= state then untold[#untold + 1] = fn end
    end
    for _, fn in ipairs(untold) do
        self.callbacks[fn] = state
        if state ~= "held" then self.session:protect(fn, self, state) end
    end
end


--- Calls fn(lease, "suspect"|"lost") when it comes to that; at once if it has.
-- It runs inside any wait or session:dispatch(). Never for a release.
---@param fn fun(lease: zklock.Lease, state: "suspect"|"lost")
function methods:on_lost(fn)
    options.callback(fn, "on_lost's argument")
    if self.handle:state() == "released" then return end
    self.callbacks = self.callbacks or {}
    self.id = self.handle:id()
    self.session.leases[self] = true
    self.callbacks[fn] = "held"
    self:tell()
end


-- Parts of the family that are not built yet say so.
for _, name in pairs{ "guard", "on_revoke" } do
    methods[name] = function(self)
        return failure("unsupported", self.path, ("lease:%s is not built yet"):format(name))
    end
end


function Lease:__tostring()
    local ok, state = pcall(self.handle.state, self.handle)
    return ("zklock.lease (%s, token %s, %s)"):format(
        self.path, ok and self.handle:token_string() or "?", ok and state or "forked")
end


receiver(methods, Lease, "lease")

return Lease
