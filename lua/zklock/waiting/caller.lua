--- A caller calls one function of the user's, one call at a time. News that comes during a call
-- leads to one more call after it.

local scope = require "zklock.waiting.scope"

local running, status = coroutine.running, coroutine.status
local ngx = ngx
local remove, setmetatable = table.remove, setmetatable

---@class zklock.Caller
---@field thread table [1] is the calling coroutine; weak, since a killed one is only collected
---@field again boolean news came during the call, so one more call follows
---@field news any[] items for tell_next()'s function
local Caller = {}
Caller.__index = Caller


-- In nginx a thread counts as alive, because only the request of a light thread can tell its death.
local function is_calling(self)
    local thread = self.thread[1]
    if thread == nil then return false end
    return ngx ~= nil or thread == "main" or status(thread) ~= "dead"
end


function Caller:close()
    self.thread[1] = nil
end

Caller.__close = Caller.close


local function call(self, tell, ...)
    self.thread[1] = running() or "main" -- the main thread of Lua 5.1 has none
    repeat
        self.again = false
        tell(...)
    until not self.again
end


--- Calls tell(...), which looks for news and calls the function. During a call, asks for one more.
function Caller:call(tell, ...)
    if is_calling(self) then
        self.again = true
        return
    end
    scope(self, call, self, tell, ...)
end


local function tell_all(self, session, fn)
    local news = self.news
    while news[1] ~= nil do session:protect(fn, remove(news, 1)) end
end


--- Calls the function with the item, after the items that wait. If more than `most` wait, drops the
-- oldest.
---@return boolean kept false: an item was dropped
function Caller:tell_next(session, fn, most, item)
    local news = self.news
    news[#news + 1] = item
    local kept = #news <= most
    if not kept then remove(news, 1) end
    session:call(self, self.call, self, tell_all, self, session, fn)
    return kept
end


function Caller.new()
    return setmetatable({
        thread = setmetatable({}, { __mode = "v" }),
        again = false,
        news = {},
    }, Caller)
end


return Caller
