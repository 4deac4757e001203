--- A lease: the right to be in the critical section, while it lasts.

local core = require "zklock.core"
local failure = require "zklock.failure"
local misuse = require "zklock.misuse"
local options = require "zklock.options"
local receiver = require "zklock.receiver"
local wait = require "zklock.wait"

local ipairs, pairs = ipairs, pairs
local pcall, setmetatable = pcall, setmetatable
local brief = misuse.brief

local methods = {}
---@class zklock.Lease
---@field token integer the fencing token: it grows with every exclusive grant
local Lease = { __name = "zklock.lease", methods = methods }


-- The token is looked up late: above 2^53 it raises where numbers are doubles.
function Lease:__index(key)
    if key == "token" then return self.handle:token() end
    return methods[key]
end


function Lease.new(lock, handle, owner)
    return setmetatable({
        handle = handle,
        owner = owner, -- as session:interrupt() knows him
        session = lock.session,
        path = lock.path,
        kind = lock.kind,
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


--- Asks the server, in one round trip.
---@param timeout? number seconds, default: the session timeout
---@return true? ok
---@return string? message
---@return string? code
function methods:check(timeout)
    local session = self.session
    if session:forked() then return failure("forked", self.path) end
    timeout = options.timeout(timeout, session:timeout())
    return session:await(self.handle:check(timeout), timeout, wait.take_code, self.path)
end


-- What came of a guard that failed.
local function describe(request, writes, code, detail)
    local refused = request.handle:refused()
    if refused > 0 then
        local kind, path = writes[refused][1], writes[refused][2]
        return ('write %d, %s "%s": %s'):format(refused, kind, brief(path), detail)
    end
    if code == "unsupported" then return detail or 'the lock has order = "none"' end
    if not request.handle:sent() then return "nothing was written" end
    return "no answer: whether it was written is not known"
end


local function take_versions(request, path, writes)
    local code, detail = request.handle:result()
    if code ~= "ok" then return failure(code, path, describe(request, writes, code, detail)) end
    local versions = {}
    for i, each in ipairs(writes) do
        versions[i] = (each[1] == "set" or each[1] == "create") and request.handle:version(i)
    end
    return true, versions
end


--- Writes to ZooKeeper that happen, all of them, only if this lease's node still exists.
---@param writes table list of { "set", path, data [, version] }, { "create", path, data },
-- { "delete", path [, version] }, { "check", path [, version] }; and `timeout` in seconds,
-- default: the session timeout
---@return true? ok
---@return table|string versions of the nodes after it, false where there is none; or message
---@return string? code
function methods:guard(writes)
    local session = self.session
    local list, timeout = options.guard(writes)
    if session:forked() then return failure("forked", self.path) end
    local refusal, code = wait.refusal(session)
    if refusal then return nil, refusal, code end
    timeout = timeout or session:timeout()
    return session:await(self.handle:guard(list, timeout), timeout, take_versions, self.path, list)
end


local function take_downgrade(request, lease, path)
    local code, detail = request.handle:result()
    if code == "ok" then
        lease.kind = "read"
        return true
    end
    if code == "unsupported" then
        detail = detail or ("only a write lease can be downgraded, with a number below %d")
            :format(core.downgrade_limit)
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
    local refusal, code = wait.refusal(session)
    if refusal then return nil, refusal, code end
    timeout = options.timeout(timeout, session:timeout())
    return session:await(self.handle:downgrade(timeout), timeout, take_downgrade, self, self.path)
end


--- Gives the lock up. Does not wait for the server, unless { wait = seconds }.
---@param opts? table
---@return true? ok
---@return string? message
---@return string? code "lost", "released", or with `wait` "timeout"
function methods:release(opts)
    local limit = options.release(opts).wait
    if limit then
        local session = self.session
        if session:forked() then return failure("forked", self.path) end
        return session:await(self.handle:release_wait(limit), limit, wait.take_code, self.path)
    end
    local code = self.handle:release()
    if code == "ok" then return true end
    return failure(code, self.path)
end


-- A scope ends: nobody asks how it went.
function methods:close()
    self.handle:release()
end

Lease.__close = methods.close


-- Calls each callback that was not told this yet; `quiet` is no news.
local function tell(self, callbacks, news, quiet)
    local untold = {} -- a callback may register another
    for fn, told in pairs(callbacks) do
        if told ~= news then untold[#untold + 1] = fn end
    end
    for _, fn in ipairs(untold) do
        callbacks[fn] = news
        if news ~= quiet then self.session:call(fn, self, news) end
    end
end


-- Something happened to the grant: the callbacks hear how it is now, for an event may be
-- old when it is delivered.
function methods:tell()
    local state = self.handle:state()
    if state == "released" then return end
    if self.of_loss then tell(self, self.of_loss, state, "held") end
    if self.of_revoke then
        local handle = self.handle -- one that waited in a condition is another grant after
        tell(self, self.of_revoke, handle:revoked() and handle:token_string(), false)
    end
end


-- Has `fn` called from now on; at once if there is news already. `field` has the callbacks. Not
-- for a lease that was released; but a lease whose owner waits in a condition comes back.
local function listen(self, field, fn, quiet)
    local callbacks = {}
    self[field] = self[field] or callbacks -- a finalizer may have made them
    self[field][fn] = quiet
    self.id = self.handle:id()
    self.session.leases[self] = true
    self:tell()
end


--- Calls fn(lease, "suspect"|"lost") when it comes to that; at once if it has.
-- It runs inside any wait or session:dispatch(). Never for a release.
---@param fn fun(lease: zklock.Lease, state: "suspect"|"lost")
function methods:on_lost(fn)
    listen(self, "of_loss", options.callback(fn, "on_lost's argument"), "held")
end


--- Calls fn(lease) when a client asks for the lock; at once if one has asked before. It runs
-- inside any wait or session:dispatch(). To give way is up to the holder.
---@param fn fun(lease: zklock.Lease)
function methods:on_revoke(fn)
    listen(self, "of_revoke", options.callback(fn, "on_revoke's argument"), false)
    self.handle:listen()
end


function Lease:__tostring()
    local ok, state = pcall(self.handle.state, self.handle)
    return ("zklock.lease (%s, token %s, %s)"):format(
        self.path, ok and self.handle:token_string() or "?", ok and state or "forked")
end


receiver(methods, Lease, "lease")

return Lease
