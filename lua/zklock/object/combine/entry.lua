--- An entry is an item and the pause of its submitter, which an answer or the deadline ends.

local Request = require "zklock.waiting.request"
local failure = require "zklock.value.failure"

local error, select, setmetatable = error, select, setmetatable

--- An answer to a submitter is a result, a failure, or an error to raise; or `is_alone`, because
--- nobody else will carry the item out.
---@class zklock.Answer
---@field value any
---@field message? string
---@field code? string
---@field raised? boolean
---@field is_alone? boolean

---@class zklock.Entry
---@field item any
---@field request zklock.Request
---@field taken? boolean fn was given the item
---@field answer? zklock.Answer
---@field on_close fun() called when the submitter stops waiting
local Entry = {}
Entry.__index = Entry


function Entry:lives()
    local request = self.request
    return request.requests[request.id] == request and not request:done()
end


---@param answer zklock.Answer
function Entry:settle(answer)
    if not self:lives() then return end
    self.answer = answer
    self.request.handle:cancel("ok")
end


--- Ends the wait without an answer.
function Entry:interrupt()
    if self:lives() then self.request:interrupt() end
end


function Entry:close()
    self.request:close()
    self.on_close()
end

Entry.__close = Entry.close


local _M = {}


---@return zklock.Answer
function _M.failed(...)
    local message, code = select(2, failure(...))
    return { message = message, code = code }
end


---@param answer zklock.Answer
function _M.result_of(answer)
    if answer.raised then error(answer.value, 0) end
    if answer.code then return nil, answer.message, answer.code end
    return answer.value
end


--- Returns the answer's result, or a failure if the wait ended without an answer. Even then, an
-- item that fn was given may be done.
function _M.take(request, entry, path, timeout)
    if entry.answer then return _M.result_of(entry.answer) end
    local code = request.handle:result()
    local detail = code == "timeout" and ("waited %g s"):format(timeout) or nil
    if entry.taken then return failure("unknown", path, detail or code) end
    return failure(code, path, detail)
end


---@param session zklock.Session
---@return zklock.Entry
function _M.new(session, item, owner, timeout, on_close)
    return setmetatable({
        item = item,
        request = Request.new(session, session.handle:pause(timeout), owner),
        on_close = on_close,
    }, Entry)
end


return _M
