--- A request wraps a C request for drivers, and adds its owner and a callback.

local strict_methods = require "zklock.value.strict_methods"

local setmetatable = setmetatable

---@class zklock.Request
---@field callback fun(request: zklock.Request)|false
---@field told boolean dispatch() has told that it is done
---@field path? string of the lock it waits for
---@field pause zklock.Pause|false of the coroutine that waits for it, in zklock.run
local Request = {}
Request.__index = Request
Request.__name = "zklock.request"


--- True when the answer is there, even if dispatch() has not yet told.
---@return boolean
function Request:done()
    return self.handle:done()
end


--- Calls fn(request) when session:dispatch() finds the request done, or at once if dispatch() has.
-- Errors of fn are raised there.
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


-- Frees the request, and ends it if it is not done.
function Request:close()
    if self.pause then self.pause:close() end
    if self.requests[self.id] == self then self.requests[self.id] = nil end
    self.handle:drop()
end

Request.__close = Request.close


strict_methods(Request, Request, "request")


-- Wraps a C request, and registers it for session:dispatch() and session:interrupt(). A request
-- that is done already may get no callback, because a finalizer, which may run at any call or
-- wherever an object is made, may have dispatched before. To be sure of the callback, make the
-- object without a handle, begin the C request, and put it into `requests` with no call between.
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
