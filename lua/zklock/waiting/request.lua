--- A request: what a driver waits for. The C request does the work; this adds
-- callbacks, and the deadline that drivers are shown.

local strict_methods = require "zklock.value.strict_methods"

local setmetatable = setmetatable

---@class zklock.Request
---@field callback fun(request: zklock.Request)|false
---@field told boolean dispatch() has told that it is done
---@field path? string of the lock that it is to have
---@field pause zklock.Pause|false of the coroutine that waits for it, in zklock.run
local Request = {}
Request.__index = Request
Request.__name = "zklock.request"


--- True when the answer is there; it may be that dispatch() has not yet told.
---@return boolean
function Request:done()
    return self.handle:done()
end


--- Calls fn(request) once the request is done: in session:dispatch(), which raises
-- its error, or at once if that was told before.
---@param fn fun(request: zklock.Request)
function Request:on_done(fn)
    if self.told then return fn(self) end
    self.callback = fn
end


-- Ends the wait, if it has not ended.
---@return boolean ended
function Request:interrupt()
    if self.handle:done() then return false end
    self.handle:cancel("interrupted")
    return true
end


-- Ends the request if it is not done, and frees it. What waits for it does no more.
function Request:close()
    if self.pause then self.pause:close() end
    if self.requests[self.id] == self then self.requests[self.id] = nil end
    self.handle:drop()
end

Request.__close = Request.close


strict_methods(Request, Request, "request")


-- Wraps a C request, and makes session:dispatch() find it, session:interrupt(owner), too. Nothing
-- more is heard of one that was done before: a finalizer, which may run wherever an object is made
-- or something is called, may have had that delivered. One that has to be heard of begins after
-- this, without a handle here, and is put into `requests` at once, with no call between.
function Request.new(session, handle, owner)
    local self = setmetatable({
        handle = false,
        id = false,
        owner = owner,
        requests = session.requests,
        callback = false,
        told = false,
        pause = false,
    }, Request)
    if not handle then return self end
    self.handle, self.id = handle, handle:id()
    self.requests[self.id] = self
    return self
end


return Request
