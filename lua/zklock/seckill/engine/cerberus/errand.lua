--- An errand is work that a coroutine does for all of its process, which leave it alone for
--- LONGEST seconds. A closed or abandoned coroutine may end without notice, because LuaJIT and
--- nginx do not even run its scopes. So two coroutines may run an errand at once, and its work must
--- allow that.

local clock = require "zklock.waiting.runtime"
local scope = require "zklock.waiting.scope"


local LONGEST = 1 -- seconds


---@class zklock.engine.Errand
---@field latest zklock.engine.Run?  nil if it has ended
local Errand = {}
Errand.__index = Errand


---@class zklock.engine.Run
---@field errand zklock.engine.Errand
---@field due number  by runtime.now; from then on it does not count
local Run = {}
Run.__index = Run


function Run:close()
    if self.errand.latest == self then self.errand.latest = nil end
end

Run.__close = Run.close


--- True if a coroutine does it now, as far as known.
function Errand:is_under_way()
    return self.latest ~= nil and clock.now() < self.latest.due
end


--- Runs the errand, fn(...), and returns its results.
function Errand:go(fn, ...)
    self.latest = setmetatable({ errand = self, due = clock.now() + LONGEST }, Run)
    return scope(self.latest, fn, ...)
end


return function() return setmetatable({}, Errand) end
