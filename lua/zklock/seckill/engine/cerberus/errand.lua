--- An errand is a coroutine's work for the whole process. An abandoned coroutine ends without
--- notice, because LuaJIT and nginx do not close its scopes. So after LONGEST seconds another
--- coroutine may begin the errand, and two may run at once.

local clock = require "zklock.waiting.runtime"
local scope = require "zklock.waiting.scope"


local LONGEST = 1 -- seconds


---@class zklock.engine.Errand
---@field latest zklock.engine.Run?  nil once that run has ended
local Errand = {}
Errand.__index = Errand


---@class zklock.engine.Run
---@field errand zklock.engine.Errand
---@field due number  from this time by runtime.now the run no longer counts
local Run = {}
Run.__index = Run


function Run:close()
    if self.errand.latest == self then self.errand.latest = nil end
end

Run.__close = Run.close


function Errand:is_under_way()
    return self.latest ~= nil and clock.now() < self.latest.due
end


--- Runs the errand, fn(...), and returns its results.
function Errand:go(fn, ...)
    self.latest = setmetatable({ errand = self, due = clock.now() + LONGEST }, Run)
    return scope(self.latest, fn, ...)
end


return function() return setmetatable({}, Errand) end
