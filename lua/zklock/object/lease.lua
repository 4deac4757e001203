--- A lease is the right to be in the critical section, while it lasts.

local Caller = require "zklock.waiting.caller"
local check = require "zklock.value.check"
local core = require "zklock.core"
local failure = require "zklock.value.failure"
local misuse = require "zklock.value.misuse"
local options = require "zklock.value.options"
local strict_methods = require "zklock.value.strict_methods"
local wait = require "zklock.waiting.wait"
local writes_of = require "zklock.value.writes"

local ipairs, setmetatable = ipairs, setmetatable
local remove = table.remove
local brief = misuse.brief

---@alias zklock.LeaseState "held"|"suspect"|"lost"|"released"

---@class zklock.Lease
---@field public path string
---@field public token integer the fencing token: it grows with every exclusive grant
local methods = {}
local Lease = { __name = "zklock.lease", methods = methods }


-- Reads the token only here, because that raises above 2^53 where numbers are doubles.
function Lease:__index(key)
    if key == "token" then return self.handle:token() end
    return methods[key]
end


function Lease.new(lock, handle, owner)
    local self = setmetatable({
        handle = handle,
        owner = owner, -- a key, as for session:interrupt()
        session = lock.session,
        path = lock.path,
        kind = lock.kind, -- also after a downgrade
    }, Lease)
    self.session.runtime:granted(self)
    return self
end


---@return string digits exact on every Lua
function methods:token_string()
    return self.handle:token_string()
end


--- Reads the lease clock, without a packet.
---@return zklock.LeaseState
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


--- Ends this handle's hold so many seconds from now, in place of its `max_hold`.
---@param seconds number more than 0
---@return true? ok
---@return string? message
---@return zklock.Code? code "lost", "released"
function methods:expire(seconds)
    check.positive(seconds, "the time")
    if self.handle:gone() then return failure(self.handle:gone(), self.path) end
    local code = self.handle:expire(seconds)
    if code == "ok" then return true end
    return failure(code, self.path)
end


--- Asks the server whether the lease is held, in one round trip.
---@param timeout? number|zklock.TimeoutOptions seconds, default: the session timeout
---@return true? ok
---@return string? message
---@return zklock.Code? code
function methods:check(timeout)
    local session = self.session
    if self.handle:gone() then return failure(self.handle:gone(), self.path) end
    timeout = options.timeout(timeout, session:timeout())
    return session:await(self.handle:check(timeout), timeout, wait.take, self.path)
end


local ADVICE = {
    ["bad version"] = ": get the node again, for the version that it has now",
    ["node exists"] = ": set it, or use another path",
    ["not empty"] = ": delete what is below it first",
    ["no children for ephemerals"] = ": make it below a node that is not ephemeral",
}


local function describe(request, writes, code, detail)
    local refused = request.handle:refused()
    if refused > 0 then
        local kind, path = writes[refused][1], writes[refused][2]
        return ('write %d, %s "%s": %s%s'):format(refused, kind, brief(path), detail,
                                                  ADVICE[detail] or "")
    end
    if code == "unsupported" then return detail or 'the lock has order = "none"' end
    return detail
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


--- Writes to ZooKeeper, all or nothing, and only if this lease's node still exists.
---@param writes zklock.GuardOptions
---@return true? ok
---@return (integer|false)[]|string versions after the writes, false without one; or message
---@return zklock.Code? code "unknown": the writes may have happened; after others they have not
function methods:guard(writes)
    local session = self.session
    local list, timeout = writes_of(writes)
    if self.handle:gone() then return failure(self.handle:gone(), self.path) end
    local refusal, code = wait.refusal(session)
    if refusal then return nil, refusal, code end
    timeout = timeout or session:timeout()
    return session:await(self.handle:guard(list, timeout), timeout, take_versions, self.path, list)
end


local function take_downgrade(request, path)
    local code, detail = request.handle:result()
    if code == "ok" then return true end
    if code == "unsupported" then
        detail = detail or ("only a write lease can be downgraded, with a number below %d")
            :format(core.downgrade_limit)
    end
    return failure(code, path, detail)
end


--- Turns a write lease into a read lease with the same token. Other readers come in. If the owner
-- holds the lock twice, downgrade both leases.
---@param timeout? number|zklock.TimeoutOptions seconds, default: the session timeout
---@return true? ok
---@return string? message
---@return zklock.Code? code "unsupported", "lost", "released", "timeout", "auth"
function methods:downgrade(timeout)
    local session = self.session
    if self.handle:gone() then return failure(self.handle:gone(), self.path) end
    local refusal, code = wait.refusal(session)
    if refusal then return nil, refusal, code end
    timeout = options.timeout(timeout, session:timeout())
    return session:await(self.handle:downgrade(timeout), timeout, take_downgrade, self.path)
end


--- Gives the lock up. Waits for the server only with { wait = seconds }.
---@param opts? zklock.ReleaseOptions
---@return true? ok
---@return string? message
---@return zklock.Code? code "lost", "released", or with `wait` "timeout"
function methods:release(opts)
    local timeout = options.release(opts).wait
    if timeout then
        local session = self.session
        if self.handle:gone() then return failure(self.handle:gone(), self.path) end
        local release = self.handle:release_and_confirm(timeout)
        return session:await(release, timeout, wait.take, self.path)
    end
    local code = self.handle:release()
    if code == "ok" then return true end
    return failure(code, self.path)
end


-- Releases at the end of a scope.
---@return string code "ok", "lost", "released"
function methods:close()
    return self.handle:release()
end

Lease.__close = methods.close


-- Runs later, so the callback may have been stopped, or told newer news.
local function call(self, callbacks, callback, silent_news)
    local news = callbacks.news
    if not callback.fn or callback.told_news == news then return end
    callback.told_news = news
    if news ~= silent_news then self.session:protect(callback.fn, self, news) end
end


-- A loss is told even during a call of the function; other news follows the call.
local function call_with(session, callback, news, ...)
    local caller = callback.caller
    if news == "lost" then return session:call(callback, call, ...) end
    session:call(callback, caller.call, caller, call, ...)
end


-- Calls the callbacks that were not told this news, unless it is `silent_news`. A callback may
-- register or stop others, or wait while newer news is told to all.
local function tell(self, callbacks, news, silent_news)
    local all = {}
    for i, callback in ipairs(callbacks) do all[i] = callback end
    callbacks.news = news
    for _, callback in ipairs(all) do
        if callbacks.news ~= news then return end
        if callback.fn and callback.told_news ~= news then
            call_with(self.session, callback, news, self, callbacks, callback, silent_news)
        end
    end
end


-- Tells the present state, for the event may be old when it is delivered.
function methods:tell()
    local state = self.handle:state()
    if state == "released" then return end
    if self.loss_callbacks then tell(self, self.loss_callbacks, state, "held") end
    if self.revoke_callbacks then
        local handle = self.handle
        handle:listen() -- also after a wait in a condition, as the lock has another node then
        tell(self, self.revoke_callbacks, handle:revoked() and handle:token_string(), false)
    end
end


-- Returns a function that ends the calls of one callback, and refers to the lease's list weakly.
local function stopper(callbacks, callback)
    local weak = setmetatable({ callbacks = callbacks, callback = callback }, { __mode = "v" })
    return function()
        local list, target = weak.callbacks, weak.callback
        if not (list and target) then return end
        for i = #list, 1, -1 do
            if list[i] == target then remove(list, i) end
        end
        target.fn = nil
    end
end


local function weak_values()
    return setmetatable({}, { __mode = "v" })
end


-- Registers this lease for news of its grant. The session refers to the list weakly.
local function register(self, session)
    local id, made = self.handle:id(), weak_values()
    if not self.number then
        session.last_listener = session.last_listener + 1
        self.number = session.last_listener -- the order in which leases are told
    end
    local list = session.leases[id] or made -- a finalizer may have made it
    session.leases[id] = list
    self.grant_leases = list
    list[self.number] = self
end


-- Calls `fn` from now on, and at once if there is news. `field` names the list of callbacks. A
-- released lease may listen, because a wait in a condition may make it held again.
local function listen(self, field, fn, silent_news)
    if self.handle:gone() == "released" then return function() end end
    local made = {}
    local callback = { fn = fn, told_news = silent_news, overtakes = true, caller = Caller.new() }
    local callbacks = self[field] or made -- a finalizer may have made them
    self[field] = callbacks
    callbacks[#callbacks + 1] = callback
    register(self, self.session)
    self:tell()
    return stopper(callbacks, callback)
end


--- Calls fn(lease, "suspect"|"lost") when the lease becomes suspect or lost, at once if it is so
-- already, but never for a release. fn runs inside any wait or session:dispatch().
---@param fn fun(lease: zklock.Lease, state: "suspect"|"lost")
---@return fun() stop ends the calls
function methods:on_lost(fn)
    return listen(self, "loss_callbacks", options.callback(fn, "on_lost's argument"), "held")
end


--- Calls fn(lease) when a client asks for the lock, at once if one has asked. The holder decides
-- whether it gives way. fn runs inside any wait or session:dispatch().
---@param fn fun(lease: zklock.Lease)
---@return fun() stop ends the calls
function methods:on_revoke(fn)
    return listen(self, "revoke_callbacks", options.callback(fn, "on_revoke's argument"), false)
end


function Lease:__tostring()
    local handle, gone = self.handle, self.handle:gone()
    return ("zklock.lease (%s, token %s, %s)"):format(
        self.path, gone and "?" or handle:token_string(), gone or handle:state())
end


strict_methods(methods, Lease, "lease")

return Lease
