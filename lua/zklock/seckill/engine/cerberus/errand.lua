--- An errand: work that one coroutine does for all coroutines of its process. The others leave it
--- to that coroutine, but for LONGEST seconds only. No code tells for certain that the coroutine
--- has gone: one that is closed, or that nobody resumes any more, runs nothing, on LuaJIT and in
--- nginx not even what a scope closes. So two may be on an errand at once, and what they do has to
--- be right then, too.

local clock = require "zklock.waiting.runtime"
local scope = require "zklock.waiting.scope"


local LONGEST = 1 -- seconds


---@class zklock.engine.Errand
---@field latest zklock.engine.Run?  nil: it has ended
local Errand = {}
Errand.__index = Errand


-- One coroutine on the errand.
---@class zklock.engine.Run
---@field errand zklock.engine.Errand
---@field due number  on the clock of runtime.now; from then on it counts no more
local Run = {}
Run.__index = Run


function Run:close()
    if self.errand.latest == self then self.errand.latest = nil end
end

Run.__close = Run.close


--- Does a coroutine do it now, as far as one can know?
function Errand:is_under_way()
    return self.latest ~= nil and clock.now() < self.latest.due
end


--- Does it: calls fn(...), and gives what that gives.
function Errand:go(fn, ...)
    self.latest = setmetatable({ errand = self, due = clock.now() + LONGEST }, Run)
    return scope(self.latest, fn, ...)
end


return function() return setmetatable({}, Errand) end
