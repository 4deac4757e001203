--- A request: what a driver waits for. The C request does the work; this adds
-- callbacks, and the deadline that drivers are shown.

local receiver = require "zklock.receiver"

local setmetatable = setmetatable

---@class zklock.Request
---@field run? zklock.Run that waits for it (tasks.lua)
---@field thread? thread of that, while it waits
local Request = {}
Request.__index = Request
Request.__name = "zklock.request"


--- True when the answer is there; it may be that dispatch() has not yet told.
function Request:done()
    return self.handle:done()
end


--- Calls fn(request) once the request is done: in session:dispatch(), which raises
-- its error, or at once if that was told before.
function Request:on_done(fn)
    if self.told then return fn(self) end
    self.callback = fn
end


--- It is done.
function Request:tell()
    self.told = true
    if self.callback then self.callback(self) end
end


--- Ends the wait, if it has not ended.
---@return boolean ended
function Request:interrupt()
    if self.handle:done() then return false end
    self.handle:cancel("interrupted")
    return true
end


--- Ends the request if it is not done, and frees it.
function Request:close()
    self.requests[self.id] = nil
    if self.run then self.run:leave(self) end
    self.handle:drop()
end

Request.__close = Request.close


receiver(Request, Request, "request")


--- Wraps a C request and makes session:dispatch() find it, and
-- session:interrupt(owner) too.
function Request.new(session, handle, owner)
    local id = handle:id()
    local self = setmetatable({
        handle = handle,
        id = id,
        owner = owner,
        requests = session.requests,
    }, Request)
    session.requests[id] = self
    return self
end


return Request
